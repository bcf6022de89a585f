/* flow_steps: collectives as SimAI's packet simulation runs them: every step
 * of every channel a message of its own, sent when the step before has been
 * received and acknowledged, after a fixed time in the software. */
#ifndef SC_SIMULATE_FLOW_STEPS_H
#define SC_SIMULATE_FLOW_STEPS_H

#include "network/flow/flow_pattern.h"

struct sc__steps {
    int64_t send; /* ps before each send; 0: not step by step */
    /* bytes of payload, and of what goes with it on the network */
    double packet;
    double header;
};

/* --send-latency and --packet. */
sc_status sc__steps_parse(const struct sc__settings *settings, struct sc__steps *out);

/* The time of one collective of the GPUs (sorted) alone, ps. */
sc_status sc__steps_collective(struct sc__pattern_builder *b,
                               const struct sc__steps *steps,
                               int coll,
                               const uint32_t *gpu,
                               uint32_t n,
                               uint32_t root,
                               uint64_t bytes,
                               int64_t *time);
sc_status sc__steps_message(struct sc__pattern_builder *b,
                            const struct sc__steps *steps,
                            uint32_t from,
                            uint32_t to,
                            uint64_t bytes,
                            int64_t *time);

#endif
