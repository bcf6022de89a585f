/* step_pace: the replay of a pipeline as the pace of its workload.
 *
 * At a time t of a run let every slot that it has begun be over in the replay by the
 * time r, with the message that it sends and the exchange of experts that it leaves
 * behind. Then a slot that the replay has not ended by r was not begun by t. By induction
 * over these, the run ends each of them no earlier than the replay does, moved by t − r: if
 * the replay begins it before r, the run begins it after t, and what the replay had it lose
 * beside a message or an exchange, or wait for one, was over by r; if after, it waits for a
 * slot that was not over by r either, which the run ends no earlier.
 *
 * So a run that is late stays late, and can be ended once that is more than it may be. */
#include "lower/step_pace.h"

struct pacing {
    const struct sc__step_replay *r;
    const struct sc__workload *w;
    uint32_t stage;
    uint32_t slots; /* begun */
    /* by block */
    const bool *sends;
    const bool *receives;
};

static void find_messages(const struct sc__workload *w, bool *sends, bool *receives) {
    for (uint32_t k = 0; k < w->block_count; k++) {
        const struct sc__block *b = &w->blocks[k];
        for (uint32_t i = 0; i < b->ops; i++) {
            sends[k] |= w->ops[b->first_op + i].kind == SC__OP_SEND;
            receives[k] |= w->ops[b->first_op + i].kind == SC__OP_RECV;
        }
    }
}

static bool is_next_slot(const struct pacing *x, const struct sc__call *c) {
    const struct sc__replay_ends *e = &x->r->ends;
    if (x->slots == e->count[x->stage])
        return false;
    const struct sc__slot *s = &e->slots[x->stage][x->slots];
    return s->micro_batch == c->micro_batch && s->chunk == c->chunk;
}

/* What the pace has to have done for a class that is at the call; false: the call is
 * none that is known. */
static bool pace_call(struct pacing *x, const struct sc__call *c, int64_t *reached) {
    const struct sc__step_replay *r = x->r;
    uint32_t count = r->ends.count[x->stage];
    bool receives = x->receives[c->block];
    bool message = receives || x->sends[c->block];
    if (c->micro_batch != SC__NONE && !message) {
        if (!is_next_slot(x, c))
            return false;
        x->slots++;
    }
    /* a receive that holds the stream is part of its slot */
    uint32_t begun = x->slots + (receives && !r->overlap);
    if (begun > count)
        return false;
    *reached = begun ? r->ends.ends[x->stage][begun - 1] + r->message : 0;
    if (begun == count)
        *reached += r->after[x->stage]; /* it begins beside the last slot */
    return true;
}

static int64_t *pace_class(struct sc__arena *arena, struct pacing *x, uint32_t class) {
    const struct sc__program *p = &x->w->programs[x->w->classes[class].program];
    int64_t *reached = SC__NEW_ARRAY(arena, int64_t, p->calls + 1);
    for (uint32_t k = 0; k < p->calls; k++)
        if (!pace_call(x, &x->w->calls[p->first_call + k], &reached[k]))
            return NULL;
    if (x->slots < x->r->ends.count[x->stage])
        return NULL;
    reached[p->calls] = x->r->ends.ends[x->stage][x->slots - 1] + x->r->message;
    reached[p->calls] += x->r->after[x->stage];
    if (x->r->first_only && x->stage == 0)
        reached[p->calls] = INT64_MAX / 4; /* nothing is known of what comes behind it */
    return reached;
}

bool sc__step_pace(struct sc__arena *arena,
                   const struct sc__step_replay *r,
                   const struct sc__workload *w,
                   struct sc__pace *out) {
    if (!r->total || w->class_count != r->pp)
        return false;
    *out = (struct sc__pace){.total = r->total,
                             .reached = SC__NEW_ARRAY(arena, int64_t *, w->class_count)};
    bool *sends = SC__NEW_ARRAY(arena, bool, w->block_count);
    bool *receives = SC__NEW_ARRAY(arena, bool, w->block_count);
    find_messages(w, sends, receives);
    for (uint32_t c = 0; c < w->class_count; c++) {
        struct pacing x = {.r = r,
                           .w = w,
                           .stage = w->classes[c].stage,
                           .sends = sends,
                           .receives = receives};
        if (w->classes[c].slow != 1)
            return false;
        out->reached[c] = pace_class(arena, &x, c);
        if (!out->reached[c])
            return false;
    }
    return true;
}
