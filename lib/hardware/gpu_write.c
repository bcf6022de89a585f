/* gpu_write: struct sc__gpu → JSON, with the tables that read it. */
#include "hardware/gpu_fit.h"
#include "hardware/gpu_read.h"

static void put_fields(struct sc__json *j,
                       const char *key,
                       const struct sc__gpu_field *fields,
                       const void *base) {
    sc__json_row(j, key);
    for (const struct sc__gpu_field *f = fields; f->key; f++) {
        double v = *(const double *)((const char *)base + f->offset);
        if (v > 0)
            sc__json_double(j, f->key, v);
    }
    sc__json_end_object(j);
}

static void
put_list(struct sc__json *j, const char *key, const double *values, unsigned count) {
    sc__json_list(j, key);
    for (unsigned i = 0; i < count; i++)
        sc__json_double(j, NULL, values[i]);
    sc__json_end_array(j);
}

static void put_tiles(struct sc__json *j, const struct sc__gemm_constants *c) {
    if (!c->tile_count)
        return;
    sc__json_array(j, "tiles");
    for (unsigned i = 0; i < c->tile_count; i++) {
        const struct sc__gemm_tile *t = &c->tiles[i];
        double values[4] = {t->m, t->n, t->step, t->epilogue};
        put_list(j, NULL, values, 4);
    }
    sc__json_end_array(j);
}

static void put_sheet(struct sc__json *j, const struct sc__gpu *g) {
    struct sc__gpu sheet = *g;
    sheet.memory /= 0x1p30;
    sheet.l2 /= 1e6;
    sc__json_object(j, "datasheet");
    sc__json_row(j, "peak_tflops");
    for (unsigned t = 0; t <= SC__FP4; t++)
        if (g->peak[t] > 0)
            sc__json_double(j, sc__dtype_name(t), g->peak[t]);
    sc__json_end_object(j);
    for (const struct sc__gpu_field *f = sc__gpu_sheet_fields; f->key; f++) {
        double v = *(double *)((char *)&sheet + f->offset);
        if (v > 0)
            sc__json_double(j, f->key, v);
    }
    sc__json_end_object(j);
}

static void put_attention_classes(struct sc__json *j,
                                  const char *key,
                                  const struct sc__attention_constants *classes) {
    sc__json_array(j, key);
    for (unsigned i = 0; i < SC__HEAD_CLASSES && classes[i].head_dim > 0; i++) {
        const struct sc__attention_constants *a = &classes[i];
        sc__json_row(j, NULL);
        sc__json_double(j, "head_dim", a->head_dim);
        if (a->v_dim > 0)
            sc__json_double(j, "v_dim", a->v_dim);
        sc__json_double(j, "bq", a->bq);
        if (a->bk > 0)
            sc__json_double(j, "bk", a->bk);
        if (a->whole > 0)
            sc__json_double(j, "whole", a->whole);
        put_list(j, "forward", a->forward, 4);
        put_list(j, "backward", a->backward, 6);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void put_attention(struct sc__json *j, const struct sc__gpu *g) {
    put_attention_classes(j, "attention", g->attention);
    if (g->attention_fp32[0].head_dim > 0)
        put_attention_classes(j, "attention_fp32", g->attention_fp32);
    sc__json_row(j, "attention_software");
    for (unsigned i = 0; i < SC__ATTENTION_SOFTWARES; i++)
        put_list(j, sc__gpu_software_names[i], g->software[i], 2);
    sc__json_end_object(j);
}

static void put_memory_op(struct sc__json *j,
                          enum sc__memory_op op,
                          const struct sc__memory_constants *m) {
    double part[2][5];
    for (unsigned i = 0; i < 2; i++) {
        part[i][0] = m->part[i].a;
        part[i][1] = m->part[i].row;
        part[i][2] = m->part[i].col;
        part[i][3] = m->part[i].element;
        part[i][4] = m->bytes;
    }
    if (!(m->limit > 0 || m->rows_limit > 0)) {
        put_list(j, sc__memory_op_name(op), part[0], 5);
        return;
    }
    sc__json_row(j, sc__memory_op_name(op));
    sc__json_double(j,
                    m->limit > 0 ? "limit" : "rows_limit",
                    m->limit > 0 ? m->limit : m->rows_limit);
    put_list(j, "below", part[0], 4);
    put_list(j, "above", part[1], 4);
    sc__json_double(j, "bytes", m->bytes);
    sc__json_end_object(j);
}

static void put_deepep(struct sc__json *j, const struct sc__gpu *g) {
    if (!(g->exchange_ranks > 0))
        return;
    sc__json_row(j, "deepep");
    sc__json_double(j, "ranks", g->exchange_ranks);
    for (unsigned i = 0; i < SC__EXCHANGES; i++) {
        const struct sc__exchange_constants *c = &g->exchange[i];
        double values[7] =
            {c->fixed, c->expert, c->row, c->sm_bw, c->sm_power, c->link_bw, c->sharpness};
        if (c->link_bw > 0)
            put_list(j, sc__gpu_exchange_names[i], values, 7);
    }
    sc__json_end_object(j);
}

static void put_sequence(struct sc__json *j, const struct sc__gpu *g) {
    sc__json_object(j, "sequence");
    for (unsigned i = 0; i < SC__SERVING_SOFTWARES; i++) {
        sc__json_object(j, sc__gpu_serving_names[i]);
        for (unsigned k = 0; k < SC__SEQUENCE_OPS; k++)
            if (g->sequence[i][k][SC__SEQUENCE_CHUNK] > 0)
                put_list(j,
                         sc__gpu_sequence_names[k],
                         g->sequence[i][k],
                         SC__SEQUENCE_HOST +
                             (g->sequence[i][k][SC__SEQUENCE_HOST] > 0 ? 1 : 0));
        sc__json_end_object(j);
    }
    sc__json_end_object(j);
}

static void put_generation(struct sc__json *j, const char *type, const double *c) {
    sc__json_object(j, type);
    for (unsigned i = 0; i < SC__GENERATION_PARTS; i++) {
        const struct sc__generation_part *part = &sc__generation_parts[i];
        bool absent = part->first == SC__GENERATION_ALONE &&
                      !(c[SC__GENERATION_ALONE + SC__BLOCK_RESIDENT] > 0);
        if (!absent)
            put_list(j, part->name, &c[part->first], part->count);
    }
    sc__json_end_object(j);
}

static void
put_serving_type(struct sc__json *j, unsigned phase, unsigned type, const double *c) {
    if (!(c[0] > 0))
        return;
    if (phase == SC__SERVING_CONTEXT || phase == SC__SERVING_MLA_CONTEXT)
        put_list(j, sc__gpu_serving_types[type], c, SC__CONTEXT_CONSTANTS);
    else
        put_generation(j, sc__gpu_serving_types[type], c);
}

static void put_serving(struct sc__json *j, const struct sc__gpu *g) {
    sc__json_object(j, "serving");
    for (unsigned i = 0; i < SC__SERVING_SOFTWARES; i++) {
        sc__json_object(j, sc__gpu_serving_names[i]);
        for (unsigned k = 0; k < SC__SERVING_PHASES; k++) {
            sc__json_object(j, sc__gpu_phase_names[k]);
            for (unsigned t = 0; t < SC__SERVING_TYPES; t++)
                put_serving_type(j, k, t, g->serving[i][k][t]);
            sc__json_end_object(j);
        }
        sc__json_end_object(j);
    }
    sc__json_end_object(j);
}

static void put_constants(struct sc__json *j, const struct sc__gpu *g) {
    sc__json_object(j, "constants");
    put_fields(j, "gemm", sc__gpu_gemm_fields, g);
    put_tiles(j, &g->gemm);
    sc__json_object(j, "dtype");
    for (unsigned t = 0; t < SC__DTYPES; t++)
        if (g->dtype[t].r > 0 || g->dtype[t].energy > 0)
            put_fields(j, sc__dtype_name(t), sc__gpu_dtype_fields, &g->dtype[t]);
    sc__json_end_object(j);
    put_fields(j, "grouped", sc__gpu_grouped_fields, g);
    put_fields(j, "batched", sc__gpu_batched_fields, g);
    put_fields(j, "unaligned", sc__gpu_unaligned_fields, g);
    put_attention(j, g);
    sc__json_object(j, "memory");
    for (unsigned i = 0; i < SC__MEM_OPS; i++)
        put_memory_op(j, i, &g->memory_op[i]);
    sc__json_end_object(j);
    put_deepep(j, g);
    if (g->moe.bw > 0)
        put_fields(j, "moe", sc__gpu_moe_fields, g);
    put_sequence(j, g);
    put_serving(j, g);
    for (unsigned i = 0; i < SC__BATCHED_FALLBACKS; i++)
        put_list(j,
                 sc__gpu_batched_names[i],
                 g->batched_fallback[i],
                 SC__FALLBACK_CONSTANTS);
    put_list(j, "scan_forward", g->scan[0], SC__SCAN_CONSTANTS);
    put_list(j, "scan_backward", g->scan[1], SC__SCAN_CONSTANTS);
    put_list(j, "embedding", g->embedding, 6);
    put_list(j, "adamw", g->adamw, 3);
    put_fields(j, "power", sc__gpu_power_fields, g);
    sc__json_object(j, "host");
    for (unsigned i = 0; i < SC__HOST_STYLES; i++)
        put_fields(j, sc__gpu_host_names[i], sc__gpu_host_fields, &g->host[i]);
    sc__json_end_object(j);
    put_fields(j, "other", sc__gpu_other_fields, g);
    sc__json_end_object(j);
}

void sc__gpu_write(const struct sc__gpu *g,
                   const char *source,
                   const char *quality,
                   struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "name", g->name);
    sc__json_string(&j, "title", g->title);
    if (g->architecture)
        sc__json_string(&j, "architecture", g->architecture);
    if (g->source)
        sc__json_string(&j, "source", g->source);
    put_sheet(&j, g);
    sc__json_row(&j, "fitted");
    sc__json_string(&j, "grade", g->grade);
    sc__json_string(&j, "source", source);
    sc__json_string(&j, "quality", quality);
    sc__json_end_object(&j);
    put_constants(&j, g);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}
