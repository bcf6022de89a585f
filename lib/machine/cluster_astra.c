/* cluster_astra: ASTRA-sim's analytical network YAML.
 *
 *     topology: [ Ring, Switch ]      dimension 0 innermost
 *     npus_count: [ 8, 4 ]
 *     bandwidth: [ 300.0, 50.0 ]      GiB/s per link
 *     latency: [ 500.0, 1000.0 ]      ns
 *
 * It becomes a fabric of dimensions without software cost (class plain), so
 * that its closed forms hold. */
#include "machine/cluster_fields.h"

#include <math.h>
#include <string.h>
#include <yaml.h>

enum key { TOPOLOGY, COUNT, BANDWIDTH, LATENCY, KEYS };

static const char *const key_names[KEYS + 1] = {"topology", "npus_count", "bandwidth", "latency", NULL};

struct reader {
    struct sc_context *ctx;
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event;
    struct sc__fabric *fabric;
    uint32_t given[KEYS]; /* values of each key */
};

static struct sc__place place(const struct reader *r) {
    return (struct sc__place){
        .file = r->file, .line = r->event.start_mark.line + 1, .column = r->event.start_mark.column + 1};
}

static sc_status next_event(struct reader *r) {
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return SC_OK;
    struct sc__place at = {
        .file = r->file, .line = r->parser.problem_mark.line + 1, .column = r->parser.problem_mark.column + 1};
    memset(&r->event, 0, sizeof r->event);
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", r->parser.problem ? r->parser.problem : "not YAML");
}

static struct sc__str scalar(const struct reader *r) {
    return (struct sc__str){(const char *)r->event.data.scalar.value, r->event.data.scalar.length};
}

static bool take_kind(struct sc__str text, struct sc__fabric_dim *d) {
    static const char *const names[] = {"Ring", "FullyConnected", "Switch"};
    for (unsigned i = 0; i < 3; i++)
        if (sc__str_is(text, names[i])) {
            d->kind = (enum sc__dim_kind)i;
            return true;
        }
    return false;
}

static bool take_latency(struct sc__str text, int64_t *ps) {
    double ns;
    if (!sc__parse_double(text, &ns) || ns < 0 || ns > 1e12) return false;
    *ps = (int64_t)llround(ns * 1e3);
    return true;
}

static sc_status take_value(struct reader *r, enum key key) {
    static const char *const expected[KEYS] = {"Ring, FullyConnected or Switch", "a number of NPUs", "GiB/s above 0",
                                               "ns"};
    uint32_t i = r->given[key]++;
    struct sc__place at = place(r);
    if (i >= SC__FABRIC_DIMS_MAX)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "more than %d dimensions", SC__FABRIC_DIMS_MAX);
    struct sc__fabric_dim *d = &r->fabric->dim[i];
    struct sc__str text = scalar(r);
    bool good = false;
    switch (key) {
    case TOPOLOGY: good = take_kind(text, d); break;
    case COUNT: good = sc__parse_u32(text, &d->size) && d->size && d->size <= 1u << 20; break;
    case BANDWIDTH:
        good = sc__parse_double(text, &d->rate) && d->rate > 0 && d->rate < 1e9;
        d->rate *= 0x1p30;
        break;
    default: good = take_latency(text, &d->latency); break;
    }
    return good ? SC_OK
                : sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s takes %s, not '%.*s'", key_names[key], expected[key],
                           SC__SHOW(text));
}

static sc_status take_list(struct reader *r, enum key key) {
    struct sc__place at = place(r);
    if (r->event.type == YAML_SCALAR_EVENT) return take_value(r, key);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s takes a list", key_names[key]);
    for (;;) {
        SC__TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT) return SC_OK;
        at = place(r);
        if (r->event.type != YAML_SCALAR_EVENT)
            return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s takes a list of plain values", key_names[key]);
        SC__TRY(take_value(r, key));
    }
}

static sc_status take_key(struct reader *r, enum key *key) {
    struct sc__place at = place(r);
    if (r->event.type != YAML_SCALAR_EVENT) return sc__fail(r->ctx, SC_INPUT, &at, NULL, "a key is a word");
    char *name = sc__strndup(&r->ctx->arena, scalar(r).p, scalar(r).n);
    for (unsigned i = 0; i < KEYS; i++)
        if (!strcmp(name, key_names[i])) {
            *key = (enum key)i;
            if (!r->given[i]) return SC_OK;
            return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s is given twice", name);
        }
    const char *near = sc__nearest(name, key_names);
    return sc__fail(r->ctx, SC_INPUT, &at, near ? sc__format(&r->ctx->arena, "did you mean %s?", near) : NULL,
                    "unknown key '%s'", name);
}

static sc_status read_document(struct reader *r) {
    enum key key = TOPOLOGY;
    do SC__TRY(next_event(r));
    while (r->event.type == YAML_STREAM_START_EVENT || r->event.type == YAML_DOCUMENT_START_EVENT);
    struct sc__place at = place(r);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return sc__fail(r->ctx, SC_INPUT, &at, NULL,
                        "a network file is a mapping of topology, npus_count, bandwidth, latency");
    for (;;) {
        SC__TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) return SC_OK;
        SC__TRY(take_key(r, &key));
        SC__TRY(next_event(r));
        SC__TRY(take_list(r, key));
    }
}

static sc_status check(struct reader *r) {
    struct sc__place at = {.file = r->file};
    for (unsigned i = 0; i < KEYS; i++)
        if (!r->given[i] || r->given[i] != r->given[TOPOLOGY])
            return sc__fail(r->ctx, SC_INPUT, &at, "every list has one value a dimension",
                            "%s has %u values, topology %u", key_names[i], r->given[i], r->given[TOPOLOGY]);
    return SC_OK;
}

sc_status sc__cluster_astra(struct sc_context *ctx, const char *file, struct sc__str text, struct sc__cluster *out) {
    struct reader r = {.ctx = ctx, .file = file, .fabric = &out->fabric};
    memset(out, 0, sizeof *out);
    if (!yaml_parser_initialize(&r.parser)) return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
    sc_status status = read_document(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    SC__TRY(status);
    SC__TRY(check(&r));
    out->name = file;
    out->source = "ASTRA-sim network file";
    out->node_gpus = 1;
    out->fabric.kind = SC__FABRIC_DIMS;
    out->fabric.dims = r.given[TOPOLOGY];
    out->fabric.class = "plain";
    return SC_OK;
}
