/* Bands by the rules of docs/report.md, from data/bands.json as it lies there. */
#include "test.h"

#include "context.h"
#include "evaluate/evaluate.h"

#include <jansson.h>

static struct sc__band
band_of(const char *software, const char *gpu, bool experts, bool said, double offload) {
    struct sc__software profile = {.name = software};
    struct sc__evaluation *ev = SC__NEW(&ctx->arena, struct sc__evaluation);
    ev->plan.software = &profile;
    ev->plan.gpu = gpu;
    ev->plan.offload_optimizer = offload;
    ev->has_experts = experts;
    ev->software_said = said;
    sc__result_begin(&ev->result);
    assert_int_equal(sc__evaluation_band(ctx, ev), SC_OK);
    struct sc__band band = ev->result.band;
    sc__result_free(&ev->result);
    band.like = NULL; /* the result's */
    return band;
}

static bool is(const json_t *group, const char *key, const char *text) {
    return !text || !strcmp(json_string_value(json_object_get(group, key)), text);
}

/* The mean of all published steps of these groups, by how many each has. */
static uint32_t mean_of(const json_t *groups,
                        const char *software,
                        const char *gpu,
                        bool experts,
                        const char *key,
                        double *mean) {
    size_t i;
    json_t *g;
    double count = 0;
    double sum = 0;
    json_array_foreach((json_t *)groups, i, g) {
        if (json_is_true(json_object_get(g, "experts")) != experts ||
            !is(g, "software", software) || !is(g, "gpu", gpu))
            continue;
        double n = json_number_value(json_object_get(g, "count"));
        count += n;
        sum += n * json_number_value(json_object_get(g, key));
    }
    *mean = sum / count;
    return (uint32_t)count;
}

static void check(const struct sc__band *got, const char *grade, uint32_t n, double mean) {
    assert_string_equal(got->grade, grade);
    assert_int_equal(got->count, n);
    assert_within(got->mean, mean, 1e-9);
}

static bool is_guessed(const char *gpu) {
    char path[64];
    snprintf(path, sizeof path, "data/gpus/%s.json", gpu);
    json_t *root = json_load_file(path, 0, NULL);
    const char *grade =
        json_string_value(json_object_get(json_object_get(root, "fitted"), "grade"));
    bool guessed = grade && !strcmp(grade, "guessed");
    json_decref(root);
    return guessed;
}

/* Three with the same software and GPU; three with the GPU; three with the software; all.
 */
static void check_group(const json_t *groups, const json_t *g) {
    const char *software = json_string_value(json_object_get(g, "software"));
    const char *gpu = json_string_value(json_object_get(g, "gpu"));
    bool experts = json_is_true(json_object_get(g, "experts"));
    double mean[6];
    const uint32_t n[6] = {
        mean_of(groups, software, gpu, experts, "mean_pct", &mean[0]),
        mean_of(groups, NULL, gpu, experts, "mean_without_pct", &mean[1]),
        mean_of(groups, software, NULL, experts, "mean_pct", &mean[2]),
        mean_of(groups, NULL, NULL, experts, "mean_without_pct", &mean[3]),
        mean_of(groups, NULL, gpu, experts, "mean_assumed_pct", &mean[4]),
        mean_of(groups, NULL, NULL, experts, "mean_assumed_pct", &mean[5])};
    unsigned said = n[0] >= 3 ? 0 : n[1] >= 3 ? 1 : n[2] >= 3 ? 2 : 3;
    unsigned assumed = n[4] >= 3 ? 4 : 5;
    static const char *const grades[] = {"measured",
                                         "calibrated",
                                         "calibrated",
                                         "extrapolated",
                                         "calibrated",
                                         "extrapolated"};
    const bool unmeasured = is_guessed(gpu); /* only its own steps say more */
    struct sc__band band = band_of(software, gpu, experts, true, 0);
    check(&band, unmeasured && said ? "extrapolated" : grades[said], n[said], mean[said]);
    band = band_of(software, gpu, experts, false, 0);
    check(&band, unmeasured ? "extrapolated" : grades[assumed], n[assumed], mean[assumed]);
    /* none of them offloads */
    band = band_of(software, gpu, experts, true, 1);
    check(&band, "extrapolated", n[said], mean[said]);
}

static void all_groups(void **state) {
    json_t *root = json_load_file("data/bands.json", 0, NULL);
    const json_t *groups = json_object_get(root, "groups");
    unsigned few = 0;
    size_t i;
    json_t *g;
    (void)state;
    assert_true(json_array_size(groups) > 10);
    json_array_foreach((json_t *)groups, i, g) {
        few += json_integer_value(json_object_get(g, "count")) < 3;
        check_group(groups, g);
    }
    assert_true(few > 0);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_groups)};
    return cmocka_run_group_tests(tests, open_context, close_context);
}
