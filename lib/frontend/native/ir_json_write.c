/* ir json: the intermediate representation as it is, in JSON. Values that are
 * what a reader would assume are left out, so that a block reads like a list
 * of operations. docs/formats/ir-json.md */
#include "frontend/convert.h"
#include "workload/words.h"

#include <string.h>

struct ir_json_write_writing {
    struct sc_context *ctx;
    struct sc__json j;
};

/* JSON holds UTF-8 only; a name in another encoding would not come back. */
static bool is_utf8(const char *s) {
    for (size_t left = strlen(s), n; left; s += n, left -= n)
        if (!(n = sc__utf8_length(s, left)))
            return false;
    return true;
}

static void
put_u32(struct ir_json_write_writing *w, const char *key, uint32_t value, uint32_t usual) {
    if (value != usual)
        sc__json_u64(&w->j, key, value);
}

/* A number, or null for SC__NONE. */
static void put_item(struct ir_json_write_writing *w, uint32_t value) {
    if (value == SC__NONE)
        sc__json_null(&w->j, NULL);
    else
        sc__json_u64(&w->j, NULL, value);
}

/* ---- rows ---- */

static void ir_json_write_put_part(struct ir_json_write_writing *w,
                                   const char *key,
                                   const struct sc__row_part *p) {
    if (!p->compute && !p->coll && !p->suffix && !p->bytes)
        return;
    sc__json_row(&w->j, key);
    if (p->compute)
        sc__json_i64(&w->j, "compute_ps", p->compute);
    if (p->coll)
        sc__json_string(&w->j, "coll", sc__row_coll_name((enum sc__row_coll)p->coll));
    if (p->suffix)
        sc__json_string(&w->j, "suffix", sc__suffix_name((enum sc__suffix)p->suffix));
    if (p->bytes)
        sc__json_u64(&w->j, "bytes", p->bytes);
    sc__json_end_object(&w->j);
}

static void put_layers(struct ir_json_write_writing *w, const struct sc__layers *l) {
    sc__json_object(&w->j, "layers");
    sc__json_string(&w->j, "format", l->format);
    if (l->policy)
        sc__json_string(&w->j, "policy", l->policy);
    put_u32(w, "tp", l->tp, 0);
    put_u32(w, "ep", l->ep, 0);
    put_u32(w, "pp", l->pp, 0);
    if (l->has_vpp)
        sc__json_u64(&w->j, "vpp", l->vpp);
    put_u32(w, "ga", l->ga, 0);
    put_u32(w, "gpus", l->gpus, 0);
    if (l->has_pp_comm)
        sc__json_double(&w->j, "pp_comm", l->pp_comm);
    if (l->inference)
        sc__json_bool(&w->j, "inference", true);
    sc__json_array(&w->j, "rows");
    for (uint32_t i = 0; i < l->count; i++) {
        const struct sc__row *r = &l->rows[i];
        sc__json_row(&w->j, NULL);
        sc__json_string(&w->j, "name", r->name);
        ir_json_write_put_part(w, "forward", &r->part[SC__PART_FORWARD]);
        ir_json_write_put_part(w, "input", &r->part[SC__PART_INPUT]);
        ir_json_write_put_part(w, "weight", &r->part[SC__PART_WEIGHT]);
        if (r->process)
            sc__json_i64(&w->j, "process_ps", r->process);
        if (r->work)
            sc__json_string(&w->j, "work", sc__work_words[r->work]);
        put_u32(w, "recompute_from", r->recompute_from, SC__NONE);
        sc__json_end_object(&w->j);
    }
    sc__json_end_array(&w->j);
    sc__json_end_object(&w->j);
}

/* ---- workload ---- */

static void put_mesh(struct ir_json_write_writing *w, const struct sc__mesh *m) {
    sc__json_row(&w->j, "mesh");
    sc__json_u64(&w->j, "tp", m->tp);
    sc__json_u64(&w->j, "cp", m->cp);
    sc__json_u64(&w->j, "dp", m->dp);
    sc__json_u64(&w->j, "pp", m->pp);
    sc__json_u64(&w->j, "ep", m->ep);
    sc__json_u64(&w->j, "etp", m->etp);
    if (m->shard)
        sc__json_u64(&w->j, "shard", m->shard);
    sc__json_list(&w->j, "order");
    for (unsigned i = 0; i < SC__DIMS; i++)
        sc__json_string(&w->j, NULL, sc__dim_words[m->order[i]]);
    sc__json_end_array(&w->j);
    sc__json_end_object(&w->j);
}

static void put_groups(struct ir_json_write_writing *w, const struct sc__workload *in) {
    sc__json_array(&w->j, "groups");
    for (uint32_t i = 0; i < in->group_count; i++) {
        const struct sc__group *g = &in->groups[i];
        sc__json_row(&w->j, NULL);
        sc__json_string(&w->j, "kind", sc__group_words[g->kind]);
        sc__json_string(&w->j, "label", g->label);
        if (g->kind == SC__GROUP_LIST) {
            sc__json_list(&w->j, "ranks");
            for (uint32_t k = 0; k < g->count; k++)
                sc__json_u64(&w->j, NULL, g->ranks[k]);
            sc__json_end_array(&w->j);
        }
        sc__json_end_object(&w->j);
    }
    sc__json_end_array(&w->j);
}

static void put_bits(struct ir_json_write_writing *w,
                     const char *key,
                     uint32_t bits,
                     const char *const *words) {
    if (!bits)
        return;
    sc__json_list(&w->j, key);
    for (unsigned i = 0; i < 16; i++) {
        if (!(bits >> i & 1))
            continue;
        if (words)
            sc__json_string(&w->j, NULL, words[i]);
        else
            sc__json_u64(&w->j, NULL, i);
    }
    sc__json_end_array(&w->j);
}

/* A number waits for the end of that operation, an object for its start. */
static void put_dep(struct ir_json_write_writing *w, uint32_t dep) {
    if (!(dep & SC__DEP_START)) {
        sc__json_u64(&w->j, NULL, dep);
        return;
    }
    sc__json_row(&w->j, NULL);
    sc__json_u64(&w->j, "start", dep & ~SC__DEP_START);
    sc__json_end_object(&w->j);
}

static void put_op(struct ir_json_write_writing *w,
                   const struct sc__workload *in,
                   const struct sc__op *op) {
    sc__json_row(&w->j, NULL);
    sc__json_string(&w->j, "kind", sc__op_words[op->kind]);
    sc__json_string(&w->j, "name", in->names.text[op->name]);
    sc__json_string(&w->j, "phase", sc__phase_words[op->phase]);
    put_u32(w, "stream", op->stream, 0);
    put_bits(w, "after", op->after, NULL);
    if (op->kind == SC__OP_COLLECTIVE) {
        sc__json_string(&w->j, "coll", sc__coll_words[op->coll]);
        sc__json_u64(&w->j, "group", op->group);
    } else
        put_u32(w, "nic", op->group, 0);
    if (op->work)
        sc__json_string(&w->j, "work", sc__work_words[op->work]);
    put_bits(w, "flags", op->flags, sc__flag_words);
    put_u32(w, "peer", op->peer, SC__NONE);
    put_u32(w, "tag", op->tag, 0);
    if (op->cost)
        sc__json_i64(&w->j, "cost_ps", op->cost);
    if (op->bytes)
        sc__json_u64(&w->j, "bytes", op->bytes);
    put_u32(w, "row", op->row, SC__NONE);
    put_u32(w, "layer", op->layer, SC__NONE);
    if (op->deps) {
        sc__json_list(&w->j, "deps");
        for (uint32_t i = 0; i < op->deps; i++)
            put_dep(w, in->deps[op->first_dep + i]);
        sc__json_end_array(&w->j);
    }
    sc__json_end_object(&w->j);
}

static void put_blocks(struct ir_json_write_writing *w, const struct sc__workload *in) {
    sc__json_array(&w->j, "blocks");
    for (uint32_t i = 0; i < in->block_count; i++) {
        const struct sc__block *b = &in->blocks[i];
        sc__json_object(&w->j, NULL);
        if (b->graph)
            sc__json_bool(&w->j, "graph", true);
        if (b->slots)
            sc__json_bool(&w->j, "slots", true);
        sc__json_array(&w->j, "ops");
        for (uint32_t k = 0; k < b->ops; k++)
            put_op(w, in, &in->ops[b->first_op + k]);
        sc__json_end_array(&w->j);
        sc__json_end_object(&w->j);
    }
    sc__json_end_array(&w->j);
}

static void put_programs(struct ir_json_write_writing *w, const struct sc__workload *in) {
    sc__json_array(&w->j, "programs");
    for (uint32_t i = 0; i < in->program_count; i++) {
        const struct sc__program *p = &in->programs[i];
        sc__json_array(&w->j, NULL);
        for (uint32_t k = 0; k < p->calls; k++) {
            const struct sc__call *c = &in->calls[p->first_call + k];
            sc__json_row(&w->j, NULL);
            sc__json_u64(&w->j, "block", c->block);
            put_u32(w, "micro_batch", c->micro_batch, SC__NONE);
            put_u32(w, "chunk", c->chunk, 0);
            put_u32(w, "tag", c->tag, 0);
            sc__json_end_object(&w->j);
        }
        sc__json_end_array(&w->j);
    }
    sc__json_end_array(&w->j);
}

static void put_classes(struct ir_json_write_writing *w, const struct sc__workload *in) {
    sc__json_array(&w->j, "classes");
    for (uint32_t i = 0; i < in->class_count; i++) {
        const struct sc__class *c = &in->classes[i];
        sc__json_row(&w->j, NULL);
        sc__json_string(&w->j, "name", c->name);
        sc__json_u64(&w->j, "program", c->program);
        sc__json_u64(&w->j, "rank", c->rank);
        sc__json_u64(&w->j, "ranks", c->ranks);
        sc__json_u64(&w->j, "stage", c->stage);
        if (c->slow != 1)
            sc__json_double(&w->j, "slow", c->slow);
        if (in->memory) {
            const struct sc__memory *m = &in->memory[i];
            sc__json_row(&w->j, "memory_bytes");
            sc__json_u64(&w->j, "weights", m->weights);
            sc__json_u64(&w->j, "gradients", m->gradients);
            sc__json_u64(&w->j, "optimizer", m->optimizer);
            sc__json_u64(&w->j, "activations", m->activations);
            sc__json_u64(&w->j, "logits", m->logits);
            sc__json_u64(&w->j, "workspace", m->workspace);
            sc__json_u64(&w->j, "communication", m->communication);
            sc__json_u64(&w->j, "context", m->context);
            sc__json_u64(&w->j, "fragmentation", m->fragmentation);
            if (m->host)
                sc__json_u64(&w->j, "host", m->host);
            sc__json_end_object(&w->j);
        }
        sc__json_end_object(&w->j);
    }
    sc__json_end_array(&w->j);
    if (!in->rank_class)
        return;
    sc__json_list(&w->j, "rank_class");
    for (uint32_t r = 0; r < sc__mesh_ranks(&in->mesh); r++)
        sc__json_u64(&w->j, NULL, in->rank_class[r]);
    sc__json_end_array(&w->j);
}

static void put_streams(struct ir_json_write_writing *w, const struct sc__workload *in) {
    unsigned count = SC__MAX_STREAMS;
    while (count && !in->stream_names[count - 1])
        count--;
    if (!count)
        return;
    sc__json_list(&w->j, "streams");
    for (unsigned i = 0; i < count; i++)
        sc__json_string(&w->j, NULL, in->stream_names[i]);
    sc__json_end_array(&w->j);
}

static void put_workload(struct ir_json_write_writing *w, const struct sc__workload *in) {
    sc__json_object(&w->j, "workload");
    sc__json_string(&w->j, "format", in->format);
    put_mesh(w, &in->mesh);
    put_u32(w, "vpp", in->vpp, 1);
    put_u32(w, "micro_batches", in->micro_batches, 1);
    if (in->schedule)
        sc__json_string(&w->j, "schedule", in->schedule);
    if (in->steps_overlap)
        sc__json_bool(&w->j, "steps_overlap", true);
    if (in->tokens != 0)
        sc__json_double(&w->j, "tokens", in->tokens);
    if (in->model_flops != 0)
        sc__json_double(&w->j, "model_flops", in->model_flops);
    if (in->hardware_flops != 0)
        sc__json_double(&w->j, "hardware_flops", in->hardware_flops);
    put_u32(w, "compute_stream", in->compute_stream, 0);
    if (in->comm_tax != 0)
        sc__json_double(&w->j, "comm_tax", in->comm_tax);
    put_bits(w, "untaxed_streams", in->untaxed, NULL);
    put_streams(w, in);
    put_groups(w, in);
    put_blocks(w, in);
    put_programs(w, in);
    put_classes(w, in);
    sc__json_end_object(&w->j);
}

static void put_spans(struct ir_json_write_writing *w, const struct sc__timeline *t) {
    sc__json_array(&w->j,
                   "spans"); /* class, op, micro-batch, chunk, start, ready, end, peer */
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__span *s = &t->spans[i];
        sc__json_list(&w->j, NULL);
        sc__json_u64(&w->j, NULL, s->class);
        sc__json_u64(&w->j, NULL, s->op);
        put_item(w, s->micro_batch);
        sc__json_u64(&w->j, NULL, s->chunk);
        sc__json_i64(&w->j, NULL, s->start);
        sc__json_i64(&w->j, NULL, s->ready);
        sc__json_i64(&w->j, NULL, s->end);
        put_item(w, s->peer_span);
        sc__json_end_array(&w->j);
    }
    sc__json_end_array(&w->j);
}

static void put_idles(struct ir_json_write_writing *w, const struct sc__timeline *t) {
    if (!t->idle_count)
        return;
    sc__json_array(&w->j, "idles"); /* class, why, start, end */
    for (uint32_t i = 0; i < t->idle_count; i++) {
        const struct sc__idle *d = &t->idles[i];
        sc__json_list(&w->j, NULL);
        sc__json_u64(&w->j, NULL, d->class);
        sc__json_u64(&w->j, NULL, d->why);
        sc__json_i64(&w->j, NULL, d->start);
        sc__json_i64(&w->j, NULL, d->end);
        sc__json_end_array(&w->j);
    }
    sc__json_end_array(&w->j);
}

static void put_timeline(struct ir_json_write_writing *w,
                         const struct sc__timeline *t,
                         const struct sc__workload *beside) {
    sc__json_object(&w->j, "timeline");
    if (t->workload != beside)
        put_workload(w, t->workload);
    sc__json_i64(&w->j, "end_ps", t->end);
    put_spans(w, t);
    put_idles(w, t);
    sc__json_end_object(&w->j);
}

/* ---- what JSON cannot hold ---- */

static void check_rows(struct sc__losses *losses, const struct sc__layers *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        if (!is_utf8(l->rows[i].name))
            sc__lose(losses, "the name of row %u, which is not UTF-8", i);
        for (unsigned p = 0; p < SC__PARTS; p++)
            if (l->rows[i].part[p].bytes > INT64_MAX)
                sc__lose(losses, "a size above 2^63 in row %u", i);
    }
}

static void check_workload(struct sc__losses *losses, const struct sc__workload *w) {
    for (uint32_t i = 0; i < w->names.count; i++)
        if (!is_utf8(w->names.text[i]))
            sc__lose(losses, "name %u, which is not UTF-8", i);
    for (uint32_t i = 0; i < w->op_count; i++)
        if (w->ops[i].bytes > INT64_MAX)
            sc__lose(losses, "the size of operation %u, above 2^63", i);
}

sc_status sc__write_ir_json(struct sc_context *ctx,
                            const struct sc__layers *layers,
                            const struct sc__workload *in,
                            const struct sc__timeline *measured,
                            struct sc__buffer *out) {
    struct ir_json_write_writing w = {.ctx = ctx};
    struct sc__losses losses;
    sc__losses_init(&losses, ctx, "ir-json", false);
    if (layers)
        check_rows(&losses, layers);
    if (in)
        check_workload(&losses, in);
    SC__TRY(sc__losses_end(&losses));
    sc__json_init(&w.j, out);
    sc__json_object(&w.j, NULL);
    sc__json_string(&w.j, "schema", SC__IR_SCHEMA);
    if (layers)
        put_layers(&w, layers);
    if (in)
        put_workload(&w, in);
    if (measured)
        put_timeline(&w, measured, in);
    sc__json_end_object(&w.j);
    return SC_OK;
}
