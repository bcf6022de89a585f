/* fit-gpu: a table of measured kernels → a GPU's file. */
#include "command/command.h"

#include "evaluate/evaluate.h"
#include "hardware/gpu_fit.h"

#include <stdlib.h>
#include <string.h>

static const struct sc__option options[] = {
    {"base",
     0,
     "GPU",
     NULL,
     "Fit",
     "the GPU whose datasheet and constants to begin with",
     0},
    {"tiles",
     0,
     NULL,
     NULL,
     "Fit",
     "fit the GEMM kernels of the library one by one, too; needs hundreds of GEMMs",
     0},
    {"output",
     'o',
     "FILE",
     NULL,
     "Output",
     "the GPU's file, for --gpu FILE; - for standard output",
     0},
    {0}};

static const struct sc__option *const tables[] = {options, sc__memory_options, NULL};

static void write_groups(struct sc_request *req, const struct sc__gpu_fit *fit) {
    sc__printf(&req->out,
               "%-28s %6s %10s %10s %10s %10s\n",
               "mean error, %",
               "rows",
               "constants",
               "before",
               "after",
               "held out");
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct sc__fit_group *g = &fit->groups[i];
        sc__printf(&req->out,
                   "%-28s %6u %10u %10.2f %10.2f ",
                   g->name,
                   g->rows,
                   g->constants,
                   g->before,
                   g->after);
        if (g->held_out >= 0)
            sc__printf(&req->out, "%10.2f\n", g->held_out);
        else
            sc__printf(&req->out, "%10s\n", "-");
    }
    if (fit->kernels_of)
        sc__printf(&req->out,
                   "GEMM kernels as on %s: with the base's, %.2f %% on rows left out\n",
                   fit->kernels_of,
                   fit->base_held_out);
    if (fit->unused)
        sc__printf(&req->out, "%u rows have no time\n", fit->unused);
}

static const char *quality_of(struct sc_context *ctx, const struct sc__gpu_fit *fit) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "mean error (held out):");
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct sc__fit_group *g = &fit->groups[i];
        sc__printf(&b, "%s %s %.1f %%", i ? "," : "", g->name, g->after);
        if (g->held_out >= 0)
            sc__printf(&b, " (%.1f)", g->held_out);
    }
    return b.text;
}

static sc_status fit_gpu_execute(struct sc_request *req) {
    const struct sc__gpu *base;
    struct sc__kernel_table table = {0};
    struct sc__gpu_fit fit;
    struct sc__buffer b;
    const char *output = sc__option(req, "output");
    const char *name = sc__option(req, "base");
    if (req->input_count != 1)
        return sc__usage(req,
                         "tools/measure_kernels.py makes one",
                         "fit-gpu takes one table");
    if (!name)
        return sc__usage(req,
                         "the nearest relative, say --base h100-sxm",
                         "--base is missing");
    SC__TRY(sc__gpu_find(req->ctx, name, &base));
    SC__TRY(sc__kernel_table_read(req->ctx, req->inputs[0], &table));
    SC__TRY(sc__kernel_table_priced(req->ctx, req->inputs[0], &table, base));
    SC__TRY(sc__kernel_table_plausible(req->ctx, req->inputs[0], &table, base));
    sc__gpu_fit(req->ctx, base, &table, sc__flag(req, "tiles"), &fit);
    if (!fit.count)
        return sc__fail(req->ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "%s holds no measured time",
                        req->inputs[0]);
    sc__buffer_init(&b, &req->ctx->arena);
    fit.gpu->grade = "measured";
    sc__gpu_write(fit.gpu,
                  sc__format(&req->ctx->arena, "%s, from %s", req->inputs[0], name),
                  quality_of(req->ctx, &fit),
                  &b);
    if (output && !strcmp(output, "-")) {
        sc__put(&req->out, b.text, b.size);
        return SC_OK;
    }
    if (output)
        SC__TRY(sc__write_file(req->ctx, output, b.text, b.size));
    write_groups(req, &fit);
    return SC_OK;
}

const struct sc__command sc__command_fit_gpu = {
    .name = "fit-gpu",
    .args = "TABLE.csv",
    .summary = "fit the kernel model to measured kernels",
    .text = "TABLE.csv is what tools/measure_kernels.py writes on the GPU in question "
            "(docs/model/kernels.md). The result\n"
            "is a GPU's file for --gpu; kernels the table has no row of keep the constants "
            "of the "
            "base. \"Held out\" is\n"
            "the error on shapes a fit to the other half did not see.",
    .options = tables,
    .execute = fit_gpu_execute};
