/* fit: moves constants of the model so that it predicts measured
 * rows. Least squares of ln(predicted / measured): a factor of two too high
 * and too low count the same, small and large messages too. The model is a
 * minimum over algorithms, so its derivative jumps; a pattern search on the
 * logarithm of each constant does not mind. */
#include "collective/operations.h"

#include <math.h>
#include <string.h>

#define FIRST_STEP 0.2
#define LAST_STEP 0.001
#define SWEEPS 300

static bool same_param(const struct sc__fit_param *p, const char *name, unsigned index) {
    return p->index == index && !strcmp(p->name, name);
}

struct sc__fit_param *sc__fit_param_new(struct sc__arena *arena,
                                        struct sc__coll_fit *fit,
                                        const char *name,
                                        bool added,
                                        double low,
                                        double high) {
    struct sc__fit_param *p = SC__PUSH(arena, fit->params, fit->count, fit->capacity);
    *p = (struct sc__fit_param){.name = name,
                                .added = added,
                                .low = low,
                                .high = high,
                                .value = added ? 0 : 1};
    return p;
}

void sc__fit_place_add(struct sc__arena *arena, struct sc__fit_param *p, double *at) {
    *SC__PUSH(arena, p->places, p->count, p->capacity) = (struct sc__fit_place){at, *at};
}

void sc__fit_add(struct sc__arena *arena,
                 struct sc__coll_fit *fit,
                 const char *scope,
                 const struct sc__constant *k,
                 unsigned index,
                 struct sc__constants *constants) {
    char *name = sc__format(arena, "%s%s%s", scope, *scope ? "." : "", k->name);
    double *at = sc__constant_at(constants, k) + index;
    struct sc__fit_param *p = NULL;
    for (uint32_t i = 0; i < fit->count; i++)
        if (same_param(&fit->params[i], name, index))
            p = &fit->params[i];
    if (!p) {
        p = *at > 0 ? sc__fit_param_new(arena, fit, name, false, 0.2, 5)
                    : sc__fit_param_new(arena, fit, name, true, 0, 100);
        p->index = index;
    }
    sc__fit_place_add(arena, p, at);
}

static void set_param(struct sc__fit_param *p, double value) {
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__fit_place *place = &p->places[i];
        *place->at = p->added ? place->start + value : place->start * value;
    }
    p->value = value;
}

void sc__fit_restore(struct sc__coll_fit *fit) {
    for (uint32_t i = 0; i < fit->count; i++)
        set_param(&fit->params[i], fit->params[i].added ? 0 : 1);
}

static void predict_sample(struct sc__sample *s) {
    s->model_us = sc__us(sc__coll_op_cost(s->cluster, s->op, &s->shape, s->bytes).time);
}

void sc__samples_predict(struct sc__samples *samples) {
    for (uint32_t i = 0; i < samples->count; i++)
        predict_sample(&samples->items[i]);
}

static double square_error(const struct sc__sample *s) {
    double e = log(s->model_us / s->us);
    return e * e;
}

double sc__samples_residual(const struct sc__samples *samples) {
    double sum = 0;
    for (uint32_t i = 0; i < samples->count; i++)
        sum += square_error(&samples->items[i]);
    return samples->count ? sqrt(sum / samples->count) : 0;
}

/* Outliers (a row that a page fault made five times slower) must not pull the
 * whole fit: beyond 40 % an error counts linearly. */
static double sample_loss(const struct sc__sample *s) {
    double e = fabs(log(s->model_us / s->us));
    double knee = 0.4;
    return e < knee ? e * e : knee * (2 * e - knee);
}

static bool fit_concerns(const struct sc__fit_param *p, const struct sc__sample *s) {
    const char *begin = (const char *)&s->cluster->constants;
    const char *end = begin + sizeof s->cluster->constants;
    for (uint32_t i = 0; i < p->count; i++)
        if ((const char *)p->places[i].at >= begin && (const char *)p->places[i].at < end)
            return true;
    return false;
}

/* How far a parameter has moved; what is added counts in tens. */
static double fit_pull(const struct sc__fit_param *p) {
    return p->added ? p->value / 10 : log(p->value);
}

/* The loss of what this parameter touches, with its present value. */
static double fit_loss(const struct sc__coll_fit *fit,
                       const struct sc__fit_param *p,
                       struct sc__samples *samples,
                       uint32_t without) {
    double sum = fit->prior * fit_pull(p) * fit_pull(p);
    for (uint32_t i = 0; i < samples->count; i++) {
        struct sc__sample *s = &samples->items[i];
        if (s->source == without || !fit_concerns(p, s))
            continue;
        predict_sample(s);
        sum += sample_loss(s);
    }
    return sum;
}

/* Tries one step both ways. A step that helped is longer the next time, one
 * that did not is shorter. */
static void improve_param(struct sc__coll_fit *fit,
                          struct sc__fit_param *p,
                          struct sc__samples *samples,
                          uint32_t without) {
    double old = p->value;
    double least = fit_loss(fit, p, samples, without);
    double kept = old;
    for (int sign = -1; sign <= 1; sign += 2) {
        double value = p->added ? old + sign * 10 * p->step : old * exp(sign * p->step);
        if (value < p->low || value > p->high)
            continue;
        set_param(p, value);
        double now = fit_loss(fit, p, samples, without);
        if (now < least - 1e-12)
            least = now, kept = value;
    }
    set_param(p, kept);
    p->step = kept < old || kept > old ? fmin(FIRST_STEP, p->step * 1.5) : p->step / 2;
}

void sc__fit_run(struct sc__coll_fit *fit, struct sc__samples *samples, uint32_t without) {
    bool moving = true;
    for (uint32_t i = 0; i < fit->count; i++)
        fit->params[i].step = FIRST_STEP;
    for (uint32_t sweep = 0; moving && sweep < (fit->sweeps ? fit->sweeps : SWEEPS);
         sweep++) {
        moving = false;
        for (uint32_t i = 0; i < fit->count; i++) {
            if (fit->params[i].step < LAST_STEP)
                continue;
            improve_param(fit, &fit->params[i], samples, without);
            moving = true;
        }
        for (uint32_t i = 0; i < fit->count && sweep % 8 == 7;
             i++) /* what was settled may move again */
            fit->params[i].step = fmax(fit->params[i].step, 4 * LAST_STEP);
    }
    sc__samples_predict(samples);
}
