/* Random workloads of graph blocks, and what a slow simulator of them keeps. */
#ifndef SC_TESTS_RANDOM_GRAPH_H
#define SC_TESTS_RANDOM_GRAPH_H

#include "test.h"

#include "oracle_net.h"
#include "simulate/simulate.h"
#include "workload/match.h"

enum { RANKS = 6, EACH = 40, OPS = 2 * RANKS * EACH, STREAMS = 3, GROUPS = 4 };

static struct sc_context *ctx;

struct one { /* an operation */
    const struct sc__op *op;
    uint32_t rank;
    bool begun;
    bool queued;
    bool runs;
    bool posted;
    bool held;
    bool flies;
    bool arrived;
    bool here;
    bool after;
    bool done;
    int64_t ready;
    int64_t until;
    int64_t start;
    int64_t met;
    int64_t end;
    int64_t lands;  /* a message whose cost is given; -1: the network says */
    uint32_t match; /* partner, or number of the meeting */
};

struct meeting {
    uint32_t group;
    uint32_t came;
    bool flies;
    bool over;
    int64_t until;   /* of a measured one */
    int64_t line_up; /* when the last came */
};

struct slow {
    const struct sc__workload *w;
    struct oracle_net net;
    bool loads;
    bool slots;
    bool any;
    bool tie; /* two came to a line at the same time: either order is right */
    int64_t now;
    int64_t last_any;
    struct one one[OPS];
    uint32_t count;
    uint32_t first[RANKS + 1];
    bool lane[RANKS][STREAMS]; /* busy */
    struct meeting meeting[OPS];
    uint32_t meetings;
    /* complete meetings in order */
    uint32_t line[OPS];
    uint32_t line_count;
    /* of those who take from anyone */
    uint32_t landed[OPS];
    uint32_t landed_count;
    uint32_t posts[OPS];
    uint32_t post_count;
    struct sc__class_result rank[RANKS];
    int64_t exposed[RANKS];
    int64_t busy[RANKS][GROUPS + 1];
};

static uint32_t pick(uint64_t *seed, uint32_t n) {
    return (uint32_t)(sc__random(seed) % n);
}
static bool chance(uint64_t *seed, uint32_t percent) {
    return pick(seed, 100) < percent;
}

/* What a message costs the processors. */
static sc_status charge(void *self, uint64_t bytes, struct sc_overhead *out) {
    (void)self;
    *out = (struct sc_overhead){.send = 700, .recv = 900, .rendezvous = bytes > 30000};
    out->asking = out->rendezvous ? 1100 : 0;
    return SC_OK;
}

static const struct sc_engine charging_ops = {.name = "charging",
                                              .alone = oracle_alone,
                                              .start = oracle_start,
                                              .next = oracle_next,
                                              .finish = oracle_finish,
                                              .overhead = charge};

static bool never_inside(const void *self, uint32_t class, uint32_t group) {
    (void)self;
    (void)class;
    (void)group;
    return false;
}

/* ---- random graphs ---- */

struct plan {
    uint64_t seed;
    struct sc__workload *w;
    uint32_t ranks;
    bool slots;
    bool any;
};

static void random_groups(struct plan *p) {
    for (uint32_t g = 0; g < GROUPS; g++) {
        uint32_t list[RANKS];
        uint32_t n = 0;
        for (uint32_t r = 0; r < p->ranks; r++)
            if (g == 0 || chance(&p->seed, 60))
                list[n++] = r;
        if (!n)
            list[n++] = 0;
        sc__workload_group_list(p->w, sc__format(&ctx->arena, "g%u", g), list, n);
    }
}

struct happening {
    /* 0 compute, 1 wait, 2 collective, 3 message */
    uint32_t kind;
    uint32_t a;
    uint32_t b;
    uint16_t group;
    uint64_t bytes;
    int64_t cost;
    uint8_t flags;
    uint32_t tag;
};

static bool takes_part(const struct plan *p, const struct happening *h, uint32_t rank) {
    if (h->kind == 3)
        return rank == h->a || rank == h->b;
    if (h->kind != 2)
        return rank == h->a;
    for (uint32_t i = 0; i < p->w->groups[h->group].count; i++)
        if (p->w->groups[h->group].ranks[i] == rank)
            return true;
    return false;
}

static struct happening random_happening(struct plan *p) {
    struct happening h = {.a = pick(&p->seed, p->ranks),
                          .bytes = 1 + pick(&p->seed, 60000)};
    uint32_t what = pick(&p->seed, 100);
    h.b = (h.a + 1 + pick(&p->seed, p->ranks - 1)) % p->ranks;
    h.kind = what < 45 ? 0 : what < 55 ? 1 : what < 75 ? 2 : 3;
    h.group = h.kind == 2 ? (uint16_t)pick(&p->seed, GROUPS) : 0;
    h.cost = h.kind == 0 || chance(&p->seed, 25) ? 1 + pick(&p->seed, 60000) : 0;
    if (h.kind == 2 && h.group == 3) {
        h.flags = SC__OP_MEASURED;
        h.cost = 1 + pick(&p->seed, 60000);
    }
    if (h.kind == 3)
        h.flags = chance(&p->seed, 50) ? SC__OP_EAGER : 0;
    if (h.kind == 3 && chance(&p->seed, 20)) {
        h.flags |= SC__OP_MEASURED;
        h.cost = 1 + pick(&p->seed, 60000);
    }
    h.tag = pick(&p->seed, 2);
    return h;
}

/* What comes in a line gets there at a time of its own: compute before it. */
static void keep_apart(struct plan *p) {
    struct sc__op *op = sc__block_add(p->w,
                                      SC__OP_COMPUTE,
                                      SC__FORWARD,
                                      (uint8_t)pick(&p->seed, STREAMS),
                                      "apart");
    op->cost = 1 + pick(&p->seed, 60000);
}

static void
add_op(struct plan *p, const struct happening *h, uint32_t rank, uint32_t first) {
    enum sc__op_kind kind = h->kind == 0   ? SC__OP_COMPUTE
                            : h->kind == 1 ? SC__OP_WAIT
                            : h->kind == 2 ? SC__OP_COLLECTIVE
                            : rank == h->a ? SC__OP_SEND
                                           : SC__OP_RECV;
    bool lines_up = kind == SC__OP_COLLECTIVE || (kind == SC__OP_RECV && p->any);
    if (lines_up)
        keep_apart(p);
    struct sc__op *op = sc__block_add(p->w,
                                      kind,
                                      chance(&p->seed, 80) ? SC__FORWARD : SC__RECOMPUTE,
                                      (uint8_t)pick(&p->seed, STREAMS),
                                      "op");
    op->work = (uint8_t)(kind == SC__OP_COMPUTE ? pick(&p->seed, SC__WORKS) : 0);
    op->group = h->kind == 2 ? h->group : 0;
    op->bytes = h->kind >= 2 ? h->bytes : 0;
    op->cost = h->kind == 1 ? 0 : h->cost;
    op->flags = h->flags;
    op->peer = h->kind == 3 ? (rank == h->a ? h->b : h->a) : SC__NONE;
    op->tag = h->tag;
    if (kind == SC__OP_RECV && p->any && rank == 0)
        op->flags |= chance(&p->seed, 50) ? SC__OP_ANY_PEER : SC__OP_ANY_TAG;
    uint32_t here = p->w->op_count - 1 - first;
    if (lines_up)
        sc__block_depend(p->w, here - 1);
    for (uint32_t d = 0; here && d < 3; d++)
        if (chance(&p->seed, 35))
            sc__block_depend(p->w,
                             pick(&p->seed, here) |
                                 (chance(&p->seed, 20) ? SC__DEP_START : 0));
}

static void make_plan(struct plan *p, uint64_t seed) {
    struct happening h[EACH];
    *p = (struct plan){.seed = seed};
    uint32_t n = 2 + pick(&p->seed, EACH - 2);
    uint32_t meetings;
    struct sc__mismatch bad;
    p->w = sc__workload_new(&ctx->arena, "random");
    p->ranks = 2 + pick(&p->seed, RANKS - 1);
    p->slots = chance(&p->seed, 25);
    p->any = chance(&p->seed, 20);
    p->w->mesh = sc__mesh(1, 1, 1, p->ranks, 1, 0);
    p->w->rank_class = SC__NEW_ARRAY(&ctx->arena, uint32_t, p->ranks);
    random_groups(p);
    for (uint32_t i = 0; i < n; i++)
        h[i] = random_happening(p);
    for (uint32_t r = 0; r < p->ranks; r++) {
        uint32_t first = p->w->op_count;
        p->w->rank_class[r] = r;
        sc__block_begin(p->w);
        for (uint32_t i = 0; i < n; i++)
            if (takes_part(p, &h[i], r))
                add_op(p, &h[i], r, first);
        uint32_t block = sc__block_end(p->w);
        uint32_t program = sc__program_begin(p->w);
        p->w->blocks[block].graph = true;
        p->w->blocks[block].slots = p->slots;
        sc__program_call(p->w, block, SC__NONE, 0, 0);
        sc__class_add(p->w, program, r, 1, 0);
    }
    if (!sc__workload_match(p->w, true, &meetings, &bad))
        fail_msg("seed %llu: no match", (unsigned long long)seed);
}

#endif
