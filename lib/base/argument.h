/* argument: what a caller of the public header must give. A call that fails leaves NULL
 * for the object it should have made, and a program that goes on with it is told so. */
#ifndef SC_BASE_ARGUMENT_H
#define SC_BASE_ARGUMENT_H

#include "base/context.h"

/* SC_USAGE where it is NULL; name is that of the header. */
sc_status sc__argument(struct sc_context *ctx, const void *given, const char *name);
/* The same of an array, which may be NULL where it has nothing. */
sc_status sc__argument_array(struct sc_context *ctx,
                             const void *given,
                             size_t count,
                             const char *name);

#endif
