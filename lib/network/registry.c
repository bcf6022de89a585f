#include "network/registry.h"

#include "base/argument.h"
#include "network/checked.h"
#include "network/flow/flow.h"
#include "network/packet/packet.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

_Static_assert((int)SC_ALL_REDUCE == SC__ALLREDUCE && (int)SC_ALL_GATHER == SC__ALLGATHER &&
                   (int)SC_REDUCE_SCATTER == SC__REDUCESCATTER &&
                   (int)SC_ALL_TO_ALL == SC__ALLTOALL &&
                   (int)SC_BROADCAST == SC__BROADCAST && (int)SC_REDUCE == SC__REDUCE &&
                   (int)SC_BARRIER == SC__BARRIER && (int)SC_GATHER == SC__GATHER &&
                   (int)SC_SCATTER == SC__SCATTER && (int)SC_SHIFT == SC__SHIFT &&
                   (int)SC_MESSAGE == SC__COLLS,
               "public collectives are numbered as ours");

/* The engines of the library; the first is the default. engine NULL at the end. */
static const struct sc__engine_entry engine_table[] = {
    {.engine = &sc__analytic_engine, .of_cluster = true, .periods = &sc__analytic_periods},
    {.engine = &sc__flow_engine,
     .options = sc__flow_options,
     .chosen_by = {"fail", "degrade"},
     .of_cluster = true},
    {.engine = &sc__packet_engine, .options = sc__packet_options, .of_cluster = true},
    {.engine = &sc__loggops_engine, .chosen_by = {"loggops"}},
    {.engine = &sc__astra_engine,
     .options = sc__astra_options,
     .chosen_by = {"astra-network"},
     .needs = "astra-network"},
    {0}};

/* ---- engines from outside ---- */

struct sc__engine_list {
    struct sc_engine engine;
    struct sc__engine_list *next;
};

static const struct sc__engine_entry *built_in(struct sc__str name) {
    for (const struct sc__engine_entry *e = engine_table; e->engine; e++)
        if (sc__str_is(name, e->engine->name))
            return e;
    return NULL;
}

static const struct sc_engine *from_outside(const struct sc_context *ctx,
                                            struct sc__str name) {
    for (const struct sc__engine_list *l = ctx->engines; l; l = l->next)
        if (sc__str_is(name, l->engine.name))
            return &l->engine;
    return NULL;
}

const struct sc_engine *sc__engine_nth(const struct sc_context *ctx, uint32_t i) {
    const struct sc__engine_entry *e = engine_table;
    for (; e->engine; e++)
        if (i-- == 0)
            return e->engine;
    for (const struct sc__engine_list *l = ctx->engines; l; l = l->next)
        if (i-- == 0)
            return &l->engine;
    return NULL;
}

static bool is_name(const char *name) {
    if (!name || !*name)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '-' && *name != '_')
            return false;
    return true;
}

static sc_status check_engine(struct sc_context *ctx, const struct sc_engine *e) {
    if (!is_name(e->name))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "letters, digits, '-' and '_'",
                        "an engine cannot be called '%s'",
                        e->name ? e->name : "");
    if (built_in(sc__str(e->name)) || from_outside(ctx, sc__str(e->name)))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "choose another name",
                        "there is an engine '%s' already",
                        e->name);
    if (!e->create || !e->alone || !e->start || !e->next || !e->finish)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "create, alone, start, next and finish are needed",
                        "engine '%s' lacks a call",
                        e->name);
    return SC_OK;
}

struct engine_registration {
    struct sc_context *ctx;
    const struct sc_engine *engine;
};

static sc_status register_engine(void *self) {
    struct sc_context *ctx = ((struct engine_registration *)self)->ctx;
    const struct sc_engine *engine = ((struct engine_registration *)self)->engine;
    struct sc_engine copy = {0};
    /* an older header has a shorter table; what a newer one adds is not known here */
    if (engine->size < offsetof(struct sc_engine, links))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "set size to sizeof(sc_engine)",
                        "an engine of %zu bytes",
                        engine->size);
    memcpy(&copy, engine, engine->size < sizeof copy ? engine->size : sizeof copy);
    SC__TRY(check_engine(ctx, &copy));
    struct sc__engine_list *l = SC__NEW(&ctx->arena, struct sc__engine_list);
    copy.name = sc__strdup(&ctx->arena, copy.name);
    copy.summary = sc__strdup(&ctx->arena, copy.summary ? copy.summary : "");
    l->engine = copy;
    l->next = ctx->engines;
    ctx->engines = l;
    return SC_OK;
}

sc_status sc_engine_register(sc_context *ctx, const sc_engine *engine) {
    sc__clear_error(ctx);
    SC__TRY(sc__argument(ctx, engine, "engine"));
    return sc__guarded(ctx, register_engine, &(struct engine_registration){ctx, engine});
}

/* ---- which one ---- */

static sc_status unknown_engine(const struct sc__settings *s, const char *text) {
    struct sc__buffer b;
    sc__buffer_init(&b, &s->ctx->arena);
    const struct sc_engine *engine;
    for (uint32_t i = 0; (engine = sc__engine_nth(s->ctx, i)); i++)
        sc__printf(&b, "%s%s", i ? ", " : "one of: ", engine->name);
    return sc__fail(s->ctx, SC_USAGE, NULL, b.text, "--net: unknown '%s'", text);
}

/* --net NAME or, for engines from outside, NAME:ARGUMENT. */
static sc_status choose_by_name(const struct sc__settings *s,
                                const char *text,
                                struct sc__engine_choice *out) {
    const char *colon = strchr(text, ':');
    struct sc__str name = {text, colon ? (size_t)(colon - text) : strlen(text)};
    out->entry = NULL;
    out->engine = from_outside(s->ctx, name);
    out->argument = colon ? colon + 1 : NULL;
    if (out->engine)
        return SC_OK;
    out->entry = colon ? NULL : built_in(name);
    if (!out->entry)
        return unknown_engine(s, text);
    out->engine = out->entry->engine;
    return SC_OK;
}

/* The first option given that chooses the engine. */
static const char *chosen_by(const struct sc__settings *s,
                             const struct sc__engine_entry *e) {
    for (unsigned i = 0; e->chosen_by[i]; i++)
        if (sc__setting(s, e->chosen_by[i]))
            return e->chosen_by[i];
    return NULL;
}

static sc_status
two_engines(const struct sc__settings *s, const char *option, const char *other) {
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    "give one of them",
                    "--%s and --%s are two networks",
                    option,
                    other);
}

static sc_status
need_flow(const struct sc__settings *s, const char *option, const char *net) {
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    "use --net flow or --net packet",
                    "--%s is about a link, and --net %s knows no links",
                    option,
                    net);
}

/* Options of single engines: they choose one, or contradict the choice. */
static sc_status choose_by_options(const struct sc__settings *s,
                                   const char *net,
                                   struct sc__engine_choice *out) {
    const char *first = NULL;
    for (const struct sc__engine_entry *e = engine_table; e->engine; e++) {
        const char *option = chosen_by(s, e);
        /* a network of ASTRA-sim's is analytic too */
        bool agrees = e->engine == &sc__astra_engine && net && !strcmp(net, "analytic");
        if (!option || out->entry == e)
            continue;
        /* packets go over the links of the flow engine */
        if (out->engine == &sc__packet_engine && e->engine == &sc__flow_engine)
            continue;
        if (first)
            return two_engines(s, option, first);
        if (net && !agrees && e->engine == &sc__flow_engine)
            return need_flow(s, option, net);
        if (net && !agrees)
            return two_engines(s, option, sc__format(&s->ctx->arena, "net %s", net));
        first = option;
        out->engine = e->engine;
        out->entry = e;
    }
    if (first && out->engine == &sc__flow_engine)
        sc__note(s->ctx,
                 "net-flow",
                 "--%s is about a link: the flow engine simulates the network",
                 first);
    return SC_OK;
}

static sc_status check_astra(const struct sc__settings *s,
                             const struct sc__engine_choice *choice) {
    const char *compat = sc__setting(s, "compat");
    bool astra = choice->engine == &sc__astra_engine;
    if (astra && sc__setting(s, "cluster"))
        return two_engines(s, "astra-network", "cluster");
    if (!astra && compat && !strcmp(compat, "astra"))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "--astra-network FILE",
                        "--compat astra needs ASTRA-sim's network description");
    return SC_OK;
}

sc_status sc__engine_choose(const struct sc__settings *s,
                            const char *net,
                            struct sc__engine_choice *out) {
    *out = (struct sc__engine_choice){.engine = engine_table[0].engine,
                                      .entry = &engine_table[0]};
    if (net)
        SC__TRY(choose_by_name(s, net, out));
    SC__TRY(choose_by_options(s, net, out));
    if (out->entry && out->entry->needs && !sc__setting(s, out->entry->needs))
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--net %s needs --%s",
                        net,
                        out->entry->needs);
    return check_astra(s, out);
}

/* ---- making one ---- */

struct engine_object {
    const struct sc_engine *engine;
    void *self;
};

static void destroy_engine(void *object) {
    const struct engine_object *o = object;
    if (o->self && o->engine->destroy)
        o->engine->destroy(o->self);
}

sc_status sc__network_make(struct sc_context *ctx,
                           const struct sc__settings *s,
                           const char *net,
                           const struct sc__cluster *cluster,
                           const struct sc__workload *w,
                           struct sc__net *out) {
    struct sc__engine_choice choice;
    SC__TRY(sc__engine_choose(s, net, &choice));
    struct sc_engine_job *job = SC__NEW(&ctx->arena, struct sc_engine_job);
    struct engine_object *object = SC__NEW(&ctx->arena, struct engine_object);
    *job = (struct sc_engine_job){.ctx = ctx,
                                  .cluster = cluster,
                                  .w = w,
                                  .settings = s,
                                  .argument = choice.argument};
    object->engine = choice.engine;
    sc__arena_at_free(&ctx->arena, destroy_engine, object);
    SC__TRY(choice.engine->create(job, &object->self));
    *out = (struct sc__net){.ops = choice.engine,
                            .periods = choice.entry ? choice.entry->periods : NULL,
                            .self = object->self,
                            .free =
                                choice.entry && choice.entry->of_cluster && cluster->ideal};
    if (!choice.entry)
        sc__net_check_answers(job, out);
    return SC_OK;
}

/* ---- links of a report ---- */

struct link_list {
    struct sc__arena *arena;
    struct sc_link_use *items;
    uint32_t count;
    uint32_t capacity;
};

static void add_link(void *to, const struct sc_link_use *use) {
    struct link_list *l = to;
    struct sc_link_use *copy = SC__PUSH(l->arena, l->items, l->count, l->capacity);
    *copy = *use;
    copy->name = sc__strdup(l->arena, use->name);
}

sc_status sc__net_links(const struct sc__net *net,
                        struct sc__arena *arena,
                        int64_t step,
                        struct sc_link_use **out,
                        uint32_t *count) {
    struct link_list l = {.arena = arena};
    *out = NULL;
    *count = 0;
    if (!net->ops->links)
        return SC_OK;
    SC__TRY(net->ops->links(net->self, step, add_link, &l));
    *out = l.items;
    *count = l.count;
    return SC_OK;
}
