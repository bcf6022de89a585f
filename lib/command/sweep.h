/* sweep: what the parts of the command share. */
#ifndef SC_COMMAND_SWEEP_H
#define SC_COMMAND_SWEEP_H

#include "base/ranks.h"
#include "command/job.h"

/* Figures of a point, in the order of the columns of database and CSV. */
enum {
    SC__SWEEP_STEP_US,
    SC__SWEEP_MFU,
    SC__SWEEP_BUBBLE_SHARE,
    SC__SWEEP_EXPOSED_SHARE,
    SC__SWEEP_TOKENS_PER_S,
    SC__SWEEP_MEMORY_BYTES,
    SC__SWEEP_FIGURES
};
struct sc__sweep_figure {
    const char *name;
    bool fixed; /* in the CSV with so many digits behind the point, else in all */
    int digits;
};
extern const struct sc__sweep_figure sc__sweep_figures[SC__SWEEP_FIGURES];

/* What came of a point. */
struct sc__sweep_row {
    const char *outcome;  /* "ok", "no-fit", "refused" */
    const char *settings; /* all of it, a JSON object */
    double figures[SC__SWEEP_FIGURES];
    const char *message; /* why not, or "" */
};

enum { SC__SWEEP_MOST_AXES = 16 };

struct sc__sweep_axis {
    const struct sc__option *option;
    const char **values;
    uint32_t count;
    uint32_t capacity;
};
struct sc__sweep_axes {
    struct sc__sweep_axis items[SC__SWEEP_MOST_AXES];
    uint32_t count;
    uint32_t points; /* combinations of all values */
};
/* Those of a request's --axis; all zeros before. */
sc_status sc__sweep_axes_read(struct sc_request *req, struct sc__sweep_axes *axes);
/* An option of the sweep itself, which no point has. */
bool sc__sweep_is_own(const char *name);

/* The axes of a request, read as a sweep reads them: how many points they make, and the
 * settings of the last one, a JSON object. Nothing is run. */
sc_status sc__sweep_read(struct sc_request *req, uint32_t *points, const char **last);
/* Values that an axis of a file gives its option; at: where they stand. */
sc_status sc__sweep_check_values(struct sc_context *ctx,
                                 const struct sc__option *option,
                                 const char *text,
                                 const struct sc__place *at);

struct sc__store;

/* Opens the database, or makes it. definition: what the sweep is; one that holds
 * another is refused. */
sc_status sc__store_open(struct sc_context *ctx,
                         const char *path,
                         const char *definition,
                         struct sc__store **out);
void sc__store_close(struct sc__store *store);
/* done[i] for every point that is in it already. */
sc_status sc__store_done(struct sc__store *store, bool *done, uint32_t count);
/* Rows of the points ids[0] … all of them or none. */
sc_status sc__store_add(struct sc__store *store,
                        const uint32_t *ids,
                        const struct sc__sweep_row *rows,
                        uint32_t count);
/* Calls take for every row in the order of points. */
sc_status
sc__store_read(struct sc__store *store,
               void (*take)(void *self, uint32_t id, const struct sc__sweep_row *row),
               void *self);

/* ---- sweep_ranks.c: the same sweep in several processes ---- */

enum { SC__SWEEP_ROUND = 64 };

struct sc__sweep_share {
    struct sc_context *ctx;
    const struct sc__ranks *ranks;
    uint32_t at_once; /* points that this rank takes at a time */
    /* Rows of points, whose texts stay until the next call. */
    sc_status (*evaluate)(void *self,
                          const uint32_t *ids,
                          uint32_t count,
                          const struct sc__sweep_row **rows);
    void *self;
};

/* Rank 0: hands out the points that are not done to whoever asks, and writes what comes
 * back. begun: how far this rank came; unless SC_OK all others are sent home. */
sc_status sc__sweep_lead(const struct sc__sweep_share *x,
                         struct sc__store *store,
                         const bool *done,
                         uint32_t points,
                         sc_status begun);
/* The others: evaluate what rank 0 gives them until it has no more. */
sc_status sc__sweep_follow(const struct sc__sweep_share *x);

#endif
