/* ASTRA-sim's files. It ignores what it does not know without a word; here
 * every key that does not count is named. */
#include "machine/astra.h"

#include <jansson.h>
#include <string.h>
#include <yaml.h>

static const char *const topologies[] = {"Ring", "FullyConnected", "Switch", NULL};
static const char *const network_keys[] = {"topology", "npus_count", "bandwidth", "latency", NULL};
static const char *const algorithms[] = {"ring", "direct", "halvingDoubling", "doubleBinaryTree", NULL};
static const char *const implementations[SC__ASTRA_COLLS] = {"all-reduce-implementation", "all-gather-implementation",
                                                             "reduce-scatter-implementation",
                                                             "all-to-all-implementation"};
/* Keys of the system file that count here or elsewhere. */
static const char *const system_keys[] = {"all-reduce-implementation",
                                          "all-gather-implementation",
                                          "reduce-scatter-implementation",
                                          "all-to-all-implementation",
                                          "preferred-dataset-splits",
                                          "active-chunks-per-dimension",
                                          "scheduling-policy",
                                          "collective-optimization",
                                          "endpoint-delay",
                                          "local-mem-bw",
                                          "peak-perf",
                                          "roofline-enabled",
                                          NULL};

static unsigned word_of(const char *s, const char *const *words) {
    unsigned i = 0;
    while (words[i] && strcmp(words[i], s) != 0) i++;
    return i;
}

/* ---- network YAML: a mapping of lists ---- */

struct network {
    struct sc_context *ctx;
    const char *file;
    yaml_parser_t parser;
    struct sc__astra *out;
    uint32_t count[4]; /* entries seen, by key */
};

static sc_status yaml_fail(struct network *n, const yaml_mark_t *mark, const char *hint, const char *what,
                           const char *shown) {
    struct sc__place at = {.file = n->file, .line = mark->line + 1, .column = mark->column + 1};
    return sc__fail(n->ctx, SC_INPUT, &at, hint, "%s%s%s%s", what, shown ? " '" : "", shown ? shown : "",
                    shown ? "'" : "");
}

static sc_status next_event(struct network *n, yaml_event_t *e) {
    if (yaml_parser_parse(&n->parser, e)) return SC_OK;
    return yaml_fail(n, &n->parser.problem_mark, NULL, "not YAML:", n->parser.problem);
}

static sc_status take_entry(struct network *n, unsigned key, const yaml_event_t *e) {
    const char *text = (const char *)e->data.scalar.value;
    uint32_t i = n->count[key]++;
    double value = 0;
    if (i == SC__ASTRA_DIMS) return yaml_fail(n, &e->start_mark, NULL, "more than 8 dimensions", NULL);
    if (key == 0) {
        unsigned t = word_of(text, topologies);
        if (!topologies[t])
            return yaml_fail(n, &e->start_mark, "Ring, FullyConnected or Switch", "unknown topology", text);
        n->out->topology[i] = (uint8_t)t;
        return SC_OK;
    }
    if (!sc__parse_double(sc__str(text), &value) || value < 0 || (key < 3 && value <= 0))
        return yaml_fail(n, &e->start_mark, NULL, "not a valid number:", text);
    if (key == 1) {
        if (value > 1 << 24 || value != floor(value))
            return yaml_fail(n, &e->start_mark, NULL, "not a number of NPUs:", text);
        n->out->npus[i] = (uint32_t)value;
    } else if (key == 2)
        n->out->bandwidth[i] = value;
    else
        n->out->latency[i] = value;
    return SC_OK;
}

/* The value of a key: a scalar, or a list of them. key 4: not ours. */
static sc_status take_value(struct network *n, unsigned key) {
    unsigned depth = 0;
    do {
        yaml_event_t e;
        SC__TRY(next_event(n, &e));
        sc_status status = SC_OK;
        if (e.type == YAML_SCALAR_EVENT && key < 4)
            status = take_entry(n, key, &e);
        else if (e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_MAPPING_START_EVENT)
            depth++;
        else if (e.type == YAML_SEQUENCE_END_EVENT || e.type == YAML_MAPPING_END_EVENT)
            depth--;
        else if (e.type != YAML_SCALAR_EVENT)
            status = yaml_fail(n, &e.start_mark, NULL, "not a plain list", NULL);
        yaml_event_delete(&e);
        SC__TRY(status);
    } while (depth);
    return SC_OK;
}

static sc_status take_mapping(struct network *n) {
    for (;;) {
        yaml_event_t e;
        SC__TRY(next_event(n, &e));
        bool end = e.type == YAML_MAPPING_END_EVENT;
        unsigned key = 4;
        sc_status status = SC_OK;
        if (e.type == YAML_SCALAR_EVENT) {
            const char *text = (const char *)e.data.scalar.value;
            key = word_of(text, network_keys);
            const char *near = key == 4 ? sc__nearest(text, network_keys) : NULL;
            if (key == 4)
                sc__note(n->ctx, "astra-key", "%s: '%s' does not count%s%s%s", n->file, text,
                         near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
            else if (n->count[key])
                status = yaml_fail(n, &e.start_mark, NULL, "a second", text);
        } else if (!end)
            status = yaml_fail(n, &e.start_mark, NULL, "a key is expected here", NULL);
        yaml_event_delete(&e);
        SC__TRY(status);
        if (end) return SC_OK;
        SC__TRY(take_value(n, key));
    }
}

static sc_status take_document(struct network *n) {
    for (;;) {
        yaml_event_t e;
        SC__TRY(next_event(n, &e));
        yaml_event_type_t type = e.type;
        yaml_mark_t mark = e.start_mark;
        yaml_event_delete(&e);
        if (type == YAML_MAPPING_START_EVENT) return take_mapping(n);
        if (type != YAML_STREAM_START_EVENT && type != YAML_DOCUMENT_START_EVENT)
            return yaml_fail(n, &mark, "topology: [ Ring ], npus_count: [ 8 ], …", "not a network description", NULL);
    }
}

static sc_status check_network(struct network *n) {
    struct sc__place at = {.file = n->file};
    n->out->dims = n->count[0];
    for (unsigned k = 0; k < 4; k++)
        if (!n->count[k] || n->count[k] != n->count[0])
            return sc__fail(n->ctx, SC_INPUT, &at,
                            "topology, npus_count, bandwidth and latency have one entry a dimension",
                            "'%s' has %u entries, topology %u", network_keys[k], n->count[k], n->count[0]);
    return SC_OK;
}

static sc_status read_network(struct sc_context *ctx, const char *path, struct sc__astra *out) {
    struct sc__str text;
    struct network n = {.ctx = ctx, .file = path, .out = out};
    SC__TRY(sc__read_all(ctx, path, (size_t)1 << 20, &text));
    if (!yaml_parser_initialize(&n.parser)) return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    yaml_parser_set_input_string(&n.parser, (const unsigned char *)text.p, text.n);
    sc_status status = take_document(&n);
    yaml_parser_delete(&n.parser);
    return status == SC_OK ? check_network(&n) : status;
}

/* ---- system JSON ---- */

static sc_status take_algorithm(struct sc_context *ctx, const struct sc__place *at, struct sc__astra *a, unsigned kind,
                                const json_t *list) {
    for (uint32_t d = 0; d < a->dims; d++) {
        const char *word = json_string_value(json_array_get(list, d));
        if (!word && json_is_string(list)) word = json_string_value(list);
        if (!word)
            return sc__fail(ctx, SC_INPUT, at, "one algorithm a dimension: [\"ring\", \"direct\"]",
                            "'%s' has no algorithm for dimension %u", implementations[kind], d);
        const char *plain =
            !strncmp(word, "one", 3) && word[3] ? word + 3 : word; /* oneRing, oneDirect: a single chunk */
        unsigned alg = 0;
        while (algorithms[alg] && strcasecmp(algorithms[alg], plain) != 0) alg++;
        if (!algorithms[alg])
            return sc__fail(ctx, SC_INPUT, at, "ring, direct, halvingDoubling or doubleBinaryTree, or one… of them",
                            "'%s': unknown algorithm '%s'", implementations[kind], word);
        a->algorithm[kind][d] = (uint8_t)alg;
    }
    return SC_OK;
}

static void name_keys(struct sc_context *ctx, const char *path, json_t *root) {
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (system_keys[word_of(key, system_keys)]) continue;
        const char *near = sc__nearest(key, system_keys);
        sc__note(ctx, "astra-key", "%s: '%s' does not count%s%s%s", path, key, near ? " (did you mean '" : "",
                 near ? near : "", near ? "'?)" : "");
    }
    double splits = json_number_value(json_object_get(root, "preferred-dataset-splits"));
    if (splits > 1) sc__note(ctx, "astra-splits", "%s: collectives are counted whole, not in %g splits", path, splits);
}

static sc_status take_system(struct sc_context *ctx, const char *path, json_t *root, struct sc__astra *a) {
    struct sc__place at = {.file = path};
    if (!json_is_object(root)) return sc__fail(ctx, SC_INPUT, &at, NULL, "not a system description");
    for (unsigned k = 0; k < SC__ASTRA_COLLS; k++) {
        const json_t *list = json_object_get(root, implementations[k]);
        if (list) SC__TRY(take_algorithm(ctx, &at, a, k, list));
    }
    a->endpoint_delay = json_number_value(json_object_get(root, "endpoint-delay"));
    a->local_mem_bw = json_number_value(json_object_get(root, "local-mem-bw"));
    const char *optimization = json_string_value(json_object_get(root, "collective-optimization"));
    a->local_bw_aware = optimization && !strcmp(optimization, "localBWAware");
    name_keys(ctx, path, root);
    return SC_OK;
}

static sc_status read_system(struct sc_context *ctx, const char *path, struct sc__astra *out) {
    struct sc__str text;
    json_error_t e;
    SC__TRY(sc__read_all(ctx, path, (size_t)1 << 20, &text));
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);
    struct sc__place at = {.file = path, .line = (uint64_t)e.line, .column = (uint64_t)e.column};
    if (!root) return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", e.text);
    sc_status status = take_system(ctx, path, root, out);
    json_decref(root);
    return status;
}

/* Why the default is not ASTRA-sim's figure. */
static void say_differences(struct sc_context *ctx, const struct sc__astra *a) {
    sc__note(ctx, "astra-bandwidth",
             "bandwidth is read as GB/s; ASTRA-sim multiplies by 2^30 and gets links %.1f %% faster",
             (0x1p30 / 1e9 - 1) * 100);
    sc__note(ctx, "astra-floor", "steps keep their fractions of a nanosecond; ASTRA-sim cuts each of them off");
    if (a->local_mem_bw > 0)
        sc__note(
            ctx, "astra-local-mem",
            "a reduction is part of the transfer; ASTRA-sim adds three passes over local memory to every step of it");
    if (a->endpoint_delay > 0)
        sc__note(ctx, "astra-endpoint",
                 "latency is that of the links; ASTRA-sim adds endpoint-delay (%g ns) for each message",
                 a->endpoint_delay);
}

sc_status sc__astra_read(struct sc_context *ctx, const char *network, const char *system, bool compat,
                         struct sc__astra *out) {
    memset(out, 0, sizeof *out);
    out->compat = compat;
    SC__TRY(read_network(ctx, network, out));
    if (system)
        SC__TRY(read_system(ctx, system, out));
    else
        sc__note(ctx, "astra-no-system", "no --astra-system given: ring algorithms in every dimension");
    if (!compat) say_differences(ctx, out);
    return SC_OK;
}
