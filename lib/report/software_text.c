/* software_text: what the software's profile set, on a terminal. */
#include "report/write.h"

static void software_put_row(struct sc__buffer *out,
                             const struct sc__software_cost *row,
                             int64_t step) {
    struct sc__buffer cost;
    const char *set = sc__format(out->arena,
                                 row->is_constant ? "%s %s" : "--%s%s%s",
                                 row->name,
                                 row->is_constant ? row->value
                                 : *row->value    ? " "
                                                  : "",
                                 row->value);
    double share = step ? 100 * (double)(step - row->without) / (double)step : 0;
    sc__buffer_init(&cost, out->arena);
    if (row->without < 0)
        sc__puts(&cost, "cannot run without");
    else
        sc__printf(&cost, "%+.2f %%", share);
    sc__printf(out, "  %-42s %10s  %s\n", set, cost.text, row->why);
}

/* What one costs depends on the others: overlap with what is not sent costs nothing. */
static void
put_together(struct sc__buffer *out, const struct sc__software_costs *s, int64_t step) {
    double sum = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->rows[i].without >= 0)
            sum += 100 * (double)(step - s->rows[i].without) / (double)step;
    if (s->usual_step < 0 || !s->count || !step || !strcmp(s->usual, s->name))
        return;
    sc__printf(out,
               "  %-42s %+8.2f %%  of the step, against %s; the rows add up to %+.2f %%, "
               "since what one "
               "costs depends on the others\n",
               "all of it",
               100 * (double)(step - s->usual_step) / (double)step,
               s->usual,
               sum);
}

void sc__write_software(const struct sc__result *r, struct sc__buffer *out) {
    const struct sc__software_costs *s = r->software;
    sc__printf(out,
               "\nsoftware %s: %s\n  %-41s %11s  why\n",
               s->name,
               s->title,
               "set, and not by an option",
               "of the step");
    for (uint32_t i = 0; i < s->count; i++)
        software_put_row(out, &s->rows[i], r->step);
    put_together(out, s, r->step);
    if (!s->count)
        sc__puts(out, "  nothing that was not said by options or is usual\n");
}
