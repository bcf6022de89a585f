/* replay_check: do the ranks fit together? Every message has both its ends,
 * and the members of a group come to the same number of collectives. What does
 * not fit would be a deadlock in the replay; here the file can be named. */
#include "frontend/megatron_trace/replay_parts.h"

#include <string.h>

struct counts {
    uint32_t kind[SC__TRACE_KINDS];
    uint32_t group[SC__REPLAY_GROUPS];
};

static struct counts count(const struct sc__iteration *it) {
    struct counts c;
    memset(&c, 0, sizeof c);
    for (uint32_t i = 0; i < it->count; i++) {
        const struct sc__trace_record *rec = &it->records[i];
        c.kind[rec->kind]++;
        if (sc__trace_is_reduction(rec->kind))
            c.group[sc__replay_group(rec->kind)]++;
        for (uint32_t k = 0; k < rec->subs; k++) {
            const struct sc__trace_sub *sub = &it->rank->subs[rec->first_sub + k];
            if (!sub->async)
                c.group[sub->group]++;
        }
    }
    return c;
}

static sc_status fail_pair(struct sc__replay *r,
                           uint32_t rank,
                           uint32_t other,
                           const char *what,
                           uint32_t have,
                           uint32_t others) {
    struct sc__place at = {.file = r->ranks[rank].rank->file,
                           .line = r->ranks[rank].records->line};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "one of the two files is truncated, or they are of different runs",
                    "rank %u has %u %s, rank %u has %u (%s)",
                    rank,
                    have,
                    what,
                    other,
                    others,
                    r->ranks[other].rank->file);
}

static sc_status fail_alone(
    struct sc__replay *r, uint32_t rank, uint8_t kind, uint32_t have, uint32_t steps) {
    struct sc__place at = {.file = r->ranks[rank].rank->file,
                           .line = r->ranks[rank].records->line};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "the file is truncated, or tp, dp and pp are not those of the run",
                    "rank %u has %u %s and %u forward_step",
                    rank,
                    have,
                    sc__trace_names[kind],
                    steps);
}

static sc_status
check_messages(struct sc__replay *r, uint32_t rank, const struct counts *all) {
    static const uint8_t sends[] = {SC__TRACE_SEND_FORWARD, SC__TRACE_SEND_BACKWARD};
    static const uint8_t receives[] = {SC__TRACE_RECV_FORWARD, SC__TRACE_RECV_BACKWARD};
    uint32_t stage = sc__replay_stage(r, rank);
    uint32_t last = r->traced.pp - 1;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t sent = all[rank].kind[sends[i]];
        uint32_t steps = all[rank].kind[SC__TRACE_FORWARD];
        bool ends = i == 0 ? stage == last : stage == 0;
        if (sent != (ends ? 0 : steps))
            return fail_alone(r, rank, sends[i], sent, steps);
        if (ends)
            continue;
        uint32_t peer = sc__replay_peer(r, rank, sends[i]);
        if (all[peer].kind[receives[i]] != sent)
            return fail_pair(r,
                             rank,
                             peer,
                             sc__trace_names[sends[i]],
                             sent,
                             all[peer].kind[receives[i]]);
    }
    return SC_OK;
}

static sc_status
check_groups(struct sc__replay *r, uint32_t rank, const struct counts *all) {
    for (unsigned g = 0; g < SC__GROUP_LIST; g++) {
        if (!all[rank].group[g])
            continue;
        uint32_t first = sc__mesh_group_member(&r->traced, g, rank, 0);
        if (all[first].group[g] != all[rank].group[g])
            return fail_pair(r,
                             rank,
                             first,
                             sc__format(&r->ctx->arena,
                                        "collectives of their %s group",
                                        sc__group_label(g)),
                             all[rank].group[g],
                             all[first].group[g]);
    }
    return SC_OK;
}

sc_status sc__replay_check(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    struct counts *all = SC__NEW_ARRAY(&r->ctx->arena, struct counts, world);
    for (uint32_t i = 0; i < world; i++)
        all[i] = count(&r->ranks[i]);
    for (uint32_t i = 0; i < world; i++) {
        if (all[i].kind[SC__TRACE_FORWARD] != all[0].kind[SC__TRACE_FORWARD])
            return fail_pair(r,
                             i,
                             0,
                             "forward_step",
                             all[i].kind[SC__TRACE_FORWARD],
                             all[0].kind[SC__TRACE_FORWARD]);
        if (all[i].kind[SC__TRACE_BACKWARD] != all[i].kind[SC__TRACE_FORWARD])
            return fail_alone(r,
                              i,
                              SC__TRACE_BACKWARD,
                              all[i].kind[SC__TRACE_BACKWARD],
                              all[i].kind[SC__TRACE_FORWARD]);
        if (!all[i].kind[SC__TRACE_FORWARD])
            return fail_alone(r, i, SC__TRACE_BACKWARD, 0, 0);
        if (!r->scheduled)
            SC__TRY(check_messages(r, i, all)); /* else they are made anew */
        SC__TRY(check_groups(r, i, all));
    }
    return SC_OK;
}
