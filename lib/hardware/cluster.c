/* cluster: which of the forms a description has. The forms themselves are in
 * cluster_json.c, cluster_simai.c and cluster_astra.c; the one-line form is here. */
#include "hardware/cluster.h"

#include "hardware/cluster_fields.h"
#include "hardware/gpu.h"

#include <string.h>

#define FILE_LIMIT ((size_t)256 << 20)

/* "8xH100", "h100x8": as people write it, and as it is written here. */
static const char *counted(struct sc_context *ctx, const char *wanted) {
    size_t digits = strspn(wanted, "0123456789");
    size_t length = strlen(wanted);
    size_t tail = length;
    while (tail && wanted[tail - 1] >= '0' && wanted[tail - 1] <= '9')
        tail--;
    if (digits && (wanted[digits] | 32) == 'x' && wanted[digits + 1])
        return sc__format(&ctx->arena,
                          "write it as %s:%.*s",
                          wanted + digits + 1,
                          (int)digits,
                          wanted);
    if (tail > 1 && tail < length && (wanted[tail - 1] | 32) == 'x')
        return sc__format(&ctx->arena,
                          "write it as %.*s:%s",
                          (int)tail - 1,
                          wanted,
                          wanted + tail);
    return NULL;
}

static const char *preset_list(struct sc_context *ctx, const char *wanted) {
    const char *hint = counted(ctx, wanted);
    if (hint)
        return hint;
    const char *name = sc__strndup(&ctx->arena, wanted, strcspn(wanted, ":"));
    return sc__data_hint(ctx, "clusters/", name, "ideal, for a network without cost");
}

/* What people type for a machine → the preset that is such a machine. */
static const char *other_name(const char *name) {
    static const char *const names[][2] = {
        {"h100", "dgx-h100"},       {"hgx-h100", "dgx-h100"},
        {"h200", "hgx-h200"},       {"dgx-h200", "hgx-h200"},
        {"b200", "dgx-b200"},       {"hgx-b200", "dgx-b200"},
        {"a100", "dgx-a100"},       {"hgx-a100", "dgx-a100"},
        {"v100", "dgx-v100"},       {"gb200", "gb200-nvl72"},
        {"nvl72", "gb200-nvl72"},   {"mi300x", "amd-mi300x"},
        {"mi325x", "amd-mi325x"},   {"mi350x", "amd-mi350x"},
        {"mi355x", "amd-mi355x"},   {"p4d", "aws-p4d"},
        {"p4de", "aws-p4de"},       {"p5", "aws-p5"},
        {"p5e", "aws-p5e"},         {"p5en", "aws-p5en"},
        {"p6-b200", "aws-p6-b200"}, {"a3-high", "gcp-a3-high"},
        {"a3-mega", "gcp-a3-mega"}, {"a3-ultra", "gcp-a3-ultra"},
        {"a4", "gcp-a4"},           {"a4x", "gcp-a4x"},
        {"ndv4", "azure-ndv4"},     {"ndv5", "azure-ndv5"},
        {"ndv6", "azure-ndv6"},     {"b300", "dgx-b300"},
        {"hgx-b300", "dgx-b300"},   {"gb300", "gb300-nvl72"},
        {"p6-b300", "aws-p6-b300"}, {"h100-sxm", "dgx-h100"},
        {"a100-80", "dgx-a100"},    {"a100-40", "dgx-a100-40"},
        {"h800", "hgx-h800"},       {"a100-80-pcie", "a100-pcie"},
        {"mi250x", "frontier"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sc__str_is_any_case(sc__str(name), names[i][0]))
            return names[i][1];
    return name;
}

/* The machine that a GPU comes in, by whatever name the GPU was called. */
static const struct sc__data_file *preset_of_gpu(struct sc_context *ctx,
                                                 const struct sc__gpu *gpu) {
    const char *preset = other_name(gpu->name);
    return sc__data_find(sc__format(&ctx->arena, "clusters/%s.json", preset));
}

/* name: of the preset, in any case; but what is the name of a file is a file. */
static sc_status read_preset(struct sc_context *ctx,
                             const char *name,
                             bool is_file,
                             struct sc__cluster *out,
                             bool *found) {
    const struct sc__data_file *file =
        sc__data_find(sc__format(&ctx->arena, "clusters/%s.json", name));
    bool ideal =
        is_file ? !strcmp(name, "ideal") : sc__str_is_any_case(sc__str(name), "ideal");
    if (!file && !is_file)
        file = sc__data_find_loosely(&ctx->arena, "clusters/", other_name(name));
    const struct sc__gpu *gpu = file || ideal || is_file ? NULL : sc__gpu_known(ctx, name);
    if (gpu && (file = preset_of_gpu(ctx, gpu)))
        gpu = NULL;
    *found = file || ideal || gpu;
    if (gpu)
        *out = (struct sc__cluster){.name = gpu->name, .gpu = gpu->name};
    if (ideal) {
        *out = (struct sc__cluster){.name = "ideal",
                                    .source = "communication is free",
                                    .ideal = true,
                                    .node_gpus = 1};
        out->fabric.class = "plain";
        out->generation = SC__UNKNOWN_GENERATION;
        return SC_OK;
    }
    if (!file)
        return SC_OK;
    return sc__cluster_json(ctx,
                            file->path,
                            (struct sc__str){(const char *)file->bytes, file->size},
                            out);
}

/* A preset of dimensions is a block; `blocks` of them make the largest cube-like
 * whole: prime factors, largest first, go to the dimension that is smallest. */
static void stack_blocks(struct sc__fabric *f, uint32_t blocks) {
    uint32_t factor[32];
    uint32_t n = 0;
    for (uint32_t p = 2; p <= blocks / p; p++)
        while (blocks % p == 0) {
            factor[n++] = p;
            blocks /= p;
        }
    if (blocks > 1)
        factor[n++] = blocks;
    while (n--) {
        struct sc__fabric_dim *least = &f->dim[0];
        for (uint32_t d = 1; d < f->dims; d++)
            if (f->dim[d].size < least->size)
                least = &f->dim[d];
        least->size *= factor[n];
    }
}

static sc_status resize_dims(struct sc_context *ctx, struct sc__cluster *c) {
    uint32_t block = 1;
    for (uint32_t d = 0; d < c->fabric.dims; d++)
        block *= c->fabric.dim[d].size;
    if (!c->fabric.dims || c->gpus == block)
        return SC_OK;
    if (c->gpus % block)
        return sc__fail(
            ctx,
            SC_USAGE,
            NULL,
            sc__format(&ctx->arena, "use %u, %u, %u …", block, 2 * block, 3 * block),
            "'%s' comes in blocks of %u GPUs; %u is not a multiple of that",
            c->name,
            block,
            c->gpus);
    stack_blocks(&c->fabric, c->gpus / block);
    return SC_OK;
}

/* "dgx-h100:1024" or "dgx-h100". */
static sc_status parse_preset(struct sc_context *ctx,
                              struct sc__str word,
                              struct sc__cluster *out,
                              bool *found) {
    struct sc__str rest = word;
    struct sc__str name;
    const char *path = sc__strndup(&ctx->arena, word.p, word.n);
    sc__split(&rest, ':', &name);
    SC__TRY(read_preset(ctx,
                        sc__strndup(&ctx->arena, name.p, name.n),
                        sc__path_look(path).kind != SC__PATH_NONE,
                        out,
                        found));
    if (!*found || !rest.p)
        return SC_OK;
    if (!sc__parse_u32(rest, &out->gpus) || !out->gpus || out->gpus > UINT32_MAX / 64)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write it like dgx-h100:1024",
                        "cluster '%.*s': '%.*s' is not a number of GPUs",
                        SC__SHOW(word),
                        SC__SHOW(rest));
    return resize_dims(ctx, out);
}

/* Words as others have them. */
static const char *word_elsewhere(const char *given) {
    static const char *const words[][2] = {
        {"latency", "hop= between nodes, step= inside one?"},
        {"bandwidth", "nic= between nodes, nvlink= inside one?"},
        {"bw", "nic= between nodes, nvlink= inside one?"},
        {"memory", "gpu=? The memory is that of the GPU"},
        {"nodes", "gpus=? node= is the GPUs of a node"},
        {"gpus_per_node", "node=?"},
        {"gpus-per-node", "node=?"},
        {"oversub", "oversubscription=?"},
        {"topology", "fabric=?"},
        {"pod", "pod-leaves=?"},
        {"nvswitch", "inside=nvswitch?"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(words[i][0], given))
            return words[i][1];
    return NULL;
}

static const char *
word_hint(struct sc_context *ctx, const char *given, const char *const *words) {
    const char *elsewhere = word_elsewhere(given);
    const char *near = sc__nearest(given, words);
    struct sc__buffer b;
    if (strchr(given, ','))
        return "blanks part words: \"dgx-h100:64 nic=200Gbps leaf=16\"";
    if (elsewhere)
        return sc__format(&ctx->arena, "did you mean %s", elsewhere);
    if (near)
        return sc__format(&ctx->arena, "did you mean %s=?", near);
    sc__buffer_init(&b, &ctx->arena);
    for (unsigned i = 0; words[i]; i++)
        sc__printf(&b, "%s%s", i ? ", " : "one of: ", words[i]);
    return b.text;
}

static sc_status
unknown_word(struct sc_context *ctx, const char *text, struct sc__str word) {
    const char *words[64];
    const char *given = sc__strndup(&ctx->arena, word.p, word.n);
    unsigned n = 0;
    words[n++] = "dims";
    for (const struct sc__field *f = sc__cluster_fields; f->key; f++)
        if (f->word)
            words[n++] = f->word;
    words[n] = NULL;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    word_hint(ctx, given, words),
                    "cluster '%s': unknown key '%s'",
                    text,
                    given);
}

/* A key once more: "nic=400Gbps nic=200Gbps", or gpus= after "dgx-h100:64". */
static sc_status
refuse_repeated(struct sc_context *ctx, const char *text, struct sc__str key) {
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "give each key once; the size of a preset is dgx-h100:64 or gpus=64",
                    "cluster '%s': %.*s is given twice",
                    text,
                    SC__SHOW(key));
}

/* The words of the text before this one. */
static bool given_before(const char *text, struct sc__str word, struct sc__str key) {
    struct sc__str rest = {text, (size_t)(word.p - text)};
    struct sc__str before;
    struct sc__str before_key;
    bool first = true;
    while (sc__split(&rest, ' ', &before)) {
        if (!before.n)
            continue;
        struct sc__str value = before;
        bool preset = first && !memchr(before.p, '=', before.n);
        sc__split(&value, '=', &before_key);
        if (preset && sc__str_is(key, "gpus") && memchr(before.p, ':', before.n))
            return true;
        if (!preset && before_key.n == key.n && !memcmp(before_key.p, key.p, key.n))
            return true;
        first = false;
    }
    return false;
}

/* Links that a file gives one by one are not changed by a word. */
static sc_status refuse_other_links(struct sc_context *ctx,
                                    const char *text,
                                    struct sc__str key,
                                    const struct sc__cluster *c) {
    bool open = c->fabric.kind != SC__FABRIC_LINKS || sc__str_is(key, "gpu") ||
                sc__str_is(key, "class") || sc__str_is(key, "hbm");
    for (uint32_t i = 0; i < c->fabric.link_count && !open; i++)
        open = sc__str_is(key, "nvlink") && !(c->fabric.links[i].rate > 0);
    if (open)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "gpu= and class= can be changed here, the rest in the file",
                    "cluster '%s': %.*s: its links are given one by one",
                    text,
                    SC__SHOW(key));
}

static sc_status set_word(struct sc_context *ctx,
                          const char *text,
                          struct sc__str word,
                          struct sc__cluster *out) {
    struct sc__str value = word;
    struct sc__str key;
    sc__split(&value, '=', &key);
    const struct sc__field *f = sc__field_by_word(key);
    const char *expected = NULL;
    if (!value.p)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write key=value pairs like nic=400Gbps, alone or after a preset",
                        "cluster '%s': '%.*s' is not key=value",
                        text,
                        SC__SHOW(word));
    if (given_before(text, word, key))
        return refuse_repeated(ctx, text, key);
    SC__TRY(refuse_other_links(ctx, text, key, out));
    if (sc__str_is(key, "dims"))
        expected = sc__dims_parse(value, &out->fabric) ? NULL : "sizes like 8x8x4";
    else if (!f)
        return unknown_word(ctx, text, key);
    else
        expected = sc__field_set(ctx, out, f, value);
    if (f)
        out->said |= (uint64_t)1 << (f - sc__cluster_fields);
    if (!expected)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    NULL,
                    "cluster '%s': %.*s takes %s, not '%.*s'",
                    text,
                    SC__SHOW(key),
                    expected,
                    SC__SHOW(value));
}

static sc_status parse_bytes(struct sc_context *ctx,
                             const char *path,
                             struct sc__str text,
                             struct sc__cluster *out) {
    struct sc__str body = sc__trim(text);
    if (body.n && body.p[0] == '{')
        return sc__find_word(text.p, text.n, "\"topologies-per-dim\"")
                   ? sc__cluster_astra1(ctx, path, text, out)
                   : sc__cluster_json(ctx, path, text, out);
    if (body.n && body.p[0] == '<')
        return sc__cluster_nccl(ctx, path, text, out);
    if (sc__find_word(text.p, text.n, "Radix_Down"))
        return sc__cluster_htsim(ctx, path, text, out);
    if (sc__find_word(text.p, text.n, "switchguid="))
        return sc__cluster_ibnetdiscover(ctx, path, text, out);
    if (sc__find_word(text.p, text.n, "GPU0"))
        return sc__cluster_nvidia_smi(ctx, path, text, out);
    if (sc__find_word(text.p, text.n, "topology:"))
        return sc__cluster_astra(ctx, path, text, out);
    return sc__cluster_simai(ctx, path, text, out);
}

static sc_status
parse_file(struct sc_context *ctx, const char *path, struct sc__cluster *out) {
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, FILE_LIMIT, &text));
    return parse_bytes(ctx, path, text, out);
}

/* "cluster.json:64": a file, and another number of GPUs than it names. */
static sc_status parse_sized_file(struct sc_context *ctx,
                                  const char *text,
                                  struct sc__cluster *out,
                                  const char **file,
                                  bool *found) {
    const char *colon = strrchr(text, ':');
    uint32_t gpus = 0;
    *found = false;
    if (!colon || !sc__parse_u32(sc__str(colon + 1), &gpus) || !gpus ||
        gpus > UINT32_MAX / 64)
        return SC_OK;
    *file = sc__strndup(&ctx->arena, text, (size_t)(colon - text));
    if (sc__path_look(*file).kind == SC__PATH_NONE)
        return SC_OK;
    *found = true;
    struct sc__place at = {.file = *file};
    SC__TRY(parse_file(ctx, *file, out));
    bool fixed = out->fabric.dims || out->fabric.kind == SC__FABRIC_LINKS;
    if (fixed && out->gpus != gpus)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "leave the number out",
                        "its links are those of %u GPUs, not of %u",
                        out->gpus,
                        gpus);
    out->gpus = gpus;
    return SC_OK;
}

/* "topo.xml nic=200Gbps": a file, with something changed. */
static sc_status parse_first_file(struct sc_context *ctx,
                                  struct sc__str word,
                                  struct sc__cluster *out,
                                  const char **file,
                                  bool *found) {
    const char *path = sc__strndup(&ctx->arena, word.p, word.n);
    *found = sc__path_look(path).kind != SC__PATH_NONE;
    if (!*found)
        return parse_sized_file(ctx, path, out, file, found);
    *file = path;
    return parse_file(ctx, path, out);
}

static sc_status parse_line(struct sc_context *ctx,
                            const char *text,
                            struct sc__cluster *out,
                            const char **file) {
    struct sc__str rest = sc__str(text);
    struct sc__str word;
    bool first = true;
    bool found = false;
    *out = (struct sc__cluster){.name = text};
    while (sc__split(&rest, ' ', &word)) {
        if (!word.n)
            continue;
        if (first && !memchr(word.p, '=', word.n)) {
            SC__TRY(parse_preset(ctx, word, out, &found));
            if (!found)
                SC__TRY(parse_first_file(ctx, word, out, file, &found));
            if (!found)
                return sc__fail(ctx,
                                SC_USAGE,
                                NULL,
                                preset_list(ctx, sc__strndup(&ctx->arena, word.p, word.n)),
                                "cluster '%s': unknown preset '%.*s'",
                                text,
                                SC__SHOW(word));
        } else {
            SC__TRY(set_word(ctx, text, word, out));
            /* a preset that something was changed in is named with it */
            if (found && !sc__str_starts(word, "gpus="))
                out->name = sc__format(&ctx->arena, "%s %.*s", out->name, SC__SHOW(word));
        }
        first = false;
    }
    return SC_OK;
}

/* As described, with nothing that follows from it. *file: what it came from. */
static sc_status parse_text(struct sc_context *ctx,
                            const char *text,
                            struct sc__cluster *out,
                            const char **file) {
    bool found = false;
    *file = NULL;
    memset(out, 0, sizeof *out);
    bool words = strchr(text, '=') || strchr(text, ' ');
    if (words && sc__path_look(text).kind == SC__PATH_NONE)
        return parse_line(ctx, text, out, file);
    SC__TRY(parse_preset(ctx, sc__str(text), out, &found));
    if (found)
        return SC_OK;
    if (sc__path_look(text).kind == SC__PATH_NONE)
        SC__TRY(parse_sized_file(ctx, text, out, file, &found));
    if (found)
        return SC_OK;
    *file = NULL;
    if (sc__path_look(text).kind == SC__PATH_NONE && strcmp(text, "-") != 0)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        preset_list(ctx, text),
                        "'%s' is neither a preset nor a file",
                        text);
    *file = text;
    return parse_file(ctx, text, out);
}

static sc_status
finish_at(struct sc_context *ctx, const char *file, uint32_t gpus, struct sc__cluster *c) {
    struct sc__place at = {.file = file};
    return sc__cluster_finish(ctx, c, file ? &at : NULL, gpus);
}

/* What says itself how large it is, is finished here, once. */
static sc_status finish_description(struct sc_context *ctx,
                                    struct sc__cluster_description *d) {
    d->sized = d->cluster.gpus || d->cluster.fabric.dims;
    return d->sized ? finish_at(ctx, d->file, 0, &d->cluster) : SC_OK;
}

sc_status sc__cluster_describe(struct sc_context *ctx,
                               const char *text,
                               struct sc__cluster_description *out) {
    SC__TRY(parse_text(ctx, sc__strdup(&ctx->arena, text), &out->cluster, &out->file));
    return finish_description(ctx, out);
}

sc_status sc__cluster_describe_bytes(struct sc_context *ctx,
                                     const char *name,
                                     struct sc__str text,
                                     struct sc__cluster_description *out) {
    *out = (struct sc__cluster_description){.file = sc__strdup(&ctx->arena, name)};
    text.p = sc__strndup(&ctx->arena, text.p, text.n); /* names stay in the text */
    SC__TRY(parse_bytes(ctx, out->file, text, &out->cluster));
    return finish_description(ctx, out);
}

sc_status sc__cluster_sized(struct sc_context *ctx,
                            const struct sc__cluster_description *d,
                            uint32_t ranks,
                            struct sc__cluster *out) {
    struct sc__place at = {.file = d->file};
    *out = d->cluster;
    if (!d->sized)
        return finish_at(ctx, d->file, ranks, out);
    return sc__cluster_holds(ctx, out, d->file ? &at : NULL, ranks);
}

sc_status sc__cluster_parse(struct sc_context *ctx,
                            const char *text,
                            uint32_t gpus,
                            struct sc__cluster *out) {
    const char *file;
    SC__TRY(parse_text(ctx, text, out, &file));
    return finish_at(ctx, file, gpus, out);
}

const char *sc__cluster_usual(struct sc_context *ctx, const char *gpu) {
    bool named = gpu && !sc__gpu_is_file(gpu);
    const struct sc__gpu *known = named ? sc__gpu_known(ctx, gpu) : NULL;
    if (!known)
        return "dgx-h100";
    if (preset_of_gpu(ctx, known))
        return other_name(known->name);
    return sc__format(&ctx->arena, "%s nics=8 nic=400Gbps class=ib", known->name);
}

sc_status sc__gpu_of_job(struct sc_context *ctx,
                         const struct sc__settings *settings,
                         const struct sc__gpu **out) {
    const char *name = settings ? sc__setting(settings, "gpu") : NULL;
    const char *text = settings ? sc__setting(settings, "cluster") : NULL;
    struct sc__cluster_description d = {0};
    if (!name && text)
        SC__TRY(sc__cluster_describe(ctx, text, &d));
    if (!name)
        name = d.cluster.gpu ? d.cluster.gpu : "h100";
    return sc__gpu_find(ctx, name, out);
}
