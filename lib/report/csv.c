/* csv: one line per row of the input. */
#include "report/write.h"

#include <string.h>

static void csv_put_cell(struct sc__buffer *out, const char *s) {
    if (!strpbrk(s, ",\"\n")) {
        sc__puts(out, s);
        return;
    }
    sc__putc(out, '"');
    for (; *s; s++)
        sc__printf(out, *s == '"' ? "\"\"" : "%c", *s);
    sc__putc(out, '"');
}

void sc__write_csv(const struct sc__result *r, struct sc__buffer *out) {
    struct sc__row_sums *rows;
    uint32_t n = sc__rows_sum(out->arena, r, r->slowest, &rows);
    sc__puts(out, "row,name,calls,bytes");
    for (unsigned p = 0; p < SC__PHASES; p++) {
        const char *name = sc__phase_name(p);
        sc__printf(out, ",%s_compute_us,%s_comm_us,%s_exposed_us", name, name, name);
    }
    sc__putc(out, '\n');
    for (uint32_t i = 0; i < n; i++) {
        if (rows[i].row != SC__NONE)
            sc__printf(out, "%u", rows[i].row);
        sc__putc(out, ',');
        csv_put_cell(out, rows[i].name);
        sc__printf(out,
                   ",%llu,%llu",
                   (unsigned long long)rows[i].calls,
                   (unsigned long long)rows[i].bytes);
        for (unsigned p = 0; p < SC__PHASES; p++) {
            const int64_t cells[3] = {rows[i].compute[p],
                                      rows[i].comm[p],
                                      rows[i].exposed[p]};
            for (unsigned k = 0; k < 3; k++) {
                sc__putc(out, ',');
                sc__put_us(out, cells[k]);
            }
        }
        sc__putc(out, '\n');
    }
}
