#include "base/context.h"

#include "base/output.h"
#include "base/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sc__context_init(struct sc_context *ctx, const struct sc_context *like) {
    memset(ctx, 0, sizeof *ctx);
    sc__arena_init(&ctx->arena);
    sc__map_init(&ctx->note_at, &ctx->arena);
    ctx->jobs = 1;
    if (!like)
        return;
    ctx->jobs = like->jobs;
    ctx->progress = like->progress;
    ctx->progress_user = like->progress_user;
    ctx->engines = like->engines;
}

void sc__context_end(struct sc_context *ctx) {
    sc__outputs_abandon(ctx);
    for (uint32_t i = 0; i < ctx->spooled_count; i++)
        sc__file_close(ctx->spooled[i].fd);
    sc__arena_free(&ctx->arena);
    free(ctx->error.block);
}

sc_context *sc_open(void) {
    sc_context *ctx = malloc(sizeof *ctx);
    if (ctx)
        sc__context_init(ctx, NULL);
    return ctx;
}

void sc_close(sc_context *ctx) {
    if (!ctx)
        return;
    while (ctx->requests)
        sc_request_free(ctx->requests);
    sc__context_end(ctx);
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
    free(ctx->error.block);
    memset(&ctx->error, 0, sizeof ctx->error);
}

void sc__error_move(struct sc_context *to, struct sc_context *from) {
    sc__clear_error(to);
    to->error = from->error;
    memset(&from->error, 0, sizeof from->error);
}

void sc__notes_copy(struct sc_context *to, const struct sc_context *from) {
    for (uint32_t i = 0; i < from->note_count; i++)
        sc__note(to, from->notes[i].code, "%s", from->notes[i].text);
}

sc_status sc__out_of_memory(struct sc_context *ctx) {
    size_t budget = sc__arena_budget_set();
    sc__arena_budget(0);
    if (!budget)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "out of memory");
    return sc__fail(ctx,
                    SC_SYSTEM,
                    NULL,
                    "a smaller input or plan, fewer threads, or a larger limit",
                    "it takes more than --max-memory, %.1f MB",
                    (double)budget * 1e-6);
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
    return sc__memory_guard(do_guarded_work, &g) ? g.status : sc__out_of_memory(ctx);
}

void sc_set_progress(sc_context *ctx, sc_progress *show, void *user) {
    ctx->progress = show;
    ctx->progress_user = user;
}

sc_status sc__progress(struct sc_context *ctx, const char *what, double share) {
    if (!ctx->progress || !ctx->progress(ctx->progress_user, what, share))
        return SC_OK;
    return sc__fail(ctx, SC_CANCELLED, NULL, NULL, "cancelled while %s", what);
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

/* The texts of an error are made in a small arena and then copied to one block:
 * the arguments may point into the error before. */
static bool error_texts(struct sc__error *e,
                        struct sc__arena *scratch,
                        const char *hint,
                        const char *fmt,
                        va_list ap) {
    struct sc__buffer message;
    struct sc__buffer text;
    sc__buffer_init(&message, scratch);
    sc__buffer_init(&text, scratch);
    sc__vprintf(&message, fmt, ap);
    put_place(&text, &e->place);
    sc__printf(&text, "error: %s\n", message.text);
    if (hint && *hint)
        sc__printf(&text, "  hint: %s\n", hint);
    sc__show_controls(message.text, message.size);
    sc__show_controls(text.text, text.size);
    const char *const parts[] = {text.text,
                                 message.text,
                                 hint ? hint : "",
                                 e->place.file ? e->place.file : ""};
    size_t size[4];
    size_t all = 0;
    for (unsigned i = 0; i < 4; i++)
        all += size[i] = strlen(parts[i]) + 1;
    char *at = e->block = malloc(all);
    if (!at)
        return false;
    const char *copy[4];
    for (unsigned i = 0; i < 4; i++) {
        copy[i] = memcpy(at, parts[i], size[i]);
        at += size[i];
    }
    e->text = copy[0];
    e->message = copy[1];
    e->hint = copy[2];
    if (e->place.file)
        e->place.file = copy[3];
    return true;
}

struct error_making {
    struct sc__error *error;
    struct sc__arena scratch;
    const char *hint;
    const char *fmt;
    va_list ap;
    bool made;
};

static void make_error(void *self) {
    struct error_making *m = self;
    m->made = error_texts(m->error, &m->scratch, m->hint, m->fmt, m->ap);
}

/* Where there is no memory for the texts of an error, that is the error. */
sc_status sc__vfail(struct sc_context *ctx,
                    sc_status status,
                    const struct sc__place *at,
                    const char *hint,
                    const char *fmt,
                    va_list ap) {
    struct sc__error e = {0};
    struct error_making m = {.error = &e, .hint = hint, .fmt = fmt};
    sc__arena_init(&m.scratch);
    if (at)
        e.place = *at;
    if (at && at->file)
        e.place.file = sc__shown_name(ctx, at->file);
    va_copy(m.ap, ap);
    bool done = sc__memory_guard(make_error, &m);
    va_end(m.ap);
    sc__clear_error(ctx);
    if (done && m.made)
        ctx->error = e;
    else
        ctx->error = (struct sc__error){.message = "out of memory",
                                        .hint = "",
                                        .text = "error: out of memory\n"};
    sc__arena_free(&m.scratch);
    return status;
}

void sc__note_drop(struct sc_context *ctx, const char *code) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (strcmp(ctx->notes[i].code, code) != 0)
            ctx->notes[kept++] = ctx->notes[i];
    ctx->note_count = kept;
}

void sc__note(struct sc_context *ctx, const char *code, const char *fmt, ...) {
    struct sc__buffer b;
    if (ctx->quiet)
        return;
    sc__buffer_init(&b, &ctx->arena);
    va_list ap;
    va_start(ap, fmt);
    sc__vprintf(&b, fmt, ap);
    va_end(ap);
    sc__show_controls(b.text, b.size);
    bool fresh;
    uint64_t *at = sc__map_at(&ctx->note_at,
                              sc__hash(b.text, b.size, sc__hash(code, strlen(code), 0)),
                              &fresh);
    if (!fresh && *at < ctx->note_count && !strcmp(ctx->notes[*at].text, b.text)) {
        ctx->notes[*at].times++;
        return;
    }
    *at = ctx->note_count;
    struct sc__note *n =
        SC__PUSH(&ctx->arena, ctx->notes, ctx->note_count, ctx->note_capacity);
    n->code = code;
    n->text = b.text;
    n->times = 1;
}
