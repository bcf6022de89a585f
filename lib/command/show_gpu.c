/* show --gpu: one GPU, its datasheet, and how well its constants are known. */
#include "command/show.h"
#include "hardware/gpu_fit.h"

#include <string.h>

static void put_peaks(struct sc__buffer *out, const struct sc__gpu *g) {
    const char *comma = "";
    sc__puts(out, "  peaks     ");
    for (unsigned t = 0; t <= SC__FP4; t++) {
        if (!(g->peak[t] > 0))
            continue;
        sc__printf(out, "%s%s %g", comma, sc__dtype_name(t), g->peak[t]);
        comma = ", ";
    }
    sc__puts(out, " TFLOP/s, dense\n");
}

static void put_gpu(struct sc__buffer *out, const struct sc__gpu *g) {
    sc__printf(out, "%s\n", g->title);
    sc__printf(out, "  grade     %s", g->grade);
    if (g->base && strcmp(g->grade, "measured"))
        sc__printf(out, " from %s by the ratios of the datasheets", g->base);
    sc__printf(out, "\n  name      %s, %s\n", g->name, g->architecture);
    put_peaks(out, g);
    sc__printf(out,
               "  memory    %.1f GiB, %g TB/s; cache %.0f MB\n",
               g->memory / 0x1p30,
               g->dram,
               g->l2 * 1e-6);
    sc__printf(out,
               "  chip      %.0f multiprocessors at %.0f MHz, %.0f W\n",
               g->sms,
               g->boost_mhz,
               g->tdp);
    if (g->nvlink > 0)
        sc__printf(out, "  links     %.0f GB/s in one direction\n", g->nvlink);
    if (g->source)
        sc__printf(out, "  source    %s\n", g->source);
    if (g->fitted)
        sc__printf(out, "  constants %s\n", g->fitted);
}

sc_status sc__show_gpu(struct sc_request *req) {
    const struct sc__gpu *g;
    const char *json = sc__option(req, "json");
    SC__TRY(sc__gpu_find(req->ctx, sc__option(req, "gpu"), &g));
    if (json) {
        struct sc__buffer b;
        sc__buffer_init(&b, &req->ctx->arena);
        sc__gpu_write(g, g->fitted ? g->fitted : g->source, "", &b);
        SC__TRY(sc__job_output(req, "json", &b));
        if (!strcmp(json, "-"))
            return SC_OK;
    }
    put_gpu(&req->out, g);
    sc__job_note_in_vain(req, "no model is given");
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "  note      %s\n", req->ctx->notes[i].text);
    return SC_OK;
}
