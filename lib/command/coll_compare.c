/* coll --net analytic,flow,packet --cc dcqcn,hpcc: a collective by several engines and
 * under several congestion controls, one beside the other. */
#include "command/coll.h"

#include "command/job.h"
#include "network/packet/packet.h"
#include "report/write.h"

#include <string.h>

#define MOST_WAYS 32u

/* One of them. */
struct compared_way {
    const char *net;
    const char *control; /* of packets; NULL: as usual */
    struct sc__coll_query query;
};

struct comparison {
    struct compared_way ways[MOST_WAYS];
    uint32_t count;
};

/* The settings of the request, with the engine and the control of a way. */
struct compared_settings {
    struct sc__settings given;
    const struct compared_way *way;
};

static bool has_comma(const struct sc_request *req, const char *option) {
    const char *text = sc__option(req, option);
    return text && strchr(text, ',');
}

bool sc__coll_compares(const struct sc_request *req) {
    return has_comma(req, "net") || has_comma(req, "cc");
}

/* What another engine takes says nothing of this one. */
static const char *compared_nth(const void *self, const char *name, unsigned i) {
    const struct compared_settings *s = self;
    bool packets = !strcmp(s->way->net, "packet");
    if (!strcmp(name, "net"))
        return i ? NULL : s->way->net;
    if (!strcmp(name, "cc") && packets)
        return i ? NULL : s->way->control;
    if (!packets && sc__option_find(sc__packet_options, name))
        return NULL;
    if (!strcmp(s->way->net, "analytic") && sc__option_find(sc__flow_options, name))
        return NULL;
    return s->given.nth(s->given.self, name, i);
}

static sc_status add_way(struct sc_request *req,
                         struct comparison *c,
                         const struct sc__coll_query *q,
                         const char *net,
                         const char *control) {
    if (c->count == MOST_WAYS)
        return sc__usage(req, NULL, "more than %u engines and controls", MOST_WAYS);
    struct compared_way *w = &c->ways[c->count++];
    *w = (struct compared_way){.net = net, .control = control, .query = *q};
    struct compared_settings own = {sc__settings(req), w};
    struct sc__settings settings = {.nth = compared_nth, .self = &own, .ctx = req->ctx};
    return sc__coll_network(req, &settings, &w->query);
}

static sc_status add_ways(struct sc_request *req,
                          struct comparison *c,
                          const struct sc__coll_query *q,
                          const char *net) {
    const char *text = sc__option(req, "cc");
    struct sc__str list = sc__str(text ? text : "");
    struct sc__str part;
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->ways[i].net, net))
            return sc__usage(req, NULL, "--net has '%.80s' twice", net);
    if (strcmp(net, "packet") || !text)
        return add_way(req, c, q, net, NULL);
    while (sc__split(&list, ',', &part))
        SC__TRY(add_way(req, c, q, net, sc__strndup(&req->ctx->arena, part.p, part.n)));
    return SC_OK;
}

static const char *way_name(const struct compared_way *w) {
    return w->control ? w->control : w->net;
}

static double way_us(const struct compared_way *w, uint64_t bytes) {
    const struct sc__coll_query *q = &w->query;
    int64_t time = sc__coll_op_cost(&q->cluster, q->op, &q->shape, bytes).time;
    if (q->net)
        (void)q->net_cost(q->net, q->op->coll, bytes, &time);
    return sc__us(time);
}

static void put_compared_table(const struct comparison *c, struct sc__buffer *out) {
    const struct sc__coll_query *q = &c->ways[0].query;
    sc__printf(out,
               "# %s on %s: %u GPUs on %u nodes, us\n#       size",
               q->op->name,
               q->cluster.name,
               q->shape.ranks,
               q->shape.nodes);
    for (uint32_t i = 0; i < c->count; i++)
        sc__printf(out, "  %12s", way_name(&c->ways[i]));
    sc__putc(out, '\n');
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes)) {
        sc__printf(out, "%12llu", (unsigned long long)bytes);
        for (uint32_t i = 0; i < c->count; i++)
            sc__printf(out, "  %12.2f", way_us(&c->ways[i], bytes));
        sc__putc(out, '\n');
    }
}

static void put_compared_csv(const struct comparison *c, struct sc__buffer *out) {
    const struct sc__coll_query *q = &c->ways[0].query;
    sc__puts(out, "op,gpus,nodes,size_bytes,net,cc,time_us\n");
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes))
        for (uint32_t i = 0; i < c->count; i++)
            sc__printf(out,
                       "%s,%u,%u,%llu,%s,%s,%.10g\n",
                       q->op->name,
                       q->shape.ranks,
                       q->shape.nodes,
                       (unsigned long long)bytes,
                       c->ways[i].net,
                       c->ways[i].control ? c->ways[i].control : "",
                       way_us(&c->ways[i], bytes));
}

static void put_way(const struct compared_way *w, struct sc__json *j) {
    const struct sc__coll_query *q = &w->query;
    sc__json_object(j, NULL);
    sc__json_string(j, "net", w->net);
    sc__json_string(j, "cc", w->control);
    sc__json_array(j, "rows");
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes)) {
        sc__json_row(j, NULL);
        sc__json_u64(j, "size_bytes", bytes);
        sc__json_double(j, "time_us", way_us(w, bytes));
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
    sc__json_end_object(j);
}

static void put_compared_json(const struct sc_request *req,
                              const struct comparison *c,
                              struct sc__buffer *out) {
    struct sc__json j;
    sc__coll_open_json(req, &c->ways[0].query, "stepcast/coll-compare/1", &j, out);
    sc__json_array(&j, "ways");
    for (uint32_t i = 0; i < c->count; i++)
        put_way(&c->ways[i], &j);
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static sc_status put_compared(struct sc_request *req, const struct comparison *c) {
    struct sc__buffer json;
    struct sc__buffer csv;
    sc__buffer_init(&json, &req->ctx->arena);
    sc__buffer_init(&csv, &req->ctx->arena);
    put_compared_json(req, c, &json);
    put_compared_csv(c, &csv);
    if (sc__option(req, "json"))
        SC__TRY(sc__job_output(req, "json", &json));
    if (sc__option(req, "csv"))
        SC__TRY(sc__job_output(req, "csv", &csv));
    return SC_OK;
}

static bool to_standard_output(const struct sc_request *req, const char *option) {
    const char *path = sc__option(req, option);
    return path && !strcmp(path, "-");
}

static bool simulates_packets(const struct comparison *c) {
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->ways[i].net, "packet"))
            return true;
    return false;
}

static sc_status show_packets(struct sc_request *req, const struct comparison *c) {
    struct sc__coll_shown shown[MOST_WAYS];
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__coll_has_packets(&c->ways[i].query))
            shown[count++] = (struct sc__coll_shown){&c->ways[i].query, c->ways[i].control};
    return sc__coll_write_page(req, shown, count);
}

sc_status sc__coll_compare(struct sc_request *req, const struct sc__coll_query *q) {
    struct comparison *c = SC__NEW(&req->ctx->arena, struct comparison);
    const char *nets = sc__option(req, "net");
    struct sc__str list = sc__str(nets ? nets : "packet");
    struct sc__str part;
    while (sc__split(&list, ',', &part))
        SC__TRY(add_ways(req, c, q, sc__strndup(&req->ctx->arena, part.p, part.n)));
    if (has_comma(req, "cc") && !simulates_packets(c))
        return sc__usage(req, "add packet to --net", "--cc works with --net packet alone");
    sc__job_note_unused(req);
    req->out.for_people =
        !to_standard_output(req, "json") && !to_standard_output(req, "csv");
    if (req->out.for_people) {
        put_compared_table(c, &req->out);
        sc__coll_put_notes(req, &req->out);
    }
    SC__TRY(put_compared(req, c));
    return sc__option(req, "html") ? show_packets(req, c) : SC_OK;
}
