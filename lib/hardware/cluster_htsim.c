/* cluster_htsim: fat trees of htsim (.topo) as explicit links.
 *
 *     Nodes 8
 *     Tiers 3
 *     Podsize 4
 *     Tier 0                    0: links of hosts to leaves; 1: leaves to spines; …
 *     Downlink_speed_Gbps 200
 *     Downlink_Latency_ns 1000
 *     Radix_Down 2
 *     Radix_Up 2
 *     Bundle 1                  cables between two switches
 *
 * A leaf has a bundle of cables to each spine of its pod; the cores of a three-level tree
 * are shared out among the spines of a pod, and each has a bundle to its spine of every
 * pod. */
#include "hardware/cluster_fields.h"

#include <string.h>

#define HTSIM_TIERS 3
#define HTSIM_MOST (1u << 20) /* nodes, and cables of a tier */

struct htsim_tier {
    double rate; /* bytes/s */
    int64_t latency;
    uint32_t down;
    uint32_t up;
    uint32_t bundle;
};

struct htsim_reader {
    struct sc_context *ctx;
    const char *file;
    uint64_t line;
    uint32_t nodes;
    uint32_t tiers;
    uint32_t pod;
    uint32_t current; /* tier that is being described */
    struct htsim_tier tier[HTSIM_TIERS];
};

static sc_status htsim_fail(const struct htsim_reader *r, uint64_t line, const char *what) {
    struct sc__place at = {.file = r->file, .line = line, .column = line ? 1 : 0};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", what);
}

static sc_status htsim_number(const struct htsim_reader *r,
                              struct sc__str word,
                              uint32_t least,
                              uint32_t *out) {
    if (sc__parse_u32(word, out) && *out >= least && *out <= HTSIM_MOST)
        return SC_OK;
    return htsim_fail(r,
                      r->line,
                      sc__format(&r->ctx->arena,
                                 "'%.*s' is not a whole number from %u to %u",
                                 SC__SHOW(word),
                                 least,
                                 HTSIM_MOST));
}

static sc_status
read_tier_key(struct htsim_reader *r, struct sc__str key, struct sc__str value) {
    struct htsim_tier *t = &r->tier[r->current];
    uint32_t number;
    if (sc__str_is_any_case(key, "Radix_Down"))
        return htsim_number(r, value, 1, &t->down);
    if (sc__str_is_any_case(key, "Radix_Up"))
        return htsim_number(r, value, 1, &t->up);
    if (sc__str_is_any_case(key, "Bundle"))
        return htsim_number(r, value, 1, &t->bundle);
    if (sc__str_is_any_case(key, "Downlink_speed_Gbps")) {
        SC__TRY(htsim_number(r, value, 1, &number));
        t->rate = number * 1e9 / 8;
        return SC_OK;
    }
    if (sc__str_is_any_case(key, "Downlink_Latency_ns")) {
        SC__TRY(htsim_number(r, value, 0, &number));
        t->latency = (int64_t)number * 1000;
        return SC_OK;
    }
    static const char *const quiet[] = {"Queue_Up",
                                        "Queue_Down",
                                        "Switch_Latency_ns",
                                        "Oversubscribed",
                                        NULL};
    for (const char *const *q = quiet; *q; q++)
        if (sc__str_is_any_case(key, *q)) {
            sc__note(r->ctx,
                     "htsim-key",
                     "%s: %s is not modelled: it counts for nothing",
                     r->file,
                     *q);
            return SC_OK;
        }
    return htsim_fail(r,
                      r->line,
                      sc__format(&r->ctx->arena, "unknown key '%.*s'", SC__SHOW(key)));
}

static sc_status read_htsim_line(struct htsim_reader *r, struct sc__str line) {
    struct sc__str value = line;
    struct sc__str key;
    sc__split(&value, ' ', &key);
    value = sc__trim(value);
    if (sc__str_is_any_case(key, "Nodes"))
        return htsim_number(r, value, 1, &r->nodes);
    if (sc__str_is_any_case(key, "Podsize"))
        return htsim_number(r, value, 1, &r->pod);
    if (sc__str_is_any_case(key, "Tiers")) {
        SC__TRY(htsim_number(r, value, 2, &r->tiers));
        return r->tiers > HTSIM_TIERS
                   ? htsim_fail(r, r->line, "trees of two or three tiers are read")
                   : SC_OK;
    }
    if (sc__str_is_any_case(key, "Tier")) {
        SC__TRY(htsim_number(r, value, 0, &r->current));
        return r->current >= r->tiers
                   ? htsim_fail(r, r->line, "a tier that 'Tiers' does not count")
                   : SC_OK;
    }
    return read_tier_key(r, key, value);
}

static sc_status check_tree(const struct htsim_reader *r) {
    const struct htsim_tier *t = r->tier;
    if (!r->nodes || !r->tiers)
        return htsim_fail(r, 0, "Nodes or Tiers is missing");
    for (uint32_t i = 0; i < r->tiers; i++)
        if (t[i].rate <= 0 || !t[i].down || (i + 1 < r->tiers && !t[i].up))
            return htsim_fail(r,
                              0,
                              sc__format(&r->ctx->arena,
                                         "tier %u has no Downlink_speed_Gbps, Radix_Down "
                                         "or Radix_Up",
                                         i));
    uint32_t pod = r->tiers == 2 ? r->nodes : r->pod;
    if (!pod || r->nodes % pod || pod % t[0].down)
        return htsim_fail(r, 0, "the nodes do not divide into pods and leaves");
    if (t[0].up % t[1].bundle || (uint64_t)pod / t[0].down * t[1].bundle != t[1].down)
        return htsim_fail(r, 0, "the cables up from tier 0 do not meet those down from 1");
    if (r->tiers == 3 &&
        (t[1].up % t[2].bundle || (uint64_t)r->nodes / pod * t[2].bundle != t[2].down))
        return htsim_fail(r, 0, "the cables up from tier 1 do not meet those down from 2");
    return SC_OK;
}

static void add_bundle(const struct htsim_reader *r,
                       struct sc__cluster *c,
                       uint32_t tier,
                       uint32_t low,
                       uint32_t high) {
    const struct htsim_tier *t = &r->tier[tier];
    struct sc__fabric *f = &c->fabric;
    for (uint32_t i = 0; i < (tier ? t->bundle : 1); i++)
        *SC__PUSH(&r->ctx->arena, f->links, f->link_count, f->link_capacity) =
            (struct sc__fabric_link){.a = low,
                                     .b = high,
                                     .rate = t->rate,
                                     .latency = t->latency};
}

static sc_status build_tree(const struct htsim_reader *r, struct sc__cluster *c) {
    const struct htsim_tier *t = r->tier;
    uint32_t leaves = r->nodes / t[0].down;
    uint32_t pod_nodes = r->tiers == 2 ? r->nodes : r->pod;
    uint32_t pods = r->nodes / pod_nodes;
    uint32_t pod_leaves = leaves / pods;
    uint32_t pod_spines = t[0].up / t[1].bundle;
    uint32_t spine_cores = r->tiers == 3 ? t[1].up / t[2].bundle : 0;
    uint64_t cables = (uint64_t)leaves * t[0].up +
                      (uint64_t)pods * pod_spines * spine_cores * t[2].bundle;
    if (cables > HTSIM_MOST)
        return htsim_fail(r, 0, "more cables than are read");
    uint32_t first_leaf = r->nodes;
    uint32_t first_spine = first_leaf + leaves;
    uint32_t first_core = first_spine + pods * pod_spines;
    for (uint32_t n = 0; n < r->nodes; n++)
        add_bundle(r, c, 0, n, first_leaf + n / t[0].down);
    for (uint32_t leaf = 0; leaf < leaves; leaf++)
        for (uint32_t s = 0; s < pod_spines; s++)
            add_bundle(r,
                       c,
                       1,
                       first_leaf + leaf,
                       first_spine + leaf / pod_leaves * pod_spines + s);
    for (uint32_t spine = 0; spine < pods * pod_spines; spine++)
        for (uint32_t k = 0; k < spine_cores; k++)
            add_bundle(r,
                       c,
                       2,
                       first_spine + spine,
                       first_core + spine % pod_spines * spine_cores + k);
    c->fabric.switches = leaves + pods * pod_spines + pod_spines * spine_cores;
    c->fabric.leaf_nodes = t[0].down;
    double down = t[0].down * t[0].rate;
    double up = t[0].up * t[1].rate;
    c->fabric.oversubscription = down > up ? down / up : 1;
    return SC_OK;
}

sc_status sc__cluster_htsim(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out) {
    struct htsim_reader r = {.ctx = ctx, .file = file};
    struct sc__str line;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < HTSIM_TIERS; i++)
        r.tier[i].bundle = 1;
    while (sc__split(&text, '\n', &line)) {
        r.line++;
        line = sc__trim(line);
        if (line.n && line.p[0] != '#')
            SC__TRY(read_htsim_line(&r, line));
    }
    SC__TRY(check_tree(&r));
    out->name = file;
    out->source = "topology file of htsim";
    out->gpus = r.nodes;
    out->node_gpus = 1;
    out->node_nics = 1;
    out->nic = r.tier[0].rate;
    out->fabric.kind = SC__FABRIC_LINKS;
    out->fabric.planes = 1;
    out->fabric.hop_latency = r.tier[0].latency;
    SC__TRY(build_tree(&r, out));
    sc__note(ctx,
             "htsim-hosts",
             "%s: a GPU a host, each with a NIC of its own; the kind of GPU is not said "
             "(--gpu)",
             file);
    return SC_OK;
}
