/* mesh: how a job's ranks are numbered, and which of them form a group.
 *
 * Megatron's order: tp fastest, then cp, then dp, then pp. Experts cut the
 * same ranks of a stage another way: etp fastest, then ep, then what is left
 * (edp). With etp = tp and cp = 1 an expert group is ep consecutive
 * data-parallel ranks:
 *
 *     rank = tp_i + tp·(cp_i + cp·(dp_i + dp·pp_i))
 *          = etp_i + etp·(ep_i + ep·(edp_i + edp·pp_i))
 */
#ifndef SC_WORKLOAD_MESH_H
#define SC_WORKLOAD_MESH_H

#include "base/base.h"

enum sc__dim { SC__DIM_TP, SC__DIM_CP, SC__DIM_DP, SC__DIM_PP, SC__DIMS };

struct sc__mesh {
    uint32_t tp;
    uint32_t cp;
    uint32_t dp;
    uint32_t pp;
    /* 1 and tp for dense models */
    uint32_t ep;
    uint32_t etp;
    uint32_t shard;          /* of dp × cp, ranks that share sharded weights; 0: all */
    uint8_t order[SC__DIMS]; /* dimensions, fastest first */
};

enum sc__group_kind {
    SC__GROUP_TP,
    SC__GROUP_CP,
    SC__GROUP_EP,
    SC__GROUP_DP,      /* data parallel, without cp */
    SC__GROUP_DP_CP,   /* who shares gradients of dense weights: dp × cp */
    SC__GROUP_DP_EP,   /* who shares gradients of expert weights */
    SC__GROUP_SHARD,   /* who shards dense weights: neighbours of dp × cp */
    SC__GROUP_REPLICA, /* who holds the same shard of them */
    /* the same of expert weights: part of dp_ep, in the ranks of a shard group */
    SC__GROUP_SHARD_EP,
    SC__GROUP_REPLICA_EP,
    SC__GROUP_ETP,
    SC__GROUP_PP,
    SC__GROUP_EMBEDDING, /* first and last stage */
    SC__GROUP_MIRROR,    /* a stage and the one as far from the other end */
    SC__GROUP_STAGE,     /* all ranks of a stage: tp × cp × dp */
    SC__GROUP_MODEL,     /* one copy of the model: tp × pp */
    SC__GROUP_WORLD,
    SC__GROUP_HOST, /* a rank alone, with the memory of its host */
    SC__GROUP_LIST  /* an explicit list of ranks */
};

/* A mesh of the default order; etp 0 means tp. */
struct sc__mesh
sc__mesh(uint32_t tp, uint32_t cp, uint32_t ep, uint32_t dp, uint32_t pp, uint32_t etp);
uint32_t sc__mesh_ranks(const struct sc__mesh *m);
/* The sizes multiply to the world, and ep·etp divides tp·cp·dp. */
#define SC__MOST_RANKS ((uint64_t)1 << 24)
#define SC__MOST_STAGES 4096u
sc_status sc__mesh_check(struct sc_context *ctx, const struct sc__mesh *m);
/* "tp-cp-ep-dp-pp" in any order of its words (ep is read with dp). */
sc_status sc__mesh_order(struct sc_context *ctx, struct sc__mesh *m, const char *order);

uint32_t sc__mesh_coordinate(const struct sc__mesh *m, uint32_t rank, enum sc__dim dim);
/* rank with one coordinate replaced. */
uint32_t
sc__mesh_move(const struct sc__mesh *m, uint32_t rank, enum sc__dim dim, uint32_t to);

/* The group over which dense weights are sharded: all of dp × cp, or a part. */
enum sc__group_kind sc__mesh_shard_kind(const struct sc__mesh *m);
/* The same of expert weights. */
enum sc__group_kind sc__mesh_expert_shard_kind(const struct sc__mesh *m);
uint32_t sc__mesh_group_size(const struct sc__mesh *m, enum sc__group_kind kind);
/* The i-th member of the group of this kind that holds rank, in rank order. */
uint32_t sc__mesh_group_member(const struct sc__mesh *m,
                               enum sc__group_kind kind,
                               uint32_t rank,
                               uint32_t i);
/* "tp", "ep", "dp_ep" …: the key in reports. dp_cp is reported as dp, etp as tp. */
const char *sc__group_label(enum sc__group_kind kind);

#endif
