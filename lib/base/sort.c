#include "base/sort.h"

#include "base/platform.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sorting {
    char *room; /* of half the items */
    size_t size;
    int (*compare)(const void *a, const void *b, void *self);
    void *self;
};

/* A copy of fixed size is an instruction, one of any size a call. */
static void copy_item(char *to, const char *from, size_t size) {
    if (size == 4)
        memcpy(to, from, 4);
    else if (size == 8)
        memcpy(to, from, 8);
    else
        memcpy(to, from, size);
}

/* Two sorted runs, one behind the other, become one. The left run is set aside;
 * what is written never overtakes what is still to be read of the right one. */
static void merge_halves(const struct sorting *s, char *items, size_t left, size_t count) {
    size_t size = s->size;
    memcpy(s->room, items, left * size);
    const char *a = s->room;
    const char *a_end = a + left * size;
    const char *b = items + left * size;
    const char *b_end = items + count * size;
    char *to = items;
    while (a < a_end && b < b_end) {
        const char **least = s->compare(b, a, s->self) < 0 ? &b : &a;
        copy_item(to, *least, size);
        *least += size;
        to += size;
    }
    memcpy(to, a, (size_t)(a_end - a));
}

static void sort_items(const struct sorting *s, char *items, size_t count) {
    size_t left = count / 2;
    char *right = items + left * s->size;
    if (count < 2)
        return;
    sort_items(s, items, left);
    sort_items(s, right, count - left);
    if (s->compare(right - s->size, right, s->self) > 0)
        merge_halves(s, items, left, count);
}

void sc__sort(void *items,
              size_t count,
              size_t size,
              int (*compare)(const void *a, const void *b, void *self),
              void *self) {
    if (count < 2)
        return;
    struct sorting s = {.size = size, .compare = compare, .self = self};
    s.room = malloc(count / 2 * size);
    if (!s.room)
        sc__memory_exhausted();
    sort_items(&s, items, count);
    free(s.room);
}

static int compare_doubles(const void *a, const void *b, void *self) {
    (void)self;
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

void sc__sort_doubles(double *values, size_t count) {
    sc__sort(values, count, sizeof *values, compare_doubles, NULL);
}

int sc__compare_u32(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}
