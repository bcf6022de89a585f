#include "frontend/simai/simai_analytical.h"

#include <string.h>

sc_status sc__simai_parse(struct sc_context *ctx, const char *text, struct sc__simai *out) {
    struct sc__str rest = sc__str(text ? text : "");
    struct sc__str part;
    out->nv = 360;
    out->nic = 48.5;
    out->nps = out->gps = 8;
    while (text && *text && sc__split(&rest, ',', &part)) {
        struct sc__str key;
        struct sc__str value = part;
        bool ok = sc__split(&value, '=', &key) && value.p;
        if (ok && sc__str_is(key, "nv"))
            ok = sc__parse_double(value, &out->nv) && out->nv > 0;
        else if (ok && sc__str_is(key, "nic"))
            ok = sc__parse_double(value, &out->nic) && out->nic > 0;
        else if (ok && sc__str_is(key, "nics"))
            ok = sc__parse_u32(value, &out->nps) && out->nps > 0;
        else if (ok && sc__str_is(key, "gps"))
            ok = sc__parse_u32(value, &out->gps) && out->gps > 0;
        else
            ok = false;
        if (!ok)
            return sc__fail(ctx,
                            SC_USAGE,
                            NULL,
                            "write it like nv=360,nic=48.5,nics=8,gps=8",
                            "--simai: cannot read '%.*s'",
                            SC__SHOW(part));
    }
    return SC_OK;
}

enum traffic_kind { TP, EP, DP, DP_EP };

struct simai_analytical_place {
    uint32_t nodes;
    uint32_t gpus; /* of the group in each node */
    uint32_t nics; /* of the group in each node */
};

static uint32_t dp(const struct sc__simai *s) {
    return s->gpus / (s->tp * s->pp);
}

/* How many servers a group has, its GPUs in each, its NICs in each; integer
 * divisions as in the original. */
static struct simai_analytical_place simai_analytical_place_of(const struct sc__simai *s,
                                                               enum traffic_kind k) {
    uint32_t tp = s->tp;
    uint32_t ep = s->ep;
    uint32_t gps = s->gps;
    uint32_t nps = s->nps;
    switch (k) {
    case TP:
        return tp <= gps ? (struct simai_analytical_place){1, tp, nps}
                         : (struct simai_analytical_place){tp / gps, gps, nps};
    case EP:
        if (tp * ep <= gps)
            return (struct simai_analytical_place){1, gps / tp, nps};
        return (struct simai_analytical_place){tp * ep / gps,
                                               gps / tp ? gps / tp : 1,
                                               tp > gps ? nps / gps : nps / tp};
    case DP:
        return tp <= gps ? (struct simai_analytical_place){dp(s), gps / tp, nps / tp}
                         : (struct simai_analytical_place){dp(s), 1, nps / gps};
    case DP_EP:
        if (tp * ep <= gps)
            return (struct simai_analytical_place){dp(s) / ep,
                                                   gps / (tp * ep),
                                                   nps / (tp * ep)};
        return (struct simai_analytical_place){dp(s) / ep, 1, nps / gps};
    }
    return (struct simai_analytical_place){1, 1, 1};
}

/* The slower of NVLink and the group's NICs; of an all-to-all only the part that
 * leaves the server, (nodes − 1)·gpus of nodes·gpus − 1 peers, crosses the NICs. */
static double
bus_bandwidth(const struct sc__simai *s, enum traffic_kind k, enum sc__row_coll coll) {
    struct simai_analytical_place p = simai_analytical_place_of(s, k);
    double b = s->nic * p.nics;
    if (p.nodes == 1)
        return s->nv;
    if (coll == SC__ROW_ALLTOALL)
        return b / p.gpus * (double)(p.nodes * p.gpus - 1) /
               (double)((p.nodes - 1) * p.gpus);
    if (p.gpus == 1)
        return b;
    if (b <= s->nv)
        return b;
    /* A ring enters and leaves a server once, so of its gpus hops gpus − 1 are
     * inside: NVLink counts that much more. */
    double inside = s->nv * p.gpus / (p.gpus - 1);
    return inside < b ? inside : b;
}

/* Efficiency by size, for tensor-parallel gathers and all-to-alls: 16 MiB,
 * 32 MiB … 16 GiB, linear in size between. */
static double efficiency(uint64_t bytes) {
    static const double column[] = {.45, .55, .65, .69, .73, .76, .77, .78, .79, .80, .81};
    enum { LAST = sizeof column / sizeof *column - 1 };
    double size = (double)bytes;
    double at = 0x1p24;
    if (size <= at)
        return column[0] / column[LAST];
    for (unsigned i = 0; i < LAST; i++, at *= 2)
        if (size <= 2 * at)
            return (column[i] + (column[i + 1] - column[i]) * (size - at) / at) /
                   column[LAST];
    return 1;
}

static enum traffic_kind simai_analytical_kind_of(const struct sc__row_part *p,
                                                  unsigned part) {
    if (p->suffix == SC__SUFFIX_EP)
        return EP;
    if (p->suffix == SC__SUFFIX_DP_EP)
        return DP_EP;
    return part == SC__PART_WEIGHT ? DP : TP;
}

static uint32_t
timing_ranks(const struct sc__simai *s, const struct sc__row_part *p, unsigned part) {
    if (part == SC__PART_WEIGHT)
        return p->suffix == SC__SUFFIX_DP_EP ? dp(s) / s->ep : dp(s);
    return p->suffix == SC__SUFFIX_EP ? s->ep : s->tp;
}

/* Below 1 MiB it has fixed times by group size; other sizes cost nothing. */
static uint64_t small_message(uint32_t ranks) {
    static const struct {
        uint32_t ranks;
        uint64_t ns;
    } table[] = {{2, 10000},
                 {4, 12000},
                 {8, 15000},
                 {16, 66000},
                 {32, 135000},
                 {64, 200000},
                 {128, 320000}};
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].ranks == ranks)
            return table[i].ns;
    return 0;
}

struct sc__simai_row sc__simai_row(const struct sc__simai *s, const struct sc__row *row) {
    struct sc__simai_row out = {0};
    for (unsigned k = 0; k < SC__PARTS; k++) {
        const struct sc__row_part *p = &row->part[k];
        uint32_t n = timing_ranks(s, p, k);
        enum traffic_kind kind = simai_analytical_kind_of(p, k);
        out.ranks[k] = n;
        if (p->coll == SC__ROW_NONE || p->coll == SC__ROW_BROADCAST || n <= 1)
            continue;
        out.busbw[k] = bus_bandwidth(s, kind, p->coll);
        if (p->bytes > 1 && p->bytes < 1u << 20) {
            out.ns[k] = small_message(n);
            continue;
        }
        bool table = p->coll != SC__ROW_ALLREDUCE && kind != DP && kind != DP_EP;
        double factor = p->coll == SC__ROW_ALLREDUCE ? 2 : 1;
        double ratio = table ? efficiency(p->bytes) : 1;
        double t =
            (double)p->bytes / 0x1p30 / (ratio * out.busbw[k]) * 1e9 * factor * (n - 1) / n;
        out.ns[k] = (uint64_t)t;
    }
    return out;
}

void sc__simai_total(const struct sc__simai *s,
                     const struct sc__layers *l,
                     struct sc__compat *out) {
    uint64_t by_class[4] = {0};
    uint64_t compute = 0;
    uint64_t base = 0; /* ns, so that sums are exact */
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < l->count; i++) {
        const struct sc__row *row = &l->rows[i];
        struct sc__simai_row t = sc__simai_row(s, row);
        bool in_base = strcmp(row->name, "embedding_layer") != 0;
        for (unsigned k = 0; k < SC__PARTS; k++) {
            uint64_t work = (uint64_t)(row->part[k].compute / SC__PS_PER_NS);
            by_class[simai_analytical_kind_of(&row->part[k], k)] += t.ns[k];
            compute += work;
            if (in_base)
                base += work + (k == SC__PART_WEIGHT ? 0 : t.ns[k]);
        }
    }
    out->present = true;
    out->compute = (double)compute / 1e3;
    out->tp = (double)by_class[TP] / 1e3;
    out->ep = (double)by_class[EP] / 1e3;
    out->dp = (double)by_class[DP] / 1e3;
    out->dp_ep = (double)by_class[DP_EP] / 1e3;
    out->vpp = s->vpp;
    out->no_bubble = s->vpp == 0;
    if (!out->no_bubble)
        out->bubble = (double)base / 1e3 * (s->pp - 1) / ((double)s->ga * s->vpp);
    out->total = out->compute + out->tp + out->ep + out->dp + out->dp_ep + out->bubble;
}
