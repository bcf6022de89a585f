/* completion: shell completions, made from the same tables as the parser and
 * --help, so that they cannot disagree: commands, options, and the values that
 * the tables, the data files and the readers know. */
#include "command/command.h"
#include "frontend/reader.h"
#include "plan/plan.h"

#include <string.h>

static const struct sc__option *const no_options[] = {NULL};

/* ---- values ---- */

/* What an option may be set to, as far as it is known: NULL-terminated. */
static const char **option_values(struct sc__arena *arena, const struct sc__option *o) {
    const char **values = NULL;
    uint32_t n = 0;
    uint32_t capacity = 0;
    /* rows and models share names ("schedule"); the model's table has the values */
    const struct sc__option *same = sc__option_find(sc__model_options, o->name);
    if (o->arg && !o->choices && same)
        o = same;
    if (o->folder)
        return sc__data_names(arena, o->folder);
    if (!strcmp(o->name, "format"))
        for (const struct sc__reader *const *r = sc__readers; *r; r++)
            *SC__PUSH(arena, values, n, capacity) = (*r)->name;
    for (const struct sc__choice *c = o->choices; o->arg && c && c->name; c++)
        *SC__PUSH(arena, values, n, capacity) = c->name;
    *SC__PUSH(arena, values, n, capacity) = NULL;
    return values;
}

static void put_values(struct sc__buffer *out, const char *const *values) {
    for (unsigned i = 0; values[i]; i++)
        sc__printf(out, "%s%s", i ? " " : "", values[i]);
}

/* ---- bash ---- */

/* Values behind --option, with or without "="; in lists, behind the last comma.
 * Where there are none, files. */
static const char bash_begin[] =
    "# bash completion for stepcast\n"
    "_stepcast() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local options values= head=\n"
    "    if [ \"$word\" = = ]; then word=; "
    "elif [ \"$before\" = = ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
    "        COMPREPLY=($(compgen -W 'help";

static const char bash_end[] =
    "    esac\n"
    "    if [ -n \"$values\" ]; then\n"
    "        case $word in *,*) head=${word%,*},; word=${word##*,} ;; esac\n"
    "        COMPREPLY=($(compgen -P \"$head\" -W \"$values\" -- \"$word\"))\n"
    "        compopt -o default 2>/dev/null\n"
    "        return\n"
    "    fi\n"
    "    case $word in\n"
    "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
    "    *) compopt -o default 2>/dev/null; COMPREPLY=() ;;\n"
    "    esac\n"
    "}\n"
    "complete -F _stepcast stepcast\n";

static void put_bash_command(struct sc__buffer *out, const struct sc__command *c) {
    const struct sc__option **options = sc__command_options(out->arena, c);
    sc__printf(out, "    %s) options='--help", c->name);
    for (const struct sc__option **o = options; *o; o++)
        sc__printf(out, " --%s", (*o)->name);
    sc__puts(out, "'\n        case $before in\n");
    for (const struct sc__option **o = options; *o; o++) {
        const char **values = option_values(out->arena, *o);
        if (!*values)
            continue;
        sc__printf(out, "        --%s", (*o)->name);
        if ((*o)->letter)
            sc__printf(out, "|-%c", (*o)->letter);
        sc__puts(out, ") values='");
        put_values(out, values);
        sc__puts(out, "' ;;\n");
    }
    sc__puts(out, "        esac ;;\n");
}

static void put_bash(struct sc__buffer *out) {
    sc__puts(out, bash_begin);
    for (const struct sc__command *const *c = sc__commands; *c; c++)
        sc__printf(out, " %s", (*c)->name);
    sc__puts(out,
             "' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (const struct sc__command *const *c = sc__commands; *c; c++)
        put_bash_command(out, *c);
    sc__puts(out, "    help|manual) values='");
    for (const struct sc__command *const *c = sc__commands; *c; c++)
        sc__printf(out, "%s ", (*c)->name);
    sc__puts(out, "' ;;\n");
    sc__puts(out, bash_end);
}

/* ---- zsh ---- */

static void put_zsh_text(struct sc__buffer *out, const char *text) {
    for (; *text; text++) {
        if (strchr("[]:\\", *text))
            sc__putc(out, '\\');
        if (*text == '\'')
            sc__puts(out, "'\\''");
        else
            sc__putc(out, *text);
    }
}

/* What completes the value: words, words with commas, or a name among files. */
static void put_zsh_values(struct sc__buffer *out, const struct sc__option *o) {
    const char **values = option_values(out->arena, o);
    if (!*values) {
        sc__puts(out, !strcmp(o->arg, "DIR") ? ":_files -/" : ":_files");
        return;
    }
    if (o->folder) {
        sc__printf(out, ":_stepcast_%.*s", (int)strcspn(o->folder, "/"), o->folder);
        return;
    }
    sc__puts(out, o->type == SC__TYPE_WORDS ? ":_sequence compadd - " : ":(");
    put_values(out, values);
    sc__puts(out, o->type == SC__TYPE_WORDS ? "" : ")");
}

static void put_zsh_option(struct sc__buffer *out, const struct sc__option *o) {
    sc__printf(out,
               " \\\n            '%s--%s%s[",
               o->flags & SC__OPT_REPEAT ? "*" : "",
               o->name,
               o->arg ? "=" : "");
    put_zsh_text(out, o->help);
    sc__putc(out, ']');
    if (o->arg) {
        sc__putc(out, ':');
        put_zsh_text(out, o->arg);
        put_zsh_values(out, o);
    }
    sc__putc(out, '\'');
}

/* Names of data files, or files. */
static void put_zsh_names(struct sc__buffer *out, const char *folder) {
    sc__printf(out,
               "_stepcast_%.*s() {\n    compadd -- ",
               (int)strcspn(folder, "/"),
               folder);
    put_values(out, sc__data_names(out->arena, folder));
    sc__puts(out, "\n    _files\n}\n");
}

static void put_zsh(struct sc__buffer *out) {
    sc__puts(out, "#compdef stepcast\n");
    put_zsh_names(out, "models/");
    put_zsh_names(out, "clusters/");
    put_zsh_names(out, "gpus/");
    sc__puts(out,
             "_stepcast() {\n    local -a commands\n    commands=(\n        "
             "'help:explain a command'\n");
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        sc__printf(out, "        '%s:", (*c)->name);
        put_zsh_text(out, (*c)->summary);
        sc__puts(out, "'\n");
    }
    sc__puts(out,
             "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n"
             "        return\n    fi\n"
             "    local name=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
             "    case $name in\n");
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        sc__printf(out, "    %s)\n        _arguments", (*c)->name);
        for (const struct sc__option **o = sc__command_options(out->arena, *c); *o; o++)
            put_zsh_option(out, *o);
        sc__puts(out, " \\\n            '*:input:_files' ;;\n");
    }
    sc__puts(out,
             "    help) _describe command commands ;;\n    esac\n}\n_stepcast \"$@\"\n");
}

/* ---- fish ---- */

static void put_fish_quoted(struct sc__buffer *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\'')
            sc__puts(out, "\\'");
        else
            sc__putc(out, *text);
    }
}

static void put_fish_values(struct sc__buffer *out, const struct sc__option *o) {
    const char **values = option_values(out->arena, o);
    if (!*values) {
        sc__puts(out, o->arg ? " -r" : "");
        return;
    }
    bool list = o->type == SC__TYPE_WORDS;
    /* -x: no files; names of data files may be files as well */
    sc__printf(out, " -%c -a '%s", o->folder ? 'r' : 'x', list ? "(__fish_append , " : "");
    put_values(out, values);
    sc__puts(out, list ? ")'" : "'");
}

static void put_fish_option(struct sc__buffer *out,
                            const struct sc__command *c,
                            const struct sc__option *o) {
    sc__printf(out,
               "complete -c stepcast -n '__fish_seen_subcommand_from %s' -l %s",
               c->name,
               o->name);
    if (o->letter)
        sc__printf(out, " -s %c", o->letter);
    put_fish_values(out, o);
    sc__puts(out, " -d '");
    put_fish_quoted(out, o->help);
    sc__puts(out, "'\n");
}

static void put_fish(struct sc__buffer *out) {
    sc__puts(out, "# fish completion for stepcast\n");
    for (const struct sc__command *const *c = sc__commands; *c; c++) {
        sc__printf(out,
                   "complete -c stepcast -n __fish_use_subcommand -f -a %s -d '",
                   (*c)->name);
        put_fish_quoted(out, (*c)->summary);
        sc__puts(out, "'\n");
        for (const struct sc__option **o = sc__command_options(out->arena, *c); *o; o++)
            put_fish_option(out, *c, *o);
    }
}

static sc_status execute_completion(struct sc_request *req) {
    const char *shell = req->input_count == 1 ? req->inputs[0] : "";
    if (!strcmp(shell, "bash"))
        put_bash(&req->out);
    else if (!strcmp(shell, "zsh"))
        put_zsh(&req->out);
    else if (!strcmp(shell, "fish"))
        put_fish(&req->out);
    else
        return sc__usage(req,
                         "stepcast completion bash",
                         "completion takes a shell: bash, zsh or fish");
    return SC_OK;
}

const struct sc__command sc__command_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .summary = "write completions for a shell",
    .text = "For bash, in this session: source <(stepcast completion bash)",
    .options = no_options,
    .execute = execute_completion};
