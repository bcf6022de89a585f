/* kernel_table: the reader. The first line that is no remark names the columns,
 * in any order; cells a kernel has no use for are empty. The public tables of
 * ai-dynamo/aiconfigurator have no column op and other names: what a row is follows
 * from the columns there are. */
#include "hardware/kernel_table.h"

#include "hardware/gpu_read.h"
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
    CHANNELS,
    WINDOW,
    SOFTWARE,
    KV_DTYPE,
    US,
    KERNEL,
    /* of the public tables */
    STEP,
    K_HEADS,
    V_HEADS,
    HEAD_K_DIM,
    HEAD_V_DIM,
    D_STATE,
    N_GROUPS,
    MOE_TP,
    DISTRIBUTION,
    /* remarks */
    GPU,
    VERSION,
    PHASE,
    NUM_TOKENS,
    D_MODEL,
    D_CONV,
    CHUNK_SIZE,
    MODEL_NAME,
    TP_SIZE,
    COLUMNS
};

static const char *const column_names[] = {"op",
                                           "dtype",
                                           "m",
                                           "n",
                                           "k",
                                           "batch",
                                           "heads",
                                           "kv_heads",
                                           "sq",
                                           "skv",
                                           "head_dim",
                                           "v_dim",
                                           "causal",
                                           "rows",
                                           "cols",
                                           "vocab",
                                           "hidden",
                                           "params",
                                           "bytes",
                                           "tokens",
                                           "topk",
                                           "experts",
                                           "sms",
                                           "inter",
                                           "ep",
                                           "exponent",
                                           "channels",
                                           "window",
                                           "software",
                                           "kv_dtype",
                                           "us",
                                           "kernel",
                                           "step",
                                           "num_k_heads",
                                           "num_v_heads",
                                           "head_k_dim",
                                           "head_v_dim",
                                           "d_state",
                                           "n_groups",
                                           "moe_tp_size",
                                           "distribution",
                                           "gpu",
                                           "version",
                                           "phase",
                                           "num_tokens",
                                           "d_model",
                                           "d_conv",
                                           "chunk_size",
                                           "model_name",
                                           "tp_size",
                                           NULL};

/* What the public tables call them. */
static const struct {
    const char *name;
    enum column column;
} public_names[] = {{"gemm_dtype", DTYPE},
                    {"attn_dtype", DTYPE},
                    {"mla_dtype", DTYPE},
                    {"moe_dtype", DTYPE},
                    {"kv_cache_dtype", KV_DTYPE},
                    {"framework", SOFTWARE},
                    {"kernel_source", KERNEL},
                    {"batch_size", BATCH},
                    {"isl", SQ},
                    {"seq_len", SQ},
                    {"num_heads", HEADS},
                    {"nheads", HEADS},
                    {"num_key_value_heads", KV_HEADS},
                    {"window_size", WINDOW},
                    {"hidden_size", HIDDEN},
                    {"inter_size", INTER},
                    {"num_experts", EXPERTS},
                    {"moe_ep_size", EP}};

enum { PUBLIC_NAMES = sizeof public_names / sizeof *public_names };

/* What a table without a column op holds. */
enum public_table {
    PUBLIC_NONE,
    PUBLIC_GEMM,
    PUBLIC_ATTENTION,
    PUBLIC_MLA,
    PUBLIC_MAMBA,
    PUBLIC_DELTA,
    PUBLIC_MOE
};

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
    {"conv", SC__KERNEL_OP_SEQUENCE, {BATCH, SQ, CHANNELS}, 3},
    {"conv_update", SC__KERNEL_OP_SEQUENCE, {BATCH, CHANNELS}, 2},
    {"gated_delta", SC__KERNEL_OP_SEQUENCE, {BATCH, SQ, HEADS}, 3},
    {"gated_delta_update", SC__KERNEL_OP_SEQUENCE, {BATCH, HEADS}, 2},
    {"scan_f",
     SC__KERNEL_OP_SCAN,
     {BATCH, SQ, HEADS, HEAD_DIM, N_GROUPS, D_STATE, CHUNK_SIZE},
     7},
    {"scan_b",
     SC__KERNEL_OP_SCAN,
     {BATCH, SQ, HEADS, HEAD_DIM, N_GROUPS, D_STATE, CHUNK_SIZE},
     7},
    {"attention_context", SC__KERNEL_OP_SERVING, {BATCH, HEADS, KV_HEADS, SQ, HEAD_DIM}, 5},
    {"attention_generation",
     SC__KERNEL_OP_SERVING,
     {BATCH, HEADS, KV_HEADS, SKV, HEAD_DIM},
     5},
    {"mla_context", SC__KERNEL_OP_SERVING, {BATCH, HEADS, HEADS, SQ}, 4},
    {"mla_generation", SC__KERNEL_OP_SERVING, {BATCH, HEADS, HEADS, SKV}, 4},
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
    enum public_table table; /* without a column op */
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

static unsigned column_named(struct sc__str name) {
    for (unsigned i = 0; i < PUBLIC_NAMES; i++)
        if (sc__str_is(name, public_names[i].name))
            return public_names[i].column;
    unsigned c = 0;
    while (c < COLUMNS && !sc__str_is(name, column_names[c]))
        c++;
    return c;
}

static enum public_table table_with(const bool seen[COLUMNS]) {
    if (seen[M] && seen[N] && seen[K])
        return PUBLIC_GEMM;
    if (seen[V_HEADS] && seen[K_HEADS] && seen[KERNEL])
        return PUBLIC_DELTA;
    if (seen[D_STATE] && seen[N_GROUPS] && seen[HEADS] && seen[KERNEL])
        return PUBLIC_MAMBA;
    if (seen[EXPERTS] && seen[TOPK] && seen[INTER])
        return PUBLIC_MOE;
    if (seen[KV_HEADS] && seen[STEP])
        return PUBLIC_ATTENTION;
    return seen[HEADS] && seen[STEP] ? PUBLIC_MLA : PUBLIC_NONE;
}

static sc_status kernel_table_read_header(struct kernel_table_reader *r) {
    bool more, seen[COLUMNS] = {false};
    struct sc__str cell;
    struct sc__str rest;
    SC__TRY(kernel_table_next_line(r, &more));
    if (!more) {
        struct sc__place place = sc__input_place(r->in, r->line, r->line.p);
        return sc__fail(r->ctx, SC_INPUT, &place, NULL, "the table is empty");
    }
    for (rest = r->line; next_cell(&rest, &cell);) {
        cell = sc__trim(cell);
        unsigned c = column_named(cell);
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
    if (!seen[OP])
        r->table = table_with(seen);
    return seen[OP] || r->table ? SC_OK
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

/* Whose kernels; TRT-LLM's where the table does not say. */
static sc_status read_software(struct kernel_table_reader *r, uint64_t *out) {
    struct sc__str cell = r->cells[SOFTWARE];
    *out = SC__SERVING_TRTLLM;
    if (!cell.n)
        return SC_OK;
    for (uint64_t i = 0; i < SC__SERVING_SOFTWARES; i++)
        if (sc__str_is(cell, sc__gpu_serving_names[i])) {
            *out = i;
            return SC_OK;
        }
    return fail(r, cell.p, "one of: trtllm, vllm, sglang", "unknown software", cell);
}

static sc_status
read_sequence(struct kernel_table_reader *r, const char *name, struct sc__kernel_key *key) {
    bool update = strstr(name, "update") != NULL;
    bool conv = !strncmp(name, "conv", 4);
    enum sc__sequence_op op = conv ? SC__SEQUENCE_CONV : SC__SEQUENCE_DELTA;
    uint64_t software;
    SC__TRY(read_software(r, &software));
    *key = sc__sequence_key(update ? op + 1 : op,
                            (enum sc__serving_software)software,
                            key->size[0],
                            update ? 1 : key->size[1],
                            update ? key->size[1] : key->size[2]);
    return SC_OK;
}

static sc_status
read_serving(struct kernel_table_reader *r, const char *name, struct sc__kernel_key *key) {
    enum sc__dtype cache = SC__BF16;
    struct sc__str cell = r->cells[KV_DTYPE];
    uint64_t phase =
        strstr(name, "generation") ? SC__SERVING_GENERATION : SC__SERVING_CONTEXT;
    uint64_t type = SC__SERVING_BF16;
    if (!strncmp(name, "mla", 3))
        phase += SC__SERVING_MLA_CONTEXT;
    if (cell.n && (!sc__dtype_parse(cell, &cache) ||
                   (cache != SC__BF16 && cache != SC__FP16 && cache != SC__FP8)))
        return fail(r, cell.p, "bf16 or fp8", "unknown type of the cache", cell);
    if (key->dtype == SC__FP8)
        type = SC__SERVING_FP8;
    else if (cache == SC__FP8)
        type = SC__SERVING_FP8_CACHE;
    if (key->size[1] % key->size[2])
        return fail(r,
                    r->cells[KV_HEADS].p,
                    NULL,
                    "heads are no multiple of kv_heads",
                    r->cells[KV_HEADS]);
    if (r->cells[WINDOW].n && !sc__str_is(r->cells[WINDOW], "0"))
        SC__TRY(read_size(r, WINDOW, &key->size[5]));
    key->size[6] = phase * SC__SERVING_TYPES + type;
    return read_software(r, &key->size[7]);
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
    case SC__KERNEL_OP_SEQUENCE:
        return read_sequence(r, o->name, key);
    case SC__KERNEL_OP_SERVING:
        return read_serving(r, o->name, key);
    case SC__KERNEL_OP_SCAN:
        key->size[7] = !strcmp(o->name, "scan_b");
        return SC_OK;
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

/* ---- public tables ---- */

static void put_cell(struct kernel_table_reader *r, enum column c, uint64_t value) {
    r->cells[c] = sc__str(sc__format(&r->ctx->arena, "%llu", (unsigned long long)value));
}

/* A size that others are multiplied by. */
static sc_status
read_factor(struct kernel_table_reader *r, enum column c, uint64_t dflt, uint64_t *out) {
    SC__TRY(read_size_or(r, c, dflt, out));
    if (*out > 1 << 20)
        return fail(r, r->cells[c].p, NULL, "more than 1048576", r->cells[c]);
    return *out ? SC_OK : read_size(r, c, out);
}

static bool kernel_starts(const struct kernel_table_reader *r, const char *with) {
    return sc__str_starts(r->cells[KERNEL], with);
}

/* A cache of `step` tokens and one more, or a prompt. */
static sc_status public_attention(struct kernel_table_reader *r, bool mla) {
    uint64_t step = 0;
    if (!sc__str_is(r->cells[STEP], "0"))
        SC__TRY(read_size(r, STEP, &step));
    if (step)
        put_cell(r, SKV, step + 1);
    if (mla)
        r->cells[OP] = sc__str(step ? "mla_generation" : "mla_context");
    else
        r->cells[OP] = sc__str(step ? "attention_generation" : "attention_context");
    return SC_OK;
}

static sc_status public_scan(struct kernel_table_reader *r) {
    bool update = kernel_starts(r, "causal_conv1d_update");
    if (update || kernel_starts(r, "causal_conv1d_fn"))
        r->cells[OP] = sc__str(update ? "conv_update" : "conv");
    else if (kernel_starts(r, "chunk_gated_delta_rule"))
        r->cells[OP] = sc__str("gated_delta");
    else if (kernel_starts(r, "fused_recurrent_gated_delta_rule"))
        r->cells[OP] = sc__str("gated_delta_update");
    else
        return fail(r,
                    r->cells[KERNEL].n ? r->cells[KERNEL].p : r->line.p,
                    "causal_conv1d_…, chunk_… or fused_recurrent_gated_delta_rule",
                    "unknown kernel_source",
                    r->cells[KERNEL]);
    return SC_OK;
}

static sc_status public_delta(struct kernel_table_reader *r) {
    uint64_t keys;
    uint64_t key_dim;
    uint64_t values;
    uint64_t value_dim;
    SC__TRY(public_scan(r));
    SC__TRY(read_factor(r, K_HEADS, 0, &keys));
    SC__TRY(read_factor(r, HEAD_K_DIM, 128, &key_dim));
    SC__TRY(read_factor(r, V_HEADS, 0, &values));
    SC__TRY(read_factor(r, HEAD_V_DIM, 128, &value_dim));
    r->cells[HEADS] = r->cells[V_HEADS];
    /* Some rows are of the convolution over the keys alone: their times do not depend on
     * the heads of values. */
    bool keys_alone =
        sc__str_is(r->cells[SOFTWARE], "trtllm") || sc__str_is(r->cells[VERSION], "0.5.10");
    put_cell(r,
             CHANNELS,
             keys * key_dim * (keys_alone ? 1 : 2) + (keys_alone ? 0 : values * value_dim));
    return SC_OK;
}

static sc_status public_mamba(struct kernel_table_reader *r) {
    uint64_t heads;
    uint64_t head_dim;
    uint64_t groups;
    uint64_t state;
    SC__TRY(public_scan(r));
    SC__TRY(read_factor(r, HEADS, 0, &heads));
    SC__TRY(read_factor(r, HEAD_DIM, 0, &head_dim));
    SC__TRY(read_factor(r, N_GROUPS, 0, &groups));
    SC__TRY(read_factor(r, D_STATE, 0, &state));
    put_cell(r, CHANNELS, heads * head_dim + 2 * groups * state);
    return SC_OK;
}

/* Nemotron 3's experts have no gate; only TRT-LLM's rows say so. */
static bool without_gate(const struct kernel_table_reader *r) {
    return sc__str_is(r->cells[TOPK], "22") || (sc__str_is(r->cells[HIDDEN], "2688") &&
                                                sc__str_starts(r->cells[KERNEL], "sglang"));
}

/* "balanced", or "power_law_1.2". */
static sc_status public_moe(struct kernel_table_reader *r) {
    static const char law[] = "power_law_";
    struct sc__str shares = r->cells[DISTRIBUTION];
    uint64_t inter;
    uint64_t tp;
    SC__TRY(read_size(r, INTER, &inter));
    SC__TRY(read_size_or(r, MOE_TP, 1, &tp));
    if (inter % tp)
        return fail(r,
                    r->cells[MOE_TP].p,
                    NULL,
                    "inter_size is no multiple of",
                    r->cells[MOE_TP]);
    put_cell(r, INTER, inter / tp);
    r->cells[TOKENS] = r->cells[NUM_TOKENS];
    if (shares.n >= sizeof law && !memcmp(shares.p, law, sizeof law - 1))
        r->cells[EXPONENT] =
            (struct sc__str){shares.p + sizeof law - 1, shares.n - (sizeof law - 1)};
    bool plain = kernel_starts(r, "moe_torch_flow_nongated") || without_gate(r);
    r->cells[OP] = sc__str(plain ? "moe_plain" : "moe");
    return SC_OK;
}

/* How ai-dynamo/aiconfigurator times linear layers (collector/trtllm/collect_gemm.py,
 * collector/vllm/collect_gemm.py): several with weights of their own, in turn, in a graph
 * that is replayed. TRT-LLM's kernels along a sequence are a graph each, replayed ten times
 * (collector/trtllm/collect_mamba2.py, collect_gdn.py). */
static void public_loop(const struct kernel_table_reader *r, struct sc__kernel_row *row) {
    enum { TRTLLM_LAYERS = 5, VLLM_LAYERS = 6 };
    bool trtllm = sc__str_is(r->cells[SOFTWARE], "trtllm");
    if (r->table == PUBLIC_MAMBA || r->table == PUBLIC_DELTA)
        row->layers = trtllm && row->key.what == SC__KERNEL_OP_SEQUENCE;
    if (r->table != PUBLIC_GEMM || row->key.what != SC__KERNEL_OP_GEMM)
        return;
    if (trtllm) {
        row->layers = TRTLLM_LAYERS;
        row->filled = !sc__str_starts(r->cells[VERSION], "1.0.");
    } else if (sc__str_is(r->cells[SOFTWARE], "vllm")) {
        enum sc__dtype t = row->key.dtype;
        row->layers = t == SC__FP8_BLOCK || t == SC__FP4 ? 1 : VLLM_LAYERS;
    }
}

static sc_status public_row(struct kernel_table_reader *r, enum sc__dtype t) {
    switch (r->table) {
    case PUBLIC_GEMM:
        r->cells[OP] = sc__str(sc__dtype_bytes(t) < 2 ? "linear" : "gemm");
        return SC_OK;
    case PUBLIC_ATTENTION:
        return public_attention(r, false);
    case PUBLIC_MLA:
        return public_attention(r, true);
    case PUBLIC_MAMBA:
        return public_mamba(r);
    case PUBLIC_DELTA:
        return public_delta(r);
    case PUBLIC_MOE:
        return public_moe(r);
    default:
        return SC_OK;
    }
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
    SC__TRY(public_row(r, t));
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
    public_loop(r, row);
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

static bool is_priced(const struct sc__gpu *gpu, const struct sc__kernel_key *key) {
    if (key->what == SC__KERNEL_OP_SEQUENCE)
        return sc__sequence_constants(gpu, key)[SC__SEQUENCE_CHUNK] > 0;
    if (key->what == SC__KERNEL_OP_SERVING)
        return sc__serving_constants(gpu, key)[0] > 0;
    if (key->what == SC__KERNEL_OP_SCAN)
        return gpu->scan[key->size[7]][SC__SCAN_FIXED] > 0;
    return key->what != SC__KERNEL_OP_MOE || gpu->moe.bw > 0;
}

sc_status sc__kernel_table_priced(struct sc_context *ctx,
                                  const char *path,
                                  const struct sc__kernel_table *table,
                                  const struct sc__gpu *gpu) {
    for (uint32_t i = 0; i < table->count; i++) {
        const struct sc__kernel_row *r = &table->rows[i];
        struct sc__place place = {.file = path, .line = r->line};
        if (!is_priced(gpu, &r->key))
            return sc__fail(ctx,
                            SC_INPUT,
                            &place,
                            "another software, or type of the cache, may be known",
                            "%s has no constants for this %s",
                            gpu->name,
                            r->op);
    }
    return SC_OK;
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
