/* The search for a plan: plans a second, how many are simulated, and the ratio to
 * simulating all of them, whose answer must be the same. BENCH_FULL=1 adds wider
 * spaces, without that ratio. */
#include "model/read.h"
#include "search/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct space {
    const char *title;
    const char *model;
    const char *cluster;
    uint32_t gpus;
    uint32_t global_batch;
    uint32_t seq;
    unsigned tries;
    bool full; /* of BENCH_FULL */
};

static const struct space spaces[] = {
    {"Llama 3 8B, 64 GPUs", "llama3-8b", "dgx-h100", 64, 256, 8192, 0, false},
    {"Llama 3 70B, 512 GPUs", "llama3-70b", "dgx-h100", 512, 1024, 8192, 0, false},
    {"Llama 3 70B, 512 GPUs, ZeRO, overlap, cp, order",
     "llama3-70b",
     "dgx-h100",
     512,
     1024,
     8192,
     SC__TRY_ZERO | SC__TRY_SEQUENCE | SC__TRY_OVERLAP | SC__TRY_CP_COMM | SC__TRY_ORDER,
     true},
    {"Llama 3 70B, 512 GPUs, everything",
     "llama3-70b",
     "dgx-h100",
     512,
     1024,
     8192,
     SC__TRY_ALL,
     true},
    {"DeepSeek-V3, 2048 GPUs", "deepseek-v3", "hgx-h800", 2048, 15360, 4096, 0, true},
    {"DeepSeek-V3, 2048 GPUs, everything",
     "deepseek-v3",
     "hgx-h800",
     2048,
     15360,
     4096,
     SC__TRY_ALL,
     true},
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The best step, ps; 0 where nothing fits. */
static int64_t search_space(const struct space *x, bool exhaustive, double *seconds) {
    sc_context *ctx = sc_open();
    struct sc__model *model = SC__NEW(&ctx->arena, struct sc__model);
    const sc_setting name = {"model", x->model};
    const struct sc__setting_list list = {&name, 1};
    struct sc__settings settings = sc__settings_of(ctx, &list);
    struct sc__search s = {.ctx = ctx,
                           .model = model,
                           .given = (sc_plan)SC_PLAN_INIT,
                           .options = (sc_options)SC_OPTIONS_INIT,
                           .machine_count = 1,
                           .tries = x->tries,
                           .memory_margin = 0.08,
                           .top = 10,
                           .exhaustive = exhaustive};
    bool given;
    int64_t best = 0;
    s.machines = SC__NEW(&ctx->arena, struct sc__search_machine);
    s.given.global_batch = x->global_batch;
    s.given.seq = x->seq;
    double begin = now();
    if (sc__model_settings(ctx, &settings, model, &given) == SC_OK &&
        sc__search_machine(ctx,
                           &s.options,
                           &s.engine_settings,
                           x->cluster,
                           x->gpus,
                           s.machines) == SC_OK &&
        sc__search_run(&s) == SC_OK && s.best_count)
        best = s.plans[s.best[0]].step;
    *seconds = now() - begin;
    if (!exhaustive)
        printf("  %u plans, %.1f %% left out by floors, %u fit, %u simulated (%.2f %% of "
               "all): "
               "%.2f s, %.0f plans/s\n",
               s.tried,
               100.0 * s.unseen / (s.tried ? s.tried : 1),
               s.fit,
               s.evaluated,
               100.0 * s.evaluated / (s.tried ? s.tried : 1),
               *seconds,
               s.tried / *seconds);
    sc_close(ctx);
    return best;
}

int main(void) {
    int wrong = 0;
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        const struct space *x = &spaces[i];
        double few;
        double all;
        if (x->full && !getenv("BENCH_FULL"))
            continue;
        printf("%s\n", x->title);
        int64_t best = search_space(x, false, &few);
        if (x->full)
            continue;
        int64_t want = search_space(x, true, &all);
        printf("  simulating all: %.2f s, %.1f times as long, %s answer\n",
               all,
               all / few,
               best == want ? "the same" : "ANOTHER");
        wrong |= best != want || !best;
    }
    return wrong;
}
