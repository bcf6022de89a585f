/* A model and a plan of a line of text: "model llama3-8b;tp 8;pp 2;sequence-parallel". */
#ifndef SC_TESTS_PLAN_TEXT_H
#define SC_TESTS_PLAN_TEXT_H

#include "model/read.h"
#include "plan/plan.h"

#include <string.h>

static const char *nth(const void *self, const char *name, unsigned i) {
    static char value[16][64];
    static unsigned turn;
    struct sc__str rest = sc__str(self);
    struct sc__str part;
    if (i)
        return NULL;
    while (sc__split(&rest, ';', &part)) {
        struct sc__str key;
        struct sc__str text = part;
        sc__split(&text, ' ', &key);
        if (!sc__str_is(key, name))
            continue;
        char *out = value[turn++ % 16];
        memset(out, 0, 64);
        if (text.n && text.p != part.p)
            memcpy(out, text.p, text.n < 63 ? text.n : 63);
        return out;
    }
    return NULL;
}

static struct sc__settings settings(struct sc_context *ctx, const char *text) {
    return (struct sc__settings){.nth = nth, .self = text, .ctx = ctx};
}

static sc_status
plan_of(struct sc_context *ctx, const char *text, struct sc__model *m, struct sc__plan *p) {
    struct sc__settings s = settings(ctx, text);
    sc_plan plan;
    bool given;
    sc_status status = sc__model_settings(ctx, &s, m, &given);
    if (status == SC_OK)
        status = sc__plan_read(&s, &plan);
    if (status == SC_OK)
        status = sc__plan_resolve(ctx, &plan, m, NULL, p);
    return status == SC_OK ? sc__plan_check(ctx, m, p) : status;
}

#endif
