/* text: slices, strict numbers, and the nearest word to a misspelt one. */
#ifndef SC_BASE_TEXT_H
#define SC_BASE_TEXT_H

#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

struct sc__str {
    const char *p;
    size_t n;
};

#define SC__STR(literal) ((struct sc__str){(literal), sizeof(literal) - 1})
/* For printf: "%.*s". At most 80 characters, so that an error stays a line. */
#define SC__SHOW(s) ((int)((s).n < 80 ? (s).n : 80)), (s).p

struct sc__str sc__str(const char *s);
/* Most words differ in their first letter. */
static inline bool sc__str_is(struct sc__str s, const char *word) {
    return (!s.n || *s.p == *word) && s.n == strlen(word) && !memcmp(s.p, word, s.n);
}
bool sc__str_starts(struct sc__str s, const char *prefix);
bool sc__str_ends(struct sc__str s, const char *suffix);
/* The same with letters of either case, those of ASCII. */
bool sc__str_is_any_case(struct sc__str s, const char *word);
bool sc__str_starts_any_case(struct sc__str s, const char *prefix);
/* Where a part first is; NULL: nowhere. */
const char *sc__str_find_any_case(struct sc__str s, const char *part);
/* Where a word first is in n bytes; NULL: nowhere. */
const char *sc__find_word(const void *bytes, size_t n, const char *word);
struct sc__str sc__trim(struct sc__str s);
/* Cuts the part before the first sep (or all of it) off *rest. False at the end. */
bool sc__split(struct sc__str *rest, char sep, struct sc__str *part);
/* The next word of a line, cut off at blanks and tabs; false: there is none. */
bool sc__next_word(struct sc__str *rest, struct sc__str *word);

/* The whole slice must be the number; overflow and garbage are false. */
bool sc__parse_u64(struct sc__str s, uint64_t *out);
bool sc__parse_i64(struct sc__str s, int64_t *out);
bool sc__parse_u32(struct sc__str s, uint32_t *out);
/* Finite decimal numbers only: no hex, no inf, no nan. */
bool sc__parse_double(struct sc__str s, double *out);
/* A decimal number times 10^digits as an integer, exact, rounded half up
 * beyond that many decimals: "1.25" with 3 digits is 1250. */
bool sc__parse_decimal(struct sc__str s, unsigned digits, int64_t *out);

/* The order of names, numbers in them by value: node2 before node10. */
int sc__compare_names(struct sc__str a, struct sc__str b);

/* Bytes of the UTF-8 character at s, which has n > 0; 0 where there is none. */
size_t sc__utf8_length(const char *s, size_t n);

/* Insertions, deletions, changes and swaps of neighbours that make b of a; 40 when one
 * of them is longer than that. */
unsigned sc__edit_distance(const char *a, const char *b);
/* Those of a NULL-terminated list that s is the first part of ("offload" of
 * "offload-params"), at most so many; how many there are. */
unsigned
sc__begin_with(const char *s, const char *const *words, const char **out, unsigned most);
/* The word of a NULL-terminated list nearest to s, or NULL when none is near. */
const char *sc__nearest(const char *s, const char *const *words);

#endif
