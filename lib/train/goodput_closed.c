/* goodput_closed: the run as a renewal process.
 *
 * Between two recoveries the job runs for a time X, exponential with the rate λ of
 * all failures. A checkpoint is taken after each Δ of work and blocks for w; it
 * counts v later (v = 0: at once). Of X the work before the last checkpoint that
 * counts is kept:
 *
 *     E[kept] = Δ Σ_{k≥1} P(X ≥ k(Δ+w) + v) = Δ e^{−λv} / (e^{λ(Δ+w)} − 1)
 *
 * A recovery that needs R_i without a failure takes, with q = Σ p_i (1 − e^{−λR_i})
 * the probability that it is interrupted,
 *
 *     D = q / (λ (1 − q))
 *
 * and ETTR = E[kept] / (1/λ + D). For one class this is Daly's complete model
 * (J. T. Daly, A higher order estimate of the optimum checkpoint interval, 2006). */
#include "train/goodput.h"

#include <math.h>

double sc__goodput_rate(const struct sc__goodput_input *in) {
    double sum = 0;
    for (uint32_t i = 0; i < in->set->class_count; i++)
        sum += sc__failure_rate(in->set, &in->set->classes[i], in->gpus);
    return sum;
}

double sc__goodput_losing_rate(const struct sc__goodput_input *in) {
    double sum = 0;
    for (uint32_t i = 0; i < in->set->class_count; i++) {
        const struct sc__failure_class *c = &in->set->classes[i];
        bool stops = in->recovery != SC__RECOVERY_DROP || c->scope == SC__SCOPE_JOB;
        if (stops && c->symptom != SC__SYMPTOM_SLOW)
            sum += sc__failure_rate(in->set, c, in->gpus);
    }
    return sum;
}

double sc__goodput_restart(const struct sc__goodput_input *in,
                           const struct sc__failure_class *c) {
    bool in_place = in->recovery == SC__RECOVERY_SPARES ||
                    in->recovery == SC__RECOVERY_DROP ||
                    in->recovery == SC__RECOVERY_SHRINK ||
                    (in->recovery == SC__RECOVERY_HOT && c->scope == SC__SCOPE_JOB);
    return sc__restart_seconds(in_place ? &in->set->hot : &in->set->requeue, in->gpus);
}

double sc__goodput_recovery(const struct sc__goodput_input *in,
                            const struct sc__failure_class *c) {
    return c->detect_s + c->locate_s + sc__goodput_restart(in, c) + in->restore_s;
}

bool sc__goodput_is_closed(const struct sc__goodput_input *in) {
    for (uint32_t i = 0; i < in->set->class_count; i++)
        if (in->set->classes[i].symptom == SC__SYMPTOM_SLOW &&
            in->set->classes[i].per_day > 0)
            return false;
    return in->recovery == SC__RECOVERY_REQUEUE || in->recovery == SC__RECOVERY_HOT;
}

/* Where nothing fails: a checkpoint behind each interval but the last, which nobody waits
 * for. */
static double sound_run(const struct sc__goodput_input *in) {
    double checkpoints = ceil(in->work_s / in->interval_s) - 1;
    return in->work_s / (in->work_s + checkpoints * in->blocking_s);
}

double sc__goodput_closed(const struct sc__goodput_input *in) {
    double rate = sc__goodput_rate(in);
    double cycle = in->interval_s + in->blocking_s;
    double completed = 0; /* 1 − q: a recovery is not interrupted */
    if (rate <= 0)
        return sound_run(in);
    for (uint32_t i = 0; i < in->set->class_count; i++) {
        const struct sc__failure_class *c = &in->set->classes[i];
        double share = sc__failure_rate(in->set, c, in->gpus) / rate;
        completed += share * exp(-rate * sc__goodput_recovery(in, c));
    }
    /* 1/λ + D = 1/(λ (1 − q)) */
    return in->interval_s * exp(-rate * in->write_s) * rate * completed /
           expm1(rate * cycle);
}

/* The maximum of Δ / (e^{λ(Δ+w)} − 1): 1 − x = e^{−(x + λw)} with x = λΔ. The left
 * side is larger at x = 0 and smaller at x = 1. */
double sc__best_interval(double rate, double blocking_s, double write_s) {
    double low = 0;
    double high = 1;
    if (rate <= 0)
        return 0;
    for (int i = 0; i < 200; i++) {
        double x = (low + high) / 2;
        if (-expm1(-(x + rate * blocking_s)) > x)
            low = x;
        else
            high = x;
    }
    double best = low / rate;
    /* One checkpoint is written after another. */
    double least = write_s - blocking_s;
    return best > least ? best : least;
}

/* Failures under repair by class are independent Poisson variables of mean rate ·
 * repair time (an M/G/∞ queue), each of some machines. Their sum by Panjer's
 * recursion: s P(s) = Σ_i mean_i m_i P(s − m_i). */
static double
machines_probability(const struct sc__goodput_input *in, const double *before, uint32_t s) {
    double sum = 0;
    for (uint32_t i = 0; i < in->set->class_count; i++) {
        const struct sc__failure_class *c = &in->set->classes[i];
        uint32_t machines = sc__failure_machines(in->set, c);
        double mean = sc__failure_rate(in->set, c, in->gpus) * c->repair_s;
        if (machines && machines <= s)
            sum += mean * machines * before[s - machines];
    }
    return sum / s;
}

/* Where there are so many that e^{−mean} is 0 the sum is close to normal. */
static double spares_normal_p99(double mean, double variance) {
    return ceil(mean + 2.3263478740408408 * sqrt(variance));
}

uint32_t sc__spares_p99(const struct sc__goodput_input *in) {
    enum { MOST = 8192 };
    double probability[MOST];
    double events = 0;
    double mean = 0;
    double variance = 0;
    for (uint32_t i = 0; i < in->set->class_count; i++) {
        const struct sc__failure_class *c = &in->set->classes[i];
        double machines = sc__failure_machines(in->set, c);
        double failures = sc__failure_rate(in->set, c, in->gpus) * c->repair_s;
        events += machines > 0 ? failures : 0;
        mean += failures * machines;
        variance += failures * machines * machines;
    }
    if (events > 600 || mean + 10 * sqrt(variance) >= MOST)
        return (uint32_t)fmin(spares_normal_p99(mean, variance), UINT32_MAX);
    probability[0] = exp(-events);
    double sum = probability[0];
    uint32_t s = 0;
    while (sum < 0.99 && s + 1 < MOST) {
        s++;
        probability[s] = machines_probability(in, probability, s);
        sum += probability[s];
    }
    return s;
}
