#include "network/packet/packet_rng.h"

#include <string.h>

#define M1 4294967087u
#define M2 4294944443u
#define STREAM_STEPS 127u /* powers of two */
#define RUN_STEPS 76u

/* The matrix times the state, modulo m: entries are below 2^32, so that one
 * product fits in 64 bits and three of them do not. */
static void times_vector(uint64_t m, const struct sc__mrg_matrix *x, uint64_t v[3]) {
    uint64_t out[3];
    for (int i = 0; i < 3; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < 3; k++)
            sum += x->at[i][k] * v[k] % m;
        out[i] = sum % m;
    }
    memcpy(v, out, sizeof out);
}

static void square(uint64_t m, struct sc__mrg_matrix *x) {
    struct sc__mrg_matrix out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            uint64_t sum = 0;
            for (int k = 0; k < 3; k++)
                sum += x->at[i][k] * x->at[k][j] % m;
            out.at[i][j] = sum % m;
        }
    *x = out;
}

/* The jump by 2^power steps. */
static void jump_by(struct sc__mrg_jump *jump, unsigned power) {
    static const struct sc__mrg_jump one = {
        {{{0, 1, 0}, {0, 0, 1}, {M1 - 810728u, 1403580u, 0}}},
        {{{0, 1, 0}, {0, 0, 1}, {M2 - 1370589u, 0, 527612u}}}};
    *jump = one;
    for (; power; power--) {
        square(M1, &jump->a);
        square(M2, &jump->b);
    }
}

void sc__mrg_apply(struct sc__mrg *g, const struct sc__mrg_jump *jump) {
    times_vector(M1, &jump->a, g->a);
    times_vector(M2, &jump->b, g->b);
}

void sc__mrg_next_stream(struct sc__mrg_jump *jump) {
    jump_by(jump, STREAM_STEPS);
}

void sc__mrg_stream(struct sc__mrg *g, uint64_t stream) {
    struct sc__mrg_jump jump;
    for (int i = 0; i < 3; i++) {
        g->a[i] = 1;
        g->b[i] = 1;
    }
    jump_by(&jump, RUN_STEPS);
    sc__mrg_apply(g, &jump);
    jump_by(&jump, STREAM_STEPS);
    for (; stream; stream >>= 1) {
        if (stream & 1)
            sc__mrg_apply(g, &jump);
        square(M1, &jump.a);
        square(M2, &jump.b);
    }
}

double sc__mrg_next(struct sc__mrg *g) {
    uint64_t x = (1403580u * g->a[1] % M1 + (M1 - 810728u) * g->a[0] % M1) % M1;
    uint64_t y = (527612u * g->b[2] % M2 + (M2 - 1370589u) * g->b[0] % M2) % M2;
    g->a[0] = g->a[1];
    g->a[1] = g->a[2];
    g->a[2] = x;
    g->b[0] = g->b[1];
    g->b[1] = g->b[2];
    g->b[2] = y;
    uint64_t difference = x > y ? x - y : x + M1 - y;
    return (double)difference * 2.328306549295727688e-10;
}
