/* packet_list: where a fabric has planes, a flow has an equal part on each, and is over
 * with the last of them. */
#include "network/packet/packet_list.h"
#include "network/packet/packet_fabric.h"
#include "network/packet/packet_uet.h"

#include <string.h>

#define PLAIN_HEADER 52

struct packet_list {
    struct sc__packet_fabric fabric;
    struct sc__packet_ports ports;
    struct sc__packet_sim *sim;
    struct sc__packet_flows *flows;
    struct sc__packet_flows parts;
    uint32_t *whole; /* by part: its flow */
    uint32_t whole_count;
    uint32_t whole_capacity;
    struct sc__map counts; /* by pair of ports: flows so far */
};

void sc__packet_watch_graph(struct sc__packet_watch *w,
                            struct sc__arena *arena,
                            const struct sc__graph *g,
                            uint32_t capacity) {
    sc__packet_watch_init(w, arena, g->links, capacity);
    for (uint32_t i = 0; i < g->links; i++) {
        struct sc__packet_watched *p = &w->ports[i];
        struct sc__buffer name;
        uint32_t ends[2];
        g->ends(g, i, ends);
        sc__buffer_init(&name, arena);
        g->name(g, i, &name);
        p->name = name.text;
        p->from = ends[0];
        p->to = ends[1];
        p->rate = (uint64_t)llround(g->capacity[i] * 8);
    }
}

/* The slower one of the ports at the ends of the path at hand: those all paths share. */
static double ends_rate(const struct sc__packet_fabric *f, uint32_t count) {
    return fmin((double)sc__packet_link_rate(f, f->links[0]),
                (double)sc__packet_link_rate(f, f->links[count - 1]));
}

/* The time alone: docs/model/packet.md; on one path, of the largest part. */
static sc_status set_alone(struct packet_list *l, struct sc__packet_flow *part) {
    struct sc__packet_fabric *f = &l->fabric;
    uint32_t count;
    uint64_t rate = UINT64_MAX;
    uint64_t packets = (part->bytes + f->config->payload - 1) / f->config->payload;
    SC__TRY(sc__packet_links(f, part->from, part->to, 0, 0, &count));
    part->alone = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t here = sc__packet_link_rate(f, f->links[i]);
        part->alone += 2 * sc__packet_link_delay(f, f->links[i]) +
                       sc__packet_time(f->config->payload, here);
        rate = here < rate ? here : rate;
    }
    double bits = ((double)part->bytes + (double)packets * PLAIN_HEADER) * 8;
    part->alone += (int64_t)(bits * 1e9 / (double)rate);
    part->fluid = (int64_t)((double)part->bytes * 8e9 / ends_rate(f, count));
    return SC_OK;
}

static sc_status check_flow(struct packet_list *l, uint32_t i) {
    const struct sc__packet_flow *f = &l->flows->items[i];
    struct sc__place place = {.file = l->flows->file};
    if (f->from == f->to)
        return sc__fail(l->sim->ctx,
                        SC_INPUT,
                        &place,
                        "with --net packet flows are between two ports",
                        "flow %u goes to the port that it comes from",
                        i + 1);
    if (l->sim->transport && f->bytes / l->sim->config->payload >= SC__UET_MOST_PACKETS)
        return sc__fail(l->sim->ctx,
                        SC_INPUT,
                        &place,
                        NULL,
                        "flow %u has too many packets",
                        i + 1);
    if (!f->bytes)
        return sc__fail(l->sim->ctx,
                        SC_INPUT,
                        &place,
                        "with --net packet flows have a byte or more",
                        "flow %u has no bytes",
                        i + 1);
    return SC_OK;
}

static sc_status add_parts(struct packet_list *l, uint32_t i) {
    struct sc__packet_flow *f = &l->flows->items[i];
    struct sc__arena *arena = l->sim->arena;
    uint32_t planes = sc__packet_planes(&l->fabric, f->from, f->to);
    if (planes > f->bytes)
        planes = 1;
    for (uint32_t k = 0; k < planes; k++) {
        struct sc__packet_flow *part =
            SC__PUSH(arena, l->parts.items, l->parts.count, l->parts.capacity);
        *part = *f;
        part->bytes = f->bytes / planes + (k < f->bytes % planes);
        part->priority = k; /* the plane, until its pair is made */
        *SC__PUSH(arena, l->whole, l->whole_count, l->whole_capacity) = i;
        SC__TRY(set_alone(l, part));
        if (part->alone > f->alone)
            f->alone = part->alone;
        if (part->fluid > f->fluid)
            f->fluid = part->fluid;
    }
    return SC_OK;
}

static sc_status lay_many(struct packet_list *l,
                          struct sc__packet_pair *p,
                          uint32_t plane,
                          uint32_t number) {
    const struct sc__packet_many *m;
    SC__TRY(sc__packet_many(&l->ports, p->flow->from, p->flow->to, plane, number, &m));
    p->host = m->from;
    (void)sc__uet_flow_new(l->sim, p, m->data, m->ack);
    return SC_OK;
}

static sc_status
lay_one(struct packet_list *l, struct sc__packet_pair *p, uint32_t plane, uint32_t number) {
    const struct sc__packet_wire *w;
    SC__TRY(sc__packet_wire(&l->ports, p->flow->from, p->flow->to, plane, number, &w));
    sc__packet_take_wire(p, w, (uint64_t)(p - l->sim->pairs));
    return SC_OK;
}

static sc_status make_pair(struct packet_list *l, uint32_t part, uint32_t number) {
    struct sc__packet_pair *p = &l->sim->pairs[part];
    uint32_t plane = l->parts.items[part].priority;
    p->flow = &l->parts.items[part];
    p->flow->priority = l->flows->items[l->whole[part]].priority;
    p->priority = (uint8_t)p->flow->priority;
    p->bytes = p->flow->bytes;
    return l->sim->uet ? lay_many(l, p, plane, number) : lay_one(l, p, plane, number);
}

/* Flows of one pair of ports are connections of their own, with hashes of their own. */
static sc_status make_pairs(struct packet_list *l) {
    uint32_t number = 0;
    l->sim->pairs = SC__NEW_ARRAY(l->sim->arena, struct sc__packet_pair, l->parts.count);
    sc__map_init(&l->counts, l->sim->arena);
    for (uint32_t i = 0; i < l->parts.count; i++) {
        const struct sc__packet_flow *part = &l->parts.items[i];
        bool fresh;
        if (!i || l->whole[i] != l->whole[i - 1]) {
            uint64_t *count =
                sc__map_at(&l->counts, (uint64_t)part->from << 32 | part->to, &fresh);
            number = (uint32_t)(*count)++;
        }
        l->flows->items[l->whole[i]].source_port = number;
        SC__TRY(make_pair(l, i, number));
    }
    return SC_OK;
}

/* A flow is over with its last part. */
static void join_parts(struct packet_list *l) {
    for (uint32_t i = 0; i < l->flows->count; i++) {
        l->flows->items[i].completion = 0;
        l->flows->items[i].received = 0;
    }
    for (uint32_t i = 0; i < l->parts.count; i++) {
        const struct sc__packet_flow *part = &l->parts.items[i];
        struct sc__packet_flow *f = &l->flows->items[l->whole[i]];
        if (part->ideal > f->ideal)
            f->ideal = part->ideal;
        if (part->completion < 0 || f->completion < 0)
            f->completion = -1;
        else if (part->completion > f->completion)
            f->completion = part->completion;
        if (part->received < 0 || f->received < 0)
            f->received = -1;
        else if (part->received > f->received)
            f->received = part->received;
    }
}

static void count_whole_flows(struct packet_list *l, struct sc__packet_counters *c) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < l->flows->count; i++)
        open += l->flows->items[i].completion < 0;
    c->stuck = c->stuck ? open : 0;
    c->cut_off = c->cut_off ? open : 0;
}

sc_status sc__packet_simulate_list(struct sc_context *ctx,
                                   const struct sc__packet_config *config,
                                   const struct sc__packet_place *place,
                                   struct sc__packet_flows *flows,
                                   const struct sc__packet_random *random,
                                   struct sc__packet_watch *watch,
                                   struct sc__packet_counters *counters) {
    struct packet_list *l = SC__NEW(&ctx->arena, struct packet_list);
    struct sc__packet_sim *s = SC__NEW(&ctx->arena, struct sc__packet_sim);
    memset(counters, 0, sizeof *counters);
    sc__packet_sim_init(s, ctx, &ctx->arena, config, random, counters);
    l->sim = s;
    l->flows = flows;
    s->watch = watch;
    s->wakes_all = true;
    s->fine = true;
    SC__TRY(sc__packet_fabric_init(ctx,
                                   place->cluster,
                                   config,
                                   place->graph,
                                   place->route,
                                   false,
                                   &l->fabric));
    sc__packet_ports_init(&l->fabric, s, &l->ports);
    for (uint32_t i = 0; i < flows->count; i++) {
        SC__TRY(check_flow(l, i));
        SC__TRY(add_parts(l, i));
    }
    s->flows = &l->parts;
    s->left = l->parts.count;
    SC__TRY(make_pairs(l));
    SC__TRY(sc__packet_simulate_pairs(s));
    join_parts(l);
    count_whole_flows(l, counters);
    return SC_OK;
}
