/* Before and after a run of graph blocks: successor lists from dependencies,
 * results, the report of a deadlock, the close of the accounts. */
#include "simulate/executor_graph.h"
#include "workload/match.h"

#include <stdlib.h>
#include <string.h>

static void count_successors(struct sc__graph_run *r, const struct sc__block *b) {
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

static void fill_successors(struct sc__graph_run *r, const struct sc__block *b) {
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
static void make_successors(struct sc__graph_run *r) {
    const struct sc__workload *w = r->w;
    r->succ_first = SC__NEW_ARRAY(r->arena, uint32_t, (size_t)w->op_count + 2);
    r->succ = SC__NEW_ARRAY(r->arena, uint32_t, w->dep_count);
    r->waits = SC__NEW_ARRAY(r->arena, uint16_t, w->op_count);
    for (uint32_t c = 0; c < w->class_count; c++)
        count_successors(r, sc__rank_block(w, w->classes[c].rank));
    for (uint32_t i = 1; i < w->op_count + 2; i++)
        r->succ_first[i] += r->succ_first[i - 1];
    for (uint32_t c = 0; c < w->class_count; c++)
        fill_successors(r, sc__rank_block(w, w->classes[c].rank));
}

static uint32_t count_meetings(const struct sc__workload *w) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].kind == SC__OP_COLLECTIVE && w->match[i] >= n)
            n = w->match[i] + 1;
    return n;
}

static void make_results(struct sc__graph_run *r) {
    uint32_t classes = r->w->class_count;
    uint32_t labels = r->w->group_count + 1;
    struct sc__arena *a = &r->ctx->arena;
    memset(r->out, 0, sizeof *r->out);
    r->out->classes = SC__NEW_ARRAY(a, struct sc__class_result, classes);
    int64_t *exposed = SC__NEW_ARRAY(a, int64_t, (size_t)classes * labels);
    struct sc__traffic *t = SC__NEW_ARRAY(a, struct sc__traffic, (size_t)classes * labels);
    for (uint32_t c = 0; c < classes; c++) {
        r->out->classes[c].account.exposed = exposed + (size_t)c * labels;
        r->out->classes[c].traffic = t + (size_t)c * labels;
    }
    if (!r->options.keep_timeline)
        return;
    r->out->timeline = SC__NEW(a, struct sc__timeline);
    r->out->timeline->workload = r->w;
    r->started = SC__NEW_ARRAY(r->arena, int64_t, r->w->op_count);
    r->met = SC__NEW_ARRAY(r->arena, int64_t, r->w->op_count);
}

/* An engine that shares links must know all transfers before the first one
 * starts. */
static sc_status
announce(struct sc__graph_run *r, uint32_t class, const struct sc__block *b, bool *known) {
    struct sc__claims unused;
    int64_t time;
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        const struct sc__op *o = &r->w->ops[i];
        bool collective = o->kind == SC__OP_COLLECTIVE;
        if ((!collective && o->kind != SC__OP_SEND) || (o->flags & SC__OP_MEASURED) ||
            (collective && known[r->match[i]]))
            continue;
        struct sc__transfer t =
            collective ? sc__graph_collective(r, i) : sc__graph_message(r, class, i);
        SC__TRY(r->net->ops->alone(r->net->self, &t, &time, &unused));
        if (collective)
            known[r->match[i]] = true;
    }
    return SC_OK;
}

static sc_status announce_all(struct sc__graph_run *r, uint32_t meetings) {
    bool *known = SC__NEW_ARRAY(r->arena, bool, meetings);
    for (uint32_t c = 0; c < r->w->class_count && !r->loads; c++)
        SC__TRY(announce(r, c, sc__rank_block(r->w, r->w->classes[c].rank), known));
    return SC_OK;
}

sc_status sc__graph_set_up(struct sc__graph_run *r) {
    const struct sc__workload *w = r->w;
    make_results(r);
    make_successors(r);
    r->match = w->match;
    r->state = SC__NEW_ARRAY(r->arena, uint8_t, w->op_count);
    r->lanes = SC__NEW_ARRAY(r->arena,
                             struct sc__graph_lane,
                             (size_t)w->class_count * SC__MAX_STREAMS);
    r->loads = r->net->ops->overhead != NULL;
    r->slots = SC__NEW_ARRAY(r->arena, bool, w->class_count);
    r->usage = SC__NEW_ARRAY(r->arena, struct sc__graph_usage, w->class_count);
    r->lines = SC__NEW_ARRAY(r->arena, struct sc__graph_line, w->group_count);
    uint32_t meetings = count_meetings(w);
    r->meetings = SC__NEW_ARRAY(r->arena, struct sc__graph_meeting, meetings);
    SC__TRY(announce_all(r, meetings));
    sc__queue_init(&r->queue, r->arena);
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__block *b = sc__rank_block(w, w->classes[c].rank);
        r->total += b->ops;
        r->usage[c].left = b->ops;
        r->slots[c] = b->slots;
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++)
            if (!r->waits[i])
                *SC__PUSH(r->arena, r->pending, r->pending_count, r->pending_capacity) =
                    (struct sc__graph_pending){c, i};
    }
    return SC_OK;
}

static void describe_waiting(const struct sc__graph_run *r,
                             uint32_t class,
                             uint32_t op,
                             struct sc__buffer *b) {
    const struct sc__op *o = &r->w->ops[op];
    const struct sc__block *block = sc__rank_block(r->w, r->w->classes[class].rank);
    sc__printf(b,
               "%srank %u, operation %u (%s)",
               b->size ? "; " : "",
               r->w->classes[class].rank,
               op - block->first_op,
               r->w->names.text[o->name]);
    if (o->kind == SC__OP_SEND || o->kind == SC__OP_RECV) {
        if (o->flags & SC__OP_ANY_PEER)
            sc__puts(b, " waits for any rank");
        else
            sc__printf(b, " waits for rank %u", o->peer);
        if (!(o->flags & SC__OP_ANY_TAG))
            sc__printf(b, ", tag %u", o->tag);
    } else if (o->kind == SC__OP_COLLECTIVE)
        sc__printf(b,
                   " waits for %u of %u ranks of group %s",
                   sc__group_size(r->w, o->group) - r->meetings[r->match[op]].arrived,
                   sc__group_size(r->w, o->group),
                   r->w->groups[o->group].label);
    else
        sc__puts(b, " waits for its dependencies");
}

sc_status sc__graph_deadlock(struct sc__graph_run *r) {
    struct sc__buffer b;
    unsigned shown = 0;
    sc__buffer_init(&b, &r->ctx->arena);
    for (unsigned blocked = 0; blocked < 2 && !shown; blocked++)
        for (uint32_t c = 0; c < r->w->class_count && shown < 4; c++) {
            const struct sc__block *block = sc__rank_block(r->w, r->w->classes[c].rank);
            for (uint32_t i = block->first_op; i < block->first_op + block->ops; i++) {
                if ((r->state[i] & SC__DONE) || (!blocked && r->waits[i]))
                    continue;
                describe_waiting(r, c, i, &b);
                shown++;
                break;
            }
        }
    return sc__fail(r->ctx,
                    SC_INPUT,
                    NULL,
                    "these operations can never run: look for an order in which all can",
                    "deadlock after %.3f us: %llu of %llu operations were not executed: %s",
                    sc__us(r->now),
                    (unsigned long long)(r->total - r->done),
                    (unsigned long long)r->total,
                    b.text);
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

static void close_timeline(struct sc__graph_run *r) {
    struct sc__timeline *t = r->out->timeline;
    if (!t)
        return;
    t->end = r->out->step;
    if (t->count)
        sc__sort(t->spans,
                 t->count,
                 sizeof *t->spans,
                 compare_spans,
                 (void *)(uintptr_t)r->w);
}

void sc__graph_close(struct sc__graph_run *r) {
    int64_t step_time = 0;
    for (uint32_t c = 0; c < r->w->class_count; c++)
        if (r->out->classes[c].end > step_time)
            step_time = r->out->classes[c].end;
    r->now = r->out->step = step_time;
    for (uint32_t c = 0; c < r->w->class_count; c++)
        sc__graph_account(r, c);
    close_timeline(r);
}
