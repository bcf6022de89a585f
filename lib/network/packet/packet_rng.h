/* packet_rng: MRG32k3a, the combined multiple recursive generator of L'Ecuyer
 * (Operations Research 47(1), 1999), with jumps between its streams as ns-3
 * makes them: stream k of run r begins k·2^127 + r·2^76 steps from the seed. */
#ifndef SC_NETWORK_PACKET_RNG_H
#define SC_NETWORK_PACKET_RNG_H

#include <stdint.h>

struct sc__mrg {
    uint64_t a[3];
    uint64_t b[3];
};

struct sc__mrg_matrix {
    uint64_t at[3][3];
};

/* A jump by a number of steps: a matrix for each half of the state. */
struct sc__mrg_jump {
    struct sc__mrg_matrix a;
    struct sc__mrg_matrix b;
};

/* The beginning of a stream in run 1 with seed 1. */
void sc__mrg_stream(struct sc__mrg *g, uint64_t stream);
/* The jump from a stream to the next one. */
void sc__mrg_next_stream(struct sc__mrg_jump *jump);
void sc__mrg_apply(struct sc__mrg *g, const struct sc__mrg_jump *jump);
/* The next number, in (0, 1). */
double sc__mrg_next(struct sc__mrg *g);

#endif
