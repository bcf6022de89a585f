/* shell: evaluates a launch script as bash would, and runs nothing.
 *
 *   text → tree (shell_parse.c) → variables, and the commands it would run
 *
 * What cannot be known (the output of a command, the time, a file of another
 * machine) is a mark in the text it would stand in; marks go along through
 * assignments, arithmetic and arrays. A condition that depends on one is not
 * decided: both ways are followed, and what differs after them is marked. A way
 * that ends in `exit` is not taken, as a script that trains does not end there.
 * So only what matters has to be known, and whoever needs a value with a mark
 * in it can say where it comes from. */
#ifndef SC_SHELL_SHELL_H
#define SC_SHELL_SHELL_H

#include "base/base.h"

/* Why a value is not known. */
struct sc__shell_unknown {
    uint32_t line;
    const char *what;  /* "the output of `scontrol`" */
    const char **ways; /* the words it may be, where a condition decides; or NULL */
    uint32_t way_count;
};

/* Variables that launchers look at in their environment. */
enum sc__shell_watched {
    SC__SHELL_NPROC_PER_NODE,
    SC__SHELL_NNODES,
    SC__SHELL_CUDA_VISIBLE_DEVICES,
    SC__SHELL_NGPU,
    SC__SHELL_CONFIG_FILE,
    SC__SHELL_CONFIG,
    SC__SHELL_WATCHED
};

/* A text that the script gives to a file, and those that it gave before. */
struct sc__shell_file {
    const char *path;
    const char *text; /* NULL: the file is gone */
    const struct sc__shell_file *before;
    uint32_t number; /* from 1 on */
};

struct sc__shell_command {
    const char **words;
    uint32_t count;
    uint32_t line;
    const struct sc__shell_file *files;     /* as they are when it begins */
    uint32_t undecided;                     /* what decides whether it runs; 0: it does */
    const char *watched[SC__SHELL_WATCHED]; /* what they were then; NULL: not set */
};

struct sc__shell_variable {
    const char *name;
    const char **items; /* one, or those of an array */
    const char **keys;  /* of an associative array, else NULL */
    uint32_t count;
    uint32_t line; /* where it was last set */
    bool array;
    bool set; /* not since unset */
};

/* A variable that was asked for and has no value: it counted as empty. */
struct sc__shell_unset {
    const char *name;
    uint32_t line;
};

struct sc__shell_result {
    struct sc__shell_command *commands; /* in the order they would run */
    uint32_t command_count;
    uint32_t command_capacity;
    struct sc__shell_variable *variables; /* at the end */
    uint32_t variable_count;
    uint32_t variable_capacity;
    const struct sc__shell_file *files; /* the same */
    struct sc__shell_unknown *unknowns; /* by the number in a mark, from 1 on */
    uint32_t unknown_count;
    uint32_t unknown_capacity;
    struct sc__shell_unset *unset;
    uint32_t unset_count;
    uint32_t unset_capacity;
    struct sc__shell_unset *sourced; /* files it sources, which are not read */
    uint32_t sourced_count;
    uint32_t sourced_capacity;
    uint32_t exit_line;     /* where it ended with `exit`; 0: at its end */
    const char *last_words; /* what it printed last */
};

/* environment: what is set before the script begins. pinned: variables that have
 * this value whatever the script says; "1" is its first argument. */
sc_status sc__shell_evaluate(struct sc_context *ctx,
                             const char *file,
                             struct sc__str text,
                             const struct sc__setting_list *environment,
                             const struct sc__setting_list *pinned,
                             struct sc__shell_result *out);

/* The text of a file that the script has written; NULL: none of this name. What is not
 * known of it is a mark. */
const char *sc__shell_written(const struct sc__shell_file *files, const char *path);

/* The number of the first mark in a text; 0: all of it is known. */
uint32_t sc__shell_mark(const char *text);
/* The text with a word in place of each mark. */
const char *sc__shell_known(struct sc__arena *arena, const char *text, const char *word);

#endif
