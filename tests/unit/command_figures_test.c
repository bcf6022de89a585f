/* Figures that commands make of their rows: errors of validate, rates that tables print,
 * and slowdowns of flows; by hand. */
#include "command/flows_packet.h"
#include "command/validate.h"

#include "test.h"

#include "context.h"

/* ---- validate: errors ---- */

static bool in_all(const struct sc__truth_row *row, const char *label) {
    return (void)row, (void)label, true;
}

/* Of a second each: errors of -30, -10, +10, +20, +40 and +90 %, one that was not run. */
static void errors_of_rows(void **state) {
    (void)state;
    static const double predicted[] = {1.4, 0.7, 0.9, 1.9, 1.1, 1.2, 0};
    struct sc__truth_row rows[7] = {0};
    for (int i = 0; i < 7; i++)
        rows[i] = (struct sc__truth_row){.measured = 1,
                                         .predicted = predicted[i],
                                         .skipped = i == 6 ? "no" : NULL};
    const struct sc__truth t = {.rows = rows, .count = 7};
    struct sc__truth_summary s = sc__truth_sum(ctx, &t, "all", in_all);
    assert_int_equal(s.rows, 7);
    assert_int_equal(s.simulated, 6);
    assert_within(s.mean, 200.0 / 6, 1e-9);
    assert_within(s.bias, 120.0 / 6, 1e-9);
    assert_within(s.median, 25, 1e-9); /* between 20 and 30 */
    assert_within(s.p90, 90, 1e-9);    /* the nearest to 9/10 of the way from 10 to 90 */
    assert_within(s.worst, 90, 1e-9);
}

/* Predictions are divided by what was measured: half of it is -50 %, twice is +100 %. */
static void errors_are_of_what_was_measured(void **state) {
    (void)state;
    struct sc__truth_row rows[] = {{.measured = 2, .predicted = 1},
                                   {.measured = 1, .predicted = 2}};
    const struct sc__truth t = {.rows = rows, .count = 2};
    struct sc__truth_summary s = sc__truth_sum(ctx, &t, "all", in_all);
    assert_within(s.mean, 75, 1e-9);
    assert_within(s.bias, 25, 1e-9);
    assert_within(s.worst, 100, 1e-9);
}

/* Seventeen GPUs in nodes of eight are three nodes, nine are two, eight are one. */
static void sizes_are_whole_nodes(void **state) {
    (void)state;
    static const char *const gpus[] = {"8", "9", "17"};
    struct sc__truth_row rows[3] = {0};
    struct sc__buffer text;
    for (int i = 0; i < 3; i++) {
        for (int c = 0; c < SC__TRUTH_COLUMNS; c++)
            rows[i].cell[c] = "";
        rows[i].cell[SC__TRUTH_GPUS] = gpus[i];
        rows[i].cell[SC__TRUTH_NODE] = "8";
        rows[i].measured = rows[i].predicted = 1;
    }
    const struct sc__truth t = {.rows = rows, .count = 3};
    sc__buffer_init(&text, &ctx->arena);
    sc__truth_markdown(ctx, &t, &text);
    assert_non_null(strstr(text.text, "| 1 node | 1 | 1 |"));
    assert_non_null(strstr(text.text, "| 2 to 16 nodes | 2 | 2 |"));
}

/* ---- validate: rates ---- */

static double seconds_of(const char *quantity, const char *value) {
    /* 4 GPUs of 1000 TFLOP/s; a step of 8 sequences, 16384 tokens, 2 PFLOP */
    static const struct sc__truth_rates rates = {.model_flops = 2e15,
                                                 .peak_flops = 1e15,
                                                 .tokens = 16384,
                                                 .sequences = 8,
                                                 .gpus = 4};
    struct sc__truth_row row = {0};
    row.cell[SC__TRUTH_QUANTITY] = quantity;
    row.cell[SC__TRUTH_VALUE] = value;
    return sc__truth_derived(&row, &rates);
}

static void rates_are_steps(void **state) {
    (void)state;
    assert_within(seconds_of("tokens/s", "8192"), 2, 1e-12);
    assert_within(seconds_of("tokens/s/GPU", "2048"), 2, 1e-12);
    assert_within(seconds_of("samples per second", "4"), 2, 1e-12);
    assert_within(seconds_of("TFLOP/s/GPU", "250"), 2, 1e-12);
    assert_within(seconds_of("PFLOP/s", "1"), 2, 1e-12); /* of all */
    assert_within(seconds_of("MFU", "0.25"), 2, 1e-12);
    assert_within(seconds_of("MFU %", "25"), 2, 1e-12);
    assert_within(seconds_of("iteration time (ms)", "2000"), 2, 1e-12);
    assert_within(seconds_of("step time", "2"), 2, 1e-12);
    assert_number(seconds_of("loss", "2"), ==, 0);
}

/* ---- flows ---- */

/* Slowdowns 1 … 4 of flows that last 100, 200, 300 and 400 ns where 100 would do, the last
 * but one from 1000 ns on; a fifth has not ended. What arrived earlier does not count. */
static void slowdowns_of_flows(void **state) {
    (void)state;
    struct sc__packet_flow items[5];
    for (int i = 0; i < 5; i++)
        items[i] = (struct sc__packet_flow){.start = i == 2 ? 1000 : 0,
                                            .completion = i < 4 ? 100 * (i + 1) : -1,
                                            .received = 50,
                                            .ideal = 100};
    struct sc__packet_run r = {.flows = {.items = items, .count = 5}};
    sc__packet_run_sum_up(&r, &ctx->arena);
    assert_within(r.mean_slowdown, 2.5, 1e-12);
    assert_within(r.median_slowdown, 2, 1e-12); /* half of all are not over it */
    assert_within(r.p99_slowdown, 4, 1e-12);
    assert_within(r.worst_slowdown, 4, 1e-12);
    assert_int_equal(r.last_end, 1300);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors_of_rows),
                                       cmocka_unit_test(errors_are_of_what_was_measured),
                                       cmocka_unit_test(sizes_are_whole_nodes),
                                       cmocka_unit_test(rates_are_steps),
                                       cmocka_unit_test(slowdowns_of_flows)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
