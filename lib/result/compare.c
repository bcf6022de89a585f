#include "result/compare.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "stepcast/result/1"

double sc__relative(const struct sc__pair *p) {
    return p->a != 0 ? p->b / p->a - 1 : p->b == 0 ? 0 : INFINITY;
}

static sc_status
parse(struct sc_context *ctx, const char *name, struct sc__str document, json_t **out) {
    json_error_t e;
    *out = json_loadb(document.p, document.n, JSON_REJECT_DUPLICATES, &e);
    struct sc__place at = {.file = name,
                           .line = *out ? 0 : (uint64_t)e.line,
                           .column = *out ? 0 : (uint64_t)e.column};
    if (!*out)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", e.text);
    const char *schema = json_string_value(json_object_get(*out, "schema"));
    if (schema && !strcmp(schema, SCHEMA) &&
        json_is_number(json_object_get(*out, "step_time_us")) &&
        json_is_object(json_object_get(*out, "breakdown_us")) &&
        json_array_size(json_object_get(*out, "ranks")))
        return SC_OK;
    json_decref(*out);
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "make one with: stepcast run INPUT --json FILE --timeline",
                    "not a result of stepcast (schema " SCHEMA ")");
}

sc_status
sc__check_result(struct sc_context *ctx, const char *name, struct sc__str document) {
    json_t *root;
    SC__TRY(parse(ctx, name, document, &root));
    json_decref(root);
    return SC_OK;
}

/* Adds us to the pair of this key, made where it is new. */
static void compare_add(
    struct sc__arena *a, struct sc__pairs *to, const char *key, int side, double us) {
    struct sc__pair *p = NULL;
    for (uint32_t i = 0; i < to->count && !p; i++)
        if (!strcmp(to->items[i].key, key))
            p = &to->items[i];
    if (!p) {
        p = SC__PUSH(a, to->items, to->count, to->capacity);
        p->key = sc__strdup(a, key);
    }
    *(side ? &p->b : &p->a) += us;
}

static void add_breakdown(struct sc__arena *a,
                          struct sc__pairs *to,
                          const json_t *breakdown,
                          int side,
                          double weight) {
    const char *key;
    const char *label;
    json_t *value;
    json_t *us;
    json_object_foreach((json_t *)breakdown, key, value) {
        if (json_is_number(value))
            compare_add(a, to, key, side, weight * json_number_value(value));
        json_object_foreach(value, label, us)
            compare_add(a,
                        to,
                        sc__format(a, "exposed %s", label),
                        side,
                        weight * json_number_value(us));
    }
}

/* The mean over ranks: it adds up to the step as every single rank does. */
static void
add_classes(struct sc__arena *a, struct sc__pairs *to, const json_t *root, int side) {
    const json_t *ranks = json_object_get(root, "ranks");
    double all = 0;
    size_t i;
    json_t *r;
    json_array_foreach((json_t *)ranks, i, r) all +=
        json_number_value(json_object_get(r, "ranks"));
    if (all <= 0) {
        add_breakdown(a, to, json_object_get(root, "breakdown_us"), side, 1);
        return;
    }
    json_array_foreach((json_t *)ranks, i, r)
        add_breakdown(a,
                      to,
                      json_object_get(r, "breakdown_us"),
                      side,
                      json_number_value(json_object_get(r, "ranks")) / all);
}

static void add_operations(struct sc__arena *a,
                           struct sc__comparison *c,
                           const json_t *operations,
                           int side) {
    size_t i;
    json_t *o;
    json_array_foreach((json_t *)operations, i, o) {
        const char *name = json_string_value(json_object_get(o, "name"));
        const char *group = json_string_value(json_object_get(o, "group"));
        double us = json_number_value(json_object_get(o, "total_us"));
        if (name)
            compare_add(a, &c->operations, name, side, us);
        if (group)
            compare_add(a, &c->groups, group, side, us);
    }
}

static int largest_first(const void *x, const void *y) {
    const struct sc__pair *a = x;
    const struct sc__pair *b = y;
    double da = fabs(a->b - a->a);
    double db = fabs(b->b - b->a);
    if (da != db)
        return da > db ? -1 : 1;
    return strcmp(a->key, b->key);
}

static void drop_zeros(struct sc__pairs *p) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->items[i].a != 0 || p->items[i].b != 0)
            p->items[n++] = p->items[i];
    p->count = n;
}

static void find_worst(struct sc__comparison *c) {
    double step = c->step.a != 0 ? c->step.a : 1;
    c->worst = fabs(c->step.b - c->step.a) / step;
    c->worst_key = c->step.key;
    for (uint32_t i = 0; i < c->classes.count; i++) {
        double d = fabs(c->classes.items[i].b - c->classes.items[i].a) / step;
        if (d <= c->worst)
            continue;
        c->worst = d;
        c->worst_key = c->classes.items[i].key;
    }
}

static void
add_side(struct sc__arena *a, struct sc__comparison *c, const json_t *root, int side) {
    double step = json_number_value(json_object_get(root, "step_time_us"));
    *(side ? &c->step.b : &c->step.a) = step;
    c->measured[side] = json_is_true(json_object_get(root, "measured"));
    add_classes(a, &c->classes, root, side);
    add_operations(a, c, json_object_get(root, "operations"), side);
}

sc_status sc__compare(struct sc_context *ctx,
                      const char *const name[2],
                      const struct sc__str document[2],
                      struct sc__comparison *out) {
    bool listed = true;
    *out = (struct sc__comparison){.name = {name[0], name[1]}, .step.key = "step time"};
    for (int side = 0; side < 2; side++) {
        json_t *root;
        SC__TRY(parse(ctx, name[side], document[side], &root));
        add_side(&ctx->arena, out, root, side);
        listed = listed && json_array_size(json_object_get(root, "operations")) > 0;
        json_decref(root);
    }
    if (!listed)
        out->operations.count = out->groups.count = 0;
    drop_zeros(&out->classes);
    drop_zeros(&out->groups);
    if (out->operations.count)
        qsort(out->operations.items,
              out->operations.count,
              sizeof *out->operations.items,
              largest_first);
    find_worst(out);
    return SC_OK;
}
