/* kept: the parts of a workload and its timeline that a result copies. */
#include "result/result.h"

#include <string.h>

static void *
kept_copy_array(struct sc__arena *a, const void *from, size_t count, size_t size) {
    void *to = sc__alloc_array(a, count ? count : 1, size);
    if (count)
        memcpy(to, from, count * size);
    return to;
}

static const char *kept_copy_name(struct sc__arena *a, const char *name) {
    return name ? sc__strdup(a, name) : NULL;
}

/* What a span's operation is looked up in: names, streams, members of groups. */
static void kept_keep_operations(struct sc__arena *a,
                                 struct sc__workload *copy,
                                 const struct sc__workload *w) {
    copy->ops = kept_copy_array(a, w->ops, w->op_count, sizeof *w->ops);
    copy->op_count = w->op_count;
    copy->op_capacity = w->op_count;
    copy->names.text = SC__NEW_ARRAY(a, const char *, w->names.count + 1);
    copy->names.count = w->names.count;
    for (uint32_t i = 0; i < w->names.count; i++)
        copy->names.text[i] = sc__strdup(a, w->names.text[i]);
    for (unsigned s = 0; s < SC__MAX_STREAMS; s++)
        copy->stream_names[s] = kept_copy_name(a, w->stream_names[s]);
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].ranks)
            copy->groups[g].ranks = kept_copy_array(a,
                                                    w->groups[g].ranks,
                                                    w->groups[g].count,
                                                    sizeof *w->groups[g].ranks);
    if (w->rank_class)
        copy->rank_class = kept_copy_array(a,
                                           w->rank_class,
                                           sc__mesh_ranks(&w->mesh),
                                           sizeof *w->rank_class);
}

static void kept_keep_groups(struct sc__arena *a,
                             struct sc__workload *copy,
                             const struct sc__workload *w) {
    copy->groups = kept_copy_array(a, w->groups, w->group_count, sizeof *w->groups);
    copy->group_count = w->group_count;
    for (uint32_t g = 0; g < w->group_count; g++) {
        copy->groups[g].label = kept_copy_name(a, w->groups[g].label);
        copy->groups[g].ranks = NULL;
    }
}

static void kept_keep_classes(struct sc__arena *a,
                              struct sc__workload *copy,
                              const struct sc__workload *w) {
    copy->classes = kept_copy_array(a, w->classes, w->class_count, sizeof *w->classes);
    copy->class_count = w->class_count;
    for (uint32_t c = 0; c < w->class_count; c++)
        copy->classes[c].name = kept_copy_name(a, w->classes[c].name);
    if (w->memory)
        copy->memory = kept_copy_array(a, w->memory, w->class_count, sizeof *w->memory);
}

void sc__result_keep_workload(struct sc__result *r,
                              const struct sc__workload *w,
                              bool operations) {
    struct sc__arena *a = &r->arena;
    struct sc__workload *copy = SC__NEW(a, struct sc__workload);
    *copy = (struct sc__workload){.format = kept_copy_name(a, w->format),
                                  .mesh = w->mesh,
                                  .vpp = w->vpp,
                                  .micro_batches = w->micro_batches,
                                  .schedule = kept_copy_name(a, w->schedule),
                                  .steps_overlap = w->steps_overlap,
                                  .tokens = w->tokens,
                                  .model_flops = w->model_flops,
                                  .hardware_flops = w->hardware_flops,
                                  .compute_stream = w->compute_stream,
                                  .comm_tax = w->comm_tax,
                                  .memory_capacity = w->memory_capacity,
                                  .host_capacity = w->host_capacity,
                                  .peak_flops = w->peak_flops,
                                  .draw = w->draw,
                                  .gpu_usd_per_hour = w->gpu_usd_per_hour};
    kept_keep_groups(a, copy, w);
    kept_keep_classes(a, copy, w);
    if (operations)
        kept_keep_operations(a, copy, w);
    r->workload = copy;
    r->class_count = copy->class_count;
    r->classes = SC__NEW_ARRAY(a, struct sc__class_breakdown, copy->class_count + 1);
    for (uint32_t c = 0; c < copy->class_count; c++)
        r->classes[c].class = &copy->classes[c];
}

/* The search for the path takes more memory than the path. */
void sc__result_add_path(struct sc__result *r) {
    struct sc__arena scratch;
    struct sc__critical path;
    if (!r->timeline || r->critical_path.pieces)
        return;
    sc__operations(&r->arena, r->timeline, &r->by_class, &r->operations);
    sc__arena_init(&scratch);
    sc__critical_path(&scratch, r->timeline, &r->by_class, &path);
    r->critical_path = path;
    r->critical_path.pieces =
        kept_copy_array(&r->arena, path.pieces, path.count, sizeof *path.pieces);
    r->critical_path.capacity = path.count;
    sc__arena_free(&scratch);
}

void sc__result_keep_timeline(struct sc__result *r, const struct sc__timeline *t) {
    struct sc__arena *a = &r->arena;
    struct sc__timeline *copy = SC__NEW(a, struct sc__timeline);
    *copy = (struct sc__timeline){
        .workload = r->workload,
        .spans = kept_copy_array(a, t->spans, t->count, sizeof *t->spans),
        .count = t->count,
        .capacity = t->count,
        .idles = kept_copy_array(a, t->idles, t->idle_count, sizeof *t->idles),
        .idle_count = t->idle_count,
        .idle_capacity = t->idle_count,
        .end = t->end};
    r->timeline = copy;
    sc__by_class(a, copy, &r->by_class);
}
