/* number: arithmetic of whole numbers. */
#ifndef SC_BASE_NUMBER_H
#define SC_BASE_NUMBER_H

#include <stdint.h>

/* The least number that both divide; neither is 0. */
static inline uint64_t sc__common_multiple(uint64_t a, uint64_t b) {
    uint64_t divisor = a;
    uint64_t rest = b;
    while (rest) {
        uint64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    return a / divisor * b;
}

#endif
