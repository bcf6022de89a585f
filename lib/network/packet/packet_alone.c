#include "network/packet/packet_alone.h"

/* Phases that are compared, and by which share they may differ for the rest to be
 * taken to be like them. */
#define PHASES_COMPARED 4u
#define LAST_PHASES                                                                        \
    2u /* not compared: nothing follows that they would share links with                   \
        */
#define PHASE_TOLERANCE 0.002

struct alone_result {
    int64_t time;   /* ns */
    double bound;   /* share of it */
    bool steady;    /* the phases left out are like those simulated */
    bool separable; /* no other set could have had an effect through a shared buffer */
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
        if (at[i] > end[t->messages[i].phase])
            end[t->messages[i].phase] = at[i];
}

/* The phases left out take as long as the last ones: those are compared with each
 * other. */
static void go_on(struct sc__arena *arena,
                  const struct sc__packet_traffic *t,
                  const int64_t *delivered,
                  struct alone_result *r) {
    uint32_t last = t->phases - 1 - LAST_PHASES;
    int64_t *end = SC__NEW_ARRAY(arena, int64_t, t->phases);
    double least = INFINITY;
    double most = 0;
    phase_ends(t, delivered, end);
    for (uint32_t i = 0; i < PHASES_COMPARED; i++) {
        double phase = (double)(end[last - i] - end[last - i - 1]);
        least = fmin(least, phase);
        most = fmax(most, phase);
    }
    double each = (double)(end[last] - end[last - PHASES_COMPARED]) / PHASES_COMPARED;
    double rest = each * (t->all_phases - t->phases);
    r->time = end[t->phases - 1] + (int64_t)llround(rest);
    r->steady = most - least <= PHASE_TOLERANCE * most + 1;
    r->bound = (most - least) * (t->all_phases - t->phases) / (double)r->time;
}

/* A switch pauses a port that has an eighth of what is free or more; sets beside this one
 * leave at least what they and it had at most. */
static bool buffers_untouched(const struct sc__packet_live *l, uint32_t copies) {
    double peak = (double)l->sim->peak_shared;
    return !l->counters.pauses && !l->counters.buffer_losses &&
           peak * (8 + (double)copies) < (double)l->ports.least_shared;
}

static sc_status run_component(struct sc__packet_alone *a,
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
    *r = (struct alone_result){.steady = true, .separable = true};
    sc_status status = sc__packet_shape_traffic(&b, s, c, bytes, &t);
    if (status == SC_OK && t.count) {
        bool cut = t.phases < t.all_phases;
        sc__packet_live_add(l, &t, use, cut, 0, 0);
        status = sc__packet_live_run(l, INT64_MAX, &over);
        r->time = l->sim->queue.now;
        r->separable = c->copies < 2 || buffers_untouched(l, c->copies);
        if (status == SC_OK && cut)
            go_on(&l->arena, &t, over->delivered, r);
        sc__packet_effort_add(a->effort, &l->counters);
    }
    sc__packet_live_free(l);
    return status;
}

/* All components one by one; *good: and what was left out is like what was not. */
static sc_status run_components(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time,
                                bool *steady,
                                bool *separable) {
    double bound = 0;
    *time = 0;
    *steady = true;
    *separable = true;
    for (uint32_t i = 0; i < s->component_count; i++) {
        struct alone_result r;
        SC__TRY(run_component(a, s, &s->components[i], bytes, use, &r));
        *time = r.time > *time ? r.time : *time;
        *steady = *steady && r.steady;
        *separable = *separable && r.separable;
        bound = fmax(bound, r.bound);
    }
    if (*steady)
        a->effort->largest_bound = fmax(a->effort->largest_bound, bound);
    return SC_OK;
}

sc_status sc__packet_time_alone(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time) {
    struct alone_result r;
    bool steady;
    bool separable;
    a->builder.first_phases = !a->settings->exact;
    SC__TRY(run_components(a, s, bytes, use, time, &steady, &separable));
    if (!steady) {
        a->builder.first_phases = false;
        SC__TRY(run_components(a, s, bytes, use, time, &steady, &separable));
    }
    a->builder.first_phases = false;
    if (separable)
        return SC_OK;
    SC__TRY(run_component(a, s, &s->all, bytes, use, &r));
    *time = r.time;
    return SC_OK;
}
