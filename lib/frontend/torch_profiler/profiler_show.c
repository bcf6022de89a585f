/* What `show` says of a profiler table: the step where there is one, what the
 * time goes to, what is worth speeding up, and which host times are waits. */
#include "frontend/torch_profiler/profile_step.h"
#include "frontend/torch_profiler/profiler_table.h"
#include "workload/shares.h"

#define TOP 12

struct profiler_show_view {
    const struct sc__profile *p;
    struct sc__profile_step step;
    struct sc__profile_sum sum;
    struct sc__shares shares;
    struct sc__wait_row *waits;
    uint32_t wait_count;
};

static void share_step(struct profiler_show_view *v) {
    const struct sc__profile_step *s = &v->step;
    for (uint32_t i = 0; i < s->count; i++)
        sc__shares_add(&v->shares,
                       s->pieces[i].name,
                       sc__class_name(s->pieces[i].work),
                       s->pieces[i].forward + s->pieces[i].backward);
    sc__shares_add(&v->shares,
                   "multiply-grads",
                   sc__class_name(SC__WORK_ELEMENTWISE),
                   s->scale);
    sc__shares_add(&v->shares, "clip-grads", sc__class_name(SC__WORK_ELEMENTWISE), s->clip);
    sc__shares_add(&v->shares,
                   "optimizer",
                   sc__class_name(SC__WORK_OPTIMIZER),
                   s->optimizer);
    sc__shares_add(&v->shares,
                   "rest of the step",
                   sc__class_name(SC__WORK_OTHER),
                   s->rest + s->call);
}

static void share_rows(struct profiler_show_view *v) {
    for (uint32_t i = 0; i < v->sum.count; i++)
        sc__shares_add(&v->shares,
                       v->sum.parts[i].row->name,
                       sc__class_name(v->sum.parts[i].class),
                       v->sum.parts[i].time);
    if (v->sum.unlisted)
        sc__shares_add(&v->shares,
                       "not listed in the table",
                       "not listed",
                       v->sum.unlisted);
}

static sc_status profiler_show_look(struct sc_context *ctx,
                                    const struct sc__profile *p,
                                    struct profiler_show_view *v) {
    v->p = p;
    SC__TRY(sc__profile_find_step(ctx, p, &v->step));
    sc__profile_add_up(&ctx->arena, p, &v->sum);
    sc__shares_init(&v->shares, &ctx->arena, v->step.found ? v->step.total : v->sum.total);
    if (v->step.found)
        share_step(v);
    else
        share_rows(v);
    sc__shares_sort(&v->shares);
    v->wait_count = sc__profile_waits(&ctx->arena, p, &v->waits);
    return SC_OK;
}

static void put_named_time(struct sc__buffer *out, const char *name, int64_t time) {
    sc__printf(out, "%s ", name);
    sc__put_time(out, time);
}

static void put_table(const struct profiler_show_view *v, struct sc__buffer *out) {
    sc__printf(out,
               "  table     %u of %u, %u rows, device %s",
               v->p->table,
               v->p->tables,
               v->p->count,
               v->p->device ? v->p->device : "none: host times only");
    if (v->p->steps > 1)
        sc__printf(out, ", %u steps added up (times below are of one)", v->p->steps);
    if (v->p->dev_total >= 0)
        put_named_time(out, "; device total", v->p->dev_total);
    if (v->p->cpu_total >= 0)
        put_named_time(out, "; host total", v->p->cpu_total);
    sc__putc(out, '\n');
}

static void put_step(const struct profiler_show_view *v, struct sc__buffer *out) {
    const struct sc__profile_step *s = &v->step;
    if (!s->found) {
        sc__printf(out,
                   "  step      not recognised: %s; times are of the table's %s\n",
                   s->why_not,
                   v->sum.basis);
        return;
    }
    put_named_time(out, "  step     ", s->total);
    put_named_time(out, " on the device: forward", s->forward);
    put_named_time(out, ", backward", s->backward);
    sc__printf(out, " (%u rows, %llu calls)", s->nodes, (unsigned long long)s->node_calls);
    put_named_time(out, ", update", s->call + s->scale + s->clip + s->optimizer);
    put_named_time(out, ", rest", s->rest);
    put_named_time(out, ";", s->host);
    sc__printf(out,
               " on the host\n  layers    %u, of which %u MoE\n",
               s->layers,
               s->moe_layers);
    sc__printf(out,
               "  calls     all-to-all %llu, all-gather %llu, reduce-scatter %llu, "
               "all-reduce %llu (device time unknown)\n",
               (unsigned long long)s->all_to_all,
               (unsigned long long)s->all_gather,
               (unsigned long long)s->reduce_scatter,
               (unsigned long long)s->all_reduce);
}

static void put_waits(const struct profiler_show_view *v, struct sc__buffer *out) {
    if (v->wait_count)
        sc__puts(out, "\n  waiting on the host, not work\n");
    for (uint32_t i = 0; i < v->wait_count; i++) {
        struct sc__buffer time;
        sc__buffer_init(&time, v->shares.arena);
        sc__put_time(&time, v->waits[i].host);
        sc__printf(out,
                   "  %-50.50s %12s   line %u\n",
                   v->waits[i].row->name,
                   time.text,
                   v->waits[i].row->line);
    }
    sc__putc(out, '\n');
}

static void profiler_show_put_json(const struct profiler_show_view *v, struct sc__json *j) {
    const struct sc__profile_step *s = &v->step;
    sc__json_u64(j, "table", v->p->table);
    sc__json_u64(j, "tables", v->p->tables);
    sc__json_u64(j, "table_rows", v->p->count);
    sc__json_string(j, "device", v->p->device);
    sc__json_u64(j, "steps", v->p->steps);
    sc__json_bool(j, "step_found", s->found);
    if (s->found) {
        sc__json_us(j, "device_us", s->total);
        sc__json_us(j, "forward_us", s->forward);
        sc__json_us(j, "backward_us", s->backward);
        sc__json_us(j, "optimizer_us", s->optimizer);
        sc__json_us(j, "rest_us", s->rest);
        sc__json_us(j, "host_us", s->host);
        sc__json_u64(j, "layers", s->layers);
        sc__json_u64(j, "moe_layers", s->moe_layers);
    } else {
        sc__json_string(j, "why_not", s->why_not);
        sc__json_string(j, "basis", v->sum.basis);
        sc__json_us(j, "device_us", v->sum.total);
    }
    sc__shares_json(&v->shares, TOP, j);
    sc__json_array(j, "waits");
    for (uint32_t i = 0; i < v->wait_count; i++) {
        sc__json_row(j, NULL);
        sc__json_string(j, "name", v->waits[i].row->name);
        sc__json_us(j, "host_us", v->waits[i].host);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

void sc__profile_show(struct sc_context *ctx,
                      const struct sc__document *doc,
                      struct sc__buffer *text,
                      struct sc__json *json) {
    struct profiler_show_view v;
    if (profiler_show_look(ctx, doc->details, &v) != SC_OK)
        return; /* the lowering has failed before */
    if (json) {
        profiler_show_put_json(&v, json);
        return;
    }
    put_table(&v, text);
    put_step(&v, text);
    sc__shares_text(&v.shares, TOP, text);
    put_waits(&v, text);
}
