/* ASTRA-sim's analytical network YAML: a mapping of lists, one value a
 * dimension, innermost first.
 *
 *     topology: [ Ring, Switch ]
 *     npus_count: [ 8, 4 ]
 *     bandwidth: [ 300.0, 50.0 ]      per link
 *     latency: [ 500.0, 1000.0 ]      ns
 *
 * ASTRA-sim ignores other keys without a word: here one that looks like a
 * misspelt one is an error, and the rest are named in notes. */
#include "network/astra/astra.h"

#include <string.h>
#include <yaml.h>

enum key { TOPOLOGY, COUNT, BANDWIDTH, LATENCY, KEYS };

static const char *const key_names[KEYS + 1] = {
    "topology", "npus_count", "bandwidth", "latency", NULL};
static const char *const topologies[] = {"Ring", "FullyConnected", "Switch", NULL};

struct astra_network_reader {
    struct sc_context *ctx;
    const char *file;
    yaml_parser_t parser;
    yaml_event_t event;
    struct sc__astra_network *out;
    /* dimensions there may be; values of each key */
    uint32_t most;
    uint32_t given[KEYS];
};

static unsigned astra_network_word_of(const char *s, const char *const *words) {
    unsigned i = 0;
    while (words[i] && strcmp(words[i], s) != 0)
        i++;
    return i;
}

static struct sc__place astra_network_place(const struct astra_network_reader *r,
                                            const yaml_mark_t *mark) {
    return (struct sc__place){.file = r->file,
                              .line = mark->line + 1,
                              .column = mark->column + 1};
}

static sc_status fail(const struct astra_network_reader *r,
                      const char *hint,
                      const char *what,
                      const char *shown) {
    struct sc__place at = astra_network_place(r, &r->event.start_mark);
    return sc__fail(r->ctx, SC_INPUT, &at, hint, shown ? "%s '%.80s'" : "%s", what, shown);
}

static sc_status next_event(struct astra_network_reader *r) {
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event))
        return SC_OK;
    struct sc__place at = astra_network_place(r, &r->parser.problem_mark);
    memset(&r->event, 0, sizeof r->event);
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "not YAML: %s",
                    r->parser.problem ? r->parser.problem : "unreadable");
}

static const char *scalar(const struct astra_network_reader *r) {
    return (const char *)r->event.data.scalar.value;
}

static sc_status take_entry(struct astra_network_reader *r, enum key key) {
    const char *text = scalar(r);
    struct sc__astra_network *out = r->out;
    uint32_t i = r->given[key]++;
    double value = 0;
    if (i >= r->most)
        return fail(r,
                    NULL,
                    sc__format(&r->ctx->arena, "more than %u dimensions", r->most),
                    NULL);
    bool number = sc__parse_double(sc__str(text), &value);
    switch (key) {
    case TOPOLOGY:
        out->topology[i] = (uint8_t)astra_network_word_of(text, topologies);
        return topologies[out->topology[i]]
                   ? SC_OK
                   : fail(r, "Ring, FullyConnected or Switch", "unknown topology", text);
    case COUNT:
        if (!sc__parse_u32(sc__str(text), &out->npus[i]) || !out->npus[i] ||
            out->npus[i] > 1u << 20)
            return fail(r, "a whole number, at most 2^20", "not a number of NPUs:", text);
        return SC_OK;
    case BANDWIDTH:
        out->bandwidth[i] = value;
        return number && value > 0 && value < 1e9
                   ? SC_OK
                   : fail(r, "GiB/s, above 0", "not a bandwidth:", text);
    default:
        out->latency[i] = value;
        return number && value >= 0 && value <= 1e12
                   ? SC_OK
                   : fail(r, "ns, from 0 on", "not a latency:", text);
    }
}

/* The value of a key: a scalar, or a list of them. */
static sc_status take_value(struct astra_network_reader *r, enum key key) {
    SC__TRY(next_event(r));
    if (r->event.type == YAML_SCALAR_EVENT)
        return take_entry(r, key);
    if (r->event.type != YAML_SEQUENCE_START_EVENT)
        return fail(r, NULL, "a list of values is expected here", NULL);
    for (;;) {
        SC__TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            return SC_OK;
        if (r->event.type != YAML_SCALAR_EVENT)
            return fail(r, NULL, "a list holds plain values", NULL);
        SC__TRY(take_entry(r, key));
    }
}

/* The value of a key that does not count, whatever it is. */
static sc_status step_over(struct astra_network_reader *r) {
    unsigned depth = 0;
    do {
        SC__TRY(next_event(r));
        yaml_event_type_t type = r->event.type;
        if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT)
            depth++;
        if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT)
            depth--;
    } while (depth);
    return SC_OK;
}

static sc_status take_member(struct astra_network_reader *r) {
    if (r->event.type != YAML_SCALAR_EVENT)
        return fail(r, NULL, "a key is a word", NULL);
    unsigned key = astra_network_word_of(scalar(r), key_names);
    if (key < KEYS) {
        if (r->given[key])
            return fail(r,
                        NULL,
                        sc__format(&r->ctx->arena, "%s is given twice", key_names[key]),
                        NULL);
        return take_value(r, (enum key)key);
    }
    const char *near = sc__nearest(scalar(r), key_names);
    if (near)
        return fail(r,
                    sc__format(&r->ctx->arena, "did you mean %s?", near),
                    "unknown key",
                    scalar(r));
    sc__note(r->ctx, "astra-key", "%s: '%s' does not count", r->file, scalar(r));
    return step_over(r);
}

static sc_status astra_network_read_document(struct astra_network_reader *r) {
    do
        SC__TRY(next_event(r));
    while (r->event.type == YAML_STREAM_START_EVENT ||
           r->event.type == YAML_DOCUMENT_START_EVENT);
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return fail(r,
                    "topology: [ Ring ], npus_count: [ 8 ], …",
                    "not a network description, which is a mapping",
                    NULL);
    for (;;) {
        SC__TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT)
            break;
        SC__TRY(take_member(r));
    }
    SC__TRY(next_event(r));
    SC__TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT)
        return fail(r, "give one of them", "a second document: a network is one", NULL);
    return SC_OK;
}

static sc_status astra_network_check(const struct astra_network_reader *r) {
    struct sc__place at = {.file = r->file};
    for (unsigned i = 0; i < KEYS; i++)
        if (!r->given[i] || r->given[i] != r->given[TOPOLOGY])
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "every list has one value a dimension",
                            "'%s' has %u values, topology %u",
                            key_names[i],
                            r->given[i],
                            r->given[TOPOLOGY]);
    return SC_OK;
}

sc_status sc__astra_network_read(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 uint32_t most,
                                 struct sc__astra_network *out) {
    struct astra_network_reader r = {.ctx = ctx, .file = file, .out = out, .most = most};
    memset(out, 0, sizeof *out);
    if (!yaml_parser_initialize(&r.parser))
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.p, text.n);
    sc_status status = astra_network_read_document(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    out->dims = r.given[TOPOLOGY];
    return status == SC_OK ? astra_network_check(&r) : status;
}
