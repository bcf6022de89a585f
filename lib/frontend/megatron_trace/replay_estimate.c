/* replay_estimate: medians for profiles. A profile measures each place once,
 * and one sample is noisy (9 % of the step); places that do the same work are
 * samples of one time: the same operation, between the same collectives of the
 * same sizes (so the same number of tokens), on any rank, layer and run.
 *
 * Where a segment begins or ends its record, embedding and loss may be part of
 * it: there first, last and middle stages are kept apart. The optimizer goes by
 * how many gradients its rank has. */
#include "frontend/megatron_trace/replay_parts.h"

#include <stdlib.h>
#include <string.h>

struct sample {
    uint32_t place;
    int64_t time;
};

struct samples {
    struct sample *items;
    uint32_t count;
    uint32_t capacity;
};

/* What makes places equal; hashed as bytes, so it is zeroed first. */
struct replay_estimate_place {
    uint64_t kind;
    uint64_t ends;
    uint64_t gradients;
    uint64_t before_coll;
    uint64_t before_bytes;
    uint64_t after_coll;
    uint64_t after_bytes;
};

static uint64_t gradients_of(const struct sc__iteration *it) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < it->count; i++)
        if (sc__trace_is_reduction(it->records[i].kind))
            bytes += it->records[i].bytes;
    return bytes;
}

static uint64_t place_key(const struct sc__replay *r,
                          const struct sc__iteration *it,
                          const struct sc__trace_record *rec,
                          const struct sc__replay_segment *s) {
    struct replay_estimate_place p;
    memset(&p, 0, sizeof p);
    p.kind = rec->kind;
    if (!s->before || !s->after)
        p.ends =
            1 + (it->rank->stage == 0) * 2u + (it->rank->stage == r->traced.pp - 1) * 4u;
    if (rec->kind == SC__TRACE_OPTIMIZER)
        p.gradients = gradients_of(it);
    if (s->before) {
        p.before_coll = 1u + s->before->coll;
        p.before_bytes = s->before->bytes;
    }
    if (s->after) {
        p.after_coll = 1u + s->after->coll;
        p.after_bytes = s->after->bytes;
    }
    return sc__hash(&p, sizeof p, 0);
}

static void
add_samples(struct sc__replay *r, const struct sc__iteration *it, struct samples *all) {
    struct sc__estimates *e = r->estimates;
    for (uint32_t i = 0; i < it->count; i++) {
        const struct sc__trace_record *rec = &it->records[i];
        struct sc__replay_segment s;
        if (sc__trace_is_message(rec->kind) || sc__trace_is_reduction(rec->kind))
            continue;
        for (uint32_t k = 0; sc__replay_segment(it->rank, rec, k, &s); k++) {
            bool fresh;
            uint64_t *index = sc__map_at(&e->index, place_key(r, it, rec, &s), &fresh);
            if (fresh)
                *index = e->index.count - 1;
            *SC__PUSH(&r->ctx->arena, all->items, all->count, all->capacity) =
                (struct sample){(uint32_t)*index, s.compute};
        }
    }
}

static int by_place_and_time(const void *va, const void *vb) {
    const struct sample *a = va;
    const struct sample *b = vb;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

void sc__replay_estimate(struct sc__replay *r) {
    struct samples all = {0};
    r->estimates = SC__NEW(&r->ctx->arena, struct sc__estimates);
    sc__map_init(&r->estimates->index, &r->ctx->arena);
    for (uint32_t i = 0; i < r->set->sample_count; i++) {
        struct sc__iteration it = sc__replay_iteration(&r->set->samples[i], r->iteration);
        add_samples(r, &it, &all);
    }
    if (all.count)
        qsort(all.items, all.count, sizeof *all.items, by_place_and_time);
    r->estimates->median =
        SC__NEW_ARRAY(&r->ctx->arena, int64_t, r->estimates->index.count);
    for (uint32_t first = 0, end; first < all.count; first = end) {
        for (end = first;
             end < all.count && all.items[end].place == all.items[first].place;)
            end++;
        int64_t low = all.items[first + (end - first - 1) / 2].time;
        int64_t high = all.items[first + (end - first) / 2].time;
        r->estimates->median[all.items[first].place] = (low + high) / 2;
    }
}

int64_t sc__replay_estimated(const struct sc__replay *r,
                             const struct sc__iteration *it,
                             const struct sc__trace_record *rec,
                             const struct sc__replay_segment *s) {
    const uint64_t *index = sc__map_find(&r->estimates->index, place_key(r, it, rec, s));
    return index ? r->estimates->median[*index] : s->compute;
}
