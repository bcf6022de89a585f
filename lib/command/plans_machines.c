/* plans_machines: the clusters and numbers of GPUs that are compared, what they cost,
 * and how much of the time of a run on them counts. */
#include "command/plans.h"
#include "command/training.h"

#include "base/data.h"
#include "base/number.h"
#include "base/units.h"
#include "command/recovery.h"

#include <string.h>

enum { MOST_MACHINES = 64, LARGEST = 65536, SEEDS = 20 };

/* As stepcast train has it: a middle of what jobs have seen. */
#define STORAGE_RATE 100e9
/* Of a run that does not get on: any other plan is better. */
#define LEAST_ETTR 1e-6
/* Failures of all runs on a machine: seconds. */
#define MOST_EXPECTED 1e6

static sc_status add_machine(struct sc__plans *x, const char *cluster, uint32_t gpus) {
    struct sc__search *s = &x->search;
    if (s->machine_count == MOST_MACHINES)
        return sc__usage(x->req,
                         "fewer clusters or sizes",
                         "more than %d machines to compare",
                         MOST_MACHINES);
    if (!s->machines)
        s->machines =
            SC__NEW_ARRAY(&x->req->ctx->arena, struct sc__search_machine, MOST_MACHINES);
    return sc__search_machine(x->req->ctx,
                              &s->options,
                              &x->given,
                              cluster,
                              x->job.plan.gpu,
                              gpus,
                              &s->machines[s->machine_count++]);
}

/* --sizes 256,512: the cluster with each of them. */
static sc_status add_sizes(struct sc__plans *x, const char *cluster) {
    struct sc__str rest = sc__str(sc__option(x->req, "sizes"));
    struct sc__str part;
    while (sc__split(&rest, ',', &part)) {
        uint32_t gpus;
        if (!sc__parse_u32(part, &gpus) || !gpus || gpus > 1u << 24)
            return sc__usage(x->req,
                             "numbers of GPUs, like 256,512,1024",
                             "--sizes: '%.*s' is no number of GPUs",
                             SC__SHOW(part));
        SC__TRY(add_machine(x, cluster, gpus));
    }
    return SC_OK;
}

/* Without a size, where a deadline asks for one: whole nodes, doubled. */
static sc_status add_doubled(struct sc__plans *x, const char *cluster) {
    struct sc__cluster_description d;
    if (!cluster)
        cluster = sc__cluster_usual(x->req->ctx, x->job.plan.gpu);
    SC__TRY(sc__cluster_describe(x->req->ctx, cluster, &d));
    uint32_t node = d.cluster.node_gpus ? d.cluster.node_gpus : 1;
    for (uint64_t gpus = node; gpus <= LARGEST; gpus *= 2)
        SC__TRY(add_machine(x, cluster, (uint32_t)gpus));
    return SC_OK;
}

static sc_status add_cluster(struct sc__plans *x, const char *cluster) {
    struct sc__cluster_description d = {.sized = false};
    uint32_t gpus = x->job.plan.gpus;
    if (cluster)
        SC__TRY(sc__cluster_describe(x->req->ctx, cluster, &d));
    if (sc__option(x->req, "sizes") && d.sized)
        return sc__usage(x->req,
                         "the cluster without a number, or no --sizes",
                         "--sizes: '%s' says how many GPUs it has",
                         cluster);
    if (sc__option(x->req, "sizes") && gpus)
        return sc__usage(x->req, "give one of them", "--sizes contradicts --gpus");
    if (sc__option(x->req, "sizes"))
        return add_sizes(x, cluster);
    if (!gpus && !d.sized && x->days > 0)
        return add_doubled(x, cluster);
    return add_machine(x, cluster, d.sized && !gpus ? 0 : gpus);
}

const char *sc__plans_next_cluster(struct sc__arena *arena, struct sc__str *rest) {
    struct sc__str part;
    if (rest->p &&
        memchr(rest->p, '=', rest->n)) { /* a description has commas of its own */
        part = *rest;
        *rest = (struct sc__str){NULL, 0};
        return sc__strndup(arena, part.p, part.n);
    }
    return sc__split(rest, ',', &part) ? sc__strndup(arena, part.p, part.n) : NULL;
}

static sc_status add_machines(struct sc__plans *x) {
    const char *text = sc__option(x->req, "cluster");
    const char *cluster;
    struct sc__str rest = sc__str(text ? text : "");
    if (!text)
        return add_cluster(x, NULL);
    while ((cluster = sc__plans_next_cluster(&x->req->ctx->arena, &rest)))
        SC__TRY(add_cluster(x, cluster));
    return SC_OK;
}

/* ---- what they cost ---- */

/* What data/prices.json quotes, of each GPU once. */
static void note_prices(struct sc__plans *x, const struct sc__search_price *prices) {
    struct sc__buffer text;
    sc__buffer_init(&text, &x->req->ctx->arena);
    for (uint32_t i = 0; i < x->search.machine_count; i++) {
        const struct sc__search_price *p = &prices[i];
        bool said = !p->quoted;
        for (uint32_t k = 0; k < i && !said; k++)
            said = prices[k].quoted && !strcmp(p->gpu, prices[k].gpu);
        if (said)
            continue;
        sc__printf(&text, "%s%s ", text.size ? ", " : "", p->gpu);
        if (p->usd_per_hour > 0)
            sc__printf(&text, "%g USD", p->usd_per_hour);
        else
            sc__puts(&text, "unknown");
    }
    if (text.size)
        sc__note(x->req->ctx,
                 "prices-assumed",
                 "no --price is given: an hour of a GPU at what data/prices.json quotes, "
                 "whoever has the machine: %s",
                 text.text);
}

static sc_status read_prices(struct sc__plans *x) {
    struct sc__search *s = &x->search;
    struct sc__search_price prices[MOST_MACHINES];
    double price = 0;
    SC__TRY(sc__training_price_said(x->req, &price));
    for (uint32_t i = 0; i < s->machine_count; i++) {
        struct sc__search_machine *m = &s->machines[i];
        SC__TRY(sc__search_price(x->req->ctx, sc__search_gpu(&s->given, m), &prices[i]));
        m->usd_per_hour = price > 0 ? price : prices[i].usd_per_hour;
        if (m->usd_per_hour <= 0 && s->objective == SC__SEARCH_CHEAPEST)
            return sc__usage(x->req,
                             "--price USD, of a GPU-hour",
                             "--objective cheapest: what a %s costs is not known",
                             prices[i].gpu);
    }
    bool shown =
        sc__plans_has_costs(x) || sc__flag(x->req, "json") || sc__flag(x->req, "html");
    if (!(price > 0) && shown)
        note_prices(x, prices);
    return SC_OK;
}

/* ---- how much of the time counts ---- */

static double mean_ettr(struct sc_context *ctx, const struct sc__goodput_input *in) {
    double sum = 0;
    if (sc__goodput_is_closed(in))
        return sc__goodput_closed(in);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sc__goodput run;
        sc__goodput_simulate(in, seed, &ctx->arena, &run);
        sum += run.unfinished ? 0 : run.ettr;
    }
    return sum / SEEDS;
}

/* By proportion: no plan is simulated with a slow GPU. */
static sc_status slow_paces(struct sc__plans *x, struct sc__goodput_input *in) {
    const struct sc__failure_set *set = in->set;
    double *paces = SC__NEW_ARRAY(&x->req->ctx->arena, double, set->class_count);
    for (uint32_t i = 0; i < set->class_count; i++) {
        if (set->classes[i].degrade)
            return sc__usage(
                x->req,
                "'stepcast train' simulates them with one plan",
                "--failures: what degraded links (%s) cost depends on the plan",
                set->classes[i].name);
        paces[i] = 1 / set->classes[i].slowdown;
    }
    in->slow_share = paces;
    return SC_OK;
}

/* With the lost replicas of a job of dp of them, by proportion. */
static void pace_without_replicas(struct sc__goodput_input *in, uint32_t dp) {
    for (uint32_t lost = 1; lost <= SC__MOST_LOST; lost++)
        in->lost_replicas[lost - 1] = lost < dp ? (double)(dp - lost) / dp : 0;
}

/* What is saved of the plans of a machine, bytes: what they train and how is given, how
 * they cut it does not matter. */
static sc_status checkpoint_bytes(struct sc__plans *x,
                                  const struct sc__search_machine *machine,
                                  double *out) {
    const struct sc__search *s = &x->search;
    const struct sc__plan_surroundings around = {.gpus = machine->gpus,
                                                 .gpu = machine->description.cluster.gpu};
    sc_plan whole = s->given;
    struct sc__plan plan;
    whole.gpus = machine->gpus;
    whole.tp = whole.cp = whole.pp = whole.ep = whole.etp = whole.vpp = 1;
    whole.dp = whole.shard_group = whole.optimizer_instances = whole.micro_batches = 0;
    whole.micro_batch = 1;
    SC__TRY(sc__plan_resolve(x->req->ctx, &whole, s->model, &around, &plan));
    *out = sc__plan_checkpoint_bytes(s->model, &plan);
    return SC_OK;
}

/* The share for every number of replicas that plans may have; one alone where it does
 * not matter. */
static sc_status machine_goodput(struct sc__plans *x,
                                 struct sc__search_machine *machine,
                                 struct sc__goodput_input in) {
    struct sc_context *ctx = x->req->ctx;
    double *by_dp = SC__NEW_ARRAY(&ctx->arena, double, machine->gpus + 1);
    double alike = 0;
    double most = 0;
    double bytes;
    in.gpus = machine->gpus;
    SC__TRY(checkpoint_bytes(x, machine, &bytes));
    in.blocking_s =
        sc__recovery_from_memory(x->req) ? SC__IN_MEMORY_BLOCKING_S : bytes / STORAGE_RATE;
    in.restore_s = in.blocking_s;
    x->checkpoint_bytes = bytes;
    SC__TRY(sc__recovery_read(x->req, &in));
    if (sc__goodput_rate(&in) * in.work_s * SEEDS > MOST_EXPECTED)
        return sc__usage(x->req,
                         "fewer GPUs, or another set of failures",
                         "a run on %u GPUs fails every %.2g s",
                         machine->gpus,
                         1 / sc__goodput_rate(&in));
    double rate = sc__goodput_losing_rate(&in);
    in.interval_s =
        rate > 0 ? sc__best_interval(rate, in.blocking_s, in.write_s) : in.work_s;
    for (uint32_t dp = 1; dp <= machine->gpus; dp++) {
        if (machine->gpus % dp)
            continue;
        pace_without_replicas(&in, dp);
        double ettr = alike > 0 ? alike : mean_ettr(ctx, &in);
        if (!sc__recovery_drops(&in))
            alike = ettr;
        most = ettr > most ? ettr : most;
        by_dp[dp] = ettr > 0 ? ettr : LEAST_ETTR;
    }
    if (!(most > 0))
        return sc__usage(x->req,
                         "fewer GPUs, or another set of failures",
                         "a run on %u GPUs does not get on",
                         machine->gpus);
    machine->ettr = by_dp;
    machine->spare_gpus = in.spares * in.set->unit_gpus[SC__SCOPE_NODE];
    return SC_OK;
}

static void note_goodput(struct sc__plans *x, const struct sc__failure_set *set) {
    const char *recovery = sc__option(x->req, "recovery");
    bool drops =
        recovery && (!strcmp(recovery, "drop-replica") || !strcmp(recovery, "shrink"));
    sc__note(
        x->req->ctx,
        "goodput-of-machines",
        "failures of %s, recovery %s; checkpoints of %.3g GB, what is trained with the "
        "optimizer's state, %s as often as is best: the share of the time that counts "
        "depends on the number "
        "of GPUs%s",
        set->title ? set->title : set->name,
        recovery ? recovery : "requeue",
        x->checkpoint_bytes / 1e9,
        sc__recovery_from_memory(x->req)
            ? "in memory"
            : sc__format(&x->req->ctx->arena, "at %g GB/s", STORAGE_RATE / 1e9),
        drops ? " and of replicas: a failure takes one of them, and the throughput "
                "that is left is by proportion"
              : ", not on the plan");
}

static sc_status read_goodput(struct sc__plans *x) {
    struct sc__search *s = &x->search;
    const char *name = sc__option(x->req, "failures");
    struct sc__goodput_input in = {.work_s = (x->days > 0 ? x->days : 30) * SC__DAY_S};
    if (s->objective != SC__SEARCH_GOODPUT) {
        if (name || sc__option(x->req, "recovery"))
            return sc__usage(x->req,
                             "--objective goodput",
                             "--%s says how much of the time of a run counts",
                             name ? "failures" : "recovery");
        return SC_OK;
    }
    SC__TRY(sc__failures_load(x->req->ctx, name ? name : "llama3", &in.set));
    SC__TRY(slow_paces(x, &in));
    for (uint32_t i = 0; i < s->machine_count; i++)
        SC__TRY(machine_goodput(x, &s->machines[i], in));
    note_goodput(x, in.set);
    return SC_OK;
}

/* A batch that nobody gave is one that all machines can share. */
static void assume_batch(struct sc__plans *x) {
    struct sc__search *s = &x->search;
    uint64_t gpus = 1;
    for (uint32_t i = 0; i < s->machine_count && gpus <= UINT32_MAX; i++)
        gpus = sc__common_multiple(gpus, s->machines[i].gpus);
    s->given.global_batch = sc__plan_usual_batch(x->req->ctx, &s->given, s->model, gpus);
    x->batch_assumed = true;
}

sc_status sc__plans_machines(struct sc__plans *x) {
    SC__TRY(add_machines(x));
    if (!x->search.given.global_batch)
        assume_batch(x);
    SC__TRY(read_prices(x));
    return read_goodput(x);
}
