#include "test.h"

#include "workload/mesh.h"

/* Megatron's numbering, written down by its formula. */
static void members_follow_the_formula(void **state) {
    (void)state;
    for (uint32_t tp = 1; tp <= 4; tp *= 2)
        for (uint32_t cp = 1; cp <= 2; cp++)
            for (uint32_t dp = 1; dp <= 6; dp += 1)
                for (uint32_t pp = 1; pp <= 3; pp++) {
                    struct sc__mesh m = sc__mesh(tp, cp, 1, dp, pp, 0);
                    for (uint32_t r = 0; r < sc__mesh_ranks(&m); r++) {
                        uint32_t t = r % tp;
                        uint32_t c = r / tp % cp;
                        uint32_t d = r / tp / cp % dp;
                        uint32_t p = r / tp / cp / dp;
                        for (uint32_t i = 0; i < tp; i++)
                            assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_TP, r, i),
                                             i + tp * (c + cp * (d + dp * p)));
                        for (uint32_t i = 0; i < dp; i++)
                            assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_DP, r, i),
                                             t + tp * (c + cp * (i + dp * p)));
                        for (uint32_t i = 0; i < pp; i++)
                            assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_PP, r, i),
                                             t + tp * (c + cp * (d + dp * i)));
                        for (uint32_t i = 0; i < tp * cp * dp; i++)
                            assert_int_equal(
                                sc__mesh_group_member(&m, SC__GROUP_STAGE, r, i),
                                i + tp * cp * dp * p);
                        for (uint32_t i = 0; i < tp * pp; i++)
                            assert_int_equal(
                                sc__mesh_group_member(&m, SC__GROUP_MODEL, r, i),
                                i % tp + tp * (c + cp * (d + dp * (i / tp))));
                    }
                }
}

/* Every rank is in exactly one group of each kind, and sees the same members
 * as the others of it. */
static void groups_partition_the_ranks(void **state) {
    (void)state;
    static const enum sc__group_kind kinds[] = {SC__GROUP_TP,
                                                SC__GROUP_CP,
                                                SC__GROUP_EP,
                                                SC__GROUP_DP,
                                                SC__GROUP_DP_CP,
                                                SC__GROUP_DP_EP,
                                                SC__GROUP_ETP,
                                                SC__GROUP_STAGE,
                                                SC__GROUP_MODEL,
                                                SC__GROUP_PP};
    static const char *const orders[] = {"tp-cp-ep-dp-pp",
                                         "pp-tp-cp-dp",
                                         "tp-pp-dp-cp",
                                         "dp-tp"};
    sc_context *ctx = sc_open();
    for (unsigned o = 0; o < 4; o++)
        for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            struct sc__mesh m = sc__mesh(2, 2, 4, 6, 3, 1);
            assert_int_equal(sc__mesh_order(ctx, &m, orders[o]), SC_OK);
            assert_int_equal(sc__mesh_check(ctx, &m), SC_OK);
            uint32_t n = sc__mesh_ranks(&m);
            uint32_t size = sc__mesh_group_size(&m, kinds[k]);
            for (uint32_t r = 0; r < n; r++) {
                bool found = false;
                for (uint32_t i = 0; i < size; i++) {
                    uint32_t member = sc__mesh_group_member(&m, kinds[k], r, i);
                    assert_true(member < n);
                    found |= member == r;
                    for (uint32_t j = 0; j < size; j++)
                        assert_int_equal(sc__mesh_group_member(&m, kinds[k], member, j),
                                         sc__mesh_group_member(&m, kinds[k], r, j));
                    for (uint32_t j = 0; j < i; j++)
                        assert_int_not_equal(sc__mesh_group_member(&m, kinds[k], r, j),
                                             member);
                }
                assert_true(found);
            }
        }
    sc_close(ctx);
}

static void expert_groups_are_consecutive_data_parallel_ranks(void **state) {
    (void)state;
    struct sc__mesh m = sc__mesh(2, 1, 4, 8, 1, 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_EP, 1, i), 1 + 2 * i);
        assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_EP, 9, i), 9 + 2 * i);
    }
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_DP_EP), 2);
    assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_DP_EP, 1, 1), 9);
}

/* Neighbours of dp × cp share shards, and who is as far in another such group has the
 * same: by the formula, and each rank with each other once. */
static void shards_are_neighbours_and_replicas_are_not(void **state) {
    (void)state;
    struct sc__mesh m = sc__mesh(2, 2, 1, 6, 2, 0);
    m.shard = 4;
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_SHARD), 4);
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_REPLICA), 3);
    for (uint32_t r = 0; r < sc__mesh_ranks(&m); r++) {
        uint32_t t = r % 2;
        uint32_t place = r / 2 % 12; /* cp fastest, then dp */
        uint32_t p = r / 24;
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_SHARD, r, i),
                             t + 2 * (place / 4 * 4 + i) + 24 * p);
        for (uint32_t i = 0; i < 3; i++)
            assert_int_equal(sc__mesh_group_member(&m, SC__GROUP_REPLICA, r, i),
                             t + 2 * (place % 4 + 4 * i) + 24 * p);
    }
    m.shard = 0;
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_SHARD), 12);
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_REPLICA), 1);
}

/* Of experts: who shares a shard holds the same experts and is in the same shard group of
 * dense weights; who holds the same shard is in another one. Every rank counted by hand. */
static void shards_of_experts_stay_in_their_group(void **state) {
    (void)state;
    struct sc__mesh m = sc__mesh(2, 2, 4, 8, 2, 1); /* 16 of dp × cp, ep 4, etp 1 */
    m.shard = 8;
    uint32_t place_of_group = m.shard * m.tp; /* ranks of a shard group, tp included */
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_SHARD_EP), 8 * 2 / 4);
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_REPLICA_EP), 2);
    for (uint32_t r = 0; r < sc__mesh_ranks(&m); r++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t s = sc__mesh_group_member(&m, SC__GROUP_SHARD_EP, r, i);
            assert_int_equal(s / place_of_group, r / place_of_group);
            assert_int_equal(s % 4, r % 4); /* the same experts: ep is fastest */
            found += s == r;
        }
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t c = sc__mesh_group_member(&m, SC__GROUP_REPLICA_EP, r, i);
            assert_int_equal(c % place_of_group, r % place_of_group);
            assert_int_equal(c / 32, r / 32); /* of the same stage */
            found += c == r;
        }
        assert_int_equal(found, 2);
    }
    m.shard = 0;
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_SHARD_EP),
                     sc__mesh_group_size(&m, SC__GROUP_DP_EP));
    assert_int_equal(sc__mesh_group_size(&m, SC__GROUP_REPLICA_EP), 1);
}

static void bad_meshes_are_refused(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    struct sc__mesh m = sc__mesh(2, 1, 3, 8, 1, 0);
    assert_int_equal(sc__mesh_check(ctx, &m), SC_INPUT);
    m = sc__mesh(1, 1, 1, 8, 1, 0);
    m.shard = 3;
    assert_int_equal(sc__mesh_check(ctx, &m), SC_INPUT);
    m = sc__mesh(1, 1, 4, 8, 1, 1);
    m.shard = 2; /* fewer ranks than the experts are on */
    assert_int_equal(sc__mesh_check(ctx, &m), SC_INPUT);
    m = sc__mesh(0, 1, 1, 1, 1, 1);
    assert_int_equal(sc__mesh_check(ctx, &m), SC_INPUT);
    m = sc__mesh(65536, 1, 1, 65536, 4, 0);
    assert_int_equal(sc__mesh_check(ctx, &m), SC_INPUT);
    m = sc__mesh(1, 1, 1, 1, 1, 1);
    assert_int_equal(sc__mesh_order(ctx, &m, "tp-tp"), SC_USAGE);
    assert_int_equal(sc__mesh_order(ctx, &m, "tp-xx"), SC_USAGE);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_follow_the_formula),
        cmocka_unit_test(groups_partition_the_ranks),
        cmocka_unit_test(expert_groups_are_consecutive_data_parallel_ranks),
        cmocka_unit_test(shards_are_neighbours_and_replicas_are_not),
        cmocka_unit_test(shards_of_experts_stay_in_their_group),
        cmocka_unit_test(bad_meshes_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
