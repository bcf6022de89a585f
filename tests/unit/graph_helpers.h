/* For tests of formats that hold graphs: random workloads, and whether two
 * expanded workloads are the same. */
#ifndef GRAPH_HELPERS_H
#define GRAPH_HELPERS_H

#include "test.h"

#include "base/base.h"
#include "command/job.h"
#include "workload/expand.h"
#include "workload/match.h"

static inline uint32_t pick(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}

static inline void random_collective(struct sc__workload *w, uint64_t *seed) {
    static const enum sc__group_kind kinds[] = {SC__GROUP_TP, SC__GROUP_DP};
    struct sc__op *op = sc__block_add(w,
                                      SC__OP_COLLECTIVE,
                                      pick(seed, SC__PHASES),
                                      1 + (uint8_t)pick(seed, 2),
                                      "coll");
    op->coll = (uint8_t)pick(seed, SC__COLLS);
    if (sc__coll_rooted(op->coll))
        op->peer = 0;
    op->group = sc__workload_group(w, kinds[pick(seed, 2)]);
    op->bytes = 64 * (uint64_t)(1 + pick(seed, 100000));
    op->cost = pick(seed, 4) ? 0 : 1000 * (int64_t)pick(seed, 5000);
    op->after = (uint16_t)pick(seed, 8);
}

static inline void random_ops(struct sc__workload *w, uint64_t *seed, uint32_t count) {
    static const char *const names[] = {"mlp", "attention", "norm", "a name with blanks"};
    uint32_t first = w->op_count;
    for (uint32_t i = 0; i < count; i++) {
        if (pick(seed, 3) == 0)
            random_collective(w, seed);
        else {
            struct sc__op *op = sc__block_add(w,
                                              pick(seed, 6) ? SC__OP_COMPUTE : SC__OP_WAIT,
                                              pick(seed, SC__PHASES),
                                              (uint8_t)pick(seed, 3),
                                              names[pick(seed, 4)]);
            if (op->kind == SC__OP_COMPUTE)
                op->cost = 1000 * (int64_t)pick(seed, 1000000);
            op->work = (uint8_t)(op->kind == SC__OP_COMPUTE ? pick(seed, SC__WORKS) : 0);
            op->layer = pick(seed, 2) ? pick(seed, 50) : SC__NONE;
            op->after = (uint16_t)pick(seed, 8);
        }
        uint32_t here = w->op_count - 1 - first;
        if (here && !pick(seed, 4))
            sc__block_depend(w, pick(seed, here));
    }
}

/* A pipeline of stages; every micro-batch comes in from the stage before and
 * goes out to the next, with random work between. */
static inline struct sc__workload *random_workload(struct sc_context *ctx, uint64_t seed) {
    struct sc__workload *w = sc__workload_new(&ctx->arena, "random");
    uint32_t pp = 1 + pick(&seed, 3), calls = 1 + pick(&seed, 3);
    w->mesh = sc__mesh(1u << pick(&seed, 3), 1, 1, 1 + pick(&seed, 3), pp, 0);
    uint32_t ranks = w->mesh.tp * w->mesh.dp;
    for (uint32_t s = 0; s < pp; s++) {
        sc__block_begin(w);
        random_ops(w, &seed, 1 + pick(&seed, 12));
        if (s) {
            struct sc__op *op = sc__block_add(w, SC__OP_RECV, SC__FORWARD, 3, "recv");
            op->flags = SC__OP_PEER_PREV;
            op->bytes = 4096;
            op->tag = 7;
        }
        if (s + 1 < pp) {
            struct sc__op *op = sc__block_add(w, SC__OP_SEND, SC__FORWARD, 4, "send");
            op->flags = SC__OP_PEER_NEXT | (pick(&seed, 2) ? SC__OP_EAGER : 0);
            op->bytes = 4096;
            op->tag = 7;
            op->after = 1;
        }
        uint32_t block = sc__block_end(w), program = sc__program_begin(w);
        for (uint32_t c = 0; c < calls; c++)
            sc__program_call(w, block, c, 0, 10 * c);
        sc__class_add(w, program, s * ranks, ranks, s);
    }
    return w;
}

static inline void same_ranks(const struct sc__workload *x,
                              uint16_t gx,
                              const struct sc__workload *y,
                              uint16_t gy) {
    assert_int_equal(sc__group_size(x, gx), sc__group_size(y, gy));
    for (uint32_t i = 0; i < sc__group_size(x, gx); i++)
        assert_int_equal(sc__group_member(x, gx, 0, i), sc__group_member(y, gy, 0, i));
}

/* What every format must keep. */
static inline void same_op(const struct sc__workload *x,
                           const struct sc__op *a,
                           const struct sc__workload *y,
                           const struct sc__op *b) {
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->stream, b->stream);
    assert_int_equal(a->cost, b->cost);
    if (a->kind != SC__OP_COMPUTE)
        assert_int_equal(a->bytes, b->bytes);
    if (a->kind == SC__OP_SEND || a->kind == SC__OP_RECV) {
        assert_int_equal(a->peer, b->peer);
        assert_int_equal(a->tag, b->tag);
    }
    if (a->kind == SC__OP_COLLECTIVE) {
        assert_int_equal(a->coll, b->coll);
        same_ranks(x, a->group, y, b->group);
    }
    assert_int_equal(a->deps, b->deps);
    for (uint32_t d = 0; d < a->deps; d++) {
        bool found = false;
        for (uint32_t e = 0; e < b->deps; e++)
            found |= x->deps[a->first_dep + d] == y->deps[b->first_dep + e];
        assert_true(found);
    }
}

static inline void same_workload(const struct sc__workload *x,
                                 const struct sc__workload *y) {
    assert_int_equal(sc__mesh_ranks(&x->mesh), sc__mesh_ranks(&y->mesh));
    assert_int_equal(x->op_count, y->op_count);
    for (uint32_t r = 0; r < sc__mesh_ranks(&x->mesh); r++) {
        const struct sc__block *a = sc__rank_block(x, r), *b = sc__rank_block(y, r);
        assert_int_equal(a->ops, b->ops);
        for (uint32_t i = 0; i < a->ops; i++)
            same_op(x, &x->ops[a->first_op + i], y, &y->ops[b->first_op + i]);
    }
}

static inline char *temporary_directory(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/stepcast_dir_XXXXXX");
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void remove_directory(const char *path) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    assert_int_equal(system(command), 0);
}

/* The seed documents as jobs, small enough to be expanded to single ranks in a
 * test: name, then options and values. */
static const char *const seed_jobs[][8] = {
    {"seed_000.txt", "dp", "4"},
    {"seed_001.txt", "dp", "2"},
    {"seed_002.txt", "tp", "1", "pp", "2", "dp", "2"},
    {"seed_003.txt", "gpus", "128"},
    {"seed_004.txt", "gpus", "32"}};
#define SEED_JOBS (sizeof seed_jobs / sizeof *seed_jobs)

static inline const struct sc__workload *seed_workload(struct sc_context *ctx, unsigned i) {
    sc_request *req = sc_request_new(ctx, "run");
    struct sc__job *job = SC__NEW(&ctx->arena, struct sc__job);
    sc_request_input(req, sc__format(&ctx->arena, "tests/data/%s", seed_jobs[i][0]));
    sc_status s = SC_OK;
    for (unsigned k = 1; seed_jobs[i][k] && s == SC_OK; k += 2)
        s = sc_request_set(req, seed_jobs[i][k], seed_jobs[i][k + 1]);
    if (s != SC_OK || sc__job_load(req, job) != SC_OK)
        fail_msg("%s: %s", seed_jobs[i][0], sc_error_text(ctx));
    return job->workload;
}

#define OK(ctx, call)                                                                      \
    do {                                                                                   \
        if ((call) != SC_OK)                                                               \
            fail_msg("%s", sc_error_text(ctx));                                            \
    } while (0)

#endif
