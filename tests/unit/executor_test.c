/* The executor on small workloads whose answer is known by hand, and the rule
 * that the parts add up on random ones. */
#include "test.h"

#include "simulate/simulate.h"

struct world {
    sc_context *ctx;
    struct sc__workload *w;
    struct sc__cluster cluster;
    struct sc__net net;
    struct sc__sim sim;
};

static struct world *open_world(uint32_t tp, uint32_t dp, uint32_t pp) {
    static struct world w;
    memset(&w, 0, sizeof w);
    w.ctx = sc_open();
    w.w = sc__workload_new(&w.ctx->arena, "test");
    w.w->mesh = sc__mesh(tp, 1, 1, dp, pp, 0);
    return &w;
}

/* Each rank a class of its own, so that they may differ. */
static void one_class_per_rank(struct world *w) {
    uint32_t n = sc__mesh_ranks(&w->w->mesh);
    w->w->rank_class = SC__NEW_ARRAY(&w->ctx->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        w->w->rank_class[i] = i;
}

static struct sc__op *compute(struct world *w, uint8_t stream, int64_t cost) {
    struct sc__op *op = sc__block_add(w->w, SC__OP_COMPUTE, SC__FORWARD, stream, "compute");
    op->cost = cost;
    return op;
}

static struct sc__op *
collective(struct world *w, uint8_t stream, enum sc__group_kind kind, uint64_t bytes) {
    uint16_t group = sc__workload_group(w->w, kind);
    struct sc__op *op =
        sc__block_add(w->w, SC__OP_COLLECTIVE, SC__FORWARD, stream, "collective");
    op->coll = SC__ALLREDUCE;
    op->group = group;
    op->bytes = bytes;
    return op;
}

static void end_class(struct world *w, uint32_t rank, uint32_t ranks, uint32_t stage) {
    uint32_t block = sc__block_end(w->w);
    uint32_t program = sc__program_begin(w->w);
    sc__program_call(w->w, block, SC__NONE, 0, 0);
    sc__class_add(w->w, program, rank, ranks, stage);
}

static sc_status
run(struct world *w, const char *cluster, const struct sc__sim_options *options) {
    assert_int_equal(
        sc__cluster_parse(w->ctx, cluster, sc__mesh_ranks(&w->w->mesh), &w->cluster),
        SC_OK);
    assert_int_equal(sc__net_analytic(w->ctx, &w->cluster, w->w, &w->net), SC_OK);
    return sc__simulate(w->ctx, w->w, &w->net, options, &w->sim);
}

static void check_conservation(const struct world *w) {
    for (uint32_t c = 0; c < w->w->class_count; c++) {
        const struct sc__account *a = &w->sim.classes[c].account;
        int64_t sum = a->compute + a->recompute + a->bubble + a->skew + a->other;
        for (uint32_t g = 0; g <= w->w->group_count; g++)
            sum += a->exposed[g];
        assert_true(sum == w->sim.step);
    }
}

static int64_t cost(struct world *w, uint32_t ranks, uint32_t nodes, uint64_t bytes) {
    struct sc__shape s = {.ranks = ranks,
                          .nodes = nodes,
                          .per_node = ranks / nodes,
                          .least = ranks / nodes};
    return sc__collective_time(&w->cluster, SC__ALLREDUCE, &s, bytes);
}

static void blocking_collective_is_exposed(void **state) {
    (void)state;
    struct world *w = open_world(8, 1, 1);
    sc__block_begin(w->w);
    compute(w, 0, 1000000);
    collective(w, 0, SC__GROUP_TP, 1 << 20);
    end_class(w, 0, 8, 0);
    assert_int_equal(run(w, "dgx-h100", NULL), SC_OK);
    int64_t t = cost(w, 8, 1, 1 << 20);
    assert_true(t > 0 && w->sim.step == 1000000 + t);
    assert_true(w->sim.classes[0].account.exposed[0] == t);
    check_conservation(w);
    sc_close(w->ctx);
}

static void overlapped_collective_hides_behind_compute(void **state) {
    (void)state;
    struct world *w = open_world(1, 16, 1);
    sc__block_begin(w->w);
    compute(w, 0, 1000000);
    collective(w, 2, SC__GROUP_DP, 64 << 20)->after = 1;
    compute(w, 0, 50000000); /* 50 us of the transfer are hidden */
    sc__block_add(w->w, SC__OP_WAIT, SC__UPDATE, 0, "wait")->after = 1u << 2;
    end_class(w, 0, 16, 0);
    assert_int_equal(run(w, "dgx-h100", NULL), SC_OK);
    int64_t t = w->sim.classes[0].traffic[0].busy;
    assert_true(t > 50000000);
    assert_true(w->sim.step == 1000000 + t);
    assert_true(w->sim.classes[0].account.exposed[0] == t - 50000000);
    assert_true(w->sim.classes[0].account.compute == 51000000);
    check_conservation(w);
    sc_close(w->ctx);
}

static void waiting_for_a_slower_peer_is_skew(void **state) {
    (void)state;
    struct world *w = open_world(2, 1, 1);
    one_class_per_rank(w);
    for (uint32_t r = 0; r < 2; r++) {
        sc__block_begin(w->w);
        compute(w, 0, r ? 7000000 : 3000000);
        collective(w, 0, SC__GROUP_TP, 4096);
        end_class(w, r, 1, 0);
    }
    assert_int_equal(run(w, "dgx-h100", NULL), SC_OK);
    assert_true(w->sim.classes[0].account.skew == 4000000);
    assert_true(w->sim.classes[1].account.skew == 0);
    assert_true(w->sim.classes[0].account.exposed[0] ==
                w->sim.classes[1].account.exposed[0]);
    check_conservation(w);
    sc_close(w->ctx);
}

static struct sc__op *message(
    struct world *w, enum sc__op_kind kind, uint8_t stream, uint32_t peer, uint32_t tag) {
    struct sc__op *op = sc__block_add(w->w,
                                      kind,
                                      SC__FORWARD,
                                      stream,
                                      kind == SC__OP_SEND ? "send" : "recv");
    op->peer = peer;
    op->tag = tag;
    op->bytes = 1000;
    return op;
}

static void waiting_for_a_message_is_bubble(void **state) {
    (void)state;
    struct world *w = open_world(1, 1, 2);
    one_class_per_rank(w);
    sc__block_begin(w->w);
    compute(w, 0, 9000000);
    message(w, SC__OP_SEND, 0, 1, 5);
    end_class(w, 0, 1, 0);
    sc__block_begin(w->w);
    message(w, SC__OP_RECV, 0, 0, 5);
    end_class(w, 1, 1, 1);
    assert_int_equal(run(w, "dgx-h100", NULL), SC_OK);
    assert_true(w->sim.classes[1].account.bubble == 9000000);
    assert_true(w->sim.classes[1].account.exposed[0] ==
                sc__message_time(&w->cluster, true, 1000));
    check_conservation(w);
    sc_close(w->ctx);
}

/* Rendezvous: a late receiver makes the transfer start late; eager: it does not. */
static void eager_sends_do_not_wait(void **state) {
    (void)state;
    for (int eager = 0; eager < 2; eager++) {
        struct world *w = open_world(1, 1, 2);
        one_class_per_rank(w);
        sc__block_begin(w->w);
        message(w, SC__OP_SEND, 0, 1, 0)->flags = eager ? SC__OP_EAGER : 0;
        end_class(w, 0, 1, 0);
        sc__block_begin(w->w);
        compute(w, 0, 500000000);
        message(w, SC__OP_RECV, 0, 0, 0);
        end_class(w, 1, 1, 1);
        assert_int_equal(run(w, "dgx-h100", NULL), SC_OK);
        int64_t t = sc__message_time(&w->cluster, true, 1000);
        assert_true(w->sim.step == 500000000 + (eager ? 0 : t));
        check_conservation(w);
        sc_close(w->ctx);
    }
}

static void messages_of_one_tag_match_in_order(void **state) {
    (void)state;
    struct world *w = open_world(1, 1, 2);
    one_class_per_rank(w);
    sc__block_begin(w->w);
    for (int i = 0; i < 100; i++) {
        compute(w, 0, 1000);
        message(w, SC__OP_SEND, 1, 1, 7)->after = 1;
    }
    end_class(w, 0, 1, 0);
    sc__block_begin(w->w);
    for (int i = 0; i < 100; i++)
        message(w, SC__OP_RECV, 0, 0, 7);
    end_class(w, 1, 1, 1);
    assert_int_equal(run(w, "ideal", NULL), SC_OK);
    assert_true(w->sim.step == 100 * 1000);
    assert_int_equal(w->sim.classes[0].traffic[0].ops, 100);
    check_conservation(w);
    sc_close(w->ctx);
}

static void explicit_dependencies_hold(void **state) {
    (void)state;
    struct world *w = open_world(1, 1, 1);
    sc__block_begin(w->w);
    compute(w, 0, 10);
    compute(w, 1, 100);
    compute(w, 0, 1000);
    sc__block_depend(w->w, 1); /* waits for the 100 of stream 1 */
    compute(w, 1, 5);
    sc__block_depend(w->w, 2);
    end_class(w, 0, 1, 0);
    assert_int_equal(run(w, "ideal", NULL), SC_OK);
    assert_true(w->sim.step == 100 + 1000 + 5);
    check_conservation(w);
    sc_close(w->ctx);
}

static void waiting_for_an_unused_stream_is_no_wait(void **state) {
    (void)state;
    struct world *w = open_world(1, 1, 1);
    sc__block_begin(w->w);
    compute(w, 0, 10)->after = UINT16_MAX;
    end_class(w, 0, 1, 0);
    assert_int_equal(run(w, "ideal", NULL), SC_OK);
    assert_true(w->sim.step == 10);
    sc_close(w->ctx);
}

static void deadlock_names_who_waits(void **state) {
    (void)state;
    struct world *w = open_world(1, 1, 2);
    one_class_per_rank(w);
    for (uint32_t r = 0; r < 2; r++) {
        sc__block_begin(w->w);
        message(w, SC__OP_RECV, 0, 1 - r, 0);
        message(w, SC__OP_SEND, 0, 1 - r, 0);
        end_class(w, r, 1, r);
    }
    assert_int_equal(run(w, "dgx-h100", NULL), SC_INPUT);
    assert_non_null(strstr(sc_error_text(w->ctx), "deadlock"));
    assert_non_null(
        strstr(sc_error_text(w->ctx), "rank 0 (stage 0): 'recv' waits for rank 1 to send"));
    sc_close(w->ctx);
}

static void different_collectives_in_a_group_are_an_error(void **state) {
    (void)state;
    struct world *w = open_world(2, 1, 1);
    one_class_per_rank(w);
    for (uint32_t r = 0; r < 2; r++) {
        sc__block_begin(w->w);
        collective(w, 0, SC__GROUP_TP, 4096)->coll = r ? SC__ALLGATHER : SC__ALLREDUCE;
        end_class(w, r, 1, 0);
    }
    assert_int_equal(run(w, "dgx-h100", NULL), SC_INPUT);
    assert_non_null(strstr(sc_error_text(w->ctx), "ALLGATHER"));
    sc_close(w->ctx);
}

/* Two transfers that fill the NIC take together as long as one after the
 * other: never less than the bytes of both need, never more than in turn. */
static void transfers_on_one_port_share_it(void **state) {
    (void)state;
    int64_t step[3];
    const uint64_t bytes = (uint64_t)1 << 30;
    for (int k = 0; k < 3; k++) { /* 0: the first alone; 1: both; 2: the second alone */
        struct world *w = open_world(1, 16, 1);
        sc__block_begin(w->w);
        if (k < 2)
            collective(w, 2, SC__GROUP_DP, bytes);
        if (k > 0)
            collective(w, 3, SC__GROUP_DP_CP, bytes);
        compute(w, 0, 1);
        end_class(w, 0, 16, 0);
        assert_int_equal(run(w, "gpu=h100 gpus=16 node=1 nics=1 nic=50GB/s", NULL), SC_OK);
        check_conservation(w);
        step[k] = w->sim.step;
        sc_close(w->ctx);
    }
    /* an all-reduce of n ranks moves 2(n-1)/n of its bytes through every NIC */
    int64_t both = (int64_t)(2 * 2.0 * 15 / 16 * (double)bytes / 50e9 * 1e12);
    assert_true(step[0] == step[2]);
    assert_true(step[1] >= both && step[1] <= 2 * step[0] + 1000);
    assert_true(step[1] > step[0] + step[0] / 2);
}

static void compute_slows_down_under_communication(void **state) {
    (void)state;
    struct world *w = open_world(1, 16, 1);
    struct sc__sim_options tax = {.comm_tax = 0.25};
    sc__block_begin(w->w);
    collective(w, 2, SC__GROUP_DP, 64 << 20);
    compute(w, 0, 1000000000000);
    end_class(w, 0, 16, 0);
    assert_int_equal(run(w, "dgx-h100", &tax), SC_OK);
    int64_t transfer = w->sim.classes[0]
                           .traffic[0]
                           .busy; /* compute did transfer/1.25 of its work meanwhile */
    int64_t want = 1000000000000 + transfer - (int64_t)((double)transfer / 1.25);
    if (llabs(w->sim.step - want) >= 10)
        fail_msg("step %lld, expected %lld, transfer %lld",
                 (long long)w->sim.step,
                 (long long)want,
                 (long long)transfer);
    check_conservation(w);
    sc_close(w->ctx);
}

/* Random programs of collectives, messages and compute on several streams. */
static void random_workloads_conserve_time(void **state) {
    (void)state;
    uint64_t seed = 99;
    for (int k = 0; k < 200; k++) {
        struct world *w = open_world(2, 2, 2);
        one_class_per_rank(w);
        uint64_t plan = sc__random(&seed);
        for (uint32_t r = 0; r < 8; r++) {
            uint64_t shared = plan;
            uint64_t own = sc__random(&seed);
            sc__block_begin(w->w);
            for (int i = 0; i < 40; i++) {
                uint64_t what = sc__random(&shared) % 5;
                uint64_t stream = sc__random(&shared) % 3;
                compute(w,
                        (uint8_t)(sc__random(&own) % 2),
                        (int64_t)(sc__random(&own) % 3000000));
                if (what == 0)
                    collective(w, (uint8_t)stream, SC__GROUP_TP, 1 << 22)->after = 7;
                if (what == 1)
                    collective(w, (uint8_t)stream, SC__GROUP_DP, 1 << 20)->after = 1;
                if (what == 2)
                    collective(w, (uint8_t)stream, SC__GROUP_WORLD, 1 << 16)->after = 3;
                if (what == 3) {
                    struct sc__op *op = message(w,
                                                r < 4 ? SC__OP_SEND : SC__OP_RECV,
                                                0,
                                                r ^ 4,
                                                (uint32_t)i);
                    op->bytes = 1 << 21;
                }
            }
            end_class(w, r, 1, r / 4);
        }
        sc_status status = run(
            w,
            k % 2 ? "dgx-h100" : "gpu=h100 gpus=8 node=2 nvlink=100GB/s nics=2 nic=25GB/s",
            NULL);
        if (status != SC_OK)
            fail_msg("case %d: %s", k, sc_error_text(w->ctx));
        check_conservation(w);
        sc_close(w->ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocking_collective_is_exposed),
        cmocka_unit_test(overlapped_collective_hides_behind_compute),
        cmocka_unit_test(waiting_for_a_slower_peer_is_skew),
        cmocka_unit_test(waiting_for_a_message_is_bubble),
        cmocka_unit_test(eager_sends_do_not_wait),
        cmocka_unit_test(messages_of_one_tag_match_in_order),
        cmocka_unit_test(explicit_dependencies_hold),
        cmocka_unit_test(waiting_for_an_unused_stream_is_no_wait),
        cmocka_unit_test(deadlock_names_who_waits),
        cmocka_unit_test(different_collectives_in_a_group_are_an_error),
        cmocka_unit_test(transfers_on_one_port_share_it),
        cmocka_unit_test(compute_slows_down_under_communication),
        cmocka_unit_test(random_workloads_conserve_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
