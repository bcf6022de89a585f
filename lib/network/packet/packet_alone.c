#include "network/packet/packet_alone.h"

#include "base/parallel.h"

#include <string.h>

/* Phases that are compared with as many before them, at least, and by which share they may
 * differ for the rest to be taken to be like them. */
#define PHASES_COMPARED 4u
#define LAST_PHASES                                                                        \
    2u /* not compared: nothing follows that they would share links with                   \
        */
#define PHASE_TOLERANCE 0.002

/* Sizes are simulated at which a component has so many packets, twice and three times as
 * many; larger ones follow if time grows with size alike between them. */
#define PACKETS_AT_FIRST 60000.0
#define GROWTH_TOLERANCE 0.005
#define PACKETS_TRIED 4.0   /* times more, where it does not */
#define SIZES_WORTH_IT 12.0 /* times the first: twice what the three have */
/* Where senders react to each other, time may grow alike for hundreds of thousands of
 * packets, and then not: so many are looked at first. */
#define PACKETS_OF_REACTIONS 960000.0
/* Twice the share of what is added by which the worst of those was wrong that were
 * simulated whole too: docs/model/packet-cluster.md. */
#define WRONG_AT_MOST 0.02
#define WRONG_OF_REACTIONS 0.1

struct alone_result {
    int64_t time;   /* ns */
    double bound;   /* share of it by which it may be wrong */
    bool cut;       /* phases were left out */
    bool steady;    /* they are like those simulated */
    bool calm;      /* no sender had to change what it does */
    double packets; /* that all phases have */
    bool apart;     /* other sets had no effect on it through the buffers of switches */
};

void sc__packet_effort_add(struct sc__packet_effort *e,
                           const struct sc__packet_counters *c) {
    e->counters.marks += c->marks;
    e->counters.pauses += c->pauses;
    e->counters.resumes += c->resumes;
    e->counters.buffer_losses += c->buffer_losses;
    e->counters.link_losses += c->link_losses;
    e->counters.data_packets += c->data_packets;
    e->counters.acks += c->acks;
    e->counters.nacks += c->nacks;
    e->counters.events += c->events;
}

/* The last delivery of each phase. */
static void
phase_ends(const struct sc__packet_traffic *t, const int64_t *at, int64_t *end) {
    for (uint32_t i = 0; i < t->count; i++)
        if (t->messages[i].end != SC__PACKET_END_ASIDE && at[i] > end[t->messages[i].phase])
            end[t->messages[i].phase] = at[i];
}

static int64_t last_delivery(const struct sc__packet_traffic *t, const int64_t *at) {
    int64_t end = 0;
    for (uint32_t i = 0; i < t->count; i++)
        if (t->messages[i].end != SC__PACKET_END_ASIDE && at[i] > end)
            end = at[i];
    return end;
}

/* Of something that was added. */
static double wrong_at_most(const struct alone_result *r, double measured, double added) {
    return fmax(measured, (r->calm ? WRONG_AT_MOST : WRONG_OF_REACTIONS) * added);
}

/* The phases left out take as long as the last ones: those are compared with each
 * other. */
static void go_on(struct sc__arena *arena,
                  const struct sc__packet_traffic *t,
                  const int64_t *delivered,
                  struct alone_result *r) {
    uint32_t last = t->phases - 1 - LAST_PHASES;
    uint32_t turns = (PHASES_COMPARED + t->period - 1) / t->period;
    uint32_t compared = turns * t->period;
    int64_t *end = SC__NEW_ARRAY(arena, int64_t, t->phases);
    phase_ends(t, delivered, end);
    double after = (double)(end[last] - end[last - compared]);
    double before = (double)(end[last - compared] - end[last - 2 * compared]);
    double times = (double)(t->all_phases - t->phases) / compared;
    r->time = end[t->phases - 1] + (int64_t)llround(after * times);
    r->steady = fabs(after - before) <= PHASE_TOLERANCE * after + 1;
    r->bound = wrong_at_most(r, fabs(after - before), after) * times / (double)r->time;
}

static sc_status simulate_component(struct sc__packet_alone *a,
                                    const struct sc__packet_shape *s,
                                    const struct sc__packet_component *c,
                                    uint64_t bytes,
                                    double use,
                                    struct alone_result *r) {
    struct sc__packet_live *l =
        sc__packet_live_new(a->builder.fabric, &a->settings->steps, &a->settings->random);
    struct sc__packet_traffic_builder b = a->builder;
    struct sc__packet_traffic t = {0};
    struct sc__packet_run *over = NULL;
    b.arena = &l->arena;
    *r = (struct alone_result){.steady = true, .calm = true, .apart = true};
    sc_status status = sc__packet_shape_traffic(&b, s, c, bytes, &t);
    if (status == SC_OK && t.count) {
        r->cut = t.phases < t.all_phases;
        sc__packet_live_add(l, &t, use, SC__PACKET_KEEP_ENDS, 0, 0);
        status = sc__packet_live_run(l, INT64_MAX, &over);
        if (status == SC_OK)
            r->time = last_delivery(&t, over->delivered);
        r->apart = sc__packet_buffers_untouched(l, c->copies);
        r->calm = sc__packet_live_calm(l, 0);
        r->packets = (double)l->counters.data_packets * t.all_phases / t.phases;
        if (status == SC_OK && r->cut)
            go_on(&l->arena, &t, over->delivered, r);
        sc__packet_effort_add(a->effort, &l->counters);
    }
    sc__packet_live_free(l);
    return status;
}

/* With as many phases of rings as are needed. */
static sc_status run_phases(struct sc__packet_alone *a,
                            const struct sc__packet_shape *s,
                            const struct sc__packet_component *c,
                            uint64_t bytes,
                            double use,
                            struct alone_result *r) {
    a->builder.first_phases = !a->settings->exact;
    sc_status status = simulate_component(a, s, c, bytes, use, r);
    a->builder.first_phases = false;
    bool goes_on =
        r->steady && (r->calm || r->packets > SIZES_WORTH_IT * PACKETS_OF_REACTIONS);
    if (status == SC_OK && r->cut && !goes_on)
        status = simulate_component(a, s, c, bytes, use, r);
    return status;
}

/* Packets of a component of so many bytes. */
static double packets_of(const struct sc__packet_alone *a,
                         const struct sc__packet_shape *s,
                         const struct sc__packet_component *c,
                         uint64_t bytes) {
    double groups = s->group_count ? (double)c->count / s->group_count : 0;
    return s->sent_per_byte * groups * (double)bytes / a->settings->config.payload;
}

/* A component at a size. Several have threads of their own where there are some: nothing
 * that one does depends on another, so that all is the same with one thread and many. */
struct alone_task {
    struct sc__packet_alone *a;
    const struct sc__packet_shape *shape;
    const struct sc__packet_component *component;
    uint64_t bytes;
    double use;
    sc_status (*work)(struct sc__packet_alone *a, struct alone_task *task);
    struct alone_result result;
    /* on a thread */
    bool begun;
    struct sc_context ctx;
    struct sc__packet_effort effort;
    sc_status status;
};

/* With a context, an effort and a room for paths of its own. */
static sc_status task_alone(void *self) {
    struct alone_task *task = self;
    struct sc__packet_alone a = *task->a;
    struct sc__packet_fabric fabric = *a.builder.fabric;
    fabric.ctx = &task->ctx;
    sc__packet_fabric_rooms(&fabric, &task->ctx.arena);
    a.builder.fabric = &fabric;
    a.builder.arena = &task->ctx.arena;
    a.effort = &task->effort;
    return task->work(&a, task);
}

static void task_on_thread(void *self, uint32_t i) {
    struct alone_task *task = &((struct alone_task *)self)[i];
    sc__context_init(&task->ctx, NULL);
    task->begun = true;
    task->status = sc__guarded(&task->ctx, task_alone, task);
}

static void take_effort(struct sc__packet_effort *into,
                        const struct sc__packet_effort *from) {
    sc__packet_effort_add(into, &from->counters);
    into->largest_bound = fmax(into->largest_bound, from->largest_bound);
}

static sc_status
run_tasks(struct sc__packet_alone *a, struct alone_task *tasks, uint32_t count) {
    struct sc_context *ctx = a->builder.fabric->ctx;
    sc_status status = SC_OK;
    if (ctx->jobs < 2 || count < 2) {
        for (uint32_t i = 0; i < count && status == SC_OK; i++)
            status = tasks[i].work(a, &tasks[i]);
        return status;
    }
    for (uint32_t i = 0; i < count; i++)
        tasks[i].a = a;
    sc_status told = sc__parallel(ctx, "packets", count, task_on_thread, tasks);
    for (uint32_t i = 0; i < count; i++) {
        if (!tasks[i].begun)
            continue;
        if (tasks[i].status != SC_OK && status == SC_OK)
            sc__error_move(ctx, &tasks[i].ctx);
        status = status != SC_OK ? status : tasks[i].status;
        take_effort(a->effort, &tasks[i].effort);
        sc__context_end(&tasks[i].ctx);
    }
    return told != SC_OK ? told : status;
}

static sc_status phases_task(struct sc__packet_alone *a, struct alone_task *t) {
    return run_phases(a, t->shape, t->component, t->bytes, t->use, &t->result);
}

/* How a time goes on from three sizes. */
enum alone_growth { GROWS_ALIKE, GROWS_UNLIKE, GROWS_BY_REACTIONS };

/* Three sizes, the first of so many packets, and the rest as they grow. */
static sc_status run_growing(struct sc__packet_alone *a,
                             const struct alone_task *whole,
                             uint64_t unit,
                             double packets,
                             struct alone_result *r,
                             enum alone_growth *growth) {
    struct alone_task *at = SC__NEW_ARRAY(a->builder.arena, struct alone_task, 3);
    for (unsigned i = 0; i < 3; i++) { /* the longest first */
        at[i] = *whole;
        at[i].bytes = (3 - i) * unit;
        at[i].work = phases_task;
    }
    *growth = GROWS_BY_REACTIONS;
    SC__TRY(run_tasks(a, &at[2], 1));
    if (!at[2].result.calm && packets < PACKETS_OF_REACTIONS)
        return SC_OK;
    SC__TRY(run_tasks(a, at, 2));
    bool calm = at[0].result.calm && at[1].result.calm && at[2].result.calm;
    if (!calm && packets < PACKETS_OF_REACTIONS)
        return SC_OK;
    double first = (double)(at[1].result.time - at[2].result.time);
    double second = (double)(at[0].result.time - at[1].result.time);
    double units = (double)(whole->bytes - 3 * unit) / (double)unit;
    double mean = (first + second) / 2;
    double off = fabs(second - first) / 2;
    *r = at[0].result;
    r->calm = calm;
    r->time += (int64_t)llround(mean * units);
    r->bound += wrong_at_most(r, 2 * off, mean) * units / (double)r->time;
    bool alike = first > 0 && second > 0 && off <= GROWTH_TOLERANCE * mean + 1;
    *growth = alike ? GROWS_ALIKE : GROWS_UNLIKE;
    return SC_OK;
}

static sc_status
run_size(struct sc__packet_alone *a, const struct alone_task *t, struct alone_result *r) {
    enum alone_growth growth = GROWS_UNLIKE;
    double packets = packets_of(a, t->shape, t->component, t->bytes);
    double first = PACKETS_AT_FIRST;
    while (!a->settings->exact && packets > SIZES_WORTH_IT * first) {
        /* whole packets for every part of the buffer */
        uint64_t grain = (uint64_t)a->settings->config.payload << 10;
        uint64_t unit = (uint64_t)((double)t->bytes * first / packets) / grain * grain;
        if (unit)
            SC__TRY(run_growing(a, t, unit, first, r, &growth));
        if (growth == GROWS_ALIKE)
            return SC_OK;
        first *= PACKETS_TRIED;
        if (growth == GROWS_BY_REACTIONS)
            first = fmax(first, PACKETS_OF_REACTIONS);
    }
    return run_phases(a, t->shape, t->component, t->bytes, t->use, r);
}

static uint64_t
component_hash(const struct sc__packet_component *c, uint64_t bytes, double use) {
    uint64_t key[4] = {c->look, bytes, c->copies, 0};
    memcpy(&key[3], &use, sizeof use);
    return sc__hash(key, sizeof key, 11);
}

static void remember(struct sc__packet_alone *a, const struct alone_task *t) {
    struct alone_result *kept = SC__NEW(a->builder.arena, struct alone_result);
    a->effort->largest_bound = fmax(a->effort->largest_bound, t->result.bound);
    if (!t->component->look)
        return;
    *kept = t->result;
    *sc__map_at(&a->results, component_hash(t->component, t->bytes, t->use), NULL) =
        (uintptr_t)kept;
}

static sc_status size_task(struct sc__packet_alone *a, struct alone_task *t) {
    return run_size(a, t, &t->result);
}

static void take_longer(const struct alone_result *r, int64_t *time, int64_t *doubt) {
    int64_t wrong = (int64_t)ceil(r->bound * (double)r->time);
    *time = r->time > *time ? r->time : *time;
    *doubt = wrong > *doubt ? wrong : *doubt;
}

/* The longest of some components, those that are not known simulated. *apart: none of
 * them feels others. */
static sc_status run_components(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                const struct sc__packet_component *components,
                                uint32_t count,
                                const struct alone_task *like,
                                bool *apart,
                                int64_t *time,
                                int64_t *doubt) {
    struct alone_task *tasks = SC__NEW_ARRAY(a->builder.arena, struct alone_task, count);
    uint32_t fresh = 0;
    *time = 0;
    *doubt = 0;
    *apart = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__packet_component *c = &components[i];
        const uint64_t *known =
            c->look ? sc__map_find(&a->results, component_hash(c, like->bytes, like->use))
                    : NULL;
        if (known) {
            const struct alone_result *r = (const struct alone_result *)(uintptr_t)*known;
            take_longer(r, time, doubt);
            *apart = *apart && r->apart;
            continue;
        }
        tasks[fresh] = *like;
        tasks[fresh].shape = s;
        tasks[fresh++].component = c;
    }
    SC__TRY(run_tasks(a, tasks, fresh));
    for (uint32_t i = 0; i < fresh; i++) {
        remember(a, &tasks[i]);
        take_longer(&tasks[i].result, time, doubt);
        *apart = *apart && tasks[i].result.apart;
    }
    return SC_OK;
}

sc_status sc__packet_time_alone(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time,
                                int64_t *doubt) {
    struct alone_task like = {.bytes = bytes, .use = use, .work = size_task};
    bool apart;
    SC__TRY(run_components(a,
                           s,
                           s->components,
                           s->component_count,
                           &like,
                           &apart,
                           time,
                           doubt));
    if (apart)
        return SC_OK;
    return run_components(a, s, &s->all, 1, &like, &apart, time, doubt);
}
