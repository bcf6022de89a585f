/* simai_csv: EndToEnd.csv, which scripts around SimAI read. Its numbers are
 * SimAI's arithmetic, not the simulation's. */
#include "report/write.h"

static void put_share(struct sc__buffer *out, double us, double total) {
    sc__printf(out, "%.0f (%.2f%%),", us, total > 0 ? 100 * us / total : 0);
}

static void
put_summary(struct sc__buffer *out, const struct sc__compat *c, const char *name) {
    double exposed = c->dp + c->dp_ep + c->tp + c->ep;
    double total = c->no_bubble ? 0 : c->total;
    sc__puts(out,
             "File name,Expose DP comm,Expose DP_EP comm,Expose TP "
             "comm,Expose_EP_comm,Expose_PP_comm,bubble time,total comp,total exposed "
             "comm,Total time\n");
    sc__printf(out, "%s,", name);
    put_share(out, c->dp, total);
    put_share(out, c->dp_ep, total);
    put_share(out, c->tp, total);
    put_share(out, c->ep, total);
    put_share(out, 0, total);
    if (c->no_bubble)
        sc__puts(out, "NaN or Inf,");
    else
        put_share(out, c->bubble, total);
    put_share(out, c->compute, total);
    put_share(out, exposed, total);
    if (c->no_bubble)
        sc__puts(out, "NaN or Inf\n");
    else
        sc__printf(out, "%.0f\n", c->total);
}

static void simai_csv_put_part(struct sc__buffer *out,
                               const struct sc__row *row,
                               const struct sc__simai_row *t,
                               unsigned k) {
    double ns = (double)t->ns[k];
    double algbw = ns > 0 ? (double)row->part[k].bytes / 0x1p30 / (ns * 1e-9) : 0;
    double n = t->ranks[k];
    double factor = row->part[k].coll == SC__ROW_ALLREDUCE ? 2 : 1;
    sc__printf(out,
               ",%.3f,%.3f,%.3f",
               ns / 1e3,
               algbw,
               n > 1 ? algbw * factor * (n - 1) / n : 0);
}

void sc__write_simai_csv(const struct sc__simai *s,
                         const struct sc__layers *l,
                         const struct sc__compat *c,
                         const char *name,
                         struct sc__buffer *out) {
    static const unsigned order[] = {SC__PART_FORWARD, SC__PART_WEIGHT, SC__PART_INPUT};
    put_summary(out, c, name);
    sc__puts(out,
             "layer_name,run name,fwd compute,wg compute,ig compute,fwd exposed comm,wg "
             "exposed comm,ig exposed comm,fwd total comm,algbw,busbw,wg total "
             "comm,algbw,busbw,ig total comm,algbw,busbw\n");
    for (uint32_t i = 0; i < l->count; i++) {
        const struct sc__row *row = &l->rows[i];
        struct sc__simai_row t = sc__simai_row(s, row);
        sc__printf(out, "%s,%s", row->name, name);
        for (unsigned k = 0; k < 3; k++)
            sc__printf(out,
                       ",%.3f",
                       (double)row->part[order[k]].compute / (double)SC__PS_PER_US);
        for (unsigned k = 0; k < 3; k++)
            sc__printf(out, ",%.3f", (double)t.ns[order[k]] / 1e3);
        for (unsigned k = 0; k < 3; k++)
            simai_csv_put_part(out, row, &t, order[k]);
        sc__putc(out, '\n');
    }
}
