/* csv: one line per row of the input. */
#include "report/write.h"

#include <string.h>

/* Names come from inputs. A spreadsheet runs a cell that begins like a formula
 * unless an apostrophe stands before it; and a table is text, so what is none
 * becomes the replacement character. */
static void csv_put_name(struct sc__buffer *out, const char *s) {
    bool formula = *s && strchr("=+-@", *s);
    size_t n = strlen(s);
    sc__putc(out, '"');
    if (formula)
        sc__putc(out, '\'');
    for (size_t i = 0; i < n;) {
        size_t length = sc__utf8_length(s + i, n - i);
        if (s[i] == '"')
            sc__puts(out, "\"\"");
        else if (length)
            sc__put(out, s + i, length);
        else
            sc__puts(out, "\xef\xbf\xbd");
        i += length ? length : 1;
    }
    sc__putc(out, '"');
}

static bool csv_is_plain(const char *s) {
    for (const char *p = s; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f || *p == ',' || *p == '"')
            return false;
    return !*s || !strchr("=+-@", *s);
}

void sc__put_csv_cell(struct sc__buffer *out, const char *s) {
    if (csv_is_plain(s))
        sc__puts(out, s);
    else
        csv_put_name(out, s);
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
        sc__put_csv_cell(out, rows[i].name);
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
