#include "network/placed_jobs.h"
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#define REPORTED 64u /* links in a report */

void sc__placed_init(struct sc__placed_jobs *p,
                     struct sc_context *ctx,
                     const struct sc__cluster *cluster) {
    *p = (struct sc__placed_jobs){.ctx = ctx, .arena = &ctx->arena, .cluster = cluster};
    p->open = *cluster;
    p->open.fabric.oversubscription = 1;
    p->open.fabric.pod_oversubscription = 1;
    p->open.fabric.spines = 0;
    p->open.fabric.cores = 0;
    if (cluster->fabric.kind == SC__FABRIC_DRAGONFLY)
        p->open.fabric.kind = SC__FABRIC_NONE;
    sc__map_init(&p->shapes, p->arena);
}

/* Ranks fill nodes in order, or as a rank file says; the job's nodes are
 * `stride` apart. */
static uint32_t
gpu_of(const struct sc__placed_jobs *p, const struct sc__placed_job *j, uint32_t rank) {
    uint32_t size = p->cluster->node_gpus;
    uint32_t gpu = sc__cluster_gpu(p->cluster, rank);
    return (j->at.node + gpu / size * j->at.stride) * size + gpu % size;
}

uint32_t sc__placed_gpu(const struct sc__placed_jobs *p,
                        const struct sc_transfer *t,
                        uint32_t rank) {
    return gpu_of(p, &p->items[t->job], rank);
}

static void sort_classes(struct sc__arena *arena, struct sc__placed_job *j) {
    uint32_t ranks = sc__mesh_ranks(&j->w->mesh);
    uint32_t classes = j->w->class_count;
    j->class_first = SC__NEW_ARRAY(arena, uint32_t, classes + 2);
    j->class_ranks = SC__NEW_ARRAY(arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        j->class_first[sc__workload_class_of(j->w, r) + 2]++;
    for (uint32_t c = 2; c < classes + 2; c++)
        j->class_first[c] += j->class_first[c - 1];
    for (uint32_t r = 0; r < ranks; r++)
        j->class_ranks[j->class_first[sc__workload_class_of(j->w, r) + 1]++] = r;
}

/* The highest GPU that a job of so many ranks takes from node 0 on. */
static uint64_t last_gpu(const struct sc__cluster *c, uint64_t ranks) {
    uint64_t last = ranks - 1;
    for (uint64_t r = 0; r < ranks && c->gpu_of; r++)
        if (sc__cluster_gpu(c, (uint32_t)r) > last)
            last = sc__cluster_gpu(c, (uint32_t)r);
    return last;
}

/* Jobs share links; nothing here says how they would share a GPU. */
static sc_status take_gpus(struct sc__placed_jobs *p, const struct sc__placed_job *j) {
    uint32_t ranks = sc__mesh_ranks(&j->w->mesh);
    if (!p->owner)
        p->owner = SC__NEW_ARRAY(p->arena, uint32_t, p->cluster->gpus);
    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t gpu = gpu_of(p, j, r);
        if (p->owner[gpu] && p->owner[gpu] != p->count)
            return sc__fail(p->ctx,
                            SC_INPUT,
                            NULL,
                            "give every job nodes of its own",
                            "jobs %u and %u are both on node %u",
                            p->owner[gpu],
                            p->count,
                            gpu / p->cluster->node_gpus);
        p->owner[gpu] = p->count;
    }
    return SC_OK;
}

sc_status sc__placed_add(struct sc__placed_jobs *p,
                         const struct sc__workload *w,
                         struct sc__place_at at) {
    uint64_t ranks = sc__mesh_ranks(&w->mesh);
    uint64_t size = p->cluster->node_gpus;
    uint64_t gpu = last_gpu(p->cluster, ranks);
    uint64_t last = at.node + gpu / size * at.stride;
    if (last * size + gpu % size >= p->cluster->gpus)
        return sc__fail(
            p->ctx,
            SC_INPUT,
            NULL,
            "name a larger cluster, place the job elsewhere, or give its size with --gpus: "
            "without it each job takes the whole cluster",
            "a job of %llu ranks from node %u on, every %u, does not fit on %u GPUs",
            (unsigned long long)ranks,
            at.node,
            at.stride,
            p->cluster->gpus);
    struct sc__placed_job *j = SC__PUSH(p->arena, p->items, p->count, p->capacity);
    *j = (struct sc__placed_job){.w = w, .at = at};
    sort_classes(p->arena, j);
    return take_gpus(p, j);
}

const struct sc__workload *sc__placed_only(struct sc_context *ctx, uint32_t gpus) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "collective");
    w->mesh = sc__mesh(1, 1, 1, gpus, 1, 1);
    sc__workload_group(w, SC__GROUP_DP);
    sc__class_add(w, sc__program_begin(w), 0, gpus, 0);
    return w;
}

struct sc_transfer
sc__placed_only_transfer(const struct sc__placed_jobs *p, int coll, uint64_t bytes) {
    struct sc_transfer t = {.coll = (uint8_t)coll, .bytes = bytes};
    if (coll == SC__COLLS)
        t.peer = sc__mesh_ranks(&p->items[0].w->mesh) - 1;
    return t;
}

/* The GPU that gathers or scatters in the group: where the mesh has several of
 * the kind, the first member of those the root is not in. */
static uint32_t root_of(const struct sc__placed_jobs *p,
                        const struct sc_transfer *t,
                        const uint32_t *gpu,
                        uint32_t count) {
    const struct sc__placed_job *j = &p->items[t->job];
    uint32_t root = t->peer < sc__mesh_ranks(&j->w->mesh) ? gpu_of(p, j, t->peer) : gpu[0];
    return bsearch(&root, gpu, count, sizeof *gpu, sc__compare_u32) ? root : gpu[0];
}

struct sc__placed_group
sc__placed_group(struct sc__placed_jobs *p, const struct sc_transfer *t, uint32_t rank) {
    const struct sc__placed_job *j = &p->items[t->job];
    struct sc__placed_group g = {.count = sc__group_size(j->w, t->group)};
    bool sorted = true;
    g.gpu = SC__NEW_ARRAY(p->arena, uint32_t, g.count);
    for (uint32_t i = 0; i < g.count; i++) {
        g.gpu[i] = gpu_of(p, j, sc__group_member(j->w, t->group, rank, i));
        if (i && g.gpu[i] < g.gpu[i - 1])
            sorted = false;
    }
    bool to_next = t->coll == SC__SHIFT || t->coll == SC__COLLS;
    if (!sorted && !to_next) /* libraries go round nodes, whatever the order of ranks */
        qsort(g.gpu, g.count, sizeof *g.gpu, sc__compare_u32);
    g.root = root_of(p, t, g.gpu, g.count);
    return g;
}

sc_status sc__placed_groups(struct sc__placed_jobs *p,
                            const struct sc_transfer *t,
                            sc__placed_each *each,
                            void *self) {
    const struct sc__placed_job *j = &p->items[t->job];
    struct sc__map done;
    sc__map_init(&done, p->arena);
    for (uint32_t i = j->class_first[t->class]; i < j->class_first[t->class + 1]; i++) {
        bool fresh;
        uint32_t rank =
            j->w->groups[t->group].kind == SC__GROUP_LIST ? t->rank : j->class_ranks[i];
        sc__map_at(&done, sc__group_member(j->w, t->group, rank, 0), &fresh);
        if (!fresh)
            continue;
        struct sc__placed_group g = sc__placed_group(p, t, rank);
        SC__TRY(each(self, &g));
    }
    return SC_OK;
}

/* The peer of another rank of the class: the same move on the mesh. */
static uint32_t
peer_of(const struct sc__workload *w, const struct sc_transfer *t, uint32_t rank) {
    uint32_t peer = rank;
    if (rank == t->rank)
        return t->peer;
    for (unsigned d = 0; d < SC__DIMS; d++) {
        uint32_t to = sc__mesh_coordinate(&w->mesh, t->peer, d);
        if (to != sc__mesh_coordinate(&w->mesh, t->rank, d))
            peer = sc__mesh_move(&w->mesh, peer, d, to);
    }
    return peer;
}

sc_status sc__placed_messages(struct sc__placed_jobs *p,
                              const struct sc_transfer *t,
                              sc__placed_each_message *each,
                              void *self) {
    const struct sc__placed_job *j = &p->items[t->job];
    for (uint32_t i = j->class_first[t->class]; i < j->class_first[t->class + 1]; i++) {
        uint32_t rank = j->class_ranks[i];
        uint32_t peer =
            j->around ? (rank + 1) % sc__mesh_ranks(&j->w->mesh) : peer_of(j->w, t, rank);
        SC__TRY(each(self, gpu_of(p, j, rank), gpu_of(p, j, peer)));
    }
    return SC_OK;
}

uint64_t sc__placed_whom(const struct sc_transfer *t) {
    if (t->coll == SC__COLLS)
        return (uint64_t)t->rank << 32 | t->peer;
    return sc__coll_rooted(t->coll) ? (uint64_t)t->peer << 32 | t->group : t->group;
}

/* ---- what the collective model says ---- */

/* Groups of the kind that lie on the leaf or pod of the transfer's rank: which
 * algorithm is best depends on what they leave of its uplinks. */
static uint32_t groups_on_part(const struct sc__placed_jobs *p,
                               enum sc__level level,
                               const struct sc_transfer *t) {
    const struct sc__placed_job *j = &p->items[t->job];
    uint32_t width =
        (uint32_t)sc__fabric_part_nodes(p->cluster, level) * p->cluster->node_gpus;
    uint32_t count = 0;
    struct sc__map seen;
    sc__map_init(&seen, p->arena);
    for (uint32_t i = j->class_first[t->class]; i < j->class_first[t->class + 1]; i++) {
        uint32_t rank = j->class_ranks[i];
        bool fresh = false;
        if (gpu_of(p, j, rank) / width == gpu_of(p, j, t->rank) / width)
            sc__map_at(&seen, sc__group_member(j->w, t->group, rank, 0), &fresh);
        count += fresh;
    }
    return count;
}

static const struct sc__shape *shape_of(struct sc__placed_jobs *p,
                                        const struct sc_transfer *t) {
    bool fresh;
    uint64_t key[2] = {(uint64_t)t->job << 32 | t->class, t->group};
    uint64_t *slot = sc__map_at(&p->shapes, sc__hash(key, sizeof key, 2), &fresh);
    if (fresh) {
        struct sc__shape *s = SC__NEW(p->arena, struct sc__shape);
        struct sc__placed_group g = sc__placed_group(p, t, t->rank);
        *s = sc__cluster_shape(p->cluster, g.gpu, g.count);
        if (s->leaves > 1)
            s->sharing_up[SC__LEAF] = groups_on_part(p, SC__LEAF, t);
        if (s->pods > 1)
            s->sharing_up[SC__POD] = groups_on_part(p, SC__POD, t);
        *slot = (uintptr_t)s;
    }
    return (const struct sc__shape *)(uintptr_t)*slot;
}

/* Of a message of a step, whose communicator has two ranks; of a benchmark's, which has
 * all. */
static struct sc__coll_cost message_model_time(struct sc__placed_jobs *p,
                                               const struct sc_transfer *t) {
    if (p->items[t->job].around)
        return sc__collective_cost(&p->open, SC__SHIFT, shape_of(p, t), t->bytes);
    uint32_t from = sc__placed_gpu(p, t, t->rank);
    uint32_t to = sc__placed_gpu(p, t, t->peer);
    return (struct sc__coll_cost){
        .time = sc__message_time_between(&p->open, from, to, t->bytes),
        .latency = sc__message_time_between(&p->open, from, to, 0),
        .algo = SC__ALGO_DIRECT};
}

struct sc__coll_cost sc__placed_model_time(struct sc__placed_jobs *p,
                                           const struct sc_transfer *t) {
    if (t->coll == SC__COLLS)
        return message_model_time(p, t);
    const struct sc__shape *s = shape_of(p, t);
    struct sc__tuning tuning = p->open.tuning;
    struct sc__coll_cost chosen = sc__collective_cost(p->cluster, t->coll, s, t->bytes);
    p->open.tuning.algo = chosen.algo;
    p->open.tuning.protocols = 0;
    if (chosen.proto)
        p->open.tuning.protocols = SC__PROTO_BIT(chosen.proto);
    struct sc__coll_cost cost = sc__collective_cost(&p->open, t->coll, s, t->bytes);
    p->open.tuning = tuning;
    return cost;
}

static uint64_t port_of(const struct sc_transfer *t, uint32_t class) {
    return (uint64_t)t->job << 32 | class;
}

void sc__placed_claims(const struct sc_transfer *t, bool sends, struct sc_claims *out) {
    out->count = 0;
    if (sends)
        out->list[out->count++] = (struct sc_claim){port_of(t, t->class), 1};
    if (t->coll == SC__COLLS && t->peer_class != t->class)
        out->list[out->count++] = (struct sc_claim){port_of(t, t->peer_class), 1};
}

static int compare_use(const void *a, const void *b) {
    const struct sc_link_use *x = a;
    const struct sc_link_use *y = b;
    if (x->busy_share != y->busy_share)
        return x->busy_share < y->busy_share ? 1 : -1;
    return strcmp(x->name, y->name);
}

void sc__placed_link_use(struct sc_link_use *use,
                         uint32_t count,
                         int64_t step,
                         void (*add)(void *to, const struct sc_link_use *use),
                         void *to) {
    for (uint32_t i = 0; i < count && step > 0; i++)
        use[i].busy_share = use[i].bytes / use[i].capacity / ((double)step * 1e-12);
    qsort(use, count, sizeof *use, compare_use);
    for (uint32_t i = 0; i < count && i < REPORTED; i++)
        add(to, &use[i]);
}
