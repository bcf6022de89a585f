/* stepcast: forecast one training step of a large model on a GPU cluster.
 *
 * The whole library is driven by requests that mirror the command line: a
 * command name, options by their long names, and input paths. Each request is
 * answered with the text a person would read and, when asked for, the JSON
 * document a program would. Nothing here prints or exits.
 *
 *     sc_context *ctx = sc_open();
 *     sc_request *req = sc_request_new(ctx, "run");
 *     sc_request_input(req, "workload.txt");
 *     sc_request_set(req, "cluster", "dgx-h100:1024");
 *     sc_request_set(req, "json", "-");
 *     if (sc_execute(req) == SC_OK) puts(sc_request_output(req));
 *     else fputs(sc_error_text(ctx), stderr);
 *     sc_close(ctx);
 */
#ifndef STEPCAST_H
#define STEPCAST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SC_VERSION "0.1.0"

#if defined(__GNUC__)
#define SC_API __attribute__((visibility("default")))
#else
#define SC_API
#endif

/* What a call answers. The values are the exit codes of the program. */
typedef enum sc_status {
    SC_OK = 0,    /* done */
    SC_NO = 1,    /* done, and the answer is "no": over tolerance, does not fit */
    SC_USAGE = 2, /* the request itself is wrong */
    SC_INPUT = 3, /* an input is wrong: sc_error_text says where and why */
    SC_SYSTEM = 4 /* out of memory, disk full, unreadable file */
} sc_status;

typedef struct sc_context sc_context;
typedef struct sc_request sc_request;

/* The version of the library, "MAJOR.MINOR.PATCH". */
SC_API const char *sc_version(void);

/* A context owns everything that is made with it. One thread at a time.
 * NULL when memory is short. */
SC_API sc_context *sc_open(void);
SC_API void sc_close(sc_context *ctx);

/* show is called now and then while long requests run, with what is being done
 * and how much of it, 0 to 1. It must not call the library. NULL: no calls. */
SC_API void sc_set_progress(sc_context *ctx,
                            void (*show)(void *user, const char *what, double share),
                            void *user);

/* The last error as "file:line:column: error: what" with a hint line below it
 * where there is one; empty when the last call succeeded. Valid until the next
 * call with this context. The parts are there as well, for callers that raise
 * exceptions: file is NULL, and line and column are 0, where unknown. */
SC_API const char *sc_error_text(const sc_context *ctx);
SC_API const char *sc_error_message(const sc_context *ctx);
SC_API const char *sc_error_hint(const sc_context *ctx);
SC_API const char *sc_error_file(const sc_context *ctx);
SC_API unsigned long sc_error_line(const sc_context *ctx);
SC_API unsigned long sc_error_column(const sc_context *ctx);

/* A request for one command ("run", "show", "coll", …). NULL when there is no
 * such command; sc_error_text then suggests one. */
SC_API sc_request *sc_request_new(sc_context *ctx, const char *command);

/* Sets an option by its long name without dashes ("cluster", "tp"). A flag
 * takes the value NULL. Options that may be repeated are added to. */
SC_API sc_status sc_request_set(sc_request *req, const char *name, const char *value);

/* Adds an input path (or "-" for standard input). */
SC_API sc_status sc_request_input(sc_request *req, const char *path);

/* Runs the request. SC_OK and SC_NO leave the output in place. */
SC_API sc_status sc_execute(sc_request *req);

/* What the command line would print on standard output: the table, or with
 * the option json set to "-" the JSON document alone. Lives as long as the
 * context. */
SC_API const char *sc_request_output(const sc_request *req);
SC_API size_t sc_request_output_size(const sc_request *req);

#ifdef __cplusplus
}
#endif
#endif
