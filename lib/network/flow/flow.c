/* flow: the engine behind sc_engine that shares links.
 *
 * A transfer takes the time the collective model gives it on a non-blocking
 * fabric, in two parts. The first is latency and software: it passes whatever
 * else runs. The second is bytes: its flows (flow_pattern.h), each with a cap
 * that makes the transfer take exactly the model's time when every link has
 * room, and max-min fair shares of the links where some have not.
 *
 * Patterns are made when the executor asks what a transfer costs alone; with
 * the first start all of them are reduced to what can be told apart
 * (flow_quotient.h), and the sharing runs on that. */
#include "network/flow/flow.h"

#include "network/flow/flow_live.h"
#include "network/flow/flow_steps.h"

#include <stdlib.h>
#include <string.h>

#define LABELS 16  /* kinds of groups whose delay is told apart */
#define HOTTEST 3u /* links in a note */

struct pattern {
    struct sc__pattern traffic;
    struct sc__quotient *alone; /* of this pattern by itself */
    uint32_t id;
};

struct flow_cost { /* of a pattern and a size */
    /* ps; total: alone on this fabric */
    int64_t latency;
    int64_t total;
    double bytes_time; /* seconds that the bytes need where every link has room */
    double bytes;      /* that go over links: payload and the flags of its protocol */
};

struct known_cost {
    struct pattern *pattern;
    struct flow_cost cost;
};

struct flow_active {
    struct sc_transfer transfer;
    const struct known_cost *known;
    int64_t begin;
    uint32_t next_free;
};

struct flow_net {
    struct sc_context *ctx;
    struct sc__arena *arena;
    const struct sc__cluster *cluster;
    struct sc__graph graph;
    struct sc__route_policy route;
    struct sc__steps steps;
    struct sc__pattern_builder builder;
    struct sc__placed_jobs jobs;
    struct sc__map pattern_ids;
    struct sc__map costs;
    struct pattern **patterns;
    uint32_t pattern_count;
    uint32_t pattern_capacity;
    struct sc__quotient *joint;
    uint32_t joint_patterns;
    struct sc__live *live; /* on the joint quotient */
    struct delay {
        const char *label;
        int64_t time; /* ps beyond what the transfers take where every link has room */
        uint64_t count;
    } delays[LABELS];
    struct flow_active *active;
    uint32_t active_count;
    uint32_t active_capacity;
    uint32_t free;
    uint32_t running;
    struct sc__heap heap; /* a: active; b: 1 when it ends, 0 when its bytes begin */
};

/* ---- patterns ---- */

/* A pattern that grows. */
struct growing {
    struct flow_net *net;
    const struct sc_transfer *transfer;
    enum sc__algo algo;
    struct pattern *pattern;
};

static sc_status add_group(void *self, const struct sc__placed_group *group) {
    const struct growing *g = self;
    return sc__pattern_collective(&g->net->builder,
                                  &g->pattern->traffic,
                                  g->transfer->coll,
                                  g->algo,
                                  group->gpu,
                                  group->count,
                                  group->root);
}

static sc_status add_message(void *self, uint32_t from, uint32_t to) {
    const struct growing *g = self;
    return sc__pattern_message(&g->net->builder, &g->pattern->traffic, from, to);
}

static sc_status find_pattern(struct flow_net *n,
                              const struct sc_transfer *t,
                              enum sc__algo algo,
                              struct pattern **out) {
    uint64_t key[4] = {(uint64_t)t->job << 32 | t->class,
                       (uint64_t)t->coll << 16 | algo,
                       sc__placed_whom(t),
                       0};
    uint64_t hash = sc__hash(key, sizeof key, 1);
    const uint64_t *known = sc__map_find(&n->pattern_ids, hash);
    if (known) {
        *out = n->patterns[*known];
        return SC_OK;
    }
    struct pattern *p = *out = SC__NEW(n->arena, struct pattern);
    p->id = n->pattern_count;
    struct growing g = {n, t, algo, p};
    if (t->coll == SC__COLLS)
        SC__TRY(sc__placed_messages(&n->jobs, t, add_message, &g));
    else
        SC__TRY(sc__placed_groups(&n->jobs, t, add_group, &g));
    SC__TRY(sc__pattern_close(&n->builder, &p->traffic));
    const struct sc__pattern *list[1] = {&p->traffic};
    p->alone = sc__quotient_make(&n->builder, list, 1);
    *sc__map_at(&n->pattern_ids, hash, NULL) = n->pattern_count;
    *SC__PUSH(n->arena, n->patterns, n->pattern_count, n->pattern_capacity) = p;
    return SC_OK;
}

/* ---- costs ---- */

/* A collective or message run step by step: all of it may be bytes, as far as
 * its ports say. */
static sc_status
step_time(struct flow_net *n, const struct sc_transfer *t, struct sc__coll_cost *p) {
    bool direct = sc__coll_direct(t->coll);
    *p = (struct sc__coll_cost){.algo = direct ? SC__ALGO_DIRECT : SC__ALGO_RING};
    if (t->coll == SC__COLLS)
        SC__TRY(sc__steps_message(&n->builder,
                                  &n->steps,
                                  sc__placed_gpu(&n->jobs, t, t->rank),
                                  sc__placed_gpu(&n->jobs, t, t->peer),
                                  t->bytes,
                                  &p->time));
    else {
        struct sc__placed_group g = sc__placed_group(&n->jobs, t, t->rank);
        SC__TRY(sc__steps_collective(&n->builder,
                                     &n->steps,
                                     t->coll,
                                     g.gpu,
                                     g.count,
                                     g.root,
                                     t->bytes,
                                     &p->time));
    }
    p->latency = p->time;
    return SC_OK;
}

/* At most what sums of a few stay below the end of the clock with. */
static int64_t flow_to_ps(double seconds) {
    return seconds < 2e6 ? (int64_t)ceil(seconds * 1e12 - 1e-3) : INT64_MAX / 4;
}

/* How the time divides into latency and bytes: as the model says, and at least
 * what the busiest port needs is bytes. */
static void divide(const struct pattern *pattern,
                   const struct sc__coll_cost *model,
                   uint64_t bytes,
                   struct flow_cost *p) {
    p->bytes = (double)bytes / sc__proto_payload((enum sc__proto)model->proto);
    int64_t bytes_time = model->time - model->latency;
    int64_t port = flow_to_ps(pattern->traffic.port_time * p->bytes);
    if (bytes_time < port)
        bytes_time = port;
    if (bytes_time > model->time)
        bytes_time = model->time;
    if (!pattern->traffic.flow_count)
        bytes_time = 0;
    p->bytes_time = (double)bytes_time * 1e-12;
    p->latency = p->total = model->time - bytes_time;
}

static struct sc__burden burden_of(const struct flow_cost *p, uint32_t pattern) {
    return (
        struct sc__burden){.pattern = pattern, .bytes = p->bytes, .seconds = p->bytes_time};
}

static sc_status
make_cost(struct flow_net *n, const struct sc_transfer *t, struct known_cost *k) {
    struct sc__coll_cost model;
    if (n->steps.send > 0)
        SC__TRY(step_time(n, t, &model));
    else
        model = sc__placed_model_time(&n->jobs, t);
    SC__TRY(find_pattern(n, t, model.algo, &k->pattern));
    divide(k->pattern, &model, t->bytes, &k->cost);
    if (k->cost.bytes_time > 0) {
        struct sc__burden burden = burden_of(&k->cost, 0);
        k->cost.total += flow_to_ps(sc__live_alone(k->pattern->alone, &burden));
    }
    return SC_OK;
}

/* Costs are kept by transfer: what asking again would answer. */
static sc_status
find_cost(struct flow_net *n, const struct sc_transfer *t, const struct known_cost **out) {
    static const struct known_cost nothing; /* where communication is free */
    if (n->cluster->ideal) {
        *out = &nothing;
        return SC_OK;
    }
    uint64_t key[4] = {(uint64_t)t->job << 32 | t->class,
                       t->bytes,
                       t->coll,
                       sc__placed_whom(t)};
    uint64_t hash = sc__hash(key, sizeof key, 3);
    const uint64_t *known = sc__map_find(&n->costs, hash);
    if (known) {
        *out = (const struct known_cost *)(uintptr_t)*known;
        return SC_OK;
    }
    struct known_cost *k = SC__NEW(n->arena, struct known_cost);
    SC__TRY(make_cost(n, t, k));
    *sc__map_at(&n->costs, hash, NULL) = (uintptr_t)k;
    *out = k;
    return SC_OK;
}

/* ---- the ops ---- */

static sc_status flow_alone(void *self,
                            const struct sc_transfer *t,
                            int64_t *time,
                            struct sc_claims *claims) {
    struct flow_net *n = self;
    const struct known_cost *k;
    *time = 0;
    claims->count = 0;
    claims->contended = false;
    if (n->cluster->ideal)
        return SC_OK;
    SC__TRY(find_cost(n, t, &k));
    sc__placed_claims(t, k->pattern->traffic.flow_count > 0, claims);
    claims->contended = k->pattern->traffic.network;
    *time = k->cost.total;
    return SC_OK;
}

static void join_patterns(struct flow_net *n) {
    const struct sc__pattern **list =
        SC__NEW_ARRAY(n->arena, const struct sc__pattern *, n->pattern_count);
    for (uint32_t i = 0; i < n->pattern_count; i++)
        list[i] = &n->patterns[i]->traffic;
    n->joint = sc__quotient_make(&n->builder, list, n->pattern_count);
    n->joint_patterns = n->pattern_count;
    n->live = sc__live_new(n->arena, n->joint);
}

static uint32_t take_active(struct flow_net *n) {
    uint32_t id = n->free;
    if (id == SC__NONE) {
        (void)SC__PUSH(n->arena, n->active, n->active_count, n->active_capacity);
        return n->active_count - 1;
    }
    n->free = n->active[id].next_free;
    return id;
}

static sc_status flow_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct flow_net *n = self;
    const struct known_cost *k;
    SC__TRY(find_cost(n, t, &k));
    if (n->joint_patterns < n->pattern_count) {
        if (n->running)
            return sc__fail(n->ctx,
                            SC_SYSTEM,
                            NULL,
                            NULL,
                            "a transfer was not announced to the flow engine");
        join_patterns(n);
    }
    if (n->live && sc__live_violations(n->live))
        return sc__fail(n->ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "%u solves are not max-min fair",
                        sc__live_violations(n->live));
    uint32_t id = take_active(n);
    n->active[id] = (struct flow_active){.transfer = *t, .known = k, .begin = now};
    n->running++;
    bool flows = k->cost.bytes_time > 0;
    sc__heap_push(&n->heap, now + (flows ? k->cost.latency : k->cost.total), id, !flows);
    return SC_OK;
}

static void begin_bytes(struct flow_net *n, uint32_t id, int64_t now) {
    const struct known_cost *k = n->active[id].known;
    struct sc__burden burden = burden_of(&k->cost, k->pattern->id);
    sc__live_begin(n->live, id, &burden, k->cost.total - k->cost.latency, now);
}

static sc_status flow_passed(void *self, const struct sc_transfer *t, uint64_t times) {
    struct flow_net *n = self;
    const struct known_cost *k;
    if (n->cluster->ideal)
        return SC_OK;
    SC__TRY(find_cost(n, t, &k));
    if (!n->joint)
        join_patterns(n);
    struct sc__burden burden = burden_of(&k->cost, k->pattern->id);
    sc__live_passed(n->live, &burden, (double)times);
    return SC_OK;
}

static sc_status flow_next(void *self, int64_t *when) {
    struct flow_net *n = self;
    int64_t event = sc__heap_time(&n->heap);
    int64_t end = n->live ? sc__live_next(n->live) : INT64_MAX;
    *when = end < event ? end : event;
    return SC_OK;
}

/* Transfers end with the last of their flows. */
static void end_flows(struct flow_net *n, int64_t to) {
    uint32_t id;
    while (n->live && sc__live_end(n->live, to, &id))
        sc__heap_push(&n->heap, to, id, 1);
}

/* How much longer than on a non-blocking fabric without other traffic, by kind
 * of group. */
static void count_delay(struct flow_net *n, const struct flow_active *a, int64_t end) {
    const struct flow_cost *cost = &a->known->cost;
    int64_t late = end - a->begin - cost->latency - flow_to_ps(cost->bytes_time);
    if (late < SC__PS_PER_NS)
        return;
    const struct sc__workload *w = n->jobs.items[a->transfer.job].w;
    const char *label = a->transfer.coll == SC__COLLS ? sc__message_label(w)
                                                      : w->groups[a->transfer.group].label;
    for (unsigned i = 0; i < LABELS; i++) {
        struct delay *d = &n->delays[i];
        if (d->label && strcmp(d->label, label))
            continue;
        d->label = label;
        d->time += late;
        d->count++;
        return;
    }
}

static sc_status
flow_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct flow_net *n = self;
    *found = false;
    end_flows(n, to);
    while (sc__heap_time(&n->heap) <= to) {
        struct sc__event e = sc__heap_pop(&n->heap);
        if (!e.b) {
            begin_bytes(n, e.a, e.time);
            continue;
        }
        count_delay(n, &n->active[e.a], e.time);
        *done = n->active[e.a].transfer;
        n->active[e.a].next_free = n->free;
        n->free = e.a;
        n->running--;
        *found = true;
        break;
    }
    return SC_OK;
}

static void
note_hottest(struct flow_net *n, const struct sc_link_use *use, uint32_t count) {
    struct sc__buffer b;
    sc__buffer_init(&b, n->arena);
    for (uint32_t i = 0; i < count && i < HOTTEST; i++)
        sc__printf(&b, "%s%s %.1f %%", i ? "; " : "", use[i].name, 100 * use[i].busy_share);
    if (b.size)
        sc__note(n->ctx,
                 "hottest-links",
                 "links that carried most of what they could over the step: %s",
                 b.text);
}

static void note_delays(struct flow_net *n) {
    struct sc__buffer b;
    sc__buffer_init(&b, n->arena);
    for (unsigned i = 0; i < LABELS && n->delays[i].label; i++) {
        sc__printf(&b, "%s%s ", i ? ", " : "", n->delays[i].label);
        sc__put_time(&b, n->delays[i].time);
        sc__printf(&b, " in %llu", (unsigned long long)n->delays[i].count);
    }
    if (b.size)
        sc__note(n->ctx,
                 "contention",
                 "transfers that waited for links took longer than where every link has "
                 "room: %s",
                 b.text);
}

/* One line for each class of links, the busiest first. */
static sc_status flow_link_use(void *self,
                               int64_t step,
                               void (*add)(void *to, const struct sc_link_use *use),
                               void *to) {
    struct flow_net *n = self;
    uint32_t count = n->joint ? n->joint->links : 0;
    struct sc_link_use *use = SC__NEW_ARRAY(n->arena, struct sc_link_use, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__buffer name;
        sc__buffer_init(&name, n->arena);
        n->graph.name(&n->graph, n->joint->sample[i], &name);
        if (n->joint->size[i] > 1)
            sc__printf(&name, " and %u alike", n->joint->size[i] - 1);
        use[i] = (struct sc_link_use){.name = name.text,
                                      .bytes = sc__live_bytes(n->live, i),
                                      .capacity = n->joint->capacity[i]};
    }
    sc__placed_link_use(use, count, step, add, to);
    note_delays(n);
    note_hottest(n, use, count);
    return SC_OK;
}

/* ---- making it ---- */

sc_status sc__net_flow_job(struct sc__net *net,
                           const struct sc__workload *w,
                           struct sc__place_at at) {
    struct flow_net *n = net->self;
    return sc__placed_add(&n->jobs, w, at);
}

sc_status sc__flow_group(struct sc_context *ctx,
                         const struct sc__cluster *c,
                         uint32_t gpus,
                         const struct sc__settings *settings,
                         struct sc__net *out) {
    SC__TRY(sc__net_flow(ctx, c, sc__placed_only(ctx, gpus), settings, out));
    struct flow_net *n = out->self;
    if (n->jobs.count)
        n->jobs.items[0].around = true;
    return SC_OK;
}

sc_status sc__flow_cost(struct sc__net *net, int coll, uint64_t bytes, int64_t *time) {
    struct flow_net *n = net->self;
    const struct known_cost *k;
    *time = 0;
    if (n->cluster->ideal)
        return SC_OK;
    struct sc_transfer t = sc__placed_only_transfer(&n->jobs, coll, bytes);
    SC__TRY(find_cost(n, &t, &k));
    *time = k->cost.total;
    return SC_OK;
}

sc_status sc__net_flow(struct sc_context *ctx,
                       const struct sc__cluster *cluster,
                       const struct sc__workload *w,
                       const struct sc__settings *settings,
                       struct sc__net *net) {
    struct flow_net *n = SC__NEW(&ctx->arena, struct flow_net);
    n->ctx = ctx;
    n->arena = &ctx->arena;
    n->cluster = cluster;
    sc__placed_init(&n->jobs, ctx, cluster);
    n->free = SC__NONE;
    sc__map_init(&n->pattern_ids, n->arena);
    sc__map_init(&n->costs, n->arena);
    sc__heap_init(&n->heap, n->arena);
    *net = (struct sc__net){.ops = &sc__flow_engine, .self = n, .free = cluster->ideal};
    if (cluster->ideal)
        return SC_OK;
    SC__TRY(sc__cluster_graph(ctx, cluster, &n->graph));
    SC__TRY(sc__flow_settings(ctx, settings, &n->graph, &n->route));
    SC__TRY(sc__steps_parse(settings, &n->steps));
    sc__pattern_builder_init(ctx, cluster, &n->graph, &n->route, &n->builder);
    return w ? sc__net_flow_job(net, w, (struct sc__place_at){0, 1}) : SC_OK;
}

static sc_status flow_create(struct sc_engine_job *job, void **self) {
    struct sc__net net;
    SC__TRY(sc__net_flow(job->ctx, job->cluster, job->w, job->settings, &net));
    *self = net.self;
    return SC_OK;
}

const struct sc_engine sc__flow_engine = {
    .size = sizeof(struct sc_engine),
    .name = "flow",
    .summary = "links are shared max-min fair",
    .create = flow_create,
    .alone = flow_alone,
    .start = flow_start,
    .next = flow_next,
    .finish = flow_finish,
    .links = flow_link_use,
    .passed = flow_passed,
};
