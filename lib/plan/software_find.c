/* software_find: which profile is meant. A profile has texts that mean it:
 * container tags, releases, words of a stack's configuration files. */
#include "base/data.h"
#include "base/file.h"
#include "base/platform.h"
#include "hardware/gpu.h"
#include "plan/software.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MOST_EVIDENCE ((size_t)1 << 20)
#define RELEASE_WEIGHT 1000u

/* A benchmark is what is run, not what runs it: without a round its name says less than a
 * stack of the same month beside it. */
#define BENCHMARK "mlperf"
#define BENCHMARK_WEIGHT (RELEASE_WEIGHT / 2)

static bool same_letters(const char *text, struct sc__str name) {
    for (size_t i = 0; i < name.n; i++)
        if (tolower((unsigned char)text[i]) != tolower((unsigned char)name.p[i]))
            return false;
    return true;
}

/* No word or number goes on from one to the other: "te" is not in "hpcaitech", "25.1" not
 * in "25.11"; "v2" is in "v2.5", and "nemo" in "nemo2504". */
static bool is_edge(char before, char after) {
    if (isdigit((unsigned char)before))
        return !isdigit((unsigned char)after);
    return !isalpha((unsigned char)before) || !isalpha((unsigned char)after);
}

static bool holds_name(struct sc__str text, struct sc__str name) {
    for (size_t at = 0; name.n && at + name.n <= text.n; at++) {
        size_t end = at + name.n;
        bool begins = at == 0 || is_edge(text.p[at - 1], name.p[0]);
        bool ends = end == text.n || is_edge(name.p[name.n - 1], text.p[end]);
        if (begins && ends && same_letters(text.p + at, name))
            return true;
    }
    return false;
}

/* How much a name that was found says: a release more than a stack, which has no
 * number, and a long one more than a short one. */
static size_t name_weight(struct sc__str name) {
    bool release = false;
    for (size_t i = 0; i < name.n; i++)
        release |= isdigit((unsigned char)name.p[i]) != 0;
    return name.n + (release ? RELEASE_WEIGHT : 0);
}

static size_t best_name(const char *names, struct sc__str text) {
    struct sc__str rest = sc__str(names ? names : "");
    struct sc__str name;
    size_t most = 0;
    while (sc__split(&rest, ',', &name)) {
        name = sc__trim(name);
        if (name.n && name_weight(name) > most && holds_name(text, name))
            most = name_weight(name);
    }
    return most;
}

/* Where the text has the shape, in which d is a digit, with no digit before or after it;
 * NULL: nowhere. */
static const char *find_shape(struct sc__str text, const char *shape) {
    size_t n = strlen(shape);
    for (size_t at = 0; at + n <= text.n; at++) {
        size_t k = 0;
        while (k < n && (shape[k] == 'd' ? isdigit((unsigned char)text.p[at + k]) != 0
                                         : text.p[at + k] == shape[k]))
            k++;
        bool before = at && isdigit((unsigned char)text.p[at - 1]);
        bool after = at + n < text.n && isdigit((unsigned char)text.p[at + n]);
        if (k == n && !before && !after)
            return text.p + at;
    }
    return NULL;
}

static const char *
month_text(struct sc__arena *arena, const char *year, const char *month) {
    bool is_one =
        (month[0] == '0' && month[1] > '0') || (month[0] == '1' && month[1] < '3');
    return is_one ? sc__format(arena, "20%.2s-%.2s", year, month) : NULL;
}

/* "24.07": what containers are numbered by. */
static const char *find_release(struct sc__arena *arena, struct sc__str text) {
    const char *at;
    while ((at = find_shape(text, "2d.dd"))) {
        const char *month = month_text(arena, at, at + 3);
        bool in_a_version = at > text.p && at[-1] == '.';
        if (month && !in_a_version)
            return month;
        text.n -= (size_t)(at + 1 - text.p);
        text.p = at + 1;
    }
    return NULL;
}

/* "Aug 2025", "August 2025". */
static const char *find_named_month(struct sc__arena *arena, struct sc__str text) {
    static const char months[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    const char *at = find_shape(text, "20dd");
    const char *word = at;
    while (word && word > text.p && strchr(" ,.", word[-1]))
        word--;
    const char *end = word;
    while (word && word > text.p && isalpha((unsigned char)word[-1]))
        word--;
    if (!word || end - word < 3)
        return NULL;
    for (unsigned m = 0; m < 12; m++)
        if (same_letters(word, (struct sc__str){months + 3 * m, 3}))
            return sc__format(arena, "%.4s-%02u", at, m + 1);
    return NULL;
}

/* "2024-09" somewhere in the text, the month in the number of a paper on arXiv or of a
 * container, one by its name, or the middle of a year at the end of
 * brackets. */
static const char *find_month(struct sc__arena *arena, struct sc__str text) {
    const char *at = find_shape(text, "20dd-dd");
    const char *month = at ? month_text(arena, at + 2, at + 5) : NULL;
    if (month)
        return month;
    at = holds_name(text, sc__str("arxiv")) ? find_shape(text, "dddd.ddddd") : NULL;
    if (at)
        return month_text(arena, at, at + 2);
    month = find_release(arena, text);
    if (!month)
        month = find_named_month(arena, text);
    at = month ? NULL : find_shape(text, "20dd)");
    return at ? month_text(arena, at + 2, "06") : month;
}

bool sc__software_is_dated(struct sc_context *ctx, struct sc__str text) {
    return find_month(&ctx->arena, text) != NULL;
}

static int months_of(const char *month) {
    return atoi(month) * 12 + atoi(month + 5);
}

/* Months between a month and the time that a profile covers. */
static unsigned months_off(const struct sc__software *s, const char *month) {
    if (strcmp(month, s->from) < 0)
        return (unsigned)(months_of(s->from) - months_of(month));
    if (strcmp(s->to, month) < 0)
        return (unsigned)(months_of(month) - months_of(s->to));
    return 0;
}

/* A stack that is named is meant as it was in the month that is named, or the nearest to
 * it; without a month it says less than any release. */
static size_t
stack_weight(const struct sc__software *s, struct sc__str text, const char *month) {
    size_t weight = best_name(s->stack, text);
    unsigned off = month ? months_off(s, month) : 0;
    unsigned near = strcmp(s->stack, BENCHMARK) ? RELEASE_WEIGHT : BENCHMARK_WEIGHT;
    if (!weight || !month)
        return weight;
    return weight + near - (off < near ? off : near);
}

/* Of two that fit equally well the later release: it is what is installed. */
static sc_status
find_by_text(struct sc_context *ctx, struct sc__str text, const struct sc__software **out) {
    const char **names = sc__data_names(&ctx->arena, "software/");
    const char *month = find_month(&ctx->arena, text);
    size_t most = 0;
    *out = NULL;
    for (uint32_t i = 0; names[i]; i++) {
        const struct sc__software *s;
        SC__TRY(sc__software_head(ctx, names[i], &s));
        size_t weight = best_name(s->names, text);
        size_t by_stack = stack_weight(s, text, month);
        weight = weight > by_stack ? weight : by_stack;
        bool better = weight > most ||
                      (weight && weight == most && strcmp(s->from, (*out)->from) > 0);
        if (!better)
            continue;
        most = weight;
        *out = s;
    }
    return *out ? sc__software_read(ctx, (*out)->name, out) : SC_OK;
}

/* Before attention was fused everywhere (PyTorch 2.0) most published steps were of
 * Megatron or of something that began as it; later ones have little but that in common. */
#define UNFUSED_UNTIL "2022-12"

sc_status sc__software_of_month(struct sc_context *ctx,
                                struct sc__str text,
                                const struct sc__software **out) {
    const char **names = sc__data_names(&ctx->arena, "software/");
    const char *month = find_month(&ctx->arena, text);
    *out = NULL;
    bool asked = month && strcmp(month, UNFUSED_UNTIL) <= 0;
    for (uint32_t i = 0; asked && names[i]; i++) {
        const struct sc__software *s;
        SC__TRY(sc__software_head(ctx, names[i], &s));
        bool later = !*out || strcmp(s->from, (*out)->from) > 0;
        if (!strcmp(s->stack, "megatron") && !months_off(s, month) && later)
            *out = s;
    }
    return *out ? sc__software_read(ctx, (*out)->name, out) : SC_OK;
}

/* By its schema, or by keys that nothing else has: a profile with a slip in it is no
 * configuration of what it speaks of. */
static bool is_profile(struct sc__str text) {
    static const char *const keys[] = {"\"stack\"", "\"why\"", NULL};
    bool all = true;
    for (const char *const *key = keys; *key; key++)
        all = all && sc__find_word(text.p, text.n, *key);
    return all || sc__find_word(text.p, text.n, "stepcast/software/");
}

/* A file: a profile, or the configuration of something that a profile covers. */
static sc_status
find_by_file(struct sc_context *ctx, const char *path, const struct sc__software **out) {
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, MOST_EVIDENCE, &text));
    if (is_profile(text))
        return sc__software_read(ctx, path, out);
    SC__TRY(find_by_text(ctx, text, out));
    if (*out)
        return SC_OK;
    struct sc__place at = {.file = path};
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "stepcast list software; docs/formats/software.md describes profiles",
                    "neither a software profile nor a configuration that names one");
}

static sc_status
find_by_name(struct sc_context *ctx, const char *said, const struct sc__software **out) {
    SC__TRY(find_by_text(ctx, sc__str(said), out));
    if (*out) {
        sc__note(ctx,
                 "software-found",
                 "--software %s is taken for %s: %s",
                 said,
                 (*out)->name,
                 (*out)->title);
        return SC_OK;
    }
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    sc__data_hint(ctx, "software/", said, "a file or a container tag"),
                    "there is no software profile '%.80s'",
                    said);
}

sc_status sc__software_find(struct sc_context *ctx,
                            const char *said,
                            struct sc__str evidence,
                            const struct sc__software **out) {
    if (!strcmp(said, "auto"))
        return find_by_text(ctx, evidence, out);
    if (sc__data_find_loosely(&ctx->arena, "software/", said))
        return sc__software_read(ctx, said, out);
    if (sc__path_look(said).kind == SC__PATH_FILE)
        return find_by_file(ctx, said, out);
    return find_by_name(ctx, said, out);
}

/* FlashAttention 2 and Transformer Engine begin with Ampere (Dao-AILab/flash-attention and
 * NVIDIA/TransformerEngine, README): on Volta and Turing Megatron runs as it did before
 * them. */
static bool is_before_fused_attention(struct sc_context *ctx, const char *name) {
    const struct sc__gpu *gpu = sc__gpu_known(ctx, name);
    return gpu && (sc__gpu_is_of(gpu, "volta") || sc__gpu_is_of(gpu, "turing"));
}

const char *
sc__software_assumed(struct sc_context *ctx, const sc_plan *plan, const char *gpu) {
    bool unfused = plan->fusion == SC_FUSION_AUTO && is_before_fused_attention(ctx, gpu);
    if (plan->fusion == SC_FUSION_2021 || unfused)
        return "megatron-2021";
    if (plan->fusion == SC_FUSION_HF)
        return "hf-transformers";
    if (plan->fusion == SC_FUSION_EAGER)
        return "pytorch-eager";
    return "megatron-core-2025";
}
