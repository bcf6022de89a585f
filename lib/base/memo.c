/* memo: what was looked up once on a thread, by kind and name. */
#include "base/context.h"

#include <stdlib.h>
#include <string.h>

struct memo_entry {
    const char *kind;
    const char *name;
    void *what;
};

struct sc__memo {
    struct sc_context ctx; /* whose memory holds what was found */
    struct memo_entry *entries;
    uint32_t count;
    uint32_t capacity;
};

struct sc__memo *sc__memo_new(const struct sc_context *like) {
    struct sc__memo *memo = malloc(sizeof *memo);
    if (!memo)
        return NULL;
    memset(memo, 0, sizeof *memo);
    sc__context_init(&memo->ctx, like);
    return memo;
}

void sc__memo_free(struct sc__memo *memo) {
    if (!memo)
        return;
    sc__context_end(&memo->ctx);
    free(memo);
}

sc_status sc__memo_ask(struct sc_context *ctx,
                       const char *kind,
                       const char *name,
                       sc__memo_find *find,
                       const void *with,
                       void **out) {
    struct sc__memo *memo = ctx->memo;
    if (!memo)
        return find(ctx, name, with, out);
    for (uint32_t i = 0; i < memo->count; i++) {
        const struct memo_entry *e = &memo->entries[i];
        if (!strcmp(e->kind, kind) && !strcmp(e->name, name)) {
            *out = e->what;
            return SC_OK;
        }
    }
    sc_status status = find(&memo->ctx, name, with, out);
    if (status != SC_OK) {
        sc__error_move(ctx, &memo->ctx);
        return status;
    }
    struct memo_entry *e =
        SC__PUSH(&memo->ctx.arena, memo->entries, memo->count, memo->capacity);
    *e = (struct memo_entry){.kind = sc__strdup(&memo->ctx.arena, kind),
                             .name = sc__strdup(&memo->ctx.arena, name),
                             .what = *out};
    return SC_OK;
}
