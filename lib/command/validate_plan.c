/* validate_plan: one row of published steps → the options of `run`. Which profile
 * a source ran, what it says outside its table, what words mean and which preset
 * a name stands for is in data/validate.json; nothing there is a constant of the
 * model. */
#include "command/validate.h"

#include "model/read.h"
#include "plan/software.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *cell(const struct sc__truth_row *row, enum sc__truth_column c) {
    return row->cell[c];
}

void sc__truth_set(struct sc_context *ctx,
                   struct sc__truth_plan *p,
                   const char *name,
                   const char *value) {
    *SC__PUSH(&ctx->arena, p->items, p->count, p->capacity) =
        (sc_setting){sc__strdup(&ctx->arena, name), sc__strdup(&ctx->arena, value)};
}

/* "--name value --flag": words as on the command line. */
void sc__truth_words(struct sc_context *ctx, struct sc__truth_plan *p, const char *text) {
    struct sc__str rest = sc__str(text);
    struct sc__str word;
    const char *name = NULL;
    while (sc__split(&rest, ' ', &word)) {
        if (sc__str_starts(word, "--")) {
            if (name)
                sc__truth_set(ctx, p, name, "");
            name = sc__strndup(&ctx->arena, word.p + 2, word.n - 2);
        } else if (name && word.n) {
            sc__truth_set(ctx, p, name, sc__strndup(&ctx->arena, word.p, word.n));
            name = NULL;
        }
    }
    if (name)
        sc__truth_set(ctx, p, name, "");
}

static bool validate_plan_holds(const struct sc__truth_row *row,
                                enum sc__truth_column c,
                                const json_t *entry,
                                const char *key) {
    const char *text = json_string_value(json_object_get(entry, key));
    return !text || sc__str_find_any_case(sc__str(cell(row, c)), text);
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

/* A source within one that an entry holds for, which it does not hold for. */
static bool is_excepted(const struct sc__truth_row *row, const json_t *entry) {
    return json_object_get(entry, "but_source") &&
           validate_plan_holds(row, SC__TRUTH_SOURCE, entry, "but_source");
}

static bool matches(const struct sc__truth_row *row, const json_t *entry) {
    return !is_excepted(row, entry) && empty_is(row, SC__TRUTH_VOCAB, entry, "vocab") &&
           empty_is(row, SC__TRUTH_VPP, entry, "vpp") &&
           empty_is(row, SC__TRUTH_MICRO_BATCH, entry, "micro_batch") &&
           empty_is(row, SC__TRUTH_RECOMPUTE, entry, "recompute") &&
           validate_plan_holds(row, SC__TRUTH_SOURCE, entry, "source") &&
           validate_plan_holds(row, SC__TRUTH_NOTES, entry, "notes") &&
           validate_plan_holds(row, SC__TRUTH_MODEL, entry, "model") &&
           validate_plan_holds(row, SC__TRUTH_PRECISION, entry, "precision") &&
           validate_plan_holds(row, SC__TRUTH_ZERO, entry, "zero_distopt") &&
           number_is(row, SC__TRUTH_LAYERS, entry, "layers") &&
           number_is(row, SC__TRUTH_HIDDEN, entry, "hidden") &&
           number_is(row, SC__TRUTH_TP, entry, "tp") &&
           begins(row, SC__TRUTH_GPU, entry, "gpu");
}

static uint64_t whole_cell(const struct sc__truth_row *row, enum sc__truth_column c) {
    double v;
    bool is_whole = sc__parse_double(sc__str(cell(row, c)), &v) && v >= 1 && v < 1e9;
    return is_whole ? (uint64_t)v : 0;
}

static const char *
replace_mark(struct sc_context *ctx, const char *text, const char *mark, uint64_t value) {
    const char *at = strstr(text, mark);
    if (!at)
        return text;
    return sc__format(&ctx->arena,
                      "%.*s%llu%s",
                      (int)(at - text),
                      text,
                      (unsigned long long)value,
                      at + strlen(mark));
}

/* Layers of the row, or of its preset where the row does not count them. */
static uint64_t row_layers(struct sc_context *ctx,
                           const struct sc__truth_row *row,
                           const struct sc__truth_plan *p) {
    uint64_t layers = whole_cell(row, SC__TRUTH_LAYERS);
    struct sc__settings s = sc__truth_settings(ctx, p);
    const char *preset = sc__setting(&s, "model");
    struct sc__model model = {0};
    if (!layers && preset && sc__model_find(ctx, preset, &model) == SC_OK)
        layers = model.layers;
    return layers;
}

/* "{pp}" in an entry's options is the row's number of stages, "{half}" half of
 * the layers of a stage, "{node}" the data-parallel ranks of a node. */
static const char *fill_in(struct sc_context *ctx,
                           const struct sc__truth_row *row,
                           const struct sc__truth_plan *p,
                           const char *text) {
    uint64_t pp = whole_cell(row, SC__TRUTH_PP);
    uint64_t stages = pp ? pp : 1;
    uint64_t layers = strstr(text, "{half}") ? row_layers(ctx, row, p) : 0;
    uint64_t half = (layers / stages + 1) / 2;
    uint64_t tp = whole_cell(row, SC__TRUTH_TP);
    uint64_t node = whole_cell(row, SC__TRUTH_NODE) / (tp ? tp : 1);
    text = replace_mark(ctx, text, "{pp}", pp);
    text = replace_mark(ctx, text, "{node}", node ? node : 1);
    return replace_mark(ctx, text, "{half}", half ? half : 1);
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
            sc__truth_words(ctx, p, fill_in(ctx, row, p, options));
        if (cluster)
            p->cluster_words = sc__strdup(&ctx->arena, cluster);
        if (json_object_get(entry, "causal_flops"))
            p->causal_flops = json_is_true(json_object_get(entry, "causal_flops"));
    }
}

/* An empty cell is not said; one that is no count (tables have "3.0" too) ends the
 * row: a default in its place would be a forecast of something else. */
void sc__truth_number(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      enum sc__truth_column c,
                      const char *option,
                      struct sc__truth_plan *p) {
    double v;
    if (!*cell(row, c))
        return;
    if (sc__parse_double(sc__str(cell(row, c)), &v) && v >= 1 && v == floor(v))
        sc__truth_set(ctx, p, option, sc__format(&ctx->arena, "%.0f", v));
    else
        p->skip = sc__format(&ctx->arena,
                             "%s: '%s' is not a whole number, 1 or more",
                             sc__truth_column_name(c),
                             cell(row, c));
}

/* "4", or "1 layer/chunk" with the ends one layer short. */
static void
set_vpp(struct sc_context *ctx, const struct sc__truth_row *row, struct sc__truth_plan *p) {
    uint64_t layers = 0;
    uint64_t pp = 0;
    if (strcmp(cell(row, SC__TRUTH_VPP), "1 layer/chunk")) {
        sc__truth_number(ctx, row, SC__TRUTH_VPP, "vpp", p);
        return;
    }
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_LAYERS)), &layers);
    sc__parse_u64(sc__str(cell(row, SC__TRUTH_PP)), &pp);
    if (pp)
        sc__truth_set(ctx,
                      p,
                      "vpp",
                      sc__format(&ctx->arena, "%u", (unsigned)((layers + pp - 1) / pp)));
}

/* Tables before ranks of experts were chosen apart have the copies of an expert for data
 * parallelism: tp · pp · cp · ep · dp are all GPUs. */
static bool is_dp_of_experts(const struct sc__truth_row *row) {
    uint64_t ep = whole_cell(row, SC__TRUTH_EP);
    uint64_t cp = whole_cell(row, SC__TRUTH_CP);
    uint64_t tp = whole_cell(row, SC__TRUTH_TP);
    uint64_t pp = whole_cell(row, SC__TRUTH_PP);
    uint64_t stage = (cp ? cp : 1) * (tp ? tp : 1) * (pp ? pp : 1);
    uint64_t dp = whole_cell(row, SC__TRUTH_DP);
    return ep > 1 && stage * dp * ep == whole_cell(row, SC__TRUTH_GPUS);
}

static void set_plan(struct sc_context *ctx,
                     const struct sc__truth_row *row,
                     struct sc__truth_plan *p) {
    sc__truth_number(ctx, row, SC__TRUTH_GPUS, "gpus", p);
    sc__truth_number(ctx, row, SC__TRUTH_TP, "tp", p);
    sc__truth_number(ctx, row, SC__TRUTH_PP, "pp", p);
    if (!is_dp_of_experts(row))
        sc__truth_number(ctx, row, SC__TRUTH_DP, "dp", p);
    sc__truth_number(ctx, row, SC__TRUTH_CP, "cp", p);
    sc__truth_number(ctx, row, SC__TRUTH_EP, "ep", p);
    set_vpp(ctx, row, p);
    sc__truth_number(ctx, row, SC__TRUTH_SEQ, "seq", p);
    sc__truth_number(ctx, row, SC__TRUTH_MICRO_BATCH, "micro-batch", p);
    sc__truth_number(ctx, row, SC__TRUTH_GLOBAL_BATCH, "global-batch", p);
    /* it ran, so its layers found their stages, with what NCCL's cost table chose */
    sc__truth_set(ctx, p, "uneven-stages", "");
    sc__truth_set(ctx, p, "by-tuner", "");
    sc__truth_set(ctx, p, "ignore-memory", "");
}

/* ---- words of a cell ---- */

static bool is_word_end(char c) {
    return !isalnum((unsigned char)c) && c != '_' && c != '-';
}

static char joined(char c) {
    return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* In any case, and "fp8_cs" as "fp8-cs". */
static bool begins_with(const char *text, const char *phrase) {
    for (; *phrase; text++, phrase++)
        if (joined(*text) != joined(*phrase))
            return false;
    return true;
}

/* Where the phrase stands in the text as words of its own; NULL: nowhere. */
static char *find_phrase(char *text, const char *phrase) {
    size_t n = strlen(phrase);
    for (char *at = text; *at; at++) {
        bool begins = at == text || is_word_end(at[-1]) || is_word_end(phrase[0]);
        if (begins && begins_with(at, phrase) &&
            (is_word_end(at[n]) || is_word_end(phrase[n - 1])))
            return at;
    }
    return NULL;
}

/* The longest phrase of the table that is in the text, which is blanked there. */
static const char *take_phrase(const json_t *table, char *text) {
    const char *options = NULL;
    char *best = NULL;
    size_t most = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)table, key, value) {
        size_t n = strlen(key);
        char *at = n > most ? find_phrase(text, key) : NULL;
        if (!at)
            continue;
        most = n;
        best = at;
        options = json_string_value(value);
    }
    if (best)
        memset(best, ' ', most);
    return options;
}

/* Words from this one on that give an option two values: "AC=selective" must not end as
 * the "full" that AC means alone. */
static bool contradicts(const struct sc__truth_plan *p, uint32_t first) {
    for (uint32_t i = first; i < p->count; i++)
        for (uint32_t k = i + 1; k < p->count; k++)
            if (!strcmp(p->items[i].name, p->items[k].name) &&
                strcmp(p->items[i].value, p->items[k].value))
                return true;
    return false;
}

/* Modules by Megatron's names (--recompute-modules), in brackets, quotes or alone. */
static void take_modules(struct sc_context *ctx, char *text, struct sc__truth_plan *p) {
    static const char *const modules[] = {"core_attn",
                                          "mla_up_proj",
                                          "shared_experts",
                                          "layernorm",
                                          "moe_act",
                                          "moe",
                                          "mlp",
                                          NULL};
    const char *list = NULL;
    for (unsigned i = 0; modules[i]; i++) {
        char *at = find_phrase(text, modules[i]);
        if (!at)
            continue;
        memset(at, ' ', strlen(modules[i]));
        list = list ? sc__format(&ctx->arena, "%s,%s", list, modules[i]) : modules[i];
    }
    if (!list)
        return;
    sc__truth_set(ctx, p, "recompute", "selective");
    sc__truth_set(ctx, p, "recompute-modules", list);
}

/* "block 5", "full (block, 3)": so many layers of each stage. */
static void take_block(struct sc_context *ctx, char *text, struct sc__truth_plan *p) {
    char *at = find_phrase(text, "block");
    size_t digits = at ? strcspn(at, "0123456789") : 0;
    size_t n = at ? strspn(at + digits, "0123456789") : 0;
    if (!n || n > 4 || strspn(at + 5, " ,:=(") + 5 != digits)
        return;
    sc__truth_set(ctx, p, "recompute", "full");
    sc__truth_set(ctx, p, "recompute-method", "block");
    sc__truth_set(ctx, p, "recompute-layers", sc__strndup(&ctx->arena, at + digits, n));
    memset(at, ' ', digits + n);
}

/* The number behind a word, of `least` or more, which is blanked; 0: none. */
static uint64_t number_behind(char *text, const char *word, uint64_t least) {
    size_t n = strlen(word);
    for (char *at = text; *at; at++) {
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        size_t gap = begins && begins_with(at, word) ? n + strspn(at + n, " =:-") : 0;
        size_t digits = gap ? strspn(at + gap, "0123456789") : 0;
        uint64_t number = digits && digits < 6 ? (uint64_t)atoi(at + gap) : 0;
        if (!number || number < least)
            continue;
        memset(at + n, ' ', gap + digits - n);
        return number;
    }
    return 0;
}

/* Ranks of a group of weights that are fewer than the data-parallel ones ("HSDP 128",
 * "FSDP=64 x DP 4"), else 0. FSDP1 and FSDP2 are versions. */
static uint64_t take_shards(const struct sc__truth_row *row, char *text) {
    uint64_t dp = whole_cell(row, SC__TRUTH_DP);
    uint64_t ranks = number_behind(text, "fsdp", 3);
    if (!ranks)
        ranks = number_behind(text, "hsdp", 3);
    if (number_behind(text, "dp", 1))
        memset(find_phrase(text, "dp"), ' ', 2);
    return ranks < dp && ranks && dp % ranks == 0 ? ranks : 0;
}

/* Every phrase of a cell is one of the table; what is not is named, and the row
 * is left out: to guess would be a forecast of something else. */
static void read_words(struct sc_context *ctx,
                       const struct sc__truth_row *row,
                       enum sc__truth_column c,
                       const json_t *words,
                       struct sc__truth_plan *p) {
    const char *column = sc__truth_column_name(c);
    const json_t *table = json_object_get(words, column);
    uint32_t first = p->count;
    char *text = sc__strdup(&ctx->arena, cell(row, c));
    const char *options;
    uint64_t shards = c == SC__TRUTH_ZERO ? take_shards(row, text) : 0;
    while ((options = take_phrase(table, text)))
        sc__truth_words(ctx, p, fill_in(ctx, row, p, options));
    if (c == SC__TRUTH_RECOMPUTE) {
        take_modules(ctx, text, p);
        take_block(ctx, text, p);
    }
    if (contradicts(p, first))
        p->skip = sc__format(&ctx->arena,
                             "%s: '%s' says two things at once",
                             column,
                             cell(row, c));
    if (shards)
        sc__truth_set(ctx,
                      p,
                      "shard-group",
                      sc__format(&ctx->arena, "%u", (unsigned)shards));
    for (const char *at = text; *at; at++)
        if (isalnum((unsigned char)*at)) {
            struct sc__str left = sc__trim(sc__str(at));
            p->skip = sc__format(&ctx->arena,
                                 "%s: '%.*s' is not understood",
                                 column,
                                 SC__SHOW(left));
            return;
        }
}

static void set_training(struct sc_context *ctx,
                         const struct sc__truth_row *row,
                         const json_t *words,
                         struct sc__truth_plan *p) {
    static const enum sc__truth_column columns[] = {SC__TRUTH_PRECISION,
                                                    SC__TRUTH_RECOMPUTE,
                                                    SC__TRUTH_SP,
                                                    SC__TRUTH_ZERO};
    for (unsigned i = 0; i < sizeof columns / sizeof *columns; i++)
        read_words(ctx, row, columns[i], words, p);
}

/* Tensor-parallel collectives in chunks come with sequence parallelism, said or not. */
static void imply_sequence_parallel(struct sc_context *ctx, struct sc__truth_plan *p) {
    struct sc__settings s = sc__truth_settings(ctx, p);
    const char *overlap = sc__setting(&s, "overlap-tp");
    const char *tp = sc__setting(&s, "tp");
    if (overlap && !strcmp(overlap, "chunks") && tp && atoi(tp) > 1 &&
        !sc__setting(&s, "sequence-parallel"))
        sc__truth_set(ctx, p, "sequence-parallel", "");
}

/* "LoRA rank 16": what the notes say goes before what is usual. */
static void set_rank(struct sc_context *ctx,
                     const struct sc__truth_row *row,
                     struct sc__truth_plan *p) {
    struct sc__settings s = sc__truth_settings(ctx, p);
    char *notes = sc__strdup(&ctx->arena, cell(row, SC__TRUTH_NOTES));
    uint64_t rank = sc__setting(&s, "lora") ? number_behind(notes, "rank", 1) : 0;
    if (rank)
        sc__truth_set(ctx, p, "lora", sc__format(&ctx->arena, "%u", (unsigned)rank));
}

/* DeepEP and HybridEP exchange tokens between ranks: where a row names one and leaves the
 * ranks of experts open, they are those of a node. */
static void imply_expert_parallel(struct sc_context *ctx,
                                  const struct sc__truth_row *row,
                                  struct sc__truth_plan *p) {
    struct sc__settings s = sc__truth_settings(ctx, p);
    const char *dispatcher = sc__setting(&s, "moe-token-dispatcher-type");
    uint64_t ranks = whole_cell(row, SC__TRUTH_NODE);
    uint64_t dp = whole_cell(row, SC__TRUTH_DP);
    if (!dispatcher || strcmp(dispatcher, "flex") || sc__setting(&s, "ep") || !ranks || !dp)
        return;
    while (dp % ranks)
        ranks--;
    sc__truth_set(ctx, p, "ep", sc__format(&ctx->arena, "%u", (unsigned)ranks));
    sc__truth_set(ctx, p, "etp", "1");
}

/* ---- software ---- */

static sc_status nearest_profile(struct sc_context *ctx, const char **name) {
    const struct sc__software *s;
    struct sc__str near;
    SC__TRY(sc__software_read(ctx, *name, &s));
    struct sc__str rest = sc__str(s->near ? s->near : "");
    if (sc__split(&rest, ',', &near) && near.n)
        *name = sc__strndup(&ctx->arena, near.p, near.n);
    return SC_OK;
}

/* The profile of the first entry that the row fits; NULL: none. */
static const char *
listed_profile(struct sc_context *ctx, const struct sc__truth_row *row, json_t *list) {
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry) {
        const char *profile = json_string_value(json_object_get(entry, "profile"));
        if (matches(row, entry))
            return sc__strdup(&ctx->arena, profile);
    }
    return NULL;
}

/* The stack that the source names, in the release that source and notes name; where the
 * source names none, what the notes do. */
static sc_status named_profile(struct sc_context *ctx,
                               const struct sc__truth_row *row,
                               const char *text,
                               const struct sc__software **found) {
    struct sc__str source = sc__str(cell(row, SC__TRUTH_SOURCE));
    const struct sc__software *first = NULL;
    SC__TRY(sc__software_find(ctx, "auto", source, &first));
    SC__TRY(sc__software_find(ctx, "auto", sc__str(text), found));
    if (first && *found && strcmp(first->stack, (*found)->stack))
        *found = first;
    return SC_OK;
}

/* Tensor or pipeline parallelism that no stack is named for: Megatron's, or what began as
 * it, of the month that is named. */
static sc_status cut_layers(struct sc_context *ctx,
                            const struct sc__truth_row *row,
                            const char *text,
                            const struct sc__software **found) {
    bool cut = whole_cell(row, SC__TRUTH_TP) > 1 || whole_cell(row, SC__TRUTH_PP) > 1;
    if (!cut)
        return SC_OK;
    return sc__software_find(ctx,
                             "auto",
                             sc__str(sc__format(&ctx->arena, "%s megatron", text)),
                             found);
}

/* The years a row is of where neither source nor notes are dated: not before its GPU was
 * what people trained on, nor before its model was there. NULL: nothing says. */
static const char *implied_month(const struct sc__truth_row *row, const json_t *root) {
    const char *latest = NULL;
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(root, "years"), i, entry) {
        const char *month = json_string_value(json_object_get(entry, "month"));
        const char *gpu = json_string_value(json_object_get(entry, "gpu"));
        bool of_gpu = gpu && sc__truth_gpu_named(cell(row, SC__TRUTH_GPU), gpu);
        bool of_model = !gpu && validate_plan_holds(row, SC__TRUTH_MODEL, entry, "model");
        if ((of_gpu || of_model) && (!latest || strcmp(month, latest) > 0))
            latest = month;
    }
    return latest;
}

/* What source and notes say, with the month that the row's years imply behind it where they
 * name none. */
static const char *date_text(struct sc_context *ctx,
                             const struct sc__truth_row *row,
                             const json_t *root,
                             const char *text) {
    const char *month = implied_month(row, root);
    if (!month || sc__software_is_dated(ctx, sc__str(text)))
        return text;
    return sc__format(&ctx->arena, "%s %s", text, month);
}

/* The profile of the row's source; where the table does not know it, what the source and
 * the notes name: a stack, or at least a month; or what the other cells speak of. */
static sc_status set_software(struct sc_context *ctx,
                              const struct sc__truth_row *row,
                              const json_t *root,
                              enum sc__truth_software which,
                              struct sc__truth_plan *p) {
    const struct sc__software *found = NULL;
    const char *name = listed_profile(ctx, row, json_object_get(root, "profiles"));
    const char *text = sc__format(&ctx->arena,
                                  "%s %s",
                                  cell(row, SC__TRUTH_SOURCE),
                                  cell(row, SC__TRUTH_NOTES));
    const char *dated = date_text(ctx, row, root, text);
    if (!name)
        SC__TRY(named_profile(ctx, row, dated, &found));
    if (!name && !found)
        SC__TRY(sc__software_of_month(ctx, sc__str(text), &found));
    if (!name && !found)
        name = listed_profile(ctx, row, json_object_get(root, "unnamed"));
    if (!name && !found)
        SC__TRY(sc__software_of_month(ctx, sc__str(dated), &found));
    if (!name && !found)
        SC__TRY(cut_layers(ctx, row, dated, &found));
    if (found)
        name = found->name;
    if (name && which == SC__TRUTH_NEAREST)
        SC__TRY(nearest_profile(ctx, &name));
    if (name && which != SC__TRUTH_ASSUMED)
        sc__truth_set(ctx, p, "software", name);
    return SC_OK;
}

/* "ETP 4", "expert tensor parallelism 1" in the notes; 0: not said. */
static uint64_t named_expert_tensor(struct sc_context *ctx,
                                    const struct sc__truth_row *row) {
    static const char *const words[] = {"etp",
                                        "expert tensor parallelism",
                                        "expert tensor parallel",
                                        "expert-tensor-parallel-size",
                                        NULL};
    uint64_t ranks = 0;
    for (unsigned i = 0; words[i] && !ranks; i++)
        ranks =
            number_behind(sc__strdup(&ctx->arena, cell(row, SC__TRUTH_NOTES)), words[i], 1);
    return ranks;
}

/* Does the stack cut the experts of the row as it cuts the rest? */
static bool
cuts_experts(const struct sc__truth_row *row, const json_t *root, const char *software) {
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(root, "cut_experts"), i, entry) {
        const char *profile = json_string_value(json_object_get(entry, "profile"));
        bool other = json_object_get(entry, "but") &&
                     validate_plan_holds(row, SC__TRUTH_MODEL, entry, "but");
        if (software && !strcmp(profile, software))
            return !other;
    }
    return false;
}

/* Experts are whole on their ranks, but where the row or its stack says otherwise. */
static void set_expert_tensor(struct sc_context *ctx,
                              const struct sc__truth_row *row,
                              const json_t *root,
                              struct sc__truth_plan *p) {
    struct sc__settings s = sc__truth_settings(ctx, p);
    uint64_t ranks = named_expert_tensor(ctx, row);
    if (whole_cell(row, SC__TRUTH_EP) < 2)
        return;
    if (!ranks && cuts_experts(row, root, sc__setting(&s, "software")))
        return;
    sc__truth_set(ctx,
                  p,
                  "etp",
                  sc__format(&ctx->arena, "%u", (unsigned)(ranks ? ranks : 1)));
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
    else if (row->measured <= 0 && !sc__truth_prints_rate(row))
        p->skip = "no time per step is published";
    else if (!*cell(row, SC__TRUTH_SEQ) || !*cell(row, SC__TRUTH_GLOBAL_BATCH))
        p->skip = "the batch or sequence is not known";
}

sc_status sc__truth_plan(struct sc_context *ctx,
                         const struct sc__truth_row *row,
                         enum sc__truth_software which,
                         struct sc__truth_plan *p) {
    json_t *root = sc__data_json("validate.json");
    sc_status status = SC_OK;
    *p = (struct sc__truth_plan){0};
    if (!root)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        NULL,
                        "data/validate.json was not built in, or is damaged");
    find_skip(ctx, row, root, p);
    if (!p->skip) {
        sc__truth_model(ctx, row, root, p);
        set_plan(ctx, row, p);
        status = set_software(ctx, row, root, which, p);
        set_expert_tensor(ctx, row, root, p);
        set_training(ctx, row, json_object_get(root, "words"), p);
        apply_list(ctx, row, json_object_get(root, "notes"), p);
        set_rank(ctx, row, p);
        apply_list(ctx, row, json_object_get(root, "complete"), p);
        imply_sequence_parallel(ctx, p);
        imply_expert_parallel(ctx, row, p);
        sc__truth_machine(ctx, row, root, p);
    }
    return status;
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
