/* flow_live: the transfers whose bytes move at this moment.
 *
 * A transfer that shares no link with another needs no sharing: it ends when
 * it would alone. Its flows are laid only when another one comes to a link it
 * uses, with the bytes that are left of them by then. The result is the same,
 * since flows without a common link cannot tell of each other. */
#ifndef SC_SIMULATE_FLOW_LIVE_H
#define SC_SIMULATE_FLOW_LIVE_H

#include "network/flow/flow_quotient.h"

struct sc__live;

/* What a transfer puts on links. */
struct sc__burden {
    uint32_t pattern; /* of the quotient */
    double bytes;     /* that its pattern's volumes are parts of */
    double seconds;   /* they take where every link has room: no flow is faster */
};

struct sc__live *sc__live_new(struct sc__arena *arena, const struct sc__quotient *q);
/* Begins at now (ps); alone: ps it takes when nothing else runs. Numbers of
 * transfers that have ended may be used again. */
void sc__live_begin(struct sc__live *l,
                    uint32_t id,
                    const struct sc__burden *b,
                    int64_t alone,
                    int64_t now);
/* When the next transfer or flow ends; INT64_MAX when none runs. */
int64_t sc__live_next(struct sc__live *l);
/* One transfer that has ended by `to`; false when there is none. */
bool sc__live_end(struct sc__live *l, int64_t to, uint32_t *id);

/* So many transfers of this burden passed without being begun: they count for
 * the bytes of links. */
void sc__live_passed(struct sc__live *l, const struct sc__burden *b, double times);
/* Bytes that were begun on a class of links, or passed. */
double sc__live_bytes(const struct sc__live *l, uint32_t link);
uint32_t sc__live_violations(const struct sc__live *l);
/* Seconds that a transfer takes when nothing else runs. */
double sc__live_alone(const struct sc__quotient *q, const struct sc__burden *b);

#endif
