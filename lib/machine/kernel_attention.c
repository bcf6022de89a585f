/* kernel_attention: flash attention, forward and backward. A tile of bq
 * queries walks over the keys in steps of 128; the steps of all tiles, spread
 * over the SMs, decide the time. */
#include "machine/kernel.h"
#include "machine/kernel_price.h"

#include <math.h>

enum { WHOLE = 1000000 }; /* share of the blocks computed, in 1e-6 */

static uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

/* Steps of one head: tile i of the queries, the last sq of skv, sees the keys
 * up to its own end. Of very many tiles the mean does. */
static double causal_steps(uint64_t sq, uint64_t skv, uint64_t bq) {
    uint64_t tiles = ceil_div(sq, bq), before = skv > sq ? skv - sq : 0;
    double steps = 0;
    if (tiles > 1 << 16) return (double)tiles * ((double)before + 0.5 * (double)(sq < skv ? sq : skv)) / 128;
    for (uint64_t i = 0; i < tiles; i++) {
        uint64_t end = (i + 1) * bq < sq ? (i + 1) * bq : sq;
        steps += (double)ceil_div(before + end < skv ? before + end : skv, 128);
    }
    return steps;
}

struct work {
    double tiles, steps, longest, elements; /* per SM; of the longest tile; 1e6 in all */
};

static struct work measure(const struct sc__gpu *gpu, const struct sc__kernel_key *key, double bq) {
    uint64_t sq = key->size[3], skv = key->size[4], all = key->size[7];
    double heads = (double)(key->size[0] * key->size[1]), tiles = (double)ceil_div(sq, (uint64_t)bq);
    double steps = tiles * (double)ceil_div(skv, 128);
    struct work w = {.tiles = heads * tiles / gpu->sms};
    if (all == 0)
        steps = causal_steps(sq, skv, (uint64_t)bq);
    else
        steps *= (double)all * 1e-6;
    w.steps = heads * steps / gpu->sms;
    w.longest = all ? 0 : (double)ceil_div(skv, 128); /* a share is balanced */
    w.elements = heads * (double)sq * (double)key->size[5] * 1e-6;
    return w;
}

static const struct sc__attention_constants *class_of(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__attention_constants *a = gpu->attention, *last = a;
    double qk = (double)key->size[5], v = (double)key->size[6];
    for (unsigned i = 0; i < SC__HEAD_CLASSES && a[i].head_dim > 0; i++) {
        if (qk <= a[i].head_dim && (!(a[i].v_dim > 0) || v <= a[i].v_dim)) return &a[i];
        last = &a[i];
    }
    return last;
}

static double price_forward(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__attention_constants *a = class_of(gpu, key);
    const double *c = a->forward;
    struct work w = measure(gpu, key, a->bq);
    /* where tiles are few, each still walks over all keys */
    double chain = key->size[7] == WHOLE ? (double)ceil_div(key->size[4], 128) : 0;
    double us = c[0] + c[1] * fmax(w.steps, chain) + c[2] * w.tiles + c[3] * w.longest;
    return us * gpu->software[key->dtype >> 8][0];
}

static double price_backward(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    const struct sc__attention_constants *a = class_of(gpu, key);
    const double *c = a->backward;
    struct work w = measure(gpu, key, a->bq);
    double element = c[4] + (key->size[1] != key->size[2] ? c[5] : 0);
    double us = c[0] + c[1] * w.steps + c[2] * w.tiles + c[3] * w.longest + element * w.elements;
    return us * gpu->software[key->dtype >> 8][1];
}

double sc__price_attention(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    return key->what == SC__PRICED_ATTENTION_F ? price_forward(gpu, key) : price_backward(gpu, key);
}

/* Causality is one number: 0 triangle, else the share computed in 1e-6. */
struct sc__kernel_key sc__attention_key(enum sc__priced what, const struct sc__attention *a) {
    uint64_t skv = a->skv ? a->skv : a->sq, share = WHOLE;
    if (a->share > 0)
        share = (uint64_t)llround(a->share * 1e6);
    else if (a->causal)
        share = 0;
    return (struct sc__kernel_key){
        .what = what,
        .dtype = SC__BF16 | (uint32_t)a->software << 8,
        .size = {a->batch, a->heads, a->kv_heads, a->sq, skv, a->head_dim, a->v_dim ? a->v_dim : a->head_dim, share}};
}

static double computed_share(const struct sc__kernel_key *key) {
    double sq = (double)key->size[3], skv = (double)key->size[4];
    if (key->size[7]) return (double)key->size[7] * 1e-6;
    return skv > sq ? 1 - 0.5 * sq / skv : 0.5;
}

static struct sc__kernel attention(struct sc__pricer *p, const struct sc__attention *a, enum sc__priced what) {
    struct sc__kernel_key key = sc__attention_key(what, a);
    bool forward = what == SC__PRICED_ATTENTION_F;
    double heads = (double)(a->batch * a->heads), sq = (double)a->sq;
    double skv = (double)key.size[4], width = (double)(key.size[5] + key.size[6]), times = forward ? 1 : 2.5;
    struct sc__kernel k = {.name = forward ? "attention" : "attention_b",
                           .kind = SC__KERNEL_ATTENTION,
                           .work = SC__WORK_ATTENTION,
                           .phase = forward ? SC__FORWARD : SC__BACKWARD};
    if (!(heads * sq * skv > 0)) return k;
    k.us = sc__kernel_us(p, &key, &k.measured);
    k.flop = k.effort = times * 2 * heads * sq * skv * width * computed_share(&key);
    /* an older kernel spends more instructions, and so more energy, on a FLOP: H200 held at 500 to 700 W */
    k.effort *= pow(p->gpu->software[a->software][forward ? 0 : 1], 0.4);
    k.bytes = times * 2 * heads * (sq + skv) * width;
    k.launches = p->gpu->launches[SC__KERNEL_ATTENTION];
    return k;
}

struct sc__kernel sc__attention_forward(struct sc__pricer *p, const struct sc__attention *a) {
    return attention(p, a, SC__PRICED_ATTENTION_F);
}

struct sc__kernel sc__attention_backward(struct sc__pricer *p, const struct sc__attention *a) {
    return attention(p, a, SC__PRICED_ATTENTION_B);
}
