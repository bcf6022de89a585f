/* validate_plan: one row of published steps → the options of `run`. What a
 * row's software means, what its source says elsewhere and which preset a name
 * stands for is in data/validate.json; nothing there is a constant of the
 * model. */
#include "command/validate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *cell(const struct sc__truth_row *row, enum sc__truth_column c) {
    return row->cell[c];
}

static void
set(struct sc_context *ctx, struct sc__truth_plan *p, const char *name, const char *value) {
    *SC__PUSH(&ctx->arena, p->items, p->count, p->capacity) =
        (sc_setting){sc__strdup(&ctx->arena, name), sc__strdup(&ctx->arena, value)};
}

/* "--name value --flag": words as on the command line. */
static void set_words(struct sc_context *ctx, struct sc__truth_plan *p, const char *text) {
    struct sc__str rest = sc__str(text);
    struct sc__str word;
    const char *name = NULL;
    while (sc__split(&rest, ' ', &word)) {
        if (sc__str_starts(word, "--")) {
            if (name)
                set(ctx, p, name, "");
            name = sc__strndup(&ctx->arena, word.p + 2, word.n - 2);
        } else if (name && word.n) {
            set(ctx, p, name, sc__strndup(&ctx->arena, word.p, word.n));
            name = NULL;
        }
    }
    if (name)
        set(ctx, p, name, "");
}

static bool validate_plan_holds(const struct sc__truth_row *row,
                                enum sc__truth_column c,
                                const json_t *entry,
                                const char *key) {
    const char *text = json_string_value(json_object_get(entry, key));
    return !text || strstr(cell(row, c), text);
}

/* "GB" stands for GB200 and GB300, not for B200. */
static bool begins(const struct sc__truth_row *row,
                   enum sc__truth_column c,
                   const json_t *entry,
                   const char *key) {
    const char *text = json_string_value(json_object_get(entry, key));
    return !text || !strncmp(cell(row, c), text, strlen(text));
}

static bool number_is(const struct sc__truth_row *row,
                      enum sc__truth_column c,
                      const json_t *entry,
                      const char *key) {
    const json_t *v = json_object_get(entry, key);
    uint64_t n;
    return !v || (sc__parse_u64(sc__str(cell(row, c)), &n) &&
                  (json_int_t)n == json_integer_value(v));
}

/* An entry that fills a cell holds for rows where the cell is empty. */
static bool empty_is(const struct sc__truth_row *row,
                     enum sc__truth_column c,
                     const json_t *entry,
                     const char *key) {
    return !json_object_get(entry, key) || !*cell(row, c);
}

static bool matches(const struct sc__truth_row *row, const json_t *entry) {
    return empty_is(row, SC__TRUTH_VOCAB, entry, "vocab") &&
           empty_is(row, SC__TRUTH_MICRO_BATCH, entry, "micro_batch") &&
           validate_plan_holds(row, SC__TRUTH_SOURCE, entry, "source") &&
           validate_plan_holds(row, SC__TRUTH_NOTES, entry, "notes") &&
           validate_plan_holds(row, SC__TRUTH_MODEL, entry, "model") &&
           validate_plan_holds(row, SC__TRUTH_PRECISION, entry, "precision") &&
           number_is(row, SC__TRUTH_LAYERS, entry, "layers") &&
           number_is(row, SC__TRUTH_HIDDEN, entry, "hidden") &&
           number_is(row, SC__TRUTH_TP, entry, "tp") &&
           begins(row, SC__TRUTH_GPU, entry, "gpu");
}

/* "{pp}" in an entry's options is the row's number of stages. */
static const char *
fill_in(struct sc_context *ctx, const struct sc__truth_row *row, const char *text) {
    const char *at = strstr(text, "{pp}");
    if (!at)
        return text;
    return sc__format(&ctx->arena,
                      "%.*s%s%s",
                      (int)(at - text),
                      text,
                      cell(row, SC__TRUTH_PP),
                      at + 4);
}

static void apply_list(struct sc_context *ctx,
                       const struct sc__truth_row *row,
                       const json_t *list,
                       struct sc__truth_plan *p) {
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry) {
        const char *options = json_string_value(json_object_get(entry, "options"));
        const char *cluster = json_string_value(json_object_get(entry, "cluster"));
        if (!matches(row, entry))
            continue;
        if (options)
            set_words(ctx, p, fill_in(ctx, row, options));
        if (cluster)
            p->cluster_words = sc__strdup(&ctx->arena, cluster);
    }
}

/* An empty cell is not said; one that is no count (tables have "3.0" too) ends the
 * row: a default in its place would be a forecast of something else. */
static void copy_number(struct sc_context *ctx,
                        const struct sc__truth_row *row,
                        enum sc__truth_column c,
                        const char *option,
                        struct sc__truth_plan *p) {
    double v;
    if (!*cell(row, c))
        return;
    if (sc__parse_double(sc__str(cell(row, c)), &v) && v >= 1 && v == floor(v))
        set(ctx, p, option, sc__format(&ctx->arena, "%.0f", v));
    else
        p->skip = sc__format(&ctx->arena,
                             "%s: '%s' is not a whole number, 1 or more",
                             sc__truth_column_name(c),
                             cell(row, c));
}

static const char *const dimension_flags[][2] = {{"num-layers", "layers"},
                                                 {"hidden-size", "hidden"},
                                                 {"num-attention-heads", "heads"},
                                                 {NULL, NULL}};

static void set_model(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      const json_t *root,
                      struct sc__truth_plan *p) {
    const char *preset = json_string_value(
        json_object_get(json_object_get(root, "models"), cell(row, SC__TRUTH_MODEL)));
    static const enum sc__truth_column from[] = {SC__TRUTH_LAYERS,
                                                 SC__TRUTH_HIDDEN,
                                                 SC__TRUTH_HEADS};
    if (preset) {
        set(ctx, p, "model", preset);
        return;
    }
    for (unsigned i = 0; dimension_flags[i][0]; i++) {
        if (!*cell(row, from[i]))
            p->skip =
                sc__format(&ctx->arena, "the %s are not known", dimension_flags[i][1]);
        copy_number(ctx, row, from[i], dimension_flags[i][0], p);
    }
    copy_number(ctx, row, SC__TRUTH_KV_HEADS, "num-query-groups", p);
    copy_number(ctx, row, SC__TRUTH_FFN, "ffn-hidden-size", p);
    copy_number(ctx, row, SC__TRUTH_VOCAB, "vocab-size", p);
    apply_list(ctx, row, json_object_get(root, "families"), p);
}

/* "4", or "1 layer/chunk" with the ends one layer short. */
static void
set_vpp(struct sc_context *ctx, const struct sc__truth_row *row, struct sc__truth_plan *p) {
    uint64_t layers = 0;
    uint64_t pp = 0;
    if (strcmp(cell(row, SC__TRUTH_VPP), "1 layer/chunk")) {
        copy_number(ctx, row, SC__TRUTH_VPP, "vpp", p);
        return;
    }
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_LAYERS)), &layers);
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_PP)), &pp);
    if (pp)
        set(ctx,
            p,
            "vpp",
            sc__format(&ctx->arena, "%u", (unsigned)((layers + pp - 1) / pp)));
}

static void set_plan(struct sc_context *ctx,
                     const struct sc__truth_row *row,
                     struct sc__truth_plan *p) {
    copy_number(ctx, row, SC__TRUTH_GPUS, "gpus", p);
    copy_number(ctx, row, SC__TRUTH_TP, "tp", p);
    copy_number(ctx, row, SC__TRUTH_PP, "pp", p);
    copy_number(ctx, row, SC__TRUTH_DP, "dp", p);
    copy_number(ctx, row, SC__TRUTH_CP, "cp", p);
    copy_number(ctx, row, SC__TRUTH_EP, "ep", p);
    if (atoi(*cell(row, SC__TRUTH_EP) ? cell(row, SC__TRUTH_EP) : "0") > 1)
        set(ctx, p, "etp", "1");
    set_vpp(ctx, row, p);
    copy_number(ctx, row, SC__TRUTH_SEQ, "seq", p);
    copy_number(ctx, row, SC__TRUTH_MICRO_BATCH, "micro-batch", p);
    copy_number(ctx, row, SC__TRUTH_GLOBAL_BATCH, "global-batch", p);
    if (!strcmp(cell(row, SC__TRUTH_SP), "yes"))
        set(ctx, p, "sequence-parallel", "");
    set(ctx, p, "uneven-stages", ""); /* it ran, so its layers found their stages */
    set(ctx, p, "by-tuner", "");      /* measured runs used what NCCL's cost table chose */
    set(ctx, p, "ignore-memory", "");
}

static void set_training(struct sc_context *ctx,
                         const struct sc__truth_row *row,
                         struct sc__truth_plan *p) {
    const char *precision = cell(row, SC__TRUTH_PRECISION);
    const char *again = cell(row, SC__TRUTH_RECOMPUTE);
    const char *zero = cell(row, SC__TRUTH_ZERO);
    set(ctx, p, "dtype", strstr(precision, "fp16") ? "fp16" : "bf16");
    if (strstr(precision, "fp8") && !strstr(precision, "rowwise"))
        set(ctx, p, "fp8", ""); /* row-wise: see data/validate.json */
    if (strstr(precision, "fp4"))
        set(ctx, p, "fp4", "");
    if (!strcmp(again, "full"))
        set(ctx, p, "recompute", "full");
    else if (!strncmp(again, "selective AC", 12))
        set(ctx, p, "recompute", "ops");
    else if (!strncmp(again, "selective", 9))
        set(ctx, p, "recompute", "selective");
    if (strstr(again, "norm, act"))
        set(ctx, p, "recompute-modules", "layernorm,act");
    if (strstr(again, "layernorm moe"))
        set(ctx, p, "recompute-modules", "layernorm,moe");
    if (strstr(zero, "SHARD_GRAD_OP"))
        set(ctx, p, "zero", "2");
    else if (strstr(zero, "FSDP"))
        set(ctx, p, "zero", "3");
    else if (strstr(zero, "dist-opt"))
        set(ctx, p, "zero", "1");
}

/* Tables add words to the name of a GPU: the longest name that begins it counts. */
static const json_t *find_gpu(const json_t *gpus, const char *name) {
    const json_t *best = NULL;
    size_t most = 0;
    const char *key;
    json_t *entry;
    json_object_foreach((json_t *)gpus, key, entry) {
        size_t n = strlen(key);
        if (n <= most || strncmp(name, key, n))
            continue;
        most = n;
        best = entry;
    }
    return best;
}

/* Tensor-parallel collectives in chunks come with sequence parallelism, said or not. */
static void imply_sequence_parallel(struct sc_context *ctx, struct sc__truth_plan *p) {
    struct sc__settings s = sc__truth_settings(ctx, p);
    const char *overlap = sc__setting(&s, "overlap-tp");
    const char *tp = sc__setting(&s, "tp");
    if (overlap && !strcmp(overlap, "chunks") && tp && atoi(tp) > 1 &&
        !sc__setting(&s, "sequence-parallel"))
        set(ctx, p, "sequence-parallel", "");
}

static void set_machine(struct sc_context *ctx,
                        const struct sc__truth_row *row,
                        const json_t *root,
                        struct sc__truth_plan *p) {
    const json_t *entry = find_gpu(json_object_get(root, "gpus"), cell(row, SC__TRUTH_GPU));
    const char *gpu = json_string_value(json_object_get(entry, "gpu"));
    const char *cluster = json_string_value(json_object_get(entry, "cluster"));
    if (!gpu || !cluster) {
        p->skip = sc__format(&ctx->arena,
                             "the GPU \"%s\" is not described",
                             cell(row, SC__TRUTH_GPU));
        return;
    }
    int gpus = atoi(cell(row, SC__TRUTH_GPUS));
    set(ctx, p, "gpu", gpu);
    p->cluster = sc__format(&ctx->arena, "%s:%d", cluster, gpus);
    if (strstr(cluster, "nvl72") && gpus > 64)
        p->cluster = sc__format(&ctx->arena, "%s node=64", p->cluster);
    if (p->cluster_words)
        p->cluster = sc__format(&ctx->arena, "%s %s", p->cluster, p->cluster_words);
    else if (*cell(row, SC__TRUTH_NIC))
        p->cluster =
            sc__format(&ctx->arena, "%s nic=%sGbps", p->cluster, cell(row, SC__TRUTH_NIC));
}

static void find_skip(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      const json_t *root,
                      struct sc__truth_plan *p) {
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(root, "skip"), i, entry) {
        if (matches(row, entry))
            p->skip =
                sc__strdup(&ctx->arena, json_string_value(json_object_get(entry, "why")));
    }
    if (!row->measured_is_number)
        p->skip = sc__format(&ctx->arena,
                             "%s: '%s' is not a number",
                             sc__truth_column_name(SC__TRUTH_SECONDS),
                             cell(row, SC__TRUTH_SECONDS));
    else if (row->measured <= 0)
        p->skip = "no time per step is published";
    else if (!*cell(row, SC__TRUTH_SEQ) || !*cell(row, SC__TRUTH_GLOBAL_BATCH))
        p->skip = "the batch or sequence is not known";
}

sc_status sc__truth_plan(struct sc_context *ctx,
                         const struct sc__truth_row *row,
                         struct sc__truth_plan *p) {
    const struct sc__data_file *file = sc__data_find("validate.json");
    json_error_t error;
    *p = (struct sc__truth_plan){0};
    json_t *root =
        file ? json_loadb((const char *)file->bytes, file->size, 0, &error) : NULL;
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/validate.json was not built in, or is damaged");
    find_skip(ctx, row, root, p);
    if (!p->skip) {
        set_model(ctx, row, root, p);
        set_plan(ctx, row, p);
        set_training(ctx, row, p);
        apply_list(ctx, row, json_object_get(root, "software"), p);
        apply_list(ctx, row, json_object_get(root, "complete"), p);
        imply_sequence_parallel(ctx, p);
        set_machine(ctx, row, root, p);
    }
    json_decref(root);
    return SC_OK;
}

static const char *validate_plan_nth(const void *self, const char *name, unsigned i) {
    const struct sc__truth_plan *p = self;
    for (uint32_t k = 0; k < p->count; k++)
        if (!strcmp(p->items[k].name, name) && i-- == 0)
            return p->items[k].value;
    return NULL;
}

struct sc__settings sc__truth_settings(struct sc_context *ctx,
                                       const struct sc__truth_plan *plan) {
    return (struct sc__settings){.nth = validate_plan_nth, .self = plan, .ctx = ctx};
}

const char *sc__truth_command(struct sc_context *ctx, const struct sc__truth_plan *p) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    sc__puts(&b, "stepcast run");
    for (uint32_t i = 0; i < p->count; i++)
        sc__printf(&b,
                   " --%s%s%s",
                   p->items[i].name,
                   *p->items[i].value ? " " : "",
                   p->items[i].value);
    if (p->cluster)
        sc__printf(&b, " --cluster '%s'", p->cluster);
    return b.text;
}
