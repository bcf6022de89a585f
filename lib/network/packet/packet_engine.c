/* packet_engine: transfers as packets, behind sc_engine.
 *
 * A transfer has two parts. Software passes first, undisturbed: what the collective
 * model says of latency, less the way over the links. Then its messages go
 * (packet_traffic.h), at no more of the line rate than makes them take the time of the
 * model where nothing is in their way; queues, pauses, marks and congestion control
 * are as they are.
 *
 *     kinds: a transfer of a form and size    (packet_shape.h, packet_alone.h)
 *        └─ periods of transfers that meet on links (packet_memory.h) */
#include "network/packet/packet_engine.h"

#include "base/units.h"
#include "network/packet/packet_list.h"
#include "network/packet/packet_memory.h"
#include "network/packet/packet_simai.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_NETWORK "simai-400g"
#define DEFAULT_CONTROL "dcqcn"
/* Of a collective that is looked at, at most: some seconds. */
#define MOST_SEEN_PACKETS 2e6
/* Of each of a step's. */
#define MOST_PACKETS_OF_STEP 1e5
/* Some seconds: then what would be quicker is said. */
#define MANY_EVENTS 100000000u

struct packet_active {
    struct sc_transfer transfer;
    struct sc__packet_kind *kind;
    uint32_t next_free;
};

struct packet_net {
    struct sc_context *ctx;
    struct sc__arena *arena;
    const struct sc__cluster *cluster;
    struct sc__placed_jobs jobs;
    struct sc__packet_engine_settings settings;
    struct sc__graph graph;
    struct sc__route_policy route;
    struct sc__packet_fabric fabric;
    struct sc__packet_effort effort;
    struct sc__packet_alone alone;
    struct sc__map shapes; /* by who takes part */
    struct sc__map kinds;  /* by transfer */
    struct sc__packet_kind **kind_list;
    uint32_t kind_count;
    uint32_t kind_capacity;
    struct sc__packet_memory *memory;
    struct packet_active *active;
    uint32_t active_count;
    uint32_t active_capacity;
    uint32_t free;
    struct sc__heap begins; /* a: active whose packets begin */
    struct sc__heap over;   /* a: active that is over */
    double *link_bytes;
};

/* ---- kinds ---- */

static sc_status find_shape(struct packet_net *n,
                            const struct sc_transfer *t,
                            enum sc__algo algo,
                            struct sc__packet_shape **out) {
    uint64_t key[3] = {(uint64_t)t->job << 32 | t->class,
                       (uint64_t)t->coll << 16 | algo,
                       sc__placed_whom(t)};
    bool fresh;
    uint64_t hash = sc__hash(key, sizeof key, 1);
    (void)sc__map_at(&n->shapes, hash, &fresh);
    if (fresh) {
        SC__TRY(sc__packet_shape_make(n->alone.builder, &n->jobs, t, algo, out));
        *sc__map_at(&n->shapes, hash, NULL) = (uintptr_t)*out;
    }
    *out = (struct sc__packet_shape *)(uintptr_t)*sc__map_find(&n->shapes, hash);
    return SC_OK;
}

/* Step by step there is no model: the messages are all there is. */
static struct sc__coll_cost model_of(struct packet_net *n, const struct sc_transfer *t) {
    bool direct = sc__coll_direct(t->coll);
    if (n->settings.steps.send <= 0)
        return sc__placed_model_time(&n->jobs, t);
    return (struct sc__coll_cost){.algo = direct ? SC__ALGO_DIRECT : SC__ALGO_RING,
                                  .proto = SC__PROTO_SIMPLE};
}

/* The wire is part of the model's latency, and packets take it themselves. The bytes of
 * the model are what the busiest port needs and no faster than software hands it to it. */
static void divide_time(struct sc__packet_kind *k, const struct sc__coll_cost *model) {
    const struct sc__packet_shape *s = k->shape;
    double wire = s->wire_latency * s->critical_phases;
    double port = s->port_time * (double)k->bytes;
    double seconds = (double)(model->time - model->latency) * 1e-12;
    k->software = model->latency - (int64_t)llround(wire * 1e3);
    if (k->software < 0)
        k->software = 0;
    k->use = seconds > port && port > 0 ? port / seconds : 1;
}

/* Software takes the model's time also where packets have no part in all of it: a step of
 * a packet or two is over when they have come, not when their pace would let others go. */
static void keep_to_model(struct sc__packet_kind *k, const struct sc__coll_cost *model) {
    int64_t missing = model->time - (k->software + k->alone * 1000);
    if (missing > 0)
        k->software += missing;
}

static sc_status
make_kind(struct packet_net *n, const struct sc_transfer *t, struct sc__packet_kind *k) {
    struct sc__coll_cost model = model_of(n, t);
    struct sc__packet_shape *shape;
    SC__TRY(find_shape(n, t, (enum sc__algo)model.algo, &shape));
    k->shape = shape;
    k->transfer = *t;
    k->id = n->kind_count;
    *SC__PUSH(n->arena, n->kind_list, n->kind_count, n->kind_capacity) = k;
    k->bytes = (uint64_t)llround((double)t->bytes /
                                 sc__proto_payload((enum sc__proto)model.proto));
    divide_time(k, &model);
    if (!shape->load_count) {
        k->software = model.time;
        k->use = 1;
    }
    SC__TRY(
        sc__packet_time_alone(&n->alone, shape, k->bytes, k->use, &k->alone, &k->doubt));
    keep_to_model(k, &model);
    n->effort.doubted |= !shape->network && k->doubt > 0;
    sc__packet_memory_know(n->memory, k);
    return SC_OK;
}

static sc_status
find_kind(struct packet_net *n, const struct sc_transfer *t, struct sc__packet_kind **out) {
    uint64_t key[4] = {(uint64_t)t->job << 32 | t->class,
                       t->bytes,
                       t->coll,
                       sc__placed_whom(t)};
    uint64_t hash = sc__hash(key, sizeof key, 3);
    const uint64_t *known = sc__map_find(&n->kinds, hash);
    if (known) {
        *out = (struct sc__packet_kind *)(uintptr_t)*known;
        return SC_OK;
    }
    *out = SC__NEW(n->arena, struct sc__packet_kind);
    SC__TRY(make_kind(n, t, *out));
    *sc__map_at(&n->kinds, hash, NULL) = (uintptr_t)*out;
    return SC_OK;
}

/* ---- the ops ---- */

static sc_status packet_alone(void *self,
                              const struct sc_transfer *t,
                              int64_t *time,
                              struct sc_claims *claims) {
    struct packet_net *n = self;
    struct sc__packet_kind *k;
    *time = 0;
    claims->count = 0;
    claims->contended = false;
    if (n->cluster->ideal)
        return SC_OK;
    SC__TRY(find_kind(n, t, &k));
    sc__placed_claims(t, k->shape->load_count > 0, claims);
    claims->contended = k->shape->network;
    *time = k->software + k->alone * 1000;
    return SC_OK;
}

static void count_kind(struct packet_net *n, struct sc__packet_kind *k, double times) {
    k->times += times;
    for (uint32_t i = 0; i < k->shape->load_count; i++)
        n->link_bytes[k->shape->loads[i].link] +=
            times * k->shape->loads[i].per_byte * (double)k->bytes;
}

static uint32_t take_active(struct packet_net *n) {
    uint32_t id = n->free;
    if (id == SC__NONE) {
        (void)SC__PUSH(n->arena, n->active, n->active_count, n->active_capacity);
        return n->active_count - 1;
    }
    n->free = n->active[id].next_free;
    return id;
}

static sc_status packet_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct packet_net *n = self;
    struct sc__packet_kind *k = NULL;
    uint32_t id = take_active(n);
    n->active[id].transfer = *t;
    if (n->cluster->ideal) {
        sc__heap_push(&n->over, now, id, 0);
        return SC_OK;
    }
    SC__TRY(find_kind(n, t, &k));
    n->active[id].kind = k;
    count_kind(n, k, 1);
    if (k->shape->load_count)
        sc__heap_push(&n->begins, now + k->software, id, 0);
    else
        sc__heap_push(&n->over, now + k->software, id, 0);
    return SC_OK;
}

static sc_status packet_passed(void *self, const struct sc_transfer *t, uint64_t times) {
    struct packet_net *n = self;
    struct sc__packet_kind *k;
    if (n->cluster->ideal)
        return SC_OK;
    SC__TRY(find_kind(n, t, &k));
    count_kind(n, k, (double)times);
    n->effort.doubt += (double)times * (double)k->doubt;
    return SC_OK;
}

static sc_status packet_next(void *self, int64_t *when) {
    struct packet_net *n = self;
    int64_t limit = *when;
    int64_t begin = sc__heap_time(&n->begins);
    int64_t first = sc__heap_time(&n->over);
    *when = begin < first ? begin : first;
    if (n->cluster->ideal)
        return SC_OK;
    SC__TRY(sc__packet_memory_next(n->memory, *when < limit ? *when : limit, &first));
    *when = first < *when ? first : *when;
    return SC_OK;
}

static void begin_packets(struct packet_net *n, int64_t to) {
    while (sc__heap_time(&n->begins) <= to) {
        struct sc__event e = sc__heap_pop(&n->begins);
        sc__packet_memory_begin(n->memory, n->active[e.a].kind, e.a, e.time);
    }
}

static sc_status
packet_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct packet_net *n = self;
    uint32_t id = 0;
    *found = sc__heap_time(&n->over) <= to;
    if (*found)
        id = sc__heap_pop(&n->over).a;
    else if (n->memory)
        SC__TRY(sc__packet_memory_end(n->memory, to, &id, found));
    if (!*found) {
        begin_packets(n, to);
        return SC_OK;
    }
    *done = n->active[id].transfer;
    n->active[id].next_free = n->free;
    n->free = id;
    return SC_OK;
}

/* bound: share of the time of what is told. */
static void note_effort(const struct packet_net *n, double bound, const char *of_what) {
    const struct sc__packet_counters *c = &n->effort.counters;
    sc__note(n->ctx,
             "packets",
             "%llu packets were simulated, in %llu events: %llu marked, %llu pauses, %llu "
             "lost; the rest is like them, within %.2g %% of the time of %s",
             (unsigned long long)c->data_packets,
             (unsigned long long)c->events,
             (unsigned long long)c->marks,
             (unsigned long long)c->pauses,
             (unsigned long long)(c->buffer_losses + c->link_losses),
             100 * bound,
             of_what);
    if (c->events > MANY_EVENTS && !n->settings.exact)
        sc__note(
            n->ctx,
            "packets-slow",
            "little of it repeats, so that nearly all packets were simulated: --net flow "
            "shares links without packets, at once; -j N puts transfers that share none on "
            "threads");
}

/* Transfers on the longest way through a step follow each other: it is wrong by no more
 * than all of them are, and by no larger a share than any of them. */
static double step_bound(const struct sc__packet_effort *e, int64_t step) {
    double ns = step > 0 ? (double)step * 1e-3 : 1;
    return fmin(e->doubt / ns, e->largest_bound) + e->swing / ns;
}

static sc_status packet_link_use(void *self,
                                 int64_t step,
                                 void (*add)(void *to, const struct sc_link_use *use),
                                 void *to) {
    struct packet_net *n = self;
    uint32_t count = 0;
    if (n->cluster->ideal)
        return SC_OK;
    struct sc_link_use *use = SC__NEW_ARRAY(n->arena, struct sc_link_use, n->graph.links);
    for (uint32_t i = 0; i < n->graph.links; i++) {
        struct sc__buffer name;
        if (!(n->link_bytes[i] > 0))
            continue;
        sc__buffer_init(&name, n->arena);
        n->graph.name(&n->graph, i, &name);
        use[count++] = (struct sc_link_use){.name = name.text,
                                            .bytes = n->link_bytes[i],
                                            .capacity = n->graph.capacity[i]};
    }
    sc__placed_link_use(use, count, step, add, to);
    sc__packet_memory_free(n->memory);
    note_effort(n, step_bound(&n->effort, step), "the step");
    return SC_OK;
}

/* ---- making it ---- */

/* Where nothing is said: SimAI's settings. */
static sc_status read_settings(struct packet_net *n, const struct sc__settings *settings) {
    struct sc__packet_engine_settings *s = &n->settings;
    SC__TRY(sc__packet_options_read(settings,
                                    DEFAULT_NETWORK,
                                    DEFAULT_CONTROL,
                                    NULL,
                                    &s->config,
                                    &s->random));
    SC__TRY(sc__steps_parse(settings, &s->steps));
    s->exact = sc__setting_flag(settings, "exact");
    s->config.wait_for_arrival = s->steps.send <= 0;
    if (s->config.error_rate > 0 && sc__packet_many_ways(&n->route) &&
        s->config.control < SC__PACKET_NSCC)
        return sc__fail(
            n->ctx,
            SC_USAGE,
            NULL,
            NULL,
            "links that lose packets need them in order: --route ecmp or dmodk");
    return SC_OK;
}

sc_status sc__net_packet(struct sc_context *ctx,
                         const struct sc__cluster *cluster,
                         const struct sc__workload *w,
                         const struct sc__settings *settings,
                         struct sc__net *net) {
    struct packet_net *n = SC__NEW(&ctx->arena, struct packet_net);
    n->ctx = ctx;
    n->arena = &ctx->arena;
    n->cluster = cluster;
    n->free = SC__NONE;
    sc__placed_init(&n->jobs, ctx, cluster);
    sc__map_init(&n->shapes, n->arena);
    sc__map_init(&n->kinds, n->arena);
    sc__heap_init(&n->begins, n->arena);
    sc__heap_init(&n->over, n->arena);
    *net = (struct sc__net){.ops = &sc__packet_engine, .self = n, .free = cluster->ideal};
    if (cluster->ideal)
        return SC_OK;
    SC__TRY(sc__cluster_graph(ctx, cluster, &n->graph));
    SC__TRY(sc__flow_settings(ctx, settings, &n->graph, &n->route));
    SC__TRY(read_settings(n, settings));
    SC__TRY(sc__packet_fabric_init(ctx,
                                   cluster,
                                   &n->settings.config,
                                   &n->graph,
                                   &n->route,
                                   n->settings.steps.send > 0,
                                   &n->fabric));
    n->link_bytes = SC__NEW_ARRAY(n->arena, double, n->graph.links);
    n->alone = (struct sc__packet_alone){.builder = {.fabric = &n->fabric,
                                                     .arena = n->arena,
                                                     .steps = &n->settings.steps,
                                                     .sliced = true},
                                         .settings = &n->settings,
                                         .effort = &n->effort};
    sc__map_init(&n->alone.results, n->arena);
    n->memory = sc__packet_memory_new(&n->alone);
    return w ? sc__net_packet_job(net, w, (struct sc__place_at){0, 1}) : SC_OK;
}

sc_status sc__net_packet_job(struct sc__net *net,
                             const struct sc__workload *w,
                             struct sc__place_at at) {
    struct packet_net *n = net->self;
    return sc__placed_add(&n->jobs, w, at);
}

sc_status sc__packet_group(struct sc_context *ctx,
                           const struct sc__cluster *c,
                           uint32_t gpus,
                           const struct sc__settings *settings,
                           struct sc__net *out) {
    SC__TRY(sc__net_packet(ctx, c, sc__placed_only(ctx, gpus), settings, out));
    struct packet_net *n = out->self;
    if (n->jobs.count)
        n->jobs.items[0].around = true;
    return SC_OK;
}

/* The transfer of a job that has one alone; NULL where the network is ideal. */
static sc_status
only_kind(struct packet_net *n, int coll, uint64_t bytes, struct sc__packet_kind **kind) {
    *kind = NULL;
    if (n->cluster->ideal)
        return SC_OK;
    struct sc_transfer t = sc__placed_only_transfer(&n->jobs, coll, bytes);
    return find_kind(n, &t, kind);
}

sc_status sc__packet_cost(struct sc__net *net, int coll, uint64_t bytes, int64_t *time) {
    struct sc__packet_kind *k;
    *time = 0;
    SC__TRY(only_kind(net->self, coll, bytes, &k));
    if (k)
        *time = k->software + k->alone * 1000;
    return SC_OK;
}

/* Those that have packets. */
static void take_messages(struct packet_net *n,
                          const struct sc__packet_run *run,
                          struct sc__packet_flows *out) {
    const struct sc__packet_traffic *t = run->traffic;
    out->items = SC__NEW_ARRAY(n->arena, struct sc__packet_flow, t->count);
    out->count = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__packet_message *m = &t->messages[i];
        if (m->from == m->to)
            continue;
        struct sc__packet_flow *f = &out->items[out->count++];
        *f = run->flows[i];
        f->from = m->from;
        f->to = m->to;
        f->bytes = m->bytes;
        f->source_port = m->phase;
    }
}

static sc_status see_kind(struct packet_net *n,
                          struct sc__packet_live *l,
                          const struct sc__packet_kind *k,
                          struct sc__packet_seen *out) {
    struct sc__packet_traffic_builder b = n->alone.builder;
    struct sc__packet_traffic t = {0};
    struct sc__packet_run *over;
    b.arena = &l->arena;
    uint64_t bytes = (uint64_t)ceil((double)k->bytes * out->share);
    SC__TRY(sc__packet_shape_traffic(&b, k->shape, &k->shape->all, bytes, &t));
    if (!t.count)
        return SC_OK;
    l->sim->watch = &out->watch;
    struct sc__packet_run *run =
        sc__packet_live_add(l, &t, k->use, SC__PACKET_KEEP_FLOWS, 0, 0);
    SC__TRY(sc__packet_live_run(l, INT64_MAX, &over));
    sc__packet_watch_close(&out->watch, l->sim->queue.now);
    l->counters.base_rtt = l->sim->base_rtt;
    l->counters.window = l->sim->window;
    out->counters = l->counters;
    take_messages(n, run, &out->messages);
    return SC_OK;
}

static sc_status look_at_kind(struct packet_net *n,
                              const struct sc__packet_kind *k,
                              double most_packets,
                              uint32_t spans,
                              struct sc__packet_seen *out) {
    double packets =
        k->shape->sent_per_byte * (double)k->bytes / n->settings.config.payload;
    out->share = packets > most_packets ? most_packets / packets : 1;
    out->software = k->software;
    sc__packet_watch_graph(&out->watch, n->arena, &n->graph, spans);
    struct sc__packet_live *l =
        sc__packet_live_new(&n->fabric, &n->settings.steps, &n->settings.random);
    sc_status status = see_kind(n, l, k, out);
    sc__packet_live_free(l);
    return status;
}

sc_status sc__packet_see(struct sc__net *net,
                         int coll,
                         uint64_t bytes,
                         uint32_t spans,
                         struct sc__packet_seen *out) {
    struct packet_net *n = net->self;
    struct sc__packet_kind *k;
    *out = (struct sc__packet_seen){.share = 1};
    SC__TRY(only_kind(n, coll, bytes, &k));
    return k ? look_at_kind(n, k, MOST_SEEN_PACKETS, spans, out) : SC_OK;
}

/* Kinds that differ only in the groups that have them, as those of pipeline stages do. */
struct kinds_alike {
    const struct sc__packet_kind *kind;
    double times;
};

static uint32_t group_size(const struct sc__packet_kind *k) {
    return k->shape->group_count ? k->shape->groups[0].count : 0;
}

static int compare_looks(const struct sc__packet_kind *x, const struct sc__packet_kind *y) {
    uint64_t a[3] = {x->transfer.coll, x->transfer.bytes, group_size(x)};
    uint64_t b[3] = {y->transfer.coll, y->transfer.bytes, group_size(y)};
    for (int i = 0; i < 3; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

static int by_look(const void *a, const void *b, void *self) {
    (void)self;
    const struct sc__packet_kind *x = ((const struct kinds_alike *)a)->kind;
    const struct sc__packet_kind *y = ((const struct kinds_alike *)b)->kind;
    int order = compare_looks(x, y);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static int longest_first(const void *a, const void *b, void *self) {
    const struct kinds_alike *x = a;
    const struct kinds_alike *y = b;
    double time[2] = {x->times * (double)x->kind->alone, y->times * (double)y->kind->alone};
    if (time[0] != time[1])
        return time[0] > time[1] ? -1 : 1;
    return by_look(a, b, self);
}

/* Those with packets. */
static struct kinds_alike *sum_up_kinds(struct packet_net *n, uint32_t *count) {
    struct kinds_alike *list = SC__NEW_ARRAY(n->arena, struct kinds_alike, n->kind_count);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->kind_count; i++)
        if (n->kind_list[i]->shape->load_count && n->kind_list[i]->times > 0)
            list[kept++] = (struct kinds_alike){n->kind_list[i], n->kind_list[i]->times};
    sc__sort(list, kept, sizeof *list, by_look, NULL);
    *count = 0;
    for (uint32_t i = 0; i < kept; i++)
        if (*count && !compare_looks(list[*count - 1].kind, list[i].kind))
            list[*count - 1].times += list[i].times;
        else
            list[(*count)++] = list[i];
    sc__sort(list, *count, sizeof *list, longest_first, NULL);
    return list;
}

static const char *kind_name(struct packet_net *n, const struct kinds_alike *k) {
    const struct sc_transfer *t = &k->kind->transfer;
    bool message = t->coll == SC__COLLS;
    struct sc__buffer b;
    sc__buffer_init(&b, n->arena);
    sc__puts(&b, message ? "message" : sc__coll_name((enum sc__coll)t->coll));
    sc__puts(&b, " of ");
    sc__put_bytes(&b, t->bytes);
    if (!message)
        sc__printf(&b, " on %u GPUs", group_size(k->kind));
    if (k->times > 1)
        sc__printf(&b, ", %.0f times", k->times);
    return b.text;
}

sc_status sc__packet_see_longest(struct sc__net *net,
                                 uint32_t most,
                                 uint32_t spans,
                                 struct sc__packet_seen *out,
                                 uint32_t *count) {
    struct packet_net *n = net->self;
    uint32_t kinds;
    *count = 0;
    if (net->ops != &sc__packet_engine || n->cluster->ideal || !n->kind_count)
        return SC_OK;
    const struct kinds_alike *list = sum_up_kinds(n, &kinds);
    for (; *count < kinds && *count < most; (*count)++) {
        out[*count] = (struct sc__packet_seen){.name = kind_name(n, &list[*count])};
        SC__TRY(
            look_at_kind(n, list[*count].kind, MOST_PACKETS_OF_STEP, spans, &out[*count]));
    }
    return SC_OK;
}

void sc__packet_note_effort(const struct sc__net *net) {
    const struct packet_net *n = net->self;
    if (!n->cluster->ideal)
        note_effort(n, n->effort.largest_bound, "a transfer");
}

static sc_status packet_create(struct sc_engine_job *job, void **self) {
    struct sc__net net;
    SC__TRY(sc__net_packet(job->ctx, job->cluster, job->w, job->settings, &net));
    *self = net.self;
    return SC_OK;
}

static void packet_destroy(void *self) {
    struct packet_net *n = self;
    if (n->memory)
        sc__packet_memory_free(n->memory);
}

const struct sc_engine sc__packet_engine = {
    .size = sizeof(struct sc_engine),
    .name = "packet",
    .summary = "every packet: queues, PFC, ECN, congestion control",
    .create = packet_create,
    .destroy = packet_destroy,
    .alone = packet_alone,
    .start = packet_start,
    .next = packet_next,
    .finish = packet_finish,
    .links = packet_link_use,
    .passed = packet_passed,
};
