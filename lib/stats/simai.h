/* simai: what SimAI-Analytical would answer for the same file, by its own
 * arithmetic (docs/model/simai.md), so that its users can see where and why
 * the two part. */
#ifndef SC_STATS_SIMAI_H
#define SC_STATS_SIMAI_H

#include "ir/layers.h"
#include "stats/result.h"

struct sc__simai {
    double nv, nic;                     /* GB/s (2^30): bus bandwidth in a server, of one NIC */
    uint32_t nps, gps;                  /* NICs and GPUs a server */
    uint32_t gpus, tp, ep, pp, vpp, ga; /* vpp 0: absent */
};

/* "nv=360,nic=48.5,nics=8,gps=8" over the defaults, which are these. */
sc_status sc__simai_parse(struct sc_context *ctx, const char *text, struct sc__simai *out);

/* Times of one row, ns, as SimAI truncates them. */
struct sc__simai_row {
    uint64_t ns[SC__PARTS];
    double busbw[SC__PARTS]; /* GB/s it assumed */
    uint32_t ranks[SC__PARTS];
};

struct sc__simai_row sc__simai_row(const struct sc__simai *s, const struct sc__row *row);
void sc__simai_total(const struct sc__simai *s, const struct sc__layers *l, struct sc__compat *out);

#endif
