#include "evaluate/evaluate.h"

#include "hardware/cluster_options.h"
#include "lower/model.h"
#include "network/registry.h"
#include "plan/towers.h"
#include "workload/scale.h"

#include <inttypes.h>
#include <string.h>

/* LogGOPS and ASTRA-sim's file are the whole network by themselves; else there is
 * a usual cluster. */
static sc_status default_cluster(struct sc_context *ctx,
                                 const struct sc__evaluation_input *in,
                                 uint32_t ranks,
                                 struct sc__cluster *out) {
    const char *file = sc__setting(&in->engine, "astra-network");
    const char *usual = sc__cluster_usual(ctx, in->gpu);
    if (!file && !sc__setting(&in->engine, "loggops"))
        sc__note(ctx,
                 "cluster-default",
                 "no cluster given: %s of the job's size, %u GPU%s",
                 usual,
                 ranks,
                 ranks == 1 ? "" : "s");
    return sc__cluster_parse(ctx, file ? file : usual, ranks, out);
}

sc_status sc__evaluation_cluster(struct sc_context *ctx,
                                 const struct sc__evaluation_input *in,
                                 uint32_t ranks,
                                 struct sc__cluster *out) {
    const sc_options *o = in->options;
    if (in->cluster)
        SC__TRY(sc__cluster_sized(ctx, in->cluster, ranks, out));
    else
        SC__TRY(default_cluster(ctx, in, ranks, out));
    if (o->algo)
        sc__note(ctx,
                 "algo-forced",
                 "--algo %s: collectives that cannot run so run as NCCL would choose",
                 o->algo);
    return sc__cluster_apply(ctx, o, ranks, out);
}

sc_status
sc__workload_change(struct sc_context *ctx, const sc_options *o, struct sc__workload *w) {
    if (o->rank_order)
        SC__TRY(sc__workload_order(ctx, w, o->rank_order));
    SC__TRY(sc__whatif_apply(ctx, o, w));
    return sc__workload_slow(ctx, o->slow, w);
}

/* Groups along each dimension lie in nodes as those of rank 0 do: whole nodes, or whole
 * parts of one. */
static bool lies_evenly(const struct sc__cluster *c, const struct sc__mesh *m) {
    const uint32_t sizes[SC__DIMS] = {m->tp, m->cp, m->dp, m->pp};
    const uint64_t others[] = {m->etp,
                               (uint64_t)m->etp * m->ep,
                               (uint64_t)m->tp * m->shard};
    uint64_t block = 1;
    bool even = !c->gpu_of;
    for (int i = 0; i < SC__DIMS; i++) {
        block *= sizes[m->order[i]];
        even = even && (block % c->node_gpus == 0 || c->node_gpus % block == 0);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] && others[i] % c->node_gpus && c->node_gpus % others[i])
            even = false;
    return even || (!c->gpu_of && block <= c->node_gpus);
}

/* Ranks of a stage whose groups or neighbours lie differently in nodes do not take the
 * same time. */
static void split_places(const struct sc__cluster *c, struct sc__workload *w) {
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    struct sc__arena arena;
    if (c->ideal || lies_evenly(c, &w->mesh))
        return;
    sc__arena_init(&arena);
    uint32_t *node = SC__NEW_ARRAY(&arena, uint32_t, ranks);
    for (uint32_t r = 0; r < ranks; r++)
        node[r] = sc__cluster_node(c, r);
    sc__workload_split_places(w, node);
    sc__arena_free(&arena);
}

/* Transfers take at least the time the step's lowering knows: on the engine that
 * takes it from there too, with ranks on GPUs of their own number. An option may choose
 * another engine without --net (--loggops). */
static sc_status transfers_are_known(struct sc_context *ctx,
                                     const struct sc__evaluation_input *in,
                                     bool *known) {
    struct sc__engine_choice choice;
    struct sc__settings engine_settings = in->engine;
    engine_settings.ctx = ctx;
    SC__TRY(sc__engine_choose(&engine_settings, in->options->net, &choice));
    *known = choice.engine == &sc__analytic_engine && !in->options->rank_file;
    return SC_OK;
}

/* Splitting goes by nodes: that groups which lie alike in these leave them by NICs that
 * they share with more or fewer others is not seen. */
static sc_status note_shared_nics(struct sc_context *ctx, const struct sc__evaluation *ev) {
    const struct sc__cluster *c = &ev->cluster;
    bool analytic;
    if (c->ideal || c->fabric.kind == SC__FABRIC_DIMS || c->gpus <= c->node_gpus ||
        !c->node_nics || c->node_nics >= c->node_gpus ||
        lies_evenly(c, &ev->workload->mesh))
        return SC_OK;
    SC__TRY(transfers_are_known(ctx, &ev->in, &analytic));
    if (analytic)
        sc__note(
            ctx,
            "shared-nics",
            "groups or stages end inside of nodes, where %u GPUs share %u NIC%s: how many "
            "transfers meet on a NIC is taken from the first ranks of each stage; --net "
            "flow counts those of all",
            c->node_gpus,
            c->node_nics,
            c->node_nics == 1 ? "" : "s");
    return SC_OK;
}

/* GPUs of what a launcher takes for a machine: a tray of an NVL72; 0: there is none. */
static sc_status host_gpus(struct sc_context *ctx,
                           const struct sc__cluster_description *given,
                           const char *gpu,
                           uint32_t *out) {
    struct sc__cluster_description usual;
    if (!given) {
        SC__TRY(sc__cluster_describe(ctx, sc__cluster_usual(ctx, gpu), &usual));
        given = &usual;
    }
    const struct sc__cluster *c = &given->cluster;
    uint32_t node = c->node_gpus;
    if (!node && c->fabric.kind != SC__FABRIC_DIMS)
        node = SC__USUAL_NODE_GPUS;
    *out = c->ideal ? 0 : c->tray ? c->tray : node;
    return SC_OK;
}

sc_status sc__evaluation_hosts(struct sc_context *ctx,
                               const struct sc__cluster_description *cluster,
                               sc_plan *plan) {
    uint64_t least = sc__plan_least_gpus(plan);
    uint32_t each;
    if (!plan->hosts || plan->gpus || plan->dp || (cluster && cluster->sized))
        return SC_OK;
    SC__TRY(host_gpus(ctx, cluster, plan->gpu, &each));
    uint64_t all = (uint64_t)plan->hosts * each;
    if (!each) {
        sc__note(
            ctx,
            "hosts",
            "the cluster has no hosts: as few GPUs are taken as the plan needs, %" PRIu64
            " (--gpus says otherwise)",
            least);
        return SC_OK;
    }
    uint64_t gpus = (all + least - 1) / least * least;
    if (gpus > UINT32_MAX)
        return SC_OK; /* the sizes say it */
    plan->gpus = (uint32_t)gpus;
    if (gpus != all)
        sc__note(ctx,
                 "hosts",
                 "%" PRIu32 " host%s of %" PRIu32 " GPUs, but the plan needs a multiple of "
                 "%" PRIu64 ": %" PRIu64 " are taken",
                 plan->hosts,
                 plan->hosts == 1 ? "" : "s",
                 each,
                 least,
                 gpus);
    return SC_OK;
}

/* The plan, every choice made and checked, and the cluster of its size. */
static sc_status begin_model(struct sc_context *ctx,
                             const struct sc__evaluation_input *in,
                             const struct sc__model *model,
                             const sc_plan *given,
                             struct sc__evaluation *ev) {
    sc_plan counted = *given;
    const sc_plan *plan = &counted;
    SC__TRY(sc__evaluation_hosts(ctx, in->cluster, &counted));
    *ev = (struct sc__evaluation){.in = *in,
                                  .from_model = true,
                                  .sim_options.comm_tax = in->options->comm_sm_tax};
    bool sized = in->cluster && in->cluster->sized;
    ev->given_options = in->options;
    ev->has_experts = model->experts > 0;
    struct sc__model_params params;
    sc__model_count(model, &params);
    ev->model = (struct sc__result_model){.name = model->name ? model->name : "a model",
                                          .parameters = params.total,
                                          .active = params.active};
    ev->software_said = plan->software != NULL;
    ev->options = *in->options;
    ev->in.options = &ev->options;
    ev->in.gpu = plan->gpu;
    const struct sc__plan_surroundings around = {
        .gpus = sized ? in->cluster->cluster.gpus : 0,
        .gpu = in->cluster ? in->cluster->cluster.gpu : NULL,
        .options = &ev->options,
        .without = in->without,
    };
    SC__TRY(sc__plan_resolve(ctx, plan, model, &around, &ev->plan));
    SC__TRY(sc__plan_check(ctx, model, &ev->plan));
    ev->model.parameters += sc__plan_towers_params(&ev->plan, model);
    ev->model.active += sc__plan_towers_params(&ev->plan, model);
    sc__plan_note_idle(ctx, in->plan_options, plan, model, &ev->plan);
    SC__TRY(sc__evaluation_cluster(ctx, &ev->in, ev->plan.gpus, &ev->cluster));
    /* ranks a token goes to in a two-level all-to-all, where nobody says */
    if (model->experts && !(ev->options.copies > 0))
        ev->cluster.tuning.copies = sc__plan_copies(&ev->plan, model);
    ev->cluster.tuning.copies_together = model->experts && ev->plan.experts_in_turn;
    return SC_OK;
}

sc_status sc__evaluation_model(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               struct sc__evaluation *ev) {
    SC__TRY(begin_model(ctx, in, model, plan, ev));
    sc__plan_settings(&ev->plan, &ev->settings);
    SC__TRY(sc__lower_plan(ctx, model, &ev->plan, &ev->cluster, &ev->workload));
    SC__TRY(sc__workload_change(ctx, &ev->options, ev->workload));
    split_places(&ev->cluster, ev->workload);
    return note_shared_nics(ctx, ev);
}

/* A rank that --slow makes faster, or a workload that is changed afterwards. */
static bool bounds_are_known(const sc_options *o) {
    return !o->slow && !o->scale && !(o->gpu_speedup > 0);
}

/* How ranks lie on the cluster; *out NULL: what transfers take is not known. */
static sc_status place_ranks(struct sc_context *ctx,
                             const struct sc__evaluation *ev,
                             struct sc__mesh *room,
                             const struct sc__mesh **out) {
    const sc_options *o = &ev->options;
    *room = ev->plan.mesh;
    if (o->rank_order)
        SC__TRY(sc__mesh_order(ctx, room, o->rank_order));
    bool known;
    SC__TRY(transfers_are_known(ctx, &ev->in, &known));
    *out = known ? room : NULL;
    return SC_OK;
}

sc_status sc__evaluation_units(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               bool as_planned,
                               struct sc__evaluation *ev,
                               struct sc__step_units *out) {
    struct sc__mesh room;
    const struct sc__mesh *placed;
    *out = (struct sc__step_units){0};
    SC__TRY(begin_model(ctx, in, model, plan, ev));
    SC__TRY(place_ranks(ctx, ev, &room, &placed));
    if (!bounds_are_known(&ev->options))
        return SC_OK;
    return sc__plan_units(ctx, model, &ev->plan, &ev->cluster, placed, as_planned, out);
}

sc_status sc__evaluation_outlook(struct sc_context *ctx,
                                 const struct sc__evaluation_input *in,
                                 const struct sc__model *model,
                                 const sc_plan *plan,
                                 int64_t limit,
                                 struct sc__evaluation *ev,
                                 struct sc__plan_outlook *out) {
    SC__TRY(begin_model(ctx, in, model, plan, ev));
    struct sc__mesh room;
    const struct sc__mesh *placed;
    SC__TRY(place_ranks(ctx, ev, &room, &placed));
    SC__TRY(sc__plan_outlook(ctx,
                             model,
                             &ev->plan,
                             &ev->cluster,
                             placed,
                             ev->options.comm_sm_tax != 0,
                             limit,
                             out));
    if (!bounds_are_known(&ev->options)) {
        out->bound = 0;
        out->replay.total = 0;
    }
    return SC_OK;
}

sc_status sc__evaluation_limit(struct sc_context *ctx,
                               const struct sc__evaluation_input *in,
                               const struct sc__model *model,
                               const sc_plan *plan,
                               int64_t limit,
                               struct sc__evaluation *ev) {
    struct sc__plan_outlook outlook;
    struct sc__evaluation *other = SC__NEW(&ctx->arena, struct sc__evaluation);
    struct sc__pace *pace = SC__NEW(&ctx->arena, struct sc__pace);
    SC__TRY(sc__evaluation_outlook(ctx, in, model, plan, INT64_MAX, other, &outlook));
    if (!sc__step_pace(&ctx->arena, &outlook.replay, ev->workload, pace))
        return SC_OK;
    ev->sim_options.pace = pace;
    ev->sim_options.limit = limit;
    return SC_OK;
}

/* What ranks do by themselves behind a collective is of its time in layer workloads and
 * operator tables, and free where that is. */
static void note_local_work(struct sc_context *ctx, const struct sc__workload *w) {
    int64_t longest = 0;
    for (uint32_t i = 0; i < w->op_count; i++) {
        const struct sc__op *o = &w->ops[i];
        bool local = o->kind == SC__OP_COLLECTIVE && !(o->flags & SC__OP_MEASURED);
        if (local && o->cost > longest)
            longest = o->cost;
    }
    if (longest)
        sc__note(
            ctx,
            "ideal-local",
            "local work behind collectives (up to %g us in the input) is free with them "
            "on an ideal cluster",
            (double)longest / SC__PS_PER_US);
}

sc_status sc__evaluation_workload(struct sc_context *ctx,
                                  const struct sc__evaluation_input *in,
                                  struct sc__workload *w,
                                  struct sc__evaluation *ev) {
    *ev = (struct sc__evaluation){.in = *in,
                                  .workload = w,
                                  .sim_options.comm_tax = in->options->comm_sm_tax};
    SC__TRY(sc__workload_change(ctx, in->options, w));
    SC__TRY(sc__evaluation_cluster(ctx, in, sc__mesh_ranks(&w->mesh), &ev->cluster));
    split_places(&ev->cluster, w);
    if (ev->cluster.ideal)
        note_local_work(ctx, w);
    return note_shared_nics(ctx, ev);
}

static void echo_setting(void *self, const char *name, const char *value) {
    sc__result_add_setting(self, name, value);
}

/* What was run, every choice made. */
static void echo_settings(struct sc_context *ctx, struct sc__evaluation *ev) {
    if (ev->from_model)
        sc__options_echo(&ctx->arena,
                         sc__model_options,
                         SC__IN_PLAN,
                         &ev->settings,
                         echo_setting,
                         &ev->result);
    for (const struct sc__option *const *t = sc__options_tables; *t; t++)
        sc__options_echo(&ctx->arena,
                         *t,
                         SC__IN_OPTIONS,
                         ev->in.options,
                         echo_setting,
                         &ev->result);
}

sc_status
sc__evaluation_run(struct sc_context *ctx, struct sc__evaluation *ev, bool keep_timeline) {
    SC__TRY(sc__progress(ctx, "simulating", 0));
    SC__TRY(sc__evaluation_network(ctx, ev, ev->workload, &ev->net));
    ev->sim_options.keep_timeline = keep_timeline;
    SC__TRY(sc__simulate(ctx, ev->workload, &ev->net, &ev->sim_options, &ev->sim));
    if (ev->sim.cut)
        return SC_OK;
    SC__TRY(
        sc__result_make(ctx, ev->workload, &ev->cluster, &ev->net, &ev->sim, &ev->result));
    echo_settings(ctx, ev);
    ev->result.model = ev->model;
    if (ev->model.name)
        ev->result.model.name = sc__strdup(&ev->result.arena, ev->model.name);
    return ev->from_model ? sc__evaluation_band(ctx, ev) : SC_OK;
}

static sc_status fresh_network(void *self,
                               struct sc_context *ctx,
                               const struct sc__workload *w,
                               struct sc__net *out) {
    return sc__evaluation_network(ctx, self, w, out);
}

sc_status sc__evaluation_whatif(struct sc_context *ctx, struct sc__evaluation *ev) {
    const struct sc__net_maker maker = {.make = fresh_network, .self = ev};
    return sc__result_add_whatif(ctx, &ev->result, ev->workload, &maker, &ev->sim_options);
}
