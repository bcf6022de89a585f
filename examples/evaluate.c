/* Ten thousand plans in one context: the memory of the process does not grow.
 *     cc -o evaluate evaluate.c -lstepcast && ./evaluate llama3-8b dgx-h100:64 10000 */
#include <stepcast/stepcast.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv) {
    static const uint32_t tp[] = {1, 2, 4, 8}, pp[] = {1, 2, 4}, micro_batch[] = {1, 2};
    sc_context *ctx = sc_open();
    sc_model *model = NULL;
    sc_cluster *cluster = NULL;
    struct rusage use;
    long early = 0;
    double best = 0;
    if (argc < 4 || !ctx || sc_model_load(ctx, argv[1], &model) != SC_OK ||
        sc_cluster_load(ctx, argv[2], &cluster) != SC_OK)
        return fputs(ctx && argc > 3 ? sc_error_text(ctx) : "MODEL CLUSTER COUNT\n",
                     stderr),
               1;
    int count = atoi(argv[3]), fits = 0;
    for (int i = 0; i < count; i++) {
        sc_plan plan = SC_PLAN_INIT;
        sc_result *result;
        plan.tp = tp[i % 4], plan.pp = pp[i / 4 % 3],
        plan.micro_batch = micro_batch[i / 12 % 2];
        plan.global_batch = 256, plan.seq = 4096, plan.zero = 1;
        sc_status status = sc_evaluate(ctx, model, &plan, cluster, NULL, &result);
        if (status != SC_OK && status != SC_NO_FIT) /* which is an answer too */
            return fputs(sc_error_text(ctx), stderr), 1;
        if (status == SC_OK && (fits++ == 0 || sc_result_step_us(result) < best))
            best = sc_result_step_us(result);
        sc_result_free(result);
        if (getrusage(RUSAGE_SELF, &use) == 0 && i == count / 10)
            early = use.ru_maxrss;
    }
    printf("%d plans, %d fit, best %.3f ms; resident after a tenth %ld KiB, at the end %ld "
           "KiB\n",
           count,
           fits,
           best * 1e-3,
           early,
           use.ru_maxrss);
    sc_model_free(model), sc_cluster_free(cluster), sc_close(ctx);
    return use.ru_maxrss > early + 1024;
}
