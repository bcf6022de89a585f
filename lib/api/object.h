/* object: the public objects. Each is built in a context of its own, which lives
 * in it and holds its memory and its notes (base/context.h). A result owns all it
 * says, so that no object needs another once it is made. */
#ifndef SC_API_OBJECT_H
#define SC_API_OBJECT_H

#include "evaluate/evaluate.h"

struct sc_model {
    struct sc_context own;
    struct sc__model model;
};

struct sc_cluster {
    struct sc_context own;
    struct sc__cluster_description description;
};

struct sc_workload {
    struct sc_context own;
    struct sc__document doc;
    struct sc__workload *workload;
    bool from_model;
    sc_plan settings; /* then: the plan as resolved */
};

struct sc_result {
    struct sc_context own; /* of the evaluation; empty once the result is made */
    struct sc__result result;
    bool from_model;
    sc_plan settings;
};

/* Fills an object of zeros; own is its context. */
typedef sc_status sc__builder(struct sc_context *own, void *object, const void *arguments);

/* An object of this many bytes, which begins with its context, filled by build
 * with a way out when memory is short. Where that fails *out is NULL and ctx has
 * the error. */
sc_status sc__object_build(struct sc_context *ctx,
                           size_t size,
                           sc__builder *build,
                           const void *arguments,
                           void **out);
void sc__object_free(void *object);

#endif
