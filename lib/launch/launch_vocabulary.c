/* launch_vocabulary: how many words a model of Megatron has whose launch names a tokenizer
 * and no --vocab-size. */
#include "launch/launch.h"

#include "base/number.h"

#include <string.h>

/* Tokens of a tokenizer that a type alone names; 0: not known. Pai-Megatron-Patch's
 * (--patch-tokenizer-type) are those of its tokenizer files without what is added to them
 * (megatron_patch/tokenizer), to which --extra-vocab-size adds. */
static uint32_t tokens_of_type(const struct sc__launch *l, const char **type) {
    static const struct {
        const char *flag;
        const char *type;
        uint32_t tokens;
    } types[] = {{"tokenizer-type", "Llama2Tokenizer", 32000},
                 {"tokenizer-type", "Llama3Tokenizer", 128256},
                 /* files of SentencePiece in scripts of Megatron are Llama's */
                 {"tokenizer-type", "GPTSentencePieceTokenizer", 32000},
                 {"patch-tokenizer-type", "LLamaTokenizer", 32000},
                 {"patch-tokenizer-type", "LLama2Tokenizer", 32000},
                 {"patch-tokenizer-type", "LLama3Tokenizer", 128000},
                 {"patch-tokenizer-type", "MistralTokenizer", 32000},
                 {"patch-tokenizer-type", "MixtralTokenizer", 32000},
                 {"patch-tokenizer-type", "YiTokenizer", 64000},
                 {"patch-tokenizer-type", "DeepSeekV2Tokenizer", 100000},
                 {"patch-tokenizer-type", "QwenTokenizer", 151851},
                 {"patch-tokenizer-type", "Qwen2Tokenizer", 151643},
                 {"patch-tokenizer-type", "Qwen2VLTokenizer", 151643},
                 {"patch-tokenizer-type", "Qwen3Tokenizer", 151643}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *type = sc__launch_word_behind(l, types[i].flag);
        if (*type && !strcmp(*type, types[i].type))
            return types[i].tokens;
    }
    return 0;
}

/* DeepSeekV2Tokenizer reads DeepSeek-V3's files as well, of 128,813 tokens: it is theirs
 * where what is added fills these up to a multiple of 128, as their models' vocabularies
 * are, and not DeepSeek-V2's. */
static uint32_t tokens_of_deepseek(const char *type, uint32_t tokens, uint32_t extra) {
    const uint32_t third = 128813;
    bool fills = (tokens + extra) % 128 != 0 && (third + extra) % 128 == 0;
    return type && !strcmp(type, "DeepSeekV2Tokenizer") && fills ? third : tokens;
}

/* The preset that an id, or the name of a folder in a path, says. */
static const char *preset_in_path(const struct sc__launch *l, const char *path) {
    struct sc__arena *arena = &l->ctx->arena;
    if (!path || sc__shell_mark(path) || !strchr(path, '/'))
        return NULL;
    if (sc__model_preset(arena, path))
        return path;
    struct sc__str rest = sc__str(path);
    struct sc__str part;
    const char *found = NULL;
    while (sc__split(&rest, '/', &part)) {
        const char *name = sc__strndup(arena, part.p, part.n);
        if (part.n > 3 && sc__model_preset(arena, name))
            found = name; /* the last counts */
    }
    return found;
}

/* Llama2Tokenizer reads any file of SentencePiece: the name of one that is not Llama's by
 * its path (llm-jp-tokenizer-100k.model), or NULL. */
static const char *other_file(const struct sc__launch *l) {
    const char *path = sc__launch_word_behind(l, "tokenizer-model");
    const char *type = sc__launch_word_behind(l, "tokenizer-type");
    bool any = type && (!strcmp(type, "Llama2Tokenizer") ||
                        !strcmp(type, "GPTSentencePieceTokenizer"));
    if (!any || !path || sc__shell_mark(path))
        return NULL;
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (const char *at = path; *at; at++)
        if (sc__str_starts_any_case(sc__str(at), "llama"))
            return NULL;
    /* as Llama's own is called, and what stands for a path */
    return strcmp(name, "tokenizer.model") != 0 && strchr(name, '.') ? name : NULL;
}

/* Megatron asks the tokenizer; we know those of our presets, by id. */
sc_status sc__launch_vocabulary(struct sc__launch *l) {
    const char *type = NULL;
    const char *more = sc__launch_word_behind(l, "extra-vocab-size");
    uint32_t extra = 0;
    const char *name = sc__launch_word_behind(l, "tokenizer-model");
    struct sc__model m;
    uint32_t vocab = 0;
    if (sc__launch_nth(l, "vocab-size", 0) || sc__launch_nth(l, "padded-vocab-size", 0) ||
        sc__launch_nth(l, "model", 0))
        return SC_OK;
    if (!name)
        name = sc__launch_word_behind(l, "tokenizer-name-or-path");
    const char *preset = preset_in_path(l, name);
    if (preset) {
        SC__TRY(sc__model_find(l->ctx, preset, &m));
        vocab = m.vocab;
    } else {
        vocab = tokens_of_type(l, &type);
        name = type;
    }
    if (more && (!vocab || !sc__parse_u32(sc__str(more), &extra) || extra > 1u << 24))
        return sc__launch_fail(l,
                               l->line,
                               "give --vocab-size",
                               "--extra-vocab-size %.60s adds to a vocabulary that is not "
                               "known",
                               more);
    if (!vocab)
        return SC_OK;
    if (!preset)
        vocab = tokens_of_deepseek(type, vocab, extra);
    vocab += extra;
    const char *file = preset ? NULL : other_file(l);
    if (file)
        sc__note(l->ctx,
                 "vocab-assumed",
                 "no --vocab-size is given: %u, that of Llama 2, is assumed, for the "
                 "tokenizer's file %.80s is not read",
                 vocab,
                 file);
    else
        sc__note(l->ctx,
                 "vocab-of-tokenizer",
                 "no --vocab-size is given: %u, that of the tokenizer %s",
                 vocab,
                 name);
    sc__launch_add(l, "vocab-size", sc__format(&l->ctx->arena, "%u", vocab));
    return SC_OK;
}
