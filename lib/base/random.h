/* random: splitmix64. The same numbers everywhere, from a seed. */
#ifndef SC_BASE_RANDOM_H
#define SC_BASE_RANDOM_H

#include <stdint.h>

/* The finaliser alone: a good 64-bit mix of x. */
static inline uint64_t sc__splitmix64(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The next number of a sequence whose state is *state. */
static inline uint64_t sc__random(uint64_t *state) {
    uint64_t r = sc__splitmix64(*state);
    *state += 0x9e3779b97f4a7c15u;
    return r;
}

/* Uniform in [0, 1). */
static inline double sc__random_unit(uint64_t *state) {
    return (double)(sc__random(state) >> 11) * 0x1p-53;
}

#endif
