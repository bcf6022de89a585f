#include "workload/shares.h"

#include <stdlib.h>
#include <string.h>

void sc__shares_init(struct sc__shares *s, struct sc__arena *arena, int64_t total) {
    memset(s, 0, sizeof *s);
    s->arena = arena;
    s->total = total;
    sc__names_init(&s->names, arena);
    sc__map_init(&s->seen, arena);
}

static uint64_t share_key(uint32_t name, const char *class) {
    return sc__hash(class, class ? strlen(class) : 0, name);
}

void sc__shares_add(struct sc__shares *s,
                    const char *name,
                    const char *class,
                    int64_t time) {
    uint32_t id = sc__names_add(&s->names, name, strlen(name));
    bool fresh;
    uint64_t *place = sc__map_at(&s->seen, share_key(id, class), &fresh);
    if (fresh) {
        *place = s->count;
        *SC__PUSH(s->arena, s->items, s->count, s->capacity) =
            (struct sc__share){s->names.text[id], class, 0};
    }
    s->items[*place].time += time;
}

static int shares_longest_first(const void *a, const void *b) {
    const struct sc__share *x = a;
    const struct sc__share *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    int names = strcmp(x->name, y->name);
    return names || !x->class || !y->class ? names : strcmp(x->class, y->class);
}

void sc__shares_sort(struct sc__shares *s) {
    if (s->count)
        qsort(s->items, s->count, sizeof *s->items, shares_longest_first);
}

static double shares_share_of(const struct sc__shares *s, int64_t time) {
    return s->total > 0 ? (double)time / (double)s->total : 0;
}

static struct sc__shares by_class(const struct sc__shares *s, struct sc__arena *a) {
    struct sc__shares classes;
    sc__shares_init(&classes, a, s->total);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->items[i].class)
            sc__shares_add(&classes, s->items[i].class, NULL, s->items[i].time);
    sc__shares_sort(&classes);
    return classes;
}

static void
put_line(const struct sc__shares *s, const struct sc__share *item, struct sc__buffer *out) {
    struct sc__buffer time;
    double share = shares_share_of(s, item->time);
    sc__buffer_init(&time, out->arena);
    sc__put_time(&time, item->time);
    const char *name = strncmp(item->name, "void ", 5) ? item->name : item->name + 5;
    sc__printf(out,
               "  %-50.50s %12s %6.1f %% %9.1f %% %9.1f %%\n",
               name,
               time.text,
               100 * share,
               -50 * share,
               -100 * share);
}

static void put_table(const struct sc__shares *s,
                      const char *title,
                      uint32_t most,
                      struct sc__buffer *out) {
    if (!s->count)
        return;
    sc__printf(out,
               "\n  %-50s %12s %8s %11s %11s\n",
               title,
               "time",
               "share",
               "2x faster",
               "at no cost");
    for (uint32_t i = 0; i < s->count && i < most; i++)
        if (s->items[i].time)
            put_line(s, &s->items[i], out);
}

void sc__shares_text(const struct sc__shares *s, uint32_t most, struct sc__buffer *out) {
    struct sc__shares classes = by_class(s, out->arena);
    put_table(&classes, "where the time goes", UINT32_MAX, out);
    put_table(s, "longest parts", most, out);
}

static void put_json(const struct sc__shares *s,
                     const char *key,
                     uint32_t most,
                     struct sc__json *json) {
    sc__json_array(json, key);
    for (uint32_t i = 0; i < s->count && i < most; i++) {
        double share = shares_share_of(s, s->items[i].time);
        sc__json_row(json, NULL);
        sc__json_string(json, "name", s->items[i].name);
        if (s->items[i].class)
            sc__json_string(json, "class", s->items[i].class);
        sc__json_us(json, "time_us", s->items[i].time);
        sc__json_double(json, "share", share);
        sc__json_double(json, "step_if_twice_as_fast", 1 - share / 2);
        sc__json_double(json, "step_if_free", 1 - share);
        sc__json_end_object(json);
    }
    sc__json_end_array(json);
}

void sc__shares_json(const struct sc__shares *s, uint32_t most, struct sc__json *json) {
    struct sc__shares classes = by_class(s, json->out->arena);
    put_json(&classes, "by_class", UINT32_MAX, json);
    put_json(s, "by_name", most, json);
}
