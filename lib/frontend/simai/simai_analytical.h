/* simai_analytical: what SimAI-Analytical would answer for the same file, by its own
 * arithmetic (docs/model/simai.md), so that its users can see where and why
 * the two part. */
#ifndef SC_FRONTEND_SIMAI_ANALYTICAL_H
#define SC_FRONTEND_SIMAI_ANALYTICAL_H

#include "result/result.h"
#include "workload/layers.h"

struct sc__simai {
    /* GB/s (2^30): bus bandwidth in a server, of one NIC */
    double nv;
    double nic;
    /* NICs and GPUs a server */
    uint32_t nps;
    uint32_t gps;
    /* vpp 0: absent */
    uint32_t gpus;
    uint32_t tp;
    uint32_t ep;
    uint32_t pp;
    uint32_t vpp;
    uint32_t ga;
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
void sc__simai_total(const struct sc__simai *s,
                     const struct sc__layers *l,
                     struct sc__compat *out);

#endif
