/* kernel_table: the reader. The first line that is no remark names the columns,
 * in any order; cells a kernel has no use for are empty. A table of GEMMs alone
 * may have no column op, as the public ones of ai-dynamo/aiconfigurator: a row is
 * then a product, or in a narrow type a linear layer with the cast of its input. */
#include "hardware/kernel_table.h"

#include "hardware/kernel_moe.h"

#include <math.h>
#include <string.h>

enum column {
    OP,
    DTYPE,
    M,
    N,
    K,
    BATCH,
    HEADS,
    KV_HEADS,
    SQ,
    SKV,
    HEAD_DIM,
    V_DIM,
    CAUSAL,
    ROWS,
    COLS,
    VOCAB,
    HIDDEN,
    PARAMS,
    BYTES,
    TOKENS,
    TOPK,
    EXPERTS,
    SMS,
    INTER,
    EP,
    EXPONENT,
    US,
    KERNEL,
    /* remarks of the public tables */
    GPU,
    FRAMEWORK,
    VERSION,
    COLUMNS
};

static const char *const column_names[] = {
    "op",       "dtype",     "m",       "n",        "k",        "batch",  "heads",
    "kv_heads", "sq",        "skv",     "head_dim", "v_dim",    "causal", "rows",
    "cols",     "vocab",     "hidden",  "params",   "bytes",    "tokens", "topk",
    "experts",  "sms",       "inter",   "ep",       "exponent", "us",     "kernel",
    "gpu",      "framework", "version", NULL};

/* Columns of the sizes of a key, in their order; COLUMNS: unused. */
static const struct operation {
    const char *name;
    enum sc__kernel_op what;
    uint8_t columns[8];
    uint8_t count;
} operations[] = {
    {"gemm", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"gemm_bias", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"gemm_dgrad", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"gemm_wgrad", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"gemm_accumulate", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"linear", SC__KERNEL_OP_GEMM, {M, N, K}, 3},
    {"gemm_grouped", SC__KERNEL_OP_GROUPED, {M, N, K, BATCH}, 4},
    {"gemm_batched", SC__KERNEL_OP_BATCHED, {M, N, K, BATCH}, 4},
    {"attention_f", SC__KERNEL_OP_ATTENTION_F, {BATCH, HEADS, KV_HEADS, SQ, HEAD_DIM}, 5},
    {"attention_b", SC__KERNEL_OP_ATTENTION_B, {BATCH, HEADS, KV_HEADS, SQ, HEAD_DIM}, 5},
    {"embedding_f", SC__KERNEL_OP_EMBEDDING_F, {ROWS, HIDDEN}, 2},
    {"embedding_b", SC__KERNEL_OP_EMBEDDING_B, {ROWS, VOCAB, HIDDEN}, 3},
    {"adamw", SC__KERNEL_OP_ADAMW, {PARAMS}, 1},
    {"elementwise", SC__KERNEL_OP_ELEMENTWISE, {BYTES}, 1},
    {"moe", SC__KERNEL_OP_MOE, {TOKENS, HIDDEN, INTER, TOPK, EXPERTS}, 5},
    {"moe_plain", SC__KERNEL_OP_MOE, {TOKENS, HIDDEN, INTER, TOPK, EXPERTS}, 5},
    {"deepep_dispatch", SC__KERNEL_OP_EXCHANGE, {TOKENS, HIDDEN, TOPK, EXPERTS, SMS}, 5},
    {"deepep_combine", SC__KERNEL_OP_EXCHANGE, {TOKENS, HIDDEN, TOPK, EXPERTS, SMS}, 5},
    {"deepep_dispatch_ll", SC__KERNEL_OP_EXCHANGE, {TOKENS, HIDDEN, TOPK, EXPERTS}, 4},
    {"deepep_combine_ll", SC__KERNEL_OP_EXCHANGE, {TOKENS, HIDDEN, TOPK, EXPERTS}, 4},
};

enum { OPERATIONS = sizeof operations / sizeof *operations };

struct kernel_table_reader {
    struct sc_context *ctx;
    struct sc__input *in;
    struct sc__str line;
    struct sc__str cells[COLUMNS];
    uint8_t order[2 * COLUMNS];
    unsigned columns;
    bool gemms; /* no column op: products and linear layers */
};

const char *const *sc__kernel_table_ops(void) {
    static const char *names[OPERATIONS + SC__MEM_OPS + 1];
    for (unsigned i = 0; i < OPERATIONS; i++)
        names[i] = operations[i].name;
    for (unsigned i = 0; i < SC__MEM_OPS; i++)
        names[OPERATIONS + i] = sc__memory_op_name(i);
    return names;
}

static sc_status fail(struct kernel_table_reader *r,
                      const char *at,
                      const char *hint,
                      const char *what,
                      struct sc__str value) {
    struct sc__place place = sc__input_place(r->in, r->line, at);
    return sc__fail(r->ctx, SC_INPUT, &place, hint, "%s '%.*s'", what, SC__SHOW(value));
}

static const char *kernel_table_suggest(struct kernel_table_reader *r,
                                        struct sc__str word,
                                        const char *const *words) {
    const char *near = sc__nearest(sc__strndup(&r->ctx->arena, word.p, word.n), words);
    return near ? sc__format(&r->ctx->arena, "did you mean '%s'?", near)
                : "docs/model/kernels.md lists them";
}

/* The next cell: "quoted, with commas" or plain. */
static bool next_cell(struct sc__str *rest, struct sc__str *cell) {
    if (!rest->p)
        return false;
    if (rest->n && rest->p[0] == '"') {
        const char *end = memchr(rest->p + 1, '"', rest->n - 1);
        if (end && (end + 1 == rest->p + rest->n || end[1] == ',')) {
            *cell = (struct sc__str){rest->p + 1, (size_t)(end - rest->p - 1)};
            size_t used = cell->n + 2;
            *rest = used < rest->n
                        ? (struct sc__str){rest->p + used + 1, rest->n - used - 1}
                        : (struct sc__str){NULL, 0};
            return true;
        }
    }
    const char *comma = memchr(rest->p, ',', rest->n);
    *cell = (struct sc__str){rest->p, comma ? (size_t)(comma - rest->p) : rest->n};
    *rest = comma ? (struct sc__str){comma + 1, rest->n - cell->n - 1}
                  : (struct sc__str){NULL, 0};
    return true;
}

/* The next line that is neither empty nor a remark ("# …"). */
static sc_status kernel_table_next_line(struct kernel_table_reader *r, bool *more) {
    struct sc__str text;
    do {
        SC__TRY(sc__input_line(r->in, &r->line, more));
        text = sc__trim(r->line);
    } while (*more && (!text.n || text.p[0] == '#'));
    return SC_OK;
}

static sc_status kernel_table_read_header(struct kernel_table_reader *r) {
    bool more, seen[COLUMNS] = {false};
    struct sc__str cell;
    struct sc__str rest;
    SC__TRY(kernel_table_next_line(r, &more));
    if (!more)
        return fail(r, r->line.p, NULL, "the table is empty", SC__STR(""));
    for (rest = r->line; next_cell(&rest, &cell);) {
        unsigned c = 0;
        cell = sc__trim(cell);
        if (sc__str_is(cell, "gemm_dtype"))
            c = DTYPE;
        else
            while (c < COLUMNS && !sc__str_is(cell, column_names[c]))
                c++;
        if (c == COLUMNS)
            return fail(r,
                        cell.p,
                        kernel_table_suggest(r, cell, column_names),
                        "unknown column",
                        cell);
        if (seen[c])
            return fail(r, cell.p, NULL, "a second column", cell);
        seen[c] = true;
        r->order[r->columns++] = (uint8_t)c;
    }
    r->gemms = !seen[OP] && seen[M] && seen[N] && seen[K];
    return seen[OP] || r->gemms ? SC_OK
                                : fail(r,
                                       r->line.p,
                                       "the first line names the columns",
                                       "there is no column",
                                       SC__STR("op"));
}

static sc_status split_line(struct kernel_table_reader *r) {
    struct sc__str cell;
    struct sc__str rest = r->line;
    unsigned n = 0;
    memset(r->cells, 0, sizeof r->cells);
    while (next_cell(&rest, &cell)) {
        if (n == r->columns)
            return fail(r, cell.p, NULL, "more cells than columns, from", cell);
        r->cells[r->order[n++]] = sc__trim(cell);
    }
    return n == r->columns
               ? SC_OK
               : fail(r, r->line.p, NULL, "fewer cells than columns in", r->line);
}

static sc_status read_size(struct kernel_table_reader *r, enum column c, uint64_t *out) {
    struct sc__str cell = r->cells[c];
    if (cell.n && sc__parse_u64(cell, out) && *out > 0 && *out < (uint64_t)1 << 50)
        return SC_OK;
    const char *what = sc__format(&r->ctx->arena,
                                  "%s must be a whole number, 1 or more, not",
                                  column_names[c]);
    return fail(r, cell.n ? cell.p : r->line.p, NULL, what, cell);
}

static sc_status
read_size_or(struct kernel_table_reader *r, enum column c, uint64_t dflt, uint64_t *out) {
    if (!r->cells[c].n) {
        *out = dflt;
        return SC_OK;
    }
    return read_size(r, c, out);
}

static sc_status read_attention(struct kernel_table_reader *r, struct sc__kernel_key *key) {
    uint64_t *s = key->size;
    uint64_t head_dim = s[4];
    uint64_t skv;
    uint64_t v_dim;
    struct sc__attention a = {.batch = s[0],
                              .heads = s[1],
                              .kv_heads = s[2],
                              .sq = s[3],
                              .head_dim = head_dim,
                              .wide = sc__dtype_bytes(key->dtype) > 2};
    SC__TRY(read_size_or(r, SKV, s[3], &skv));
    SC__TRY(read_size_or(r, V_DIM, head_dim, &v_dim));
    struct sc__str causal = r->cells[CAUSAL];
    if (causal.n && !sc__str_is(causal, "0") && !sc__str_is(causal, "1"))
        return fail(r, causal.p, NULL, "causal must be 0 or 1, not", causal);
    a.skv = skv;
    a.v_dim = v_dim;
    a.causal = sc__str_is(causal, "1");
    *key = sc__attention_key(key->what, &a);
    return SC_OK;
}

static void read_gemm(const char *name, struct sc__kernel_key *key) {
    enum sc__gemm_layout layout = SC__LAYOUT_FORWARD;
    key->size[3] = 1;
    key->size[4] = !strcmp(name, "gemm_bias");
    key->size[6] = !strcmp(name, "gemm_accumulate");
    key->size[7] = !strcmp(name, "linear") && sc__dtype_bytes(key->dtype) < 2;
    if (!strcmp(name, "gemm_dgrad"))
        layout = SC__LAYOUT_DGRAD;
    if (key->size[6] || !strcmp(name, "gemm_wgrad"))
        layout = SC__LAYOUT_WGRAD;
    key->size[5] = sc__gemm_layout(key, layout);
}

static enum sc__exchange exchange_named(const char *name) {
    bool combine = strstr(name, "combine") != NULL;
    if (strstr(name, "_ll"))
        return combine ? SC__EXCHANGE_COMBINE_LL : SC__EXCHANGE_DISPATCH_LL;
    return combine ? SC__EXCHANGE_COMBINE : SC__EXCHANGE_DISPATCH;
}

static sc_status
read_moe(struct kernel_table_reader *r, const char *name, struct sc__kernel_key *key) {
    struct sc__str cell = r->cells[EXPONENT];
    double exponent = 0;
    SC__TRY(read_size_or(r, EP, 1, &key->size[5]));
    if (cell.n &&
        (!sc__parse_double(cell, &exponent) || !(exponent >= 0 && exponent <= 100)))
        return fail(r, cell.p, NULL, "exponent must be a number from 0 to 100, not", cell);
    if (key->size[4] > SC__MOE_EXPERTS)
        return fail(r, r->cells[EXPERTS].p, NULL, "more than 1024", r->cells[EXPERTS]);
    if (key->size[4] % key->size[5])
        return fail(r,
                    r->cells[EP].p,
                    "each GPU has as many experts",
                    "experts are no multiple of ep",
                    r->cells[EP]);
    key->size[6] = (uint64_t)llround(1e3 * exponent);
    key->size[7] = !strcmp(name, "moe_plain");
    return SC_OK;
}

static sc_status read_sizes(struct kernel_table_reader *r,
                            const struct operation *o,
                            struct sc__kernel_key *key) {
    for (unsigned i = 0; i < o->count; i++)
        SC__TRY(read_size(r, o->columns[i], &key->size[i]));
    switch (o->what) {
    case SC__KERNEL_OP_GEMM:
        read_gemm(o->name, key);
        return SC_OK;
    case SC__KERNEL_OP_EMBEDDING_F:
        key->size[2] = key->size[1];
        key->size[1] = 0;
        return SC_OK;
    case SC__KERNEL_OP_MOE:
        return read_moe(r, o->name, key);
    case SC__KERNEL_OP_EXCHANGE:
        key->size[5] = exchange_named(o->name);
        return SC_OK;
    case SC__KERNEL_OP_ADAMW:
        return read_size_or(r, BYTES, 0, &key->size[1]);
    case SC__KERNEL_OP_ATTENTION_F:
    case SC__KERNEL_OP_ATTENTION_B:
        return read_attention(r, key);
    default:
        return SC_OK;
    }
}

static sc_status read_operation(struct kernel_table_reader *r, struct sc__kernel_row *row) {
    static const struct operation memory = {"", SC__KERNEL_OP_MEMORY, {ROWS, COLS}, 2};
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (sc__str_is(r->cells[OP], operations[i].name)) {
            row->op = operations[i].name;
            row->key.what = operations[i].what;
            return read_sizes(r, &operations[i], &row->key);
        }
    for (unsigned i = 0; i < SC__MEM_OPS; i++)
        if (sc__str_is(r->cells[OP], sc__memory_op_name(i))) {
            row->op = sc__memory_op_name(i);
            row->key.what = SC__KERNEL_OP_MEMORY + i;
            return read_sizes(r, &memory, &row->key);
        }
    return fail(r,
                r->cells[OP].p,
                kernel_table_suggest(r, r->cells[OP], sc__kernel_table_ops()),
                "unknown op",
                r->cells[OP]);
}

static sc_status kernel_table_read_row(struct kernel_table_reader *r,
                                       struct sc__kernel_row *row) {
    enum sc__dtype t = SC__BF16;
    SC__TRY(split_line(r));
    struct sc__str cell = r->cells[DTYPE];
    if (cell.n && !sc__dtype_parse(cell, &t))
        return fail(r,
                    cell.p,
                    "one of: fp32, tf32, fp16, bf16, fp8, fp4, fp8-rowwise, fp8-block",
                    "unknown dtype",
                    cell);
    row->key.dtype = t;
    row->line = (uint32_t)r->in->line;
    if (r->gemms)
        r->cells[OP] = sc__str(sc__dtype_bytes(t) < 2 ? "linear" : "gemm");
    SC__TRY(read_operation(r, row));
    if (row->key.what >= SC__KERNEL_OP_MEMORY ||
        row->key.what == SC__KERNEL_OP_EMBEDDING_F ||
        row->key.what == SC__KERNEL_OP_EMBEDDING_B)
        row->key.dtype = sc__element_type(t);
    if (row->key.what == SC__KERNEL_OP_ELEMENTWISE ||
        row->key.what == SC__KERNEL_OP_EXCHANGE)
        row->key.dtype = 0;
    if (row->key.what == SC__KERNEL_OP_MOE && t != SC__BF16)
        return fail(r,
                    r->cells[DTYPE].p,
                    NULL,
                    "experts in one call are in bf16, not",
                    r->cells[DTYPE]);
    cell = r->cells[US];
    if (cell.n && (!sc__parse_double(cell, &row->us) || !(row->us > 0)))
        return fail(r, cell.p, NULL, "us must be a number above 0, not", cell);
    return SC_OK;
}

sc_status sc__kernel_table_parse(struct sc_context *ctx,
                                 struct sc__input *in,
                                 struct sc__kernel_table *out) {
    struct kernel_table_reader r = {.ctx = ctx, .in = in};
    bool more;
    SC__TRY(kernel_table_read_header(&r));
    for (;;) {
        SC__TRY(kernel_table_next_line(&r, &more));
        if (!more)
            return SC_OK;
        struct sc__kernel_row row = {0};
        SC__TRY(kernel_table_read_row(&r, &row));
        *SC__PUSH(&ctx->arena, out->rows, out->count, out->capacity) = row;
    }
}

sc_status sc__kernel_table_read(struct sc_context *ctx,
                                const char *path,
                                struct sc__kernel_table *out) {
    struct sc__input in;
    SC__TRY(sc__input_open(ctx, path, &in));
    sc_status status = sc__kernel_table_parse(ctx, &in, out);
    sc__input_close(&in);
    return status;
}

const char *sc__kernel_key_text(struct sc_context *ctx, const struct sc__kernel_key *key) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    for (unsigned i = 0; i < 7; i++)
        if (key->size[i] || i == 0)
            sc__printf(&b, "%s%llu", i ? "x" : "", (unsigned long long)key->size[i]);
    sc__printf(&b, " %s", sc__dtype_name(key->dtype & 0xff));
    return b.text;
}
