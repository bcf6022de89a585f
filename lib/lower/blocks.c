/* blocks: the structure of a layer workload. The rows of all micro-batches
 * stand one after another in the file; each begins with embedding_layer. What
 * stands before the first and after the last belongs to the step. */
#include "lower/layers.h"

#include <string.h>

/* Belongs to the step, not to a micro-batch: grad_*, optimizer*, … */
static bool row_is_of_step(const char *name) {
    static const char *const prefixes[] = {"grad_",
                                           "optimizer",
                                           "cross_entropy",
                                           "embedding_grads",
                                           "moe_grad_norm"};
    for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static bool starts_micro_batch(const struct sc__row *row) {
    return !strcmp(row->name, "embedding_layer");
}

/* Whether the rows are `times` times the same names, one block after another, that begin
 * with a name which stands nowhere else. */
static bool repeats(const struct sc__row *rows, uint32_t count, uint32_t times) {
    if (times < 2 || count % times)
        return false;
    uint32_t length = count / times;
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, rows[i % length].name) != 0 ||
            (i % length && !strcmp(rows[i].name, rows[0].name)))
            return false;
    return true;
}

/* No embedding_layer: the rows are the step, but for step rows at both ends; where the
 * header says how many micro-batches there are, and they are as many blocks, those. */
static struct sc__row_blocks whole_file(const struct sc__layers *l) {
    uint32_t from = 0;
    uint32_t to = l->count;
    while (from < to && row_is_of_step(l->rows[from].name))
        from++;
    while (to > from && row_is_of_step(l->rows[to - 1].name))
        to--;
    uint32_t length = to - from;
    uint32_t blocks = repeats(l->rows + from, length, l->ga) ? l->ga : length > 0;
    return (struct sc__row_blocks){.head = from,
                                   .length = blocks ? length / blocks : 0,
                                   .count = blocks};
}

struct sc__row_blocks sc__find_micro_batches(const struct sc__layers *l) {
    struct sc__row_blocks b = {0};
    uint32_t second = 0;
    for (uint32_t i = 0; i < l->count; i++) {
        if (!starts_micro_batch(&l->rows[i]))
            continue;
        if (!b.count)
            b.head = i;
        else if (!second)
            second = i;
        b.count++;
    }
    if (!b.count)
        return whole_file(l);
    if (second) {
        b.length = second - b.head;
        return b;
    }
    uint32_t end = b.head + 1;
    while (end < l->count && !row_is_of_step(l->rows[end].name))
        end++;
    b.length = end - b.head;
    return b;
}
