/* model_megatron: the flags of a Megatron launch script.
 *
 * The script is not run. Its words are read as a shell would split them:
 * comments, quotes, line continuations and arrays go; NAME=value lines are
 * remembered and $NAME, ${NAME} and ${NAME:-value} are put in. What then
 * begins with "--" is a flag, with the words up to the next flag as its
 * value. Flags in the given option table are settings; those of a list of
 * harmless ones pass; the rest is named in one note. */
#include "model/read.h"

#include <string.h>

struct flag {
    const char *name;
    const char *value;
};

struct flags {
    struct sc_context *ctx;
    const struct sc__settings *first; /* these win */
    const struct sc__option *known;
    struct flag *items;
    uint32_t count;
    uint32_t capacity;
};

struct words {
    struct sc_context *ctx;
    const char *file;
    struct flag *variables;
    uint32_t variable_count;
    uint32_t variable_capacity;
    const char **items;
    uint32_t count;
    uint32_t capacity;
    struct sc__buffer unknown; /* variables without a value */
};

static const char *variable(const struct words *w, struct sc__str name) {
    for (uint32_t i = w->variable_count; i-- > 0;)
        if (sc__str_is(name, w->variables[i].name))
            return w->variables[i].value;
    return NULL;
}

static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* Puts the variable at s (after '$') into out; answers how much was read. */
static size_t expand(struct words *w, struct sc__str s, struct sc__buffer *out) {
    struct sc__str name = s;
    struct sc__str otherwise = {NULL, 0};
    size_t used = 0;
    if (s.n && s.p[0] == '{') {
        const char *end = memchr(s.p, '}', s.n);
        if (!end)
            return 0;
        name = (struct sc__str){s.p + 1, (size_t)(end - s.p) - 1};
        used = name.n + 2;
        for (size_t i = 0; i < name.n; i++)
            if (!name_char(name.p[i])) {
                size_t skip = i + 1 < name.n && name.p[i] == ':' ? 2 : 1;
                if (i + skip <= name.n)
                    otherwise = (struct sc__str){name.p + i + skip, name.n - i - skip};
                name.n = i;
                break;
            }
    } else {
        for (name.n = 0; name.n < s.n && name_char(s.p[name.n]);)
            name.n++;
        used = name.n;
    }
    const char *value = variable(w, name);
    if (value)
        sc__puts(out, value);
    else if (otherwise.n && name.n)
        sc__put(out, otherwise.p, otherwise.n);
    else if (name.n)
        sc__printf(&w->unknown, " %.*s", SC__SHOW(name));
    return used;
}

static void push_word(struct words *w, const char *text) {
    *SC__PUSH(&w->ctx->arena, w->items, w->count, w->capacity) =
        sc__strdup(&w->ctx->arena, text);
}

/* An assignment NAME=value is remembered (once more splitting nothing), all
 * else is a word; a value with blanks in it, as "$ARGS" may have, is split. */
static void take_word(struct words *w, const char *text) {
    size_t n = 0;
    while (name_char(text[n]))
        n++;
    if (n && text[n] == '=' && (text[0] < '0' || text[0] > '9')) {
        *SC__PUSH(&w->ctx->arena, w->variables, w->variable_count, w->variable_capacity) =
            (struct flag){sc__strndup(&w->ctx->arena, text, n),
                          sc__strdup(&w->ctx->arena, text + n + 1)};
        text += n + 1;
        if (text[0] != '-')
            return;
    }
    struct sc__str rest = sc__str(text);
    struct sc__str part;
    while (sc__split(&rest, ' ', &part))
        if (part.n)
            push_word(w, sc__strndup(&w->ctx->arena, part.p, part.n));
}

static bool model_launch_script_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '(' || c == ')' ||
           c == ';';
}

struct cursor {
    struct sc__str s;
    size_t at;
    char quote;
};

static void read_char(struct words *w, struct cursor *c, struct sc__buffer *word) {
    char ch = c->s.p[c->at++];
    if (c->quote && ch == c->quote)
        c->quote = 0;
    else if (!c->quote && (ch == '"' || ch == '\''))
        c->quote = ch;
    else if (ch == '\\' && c->at < c->s.n && c->quote != '\'') {
        if (c->s.p[c->at] != '\n')
            sc__putc(word, c->s.p[c->at]);
        else if (c->quote)
            sc__putc(word, ' ');
        c->at++;
    } else if (ch == '$' && c->quote != '\'')
        c->at += expand(w, (struct sc__str){c->s.p + c->at, c->s.n - c->at}, word);
    else
        sc__putc(word, c->quote && model_launch_script_blank(ch) ? ' ' : ch);
}

/* A value in quotes that holds flags ("GPT_ARGS=\"--a 1 --b 2\"") counts where
 * it stands and again where the variable is used; equal flags do no harm. */
static void split_words(struct words *w, struct sc__str text) {
    struct cursor c = {.s = text};
    while (c.at < text.n) {
        struct sc__buffer word;
        while (c.at < text.n && model_launch_script_blank(text.p[c.at]))
            c.at++;
        if (c.at < text.n && text.p[c.at] == '#') {
            while (c.at < text.n && text.p[c.at] != '\n')
                c.at++;
            continue;
        }
        if (c.at + 1 < text.n && text.p[c.at] == '\\' && text.p[c.at + 1] == '\n') {
            c.at += 2;
            continue;
        }
        sc__buffer_init(&word, &w->ctx->arena);
        while (c.at < text.n && (c.quote || !model_launch_script_blank(text.p[c.at])))
            read_char(w, &c, &word);
        if (word.size)
            take_word(w, word.text);
    }
}

static const struct sc__option *find_option(const struct sc__option *known,
                                            const char *name) {
    for (; known && known->name; known++)
        if (!strcmp(known->name, name))
            return known;
    return NULL;
}

/* Flags of a launch that change nothing in the time of a step. */
static const char *const harmless[] = {"save",
                                       "load",
                                       "data-path",
                                       "split",
                                       "log-interval",
                                       "save-interval",
                                       "eval-interval",
                                       "eval-iters",
                                       "lr",
                                       "min-lr",
                                       "lr-decay-style",
                                       "lr-decay-iters",
                                       "lr-warmup-iters",
                                       "lr-warmup-fraction",
                                       "lr-warmup-samples",
                                       "train-iters",
                                       "train-samples",
                                       "weight-decay",
                                       "adam-beta1",
                                       "adam-beta2",
                                       "init-method-std",
                                       "tensorboard-dir",
                                       "tokenizer-type",
                                       "tokenizer-model",
                                       "vocab-file",
                                       "merge-file",
                                       "seed",
                                       "nproc_per_node",
                                       "nnodes",
                                       "node_rank",
                                       "master_addr",
                                       "master_port",
                                       "nproc-per-node",
                                       "node-rank",
                                       "distributed-backend",
                                       "mock-data",
                                       "no-load-optim",
                                       "no-load-rng",
                                       "log-throughput",
                                       "clip-grad",
                                       "attention-dropout",
                                       "hidden-dropout",
                                       "norm-epsilon",
                                       "rotary-base",
                                       "rotary-percent",
                                       "position-embedding-type",
                                       "exit-duration-in-mins",
                                       "wandb-project",
                                       "wandb-exp-name",
                                       "transformer-impl",
                                       "use-mcore-models",
                                       "num-workers",
                                       "max-position-embeddings",
                                       "attention-backend",
                                       "lr-decay-samples",
                                       NULL};

static bool in_list(const char *const *list, const char *name) {
    for (; *list; list++)
        if (!strcmp(*list, name))
            return true;
    return false;
}

static const char *nth_flag(const void *self, const char *name, unsigned i) {
    const struct flags *f = self;
    const char *given = f->first->nth(f->first->self, name, 0);
    if (given)
        return f->first->nth(f->first->self, name, i);
    for (uint32_t k = 0; k < f->count; k++)
        if (!strcmp(f->items[k].name, name) && i-- == 0)
            return f->items[k].value;
    return NULL;
}

static void collect(struct flags *f, const struct words *w, struct sc__buffer *ignored) {
    for (uint32_t i = 0; i < w->count; i++) {
        const char *word = w->items[i];
        if (strncmp(word, "--", 2) || !word[2])
            continue;
        struct sc__str rest = sc__str(word + 2);
        struct sc__str name;
        const char *value = "";
        sc__split(&rest, '=', &name);
        if (strchr(word, '='))
            value = sc__strndup(&f->ctx->arena, rest.p, rest.n);
        const char *key = sc__strndup(&f->ctx->arena, name.p, name.n);
        const struct sc__option *o = find_option(f->known, key);
        bool next = i + 1 < w->count && strncmp(w->items[i + 1], "--", 2);
        if (o && o->arg && !*value && next)
            value = w->items[i + 1];
        if (o)
            *SC__PUSH(&f->ctx->arena, f->items, f->count, f->capacity) =
                (struct flag){key, value};
        else if (!in_list(harmless, key))
            sc__printf(ignored, "%s --%s", ignored->size ? "," : "", key);
    }
}

/* The last value counts, as in a shell and in argparse; but a second command in
 * the script (an evaluation) or the other branch of an if is not what is trained,
 * and it looks the same here. */
static void note_repeated_flags(const struct flags *f, const char *file) {
    for (uint32_t i = 0; i < f->count; i++) {
        const struct flag *flag = &f->items[i];
        const char *last = flag->value;
        for (uint32_t k = i + 1; k < f->count; k++)
            if (!strcmp(f->items[k].name, flag->name))
                last = f->items[k].value;
        if (!strcmp(last, flag->value) || f->first->nth(f->first->self, flag->name, 0))
            continue;
        sc__note(f->ctx,
                 "megatron-flag-repeated",
                 "%s: --%s is given more than once (%s, %s): %s counts",
                 file,
                 flag->name,
                 flag->value,
                 last,
                 last);
    }
}

static void note_repeated_variables(const struct words *w) {
    for (uint32_t i = 0; i < w->variable_count; i++) {
        const struct flag *before = &w->variables[i];
        uint32_t k = i + 1;
        while (k < w->variable_count && strcmp(w->variables[k].name, before->name))
            k++;
        /* ARGS="$ARGS --more" goes on with what it had */
        if (k < w->variable_count && !strstr(w->variables[k].value, before->value))
            sc__note(
                w->ctx,
                "megatron-variable-repeated",
                "%s: the variable %s is set more than once (%s, %s): where it is used, "
                "the one before it counts",
                w->file,
                before->name,
                before->value,
                w->variables[k].value);
    }
}

static sc_status refuse_nul(struct sc_context *ctx, const char *file, struct sc__str text) {
    const char *nul = text.n ? memchr(text.p, '\0', text.n) : NULL;
    struct sc__place at = {.file = file, .line = 1, .column = 1};
    if (!nul)
        return SC_OK;
    for (const char *p = text.p; p < nul; p++) {
        at.column++;
        if (*p == '\n') {
            at.line++;
            at.column = 1;
        }
    }
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "the file is binary or damaged",
                    "NUL byte in a text file");
}

sc_status sc__megatron_parse(struct sc_context *ctx,
                             const char *file,
                             struct sc__str text,
                             const struct sc__option *known,
                             const struct sc__settings *settings,
                             struct sc__settings *out) {
    struct words w = {.ctx = ctx, .file = file};
    struct flags *f = SC__NEW(&ctx->arena, struct flags);
    struct sc__settings *first = SC__NEW(&ctx->arena, struct sc__settings);
    struct sc__buffer ignored;
    struct sc__place at = {.file = file};
    sc__buffer_init(&w.unknown, &ctx->arena);
    sc__buffer_init(&ignored, &ctx->arena);
    *first = *settings;
    *f = (struct flags){.ctx = ctx, .first = first, .known = known};
    SC__TRY(refuse_nul(ctx, file, text));
    split_words(&w, text);
    collect(f, &w, &ignored);
    note_repeated_flags(f, file);
    note_repeated_variables(&w);
    if (!f->count)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "it must hold flags such as --num-layers 32",
                        "there is no Megatron flag that we know in this file");
    if (ignored.size)
        sc__note(ctx,
                 "megatron-flags-ignored",
                 "%s: flags without effect here:%s",
                 file,
                 ignored.text);
    if (w.unknown.size)
        sc__note(ctx,
                 "megatron-variables",
                 "%s: shell variables without a value in the script:%s",
                 file,
                 w.unknown.text);
    *out = (struct sc__settings){.nth = nth_flag, .self = f, .ctx = ctx};
    return SC_OK;
}

sc_status sc__megatron_read(struct sc_context *ctx,
                            const char *path,
                            const struct sc__option *known,
                            const struct sc__settings *settings,
                            struct sc__settings *out) {
    struct sc__str text;
    SC__TRY(sc__read_all(ctx, path, (size_t)4 << 20, &text));
    return sc__megatron_parse(ctx, path, text, known, settings, out);
}
