/* capture reader: the entry in the list of readers, and what `show` says: the modules
 * with what they cost. */
#include "frontend/capture/capture.h"
#include "workload/shares.h"

#include <string.h>

const struct sc__option sc__capture_options[] = {
    {"host-scale",
     0,
     "N",
     "1",
     "Captures",
     "host time over that of the measurements (docs/model/operators.md); 0: none",
     0},
    {"compiled",
     0,
     "WORD",
     "auto",
     "Captures",
     "fuse kernels as torch.compile does: no, yes, graphs (CUDA graphs too), auto: as the "
     "program asks",
     0},
    {0},
};

struct capture_details {
    struct sc__capture capture;
};

static sc_status capture_read(struct sc_context *ctx,
                              const struct sc__settings *settings,
                              const char *const *paths,
                              uint32_t count,
                              struct sc__document *out) {
    struct capture_details *d = SC__NEW(&ctx->arena, struct capture_details);
    (void)count;
    SC__TRY(sc__capture_read(ctx, paths[0], &d->capture));
    d->capture.file = sc__shown_name(ctx, paths[0]);
    SC__TRY(sc__capture_lower(ctx, settings, &d->capture, &out->workload));
    out->details = d;
    return SC_OK;
}

static int
capture_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    static const char schema[] = "\"stepcast/capture/";
    (void)path;
    for (size_t i = 0; !directory && i + sizeof schema - 1 <= n && i < 4096; i++)
        if (!memcmp(head + i, schema, sizeof schema - 1))
            return 100;
    return 0;
}

/* ---- show ---- */

enum { MOST_DEPTH = 2, MOST_MODULES = 40 };

/* The name down to a depth: "layers.0" of "layers.0.qkv". */
static const char *module_prefix(struct sc__arena *a, const char *name) {
    unsigned dots = 0;
    size_t n = 0;
    for (; name[n]; n++)
        if (name[n] == '.' && ++dots == MOST_DEPTH)
            break;
    return sc__strndup(a, name, n);
}

static void module_shares(struct sc_context *ctx,
                          const struct capture_details *d,
                          struct sc__shares *shares) {
    const struct sc__capture *c = &d->capture;
    const struct sc__capture_program *p = &c->programs[c->classes[0].program];
    double total = 0;
    for (uint32_t i = 0; i < p->op_count; i++)
        total += p->prices[i].kernel.us;
    sc__shares_init(shares, &ctx->arena, (int64_t)(total * 1e6));
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct sc__capture_op *op = &p->ops[i];
        const char *module = module_prefix(&ctx->arena, c->modules[op->module]);
        double us = p->prices[i].kernel.us;
        if (us > 0)
            sc__shares_add(shares,
                           *module ? module : "(outside modules)",
                           NULL,
                           (int64_t)(us * 1e6));
    }
    sc__shares_sort(shares);
}

struct module_time {
    double phase[SC__PHASES];
};

/* Every module of the first captured rank, by itself, without those below it: the times
 * of its kernels. */
static void module_times_json(struct sc_context *ctx,
                              const struct capture_details *d,
                              struct sc__json *json) {
    const struct sc__capture *c = &d->capture;
    const struct sc__capture_program *p = &c->programs[c->classes[0].program];
    struct module_time *us =
        SC__NEW_ARRAY(&ctx->arena, struct module_time, c->module_count + 1);
    for (uint32_t i = 0; i < p->op_count; i++)
        us[p->ops[i].module].phase[p->ops[i].phase] += p->prices[i].kernel.us;
    sc__json_array(json, "module_times");
    for (uint32_t m = 0; m < c->module_count; m++) {
        sc__json_row(json, NULL);
        sc__json_string(json, "module", c->modules[m]);
        sc__json_double(json, "forward_us", us[m].phase[SC__FORWARD]);
        sc__json_double(json, "backward_us", us[m].phase[SC__BACKWARD]);
        sc__json_double(json, "recompute_us", us[m].phase[SC__RECOMPUTE]);
        sc__json_double(json, "update_us", us[m].phase[SC__UPDATE]);
        sc__json_end_object(json);
    }
    sc__json_end_array(json);
}

static void capture_show(struct sc_context *ctx,
                         const struct sc__document *doc,
                         struct sc__buffer *text,
                         struct sc__json *json) {
    const struct capture_details *d = doc->details;
    const struct sc__capture *c = &d->capture;
    struct sc__shares shares;
    uint64_t ops = 0;
    for (uint32_t i = 0; i < c->program_count; i++)
        ops += c->programs[i].op_count;
    sc__printf(text,
               "  made by       %s\n  ranks         %u, of which %u captured\n"
               "  operations    %llu, %u distinct\n  modules       %u\n",
               c->made_by ? c->made_by : "unknown",
               c->world,
               c->class_count,
               (unsigned long long)ops,
               c->call_count,
               c->module_count);
    module_shares(ctx, d, &shares);
    sc__printf(text, "  kernels of rank %u by module\n", c->classes[0].rank);
    sc__shares_text(&shares, MOST_MODULES, text);
    if (!json)
        return;
    sc__json_object(json, "capture");
    sc__json_u64(json, "ranks", c->world);
    sc__json_u64(json, "captured", c->class_count);
    sc__json_u64(json, "operations", ops);
    sc__json_u64(json, "modules", c->module_count);
    module_times_json(ctx, d, json);
    sc__json_end_object(json);
}

const struct sc__reader sc__reader_capture = {
    .name = "capture",
    .title = "capture of a PyTorch step (stepcast.capture)",
    .detect = capture_detect,
    .read = capture_read,
    .show = capture_show,
    .options = sc__capture_options,
};
