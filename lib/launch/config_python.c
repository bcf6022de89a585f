/* config_python: recipes of NeMo and Megatron-Bridge, as far as they are values under
 * names: assignments, defaults of parameters, arguments by name, entries of dictionaries.
 *
 *     def recipe(tensor_parallelism: int = 4, …):
 *         cfg.model.seq_length = 8192
 *         strategy = run.Config(MegatronStrategy,
 * tensor_model_parallel_size=tensor_parallelism)
 *
 * A name as a value stands for what is assigned to it. Nothing is run: where a name has
 * several values the file holds several recipes, and the reader asks which. */
#include "launch/config.h"

#include <ctype.h>
#include <string.h>

#define PYTHON_MOST_VALUES 20000
#define PYTHON_MOST_HOPS 8

struct python_reader {
    struct sc_context *ctx;
    struct sc__str text;
    struct sc__config *out;
};

static bool name_character(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a string that begins at i; a comment ends with its line. */
static size_t skip_text(struct sc__str s, size_t i) {
    char quote = s.p[i];
    if (quote == '#') {
        while (i < s.n && s.p[i] != '\n')
            i++;
        return i;
    }
    bool triple = i + 2 < s.n && s.p[i + 1] == quote && s.p[i + 2] == quote;
    size_t width = triple ? 3 : 1;
    for (i += width; i < s.n; i++) {
        if (s.p[i] == '\\') {
            i++;
            continue;
        }
        if (!triple && s.p[i] == '\n')
            return i;
        if (s.p[i] == quote &&
            (!triple || (i + 2 < s.n && s.p[i + 1] == quote && s.p[i + 2] == quote)))
            return i + width;
    }
    return s.n;
}

/* The last part of the name that ends before `end`: "a.b.c" gives c, with ": type" left
 * out. Empty where there is none. */
static struct sc__str name_before(struct sc__str s, size_t end) {
    size_t begin = end;
    int brackets = 0; /* of a type: Optional[int] */
    while (begin) {
        char c = s.p[begin - 1];
        brackets += (c == ']') - (c == '[');
        if (c == '\n' || c == '{' || c == ';' || (!brackets && (c == ',' || c == '(')))
            break;
        begin--;
    }
    struct sc__str name = sc__trim((struct sc__str){s.p + begin, end - begin});
    const char *colon = name.n ? memchr(name.p, ':', name.n) : NULL;
    if (colon)
        name = sc__trim((struct sc__str){name.p, (size_t)(colon - name.p)});
    for (size_t i = name.n; i; i--)
        if (name.p[i - 1] == '.')
            return (struct sc__str){name.p + i, name.n - i};
        else if (!name_character(name.p[i - 1]))
            return (struct sc__str){"", 0};
    return name;
}

/* The literal or the dotted name that begins at i; empty for any other expression. */
static struct sc__str value_at(struct sc__str s, size_t i) {
    static const struct sc__str none = {"", 0};
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t'))
        i++;
    size_t begin = i;
    bool string = i < s.n && (s.p[i] == '"' || s.p[i] == '\'');
    if (string)
        i = skip_text(s, i);
    else
        while (i < s.n && (name_character(s.p[i]) || s.p[i] == '.' || s.p[i] == '-'))
            i++;
    size_t end = i;
    while (i < s.n && (s.p[i] == ' ' || s.p[i] == '\t' || s.p[i] == '\r'))
        i++;
    bool ended = i == s.n || strchr(",)}\n;#", s.p[i]) != NULL;
    if (!ended || end == begin || (string && end - begin < 2))
        return none;
    return string ? (struct sc__str){s.p + begin + 1, end - begin - 2}
                  : (struct sc__str){s.p + begin, end - begin};
}

static void add_value(struct python_reader *r,
                      struct sc__str name,
                      struct sc__str value,
                      uint32_t line) {
    struct sc__arena *arena = &r->ctx->arena;
    if (!name.n || isdigit((unsigned char)name.p[0]) || !value.n ||
        r->out->count == PYTHON_MOST_VALUES)
        return;
    char *text = sc__strndup(arena, value.p, value.n);
    if (isdigit((unsigned char)text[0])) { /* 1_000_000 */
        char *to = text;
        for (const char *from = text; *from; from++)
            if (*from != '_')
                *to++ = *from;
        *to = 0;
    }
    const char *key = sc__strndup(arena, name.p, name.n);
    *SC__PUSH(arena, r->out->items, r->out->count, r->out->capacity) =
        (struct sc__config_item){.key = key, .last = key, .value = text, .line = line};
}

/* name = value, name=value and name: type = value; "name": value. */
static void collect_values(struct python_reader *r) {
    struct sc__str s = r->text;
    uint32_t line = 1;
    for (size_t i = 0; i < s.n;) {
        char c = s.p[i];
        if (c == '"' || c == '\'' || c == '#') {
            size_t end = skip_text(s, i);
            bool entry = c != '#' && end < s.n && s.p[end] == ':' && end > i + 2;
            if (entry)
                add_value(r,
                          (struct sc__str){s.p + i + 1, end - i - 2},
                          value_at(s, end + 1),
                          line);
            for (; i < end; i++)
                line += s.p[i] == '\n';
            continue;
        }
        bool equals = c == '=' && i && i + 1 < s.n && s.p[i + 1] != '=' &&
                      !strchr("=!<>:+-*/", s.p[i - 1]);
        if (equals)
            add_value(r, name_before(s, i), value_at(s, i + 1), line);
        line += c == '\n';
        i++;
    }
}

static bool is_name(const char *value) {
    bool word = isalpha((unsigned char)value[0]) || value[0] == '_';
    for (const char *c = value; *c; c++)
        word = word && (name_character(*c) || *c == '.');
    return word && strcmp(value, "True") != 0 && strcmp(value, "False") != 0 &&
           strcmp(value, "None") != 0;
}

/* What a name stands for, by the values found; the name itself where nothing does. */
static const char *looked_up_value(const struct sc__config *c, const char *value) {
    for (unsigned hop = 0; hop < PYTHON_MOST_HOPS && is_name(value); hop++) {
        const char *last = strrchr(value, '.');
        const char *name = last ? last + 1 : value;
        const char *found = NULL;
        for (uint32_t i = 0; i < c->count && !found; i++)
            if (!strcmp(c->items[i].last, name) && strcmp(c->items[i].value, value) != 0)
                found = c->items[i].value;
        if (!found)
            return value;
        value = found;
    }
    return value;
}

static bool ends_with(struct sc__str word, const char *ending) {
    return sc__str_ends(word, ending) && word.n > strlen(ending);
}

/* A function of NeMo's or Megatron-Bridge's precisions that is called, or a name of one in
 * quotes: bf16_mixed(), "bf16_with_fp8_current_scaling_mixed". */
static bool names_precision(struct sc__str s, size_t begin, size_t end) {
    struct sc__str word = {s.p + begin, end - begin};
    bool quoted = begin && (s.p[begin - 1] == '"' || s.p[begin - 1] == '\'');
    bool called = end < s.n && s.p[end] == '(';
    bool defined = begin > 4 && !memcmp(s.p + begin - 4, "def ", 4);
    return ends_with(word, "_mixed") && (quoted || called) && !defined;
}

static void collect_precisions(struct python_reader *r) {
    static const char key[] = "mixed_precision";
    struct sc__str s = r->text;
    uint32_t line = 1;
    for (size_t i = 0; i < s.n;) {
        size_t end = i + 1;
        if (s.p[i] == '#')
            end = skip_text(s, i);
        while (name_character(s.p[i]) && end < s.n && name_character(s.p[end]))
            end++;
        if (name_character(s.p[i]) && names_precision(s, i, end))
            add_value(r, sc__str(key), (struct sc__str){s.p + i, end - i}, line);
        for (; i < end; i++)
            line += s.p[i] == '\n';
    }
}

void sc__config_read_python(struct sc_context *ctx,
                            struct sc__str text,
                            struct sc__config *out) {
    struct python_reader r = {.ctx = ctx, .text = text, .out = out};
    memset(out, 0, sizeof *out);
    collect_values(&r);
    for (uint32_t i = 0; i < out->count; i++)
        out->items[i].value = looked_up_value(out, out->items[i].value);
    collect_precisions(&r);
}

/* A family as it is in names of Python, where there are no points; GPTConfig175B is
 * GPT-3's. */
static const char *with_points(const char *family) {
    static const char *const points[][2] = {{"llama31", "llama3.1"},
                                            {"llama32", "llama3.2"},
                                            {"llama33", "llama3.3"},
                                            {"qwen25", "qwen2.5"},
                                            {"gpt", "gpt3"}};
    for (size_t k = 0; k < sizeof points / sizeof *points; k++)
        if (!strcmp(family, points[k][0]))
            return points[k][1];
    return family;
}

/* The words of a class that has its model in its name: Llama3Config8B,
 * Llama31ModelProvider70B. */
static const char *named_preset(struct sc_context *ctx, struct sc__str word) {
    static const char *const middles[] = {"ModelProvider", "Provider", "Config", NULL};
    for (const char *const *middle = middles; *middle; middle++) {
        size_t n = strlen(*middle);
        for (size_t i = 1; i + n < word.n; i++) {
            if (memcmp(word.p + i, *middle, n) != 0 ||
                !isdigit((unsigned char)word.p[i + n]))
                continue;
            char *family = sc__strndup(&ctx->arena, word.p, i);
            for (char *c = family; *c; c++)
                *c = (char)tolower((unsigned char)*c);
            const char *name = sc__format(&ctx->arena,
                                          "%s-%.*s",
                                          with_points(family),
                                          (int)(word.n - i - n),
                                          word.p + i + n);
            return sc__model_preset(&ctx->arena, name) ? name : NULL;
        }
    }
    return NULL;
}

/* A module of NeMo's recipes whose recipe is called: llm.llama3_70b.pretrain_recipe(…),
 * from nemo.collections.llm.recipes.nemotronh_8b import pretrain_recipe. */
static const char *
module_preset(struct sc_context *ctx, struct sc__str s, size_t begin, size_t end) {
    static const char *const calls[] = {".pretrain_recipe", ".finetune_recipe", NULL};
    static const char home[] = "llm.recipes.";
    size_t n = sizeof home - 1;
    bool recipe = begin > n && !memcmp(s.p + begin - n, home, n);
    for (const char *const *call = calls; *call; call++)
        recipe = recipe || sc__str_starts((struct sc__str){s.p + end, s.n - end}, *call);
    char *family = sc__strndup(&ctx->arena, s.p + begin, end - begin);
    char *size = strrchr(family, '_');
    if (!recipe || !size)
        return NULL;
    *size++ = 0;
    const char *name = sc__format(&ctx->arena, "%s-%s", with_points(family), size);
    return sc__model_preset(&ctx->arena, name) ? name : NULL;
}

/* An id of Hugging Face in quotes ("meta-llama/Meta-Llama-3-70B"), or NULL. */
static const char *quoted_preset(struct sc_context *ctx, struct sc__str quoted) {
    if (quoted.n > 100 || !quoted.n || !memchr(quoted.p, '/', quoted.n))
        return NULL;
    const char *id = sc__strndup(&ctx->arena, quoted.p, quoted.n);
    return sc__model_preset(&ctx->arena, id) ? id : NULL;
}

const char *sc__config_python_model(struct sc_context *ctx,
                                    struct sc__str s,
                                    bool quotes,
                                    const char **other) {
    const char *model = NULL;
    *other = NULL;
    for (size_t i = 0; i < s.n;) {
        size_t end = i + 1;
        const char *found = NULL;
        if (s.p[i] == '#' || s.p[i] == '"' || s.p[i] == '\'') {
            end = skip_text(s, i);
            if (quotes && s.p[i] != '#' && end > i + 2)
                found = quoted_preset(ctx, (struct sc__str){s.p + i + 1, end - i - 2});
        } else if (name_character(s.p[i])) {
            while (end < s.n && name_character(s.p[end]))
                end++;
            found = named_preset(ctx, (struct sc__str){s.p + i, end - i});
            found = found ? found : module_preset(ctx, s, i, end);
        }
        if (found && model &&
            sc__model_preset(&ctx->arena, found) != sc__model_preset(&ctx->arena, model))
            *other = found;
        model = model ? model : found;
        i = end;
    }
    return model;
}
