/* shell_regex: [[ text =~ pattern ]], by POSIX' extended regular expressions, and
 * BASH_REMATCH. What extensions of the C library decide, or could take long, is left
 * open. */
#include "base/platform.h"
#include "shell/shell_parts.h"

#include <string.h>

#define REGEX_LONGEST 256 /* pattern */
#define REGEX_TEXT 4096

/* Quoted characters have a backslash here: one stays before what would be special. False:
 * \w and the like, references, and counts of counts. */
static bool plain_pattern(const char *pattern, char *out) {
    unsigned counts = 0;
    size_t n = 0;
    for (const char *p = pattern; *p; p++) {
        counts += *p == '{';
        if (*p == '\\' && p[1]) {
            p++;
            if (strchr("wWsSbB<>`'123456789", *p))
                return false;
            if (strchr(".[]{}()\\*+?^$|", *p))
                out[n++] = '\\';
        }
        out[n++] = *p;
    }
    out[n] = 0;
    return counts < 2;
}

static void
set_groups(struct shell *sh, const char *text, const struct sc__regex_group *groups) {
    struct sc__arena *arena = &sh->ctx->arena;
    struct sc__shell_variable *v = shell_make(sh, sc__str("BASH_REMATCH"));
    uint32_t count = 0;
    v->items = SC__NEW_ARRAY(arena, const char *, SC__REGEX_GROUPS);
    for (uint32_t i = 0; i < SC__REGEX_GROUPS; i++) {
        size_t n = groups[i].end - groups[i].begin;
        v->items[i] = sc__strndup(arena, text + groups[i].begin, n);
        if (groups[i].matched)
            count = i + 1;
    }
    v->count = count;
    v->keys = NULL;
    v->array = true;
}

bool shell_regex(struct shell *sh, const char *pattern, const char *text, bool *matches) {
    char plain[2 * REGEX_LONGEST + 1];
    struct sc__regex_group groups[SC__REGEX_GROUPS];
    if (strlen(pattern) > REGEX_LONGEST || strlen(text) > REGEX_TEXT ||
        !plain_pattern(pattern, plain))
        return false;
    enum sc__regex_answer said = sc__regex_match(plain, text, groups);
    *matches = said == SC__REGEX_YES;
    if (*matches)
        set_groups(sh, text, groups);
    return said != SC__REGEX_WRONG;
}
