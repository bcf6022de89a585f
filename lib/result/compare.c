#include "result/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double sc__relative(const struct sc__pair *p) {
    if (p->a != 0)
        return p->b / p->a - 1;
    return p->b == 0 ? 0 : INFINITY;
}

/* ---- the view of a result ---- */

void sc__amounts_add(struct sc__arena *a,
                     struct sc__amounts *to,
                     const char *key,
                     double us) {
    if (!to->keys.arena)
        sc__names_init(&to->keys, a);
    uint32_t id = sc__names_add(&to->keys, key, strlen(key));
    if (id == to->count)
        *SC__PUSH(a, to->us, to->count, to->capacity) = 0;
    to->us[id] += us;
}

/* weight: the share of all ranks that have this breakdown. */
static void compare_add_breakdown(struct sc__arena *a,
                                  struct sc__amounts *to,
                                  const struct sc__breakdown *b,
                                  uint32_t labels,
                                  double weight) {
    sc__amounts_add(a, to, "compute", weight * sc__us(b->compute));
    sc__amounts_add(a, to, "recompute", weight * sc__us(b->recompute));
    for (uint32_t i = 0; i < labels; i++)
        sc__amounts_add(a,
                        to,
                        sc__format(a, "exposed %s", b->comm[i].label),
                        weight * sc__us(b->comm[i].exposed));
    sc__amounts_add(a, to, "bubble", weight * sc__us(b->bubble));
    sc__amounts_add(a, to, "skew", weight * sc__us(b->skew));
    sc__amounts_add(a, to, "other", weight * sc__us(b->other));
}

static void compare_add_operations(struct sc__arena *a,
                                   struct sc__compared *to,
                                   const struct sc__result *r) {
    for (uint32_t i = 0; i < r->operations.count; i++) {
        const struct sc__operation *o = &r->operations.items[i];
        double us = sc__operation_us(o->total);
        sc__amounts_add(a, &to->operations, o->name, us);
        if (o->op->kind != SC__OP_COMPUTE)
            sc__amounts_add(a, &to->groups, sc__span_label(r->workload, o->op), us);
    }
}

/* The host's waiting is no compute: it is among the parts, as "other". */
static void
compare_add_work(struct sc__arena *a, struct sc__compared *to, const struct sc__result *r) {
    for (unsigned k = 0; k < SC__WORKS; k++)
        if (r->work[k] && k != SC__WORK_HOST)
            sc__amounts_add(a,
                            &to->work,
                            sc__work_name((enum sc__work)k),
                            sc__us(r->work[k]));
}

void sc__compared_result(struct sc__arena *a,
                         const char *name,
                         const struct sc__result *r,
                         struct sc__compared *out) {
    double all = 0;
    *out =
        (struct sc__compared){.name = name,
                              .measured = r->measured,
                              .step = sc__us(r->step),
                              .tokens = round(r->tokens_per_s * (double)r->step * 1e-12)};
    for (uint32_t c = 0; c < r->class_count; c++)
        all += r->classes[c].class->ranks;
    for (uint32_t c = 0; c < r->class_count; c++)
        compare_add_breakdown(a,
                              &out->parts,
                              &r->classes[c].breakdown,
                              r->labels,
                              r->classes[c].class->ranks / all);
    if (r->class_count)
        compare_add_breakdown(a,
                              &out->slowest,
                              &r->classes[r->slowest].breakdown,
                              r->labels,
                              1);
    compare_add_work(a, out, r);
    compare_add_operations(a, out, r);
}

/* ---- two views ---- */

/* A pair for each key of either side: A's keys first. */
static void compare_pair_up(struct sc__arena *a,
                            const struct sc__amounts *x,
                            const struct sc__amounts *y,
                            struct sc__pairs *out) {
    for (uint32_t i = 0; i < x->count; i++)
        *SC__PUSH(a, out->items, out->count, out->capacity) =
            (struct sc__pair){.key = x->keys.text[i], .a = x->us[i]};
    for (uint32_t i = 0; i < y->count; i++) {
        const char *key = y->keys.text[i];
        uint32_t id = x->count ? sc__names_find(&x->keys, key, strlen(key)) : SC__NO_NAME;
        if (id != SC__NO_NAME)
            out->items[id].b = y->us[i];
        else
            *SC__PUSH(a, out->items, out->count, out->capacity) =
                (struct sc__pair){.key = key, .b = y->us[i]};
    }
}

static int compare_largest_first(const void *x, const void *y) {
    const struct sc__pair *a = x;
    const struct sc__pair *b = y;
    double da = fabs(a->b - a->a);
    double db = fabs(b->b - b->a);
    if (da != db)
        return da > db ? -1 : 1;
    return strcmp(a->key, b->key);
}

static void compare_drop_zeros(struct sc__pairs *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].a != 0 || p->items[i].b != 0)
            p->items[n++] = p->items[i];
    p->count = n;
}

static void compare_find_worst(struct sc__comparison *c) {
    double step = c->step.a != 0 ? c->step.a : 1;
    c->worst = fabs(c->step.b - c->step.a) / step;
    c->worst_key = c->step.key;
    for (uint32_t i = 0; i < c->parts.count; i++) {
        double d = fabs(c->parts.items[i].b - c->parts.items[i].a) / step;
        if (d <= c->worst)
            continue;
        c->worst = d;
        c->worst_key = c->parts.items[i].key;
    }
}

static bool is_compute(const char *key) {
    return !strcmp(key, "compute") || !strcmp(key, "recompute");
}

static void
compare_add_cause(struct sc__arena *a, const struct sc__pair *p, struct sc__pairs *out) {
    if (p->a != p->b)
        *SC__PUSH(a, out->items, out->count, out->capacity) = *p;
}

/* Kernels of several streams run beside each other: then kinds of work are more than
 * the time they took. */
static void compare_add_beside(struct sc__arena *a,
                               const struct sc__pairs *slowest,
                               struct sc__comparison *c) {
    struct sc__pair beside = {.key = "kernels side by side"};
    double most = 0;
    for (uint32_t i = 0; i < slowest->count; i++)
        if (is_compute(slowest->items[i].key)) {
            beside.a += slowest->items[i].a;
            beside.b += slowest->items[i].b;
        }
    most = fmax(beside.a, beside.b);
    for (uint32_t i = 0; i < c->work.count; i++) {
        beside.a -= c->work.items[i].a;
        beside.b -= c->work.items[i].b;
    }
    if (fabs(beside.b - beside.a) > 1e-9 * most)
        compare_add_cause(a, &beside, &c->causes);
}

static void compare_find_causes(struct sc__arena *a,
                                const struct sc__compared side[2],
                                struct sc__comparison *c) {
    struct sc__pairs slowest = {0};
    compare_pair_up(a, &side[0].slowest, &side[1].slowest, &slowest);
    for (uint32_t i = 0; i < c->work.count; i++)
        compare_add_cause(a, &c->work.items[i], &c->causes);
    for (uint32_t i = 0; i < slowest.count; i++)
        if (!c->work.count || !is_compute(slowest.items[i].key))
            compare_add_cause(a, &slowest.items[i], &c->causes);
    if (c->work.count)
        compare_add_beside(a, &slowest, c);
    if (c->causes.count)
        qsort(c->causes.items,
              c->causes.count,
              sizeof *c->causes.items,
              compare_largest_first);
}

void sc__compare(struct sc__arena *a,
                 const struct sc__compared side[2],
                 struct sc__comparison *out) {
    bool listed = side[0].operations.count && side[1].operations.count;
    *out = (struct sc__comparison){.step = {"step time", side[0].step, side[1].step}};
    for (int i = 0; i < 2; i++) {
        out->name[i] = side[i].name;
        out->measured[i] = side[i].measured;
        out->left_out[i] = side[i].left_out;
        out->tokens[i] = side[i].tokens;
    }
    compare_pair_up(a, &side[0].parts, &side[1].parts, &out->parts);
    if (side[0].work.count && side[1].work.count)
        compare_pair_up(a, &side[0].work, &side[1].work, &out->work);
    if (listed) {
        compare_pair_up(a, &side[0].groups, &side[1].groups, &out->groups);
        compare_pair_up(a, &side[0].operations, &side[1].operations, &out->operations);
    }
    compare_drop_zeros(&out->parts);
    compare_drop_zeros(&out->groups);
    if (out->operations.count)
        qsort(out->operations.items,
              out->operations.count,
              sizeof *out->operations.items,
              compare_largest_first);
    compare_find_worst(out);
    compare_find_causes(a, side, out);
}

bool sc__compare_is_uneven(const struct sc__comparison *c) {
    bool known = c->tokens[0] > 0 && c->tokens[1] > 0;
    return known && fabs(c->tokens[0] - c->tokens[1]) > 0.5;
}
