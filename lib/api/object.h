/* object: the public objects. Each is built in a context of its own, which lives
 * in it and holds its memory and its notes (base/context.h). A result keeps what
 * it was made from: objects are counted, and the last one that goes frees it. */
#ifndef SC_API_OBJECT_H
#define SC_API_OBJECT_H

#include "evaluate/evaluate.h"

#include <stdatomic.h>

struct sc__object {
    struct sc_context own;
    atomic_uint users;
    struct sc__object *keeps[3]; /* or NULL */
};

struct sc_model {
    struct sc__object object;
    struct sc__model model;
};

struct sc_cluster {
    struct sc__object object;
    struct sc__cluster_description description;
};

struct sc_workload {
    struct sc__object object;
    struct sc__document doc;
    struct sc__workload *workload;
    bool from_model;
    sc_plan settings; /* then: the plan as resolved */
};

struct sc_result {
    struct sc__object object;
    sc_options options;
    struct sc__setting_list engine;
    struct sc__evaluation ev;
};

/* Fills an object of zeros; own is its context. */
typedef sc_status sc__builder(struct sc_context *own, void *object, const void *arguments);

/* An object of this many bytes, which begins with struct sc__object, filled by
 * build with a way out when memory is short. Where that fails *out is NULL and ctx
 * has the error. */
sc_status sc__object_build(struct sc_context *ctx,
                           size_t size,
                           sc__builder *build,
                           const void *arguments,
                           void **out);
/* object goes only after keeper; kept may be NULL. */
void sc__object_keep(void *keeper, const void *kept);
void sc__object_free(void *object);

#endif
