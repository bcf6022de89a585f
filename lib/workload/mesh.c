#include "workload/mesh.h"

#include <string.h>

struct sc__mesh
sc__mesh(uint32_t tp, uint32_t cp, uint32_t ep, uint32_t dp, uint32_t pp, uint32_t etp) {
    return (struct sc__mesh){.tp = tp,
                             .cp = cp,
                             .dp = dp,
                             .pp = pp,
                             .ep = ep,
                             .etp = etp ? etp : tp,
                             .order = {SC__DIM_TP, SC__DIM_CP, SC__DIM_DP, SC__DIM_PP}};
}

static uint32_t dim_size(const struct sc__mesh *m, unsigned dim) {
    const uint32_t size[SC__DIMS] = {m->tp, m->cp, m->dp, m->pp};
    return size[dim];
}

uint32_t sc__mesh_ranks(const struct sc__mesh *m) {
    return m->tp * m->cp * m->dp * m->pp;
}

sc_status sc__mesh_check(struct sc_context *ctx, const struct sc__mesh *m) {
    const uint32_t sizes[] = {m->tp, m->cp, m->dp, m->pp, m->ep, m->etp};
    uint64_t ranks = 1;
    for (unsigned i = 0; i < 6; i++)
        if (!sizes[i])
            return sc__fail(ctx, SC_INPUT, NULL, NULL, "a parallel size is 0");
    for (unsigned i = 0; i < 4; i++) {
        ranks *= sizes[i];
        if (ranks > SC__MOST_RANKS)
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            "a job has at most 2^24 ranks",
                            "tp %u × cp %u × dp %u × pp %u is too many ranks",
                            m->tp,
                            m->cp,
                            m->dp,
                            m->pp);
    }
    if (m->pp > SC__MOST_STAGES)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "a pipeline has at most 4096 stages, as a model has layers",
                        "pp %u is too many stages",
                        m->pp);
    if (m->shard && m->dp * m->cp % m->shard)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "weights are sharded over a part of dp × cp",
                        "groups of %u shards do not divide the %u ranks of dp %u × cp %u",
                        m->shard,
                        m->dp * m->cp,
                        m->dp,
                        m->cp);
    if (m->shard && m->ep > 1 && (uint64_t)m->shard * m->tp % ((uint64_t)m->ep * m->etp))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "experts are spread over the ranks of a shard group",
                        "ep %u × expert-tp %u does not divide %u shards × tp %u",
                        m->ep,
                        m->etp,
                        m->shard,
                        m->tp);
    uint64_t stage = ranks / m->pp;
    if (stage % ((uint64_t)m->ep * m->etp))
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        "expert groups are cut from the ranks of one stage",
                        "ep %u × expert-tp %u does not divide the %llu ranks of a stage "
                        "(tp %u × cp %u × dp %u)",
                        m->ep,
                        m->etp,
                        (unsigned long long)stage,
                        m->tp,
                        m->cp,
                        m->dp);
    return SC_OK;
}

sc_status sc__mesh_order(struct sc_context *ctx, struct sc__mesh *m, const char *order) {
    static const char *const words[SC__DIMS] = {"tp", "cp", "dp", "pp"};
    struct sc__str rest = sc__str(order);
    struct sc__str word;
    uint8_t given[SC__DIMS];
    unsigned n = 0;
    unsigned seen = 0;
    while (sc__split(&rest, '-', &word)) {
        unsigned d = 0;
        if (sc__str_is(word, "ep"))
            continue;
        while (d < SC__DIMS && !sc__str_is(word, words[d]))
            d++;
        if (d == SC__DIMS || (seen & 1u << d))
            return sc__fail(
                ctx,
                SC_USAGE,
                NULL,
                "write each of tp, cp, ep, dp, pp once, fastest first: tp-cp-ep-dp-pp",
                "rank order '%s': unexpected '%.*s'",
                order,
                SC__SHOW(word));
        seen |= 1u << d;
        given[n++] = (uint8_t)d;
    }
    /* what was left out is slowest, in the usual order */
    for (unsigned d = 0; d < SC__DIMS; d++)
        if (!(seen & 1u << d))
            given[n++] = (uint8_t)d;
    memcpy(m->order, given, sizeof given);
    return SC_OK;
}

/* Ranks between neighbours along a dimension: the sizes of the faster ones. */
static uint32_t stride(const struct sc__mesh *m, unsigned dim) {
    uint32_t s = 1;
    for (unsigned i = 0; i < SC__DIMS && m->order[i] != dim; i++)
        s *= dim_size(m, m->order[i]);
    return s;
}

uint32_t sc__mesh_coordinate(const struct sc__mesh *m, uint32_t rank, enum sc__dim dim) {
    return rank / stride(m, dim) % dim_size(m, dim);
}

uint32_t
sc__mesh_move(const struct sc__mesh *m, uint32_t rank, enum sc__dim dim, uint32_t to) {
    uint32_t s = stride(m, dim);
    return rank - sc__mesh_coordinate(m, rank, dim) * s + to * s;
}

/* The number of a rank among those of its stage, tp fastest, and back. */
static uint32_t place_in_stage(const struct sc__mesh *m, uint32_t rank) {
    uint32_t place = 0;
    uint32_t step = 1;
    for (unsigned i = 0; i < SC__DIMS; i++) {
        if (m->order[i] == SC__DIM_PP)
            continue;
        place += sc__mesh_coordinate(m, rank, m->order[i]) * step;
        step *= dim_size(m, m->order[i]);
    }
    return place;
}

static uint32_t rank_at_place(const struct sc__mesh *m, uint32_t rank, uint32_t place) {
    for (unsigned i = 0; i < SC__DIMS; i++) {
        unsigned d = m->order[i];
        if (d == SC__DIM_PP)
            continue;
        rank = sc__mesh_move(m, rank, d, place % dim_size(m, d));
        place /= dim_size(m, d);
    }
    return rank;
}

enum sc__group_kind sc__mesh_shard_kind(const struct sc__mesh *m) {
    return m->shard ? SC__GROUP_SHARD : SC__GROUP_DP_CP;
}

enum sc__group_kind sc__mesh_expert_shard_kind(const struct sc__mesh *m) {
    return m->shard ? SC__GROUP_SHARD_EP : SC__GROUP_DP_EP;
}

uint32_t sc__mesh_group_size(const struct sc__mesh *m, enum sc__group_kind kind) {
    switch (kind) {
    case SC__GROUP_TP:
        return m->tp;
    case SC__GROUP_CP:
        return m->cp;
    case SC__GROUP_EP:
        return m->ep;
    case SC__GROUP_DP:
        return m->dp;
    case SC__GROUP_DP_CP:
        return m->dp * m->cp;
    case SC__GROUP_DP_EP:
        return m->tp * m->cp * m->dp / (m->ep * m->etp);
    case SC__GROUP_SHARD:
        return m->shard ? m->shard : m->dp * m->cp;
    case SC__GROUP_REPLICA:
    case SC__GROUP_REPLICA_EP:
        return m->shard ? m->dp * m->cp / m->shard : 1;
    case SC__GROUP_SHARD_EP:
        return m->tp * (m->shard ? m->shard : m->dp * m->cp) / (m->ep * m->etp);
    case SC__GROUP_ETP:
        return m->etp;
    case SC__GROUP_PP:
        return m->pp;
    case SC__GROUP_EMBEDDING:
    case SC__GROUP_MIRROR:
        return m->pp > 1 ? 2 : 1;
    case SC__GROUP_STAGE:
        return m->tp * m->cp * m->dp;
    case SC__GROUP_MODEL:
        return m->tp * m->pp;
    case SC__GROUP_WORLD:
        return sc__mesh_ranks(m);
    case SC__GROUP_HOST:
        return 1;
    case SC__GROUP_LIST:
        break;
    }
    return 0;
}

/* Expert groups are cut from the ranks of a stage regardless of tp, cp and dp:
 * etp fastest, then ep, then the replicas. Members are step places apart. */
static uint32_t expert_member(
    const struct sc__mesh *m, uint32_t rank, uint32_t step, uint32_t size, uint32_t i) {
    uint32_t place = place_in_stage(m, rank);
    return rank_at_place(m, rank, place - place / step % size * step + i * step);
}

/* The i-th of the ranks that share gradients of dense weights, cp fastest. */
static uint32_t dense_member(const struct sc__mesh *m, uint32_t rank, uint32_t i) {
    return sc__mesh_move(m,
                         sc__mesh_move(m, rank, SC__DIM_CP, i % m->cp),
                         SC__DIM_DP,
                         i / m->cp);
}

static uint32_t place_in_dense(const struct sc__mesh *m, uint32_t rank) {
    return sc__mesh_coordinate(m, rank, SC__DIM_DP) * m->cp +
           sc__mesh_coordinate(m, rank, SC__DIM_CP);
}

uint32_t sc__mesh_group_member(const struct sc__mesh *m,
                               enum sc__group_kind kind,
                               uint32_t rank,
                               uint32_t i) {
    uint32_t size = sc__mesh_group_size(m, kind);
    switch (kind) {
    case SC__GROUP_TP:
        return sc__mesh_move(m, rank, SC__DIM_TP, i);
    case SC__GROUP_CP:
        return sc__mesh_move(m, rank, SC__DIM_CP, i);
    case SC__GROUP_DP:
        return sc__mesh_move(m, rank, SC__DIM_DP, i);
    case SC__GROUP_PP:
        return sc__mesh_move(m, rank, SC__DIM_PP, i);
    case SC__GROUP_DP_CP:
        return dense_member(m, rank, i);
    case SC__GROUP_SHARD:
        return dense_member(m, rank, place_in_dense(m, rank) / size * size + i);
    case SC__GROUP_REPLICA: {
        uint32_t shard = sc__mesh_group_size(m, SC__GROUP_SHARD);
        return dense_member(m, rank, place_in_dense(m, rank) % shard + i * shard);
    }
    case SC__GROUP_SHARD_EP:
        return expert_member(m, rank, m->etp * m->ep, size, i);
    case SC__GROUP_REPLICA_EP:
        return expert_member(m,
                             rank,
                             m->tp * sc__mesh_group_size(m, SC__GROUP_SHARD),
                             size,
                             i);
    case SC__GROUP_ETP:
        return expert_member(m, rank, 1, size, i);
    case SC__GROUP_EP:
        return expert_member(m, rank, m->etp, size, i);
    case SC__GROUP_DP_EP:
        return expert_member(m, rank, m->etp * m->ep, size, i);
    case SC__GROUP_EMBEDDING:
        return sc__mesh_move(m, rank, SC__DIM_PP, i ? m->pp - 1 : 0);
    case SC__GROUP_MIRROR: {
        uint32_t stage = sc__mesh_coordinate(m, rank, SC__DIM_PP);
        uint32_t nearer = stage < m->pp / 2 ? stage : m->pp - 1 - stage;
        return sc__mesh_move(m, rank, SC__DIM_PP, i ? m->pp - 1 - nearer : nearer);
    }
    case SC__GROUP_STAGE:
        return rank_at_place(m, rank, i);
    case SC__GROUP_MODEL:
        return sc__mesh_move(m,
                             sc__mesh_move(m, rank, SC__DIM_TP, i % m->tp),
                             SC__DIM_PP,
                             i / m->tp);
    case SC__GROUP_WORLD:
        return i;
    case SC__GROUP_HOST:
    case SC__GROUP_LIST:
        break;
    }
    return rank;
}

const char *sc__group_label(enum sc__group_kind kind) {
    switch (kind) {
    case SC__GROUP_TP:
    case SC__GROUP_ETP:
        return "tp";
    case SC__GROUP_CP:
        return "cp";
    case SC__GROUP_EP:
        return "ep";
    case SC__GROUP_DP:
    case SC__GROUP_DP_CP:
    case SC__GROUP_SHARD:
    case SC__GROUP_REPLICA:
        return "dp";
    case SC__GROUP_DP_EP:
    case SC__GROUP_SHARD_EP:
    case SC__GROUP_REPLICA_EP:
        return "dp_ep";
    case SC__GROUP_PP:
        return "pp";
    case SC__GROUP_EMBEDDING:
        return "embedding";
    case SC__GROUP_MIRROR:
        return "mirror";
    case SC__GROUP_STAGE:
        return "stage";
    case SC__GROUP_MODEL:
        return "model";
    case SC__GROUP_WORLD:
        return "world";
    case SC__GROUP_HOST:
        return "host";
    case SC__GROUP_LIST:
        break;
    }
    return "other";
}
