/* kernel_attention: attention in one kernel, forward and backward: flash, or for
 * elements of four bytes the memory-efficient one of PyTorch. Forward a tile of bq
 * queries walks over the keys, backward a tile of bk keys over the queries. The
 * GPU hands tiles to its SMs in the order of their numbers, head after head, as
 * SMs come free; the busiest SM decides the time. With a causal mask a tile's
 * walk is as long as its part of the triangle: forward the longest comes last
 * in a head, backward first. */
#include "hardware/kernel.h"
#include "hardware/kernel_model.h"

#include <math.h>

enum {
    WHOLE = 1000000, /* share of the blocks computed, in 1e-6 */
    /* Beyond these the schedule is not followed tile by tile: its tail is then
     * a vanishing part of the time. */
    LONGEST = 8192, /* steps of a walk */
    MOST = 1 << 22, /* tiles */
};

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return (a + b - 1) / b;
}

/* The tiles of one head. */
struct tiles {
    /* steps of a whole walk */
    uint64_t count;
    uint64_t longest;
    /* elements of a tile and of a step */
    uint64_t tile;
    uint64_t step;
    /* keys before the first query */
    uint64_t sq;
    uint64_t skv;
    uint64_t before;
    bool backward;
};

static struct tiles
kernel_attention_cut(const struct sc__kernel_key *key, uint64_t tile, bool backward) {
    struct tiles t = {.tile = tile,
                      .step = backward ? tile : 128,
                      .sq = key->size[3],
                      .skv = key->size[4]};
    t.before = t.skv > t.sq ? t.skv - t.sq : 0;
    t.count = ceil_div(backward ? t.skv : t.sq, tile);
    t.longest = ceil_div(backward ? t.sq : t.skv, t.step);
    t.backward = backward;
    return t;
}

/* Steps of tile i under a causal mask; the queries are the last sq of skv. A
 * query tile sees the keys up to its own end, a key tile the queries from its
 * own start. */
static uint64_t causal_walk(const struct tiles *t, uint64_t i) {
    uint64_t start = i * t->tile;
    uint64_t end = start + t->tile < t->sq ? start + t->tile : t->sq;
    if (!t->backward)
        return ceil_div(t->before + end < t->skv ? t->before + end : t->skv, t->step);
    start = start > t->before ? (start - t->before) / t->step : 0;
    return t->longest > start ? t->longest - start : 0;
}

/* Steps of all tiles of a head under a causal mask. Of very many tiles the mean
 * does: the last sq of skv queries leave out a triangle of sq²/2 of sq·skv. */
static double causal_steps(const struct tiles *t) {
    double steps = 0;
    if (t->count > 1 << 16)
        return (double)t->count * (double)t->longest *
               (1 - 0.5 * (double)(t->sq < t->skv ? t->sq : t->skv) / (double)t->skv);
    for (uint64_t i = 0; i < t->count; i++)
        steps += (double)causal_walk(t, i);
    return steps;
}

/* Steps of the busiest SM. SMs are counted by the step they come free at, none
 * later than the longest walk from now, so a ring of LONGEST + 1 counters is
 * enough. A round of as many heads as SMs gives each the steps of one head: all
 * rounds but the last two are added without following them. */
static double busiest(const struct tiles *t, uint64_t heads, uint64_t sms, double steps) {
    uint32_t idle[LONGEST + 1] = {0};
    uint64_t rounds = heads > 2 * sms ? heads / sms - 1 : 0;
    /* the step at which the next SM comes free */
    uint64_t now = 0;
    uint64_t last = 0;
    idle[0] = (uint32_t)sms;
    for (uint64_t h = rounds * sms; h < heads; h++)
        for (uint64_t i = 0; i < t->count; i++) {
            while (!idle[now % (LONGEST + 1)])
                now++;
            uint64_t end = now + causal_walk(t, i);
            idle[now % (LONGEST + 1)]--;
            idle[end % (LONGEST + 1)]++;
            if (end > last)
                last = end;
        }
    return (double)rounds * steps + (double)last;
}

struct kernel_attention_work {
    double tiles;    /* per SM */
    double steps;    /* per SM */
    double longest;  /* steps of the longest tile */
    double elements; /* 1e6, in all */
};

/* Steps of an SM: of the busiest, or the mean over all where the class knows
 * no schedule or a share is computed, which is balanced. */
static double sm_steps(const struct sc__gpu *gpu,
                       const struct tiles *t,
                       uint64_t heads,
                       uint64_t share,
                       bool scheduled) {
    double all = (double)heads * (double)t->count;
    double sms = (double)(uint64_t)gpu->sms;
    if (share == WHOLE && scheduled)
        return ceil(all / sms) * (double)t->longest;
    if (share)
        return all * (double)t->longest * (double)share * 1e-6 / gpu->sms;
    double steps = causal_steps(t);
    double tiles = fmin((double)heads, 2 * sms) * (double)t->count;
    if (!scheduled || t->longest > LONGEST || tiles > MOST)
        return (double)heads * steps / gpu->sms;
    return busiest(t, heads, (uint64_t)gpu->sms, steps);
}

static struct kernel_attention_work measure(const struct sc__gpu *gpu,
                                            const struct sc__kernel_key *key,
                                            const struct sc__attention_constants *a,
                                            bool backward) {
    bool scheduled = a->bk > 0;
    uint64_t heads = key->size[0] * key->size[1];
    uint64_t share = key->size[7];
    struct tiles t = kernel_attention_cut(key,
                                          (uint64_t)(backward && scheduled ? a->bk : a->bq),
                                          backward && scheduled);
    struct kernel_attention_work w = {.tiles = (double)heads * (double)t.count / gpu->sms};
    w.steps = sm_steps(gpu, &t, heads, share, scheduled);
    w.longest = share ? 0 : (double)ceil_div(key->size[4], 128); /* a share is balanced */
    w.elements = (double)heads * (double)key->size[3] * (double)key->size[5] * 1e-6;
    return w;
}

static bool is_wide(const struct sc__kernel_key *key) {
    return (key->dtype & 0xff) == SC__FP32;
}

/* Constants are fitted by head size, ascending: the first class that is large
 * enough; beyond the last its constants are used. */
const struct sc__attention_constants *
sc__attention_class(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    bool own = is_wide(key) && gpu->attention_fp32[0].head_dim > 0;
    const struct sc__attention_constants *a = own ? gpu->attention_fp32 : gpu->attention;
    const struct sc__attention_constants *last = a;
    double qk = (double)key->size[5];
    double v = (double)key->size[6];
    for (unsigned i = 0; i < SC__HEAD_CLASSES && a[i].head_dim > 0; i++) {
        if (qk <= a[i].head_dim && (!(a[i].v_dim > 0) || v <= a[i].v_dim))
            return &a[i];
        last = &a[i];
    }
    return last;
}

/* Heads that are no multiple of 8 elements: only the older kernel takes them, and every
 * operand is copied to a padded one and back. */
static bool is_padded(const struct sc__kernel_key *key) {
    return !is_wide(key) && (key->size[5] | key->size[6]) & 7;
}

/* Queries and output, or their gradients, and keys and values. */
static double padding_us(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    if (!is_padded(key))
        return 0;
    uint64_t queries = key->size[0] * key->size[1] * key->size[3];
    uint64_t keys = key->size[0] * key->size[2] * key->size[4];
    enum sc__memory_op copy = SC__MEM_COPY_STRIDED;
    return 2 * sc__memory_op_us(gpu, copy, SC__BF16, queries, key->size[5]) +
           2 * sc__memory_op_us(gpu, copy, SC__BF16, keys, key->size[5]);
}

/* A factor on forward or backward: that of an older kernel; or, for elements of
 * four bytes on a GPU without constants for them, as the peaks say. */
static double
kernel_factor(const struct sc__gpu *gpu, const struct sc__kernel_key *key, bool backward) {
    uint32_t software = key->dtype >> 8;
    if (is_padded(key) && software == SC__ATTENTION_CURRENT)
        software = SC__ATTENTION_FLASH2;
    if (!is_wide(key))
        return gpu->software[software][backward];
    if (gpu->attention_fp32[0].head_dim > 0 || !(gpu->peak[SC__FP32] > 0))
        return 1;
    return sc__gpu_main_peak(gpu) / gpu->peak[SC__FP32];
}

/* Heads larger than any class: their steps and tiles have so many times its FLOPs. */
static double beyond_class(const struct sc__attention_constants *a,
                           const struct sc__kernel_key *key) {
    double both = (double)(key->size[5] + key->size[6]);
    double known = a->head_dim + (a->v_dim > 0 ? a->v_dim : a->head_dim);
    return (double)key->size[5] > a->head_dim && both > known ? both / known : 1;
}

static double forward_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__attention_constants *a = sc__attention_class(gpu, key);
    const double *c = a->forward;
    struct kernel_attention_work w = measure(gpu, key, a, false);
    double wide = beyond_class(a, key);
    double us =
        c[0] + c[1] * wide * w.steps + c[2] * wide * w.tiles + c[3] * wide * w.longest;
    return us * kernel_factor(gpu, key, false) + padding_us(gpu, key);
}

static double backward_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__attention_constants *a = sc__attention_class(gpu, key);
    const double *c = a->backward;
    struct kernel_attention_work w = measure(gpu, key, a, true);
    /* Kernels of their own, by elements: row sums of dO·O and the conversion of
     * dQ; with grouped queries also the sum of dK and dV over a group's heads. */
    double element = c[4] + (key->size[1] != key->size[2] ? c[5] : 0);
    /* without a mask all tiles of a head add to the same rows of dQ at a time */
    double step = c[1] * (key->size[7] == WHOLE && a->whole > 0 ? a->whole : 1);
    double wide = beyond_class(a, key);
    double us = c[0] + step * wide * w.steps + c[2] * wide * w.tiles +
                c[3] * wide * w.longest + element * w.elements;
    return us * kernel_factor(gpu, key, true) + padding_us(gpu, key);
}

double sc__attention_cost(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    return key->what == SC__KERNEL_OP_ATTENTION_F ? forward_cost(gpu, key)
                                                  : backward_cost(gpu, key);
}

/* Causality is one number: 0 triangle, else the share computed in 1e-6. */
struct sc__kernel_key sc__attention_key(enum sc__kernel_op what,
                                        const struct sc__attention *a) {
    uint64_t skv = a->skv ? a->skv : a->sq;
    uint64_t share = WHOLE;
    if (a->share > 0)
        share = (uint64_t)llround(a->share * 1e6);
    else if (a->causal)
        share = 0;
    /* the kernel for four bytes is one and the same for every software */
    uint32_t type = a->wide ? SC__FP32 : SC__BF16 | (uint32_t)a->software << 8;
    return (struct sc__kernel_key){.what = what,
                                   .dtype = type,
                                   .size = {a->batch,
                                            a->heads,
                                            a->kv_heads,
                                            a->sq,
                                            skv,
                                            a->head_dim,
                                            a->v_dim ? a->v_dim : a->head_dim,
                                            share}};
}

/* Of sq × skv, for FLOPs: a triangle at the end of skv keys. */
static double computed_share(const struct sc__kernel_key *key) {
    double sq = (double)key->size[3];
    double skv = (double)key->size[4];
    if (key->size[7])
        return (double)key->size[7] * 1e-6;
    return skv > sq ? 1 - 0.5 * sq / skv : 0.5;
}

/* Kernels that read what is added to the scores (cuDNN's; docs/model/kernels.md). */
static double
masked_us(const struct sc__kernel_model *p, const struct sc__kernel_key *key, double us) {
    const struct sc__operator_constants *c = &p->operators;
    bool forward = key->what == SC__KERNEL_OP_ATTENTION_F;
    bool deep = key->size[5] > 64;
    double scores = (double)(key->size[0] * key->size[1]) * (double)key->size[3] *
                    (double)key->size[4] * 1e-6 * sc__operators_slower(c, p->gpu);
    if (key->size[5] > 128)
        return p->gpu->elementwise_t0 + scores * c->masked_widest[!forward];
    return forward ? us * c->masked_longer[deep] : us + scores * c->masked_more[deep];
}

static struct sc__kernel attention(struct sc__kernel_model *p,
                                   const struct sc__attention *a,
                                   enum sc__kernel_op what) {
    struct sc__kernel_key key = sc__attention_key(what, a);
    bool forward = what == SC__KERNEL_OP_ATTENTION_F;
    double heads = (double)(a->batch * a->heads);
    double sq = (double)a->sq;
    double skv = (double)key.size[4];
    /* Forward two GEMMs, QKᵀ over the head size and PV over the value size;
     * backward five: the scores again, dV, dP, dQ, dK. */
    double width = (double)(key.size[5] + key.size[6]);
    double times = forward ? 1 : 2.5;
    struct sc__kernel k = {.name = forward ? "attention" : "attention_b",
                           .kind = SC__KERNEL_ATTENTION,
                           .work = SC__WORK_ATTENTION,
                           .phase = forward ? SC__FORWARD : SC__BACKWARD};
    if (!(heads * sq * skv > 0))
        return k;
    k.us = sc__kernel_us(p, &key, &k.measured);
    if (a->masked && !a->wide && !k.measured)
        k.us = masked_us(p, &key, k.us);
    k.flop = k.effort = times * 2 * heads * sq * skv * width * computed_share(&key);
    /* an older kernel spends more instructions, and so more energy, on a FLOP: H200 held at
     * 500 to 700 W */
    if (a->wide)
        k.effort *= sc__flop_energy(p->gpu, SC__FP32);
    else
        k.effort *= pow(p->gpu->software[a->software][forward ? 0 : 1], 0.4);
    k.bytes = times * (a->wide ? 4 : 2) * heads * (sq + skv) * width;
    k.launches = p->gpu->launches[SC__KERNEL_ATTENTION];
    return k;
}

struct sc__kernel sc__attention_forward(struct sc__kernel_model *p,
                                        const struct sc__attention *a) {
    return attention(p, a, SC__KERNEL_OP_ATTENTION_F);
}

struct sc__kernel sc__attention_backward(struct sc__kernel_model *p,
                                         const struct sc__attention *a) {
    return attention(p, a, SC__KERNEL_OP_ATTENTION_B);
}
