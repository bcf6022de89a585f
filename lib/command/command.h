/* command: one file per command, each a table of options and the order of the
 * calls. Parser, --help, man page and completions all come from the tables. */
#ifndef SC_COMMAND_COMMAND_H
#define SC_COMMAND_COMMAND_H

#include "base/base.h"

struct sc_request;

struct sc__command {
    const char *name;
    const char *args;    /* "INPUT…" */
    const char *summary; /* one line */
    const char *text;    /* a paragraph or two for the man page */
    const struct sc__option *const
        *options;        /* tables, each ended by an empty name; NULL-terminated */
    bool inputs;         /* reads inputs, so the readers' options count too */
    bool ignores_memory; /* goes on with plans that do not fit */
    bool takes_runs;     /* its job files are those of run, which writes other results */
    bool takes_jobs;     /* each of its inputs may be a job file by itself */
    sc_status (*execute)(struct sc_request *req);
};

/* The options of the command, its readers' included: each name once, group by
 * group; NULL-terminated. */
const struct sc__option **sc__command_options(struct sc__arena *a,
                                              const struct sc__command *c);
/* The option of this name or letter, or NULL. */
const struct sc__option *sc__command_option(const struct sc__command *c, const char *name);
/* The flag that says no where a profile might say yes (--no-dropout), or NULL. */
const struct sc__option *
sc__command_denial(struct sc_context *ctx, const struct sc__command *c, const char *flag);
/* Whether the option names a file to write. */
bool sc__option_is_output(const char *name);
/* The name of an option that is spelt almost so, or NULL. */
const char *
sc__command_nearest(struct sc_context *ctx, const struct sc__command *c, const char *name);

extern const struct sc__command *const sc__commands[]; /* NULL-terminated */

struct sc__value {
    const struct sc__option *option;
    const char *text;    /* NULL for a flag */
    bool used;           /* somebody asked for it */
    struct sc__place at; /* in a job file; else its file is NULL */
};

enum { SC__TERMINAL_OPTIONS = 2 };

/* A request's own memory holds what was asked; that of a run (ctx) holds all
 * else, and goes with the next run. */
struct sc_request {
    struct sc_context *ctx; /* of the run under way, or of the last one */
    const struct sc__command *command;
    struct sc__value *values;
    uint32_t value_count;
    uint32_t value_capacity;
    const char **inputs;
    uint32_t input_count;
    uint32_t input_capacity;
    const char *const *argv; /* as given on the command line, or NULL */
    int argc;
    const char *terminal_values[SC__TERMINAL_OPTIONS]; /* NULL: not set */
    bool terminal;  /* standard output is a terminal that wants colour */
    unsigned width; /* of the terminal, 0 = unknown */
    struct sc__buffer out;
    sc_sink *sink; /* takes the output, or NULL: it is kept */
    void *sink_user;
    bool sink_failed;

    struct sc__arena *memory; /* of what is asked: values, inputs */
    struct sc_context *owner; /* the caller's */
    struct sc_context asked;  /* memory of the request */
    struct sc_context run;
    bool has_run;
    struct sc_request *older; /* of the owner's requests */
    struct sc_request *newer;
};

/* Adds an option as if it were given; a name or a value that cannot be is SC_USAGE in ctx.
 */
sc_status sc__request_add(struct sc_context *ctx,
                          struct sc_request *req,
                          const char *name,
                          const char *value);

/* SC_USAGE where an output of the request would be written over the file at path, which is
 * read. */
sc_status sc__request_spare(const struct sc_request *req, const char *path);

/* The view of the values that readers and lowerings get; typed access is in
 * base/options.h. */
struct sc__settings sc__settings(const struct sc_request *req);
/* The last value given for the option, NULL when it was not given. */
const char *sc__option(const struct sc_request *req, const char *name);
bool sc__flag(const struct sc_request *req, const char *name);
/* An output goes to "-": standard output holds it and no more. */
bool sc__stdout_taken(const struct sc_request *req);
sc_status sc__usage(const struct sc_request *req, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

const struct sc__command *sc__command_find(struct sc_context *ctx, const char *name);

#endif
