/* Tables of published steps (validate): rows become plans of whichever software, and
 * the commands that are printed for them. None is forecast. */
#include "command/validate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzzed_steps {
    sc_context *ctx;
    struct sc__str text;
};

/* Of whichever software: in turn, since each looks through all profiles. */
static sc_status plan_row(sc_context *ctx, const struct sc__truth_row *row, uint32_t i) {
    static const enum sc__truth_software all[] = {SC__TRUTH_OWN,
                                                  SC__TRUTH_NEAREST,
                                                  SC__TRUTH_ASSUMED};
    struct sc__truth_rates rates = {1e15, 1e15, 1e6, 1e3, 8};
    struct sc__truth_plan plan = {0};
    SC__TRY(sc__truth_plan(ctx, row, all[i % (sizeof all / sizeof *all)], &plan));
    if (!plan.skip && !*sc__truth_command(ctx, &plan))
        __builtin_trap();
    if (sc__truth_derived(row, &rates) < 0)
        __builtin_trap();
    return SC_OK;
}

static sc_status read_steps(void *self) {
    const struct fuzzed_steps *f = self;
    struct sc__truth table = {0};
    SC__TRY(sc__truth_parse(f->ctx, "fuzz.csv", f->text, &table));
    for (uint32_t i = 0; i < table.count; i++)
        SC__TRY(plan_row(f->ctx, &table.rows[i], i));
    return SC_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sc_context *ctx = sc_open();
    struct fuzzed_steps f = {ctx, {(const char *)data, size}};
    ctx->arena.limit = (size_t)256 << 20;
    sc__guarded(ctx, read_steps, &f);
    sc_close(ctx);
    return 0;
}
