/* shell_parts: what the files of the shell share. Read shell_parse.c (text → tree),
 * shell_run.c (the tree), shell_variables.c, shell_expand.c (words), shell_parameter.c
 * (${…}), shell_arithmetic.c, shell_test.c ([ ] and [[ ]]), shell_builtin.c (commands that
 * are not run by a program of their own). */
#ifndef SC_SHELL_SHELL_PARTS_H
#define SC_SHELL_SHELL_PARTS_H

#include "shell/shell.h"

#define SHELL_MARK_BEGIN '\1'
#define SHELL_MARK_END '\2'

/* ---- tree ---- */

enum shell_kind {
    SHELL_SIMPLE,
    SHELL_LIST,
    SHELL_AND,
    SHELL_OR,
    SHELL_NOT,
    SHELL_PIPE,
    SHELL_IF, /* condition, body, condition, body …, and an else */
    SHELL_CASE,
    SHELL_CLAUSE, /* of a case: words are its patterns */
    SHELL_FOR,
    SHELL_FOR_ARITHMETIC,
    SHELL_WHILE,
    SHELL_UNTIL,
    SHELL_GROUP,
    SHELL_SUBSHELL,
    SHELL_FUNCTION,
    SHELL_TEST,
    SHELL_ARITHMETIC
};

/* A word as it is written, quotes and all. */
struct shell_word {
    struct sc__str raw;
    uint32_t line;
};

struct shell_node {
    enum shell_kind kind;
    uint32_t line;
    struct shell_word *words;
    uint32_t word_count;
    uint32_t word_capacity;
    struct shell_node **children;
    uint32_t child_count;
    uint32_t child_capacity;
    struct sc__str text;  /* name of a loop's variable or of a function; an expression */
    struct sc__str input; /* here-document or here-string */
    bool has_input;
    bool here_string;
    bool input_literal;       /* nothing in it is expanded */
    bool to_file;             /* what it prints goes elsewhere */
    bool appends;             /* to what the file has */
    struct shell_word target; /* the file; empty: none that has a name */
    bool all_words;           /* for without "in"; falls through, of a clause */
};

/* line: of the first character. */
sc_status shell_parse(struct sc_context *ctx,
                      const char *file,
                      struct sc__str text,
                      uint32_t line,
                      struct shell_node **out);
/* The words between the parentheses of an array. */
sc_status shell_parse_words(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            uint32_t line,
                            struct shell_node *out);
/* Past the quoted text, $(…), ${…} or `…` that begins at `at`; at + 1 elsewhere. */
size_t shell_skip_quoted(struct sc__str text, size_t at);
/* Past the closing bracket that belongs to the opening one before `at`. */
size_t shell_skip_brackets(struct sc__str text, size_t at, char open, char close);
bool shell_name_begins(char c);
bool shell_name_goes_on(char c);
/* Characters of the name at the beginning of s. */
size_t shell_name_length(struct sc__str s);

/* ---- state ---- */

enum shell_flow { SHELL_GO_ON, SHELL_BREAK, SHELL_CONTINUE, SHELL_RETURN, SHELL_EXIT };

struct shell_function {
    const char *name;
    const struct shell_node *body;
};

struct shell_saved {
    const char *name;
    struct sc__shell_variable was; /* not set where there was none */
};

struct shell_returned;

struct shell {
    struct sc_context *ctx;
    const char *file;
    const struct sc__setting_list *pinned;
    struct sc__shell_result *result;
    struct sc__shell_variable *variables;
    uint32_t variable_count;
    uint32_t variable_capacity;
    const char **arguments; /* $1 … */
    uint32_t argument_count;
    struct shell_function *functions;
    uint32_t function_count;
    uint32_t function_capacity;
    const struct sc__shell_file *files; /* those it has written */
    struct sc__buffer *captured;        /* of $(…), or NULL */
    const char *piped;                  /* what the part of a pipe before this one prints */
    int status;
    uint32_t status_unknown; /* the mark of a status that is not known */
    enum shell_flow flow;
    uint32_t flow_levels;
    uint32_t depth;
    uint32_t steps;
    uint32_t unset_seen; /* how often a variable that is not set or empty was asked for */
    uint32_t line;       /* of the command at work */
    uint32_t exit_line;
    struct shell_saved *saved; /* what functions declared local, as it was */
    uint32_t saved_count;
    uint32_t saved_capacity;
    struct shell_returned *returned; /* ways that left the function at hand */
    bool in_function;
};

/* shell_state.c: what a subshell, or one of two ways, begins with. */
struct shell_state {
    struct sc__shell_variable *variables;
    uint32_t variable_count;
    const struct sc__shell_file *files;
    const char **arguments;
    uint32_t argument_count;
    uint32_t function_count;
    enum shell_flow flow;
    uint32_t flow_levels;
    int status;
    uint32_t status_unknown;
};

struct shell_state shell_save_state(struct shell *sh);
void shell_restore_state(struct shell *sh, const struct shell_state *s);
/* Two ways ended, with this state and that of sh: where they differ a mark stands. */
void shell_join_states(struct shell *sh,
                       const struct shell_state *other,
                       uint32_t condition);

sc_status
shell_fail(struct shell *sh, uint32_t line, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* shell_files.c: a file has this text, or it behind its own. */
void shell_write(struct shell *sh, const char *path, const char *text, bool appends);
/* What the command at node prints, into the file it is sent to. */
sc_status
shell_write_output(struct shell *sh, const struct shell_node *node, const char *text);
/* What cp, mv, rm or a program that edits in place makes of the files that it names. */
void shell_change_files(struct shell *sh, const char **words, uint32_t count);
/* Of these files and those of sh, as shell_join_states. */
void shell_join_files(struct shell *sh,
                      const struct sc__shell_file *other,
                      uint32_t condition);
/* A mark for something that is not known. */
const char *shell_unknown(struct shell *sh, uint32_t line, const char *what);
const char *shell_mark_text(struct shell *sh, uint32_t unknown);
/* [[ text =~ pattern ]] (of shell_expand_pattern); false: it is left open. */
bool shell_regex(struct shell *sh, const char *pattern, const char *text, bool *matches);

struct sc__shell_variable *shell_find(struct shell *sh, struct sc__str name);
/* Its value, NULL where it is not set; element 0 of an array. */
const char *shell_get(struct shell *sh, struct sc__str name);
void shell_set(struct shell *sh, struct sc__str name, const char *value);
struct sc__shell_variable *shell_make(struct shell *sh, struct sc__str name);
bool shell_is_pinned(const struct shell *sh, struct sc__str name);
/* What is asked for and has no value. */
void shell_note_unset(struct shell *sh, struct sc__str name, uint32_t line);

struct shell_fields {
    const char **items;
    uint32_t count;
    uint32_t capacity;
};

/* Words → fields, as for a command. */
sc_status shell_expand_word(struct shell *sh,
                            const struct shell_word *word,
                            struct shell_fields *out);
/* One text, not split: as in an assignment. */
sc_status
shell_expand_text(struct shell *sh, struct sc__str raw, uint32_t line, const char **out);
/* As in double quotes: here-documents, arithmetic. */
sc_status
shell_expand_quoted(struct shell *sh, struct sc__str raw, uint32_t line, const char **out);
/* A pattern: quoted characters have a backslash. */
sc_status
shell_expand_pattern(struct shell *sh, struct sc__str raw, uint32_t line, const char **out);

/* ---- inside expansion ---- */

enum shell_mode { SHELL_SPLIT, SHELL_JOIN, SHELL_PATTERN };

struct shell_expansion {
    struct shell *sh;
    enum shell_mode mode;
    struct shell_fields *fields;
    struct sc__buffer current;
    bool open;       /* `current` is a field, be it empty */
    bool empty_list; /* "$@" without arguments stands in the quotes at hand */
    bool in_default; /* ${X:-w}: text of w that is not quoted is split as a value is */
    uint32_t line;
};

sc_status shell_expand_part(struct shell_expansion *x, struct sc__str raw, bool quoted);
void shell_put_value(struct shell_expansion *x, const char *value, bool quoted);
void shell_put_list(struct shell_expansion *x,
                    const char *const *items,
                    uint32_t count,
                    bool quoted,
                    bool star);
/* What follows a '$' at the beginning of text; *used: how much of it. */
sc_status shell_expand_dollar(struct shell_expansion *x,
                              struct sc__str text,
                              bool quoted,
                              size_t *used);

/* ---- the rest ---- */

bool shell_matches(const char *pattern, const char *text);
/* What follows from a value with a mark has it too: *unknown. */
sc_status shell_arithmetic(
    struct shell *sh, struct sc__str raw, uint32_t line, int64_t *out, uint32_t *unknown);
sc_status shell_run(struct shell *sh, const struct shell_node *node);
/* Parses and runs text; line: where it stands. */
sc_status shell_run_text(struct shell *sh, struct sc__str text, uint32_t line);
/* What text prints, run in a shell of its own; line ends at its end go. */
sc_status
shell_capture(struct shell *sh, struct sc__str text, uint32_t line, const char **out);
sc_status shell_test_words(struct shell *sh, const char **words, uint32_t count);
sc_status shell_test_expression(struct shell *sh, struct sc__str text, uint32_t line);
/* Runs a command of the shell itself, or one whose answer is known; *done is
 * false where it is another program's. */
sc_status shell_builtin(struct shell *sh,
                        const struct shell_node *node,
                        const char **words,
                        uint32_t count,
                        bool *done);
/* The script that another shell is given, by -c or as a here-document. */
sc_status shell_run_script(struct shell *sh,
                           const struct shell_node *node,
                           const char **words,
                           uint32_t count);
void shell_answer(struct shell *sh, int status);
void shell_answer_unknown(struct shell *sh, uint32_t unknown);
sc_status shell_assign(struct shell *sh, struct sc__str raw, uint32_t line, bool *was_one);
/* NAME=… or NAME+=… or NAME[…]=… stands at the beginning. */
bool shell_is_assignment(struct sc__str raw);

#endif
