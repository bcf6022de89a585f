/* band: the errors of published steps that share software, GPU or kind of model
 * with the one at hand (data/bands.json, which make validate writes).
 *
 *   measured      same software, same GPU, dense or with experts as this one
 *   calibrated    same GPU and kind, other software; or same software and kind,
 *                 another GPU
 *   extrapolated  all steps of the kind; or of a GPU with other software, where the GPU's
 *                 constants are guessed: no kernel of it was measured
 *
 * Where the software is another one, errors count that were made with a profile that was
 * not the source's own; where it was assumed, those made with what is assumed. */
#include "base/data.h"
#include "evaluate/evaluate.h"
#include "hardware/gpu.h"

#include <jansson.h>
#include <string.h>

#define ENOUGH 3u /* fewer published steps are no band */

struct wanted {
    const char *software; /* NULL: any */
    const char *gpu;      /* NULL: any */
    bool experts;
    enum errors {
        OF_ITS_PROFILE,
        OF_THE_NEAREST, /* the source's own left out */
        OF_THE_ASSUMED  /* what is taken where nobody says */
    } errors;
};

static bool is_text(const json_t *group, const char *key, const char *text) {
    const char *value = json_string_value(json_object_get(group, key));
    return !text || (value && !strcmp(value, text));
}

static struct sc__band sum_groups(const json_t *groups, const struct wanted *w) {
    struct sc__band band = {0};
    static const char *const means[] = {"mean_pct", "mean_without_pct", "mean_assumed_pct"};
    static const char *const biases[] = {"bias_pct",
                                         "bias_without_pct",
                                         "bias_assumed_pct"};
    const char *mean = means[w->errors];
    const char *bias = biases[w->errors];
    size_t i;
    json_t *group;
    json_array_foreach((json_t *)groups, i, group) {
        if (json_is_true(json_object_get(group, "experts")) != w->experts ||
            !is_text(group, "software", w->software) || !is_text(group, "gpu", w->gpu))
            continue;
        double n = (double)json_integer_value(json_object_get(group, "count"));
        band.count += (uint32_t)n;
        band.mean += n * json_number_value(json_object_get(group, mean));
        band.bias += n * json_number_value(json_object_get(group, bias));
    }
    if (!band.count)
        return band;
    band.mean /= band.count;
    band.bias /= band.count;
    return band;
}

/* The first of these with enough steps. */
static struct sc__band find_band(struct sc__arena *arena,
                                 const json_t *groups,
                                 const struct wanted *own,
                                 bool assumed) {
    const char *kind = own->experts ? "models with experts" : "dense models";
    const enum errors foreign = assumed ? OF_THE_ASSUMED : OF_THE_NEAREST;
    const char *which = assumed ? "any software" : "other software";
    const struct {
        struct wanted wanted;
        const char *grade;
        const char *like;
    } levels[] = {
        {*own, "measured", sc__format(arena, "%s on %s", own->software, own->gpu)},
        {{NULL, own->gpu, own->experts, foreign},
         "calibrated",
         sc__format(arena, "%s on %s, %s", kind, own->gpu, which)},
        {{own->software, NULL, own->experts, OF_ITS_PROFILE},
         "calibrated",
         sc__format(arena, "%s, other GPUs", own->software)},
        {{NULL, NULL, own->experts, foreign},
         "extrapolated",
         sc__format(arena, "%s, %s and GPUs", kind, which)},
    };
    struct sc__band band = {0};
    for (unsigned i = assumed ? 1 : 0; i < sizeof levels / sizeof *levels; i++) {
        if (assumed && levels[i].wanted.software)
            continue;
        band = sum_groups(groups, &levels[i].wanted);
        band.grade = levels[i].grade;
        band.like = levels[i].like;
        if (band.count >= ENOUGH)
            return band;
    }
    band.count = 0;
    return band;
}

/* What the plan does and no published step of the tables did. */
static const char *unlike_published(const struct sc__plan *p) {
    bool towers = p->images || p->audio_seconds > 0;
    if (sc__plan_offloads(p))
        return towers ? "none of them offloads to the host or has a tower"
                      : "none of them offloads to the host";
    return towers ? "none of them has a tower" : NULL;
}

static void note_unlike(struct sc__evaluation *ev, const struct sc__gpu *gpu) {
    const char *unlike = unlike_published(&ev->plan);
    struct sc__band *band = &ev->result.band;
    if (!band->count)
        return;
    if (!unlike && sc__gpu_is_guessed(gpu) && !strcmp(band->grade, "calibrated"))
        unlike = "no kernel of this GPU was measured";
    if (!unlike)
        return;
    band->grade = "extrapolated";
    band->like = sc__format(&ev->result.arena, "%s; %s", band->like, unlike);
}

sc_status sc__evaluation_band(struct sc_context *ctx, struct sc__evaluation *ev) {
    const json_t *root = sc__data_json("bands.json");
    const struct sc__gpu *gpu;
    SC__TRY(sc__gpu_find(ctx, sc__plan_gpu(&ev->plan, &ev->cluster), &gpu));
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/bands.json was not built in, or is damaged");
    struct wanted own = {.software = ev->plan.software->name,
                         .gpu = gpu->name,
                         .experts = ev->has_experts};
    ev->result.band = find_band(&ev->result.arena,
                                json_object_get(root, "groups"),
                                &own,
                                !ev->software_said);
    note_unlike(ev, gpu);
    return SC_OK;
}
