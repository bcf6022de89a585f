/* The workload is copied with the costs of one class of work scaled; transfers
 * that the network times go through an engine that stands before the real
 * one:
 *   - at 0 the transfer completes when it starts
 *   - at a half its time alone is halved, and where it shares links with
 *     others, its bytes
 */
#include "result/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is scaled: kinds of compute, or transfers of one label. */
struct whatif_change {
    const char *label; /* NULL: compute */
    bool recompute;    /* all recomputation, whatever its kind */
    int work;
    double factor;
};

/* ---- the engine before the engine ---- */

struct whatif_scaled {
    const struct sc__net *inner;
    const struct sc__workload *w;
    const struct whatif_change *change;
    struct sc__arena *arena;
    struct sc_transfer *free_ones; /* complete now */
    uint32_t free_count;
    uint32_t free_capacity;
    int64_t now;
};

static const char *whatif_transfer_label(const struct sc__workload *w,
                                         const struct sc_transfer *t) {
    return t->coll == SC__COLLS ? sc__message_label(w) : w->groups[t->group].label;
}

static double whatif_factor_of(const struct whatif_scaled *s, const struct sc_transfer *t) {
    const char *label = s->change->label;
    return label && !strcmp(label, whatif_transfer_label(s->w, t)) ? s->change->factor : 1;
}

static struct sc_transfer scaled_transfer(const struct sc_transfer *t, double factor) {
    struct sc_transfer less = *t;
    less.bytes = (uint64_t)((double)t->bytes * factor);
    return less;
}

static sc_status scaled_alone(void *net,
                              const struct sc_transfer *t,
                              int64_t *time,
                              struct sc_claims *claims) {
    struct whatif_scaled *s = net;
    double factor = whatif_factor_of(s, t);
    /* what will be started may go another way than the whole: an engine wants to know of
     * it before anything runs */
    struct sc_transfer less = scaled_transfer(t, factor);
    if (factor != 0 && factor != 1)
        SC__TRY(s->inner->ops->alone(s->inner->self, &less, time, claims));
    SC__TRY(s->inner->ops->alone(s->inner->self, t, time, claims));
    if (factor == 0) {
        claims->count = 0;
        claims->contended = false;
    }
    if (factor != 1)
        *time = (int64_t)((double)*time * factor);
    return SC_OK;
}

static sc_status scaled_start(void *net, const struct sc_transfer *t, int64_t now) {
    struct whatif_scaled *s = net;
    double factor = whatif_factor_of(s, t);
    struct sc_transfer less = scaled_transfer(t, factor);
    if (factor == 0) {
        s->now = now;
        *SC__PUSH(s->arena, s->free_ones, s->free_count, s->free_capacity) = *t;
        return SC_OK;
    }
    return s->inner->ops->start(s->inner->self, factor == 1 ? t : &less, now);
}

static sc_status scaled_next(void *net, int64_t *when) {
    struct whatif_scaled *s = net;
    SC__TRY(s->inner->ops->next(s->inner->self, when));
    if (s->free_count && s->now < *when)
        *when = s->now;
    return SC_OK;
}

static sc_status
scaled_finish(void *net, int64_t to, struct sc_transfer *done, bool *found) {
    struct whatif_scaled *s = net;
    if (s->free_count) {
        *done = s->free_ones[--s->free_count];
        *found = true;
        return SC_OK;
    }
    return s->inner->ops->finish(s->inner->self, to, done, found);
}

static sc_status scaled_overhead(void *net, uint64_t bytes, struct sc_overhead *out) {
    struct whatif_scaled *s = net;
    return s->inner->ops->overhead(s->inner->self, bytes, out);
}

/* What completes now is its own; the rest is the real engine's. */
static sc_status scaled_state(void *net, int64_t now, struct sc__net_state *out) {
    struct whatif_scaled *s = net;
    sc__net_state_put(out, s->free_count);
    if (s->free_count)
        sc__net_state_put(out, (uint64_t)(now - s->now));
    for (uint32_t i = 0; i < s->free_count; i++)
        sc__net_state_put(out, out->user_number(out, s->free_ones[i].user));
    return s->inner->periods->state(s->inner->self, now, out);
}

static sc_status scaled_shift(void *net, int64_t by, const uint64_t *more) {
    struct whatif_scaled *s = net;
    s->now += by;
    return s->inner->periods->shift(s->inner->self, by, more);
}

static const struct sc_engine scaled_ops = {.name = "scaled",
                                            .alone = scaled_alone,
                                            .start = scaled_start,
                                            .next = scaled_next,
                                            .finish = scaled_finish};

static const struct sc__net_periods scaled_periods = {.state = scaled_state,
                                                      .shift = scaled_shift};

/* ---- the workload with other costs ---- */

static bool whatif_is_changed(const struct sc__workload *w,
                              const struct sc__op *op,
                              const struct whatif_change *c) {
    if (op->kind == SC__OP_COMPUTE) {
        if (c->label)
            return false;
        return c->recompute ? op->phase == SC__RECOMPUTE : op->work == c->work;
    }
    if (!c->label || op->kind == SC__OP_WAIT)
        return false;
    return !strcmp(c->label,
                   op->kind == SC__OP_COLLECTIVE ? w->groups[op->group].label
                                                 : sc__message_label(w));
}

static struct sc__workload whatif_scale(struct sc__arena *a,
                                        const struct sc__workload *w,
                                        const struct whatif_change *c) {
    struct sc__workload copy = *w;
    copy.ops = SC__NEW_ARRAY(a, struct sc__op, w->op_count ? w->op_count : 1);
    for (uint32_t i = 0; i < w->op_count; i++) {
        copy.ops[i] = w->ops[i];
        if (whatif_is_changed(w, &w->ops[i], c))
            copy.ops[i].cost = llround((double)w->ops[i].cost * c->factor);
    }
    return copy;
}

struct whatif_table {
    struct sc_context *ctx;
    struct sc__arena *arena; /* of the rows */
    const struct sc__workload *w;
    const struct sc__net_maker *net;
    struct sc__sim_options options;
    struct sc__whatif *out;
    uint32_t expected; /* rows */
};

struct whatif_run {
    const struct whatif_table *t;
    struct sc_context *own;
    struct whatif_change change;
    int64_t *step;
};

static sc_status whatif_simulate_changed(void *self) {
    const struct whatif_run *run = self;
    const struct whatif_table *t = run->t;
    const struct whatif_change *c = &run->change;
    struct sc_context *own = run->own;
    struct sc__workload changed = whatif_scale(&own->arena, t->w, c);
    struct sc__net net;
    struct sc__sim sim;
    SC__TRY(t->net->make(t->net->self, own, &changed, &net));
    struct whatif_scaled s = {.inner = &net, .w = t->w, .change = c, .arena = &own->arena};
    struct sc_engine ops = scaled_ops;
    if (net.ops->overhead)
        ops.overhead = scaled_overhead;
    struct sc__net before = {.ops = &ops,
                             .periods = net.periods ? &scaled_periods : NULL,
                             .self = &s,
                             .free = net.free};
    SC__TRY(sc__simulate(own, &changed, c->label ? &before : &net, &t->options, &sim));
    *run->step = sim.step;
    return SC_OK;
}

/* In a context of its own, given back at once: there are many of these. */
static sc_status whatif_step_with(const struct whatif_table *t,
                                  struct whatif_change c,
                                  double factor,
                                  int64_t *step) {
    sc_context *own = sc_open();
    if (!own)
        return sc__out_of_memory(t->ctx);
    own->jobs = t->ctx->jobs;
    own->engines = t->ctx->engines;
    c.factor = factor;
    struct whatif_run run = {.t = t, .own = own, .change = c, .step = step};
    sc_status status = sc__guarded(own, whatif_simulate_changed, &run);
    if (status != SC_OK)
        sc__fail(t->ctx, status, NULL, NULL, "what-if: %s", sc_error_message(own));
    sc_close(own);
    return status;
}

/* ---- the table ---- */

struct whatif_seen { /* what the workload has */
    bool work[SC__WORKS];
    bool recompute;
    const char *labels[64];
    unsigned label_count;
};

static void whatif_see_label(struct whatif_seen *s, const char *label) {
    for (unsigned i = 0; i < s->label_count; i++)
        if (!strcmp(s->labels[i], label))
            return;
    if (s->label_count < 64)
        s->labels[s->label_count++] = label;
}

static void whatif_look(const struct sc__workload *w, struct whatif_seen *s) {
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct sc__op *op = &w->ops[i];
        if (op->kind == SC__OP_COLLECTIVE)
            whatif_see_label(s, w->groups[op->group].label);
        else if (op->kind == SC__OP_SEND || op->kind == SC__OP_RECV)
            whatif_see_label(s, sc__message_label(w));
        else if (op->kind == SC__OP_COMPUTE && op->cost) {
            s->work[op->work] = true;
            s->recompute |= op->phase == SC__RECOMPUTE;
        }
    }
}

static int whatif_most_gain_first(const void *x, const void *y) {
    const struct sc__whatif_row *a = x;
    const struct sc__whatif_row *b = y;
    if (a->at_zero != b->at_zero)
        return a->at_zero < b->at_zero ? -1 : 1;
    return strcmp(a->key, b->key);
}

static sc_status whatif_add_row(struct whatif_table *t,
                                const char *key,
                                const char *title,
                                struct whatif_change c) {
    struct sc__whatif_row row = {.key = key, .title = title};
    SC__TRY(sc__progress(t->ctx, "what if", (double)t->out->count / (double)t->expected));
    SC__TRY(whatif_step_with(t, c, 0, &row.at_zero));
    SC__TRY(whatif_step_with(t, c, 0.5, &row.at_half));
    *SC__PUSH(t->arena, t->out->rows, t->out->count, t->out->capacity) = row;
    return SC_OK;
}

static sc_status whatif_add_rows(struct whatif_table *t) {
    struct sc__arena *a = t->arena;
    struct whatif_seen seen;
    whatif_look(t->w, &seen);
    t->expected = seen.label_count + seen.recompute;
    for (int k = 0; k < SC__WORKS; k++)
        t->expected += seen.work[k];
    for (int k = 0; k < SC__WORKS; k++) {
        const char *name = sc__work_name((enum sc__work)k);
        const char *title = k == SC__WORK_OTHER  ? "compute"
                            : k == SC__WORK_HOST ? "host"
                                                 : name;
        if (seen.work[k])
            SC__TRY(whatif_add_row(t, name, title, (struct whatif_change){.work = k}));
    }
    if (seen.recompute)
        SC__TRY(whatif_add_row(t,
                               "recompute",
                               "recomputation",
                               (struct whatif_change){.recompute = true}));
    for (unsigned i = 0; i < seen.label_count; i++)
        SC__TRY(whatif_add_row(t,
                               sc__format(a, "comm:%s", seen.labels[i]),
                               sc__format(a, "%s communication", seen.labels[i]),
                               (struct whatif_change){.label = seen.labels[i]}));
    return SC_OK;
}

sc_status sc__whatif(struct sc_context *ctx,
                     struct sc__arena *arena,
                     const struct sc__workload *w,
                     const struct sc__net_maker *net,
                     const struct sc__sim_options *options,
                     int64_t step,
                     struct sc__whatif *out) {
    *out = (struct sc__whatif){.step = step};
    struct whatif_table t =
        {.ctx = ctx, .arena = arena, .w = w, .net = net, .options = *options, .out = out};
    t.options.keep_timeline = false;
    SC__TRY(whatif_add_rows(&t));
    if (out->count)
        qsort(out->rows, out->count, sizeof *out->rows, whatif_most_gain_first);
    return SC_OK;
}
