/* saved: a result read back from its JSON document, as far as a comparison
 * goes. */
#include "result/compare.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define SCHEMA "stepcast/result/1"

static sc_status saved_parse(struct sc_context *ctx,
                             const char *name,
                             struct sc__str document,
                             json_t **out) {
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

/* Of its times, which a writer has rounded to picoseconds. */
#define SAVED_ROUNDING 1e-6

static double saved_sum(const json_t *breakdown) {
    const char *key;
    json_t *value;
    double sum = 0;
    json_object_foreach((json_t *)breakdown, key, value) {
        double part = json_is_object(value) ? saved_sum(value) : json_number_value(value);
        sum += part < 0 ? NAN : part;
    }
    return sum;
}

static bool saved_adds_up(const json_t *part, double step) {
    double off = saved_sum(json_object_get(part, "breakdown_us")) - step;
    return fabs(off) <= SAVED_ROUNDING * step;
}

/* Every rank's parts are its step, and there are ranks: a document that was cut or edited
 * would be compared all the same. */
static sc_status saved_check(struct sc_context *ctx, const char *name, const json_t *root) {
    struct sc__place at = {.file = name};
    double step = json_number_value(json_object_get(root, "step_time_us"));
    bool sound = step > 0 && saved_adds_up(root, step);
    size_t i;
    json_t *rank;
    json_array_foreach(json_object_get(root, "ranks"), i, rank) {
        sound = sound && saved_adds_up(rank, step) &&
                json_integer_value(json_object_get(rank, "ranks")) > 0;
    }
    if (sound)
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "make it again with: stepcast run INPUT --json FILE --timeline",
                    "the parts of a rank do not add up to the step of %g us",
                    step);
}

static void saved_add_breakdown(struct sc__arena *a,
                                struct sc__amounts *to,
                                const json_t *breakdown,
                                double weight) {
    const char *key;
    const char *label;
    json_t *value;
    json_t *us;
    json_object_foreach((json_t *)breakdown, key, value) {
        if (json_is_number(value))
            sc__amounts_add(a, to, key, weight * json_number_value(value));
        json_object_foreach(value, label, us)
            sc__amounts_add(a,
                            to,
                            sc__format(a, "exposed %s", label),
                            weight * json_number_value(us));
    }
}

/* The mean over ranks: it adds up to the step as every single rank does. */
static void
saved_add_parts(struct sc__arena *a, struct sc__amounts *to, const json_t *root) {
    json_t *ranks = json_object_get(root, "ranks");
    double all = 0;
    size_t i;
    json_t *r;
    json_array_foreach(ranks, i, r) {
        all += json_number_value(json_object_get(r, "ranks"));
    }
    if (all <= 0) {
        saved_add_breakdown(a, to, json_object_get(root, "breakdown_us"), 1);
        return;
    }
    json_array_foreach(ranks, i, r) {
        saved_add_breakdown(a,
                            to,
                            json_object_get(r, "breakdown_us"),
                            json_number_value(json_object_get(r, "ranks")) / all);
    }
}

static void
saved_add_work(struct sc__arena *a, struct sc__compared *to, const json_t *root) {
    const char *kind;
    json_t *us;
    json_object_foreach(json_object_get(root, "work_us"), kind, us) {
        if (strcmp(kind, sc__work_name(SC__WORK_HOST)) != 0)
            sc__amounts_add(a, &to->work, kind, json_number_value(us));
    }
}

static void
saved_add_operations(struct sc__arena *a, struct sc__compared *to, const json_t *root) {
    size_t i;
    json_t *o;
    json_array_foreach(json_object_get(root, "operations"), i, o) {
        const char *name = json_string_value(json_object_get(o, "name"));
        const char *group = json_string_value(json_object_get(o, "group"));
        double us = json_number_value(json_object_get(o, "total_us"));
        if (name)
            sc__amounts_add(a, &to->operations, name, us);
        if (group)
            sc__amounts_add(a, &to->groups, group, us);
    }
}

/* What long documents say of the operations that they do not list. */
static void
saved_add_left_out(struct sc__arena *a, struct sc__compared *to, const json_t *root) {
    const char *group;
    json_t *us;
    json_int_t count = json_integer_value(json_object_get(root, "operations_left_out"));
    to->left_out = count > 0 ? (uint64_t)count : 0;
    json_object_foreach(json_object_get(root, "groups_left_out_us"), group, us) {
        sc__amounts_add(a, &to->groups, group, json_number_value(us));
    }
}

sc_status sc__compared_saved(struct sc_context *ctx,
                             const char *name,
                             struct sc__str document,
                             struct sc__compared *out) {
    json_t *root;
    SC__TRY(saved_parse(ctx, name, document, &root));
    sc_status status = saved_check(ctx, name, root);
    if (status != SC_OK) {
        json_decref(root);
        return status;
    }
    double step = json_number_value(json_object_get(root, "step_time_us"));
    double rate = json_number_value(json_object_get(root, "tokens_per_s"));
    *out =
        (struct sc__compared){.name = name,
                              .measured = json_is_true(json_object_get(root, "measured")),
                              .step = step,
                              .tokens = rate > 0 ? round(rate * step * 1e-6) : 0};
    saved_add_parts(&ctx->arena, &out->parts, root);
    saved_add_breakdown(&ctx->arena,
                        &out->slowest,
                        json_object_get(root, "breakdown_us"),
                        1);
    saved_add_work(&ctx->arena, out, root);
    saved_add_operations(&ctx->arena, out, root);
    saved_add_left_out(&ctx->arena, out, root);
    json_decref(root);
    return SC_OK;
}
