/* Ten thousand plans in one context: cc evaluate.c -lstepcast -o evaluate */
#include <stepcast/stepcast.h>

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    sc_context *ctx = sc_open();
    sc_model *model;
    sc_cluster *cluster;
    if (sc_model_load(ctx, "llama3-8b", &model) ||
        sc_cluster_load(ctx, "dgx-h100:64", &cluster))
        return 1; /* sc_error_text(ctx) says why */
    for (unsigned i = 0; i < count; i++) {
        sc_plan plan = SC_PLAN_INIT;
        sc_result *result;
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
        else if (i < 12) /* a plan that does not fit is an answer, too */
            fputs(sc_error_text(ctx), stdout);
        sc_result_free(result);
    }
    sc_cluster_free(cluster);
    sc_model_free(model);
    sc_close(ctx);
    return 0;
}
