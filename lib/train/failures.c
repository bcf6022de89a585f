/* failures: reads a set. Every value has its place, so that an error names line
 * and column. */
#include "train/failures.h"

#include "base/data.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/json_view.h"
#include "base/text.h"

#include <math.h>

#define SCHEMA "stepcast/failures/1"
#define MOST_BYTES ((size_t)1 << 20)
#define MOST_CLASSES 1000u
#define MOST_RUNGS 100u
#define MOST_LINKS 1000u
/* Rates and times beyond these are slips of the pen; they also keep sums finite. */
#define MOST_PER_1000_DAYS 1e9
#define MOST_SECONDS 1e9

static const char *const failure_scopes[] = {"gpu", "node", "rack", "switch", "job", NULL};
static const char *const failure_symptoms[] = {"crash", "hang", "slow", "silent", NULL};

/* What the rates of classes need beside the set. */
struct failure_exposure {
    double gpu_days; /* observed, of all GPUs together */
    double job_gpus; /* of the job that was observed */
};

static sc_status failures_limit(
    const struct sc__node *n, const char *key, double value, double least, double most) {
    if (value >= least && value <= most)
        return SC_OK;
    struct sc__node at = sc__node_at(n, key);
    return sc__node_fail(at.value ? &at : n,
                         NULL,
                         "\"%s\" is from %g to %g",
                         key,
                         least,
                         most);
}

static sc_status failures_number(
    const struct sc__node *n, const char *key, double least, double most, double *out) {
    struct sc__node at;
    SC__TRY(sc__node_need(n, key, &at));
    SC__TRY(sc__node_double(n, key, out));
    return failures_limit(n, key, *out, least, most);
}

static sc_status failures_unit(const struct sc__node *root, const char *key, double *out) {
    uint32_t gpus = 0;
    SC__TRY(sc__node_u32(root, key, 1, 1u << 24, &gpus));
    *out = gpus;
    return SC_OK;
}

static double unit_days(const struct sc__failure_set *set,
                        unsigned scope,
                        const struct failure_exposure *e) {
    double gpus = scope == SC__SCOPE_JOB ? e->job_gpus : set->unit_gpus[scope];
    return e->gpu_days / gpus;
}

/* Either as a rate, or as events over the exposure of the file. */
static sc_status failures_class_rate(const struct sc__node *n,
                                     const struct sc__failure_set *set,
                                     const struct failure_exposure *e,
                                     struct sc__failure_class *c) {
    bool rate = sc__node_at(n, "per_1000_days").value != NULL;
    bool events = sc__node_at(n, "events").value != NULL;
    double value = 0;
    if (rate == events)
        return sc__node_fail(n,
                             "docs/formats/failures.md",
                             "a class has one of \"per_1000_days\" and \"events\"");
    if (rate) {
        SC__TRY(failures_number(n, "per_1000_days", 0, MOST_PER_1000_DAYS, &value));
        c->per_day = value / 1000;
        return SC_OK;
    }
    SC__TRY(failures_number(n, "events", 0, 1e9, &value));
    if (!(e->gpu_days > 0))
        return sc__node_fail(n,
                             "\"gpu_days\" of the file says over how long they were seen",
                             "\"events\" needs \"gpu_days\"");
    if (c->scope == SC__SCOPE_JOB && !(e->job_gpus > 0))
        return sc__node_fail(n,
                             "\"job_gpus\" of the file says how large the job was",
                             "\"events\" of scope job needs \"job_gpus\"");
    c->per_day = value / unit_days(set, c->scope, e);
    return failures_limit(n, "events", c->per_day, 0, MOST_PER_1000_DAYS / 1000);
}

/* "LINK=FACTOR", or a list of them. Whether the fabric has the link is known with the
 * cluster alone. */
static sc_status failures_class_links(const struct sc__node *at,
                                      struct sc__failure_class *c) {
    struct sc__arena *arena = &sc__node_context(at)->arena;
    bool list = sc__node_is(at, '[');
    size_t count = list ? sc__node_count(at) : 1;
    if (count < 1 || count > MOST_LINKS)
        return sc__node_fail(at, NULL, "\"degrade\" has 1 to %u links", MOST_LINKS);
    const char **links = SC__NEW_ARRAY(arena, const char *, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct sc__node one = list ? sc__node_item(at, i) : *at;
        double factor = 0;
        SC__TRY(sc__node_text(&one, &links[i]));
        const char *equals = strrchr(links[i], '=');
        if (!equals || equals == links[i] ||
            !sc__parse_double(sc__str(equals + 1), &factor) || !(factor > 0) || factor > 1)
            return sc__node_fail(&one,
                                 "like \"port0.up=0.5\": a link, and the part of its "
                                 "capacity that is left",
                                 "'%s' is no link with a factor above 0 and up to 1",
                                 links[i]);
    }
    c->degrade = links;
    return SC_OK;
}

static sc_status failures_class_slow(const struct sc__node *n,
                                     struct sc__failure_class *c) {
    struct sc__node slowdown = sc__node_at(n, "slowdown");
    struct sc__node degrade = sc__node_at(n, "degrade");
    c->slowdown = 1;
    if (c->symptom == SC__SYMPTOM_SLOW && !slowdown.value == !degrade.value)
        return sc__node_fail(n,
                             "docs/formats/failures.md",
                             "the symptom slow has one of \"slowdown\" (of a GPU) and "
                             "\"degrade\" (of links)");
    if (c->symptom == SC__SYMPTOM_SLOW && degrade.value)
        return failures_class_links(&degrade, c);
    if (c->symptom == SC__SYMPTOM_SLOW)
        return failures_number(n, "slowdown", 1, 100, &c->slowdown);
    if (slowdown.value || degrade.value)
        return sc__node_fail(slowdown.value ? &slowdown : &degrade,
                             NULL,
                             "\"%s\" is of the symptom slow alone",
                             slowdown.value ? "slowdown" : "degrade");
    return SC_OK;
}

static sc_status failures_class(const struct sc__node *n,
                                const struct sc__failure_set *set,
                                const struct failure_exposure *e,
                                struct sc__failure_class *c) {
    static const char *const keys[] = {"name",
                                       "scope",
                                       "symptom",
                                       "per_1000_days",
                                       "events",
                                       "detect_s",
                                       "locate_s",
                                       "repair_s",
                                       "slowdown",
                                       "degrade",
                                       "source",
                                       NULL};
    static const char *const needed[] = {"name", "scope", "symptom", NULL};
    const char *source = NULL;
    struct sc__node at;
    SC__TRY(sc__node_keys(n, keys));
    for (const char *const *k = needed; *k; k++)
        SC__TRY(sc__node_need(n, *k, &at));
    SC__TRY(sc__node_string(n, "name", &c->name));
    SC__TRY(sc__node_string(n, "source", &source));
    SC__TRY(sc__node_word(n, "scope", failure_scopes, &c->scope));
    SC__TRY(sc__node_word(n, "symptom", failure_symptoms, &c->symptom));
    SC__TRY(failures_number(n, "detect_s", 0, MOST_SECONDS, &c->detect_s));
    SC__TRY(failures_number(n, "locate_s", 0, MOST_SECONDS, &c->locate_s));
    SC__TRY(failures_number(n, "repair_s", 0, MOST_SECONDS, &c->repair_s));
    if (c->scope != SC__SCOPE_JOB && !(set->unit_gpus[c->scope] > 0)) {
        at = sc__node_at(n, "scope");
        return sc__node_fail(&at,
                             "say \"rack_gpus\" or \"switch_gpus\" in the file",
                             "how many GPUs a %s has is not said",
                             failure_scopes[c->scope]);
    }
    SC__TRY(failures_class_slow(n, c));
    return failures_class_rate(n, set, e, c);
}

static sc_status failures_rung(const struct sc__node *rung, double *gpus, double *seconds) {
    int64_t n = 0;
    if (!sc__node_is(rung, '[') || sc__node_count(rung) != 2)
        return sc__node_fail(rung, NULL, "a rung is [GPUs, seconds]");
    struct sc__node first = sc__node_item(rung, 0);
    SC__TRY(sc__node_number(&first, 1, 1 << 24, &n));
    struct sc__node second = sc__node_item(rung, 1);
    *gpus = (double)n;
    if (sc__node_is(&second, '"') ||
        !sc__parse_double(sc__json_raw_text(second.value), seconds) ||
        !(*seconds >= 0 && *seconds <= MOST_SECONDS))
        return sc__node_fail(&second,
                             NULL,
                             "seconds are a number from 0 to %g",
                             MOST_SECONDS);
    return SC_OK;
}

static sc_status failures_ladder(const struct sc__node *root,
                                 const char *key,
                                 struct sc__restart_ladder *l) {
    struct sc__arena *arena = &sc__node_context(root)->arena;
    struct sc__node list;
    SC__TRY(sc__node_need(root, key, &list));
    SC__TRY(sc__node_is_array(&list));
    size_t count = sc__node_count(&list);
    if (count < 1 || count > MOST_RUNGS)
        return sc__node_fail(&list, NULL, "\"%s\" has 1 to %u rungs", key, MOST_RUNGS);
    l->gpus = SC__NEW_ARRAY(arena, double, count);
    l->seconds = SC__NEW_ARRAY(arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__node rung = sc__node_item(&list, i);
        SC__TRY(failures_rung(&rung, &l->gpus[i], &l->seconds[i]));
        bool grows =
            !i || (l->gpus[i] > l->gpus[i - 1] && l->seconds[i] >= l->seconds[i - 1]);
        if (!grows)
            return sc__node_fail(&rung, NULL, "rungs grow, in GPUs and in seconds");
    }
    l->count = (uint32_t)count;
    return SC_OK;
}

static sc_status failures_head(const struct sc__node *root,
                               struct sc__failure_set *set,
                               struct failure_exposure *e) {
    static const char *const keys[] = {"schema",
                                       "name",
                                       "title",
                                       "source",
                                       "node_gpus",
                                       "rack_gpus",
                                       "switch_gpus",
                                       "gpu_days",
                                       "job_gpus",
                                       "requeue_s",
                                       "hot_s",
                                       "classes",
                                       NULL};
    static const char *const needed[] = {"name", "source", "node_gpus", NULL};
    SC__TRY(sc__node_document(root, SCHEMA, keys, needed));
    SC__TRY(sc__node_string(root, "name", &set->name));
    SC__TRY(sc__node_string(root, "title", &set->title));
    SC__TRY(sc__node_string(root, "source", &set->source));
    set->unit_gpus[SC__SCOPE_GPU] = 1;
    SC__TRY(failures_unit(root, "node_gpus", &set->unit_gpus[SC__SCOPE_NODE]));
    SC__TRY(failures_unit(root, "rack_gpus", &set->unit_gpus[SC__SCOPE_RACK]));
    SC__TRY(failures_unit(root, "switch_gpus", &set->unit_gpus[SC__SCOPE_SWITCH]));
    SC__TRY(failures_unit(root, "job_gpus", &e->job_gpus));
    SC__TRY(sc__node_double(root, "gpu_days", &e->gpu_days));
    SC__TRY(failures_ladder(root, "requeue_s", &set->requeue));
    return failures_ladder(root, "hot_s", &set->hot);
}

static sc_status failures_set(const struct sc__node *root, struct sc__failure_set *set) {
    struct failure_exposure exposure = {0};
    struct sc__node list;
    SC__TRY(failures_head(root, set, &exposure));
    SC__TRY(sc__node_need(root, "classes", &list));
    SC__TRY(sc__node_is_array(&list));
    size_t count = sc__node_count(&list);
    if (count < 1 || count > MOST_CLASSES)
        return sc__node_fail(&list, NULL, "\"classes\" has 1 to %u classes", MOST_CLASSES);
    set->class_count = (uint32_t)count;
    set->classes =
        SC__NEW_ARRAY(&sc__node_context(root)->arena, struct sc__failure_class, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__node n = sc__node_item(&list, i);
        SC__TRY(failures_class(&n, set, &exposure, &set->classes[i]));
    }
    return SC_OK;
}

sc_status sc__failures_read(struct sc_context *ctx,
                            const char *path,
                            const struct sc__failure_set **out) {
    struct sc__failure_set *set = SC__NEW(&ctx->arena, struct sc__failure_set);
    struct sc__json_file file;
    sc_status status = sc__json_open(ctx, path, MOST_BYTES, &file);
    if (status == SC_OK) {
        struct sc__node root = sc__json_root(&file);
        status = failures_set(&root, set);
    }
    sc__json_close(&file);
    *out = set;
    return status;
}

sc_status sc__failures_load(struct sc_context *ctx,
                            const char *name,
                            const struct sc__failure_set **out) {
    const char *path = name;
    const char *own = sc__format(&ctx->arena, "failures/%s.json", name);
    const struct sc__data_file *data = sc__data_find(own);
    if (data)
        SC__TRY(sc__spool_bytes(ctx,
                                sc__format(&ctx->arena, "data/%s", own),
                                data->bytes,
                                data->size,
                                &path));
    else if (!strpbrk(name, "./"))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__data_hint(ctx, "failures/", name, "a file"),
                        "there is no failure set '%s'",
                        name);
    return sc__failures_read(ctx, path, out);
}

double sc__failure_rate(const struct sc__failure_set *set,
                        const struct sc__failure_class *c,
                        double gpus) {
    double units = c->scope == SC__SCOPE_JOB ? 1 : gpus / set->unit_gpus[c->scope];
    return units * c->per_day / SC__DAY_S;
}

uint32_t sc__failure_machines(const struct sc__failure_set *set,
                              const struct sc__failure_class *c) {
    if (c->scope == SC__SCOPE_JOB)
        return 0;
    double machines = set->unit_gpus[c->scope] / set->unit_gpus[SC__SCOPE_NODE];
    return machines > 1 ? (uint32_t)ceil(machines) : 1;
}

double sc__restart_seconds(const struct sc__restart_ladder *l, double gpus) {
    if (l->count == 1 || gpus <= l->gpus[0])
        return l->seconds[0];
    uint32_t i = 1;
    while (i + 1 < l->count && gpus > l->gpus[i])
        i++;
    double share = log(gpus / l->gpus[i - 1]) / log(l->gpus[i] / l->gpus[i - 1]);
    return l->seconds[i - 1] + share * (l->seconds[i] - l->seconds[i - 1]);
}
