#include "network/packet/packet_sets.h"

struct set_finder {
    const struct sc__packet_fabric *fabric;
    struct sc__arena *arena; /* of the answer */
    struct sc__arena work;
    const struct sc__packet_shape *const *shapes;
    uint32_t count;
    uint32_t *first;      /* number of the first group of a shape */
    uint32_t *set;        /* by group: another of its set, itself at the end */
    struct sc__map owner; /* by cable: a group */
};

static uint32_t set_of(struct set_finder *s, uint32_t group) {
    while (s->set[group] != group) {
        s->set[group] = s->set[s->set[group]];
        group = s->set[group];
    }
    return group;
}

/* The first group of a set stands for it. */
static void join_sets(struct set_finder *s, uint32_t a, uint32_t b) {
    a = set_of(s, a);
    b = set_of(s, b);
    s->set[a > b ? a : b] = a < b ? a : b;
}

/* A cable is shared whichever way packets go: pauses and ACKs go the other. */
static void join_group(struct set_finder *s,
                       const struct sc__packet_shape *shape,
                       uint32_t index,
                       uint32_t group) {
    const struct sc__packet_form *form = &shape->forms[index];
    for (uint32_t i = 0; i < form->link_count; i++) {
        uint32_t link = form->links[i];
        uint32_t back = s->fabric->reverse[link];
        bool fresh;
        uint64_t *owner = sc__map_at(&s->owner, link < back ? link : back, &fresh);
        if (fresh)
            *owner = group;
        join_sets(s, (uint32_t)*owner, group);
    }
}

static void join_groups(struct set_finder *s) {
    uint32_t groups = s->first[s->count];
    s->set = SC__NEW_ARRAY(&s->work, uint32_t, groups);
    for (uint32_t i = 0; i < groups; i++)
        s->set[i] = i;
    for (uint32_t k = 0; k < s->count; k++)
        for (uint32_t i = 0; i < s->shapes[k]->group_count; i++)
            join_group(s, s->shapes[k], i, s->first[k] + i);
}

/* Links numbered in the order in which groups come to them. */
static uint64_t look_of(struct set_finder *s, const struct sc__packet_set *set) {
    uint64_t look = s->count;
    struct sc__map numbers;
    sc__map_init(&numbers, &s->work);
    for (uint32_t k = 0; k < s->count; k++) {
        look = sc__packet_mix(look, set->parts[k].count);
        for (uint32_t i = 0; i < set->parts[k].count; i++) {
            const struct sc__packet_form *form =
                &s->shapes[k]->forms[set->parts[k].groups[i]];
            look = sc__packet_mix(look, form->hash);
            for (uint32_t n = 0; n < form->link_count; n++) {
                bool fresh;
                uint64_t *number = sc__map_at(&numbers, form->links[n], &fresh);
                if (fresh)
                    *number = numbers.count;
                look = sc__packet_mix(look, *number);
            }
        }
    }
    return look;
}

static struct sc__packet_set *collect_sets(struct set_finder *s) {
    uint32_t groups = s->first[s->count];
    struct sc__packet_set *sets = SC__NEW_ARRAY(&s->work, struct sc__packet_set, groups);
    for (uint32_t k = 0; k < s->count; k++)
        for (uint32_t i = 0; i < s->shapes[k]->group_count; i++) {
            struct sc__packet_set *set = &sets[set_of(s, s->first[k] + i)];
            if (!set->parts)
                set->parts = SC__NEW_ARRAY(s->arena, struct sc__packet_component, s->count);
            struct sc__packet_component *part = &set->parts[k];
            *SC__PUSH(s->arena, part->groups, part->count, part->capacity) = i;
        }
    return sets;
}

void sc__packet_sets_find(struct sc__arena *arena,
                          const struct sc__packet_fabric *f,
                          const struct sc__packet_shape *const *shapes,
                          uint32_t count,
                          struct sc__packet_sets *out) {
    struct set_finder s = {.fabric = f, .arena = arena, .shapes = shapes, .count = count};
    struct sc__map looks;
    sc__arena_init(&s.work);
    sc__map_init(&s.owner, &s.work);
    sc__map_init(&looks, &s.work);
    s.first = SC__NEW_ARRAY(&s.work, uint32_t, count + 1);
    for (uint32_t k = 0; k < count; k++)
        s.first[k + 1] = s.first[k] + shapes[k]->group_count;
    join_groups(&s);
    struct sc__packet_set *sets = collect_sets(&s);
    out->items = SC__NEW_ARRAY(arena, struct sc__packet_set, s.first[count]);
    out->count = 0;
    for (uint32_t i = 0; i < s.first[count]; i++) {
        bool fresh;
        if (!sets[i].parts)
            continue;
        sets[i].look = look_of(&s, &sets[i]);
        uint64_t *slot = sc__map_at(&looks, sets[i].look, &fresh);
        if (fresh) {
            *slot = out->count;
            out->items[out->count++] = sets[i];
        }
        out->items[*slot].copies++;
    }
    sc__arena_free(&s.work);
}
