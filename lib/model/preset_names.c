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
                                              {"meta-llama", "llama4"},
                                              {"huggyllama", "llama-"},
                                              {"Qwen", "qwen"},
                                              {"deepseek-ai", "deepseek"},
                                              {"google", "gemma"},
                                              {"mistralai", "mistral"},
                                              {"mistralai", "mixtral"},
                                              {"mistral-community", "mixtral"},
                                              {"mistral-community", "mistral"},
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
                                              {"openlm-research", "openllama"},
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

/* Models under a name of their own that have the shape of another, as their configurations
 * say. Not among them: those that are near it (R1-Distill-Qwen-1.5B has an output embedding
 * of its own, Phi-3-mini-128k another window, Granite 3.3 another vocabulary). */
struct alias {
    const char *publisher;
    const char *name;
    const char *preset;
};

static const struct alias aliases[] = {
    {"deepseek-ai", "DeepSeek-R1", "deepseek-v3"},
    {"deepseek-ai", "DeepSeek-R1-Zero", "deepseek-v3"},
    {"deepseek-ai", "DeepSeek-V3.1", "deepseek-v3"},
    {"deepseek-ai", "DeepSeek-V3.1-Terminus", "deepseek-v3"},
    {"deepseek-ai", "DeepSeek-V3.2-Exp", "deepseek-v3.2"},
    {"deepseek-ai", "DeepSeek-V3.2-Speciale", "deepseek-v3.2"},
    {"deepseek-ai", "DeepSeek-V2.5", "deepseek-v2"},
    {"deepseek-ai", "DeepSeek-Coder-V2", "deepseek-v2"},
    {"deepseek-ai", "DeepSeek-Coder-V2-Lite", "deepseek-v2-lite"},
    {"deepseek-ai", "DeepSeek-R1-Distill-Qwen-7B", "qwen2.5-7b"},
    {"deepseek-ai", "DeepSeek-R1-Distill-Qwen-14B", "qwen2.5-14b"},
    {"deepseek-ai", "DeepSeek-R1-Distill-Qwen-32B", "qwen2.5-32b"},
    {"deepseek-ai", "DeepSeek-R1-Distill-Llama-8B", "llama3.1-8b"},
    {"deepseek-ai", "DeepSeek-R1-Distill-Llama-70B", "llama3.3-70b"},
    {"Qwen", "QwQ-32B", "qwen2.5-32b"},
    {"Qwen", "QwQ-32B-Preview", "qwen2.5-32b"},
    {"Qwen", "Qwen2.5-Math-1.5B", "qwen2.5-1.5b"},
    {"Qwen", "Qwen2.5-Math-7B", "qwen2.5-7b"},
    {"Qwen", "Qwen2.5-Math-72B", "qwen2.5-72b"},
    {"Qwen", "Qwen2.5-Coder-0.5B", "qwen2.5-0.5b"},
    {"Qwen", "Qwen2.5-Coder-1.5B", "qwen2.5-1.5b"},
    {"Qwen", "Qwen2.5-Coder-3B", "qwen2.5-3b"},
    {"Qwen", "Qwen2.5-Coder-7B", "qwen2.5-7b"},
    {"Qwen", "Qwen2.5-Coder-14B", "qwen2.5-14b"},
    {"Qwen", "Qwen2.5-Coder-32B", "qwen2.5-32b"},
    {"Qwen", "Qwen3-Coder-30B-A3B", "qwen3-30b-a3b"},
    {"zai-org", "GLM-4.6", "glm-4.5"},
    {"zai-org", "GLM-4.7", "glm-4.5"},
    {"mistralai", "Mistral-7B-Instruct-v0.1", "mistral-7b-v0.1"},
    {"mistralai", "Mistral-7B-Instruct-v0.3", "mistral-7b-v0.3"},
    {"mistralai", "Mistral-Nemo-Base-2407", "mistral-nemo-12b"},
    {"mistralai", "Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"},
    {"mistralai", "Mistral-Large-Instruct-2407", "mistral-large-123b"},
    {"mistralai", "Mistral-Large-Instruct-2411", "mistral-large-123b"},
    {"mistralai", "Mistral-Small-24B-Base-2501", "mistral-small-24b"},
    {"mistralai", "Mistral-Small-24B-Instruct-2501", "mistral-small-24b"},
    {"microsoft", "Phi-3-mini-4k", "phi3-mini"},
    {"microsoft", "Phi-3-medium-4k", "phi3-medium"},
    {"microsoft", "Phi-4-reasoning", "phi4"},
    {"microsoft", "Phi-4-reasoning-plus", "phi4"},
    {"google", "gemma-1.1-2b", "gemma-2b"},
    {"google", "gemma-1.1-7b", "gemma-7b"},
    {"google", "codegemma-2b", "gemma-2b"},
    {"google", "codegemma-7b", "gemma-7b"},
    {"bigscience", "bloom", "bloom-176b"},
    {"bigscience", "bloomz", "bloom-176b"},
    {"bigscience", "bloomz-7b1", "bloom-7b1"},
    {"huggyllama", "llama-30b", "llama-33b"},
    {"internlm", "internlm2-base-7b", "internlm2-7b"},
    {"internlm", "internlm2_5-7b", "internlm2-7b"},
    {"internlm", "internlm2_5-7b-chat", "internlm2-7b"},
    {"internlm", "internlm2_5-20b-chat", "internlm2-20b"},
    {"internlm", "internlm2-base-20b", "internlm2-20b"},
    {"internlm", "internlm2-chat-7b", "internlm2-7b"},
    {"internlm", "internlm2-chat-20b", "internlm2-20b"},
    {"openlm-research", "open_llama_3b_v2", "openllama-3b"},
    {"lmsys", "vicuna-7b-v1.3", "llama-7b"},
    {"lmsys", "vicuna-13b-v1.3", "llama-13b"},
    {"lmsys", "vicuna-33b-v1.3", "llama-33b"},
    {"lmsys", "vicuna-7b-v1.5", "llama2-7b"},
    {"lmsys", "vicuna-7b-v1.5-16k", "llama2-7b"},
    {"lmsys", "vicuna-13b-v1.5", "llama2-13b"},
    {"lmsys", "vicuna-13b-v1.5-16k", "llama2-13b"},
    {"deepseek-ai", "deepseek-math-7b", "deepseek-llm-7b"},
    {"deepseek-ai", "deepseek-math-7b-rl", "deepseek-llm-7b"},
    {"Qwen", "Qwen2.5-7B-Instruct-1M", "qwen2.5-7b"},
    {"Qwen", "Qwen2.5-14B-Instruct-1M", "qwen2.5-14b"},
    {"01-ai", "Yi-1.5-6B", "yi-6b"},
    {"01-ai", "Yi-1.5-34B", "yi-34b"},
    {"nvidia", "Nemotron-H-8B-Base-8K", "nemotron-h-8b"},
    {"nvidia", "Nemotron-H-56B-Base-8K", "nemotron-h-56b"},
    {NULL, NULL, NULL},
};

/* Training or storage, not shape. */
static const char *const endings[] = {
    "-hf",   "-instruct", "-base",    "-chat", "-it",      "-pt",      "-thinking", "-v0.1",
    "-v0.2", "-v1.0",     "-deduped", "-0905", "-2507",    "-0324",    "-0528",     "-bnb",
    "-nf4",  "-bf16",     "-fp16",    "-fp8",  "-dynamic", "-nvfp4",   "-mxfp4",    "-awq",
    "-gptq", "-int4",     "-int8",    "-4bit", "-8bit",    "-unsloth", NULL};

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

static const struct alias *alias_of(struct sc__arena *arena, const char *name) {
    for (const struct alias *a = aliases; a->name; a++)
        if (sc__data_same_name(arena, a->name, name))
            return a;
    return NULL;
}

/* The name itself, or what is left of it without endings: "Llama-2-7b-chat-hf". alias: by
 * which it was found, or NULL. */
static const struct sc__data_file *
preset_of_name(struct sc__arena *arena, struct sc__str name, const struct alias **alias) {
    do {
        const char *said = sc__strndup(arena, name.p, name.n);
        *alias = alias_of(arena, said);
        const struct sc__data_file *file =
            sc__data_find_loosely(arena, "models/", *alias ? (*alias)->preset : said);
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

/* Who publishes others' models again publishes those of any family. */
static bool has_alias(struct sc__str publisher, const struct alias *alias) {
    return sc__str_is_any_case(publisher, alias->publisher) || publishes(publisher, "");
}

/* Folders of ModelScope have three underscores for each dot: "Llama-3___2-3B-Instruct"
 * (its hub/snapshot_download.py). */
static const char *with_dots(struct sc__arena *arena, const char *name) {
    char *plain = sc__strdup(arena, name);
    char *to = plain;
    for (const char *from = plain; *from; to++) {
        bool dot = !strncmp(from, "___", 3);
        *to = dot ? '.' : *from;
        from += dot ? 3 : 1;
    }
    *to = 0;
    return plain;
}

const struct sc__data_file *sc__model_preset(struct sc__arena *arena, const char *name) {
    const char *slash;
    const struct alias *alias;
    if (strstr(name, "___"))
        name = with_dots(arena, name);
    slash = strchr(name, '/');
    if (!slash)
        return preset_of_name(arena, sc__str(without_maker(name)), &alias);
    struct sc__str publisher = {name, (size_t)(slash - name)};
    struct sc__str rest = sc__str(without_maker(slash + 1));
    const struct sc__data_file *file = preset_of_name(arena, rest, &alias);
    if (!file)
        return NULL;
    bool known = alias ? has_alias(publisher, alias)
                       : publishes(publisher, sc__data_name(arena, file));
    return known ? file : NULL;
}
