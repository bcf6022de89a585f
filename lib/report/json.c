/* json: the result, schema 1. Keys are added freely and never changed. */
#include "report/write.h"

#include "report/json_details.h"

static void json_put_breakdown(struct sc__json *j,
                               const char *key,
                               const struct sc__breakdown *b,
                               uint32_t labels) {
    sc__json_row(j, key);
    sc__json_us(j, "compute", b->compute);
    sc__json_us(j, "recompute", b->recompute);
    sc__json_row(j, "exposed_comm");
    for (uint32_t i = 0; i < labels; i++)
        sc__json_us(j, b->comm[i].label, b->comm[i].exposed);
    sc__json_end_object(j);
    sc__json_us(j, "bubble", b->bubble);
    sc__json_us(j, "skew", b->skew);
    sc__json_us(j, "other", b->other);
    sc__json_end_object(j);
}

static void json_put_input(struct sc__json *j, const struct sc__result *r) {
    sc__json_object(j, "input");
    sc__json_string(j, "format", r->workload->format);
    sc__json_list(j, "files");
    for (uint32_t i = 0; i < r->file_count; i++)
        sc__json_string(j, NULL, r->files[i]);
    sc__json_end_array(j);
    sc__json_note_list(j, r->notes, r->note_count);
    sc__json_end_object(j);
}

static void json_put_plan(struct sc__json *j, const struct sc__workload *w) {
    const struct sc__mesh *m = &w->mesh;
    sc__json_row(j, "plan");
    sc__json_u64(j, "gpus", sc__mesh_ranks(m));
    sc__json_u64(j, "tp", m->tp);
    sc__json_u64(j, "cp", m->cp);
    sc__json_u64(j, "ep", m->ep);
    sc__json_u64(j, "dp", m->dp);
    sc__json_u64(j, "pp", m->pp);
    sc__json_u64(j, "vpp", w->vpp);
    sc__json_u64(j, "micro_batches", w->micro_batches);
    sc__json_string(j, "schedule", w->schedule);
    sc__json_end_object(j);
}

static void json_put_cluster(struct sc__json *j, const struct sc__result_cluster *c) {
    sc__json_row(j, "cluster");
    sc__json_string(j, "name", c->name);
    sc__json_string(j, "gpu", c->gpu);
    sc__json_u64(j, "gpus", c->gpus);
    sc__json_u64(j, "node_gpus", c->node_gpus);
    sc__json_u64(j, "node_nics", c->node_nics);
    sc__json_double(j, "nvlink_bytes_per_s", c->nvlink);
    sc__json_double(j, "nic_bytes_per_s", c->nic);
    sc__json_bool(j, "ideal", c->ideal);
    sc__json_string(j, "fabric", c->fabric);
    sc__json_end_object(j);
}

static void json_put_comm(struct sc__json *j, const struct sc__result *r) {
    const struct sc__breakdown *b = &r->classes[r->slowest].breakdown;
    sc__json_object(j, "comm");
    for (uint32_t i = 0; i < r->labels; i++) {
        if (!b->comm[i].ops && !b->comm[i].exposed)
            continue;
        sc__json_row(j, b->comm[i].label);
        sc__json_u64(j, "ops", b->comm[i].ops);
        sc__json_u64(j, "bytes", b->comm[i].bytes);
        sc__json_us(j, "busy_us", b->comm[i].busy);
        sc__json_us(j, "exposed_us", b->comm[i].exposed);
        sc__json_end_object(j);
    }
    sc__json_end_object(j);
    sc__json_array(j, "volumes");
    for (uint32_t i = 0; i < r->volume_count; i++) {
        const struct sc__volume *v = &r->volumes[i];
        sc__json_row(j, NULL);
        sc__json_string(j, "phase", sc__phase_name(v->phase));
        sc__json_string(j, "collective", sc__coll_name(v->coll));
        sc__json_string(j, "group", v->label);
        sc__json_u64(j, "ops", v->ops);
        sc__json_u64(j, "bytes", v->bytes);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void json_put_ranks(struct sc__json *j, const struct sc__result *r) {
    sc__json_array(j, "ranks");
    for (uint32_t i = 0; i < r->class_count; i++) {
        const struct sc__class_breakdown *c = &r->classes[i];
        sc__json_row(j, NULL);
        sc__json_u64(j, "class", i);
        sc__json_u64(j, "rank", c->class->rank);
        sc__json_u64(j, "ranks", c->class->ranks);
        sc__json_u64(j, "stage", c->class->stage);
        sc__json_us(j, "step_time_us", r->step);
        sc__json_us(j, "end_us", c->end);
        json_put_breakdown(j, "breakdown_us", &c->breakdown, r->labels);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void json_put_compat(struct sc__json *j, const struct sc__compat *c) {
    if (!c->present)
        return;
    sc__json_object(j, "compat");
    sc__json_string(j, "of", "simai");
    if (c->no_bubble)
        sc__json_null(j, "total_us");
    else
        sc__json_double(j, "total_us", c->total);
    sc__json_double(j, "compute_us", c->compute);
    sc__json_double(j, "dp_us", c->dp);
    sc__json_double(j, "tp_us", c->tp);
    sc__json_double(j, "ep_us", c->ep);
    sc__json_double(j, "dp_ep_us", c->dp_ep);
    if (c->no_bubble) {
        sc__json_null(j, "bubble_us");
        sc__json_string(
            j,
            "why",
            "the file has no vpp: SimAI divides by zero and prints NaN or Inf; --vpp 1 "
            "gives its number");
    } else
        sc__json_double(j, "bubble_us", c->bubble);
    sc__json_end_object(j);
}

static void json_put_shares(struct sc__json *j, const struct sc__shares *s) {
    if (!s)
        return;
    sc__json_object(j, "amdahl");
    sc__shares_json(s, UINT32_MAX, j);
    sc__json_end_object(j);
}

static void json_put_memory(struct sc__json *j, const struct sc__result *r) {
    const struct sc__memory *m = r->workload->memory;
    uint32_t most = 0;
    uint64_t total = 0;
    if (!m)
        return;
    for (uint32_t i = 0; i < r->class_count; i++) {
        uint64_t sum = sc__memory_total(&m[i]);
        if (sum > total) {
            total = sum;
            most = i;
        }
    }
    sc__json_row(j, "memory_bytes");
    sc__json_u64(j, "weights", m[most].weights);
    sc__json_u64(j, "gradients", m[most].gradients);
    sc__json_u64(j, "optimizer", m[most].optimizer);
    sc__json_u64(j, "activations", m[most].activations);
    sc__json_u64(j, "logits", m[most].logits);
    sc__json_u64(j, "workspace", m[most].workspace);
    sc__json_u64(j, "communication", m[most].communication);
    sc__json_u64(j, "context", m[most].context);
    sc__json_u64(j, "fragmentation", m[most].fragmentation);
    sc__json_u64(j, "total", total);
    sc__json_u64(j, "capacity", r->memory_capacity);
    if (m[most].host) {
        sc__json_u64(j, "host", m[most].host);
        sc__json_u64(j, "host_capacity", r->workload->host_capacity);
    }
    sc__json_end_object(j);
}

static void json_put_links(struct sc__json *j, const struct sc__result *r) {
    if (!r->link_count)
        return;
    sc__json_array(j, "links");
    for (uint32_t i = 0; i < r->link_count; i++) {
        sc__json_row(j, NULL);
        sc__json_string(j, "name", r->links[i].name);
        sc__json_double(j, "bytes", r->links[i].bytes);
        sc__json_double(j, "capacity_bytes_per_s", r->links[i].capacity);
        sc__json_double(j, "utilisation", r->links[i].busy_share);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void json_put_work(struct sc__json *j, const struct sc__result *r) {
    sc__json_row(j, "work_us");
    for (unsigned k = 0; k < SC__WORKS; k++)
        if (r->work[k])
            sc__json_us(j, sc__work_name(k), r->work[k]);
    sc__json_end_object(j);
}

static void json_put_rates(struct sc__json *j, const struct sc__result *r) {
    if (r->tokens_per_s > 0)
        sc__json_double(j, "tokens_per_s", r->tokens_per_s);
    if (r->tokens_per_s > 0)
        sc__json_double(j,
                        "tokens_per_s_per_gpu",
                        r->tokens_per_s / sc__mesh_ranks(&r->workload->mesh));
    if (r->tflops_per_gpu > 0)
        sc__json_double(j, "tflops_per_gpu", r->tflops_per_gpu);
    if (r->mfu > 0)
        sc__json_double(j, "mfu", r->mfu);
    if (r->hfu > 0)
        sc__json_double(j, "hfu", r->hfu);
    if (r->energy_j > 0)
        sc__json_double(j, "energy_j", r->energy_j);
    if (r->cost_usd > 0)
        sc__json_double(j, "cost_usd", r->cost_usd);
}

static void json_put_training(struct sc__json *j, const struct sc__training *t) {
    if (!(t->tokens > 0))
        return;
    sc__json_object(j, "training");
    sc__json_double(j, "tokens", t->tokens);
    sc__json_double(j, "days", t->days);
    sc__json_double(j, "gpu_hours", t->gpu_hours);
    if (t->usd > 0) {
        sc__json_double(j, "usd_per_gpu_hour", t->usd_per_hour);
        sc__json_double(j, "cost_usd", t->usd);
    }
    sc__json_end_object(j);
}

static void json_put_model(struct sc__json *j, const struct sc__result_model *m) {
    if (!m->name)
        return;
    sc__json_object(j, "model");
    sc__json_string(j, "name", m->name);
    sc__json_double(j, "parameters", m->parameters);
    sc__json_double(j, "active_parameters", m->active);
    sc__json_end_object(j);
}

static void json_put_settings(struct sc__json *j,
                              const struct sc__result_settings *settings) {
    if (!settings->count)
        return;
    sc__json_object(j, "settings");
    for (uint32_t i = 0; i < settings->count; i++)
        sc__json_string(j, settings->items[i].name, settings->items[i].value);
    sc__json_end_object(j);
}

void sc__write_json(const struct sc__result *r, unsigned sections, struct sc__buffer *out) {
    struct sc__json json;
    struct sc__json *j = &json;
    sc__json_init(j, out);
    sc__json_object(j, NULL);
    sc__json_string(j, "schema", "stepcast/result/1");
    sc__json_string(j, "version", SC_VERSION);
    sc__json_list(j, "command");
    for (int i = 0; i < r->argc; i++)
        sc__json_string(j, NULL, r->argv[i]);
    sc__json_end_array(j);
    json_put_input(j, r);
    json_put_model(j, &r->model);
    json_put_settings(j, &r->settings);
    json_put_plan(j, r->workload);
    json_put_cluster(j, &r->cluster);
    sc__json_string(j, "net", r->net);
    sc__json_us(j, "step_time_us", r->step);
    if (r->overlap)
        sc__json_us(j, "step_overlap_us", r->overlap);
    json_put_breakdown(j, "breakdown_us", &r->classes[r->slowest].breakdown, r->labels);
    json_put_comm(j, r);
    json_put_work(j, r);
    json_put_ranks(j, r);
    json_put_memory(j, r);
    json_put_rates(j, r);
    json_put_training(j, &r->training);
    json_put_links(j, r);
    json_put_compat(j, &r->compat);
    json_put_shares(j, r->shares);
    sc__json_u64(j, "events", r->events);
    sc__json_put_details(j, r, sections);
    sc__json_end_object(j);
}
