/* towers: what a plan makes of the encoders for pictures and sound of a model. They run
 * on the first stage, on every micro-batch, before the language model. */
#ifndef SC_PLAN_TOWERS_H
#define SC_PLAN_TOWERS_H

#include "model/tower.h"
#include "plan/plan.h"

/* Fills what the plan says of pictures and sound, and checks it against the towers. */
sc_status sc__plan_resolve_towers(struct sc_context *ctx,
                                  const sc_plan *given,
                                  const struct sc__model *m,
                                  struct sc__plan *p);

/* Pictures, or clips of sound, of a sequence; 0: the tower takes no part. */
uint32_t sc__tower_items(const struct sc__plan *p, const struct sc__tower *t);
/* The plan as the tower's layers see it: its pictures are the sequences. Where its heads
 * or its feed-forward are not divided by tp, every rank computes all of it; ranks of
 * context parallelism all do. */
struct sc__plan sc__tower_plan(const struct sc__plan *p, const struct sc__tower *t);
/* Its layers are not trained; nor is what connects it. */
bool sc__tower_frozen(const struct sc__plan *p);
bool sc__connector_frozen(const struct sc__plan *p);

/* Parameters of a rank: before the layers, of a layer, of the connector. */
struct sc__tower_shards {
    double in;
    double layer;
    double out;
};
struct sc__tower_shards sc__tower_shards(const struct sc__plan *p,
                                         const struct sc__tower *t);
/* Of all towers, and of them those that are trained. */
double sc__plan_towers_shard(const struct sc__plan *p, const struct sc__model *m);
double sc__plan_towers_trained(const struct sc__plan *p, const struct sc__model *m);
/* The most of them that are gathered at once where weights are sharded. */
double sc__plan_towers_largest(const struct sc__plan *p, const struct sc__model *m);
/* Parameters of the towers that take part, however they are cut. */
double sc__plan_towers_params(const struct sc__plan *p, const struct sc__model *m);
/* FLOPs of a step over all ranks, each computed once. */
double sc__plan_towers_flops(const struct sc__plan *p, const struct sc__model *m);
/* Of them those that recomputation repeats. */
double sc__plan_towers_repeated(const struct sc__plan *p, const struct sc__model *m);

/* Bytes that a micro-batch keeps in the towers for backward, and the most that one layer
 * of them computes again and has on its way. */
struct sc__towers_keep {
    double activations;
    double again;
    double workspace;
};
struct sc__towers_keep sc__plan_towers_keep(const struct sc__plan *p,
                                            const struct sc__model *m);

#endif
