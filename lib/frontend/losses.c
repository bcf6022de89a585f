/* losses: what an input holds and the format to write cannot express (convert.h): an error,
 * or with --lossy a note. */
#include "frontend/convert.h"

#define LISTED 8

void sc__losses_init(struct sc__losses *l,
                     struct sc_context *ctx,
                     const char *format,
                     bool lossy) {
    *l = (struct sc__losses){.ctx = ctx, .format = format, .lossy = lossy};
    sc__buffer_init(&l->text, &ctx->arena);
}

void sc__lose(struct sc__losses *l, const char *fmt, ...) {
    if (l->count++ >= LISTED)
        return;
    va_list ap;
    if (l->text.size)
        sc__puts(&l->text, "; ");
    va_start(ap, fmt);
    sc__vprintf(&l->text, fmt, ap);
    va_end(ap);
}

sc_status sc__losses_end(struct sc__losses *l) {
    if (!l->count)
        return SC_OK;
    if (l->count > LISTED)
        sc__printf(&l->text, "; and %u more", l->count - LISTED);
    if (!l->lossy)
        return sc__fail(l->ctx,
                        SC_INPUT,
                        NULL,
                        "--lossy leaves it out; --to ir-json holds it",
                        "%s cannot express: %s",
                        l->format,
                        l->text.text);
    sc__note(l->ctx,
             "lost",
             "left out or rounded, because %s cannot express it: %s",
             l->format,
             l->text.text);
    return SC_OK;
}
