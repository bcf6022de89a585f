/* replay_ranks: a file for every rank. A rank without one is assumed to do what
 * another rank of its stage does, first one at the same place among the
 * experts; notes say so. A stage without any file is an error, except where a
 * single file was given: then that stage stands for all, in the order of 1F1B,
 * since nobody recorded one. */
#include "frontend/megatron_trace/replay_parts.h"

/* Puts every file at its rank. */
static sc_status place_files(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    r->ranks = SC__NEW_ARRAY(&r->ctx->arena, struct sc__iteration, world);
    for (uint32_t i = 0; i < r->set->rank_count; i++) {
        const struct sc__trace_rank *t = &r->set->ranks[i];
        struct sc__place at = {.file = t->file, .line = 1, .column = 1};
        if (t->rank >= world)
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "check --tp, --pp and --dp",
                            "rank %u of a job of %u ranks",
                            t->rank,
                            world);
        if (t->stage != sc__replay_stage(r, t->rank))
            return sc__fail(
                r->ctx,
                SC_INPUT,
                &at,
                "check --tp, --pp and --dp: ranks count tp first, then dp, then pp",
                "rank %u is on stage %u, but tp %u, dp %u, pp %u put it on stage %u",
                t->rank,
                t->stage,
                r->traced.tp,
                r->traced.dp,
                r->traced.pp,
                sc__replay_stage(r, t->rank));
        if (t->iterations <= r->iteration)
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "give traces of the same length",
                            "holds %u iterations, other ranks more",
                            t->iterations);
        r->ranks[t->rank] = sc__replay_iteration(t, r->iteration);
    }
    return SC_OK;
}

/* The best stand-in for a rank without a file: the same stage counts most,
 * then the place among the experts, then in the tensor-parallel group. */
static uint32_t stand_in(const struct sc__replay *r, uint32_t rank) {
    const struct sc__mesh *m = &r->traced;
    uint32_t best = SC__NONE;
    unsigned most = 0;
    for (uint32_t i = 0; i < r->set->rank_count; i++) {
        uint32_t o = r->set->ranks[i].rank;
        unsigned like = 1;
        if (sc__replay_stage(r, o) == sc__replay_stage(r, rank))
            like += 8;
        if (sc__mesh_coordinate(m, o, SC__DIM_DP) % m->ep ==
            sc__mesh_coordinate(m, rank, SC__DIM_DP) % m->ep)
            like += 4;
        if (sc__mesh_coordinate(m, o, SC__DIM_TP) ==
            sc__mesh_coordinate(m, rank, SC__DIM_TP))
            like += 2;
        if (like > most) {
            most = like;
            best = o;
        }
    }
    return best;
}

static sc_status fail_stage(struct sc__replay *r, uint32_t rank) {
    uint32_t replica = r->traced.tp * r->traced.dp;
    uint32_t stage = sc__replay_stage(r, rank);
    struct sc__place at = {.file = r->set->ranks->file};
    return sc__fail(
        r->ctx,
        SC_INPUT,
        &at,
        "add a trace of that stage, or give one file alone to let it stand for all stages",
        "no trace of stage %u of %u (ranks %u to %u)",
        stage,
        r->traced.pp,
        stage * replica,
        (stage + 1) * replica - 1);
}

/* Ranks that the same rank stands for, as lists. */
struct lists {
    /* by stand-in · 2 + whether it is of another stage; rank + 1, or 0 */
    uint32_t *first;
    uint32_t *last;
    uint32_t *next; /* by rank: rank + 1, or 0 */
};

static void append(struct lists *l, uint32_t list, uint32_t rank) {
    if (l->last[list])
        l->next[l->last[list] - 1] = rank + 1;
    else
        l->first[list] = rank + 1;
    l->last[list] = rank + 1;
}

/* "4, 6, 8-15"; after a dozen parts only their number. */
static void put_list(struct sc__buffer *b, const struct lists *l, uint32_t list) {
    unsigned parts = 0;
    uint32_t more = 0;
    for (uint32_t at = l->first[list], end; at; at = l->next[end - 1]) {
        for (end = at; l->next[end - 1] == end + 1;)
            end++;
        if (parts == 12)
            more += end - at + 1;
        else
            sc__printf(b,
                       end > at ? "%s%u-%u" : "%s%u",
                       parts++ ? ", " : "",
                       at - 1,
                       end - 1);
    }
    if (more)
        sc__printf(b, " and %u more", more);
}

static void note_assumed(struct sc__replay *r, const struct lists *l) {
    for (uint32_t i = 0; i < r->set->rank_count; i++)
        for (uint32_t other = 0; other < 2; other++) {
            uint32_t rank = r->set->ranks[i].rank;
            uint32_t list = 2 * rank + other;
            struct sc__buffer b;
            if (!l->first[list])
                continue;
            sc__buffer_init(&b, &r->ctx->arena);
            put_list(&b, l, list);
            sc__note(r->ctx,
                     "trace-assumed",
                     "no trace of rank%s %s: assumed equal to rank %u%s",
                     l->first[list] == l->last[list] ? "" : "s",
                     b.text,
                     rank,
                     other ? ", which is of another stage" : "");
        }
}

static sc_status fill_missing(struct sc__replay *r) {
    uint32_t world = sc__mesh_ranks(&r->traced);
    struct lists l = {SC__NEW_ARRAY(&r->ctx->arena, uint32_t, 2 * (size_t)world),
                      SC__NEW_ARRAY(&r->ctx->arena, uint32_t, 2 * (size_t)world),
                      SC__NEW_ARRAY(&r->ctx->arena, uint32_t, world)};
    for (uint32_t rank = 0; rank < world; rank++) {
        if (r->ranks[rank].given)
            continue;
        uint32_t source = stand_in(r, rank);
        bool other = sc__replay_stage(r, source) != sc__replay_stage(r, rank);
        if (other && !r->set->single)
            return fail_stage(r, rank);
        if (other)
            r->scheduled = true;
        append(&l, 2 * source + other, rank);
        r->ranks[rank] = r->ranks[source];
        r->ranks[rank].given = false;
    }
    note_assumed(r, &l);
    return SC_OK;
}

sc_status sc__replay_ranks(struct sc__replay *r) {
    SC__TRY(place_files(r));
    return fill_missing(r);
}
