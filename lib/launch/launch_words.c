/* launch_words: the words of a command whose program takes Megatron's flags in a form of
 * its own: underscores for dashes (Megatron-LLM, Megatron-SWIFT), and `megatron sft` of
 * ms-swift, which has other names for a part of them and other values where nothing is
 * said. */
#include "launch/config.h"
#include "launch/launch.h"

#include <string.h>

/* ---- underscores ---- */

static const char *with_dashes(const struct sc__launch *l, const char *name) {
    char *dashed = sc__strdup(&l->ctx->arena, name);
    for (char *c = dashed; *c; c++)
        if (*c == '_')
            *c = '-';
    return dashed;
}

static bool is_known(const struct sc__launch *l, const char *name) {
    struct sc__flag as;
    const char *why;
    return sc__flag_kind(l->known, name, &as, &why) != SC__FLAG_UNKNOWN;
}

const char *sc__launch_flag_name(const struct sc__launch *l, const char *word) {
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const char *name = sc__strndup(&l->ctx->arena, word + 2, n - 2);
    if (!strchr(name, '_') || is_known(l, name))
        return name;
    const char *dashed = with_dashes(l, name);
    return is_known(l, dashed) ? dashed : name;
}

/* ---- values ---- */

static bool is_named(const char *word, const char *flag) {
    if (!sc__is_flag(word))
        return false;
    for (word += 2; *flag; word++, flag++)
        if (*word != *flag && !(*word == '_' && *flag == '-'))
            return false;
    return !*word || *word == '=';
}

const char *sc__launch_value_at(const struct sc__launch *l, uint32_t at) {
    const char *equals = strchr(l->words[at], '=');
    if (equals)
        return equals + 1;
    bool behind = at + 1 < l->count && !sc__is_flag(l->words[at + 1]);
    return behind ? l->words[at + 1] : NULL;
}

const char *sc__launch_word_behind(const struct sc__launch *l, const char *flag) {
    const char *last = NULL; /* as argparse has it */
    for (uint32_t i = 0; i < l->count; i++) {
        if (!is_named(l->words[i], flag))
            continue;
        const char *value = sc__launch_value_at(l, i);
        last = value ? value : last;
    }
    return last;
}

bool sc__launch_switched(const struct sc__launch *l, const char *flag) {
    for (uint32_t i = 0; i < l->count; i++) {
        const char *value =
            is_named(l->words[i], flag) ? sc__launch_value_at(l, i) : "false";
        if (!value || !sc__config_false(value))
            return true;
    }
    return false;
}

sc_status sc__launch_refuse_aicb(const struct sc__launch *l) {
    const char *frame = sc__launch_word_behind(l, "frame");
    if (!frame || strcmp(frame, "DeepSpeed") != 0)
        return SC_OK;
    return sc__launch_fail(l,
                           l->line,
                           "say the same by --model, --zero, --seq and --micro-batch, or "
                           "run the workload that it writes",
                           "--frame DeepSpeed of AICB is not read");
}

/* ---- Megatron-SWIFT ---- */

/* `megatron sft`, `pt` or `rlhf`, or what it calls. */
bool sc__launch_calls_swift(const char *const *words, uint32_t count) {
    static const char *const tasks[][3] = {
        {"sft", "swift.cli._megatron.sft", "swift/cli/_megatron/sft.py"},
        {"pt", "swift.cli._megatron.pt", "swift/cli/_megatron/pt.py"},
        {"rlhf", "swift.cli._megatron.rlhf", "swift/cli/_megatron/rlhf.py"}};
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof tasks / sizeof *tasks; k++) {
            bool named = i && !strcmp(words[i - 1], "megatron");
            if ((named && !strcmp(words[i], tasks[k][0])) ||
                !strcmp(words[i], tasks[k][1]) ||
                sc__str_ends(sc__str(words[i]), tasks[k][2]))
                return true;
        }
    return false;
}

/* What says nothing about a step, and flags that others stand for below. */
static bool is_left_out(const char *word) {
    static const char *const names[] = {"dataset",
                                        "val-dataset",
                                        "cached-dataset",
                                        "load-from-cache-file",
                                        "split-dataset-ratio",
                                        "streaming",
                                        "dataset-num-proc",
                                        "dataloader-num-workers",
                                        "max-epochs",
                                        "num-train-epochs",
                                        "save-safetensors",
                                        "load-safetensors",
                                        "merge-lora",
                                        "output-dir",
                                        "model-author",
                                        "model-name",
                                        "model-type",
                                        "template",
                                        "system",
                                        "loss-scale",
                                        "truncation-strategy",
                                        "add-version",
                                        "use-hf",
                                        "report-to",
                                        "torch-dtype",
                                        "packing",
                                        "max-length",
                                        "model",
                                        "load",
                                        "mcore-model",
                                        "train-type",
                                        "tuner-type",
                                        "lora-rank",
                                        "lora-alpha",
                                        "lora-dropout",
                                        "target-modules",
                                        NULL};
    for (const char *const *n = names; *n; n++)
        if (is_named(word, *n))
            return true;
    return false;
}

struct swift_words {
    struct sc__launch *l;
    const char **words;
    uint32_t count;
    uint32_t capacity;
};

static void put_word(struct swift_words *w, const char *word) {
    *SC__PUSH(&w->l->ctx->arena, w->words, w->count, w->capacity) = word;
}

static void put_flag(struct swift_words *w, const char *flag, const char *value) {
    put_word(w, sc__format(&w->l->ctx->arena, "--%s", flag));
    if (value)
        put_word(w, value);
}

/* A value that megatron_args.py of ms-swift takes where the flag is not given. */
static void put_default(struct swift_words *w, const char *flag, const char *value) {
    if (!sc__launch_word_behind(w->l, flag))
        put_flag(w, flag, value);
}

/* --model, or the folder of converted weights: Qwen3-30B-A3B-mcore */
static sc_status put_model(struct swift_words *w) {
    static const char *const flags[] = {"model", "load", "mcore-model", NULL};
    struct sc__launch *l = w->l;
    struct sc__flag_list found = {0};
    for (const char *const *flag = flags; *flag; flag++) {
        const char *name = sc__launch_word_behind(l, *flag);
        if (!name || sc__shell_mark(name))
            continue;
        struct sc__str plain = sc__str(name);
        if (sc__str_ends(plain, "/"))
            plain.n--;
        if (sc__str_ends(plain, "-mcore"))
            plain.n -= strlen("-mcore");
        const char *value = sc__strndup(&l->ctx->arena, plain.p, plain.n);
        const char *key = sc__format(&l->ctx->arena, "--%s", *flag);
        struct sc__config_item item = {.key = key, .value = value, .line = l->line};
        SC__TRY(sc__config_model_id(l, &item, &found));
        if (found.count)
            put_flag(w, "model", found.items[0].value);
        return SC_OK;
    }
    return SC_OK;
}

/* tuner_type lora: of rank 8 beside all linear layers, with a dropout of 0.05
 * (MegatronTunerMixin). What is trained as a whole has no dropout. */
static void put_adapters(struct swift_words *w) {
    struct sc__launch *l = w->l;
    const char *type = sc__launch_word_behind(l, "tuner-type");
    const char *rank = sc__launch_word_behind(l, "lora-rank");
    const char *rate = sc__launch_word_behind(l, "lora-dropout");
    double share = 0.05;
    if (!type)
        type = sc__launch_word_behind(l, "train-type");
    bool lora = type && !strcmp(type, "lora");
    if (rate)
        sc__parse_double(sc__str(rate), &share);
    put_flag(w, lora && share > 0 ? "dropout" : "no-dropout", NULL);
    if (!lora)
        return;
    put_flag(w, "lora", rank ? rank : "8");
    struct sc__buffer targets;
    sc__buffer_init(&targets, &l->ctx->arena);
    for (uint32_t i = 0; i < l->count; i++)
        for (uint32_t k = i + 1; is_named(l->words[i], "target-modules") && k < l->count &&
                                 !sc__is_flag(l->words[k]);
             k++)
            sc__config_put_name(&targets, l->words[k]);
    put_flag(w, "lora-targets", targets.size ? targets.text : "all-linear");
}

static void put_defaults(struct swift_words *w) {
    struct sc__launch *l = w->l;
    const char *length = sc__launch_word_behind(l, "max-length");
    const char *type = sc__launch_word_behind(l, "torch-dtype");
    const char *packing = sc__launch_word_behind(l, "packing");
    if (length)
        put_flag(w, "seq", length);
    put_default(w, "micro-batch-size", "1");
    put_default(w, "global-batch-size", "16");
    put_default(w, "recompute-granularity", "selective");
    put_default(w, "mtp-num-layers", "0"); /* never those of config.json */
    if (!sc__launch_word_behind(l, "use-distributed-optimizer"))
        put_flag(w, "use-distributed-optimizer", NULL);
    bool half = type && !strcmp(type, "float16");
    if (!sc__launch_word_behind(l, "fp16") && !sc__launch_word_behind(l, "bf16"))
        put_flag(w, half ? "fp16" : "bf16", NULL);
    if (!packing || !sc__config_true(packing))
        sc__note(l->ctx,
                 "config-length",
                 "%s: sequences are not packed: they are counted as long as they may be",
                 l->file);
}

sc_status sc__launch_swift(struct sc__launch *l) {
    struct swift_words w = {.l = l};
    if (!sc__launch_calls_swift(l->words, l->count))
        return SC_OK;
    sc__note(
        l->ctx,
        "config-kind",
        "%s is read as a launch of Megatron-SWIFT: what it does not say has the values "
        "of ms-swift",
        l->file);
    for (uint32_t i = 0; i < l->count; i++) {
        if (!is_left_out(l->words[i])) {
            put_word(&w, l->words[i]);
            continue;
        }
        while (i + 1 < l->count && !sc__is_flag(l->words[i + 1]))
            i++;
    }
    SC__TRY(put_model(&w));
    put_adapters(&w);
    put_defaults(&w);
    if (sc__launch_word_behind(l, "rlhf-type"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: --rlhf_type %.40s: a step of plain training is counted",
                 l->file,
                 sc__launch_word_behind(l, "rlhf-type"));
    l->words = w.words;
    l->count = w.count;
    return SC_OK;
}
