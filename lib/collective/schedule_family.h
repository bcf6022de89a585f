/* schedule_family: what a family of algorithms implements for schedule.h. */
#ifndef SC_COLLECTIVE_SCHEDULE_FAMILY_H
#define SC_COLLECTIVE_SCHEDULE_FAMILY_H

#include "collective/schedule.h"

struct sc__coll_family_ops {
    void (*init)(struct sc__coll_schedule *s);
    uint32_t (*slots)(const struct sc__coll_schedule *s, uint32_t phase);
    bool (*transfer)(const struct sc__coll_schedule *s,
                     struct sc__coll_transfer_id id,
                     struct sc__coll_transfer *out);
    uint32_t (*sent_by)(const struct sc__coll_schedule *s,
                        uint32_t phase,
                        uint32_t channel,
                        uint32_t member);
    uint32_t (*received_by)(const struct sc__coll_schedule *s,
                            uint32_t phase,
                            uint32_t channel,
                            uint32_t member);
    /* NULL: connections change from phase to phase */
    uint32_t (*repeats)(const struct sc__coll_schedule *s,
                        uint32_t channel,
                        uint32_t phase);
    struct sc__coll_needs (*needs)(const struct sc__coll_schedule *s,
                                   struct sc__coll_transfer_id id);
};

extern const struct sc__coll_family_ops sc__coll_ring_ops;
extern const struct sc__coll_family_ops sc__coll_chain_ops;
extern const struct sc__coll_family_ops sc__coll_tree_ops;
extern const struct sc__coll_family_ops sc__coll_halving_ops;
extern const struct sc__coll_family_ops sc__coll_pairs_ops;
extern const struct sc__coll_family_ops sc__coll_root_ops;
extern const struct sc__coll_family_ops sc__coll_shift_ops;
extern const struct sc__coll_family_ops sc__coll_binomial_ops;
extern const struct sc__coll_family_ops sc__coll_dissemination_ops;
extern const struct sc__coll_family_ops sc__coll_torus_ops;

/* a mod n, without a division where a < 2n, as it nearly always is. */
static inline uint32_t sc__coll_mod(uint64_t a, uint32_t n) {
    if (a >= n)
        a -= n;
    return (uint32_t)(a < n ? a : a % n);
}
/* (a + b) mod n and (a - b) mod n, a < n. */
static inline uint32_t sc__coll_plus(uint32_t a, uint32_t b, uint32_t n) {
    return sc__coll_mod((uint64_t)a + b, n);
}
static inline uint32_t sc__coll_minus(uint32_t a, uint32_t b, uint32_t n) {
    return sc__coll_mod((uint64_t)a + n - sc__coll_mod(b, n), n);
}

/* sent_by where every member sends one transfer a phase: the member's number. */
static inline uint32_t sc__coll_sent_by_itself(const struct sc__coll_schedule *s,
                                               uint32_t phase,
                                               uint32_t channel,
                                               uint32_t member) {
    (void)s;
    (void)phase;
    (void)channel;
    return member;
}

/* One member to another, parts first … first + count - 1. */
static inline struct sc__coll_transfer
sc__coll_one_to_one(uint32_t source, uint32_t destination, uint64_t first, uint64_t count) {
    return (struct sc__coll_transfer){.source = source,
                                      .sources = 1,
                                      .destination = destination,
                                      .destinations = 1,
                                      .first = first,
                                      .stride = 1,
                                      .count = count};
}

#endif
