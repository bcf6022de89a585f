/* launch_script: the flags of a launch script.
 *
 *   text → evaluated (shell/shell.h) → the command that trains → its flags
 *
 * A script that runs nothing (a file of flags, or one that sets arrays for another
 * script) gives the flags that its variables hold. A flag that decides the step
 * must be known: where its value is not, or whether it is given, the error names
 * the line it hangs on. */
#include "launch/config.h"
#include "launch/launch.h"

#include <string.h>

static const struct sc__option *known_option(const struct sc__launch *l, const char *name) {
    for (const struct sc__option *o = l->known; o && o->name; o++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}

/* ---- what the command line says instead ---- */

/* Options that say in another way what this one says. */
static bool says_the_same(const struct sc__option *a, const struct sc__option *b) {
    static const char *const groups[][6] = {
        {"vpp",
         "num-virtual-stages-per-pipeline-rank",
         "num-layers-per-virtual-pipeline-stage",
         NULL},
        {"gpus", "nodes", "hosts", "dp", NULL},
        {"micro-batches", "global-batch", "gbs", "global-batch-size", NULL},
        {"cuda-graph", "cuda-graph-scope", "cuda-graph-impl", NULL},
        {"precision", "bf16", "fp16", "dtype", NULL},
        {"precision", "fp8-format", NULL},
        {"vocab-size", "padded-vocab-size", NULL},
    };
    if (!strcmp(a->name, b->name))
        return true;
    if (a->in != SC__IN_NOTHING && a->in == b->in && a->offset == b->offset)
        return true;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        bool has_a = false;
        bool has_b = false;
        for (const char *const *n = groups[g]; *n; n++) {
            has_a |= !strcmp(*n, a->name);
            has_b |= !strcmp(*n, b->name);
        }
        if (has_a && has_b)
            return true;
    }
    return false;
}

bool sc__launch_overridden(const struct sc__launch *l, const char *name) {
    const struct sc__option *o = known_option(l, name);
    if (l->first.nth(l->first.self, name, 0))
        return true;
    if (!o)
        return false;
    for (const struct sc__option *p = l->known; p->name; p++)
        if (l->first.nth(l->first.self, p->name, 0) && says_the_same(o, p))
            return true;
    return false;
}

const char *sc__launch_nth(const void *self, const char *name, unsigned i) {
    const struct sc__launch *l = self;
    if (!strcmp(name, "megatron-args"))
        return i || l->other_program ? NULL : l->file;
    const char *own = l->first.nth(l->first.self, name, i);
    if (own)
        return own;
    if (i || sc__launch_overridden(l, name))
        return NULL;
    const char *last = NULL; /* as argparse has it */
    for (uint32_t k = 0; k < l->flags.count; k++)
        if (!strcmp(l->flags.items[k].name, name))
            last = l->flags.items[k].value;
    return last;
}

/* ---- errors ---- */

sc_status sc__launch_fail(
    const struct sc__launch *l, uint32_t line, const char *hint, const char *fmt, ...) {
    struct sc__place at = {.file = l->file, .line = line};
    va_list ap;
    va_start(ap, fmt);
    sc_status status = sc__vfail(l->ctx, SC_INPUT, &at, hint, fmt, ap);
    va_end(ap);
    return status;
}

/* Where the script writes --name, and the word it puts behind it. */
static uint32_t
find_written(const struct sc__launch *l, const char *name, struct sc__str *behind) {
    const char *flag = sc__format(&l->ctx->arena, "--%s", name);
    size_t n = strlen(flag);
    struct sc__str rest = l->text;
    struct sc__str line;
    *behind = (struct sc__str){"", 0};
    for (uint32_t number = 1; sc__split(&rest, '\n', &line); number++) {
        const char *at = sc__find_word(line.p, line.n, flag);
        struct sc__str trimmed = sc__trim(line);
        if (!at || (trimmed.n && *trimmed.p == '#'))
            continue;
        struct sc__str after = {at + n, line.n - (size_t)(at - line.p) - n};
        if (after.n && !strchr(" =:\t", after.p[0]))
            continue;
        while (after.n && strchr(" =:\t", after.p[0])) {
            after.p++;
            after.n--;
        }
        behind->p = after.p;
        while (behind->n < after.n && !strchr(" \t\\", after.p[behind->n]))
            behind->n++;
        return number;
    }
    return 0;
}

/* With dashes, or with underscores. */
static uint32_t
find_in_script(const struct sc__launch *l, const char *name, struct sc__str *behind) {
    uint32_t line = find_written(l, name, behind);
    char *other = sc__strdup(&l->ctx->arena, name);
    for (char *c = other; *c; c++)
        if (*c == '-')
            *c = '_';
    if (!line)
        line = find_written(l, other, behind);
    return line ? line : l->line;
}

static size_t name_length(struct sc__str s) {
    size_t n = 0;
    while (n < s.n &&
           (s.p[n] == '_' || (s.p[n] >= '0' && s.p[n] <= '9') ||
            (s.p[n] >= 'A' && s.p[n] <= 'Z') || (s.p[n] >= 'a' && s.p[n] <= 'z')))
        n++;
    return n;
}

/* The names of variables that had no value, as a hint. */
static const char *unset_hint(const struct sc__launch *l) {
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    for (uint32_t i = 0; i < l->shell.unset_count && i < 12; i++)
        sc__printf(&b,
                   "%s%s",
                   i ? ", " : "variables without a value: ",
                   l->shell.unset[i].name);
    if (b.size)
        sc__puts(&b, "; give them with --set NAME=value");
    if (l->shell.sourced_count)
        sc__printf(&b,
                   "%s%s (line %u) is not read: --set NAME=value gives a variable of it, "
                   "flags must stand in this file",
                   b.size ? "; " : "",
                   sc__shell_mark(l->shell.sourced[0].name) || !*l->shell.sourced[0].name
                       ? "a file it sources"
                       : l->shell.sourced[0].name,
                   l->shell.sourced[0].line);
    return b.size ? b.text : "it must run a command with flags such as --num-layers 32";
}

/* "${TP}" → how to give it. */
static const char *set_hint(const struct sc__launch *l, struct sc__str variable) {
    while (variable.n && strchr("${\"", *variable.p)) {
        variable.p++;
        variable.n--;
    }
    size_t n = name_length(variable);
    if (!n || l->shell.unset_count > 1)
        return unset_hint(l);
    return sc__format(&l->ctx->arena,
                      "give it with --set %.*s=value, or the option itself",
                      (int)n,
                      variable.p);
}

static sc_status no_value(const struct sc__launch *l, const char *name) {
    struct sc__str behind;
    uint32_t line = find_in_script(l, name, &behind);
    if (behind.n && *behind.p == '$')
        return sc__launch_fail(l,
                               line,
                               set_hint(l, behind),
                               "--%s has no value: %.*s is not set",
                               name,
                               SC__SHOW(behind));
    return sc__launch_fail(l, line, NULL, "--%s has no value", name);
}

static sc_status not_known(const struct sc__launch *l, const char *name, uint32_t mark) {
    const struct sc__shell_unknown *u = &l->shell.unknowns[mark - 1];
    struct sc__str behind;
    uint32_t line = find_in_script(l, name, &behind);
    size_t n = behind.n;
    while (n && strchr("\"'}", behind.p[n - 1]))
        n--;
    size_t begin = 0;
    while (begin < n && strchr("\"'${", behind.p[begin]))
        begin++;
    bool variable = begin && n > begin;
    return sc__launch_fail(l,
                           line,
                           variable
                               ? sc__format(&l->ctx->arena,
                                            "give it with --set %.*s=value",
                                            (int)(n - begin),
                                            behind.p + begin)
                               : "give the variable it comes from with --set NAME=value",
                           "--%s cannot be known: it hangs on %s (line %u)",
                           name,
                           u->what,
                           u->line);
}

/* ---- which command ---- */

bool sc__is_flag(const char *word) {
    return word[0] == '-' && word[1] == '-' && word[2];
}

static uint32_t
acting_flags(const struct sc__launch *l, const char **words, uint32_t count) {
    uint32_t n =
        sc__launch_calls_swift(words, count) || sc__config_launches_trainer(words, count) ||
        sc__launch_settings(words, count) == SC__CONFIG_TORCHTITAN ||
        sc__launch_settings(words, count) == SC__CONFIG_TORCHTUNE ||
        sc__launch_settings(words, count) == SC__CONFIG_INTERNEVO ||
        (sc__launch_settings(words, count) && sc__launch_setting_count(words, count));
    for (uint32_t i = 0; i < count; i++) {
        struct sc__flag as;
        const char *why;
        if (!sc__is_flag(words[i]))
            continue;
        const char *name = sc__launch_flag_name(l, words[i]);
        n += sc__config_of_a_trainer(name) ||
             sc__flag_kind(l->known, name, &as, &why) == SC__FLAG_ACTS;
    }
    return n;
}

static bool same_words(const struct sc__shell_command *a,
                       const struct sc__shell_command *b) {
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->words[i], b->words[i]))
            return false;
    return true;
}

static void add_flag_word(struct sc__launch *l, const char *word, uint32_t *capacity) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) = word;
}

/* A file of nothing but flags: each line would be a command. */
static bool take_bare_flags(struct sc__launch *l) {
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < l->shell.command_count; i++)
        if (!sc__is_flag(l->shell.commands[i].words[0]))
            return false;
    for (uint32_t i = 0; i < l->shell.command_count; i++)
        for (uint32_t k = 0; k < l->shell.commands[i].count; k++)
            add_flag_word(l, l->shell.commands[i].words[k], &capacity);
    return l->count && acting_flags(l, l->words, l->count);
}

/* The first of those with the most flags that mean something here. */
static sc_status choose_command(struct sc__launch *l) {
    const struct sc__shell_command *best = NULL;
    uint32_t most = 0;
    uint32_t others = 0;
    for (uint32_t i = 0; i < l->shell.command_count; i++) {
        const struct sc__shell_command *c = &l->shell.commands[i];
        uint32_t n = acting_flags(l, c->words, c->count);
        if (n > most) {
            most = n;
            best = c;
            others = 0;
        } else if (n && best && n == most && !same_words(c, best)) {
            others = c->line;
            if (c->undecided || best->undecided) {
                uint32_t mark = c->undecided ? c->undecided : best->undecided;
                return sc__launch_fail(
                    l,
                    l->shell.unknowns[mark - 1].line,
                    "give the variable it comes from with --set NAME=value",
                    "which command runs hangs on %s",
                    l->shell.unknowns[mark - 1].what);
            }
        }
    }
    if (!best)
        return SC_OK;
    l->command = best;
    l->words = best->words;
    l->count = best->count;
    l->line = best->line;
    if (others)
        sc__note(l->ctx,
                 "megatron-other-command",
                 "%s: there is another command with as many flags in line %u: that of line "
                 "%u counts",
                 l->file,
                 others,
                 l->line);
    return SC_OK;
}

/* Flags in variables, where nothing runs. A text is split at blanks; one that is
 * part of another variable's counts twice, which does no harm. */
static void take_variables(struct sc__launch *l) {
    uint32_t capacity = 0;
    struct sc__buffer names;
    sc__buffer_init(&names, &l->ctx->arena);
    for (uint32_t i = 0; i < l->shell.variable_count; i++) {
        const struct sc__shell_variable *v = &l->shell.variables[i];
        bool any = false;
        for (uint32_t k = 0; v->set && k < v->count; k++)
            any |= acting_flags(l, (const char *[]){sc__trim(sc__str(v->items[k])).p}, 1) ||
                   strstr(v->items[k], "--") != NULL;
        if (!any)
            continue;
        sc__printf(&names, "%s%s", names.size ? ", " : "", v->name);
        for (uint32_t k = 0; k < v->count; k++) {
            struct sc__str rest = sc__str(v->items[k]);
            struct sc__str part;
            while (sc__split(&rest, ' ', &part)) {
                part = sc__trim(part);
                if (part.n)
                    add_flag_word(l,
                                  sc__strndup(&l->ctx->arena, part.p, part.n),
                                  &capacity);
            }
        }
    }
    if (!acting_flags(l, l->words, l->count))
        l->count = 0;
    if (l->count)
        sc__note(l->ctx,
                 "megatron-no-command",
                 "%s runs no command with flags: those of %s are taken",
                 l->file,
                 names.text);
}

static sc_status find_words(struct sc__launch *l) {
    if (take_bare_flags(l))
        return SC_OK;
    l->count = 0;
    l->words = NULL;
    SC__TRY(choose_command(l));
    if (!l->words && !l->shell.exit_line && !sc__launch_mlperf(l))
        take_variables(l);
    if (l->count)
        return SC_OK;
    if (l->shell.exit_line)
        return sc__launch_fail(l,
                               l->shell.exit_line,
                               unset_hint(l),
                               "the script exits here before it trains%s%.80s%s",
                               l->shell.last_words ? " (\"" : "",
                               l->shell.last_words ? l->shell.last_words : "",
                               l->shell.last_words ? "\")" : "");
    return sc__launch_no_flags(l, unset_hint(l));
}

/* ---- flags ---- */

static void name_flag(struct sc__launch *l, enum sc__flag_kind kind, const char *name) {
    struct sc__buffer *b = &l->by_kind[kind];
    const char *item = sc__format(&l->ctx->arena, " --%s,", name);
    if (!b->text || !strstr(b->text, item))
        sc__puts(b, item);
}

/* The words behind a flag that are its value; those of a list go together. */
static const char *
words_behind(const struct sc__launch *l, const struct sc__option *o, uint32_t at) {
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    for (uint32_t i = at; i < l->count && !sc__is_flag(l->words[i]); i++) {
        if (i > at && (!o || o->type != SC__TYPE_WORDS))
            break;
        sc__printf(&b, "%s%s", i > at ? " " : "", l->words[i]);
    }
    return b.text;
}

/* '[0,1]' or "x": eval takes quotes away, a direct call does not see them. */
static const char *without_quotes(const struct sc__launch *l, const char *value) {
    size_t n = strlen(value);
    if (n > 1 && (value[0] == '\'' || value[0] == '"') && value[n - 1] == value[0])
        return sc__strndup(&l->ctx->arena, value + 1, n - 2);
    return value;
}

void sc__launch_add(struct sc__launch *l, const char *name, const char *value) {
    *SC__PUSH(&l->ctx->arena, l->flags.items, l->flags.count, l->flags.capacity) =
        (struct sc__flag){name, value};
}

static sc_status take_acting(struct sc__launch *l,
                             const char *word,
                             uint32_t at,
                             const struct sc__flag *as) {
    const struct sc__option *o = known_option(l, as->name);
    const char *equals = strchr(word, '=');
    const char *value = as->value;
    if (!value && !o->arg)
        value = "";
    if (!value)
        value = equals ? equals + 1 : words_behind(l, o, at + 1);
    if (sc__launch_overridden(l, as->name))
        return SC_OK;
    if (!strcmp(as->name, "lora-targets") && value)
        value = sc__launch_lora_targets(l, value);
    if (!value || (o->arg && !*value))
        return no_value(l, sc__launch_flag_name(l, word));
    uint32_t mark = sc__shell_mark(value);
    if (mark)
        return not_known(l, sc__launch_flag_name(l, word), mark);
    sc__launch_add(l, as->name, without_quotes(l, value));
    return SC_OK;
}

/* A mark among the flags: it may stand for some. */
static sc_status take_mark(struct sc__launch *l, uint32_t mark) {
    const struct sc__shell_unknown *u = &l->shell.unknowns[mark - 1];
    for (uint32_t i = 0; i < u->way_count; i++) {
        struct sc__str rest = sc__str(u->ways[i]);
        struct sc__str part;
        while (sc__split(&rest, ' ', &part)) {
            struct sc__flag as;
            const char *why;
            const char *word = sc__strndup(&l->ctx->arena, part.p, part.n);
            if (!sc__is_flag(word))
                continue;
            const char *name = sc__launch_flag_name(l, word);
            enum sc__flag_kind kind = sc__flag_kind(l->known, name, &as, &why);
            if (kind == SC__FLAG_NO_EFFECT ||
                (kind == SC__FLAG_ACTS && sc__launch_overridden(l, as.name)))
                continue;
            return sc__launch_fail(l,
                                   u->line,
                                   "give the variable it comes from with --set NAME=value",
                                   "whether --%s is given hangs on %s",
                                   name,
                                   u->what);
        }
    }
    if (!u->way_count)
        sc__note(l->ctx,
                 "megatron-words-unknown",
                 "%s:%u: %s stands among the flags and is not known: taken as none",
                 l->file,
                 u->line,
                 u->what);
    return SC_OK;
}

/* Which layers are Mamba's is said; ratios of 0 say nothing (megatron_hybrid.c). */
static bool says_hybrid(const struct sc__launch *l) {
    static const char *const flags[] = {"--hybrid-override-pattern",
                                        "--hybrid-layer-pattern",
                                        "--hybrid-attention-ratio",
                                        "--hybrid-mlp-ratio",
                                        NULL};
    for (uint32_t i = 0; i < l->count; i++)
        for (const char *const *flag = flags; *flag; flag++) {
            if (!sc__str_starts(sc__str(l->words[i]), *flag))
                continue;
            const char *value = strchr(l->words[i], '=');
            value = value ? value + 1 : i + 1 < l->count ? l->words[i + 1] : "";
            double ratio;
            if (!sc__parse_double(sc__str(value), &ratio) || ratio != 0)
                return true;
        }
    return false;
}

/* By the name of the program that trains. */
static sc_status refuse_program(const struct sc__launch *l, const char *word) {
    bool hybrid = says_hybrid(l);
    static const struct {
        const char *program;
        const char *what;
    } others[] = {{"mamba", "layers of Mamba alone are"},
                  {"pretrain_bert", "an encoder (BERT) is"},
                  {"pretrain_t5", "an encoder (T5) is"},
                  {"pretrain_ict", "an encoder (ICT) is"},
                  {"pretrain_realm", "an encoder (REALM) is"},
                  {"pretrain_retro", "retrieval is"},
                  {"pretrain_vision", "a model of images is"},
                  {"pretrain_vlm", "a model of images is"}};
    for (size_t i = hybrid ? 1 : 0; i < sizeof others / sizeof *others; i++)
        if (strstr(word, others[i].program))
            return sc__launch_fail(
                l,
                l->line,
                "models of attention and feed-forward layers can be forecast",
                "'%.60s': %s not modelled",
                word,
                others[i].what);
    return SC_OK;
}

/* Over one rank nothing is parallel, whatever it is. */
static bool is_parallel_of_one(const struct sc__launch *l, const char *name, uint32_t at) {
    const char *value = sc__launch_value_at(l, at);
    return value && sc__str_ends(sc__str(name), "-parallel-size") && !strcmp(value, "1");
}

/* `--sequence_parallel false` of programs whose switches take a value. */
static bool is_switched_off(const struct sc__launch *l,
                            enum sc__flag_kind kind,
                            const struct sc__flag *as,
                            uint32_t at) {
    const char *value = sc__launch_value_at(l, at);
    if (!value || !sc__str_is_any_case(sc__str(value), "false"))
        return false;
    return kind != SC__FLAG_ACTS || as->value || !known_option(l, as->name)->arg;
}

static sc_status take_flag(struct sc__launch *l, uint32_t at) {
    const char *word = l->words[at];
    const char *name = sc__launch_flag_name(l, word);
    const char *why = NULL;
    struct sc__flag as;
    struct sc__str behind;
    enum sc__flag_kind kind = sc__flag_kind(l->known, name, &as, &why);
    if (is_switched_off(l, kind, &as, at))
        return SC_OK;
    switch (kind) {
    case SC__FLAG_ACTS:
        return take_acting(l, word, at, &as);
    case SC__FLAG_REFUSED:
        if (is_parallel_of_one(l, name, at))
            return SC_OK;
        return sc__launch_fail(l,
                               find_in_script(l, name, &behind),
                               "take the flag out to forecast the model without it",
                               "--%s: %s",
                               name,
                               why);
    default:
        name_flag(l, kind, name);
        return SC_OK;
    }
}

/* Flags before the program are the launcher's: torchrun --nnodes 2 train.py … */
static uint32_t first_own_word(const struct sc__launch *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        const char *word = l->words[i];
        bool module =
            i && !strcmp(l->words[i - 1], "-m") && strncmp(word, "torch.distributed", 17);
        if (module || sc__str_ends(sc__str(word), ".py"))
            return i + 1;
    }
    return 0;
}

static sc_status take_flags(struct sc__launch *l) {
    bool behind_flag = false;
    uint32_t first = first_own_word(l);
    if (first)
        SC__TRY(refuse_program(l, l->words[first - 1]));
    for (uint32_t i = first; i < l->count; i++) {
        const char *word = l->words[i];
        if (sc__is_flag(word)) {
            SC__TRY(take_flag(l, i));
            behind_flag = true;
            continue;
        }
        SC__TRY(refuse_program(l, word));
        if (!behind_flag && sc__shell_mark(word) == 0)
            continue;
        uint32_t mark = sc__shell_mark(word);
        /* behind a flag it is its value, but for those that stand for several words */
        if (mark && (!behind_flag || l->shell.unknowns[mark - 1].way_count))
            SC__TRY(take_mark(l, mark));
        behind_flag = false;
    }
    return SC_OK;
}

/* ---- notes ---- */

static void note_flags(struct sc__launch *l) {
    static const struct {
        enum sc__flag_kind kind;
        const char *code;
        const char *text;
    } notes[] = {
        {SC__FLAG_NOT_MODELLED,
         "megatron-flags-not-modelled",
         "flags that change the step and are not modelled:"},
        {SC__FLAG_UNKNOWN,
         "megatron-flags-unknown",
         "flags that we do not know, and that count for nothing:"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        struct sc__buffer *b = &l->by_kind[notes[i].kind];
        if (b->size)
            sc__note(l->ctx,
                     notes[i].code,
                     "%s: %s%.*s",
                     l->file,
                     notes[i].text,
                     (int)b->size - 1,
                     b->text);
    }
}

static void note_unset(struct sc__launch *l) {
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    for (uint32_t i = 0; i < l->shell.unset_count; i++)
        sc__printf(&b, "%s %s", i ? "," : "", l->shell.unset[i].name);
    if (b.size)
        sc__note(l->ctx,
                 "megatron-variables",
                 "%s: shell variables without a value, taken as empty (--set NAME=value "
                 "gives one):%s",
                 l->file,
                 b.text);
    for (uint32_t i = 0; i < l->shell.sourced_count; i++)
        sc__note(l->ctx,
                 "megatron-sourced",
                 "%s:%u: the file it sources is not read",
                 l->file,
                 l->shell.sourced[i].line);
}

/* ---- all of it ---- */

/* Where the script gives an option whose value is refused. */
static bool place_of(const void *self, const char *name, struct sc__place *at) {
    const struct sc__launch *l = self;
    struct sc__str behind;
    bool own = !l->other_program && l->words && sc__launch_nth(l, name, 0) &&
               !sc__launch_overridden(l, name);
    if (sc__config_where(self, name, at))
        return true;
    if (!own || (l->config && l->config->count))
        return false;
    *at = (struct sc__place){.file = l->file, .line = find_in_script(l, name, &behind)};
    return true;
}

static sc_status parse_launch(struct sc__launch *l, struct sc__settings *out) {
    struct sc_context *ctx = l->ctx;
    const char *file = l->file;
    const struct sc__settings *settings = &l->first;
    struct sc__setting_list slurm;
    enum sc__config_kind kind;
    for (unsigned i = 0; i <= SC__FLAG_UNKNOWN; i++)
        sc__buffer_init(&l->by_kind[i], &ctx->arena);
    SC__TRY(sc__launch_refuse_nul(ctx, file, l->text));
    SC__TRY(sc__launch_read_pins(settings, &l->pinned));
    SC__TRY(sc__config_words(l, &kind));
    sc__launch_slurm(&ctx->arena, l->text, &slurm); /* that of a job is its launch now */
    if (!kind) {
        SC__TRY(sc__shell_evaluate(ctx, file, l->text, &slurm, &l->pinned, &l->shell));
        SC__TRY(find_words(l));
        SC__TRY(sc__config_trainer_script(l));
        SC__TRY(sc__launch_swift(l));
        SC__TRY(sc__launch_refuse_aicb(l));
    }
    SC__TRY(take_flags(l));
    sc__launch_schedule(l);
    sc__launch_mindspeed(l);
    SC__TRY(sc__launch_noop_layers(l));
    SC__TRY(sc__launch_sharding(l));
    SC__TRY(sc__launch_deepspeed(l));
    SC__TRY(sc__launch_pai(l));
    sc__launch_bf16_stage(l, kind == SC__CONFIG_DEEPSPEED || kind == SC__CONFIG_NEOX);
    sc__launch_offload(l);
    sc__launch_moe_recompute(l);
    SC__TRY(sc__launch_attention(l));
    sc__launch_loss(l);
    sc__launch_dropout(l, !kind);
    sc__launch_precision(l, !kind);
    SC__TRY(sc__launch_feed_forward(l));
    SC__TRY(sc__launch_vocabulary(l));
    SC__TRY(sc__launch_spec(l));
    sc__launch_gpus(l, &slurm);
    note_flags(l);
    note_unset(l);
    sc__launch_note_pins(l);
    *out = (struct sc__settings){.nth = sc__launch_nth,
                                 .self = l,
                                 .ctx = ctx,
                                 .where = place_of};
    return SC_OK;
}

sc_status sc__launch_parse(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           const struct sc__option *known,
                           const struct sc__settings *settings,
                           struct sc__settings *out) {
    struct sc__launch *l = SC__NEW(&ctx->arena, struct sc__launch);
    *l = (struct sc__launch){.ctx = ctx,
                             .file = file,
                             .text = text,
                             .first = *settings,
                             .known = known};
    return parse_launch(l, out);
}

/* A script with sizes of its own model, beside --model: those of one under the name, and
 * with the rest, of the other are no model. A configuration may change one of a preset's.
 */
static sc_status refuse_two_models(const struct sc__launch *l,
                                   const struct sc__settings *given,
                                   const struct sc__settings *all) {
    static const char *const sizes[] = {"num-layers", "hidden-size"};
    const char *model = sc__setting(given, "model");
    unsigned own = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        own += sc__setting(all, sizes[i]) && !sc__setting(given, sizes[i]);
    bool configuration = l->config && l->config->count;
    if (!model || own < (configuration ? 2 : 1))
        return SC_OK;
    const char *layers = sc__setting(all, "num-layers");
    const char *width = sc__setting(all, "hidden-size");
    return sc__fail(l->ctx,
                    SC_USAGE,
                    NULL,
                    "leave --model out, or the file",
                    "both %s (%s layers of width %s) and --model %s say what is trained",
                    l->file,
                    layers ? layers : "unsaid",
                    width ? width : "unsaid",
                    model);
}

sc_status sc__launch_read(struct sc_context *ctx,
                          const char *path,
                          const struct sc__option *known,
                          const struct sc__settings *settings,
                          struct sc__settings *out) {
    struct sc__launch *l = SC__NEW(&ctx->arena, struct sc__launch);
    *l = (struct sc__launch){.ctx = ctx,
                             .file = path,
                             .first = *settings, /* out may be the same */
                             .known = known,
                             .reads_files = true};
    SC__TRY(sc__read_all(ctx, path, (size_t)4 << 20, &l->text));
    SC__TRY(parse_launch(l, out));
    return refuse_two_models(l, &l->first, out);
}
