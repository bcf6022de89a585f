/* read: what people start a training run with → settings, as if the command line had said
 * them: launch scripts, configurations of trainers, jobs, recipes in Python. */
#ifndef SC_LAUNCH_READ_H
#define SC_LAUNCH_READ_H

#include "base/options.h"
#include "base/text.h"

/* The flags of a launch script (or of a file with nothing but flags), behind
 * those of `settings`, which win. Shell variables set in the script are put
 * in. Flags that say nothing about the time of a step are named in a note. */
sc_status sc__launch_read(struct sc_context *ctx,
                          const char *path,
                          const struct sc__option *known,
                          const struct sc__settings *settings,
                          struct sc__settings *out);
/* A file whose name, or whose first bytes, are those of a launch script or of a
 * configuration of a training program. */
bool sc__launch_named(const char *path);
bool sc__launch_begins(const char *head, size_t n);
/* A recipe in Python. */
bool sc__launch_is_recipe(const char *head, size_t n);
sc_status sc__launch_parse(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           const struct sc__option *known,
                           const struct sc__settings *settings,
                           struct sc__settings *out);

#endif
