#include "base/file.h"

#include "base/platform.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW ((size_t)256 << 10)
#define LONG_FILE ((uint64_t)4 << 20)
#define TELL_EVERY ((uint64_t)1 << 20)

static sc_status
fail_reason(struct sc_context *ctx, const char *path, const char *what, int reason) {
    struct sc__place at = {.file = path};
    sc_status status = sc__reason_is_path(reason) ? SC_INPUT : SC_SYSTEM;
    return sc__fail(ctx, status, &at, NULL, "%s: %s", what, strerror(reason));
}

static sc_status open_path(struct sc_context *ctx, const char *path, int *fd) {
    int reason = sc__file_open(path, fd);
    if (reason)
        return fail_reason(ctx, path, "cannot open", reason);
    if (sc__path_is_folder(path)) {
        sc__file_close(*fd);
        struct sc__place at = {.file = path};
        return sc__fail(ctx, SC_INPUT, &at, "give the file inside it", "is a directory");
    }
    return SC_OK;
}

sc_status sc__input_open(struct sc_context *ctx, const char *path, struct sc__input *in) {
    int fd;
    memset(in, 0, sizeof *in);
    in->ctx = ctx;
    if (!strcmp(path, "-")) {
        int reason = sc__file_open(path, &fd);
        if (reason)
            return fail_reason(ctx, "standard input", "cannot read", reason);
        in->name = "<stdin>";
    } else {
        SC__TRY(open_path(ctx, path, &fd));
        in->name = sc__strdup(&ctx->arena, sc__shown_name(ctx, path));
        in->size = sc__path_look(path).bytes;
    }
    in->gz = sc__gunzip_open(fd);
    if (!in->gz) {
        sc__file_close(fd);
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    }
    in->capacity = WINDOW;
    in->bytes = malloc(in->capacity + 1);
    if (!in->bytes) {
        sc__input_close(in);
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    }
    return SC_OK;
}

void sc__input_read_ahead(struct sc__input *in) {
    if (!in->ahead && !in->at_end && sc__gunzip_is_packed(in->gz))
        in->ahead = sc__ahead_start(in->gz);
}

void sc__input_close(struct sc__input *in) {
    sc__ahead_stop(in->ahead);
    in->ahead = NULL;
    sc__gunzip_close(in->gz);
    free(in->bytes);
    in->gz = NULL;
    in->bytes = NULL;
}

static sc_status read_failed(struct sc__input *in) {
    const char *what;
    struct sc__place at = {.file = in->name};
    int reason = sc__gunzip_error(in->gz, &what);
    if (reason)
        return fail_reason(in->ctx, in->name, "cannot read", reason);
    return sc__fail(in->ctx,
                    SC_INPUT,
                    &at,
                    "the .gz file is cut or damaged",
                    "cannot unpack: %s",
                    what);
}

/* Long files take their time: how much of them is read. */
static sc_status tell_reading(struct sc__input *in) {
    uint64_t taken = sc__gunzip_taken(in->gz);
    if (in->size < LONG_FILE || taken < in->told + TELL_EVERY)
        return SC_OK;
    in->told = taken;
    return sc__progress(in->ctx, "reading", (double)taken / (double)in->size);
}

static sc_status read_more(struct sc__input *in) {
    size_t room = in->capacity - in->end;
    if (room > (1u << 30))
        room = 1u << 30;
    unsigned char *to = in->bytes + in->end;
    int got =
        in->ahead ? sc__ahead_read(in->ahead, to, room) : sc__gunzip_read(in->gz, to, room);
    if (got < 0)
        return read_failed(in);
    if (got == 0)
        in->at_end = true;
    in->end += (size_t)got;
    return in->ctx->progress ? tell_reading(in) : SC_OK;
}

sc_status sc__input_fill(struct sc__input *in, size_t n) {
    while (in->end - in->begin < n && !in->at_end) {
        if (in->begin) {
            memmove(in->bytes, in->bytes + in->begin, in->end - in->begin);
            in->end -= in->begin;
            in->begin = 0;
        }
        if (in->end == in->capacity) {
            size_t fresh = in->capacity * 2 > n ? in->capacity * 2 : n;
            unsigned char *p = realloc(in->bytes, fresh + 1);
            if (!p)
                return sc__fail(in->ctx,
                                SC_SYSTEM,
                                NULL,
                                NULL,
                                "out of memory reading %s",
                                in->name);
            in->bytes = p;
            in->capacity = fresh;
        }
        SC__TRY(read_more(in));
    }
    return SC_OK;
}

sc_status sc__input_fill_text(struct sc__input *in, size_t n) {
    static const unsigned char mark[3] = {0xef, 0xbb, 0xbf};
    SC__TRY(sc__input_fill(in, n < sizeof mark ? sizeof mark : n));
    if (in->offset || in->end - in->begin < sizeof mark ||
        memcmp(in->bytes + in->begin, mark, sizeof mark))
        return SC_OK;
    in->begin += sizeof mark;
    in->offset += sizeof mark;
    return sc__input_fill(in, n);
}

/* Copies up to n bytes out; *got < n only at the end. */
static sc_status input_read(struct sc__input *in, void *out, size_t n, size_t *got) {
    *got = 0;
    while (*got < n) {
        SC__TRY(sc__input_fill(in, 1));
        size_t have = in->end - in->begin;
        size_t take = n - *got < have ? n - *got : have;
        if (!take)
            break;
        memcpy((char *)out + *got, in->bytes + in->begin, take);
        in->begin += take;
        in->offset += take;
        *got += take;
    }
    return SC_OK;
}

/* Pages of a memory file count for no process and for no ulimit: so a limit of
 * our own, and half of what the process or the machine may have. */
static uint64_t copy_limit(void) {
    uint64_t allowed = sc__memory_allowed();
    size_t budget = sc__arena_budget_set();
    uint64_t half = (budget && budget < allowed ? budget : allowed) / 2;
    return half < SC__STREAM_MAX ? half : SC__STREAM_MAX;
}

static sc_status refuse_stream(struct sc__input *in, uint64_t limit) {
    struct sc__place at = {.file = in->name};
    return sc__fail(in->ctx,
                    SC_INPUT,
                    &at,
                    "write it to a file first: files are read in pieces",
                    "more than %llu MiB (unpacked) from a pipe or device",
                    (unsigned long long)(limit >> 20));
}

static sc_status copy_to(struct sc__input *in, int fd) {
    uint64_t limit = copy_limit();
    uint64_t copied = 0;
    for (;;) {
        SC__TRY(sc__input_fill(in, 1));
        size_t n = in->end - in->begin;
        if (!n)
            return SC_OK;
        copied += n;
        if (copied > limit)
            return refuse_stream(in, limit);
        int reason = sc__file_write(fd, (const char *)in->bytes + in->begin, n);
        if (reason)
            return fail_reason(in->ctx, in->name, "cannot copy to memory", reason);
        in->begin = in->end;
    }
}

/* An empty file in memory that errors show as name. */
static sc_status
new_copy(struct sc_context *ctx, const char *name, int *fd, const char **path) {
    int reason = sc__memory_file(&ctx->arena, fd, path);
    if (reason)
        return fail_reason(ctx, name, "cannot copy to memory", reason);
    *SC__PUSH(&ctx->arena, ctx->spooled, ctx->spooled_count, ctx->spooled_capacity) =
        (struct sc__spooled){*path, name, *fd};
    return SC_OK;
}

bool sc__path_is_stream(const char *path) {
    return !strcmp(path, "-") || sc__path_look(path).kind == SC__PATH_OTHER;
}

sc_status sc__spool(struct sc__input *in, const char **path) {
    int fd;
    SC__TRY(new_copy(in->ctx, in->name, &fd, path));
    return copy_to(in, fd);
}

sc_status sc__spool_bytes(struct sc_context *ctx,
                          const char *name,
                          const void *bytes,
                          size_t size,
                          const char **path) {
    int fd;
    name = sc__strdup(&ctx->arena, name);
    SC__TRY(new_copy(ctx, name, &fd, path));
    int reason = sc__file_write(fd, bytes, size);
    return reason ? fail_reason(ctx, name, "cannot copy to memory", reason) : SC_OK;
}

static sc_status
refuse_line(struct sc__input *in, const char *what, const char *hint, uint64_t column) {
    struct sc__place at = {.file = in->name, .line = in->line, .column = column};
    return sc__fail(in->ctx, SC_INPUT, &at, hint, "%s", what);
}

sc_status sc__input_line(struct sc__input *in, struct sc__str *line, bool *more) {
    size_t searched = 0;
    const unsigned char *nl = NULL;
    if (!in->line++)
        SC__TRY(sc__input_fill_text(in, 1));
    for (;;) {
        size_t have = in->end - in->begin;
        if (have > searched)
            nl = memchr(in->bytes + in->begin + searched, '\n', have - searched);
        if (nl || in->at_end)
            break;
        if (have > SC__LINE_MAX)
            return refuse_line(in,
                               "line longer than 16 MiB",
                               "is this a text file of the expected kind?",
                               1);
        searched = have;
        SC__TRY(sc__input_fill(in, have + 1));
    }
    size_t have = in->end - in->begin;
    size_t n = nl ? (size_t)(nl - (in->bytes + in->begin)) : have;
    *more = nl != NULL || have > 0;
    *line = (struct sc__str){(const char *)in->bytes + in->begin, n};
    in->begin += n + (nl != NULL);
    in->offset += n + (nl != NULL);
    const char *nul = n ? memchr(line->p, '\0', n) : NULL;
    if (nul)
        return refuse_line(in,
                           "NUL byte in a text file",
                           "the file is binary or damaged",
                           (uint64_t)(nul - line->p) + 1);
    if (line->n && line->p[line->n - 1] == '\r')
        line->n--;
    if (*more && !nl)
        sc__note(in->ctx,
                 "no-line-end",
                 "%s: the last line has no line end, as in a file that was cut",
                 in->name);
    return SC_OK;
}

struct sc__place
sc__input_place(const struct sc__input *in, struct sc__str line, const char *at) {
    return (struct sc__place){.file = in->name,
                              .line = in->line,
                              .column = (uint64_t)(at - line.p) + 1};
}

/* Room for a stream of unknown length: that of the file, which is right for
 * one that is not packed, or a little. */
static size_t first_room(const char *path, size_t limit) {
    struct sc__path_info info = sc__path_look(path);
    uint64_t room = info.kind == SC__PATH_FILE ? info.bytes + 1 : WINDOW;
    return room <= limit ? (size_t)room : limit + 1;
}

static sc_status read_whole(struct sc__input *in,
                            struct sc__arena *arena,
                            size_t room,
                            size_t limit,
                            struct sc__str *out) {
    char *text = sc__alloc(arena, room + 1);
    size_t n = 0;
    size_t got;
    for (;;) {
        SC__TRY(input_read(in, text + n, room - n, &got));
        n += got;
        if (n < room)
            break;
        if (n > limit) {
            struct sc__place at = {.file = in->name};
            return sc__fail(in->ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "larger than %zu MiB",
                            limit >> 20);
        }
        size_t more = room + room / 2 <= limit ? room + room / 2 : limit + 1;
        text = sc__realloc(arena, text, room + 1, more + 1);
        room = more;
    }
    text[n] = '\0';
    *out = (struct sc__str){text, n};
    return SC_OK;
}

sc_status sc__read_into(struct sc_context *ctx,
                        struct sc__arena *arena,
                        const char *path,
                        size_t limit,
                        struct sc__str *out) {
    struct sc__input in;
    SC__TRY(sc__input_open(ctx, path, &in));
    sc_status status = read_whole(&in, arena, first_room(path, limit), limit, out);
    sc__input_close(&in);
    return status;
}

sc_status
sc__read_all(struct sc_context *ctx, const char *path, size_t limit, struct sc__str *out) {
    SC__TRY(sc__read_into(ctx, &ctx->arena, path, limit, out));
    if (sc__str_starts(*out, "\xef\xbb\xbf"))
        *out = (struct sc__str){out->p + 3, out->n - 3};
    return SC_OK;
}
