/* goodput_sim: a run, event by event. The random numbers come from a seed alone, so a
 * run is the same on any number of threads.
 *
 * Ways to meet a failure:
 *   - restart: work since the last checkpoint that counts is lost, and the job stands
 *     still until the recovery is over; a failure meanwhile begins it anew;
 *   - leave the replica out (SC__RECOVERY_DROP): nothing is lost, the others stall for
 *     each failure, one after the other, and go on with less throughput until another
 *     machine has come through the queue;
 *   - shrink: a restart without the replica, and another one when it is back. */
#include "train/goodput.h"

#include "base/parallel.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* A run with an ETTR below SC__LEAST_ETTR after this many failures is given up. */
#define ENOUGH_FAILURES 100000u

const char *const sc__goodput_causes[] = {"productive",
                                          "checkpoint",
                                          "rework",
                                          "detect",
                                          "locate",
                                          "wait",
                                          "restart",
                                          "restore",
                                          "degraded",
                                          NULL};

/* Machines that come back. */
struct goodput_return {
    double at;
    uint32_t machines;
};

struct goodput_run {
    const struct sc__goodput_input *in;
    struct sc__goodput *out;
    struct sc__arena *arena;
    uint64_t random;
    double rate;
    double *up_to; /* by class: probability of it or one before it */

    double now;
    double next_failure;
    bool finished;

    /* Checkpoints: time into the cycle of work and blocking; work since the last
     * checkpoint, and between the two last ones. */
    double phase;
    double unsaved;
    double previous;

    /* The recovery under way: how long each part of it takes, by cause. */
    bool recovering;
    double recovery_from;
    double recovery[SC__TIME_CAUSES];
    double stall_until;

    struct goodput_return *returns; /* earliest first */
    uint32_t return_count;
    uint32_t return_capacity;
    uint32_t out_of_order; /* machines, or where the job goes on without them its parts */

    const struct sc__failure_class *slow; /* or NULL */
    double slow_until;
    double slow_share;
};

static double exponential(struct goodput_run *r) {
    return r->rate > 0 ? -log1p(-sc__random_unit(&r->random)) / r->rate : INFINITY;
}

static double shorter(double a, double b) {
    return a < b ? a : b;
}

static uint32_t draw_class(struct goodput_run *r) {
    double u = sc__random_unit(&r->random);
    uint32_t i = 0;
    while (i + 1 < r->in->set->class_count && u >= r->up_to[i])
        i++;
    return i;
}

/* ---- work and checkpoints ---- */

static bool goes_on_with_less(const struct sc__goodput_input *in) {
    return in->recovery == SC__RECOVERY_DROP || in->recovery == SC__RECOVERY_SHRINK;
}

static double current_pace(const struct goodput_run *r) {
    double pace = 1;
    if (goes_on_with_less(r->in) && r->out_of_order)
        pace =
            r->out_of_order > SC__MOST_LOST ? 0 : r->in->lost_replicas[r->out_of_order - 1];
    return r->slow ? shorter(pace, r->slow_share) : pace;
}

/* Wall time from here until `productive` more seconds of work are done. */
static double time_of_work(const struct goodput_run *r, double productive) {
    double interval = r->in->interval_s;
    double x = shorter(r->phase, interval) + productive;
    double cycles = floor(x / interval);
    if (cycles > 0 && cycles * interval == x)
        cycles--; /* the last checkpoint is not waited for */
    return x + cycles * r->in->blocking_s - r->phase;
}

/* Ends of cycles inside the time: their work is saved, that of the last one once
 * it counts. */
static void pass_checkpoints(struct goodput_run *r, double cycles, double pace) {
    double interval = r->in->interval_s;
    double before = shorter(r->phase, interval);
    double first = r->unsaved + (interval - before) * pace;
    r->previous = cycles > 1 ? interval * pace : first;
}

/* Runs for dt, or until the work is done; returns the time it took. */
static double run_for(struct goodput_run *r, double dt, double pace) {
    double interval = r->in->interval_s;
    double cycle = interval + r->in->blocking_s;
    double *time = r->out->time_s;
    double cycles = floor((r->phase + dt) / cycle);
    double rest = r->phase + dt - cycles * cycle;
    double productive =
        cycles * interval + shorter(rest, interval) - shorter(r->phase, interval);
    double needed = (r->in->work_s - time[SC__TIME_PRODUCTIVE]) / pace;
    if (productive >= needed) {
        r->finished = true;
        dt = time_of_work(r, needed);
        productive = needed;
    } else if (cycles > 0) {
        pass_checkpoints(r, cycles, pace);
        r->unsaved = shorter(rest, interval) * pace;
    } else
        r->unsaved += productive * pace;
    r->phase = rest;
    time[SC__TIME_PRODUCTIVE] += productive * pace;
    time[SC__TIME_DEGRADED] += productive * (1 - pace);
    time[SC__TIME_CHECKPOINT] += dt - productive;
    return dt;
}

static void lose_work(struct goodput_run *r) {
    double lost = r->unsaved;
    if (r->phase < r->in->write_s)
        lost += r->previous;
    r->out->time_s[SC__TIME_PRODUCTIVE] -= lost;
    r->out->time_s[SC__TIME_REWORK] += lost;
    r->unsaved = 0;
    r->previous = 0;
    r->phase = 0;
}

static void save_work(struct goodput_run *r) {
    r->unsaved = 0;
    r->previous = 0;
    r->phase = 0;
}

/* ---- machines under repair ---- */

static void send_to_repair(struct goodput_run *r, double seconds, uint32_t machines) {
    double at = r->now + seconds;
    (void)SC__PUSH(r->arena, r->returns, r->return_count, r->return_capacity);
    uint32_t i = r->return_count - 1;
    for (; i && r->returns[i - 1].at > at; i--)
        r->returns[i] = r->returns[i - 1];
    r->returns[i] = (struct goodput_return){at, machines};
    r->out_of_order += machines;
}

/* True: some have come back. */
static bool take_returns(struct goodput_run *r) {
    uint32_t n = 0;
    while (n < r->return_count && r->returns[n].at <= r->now)
        r->out_of_order -= r->returns[n++].machines;
    r->return_count -= n;
    if (n)
        memmove(r->returns, r->returns + n, r->return_count * sizeof *r->returns);
    return n > 0;
}

/* Until no more machines are missing than there are spares. From the latest back, for
 * there are few spares, but where nothing is repaired many machines that are gone. */
static double wait_for_spares(const struct goodput_run *r) {
    uint32_t missing = 0;
    uint32_t i = r->return_count;
    while (i && missing + r->returns[i - 1].machines <= r->in->spares)
        missing += r->returns[--i].machines;
    return i ? r->returns[i - 1].at - r->now : 0;
}

/* ---- recovery ---- */

/* The time spent on a recovery goes to its parts in their order. */
static void account_recovery(struct goodput_run *r) {
    double spent = r->now - r->recovery_from;
    if (!r->recovering)
        return;
    for (unsigned i = 0; i < SC__TIME_CAUSES; i++) {
        double part = shorter(spent, r->recovery[i]);
        r->out->time_s[i] += part;
        spent -= part;
    }
    /* what rounding has left */
    r->out->time_s[SC__TIME_RESTART] += spent;
    r->recovering = false;
}

static void begin_recovery(struct goodput_run *r) {
    double sum = 0;
    for (unsigned i = 0; i < SC__TIME_CAUSES; i++)
        sum += r->recovery[i];
    r->recovering = true;
    r->recovery_from = r->now;
    r->stall_until = r->now + sum;
}

/* Each part that has GPUs of the machines that are gone. */
static uint32_t parts_lost(const struct goodput_run *r, const struct sc__failure_class *c) {
    const struct sc__failure_set *set = r->in->set;
    double gpus = sc__failure_machines(set, c) * set->unit_gpus[SC__SCOPE_NODE];
    bool several = r->in->part_gpus > 0 && gpus > r->in->part_gpus;
    return several ? (uint32_t)ceil(gpus / r->in->part_gpus) : 1;
}

/* Another machine comes through the queue, and the replica is back. */
static void lose_replica(struct goodput_run *r, const struct sc__failure_class *c) {
    double queue = sc__restart_seconds(&r->in->set->requeue, r->in->gpus);
    send_to_repair(r, c->detect_s + c->locate_s + queue, parts_lost(r, c));
}

/* A checkpoint, and a restart with the replica that is back. */
static void grow_back(struct goodput_run *r) {
    save_work(r);
    memset(r->recovery, 0, sizeof r->recovery);
    r->recovery[SC__TIME_CHECKPOINT] = r->in->blocking_s;
    r->recovery[SC__TIME_RESTART] = sc__restart_seconds(&r->in->set->hot, r->in->gpus);
    r->recovery[SC__TIME_RESTORE] = r->in->restore_s;
    begin_recovery(r);
}

static void plan_recovery(struct goodput_run *r, const struct sc__failure_class *c) {
    memset(r->recovery, 0, sizeof r->recovery);
    r->recovery[SC__TIME_DETECT] = c->detect_s;
    r->recovery[SC__TIME_LOCATE] = c->locate_s;
    r->recovery[SC__TIME_RESTART] = sc__goodput_restart(r->in, c);
    r->recovery[SC__TIME_RESTORE] = r->in->restore_s;
    uint32_t machines = sc__failure_machines(r->in->set, c);
    if (r->in->recovery == SC__RECOVERY_SHRINK && machines)
        lose_replica(r, c);
    if (r->in->recovery != SC__RECOVERY_SPARES || !machines)
        return;
    send_to_repair(r, c->repair_s, machines);
    r->recovery[SC__TIME_WAIT] = wait_for_spares(r);
}

static void restart_job(struct goodput_run *r, const struct sc__failure_class *c) {
    account_recovery(r);
    lose_work(r);
    plan_recovery(r, c);
    begin_recovery(r);
}

/* With replicas that go on alone stalls queue up, and each is served in full. */
static void queue_stall(struct goodput_run *r, const struct sc__failure_class *c) {
    double restart = sc__goodput_restart(r->in, c);
    double stall = c->detect_s + c->locate_s + restart;
    r->out->time_s[SC__TIME_DETECT] += c->detect_s;
    r->out->time_s[SC__TIME_LOCATE] += c->locate_s;
    r->out->time_s[SC__TIME_RESTART] += restart;
    if (c->scope == SC__SCOPE_JOB) {
        lose_work(r);
        r->out->time_s[SC__TIME_RESTORE] += r->in->restore_s;
        stall += r->in->restore_s;
    } else
        lose_replica(r, c);
    r->stall_until = (r->stall_until > r->now ? r->stall_until : r->now) + stall;
}

/* ---- slow GPUs ---- */

static void become_slow(struct goodput_run *r, uint32_t class) {
    const struct sc__failure_class *c = &r->in->set->classes[class];
    double share = r->in->slow_share[class];
    r->slow_share = r->slow ? shorter(r->slow_share, share) : share;
    if (r->slow)
        return; /* found together with the first one */
    r->slow = c;
    r->slow_until = r->now + c->detect_s;
}

/* Replicas that go on alone keep what is done; a restart of them all needs a checkpoint. */
static void stall_for_slow(struct goodput_run *r, const struct sc__failure_class *c) {
    if (c->scope == SC__SCOPE_JOB) {
        save_work(r);
        r->out->time_s[SC__TIME_CHECKPOINT] += r->in->blocking_s;
        r->stall_until = r->now + r->in->blocking_s;
    }
    queue_stall(r, c);
}

/* Noticed: a checkpoint, and a restart without the machine. In the middle of a
 * recovery it is left out of that. */
static void evict_slow(struct goodput_run *r) {
    struct sc__failure_class c = *r->slow;
    r->slow = NULL;
    if (r->stall_until > r->now)
        return;
    c.detect_s = 0;
    if (r->in->recovery == SC__RECOVERY_DROP) {
        stall_for_slow(r, &c);
        return;
    }
    save_work(r);
    plan_recovery(r, &c);
    r->recovery[SC__TIME_CHECKPOINT] = r->in->blocking_s;
    begin_recovery(r);
}

/* ---- the run ---- */

static void note_point(struct goodput_run *r, uint32_t class) {
    struct sc__goodput_track *track = r->in->track;
    if (track)
        *SC__PUSH(r->arena, track->points, track->count, track->capacity) =
            (struct sc__goodput_point){r->now, r->out->time_s[SC__TIME_PRODUCTIVE], class};
}

static void meet_failure(struct goodput_run *r) {
    uint32_t class = draw_class(r);
    const struct sc__failure_class *c = &r->in->set->classes[class];
    r->out->failures++;
    r->next_failure = r->now + exponential(r);
    if (c->symptom == SC__SYMPTOM_SLOW)
        become_slow(r, class);
    else if (r->in->recovery == SC__RECOVERY_DROP)
        queue_stall(r, c);
    else
        restart_job(r, c);
    note_point(r, class);
}

static double next_event(const struct goodput_run *r) {
    double t = r->next_failure;
    if (r->return_count)
        t = shorter(t, r->returns[0].at);
    if (r->slow)
        t = shorter(t, r->slow_until);
    if (r->stall_until > r->now)
        t = shorter(t, r->stall_until);
    return t;
}

static void pass_time(struct goodput_run *r, double until) {
    double pace = current_pace(r);
    double dt = until - r->now;
    if (r->stall_until > r->now)
        r->now = until; /* accounted for as a recovery */
    else if (pace > 0)
        r->now += run_for(r, dt, pace);
    else {
        r->out->time_s[SC__TIME_WAIT] += dt;
        r->now = until;
    }
    if (!r->finished)
        r->now = until;
}

static bool makes_no_progress(const struct goodput_run *r) {
    return r->out->failures > ENOUGH_FAILURES &&
           r->out->time_s[SC__TIME_PRODUCTIVE] < SC__LEAST_ETTR * r->now;
}

static void simulate_run(struct goodput_run *r) {
    r->next_failure = exponential(r);
    while (!r->out->unfinished) {
        pass_time(r, next_event(r));
        if (r->finished)
            return;
        if (r->recovering && r->stall_until <= r->now)
            account_recovery(r);
        bool back = take_returns(r);
        if (back && r->in->recovery == SC__RECOVERY_SHRINK && r->stall_until <= r->now)
            grow_back(r);
        if (r->slow && r->slow_until <= r->now)
            evict_slow(r);
        if (r->next_failure <= r->now)
            meet_failure(r);
        r->out->unfinished = makes_no_progress(r);
    }
}

static void prepare_classes(struct goodput_run *r) {
    const struct sc__failure_set *set = r->in->set;
    double sum = 0;
    r->rate = sc__goodput_rate(r->in);
    r->up_to = SC__NEW_ARRAY(r->arena, double, set->class_count);
    for (uint32_t i = 0; i < set->class_count; i++) {
        sum += sc__failure_rate(set, &set->classes[i], r->in->gpus);
        r->up_to[i] = r->rate > 0 ? sum / r->rate : 1;
    }
}

void sc__goodput_simulate(const struct sc__goodput_input *in,
                          uint64_t seed,
                          struct sc__arena *arena,
                          struct sc__goodput *out) {
    struct goodput_run r = {
        .in = in,
        .out = out,
        .arena = arena,
        .random = sc__splitmix64(seed),
    };
    memset(out, 0, sizeof *out);
    prepare_classes(&r);
    simulate_run(&r);
    note_point(&r, in->set->class_count);
    out->wall_s = r.now;
    out->ettr = r.now > 0 ? out->time_s[SC__TIME_PRODUCTIVE] / r.now : 1;
}

/* ---- many seeds ---- */

struct goodput_seeds {
    const struct sc__goodput_input *in;
    struct sc__goodput *out;
};

static void simulate_seed(void *self, uint32_t i) {
    struct goodput_seeds *s = self;
    struct sc__arena arena;
    sc__arena_init(&arena);
    sc__goodput_simulate(s->in, (uint64_t)i + 1, &arena, &s->out[i]);
    sc__arena_free(&arena);
}

sc_status sc__goodput_seeds(struct sc_context *ctx,
                            const struct sc__goodput_input *in,
                            uint32_t count,
                            struct sc__goodput *out) {
    struct goodput_seeds s = {in, out};
    return sc__parallel(ctx, "runs", count, simulate_seed, &s);
}
