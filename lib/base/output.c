#include "base/output.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void fail_with(struct sc__output *o, int reason) {
    if (!o->reason)
        o->reason = reason ? reason : EIO;
}

static void write_plain(struct sc__output *o, const char *bytes, size_t size) {
    while (size && !o->reason) {
        ssize_t n = write(o->fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            fail_with(o, errno);
            return;
        }
        bytes += n;
        size -= (size_t)n;
    }
}

static void write_packed(struct sc__output *o, const char *bytes, size_t size) {
    while (size && !o->reason) {
        unsigned n = size > (1u << 30) ? 1u << 30 : (unsigned)size;
        errno = 0;
        if (gzwrite(o->gz, bytes, n) != (int)n)
            fail_with(o, errno);
        bytes += n;
        size -= n;
    }
}

static void output_take(void *self, const char *bytes, size_t size) {
    struct sc__output *o = self;
    (o->gz ? write_packed : write_plain)(o, bytes, size);
}

static void open_packed(struct sc__output *o) {
    int copy = dup(o->fd);
    o->gz = copy < 0 ? NULL : gzdopen(copy, "wb6");
    if (o->gz)
        return;
    fail_with(o, copy < 0 ? errno : ENOMEM);
    if (copy >= 0)
        close(copy);
}

/* A file in the folder of the path that has no name yet. */
static bool open_nameless(struct sc__output *o) {
    const char *slash = strrchr(o->path, '/');
    const char *folder =
        slash ? sc__strndup(&o->memory, o->path, (size_t)(slash - o->path) + 1) : ".";
    if (access("/proc/self/fd", X_OK) < 0)
        return false; /* naming it takes that */
    o->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    return o->nameless = o->fd >= 0;
}

static void give_name(struct sc__output *o) {
    char *file = sc__format(&o->memory, "/proc/self/fd/%d", o->fd);
    char *tail = o->temporary + strlen(o->temporary) - 6;
    for (unsigned i = 0; i < 1000000; i++) {
        snprintf(tail, 7, "%06u", i);
        if (linkat(AT_FDCWD, file, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) == 0) {
            o->nameless = false;
            return;
        }
        if (errno != EEXIST)
            break;
    }
    fail_with(o, errno);
}

static void open_file(struct sc__output *o) {
    struct stat st;
    bool exists = stat(o->path, &st) == 0;
    if (exists)
        o->mode = st.st_mode & 0777;
    if (exists && !S_ISREG(st.st_mode)) {
        o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
    } else {
        o->temporary = sc__format(&o->memory, "%s.XXXXXX", o->path);
        if (!open_nameless(o))
            o->fd = mkostemp(o->temporary, O_CLOEXEC);
    }
    if (o->fd < 0) {
        fail_with(o, errno);
        o->temporary = NULL;
    } else if (o->temporary && sc__str_ends(sc__str(o->path), ".gz"))
        open_packed(o);
}

/* The mode of the file it replaces, or the usual one, which a file without a
 * name has already. */
static void give_mode(struct sc__output *o) {
    mode_t mask = umask(0);
    umask(mask);
    if (o->mode < 0 && o->nameless)
        return;
    if (fchmod(o->fd, o->mode < 0 ? 0666 & ~mask : (mode_t)o->mode) < 0)
        fail_with(o, errno);
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

/* A link stays one, and what it names is replaced. */
static const char *real_path(struct sc_context *ctx, const char *name) {
    char real[PATH_MAX];
    return realpath(name, real) ? sc__strdup(&ctx->arena, real) : name;
}

sc_status
sc__output_open(struct sc_context *ctx, const char *path, struct sc__output **out) {
    struct sc__output *o = SC__NEW(&ctx->arena, struct sc__output);
    o->ctx = ctx;
    o->name = sc__strdup(&ctx->arena, path);
    o->path = real_path(ctx, o->name);
    o->mode = -1;
    o->fd = -1;
    sc__arena_init(&o->memory);
    sc__buffer_init(&o->buffer, &o->memory);
    sc__buffer_stream(&o->buffer, output_take, o);
    o->older = ctx->outputs;
    ctx->outputs = o;
    open_file(o);
    *out = o;
    return o->reason ? sc__output_end(o, say_why(o)) : SC_OK;
}

static void close_packed(struct sc__output *o) {
    if (o->gz && gzclose_w(o->gz) != Z_OK)
        fail_with(o, errno);
    o->gz = NULL;
}

static void close_file(struct sc__output *o) {
    if (o->fd >= 0 && close(o->fd) < 0)
        fail_with(o, errno);
    o->fd = -1;
}

/* All is written: the file gets its mode and its name. */
static void appear(struct sc__output *o) {
    sc__buffer_flush(&o->buffer);
    close_packed(o);
    if (!o->temporary || o->reason)
        return;
    give_mode(o);
    if (o->nameless)
        give_name(o);
    close_file(o);
    if (!o->reason && rename(o->temporary, o->path) < 0)
        fail_with(o, errno);
}

sc_status sc__output_end(struct sc__output *o, sc_status status) {
    if (status == SC_OK)
        appear(o);
    close_packed(o);
    close_file(o);
    if (status == SC_OK && o->reason)
        status = say_why(o);
    if (status != SC_OK && o->temporary && !o->nameless)
        unlink(o->temporary);
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
