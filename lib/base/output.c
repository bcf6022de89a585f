#include "base/output.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* The first reason counts; 0 is none. */
static void fail_with(struct sc__output *o, int reason) {
    if (!o->reason)
        o->reason = reason;
}

static void write_plain(struct sc__output *o, const char *bytes, size_t size) {
    if (!o->reason)
        fail_with(o, sc__file_write(o->file.fd, bytes, size));
}

static void write_packed(struct sc__output *o, const char *bytes, size_t size) {
    while (size && !o->reason) {
        unsigned n = size > (1u << 30) ? 1u << 30 : (unsigned)size;
        errno = 0;
        if (gzwrite(o->gz, bytes, n) != (int)n)
            fail_with(o, sc__reason_now());
        bytes += n;
        size -= n;
    }
}

static void output_take(void *self, const char *bytes, size_t size) {
    struct sc__output *o = self;
    (o->gz ? write_packed : write_plain)(o, bytes, size);
}

static void open_packed(struct sc__output *o) {
    int copy;
    fail_with(o, sc__new_file_share(&o->file, &copy));
    if (o->reason)
        return;
    o->gz = gzdopen(copy, "wb6");
    if (o->gz)
        return;
    sc__file_close(copy);
    sc__memory_exhausted(); /* the only reason it has */
}

static void forget(struct sc__output *o) {
    struct sc__output **at = &o->ctx->outputs;
    while (*at != o)
        at = &(*at)->older;
    *at = o->older;
    sc__arena_free(&o->memory);
}

/* Whatever the reason, what cannot be written is the system's matter. */
static sc_status say_why(struct sc__output *o) {
    struct sc__place at = {.file = o->name};
    return sc__fail(o->ctx, SC_SYSTEM, &at, NULL, "cannot write: %s", strerror(o->reason));
}

sc_status
sc__output_open(struct sc_context *ctx, const char *path, struct sc__output **out) {
    struct sc__output *o = SC__NEW(&ctx->arena, struct sc__output);
    o->ctx = ctx;
    o->name = sc__strdup(&ctx->arena, path);
    o->file.fd = -1;
    sc__arena_init(&o->memory);
    sc__buffer_init(&o->buffer, &o->memory);
    sc__buffer_stream(&o->buffer, output_take, o);
    o->older = ctx->outputs;
    ctx->outputs = o;
    /* a link stays one, and what it names is replaced */
    const char *real = sc__path_real(&ctx->arena, o->name);
    fail_with(o, sc__new_file_open(&o->memory, real ? real : o->name, &o->file));
    if (!o->reason && o->file.temporary && sc__str_ends(sc__str(o->file.path), ".gz"))
        open_packed(o);
    *out = o;
    return o->reason ? sc__output_end(o, say_why(o)) : SC_OK;
}

static void close_packed(struct sc__output *o) {
    errno = 0;
    if (o->gz && gzclose_w(o->gz) != Z_OK)
        fail_with(o, sc__reason_now());
    o->gz = NULL;
}

sc_status sc__output_end(struct sc__output *o, sc_status status) {
    if (status == SC_OK)
        sc__buffer_flush(&o->buffer);
    close_packed(o);
    bool keep = status == SC_OK && !o->reason;
    fail_with(o, sc__new_file_end(&o->memory, &o->file, keep));
    if (status == SC_OK && o->reason)
        status = say_why(o);
    if (status == SC_OK)
        *SC__PUSH(&o->ctx->arena,
                  o->ctx->written,
                  o->ctx->written_count,
                  o->ctx->written_capacity) = sc__strdup(&o->ctx->arena, o->name);
    forget(o);
    return status;
}

void sc__outputs_abandon(struct sc_context *ctx) {
    while (ctx->outputs)
        sc__output_end(ctx->outputs, SC_SYSTEM);
}

sc_status
sc__write_file(struct sc_context *ctx, const char *path, const char *bytes, size_t size) {
    struct sc__output *o;
    SC__TRY(sc__output_open(ctx, path, &o));
    output_take(o, bytes, size);
    return sc__output_end(o, SC_OK);
}

static sc_status
refuse_used_folder(struct sc_context *ctx, const char *path, const char *name) {
    struct sc__place at = {.file = sc__format(&ctx->arena, "%s/%s", path, name)};
    return sc__fail(ctx,
                    SC_USAGE,
                    &at,
                    "name an empty folder, or remove what is in this one",
                    "belongs to another set of files, and would be read with this one");
}

sc_status sc__output_folder(struct sc_context *ctx,
                            const char *path,
                            const char *pattern,
                            bool (*mine)(const void *self, const char *name),
                            const void *self) {
    struct sc__place at = {.file = path};
    int reason = sc__folder_make(path);
    struct sc__folder *folder = reason ? NULL : sc__folder_open(path, &reason);
    sc_status status = SC_OK;
    if (!folder)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        &at,
                        NULL,
                        "cannot make the directory: %s",
                        strerror(reason));
    const char *name;
    while (status == SC_OK && (name = sc__folder_next(folder)))
        if (sc__name_matches(pattern, name) && !mine(self, name))
            status = refuse_used_folder(ctx, path, name);
    sc__folder_close(folder);
    return status;
}
