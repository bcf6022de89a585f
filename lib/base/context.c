#include "base/context.h"

#include "base/output.h"
#include "base/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sc_context *sc_open(void) {
    sc_context *ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NULL;
    sc__arena_init(&ctx->arena);
    sc__map_init(&ctx->note_at, &ctx->arena);
    ctx->jobs = 1;
    return ctx;
}

void sc_close(sc_context *ctx) {
    if (!ctx)
        return;
    sc__outputs_abandon(ctx);
    for (uint32_t i = 0; i < ctx->spooled_count; i++)
        sc__file_close(ctx->spooled[i].fd);
    sc__arena_free(&ctx->arena);
    free(ctx);
}

const char *sc_version(void) {
    return SC_VERSION;
}
const char *sc_error_text(const sc_context *ctx) {
    return ctx->error.text ? ctx->error.text : "";
}
const char *sc_error_message(const sc_context *ctx) {
    return ctx->error.message ? ctx->error.message : "";
}
const char *sc_error_hint(const sc_context *ctx) {
    return ctx->error.hint ? ctx->error.hint : "";
}
const char *sc_error_file(const sc_context *ctx) {
    return ctx->error.place.file;
}
unsigned long sc_error_line(const sc_context *ctx) {
    return (unsigned long)ctx->error.place.line;
}
unsigned long sc_error_column(const sc_context *ctx) {
    return (unsigned long)ctx->error.place.column;
}

void sc__clear_error(struct sc_context *ctx) {
    memset(&ctx->error, 0, sizeof ctx->error);
}

struct guarded_work {
    sc_status (*work)(void *self);
    void *self;
    sc_status status;
};

static void do_guarded_work(void *self) {
    struct guarded_work *g = self;
    g->status = g->work(g->self);
}

sc_status sc__guarded(struct sc_context *ctx, sc_status (*work)(void *self), void *self) {
    struct guarded_work g = {.work = work, .self = self};
    if (sc__memory_guard(do_guarded_work, &g))
        return g.status;
    /* not sc__fail: there is no memory for a text */
    ctx->error =
        (struct sc__error){.message = "out of memory", .text = "error: out of memory\n"};
    return SC_SYSTEM;
}

void sc_set_progress(sc_context *ctx,
                     void (*show)(void *user, const char *what, double share),
                     void *user) {
    ctx->progress = show;
    ctx->progress_user = user;
}

void sc__progress(struct sc_context *ctx, const char *what, double share) {
    if (ctx->progress)
        ctx->progress(ctx->progress_user, what, share);
}

char *sc__format(struct sc__arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = sc__alloc(a, (size_t)(n < 0 ? 0 : n) + 1);
    va_start(ap, fmt);
    if (n > 0)
        vsnprintf(text, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return text;
}

static void put_place(struct sc__buffer *b, const struct sc__place *at) {
    if (!at->file)
        return;
    sc__puts(b, at->file);
    if (at->binary)
        sc__printf(b, ":byte %llu", (unsigned long long)at->offset);
    else if (at->line && at->column)
        sc__printf(b,
                   ":%llu:%llu",
                   (unsigned long long)at->line,
                   (unsigned long long)at->column);
    else if (at->line)
        sc__printf(b, ":%llu", (unsigned long long)at->line);
    sc__puts(b, ": ");
}

const char *sc__shown_name(const struct sc_context *ctx, const char *path) {
    for (uint32_t i = 0; i < ctx->spooled_count; i++)
        if (!strcmp(ctx->spooled[i].path, path))
            return ctx->spooled[i].shown;
    return path;
}

sc_status sc__fail(struct sc_context *ctx,
                   sc_status status,
                   const struct sc__place *at,
                   const char *hint,
                   const char *fmt,
                   ...) {
    va_list ap;
    va_start(ap, fmt);
    status = sc__vfail(ctx, status, at, hint, fmt, ap);
    va_end(ap);
    return status;
}

sc_status sc__vfail(struct sc_context *ctx,
                    sc_status status,
                    const struct sc__place *at,
                    const char *hint,
                    const char *fmt,
                    va_list ap) {
    struct sc__buffer message;
    struct sc__buffer text;
    sc__buffer_init(&message, &ctx->arena);
    sc__buffer_init(&text, &ctx->arena);
    sc__vprintf(&message, fmt, ap);
    struct sc__error *e = &ctx->error;
    memset(e, 0, sizeof *e);
    if (at) {
        e->place = *at;
        if (at->file)
            e->place.file = sc__strdup(&ctx->arena, sc__shown_name(ctx, at->file));
        put_place(&text, &e->place);
    }
    e->message = message.text;
    sc__printf(&text, "error: %s\n", message.text);
    if (hint && *hint) {
        e->hint = sc__strdup(&ctx->arena, hint);
        sc__printf(&text, "  hint: %s\n", hint);
    }
    e->text = text.text;
    return status;
}

void sc__note(struct sc_context *ctx, const char *code, const char *fmt, ...) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    va_list ap;
    va_start(ap, fmt);
    sc__vprintf(&b, fmt, ap);
    va_end(ap);
    bool fresh;
    uint64_t *at = sc__map_at(&ctx->note_at,
                              sc__hash(b.text, b.size, sc__hash(code, strlen(code), 0)),
                              &fresh);
    if (!fresh && *at < ctx->note_count && !strcmp(ctx->notes[*at].text, b.text))
        return;
    *at = ctx->note_count;
    struct sc__note *n =
        SC__PUSH(&ctx->arena, ctx->notes, ctx->note_count, ctx->note_capacity);
    n->code = code;
    n->text = b.text;
}
