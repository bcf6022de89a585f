#include "network/packet/packet_rounds.h"

#include <string.h>

/* Streams of the reference's random numbers: losses, and the first one of the
 * draws, which has objects of the IP stack before it (docs/model/packet.md). */
#define LOSS_STREAM (((uint64_t)1 << 63) + 50)
#define STREAMS_PER_NODE 8u
#define STREAMS_BEFORE 2u
#define STREAMS_PER_LOSSY_LINK 2u
#define EVENTS_PER_REPORT ((uint64_t)1 << 20)

double sc__packet_side_draw(struct sc__packet_sim *s) {
    return sc__random_unit(&s->side_seed);
}

double sc__packet_draw(struct sc__packet_sim *s) {
    if (!s->reference)
        return sc__random_unit(&s->seed);
    /* Each draw is the first number of a stream of its own. */
    struct sc__mrg here = s->stream;
    sc__mrg_apply(&s->stream, &s->next_stream);
    return sc__mrg_next(&here);
}

void sc__packet_skip_draw(struct sc__packet_sim *s) {
    if (s->reference)
        sc__mrg_apply(&s->stream, &s->next_stream);
}

struct sc__packet_frame *sc__packet_frame_new(struct sc__packet_sim *s) {
    struct sc__packet_frame *f = s->free_frames;
    if (!f)
        return SC__NEW(s->arena, struct sc__packet_frame);
    s->free_frames = (struct sc__packet_frame *)(void *)f->event.next;
    return f;
}

struct sc__packet_timer *sc__packet_timer_set(struct sc__packet_sim *s,
                                              enum sc__packet_event_kind kind,
                                              int64_t time) {
    struct sc__packet_timer *t = s->free_timers;
    if (t)
        s->free_timers = (struct sc__packet_timer *)(void *)t->event.next;
    else
        t = SC__NEW(s->arena, struct sc__packet_timer);
    sc__packet_schedule(&s->queue, &t->event, kind, time);
    return t;
}

static void free_timer(struct sc__packet_sim *s, struct sc__packet_timer *t) {
    t->event.next = (struct sc__packet_event *)s->free_timers;
    s->free_timers = t;
}

/* Whole ns would make links of some Tb/s faster by a tenth and more: what is cut off is
 * kept for the next frame. */
static int64_t fine_time(struct sc__packet_port *port, uint32_t size) {
    uint64_t ps = (uint64_t)size * 8 * 1000000000000u / port->rate + port->cut_ps;
    port->cut_ps = (uint32_t)(ps % 1000);
    return (int64_t)(ps / 1000);
}

static int64_t transmission_time(const struct sc__packet_sim *s,
                                 struct sc__packet_port *port,
                                 uint32_t size) {
    if (s->fine)
        return fine_time(port, size);
    if (size == s->full_size)
        return port->full_time;
    if (size == s->control->ack_size)
        return port->ack_time;
    return sc__packet_time(size, port->rate);
}

/* The end of transmission has its insertion number before the arrival's, whether it is
 * inserted or not. Rounds begin with it too. */
void sc__packet_transmit(struct sc__packet_sim *s,
                         struct sc__packet_port *port,
                         struct sc__packet_frame *f,
                         bool more) {
    int64_t end = s->queue.now + transmission_time(s, port, f->size);
    port->busy_until = end;
    port->done_sequence = s->queue.next_sequence++;
    if (more || s->rounds)
        sc__packet_need_done(s, port);
    if (sc__packet_watched(s, port))
        sc__packet_watch_sent(s->watch, port->number, s->queue.now, end, f->size);
    f->port = port->peer;
    if (s->rounds && port->node->process != port->peer->node->process)
        sc__packet_post(s,
                        port->node->process,
                        &f->event,
                        SC__PACKET_ARRIVAL,
                        end + port->delay);
    else
        sc__packet_schedule(&s->queue, &f->event, SC__PACKET_ARRIVAL, end + port->delay);
}

static void port_send(struct sc__packet_sim *s, struct sc__packet_port *port) {
    if (port->node->is_switch)
        sc__packet_switch_send(s, port);
    else
        sc__packet_host_send(s, port->node);
}

static void watch_pause(const struct sc__packet_sim *s,
                        const struct sc__packet_port *port) {
    if (sc__packet_watched(s, port))
        sc__packet_watch_paused(s->watch, port->number, s->queue.now, port->paused != 0);
}

static void obey_pfc(struct sc__packet_sim *s,
                     struct sc__packet_port *port,
                     const struct sc__packet_frame *f) {
    uint8_t bit = (uint8_t)(1u << f->priority);
    if (!s->config->enable_pfc)
        return;
    if (f->pause) {
        s->counters->pauses++;
        port->paused |= bit;
        watch_pause(s, port);
        return;
    }
    s->counters->resumes++;
    port->paused &= (uint8_t)~bit;
    watch_pause(s, port);
    port_send(s, port);
}

static bool lost(struct sc__packet_sim *s, struct sc__packet_losses *losses) {
    double u =
        s->reference ? sc__mrg_next(&losses->reference) : sc__random_unit(&losses->seed);
    return u < losses->rate;
}

void sc__packet_watch_trim(const struct sc__packet_sim *s,
                           const struct sc__packet_port *out) {
    if (sc__packet_watched(s, out))
        sc__packet_watch_trimmed(s->watch, out->number, s->queue.now);
}

void sc__packet_watch_loss(const struct sc__packet_sim *s,
                           const struct sc__packet_port *in) {
    if (sc__packet_watched(s, in->peer))
        sc__packet_watch_lost(s->watch, in->peer->number, s->queue.now);
}

static void arrive(struct sc__packet_sim *s, struct sc__packet_frame *f) {
    struct sc__packet_port *port = f->port;
    if (port->losses && lost(s, port->losses)) {
        s->counters->link_losses++;
        sc__packet_watch_loss(s, port);
        sc__packet_frame_free(s, f);
    } else if (f->type == SC__PACKET_PFC) {
        obey_pfc(s, port, f);
        sc__packet_frame_free(s, f);
    } else if (port->node->is_switch) {
        sc__packet_switch_receive(s, port, f);
    } else {
        sc__packet_host_receive(s, port, f);
    }
}

static void launch(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    int64_t now = s->queue.now;
    p->flow->start = now + s->start_delay;
    if (s->launched)
        s->launched(s, p);
    if (s->rounds && p->launched_by != p->host->process)
        sc__packet_post(s, p->launched_by, &p->start, SC__PACKET_PREPARE, now);
    else
        sc__packet_schedule(&s->queue, &p->start, SC__PACKET_PREPARE, now);
}

void sc__packet_release(struct sc__packet_sim *s, struct sc__packet_pair *p) {
    if (s->delivered) {
        s->delivered(s, p);
        return;
    }
    for (uint32_t i = 0; i < p->waiting_count; i++) {
        struct sc__packet_pair *next = p->waiting[i];
        if (--next->waits_left == 0)
            sc__packet_schedule(&s->queue, &next->start, SC__PACKET_LAUNCH, s->queue.now);
    }
}

static void feed(struct sc__packet_sim *s) {
    while (s->order_next < s->order_count &&
           s->order[s->order_next]->flow->start == s->queue.now)
        launch(s, s->order[s->order_next++]);
    if (s->order_next < s->order_count)
        sc__packet_schedule(&s->queue,
                            &s->feeder,
                            SC__PACKET_FEED,
                            s->order[s->order_next]->flow->start);
}

static void happen(struct sc__packet_sim *s, struct sc__packet_event *e) {
    struct sc__packet_pair *pair = (struct sc__packet_pair *)(void *)e;
    struct sc__packet_timer *timer = (struct sc__packet_timer *)(void *)e;
    switch ((enum sc__packet_event_kind)e->kind) {
    case SC__PACKET_ARRIVAL:
        arrive(s, (struct sc__packet_frame *)(void *)e);
        break;
    case SC__PACKET_DONE:
        port_send(s, (struct sc__packet_port *)(void *)e);
        break;
    case SC__PACKET_FEED:
        feed(s);
        break;
    case SC__PACKET_LAUNCH:
        launch(s, pair);
        break;
    case SC__PACKET_PREPARE:
        sc__packet_schedule(&s->queue, e, SC__PACKET_BEGIN, s->queue.now + s->start_delay);
        break;
    case SC__PACKET_BEGIN:
        sc__packet_host_begin(s, pair);
        break;
    case SC__PACKET_OVER:
        s->delivered(s, pair);
        break;
    case SC__PACKET_PACE:
        if (!e->cancelled) {
            timer->host->pacing = NULL;
            sc__packet_host_send(s, timer->host);
        }
        free_timer(s, timer);
        break;
    case SC__PACKET_ALPHA:
    case SC__PACKET_DECREASE:
    case SC__PACKET_RISE:
        if (!e->cancelled)
            sc__packet_dcqcn_timer(s, timer);
        free_timer(s, timer);
        break;
    case SC__PACKET_RESEND:
        if (!e->cancelled)
            s->transport->timeout(s, timer->pair);
        free_timer(s, timer);
        break;
    case SC__PACKET_PULL:
        s->transport->pull(s, timer->host);
        free_timer(s, timer);
        break;
    case SC__PACKET_LOOK:
        s->transport->look(s, timer->host);
        free_timer(s, timer);
        break;
    }
}

bool sc__packet_step(struct sc__packet_sim *s, int64_t until) {
    if (s->rounds)
        sc__packet_rounds_go_on(s, until);
    struct sc__packet_event *e = s->queue.live ? sc__packet_pop(&s->queue, until) : NULL;
    if (!e)
        return false;
    s->counters->events++;
    happen(s, e);
    return true;
}

static sc_status report_progress(struct sc__packet_sim *s) {
    double share = 1 - (double)s->left / (double)s->flows->count;
    return sc__progress(s->ctx, "packets", share);
}

/* Flows whose packets are lost for good leave nothing but timers of DCQCN, which
 * send nothing: then they are stuck, and the end is here. */
static sc_status run_events(struct sc__packet_sim *s, bool *stopped) {
    *stopped = false;
    while (s->left && s->queue.live) {
        struct sc__packet_event *e = sc__packet_pop(&s->queue, INT64_MAX);
        if (e->time >= s->stop) {
            *stopped = true;
            return SC_OK;
        }
        if (++s->counters->events % EVENTS_PER_REPORT == 0)
            SC__TRY(report_progress(s));
        happen(s, e);
    }
    return SC_OK;
}

static const struct sc__packet_control_ops *control_of(uint32_t mode) {
    switch (mode) {
    case SC__PACKET_DCQCN:
        return &sc__packet_dcqcn;
    case SC__PACKET_HPCC:
        return &sc__packet_hpcc;
    case SC__PACKET_HPCC_PINT:
        return &sc__packet_hpcc_pint;
    case SC__PACKET_SWIFT:
        return &sc__packet_swift;
    case SC__PACKET_TIMELY:
        return &sc__packet_timely;
    case SC__PACKET_DCTCP:
        return &sc__packet_dctcp;
    case SC__PACKET_NSCC:
        return &sc__packet_nscc;
    case SC__PACKET_RCCC:
        return &sc__packet_rccc;
    case SC__PACKET_NSCC_RCCC:
        return &sc__packet_nscc_rccc;
    default:
        return &sc__packet_no_control;
    }
}

static int compare_starts(const void *a, const void *b, void *self) {
    (void)self;
    int64_t x = (*(struct sc__packet_pair *const *)a)->flow->start;
    int64_t y = (*(struct sc__packet_pair *const *)b)->flow->start;
    return (x > y) - (x < y);
}

static void order_flows(struct sc__packet_sim *s) {
    uint32_t count = s->flows->count;
    s->order = SC__NEW_ARRAY(s->arena, struct sc__packet_pair *, count);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__packet_pair *p = &s->pairs[i];
        const struct sc__packet_flow *f = p->flow;
        p->waits_left = f->wait_count;
        if (!f->wait_count)
            s->order[s->order_count++] = p;
        for (uint32_t k = 0; k < f->wait_count; k++) {
            struct sc__packet_pair *before = &s->pairs[f->waits_for[k]];
            *SC__PUSH(s->arena,
                      before->waiting,
                      before->waiting_count,
                      before->waiting_capacity) = p;
        }
    }
    sc__sort(s->order, s->order_count, sizeof *s->order, compare_starts, NULL);
    sc__packet_schedule(&s->queue, &s->feeder, SC__PACKET_FEED, s->order[0]->flow->start);
}

void sc__packet_first_draw(struct sc__packet_sim *s, uint64_t nodes, uint64_t lossy_links) {
    sc__mrg_stream(&s->stream,
                   STREAMS_PER_NODE * nodes + STREAMS_BEFORE +
                       STREAMS_PER_LOSSY_LINK * lossy_links);
    sc__mrg_next_stream(&s->next_stream);
}

static struct sc__packet_losses *
losses_new(struct sc__packet_sim *s, double rate, uint64_t number) {
    struct sc__packet_losses *l = SC__NEW(s->arena, struct sc__packet_losses);
    l->rate = rate;
    l->seed = sc__splitmix64(s->seed ^ (number + 1) << 32);
    sc__mrg_stream(&l->reference, LOSS_STREAM);
    return l;
}

struct sc__packet_losses *sc__packet_common_losses(struct sc__packet_sim *s) {
    return s->config->error_rate > 0 ? losses_new(s, s->config->error_rate, 0) : NULL;
}

/* A link with a rate of its own has a generator for both directions; all others
 * have one together. */
static void set_losses(struct sc__packet_sim *s, const struct sc__packet_topology *t) {
    struct sc__packet_losses *common = sc__packet_common_losses(s);
    uint64_t lossy_links = 0;
    for (uint32_t i = 0; i < t->link_count; i++) {
        struct sc__packet_losses *losses = common;
        if (t->links[i].error_rate > 0) {
            losses = losses_new(s, t->links[i].error_rate, i + 1);
            lossy_links++;
        }
        s->ports[2 * i].losses = losses;
        s->ports[2 * i + 1].losses = losses;
    }
    sc__packet_first_draw(s, t->node_count, lossy_links);
}

static void set_times(struct sc__packet_sim *s) {
    const struct sc__packet_config *c = s->config;
    s->stop = c->stop_s < 9e9 ? (int64_t)(c->stop_s * 1e9) : INT64_MAX;
    s->alpha_interval = (int64_t)c->alpha_interval_us * 1000;
    s->decrease_interval = (int64_t)c->decrease_interval_us * 1000;
    s->rise_interval = (int64_t)c->rise_interval_us * 1000;
    s->ack_priority = c->ack_high_priority ? 0 : 3;
}

static void count_unfinished(struct sc__packet_sim *s, bool stopped) {
    if (stopped)
        s->counters->cut_off = s->left;
    else
        s->counters->stuck = s->left;
}

void sc__packet_sim_init(struct sc__packet_sim *s,
                         struct sc_context *ctx,
                         struct sc__arena *arena,
                         const struct sc__packet_config *config,
                         const struct sc__packet_random *random,
                         struct sc__packet_counters *counters) {
    s->ctx = ctx;
    s->arena = arena;
    s->queue.arena = arena;
    s->config = config;
    s->counters = counters;
    s->reference = random->reference;
    s->seed = random->seed;
    s->control = control_of(config->control);
    s->transport = s->control->transport;
    s->header = s->control->header + sc__packet_pint_bytes(config);
    s->full_size = config->payload + s->header;
    s->side_seed = random->reference ? 1 : sc__splitmix64(random->seed);
    s->wakes_all = config->control == SC__PACKET_SWIFT;
    set_times(s);
}

sc_status sc__packet_simulate_pairs(struct sc__packet_sim *s) {
    bool stopped;
    for (uint32_t i = 0; i < s->flows->count; i++)
        s->flows->items[i].ideal = sc__packet_ideal(s, &s->pairs[i], true);
    order_flows(s);
    SC__TRY(run_events(s, &stopped));
    count_unfinished(s, stopped);
    if (s->watch)
        sc__packet_watch_close(s->watch, s->queue.now);
    s->counters->base_rtt = s->base_rtt;
    s->counters->window = s->window;
    return SC_OK;
}

sc_status sc__packet_simulate(struct sc_context *ctx,
                              const struct sc__packet_config *config,
                              const struct sc__packet_topology *topology,
                              struct sc__packet_flows *flows,
                              const struct sc__packet_random *random,
                              struct sc__packet_watch *watch,
                              struct sc__packet_counters *counters) {
    struct sc__packet_sim *s = SC__NEW(&ctx->arena, struct sc__packet_sim);
    memset(counters, 0, sizeof *counters);
    sc__packet_sim_init(s, ctx, &ctx->arena, config, random, counters);
    s->flows = flows;
    s->watch = watch;
    s->left = flows->count;
    SC__TRY(sc__packet_build(s, topology));
    set_losses(s, topology);
    return sc__packet_simulate_pairs(s);
}
