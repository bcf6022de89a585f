/* train_whatif: what one change would bring. Each is the run simulated again with the
 * same seeds; where the best interval is used, with the best of the change. */
#include "command/train.h"

/* Of asynchronous checkpoints: the upper end of what was measured, 0.01 to 0.5 s
 * (docs/goodput.md). */
#define ASYNC_BLOCKING_S 0.5

struct whatif_change {
    const char *key;
    const char *title;
    /* False: it does not apply. */
    bool (*apply)(struct sc__arena *a,
                  const struct sc__train *t,
                  struct sc__goodput_input *in);
};

/* A copy of the set that may be changed. */
static struct sc__failure_set *copy_set(struct sc__arena *a, struct sc__goodput_input *in) {
    struct sc__failure_set *set = SC__NEW(a, struct sc__failure_set);
    *set = *in->set;
    set->classes = SC__NEW_ARRAY(a, struct sc__failure_class, set->class_count);
    for (uint32_t i = 0; i < set->class_count; i++)
        set->classes[i] = in->set->classes[i];
    in->set = set;
    return set;
}

static void halve_ladder(struct sc__arena *a, struct sc__restart_ladder *l) {
    double *half = SC__NEW_ARRAY(a, double, l->count);
    for (uint32_t i = 0; i < l->count; i++)
        half[i] = l->seconds[i] / 2;
    l->seconds = half;
}

static bool one_more_spare(struct sc__arena *a,
                           const struct sc__train *t,
                           struct sc__goodput_input *in) {
    (void)a;
    (void)t;
    if (in->recovery != SC__RECOVERY_SPARES)
        return false;
    in->spares++;
    return true;
}

static bool spares_for_p99(struct sc__arena *a,
                           const struct sc__train *t,
                           struct sc__goodput_input *in) {
    (void)a;
    bool there = in->recovery == SC__RECOVERY_SPARES && in->spares >= t->spares_p99;
    if (there || in->recovery == SC__RECOVERY_DROP)
        return false;
    in->recovery = SC__RECOVERY_SPARES;
    in->spares = t->spares_p99;
    return true;
}

static bool faster_storage(struct sc__arena *a,
                           const struct sc__train *t,
                           struct sc__goodput_input *in) {
    (void)a;
    if (!(t->transfer_s > 0))
        return false;
    /* What was given as a time does not depend on the storage. */
    if (in->blocking_s == t->transfer_s)
        in->blocking_s /= 2;
    if (in->restore_s == t->transfer_s)
        in->restore_s /= 2;
    in->write_s /= 2;
    return true;
}

static bool async_checkpoints(struct sc__arena *a,
                              const struct sc__train *t,
                              struct sc__goodput_input *in) {
    (void)a;
    if (strcmp(t->kind, "sync") || in->blocking_s <= ASYNC_BLOCKING_S ||
        in->blocking_s > in->interval_s)
        return false;
    in->write_s = in->blocking_s;
    in->blocking_s = ASYNC_BLOCKING_S;
    return true;
}

static bool faster_detection(struct sc__arena *a,
                             const struct sc__train *t,
                             struct sc__goodput_input *in) {
    struct sc__failure_set *set = copy_set(a, in);
    (void)t;
    for (uint32_t i = 0; i < set->class_count; i++) {
        set->classes[i].detect_s /= 2;
        set->classes[i].locate_s /= 2;
    }
    return true;
}

static bool faster_restart(struct sc__arena *a,
                           const struct sc__train *t,
                           struct sc__goodput_input *in) {
    struct sc__failure_set *set = copy_set(a, in);
    (void)t;
    halve_ladder(a, &set->requeue);
    halve_ladder(a, &set->hot);
    return true;
}

static bool fewer_failures(struct sc__arena *a,
                           const struct sc__train *t,
                           struct sc__goodput_input *in) {
    struct sc__failure_set *set = copy_set(a, in);
    (void)t;
    for (uint32_t i = 0; i < set->class_count; i++)
        set->classes[i].per_day /= 2;
    return true;
}

static bool best_interval(struct sc__arena *a,
                          const struct sc__train *t,
                          struct sc__goodput_input *in) {
    (void)a;
    if (t->best_is_used)
        return false;
    in->interval_s = sc__train_best_interval(t, in);
    return true;
}

static const struct whatif_change changes[] = {
    {"best-interval", "the best checkpoint interval", best_interval},
    {"spare", "one more spare", one_more_spare},
    {"spares-p99", "spares for 99 % of the time", spares_for_p99},
    {"storage", "storage twice as fast", faster_storage},
    {"async", "asynchronous checkpoints (0.5 s blocking)", async_checkpoints},
    {"detection", "detection and localisation twice as fast", faster_detection},
    {"restart", "restarts twice as fast", faster_restart},
    {"failures", "half as many failures", fewer_failures},
};

static sc_status simulate_change(struct sc_request *req,
                                 const struct sc__train *t,
                                 const struct sc__goodput_input *in,
                                 double *ettr) {
    struct sc__goodput *runs =
        SC__NEW_ARRAY(&req->ctx->arena, struct sc__goodput, t->seeds);
    double wall = 0;
    double work = 0;
    SC__TRY(sc__goodput_seeds(req->ctx, in, t->seeds, runs));
    for (uint32_t i = 0; i < t->seeds; i++) {
        wall += runs[i].wall_s;
        work += runs[i].time_s[SC__TIME_PRODUCTIVE];
    }
    *ettr = work / wall;
    return SC_OK;
}

sc_status sc__train_whatif(struct sc_request *req, struct sc__train *t) {
    const unsigned count = sizeof changes / sizeof *changes;
    t->whatif = SC__NEW_ARRAY(&req->ctx->arena, struct sc__train_whatif, count);
    for (unsigned i = 0; i < count; i++) {
        struct sc__goodput_input in = t->in;
        if (!changes[i].apply(&req->ctx->arena, t, &in))
            continue;
        if (t->best_is_used)
            in.interval_s = sc__train_best_interval(t, &in);
        struct sc__train_whatif *w = &t->whatif[t->whatif_count++];
        w->key = changes[i].key;
        w->title = changes[i].title;
        SC__TRY(simulate_change(req, t, &in, &w->ettr));
    }
    return SC_OK;
}
