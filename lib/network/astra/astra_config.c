/* ASTRA-sim's system file, and both files together. It ignores what it does
 * not know without a word; here every key that does not count is named. */
#include "network/astra/astra.h"

#include <jansson.h>
#include <string.h>

static const char *const algorithms[] = {
    "ring", "direct", "halvingDoubling", "doubleBinaryTree", NULL};
static const char *const implementations[SC__ASTRA_COLLS] = {
    "all-reduce-implementation",
    "all-gather-implementation",
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

static unsigned astra_config_word_of(const char *s, const char *const *words) {
    unsigned i = 0;
    while (words[i] && strcmp(words[i], s) != 0)
        i++;
    return i;
}

static sc_status
read_network(struct sc_context *ctx, const char *path, struct sc__astra_network *out) {
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, (size_t)1 << 20, &text));
    return sc__astra_network_read(ctx, path, text, SC__ASTRA_DIMS, out);
}

/* ---- system JSON ---- */

static sc_status take_algorithm(struct sc_context *ctx,
                                const struct sc__place *at,
                                struct sc__astra *a,
                                unsigned kind,
                                const json_t *list) {
    for (uint32_t d = 0; d < a->net.dims; d++) {
        const char *word = json_string_value(json_array_get(list, d));
        if (!word && json_is_string(list))
            word = json_string_value(list);
        if (!word)
            return sc__fail(ctx,
                            SC_INPUT,
                            at,
                            "one algorithm a dimension: [\"ring\", \"direct\"]",
                            "'%s' has no algorithm for dimension %u",
                            implementations[kind],
                            d);
        const char *plain = !strncmp(word, "one", 3) && word[3]
                                ? word + 3
                                : word; /* oneRing, oneDirect: a single chunk */
        unsigned alg = 0;
        while (algorithms[alg] && !sc__str_is_any_case(sc__str(plain), algorithms[alg]))
            alg++;
        if (!algorithms[alg])
            return sc__fail(
                ctx,
                SC_INPUT,
                at,
                "ring, direct, halvingDoubling or doubleBinaryTree, or one… of them",
                "'%s': unknown algorithm '%s'",
                implementations[kind],
                word);
        a->algorithm[kind][d] = (uint8_t)alg;
    }
    return SC_OK;
}

static void
name_keys(struct sc_context *ctx, const char *path, json_t *root, bool counts_splits) {
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (system_keys[astra_config_word_of(key, system_keys)])
            continue;
        const char *near = sc__nearest(key, system_keys);
        sc__note(ctx,
                 "astra-key",
                 "%s: '%s' does not count%s%s%s",
                 path,
                 key,
                 near ? " (did you mean '" : "",
                 near ? near : "",
                 near ? "'?)" : "");
    }
    double splits = json_number_value(json_object_get(root, "preferred-dataset-splits"));
    if (splits > 1 && !counts_splits)
        sc__note(ctx,
                 "astra-splits",
                 "%s: collectives are counted whole, not in %g splits",
                 path,
                 splits);
}

static sc_status
take_system(struct sc_context *ctx, const char *path, json_t *root, struct sc__astra *a) {
    struct sc__place at = {.file = path};
    if (!json_is_object(root))
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not a system description");
    for (unsigned k = 0; k < SC__ASTRA_COLLS; k++) {
        const json_t *list = json_object_get(root, implementations[k]);
        if (list)
            SC__TRY(take_algorithm(ctx, &at, a, k, list));
    }
    a->endpoint_delay = json_number_value(json_object_get(root, "endpoint-delay"));
    a->local_mem_bw = json_number_value(json_object_get(root, "local-mem-bw"));
    const char *optimization =
        json_string_value(json_object_get(root, "collective-optimization"));
    a->local_bw_aware = optimization && !strcmp(optimization, "localBWAware");
    double splits = json_number_value(json_object_get(root, "preferred-dataset-splits"));
    double active = json_number_value(json_object_get(root, "active-chunks-per-dimension"));
    /* the physical count takes a collective whole */
    bool counts_splits =
        a->compat && splits > 1 && splits <= 1 << 20 && active == 1 && a->net.dims == 1;
    a->splits = counts_splits ? (uint32_t)splits : 1;
    name_keys(ctx, path, root, counts_splits);
    return SC_OK;
}

static sc_status
read_system(struct sc_context *ctx, const char *path, struct sc__astra *out) {
    struct sc__str text;
    json_error_t e;
    SC__TRY(sc__read_all(ctx, path, (size_t)1 << 20, &text));
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);
    struct sc__place at = {.file = path,
                           .line = (uint64_t)e.line,
                           .column = (uint64_t)e.column};
    if (!root)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "not JSON: %s", e.text);
    sc_status status = take_system(ctx, path, root, out);
    json_decref(root);
    return status;
}

/* Why the default is not ASTRA-sim's figure. */
static void say_differences(struct sc_context *ctx, const struct sc__astra *a) {
    sc__note(ctx,
             "astra-bandwidth",
             "bandwidth is read as GB/s; ASTRA-sim multiplies by 2^30 and gets links %.1f "
             "%% faster",
             (0x1p30 / 1e9 - 1) * 100);
    sc__note(ctx,
             "astra-floor",
             "steps keep their fractions of a nanosecond; ASTRA-sim cuts each of them off");
    if (a->local_mem_bw > 0)
        sc__note(
            ctx,
            "astra-local-mem",
            "a reduction is part of the transfer; ASTRA-sim adds three passes over local "
            "memory to every step of it");
    if (a->endpoint_delay > 0)
        sc__note(ctx,
                 "astra-endpoint",
                 "latency is that of the links; ASTRA-sim adds endpoint-delay (%g ns) for "
                 "each message",
                 a->endpoint_delay);
}

sc_status sc__astra_read(struct sc_context *ctx,
                         const char *network,
                         const char *system,
                         bool compat,
                         struct sc__astra *out) {
    memset(out, 0, sizeof *out);
    out->compat = compat;
    SC__TRY(read_network(ctx, network, &out->net));
    if (system)
        SC__TRY(read_system(ctx, system, out));
    else
        sc__note(ctx,
                 "astra-no-system",
                 "no --astra-system given: ring algorithms in every dimension");
    if (!compat)
        say_differences(ctx, out);
    return SC_OK;
}
