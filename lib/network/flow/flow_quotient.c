#include "network/flow/flow_quotient.h"

#include <string.h>

/* Everything by number: flows of all patterns in order, links in order of
 * first sight. */
struct refining {
    struct sc__arena *arena; /* of the work, freed at the end */
    const struct sc__pattern *const *patterns;
    uint32_t patterns_count;
    uint32_t flows;
    uint32_t links;
    uint32_t hops;
    uint32_t *flow_pattern; /* by flow */
    uint32_t *flow_first;   /* by flow, one more: hops */
    /* by hop */
    uint32_t *hop_link;
    uint32_t *hop_flow;
    double *hop_load;
    /* by link: its hops */
    uint32_t *link_first;
    uint32_t *link_hop;
    uint32_t *link_id; /* number in the graph */
    uint64_t *flow_colour;
    uint64_t *link_colour;
    uint32_t *flow_class;
    uint32_t *link_class;
    uint32_t flow_classes;
    uint32_t link_classes;
};

static uint64_t bits(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return (u + (1u << 11)) >> 12; /* sums of equal loads may differ in the last bits */
}

static void count_all(struct refining *r) {
    for (uint32_t i = 0; i < r->patterns_count; i++) {
        r->flows += r->patterns[i]->flow_count;
        r->hops += r->patterns[i]->hop_count;
    }
}

static void number_flow(struct refining *r,
                        struct sc__pattern_builder *b,
                        const struct sc__pattern *p,
                        uint32_t f,
                        uint32_t *flow,
                        uint32_t *hop) {
    r->flow_first[*flow] = *hop;
    for (uint32_t h = p->flows[f].first; h < p->flows[f].first + p->flows[f].count;
         h++, ++*hop) {
        uint32_t link = p->hops[h].link;
        if (b->stamp[link] != b->flow_stamp) {
            b->stamp[link] = b->flow_stamp;
            b->slot[link] = r->links;
            r->link_id[r->links++] = link;
        }
        r->hop_link[*hop] = b->slot[link];
        r->hop_flow[*hop] = *flow;
        r->hop_load[*hop] = p->hops[h].load;
    }
    ++*flow;
}

static void number_all(struct refining *r, struct sc__pattern_builder *b) {
    uint32_t flow = 0;
    uint32_t hop = 0;
    r->flow_first = SC__NEW_ARRAY(r->arena, uint32_t, r->flows + 1);
    r->flow_pattern = SC__NEW_ARRAY(r->arena, uint32_t, r->flows);
    r->hop_link = SC__NEW_ARRAY(r->arena, uint32_t, r->hops);
    r->hop_flow = SC__NEW_ARRAY(r->arena, uint32_t, r->hops);
    r->hop_load = SC__NEW_ARRAY(r->arena, double, r->hops);
    r->link_id = SC__NEW_ARRAY(r->arena,
                               uint32_t,
                               r->hops < b->graph->links ? r->hops : b->graph->links);
    b->flow_stamp++;
    for (uint32_t i = 0; i < r->patterns_count; i++)
        for (uint32_t f = 0; f < r->patterns[i]->flow_count; f++) {
            r->flow_pattern[flow] = i;
            number_flow(r, b, r->patterns[i], f, &flow, &hop);
        }
    r->flow_first[flow] = hop;
}

static void index_links(struct refining *r) {
    r->link_first = SC__NEW_ARRAY(r->arena, uint32_t, r->links + 2);
    r->link_hop = SC__NEW_ARRAY(r->arena, uint32_t, r->hops);
    for (uint32_t h = 0; h < r->hops; h++)
        r->link_first[r->hop_link[h] + 2]++;
    for (uint32_t l = 2; l < r->links + 2; l++)
        r->link_first[l] += r->link_first[l - 1];
    for (uint32_t h = 0; h < r->hops; h++)
        r->link_hop[r->link_first[r->hop_link[h] + 1]++] = h;
}

static void first_colours(struct refining *r, const double *capacity) {
    r->flow_colour = SC__NEW_ARRAY(r->arena, uint64_t, r->flows);
    r->link_colour = SC__NEW_ARRAY(r->arena, uint64_t, r->links);
    for (uint32_t l = 0; l < r->links; l++)
        r->link_colour[l] = sc__splitmix64(bits(capacity[r->link_id[l]]));
    uint32_t flow = 0;
    for (uint32_t i = 0; i < r->patterns_count; i++)
        for (uint32_t f = 0; f < r->patterns[i]->flow_count; f++)
            r->flow_colour[flow++] =
                sc__splitmix64(bits(r->patterns[i]->flows[f].volume) + sc__splitmix64(i));
}

/* Colours take in those of their neighbours; the order does not matter. */
static void recolour(struct refining *r) {
    for (uint32_t f = 0; f < r->flows; f++) {
        uint64_t sum = 0;
        for (uint32_t h = r->flow_first[f]; h < r->flow_first[f + 1]; h++)
            sum += sc__splitmix64(r->link_colour[r->hop_link[h]] ^ bits(r->hop_load[h]));
        r->flow_colour[f] = sc__splitmix64(r->flow_colour[f] ^ sum);
    }
    for (uint32_t l = 0; l < r->links; l++) {
        uint64_t sum = 0;
        for (uint32_t k = r->link_first[l]; k < r->link_first[l + 1]; k++)
            sum += sc__splitmix64(r->flow_colour[r->hop_flow[r->link_hop[k]]] ^
                                  bits(r->hop_load[r->link_hop[k]]));
        r->link_colour[l] = sc__splitmix64(r->link_colour[l] ^ sum);
    }
}

/* Numbers the colours in order of first sight. */
static uint32_t
classes(struct sc__arena *arena, const uint64_t *colour, uint32_t n, uint32_t *class) {
    struct sc__map map;
    uint32_t count = 0;
    sc__map_init(&map, arena);
    for (uint32_t i = 0; i < n; i++) {
        bool fresh;
        uint64_t *id = sc__map_at(&map, colour[i], &fresh);
        if (fresh)
            *id = count++;
        class[i] = (uint32_t)*id;
    }
    return count;
}

static void refine(struct refining *r) {
    uint32_t before;
    r->flow_class = SC__NEW_ARRAY(r->arena, uint32_t, r->flows);
    r->link_class = SC__NEW_ARRAY(r->arena, uint32_t, r->links);
    do {
        before = r->flow_classes + r->link_classes;
        recolour(r);
        r->flow_classes = classes(r->arena, r->flow_colour, r->flows, r->flow_class);
        r->link_classes = classes(r->arena, r->link_colour, r->links, r->link_class);
    } while (r->flow_classes + r->link_classes > before);
}

/* ---- the quotient ---- */

static void
sample_links(const struct refining *r, const double *capacity, struct sc__quotient *q) {
    for (uint32_t l = 0; l < r->links; l++) {
        uint32_t class = r->link_class[l];
        if (!q->size[class]++) {
            q->sample[class] = l;
            q->capacity[class] = capacity[r->link_id[l]];
        }
    }
}

struct pair { /* what flows of a class put on a link of a class */
    uint32_t flow;
    uint32_t link;
    double load;
};

/* From one link of each class: the loads of the flow classes on it. */
static struct pair *
sample_loads(struct refining *r, const struct sc__quotient *q, uint32_t *count) {
    struct pair *pairs = NULL;
    uint32_t capacity = 0;
    uint32_t *slot = SC__NEW_ARRAY(r->arena, uint32_t, r->flow_classes);
    *count = 0;
    for (uint32_t c = 0; c < q->links; c++) {
        uint32_t begin = *count;
        uint32_t l = q->sample[c];
        for (uint32_t k = r->link_first[l]; k < r->link_first[l + 1]; k++) {
            uint32_t hop = r->link_hop[k];
            uint32_t class = r->flow_class[r->hop_flow[hop]];
            if (slot[class] < begin || slot[class] >= *count ||
                pairs[slot[class]].flow != class) {
                slot[class] = *count;
                *SC__PUSH(r->arena, pairs, *count, capacity) =
                    (struct pair){.flow = class, .link = c};
            }
            pairs[slot[class]].load += r->hop_load[hop];
        }
    }
    return pairs;
}

static void lay_flows(const struct refining *r,
                      struct sc__arena *arena,
                      const struct pair *pairs,
                      uint32_t count,
                      struct sc__quotient *q) {
    q->hops = SC__NEW_ARRAY(arena, struct sc__share_hop, count);
    for (uint32_t i = 0; i < count; i++)
        q->flows[pairs[i].flow].count++;
    for (uint32_t f = 1; f < r->flow_classes; f++)
        q->flows[f].first = q->flows[f - 1].first + q->flows[f - 1].count;
    for (uint32_t f = 0; f < r->flow_classes; f++)
        q->flows[f].count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct sc__quotient_flow *f = &q->flows[pairs[i].flow];
        q->hops[f->first + f->count++] =
            (struct sc__share_hop){pairs[i].link, pairs[i].load};
    }
}

/* Flow classes are numbered in order of flows, and so in order of patterns. */
static void lay_patterns(const struct refining *r, struct sc__quotient *q) {
    uint32_t flow = 0;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < r->patterns_count; i++) {
        q->pattern[i] = seen;
        for (uint32_t f = 0; f < r->patterns[i]->flow_count; f++, flow++) {
            if (r->flow_class[flow] < seen)
                continue;
            q->flows[r->flow_class[flow]].volume = r->patterns[i]->flows[f].volume;
            seen++;
        }
    }
    q->pattern[r->patterns_count] = seen;
}

/* Links of a pattern, each once. slot: by link, its place + 1 in the list. */
static uint32_t reach_pattern(const struct sc__quotient *q,
                              uint32_t pattern,
                              uint32_t count,
                              uint32_t *slot) {
    uint32_t begin = count;
    for (uint32_t f = q->pattern[pattern]; f < q->pattern[pattern + 1]; f++)
        for (uint32_t h = q->flows[f].first; h < q->flows[f].first + q->flows[f].count;
             h++) {
            uint32_t link = q->hops[h].link;
            if (slot[link] <= begin) {
                slot[link] = ++count;
                q->reach[count - 1] = (struct sc__reach){.link = link};
            }
            q->reach[slot[link] - 1].volume += q->hops[h].load * q->flows[f].volume;
        }
    return count;
}

static void lay_reach(struct sc__arena *arena,
                      struct sc__arena *work,
                      uint32_t patterns,
                      uint32_t hops,
                      struct sc__quotient *q) {
    uint32_t *slot = SC__NEW_ARRAY(work, uint32_t, q->links + 1);
    q->reach = SC__NEW_ARRAY(arena, struct sc__reach, hops + 1);
    q->reach_first = SC__NEW_ARRAY(arena, uint32_t, patterns + 1);
    for (uint32_t i = 0; i < patterns; i++)
        q->reach_first[i + 1] = reach_pattern(q, i, q->reach_first[i], slot);
}

struct sc__quotient *sc__quotient_make(struct sc__pattern_builder *b,
                                       const struct sc__pattern *const *patterns,
                                       uint32_t count) {
    struct sc__arena work;
    sc__arena_init(&work);
    struct refining r = {.arena = &work, .patterns = patterns, .patterns_count = count};
    struct sc__quotient *q = SC__NEW(b->arena, struct sc__quotient);
    uint32_t pairs_count;
    count_all(&r);
    number_all(&r, b);
    index_links(&r);
    first_colours(&r, b->graph->capacity);
    refine(&r);
    q->links = r.link_classes;
    q->capacity = SC__NEW_ARRAY(b->arena, double, q->links);
    q->sample = SC__NEW_ARRAY(b->arena, uint32_t, q->links);
    q->size = SC__NEW_ARRAY(b->arena, uint32_t, q->links);
    q->flows = SC__NEW_ARRAY(b->arena, struct sc__quotient_flow, r.flow_classes + 1);
    q->pattern = SC__NEW_ARRAY(b->arena, uint32_t, count + 1);
    sample_links(&r, b->graph->capacity, q);
    const struct pair *pairs = sample_loads(&r, q, &pairs_count);
    lay_flows(&r, b->arena, pairs, pairs_count, q);
    lay_patterns(&r, q);
    lay_reach(b->arena, &work, count, pairs_count, q);
    for (uint32_t c = 0; c < q->links; c++)
        q->sample[c] = r.link_id[q->sample[c]];
    sc__arena_free(&work);
    return q;
}
