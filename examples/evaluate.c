/* Ten thousand plans in one context; the memory of the process stays as it is.
 *     cc evaluate.c -lstepcast -o evaluate */
#include <stepcast/stepcast.h>

#include <stdio.h>
#include <sys/resource.h>

int main(void) {
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    sc_result *result;
    struct rusage use;
    long early = 0;
    if (sc_model_load(ctx, "llama3-8b", &model) != SC_OK ||
        sc_cluster_load(ctx, "dgx-h100:64", &cluster) != SC_OK) {
        fputs(sc_error_text(ctx), stderr);
        return 1;
    }
    for (unsigned i = 0; i < 10000; i++) {
        sc_plan plan = SC_PLAN_INIT;
        plan.tp = 1u << i % 4;
        plan.pp = 1u << i / 4 % 3;
        plan.zero = 1;
        plan.seq = 4096;
        plan.global_batch = 64;
        sc_status status = sc_evaluate(ctx, model, &plan, cluster, NULL, &result);
        if (i < 12 && status == SC_OK)
            printf("tp %u pp %u: %8.1f ms\n",
                   plan.tp,
                   plan.pp,
                   sc_result_step_us(result) / 1e3);
        if (i < 12 && status != SC_OK) /* a plan that does not fit is an answer, too */
            fputs(sc_error_text(ctx), stdout);
        sc_result_free(result);
        getrusage(RUSAGE_SELF, &use);
        early = i == 1000 ? use.ru_maxrss : early;
    }
    printf("resident after 1,000 plans %ld KiB, after 10,000 %ld KiB\n",
           early,
           use.ru_maxrss);
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return use.ru_maxrss > early + 256;
}
