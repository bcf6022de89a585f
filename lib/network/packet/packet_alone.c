#include "network/packet/packet_alone.h"

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
#define GROWTH_TOLERANCE 0.002
#define PACKETS_TRIED 4.0 /* times more, where it does not */

struct alone_result {
    int64_t time; /* ns */
    double bound; /* share of it by which it may be wrong */
    bool steady;  /* the phases left out are like those simulated */
    bool apart;   /* other sets had no effect on it through the buffers of switches */
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
    uint32_t turns = (PHASES_COMPARED + t->period - 1) / t->period;
    uint32_t compared = turns * t->period;
    int64_t *end = SC__NEW_ARRAY(arena, int64_t, t->phases);
    phase_ends(t, delivered, end);
    double after = (double)(end[last] - end[last - compared]);
    double before = (double)(end[last - compared] - end[last - 2 * compared]);
    double times = (double)(t->all_phases - t->phases) / compared;
    r->time = end[t->phases - 1] + (int64_t)llround(after * times);
    r->steady = fabs(after - before) <= PHASE_TOLERANCE * after + 1;
    r->bound = fabs(after - before) * times / (double)r->time;
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
    *r = (struct alone_result){.steady = true, .apart = true};
    sc_status status = sc__packet_shape_traffic(&b, s, c, bytes, &t);
    if (status == SC_OK && t.count) {
        bool cut = t.phases < t.all_phases;
        sc__packet_live_add(l, &t, use, cut, 0, 0);
        status = sc__packet_live_run(l, INT64_MAX, &over);
        r->time = l->sim->queue.now;
        r->apart = sc__packet_buffers_untouched(l, c->copies);
        if (status == SC_OK && cut)
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
    if (status == SC_OK && !r->steady)
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

/* Three sizes, and the rest as they grow; false where they do not grow alike. */
static sc_status run_growing(struct sc__packet_alone *a,
                             const struct sc__packet_shape *s,
                             const struct sc__packet_component *c,
                             uint64_t bytes,
                             uint64_t unit,
                             double use,
                             struct alone_result *r,
                             bool *alike) {
    struct alone_result at[3];
    for (unsigned i = 0; i < 3; i++)
        SC__TRY(run_phases(a, s, c, (i + 1) * unit, use, &at[i]));
    double first = (double)(at[1].time - at[0].time);
    double second = (double)(at[2].time - at[1].time);
    double units = (double)(bytes - 3 * unit) / (double)unit;
    *r = at[2];
    r->time += (int64_t)llround(second * units);
    r->bound += fabs(second - first) * units / (double)r->time;
    *alike = second > 0 && fabs(second - first) <= GROWTH_TOLERANCE * second + 2;
    return SC_OK;
}

static sc_status run_size(struct sc__packet_alone *a,
                          const struct sc__packet_shape *s,
                          const struct sc__packet_component *c,
                          uint64_t bytes,
                          double use,
                          struct alone_result *r) {
    bool alike;
    double packets = packets_of(a, s, c, bytes);
    double first = PACKETS_AT_FIRST;
    for (; !a->settings->exact && packets > 2 * 6 * first; first *= PACKETS_TRIED) {
        /* whole packets for every part of the buffer */
        uint64_t grain = (uint64_t)a->settings->config.payload << 10;
        uint64_t unit = (uint64_t)((double)bytes * first / packets) / grain * grain;
        if (!unit)
            break;
        SC__TRY(run_growing(a, s, c, bytes, unit, use, r, &alike));
        if (alike)
            return SC_OK;
    }
    return run_phases(a, s, c, bytes, use, r);
}

static sc_status run_component(struct sc__packet_alone *a,
                               const struct sc__packet_shape *s,
                               const struct sc__packet_component *c,
                               uint64_t bytes,
                               double use,
                               struct alone_result *r) {
    uint64_t key[4] = {c->look, bytes, c->copies, 0};
    memcpy(&key[3], &use, sizeof use);
    uint64_t hash = sc__hash(key, sizeof key, 11);
    const uint64_t *known = c->look ? sc__map_find(&a->results, hash) : NULL;
    if (known) {
        *r = *(const struct alone_result *)(uintptr_t)*known;
        return SC_OK;
    }
    SC__TRY(run_size(a, s, c, bytes, use, r));
    a->effort->largest_bound = fmax(a->effort->largest_bound, r->bound);
    if (!c->look)
        return SC_OK;
    struct alone_result *kept = SC__NEW(a->builder.arena, struct alone_result);
    *kept = *r;
    *sc__map_at(&a->results, hash, NULL) = (uintptr_t)kept;
    return SC_OK;
}

sc_status sc__packet_time_alone(struct sc__packet_alone *a,
                                const struct sc__packet_shape *s,
                                uint64_t bytes,
                                double use,
                                int64_t *time) {
    struct alone_result r;
    bool apart = true;
    *time = 0;
    for (uint32_t i = 0; i < s->component_count && apart; i++) {
        SC__TRY(run_component(a, s, &s->components[i], bytes, use, &r));
        apart = r.apart;
        *time = r.time > *time ? r.time : *time;
    }
    if (apart)
        return SC_OK;
    SC__TRY(run_component(a, s, &s->all, bytes, use, &r));
    *time = r.time;
    return SC_OK;
}
