/* train: from the step to the run. Failures, checkpoints and recovery decide how much of
 * the time counts; docs/goodput.md says how. */
#include "command/train.h"

#include "base/sort.h"
#include "base/units.h"
#include "command/training.h"

#define GROUP "Run"
#define MOST_SEEDS 10000u
#define MOST_WORK_S (1000 * 365 * SC__DAY_S)
/* Failures of all seeds together: minutes. */
#define MOST_EXPECTED 1e8

static const struct sc__choice kinds[] = {{"sync", 0}, {"async", 1}, {"memory", 2}, {0}};
static const char *const kind_words[] = {"sync", "async", "memory", NULL};
enum { KIND_SYNC, KIND_ASYNC, KIND_MEMORY };

static const struct sc__option options[] = {
    {"train-tokens", 0, "N", NULL, GROUP, "tokens of the run: 15T, 300B", 0},
    {"tokens",
     0,
     "N",
     NULL,
     GROUP,
     "as --train-tokens; with a profiler table: tokens per rank and step",
     0},
    {"train-steps", 0, "N", NULL, GROUP, "or its steps", 0},
    {"failures",
     0,
     "SET",
     "llama3",
     GROUP,
     "what breaks and how often: a set or a file",
     0,
     .folder = "failures/"},
    {"checkpoint",
     0,
     "TIME[:TIME]",
     "auto",
     GROUP,
     "work between checkpoints (30min), and the blocking of one (30min:13s); auto: the "
     "best "
     "interval, the blocking that storage gives",
     0},
    {"checkpoint-kind",
     0,
     "KIND",
     "sync",
     GROUP,
     "sync; async: written while the job goes on; memory: kept in the memory of other "
     "machines",
     0,
     .choices = kinds},
    {"storage", 0, "RATE", "100GB/s", GROUP, "of checkpoints, for the whole job", 0},
    {"state",
     0,
     "SIZE",
     NULL,
     GROUP,
     "of a checkpoint; usually what the plan keeps, 14 B per parameter with Adam",
     0},
    {"blocking",
     0,
     "TIME",
     NULL,
     GROUP,
     "the job stands still for a checkpoint; sync: state over storage",
     0},
    {"host-rate",
     0,
     "RATE",
     NULL,
     GROUP,
     "or, async and memory: a GPU's part of the state at this rate to its host (25GB/s)",
     0},
    {"restore", 0, "TIME", NULL, GROUP, "reading a checkpoint; state over storage", 0},
    {"recovery",
     0,
     "POLICY",
     "requeue",
     GROUP,
     "requeue, hot, in-memory, spares=N, spares=2%, drop-replica, shrink",
     0},
    {"price", 0, "USD", "data/prices.json", GROUP, "of a GPU-hour", 0},
    {"carbon", 0, "G", NULL, GROUP, "g of CO2 per kWh", 0},
    {"seeds", 0, "N", "20", GROUP, "runs that are simulated", 0},
    {"what-if",
     0,
     NULL,
     NULL,
     GROUP,
     "what spares, storage, detection … would bring, each simulated again",
     0},
    {"html",
     0,
     "FILE",
     NULL,
     "Output",
     "a page: the run as it goes, where its time goes, the best interval",
     0},
    {"json",
     0,
     "FILE",
     NULL,
     "Output",
     "the forecast as JSON; - for standard output and nothing else there",
     0},
    {0}};

static const struct sc__option *const tables[] = {options, SC__JOB_TABLES, NULL};

/* ---- values ---- */

static sc_status
train_bad_value(struct sc_request *req, const char *name, const char *hint) {
    return sc__usage(req,
                     hint,
                     "--%s: '%s' is no value for it",
                     name,
                     sc__option(req, name));
}

static sc_status train_count(struct sc_request *req, const char *name, double *out) {
    const char *text = sc__option(req, name);
    if (text && !sc__parse_count(sc__str(text), out))
        return train_bad_value(req, name, "a number above 0, like 15T, 300B or 1000");
    return SC_OK;
}

static sc_status train_seconds(struct sc_request *req,
                               const char *name,
                               struct sc__str text,
                               double *seconds) {
    int64_t ps;
    if (!sc__parse_time(text, &ps))
        return train_bad_value(req, name, "a time with its unit, like 30min, 13s or 500ms");
    *seconds = (double)ps / (double)SC__PS_PER_S;
    return SC_OK;
}

static sc_status train_time(struct sc_request *req, const char *name, double *seconds) {
    const char *text = sc__option(req, name);
    return text ? train_seconds(req, name, sc__str(text), seconds) : SC_OK;
}

/* --checkpoint INTERVAL[:BLOCKING], each a time or auto. */
struct train_checkpoint_words {
    struct sc__str interval; /* p NULL: auto */
    struct sc__str blocking;
};

static struct sc__str word_unless_auto(struct sc__str word) {
    return sc__str_is(word, "auto") ? (struct sc__str){0} : word;
}

static struct train_checkpoint_words checkpoint_words(struct sc_request *req) {
    const char *text = sc__option(req, "checkpoint");
    struct train_checkpoint_words w = {0};
    if (!text)
        return w;
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    w.interval = word_unless_auto((struct sc__str){text, length});
    if (colon)
        w.blocking = word_unless_auto(sc__str(colon + 1));
    return w;
}

/* Far beyond what there is: lignite gives off some 1,100 g of CO2 for a kWh. */
#define DIRTIEST_KWH 1e5

static sc_status train_number(struct sc_request *req,
                              const char *name,
                              double most,
                              const char *wanted,
                              double *out) {
    struct sc__settings settings = sc__settings(req);
    SC__TRY(sc__setting_double(&settings, name, out));
    if (*out >= 0 && *out <= most)
        return SC_OK;
    return train_bad_value(req, name, wanted);
}

/* ---- how long the run is ---- */

/* A profiler table calls the tokens of its step so. */
static bool tokens_are_the_run(const struct sc__train *t) {
    const struct sc__reader *reader = t->step.job.doc.reader;
    return !reader || strcmp(reader->name, "profiler-table") != 0;
}

static sc_status train_tokens(struct sc_request *req, double *tokens) {
    if (!sc__flag(req, "tokens"))
        return train_count(req, "train-tokens", tokens);
    if (sc__flag(req, "train-tokens"))
        return sc__usage(req, "give one of them", "--tokens and --train-tokens are one");
    return train_count(req, "tokens", tokens);
}

static sc_status train_work(struct sc_request *req, struct sc__train *t) {
    double steps = 0;
    if (tokens_are_the_run(t))
        SC__TRY(train_tokens(req, &t->tokens));
    else
        SC__TRY(train_count(req, "train-tokens", &t->tokens));
    SC__TRY(train_count(req, "train-steps", &steps));
    if (steps != floor(steps))
        return train_bad_value(req, "train-steps", "a whole number of steps, like 1000");
    if ((steps > 0) == (t->tokens > 0))
        return sc__usage(req,
                         "like --train-tokens 15T",
                         "give one of --train-tokens and --train-steps");
    if (steps > 0) {
        t->in.work_s = steps * t->step.step_s;
        t->tokens = t->in.work_s * t->step.tokens_per_s;
    } else if (t->step.tokens_per_s > 0)
        t->in.work_s = t->tokens / t->step.tokens_per_s;
    else
        return sc__usage(
            req,
            "give --train-steps instead",
            "--train-tokens: the input does not say how many tokens a step has");
    if (!(steps > 0))
        sc__training_note_short(req->ctx, t->tokens, t->step.tokens_per_s * t->step.step_s);
    if (!(t->in.work_s <= MOST_WORK_S))
        return sc__usage(req,
                         "more GPUs, or a shorter run",
                         "the run takes %.3g years without any failure",
                         t->in.work_s / SC__DAY_S / 365);
    return SC_OK;
}

/* ---- checkpoints ---- */

/* Of what a plan keeps: its weights alone, in a byte each, are a fourteenth of mixed
 * precision's, and are the least that a run goes on from. */
#define SMALLEST_STATE 0.05

static sc_status train_state(struct sc_request *req, struct sc__train *t) {
    if (t->state_bytes > 0)
        return SC_OK; /* known already */
    struct sc__settings settings = sc__settings(req);
    uint64_t bytes = 0;
    SC__TRY(sc__setting_bytes(&settings, "state", &bytes));
    t->state_bytes = (double)bytes;
    double kept = t->step.checkpoint_bytes;
    if (sc__flag(req, "state")) {
        if (t->state_bytes < SMALLEST_STATE * kept)
            sc__note(
                req->ctx,
                "state-small",
                "--state %s is %.4g bytes, and the plan keeps %.4g: is its unit right?",
                sc__option(req, "state"),
                t->state_bytes,
                kept);
        return SC_OK;
    }
    if (!(t->step.checkpoint_bytes > 0))
        return sc__usage(req,
                         "like --state 5.6TB, or --blocking and --restore",
                         "the input does not say how large a checkpoint is");
    t->state_bytes = t->step.checkpoint_bytes;
    struct sc__buffer size;
    sc__buffer_init(&size, &req->ctx->arena);
    sc__put_bytes(&size, (uint64_t)t->state_bytes);
    sc__note(req->ctx,
             "state-of-plan",
             "a checkpoint has the weights that are trained, their main copy and the "
             "optimizer's state: %s",
             size.text);
    return SC_OK;
}

static sc_status
train_transfer(struct sc_request *req, struct sc__train *t, double *seconds) {
    const char *text = sc__option(req, "storage");
    double rate = 100e9;
    SC__TRY(train_state(req, t));
    if (text && (!sc__parse_rate(sc__str(text), &rate) || !(rate > 0)))
        return train_bad_value(req, "storage", "a rate above 0, like 100GB/s");
    if (!text)
        sc__note(
            req->ctx,
            "storage-assumed",
            "no --storage is given: 100 GB/s, the middle of what jobs have seen (50 to "
            "200 GB/s)");
    t->transfer_s = t->state_bytes / rate;
    *seconds = t->transfer_s;
    return SC_OK;
}

/* Where both times are given nothing is left to compute. */
static void train_note_unread(struct sc_request *req) {
    static const char *const names[] = {"storage", "state"};
    bool copied = sc__flag(req, "host-rate");
    for (unsigned i = 0; i < 2; i++)
        if (sc__flag(req, names[i]) && !(copied && !strcmp(names[i], "state")))
            sc__note(req->ctx,
                     "option-unused",
                     "--%s has no effect: no time of a checkpoint depends on it",
                     names[i]);
}

/* The copy of a GPU's part into the memory of its machine. */
static sc_status
train_host_copy(struct sc_request *req, struct sc__train *t, unsigned kind) {
    double rate = 0;
    if (kind == KIND_SYNC)
        return sc__usage(
            req,
            "--checkpoint-kind async or memory",
            "--host-rate works with checkpoints that are copied to the host first");
    if (!sc__parse_rate(sc__str(sc__option(req, "host-rate")), &rate) || !(rate > 0))
        return train_bad_value(req, "host-rate", "a rate above 0, like 25GB/s");
    SC__TRY(train_state(req, t));
    t->in.blocking_s = t->state_bytes / t->in.gpus / rate;
    return SC_OK;
}

static sc_status
train_blocking_unknown(struct sc_request *req, struct sc__train *t, unsigned kind) {
    if (kind == KIND_SYNC)
        return SC_OK;
    if (!sc__recovery_from_memory(req))
        return sc__usage(req,
                         kind == KIND_ASYNC ? "measured: 10ms to 500ms; or --host-rate"
                                            : "measured: 200ms to 1800ms; or --host-rate",
                         "--checkpoint-kind %s needs --blocking",
                         t->kind);
    t->in.blocking_s = SC__IN_MEMORY_BLOCKING_S;
    sc__note(req->ctx,
             "blocking-assumed",
             "no --blocking is given: %g s, the upper end of what checkpoints in memory "
             "take",
             SC__IN_MEMORY_BLOCKING_S);
    return SC_OK;
}

/* How long a checkpoint blocks, where it is not written meanwhile. */
static sc_status
train_blocking(struct sc_request *req, struct sc__train *t, unsigned kind) {
    struct sc__str word = checkpoint_words(req).blocking;
    bool given = sc__flag(req, "blocking");
    bool host = sc__flag(req, "host-rate");
    if (given + host + (word.p != NULL) > 1)
        return sc__usage(req,
                         "give one of --blocking, --host-rate and --checkpoint TIME:TIME",
                         "how long a checkpoint blocks is said twice");
    if (given)
        return train_time(req, "blocking", &t->in.blocking_s);
    if (word.p)
        return train_seconds(req, "checkpoint", word, &t->in.blocking_s);
    return host ? train_host_copy(req, t, kind) : train_blocking_unknown(req, t, kind);
}

static sc_status
train_checkpoint_kind(struct sc_request *req, struct sc__train *t, unsigned *kind) {
    struct sc__settings settings = sc__settings(req);
    bool in_memory = sc__recovery_from_memory(req);
    *kind = in_memory ? KIND_MEMORY : KIND_SYNC;
    SC__TRY(sc__setting_word(&settings, "checkpoint-kind", kind_words, kind));
    if (in_memory && *kind != KIND_MEMORY)
        return sc__usage(req,
                         "leave --checkpoint-kind away",
                         "--recovery in-memory reads checkpoints that lie in memory");
    t->kind = kind_words[*kind];
    return SC_OK;
}

static sc_status train_checkpoint_times(struct sc_request *req, struct sc__train *t) {
    unsigned kind;
    double transfer = 0;
    bool blocking = sc__flag(req, "blocking") || checkpoint_words(req).blocking.p;
    SC__TRY(train_checkpoint_kind(req, t, &kind));
    SC__TRY(train_blocking(req, t, kind));
    bool written = kind == KIND_ASYNC || (kind == KIND_SYNC && !blocking);
    bool read = kind != KIND_MEMORY && !sc__flag(req, "restore");
    if (written || read)
        SC__TRY(train_transfer(req, t, &transfer));
    else
        train_note_unread(req);
    if (kind == KIND_SYNC && !blocking)
        t->in.blocking_s = transfer;
    t->in.write_s = kind == KIND_ASYNC ? transfer : 0;
    t->in.restore_s = transfer;
    if (kind == KIND_MEMORY) {
        t->in.restore_s = t->in.blocking_s;
        sc__note(
            req->ctx,
            "memory-survives",
            "a checkpoint in memory is taken to outlive every failure, and to be read as "
            "fast as it is made");
    }
    return train_time(req, "restore", &t->in.restore_s);
}

double sc__train_best_interval(const struct sc__train *t,
                               const struct sc__goodput_input *in) {
    double rate = sc__goodput_losing_rate(in);
    double best = sc__best_interval(rate, in->blocking_s, in->write_s);
    if (!(rate > 0))
        return in->work_s;
    return best > t->step.step_s ? best : t->step.step_s;
}

/* Nothing is whole inside of a step. */
static void keep_whole_steps(struct sc_request *req, struct sc__train *t) {
    if (t->in.interval_s >= t->step.step_s)
        return;
    sc__note(req->ctx,
             "checkpoint-every-step",
             "a checkpoint is taken after a step: every %.4g s, not every %.4g s as "
             "--checkpoint says",
             t->step.step_s,
             t->in.interval_s);
    t->in.interval_s = t->step.step_s;
}

static sc_status train_interval(struct sc_request *req, struct sc__train *t) {
    struct sc__str word = checkpoint_words(req).interval;
    struct sc__goodput_input *in = &t->in;
    t->best_interval_s = sc__train_best_interval(t, in);
    t->best_is_used = !word.p;
    in->interval_s = t->best_interval_s;
    if (t->best_is_used && !(sc__goodput_losing_rate(in) > 0))
        sc__note(req->ctx,
                 "no-checkpoints",
                 "no failure of this set loses work with this recovery: no checkpoints are "
                 "taken");
    if (!t->best_is_used)
        SC__TRY(train_seconds(req, "checkpoint", word, &in->interval_s));
    if (!(in->interval_s > 0))
        return train_bad_value(req, "checkpoint", "above 0, or auto");
    keep_whole_steps(req, t);
    if (in->write_s > in->interval_s + in->blocking_s)
        return sc__usage(
            req,
            "a longer interval, or faster storage",
            "--checkpoint: writing one takes %.0f s, longer than from one to the "
            "next",
            in->write_s);
    return SC_OK;
}

/* ---- failures ---- */

static sc_status train_failures(struct sc_request *req, struct sc__train *t) {
    const char *name = sc__option(req, "failures");
    if (name && !strcmp(name, "byterobust")) {
        name = "byterobust-dense";
        sc__note(req->ctx,
                 "failures-byterobust",
                 "byterobust: those of its dense job; byterobust-moe are the other's");
    }
    SC__TRY(sc__failures_load(req->ctx, name ? name : "llama3", &t->in.set));
    if (!name)
        sc__note(req->ctx,
                 "failures-assumed",
                 "no --failures is given: those of %s",
                 t->in.set->title ? t->in.set->title : t->in.set->name);
    double machine = t->in.set->unit_gpus[SC__SCOPE_NODE];
    if (t->step.node_gpus > 0 && t->step.node_gpus != machine)
        sc__note(
            req->ctx,
            "machines-of-the-set",
            "failures count machines of %g GPUs, as their set does; nodes of the cluster "
            "have %g",
            machine,
            t->step.node_gpus);
    return SC_OK;
}

/* In a job much smaller than that of its set most failures are of software, which the set
 * knows no law for. */
static void note_software_failures(struct sc_request *req,
                                   const struct sc__goodput_input *in) {
    double of[2] = {0}; /* machines, software */
    for (uint32_t i = 0; i < in->set->class_count; i++) {
        const struct sc__failure_class *c = &in->set->classes[i];
        of[c->scope == SC__SCOPE_JOB] += sc__failure_rate(in->set, c, in->gpus);
    }
    if (of[1] <= of[0] || of[0] <= 0)
        return;
    sc__note(req->ctx,
             "failures-of-software",
             "most failures are of software, one in %.3g h, which is taken to fail as "
             "often in a job of %g GPUs as in that of the set; machines fail once in "
             "%.3g days",
             1 / of[1] / SC__HOUR_S,
             in->gpus,
             1 / of[0] / SC__DAY_S);
}

/* ---- runs ---- */

static int shorter_run_first(const void *a, const void *b, void *self) {
    const struct sc__goodput *x = a;
    const struct sc__goodput *y = b;
    (void)self;
    return x->wall_s < y->wall_s ? -1 : x->wall_s > y->wall_s;
}

static void train_sum(struct sc__train *t) {
    double wall = 0;
    for (uint32_t i = 0; i < t->seeds; i++) {
        wall += t->runs[i].wall_s;
        t->failures += (double)t->runs[i].failures / t->seeds;
        for (unsigned c = 0; c < SC__TIME_CAUSES; c++)
            t->time_share[c] += t->runs[i].time_s[c];
    }
    for (unsigned c = 0; c < SC__TIME_CAUSES; c++)
        t->time_share[c] /= wall;
    t->ettr = t->time_share[SC__TIME_PRODUCTIVE];
    t->spares_p99 = sc__spares_p99(&t->in);
    if (sc__goodput_is_closed(&t->in))
        t->closed = sc__goodput_closed(&t->in);
}

static sc_status train_no_progress(const struct sc_request *req) {
    return sc__fail(req->ctx,
                    SC_NO,
                    NULL,
                    "fewer GPUs, another --recovery, cheaper checkpoints",
                    "the run does not get on: less than %g %% of its time counts",
                    100 * SC__LEAST_ETTR);
}

static sc_status train_runs(struct sc_request *req, struct sc__train *t) {
    struct sc__settings settings = sc__settings(req);
    t->seeds = 20;
    SC__TRY(sc__setting_u32(&settings, "seeds", 1, &t->seeds));
    if (t->seeds > MOST_SEEDS)
        return train_bad_value(req, "seeds", "at most 10000");
    if (sc__goodput_rate(&t->in) * t->in.work_s * t->seeds > MOST_EXPECTED)
        return sc__usage(req,
                         "fewer --seeds, or a shorter run",
                         "more than %g failures to simulate",
                         MOST_EXPECTED);
    t->runs = SC__NEW_ARRAY(&req->ctx->arena, struct sc__goodput, t->seeds);
    SC__TRY(sc__goodput_seeds(req->ctx, &t->in, t->seeds, t->runs));
    for (uint32_t i = 0; i < t->seeds; i++)
        if (t->runs[i].unfinished)
            return train_no_progress(req);
    sc__sort(t->runs, t->seeds, sizeof *t->runs, shorter_run_first, NULL);
    train_sum(t);
    /* a run of a few steps may be unlucky; one that meets failures again and again is not
     */
    bool fails_always = t->failures >= 1;
    return fails_always && t->ettr < SC__LEAST_ETTR ? train_no_progress(req) : SC_OK;
}

double sc__train_wall(const struct sc__train *t, double share) {
    uint32_t i = (uint32_t)ceil(share * t->seeds);
    return t->runs[i ? i - 1 : 0].wall_s;
}

double sc__train_paid_gpus(const struct sc__train *t) {
    return t->in.gpus + t->in.spares * t->in.set->unit_gpus[SC__SCOPE_NODE];
}

static sc_status train_money(struct sc_request *req, struct sc__train *t) {
    t->price = t->step.usd_per_hour;
    SC__TRY(sc__training_price_said(req, &t->price));
    const char *gpu = t->step.job.ev ? sc__training_gpu(&t->step.job) : t->step.gpu;
    if (!sc__flag(req, "price") && !(t->price > 0))
        SC__TRY(sc__training_quote(req, gpu, &t->price));
    SC__TRY(train_number(req,
                         "carbon",
                         DIRTIEST_KWH,
                         "g of CO2 for a kWh, up to a hundred thousand",
                         &t->carbon));
    if (t->carbon > 0 && !(t->step.watts > 0))
        return sc__usage(req, NULL, "--carbon: the draw of the GPUs is not known");
    if (t->step.watts > 0)
        sc__note(
            req->ctx,
            "energy-of-steps",
            "energy is that of the GPUs alone, which are taken to draw as much as in the "
            "step all the time");
    return SC_OK;
}

static sc_status train_write(struct sc_request *req, struct sc__train *t) {
    struct sc__buffer b;
    if (sc__flag(req, "json")) {
        sc__buffer_init(&b, &req->ctx->arena);
        sc__train_write_json(t, req->ctx, &b);
        SC__TRY(sc__job_output(req, "json", &b));
    }
    if (sc__flag(req, "html"))
        SC__TRY(sc__train_write_page(req, t));
    req->out.for_people = !sc__stdout_taken(req);
    if (req->out.for_people)
        sc__train_write_text(t, req->ctx, &req->out);
    return SC_OK;
}

static sc_status train_execute(struct sc_request *req) {
    struct sc__train *t = SC__NEW(&req->ctx->arena, struct sc__train);
    SC__TRY(sc__train_step_read(req, &t->step));
    t->in.gpus = t->step.gpus;
    SC__TRY(train_work(req, t));
    SC__TRY(train_failures(req, t));
    note_software_failures(req, &t->in);
    t->recovery = sc__option(req, "recovery");
    if (!t->recovery)
        t->recovery = "requeue";
    SC__TRY(sc__recovery_read(req, &t->in));
    sc__recovery_note(req, &t->in);
    SC__TRY(train_checkpoint_times(req, t));
    SC__TRY(train_interval(req, t));
    SC__TRY(sc__train_paces(req, t));
    SC__TRY(train_money(req, t));
    SC__TRY(train_runs(req, t));
    if (sc__flag(req, "what-if") || sc__flag(req, "html"))
        SC__TRY(sc__train_whatif(req, t));
    return train_write(req, t);
}

const struct sc__command sc__command_train = {
    .name = "train",
    .args = "[INPUT…] --train-tokens N",
    .summary = "forecast a whole run: days, failures, checkpoints, money",
    .text = "INPUT is what 'run' takes, or a result that it has saved with --json; without "
            "one, "
            "--model or Megatron's flags\n"
            "say what is trained. Failures, checkpoints and recovery decide how much of "
            "the time "
            "counts.",
    .options = tables,
    .inputs = true,
    .takes_runs = true,
    .execute = train_execute};
