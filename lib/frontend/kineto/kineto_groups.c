/* Process groups of a trace: the ranks each names, what it is for, and, where
 * one trace stands for all ranks, the mesh they are cut from: only then do the
 * groups of the other ranks follow, and can the job be made larger. */
#include "frontend/kineto/kineto.h"

#include <stdlib.h>
#include <string.h>

struct word {
    const char *part;
    const char *label; /* NULL: several sizes together, of which their ranks tell */
    enum sc__group_kind kind;
};

/* The first counts, so that what names several sizes stands before what names one; of our
 * own labels the last. */
static const struct word words[] = {{"EXPERT_DATA", "dp_ep", SC__GROUP_DP_EP},
                                    {"EXPERT_TENSOR_PARALLEL", "tp", SC__GROUP_ETP},
                                    {"EXPERT_TENSOR", NULL, 0},
                                    {"EXPERT", "ep", SC__GROUP_EP},
                                    {"TENSOR_AND_", NULL, 0},
                                    {"DATA", "dp", SC__GROUP_DP},
                                    {"TENSOR", "tp", SC__GROUP_TP},
                                    {"PIPELINE", "pp", SC__GROUP_PP},
                                    {"CONTEXT", "cp", SC__GROUP_CP},
                                    {"POSITION_EMBEDDING", NULL, 0},
                                    {"EMBEDDING", "embedding", SC__GROUP_EMBEDDING},
                                    {"MODEL_PARALLEL", "model", SC__GROUP_MODEL},
                                    {"mesh_etp", "tp", SC__GROUP_ETP},
                                    {"mesh_tp", "tp", SC__GROUP_TP},
                                    {"mesh_efsdp", "dp_ep", SC__GROUP_DP_EP},
                                    {"mesh_dp_replicate", "dp", SC__GROUP_REPLICA},
                                    {"mesh_fsdp", "dp", SC__GROUP_DP},
                                    {"mesh_dp", "dp", SC__GROUP_DP},
                                    {"mesh_pp", "pp", SC__GROUP_PP},
                                    {"mesh_cp", "cp", SC__GROUP_CP},
                                    {"mesh_ep", "ep", SC__GROUP_EP}};

static const struct word *kineto_groups_word_of(const char *description) {
    for (unsigned i = sizeof words / sizeof *words; description && i-- > 0;)
        if (words[i].label && !strcmp(description, words[i].label))
            return &words[i]; /* as our own traces say it */
    for (unsigned i = 0; description && i < sizeof words / sizeof *words; i++)
        if (strstr(description, words[i].part))
            return &words[i];
    return NULL;
}

const char *sc__kineto_label(const char *description) {
    const struct word *w = kineto_groups_word_of(description);
    return w ? w->label : NULL;
}

static uint32_t stride_of(const struct sc__kineto_group *g) {
    return g->size > 1 ? g->ranks[1] - g->ranks[0] : 1;
}

/* Without a telling description: all ranks, or by stride as Megatron places
 * them, neighbours first. */
static void name_group(struct sc__arena *a,
                       struct sc__kineto_group *g,
                       const char *description,
                       uint32_t world) {
    const struct word *w = kineto_groups_word_of(description);
    g->told = w && w->label;
    if (g->told) {
        g->label = w->label;
        g->said = w->kind;
        return;
    }
    if (g->size == world) {
        g->label = "world";
        g->said = SC__GROUP_WORLD;
        return;
    }
    g->label = sc__format(a, "group of %u by %u", g->size, stride_of(g));
    g->said = stride_of(g) == 1 ? SC__GROUP_TP : SC__GROUP_DP;
}

/* The numbers of "[0, 1, 2]", up to `most`; how many there are. */
static uint32_t read_ranks(const char *text, uint32_t *ranks, uint32_t most) {
    uint32_t n = 0;
    for (const char *p = text; p && *p;) {
        if (*p < '0' || *p > '9') {
            p++;
            continue;
        }
        uint64_t v = 0;
        for (; *p >= '0' && *p <= '9'; p++)
            v = v < UINT32_MAX ? 10 * v + (uint64_t)(*p - '0') : v;
        if (n < most)
            ranks[n] = v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
        n++;
    }
    return n;
}

static int by_number(const void *a, const void *b) {
    const uint32_t *x = a;
    const uint32_t *y = b;
    return *x < *y ? -1 : *x > *y;
}

static bool names_one_twice(struct sc_context *ctx, const uint32_t *ranks, uint32_t n) {
    uint32_t *sorted = SC__NEW_ARRAY(&ctx->arena, uint32_t, n);
    memcpy(sorted, ranks, n * sizeof *ranks);
    qsort(sorted, n, sizeof *sorted, by_number);
    for (uint32_t i = 1; i < n; i++)
        if (sorted[i] == sorted[i - 1])
            return true;
    return false;
}

/* A list that is cut after 30 entries goes on as the first two do. */
static uint32_t *
member_list(struct sc_context *ctx, const char *file, const char *text, uint32_t size) {
    uint32_t *ranks = SC__NEW_ARRAY(&ctx->arena, uint32_t, size);
    uint32_t n = read_ranks(text, ranks, size);
    if (n < size)
        sc__note(ctx,
                 "kineto-ranks",
                 "%s: a process group of %u ranks names %u of them; the rest are assumed "
                 "to be equally spaced",
                 file,
                 size,
                 n);
    uint32_t first = n ? ranks[0] : 0;
    uint32_t stride = n > 1 && ranks[1] > first ? ranks[1] - first : 1;
    for (; n < size; n++)
        ranks[n] = first + n * stride;
    return ranks;
}

static sc_status check_group(struct sc_context *ctx,
                             const struct sc__kineto_trace *t,
                             const struct sc__kineto_group *g,
                             uint32_t world) {
    struct sc__place at = {.file = t->file};
    const char *text = g->text == SC__NO_NAME ? NULL : t->names.text[g->text];
    bool inside = false;
    if (read_ranks(text, NULL, 0) > g->size || names_one_twice(ctx, g->ranks, g->size))
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "\"Process Group Ranks\" has each rank once, as many as \"Group "
                        "size\" says",
                        "a process group of %u ranks names %.60s",
                        g->size,
                        text);
    for (uint32_t i = 0; i < g->size; i++) {
        if (g->ranks[i] >= world)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "a process group holds rank %u of a job of %u",
                            g->ranks[i],
                            world);
        inside = inside || g->ranks[i] == t->rank;
    }
    if (inside)
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    NULL,
                    "rank %u calls a collective of a group it is not in",
                    t->rank);
}

/* The ranks that groups name, each list once. */
struct named {
    uint32_t *ranks;
    uint32_t count;
    uint32_t size; /* of the group: more where the list is cut */
};

struct all_named {
    struct named *items;
    uint32_t count;
    uint32_t capacity;
};

static struct all_named name_all(struct sc__arena *a, const struct sc__kineto_trace *t) {
    struct all_named all = {0};
    struct sc__map seen;
    sc__map_init(&seen, a);
    for (uint32_t i = 0; i < t->comm_count; i++) {
        const struct sc__kineto_comm *c = &t->comms[i];
        bool fresh;
        sc__map_at(&seen, c->ranks, &fresh);
        if (!fresh || c->ranks == SC__NO_NAME)
            continue;
        const char *text = t->names.text[c->ranks];
        struct named g = {.count = read_ranks(text, NULL, 0), .size = c->group_size};
        g.ranks = SC__NEW_ARRAY(a, uint32_t, g.count + 1);
        read_ranks(text, g.ranks, g.count);
        *SC__PUSH(a, all.items, all.count, all.capacity) = g;
    }
    return all;
}

static bool holds(const struct named *g, uint32_t rank) {
    uint32_t i = 0;
    while (i < g->count && g->ranks[i] != rank)
        i++;
    return i < g->count;
}

static bool in_all(const struct all_named *all, uint32_t rank) {
    for (uint32_t i = 0; i < all->count; i++)
        if (all->items[i].count >= all->items[i].size && !holds(&all->items[i], rank))
            return false;
    return true;
}

/* The fewest ranks from `world` on that all groups fit in: each size divides them. */
static uint32_t world_of(const struct all_named *all, uint64_t world) {
    uint64_t step = 1;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct named *g = &all->items[i];
        uint64_t x = step;
        uint64_t y = g->size ? g->size : 1;
        while (y) {
            uint64_t rest = x % y;
            x = y;
            y = rest;
        }
        if (step / x * g->size <= SC__MOST_RANKS && g->size)
            step = step / x * g->size;
        for (uint32_t k = 0; k < g->count; k++)
            if (g->ranks[k] >= world && g->ranks[k] < SC__MOST_RANKS)
                world = g->ranks[k] + 1;
    }
    return (uint32_t)((world + step - 1) / step * step);
}

void sc__kineto_place(struct sc_context *ctx, struct sc__kineto_trace *t) {
    struct sc__arena a;
    sc__arena_init(&a);
    struct all_named all = name_all(&a, t);
    uint32_t largest = 0;
    for (uint32_t i = 0; i < t->comm_count; i++)
        if (t->comms[i].group_size > largest && t->comms[i].group_size < SC__MOST_RANKS)
            largest = t->comms[i].group_size;
    t->world = world_of(&all, largest);
    while (t->rank < t->world && !in_all(&all, t->rank))
        t->rank++;
    t->rank = t->rank < t->world ? t->rank : 0;
    sc__arena_free(&a);
    if (t->world > 1)
        sc__note(ctx,
                 "kineto-place",
                 "%s: the trace does not say its rank, nor of how many (distributedInfo): "
                 "rank %u of %u, as its process groups have it at least",
                 t->file,
                 t->rank,
                 t->world);
}

static uint64_t kineto_groups_key_of(const struct sc__kineto_comm *c) {
    uint32_t parts[3] = {c->ranks, c->description, c->group_size};
    return sc__hash(parts, sizeof parts, 0);
}

uint32_t sc__kineto_group_index(const struct sc__kineto_groups *groups,
                                const struct sc__kineto_comm *c) {
    const uint64_t *index = sc__map_find(&groups->at, kineto_groups_key_of(c));
    return index ? (uint32_t)*index : SC__NONE;
}

static sc_status add_group(struct sc_context *ctx,
                           const struct sc__kineto_trace *t,
                           const struct sc__kineto_comm *c,
                           uint32_t world,
                           struct sc__kineto_groups *out) {
    struct sc__place at = {.file = t->file};
    if (out->count == UINT16_MAX)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "more than 65535 process groups");
    struct sc__kineto_group g = {.text = c->ranks, .description = c->description};
    g.size = c->group_size ? c->group_size : world;
    if (g.size > world)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "a process group of %u ranks in a job of %u",
                        g.size,
                        world);
    g.ranks = member_list(ctx,
                          t->file,
                          c->ranks == SC__NO_NAME ? NULL : t->names.text[c->ranks],
                          g.size);
    SC__TRY(check_group(ctx, t, &g, world));
    name_group(&ctx->arena,
               &g,
               c->description == SC__NO_NAME ? NULL : t->names.text[c->description],
               world);
    g.kind = g.said;
    *sc__map_at(&out->at, kineto_groups_key_of(c), NULL) = out->count;
    *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = g;
    return SC_OK;
}

sc_status sc__kineto_find_groups(struct sc_context *ctx,
                                 const struct sc__kineto_trace *t,
                                 uint32_t world,
                                 struct sc__kineto_groups *out) {
    memset(out, 0, sizeof *out);
    sc__map_init(&out->at, &ctx->arena);
    for (uint32_t i = 0; i < t->comm_count; i++)
        if (t->comms[i].coll < SC__COLLS && !t->comms[i].by_name &&
            sc__kineto_group_index(out, &t->comms[i]) == SC__NONE)
            SC__TRY(add_group(ctx, t, &t->comms[i], world, out));
    return SC_OK;
}

/* Of the groups whose description says it, else of those that look so. */
static uint32_t size_of_kind(const struct sc__kineto_groups *groups,
                             enum sc__group_kind kind) {
    uint32_t size = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct sc__kineto_group *g = &groups->items[i];
        if (g->said == kind && g->told)
            return g->size;
        if (g->said == kind && !size)
            size = g->size;
    }
    return size;
}

static bool is_kind(const struct sc__mesh *m,
                    const struct sc__kineto_group *g,
                    uint32_t rank,
                    enum sc__group_kind kind) {
    if (sc__mesh_group_size(m, kind) != g->size)
        return false;
    for (uint32_t i = 0; i < g->size; i++)
        if (sc__mesh_group_member(m, kind, rank, i) != g->ranks[i])
            return false;
    return true;
}

/* Which of the mesh's groups it is: what its description says; those of gradients may be of
 * dp, dp × cp, or the shards of it; where nothing says it, its ranks do. */
static bool find_kind(const struct sc__mesh *m, struct sc__kineto_group *g, uint32_t rank) {
    static const enum sc__group_kind any[] = {SC__GROUP_TP,
                                              SC__GROUP_CP,
                                              SC__GROUP_EP,
                                              SC__GROUP_DP,
                                              SC__GROUP_DP_CP,
                                              SC__GROUP_SHARD,
                                              SC__GROUP_DP_EP,
                                              SC__GROUP_ETP,
                                              SC__GROUP_PP,
                                              SC__GROUP_EMBEDDING,
                                              SC__GROUP_STAGE,
                                              SC__GROUP_MODEL,
                                              SC__GROUP_WORLD};
    g->kind = g->said;
    if (is_kind(m, g, rank, g->said))
        return true;
    bool gradients = g->said == SC__GROUP_DP || g->said == SC__GROUP_REPLICA;
    for (unsigned i = 0; i < sizeof any / sizeof *any; i++)
        if ((!g->told ||
             (gradients && (any[i] == SC__GROUP_DP || any[i] == SC__GROUP_DP_CP ||
                            any[i] == SC__GROUP_SHARD))) &&
            is_kind(m, g, rank, any[i])) {
            g->kind = any[i];
            return true;
        }
    return false;
}

bool sc__kineto_groups_of_mesh(const struct sc__mesh *mesh,
                               struct sc__kineto_groups *groups,
                               uint32_t rank) {
    for (uint32_t i = 0; i < groups->count; i++)
        if (!find_kind(mesh, &groups->items[i], rank))
            return false;
    return true;
}

/* Where there are replicas, the smallest group of gradients is the one with shards, beside
 * those of all replicas together. */
static uint32_t shard_size(const struct sc__kineto_groups *groups) {
    uint32_t least = 0;
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct sc__kineto_group *g = &groups->items[i];
        bool shards = g->told && g->said == SC__GROUP_DP;
        if (shards && (!least || g->size < least))
            least = g->size;
    }
    return least;
}

/* Stage sizes from the groups seen; what is left over is data parallel, or
 * pipeline where the data-parallel size is known. */
static bool fit_mesh(struct sc__kineto_groups *groups,
                     uint32_t rank,
                     uint32_t world,
                     uint32_t dp,
                     struct sc__mesh *mesh) {
    uint32_t tp = size_of_kind(groups, SC__GROUP_TP);
    uint32_t cp = size_of_kind(groups, SC__GROUP_CP);
    uint32_t pp = size_of_kind(groups, SC__GROUP_PP);
    uint32_t ep = size_of_kind(groups, SC__GROUP_EP);
    tp = tp ? tp : 1;
    cp = cp ? cp : 1;
    if (!pp)
        pp = dp && (uint64_t)tp * cp * dp <= world ? world / (tp * cp * dp) : 1;
    if (!dp)
        dp = (uint64_t)tp * cp * pp <= world ? world / (tp * cp * pp) : 1;
    for (uint32_t etp = tp;; etp = 1) { /* experts may or may not be cut by tensors */
        *mesh = sc__mesh(tp, cp, ep ? ep : 1, dp, pp, etp);
        mesh->shard = size_of_kind(groups, SC__GROUP_REPLICA) ? shard_size(groups) : 0;
        bool fits =
            (uint64_t)tp * cp * dp * pp == world && (tp * cp * dp) % (mesh->ep * etp) == 0;
        if (fits && sc__kineto_groups_of_mesh(mesh, groups, rank))
            return true;
        if (etp == 1)
            return false;
    }
}

bool sc__kineto_mesh(struct sc__kineto_groups *groups,
                     uint32_t rank,
                     uint32_t world,
                     struct sc__mesh *mesh) {
    uint32_t dp = size_of_kind(groups, SC__GROUP_DP);
    uint32_t cp = size_of_kind(groups, SC__GROUP_CP);
    uint32_t replicas = size_of_kind(groups, SC__GROUP_REPLICA);
    uint32_t shard = shard_size(groups);
    if (replicas) /* HSDP: each of them has a shard group; DDP: they are all */
        dp = replicas * (shard && shard <= world / replicas ? shard : 1);
    return fit_mesh(groups, rank, world, dp, mesh) ||
           (cp > 1 && dp && dp % cp == 0 && fit_mesh(groups, rank, world, dp / cp, mesh));
}

static unsigned likeness(const struct sc__mesh *m, uint32_t rank, uint32_t of) {
    static const enum sc__dim dims[] = {SC__DIM_PP, SC__DIM_TP, SC__DIM_CP, SC__DIM_DP};
    unsigned score = 0;
    for (unsigned i = 0; i < SC__DIMS; i++)
        score = 2 * score + (sc__mesh_coordinate(m, rank, dims[i]) ==
                             sc__mesh_coordinate(m, of, dims[i]));
    return score;
}

sc_status sc__kineto_stand_in(struct sc_context *ctx,
                              const struct sc__mesh *mesh,
                              struct sc__kineto_trace *const *traces,
                              uint32_t count,
                              uint32_t *trace_of) {
    const unsigned own_stage = 1u << (SC__DIMS - 1);
    for (uint32_t rank = 0; rank < sc__mesh_ranks(mesh); rank++) {
        unsigned best = 0;
        for (uint32_t i = 0; i < count; i++) {
            unsigned score = likeness(mesh, rank, traces[i]->rank);
            if (score > best) {
                best = score;
                trace_of[rank] = i;
            }
        }
        struct sc__place at = {.file = traces[0]->file};
        if (best < own_stage)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "give at least one trace per stage, or a single trace",
                            "%u traces, but none of pipeline stage %u (such as rank %u)",
                            count,
                            sc__mesh_coordinate(mesh, rank, SC__DIM_PP),
                            rank);
    }
    return SC_OK;
}
