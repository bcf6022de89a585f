#include "network/packet/packet_events.h"

static inline bool far_before(const struct sc__packet_far_event *x,
                              const struct sc__packet_far_event *y) {
    return x->time != y->time ? x->time < y->time : x->sequence < y->sequence;
}

static void insert_far(struct sc__packet_queue *q, struct sc__packet_event *e) {
    struct sc__packet_far_event far = {e->time, e->sequence, e};
    uint32_t i;
    (void)SC__PUSH(q->arena, q->far, q->far_count, q->far_capacity);
    for (i = q->far_count - 1; i > 0; i = (i - 1) / 4) {
        uint32_t up = (i - 1) / 4;
        if (!far_before(&far, &q->far[up]))
            break;
        q->far[i] = q->far[up];
    }
    q->far[i] = far;
}

static uint32_t far_least_child(const struct sc__packet_queue *q, uint32_t first) {
    uint32_t last = first + 4 < q->far_count ? first + 4 : q->far_count;
    uint32_t least = first;
    for (uint32_t c = first + 1; c < last; c++)
        if (far_before(&q->far[c], &q->far[least]))
            least = c;
    return least;
}

static struct sc__packet_event *pop_far(struct sc__packet_queue *q) {
    struct sc__packet_event *top = q->far[0].event;
    struct sc__packet_far_event e = q->far[--q->far_count];
    uint32_t i = 0;
    for (;;) {
        uint64_t first = 4 * (uint64_t)i + 1;
        if (first >= q->far_count)
            break;
        uint32_t c = far_least_child(q, (uint32_t)first);
        if (!far_before(&q->far[c], &e))
            break;
        q->far[i] = q->far[c];
        i = c;
    }
    if (q->far_count)
        q->far[i] = e;
    return top;
}

/* Behind all of its slot but those with larger numbers, which are rare. */
static void insert_near(struct sc__packet_queue *q, struct sc__packet_event *e) {
    uint32_t slot = (uint32_t)e->time & (SC__PACKET_SLOTS - 1);
    struct sc__packet_event *last = q->slots[slot].last;
    q->near_count++;
    if (!q->slots[slot].first) {
        e->next = NULL;
        q->slots[slot].first = e;
        q->slots[slot].last = e;
        q->used[slot / 64] |= (uint64_t)1 << slot % 64;
        q->used_words |= (uint64_t)1 << slot / 64;
        return;
    }
    if (last->sequence < e->sequence) {
        e->next = NULL;
        last->next = e;
        q->slots[slot].last = e;
        return;
    }
    struct sc__packet_event **at = &q->slots[slot].first;
    while ((*at)->sequence < e->sequence)
        at = &(*at)->next;
    e->next = *at;
    *at = e;
}

void sc__packet_insert(struct sc__packet_queue *q, struct sc__packet_event *e) {
    e->queued = true;
    e->cancelled = false;
    if (e->kind < SC__PACKET_ALPHA)
        q->live++;
    if (e->time - q->now < SC__PACKET_SLOTS)
        insert_near(q, e);
    else
        insert_far(q, e);
}

/* The first used slot from that of now on, going round. */
static uint32_t near_slot(const struct sc__packet_queue *q) {
    uint32_t from = (uint32_t)q->now & (SC__PACKET_SLOTS - 1);
    uint32_t word = from / 64;
    uint64_t bits = q->used[word] & UINT64_MAX << from % 64;
    if (!bits) {
        uint64_t words = word < 63 ? q->used_words & UINT64_MAX << (word + 1) : 0;
        if (!words)
            words = q->used_words;
        word = (uint32_t)__builtin_ctzll(words);
        bits = q->used[word];
    }
    return word * 64 + (uint32_t)__builtin_ctzll(bits);
}

static struct sc__packet_event *pop_near(struct sc__packet_queue *q, uint32_t slot) {
    struct sc__packet_event *e = q->slots[slot].first;
    q->slots[slot].first = e->next;
    q->near_count--;
    if (!e->next) {
        q->slots[slot].last = NULL;
        q->used[slot / 64] &= ~((uint64_t)1 << slot % 64);
        if (!q->used[slot / 64])
            q->used_words &= ~((uint64_t)1 << slot / 64);
    }
    return e;
}

/* The next one, if it is not after a time. */
static struct sc__packet_event *take_next(struct sc__packet_queue *q, int64_t until) {
    if (!q->near_count)
        return q->far_count && q->far[0].time <= until ? pop_far(q) : NULL;
    uint32_t slot = near_slot(q);
    const struct sc__packet_event *near = q->slots[slot].first;
    struct sc__packet_far_event key = {near->time, near->sequence, NULL};
    if (q->far_count && far_before(&q->far[0], &key))
        return q->far[0].time <= until ? pop_far(q) : NULL;
    return near->time <= until ? pop_near(q, slot) : NULL;
}

int64_t sc__packet_next_time(const struct sc__packet_queue *q) {
    int64_t far = q->far_count ? q->far[0].time : INT64_MAX;
    int64_t near = q->near_count ? q->slots[near_slot(q)].first->time : INT64_MAX;
    return near < far ? near : far;
}

struct sc__packet_event *sc__packet_pop(struct sc__packet_queue *q, int64_t until) {
    struct sc__packet_event *e = take_next(q, until);
    if (!e)
        return NULL;
    if (e->kind < SC__PACKET_ALPHA)
        q->live--;
    e->queued = false;
    q->now = e->time;
    q->now_sequence = e->sequence;
    return e;
}
