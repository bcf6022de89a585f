/* config_registry: configurations of torchtitan that are Python: a function of its
 * config_registry.py returns Trainer.Config(training=TrainingConfig(seq_len=8192), …), or
 * what another one returns with some of its values set anew:
 *
 *     def llama3_8b_long() -> Trainer.Config:
 *         config = llama3_8b()
 *         config.training.seq_len = 32768
 *         return config
 *
 * Its arguments become the keys of a TOML file: training.seq_len. Nothing is run. */
#include "launch/config.h"

#include <ctype.h>
#include <string.h>

enum { MOST_CALLS = 8 };

struct registry {
    struct sc__launch *l;
    struct sc__config *c;
    struct sc__str text;
};

struct function {
    struct sc__str name;
    struct sc__str body; /* from behind its name on */
    uint32_t line;
};

static const char trainer_call[] = "Trainer.Config(";
static const char model_call[] = "model_registry(";

bool sc__config_is_registry(struct sc__str text) {
    return sc__find_word(text.p, text.n, trainer_call) &&
           sc__find_word(text.p, text.n, model_call);
}

static bool is_in_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_name(const char *text) {
    const char *end = text;
    while (is_in_name(*end))
        end++;
    return *text && !*end;
}

/* The next "def name" at the beginning of a line, with what follows up to the next line
 * that is not indented. */
static bool next_function(struct sc__str *rest, uint32_t *line, struct function *f) {
    struct sc__str text;
    bool found = false;
    while (rest->n) {
        const char *begin = rest->p;
        bool blank = *begin == '\n' || isspace((unsigned char)*begin) || *begin == '#' ||
                     *begin == ')';
        if (found && !blank)
            break;
        sc__split(rest, '\n', &text);
        if (!found && sc__str_starts(text, "def ")) {
            f->name = (struct sc__str){text.p + 4, 0};
            while (f->name.n < text.n - 4 && is_in_name(f->name.p[f->name.n]))
                f->name.n++;
            f->body.p = f->name.p + f->name.n;
            f->line = *line;
            found = true;
        }
        if (found)
            f->body.n = (size_t)(text.p + text.n - f->body.p);
        ++*line;
    }
    return found;
}

/* Whether it makes a configuration, itself or by another function that does. */
static bool returns_configuration(struct sc__str body) {
    return sc__find_word(body.p, body.n, trainer_call) ||
           sc__find_word(body.p, body.n, "return config");
}

static bool
find_function(const struct registry *r, const char *name, struct function *out) {
    struct sc__str rest = r->text;
    uint32_t line = 1;
    while (next_function(&rest, &line, out))
        if (sc__str_is(out->name, name))
            return true;
    return false;
}

/* Those that make configurations; *last: one of them. */
static uint32_t
list_functions(const struct registry *r, struct sc__buffer *names, struct function *last) {
    struct sc__str rest = r->text;
    struct function f;
    uint32_t line = 1;
    uint32_t count = 0;
    sc__buffer_init(names, &r->l->ctx->arena);
    while (next_function(&rest, &line, &f)) {
        if (!returns_configuration(f.body))
            continue;
        sc__printf(names, "%s%.*s", count ? ", " : "", SC__SHOW(f.name));
        *last = f;
        count++;
    }
    return count;
}

/* ---- what one of them says ---- */

/* A key that is set anew, and the section that it was. */
static void drop(struct registry *r, const char *key) {
    size_t n = strlen(key);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < r->c->count; i++) {
        const char *other = r->c->items[i].key;
        if (strncmp(other, key, n) != 0 || (other[n] && other[n] != '.'))
            r->c->items[kept++] = r->c->items[i];
    }
    r->c->count = kept;
}

static bool says(const struct function *f, const char *word) {
    return sc__find_word(f->body.p, f->body.n, word) != NULL;
}

/* The string that stands behind a word; NULL: none. */
static const char *
string_behind(struct registry *r, const struct function *f, const char *word) {
    const char *end = f->body.p + f->body.n;
    const char *at = sc__find_word(f->body.p, f->body.n, word);
    at = at ? at + strlen(word) : end;
    while (at < end && isspace((unsigned char)*at))
        at++;
    if (at == end || (*at != '"' && *at != '\''))
        return NULL;
    const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
    return close ? sc__strndup(&r->l->ctx->arena, at + 1, (size_t)(close - at - 1)) : NULL;
}

/* What stands in lists of converters and as classes: the flavor of the model, products in
 * float8, an optimizer within the backward pass, a loss in pieces. */
static void take_classes(struct registry *r, const struct function *f) {
    const char *flavor = string_behind(r, f, model_call);
    const char *recipe = string_behind(r, f, "recipe_name=");
    bool mx = says(f, "MXFP8LinearConverter") || says(f, "MXLinearConverter");
    const char *const keys[][2] = {
        {"model.flavor", flavor},
        {"model.converters",
         mx                                 ? "linear.mx"
         : says(f, "Float8LinearConverter") ? "float8"
                                            : NULL},
        {"float8.recipe_name", recipe},
        {"float8.enable_fsdp_float8_all_gather",
         says(f, "enable_fsdp_float8_all_gather=True") ? "true" : NULL},
        {"optimizer.early_step_in_backward",
         says(f, "OptimizersInBackwardContainer") ? "true" : NULL},
        {"loss.chunked", says(f, "ChunkedCELoss") ? "true" : NULL}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!keys[i][1])
            continue;
        drop(r, keys[i][0]);
        sc__config_put(r->l, r->c, keys[i][0], keys[i][1], f->line);
    }
}

static uint32_t lines_before(const struct function *f, const char *at) {
    uint32_t line = f->line;
    for (const char *p = f->body.p; p < at; p++)
        line += *p == '\n';
    return line;
}

/* "config.training.seq_len = 32768": the name before "=" without its first part. */
static void
take_assignment(struct registry *r, const struct function *f, struct sc__str text) {
    struct sc__str line = sc__trim(text);
    const char *equals = line.n ? memchr(line.p, '=', line.n) : NULL;
    if (!equals || (equals + 1 < line.p + line.n && equals[1] == '='))
        return;
    struct sc__str name = sc__trim((struct sc__str){line.p, (size_t)(equals - line.p)});
    const char *dot = name.n ? memchr(name.p, '.', name.n) : NULL;
    for (size_t i = 0; i < name.n; i++)
        if (!is_in_name(name.p[i]) && name.p[i] != '.')
            return;
    if (!dot || sc__str_starts(name, "self."))
        return;
    struct sc__str value = {equals + 1, (size_t)(f->body.p + f->body.n - equals - 1)};
    const char *key =
        sc__strndup(&r->l->ctx->arena, dot + 1, name.n - (size_t)(dot + 1 - name.p));
    drop(r, key);
    sc__config_read_call(r->l, r->c, value, lines_before(f, equals), key);
}

/* What stands behind "name =" in a function; n 0: nothing. */
static struct sc__str assigned(const struct function *f, const char *name) {
    struct sc__str rest = f->body;
    struct sc__str line;
    size_t n = strlen(name);
    while (sc__split(&rest, '\n', &line)) {
        line = sc__trim(line);
        if (!sc__str_starts(line, name))
            continue;
        const char *at = line.p + n;
        while (at < line.p + line.n && *at == ' ')
            at++;
        if (at < line.p + line.n && *at == '=')
            return (struct sc__str){at + 1, (size_t)(f->body.p + f->body.n - at - 1)};
    }
    return (struct sc__str){NULL, 0};
}

/* "compile=compiled" with "compiled = CompileConfig(…)" above. */
static void take_names(struct registry *r, const struct function *f) {
    uint32_t i = 0;
    for (uint32_t left = r->c->count; left && i < r->c->count; left--) {
        const struct sc__config_item item = r->c->items[i];
        struct sc__str text = {NULL, 0};
        if (is_name(item.value))
            text = assigned(f, item.value);
        if (!text.n) {
            i++;
            continue;
        }
        drop(r, item.key);
        sc__config_read_call(r->l, r->c, text, lines_before(f, text.p), item.key);
    }
}

/* "config = other()": what the other says comes first. */
static bool take_base(struct registry *r, const struct function *f, unsigned depth);

static bool take_function(struct registry *r, const struct function *f, unsigned depth) {
    const char *call = sc__find_word(f->body.p, f->body.n, trainer_call);
    struct sc__str rest = f->body;
    struct sc__str line;
    if (depth > MOST_CALLS || (!call && !take_base(r, f, depth)))
        return false;
    if (call) {
        struct sc__str text = {call, (size_t)(f->body.p + f->body.n - call)};
        sc__config_read_call(r->l, r->c, text, lines_before(f, call), "");
        take_names(r, f);
    }
    take_classes(r, f);
    while (!call && sc__split(&rest, '\n', &line))
        take_assignment(r, f, line);
    return true;
}

static bool take_base(struct registry *r, const struct function *f, unsigned depth) {
    struct sc__str rest = f->body;
    struct sc__str line;
    while (sc__split(&rest, '\n', &line)) {
        struct sc__str value = sc__trim(line);
        const char *equals = value.n ? memchr(value.p, '=', value.n) : NULL;
        const char *bracket = value.n ? memchr(value.p, '(', value.n) : NULL;
        struct function other;
        if (!equals || !bracket || bracket < equals)
            continue;
        struct sc__str name =
            sc__trim((struct sc__str){equals + 1, (size_t)(bracket - equals - 1)});
        const char *wanted = sc__strndup(&r->l->ctx->arena, name.p, name.n);
        if (find_function(r, wanted, &other) && other.body.p != f->body.p &&
            take_function(r, &other, depth + 1))
            return true;
    }
    return false;
}

/* ---- which model ---- */

/* The first of a text's modules torchtitan.models.NAME of which the flavor is a model. */
static const char *module_of(const struct registry *r, const char *flavor) {
    static const char module[] = "torchtitan.models.";
    struct sc__arena *arena = &r->l->ctx->arena;
    const char *end = r->text.p + r->text.n;
    const char *at = r->text.p;
    while ((at = sc__find_word(at, (size_t)(end - at), module))) {
        size_t n = 0;
        at += strlen(module);
        while (at + n < end && is_in_name(at[n]))
            n++;
        const char *name = sc__strndup(arena, at, n);
        if (sc__config_titan_preset(arena, name, flavor))
            return name;
    }
    return NULL;
}

/* "from torchtitan.models.llama3 import …", or what the function's name begins with:
 * deepseek_v3_16b is of deepseek_v3. */
static void name_model(struct registry *r, const struct function *f) {
    struct sc__arena *arena = &r->l->ctx->arena;
    const char *flavor = sc__config_exact(r->c, "model.flavor");
    const char *name = module_of(r, flavor);
    for (size_t n = f->name.n; !name && n; n--) {
        const char *part = sc__strndup(arena, f->name.p, n);
        if ((n == f->name.n || f->name.p[n] == '_') &&
            sc__config_titan_preset(arena, part, flavor))
            name = part;
    }
    sc__config_put(r->l,
                   r->c,
                   "model.name",
                   name ? name : sc__strndup(arena, f->name.p, f->name.n),
                   f->line);
}

/* What the classes of torchtitan/config/configs.py have where nothing is said; selective
 * checkpointing is by operators there. */
static void put_defaults(struct registry *r) {
    static const char *const usual[][2] = {{"training.local_batch_size", "8"},
                                           {"training.seq_len", "2048"}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (sc__config_exact(r->c, usual[i][0]))
            continue;
        sc__config_put(r->l, r->c, usual[i][0], usual[i][1], 0);
        sc__config_note_default(r->l, usual[i][0], usual[i][1]);
    }
    sc__config_put(r->l, r->c, "activation_checkpoint.selective_ac_option", "op", 0);
}

static const char *wanted_function(const struct sc__launch *l) {
    for (size_t i = 0; i < l->pinned.count; i++)
        if (!strcmp(l->pinned.items[i].name, "config"))
            return l->pinned.items[i].value;
    return NULL;
}

sc_status sc__config_read_registry(struct sc__launch *l, struct sc__config *c) {
    struct registry r = {.l = l, .c = c, .text = l->text};
    struct sc__buffer names;
    struct function f = {0};
    const char *wanted = wanted_function(l);
    uint32_t count = list_functions(&r, &names, &f);
    bool found = wanted ? find_function(&r, wanted, &f) : count == 1;
    *c = (struct sc__config){0};
    if (!found)
        return sc__launch_fail(l,
                               0,
                               "--set config=NAME picks one",
                               "%s%.60s%sof the configurations %.300s",
                               wanted ? "'" : "it does not say which",
                               wanted ? wanted : " ",
                               wanted ? "' is none " : "",
                               names.text ? names.text : "that can be read");
    if (!take_function(&r, &f, 0))
        return sc__launch_fail(l,
                               f.line,
                               "functions that return Trainer.Config(…), or set values of "
                               "what another one of the file returns, are read",
                               "%.*s is none that can be read",
                               SC__SHOW(f.name));
    name_model(&r, &f);
    put_defaults(&r);
    sc__note(l->ctx,
             "config-registered",
             "%s: %.*s is what is trained",
             l->file,
             SC__SHOW(f.name));
    return SC_OK;
}
