/* gpu_read: a GPU's JSON file → struct sc__gpu.
 *     { "name", "title", "aliases", "architecture", "source",
 *       "datasheet": { "peak_tflops": {"bf16": 989.4, …}, "memory_gib", … },
 *       "base": "h200",                          or none, and every constant
 *       "fitted": { "grade", "source", "date", "quality" },
 *       "constants": { "gemm": {…}, "attention": […], "memory": {…}, … } }
 *
 * Tables say which keys there are and where their numbers go, so an unknown
 * key is an error wherever it stands. */
#include "hardware/gpu_read.h"

#include <jansson.h>
#include <string.h>

struct gpu_read_reader {
    struct sc_context *ctx;
    struct sc__place place;
    struct sc__gpu *gpu;
};

static sc_status bad(struct gpu_read_reader *r,
                     const char *hint,
                     const char *fmt,
                     const char *a,
                     const char *b) {
    char text[200];
    snprintf(text, sizeof text, fmt, a, b);
    return sc__fail(r->ctx, SC_INPUT, &r->place, hint, "%s", text);
}

static sc_status read_number_to(struct gpu_read_reader *r,
                                const char *where,
                                const char *key,
                                const json_t *v,
                                double most,
                                double *out) {
    if (!json_is_number(v))
        return bad(r, NULL, "%s.%s is not a number", where, key);
    *out = json_number_value(v);
    if (!(*out >= 0))
        return bad(r, NULL, "%s.%s is negative", where, key);
    if (!(*out <= most))
        return bad(r,
                   sc__format(&r->ctx->arena,
                              "at most %g: docs/formats.md, \"What cannot be\"",
                              most),
                   "%s.%s is larger than any there can be",
                   where,
                   key);
    return SC_OK;
}

static sc_status read_number(struct gpu_read_reader *r,
                             const char *where,
                             const char *key,
                             const json_t *v,
                             double *out) {
    return read_number_to(r, where, key, v, SC__GPU_MOST, out);
}

static sc_status read_fields(struct gpu_read_reader *r,
                             const char *where,
                             json_t *object,
                             const struct sc__gpu_field *fields,
                             void *base) {
    const char *key;
    json_t *v;
    if (!json_is_object(object))
        return bad(r, NULL, "%s is not an object%s", where, "");
    json_object_foreach(object, key, v) {
        const struct sc__gpu_field *f = fields;
        while (f->key && strcmp(f->key, key))
            f++;
        if (!f->key)
            return bad(r,
                       "docs/model/kernels.md lists the keys",
                       "%s has no key '%s'",
                       where,
                       key);
        SC__TRY(read_number_to(r,
                               where,
                               key,
                               v,
                               f->most > 0 ? f->most : SC__GPU_MOST,
                               (double *)((char *)base + f->offset)));
    }
    return SC_OK;
}

static sc_status read_list(
    struct gpu_read_reader *r, const char *where, json_t *list, size_t count, double *out) {
    if (!json_is_array(list) || json_array_size(list) != count)
        return sc__fail(r->ctx,
                        SC_INPUT,
                        &r->place,
                        NULL,
                        "%s is not a list of %zu numbers",
                        where,
                        count);
    for (size_t i = 0; i < count; i++)
        SC__TRY(read_number(r, where, "", json_array_get(list, i), &out[i]));
    return SC_OK;
}

static sc_status read_peaks(struct gpu_read_reader *r, json_t *peaks) {
    const char *key;
    json_t *v;
    enum sc__dtype t;
    json_object_foreach(peaks, key, v) {
        if (!sc__dtype_parse(sc__str(key), &t))
            return bad(r, NULL, "%s has no type '%s'", "peak_tflops", key);
        SC__TRY(read_number_to(r,
                               "peak_tflops",
                               key,
                               v,
                               SC__GPU_MOST_TFLOPS,
                               &r->gpu->peak[t]));
    }
    return SC_OK;
}

static sc_status read_sheet(struct gpu_read_reader *r, json_t *sheet) {
    struct sc__gpu *g = r->gpu;
    if (!json_is_object(sheet))
        return bad(r, NULL, "%s is missing%s", "datasheet", "");
    SC__TRY(read_peaks(r, json_object_get(sheet, "peak_tflops")));
    json_object_del(sheet, "peak_tflops");
    SC__TRY(read_fields(r, "datasheet", sheet, sc__gpu_sheet_fields, g));
    g->memory *= 0x1p30;
    g->l2 *= 1e6;
    g->peak[SC__FP8_ROW] = g->peak[SC__FP8];
    g->peak[SC__FP8_BLOCK] = g->peak[SC__FP8];
    if (g->sms > 0 && (g->sms < 1 || g->sms > 1e6))
        return bad(r, NULL, "%s.%s is from 1 to 1000000", "datasheet", "sms");
    if (!(g->sms > 0 && g->dram > 0 && g->boost_mhz > 0 && g->tdp > 0 &&
          (g->peak[SC__BF16] > 0 || g->peak[SC__FP16] > 0)))
        return bad(
            r,
            NULL,
            "%s needs sms, dram_tbs, boost_mhz, tdp_w and peak_tflops of bf16 or fp16%s",
            "datasheet",
            "");
    return SC_OK;
}

static sc_status
read_optional(struct gpu_read_reader *r, json_t *o, const char *key, double *out) {
    const json_t *v = json_object_get(o, key);
    return v ? read_number(r, "attention", key, v, out) : SC_OK;
}

static sc_status read_attention_class(struct gpu_read_reader *r,
                                      json_t *o,
                                      struct sc__attention_constants *a) {
    double head_dim = json_number_value(json_object_get(o, "head_dim"));
    double v_dim = json_number_value(json_object_get(o, "v_dim"));
    struct sc__attention_constants *end = a + SC__HEAD_CLASSES;
    while (a < end && a->head_dim > 0 && (a->head_dim != head_dim || a->v_dim != v_dim))
        a++;
    if (a == end || !(head_dim > 0))
        return bad(r,
                   NULL,
                   "%s: too many classes, or one without %s",
                   "attention",
                   "head_dim");
    a->head_dim = head_dim;
    a->v_dim = v_dim;
    SC__TRY(read_optional(r, o, "bq", &a->bq));
    SC__TRY(read_optional(r, o, "bk", &a->bk));
    SC__TRY(read_optional(r, o, "whole", &a->whole));
    if (!(a->bq >= 1))
        return bad(r, NULL, "%s: %s is missing", "attention", "bq");
    if (a->bq > 65536 || a->bk > 65536 || (a->bk > 0 && a->bk < 1))
        return bad(r, NULL, "%s and %s are from 1 to 65536", "attention: bq", "bk");
    SC__TRY(
        read_list(r, "attention.forward", json_object_get(o, "forward"), 4, a->forward));
    return read_list(r,
                     "attention.backward",
                     json_object_get(o, "backward"),
                     6,
                     a->backward);
}

static sc_status read_attention(struct gpu_read_reader *r, json_t *list) {
    size_t i;
    json_t *o;
    json_array_foreach(list, i, o) SC__TRY(read_attention_class(r, o, r->gpu->attention));
    return SC_OK;
}

static sc_status read_attention_fp32(struct gpu_read_reader *r, json_t *list) {
    size_t i;
    json_t *o;
    json_array_foreach(list, i, o)
        SC__TRY(read_attention_class(r, o, r->gpu->attention_fp32));
    return SC_OK;
}

static void
set_parts(struct sc__memory_constants *m, const double first[4], const double second[4]) {
    const double *c[2] = {first, second};
    for (unsigned i = 0; i < 2; i++) {
        m->part[i].a = c[i][0];
        m->part[i].row = c[i][1];
        m->part[i].col = c[i][2];
        m->part[i].element = c[i][3];
    }
}

/* [a, row, col, element, bytes], or two such parts with a limit between. */
static sc_status read_memory_op(struct gpu_read_reader *r,
                                const char *key,
                                json_t *v,
                                struct sc__memory_constants *m) {
    double one[5];
    double two[4];
    m->limit = m->rows_limit = 0;
    if (json_is_array(v)) {
        SC__TRY(read_list(r, key, v, 5, one));
        set_parts(m, one, one);
        m->bytes = one[4];
        return SC_OK;
    }
    const char *by = json_object_get(v, "rows_limit") ? "rows_limit" : "limit";
    double *limit = json_object_get(v, "rows_limit") ? &m->rows_limit : &m->limit;
    SC__TRY(read_number(r, key, by, json_object_get(v, by), limit));
    SC__TRY(read_list(r, key, json_object_get(v, "below"), 4, one));
    SC__TRY(read_list(r, key, json_object_get(v, "above"), 4, two));
    set_parts(m, one, two);
    return read_number(r, key, "bytes", json_object_get(v, "bytes"), &m->bytes);
}

static sc_status read_memory(struct gpu_read_reader *r, json_t *ops) {
    const char *key;
    json_t *v;
    json_object_foreach(ops, key, v) {
        unsigned op = 0;
        while (op < SC__MEM_OPS && strcmp(sc__memory_op_name(op), key))
            op++;
        if (op == SC__MEM_OPS)
            return bad(r, NULL, "%s has no kernel '%s'", "memory", key);
        SC__TRY(read_memory_op(r, key, v, &r->gpu->memory_op[op]));
    }
    return SC_OK;
}

static sc_status read_dtypes(struct gpu_read_reader *r, json_t *types) {
    const char *key;
    json_t *v;
    enum sc__dtype t;
    json_object_foreach(types, key, v) {
        if (!sc__dtype_parse(sc__str(key), &t))
            return bad(r, NULL, "%s has no type '%s'", "dtype", key);
        SC__TRY(read_fields(r, key, v, sc__gpu_dtype_fields, &r->gpu->dtype[t]));
        double tile = r->gpu->dtype[t].tile;
        if (tile > 0 && (tile < 16 || tile > 1024))
            return bad(r, "0 allows all", "%s.%s is from 16 to 1024", key, "tile");
        double rows = r->gpu->dtype[t].rows;
        if (rows != 0 && rows != 64 && rows != 128)
            return bad(r, "0 allows all", "%s.%s is 0, 64 or 128", key, "rows");
    }
    return SC_OK;
}

static int word_index(const char *const *words, const char *word) {
    for (int i = 0; words[i]; i++)
        if (!strcmp(words[i], word))
            return i;
    return -1;
}

static sc_status read_software(struct gpu_read_reader *r, json_t *o) {
    const char *key;
    json_t *v;
    json_object_foreach(o, key, v) {
        int i = word_index(sc__gpu_software_names, key);
        if (i < 0)
            return bad(r, NULL, "%s has no software '%s'", "attention_software", key);
        SC__TRY(read_list(r, key, v, 2, r->gpu->software[i]));
        if (!(r->gpu->software[i][0] > 0 && r->gpu->software[i][1] > 0))
            return bad(r,
                       "1: as the times of attention are",
                       "%s.%s: a factor on times is above 0",
                       "attention_software",
                       key);
    }
    return SC_OK;
}

static sc_status read_hosts(struct gpu_read_reader *r, json_t *o) {
    const char *key;
    json_t *v;
    json_object_foreach(o, key, v) {
        int i = word_index(sc__gpu_host_names, key);
        if (i < 0)
            return bad(r, NULL, "%s has no style '%s'", "host", key);
        SC__TRY(read_fields(r, key, v, sc__gpu_host_fields, &r->gpu->host[i]));
    }
    return SC_OK;
}

static sc_status read_gemm(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "gemm", o, sc__gpu_gemm_fields, r->gpu);
}

/* [[m, n, factor on a step, factor on the epilogue], …] */
static sc_status read_tiles(struct gpu_read_reader *r, json_t *list) {
    struct sc__gemm_constants *c = &r->gpu->gemm;
    size_t i;
    json_t *v;
    if (!json_is_array(list) || !json_array_size(list) ||
        json_array_size(list) > SC__GEMM_TILES)
        return bad(r, NULL, "%s is a list of 1 to 32 tiles%s", "tiles", "");
    json_array_foreach(list, i, v) {
        double tile[4];
        SC__TRY(read_list(r, "tiles", v, 4, tile));
        if (!(tile[0] >= 8 && tile[0] <= 1024 && tile[1] >= 8 && tile[1] <= 1024))
            return bad(r, NULL, "%s: %s are from 8 to 1024", "tiles", "sizes");
        if (!(tile[2] > 0 && tile[2] < 1e3 && tile[3] < 1e3))
            return bad(r, NULL, "%s: %s are above 0 and below 1000", "tiles", "factors");
        c->tiles[i] = (struct sc__gemm_tile){tile[0], tile[1], tile[2], tile[3]};
    }
    c->tile_count = (unsigned)json_array_size(list);
    return SC_OK;
}

static sc_status read_grouped(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "grouped", o, sc__gpu_grouped_fields, r->gpu);
}

static sc_status read_moe(struct gpu_read_reader *r, json_t *o) {
    SC__TRY(read_fields(r, "moe", o, sc__gpu_moe_fields, r->gpu));
    if (r->gpu->moe.bw > 0 && !(r->gpu->moe.q >= 0.1 && r->gpu->moe.q <= 100))
        return bad(r, NULL, "%s.%s is from 0.1 to 100", "moe", "q");
    if (!(r->gpu->moe.saved <= 1))
        return bad(r, NULL, "%s.%s is at most 1", "moe", "saved");
    return SC_OK;
}

static sc_status read_batched(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "batched", o, sc__gpu_batched_fields, r->gpu);
}

static sc_status read_unaligned(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "unaligned", o, sc__gpu_unaligned_fields, r->gpu);
}

static sc_status read_power(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "power", o, sc__gpu_power_fields, r->gpu);
}

static sc_status read_other(struct gpu_read_reader *r, json_t *o) {
    return read_fields(r, "other", o, sc__gpu_other_fields, r->gpu);
}

static sc_status read_embedding(struct gpu_read_reader *r, json_t *o) {
    return read_list(r, "embedding", o, 6, r->gpu->embedding);
}

/* {"ranks": 8, "dispatch": [fixed, expert, row, sm_bw, sm_power, link_bw, sharpness], …} */
static sc_status read_deepep(struct gpu_read_reader *r, json_t *o) {
    const char *key;
    json_t *v;
    if (!json_is_object(o))
        return bad(r, NULL, "%s is not an object%s", "deepep", "");
    json_object_foreach(o, key, v) {
        int i = word_index(sc__gpu_exchange_names, key);
        if (!strcmp(key, "ranks")) {
            SC__TRY(read_number(r, "deepep", key, v, &r->gpu->exchange_ranks));
            continue;
        }
        if (i < 0)
            return bad(r, NULL, "%s has no key '%s'", "deepep", key);
        struct sc__exchange_constants *c = &r->gpu->exchange[i];
        double list[7];
        SC__TRY(read_list(r, key, v, 7, list));
        *c = (struct sc__exchange_constants){list[0],
                                             list[1],
                                             list[2],
                                             list[3],
                                             list[4],
                                             list[5],
                                             list[6]};
        if (!(c->link_bw > 0 && c->sharpness >= 0.1 && c->sharpness <= 100))
            return bad(r,
                       "the sixth is B/us above 0, the seventh from 0.1 to 100",
                       "%s.%s",
                       "deepep",
                       key);
    }
    if (!(r->gpu->exchange_ranks >= 1 && r->gpu->exchange_ranks <= 1e6))
        return bad(r, NULL, "%s.%s is from 1 to 1000000", "deepep", "ranks");
    return SC_OK;
}

/* The members of an object, each one of names: read is told which. */
struct gpu_members {
    const char *where;
    const char *const *names;
    sc_status (*read)(
        struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self);
    void *self;
};

static sc_status
read_members(struct gpu_read_reader *r, json_t *o, const struct gpu_members *m) {
    const char *key;
    json_t *v;
    if (!json_is_object(o))
        return bad(r, NULL, "%s is not an object%s", m->where, "");
    json_object_foreach(o, key, v) {
        int i = word_index(m->names, key);
        if (i < 0)
            return bad(r, NULL, "%s has no key '%s'", m->where, key);
        SC__TRY(m->read(r, key, (unsigned)i, v, m->self));
    }
    return SC_OK;
}

/* Constants in the order of enum sc__sequence_constant. */
static sc_status read_sequence_op(
    struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self) {
    double *c = ((double(*)[SC__SEQUENCE_CONSTANTS])self)[i];
    bool host = json_array_size(v) != SC__SEQUENCE_HOST;
    SC__TRY(read_list(r, key, v, SC__SEQUENCE_HOST + (host ? 1 : 0), c));
    bool whole = c[SC__SEQUENCE_CHUNK] > 0 && c[SC__SEQUENCE_WIDTH] > 0 &&
                 c[SC__SEQUENCE_RESIDENT] > 0 && c[SC__SEQUENCE_CACHE] > 0 &&
                 c[SC__SEQUENCE_SAVED] <= 1 && c[SC__SEQUENCE_PART] <= 1;
    if (!whole || !(c[SC__SEQUENCE_Q] >= 0.1 && c[SC__SEQUENCE_Q] <= 100))
        return bad(r,
                   "chunk, width, cache and resident are above 0, q from 0.1 to 100, "
                   "part and saved at most 1",
                   "%s.%s",
                   "sequence",
                   key);
    return SC_OK;
}

static sc_status read_sequence_software(
    struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self) {
    (void)key;
    (void)self;
    return read_members(r,
                        v,
                        &(struct gpu_members){"sequence",
                                              sc__gpu_sequence_names,
                                              read_sequence_op,
                                              r->gpu->sequence[i]});
}

/* {"trtllm": {"conv": […], …}, …} */
static sc_status read_sequence(struct gpu_read_reader *r, json_t *o) {
    return read_members(r,
                        o,
                        &(struct gpu_members){"sequence",
                                              sc__gpu_serving_names,
                                              read_sequence_software,
                                              NULL});
}

const struct sc__generation_part sc__generation_parts[SC__GENERATION_PARTS] = {
    {"call", 0, SC__GENERATION_SHARED},
    {"shared", SC__GENERATION_SHARED, SC__BLOCK_CONSTANTS},
    {"alone", SC__GENERATION_ALONE, SC__GENERATION_CONSTANTS - SC__GENERATION_ALONE}};

/* {"call": […], "shared": […], "alone": […]}; a kernel that is not there has no blocks. */
static sc_status
read_generation(struct gpu_read_reader *r, const char *where, json_t *o, double *c) {
    static const char *const names[] = {"call", "shared", "alone", NULL};
    const char *key;
    json_t *v;
    if (!json_is_object(o))
        return bad(r, NULL, "%s is not an object%s", where, "");
    memset(c, 0, SC__GENERATION_CONSTANTS * sizeof *c);
    json_object_foreach(o, key, v) {
        unsigned i = 0;
        while (names[i] && strcmp(names[i], key))
            i++;
        if (!names[i])
            return bad(r, NULL, "%s has no key '%s'", where, key);
        const struct sc__generation_part *part = &sc__generation_parts[i];
        SC__TRY(read_list(r, key, v, part->count, &c[part->first]));
    }
    if (!(c[SC__GENERATION_QUERIES] >= 1 && c[SC__GENERATION_WAVE] <= 1))
        return bad(r,
                   "a block takes a query or more; wave is at most 1",
                   "%s: %s",
                   "serving",
                   "call");
    for (unsigned i = SC__GENERATION_SHARED; i <= SC__GENERATION_ALONE;
         i += SC__BLOCK_CONSTANTS) {
        bool absent = i == SC__GENERATION_ALONE && !(c[i + SC__BLOCK_RESIDENT] > 0);
        if (!absent && !(c[i + SC__BLOCK_RESIDENT] > 0 && c[i + SC__BLOCK_TOKENS] > 0))
            return bad(r,
                       "blocks of an SM and the keys of a part are above 0",
                       "%s: %s",
                       "serving",
                       sc__generation_parts[i == SC__GENERATION_ALONE ? 2 : 1].name);
    }
    return SC_OK;
}

static bool is_context(unsigned phase) {
    return phase == SC__SERVING_CONTEXT || phase == SC__SERVING_MLA_CONTEXT;
}

/* Of a phase, and where its constants go. */
struct serving_phase_reader {
    unsigned phase;
    double (*types)[SC__SERVING_CONSTANTS];
};

static sc_status read_serving_type(
    struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self) {
    const struct serving_phase_reader *p = self;
    bool context = is_context(p->phase);
    double *c = p->types[i];
    if (context)
        SC__TRY(read_list(r, key, v, SC__CONTEXT_CONSTANTS, c));
    else
        SC__TRY(read_generation(r, key, v, c));
    double bw = c[context ? SC__CONTEXT_BW : SC__GENERATION_BW];
    double q = c[context ? SC__CONTEXT_Q : SC__GENERATION_Q];
    double cache = c[context ? SC__CONTEXT_CACHE : SC__GENERATION_CACHE];
    double saved = c[context ? SC__CONTEXT_SAVED : SC__GENERATION_SAVED];
    if (!(c[0] > 0 && bw > 0 && cache > 0 && saved <= 1 && q >= 0.1 && q <= 100))
        return bad(r,
                   "fixed, bw and cache are above 0, q from 0.1 to 100, saved at most 1",
                   "%s: %s",
                   "serving",
                   key);
    return SC_OK;
}

/* {"bf16": constants of the phase, "fp8_cache": …, "fp8": …} */
static sc_status read_serving_phase(
    struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self) {
    (void)key;
    double(*phases)[SC__SERVING_TYPES][SC__SERVING_CONSTANTS] = self;
    struct serving_phase_reader p = {i, phases[i]};
    return read_members(
        r,
        v,
        &(struct gpu_members){"serving", sc__gpu_serving_types, read_serving_type, &p});
}

static sc_status read_serving_software(
    struct gpu_read_reader *r, const char *key, unsigned i, json_t *v, void *self) {
    (void)key;
    (void)self;
    return read_members(r,
                        v,
                        &(struct gpu_members){"serving",
                                              sc__gpu_phase_names,
                                              read_serving_phase,
                                              r->gpu->serving[i]});
}

/* {"trtllm": {"context": {…}, …}, …} */
static sc_status read_serving(struct gpu_read_reader *r, json_t *o) {
    return read_members(r,
                        o,
                        &(struct gpu_members){"serving",
                                              sc__gpu_serving_names,
                                              read_serving_software,
                                              NULL});
}

static sc_status read_scan(struct gpu_read_reader *r, json_t *o) {
    return read_list(r, "scan_forward", o, SC__SCAN_CONSTANTS, r->gpu->scan[0]);
}

static sc_status read_scan_b(struct gpu_read_reader *r, json_t *o) {
    return read_list(r, "scan_backward", o, SC__SCAN_CONSTANTS, r->gpu->scan[1]);
}

static sc_status
read_fallback(struct gpu_read_reader *r, enum sc__fallback_batched which, json_t *list) {
    const char *name = sc__gpu_batched_names[which];
    double *c = r->gpu->batched_fallback[which];
    SC__TRY(read_list(r, name, list, SC__FALLBACK_CONSTANTS, c));
    if (c[SC__FALLBACK_T0] > 0 && !(c[SC__FALLBACK_Q] >= 0.1 && c[SC__FALLBACK_Q] <= 100))
        return bad(r, NULL, "%s: %s is from 0.1 to 100", name, "the sharpness");
    if (c[SC__FALLBACK_T0] > 0 && !(c[SC__FALLBACK_BW] > 0))
        return bad(r, NULL, "%s: %s is above 0", name, "the bandwidth");
    if (!(c[SC__FALLBACK_WAVE] <= 1))
        return bad(r, NULL, "%s: %s is at most 1", name, "the wave");
    return SC_OK;
}

static sc_status read_adamw(struct gpu_read_reader *r, json_t *o) {
    return read_list(r, "adamw", o, 3, r->gpu->adamw);
}

static const struct section {
    const char *key;
    sc_status (*read)(struct gpu_read_reader *r, json_t *o);
} sections[] = {{"gemm", read_gemm},           {"tiles", read_tiles},
                {"dtype", read_dtypes},        {"grouped", read_grouped},
                {"attention", read_attention}, {"attention_fp32", read_attention_fp32},
                {"memory", read_memory},       {"attention_software", read_software},
                {"power", read_power},         {"host", read_hosts},
                {"other", read_other},         {"embedding", read_embedding},
                {"adamw", read_adamw},         {"batched", read_batched},
                {"deepep", read_deepep},       {"moe", read_moe},
                {"sequence", read_sequence},   {"serving", read_serving},
                {"scan_forward", read_scan},   {"scan_backward", read_scan_b},
                {"unaligned", read_unaligned}, {0}};

static sc_status read_section(struct gpu_read_reader *r, const char *key, json_t *value) {
    const struct section *s = sections;
    int fallback = word_index(sc__gpu_batched_names, key);
    if (fallback >= 0)
        return read_fallback(r, (enum sc__fallback_batched)fallback, value);
    while (s->key && strcmp(s->key, key))
        s++;
    if (!s->key)
        return bad(r, NULL, "%s has no section '%s'", "constants", key);
    return s->read(r, value);
}

static sc_status read_constants(struct gpu_read_reader *r, json_t *constants) {
    const char *key;
    json_t *v;
    json_object_foreach(constants, key, v) SC__TRY(read_section(r, key, v));
    if (!(r->gpu->gemm.r > 0 && r->gpu->gemm.bw > 0 && r->gpu->attention[0].bq > 0))
        return bad(r,
                   "name a base, or give every constant",
                   "%s has no constants%s",
                   r->gpu->name,
                   "");
    return SC_OK;
}

static const char *text_of(struct gpu_read_reader *r, const json_t *root, const char *key) {
    const char *s = json_string_value(json_object_get(root, key));
    return s ? sc__strdup(&r->ctx->arena, s) : NULL;
}

static const char *fit_text(struct gpu_read_reader *r, const json_t *fitted) {
    const char *source = json_string_value(json_object_get(fitted, "source"));
    const char *date = json_string_value(json_object_get(fitted, "date"));
    const char *quality = json_string_value(json_object_get(fitted, "quality"));
    return source ? sc__format(&r->ctx->arena,
                               "%s%s%s%s%s",
                               source,
                               date ? ", " : "",
                               date ? date : "",
                               quality ? ": " : "",
                               quality ? quality : "")
                  : NULL;
}

/* How well it is known; who says nothing and has a base is scaled from that. */
static sc_status read_grade(struct gpu_read_reader *r, json_t *root) {
    static const char *const grades[] = {"measured", "scaled", "guessed", NULL};
    const char *grade =
        json_string_value(json_object_get(json_object_get(root, "fitted"), "grade"));
    if (!grade)
        grade = json_object_get(root, "base") ? "scaled" : "measured";
    int i = word_index(grades, grade);
    if (i < 0)
        return bad(r,
                   "measured, scaled or guessed",
                   "%s.grade is not '%s'",
                   "fitted",
                   grade);
    r->gpu->grade = grades[i];
    return SC_OK;
}

static sc_status check_keys(struct gpu_read_reader *r, json_t *root) {
    static const char *const keys[] = {"name",
                                       "title",
                                       "aliases",
                                       "architecture",
                                       "source",
                                       "datasheet",
                                       "base",
                                       "fitted",
                                       "constants",
                                       NULL};
    const char *key;
    json_t *v;
    json_object_foreach(root, key, v) {
        if (word_index(keys, key) >= 0)
            continue;
        const char *near = sc__nearest(key, keys);
        return bad(r,
                   near ? sc__format(&r->ctx->arena, "did you mean '%s'?", near) : NULL,
                   "unknown key '%s'%s",
                   key,
                   "");
    }
    return SC_OK;
}

static sc_status check_kinds(struct gpu_read_reader *r, const json_t *root) {
    static const char *const keys[] = {"name",
                                       "title",
                                       "architecture",
                                       "source",
                                       "base",
                                       "datasheet",
                                       "fitted",
                                       "constants"};
    enum { TEXTS = 5 };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *v = json_object_get(root, keys[i]);
        if (v && i < TEXTS && !json_is_string(v))
            return bad(r, NULL, "%s is no text%s", keys[i], "");
        if (v && i >= TEXTS && !json_is_object(v))
            return bad(r, NULL, "%s is no object%s", keys[i], "");
    }
    return SC_OK;
}

static sc_status read_base(struct gpu_read_reader *r, const char *name) {
    const struct sc__gpu *base;
    const struct sc__data_file *f =
        sc__data_find(sc__format(&r->ctx->arena, "gpus/%s.json", name));
    if (!f || !strcmp(name, r->gpu->name))
        return bad(r, NULL, "%s '%s' is not a known GPU", "base", name);
    SC__TRY(sc__gpu_built_in(r->ctx, f, &base));
    sc__gpu_carry_over(r->gpu, base);
    return SC_OK;
}

/* What is carried over goes by the peak that the file's own constants name. */
static sc_status read_main_peak(struct gpu_read_reader *r, json_t *constants) {
    const json_t *v = json_object_get(json_object_get(constants, "gemm"), "peak");
    return v ? read_number_to(r, "gemm", "peak", v, SC__GPU_MOST_TFLOPS, &r->gpu->gemm.peak)
             : SC_OK;
}

static sc_status read_root(struct gpu_read_reader *r, json_t *root) {
    struct sc__gpu *g = r->gpu;
    if (!json_is_object(root))
        return bad(r, NULL, "not a JSON object%s%s", "", "");
    SC__TRY(check_keys(r, root));
    SC__TRY(check_kinds(r, root));
    g->name = text_of(r, root, "name");
    if (!g->name)
        return bad(r, NULL, "%s is missing%s", "name", "");
    g->title = text_of(r, root, "title") ? text_of(r, root, "title") : g->name;
    g->source = text_of(r, root, "source");
    g->architecture = text_of(r, root, "architecture");
    g->fitted = fit_text(r, json_object_get(root, "fitted"));
    SC__TRY(read_grade(r, root));
    SC__TRY(read_sheet(r, json_object_get(root, "datasheet")));
    SC__TRY(read_main_peak(r, json_object_get(root, "constants")));
    const char *base = text_of(r, root, "base");
    if (base)
        SC__TRY(read_base(r, base));
    return read_constants(r, json_object_get(root, "constants"));
}

sc_status sc__gpu_parse(struct sc_context *ctx,
                        const char *file,
                        struct sc__str text,
                        const struct sc__gpu **out) {
    json_error_t error;
    struct gpu_read_reader r = {.ctx = ctx,
                                .place = {.file = file},
                                .gpu = SC__NEW(&ctx->arena, struct sc__gpu)};
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        r.place.line = error.line > 0 ? (uint64_t)error.line : 0;
        r.place.column = error.column > 0 ? (uint64_t)error.column : 0;
        return sc__fail(ctx, SC_INPUT, &r.place, NULL, "%s", error.text);
    }
    sc_status status = read_root(&r, root);
    json_decref(root);
    *out = r.gpu;
    return status;
}
