/* kernels_table: a table of kernels against the model, row by row and by
 * operation. */
#include "command/kernels.h"

#include "command/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
    double x = fabs(*(const double *)a);
    double y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Reorders the errors. */
static struct sc__error_summary summarize_errors(double *e, uint32_t count) {
    struct sc__error_summary s = {.count = count};
    if (!count)
        return s;
    qsort(e, count, sizeof *e, by_size);
    for (uint32_t i = 0; i < count; i++)
        s.mean += fabs(e[i]) / count, s.bias += e[i] / count;
    s.median = fabs(e[count / 2]);
    s.p90 = fabs(e[(uint32_t)(0.9 * count)]);
    s.worst = fabs(e[count - 1]);
    return s;
}

struct timed_rows {
    const struct sc__kernel_table *table;
    double *us; /* by row */
};

static double kernels_table_error_of(const struct timed_rows *p, uint32_t i) {
    return 100 * (p->us[i] / p->table->rows[i].us - 1);
}

static struct sc__error_summary
summary_of(struct sc_context *ctx, const struct timed_rows *p, const char *op) {
    double *e = SC__NEW_ARRAY(&ctx->arena, double, p->table->count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->table->count; i++) {
        const struct sc__kernel_row *r = &p->table->rows[i];
        if (r->us > 0 && (!op || !strcmp(op, r->op)))
            e[n++] = kernels_table_error_of(p, i);
    }
    return summarize_errors(e, n);
}

static void
put_summary_json(struct sc__json *j, const char *op, const struct sc__error_summary *s) {
    sc__json_row(j, NULL);
    sc__json_string(j, "op", op);
    sc__json_u64(j, "count", s->count);
    sc__json_double(j, "mean_pct", s->mean);
    sc__json_double(j, "median_pct", s->median);
    sc__json_double(j, "p90_pct", s->p90);
    sc__json_double(j, "worst_pct", s->worst);
    sc__json_double(j, "bias_pct", s->bias);
    sc__json_end_object(j);
}

static void put_row_json(struct sc_context *ctx,
                         struct sc__json *j,
                         const struct timed_rows *p,
                         uint32_t i) {
    const struct sc__kernel_row *r = &p->table->rows[i];
    sc__json_row(j, NULL);
    sc__json_u64(j, "line", r->line);
    sc__json_string(j, "op", r->op);
    sc__json_string(j, "shape", sc__kernel_key_text(ctx, &r->key));
    sc__json_double(j, "us", p->us[i]);
    if (r->us > 0)
        sc__json_double(j, "measured_us", r->us),
            sc__json_double(j, "error_pct", kernels_table_error_of(p, i));
    sc__json_end_object(j);
}

static sc_status
write_json(struct sc_request *req, const struct sc__gpu *gpu, const struct timed_rows *p) {
    struct sc__buffer b;
    struct sc__json j;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__json_init(&j, &b);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/kernel-table/1");
    sc__json_string(&j, "gpu", gpu->name);
    sc__json_array(&j, "rows");
    for (uint32_t i = 0; i < p->table->count; i++)
        put_row_json(req->ctx, &j, p, i);
    sc__json_end_array(&j);
    sc__json_array(&j, "summary");
    for (const char *const *op = sc__kernel_table_ops(); *op; op++) {
        struct sc__error_summary s = summary_of(req->ctx, p, *op);
        if (s.count)
            put_summary_json(&j, *op, &s);
    }
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(&b, '\n');
    return sc__job_output(req, "json", &b);
}

static void write_rows(struct sc_request *req, const struct timed_rows *p) {
    for (uint32_t i = 0; i < p->table->count; i++) {
        const struct sc__kernel_row *r = &p->table->rows[i];
        sc__printf(&req->out,
                   "%-22s %-30s %10.2f us",
                   r->op,
                   sc__kernel_key_text(req->ctx, &r->key),
                   p->us[i]);
        if (r->us > 0)
            sc__printf(&req->out,
                       "   measured %10.2f us %+6.1f %%",
                       r->us,
                       kernels_table_error_of(p, i));
        sc__putc(&req->out, '\n');
    }
}

static void write_summary(struct sc_request *req, const struct timed_rows *p) {
    if (!summary_of(req->ctx, p, NULL).count)
        return;
    sc__printf(&req->out,
               "\n%-22s %6s %8s %8s %8s %8s %8s\n",
               "error, %",
               "rows",
               "mean",
               "median",
               "90 %",
               "worst",
               "bias");
    for (const char *const *op = sc__kernel_table_ops(); *op; op++) {
        struct sc__error_summary s = summary_of(req->ctx, p, *op);
        if (s.count)
            sc__printf(&req->out,
                       "%-22s %6u %8.2f %8.2f %8.2f %8.1f %+8.2f\n",
                       *op,
                       s.count,
                       s.mean,
                       s.median,
                       s.p90,
                       s.worst,
                       s.bias);
    }
}

sc_status
sc__kernels_table(struct sc_request *req, const struct sc__gpu *gpu, const char *path) {
    struct sc__kernel_table table = {0};
    const char *json = sc__option(req, "json");
    SC__TRY(sc__kernel_table_read(req->ctx, path, &table));
    SC__TRY(sc__kernel_table_priced(req->ctx, path, &table, gpu));
    struct timed_rows p = {&table,
                           SC__NEW_ARRAY(&req->ctx->arena, double, table.count + 1)};
    for (uint32_t i = 0; i < table.count; i++)
        p.us[i] = sc__kernel_row_us(gpu, &table.rows[i]);
    if (json)
        SC__TRY(write_json(req, gpu, &p));
    if (json && !strcmp(json, "-"))
        return SC_OK;
    write_rows(req, &p);
    write_summary(req, &p);
    return SC_OK;
}
