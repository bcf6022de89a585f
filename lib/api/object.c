#include "api/object.h"

#include <stdlib.h>

struct object_building {
    struct sc_context *own; /* the object begins with it */
    sc__builder *build;
    const void *arguments;
};

static sc_status build_object(void *self) {
    const struct object_building *b = self;
    return b->build(b->own, b->own, b->arguments);
}

sc_status sc__object_build(struct sc_context *ctx,
                           size_t size,
                           sc__builder *build,
                           const void *arguments,
                           void **out) {
    struct sc_context *own = calloc(1, size);
    *out = NULL;
    sc__clear_error(ctx);
    if (!own)
        return sc__out_of_memory(ctx);
    sc__context_init(own, ctx);
    sc_status status =
        sc__guarded(own, build_object, &(struct object_building){own, build, arguments});
    own->progress = NULL; /* the object may outlive whoever listens */
    if (status == SC_OK) {
        *out = own;
        return SC_OK;
    }
    sc__error_move(ctx, own);
    sc__object_free(own);
    return status;
}

void sc__object_free(void *object) {
    if (!object)
        return;
    sc__context_end(object);
    free(object);
}

int sc_version_number(void) {
    return SC_VERSION_NUMBER;
}

int sc_exit_code(sc_status status) {
    return status == SC_NO_FIT ? SC_NO : (int)status;
}
