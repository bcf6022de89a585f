#include "result/result.h"

#include <math.h>
#include <string.h>

/* In this order in every report, present or not. */
static const char *const usual_labels[] = {
    "tp", "cp", "ep", "dp", "dp_ep", "pp", "embedding", NULL};

uint32_t sc__result_label(struct sc__result *r, const char *label) {
    struct sc__by_label *known = r->classes[0].breakdown.comm;
    for (uint32_t i = 0; i < r->labels; i++)
        if (!strcmp(known[i].label, label))
            return i;
    if (r->labels == SC__LABELS)
        return SC__LABELS - 1;
    if (r->labels == SC__LABELS - 1)
        label = "other groups";
    for (uint32_t c = 0; c < r->class_count; c++)
        r->classes[c].breakdown.comm[r->labels].label = label;
    return r->labels++;
}

static const char *result_lane_label(const struct sc__workload *w, uint32_t lane) {
    return lane < w->group_count ? w->groups[lane].label : sc__message_label(w);
}

static void
result_add_class(struct sc__result *r, uint32_t c, const struct sc__class_result *from) {
    struct sc__breakdown *b = &r->classes[c].breakdown;
    b->compute = from->account.compute;
    b->recompute = from->account.recompute;
    b->bubble = from->account.bubble;
    b->skew = from->account.skew;
    b->other = from->account.other;
    for (uint32_t lane = 0; lane <= r->workload->group_count; lane++) {
        struct sc__by_label *l =
            &b->comm[sc__result_label(r, result_lane_label(r->workload, lane))];
        l->ops += from->traffic[lane].ops;
        l->bytes += from->traffic[lane].bytes;
        l->busy += from->traffic[lane].busy;
        l->exposed += from->account.exposed[lane];
    }
}

static void result_add_volume(struct sc__result *r, const struct sc__op *op) {
    bool message = op->kind != SC__OP_COLLECTIVE;
    uint8_t coll = message ? SC__COLLS : op->coll;
    const char *label =
        message ? sc__message_label(r->workload) : r->workload->groups[op->group].label;
    struct sc__volume *v = NULL;
    for (uint32_t i = 0; i < r->volume_count && !v; i++)
        if (r->volumes[i].phase == op->phase && r->volumes[i].coll == coll &&
            !strcmp(r->volumes[i].label, label))
            v = &r->volumes[i];
    if (!v) {
        v = SC__PUSH(&r->arena, r->volumes, r->volume_count, r->volume_capacity);
        *v = (struct sc__volume){.phase = op->phase, .coll = coll, .label = label};
    }
    v->ops++;
    v->bytes += op->bytes;
}

static void result_add_volumes(struct sc__result *r, const struct sc__workload *w) {
    const struct sc__program *p = &w->programs[w->classes[r->slowest].program];
    for (uint32_t c = 0; c < p->calls; c++) {
        const struct sc__block *b = &w->blocks[w->calls[p->first_call + c].block];
        for (uint32_t i = 0; i < b->ops; i++) {
            const struct sc__op *op = &w->ops[b->first_op + i];
            if (op->kind == SC__OP_COLLECTIVE || op->kind == SC__OP_SEND)
                result_add_volume(r, op);
        }
    }
}

/* What kernels draw beside what a GPU draws at rest, held down by the limit over their
 * time and that of the transfers between them (docs/model/kernels.md, "Energy"). */
static double result_energy(const struct sc__result *r, double seconds) {
    const struct sc__draw *d = &r->workload->draw;
    double joule = 0;
    for (uint32_t c = 0; c < r->class_count; c++) {
        const struct sc__breakdown *b = &r->classes[c].breakdown;
        double busy = (double)(b->compute + b->recompute);
        double paced = busy;
        for (uint32_t i = 0; i < r->labels; i++)
            paced += (double)b->comm[i].exposed;
        double work = (d->busy - d->idle) * busy;
        if (d->limit > d->idle)
            work = fmin(work, (d->limit - d->idle) * paced);
        joule +=
            r->classes[c].class->ranks * (d->idle * seconds + work / (double)SC__PS_PER_S);
    }
    return joule;
}

static void result_add_rates(struct sc__result *r) {
    const struct sc__workload *w = r->workload;
    double seconds = (double)r->step / (double)SC__PS_PER_S;
    double ranks = sc__mesh_ranks(&w->mesh);
    if (seconds <= 0)
        return;
    r->tokens_per_s = w->tokens / seconds;
    r->tflops_per_gpu = w->model_flops / seconds / ranks / 1e12;
    r->energy_j = result_energy(r, seconds);
    r->cost_usd = w->gpu_usd_per_hour * ranks * seconds / 3600;
    if (w->peak_flops <= 0)
        return;
    r->mfu = w->model_flops / seconds / ranks / w->peak_flops;
    r->hfu = w->hardware_flops / seconds / ranks / w->peak_flops;
}

/* FLOPs are counted as published MFUs are: attention in full, though causal kernels
 * skip the masked half of it. */
static void result_note_mfu(struct sc_context *ctx, const struct sc__result *r) {
    if (r->mfu <= 1)
        return;
    sc__note(
        ctx,
        "mfu-above-peak",
        "MFU is above 100 %%: it counts attention in full, as is usual, but the kernels "
        "skip the masked half, and sequences are long");
}

static const char *const fabric_names[SC__FABRIC_KINDS] = {
    "switch",
    "rail-optimised leaves and spines",
    "fat tree",
    "HPN",
    "DCN+",
    "dimensions",
    "dragonfly",
    "links"};

static const char *result_copy_text(struct sc__result *r, const char *text) {
    return text ? sc__strdup(&r->arena, text) : NULL;
}

static void result_keep_cluster(struct sc__result *r, const struct sc__cluster *c) {
    r->cluster = (struct sc__result_cluster){.name = result_copy_text(r, c->name),
                                             .gpu = result_copy_text(r, c->gpu),
                                             .fabric = fabric_names[c->fabric.kind],
                                             .gpus = c->gpus,
                                             .node_gpus = c->node_gpus,
                                             .node_nics = c->node_nics,
                                             .nvlink = c->nvlink,
                                             .nic = c->nic,
                                             .ideal = c->ideal};
}

void sc__result_begin(struct sc__result *out) {
    memset(out, 0, sizeof *out);
    sc__arena_init(&out->arena);
}

/* One that was said of several rows is told once, with how often. */
static const char *result_note_text(struct sc__result *r, const struct sc__note *n) {
    if (n->times < 2)
        return result_copy_text(r, n->text);
    return sc__format(&r->arena, "%s (%u times)", n->text, n->times);
}

void sc__result_take_notes(struct sc_context *ctx, struct sc__result *r) {
    r->notes = SC__NEW_ARRAY(&r->arena, struct sc__note, ctx->note_count + 1);
    r->note_count = ctx->note_count;
    for (uint32_t i = 0; i < ctx->note_count; i++) {
        r->notes[i].code = result_copy_text(r, ctx->notes[i].code);
        r->notes[i].text = result_note_text(r, &ctx->notes[i]);
    }
}

bool sc__result_is_slower(const struct sc__class_breakdown *x,
                          const struct sc__class_breakdown *y) {
    int64_t of_x = x->breakdown.compute + x->breakdown.recompute;
    int64_t of_y = y->breakdown.compute + y->breakdown.recompute;
    return x->end != y->end ? x->end > y->end : of_x > of_y;
}

sc_status sc__result_make(struct sc_context *ctx,
                          const struct sc__workload *w,
                          const struct sc__cluster *c,
                          const struct sc__net *net,
                          const struct sc__sim *sim,
                          struct sc__result *out) {
    sc__result_begin(out);
    sc__result_keep_workload(out, w, sim->timeline != NULL);
    if (c)
        result_keep_cluster(out, c);
    out->net = result_copy_text(out, net->ops->name);
    out->step = sim->step;
    out->overlap = sim->overlap;
    out->events = sim->events;
    out->memory_capacity = w->memory_capacity;
    for (unsigned i = 0; usual_labels[i]; i++)
        sc__result_label(out, usual_labels[i]);
    for (uint32_t i = 0; i < w->class_count; i++) {
        out->classes[i].end =
            sim->classes[i].end - (w->steps_overlap ? sim->classes[i].lead : 0);
        result_add_class(out, i, &sim->classes[i]);
        if (sc__result_is_slower(&out->classes[i], &out->classes[out->slowest]))
            out->slowest = i;
    }
    memcpy(out->work, sim->classes[out->slowest].work, sizeof out->work);
    result_add_volumes(out, w);
    result_add_rates(out);
    if (sim->timeline)
        sc__result_keep_timeline(out, sim->timeline);
    result_note_mfu(ctx, out);
    /* which may add a note */
    SC__TRY(sc__net_links(net, &out->arena, sim->step, &out->links, &out->link_count));
    sc__result_take_notes(ctx, out);
    return SC_OK;
}

void sc__result_free(struct sc__result *r) {
    sc__arena_free(&r->arena);
    memset(r, 0, sizeof *r);
}

static const char **
result_copy_texts(struct sc__result *r, const char *const *texts, uint32_t count) {
    const char **copies = SC__NEW_ARRAY(&r->arena, const char *, count + 1);
    for (uint32_t i = 0; i < count; i++)
        copies[i] = result_copy_text(r, texts[i]);
    return copies;
}

void sc__result_set_files(struct sc__result *r, const char *const *files, uint32_t count) {
    r->files = result_copy_texts(r, files, count);
    r->file_count = count;
}

void sc__result_set_command(struct sc__result *r, const char *const *argv, int argc) {
    r->argv = result_copy_texts(r, argv, (uint32_t)argc);
    r->argc = argc;
}

void sc__result_add_setting(struct sc__result *r, const char *name, const char *value) {
    struct sc__result_settings *to = &r->settings;
    *SC__PUSH(&r->arena, to->items, to->count, to->capacity) =
        (struct sc__result_setting){result_copy_text(r, name), result_copy_text(r, value)};
}

sc_status sc__result_add_whatif(struct sc_context *ctx,
                                struct sc__result *r,
                                const struct sc__workload *w,
                                const struct sc__net_maker *net,
                                const struct sc__sim_options *options) {
    struct sc__whatif *table = SC__NEW(&r->arena, struct sc__whatif);
    SC__TRY(sc__whatif(ctx, &r->arena, w, net, options, r->step, table));
    r->whatif = table;
    return SC_OK;
}

struct sc__step_shares sc__result_step_shares(const struct sc__result *r) {
    const struct sc__breakdown *b = &r->classes[r->slowest].breakdown;
    double step = (double)r->step;
    int64_t exposed = 0;
    for (uint32_t i = 0; i < r->labels; i++)
        exposed += b->comm[i].exposed;
    return (struct sc__step_shares){(double)(b->compute + b->recompute) / step,
                                    (double)exposed / step,
                                    (double)b->bubble / step};
}

void sc__result_add_training(struct sc__result *r, double tokens, double usd_per_hour) {
    double seconds = tokens / r->tokens_per_s;
    double hours = seconds / 3600 * sc__mesh_ranks(&r->workload->mesh);
    r->training = (struct sc__training){.tokens = tokens,
                                        .days = seconds / 86400,
                                        .gpu_hours = hours,
                                        .usd_per_hour = usd_per_hour,
                                        .usd = hours * usd_per_hour};
}
