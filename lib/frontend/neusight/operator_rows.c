/* operator rows: repeating the layer, and the backward that an exporter left
 * out. */
#include "frontend/neusight/operator_lower.h"

#include <math.h>
#include <string.h>

#define MOST_ITEMS 2000000 /* some 2 GB and a few seconds */

static size_t word_length(const char *s) {
    return strcspn(s, "_./");
}

/* Kinds of operators: what their work counts as, and how much longer their
 * backward is than their forward. A GEMM needs two in backward for one; the
 * others are bound by memory, so the factor is bytes moved backward over bytes
 * moved forward (reads + writes). */
struct operator_kind {
    const char *word;
    uint8_t work;
    /* backward ÷ forward */
    double input;
    double weight;
};

static const struct operator_kind kinds[] = {
    {"addmm", SC__WORK_GEMM, 1, 1},
    {"linear", SC__WORK_GEMM, 1, 1},
    {"head", SC__WORK_GEMM, 1, 1},
    {"proj", SC__WORK_GEMM, 1, 1},
    {"fc", SC__WORK_GEMM, 1, 1},
    {"dense", SC__WORK_GEMM, 1, 1},
    {"query", SC__WORK_GEMM, 1, 1},
    {"key", SC__WORK_GEMM, 1, 1},
    {"value", SC__WORK_GEMM, 1, 1},
    {"conv", SC__WORK_GEMM, 1, 1},
    {"matmul", SC__WORK_GEMM, 2, 0}, /* both gradients go to inputs */
    {"bmm", SC__WORK_GEMM, 2, 0},
    {"mm", SC__WORK_GEMM, 1, 1},
    {"attention", SC__WORK_ATTENTION, 2.5, 0}, /* five GEMMs for two */
    {"sdpa", SC__WORK_ATTENTION, 2.5, 0},
    /* reads y, dy, writes dx; forward reads x, writes y */
    {"softmax", SC__WORK_ATTENTION, 1.5, 0},
    {"where", SC__WORK_ATTENTION, 1, 0},
    {"ln", SC__WORK_NORM, 1.5, 1}, /* dx: reads x, dy, writes dx; weights: reads x, dy */
    {"norm", SC__WORK_NORM, 1.5, 1},
    {"layernorm", SC__WORK_NORM, 1.5, 1},
    {"rmsnorm", SC__WORK_NORM, 1.5, 1},
    {"wte", SC__WORK_EMBEDDING, 0, 1.5}, /* reads dy, reads and writes rows of the table */
    {"wpe", SC__WORK_EMBEDDING, 0, 1.5},
    {"embedding", SC__WORK_EMBEDDING, 0, 1.5},
    {"embeddings", SC__WORK_EMBEDDING, 0, 1.5},
    {"embed", SC__WORK_EMBEDDING, 0, 1.5},
    {"loss", SC__WORK_LOSS, 1, 0},
    {"mul", SC__WORK_ELEMENTWISE, 2, 0}, /* two gradients of the forward's size */
    {"pow", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"tanh", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"gelu", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"relu", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"silu", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"sigmoid", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"act", SC__WORK_ELEMENTWISE, 1.5, 0},
    {"truediv", SC__WORK_ELEMENTWISE, 1, 0},
    {"div", SC__WORK_ELEMENTWISE, 1, 0},
    {"add", SC__WORK_ELEMENTWISE, 1, 0}, /* the gradients of its two users are added */
    {"iadd", SC__WORK_ELEMENTWISE, 1, 0},
    {"sub", SC__WORK_ELEMENTWISE, 1, 0},
    {"dropout", SC__WORK_ELEMENTWISE, 1, 0},
    {"getitem", SC__WORK_COPY, 1, 0},
    {"contiguous", SC__WORK_COPY, 1, 0},
    {"transpose", SC__WORK_COPY, 1, 0},
    {"permute", SC__WORK_COPY, 1, 0},
    {"view", SC__WORK_COPY, 1, 0},
    {"reshape", SC__WORK_COPY, 1, 0},
    {"split", SC__WORK_COPY, 1, 0},
    {"chunk", SC__WORK_COPY, 1, 0},
    {"cat", SC__WORK_COPY, 1, 0},
    {"to", SC__WORK_COPY, 1, 0},
    {"float", SC__WORK_COPY, 1, 0},
};
static const struct operator_kind unknown_kind = {"unknown", SC__WORK_OTHER, 1, 1};

/* The last word of the name that is a kind: transformer_h_0_ln_1 is a norm. */
static const struct operator_kind *operator_rows_kind_of(const char *name) {
    const struct operator_kind *found = &unknown_kind;
    for (const char *s = name; *s;) {
        size_t n = word_length(s);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (sc__str_is_any_case((struct sc__str){s, n}, kinds[k].word))
                found = &kinds[k];
        s += n + (s[n] != '\0');
    }
    return found;
}

/* What kind of work an operator of this name is. */
static enum sc__work operator_work(const char *name) {
    return (enum sc__work)operator_rows_kind_of(name)->work;
}

static void add_item(struct sc_context *ctx,
                     struct sc__operators *out,
                     const struct sc__layers *rows,
                     uint32_t i,
                     uint32_t layer) {
    struct sc__operator *o = SC__PUSH(&ctx->arena, out->items, out->count, out->capacity);
    o->row = rows->rows[i];
    if (!o->row.work)
        o->row.work = (uint8_t)operator_work(o->row.name);
    o->source = i;
    o->layer = layer;
}

static uint32_t
find_row(const struct sc__layers *rows, struct sc__str name, uint32_t from) {
    for (uint32_t i = from; i < rows->count; i++)
        if (sc__str_is(name, rows->rows[i].name))
            return i;
    return SC__NONE;
}

/* --block FIRST:LAST */
static sc_status given_block(struct sc_context *ctx,
                             const struct sc__layers *rows,
                             const char *text,
                             struct sc__layer_span **spans,
                             uint32_t *count) {
    struct sc__str rest = sc__str(text);
    struct sc__str first;
    struct sc__str last;
    const char *hint =
        "write it as --block FIRST:LAST with the names of two rows, the first one first";
    if (!sc__split(&rest, ':', &first) || !sc__split(&rest, ':', &last) || rest.p)
        return sc__fail(ctx, SC_USAGE, NULL, hint, "--block: cannot read '%s'", text);
    uint32_t a = find_row(rows, first, 0);
    uint32_t b = a == SC__NONE ? SC__NONE : find_row(rows, last, a);
    if (b == SC__NONE)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        hint,
                        "--block: no row '%.*s'%s",
                        SC__SHOW(a == SC__NONE ? first : last),
                        a == SC__NONE ? "" : " after the first");
    *spans = SC__NEW(&ctx->arena, struct sc__layer_span);
    **spans = (struct sc__layer_span){a, b + 1 - a};
    *count = 1;
    return SC_OK;
}

static uint32_t span_end(const struct sc__layer_span *span) {
    return span->first + span->count;
}

/* Rows that belong to no layer. */
static void add_outer_rows(struct sc_context *ctx,
                           struct sc__operators *out,
                           const struct sc__layers *rows,
                           uint32_t from,
                           uint32_t to) {
    for (uint32_t i = from; i < to; i++)
        add_item(ctx, out, rows, i, SC__NONE);
}

/* Prologue, `layers` layers (the last one of the table again and again where
 * it has fewer), epilogue. What stands between two layers of the table (the last
 * norm of an encoder) runs once, after the layer it follows or, where --layers
 * leaves that out, before the epilogue. */
static void repeat_rows(struct sc_context *ctx,
                        const struct sc__layers *rows,
                        const struct sc__layer_span *spans,
                        uint32_t found,
                        uint32_t layers,
                        struct sc__operators *out) {
    uint32_t first = found ? spans[0].first : rows->count;
    uint32_t after = found ? span_end(&spans[found - 1]) : rows->count;
    uint32_t longer = layers > found ? layers : found;
    add_outer_rows(ctx, out, rows, 0, first);
    for (uint32_t l = 0; l < longer; l++) {
        const struct sc__layer_span *s = &spans[l < found ? l : found - 1];
        for (uint32_t i = 0; l < layers && i < s->count; i++)
            add_item(ctx, out, rows, s->first + i, l);
        if (l + 1 < found)
            add_outer_rows(ctx, out, rows, span_end(s), spans[l + 1].first);
    }
    add_outer_rows(ctx, out, rows, after, rows->count);
}

static bool lacks_backward(const struct sc__row *r) {
    return r->part[SC__PART_FORWARD].compute && !r->part[SC__PART_INPUT].compute &&
           !r->part[SC__PART_WEIGHT].compute;
}

static void synthesise(struct sc_context *ctx, struct sc__operators *out) {
    uint32_t filled[SC__WORKS] = {0};
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < out->count; i++) {
        struct sc__row *r = &out->items[i].row;
        if (!lacks_backward(r))
            continue;
        const struct operator_kind *k = operator_rows_kind_of(r->name);
        double forward = (double)r->part[SC__PART_FORWARD].compute;
        r->part[SC__PART_INPUT].compute = llround(k->input * forward);
        r->part[SC__PART_WEIGHT].compute = llround(k->weight * forward);
        filled[k->work]++;
        if (k == &unknown_kind && unknown++ < 5)
            sc__note(
                ctx,
                "backward-unknown-kind",
                "%s is of no known kind: assuming its backward takes twice its forward",
                r->name);
    }
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    for (unsigned k = 0; k < SC__WORKS; k++)
        if (filled[k])
            sc__printf(&b,
                       "%s%u %s",
                       b.size ? ", " : "",
                       filled[k],
                       sc__work_name((enum sc__work)k));
    sc__note(ctx,
             "backward-synthesised",
             "backward times were not in the table and are synthesised from forward for: "
             "%s (GEMM twice forward, the rest by bytes moved)",
             b.size ? b.text : "no row");
}

static void say_literal(struct sc_context *ctx, const struct sc__operators *out) {
    bool gradients = false;
    for (uint32_t i = 0; i < out->count; i++)
        for (unsigned p = SC__PART_INPUT; p < SC__PARTS; p++) {
            if (out->items[i].row.part[p].compute)
                return;
            if (out->items[i].row.part[p].coll)
                gradients = true;
        }
    if (gradients)
        sc__note(ctx,
                 "backward-missing",
                 "the table has gradient communication but all its backward times are 0, a "
                 "known defect of its exporter: backward compute counts as nothing; "
                 "--backward synth fills it in");
}

sc_status sc__expand_operators(struct sc_context *ctx,
                               const struct sc__settings *settings,
                               const struct sc__layers *rows,
                               struct sc__operators *out) {
    static const char *const choices[] = {"literal", "synth", NULL};
    const char *block = sc__setting(settings, "block");
    struct sc__layer_span *spans;
    unsigned synthetic = 0;
    memset(out, 0, sizeof *out);
    SC__TRY(sc__setting_word(settings, "backward", choices, &synthetic));
    uint32_t found = sc__find_layers(&ctx->arena, rows, &spans);
    if (block)
        SC__TRY(given_block(ctx, rows, block, &spans, &found));
    out->layers = found;
    SC__TRY(sc__setting_u32(settings, "layers", 1, &out->layers));
    if (!found && out->layers)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "name the rows to repeat with --block FIRST:LAST",
                        "--layers: no row name says which rows are a layer (like "
                        "transformer_h_0_ln_1)");
    uint64_t total = rows->count;
    if (out->layers > found)
        total += (uint64_t)(out->layers - found) * spans[found - 1].count;
    if (total > MOST_ITEMS)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "a step has at most 2 million rows",
                        "%llu rows of %u layers are too many",
                        (unsigned long long)total,
                        out->layers);
    repeat_rows(ctx, rows, spans, found, out->layers, out);
    if (synthetic)
        synthesise(ctx, out);
    else
        say_literal(ctx, out);
    return SC_OK;
}
