/* plans_read_back: a launch file that was written is read as `run --megatron-args` reads
 * it, and must be the plan that it was written of. */
#include "command/plans.h"
#include "launch/read.h"
#include "model/read.h"
#include "plan/memory.h"

#include <math.h>
#include <string.h>

/* Of the machine and of how it is looked at: no launch file holds it. */
static const char *const beside[] = {
    "software",       "cluster",    "gpu",         "kernel-times",
    "step-constants", "gpu-spread", "host-launch", "host-scale",
    "moe-imbalance",  "moe-skew",   "moe-routing", "ignore-memory",
    "comm-sm-tax",    "rank-file",  "slow",        "net",
    "loggops",        "algo",       "proto",       "by-tuner",
    "no-pxn",         "two-level",  "copies",      "gpus-per-process",
    "net-channels",
};
/* DeepSpeed's file has no model. */
static const char *const of_the_model[] = {"model", "seq", "gpus", "nodes"};

static bool is_one_of(const char *const *names, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}
#define IS_ONE_OF(list, name) is_one_of(list, sizeof(list) / sizeof *(list), name)

struct reading {
    const struct sc__plans *x;
    const struct sc__plan *written;
    struct sc_context *ctx; /* of the reading: its notes are nobody's */
    const char *path;
    struct sc__str text;
    bool without_model;
    struct sc__model *model;
    struct sc__evaluation *ev;
};

static struct sc__setting_list settings_beside(const struct reading *r) {
    const struct sc__setting_list *given = &r->x->given;
    sc_setting *list = SC__NEW_ARRAY(&r->ctx->arena, sc_setting, given->count + 1);
    size_t count = 0;
    for (size_t i = 0; i < given->count; i++) {
        const char *name = given->items[i].name;
        if (IS_ONE_OF(beside, name) || (r->without_model && IS_ONE_OF(of_the_model, name)))
            list[count++] = given->items[i];
    }
    list[count++] = (sc_setting){"megatron-args", r->path};
    return (struct sc__setting_list){list, count};
}

static sc_status evaluate_text(void *self) {
    const struct reading *r = self;
    const struct sc__search *s = &r->x->search;
    const struct sc__search_plan *best = &s->plans[s->best[0]];
    struct sc__setting_list list = settings_beside(r);
    struct sc__settings own = sc__settings_of(r->ctx, &list);
    struct sc__settings all;
    sc_plan plan;
    bool given;
    SC__TRY(sc__launch_parse(r->ctx, r->path, r->text, sc__model_options, &own, &all));
    SC__TRY(sc__model_settings(r->ctx, &all, r->model, &given));
    SC__TRY(sc__plan_read(&all, &plan));
    plan.gpus = r->written->gpus;
    const struct sc__evaluation_input in = {
        .cluster = &s->machines[best->machine].description,
        .options = &s->options,
        .engine = sc__settings_of(r->ctx, &s->engine_settings)};
    SC__TRY(sc__evaluation_model(r->ctx, &in, r->model, &plan, r->ev));
    return sc__evaluation_run(r->ctx, r->ev, false);
}

/* ---- what differs ---- */

struct kept {
    struct sc__arena *arena;
    sc_setting items[256];
    size_t count;
};

static void keep(void *self, const char *name, const char *value) {
    struct kept *k = self;
    if (k->count < sizeof k->items / sizeof *k->items)
        k->items[k->count++] = (sc_setting){name, sc__strdup(k->arena, value)};
}

static const char *value_in(const struct kept *k, const char *name) {
    for (size_t i = 0; i < k->count; i++)
        if (!strcmp(k->items[i].name, name))
            return k->items[i].value;
    return NULL;
}

/* The settings of a plan that the other one has not, as options. */
static const char *
settings_lost(struct sc__arena *arena, const sc_plan *plan, const sc_plan *read) {
    struct kept *ours = SC__NEW(arena, struct kept);
    struct kept *theirs = SC__NEW(arena, struct kept);
    struct sc__buffer out;
    ours->arena = theirs->arena = arena;
    sc__options_echo(arena, sc__model_options, SC__IN_PLAN, plan, keep, ours);
    sc__options_echo(arena, sc__model_options, SC__IN_PLAN, read, keep, theirs);
    sc__buffer_init(&out, arena);
    for (size_t i = 0; i < ours->count; i++) {
        const char *other = value_in(theirs, ours->items[i].name);
        if (!other || strcmp(other, ours->items[i].value))
            sc__printf(&out,
                       "%s--%s %s",
                       out.size ? ", " : "",
                       ours->items[i].name,
                       ours->items[i].value);
    }
    for (size_t i = 0; i < theirs->count; i++)
        if (!value_in(ours, theirs->items[i].name))
            sc__printf(&out, "%sno --%s", out.size ? ", " : "", theirs->items[i].name);
    return out.size ? out.text : NULL;
}

static double fullest_stage(const struct sc__model *m, const struct sc__plan *p) {
    double most = 0;
    for (uint32_t s = 0; s < p->mesh.pp; s++) {
        struct sc__stage_memory x = sc__plan_memory(m, p, s);
        most = fmax(most, sc__memory_sum(&x));
    }
    return most;
}

/* Time and memory are what counts: some settings are the same by another name. */
static const char *find_difference(const struct reading *r) {
    const struct sc__search *s = &r->x->search;
    const struct sc__search_plan *best = &s->plans[s->best[0]];
    struct sc__arena *arena = &r->x->req->ctx->arena;
    sc_plan written;
    double memory = fullest_stage(r->model, &r->ev->plan);
    if (r->ev->result.step == best->step && fabs(memory - best->memory) < 1)
        return NULL;
    sc__plan_settings(r->written, &written);
    const char *lost = settings_lost(arena, &written, &r->ev->settings);
    return lost ? sc__format(arena, "what it says has not %s", lost)
                : "the model has parts without a flag";
}

/* What is to be given again where the file is read. */
static void note_beside(const struct reading *r) {
    struct sc_context *ctx = r->x->req->ctx;
    struct sc__setting_list list = settings_beside(r);
    struct sc__buffer said;
    sc__buffer_init(&said, &ctx->arena);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i].name, "megatron-args"))
            sc__plans_put_option(&said, list.items[i].name, list.items[i].value);
    if (said.size)
        sc__note(ctx,
                 "launch-beside",
                 "the file of --write-launch has no word for%s: give them with it to "
                 "run --megatron-args",
                 said.text);
}

const char *sc__plans_read_back(const struct sc__plans *x,
                                const struct sc__plan *written,
                                const char *path,
                                struct sc__str text) {
    struct sc_context own;
    const char *why;
    sc__context_init(&own, x->req->ctx);
    own.quiet = true;
    struct reading r = {.x = x,
                        .written = written,
                        .ctx = &own,
                        .path = path,
                        .text = text,
                        .without_model = sc__str_ends(sc__str(path), ".json"),
                        .model = SC__NEW(&x->req->ctx->arena, struct sc__model),
                        .ev = SC__NEW(&x->req->ctx->arena, struct sc__evaluation)};
    if (sc__guarded(&own, evaluate_text, &r) == SC_OK)
        why = find_difference(&r);
    else
        why = sc__format(&x->req->ctx->arena,
                         "what it says cannot be run: %s",
                         sc_error_message(&own));
    if (!why)
        note_beside(&r);
    sc__result_free(&r.ev->result);
    sc__context_end(&own);
    return why;
}
