/* gpu_find: a GPU by its name, an alias or the path of its file. */
#include "hardware/gpu_read.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The name behind what its vendor and PyTorch put before it: "Tesla V100-SXM2-16GB", "AMD
 * Instinct MI300X". */
static const char *without_brand(const char *name) {
    static const char *const brands[] = {"nvidia", "tesla", "geforce", "amd", "instinct"};
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++) {
        while (*name == ' ' || *name == '-' || *name == '_')
            name++;
        if (sc__str_starts_any_case(sc__str(name), brands[i]))
            name += strlen(brands[i]);
    }
    return name;
}

/* "NVIDIA H100-SXM 80GB" and "h100_sxm_80gb" are the same name. */
static void squeeze(const char *name, char *out, size_t size) {
    size_t n = 0;
    name = without_brand(name);
    for (; *name && n + 1 < size; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = 0;
}

static bool same_name(const char *a, const char *b) {
    char x[80];
    char y[80];
    squeeze(a, x, sizeof x);
    squeeze(b, y, sizeof y);
    return !strcmp(x, y);
}

/* Its aliases alone are parsed: a name may have to be held against those of every file. */
static bool file_has_alias(const struct sc__data_file *f, const char *name) {
    static const char key[] = "\"aliases\":";
    const char *text = (const char *)f->bytes; /* ends with a zero */
    const char *at = strstr(text, key);
    if (!at)
        return false;
    at += sizeof key - 1;
    json_t *aliases =
        json_loadb(at, f->size - (size_t)(at - text), JSON_DISABLE_EOF_CHECK, NULL);
    json_t *alias;
    size_t i;
    bool found = false;
    json_array_foreach(aliases, i, alias) found |=
        same_name(json_string_value(alias), name);
    json_decref(aliases);
    return found;
}

static const struct sc__data_file *find_file(const char *name) {
    char path[96];
    for (unsigned i = 0; i < sc__data_file_count; i++) {
        const struct sc__data_file *f = &sc__data_files[i];
        if (strncmp(f->path, "gpus/", 5))
            continue;
        size_t n = strlen(f->path) - 5 - 5; /* without ".json" */
        if (n >= sizeof path)
            continue;
        memcpy(path, f->path + 5, n);
        path[n] = 0;
        if (same_name(path, name))
            return f;
    }
    for (unsigned i = 0; i < sc__data_file_count; i++)
        if (!strncmp(sc__data_files[i].path, "gpus/", 5) &&
            file_has_alias(&sc__data_files[i], name))
            return &sc__data_files[i];
    return NULL;
}

/* Factors of whole steps go by it (data/step.json): one that nobody knows may be a slip. */
static void note_architecture(struct sc_context *ctx, const struct sc__gpu *g) {
    static const char known[] =
        "volta, turing, ampere, ada, hopper, blackwell, blackwell-rtx, cdna2, cdna3, cdna4";
    if (!g->architecture || sc__find_word(known, sizeof known - 1, g->architecture))
        return;
    sc__note(
        ctx,
        "architecture-unknown",
        "architecture '%s' of %s is none of %s: what was fitted to whole steps of one of "
        "them does not count",
        g->architecture,
        g->name,
        known);
}

/* Fitted constants decide, so that a rate of the datasheet that was changed alone would
 * count for nothing. Kernels of the shipped GPUs reach 0.81 of the memory's rate, and
 * asymptotes of products lie at 0.48 (MI300X) to 1.23 (A100) of the peak. */
static void note_sheet(struct sc_context *ctx, const struct sc__gpu *g) {
    double memory = g->elementwise_bw / 1e6 / g->dram;
    double sheet = sc__gpu_sheet_peak(g);
    double most = (g->gemm.most > 0 ? g->gemm.most : g->gemm.rp) / 1e6;
    double products = most / sheet;
    double other = g->gemm.peak > 0 ? fabs(g->gemm.peak / sheet - 1) : 0;
    if (memory < 0.65 || memory > 1)
        sc__note(
            ctx,
            "datasheet-unused",
            "constants of %s move %.3g TB/s, its datasheet says %.3g: the constants "
            "count; without them those of a like GPU are carried over by the datasheet",
            g->name,
            g->elementwise_bw / 1e6,
            g->dram);
    if (other > 0.005)
        sc__note(ctx,
                 "datasheet-unused",
                 "constants of %s were found beside %.4g TFLOP/s of its main type, its "
                 "datasheet says %.4g: the constants count, and that figure is what MFU is "
                 "a share of; without them those of a like GPU are carried over by the "
                 "datasheet",
                 g->name,
                 g->gemm.peak,
                 sheet);
    else if (products < 0.4 || products > 1.3)
        sc__note(
            ctx,
            "datasheet-unused",
            "constants of %s go up to %.4g TFLOP/s, its datasheet to %.4g: the constants "
            "count; without them those of a like GPU are carried over by the datasheet",
            g->name,
            most,
            sheet);
}

/* Built-in GPUs that were read, by where their files stand: they serve every context and
 * thread, for reading one takes as long as many a forecast. They are never changed and
 * stay until the process ends. */
enum { MOST_KEPT = 256 };
static _Atomic(const struct sc__gpu *) kept[MOST_KEPT];

static const struct sc__gpu *copy_gpu(const struct sc__gpu *gpu) {
    const char *const texts[] =
        {gpu->name, gpu->title, gpu->source, gpu->fitted, gpu->architecture, gpu->base};
    enum { TEXTS = sizeof texts / sizeof *texts };
    size_t sizes[TEXTS];
    size_t size = sizeof *gpu;
    for (size_t i = 0; i < TEXTS; i++)
        size += sizes[i] = texts[i] ? strlen(texts[i]) + 1 : 0;
    struct sc__gpu *copy = malloc(size);
    if (!copy)
        return NULL;
    *copy = *gpu;
    const char **const places[TEXTS] = {&copy->name,
                                        &copy->title,
                                        &copy->source,
                                        &copy->fitted,
                                        &copy->architecture,
                                        &copy->base};
    char *next = (char *)(copy + 1);
    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i])
            *places[i] = memcpy(next, texts[i], sizes[i]);
        next += sizes[i];
    }
    return copy;
}

/* Keeps a copy, unless another thread was faster. */
static void keep_gpu(_Atomic(const struct sc__gpu *) *place, const struct sc__gpu *gpu) {
    const struct sc__gpu *copy = copy_gpu(gpu);
    const struct sc__gpu *before = NULL;
    if (!atomic_compare_exchange_strong(place, &before, copy))
        free((void *)(uintptr_t)copy);
}

sc_status sc__gpu_built_in(struct sc_context *ctx,
                           const struct sc__data_file *file,
                           const struct sc__gpu **out) {
    size_t index = (size_t)(file - sc__data_files);
    *out = index < MOST_KEPT ? atomic_load(&kept[index]) : NULL;
    if (*out)
        return SC_OK;
    struct sc__str text = {(const char *)file->bytes, file->size};
    SC__TRY(sc__gpu_parse(ctx, file->path, text, out));
    if (index < MOST_KEPT)
        keep_gpu(&kept[index], *out);
    return SC_OK;
}

bool sc__gpu_is_file(const char *name) {
    return sc__str_ends(sc__str(name), ".json") || strchr(name, '/');
}

static sc_status
read_gpu(struct sc_context *ctx, const char *name, const void *unused, void **found) {
    (void)unused;
    const struct sc__gpu **out = (const struct sc__gpu **)found;
    const struct sc__data_file *f = find_file(name);
    struct sc__str text;
    if (f)
        return sc__gpu_built_in(ctx, f, out);
    if (!sc__gpu_is_file(name))
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            sc__data_hint(ctx, "gpus/", name, "the path of a file ending in .json"),
            "there is no GPU '%s'",
            name);
    SC__TRY(sc__read_all(ctx, name, (size_t)1 << 20, &text));
    SC__TRY(sc__gpu_parse(ctx, name, text, out));
    note_architecture(ctx, *out);
    note_sheet(ctx, *out);
    return SC_OK;
}

sc_status
sc__gpu_find(struct sc_context *ctx, const char *name, const struct sc__gpu **out) {
    return sc__memo_ask(ctx, "gpu", name, read_gpu, NULL, (void **)out);
}

const struct sc__gpu *sc__gpu_known(struct sc_context *ctx, const char *name) {
    const struct sc__gpu *gpu;
    if (name && sc__gpu_find(ctx, name, &gpu) == SC_OK)
        return gpu;
    sc__clear_error(ctx);
    return NULL;
}
