/* whatif_text: the what-if table on a terminal. */
#include "report/write.h"

static void whatif_put_whatif_row(struct sc__buffer *out,
                                  const struct sc__whatif_row *row,
                                  int64_t step) {
    struct sc__buffer half;
    struct sc__buffer zero;
    double whole = step ? (double)step : 1;
    sc__buffer_init(&half, out->arena);
    sc__buffer_init(&zero, out->arena);
    sc__put_time(&half, row->at_half);
    sc__put_time(&zero, row->at_zero);
    sc__printf(out,
               "  %-24s %11s %6.1f %%  %11s %6.1f %%\n",
               row->title,
               half.text,
               100 * (1 - (double)row->at_half / whole),
               zero.text,
               100 * (1 - (double)row->at_zero / whole));
}

/* Throughput against the step as it is. */
static void whatif_put_changes(const struct sc__result *r, struct sc__buffer *out) {
    sc__puts(out, "\nwhat if there were              step   tokens/s\n");
    for (uint32_t i = 0; i < r->changes.count; i++) {
        const struct sc__change_row *row = &r->changes.rows[i];
        struct sc__buffer step;
        double gain = row->work * (double)r->step / (double)(row->step ? row->step : 1) - 1;
        sc__buffer_init(&step, out->arena);
        sc__put_time(&step, row->step);
        sc__printf(out,
                   "  %-26s %9s  %+6.1f %%%s\n",
                   row->title,
                   step.text,
                   100 * gain,
                   row->fits ? "" : "  (does not fit into memory)");
    }
}

void sc__write_whatif(const struct sc__result *r, struct sc__buffer *out) {
    sc__puts(out,
             "\nwhat if it took          half the time    saved      no time    saved\n");
    for (uint32_t i = 0; i < r->whatif->count; i++)
        whatif_put_whatif_row(out, &r->whatif->rows[i], r->whatif->step);
    if (r->changes.count)
        whatif_put_changes(r, out);
}
