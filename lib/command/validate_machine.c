/* validate_machine: the GPUs of a row of published steps and the machines they were in. */
#include "command/validate.h"

#include "hardware/cluster.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static bool is_separator(char c) {
    return c == '-' || c == '_' || c == ' ';
}

/* Does the text begin with the name, whatever separates its parts: "H100 SXM5",
 * "h100_sxm5"? No number goes on: "A10" is not in "A100". */
static bool begins_loosely(const char *text, const char *name) {
    char last = 0;
    for (;;) {
        while (is_separator(*name))
            name++;
        if (!*name)
            return !isdigit((unsigned char)last) || !isdigit((unsigned char)*text);
        while (is_separator(*text))
            text++;
        if (tolower((unsigned char)*text) != tolower((unsigned char)*name))
            return false;
        last = *name++;
        text++;
    }
}

/* A name stands at the beginning of a word, or behind a count: "8xH100", not "GH200". */
static bool is_beginning(const char *text, const char *at) {
    if (at == text || !isalnum((unsigned char)at[-1]))
        return !is_separator(*at);
    return tolower((unsigned char)at[-1]) == 'x' && at - text > 1 &&
           isdigit((unsigned char)at[-2]);
}

static bool holds_loosely(const char *text, const char *name) {
    for (const char *at = text; *at; at++)
        if (is_beginning(text, at) && begins_loosely(at, name))
            return true;
    return false;
}

bool sc__truth_gpu_named(const char *text, const char *name) {
    return holds_loosely(text, name);
}

/* Tables add words to the name of a GPU, before it and behind: the longest name in it
 * counts. */
static const json_t *find_gpu(const json_t *gpus, const char *text) {
    const json_t *best = NULL;
    size_t most = 0;
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)gpus, key, entry) {
        if (strlen(key) <= most || !holds_loosely(text, key))
            continue;
        most = strlen(key);
        best = entry;
    }
    return best;
}

/* The machine of a cloud that the row names, by its GPU, source or notes. */
static const json_t *find_machine(const json_t *machines, const struct sc__truth_row *row) {
    static const enum sc__truth_column columns[] = {SC__TRUTH_GPU,
                                                    SC__TRUTH_SOURCE,
                                                    SC__TRUTH_NOTES};
    size_t i;
    json_t *entry;
    for (unsigned c = 0; c < sizeof columns / sizeof *columns; c++)
        json_array_foreach((json_t *)machines, i, entry) {
            const char *text = json_string_value(json_object_get(entry, "text"));
            if (holds_loosely(row->cell[columns[c]], text))
                return entry;
        }
    return NULL;
}

/* A rack of 72 in jobs of powers of two is used in blocks of 64, as the recipes
 * do; a job that is a rack, or racks, uses all of it. */
static unsigned rack_block(unsigned gpus) {
    if (gpus <= 72 || gpus % 72 == 0)
        return 72;
    for (unsigned block = 64; block > 4; block -= 4)
        if (gpus % block == 0)
            return block;
    return 4;
}

/* Rows give the network's share of a GPU; several GPUs have one NIC in a DGX-1. */
static double gpus_of_nic(struct sc_context *ctx, const char *cluster) {
    struct sc__cluster_description d;
    if (sc__cluster_describe(ctx, cluster, &d) != SC_OK || !d.cluster.node_nics)
        return 1;
    return (double)d.cluster.node_gpus / d.cluster.node_nics;
}

/* What the row says of the machines of a usual cluster; a cloud's are as it builds them. */
static void add_words(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      struct sc__truth_plan *p) {
    uint64_t gpus = 0;
    uint64_t node = 0;
    const char *nic = row->cell[SC__TRUTH_NIC];
    const char *nvlink = row->cell[SC__TRUTH_NVLINK];
    bool switched = sc__str_starts(sc__str(p->cluster), "dgx-") ||
                    sc__str_starts(sc__str(p->cluster), "hgx-");
    sc__parse_u64(sc__str(row->cell[SC__TRUTH_GPUS]), &gpus);
    sc__parse_u64(sc__str(row->cell[SC__TRUTH_NODE]), &node);
    if (switched && node && node != 8 && gpus > node)
        p->cluster = sc__format(&ctx->arena,
                                "%s node=%u nics=%u",
                                p->cluster,
                                (unsigned)node,
                                (unsigned)node);
    if (switched && *nvlink)
        p->cluster = sc__format(&ctx->arena, "%s nvlink=%sGB/s", p->cluster, nvlink);
    double rate = 0;
    if (*nic && !sc__parse_double(sc__str(nic), &rate))
        p->skip = sc__format(&ctx->arena, "nic_gbps_per_gpu: '%.40s' is no number", nic);
    if (rate > 0)
        p->cluster = sc__format(&ctx->arena,
                                "%s nic=%gGbps",
                                p->cluster,
                                rate * gpus_of_nic(ctx, p->cluster));
}

/* Where the machines that a GPU comes in have other links than the one that stands for
 * them, and the row says nothing of them. */
static void add_usual(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      const json_t *entry,
                      struct sc__truth_plan *p) {
    static const struct {
        const char *key;
        enum sc__truth_column cell;
    } links[] = {{"nvlink", SC__TRUTH_NVLINK}, {"nic", SC__TRUTH_NIC}};
    for (unsigned i = 0; i < sizeof links / sizeof *links; i++) {
        const char *rate = json_string_value(json_object_get(entry, links[i].key));
        if (rate && !*row->cell[links[i].cell])
            p->cluster =
                sc__format(&ctx->arena, "%s %s=%s", p->cluster, links[i].key, rate);
    }
}

void sc__truth_machine(struct sc_context *ctx,
                       const struct sc__truth_row *row,
                       const json_t *root,
                       struct sc__truth_plan *p) {
    const json_t *machine = find_machine(json_object_get(root, "machines"), row);
    const json_t *entry = find_gpu(json_object_get(root, "gpus"), row->cell[SC__TRUTH_GPU]);
    if (!entry)
        entry = machine;
    const char *gpu = json_string_value(json_object_get(entry, "gpu"));
    const char *cluster = json_string_value(json_object_get(entry, "cluster"));
    const char *its = json_string_value(json_object_get(machine, "gpu"));
    int gpus = atoi(row->cell[SC__TRUTH_GPUS]);
    if (!gpu || !cluster) {
        p->skip = sc__format(&ctx->arena,
                             "the GPU \"%s\" is not described",
                             row->cell[SC__TRUTH_GPU]);
        return;
    }
    /* a machine with other GPUs is spoken of, not used */
    bool cloud = its && !strncmp(its, gpu, 4);
    if (cloud) {
        gpu = its;
        cluster = json_string_value(json_object_get(machine, "cluster"));
    }
    sc__truth_set(ctx, p, "gpu", gpu);
    p->cluster = sc__format(&ctx->arena, "%s:%d", cluster, gpus);
    if (strstr(gpu, "gb"))
        p->cluster =
            sc__format(&ctx->arena, "%s node=%u", p->cluster, rack_block((unsigned)gpus));
    if (p->cluster_words)
        p->cluster = sc__format(&ctx->arena, "%s %s", p->cluster, p->cluster_words);
    else if (!cloud) {
        add_usual(ctx, row, entry, p);
        add_words(ctx, row, p);
    }
}
