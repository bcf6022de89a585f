/* kernel_times: --kernel-times. Two kinds of file: our table, and the text
 * AICB's AIOB writes:
 *
 *     train_iter:10
 *     atten_qkv:
 *         time_gpu_max: 905
 *         time_gpu_min: 870
 *         time_gpu_avg: 889
 *
 * whose names are whole pieces of a layer; the averages count, in us. */
#include "base/sort.h"
#include "hardware/kernel_table.h"

#include <math.h>
#include <string.h>

/* Of 130,000 rows in public tables none is more than 610 times off the model of another
 * GPU, and no GPU that trains is 40 times as fast as another: past these it is a slip. */
#define MOST_OF_A_ROW 1e4
#define MOST_OF_ALL_ROWS 100

sc_status sc__kernel_table_plausible(struct sc_context *ctx,
                                     const char *path,
                                     const struct sc__kernel_table *table,
                                     const struct sc__gpu *gpu) {
    double *ratios = SC__NEW_ARRAY(&ctx->arena, double, table->count + 1);
    struct sc__place at = {.file = path};
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->count; i++) {
        const struct sc__kernel_row *r = &table->rows[i];
        double usual = sc__kernel_cost(gpu, &r->key);
        double ratio = r->us / usual;
        if (!(r->us > 0) || !(usual > 0) || !isfinite(usual))
            continue; /* not measured, or nothing to compare it with */
        at.line = r->line;
        if (!(ratio <= MOST_OF_A_ROW && ratio >= 1 / MOST_OF_A_ROW))
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "times are in microseconds",
                            "%g us for a kernel that takes some %.3g on %s",
                            r->us,
                            usual,
                            gpu->name);
        ratios[count++] = ratio;
    }
    sc__sort_doubles(ratios, count);
    double median = count ? ratios[count / 2] : 1;
    at.line = 0;
    if (median <= MOST_OF_ALL_ROWS && median >= 1.0 / MOST_OF_ALL_ROWS)
        return SC_OK;
    return sc__fail(
        ctx,
        SC_INPUT,
        &at,
        "times are in microseconds",
        "half of the rows take more than %.3g times what %s takes: no GPU is so "
        "far from another",
        median,
        gpu->name);
}

static void remember(struct sc__kernel_model *p, const struct sc__kernel_row *row) {
    bool fresh;
    uint64_t *slot = sc__map_at(&p->measured, sc__kernel_hash(&row->key), &fresh);
    memcpy(slot, &row->us, sizeof row->us);
}

static sc_status bad_line(struct sc__input *in, struct sc__str line, const char *what) {
    struct sc__place place = sc__input_place(in, line, line.p);
    return sc__fail(in->ctx,
                    SC_INPUT,
                    &place,
                    "AIOB's text has 'name:' and below it 'time_gpu_avg: us'",
                    "%s: '%.*s'",
                    what,
                    SC__SHOW(line));
}

/* Below a name: one of its three times. */
static sc_status read_time(struct sc__kernel_model *p,
                           struct sc__input *in,
                           struct sc__str line,
                           struct sc__str name) {
    struct sc__str rest = sc__trim(line);
    struct sc__str key;
    double us;
    sc__split(&rest, ':', &key);
    if (!name.n)
        return bad_line(in, line, "a time before any name");
    if (!sc__parse_double(sc__trim(rest), &us) || us < 0)
        return bad_line(in, line, "not a time");
    if (sc__str_is(key, "time_gpu_max") || sc__str_is(key, "time_gpu_min"))
        return SC_OK;
    if (!sc__str_is(key, "time_gpu_avg"))
        return bad_line(in, line, "unknown time");
    uint32_t id = sc__names_add(&p->pieces, name.p, name.n);
    while (p->piece_count <= id)
        *SC__PUSH(p->arena, p->piece_us, p->piece_count, p->piece_capacity) = 0;
    p->piece_us[id] = us;
    return SC_OK;
}

static sc_status read_aiob(struct sc__kernel_model *p, struct sc__input *in) {
    struct sc__str line;
    struct sc__str name = {NULL, 0};
    bool more;
    for (;;) {
        SC__TRY(sc__input_line(in, &line, &more));
        if (!more)
            return p->piece_count ? SC_OK : bad_line(in, line, "no time in the file");
        if (!sc__trim(line).n || sc__str_starts(line, "train_iter:"))
            continue;
        if (line.p[0] == ' ' || line.p[0] == '\t') {
            SC__TRY(read_time(p, in, line, name));
        } else {
            struct sc__str rest = line;
            struct sc__str head;
            sc__split(&rest, ':', &head);
            if (head.n == line.n || sc__trim(rest).n)
                return bad_line(in, line, "not a name");
            name = (struct sc__str){sc__strndup(p->arena, head.p, head.n), head.n};
        }
    }
}

/* Pieces that stand for kernels of ours (kernel_layer.c, the embedding). */
static void
note_pieces(struct sc_context *ctx, const struct sc__kernel_model *p, const char *file) {
    static const char *const used[] = {"Emb",
                                       "layernorm",
                                       "atten_qkv",
                                       "atten_flash",
                                       "atten_linear",
                                       "layernorm2",
                                       "mlp_linear_1",
                                       "mlp_gelu",
                                       "mlp_linear_2",
                                       NULL};
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    for (uint32_t i = 0; i < p->pieces.count; i++) {
        const char *const *u = used;
        while (*u && strcmp(*u, p->pieces.text[i]))
            u++;
        if (!*u)
            sc__printf(&b, "%s %s", b.size ? "," : "", p->pieces.text[i]);
    }
    sc__note(
        ctx,
        "kernel-times",
        "the times of %u parts of a layer are taken from %s instead of the kernel model",
        p->pieces.count,
        file);
    if (b.size)
        sc__note(ctx, "kernel-times-unused", "not used of %s:%s", file, b.text);
}

static bool looks_like_aiob(struct sc__input *in) {
    if (sc__input_fill(in, 4096) != SC_OK)
        return false;
    return sc__find_word(in->bytes + in->begin, in->end - in->begin, "time_gpu_") != NULL;
}

static sc_status kernel_times_read_table(struct sc_context *ctx,
                                         struct sc__kernel_model *p,
                                         struct sc__input *in) {
    struct sc__kernel_table table = {0};
    uint32_t measured = 0;
    SC__TRY(sc__kernel_table_parse(ctx, in, &table));
    SC__TRY(sc__kernel_table_plausible(ctx, in->name, &table, p->gpu));
    for (uint32_t i = 0; i < table.count; i++) {
        if (!(table.rows[i].us > 0))
            continue;
        remember(p, &table.rows[i]);
        measured++;
    }
    sc__note(ctx,
             "kernel-times",
             "%u kernel times of %s stand in place of the kernel model's for kernels of "
             "exactly their sizes",
             p->measured.count,
             in->name);
    if (measured > p->measured.count)
        sc__note(ctx,
                 "kernel-times-repeated",
                 "%u rows of %s have the sizes of a later one, which counts",
                 measured - (uint32_t)p->measured.count,
                 in->name);
    return SC_OK;
}

sc_status sc__kernel_model_read_times(struct sc_context *ctx,
                                      struct sc__kernel_model *p,
                                      const char *path) {
    struct sc__input in;
    SC__TRY(sc__input_open(ctx, path, &in));
    bool aiob = looks_like_aiob(&in);
    sc_status status = aiob ? read_aiob(p, &in) : kernel_times_read_table(ctx, p, &in);
    sc__input_close(&in);
    if (status == SC_OK && aiob)
        note_pieces(ctx, p, path);
    return status;
}
