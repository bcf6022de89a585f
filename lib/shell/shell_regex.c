/* shell_regex: [[ text =~ pattern ]], by the C library's extended regular expressions, and
 * BASH_REMATCH. What its own extensions decide, or could take long, is left open. */
#include "shell/shell_parts.h"

#include <regex.h>
#include <string.h>

#define REGEX_LONGEST 256 /* pattern */
#define REGEX_TEXT 4096
#define REGEX_GROUPS 10

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

static void set_groups(struct shell *sh, const char *text, const regmatch_t *groups) {
    struct sc__arena *arena = &sh->ctx->arena;
    struct sc__shell_variable *v = shell_make(sh, sc__str("BASH_REMATCH"));
    uint32_t count = 0;
    v->items = SC__NEW_ARRAY(arena, const char *, REGEX_GROUPS);
    for (uint32_t i = 0; i < REGEX_GROUPS; i++) {
        bool matched = groups[i].rm_so >= 0;
        v->items[i] = matched ? sc__strndup(arena,
                                            text + groups[i].rm_so,
                                            (size_t)(groups[i].rm_eo - groups[i].rm_so))
                              : "";
        if (matched)
            count = i + 1;
    }
    v->count = count;
    v->keys = NULL;
    v->array = true;
}

bool shell_regex(struct shell *sh, const char *pattern, const char *text, bool *matches) {
    char plain[2 * REGEX_LONGEST + 1];
    regmatch_t groups[REGEX_GROUPS];
    regex_t compiled;
    if (strlen(pattern) > REGEX_LONGEST || strlen(text) > REGEX_TEXT ||
        !plain_pattern(pattern, plain) || regcomp(&compiled, plain, REG_EXTENDED))
        return false;
    *matches = regexec(&compiled, text, REGEX_GROUPS, groups, 0) == 0;
    regfree(&compiled);
    if (*matches)
        set_groups(sh, text, groups);
    return true;
}
