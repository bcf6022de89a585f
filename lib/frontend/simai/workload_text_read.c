/* workload text: the layer workloads of SimAI, AICB and ASTRA-sim 1.
 *
 *   POLICY key: value key: value …        header, keys in any order
 *   557                                   number of rows
 *   name -1 fwd COLL bytes ig COLL bytes wg COLL bytes process [POLICY]
 *
 * One row a line, blanks and tabs alike. Stricter than the tools it comes
 * from: whatever they would read wrongly in silence is an error with its
 * place. */
#include "frontend/reader.h"

#include <string.h>

#define MAX_TOKENS 4096
#define MOST_NS ((int64_t)1000000000000000) /* a row of more than 11 days is a mistake */
#define MOST_BYTES ((uint64_t)1 << 60)

static const char *const policies[] = {"DATA",
                                       "MODEL",
                                       "HYBRID_DATA_MODEL",
                                       "HYBRID_MODEL_DATA",
                                       "HYBRID_TRANSFORMER",
                                       "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                                       "HYBRID_DLRM",
                                       "HYBRID_DLRM_ENHANCED",
                                       "HYBRID_CUSTOMIZED",
                                       "MICRO",
                                       "DISTRIBUTED_INFERENCE",
                                       NULL};

static const char *const collectives[] = {"NONE",
                                          "ALLREDUCE",
                                          "ALLGATHER",
                                          "REDUCESCATTER",
                                          "ALLTOALL",
                                          "ALLREDUCEALLTOALL",
                                          "BROADCAST",
                                          NULL};

struct workload_text_read_reading {
    struct sc_context *ctx;
    struct sc__input in;
    struct sc__str line;
    struct sc__str token[MAX_TOKENS];
    uint32_t tokens;
    struct sc__layers *out;
    struct sc__arena *arena;
    int64_t unit; /* ps per unit of time */
    uint32_t *checkpoint;
    uint32_t *initiate;
    uint32_t checkpoints;
    uint32_t initiates;
    bool seen[16];
    struct sc__names names;
};

static bool workload_text_read_blank(char c) {
    return c == ' ' || c == '\t';
}

static sc_status fail_at(struct workload_text_read_reading *r,
                         const char *at,
                         const char *hint,
                         const char *what) {
    struct sc__place place = sc__input_place(&r->in, r->line, at);
    return sc__fail(r->ctx, SC_INPUT, &place, hint, "%s", what);
}

static sc_status split_line(struct workload_text_read_reading *r) {
    const char *p = r->line.p;
    const char *end = p + r->line.n;
    r->tokens = 0;
    for (;;) {
        while (p < end && workload_text_read_blank(*p))
            p++;
        if (p == end)
            return SC_OK;
        const char *from = p;
        while (p < end && !workload_text_read_blank(*p))
            p++;
        if (r->tokens == MAX_TOKENS)
            return fail_at(r, from, NULL, "more than 4096 words in a line");
        r->token[r->tokens++] = (struct sc__str){from, (size_t)(p - from)};
    }
}

static sc_status workload_text_read_next_line(struct workload_text_read_reading *r,
                                              bool *more) {
    SC__TRY(sc__input_line(&r->in, &r->line, more));
    if (!*more)
        return SC_OK;
    return split_line(r);
}

static const char *near_word(struct workload_text_read_reading *r,
                             struct sc__str word,
                             const char *const *words) {
    const char *near =
        sc__nearest(sc__strndup(&r->ctx->arena, word.p, word.n < 60 ? word.n : 60), words);
    return near ? sc__format(&r->ctx->arena, "did you mean %s?", near) : NULL;
}

/* ---- header ---- */

enum {
    KEY_TP,
    KEY_EP,
    KEY_PP,
    KEY_VPP,
    KEY_GA,
    KEY_GPUS,
    KEY_PP_COMM,
    KEY_CHECKPOINTS,
    KEY_INITIATES,
    KEY_DLRM,
    KEY_MODE,
    KEYS
};

static const char *const keys[] = {"model_parallel_NPU_group",
                                   "ep",
                                   "pp",
                                   "vpp",
                                   "ga",
                                   "all_gpus",
                                   "pp_comm",
                                   "checkpoints",
                                   "checkpoint_initiates",
                                   "DLRM_LAST_BOTTOM_LAYER",
                                   "mode",
                                   NULL};

static sc_status take_size(struct workload_text_read_reading *r,
                           struct sc__str value,
                           const char *name,
                           uint32_t *out) {
    if (sc__parse_u32(value, out) && *out > 0)
        return SC_OK;
    return fail_at(r,
                   value.p,
                   "a whole number, 1 or more",
                   sc__format(&r->ctx->arena, "%s is '%.*s'", name, SC__SHOW(value)));
}

static sc_status take_pp_comm(struct workload_text_read_reading *r, struct sc__str value) {
    if (!sc__parse_double(value, &r->out->pp_comm) || r->out->pp_comm < 0 ||
        r->out->pp_comm > (double)MOST_BYTES)
        return fail_at(r,
                       value.p,
                       "bytes of one message between stages",
                       sc__format(&r->ctx->arena, "pp_comm is '%.*s'", SC__SHOW(value)));
    r->out->has_pp_comm = true;
    return SC_OK;
}

/* N l1 … lN */
static sc_status take_list(struct workload_text_read_reading *r,
                           uint32_t *i,
                           const char *name,
                           uint32_t **list,
                           uint32_t *count) {
    uint32_t n;
    struct sc__str value = r->token[*i];
    if (!sc__parse_u32(value, &n) || n > r->tokens - *i - 1)
        return fail_at(
            r,
            value.p,
            "write the number of rows, then the rows",
            sc__format(&r->ctx->arena, "%s: bad list '%.*s …'", name, SC__SHOW(value)));
    *list = SC__NEW_ARRAY(r->arena, uint32_t, n);
    for (uint32_t k = 0; k < n; k++) {
        value = r->token[++*i];
        if (!sc__parse_u32(value, &(*list)[k]))
            return fail_at(r,
                           value.p,
                           "a row number, counted from 0",
                           sc__format(&r->ctx->arena, "%s: '%.*s'", name, SC__SHOW(value)));
    }
    *count = n;
    return SC_OK;
}

/* 1, as AICB writes it: rows of inference. */
static sc_status take_mode(struct workload_text_read_reading *r, struct sc__str value) {
    uint32_t mode;
    if (!sc__parse_u32(value, &mode) || mode > 1)
        return fail_at(r,
                       value.p,
                       "0: training, 1: inference, forward alone",
                       sc__format(&r->ctx->arena, "mode is '%.*s'", SC__SHOW(value)));
    r->out->inference = mode;
    return SC_OK;
}

static sc_status
take_value(struct workload_text_read_reading *r, unsigned key, uint32_t *i) {
    struct sc__layers *l = r->out;
    struct sc__str value = r->token[*i];
    uint32_t ignored;
    switch (key) {
    case KEY_TP:
        return take_size(r, value, keys[key], &l->tp);
    case KEY_EP:
        return take_size(r, value, keys[key], &l->ep);
    case KEY_PP:
        return take_size(r, value, keys[key], &l->pp);
    case KEY_VPP:
        l->has_vpp = true;
        return take_size(r, value, keys[key], &l->vpp);
    case KEY_GA:
        return take_size(r, value, keys[key], &l->ga);
    case KEY_GPUS:
        return take_size(r, value, keys[key], &l->gpus);
    case KEY_PP_COMM:
        return take_pp_comm(r, value);
    case KEY_MODE:
        return take_mode(r, value);
    case KEY_CHECKPOINTS:
        return take_list(r, i, keys[key], &r->checkpoint, &r->checkpoints);
    case KEY_INITIATES:
        return take_list(r, i, keys[key], &r->initiate, &r->initiates);
    default:
        sc__note(r->ctx,
                 "dlrm-bottom",
                 "DLRM_LAST_BOTTOM_LAYER is not needed: rows run in file order");
        return take_size(r, value, keys[key], &ignored);
    }
}

/* "key:", "key" before a value, or "key:value" in one word. */
static sc_status take_key(struct workload_text_read_reading *r, uint32_t *i) {
    struct sc__str word = r->token[*i];
    struct sc__str name = word;
    const char *colon = memchr(word.p, ':', word.n);
    unsigned key = 0;
    if (colon)
        name.n = (size_t)(colon - word.p);
    while (keys[key] && !sc__str_is(name, keys[key]))
        key++;
    if (!keys[key])
        return fail_at(
            r,
            word.p,
            near_word(r, name, keys),
            sc__format(&r->ctx->arena, "unknown key '%.*s' in the header", SC__SHOW(name)));
    if (r->seen[key])
        return fail_at(r,
                       word.p,
                       NULL,
                       sc__format(&r->ctx->arena, "%s is given twice", keys[key]));
    r->seen[key] = true;
    if (colon && colon + 1 < word.p + word.n) {
        r->token[*i] = (struct sc__str){colon + 1, word.n - name.n - 1};
        return take_value(r, key, i);
    }
    if (++*i == r->tokens)
        return fail_at(r,
                       word.p,
                       NULL,
                       sc__format(&r->ctx->arena, "%s has no value", keys[key]));
    return take_value(r, key, i);
}

static sc_status check_policy(struct workload_text_read_reading *r, struct sc__str word) {
    for (unsigned i = 0; policies[i]; i++)
        if (sc__str_is(word, policies[i]))
            return SC_OK;
    const char *near = near_word(r, word, policies);
    return fail_at(
        r,
        word.p,
        near ? near : "rows name their collectives, so that DATA would do",
        sc__format(&r->ctx->arena, "unknown parallelism policy '%.*s'", SC__SHOW(word)));
}

static sc_status workload_text_read_read_header(struct workload_text_read_reading *r) {
    bool more;
    SC__TRY(workload_text_read_next_line(r, &more));
    struct sc__place place = {.file = r->in.name};
    if (!more)
        return sc__fail(r->ctx, SC_INPUT, &place, NULL, "the file is empty");
    if (!r->tokens)
        return fail_at(r, r->line.p, NULL, "the header line is empty");
    SC__TRY(check_policy(r, r->token[0]));
    r->out->policy = sc__strndup(r->arena, r->token[0].p, r->token[0].n);
    uint32_t first = 1;
    /* HYBRID_DLRM 4: ASTRA-sim's own files write the last bottom layer so */
    bool bare = r->tokens > 1 && !strncmp(r->out->policy, "HYBRID_DLRM", 11) &&
                r->token[1].n && r->token[1].p[0] >= '0' && r->token[1].p[0] <= '9';
    if (bare) {
        SC__TRY(take_value(r, KEY_DLRM, &first));
        first++;
    }
    for (uint32_t i = first; i < r->tokens; i++)
        SC__TRY(take_key(r, &i));
    if (!r->out->tp && !strncmp(r->out->policy, "HYBRID_TRANSFORMER", 18))
        return fail_at(r,
                       r->line.p,
                       "add model_parallel_NPU_group: N (the tensor-parallel size)",
                       "the header does not say the tensor-parallel size");
    return SC_OK;
}

static sc_status read_count(struct workload_text_read_reading *r, uint64_t *count) {
    bool more;
    SC__TRY(workload_text_read_next_line(r, &more));
    if (!more || !r->tokens)
        return fail_at(r,
                       r->line.p,
                       "the second line is the number of rows",
                       "the number of rows is missing");
    if (r->tokens > 1 || !sc__parse_u64(r->token[0], count))
        return fail_at(r,
                       r->token[0].p,
                       "the second line is the number of rows, a whole number",
                       sc__format(&r->ctx->arena,
                                  "'%.*s' is not a number of rows",
                                  SC__SHOW(r->line)));
    if (!*count)
        return fail_at(r, r->token[0].p, NULL, "a workload of 0 rows");
    return SC_OK;
}

/* ---- rows ---- */

static sc_status take_time(struct workload_text_read_reading *r,
                           struct sc__str word,
                           const char *what,
                           int64_t *ps) {
    int64_t v;
    if (!sc__parse_i64(word, &v))
        return fail_at(r,
                       word.p,
                       "times are whole numbers",
                       sc__format(&r->ctx->arena,
                                  "%s '%.*s' is not a whole number",
                                  what,
                                  SC__SHOW(word)));
    if (v < 0 || v > MOST_NS / (r->unit / SC__PS_PER_NS))
        return fail_at(r,
                       word.p,
                       NULL,
                       sc__format(&r->ctx->arena,
                                  "%s %lld is %s",
                                  what,
                                  (long long)v,
                                  v < 0 ? "negative" : "more than 11 days"));
    *ps = v * r->unit;
    return SC_OK;
}

static sc_status
take_bytes(struct workload_text_read_reading *r, struct sc__str word, uint64_t *bytes) {
    if (word.n && word.p[0] == '-')
        return fail_at(r,
                       word.p,
                       NULL,
                       sc__format(&r->ctx->arena, "size %.*s is negative", SC__SHOW(word)));
    if (!sc__parse_u64(word, bytes))
        return fail_at(r,
                       word.p,
                       "sizes are whole numbers of bytes",
                       sc__format(&r->ctx->arena,
                                  "size '%.*s' is not a whole number",
                                  SC__SHOW(word)));
    if (*bytes > MOST_BYTES)
        return fail_at(r, word.p, NULL, "a message of more than 2^60 bytes");
    return SC_OK;
}

static sc_status take_collective(struct workload_text_read_reading *r,
                                 struct sc__str word,
                                 struct sc__row_part *part) {
    struct sc__str base = word;
    if (sc__str_ends(base, "_DP_EP")) {
        base.n -= 6;
        part->suffix = SC__SUFFIX_DP_EP;
    } else if (sc__str_ends(base, "_EP")) {
        base.n -= 3;
        part->suffix = SC__SUFFIX_EP;
    }
    for (uint8_t i = 0; collectives[i]; i++)
        if (sc__str_is(base, collectives[i])) {
            part->coll = i; /* the list is in the order of enum sc__row_coll */
            return SC_OK;
        }
    return fail_at(r,
                   word.p,
                   near_word(r, base, collectives),
                   sc__format(&r->ctx->arena, "unknown collective '%.*s'", SC__SHOW(word)));
}

static sc_status check_row_length(struct workload_text_read_reading *r) {
    uint32_t want = strcmp(r->out->policy, "HYBRID_CUSTOMIZED") ? 12 : 13;
    if (r->tokens == want)
        return SC_OK;
    const char *hint = r->tokens > want ? "a blank in the name, or two rows on one line?"
                                        : "the line is cut";
    struct sc__str last = r->token[r->tokens > want ? want : r->tokens - 1];
    return fail_at(r,
                   last.p,
                   hint,
                   sc__format(&r->ctx->arena,
                              "a row has %u words, this line has %u",
                              want,
                              r->tokens));
}

static sc_status workload_text_read_read_row(struct workload_text_read_reading *r) {
    static const char *const what[SC__PARTS] = {"forward time",
                                                "input-gradient time",
                                                "weight-gradient time"};
    int64_t dependency;
    SC__TRY(check_row_length(r));
    if (!sc__parse_i64(r->token[1], &dependency))
        return fail_at(r,
                       r->token[1].p,
                       "the second word is a whole number, usually -1",
                       sc__format(&r->ctx->arena,
                                  "dependency '%.*s' is not a number",
                                  SC__SHOW(r->token[1])));
    if (dependency != -1)
        sc__note(r->ctx,
                 "row-dependency",
                 "%s: row dependencies other than -1 are ignored, as SimAI does",
                 r->in.name);
    struct sc__row *row = SC__PUSH(r->arena, r->out->rows, r->out->count, r->out->capacity);
    uint32_t name = sc__names_add(&r->names, r->token[0].p, r->token[0].n);
    row->name = r->names.text[name];
    row->line = (uint32_t)r->in.line;
    row->recompute_from = SC__NONE;
    for (unsigned k = 0; k < SC__PARTS; k++) {
        struct sc__row_part *part = &row->part[k];
        SC__TRY(take_time(r, r->token[2 + 3 * k], what[k], &part->compute));
        SC__TRY(take_collective(r, r->token[3 + 3 * k], part));
        SC__TRY(take_bytes(r, r->token[4 + 3 * k], &part->bytes));
    }
    SC__TRY(take_time(r, r->token[11], "process time", &row->process));
    return r->tokens == 13 ? check_policy(r, r->token[12]) : SC_OK;
}

static sc_status workload_text_read_read_rows(struct workload_text_read_reading *r,
                                              uint64_t count) {
    bool more;
    for (;;) {
        SC__TRY(workload_text_read_next_line(r, &more));
        if (!more)
            break;
        if (!r->tokens)
            continue;
        if (r->out->count == count)
            return fail_at(r,
                           r->token[0].p,
                           "correct the number of rows in line 2",
                           sc__format(&r->ctx->arena,
                                      "more rows than the %llu announced",
                                      (unsigned long long)count));
        SC__TRY(workload_text_read_read_row(r));
    }
    if (r->out->count == count)
        return SC_OK;
    struct sc__place place = {.file = r->in.name, .line = r->in.line, .column = 1};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &place,
                    "the file is truncated, or the number of rows in line 2 is wrong",
                    "the file ends after %u of %llu rows",
                    r->out->count,
                    (unsigned long long)count);
}

/* ---- recomputation ---- */

/* At a row of checkpoint_initiates backward first runs the forward of all rows
 * from the last checkpoint up to it again. */
static sc_status mark_recompute(struct workload_text_read_reading *r) {
    struct sc__place place = {.file = r->in.name, .line = 1, .column = 1};
    for (uint32_t k = 0; k < r->checkpoints; k++)
        if (r->checkpoint[k] >= r->out->count)
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &place,
                            "row numbers count from 0",
                            "checkpoints names row %u, but there are %u rows",
                            r->checkpoint[k],
                            r->out->count);
    for (uint32_t i = 0; i < r->initiates; i++) {
        uint32_t at = r->initiate[i];
        uint32_t from = SC__NONE;
        for (uint32_t k = 0; k < r->checkpoints; k++)
            if (r->checkpoint[k] <= at && (from == SC__NONE || r->checkpoint[k] > from))
                from = r->checkpoint[k];
        if (at >= r->out->count || from == SC__NONE)
            return sc__fail(
                r->ctx,
                SC_INPUT,
                &place,
                "row numbers count from 0; each needs a checkpoint at or before it",
                "checkpoint_initiates names row %u, which %s",
                at,
                at >= r->out->count ? "does not exist" : "no checkpoint precedes");
        r->out->rows[at].recompute_from = from;
    }
    return SC_OK;
}

static sc_status time_unit(struct workload_text_read_reading *r,
                           const struct sc__settings *settings) {
    static const char *const words[] = {"ns", "us", NULL};
    unsigned unit = 0;
    SC__TRY(sc__setting_word(settings, "time-unit", words, &unit));
    r->unit = unit ? SC__PS_PER_US : SC__PS_PER_NS;
    return SC_OK;
}

static sc_status read_stream(struct workload_text_read_reading *r) {
    uint64_t count;
    SC__TRY(workload_text_read_read_header(r));
    SC__TRY(read_count(r, &count));
    SC__TRY(workload_text_read_read_rows(r, count));
    return mark_recompute(r);
}

static sc_status read(struct sc_context *ctx,
                      const struct sc__settings *settings,
                      const char *const *paths,
                      uint32_t count,
                      struct sc__document *out) {
    (void)count;
    struct workload_text_read_reading *r =
        SC__NEW(&ctx->arena, struct workload_text_read_reading);
    r->ctx = ctx;
    r->arena = &ctx->arena;
    r->out = SC__NEW(&ctx->arena, struct sc__layers);
    sc__names_init(&r->names, &ctx->arena);
    SC__TRY(time_unit(r, settings));
    SC__TRY(sc__input_open(ctx, paths[0], &r->in));
    r->out->file = r->in.name;
    r->out->format = "workload-text";
    sc_status status = read_stream(r);
    sc__input_close(&r->in);
    out->layers = r->out;
    return status;
}

/* A policy that is not known: capitals, the number of rows below it, a row of collectives.
 */
static bool looks_like_rows(struct sc__str text) {
    struct sc__str policy;
    struct sc__str count;
    struct sc__str row;
    uint64_t rows;
    if (!sc__split(&text, '\n', &policy) || !sc__split(&text, '\n', &count) ||
        !sc__split(&text, '\n', &row))
        return false;
    return sc__parse_u64(sc__trim(count), &rows) &&
           (sc__find_word(row.p, row.n, "NONE") ||
            sc__find_word(row.p, row.n, "ALLREDUCE"));
}

static int workload_text_read_detect(const unsigned char *head,
                                     size_t n,
                                     const char *path,
                                     bool directory) {
    (void)path;
    size_t i = n >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    size_t from = i;
    /* LLMServingSim's rows have places of tensors and other columns */
    if (directory || (n && sc__find_word(head, n, "weight_loc")))
        return 0;
    while (i < n && ((head[i] >= 'A' && head[i] <= 'Z') || head[i] == '_'))
        i++;
    struct sc__str word = {(const char *)head + from, i - from};
    for (unsigned k = 0; policies[k]; k++)
        if (sc__str_is(word, policies[k]))
            return 100;
    const char *line_end = n ? memchr(head, '\n', n) : NULL;
    size_t line = line_end ? (size_t)(line_end - (const char *)head) : n;
    if (word.n && looks_like_rows((struct sc__str){(const char *)head + from, n - from}))
        return 50;
    return n && sc__find_word(head, line, "model_parallel_NPU_group") ? 60 : 0;
}

static const struct sc__option options[] = {
    {"time-unit",
     0,
     "ns|us",
     "ns",
     "Workload text",
     "unit of the times in the file (ASTRA-sim 2's converter: us)",
     0},
    {0}};

const struct sc__reader sc__reader_workload_text = {
    .name = "workload-text",
    .title = "layer workload (SimAI, AICB, ASTRA-sim 1)",
    .detect = workload_text_read_detect,
    .read = read,
    .options = options};
