/* placed_jobs: which GPUs the transfers of jobs go between, for engines that look
 * at single links. A transfer of a class stands for that of all its ranks. */
#ifndef SC_NETWORK_PLACED_JOBS_H
#define SC_NETWORK_PLACED_JOBS_H

#include "network/engine.h"

/* Where a job lies: its first node, and how far apart its nodes are. */
struct sc__place_at {
    uint32_t node;
    uint32_t stride;
};

struct sc__placed_job {
    const struct sc__workload *w;
    struct sc__place_at at;
    bool around; /* every rank sends to the next: a cost of send/receive */
    /* ranks by class */
    uint32_t *class_first;
    uint32_t *class_ranks;
};

struct sc__placed_jobs {
    struct sc_context *ctx;
    struct sc__arena *arena;
    const struct sc__cluster *cluster;
    struct sc__cluster
        open; /* as if its fabric were non-blocking, with a memory for costs */
    struct sc__placed_job *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t *owner; /* of every GPU: the number of its job from 1 on; 0: none */
    struct sc__map shapes;
};

/* GPUs of a group, sorted. */
struct sc__placed_group {
    uint32_t *gpu;
    uint32_t count;
    uint32_t root; /* GPU that gathers or scatters */
};

void sc__placed_init(struct sc__placed_jobs *p,
                     struct sc_context *ctx,
                     const struct sc__cluster *cluster);
/* One more job; SC_INPUT where it does not fit on the cluster. */
sc_status sc__placed_add(struct sc__placed_jobs *p,
                         const struct sc__workload *w,
                         struct sc__place_at at);
/* A workload of one collective of the first GPUs. */
const struct sc__workload *sc__placed_only(struct sc_context *ctx, uint32_t gpus);

uint32_t
sc__placed_gpu(const struct sc__placed_jobs *p, const struct sc_transfer *t, uint32_t rank);
/* The group of the transfer that holds a rank. */
struct sc__placed_group
sc__placed_group(struct sc__placed_jobs *p, const struct sc_transfer *t, uint32_t rank);

/* Every group that a transfer stands for; every pair of GPUs, if it is a message. */
typedef sc_status sc__placed_each(void *self, const struct sc__placed_group *g);
sc_status sc__placed_groups(struct sc__placed_jobs *p,
                            const struct sc_transfer *t,
                            sc__placed_each *each,
                            void *self);
typedef sc_status sc__placed_each_message(void *self, uint32_t from, uint32_t to);
sc_status sc__placed_messages(struct sc__placed_jobs *p,
                              const struct sc_transfer *t,
                              sc__placed_each_message *each,
                              void *self);

/* Who takes part, as far as it decides the traffic. */
uint64_t sc__placed_whom(const struct sc_transfer *t);
/* Of the engine that is asked for the cost of one collective, alone: the transfer. */
struct sc_transfer
sc__placed_only_transfer(const struct sc__placed_jobs *p, int coll, uint64_t bytes);
/* The ports that a transfer takes part of, where it sends anything. */
void sc__placed_claims(const struct sc_transfer *t, bool sends, struct sc_claims *out);
/* The busiest links first: how busy each of them was in a step (ps), and the first ones
 * told. */
void sc__placed_link_use(struct sc_link_use *use,
                         uint32_t count,
                         int64_t step,
                         void (*add)(void *to, const struct sc_link_use *use),
                         void *to);
/* The model's time on a non-blocking fabric, by the algorithm that is best on the
 * one there is. */
struct sc__coll_cost sc__placed_model_time(struct sc__placed_jobs *p,
                                           const struct sc_transfer *t);

#endif
