#include "workload/layers.h"

#include <string.h>

static const char *const coll_names[] = {"NONE",
                                         "ALLREDUCE",
                                         "ALLGATHER",
                                         "REDUCESCATTER",
                                         "ALLTOALL",
                                         "ALLREDUCEALLTOALL",
                                         "BROADCAST",
                                         "ALLREDUCE_ASYNC",
                                         "SENDRECV",
                                         NULL};
static const char *const suffix_names[] = {"", "_EP", "_DP_EP"};

const char *sc__row_coll_name(enum sc__row_coll coll) {
    return coll_names[coll];
}
const char *sc__suffix_name(enum sc__suffix suffix) {
    return suffix_names[suffix];
}
const char *const *sc__row_coll_names(void) {
    return coll_names;
}

static bool takes_suffix(unsigned coll) {
    return coll != SC__ROW_NONE && coll != SC__ROW_ALLREDUCE_ASYNC &&
           coll != SC__ROW_SENDRECV;
}

bool sc__row_coll_parse(struct sc__str word, uint8_t *coll, uint8_t *suffix) {
    if (sc__str_is(word, "None") || sc__str_is(word, "none"))
        word = SC__STR("NONE");
    for (unsigned c = 0; coll_names[c]; c++) {
        if (!sc__str_starts(word, coll_names[c]))
            continue;
        struct sc__str rest = {word.p + strlen(coll_names[c]),
                               word.n - strlen(coll_names[c])};
        for (unsigned s = 0; s < 3; s++)
            if (sc__str_is(rest, suffix_names[s]) &&
                (s == SC__SUFFIX_NONE || takes_suffix(c))) {
                *coll = (uint8_t)c;
                *suffix = (uint8_t)s;
                return true;
            }
    }
    return false;
}

/* ---- which rows are a layer ----
 *
 *     getitem  transformer_wte …   prologue
 *     transformer_h_0_ln_1_grad    ┐
 *     addmm  matmul  softmax …     │ layer 0: from the first row whose name has
 *     add_15                       ┘ its index to the next module outside
 *     transformer_ln_f  lm_head    epilogue
 */

static size_t word_length(const char *s) {
    return strcspn(s, "_./");
}

static bool is_word(const char *s, size_t n, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == n && !strncmp(*words, s, n))
            return true;
    return false;
}

/* "…_h_12_…": a word for a stack of layers, then a number. */
static bool layer_index(const char *name, uint32_t *index) {
    static const char *const stacks[] =
        {"h", "layer", "layers", "block", "blocks", "resblocks", NULL};
    for (const char *s = name; *s;) {
        size_t n = word_length(s);
        const char *next = s + n + (s[n] != '\0');
        size_t digits = strspn(next, "0123456789");
        if (is_word(s, n, stacks) && digits &&
            (!next[digits] || strchr("_./", next[digits])))
            return sc__parse_u32((struct sc__str){next, digits}, index);
        s = next;
    }
    return false;
}

/* Names of functions (add_15, getitem) say nothing of where they stand; names
 * of modules do. */
static bool is_outer_module(const char *name, const char *inside) {
    static const char *const heads[] =
        {"lm", "head", "classifier", "score", "cls", "pooler", "ln", "norm", "final", NULL};
    size_t n = word_length(name);
    if (is_word(name, n, heads))
        return true;
    return name[n] && n == word_length(inside) && !strncmp(name, inside, n);
}

uint32_t sc__find_layers(struct sc__arena *a,
                         const struct sc__layers *rows,
                         struct sc__layer_span **spans) {
    uint32_t count = 0;
    uint32_t capacity = 0;
    uint32_t current = SC__NONE;
    uint32_t index;
    const char *inside = NULL;
    *spans = NULL;
    for (uint32_t i = 0; i < rows->count; i++) {
        const char *name = rows->rows[i].name;
        if (layer_index(name, &index)) {
            if (index != current)
                (*SC__PUSH(a, *spans, count, capacity)).first = i;
            current = index;
            inside = name;
        } else if (current != SC__NONE && is_outer_module(name, inside))
            current = SC__NONE;
        if (current != SC__NONE)
            (*spans)[count - 1].count = i + 1 - (*spans)[count - 1].first;
    }
    return count;
}
