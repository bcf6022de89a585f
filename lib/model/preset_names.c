/* preset_names: what people call a model → the preset of its shape. Hugging Face
 * publishes a shape under many ids; those differ by the publisher before the slash
 * and by endings that say how it was trained or stored. */
#include "model/read.h"

#include <string.h>

struct publisher {
    const char *name;
    const char *family; /* how the names of its presets begin */
};

static const struct publisher publishers[] = {{"meta-llama", "llama2"},
                                              {"meta-llama", "llama3"},
                                              {"huggyllama", "llama-"},
                                              {"Qwen", "qwen"},
                                              {"deepseek-ai", "deepseek"},
                                              {"google", "gemma"},
                                              {"mistralai", "mistral"},
                                              {"mistralai", "mixtral"},
                                              {"openai", "gpt-oss"},
                                              {"openai-community", "gpt2"},
                                              {"facebook", "opt"},
                                              {"EleutherAI", "gpt-neox"},
                                              {"EleutherAI", "pythia"},
                                              {"bigscience", "bloom"},
                                              {"tiiuae", "falcon"},
                                              {"microsoft", "phi"},
                                              {"zai-org", "glm"},
                                              {"moonshotai", "kimi"},
                                              {"xai-org", "grok"},
                                              {"mosaicml", "mpt"},
                                              {"01-ai", "yi"},
                                              {"databricks", "dbrx"},
                                              {"HuggingFaceTB", "smollm"},
                                              {"internlm", "internlm"},
                                              {"ibm-granite", "granite"},
                                              {"baichuan-inc", "baichuan"},
                                              {"TinyLlama", "tinyllama"},
                                              {"codellama", "codellama"},
                                              {"meta-llama", "codellama"},
                                              {"mistralai", "codestral"},
                                              {"THUDM", "glm"},
                                              /* publish others' models again */
                                              {"NousResearch", ""},
                                              {"unsloth", ""},
                                              {"hugging-quants", ""},
                                              {"axolotl-quants", ""},
                                              {"nvidia", ""},
                                              {"amd", ""},
                                              {"RedHatAI", ""},
                                              {"neuralmagic", ""},
                                              {0}};

/* Training or storage, not shape. */
static const char *const endings[] = {
    "-hf",   "-instruct", "-base",    "-chat",    "-it",    "-pt",  "-thinking", "-v0.1",
    "-v0.2", "-v1.0",     "-2507",    "-0324",    "-0528",  "-bnb", "-nf4",      "-bf16",
    "-fp16", "-fp8",      "-dynamic", "-nvfp4",   "-mxfp4", "-awq", "-gptq",     "-int4",
    "-int8", "-4bit",     "-8bit",    "-unsloth", NULL};

static bool publishes(struct sc__str publisher, const char *preset) {
    for (const struct publisher *p = publishers; p->name; p++)
        if (sc__str_is_any_case(publisher, p->name) &&
            sc__str_starts(sc__str(preset), p->family))
            return true;
    return false;
}

static bool drop_ending(struct sc__str *name) {
    for (const char *const *e = endings; *e; e++) {
        size_t n = strlen(*e);
        if (name->n <= n)
            continue;
        struct sc__str end = {name->p + name->n - n + 1, n - 1};
        bool apart = strchr("-_ ", end.p[-1]) != NULL;
        if (apart && sc__str_is_any_case(end, *e + 1)) {
            name->n -= n;
            return true;
        }
    }
    return false;
}

/* The name itself, or what is left of it without endings: "Llama-2-7b-chat-hf". */
static const struct sc__data_file *preset_of_name(struct sc__arena *arena,
                                                  struct sc__str name) {
    do {
        const struct sc__data_file *file =
            sc__data_find_loosely(arena, "models/", sc__strndup(arena, name.p, name.n));
        if (file)
            return file;
    } while (drop_ending(&name));
    return NULL;
}

/* Publishers who name themselves in the name as well: "meta-llama/Meta-Llama-3-70B". */
static const char *without_maker(const char *name) {
    static const char *const makers[] = {"Meta-", "NVIDIA-", NULL};
    for (const char *const *m = makers; *m; m++)
        if (sc__str_starts_any_case(sc__str(name), *m) && !strchr(name, '/'))
            return name + strlen(*m);
    return name;
}

const struct sc__data_file *sc__model_preset(struct sc__arena *arena, const char *name) {
    const char *slash = strchr(name, '/');
    if (!slash)
        return preset_of_name(arena, sc__str(without_maker(name)));
    struct sc__str publisher = {name, (size_t)(slash - name)};
    struct sc__str rest = sc__str(without_maker(slash + 1));
    const struct sc__data_file *file = preset_of_name(arena, rest);
    return file && publishes(publisher, sc__data_name(arena, file)) ? file : NULL;
}
