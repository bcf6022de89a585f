/* graph_setup: before and after a run of graph blocks: successor lists from
 * dependencies, the order of the timeline. */
#include "simulate/graph.h"
#include "workload/match.h"

#include <stdlib.h>
#include <string.h>

static void count_successors(struct sc__graph *r, const struct sc__block *b) {
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        r->waits[i] = o->deps;
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = r->w->deps[o->first_dep + d];
            if (dep & SC__DEP_START)
                r->start_deps = true;
            r->succ_first[b->first_op + (dep & ~SC__DEP_START) + 2]++;
        }
    }
}

static void fill_successors(struct sc__graph *r, const struct sc__block *b) {
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        for (uint32_t d = 0; d < o->deps; d++) {
            uint32_t dep = r->w->deps[o->first_dep + d];
            r->succ[r->succ_first[b->first_op + (dep & ~SC__DEP_START) + 1]++] =
                i | (dep & SC__DEP_START);
        }
    }
}

/* Counts are shifted by one place while filling, so that the places become
 * the beginnings. */
static void make_successors(struct sc__graph *r) {
    const struct sc__workload *w = r->w;
    r->succ_first = SC__NEW_ARRAY(&r->x->arena, uint32_t, (size_t)w->op_count + 2);
    r->succ = SC__NEW_ARRAY(&r->x->arena, uint32_t, w->dep_count);
    r->waits = SC__NEW_ARRAY(&r->x->arena, uint16_t, w->op_count);
    for (uint32_t c = 0; c < w->class_count; c++)
        count_successors(r, sc__rank_block(w, w->classes[c].rank));
    for (uint32_t i = 1; i < w->op_count + 2; i++)
        r->succ_first[i] += r->succ_first[i - 1];
    for (uint32_t c = 0; c < w->class_count; c++)
        fill_successors(r, sc__rank_block(w, w->classes[c].rank));
}

static uint32_t count_rendezvous(const struct sc__workload *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->match[i] >= n)
            n = w->match[i] + 1;
    return n;
}

/* An engine that shares links must know all transfers before the first one
 * starts. */
static sc_status
announce(struct sc__graph *r, uint32_t class, const struct sc__block *b, bool *known) {
    struct sc_claims unused;
    int64_t time;
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        bool collective = o->kind == SC__OP_COLLECTIVE;
        if ((!collective && o->kind != SC__OP_SEND) || (o->flags & SC__OP_MEASURED) ||
            (collective && known[r->match[i]]))
            continue;
        struct sc_transfer t =
            collective ? sc__graph_collective(r, i) : sc__graph_message(r, class, i);
        SC__TRY(r->x->net->ops->alone(r->x->net->self, &t, &time, &unused));
        if (collective)
            known[r->match[i]] = true;
    }
    return SC_OK;
}

static sc_status announce_all(struct sc__graph *r, uint32_t rendezvous) {
    bool *known = SC__NEW_ARRAY(&r->x->arena, bool, rendezvous);
    for (uint32_t c = 0; c < r->w->class_count && !r->loads; c++)
        SC__TRY(announce(r, c, sc__rank_block(r->w, r->w->classes[c].rank), known));
    return SC_OK;
}

static sc_status check_graph(struct sc_context *ctx, const struct sc__workload *w) {
    for (uint32_t c = 0; c < w->class_count; c++)
        if (w->classes[c].ranks != 1 || w->programs[w->classes[c].program].calls != 1 ||
            !sc__rank_block(w, w->classes[c].rank)->graph)
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            NULL,
                            "%s: a graph needs a class and one block for each rank",
                            w->classes[c].name);
    if (!w->match)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "a graph whose messages were not matched");
    return SC_OK;
}

static void find_first_ready(struct sc__graph *r, uint32_t class) {
    const struct sc__block *b = sc__rank_block(r->w, r->w->classes[class].rank);
    r->x->items += b->ops;
    r->x->runners[class].under_way.left = b->ops;
    r->slots[class] = b->slots;
    sc__touch(r->x,
              class); /* it waits from the beginning on, though nothing of it begins */
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++)
        if (!r->waits[i])
            *SC__PUSH(&r->x->arena, r->pending, r->pending_count, r->pending_capacity) =
                (struct sc__graph_pending){class, i};
}

sc_status sc__graph_prepare(struct sc__executor *x) {
    const struct sc__workload *w = x->w;
    SC__TRY(check_graph(x->ctx, w));
    struct sc__graph *r = SC__NEW(&x->arena, struct sc__graph);
    x->graph = r;
    r->x = x;
    r->w = w;
    make_successors(r);
    r->match = w->match;
    r->state = SC__NEW_ARRAY(&x->arena, uint8_t, w->op_count);
    r->lanes = SC__NEW_ARRAY(&x->arena,
                             struct sc__graph_lane,
                             (size_t)w->class_count * x->streams);
    r->loads = x->net->ops->overhead != NULL;
    r->slots = SC__NEW_ARRAY(&x->arena, bool, w->class_count);
    r->inboxes = SC__NEW_ARRAY(&x->arena, struct sc__graph_inbox, w->class_count);
    r->lines = SC__NEW_ARRAY(&x->arena, struct sc__graph_line, w->group_count);
    uint32_t rendezvous = count_rendezvous(w);
    r->collectives = SC__NEW_ARRAY(&x->arena, uint32_t, rendezvous);
    if (x->options.keep_timeline) {
        r->started = SC__NEW_ARRAY(&x->arena, int64_t, w->op_count);
        r->met = SC__NEW_ARRAY(&x->arena, int64_t, w->op_count);
        r->partner = SC__NEW_ARRAY(&x->arena, uint32_t, w->op_count);
        if (w->op_count)
            memcpy(r->partner, w->match, w->op_count * sizeof *r->partner);
    }
    SC__TRY(announce_all(r, rendezvous));
    for (uint32_t c = 0; c < w->class_count; c++)
        find_first_ready(r, c);
    if (x->options.comm_tax > 0)
        sc__note(
            x->ctx,
            "graph-comm-tax",
            "compute of a graph is not slowed down by transfers beside it (--comm-sm-tax)");
    return SC_OK;
}

/* Spans were kept as they ended; readers want them by class, stream and start. */
static int compare_spans(const void *a, const void *b, void *self) {
    const struct sc__span *x = a;
    const struct sc__span *y = b;
    const struct sc__op *ops = ((const struct sc__workload *)self)->ops;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (ops[x->op].stream != ops[y->op].stream)
        return ops[x->op].stream < ops[y->op].stream ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* A send names the span of its receive; every operation has one. */
static void link_messages(const struct sc__graph *r, struct sc__timeline *t) {
    uint32_t *span = SC__NEW_ARRAY(&r->x->arena, uint32_t, r->w->op_count);
    for (uint32_t i = 0; i < t->count; i++)
        span[t->spans[i].op] = i;
    for (uint32_t i = 0; i < t->count; i++) {
        uint32_t op = t->spans[i].op;
        if (r->w->ops[op].kind == SC__OP_SEND && r->partner[op] != SC__NONE)
            t->spans[i].peer_span = span[r->partner[op]];
    }
}

/* The step is over when the last operation has ended. */
sc_status sc__graph_check_end(struct sc__executor *x) {
    struct sc__timeline *t = x->out->timeline;
    int64_t end = 0;
    if (x->items_ended < x->items)
        return sc__graph_deadlock(x->graph);
    for (uint32_t c = 0; c < x->w->class_count; c++)
        if (x->out->classes[c].end > end)
            end = x->out->classes[c].end;
    x->now = end;
    if (t && t->count) {
        sc__sort(t->spans,
                 t->count,
                 sizeof *t->spans,
                 compare_spans,
                 (void *)(uintptr_t)x->w);
        link_messages(x->graph, t);
    }
    return SC_OK;
}
