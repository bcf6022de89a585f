/* Kernels that walk along a sequence, and attention of serving stacks: the formulas
 * written out for cases small enough, and what must hold for all. */
#include "test.h"

#include "hardware/kernel_model.h"

#include <math.h>
#include <string.h>

#include "kernel_checks.h"

static struct sc__kernel_key serving_key(enum sc__serving_phase phase,
                                         uint64_t batch,
                                         uint64_t heads,
                                         uint64_t keys,
                                         uint64_t tokens,
                                         uint64_t size) {
    return (struct sc__kernel_key){.what = SC__KERNEL_OP_SERVING,
                                   .dtype = SC__BF16,
                                   .size = {batch,
                                            heads,
                                            keys,
                                            tokens,
                                            size,
                                            0,
                                            phase * SC__SERVING_TYPES + SC__SERVING_BF16,
                                            SC__SERVING_TRTLLM}};
}

/* Two sequences of 2.5 chunks of 100 tokens, of which the last counts as a whole one. */
static void scan_by_hand(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    static const double forward[] = {1, 2, 3, 4, 5, 6};
    static const double backward[] = {7, 0, 0, 0, 0, 0};
    memcpy(g.scan[0], forward, sizeof forward);
    memcpy(g.scan[1], backward, sizeof backward);
    struct sc__kernel_key key = {.what = SC__KERNEL_OP_SCAN,
                                 .dtype = SC__BF16,
                                 .size = {2, 250, 4, 64, 2, 16, 100, 0}};
    /* states of 6 chunks, 4 heads, 16 by 64; values, pairs, keys of 600 tokens */
    double streams = 2 * 24576 + 3 * 153600 + 4 * 240000 + 5 * 158400;
    near(sc__kernel_cost(&g, &key), 1 + 6 * 3 + 1e-6 * streams);
    key.size[7] = 1;
    near(sc__kernel_cost(&g, &key), 7);
}

/* 20 heads on 10 SMs, 3 chunks of 64 tokens and a half. */
static void sequence_by_hand(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.sms = 10;
    double *c = g.sequence[SC__SERVING_TRTLLM][SC__SEQUENCE_DELTA];
    memset(c, 0, SC__SEQUENCE_CONSTANTS * sizeof *c);
    c[SC__SEQUENCE_CHUNK] = 64;
    c[SC__SEQUENCE_WIDTH] = 1;
    c[SC__SEQUENCE_FIXED] = 5;
    c[SC__SEQUENCE_ROW] = 2;
    c[SC__SEQUENCE_WALK] = 3;
    c[SC__SEQUENCE_Q] = 1;
    c[SC__SEQUENCE_CACHE] = 1e30;
    c[SC__SEQUENCE_RESIDENT] = 1;
    struct sc__kernel_key key =
        sc__sequence_key(SC__SEQUENCE_DELTA, SC__SERVING_TRTLLM, 2, 224, 10);
    /* two rounds of 3.5 chunks */
    near(sc__kernel_cost(&g, &key), 5 + 2 + 3 * 3.5 * 2);
    c[SC__SEQUENCE_PART] = 1; /* a chunk that is not full counts as full */
    near(sc__kernel_cost(&g, &key), 5 + 2 + 3 * 4 * 2);
    c[SC__SEQUENCE_WORK] = 7; /* 20 x 4 chunks on 10 SMs; q = 1 is a sum */
    near(sc__kernel_cost(&g, &key), 5 + 2 + 3 * 4 * 2 + 7 * 8);
    c[SC__SEQUENCE_CACHE] = 80; /* half of 80 chunks found, all of that saved */
    c[SC__SEQUENCE_SAVED] = 1;
    near(sc__kernel_cost(&g, &key), 5 + 2 + 3 * 4 * 2 + 7 * 8 / 2.0);
    c[SC__SEQUENCE_STATE] = 11;
    near(sc__kernel_cost(&g, &key), 5 + 2 + 3 * 4 * 2 + 7 * 8 / 2.0 + 11 * 2);
    c[SC__SEQUENCE_CHUNK] = 0;
    near(sc__kernel_cost(&g, &key), 0);
}

/* A prompt of 256 tokens has three pairs of blocks of 128 under the mask. */
static void context_by_hand(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.sms = 10;
    double *c = g.serving[SC__SERVING_TRTLLM][SC__SERVING_CONTEXT][SC__SERVING_BF16];
    memset(c, 0, SC__SERVING_CONSTANTS * sizeof *c);
    c[SC__CONTEXT_FIXED] = 3;
    c[SC__CONTEXT_BW] = 1e30;
    c[SC__CONTEXT_CACHE] = 1;
    c[SC__CONTEXT_Q] = 1;
    c[SC__CONTEXT_STEP + 1] = 2;
    struct sc__kernel_key key = serving_key(SC__SERVING_CONTEXT, 5, 8, 2, 256, 128);
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * 3 * 2 / 10.0);
    c[SC__CONTEXT_TILE] = 0.5;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (3 * 2 + 2 * 0.5) / 10.0);
    /* a window of one block leaves the diagonal and the block before it: all of three */
    key.size[5] = 129;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (3 * 2 + 2 * 0.5) / 10.0);
    key.size[5] = 1; /* the diagonal alone */
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (2 * 2 + 2 * 0.5) / 10.0);
    /* a mask that makes a step half longer cuts the diagonal, and a window of 129 tokens
     * the block before it of the last tile, too */
    c[SC__CONTEXT_MASK] = 0.5;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (3 * 2 + 2 * 0.5) / 10.0);
    key.size[5] = 129;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (4.5 * 2 + 2 * 0.5) / 10.0);
    key.size[5] = 0;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (4 * 2 + 2 * 0.5) / 10.0);
    c[SC__CONTEXT_MASK] = 0;
    /* queries and outputs, and three times as much of each head of keys */
    c[SC__CONTEXT_BW] = 1e3;
    c[SC__CONTEXT_KEYS] = 3;
    near(sc__kernel_cost(&g, &key),
         3 + 5 * 8 * (3 * 2 + 2 * 0.5) / 10.0 + 2.0 * 5 * 256 * (8 + 3 * 2) * 256 / 1e3);
    c[SC__CONTEXT_BW] = 1e30;
    /* four blocks of which a window of 129 shows two: 1 + 2 + 2 + 2 steps */
    key = serving_key(SC__SERVING_CONTEXT, 5, 8, 2, 512, 128);
    key.size[5] = 129;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * (7 * 2 + 4 * 0.5) / 10.0);
    /* heads of keys that are written */
    c[SC__CONTEXT_SEQUENCE] = 7;
    near(sc__kernel_cost(&g, &key),
         3 + 5 * 8 * (7 * 2 + 4 * 0.5) / 10.0 + 7 * 5 * 2 / 10.0);
    c[SC__CONTEXT_SEQUENCE] = 0;
    /* packed: one token of four queries that share keys is one tile, not four */
    key = serving_key(SC__SERVING_CONTEXT, 5, 8, 2, 1, 128);
    near(sc__kernel_cost(&g, &key), 3 + 5 * 8 * 2.5 / 10.0);
    c[SC__CONTEXT_PACK] = 1;
    near(sc__kernel_cost(&g, &key), 3 + 5 * 2 * 2.5 / 10.0);
}

/* Prompts of latent attention: queries and keys of 192, values and outputs of 128, as many
 * heads of keys as of queries. */
static void latent_context(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    g.sms = 10;
    double *c = g.serving[SC__SERVING_TRTLLM][SC__SERVING_MLA_CONTEXT][SC__SERVING_BF16];
    memset(c, 0, SC__SERVING_CONSTANTS * sizeof *c);
    c[SC__CONTEXT_FIXED] = 3;
    c[SC__CONTEXT_BW] = 1e3;
    c[SC__CONTEXT_CACHE] = 1;
    c[SC__CONTEXT_KEYS] = 1;
    c[SC__CONTEXT_Q] = 1;
    c[SC__CONTEXT_STEP + 2] = 2;
    struct sc__kernel_key key = serving_key(SC__SERVING_MLA_CONTEXT, 5, 8, 2, 256, 128);
    near(sc__kernel_cost(&g, &key),
         3 + 5 * 8 * 3 * 2 / 10.0 + 2.0 * 5 * 256 * (8 + 8) * (192 + 128) / 1e3);
}

/* Ten SMs; one block of an SM at a time, which starts in 2 us and takes 64 keys of heads
 * of 128 in 1 us; keys are never parted, and the memory is free. */
static double *plain_generation(struct sc__gpu *g) {
    g->sms = 10;
    double *c = g->serving[SC__SERVING_TRTLLM][SC__SERVING_GENERATION][SC__SERVING_BF16];
    memset(c, 0, SC__SERVING_CONSTANTS * sizeof *c);
    c[SC__GENERATION_FIXED] = 3;
    c[SC__GENERATION_BW] = 1e30;
    c[SC__GENERATION_CACHE] = 1;
    c[SC__GENERATION_Q] = 1;
    c[SC__GENERATION_QUERIES] = 64;
    c[SC__GENERATION_LIMIT] = 32;
    c[SC__GENERATION_LEAST] = 1e9;
    double *shared = &c[SC__GENERATION_SHARED];
    shared[SC__BLOCK_RESIDENT] = 1;
    shared[SC__BLOCK_START] = 2;
    shared[SC__BLOCK_STEP] = 1;
    shared[SC__BLOCK_TOKENS] = 1e9;
    return c;
}

/* Bytes of the cache over the bandwidth. */
static void generation_memory(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    double *c = plain_generation(&g);
    c[SC__GENERATION_BW] = 1e3;
    c[SC__GENERATION_SHARED + SC__BLOCK_START] = 0;
    c[SC__GENERATION_SHARED + SC__BLOCK_STEP] = 0;
    struct sc__kernel_key key = serving_key(SC__SERVING_GENERATION, 4, 16, 2, 1024, 128);
    double bytes = 4.0 * 2 * 1024 * (128 + 128) * 2;
    near(sc__kernel_cost(&g, &key), 3 + bytes / 1e3);
    key.size[5] = 512; /* no more keys than the window has */
    near(sc__kernel_cost(&g, &key), 3 + bytes / 2e3);
    key.size[5] = 0;
    key.size[6] += SC__SERVING_FP8_CACHE; /* of a byte, with constants of its own */
    memcpy(g.serving[SC__SERVING_TRTLLM][SC__SERVING_GENERATION][SC__SERVING_FP8_CACHE],
           c,
           SC__SERVING_CONSTANTS * sizeof *c);
    near(sc__kernel_cost(&g, &key), 3 + bytes / 2e3);
}

/* Waves, parts and what they cost, with a maximum that is a sum (q = 1). */
static void generation_parts(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    double *c = plain_generation(&g);
    double *shared = &c[SC__GENERATION_SHARED];
    /* 12 heads of keys on 10 SMs are two waves of 2 + 16 us; a walk starts in 2 us */
    struct sc__kernel_key key = serving_key(SC__SERVING_GENERATION, 6, 16, 2, 1024, 128);
    near(sc__kernel_cost(&g, &key), 3 + 2 * (2 + 16) + 2);
    shared[SC__BLOCK_WALK] = 3;
    near(sc__kernel_cost(&g, &key), 3 + 2 * (2 + 16) + 2 + 3 * 16);
    shared[SC__BLOCK_WALK] = 0;
    /* 4 blocks for each SM: three parts of 341 and a third keys, 36 blocks, four waves */
    shared[SC__BLOCK_TARGET] = 4;
    shared[SC__BLOCK_TOKENS] = 128;
    c[SC__GENERATION_COMBINE] = 5;
    c[SC__GENERATION_COMBINE_HEAD] = 0.5;
    near(sc__kernel_cost(&g, &key), 3 + 4 * (2 + 6) + 2 + 5 + 0.5 * 96 * 3 / 10);
    /* no part has fewer keys than 512: two of them, 24 blocks in three waves */
    shared[SC__BLOCK_TOKENS] = 512;
    near(sc__kernel_cost(&g, &key), 3 + 3 * (2 + 8) + 2 + 5 + 0.5 * 96 * 2 / 10);
    /* a window of 128 reaches the last part alone and begins inside it; the other half of
     * the blocks are half as long: 18 blocks, two waves of three steps */
    key.size[5] = 128;
    c[SC__GENERATION_IDLE] = 0.5;
    near(sc__kernel_cost(&g, &key), 3 + 2 * (2 + 3) + 2 + 5 + 0.5 * 96 * 2 / 10);
    /* of three parts two are idle, 24 blocks in three waves; one of them is combined with
     * the part that is not */
    shared[SC__BLOCK_TOKENS] = 128;
    key.size[3] = 2048;
    near(sc__kernel_cost(&g, &key), 3 + 3 * (2 + 3) + 2 + 5 + 0.5 * 96 * 2 / 10);
    /* heads of 256 are twice as wide, and start so */
    key = serving_key(SC__SERVING_GENERATION, 2, 16, 1, 64, 256);
    c[SC__GENERATION_START_WIDTH] = 1;
    near(sc__kernel_cost(&g, &key), 3 + 4 + 2 + 4);
}

/* Sequences are planned on the GPU, 992 at most. */
static double planning_us(struct sc__gpu *g, uint64_t batch) {
    struct sc__kernel_key key = serving_key(SC__SERVING_GENERATION, batch, 1, 1, 64, 128);
    double *c = plain_generation(g);
    double without = sc__kernel_cost(g, &key);
    c[SC__GENERATION_SEQUENCE] = 0.25;
    return sc__kernel_cost(g, &key) - without;
}

static void generation_is_planned(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    near(planning_us(&g, 992), 0.25 * 992);
    near(planning_us(&g, 993), 0);
}

/* 24 queries of one head of keys in blocks of 16 are two blocks: twelve in all. */
static void generation_queries(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    double *c = plain_generation(&g);
    struct sc__kernel_key key = serving_key(SC__SERVING_GENERATION, 6, 24, 1, 64, 128);
    near(sc__kernel_cost(&g, &key), 3 + (2 + 1) + 2);
    c[SC__GENERATION_QUERIES] = 16;
    near(sc__kernel_cost(&g, &key), 3 + 2 * (2 + 1) + 2);
}

/* A query each: where there is one alone, beyond the limit, and where blocks are few. */
static void generation_alone(void **state) {
    (void)state;
    struct sc__gpu g = *gpu("h200");
    double *c = plain_generation(&g);
    double *alone = &c[SC__GENERATION_ALONE];
    alone[SC__BLOCK_RESIDENT] = 2;
    alone[SC__BLOCK_START] = 7;
    alone[SC__BLOCK_TOKENS] = 1e9;
    c[SC__GENERATION_COPY] = 11;
    c[SC__GENERATION_COPY_HEAD] = 0.1;
    /* shared: 12 heads of keys, whose 48 queries are copied together */
    struct sc__kernel_key shared = serving_key(SC__SERVING_GENERATION, 6, 8, 2, 64, 128);
    near(sc__kernel_cost(&g, &shared), 3 + 2 * (2 + 1) + 2 + 11 + 0.1 * 48 / 10);
    /* 64 queries of one head of keys: 4 x 64 blocks, 20 at a time */
    struct sc__kernel_key many = serving_key(SC__SERVING_GENERATION, 4, 64, 1, 64, 128);
    near(sc__kernel_cost(&g, &many), 3 + 13 * 7 + 7);
    /* each of the 63 others fetches a tenth of the keys again */
    c[SC__GENERATION_REREAD] = 0.1;
    c[SC__GENERATION_BW] = 1e3;
    near(sc__kernel_cost(&g, &many), 3 + 13 * 7 + 7 + 4 * 64 * 512 * (1 + 6.3) / 1e3);
    c[SC__GENERATION_BW] = 1e30;
    /* single queries, of which 12 fit at a time */
    struct sc__kernel_key single = serving_key(SC__SERVING_GENERATION, 6, 2, 2, 64, 128);
    near(sc__kernel_cost(&g, &single), 3 + 2 * (2 + 1) + 2 + 11 + 0.1 * 12 / 10);
    c[SC__GENERATION_SINGLE] = 1;
    near(sc__kernel_cost(&g, &single), 3 + 7 + 7);
    shared.size[5] = 4096; /* under a window, even where it ends nothing */
    c[SC__GENERATION_WINDOWED] = 1;
    near(sc__kernel_cost(&g, &shared), 3 + 3 * 7 + 7);
    c[SC__GENERATION_WINDOWED] = 0;
    /* 12 blocks are enough where a twelfth of the SMs is asked for, and one is not */
    c[SC__GENERATION_LEAST] = 1;
    near(sc__kernel_cost(&g, &shared), 3 + 2 * (2 + 1) + 2 + 11 + 0.1 * 48 / 10);
    c[SC__GENERATION_LEAST] = 0.5;
    near(sc__kernel_cost(&g, &shared), 3 + 3 * 7 + 7);
}

/* Heads of 108 run as flash2 does, and copy queries, keys, values and output. */
static void odd_heads(void **state) {
    (void)state;
    const struct sc__gpu *g = gpu("h200");
    struct sc__attention a = {.batch = 2,
                              .heads = 16,
                              .kv_heads = 8,
                              .sq = 1024,
                              .head_dim = 108,
                              .causal = true};
    struct sc__kernel_key key = sc__attention_key(SC__KERNEL_OP_ATTENTION_F, &a);
    double odd = sc__kernel_cost(g, &key);
    a.head_dim = 112;
    a.software = SC__ATTENTION_FLASH2;
    key = sc__attention_key(SC__KERNEL_OP_ATTENTION_F, &a);
    double even = sc__kernel_cost(g, &key);
    const struct sc__memory_constants *copy = &g->memory_op[SC__MEM_COPY_STRIDED];
    double queries = 2.0 * 16 * 1024 * 108 * 1e-6;
    double keys = 2.0 * 8 * 1024 * 108 * 1e-6;
    near(odd - even, 4 * copy->part[0].a + 2 * copy->part[0].element * (queries + keys));
}

/* More never takes less, on all GPUs and with all kernels that are known. */
static void grows(void **state) {
    (void)state;
    static const char *const names[] = {"a100-80", "h100-sxm", "h200", "b200", "l40s"};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned s = 0; s < SC__SERVING_SOFTWARES; s++) {
            const struct sc__gpu *g = gpu(names[i]);
            for (unsigned op = 0; op < SC__SEQUENCE_OPS; op++) {
                double before = 0;
                for (uint64_t tokens = 64; tokens <= 1 << 20; tokens *= 2) {
                    struct sc__kernel_key key = sc__sequence_key(op, s, 2, tokens, 4096);
                    double us = sc__kernel_cost(g, &key);
                    assert_true(isfinite(us) && us >= 0.999 * before);
                    before = us;
                }
            }
            for (unsigned phase = 0; phase < SC__SERVING_PHASES; phase++) {
                double before = 0;
                for (uint64_t batch = 1; batch <= 4096; batch *= 4) {
                    struct sc__kernel_key key = serving_key(phase, batch, 32, 8, 4096, 128);
                    key.size[7] = s;
                    double us = sc__kernel_cost(g, &key);
                    assert_true(isfinite(us) && us >= 0.999 * before);
                    before = us;
                }
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequence_by_hand, open_context, close_context),
        cmocka_unit_test_setup_teardown(scan_by_hand, open_context, close_context),
        cmocka_unit_test_setup_teardown(context_by_hand, open_context, close_context),
        cmocka_unit_test_setup_teardown(generation_memory, open_context, close_context),
        cmocka_unit_test_setup_teardown(generation_parts, open_context, close_context),
        cmocka_unit_test_setup_teardown(latent_context, open_context, close_context),
        cmocka_unit_test_setup_teardown(generation_is_planned, open_context, close_context),
        cmocka_unit_test_setup_teardown(generation_queries, open_context, close_context),
        cmocka_unit_test_setup_teardown(generation_alone, open_context, close_context),
        cmocka_unit_test_setup_teardown(odd_heads, open_context, close_context),
        cmocka_unit_test_setup_teardown(grows, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
