/* coll --validate: how well the collective model predicts a table of
 * measurements, and how well it would without each source's own rows. */
#include "base/sort.h"
#include "command/coll.h"

#include <math.h>
#include <string.h>

enum { SMALL, MIDDLE, LARGE, ALL, CLASSES };

static const char *const class_names[CLASSES] = {
    "<= 64 KiB", "between", ">= 64 MiB", "all"};

static int size_class(uint64_t bytes) {
    return bytes <= 64u << 10 ? SMALL : bytes >= 64u << 20 ? LARGE : MIDDLE;
}

struct errors {
    double *items[CLASSES];
    uint32_t count[CLASSES];
};

static void errors_init(struct sc_context *ctx, struct errors *e, uint32_t rows) {
    for (int c = 0; c < CLASSES; c++) {
        e->items[c] = SC__NEW_ARRAY(&ctx->arena, double, rows);
        e->count[c] = 0;
    }
}

static void errors_add(struct errors *e, const struct sc__sample *s) {
    double percent = 100 * fabs(s->model_us / s->us - 1);
    int class = size_class(s->bytes);
    e->items[class][e->count[class]++] = percent;
    e->items[ALL][e->count[ALL]++] = percent;
}

static double median(double *items, uint32_t n) {
    sc__sort_doubles(items, n);
    return n % 2 ? items[n / 2] : (items[n / 2 - 1] + items[n / 2]) / 2;
}

static double mean(const double *items, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += items[i];
    return sum / n;
}

static void put_errors(struct sc__buffer *out, const char *label, struct errors *e) {
    sc__printf(out, "%-42s", label);
    for (int c = 0; c < CLASSES; c++) {
        if (!e->count[c])
            sc__puts(out, "      -             ");
        else
            sc__printf(out,
                       " %5.1f %5.1f (%3u)   ",
                       median(e->items[c], e->count[c]),
                       mean(e->items[c], e->count[c]),
                       e->count[c]);
    }
    sc__putc(out, '\n');
}

static void put_heading(struct sc__buffer *out, const char *title) {
    sc__printf(out, "%-42s", title);
    for (int c = 0; c < CLASSES; c++)
        sc__printf(out, " %-19s", class_names[c]);
    sc__putc(out, '\n');
}

/* Rows that share a label, in order of first sight. */
static void put_groups(struct sc_context *ctx,
                       struct sc__buffer *out,
                       const struct sc__samples *all,
                       const char *(*label)(struct sc_context *,
                                            const struct sc__sample *,
                                            const struct sc__names *),
                       const struct sc__names *sources) {
    struct sc__names labels;
    sc__names_init(&labels, &ctx->arena);
    for (uint32_t i = 0; i < all->count; i++) {
        const char *l = label(ctx, &all->items[i], sources);
        sc__names_add(&labels, l, strlen(l));
    }
    for (uint32_t g = 0; g < labels.count; g++) {
        struct errors e;
        errors_init(ctx, &e, all->count);
        for (uint32_t i = 0; i < all->count; i++)
            if (!strcmp(label(ctx, &all->items[i], sources), labels.text[g]))
                errors_add(&e, &all->items[i]);
        put_errors(out, labels.text[g], &e);
    }
}

static const char *by_machine(struct sc_context *ctx,
                              const struct sc__sample *s,
                              const struct sc__names *sources) {
    (void)sources;
    return sc__format(&ctx->arena,
                      "%s %s, %u GPUs on %u",
                      s->op->name,
                      s->cluster->gpu,
                      s->shape.ranks,
                      s->shape.nodes);
}

static const char *by_source(struct sc_context *ctx,
                             const struct sc__sample *s,
                             const struct sc__names *sources) {
    const char *text = sources->text[s->source];
    size_t n = strlen(text);
    return n <= 33 ? text : sc__format(&ctx->arena, "%.14s..%s", text, text + n - 17);
}

/* --- leave one source out ------------------------------------------------ */

static const char *const free_constants[] = {
    "base",      "ring_step",  "tree_hop",  "net_ring",        "net_tree",
    "proxy",     "tree_mix",   "net_base",  "nvlink",          "own_copy",
    "share",     "ring_drift", "nvls_rate", "nvls_chunk_cost", "nvls_base",
    "nvls_line", "wire",       "hop",       "launch",          NULL};

static void free_all(struct sc_context *ctx,
                     const struct sc__samples *samples,
                     struct sc__coll_fit *fit) {
    for (uint32_t i = 0; i < samples->count; i++) {
        struct sc__cluster *c = samples->items[i].cluster;
        if (i && samples->items[i - 1].cluster == c)
            continue;
        for (unsigned f = 0; free_constants[f]; f++) {
            const struct sc__constant *k = sc__constant_find(free_constants[f]);
            const char *scope = sc__constant_scope(ctx, k, c->generation, c->fabric.class);
            for (unsigned j = 0; j < k->count; j++)
                if (sc__constant_at(&c->constants, k)[j] > 0)
                    sc__fit_add(&ctx->arena, fit, scope, k, j, &c->constants);
        }
    }
}

static sc_status leave_one_out(struct sc_context *ctx,
                               struct sc__samples *samples,
                               uint32_t sources,
                               struct errors *e) {
    struct sc__samples copy = {
        SC__NEW_ARRAY(&ctx->arena, struct sc__sample, samples->count),
        samples->count,
        0};
    for (uint32_t source = 0; source < sources; source++) {
        struct sc__coll_fit fit = {.prior = 0.002, .sweeps = 40};
        SC__TRY(sc__progress(ctx, "leaving one source out", (double)source / sources));
        memcpy(copy.items, samples->items, samples->count * sizeof *copy.items);
        free_all(ctx, &copy, &fit);
        sc__fit_run(&fit, &copy, source);
        for (uint32_t i = 0; i < copy.count; i++)
            if (copy.items[i].source == source)
                errors_add(e, &copy.items[i]);
        sc__fit_restore(&fit);
    }
    return SC_OK;
}

static sc_status
put_left_out(struct sc_request *req, struct sc__samples *samples, uint32_t sources) {
    struct errors left;
    errors_init(req->ctx, &left, samples->count);
    SC__TRY(leave_one_out(req->ctx, samples, sources, &left));
    put_errors(&req->out, "leave one source out", &left);
    sc__puts(
        &req->out,
        "Left out: constants are fitted again without the system, from their present "
        "values; "
        "those no\n"
        "other system decides keep them, which flatters systems that are the only ones of "
        "their kind.\n");
    return SC_OK;
}

static void put_tables(struct sc_request *req,
                       const struct sc__samples *samples,
                       const struct sc__names *sources) {
    struct sc_context *ctx = req->ctx;
    struct errors all;
    errors_init(ctx, &all, samples->count);
    for (uint32_t i = 0; i < samples->count; i++)
        errors_add(&all, &samples->items[i]);
    put_heading(&req->out, "by machine");
    put_groups(ctx, &req->out, samples, by_machine, sources);
    sc__putc(&req->out, '\n');
    put_heading(&req->out, "by source");
    put_groups(ctx, &req->out, samples, by_source, sources);
    sc__putc(&req->out, '\n');
    put_heading(&req->out, "");
    put_errors(&req->out, "all rows", &all);
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(&req->out, "# note: %s\n", ctx->notes[i].text);
}

sc_status sc__coll_validate(struct sc_request *req, const char *path) {
    struct sc__samples samples;
    struct sc__names sources;
    uint32_t skipped;
    bool leave_out = sc__flag(req, "leave-one-out");
    SC__TRY(sc__truth_read(req->ctx, path, &samples, &sources, &skipped));
    if (!samples.count)
        return sc__fail(req->ctx,
                        SC_INPUT,
                        &(struct sc__place){.file = path},
                        NULL,
                        "no row has GPUs, size and time of a machine that is known");
    sc__samples_predict(&samples);
    SC__TRY(sc__coll_put_samples(req, &samples, &sources));
    sc__coll_note_unused(req);
    if (sc__stdout_taken(req))
        return SC_OK;
    sc__printf(&req->out,
               "%u rows with GPUs, size and time; %u without. Median and mean absolute "
               "error, %%\n\n",
               samples.count,
               skipped);
    put_tables(req, &samples, &sources);
    return leave_out ? put_left_out(req, &samples, sources.count) : SC_OK;
}
