/* replay_rendezvous: the same collective or message as several ranks recorded it.
 * The ranks of a group come to its collectives in the same order, so (group,
 * ordinal) names one; a message is named by its sender, direction and
 * micro-batch. A rank that came early recorded its waiting too: the pure cost
 * is the least duration in the group. */
#include "frontend/megatron_trace/replay_parts.h"

#include <string.h>

uint32_t sc__replay_peer(const struct sc__replay *r, uint32_t rank, uint8_t kind) {
    bool next = kind == SC__TRACE_SEND_FORWARD || kind == SC__TRACE_RECV_BACKWARD;
    uint32_t stage = sc__replay_stage(r, rank);
    uint32_t pp = r->traced.pp;
    return sc__mesh_move(&r->traced,
                         rank,
                         SC__DIM_PP,
                         next ? (stage + 1) % pp : (stage + pp - 1) % pp);
}

static uint64_t replay_rendezvous_key_of(uint64_t kind, uint64_t rank, uint64_t number) {
    return kind << 56 | rank << 28 | number;
}

uint64_t sc__replay_collective_key(const struct sc__replay *r,
                                   uint32_t rank,
                                   uint8_t group,
                                   uint32_t ordinal) {
    return replay_rendezvous_key_of(group,
                                    sc__mesh_group_member(&r->traced, group, rank, 0),
                                    ordinal);
}

uint64_t sc__replay_message_key(const struct sc__replay *r,
                                uint32_t rank,
                                const struct sc__trace_record *rec) {
    bool send = rec->kind == SC__TRACE_SEND_FORWARD || rec->kind == SC__TRACE_SEND_BACKWARD;
    bool forward =
        rec->kind == SC__TRACE_SEND_FORWARD || rec->kind == SC__TRACE_RECV_FORWARD;
    return replay_rendezvous_key_of(forward ? 100 : 101,
                                    send ? rank : sc__replay_peer(r, rank, rec->kind),
                                    rec->batch);
}

int64_t sc__replay_origin(const struct sc__replay *r, uint32_t rank) {
    const struct sc__iteration *it = &r->ranks[rank];
    for (uint32_t i = 0; i < it->count; i++)
        if (it->records[i].end_ns)
            return sc__trace_start_ns(it->records[i].end_ns, it->records[i].duration);
    return 0;
}

/* Clocks of nodes differ: starts are compared since each rank's own first record. */
static void rendezvous_add(
    struct sc__replay *r, uint64_t key, uint32_t rank, int64_t duration, int64_t end_ns) {
    bool fresh;
    uint64_t *index = sc__map_at(&r->rendezvous_index, key, &fresh);
    if (fresh) {
        struct sc__replay_rendezvous *m = SC__PUSH(&r->ctx->arena,
                                                   r->rendezvous,
                                                   r->rendezvous_count,
                                                   r->rendezvous_capacity);
        *m = (struct sc__replay_rendezvous){.least = duration, .last_start = INT64_MIN};
        *index = r->rendezvous_count;
    }
    struct sc__replay_rendezvous *m = &r->rendezvous[*index - 1];
    int64_t start = sc__trace_start_ns(end_ns, duration) - sc__replay_origin(r, rank);
    if (duration < m->least)
        m->least = duration;
    if (end_ns && start > m->last_start)
        m->last_start = start;
}

static void rendezvous_of_record(struct sc__replay *r,
                                 uint32_t rank,
                                 const struct sc__trace_record *rec,
                                 uint32_t *ordinals) {
    if (sc__trace_is_message(rec->kind))
        rendezvous_add(r,
                       sc__replay_message_key(r, rank, rec),
                       rank,
                       rec->duration,
                       rec->end_ns);
    if (sc__trace_is_reduction(rec->kind)) {
        uint8_t group = (uint8_t)sc__replay_group(rec->kind);
        rendezvous_add(r,
                       sc__replay_collective_key(r, rank, group, ordinals[group]++),
                       rank,
                       rec->duration,
                       rec->end_ns);
    }
    for (uint32_t k = 0; k < rec->subs; k++) {
        const struct sc__trace_sub *sub = &r->ranks[rank].rank->subs[rec->first_sub + k];
        /* nobody waits in it, so its duration is not that of a transfer */
        if (sub->async)
            continue;
        uint64_t key =
            sc__replay_collective_key(r, rank, sub->group, ordinals[sub->group]++);
        rendezvous_add(r, key, rank, sub->duration, sub->end_ns);
    }
}

void sc__replay_collect_rendezvous(struct sc__replay *r) {
    sc__map_init(&r->rendezvous_index, &r->ctx->arena);
    r->rendezvous_count = 0;
    for (uint32_t rank = 0; rank < sc__mesh_ranks(&r->traced); rank++) {
        uint32_t ordinals[SC__REPLAY_GROUPS] = {0};
        for (uint32_t i = 0; i < r->ranks[rank].count; i++)
            rendezvous_of_record(r, rank, &r->ranks[rank].records[i], ordinals);
    }
}

const struct sc__replay_rendezvous *sc__replay_find_rendezvous(const struct sc__replay *r,
                                                               uint64_t key) {
    return &r->rendezvous[*sc__map_find(&r->rendezvous_index, key) - 1];
}
