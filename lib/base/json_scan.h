/* json_scan: JSON read in place, for traces of hundreds of megabytes. The
 * caller walks the text and looks only at what it needs; strings and numbers
 * are slices of it, and what is passed over is still checked for grammar.
 *
 * The text must end in a NUL at `end`. When a function fails, `cut` says that
 * the text ended too early: read more and begin the value again. */
#ifndef SC_IMPORT_JSON_SCAN_H
#define SC_IMPORT_JSON_SCAN_H

#include "base/base.h"

struct sc__scan {
    const char *p;
    const char *end;
    const char *wrong; /* set by the first failure */
    bool cut;
};

bool sc__scan_fail(struct sc__scan *s, const char *what);

static inline void sc__scan_blanks(struct sc__scan *s) {
    while (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r')
        s->p++;
}

/* The next character must be c (after blanks). */
bool sc__scan_open(struct sc__scan *s, char c);
/* Steps to the next member and gives its key; false at the end of the object
 * and on failure. *first begins as true. */
bool sc__scan_member(struct sc__scan *s, bool *first, struct sc__str *key);
/* The same for arrays. */
bool sc__scan_element(struct sc__scan *s, bool *first);
/* The raw text between the quotes. */
bool sc__scan_string(struct sc__scan *s, struct sc__str *out);
/* A number, or a string that holds one. */
bool sc__scan_number(struct sc__scan *s, struct sc__str *out);
/* Any value; *out is its text. */
bool sc__scan_value(struct sc__scan *s, struct sc__str *out);

#endif
