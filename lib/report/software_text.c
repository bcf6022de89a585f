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

void sc__write_software(const struct sc__result *r, struct sc__buffer *out) {
    const struct sc__software_costs *s = r->software;
    sc__printf(out,
               "\nsoftware %s: %s\n  %-42s %10s  why\n",
               s->name,
               s->title,
               "set, and not by an option",
               "step");
    for (uint32_t i = 0; i < s->count; i++)
        software_put_row(out, &s->rows[i], r->step);
    if (!s->count)
        sc__puts(out, "  nothing that was not said by options or is usual\n");
}
