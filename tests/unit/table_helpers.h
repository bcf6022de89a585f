/* What the tests of table readers share: a context per test, settings from a
 * list, inputs from text, and a network whose costs the test chooses. */
#ifndef TABLE_HELPERS_H
#define TABLE_HELPERS_H

#include "test.h"

#include "frontend/reader.h"
#include "simulate/simulate.h"

static struct sc_context *ctx;

static inline int open_context(void **state) {
    (void)state;
    ctx = sc_open();
    return ctx ? 0 : -1;
}

static inline int close_context(void **state) {
    (void)state;
    sc_close(ctx);
    return 0;
}

/* "name=value" words, NULL-terminated. */
static inline const char *given(const void *self, const char *name, unsigned i) {
    size_t n = strlen(name);
    for (const char *const *w = self; *w; w++)
        if (!strncmp(*w, name, n) && (*w)[n] == '=' && i-- == 0)
            return *w + n + 1;
    return NULL;
}

#define SETTINGS(...)                                                                      \
    &(struct sc__settings) {                                                               \
        .nth = given, .self = (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL},      \
        .ctx = ctx                                                                         \
    }

static inline sc_status read_text(const struct sc__reader *reader,
                                  const struct sc__settings *settings,
                                  const char *text,
                                  size_t n,
                                  struct sc__document *doc) {
    const char *path = temporary_file(text, n);
    memset(doc, 0, sizeof *doc);
    sc__clear_error(ctx);
    sc_status status = reader->read(ctx, settings, &path, 1, doc);
    unlink(path);
    return status;
}

static inline void must(sc_status status) {
    if (status != SC_OK)
        fail_msg("%s", sc_error_text(ctx));
}

static inline bool noted(const char *code) {
    for (uint32_t i = 0; i < ctx->note_count; i++)
        if (!strcmp(ctx->notes[i].code, code))
            return true;
    return false;
}

/* Every transfer takes latency + bytes · per_byte ps, whatever else runs. */
struct costs {
    int64_t latency;
    int64_t per_byte;
    struct {
        struct sc_transfer t;
        int64_t end;
    } running[64];
    unsigned count;
};

static inline sc_status cost_alone(void *net,
                                   const struct sc_transfer *t,
                                   int64_t *time,
                                   struct sc_claims *claims) {
    const struct costs *p = net;
    claims->count = 0;
    claims->contended = false;
    *time = p->latency + (int64_t)t->bytes * p->per_byte;
    return SC_OK;
}

static inline sc_status cost_start(void *net, const struct sc_transfer *t, int64_t now) {
    struct costs *p = net;
    assert_true(p->count < 64);
    p->running[p->count].t = *t;
    p->running[p->count++].end = now + p->latency + (int64_t)t->bytes * p->per_byte;
    return SC_OK;
}

static inline sc_status cost_next(void *net, int64_t *when) {
    const struct costs *p = net;
    int64_t next = INT64_MAX;
    for (unsigned i = 0; i < p->count; i++)
        if (p->running[i].end < next)
            next = p->running[i].end;
    *when = next;
    return SC_OK;
}

static inline sc_status
cost_finish(void *net, int64_t to, struct sc_transfer *done, bool *found) {
    struct costs *p = net;
    *found = false;
    for (unsigned i = 0; i < p->count; i++)
        if (p->running[i].end == to) {
            *done = p->running[i].t;
            p->running[i] = p->running[--p->count];
            *found = true;
            break;
        }
    return SC_OK;
}

static inline int64_t step_of(const struct sc__workload *w,
                              int64_t latency,
                              int64_t per_byte,
                              struct sc__sim *out) {
    static const struct sc_engine ops = {.name = "fixed",
                                         .alone = cost_alone,
                                         .start = cost_start,
                                         .next = cost_next,
                                         .finish = cost_finish};
    struct costs costs = {.latency = latency, .per_byte = per_byte};
    struct sc__net net = {.ops = &ops, .self = &costs};
    struct sc__sim_options options = {0};
    must(sc__simulate(ctx, w, &net, &options, out));
    return out->step;
}

#endif
