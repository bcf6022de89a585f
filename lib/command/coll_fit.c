/* coll --against and --fit: forecasts beside the tables of nccl-tests logs, and the
 * constants that would have made them meet. */
#include "command/coll.h"
#include "command/job.h"
#include "evaluate/evaluate.h"
#include "hardware/cluster_fields.h"

#include <math.h>
#include <string.h>

/* --- tables of logs -------------------------------------------------------- */

/* The tables to compare with: all rows as samples on one machine. */
struct log_tables {
    struct sc__cluster machine; /* what a fit moves; the clusters of samples are it */
    struct sc__samples samples; /* source: the table */
    uint32_t count;
    bool one_kind;        /* the same operation on the same number of nodes */
    bool some_on_one;     /* tables on one node … */
    bool some_on_several; /* … and on several */
    bool some_by_one;     /* whose processes drove several GPUs each */
    const struct sc__coll_op *op;
    uint32_t nodes;
};

static sc_status
take_machine(struct sc_request *req, uint32_t ranks, struct sc__cluster *c) {
    struct sc__settings s = sc__settings(req);
    sc_options tuning;
    SC__TRY(sc__cluster_parse(req->ctx, sc__option(req, "cluster"), ranks, c));
    SC__TRY(sc__options_read(&s, &tuning));
    SC__TRY(sc__cluster_apply(req->ctx, &tuning, ranks ? ranks : c->gpus, c));
    c->tuning.eager_timer = sc__option(req, "eager") != NULL;
    return SC_OK;
}

static bool reduces(const struct sc__coll_op *op) {
    return op->coll == SC__ALLREDUCE || op->coll == SC__REDUCESCATTER ||
           op->coll == SC__REDUCE;
}

/* Two GPUs have the same factor for all-reduces as for broadcasts: redop tells them
 * apart. */
static sc_status check_reduction(struct sc_request *req,
                                 const char *path,
                                 const struct sc__coll_log_table *t) {
    if (!t->count || !t->rows[0].unreduced || !reduces(t->op))
        return SC_OK;
    struct sc__place at = {.file = path, .line = t->rows[0].line};
    return sc__fail(
        req->ctx,
        SC_INPUT,
        &at,
        "is it the log of another operation, all_gather, broadcast or alltoall?",
        "redop is 'none' here, and %s reduces",
        t->op->name);
}

static sc_status
check_table(struct sc_request *req, const char *path, const struct sc__coll_log_table *t) {
    if (!t->op)
        return sc__usage(req,
                         "name it: stepcast coll all_reduce …",
                         "%s:%u: the log does not say which operation was measured",
                         path,
                         t->line);
    if (!sc__option(req, "cluster"))
        return sc__usage(req,
                         "give --cluster, e.g. dgx-h100:16",
                         "what machine was %s measured on?",
                         path);
    return SC_OK;
}

/* The ranks of a table, on as many nodes as its list of ranks has hosts, where each host
 * has equally many and the machine has nodes enough. Hosts of a rack are one node. */
static struct sc__shape shape_of_table(struct sc_request *req,
                                       const struct sc__coll_log_table *t,
                                       const struct sc__cluster *c,
                                       uint32_t ranks) {
    uint32_t hosts = t->nodes;
    uint32_t each = hosts ? ranks / hosts : 0;
    bool listed = hosts && each * hosts == ranks && t->ranks == ranks;
    bool fits = each <= c->node_gpus && hosts <= c->gpus / c->node_gpus;
    if (c->gpu_of || !listed || !fits || c->node_gpus > 8)
        return sc__cluster_shape(c, c->gpu_of, ranks);
    uint32_t *gpu = SC__NEW_ARRAY(&req->ctx->arena, uint32_t, ranks);
    for (uint32_t i = 0; i < ranks; i++)
        gpu[i] = i / each * c->node_gpus + i % each;
    return sc__cluster_shape(c, gpu, ranks);
}

static void note_hosts(struct sc_request *req,
                       const char *path,
                       const struct sc__coll_log_table *t,
                       const struct sc__shape *shape,
                       const struct sc__cluster *c) {
    if (t->nodes && t->nodes != shape->nodes)
        sc__note(req->ctx,
                 "log-nodes",
                 "%s:%u ran on %u hosts; %u ranks lie on %u nodes of %s",
                 path,
                 t->line,
                 t->nodes,
                 shape->ranks,
                 shape->nodes,
                 c->name);
}

/* What nccl-tests make of a time, bus over algorithm bandwidth, tells the operation and
 * the number of ranks: those of the row whose figures have most digits. */
static sc_status check_factor(struct sc_request *req,
                              const char *path,
                              const struct sc__coll_log_table *t,
                              uint32_t ranks) {
    const struct sc__coll_log_row *best = &t->rows[0];
    double wanted = sc__coll_bus_factor(t->op, ranks);
    for (uint32_t i = 1; i < t->count; i++)
        if (t->rows[i].algbw > best->algbw)
            best = &t->rows[i];
    double found = best->algbw > 0 ? best->busbw / best->algbw : 0;
    if (best->algbw < 1 || fabs(found / wanted - 1) < 0.03)
        return SC_OK;
    struct sc__place at = {.file = path, .line = best->line};
    return sc__fail(req->ctx,
                    SC_INPUT,
                    &at,
                    "is it the log of another operation, or of another number of GPUs?",
                    "busbw is %.3f times algbw here, and %.3f times for %s on %u GPUs",
                    found,
                    wanted,
                    t->op->name,
                    ranks);
}

static void add_samples(struct sc_request *req,
                        const struct sc__coll_log_table *t,
                        struct sc__cluster *c,
                        const struct sc__shape *shape,
                        struct log_tables *out) {
    struct sc__samples *samples = &out->samples;
    for (uint32_t i = 0; i < t->count; i++)
        *SC__PUSH(&req->ctx->arena, samples->items, samples->count, samples->capacity) =
            (struct sc__sample){.op = t->op,
                                .cluster = c,
                                .shape = *shape,
                                .bytes = t->rows[i].bytes,
                                .us = t->rows[i].us,
                                .source = out->count};
    bool same = !out->count || (out->op == t->op && out->nodes == shape->nodes);
    out->one_kind = same && (out->one_kind || !out->count);
    out->some_on_one |= shape->nodes == 1;
    out->some_on_several |= shape->nodes > 1;
    out->some_by_one |= c->tuning.gpus_per_process > 1;
    out->op = t->op;
    out->nodes = shape->nodes;
    out->count++;
}

/* One table; those of other operations than the one asked for, and of one GPU, are left
 * out. */
static sc_status take_table(struct sc_request *req,
                            const char *path,
                            struct sc__coll_log_table *t,
                            struct log_tables *out) {
    struct sc__settings s = sc__settings(req);
    const struct sc__coll_op *asked =
        req->input_count ? sc__coll_op_find(req->inputs[0]) : NULL;
    uint32_t ranks = 0;
    if (t->unknown) {
        sc__note(req->ctx,
                 "log-table",
                 "%s:%u: the table of %s is left out: no forecast knows this operation",
                 path,
                 t->line,
                 t->unknown);
        return SC_OK;
    }
    if (asked && !t->op) {
        t->op = asked;
        sc__coll_log_ranks(req->ctx, path, t);
    }
    SC__TRY(check_table(req, path, t));
    SC__TRY(sc__setting_u32(&s, "gpus", 1, &ranks));
    if (!ranks)
        ranks = t->ranks;
    if ((asked && asked != t->op) || ranks == 1 || !t->count) {
        sc__note(
            req->ctx,
            "log-table",
            "%s:%u: the table of %s%s is left out",
            path,
            t->line,
            t->op->name,
            ranks
                ? sc__format(&req->ctx->arena, " on %u GPU%s", ranks, ranks == 1 ? "" : "s")
                : "");
        return SC_OK;
    }
    struct sc__cluster *c = SC__NEW(&req->ctx->arena, struct sc__cluster);
    SC__TRY(take_machine(req, ranks, c));
    struct sc__shape shape = shape_of_table(req, t, c, ranks ? ranks : c->gpus);
    SC__TRY(check_factor(req, path, t, shape.ranks));
    SC__TRY(check_reduction(req, path, t));
    note_hosts(req, path, t, &shape, c);
    if (!out->count)
        out->machine = *c;
    if (!c->tuning.gpus_per_process) /* how the test was run, not what the machine is */
        c->tuning.gpus_per_process = t->gpus_per_process;
    add_samples(req, t, c, &shape, out);
    return SC_OK;
}

static sc_status
take_log(struct sc_request *req, const char *path, struct log_tables *out) {
    struct sc__coll_log log;
    SC__TRY(sc__coll_log_read(req->ctx, path, &log));
    for (uint32_t i = 0; i < log.count; i++)
        SC__TRY(take_table(req, path, &log.tables[i], out));
    return SC_OK;
}

static sc_status
check_any(struct sc_request *req, const char *path, const struct log_tables *tables) {
    for (uint32_t i = 0; i < tables->samples.count; i++)
        if (tables->samples.items[i].cluster->ideal)
            return sc__usage(req,
                             "--cluster with the machine that was measured",
                             "communication is free on %s: measurements say nothing of it",
                             tables->samples.items[i].cluster->name);
    if (tables->count)
        return SC_OK;
    const struct sc_context *ctx = req->ctx;
    const char *why = "tables of one GPU and of other operations are left out";
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (!strcmp(ctx->notes[i].code, "log-table"))
            why = ctx->notes[i].text;
    return sc__usage(req, why, "%s has no table to compare with", path);
}

/* --- against --------------------------------------------------------------- */

static void coll_fit_put_row(struct sc__buffer *out, const struct sc__sample *s) {
    struct sc__coll_cost p = sc__coll_op_cost(s->cluster, s->op, &s->shape, s->bytes);
    sc__printf(out,
               "%14llu %12.2f %12.2f %8.3f %+8.1f%%  %-8s %s\n",
               (unsigned long long)s->bytes,
               s->us,
               s->model_us,
               s->model_us / s->us,
               100 * (s->model_us / s->us - 1),
               sc__algo_name(p.algo),
               sc__proto_name(p.proto));
}

static void put_table_head(struct sc__buffer *out, const struct sc__sample *s) {
    sc__printf(out,
               "# %s, %u GPUs on %u node%s of %s\n",
               s->op->name,
               s->shape.ranks,
               s->shape.nodes,
               s->shape.nodes == 1 ? "" : "s",
               s->cluster->name);
    sc__puts(
        out,
        "#     size (B)     measured    predicted    ratio     error  algo     proto\n");
}

static void coll_fit_put_rows(struct sc__buffer *out, const struct sc__samples *samples) {
    for (uint32_t i = 0; i < samples->count; i++) {
        if (!i || samples->items[i].source != samples->items[i - 1].source)
            put_table_head(out, &samples->items[i]);
        coll_fit_put_row(out, &samples->items[i]);
    }
}

static void coll_fit_put_notes(struct sc_request *req) {
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "# note: %s\n", req->ctx->notes[i].text);
}

/* Bytes from which on a collective takes what its links take, and how far constants of a
 * machine as described can be off there. */
#define LARGE_BYTES (16u << 20)
#define RATE_OFF 1.5

/* Where large messages take another multiple than machines of a kind differ by, the
 * description is of another machine, and no constant will say so. */
static void
note_rate(struct sc_request *req, const struct sc__samples *samples, bool between) {
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct sc__sample *s = &samples->items[i];
        bool told = s->bytes >= LARGE_BYTES && s->model_us > 0;
        if (!told || between != (s->shape.nodes > 1))
            continue;
        sum += log(s->us / s->model_us);
        count++;
    }
    double times = count ? exp(sum / count) : 1;
    if (times < RATE_OFF && times > 1 / RATE_OFF)
        return;
    sc__note(req->ctx,
             between ? "log-rate-between" : "log-rate-inside",
             "sizes from 16 MiB on %s take %.2f times as long as predicted: does the "
             "cluster have %s?",
             between ? "between nodes" : "inside a node",
             times,
             between ? "these NICs (nics=, nic=, class=)"
                     : "this GPU and rate (gpu=, nvlink=, inside=)");
}

static void note_rates(struct sc_request *req, const struct sc__samples *samples) {
    note_rate(req, samples, false);
    note_rate(req, samples, true);
}

sc_status sc__coll_against(struct sc_request *req, const char *path) {
    struct log_tables tables = {0};
    SC__TRY(take_log(req, path, &tables));
    SC__TRY(check_any(req, path, &tables));
    sc__samples_predict(&tables.samples);
    note_rates(req, &tables.samples);
    SC__TRY(sc__coll_put_samples(req, &tables.samples, NULL));
    sc__coll_note_unused(req);
    if (sc__stdout_taken(req))
        return SC_OK;
    sc__printf(&req->out, "# against %s\n", path);
    coll_fit_put_rows(&req->out, &tables.samples);
    sc__printf(&req->out,
               "# root mean square of ln(predicted/measured): %.4f\n",
               sc__samples_residual(&tables.samples));
    coll_fit_put_notes(req);
    return SC_OK;
}

/* --- what a fit may move ---------------------------------------------------- */

#define MEMBERS 4

/* Constants that one cause moves together, as far as machines differ in it. */
struct fit_cause {
    const char *name;
    struct {
        const char *constant;
        unsigned index;
    } members[MEMBERS];
    bool added;  /* us more, else a factor */
    bool shared; /* by operations and numbers of nodes that a log may not hold */
    /* a table on so many nodes, or of a process that drives several GPUs */
    enum { ONE_NODE, SEVERAL_NODES, SEVERAL_A_PROCESS } needs;
    double low;
    double high;
    /* Operations of one machine differ in what a start or a step inside a node takes as
     * much as machines do: one kind of table moves it so many times less far; 0: as far */
    unsigned alone;
};

static const struct fit_cause causes[] = {
    {"launch of a process", {{"launch", 0}}, false, false, SEVERAL_A_PROCESS, 0.5, 2, 0},
    {"LL128 inside a node", {{"ll128", 0}}, false, false, ONE_NODE, 0.8, 1, 0},
    {"start inside a node",
     {{"base", 0}, {"base", 1}, {"base", 2}, {"nvls_base", 0}},
     false,
     true,
     ONE_NODE,
     0.7,
     1.4,
     8},
    {"start of an all-to-all", {{"p2p_base", 0}}, false, true, ONE_NODE, 0.7, 1.4, 8},
    {"steps inside a node",
     {{"ring_step", 0}, {"ring_step", 1}},
     false,
     true,
     ONE_NODE,
     0.7,
     1.4,
     8},
    {"rate of rings over NVLink",
     {{"nvlink", 0}, {"ring_copy", 0}},
     false,
     true,
     ONE_NODE,
     0.75,
     1.1,
     3},
    {"rate of NVLS",
     {{"nvls_rate", 0}, {"nvls_line", 0}},
     false,
     false,
     ONE_NODE,
     0.75,
     1.15,
     0},
    {"rounds that fill NVLS", {{"nvls_fill", 0}}, false, false, ONE_NODE, 0.5, 2, 0},
    {"rate of all-to-all over NVLink",
     {{"p2p_share", 0}},
     false,
     true,
     ONE_NODE,
     0.7,
     1.2,
     3},
    {"start between nodes",
     {{"net_base", 0}, {"net_base", 1}, {"net_base", 2}, {"nvls_tree", 0}},
     false,
     true,
     SEVERAL_NODES,
     0.6,
     2,
     0},
    {"start of messages between nodes",
     {{"p2p_net", 0}},
     false,
     true,
     SEVERAL_NODES,
     0.6,
     2,
     0},
    {"a hop between nodes", {{"hop", 0}}, true, true, SEVERAL_NODES, -5, 100, 0},
    {"share of the wire", {{"wire", 0}}, false, true, SEVERAL_NODES, 0.5, 1.03, 0},
    {"rate of NVLSTree",
     {{"nvls_tree", 2}, {"nvls_tree", 3}},
     false,
     false,
     SEVERAL_NODES,
     0.75,
     1.1,
     0},
    {"rounds that fill NVLSTree",
     {{"nvls_tree", 4}},
     false,
     false,
     SEVERAL_NODES,
     0.5,
     2,
     0},
};

#define CAUSES (sizeof causes / sizeof *causes)

/* The place of a member in a cluster's constants; NULL behind the last. */
static double *
member_at(const struct fit_cause *cause, unsigned i, struct sc__constants *constants) {
    if (i >= MEMBERS || !cause->members[i].constant)
        return NULL;
    const struct sc__constant *k = sc__constant_find(cause->members[i].constant);
    return sc__constant_at(constants, k) + cause->members[i].index;
}

static double reach(const struct fit_cause *cause, double limit, bool one_kind) {
    return one_kind && cause->alone ? pow(limit, 1.0 / cause->alone) : limit;
}

/* Times must not come out below nothing, however low the hop. */
static double
least_value(const struct fit_cause *cause, const struct sc__cluster *c, bool one_kind) {
    return cause->added ? fmax(cause->low, -c->constants.hop)
                        : reach(cause, cause->low, one_kind);
}

static void add_cause(struct sc_context *ctx,
                      struct sc__coll_fit *fit,
                      const struct fit_cause *cause,
                      const struct sc__samples *samples,
                      bool one_kind) {
    struct sc__fit_param *p =
        sc__fit_param_new(&ctx->arena,
                          fit,
                          cause->name,
                          cause->added,
                          least_value(cause, samples->items[0].cluster, one_kind),
                          reach(cause, cause->high, one_kind));
    for (uint32_t i = 0; i < samples->count; i++) {
        struct sc__cluster *c = samples->items[i].cluster;
        double *at;
        if (i && samples->items[i - 1].cluster == c)
            continue;
        for (unsigned m = 0; (at = member_at(cause, m, &c->constants)); m++)
            sc__fit_place_add(&ctx->arena, p, at);
    }
}

static void add_causes(struct sc_context *ctx,
                       struct sc__coll_fit *fit,
                       uint32_t chosen,
                       const struct sc__samples *samples,
                       bool one_kind) {
    for (unsigned i = 0; i < CAUSES; i++)
        if (chosen >> i & 1)
            add_cause(ctx, fit, &causes[i], samples, one_kind);
}

/* --- which causes the logs can decide --------------------------------------- */

#define SIZE_FOLDS 3

/* The part of the left-out error that a cause may leave to be taken. One kind of table
 * must speak clearly, most of all where others share the cause. */
static double gain_needed(const struct log_tables *tables, const struct fit_cause *cause) {
    if (!tables->one_kind)
        return 0.95;
    return cause->shared ? 0.6 : 0.8;
}

static struct sc__coll_fit new_fit(const struct log_tables *tables) {
    /* one table tells little about other operations and numbers of nodes */
    return (struct sc__coll_fit){.prior = tables->one_kind ? 0.3 : 0.05, .sweeps = 40};
}

/* Tables are left out in turn; of one kind of table every third size. */
static uint32_t make_folds(const struct log_tables *tables, struct sc__samples *copy) {
    for (uint32_t i = 0; i < copy->count && tables->one_kind; i++)
        copy->items[i].source = i % SIZE_FOLDS;
    return tables->one_kind ? SIZE_FOLDS : tables->count;
}

static double mean_error(const struct sc__samples *samples, uint32_t fold) {
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < samples->count; i++) {
        const struct sc__sample *s = &samples->items[i];
        if (s->source != fold)
            continue;
        sum += fabs(log(s->model_us / s->us));
        n++;
    }
    return n ? sum / n : 0;
}

/* Mean error of rows on which nothing was fitted, with these causes free; *worst: how
 * much worse the fold became that became worst. */
static double left_out_error(struct sc_context *ctx,
                             const struct log_tables *tables,
                             uint32_t chosen,
                             double *worst) {
    uint32_t count = tables->samples.count;
    struct sc__samples copy = {SC__NEW_ARRAY(&ctx->arena, struct sc__sample, count),
                               count,
                               0};
    double sum = 0;
    memcpy(copy.items, tables->samples.items, count * sizeof *copy.items);
    uint32_t folds = make_folds(tables, &copy);
    *worst = 0;
    for (uint32_t fold = 0; fold < folds; fold++) {
        struct sc__coll_fit fit = new_fit(tables);
        sc__samples_predict(&copy);
        double before = mean_error(&copy, fold);
        add_causes(ctx, &fit, chosen, &copy, tables->one_kind);
        sc__fit_run(&fit, &copy, fold);
        double after = mean_error(&copy, fold);
        *worst = fmax(*worst, after - before);
        sum += after;
        sc__fit_restore(&fit);
    }
    return sum / folds;
}

/* What happens inside a node is seen on one node only: between nodes it hides behind
 * other things. So does the launch of a process with one GPU. */
static bool can_decide(const struct log_tables *tables, const struct fit_cause *cause) {
    return cause->needs == ONE_NODE        ? tables->some_on_one
           : cause->needs == SEVERAL_NODES ? tables->some_on_several
                                           : tables->some_by_one;
}

/* Takes in turn the cause that helps rows left out most, while one helps and none of the
 * tables left out is the worse for it. */
static sc_status choose_causes(struct sc_context *ctx,
                               const struct log_tables *tables,
                               uint32_t *chosen,
                               double *before,
                               double *after) {
    double unused;
    *chosen = 0;
    *before = *after = left_out_error(ctx, tables, 0, &unused);
    for (unsigned round = 0; round < CAUSES; round++) {
        uint32_t best = 0;
        double least = *after;
        for (unsigned i = 0; i < CAUSES; i++) {
            double worst;
            SC__TRY(sc__progress(ctx,
                                 "what the logs decide",
                                 (round + (double)i / CAUSES) / CAUSES));
            if (*chosen >> i & 1 || !can_decide(tables, &causes[i]))
                continue;
            double error = left_out_error(ctx, tables, *chosen | 1u << i, &worst);
            if (error < least && error < *after * gain_needed(tables, &causes[i]) &&
                worst < 0.01) {
                least = error;
                best = 1u << i;
            }
        }
        if (!best)
            return SC_OK;
        *chosen |= best;
        *after = least;
    }
    return SC_OK;
}

/* --- fit ------------------------------------------------------------------- */

/* A protocol is used or not. */
static double kept_value(const struct sc__constant *k, double value) {
    return strcmp(k->name, "ll128") ? value : value >= 1;
}

/* Every constant that moved becomes part of the written cluster. */
static void keep_changes(struct sc_context *ctx,
                         const struct log_tables *tables,
                         uint32_t chosen,
                         struct sc__cluster *c) {
    c->constants = tables->samples.items[0].cluster->constants;
    for (const struct sc__constant *k = sc__constant_table; k->name; k++) {
        bool moved = false;
        for (unsigned i = 0; i < CAUSES; i++)
            for (unsigned m = 0; m < MEMBERS && causes[i].members[m].constant; m++)
                moved |= chosen >> i & 1 && !strcmp(causes[i].members[m].constant, k->name);
        if (!moved)
            continue;
        struct sc__override o = {.constant = k};
        for (unsigned j = 0; j < k->count; j++)
            o.value[j] = kept_value(k, sc__constant_at(&c->constants, k)[j]);
        *SC__PUSH(&ctx->arena, c->overrides, c->override_count, c->override_capacity) = o;
    }
}

static void put_moves(struct sc__buffer *out, const struct sc__coll_fit *fit) {
    sc__printf(out, "# constants that moved%s\n", fit->count ? "" : ": none");
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct sc__fit_param *p = &fit->params[i];
        if (strstr(p->name, "LL128"))
            sc__printf(out, "#   %s: %s\n", p->name, p->value < 1 ? "not used" : "used");
        else
            sc__printf(out,
                       p->added ? "#   %s: %+.2f us\n" : "#   %s: x %.3f\n",
                       p->name,
                       p->value);
    }
}

static void
note_left_out(struct sc_request *req, const struct log_tables *tables, uint32_t chosen) {
    if (!chosen)
        sc__note(
            req->ctx,
            "fit-undecided",
            "no constant moves: none would have helped rows that it was not fitted on");
    if (tables->one_kind)
        sc__note(req->ctx,
                 "fit-one-kind",
                 "the logs hold one operation on one number of nodes: others are "
                 "predicted as before where they do not share its causes");
}

/* Before and after. */
struct fit_errors {
    double fitted[2];   /* root mean square, of the rows that were fitted */
    double left_out[2]; /* mean, of those that were left out in turn */
};

static void put_fit(struct sc_request *req,
                    const struct log_tables *tables,
                    const struct sc__coll_fit *fit,
                    const struct fit_errors *e) {
    coll_fit_put_rows(&req->out, &tables->samples);
    put_moves(&req->out, fit);
    sc__printf(&req->out,
               "# mean of |ln(predicted/measured)| left out (%s in turn): %.4f before, "
               "%.4f after\n",
               tables->one_kind ? "every third size" : "each table",
               e->left_out[0],
               e->left_out[1]);
    sc__printf(
        &req->out,
        "# root mean square of ln(predicted/measured): %.4f before, %.4f after, %u rows\n",
        e->fitted[0],
        e->fitted[1],
        tables->samples.count);
    coll_fit_put_notes(req);
}

static sc_status write_cluster(struct sc_request *req,
                               const struct sc__cluster *c,
                               const struct fit_errors *e) {
    struct sc__buffer text;
    if (!sc__option(req, "output"))
        return SC_OK;
    sc__buffer_init(&text, &req->ctx->arena);
    sc__cluster_write(
        c,
        sc__format(&req->ctx->arena,
                   "calibrated on nccl-tests logs: rms ln error %.4f, before %.4f",
                   e->fitted[1],
                   e->fitted[0]),
        &text);
    return sc__job_output(req, "output", &text);
}

sc_status sc__coll_fit(struct sc_request *req) {
    struct sc__settings settings = sc__settings(req);
    struct log_tables tables = {0};
    const char *path;
    uint32_t chosen;
    struct fit_errors e;
    for (uint32_t i = 0; (path = sc__setting_nth(&settings, "fit", i)); i++)
        SC__TRY(take_log(req, path, &tables));
    SC__TRY(check_any(req, sc__setting_nth(&settings, "fit", 0), &tables));
    SC__TRY(choose_causes(req->ctx, &tables, &chosen, &e.left_out[0], &e.left_out[1]));
    struct sc__coll_fit fit = new_fit(&tables);
    sc__samples_predict(&tables.samples);
    e.fitted[0] = sc__samples_residual(&tables.samples);
    add_causes(req->ctx, &fit, chosen, &tables.samples, tables.one_kind);
    sc__fit_run(&fit, &tables.samples, UINT32_MAX);
    e.fitted[1] = sc__samples_residual(&tables.samples);
    note_rates(req, &tables.samples);
    note_left_out(req, &tables, chosen);
    sc__coll_note_unused(req);
    if (!sc__stdout_taken(req))
        put_fit(req, &tables, &fit, &e);
    keep_changes(req->ctx, &tables, chosen, &tables.machine);
    return write_cluster(req, &tables.machine, &e);
}
