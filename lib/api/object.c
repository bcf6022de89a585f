#include "api/object.h"

#include <stdlib.h>

/* Here, so that nothing the caller has in registers lives across setjmp. */
static sc_status
guarded(struct sc_context *own, sc__builder *build, void *object, const void *arguments) {
    if (setjmp(own->recover))
        return sc__out_of_memory(own);
    return build(own, object, arguments);
}

sc_status sc__object_build(struct sc_context *ctx,
                           size_t size,
                           sc__builder *build,
                           const void *arguments,
                           void **out) {
    struct sc__object *object = calloc(1, size);
    *out = NULL;
    sc__clear_error(ctx);
    if (!object)
        return sc__out_of_memory(ctx);
    sc__context_init(&object->own, ctx);
    atomic_init(&object->users, 1);
    sc_status status = guarded(&object->own, build, object, arguments);
    object->own.progress = NULL; /* the object may outlive whoever listens */
    if (status == SC_OK) {
        *out = object;
        return SC_OK;
    }
    sc__error_move(ctx, &object->own);
    sc__object_free(object);
    return status;
}

void sc__object_keep(void *keeper, const void *kept) {
    struct sc__object *k = keeper;
    struct sc__object *object = (struct sc__object *)kept; /* only counted */
    unsigned i = 0;
    if (!object)
        return;
    while (k->keeps[i])
        i++;
    atomic_fetch_add(&object->users, 1);
    k->keeps[i] = object;
}

void sc__object_free(void *object) {
    struct sc__object *o = object;
    if (!o || atomic_fetch_sub(&o->users, 1) != 1)
        return;
    for (unsigned i = 0; i < 3; i++)
        sc__object_free(o->keeps[i]);
    sc__context_end(&o->own);
    free(o);
}

int sc_version_number(void) {
    return SC_VERSION_NUMBER;
}

int sc_exit_code(sc_status status) {
    return status == SC_NO_FIT ? SC_NO : (int)status;
}
