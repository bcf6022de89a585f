/* operator table: rows as the tab-separated table of eleven columns. Times are
 * milliseconds to the picosecond, sizes are elements. */
#include "frontend/convert.h"

#include <string.h>

struct operator_table_write_writing {
    struct sc__losses losses;
    const struct sc__layers *l;
    struct sc__buffer *out;
    uint32_t element;
};

static void put_ms(struct sc__buffer *out, int64_t ps) {
    char digits[16];
    long long whole = ps / SC__PS_PER_MS;
    long long part = ps % SC__PS_PER_MS;
    int n = 9;
    sc__printf(out, "\t%lld", whole);
    if (!part)
        return;
    for (int i = 8; i >= 0; i--, part /= 10)
        digits[i] = (char)('0' + part % 10);
    while (digits[n - 1] == '0')
        n--;
    sc__putc(out, '.');
    sc__put(out, digits, (size_t)n);
}

static void operator_table_write_put_name(struct operator_table_write_writing *w,
                                          uint32_t row) {
    const char *name = w->l->rows[row].name;
    struct sc__str trimmed = sc__trim(sc__str(name));
    if (!*name || strpbrk(name, "\t\r\n") || trimmed.n != strlen(name))
        sc__lose(&w->losses, "the name '%.40s' of row %u, with its blanks", name, row);
    if (!trimmed.n)
        sc__putc(w->out, '_');
    for (size_t i = 0; i < trimmed.n; i++)
        sc__putc(w->out, strchr("\t\r\n", trimmed.p[i]) ? '_' : trimmed.p[i]);
}

static void put_part(struct operator_table_write_writing *w,
                     uint32_t row,
                     const struct sc__row_part *p,
                     unsigned index) {
    struct sc__row_part part = *p;
    const char *name = w->l->rows[row].name;
    put_ms(w->out, part.compute);
    bool misplaced = (part.coll == SC__ROW_ALLREDUCE_ASYNC && index == SC__PART_FORWARD) ||
                     (part.coll == SC__ROW_SENDRECV && index == SC__PART_WEIGHT);
    if (part.coll == SC__ROW_ALLREDUCEALLTOALL || misplaced) {
        sc__lose(&w->losses,
                 "%s in row %u (%.40s)",
                 sc__row_coll_name((enum sc__row_coll)part.coll),
                 row,
                 name);
        part = (struct sc__row_part){0};
    }
    if (part.coll == SC__ROW_NONE && part.bytes) {
        sc__lose(&w->losses, "the size of no collective in row %u (%.40s)", row, name);
        part.bytes = 0;
    }
    if (part.bytes % w->element)
        sc__lose(&w->losses,
                 "%llu bytes in row %u (%.40s), which are no whole elements of %u bytes",
                 (unsigned long long)part.bytes,
                 row,
                 name,
                 w->element);
    sc__printf(
        w->out,
        "\t%s%s\t%llu",
        part.coll ? sc__row_coll_name((enum sc__row_coll)part.coll) : "None",
        sc__suffix_name((enum sc__suffix)part.suffix),
        (unsigned long long)(part.bytes / w->element + (part.bytes % w->element != 0)));
}

static void operator_table_write_put_row(struct operator_table_write_writing *w,
                                         uint32_t i) {
    const struct sc__row *r = &w->l->rows[i];
    operator_table_write_put_name(w, i);
    for (unsigned p = 0; p < SC__PARTS; p++)
        put_part(w, i, &r->part[p], p);
    put_ms(w->out, r->process);
    sc__putc(w->out, '\n');
    if (r->work)
        sc__lose(&w->losses, "the kind of work of row %u (%.40s)", i, r->name);
    if (r->recompute_from != SC__NONE)
        sc__lose(&w->losses, "the recomputation at row %u (%.40s)", i, r->name);
}

static void
lose_size(struct operator_table_write_writing *w, const char *name, uint32_t value) {
    if (value)
        sc__lose(&w->losses, "%s %u", name, value);
}

static void check_header(struct operator_table_write_writing *w) {
    const struct sc__layers *l = w->l;
    if (l->inference)
        sc__lose(&w->losses, "that there is no backward");
    if (l->policy)
        sc__lose(&w->losses, "the policy %s with its rows of the step", l->policy);
    lose_size(w, "tp", l->tp);
    lose_size(w, "ep", l->ep);
    lose_size(w, "pp", l->pp);
    lose_size(w, "vpp", l->vpp);
    lose_size(w, "ga", l->ga);
    lose_size(w, "all_gpus", l->gpus);
    if (l->has_pp_comm)
        sc__lose(&w->losses, "pp_comm %.17g", l->pp_comm);
}

sc_status sc__write_operator_table(struct sc_context *ctx,
                                   const struct sc__layers *l,
                                   uint32_t element,
                                   bool lossy,
                                   struct sc__buffer *out) {
    struct operator_table_write_writing w = {.l = l, .out = out, .element = element};
    sc__losses_init(&w.losses, ctx, "operator-table", lossy);
    check_header(&w);
    sc__puts(out,
             "name\tforward_compute_time\tforward_comm_type\tforward_comm_size\tbackward_"
             "compute_time\tbackward_comm_type\tbackward_comm_size\tweight_grad_compute_"
             "time\tweight_grad_comm_type\tweight_grad_comm_size\tprocess_time\n");
    for (uint32_t i = 0; i < l->count; i++)
        operator_table_write_put_row(&w, i);
    return sc__losses_end(&w.losses);
}
