#include "network/packet/packet_rounds.h"

struct sc__packet_rounds *sc__packet_rounds_new(struct sc__arena *arena, int64_t ahead) {
    struct sc__packet_rounds *r = SC__NEW(arena, struct sc__packet_rounds);
    r->ahead = ahead;
    r->end = -1;
    return r;
}

/* Where transfers are added before the event that a round began with, an arrival can lie
 * in it: that cannot wait. */
void sc__packet_post(struct sc__packet_sim *s,
                     uint32_t from,
                     struct sc__packet_event *e,
                     enum sc__packet_event_kind kind,
                     int64_t time) {
    struct sc__packet_rounds *r = s->rounds;
    if (kind == SC__PACKET_ARRIVAL && time <= r->end) {
        sc__packet_schedule(&s->queue, e, kind, time);
        return;
    }
    e->time = time;
    e->kind = (uint8_t)kind;
    *SC__PUSH(s->arena, r->mail, r->count, r->capacity) =
        (struct sc__packet_letter){from, e};
}

static int compare_letters(const void *a, const void *b, void *self) {
    (void)self;
    uint32_t x = ((const struct sc__packet_letter *)a)->from;
    uint32_t y = ((const struct sc__packet_letter *)b)->from;
    return (x > y) - (x < y);
}

/* Flows are prepared at times that have passed, before all else of the next round. The
 * time of the first of them. */
static int64_t prepare_flows(struct sc__packet_sim *s, uint32_t count) {
    struct sc__packet_rounds *r = s->rounds;
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct sc__packet_event *e = r->mail[i].event;
        first = e->time < first ? e->time : first;
        sc__packet_schedule(&s->queue, e, SC__PACKET_BEGIN, e->time + s->start_delay);
    }
    return first;
}

static void close_round(struct sc__packet_sim *s) {
    struct sc__packet_rounds *r = s->rounds;
    uint32_t flows = 0;
    sc__sort(r->mail, r->count, sizeof *r->mail, compare_letters, NULL);
    for (uint32_t i = 0; i < r->count; i++) {
        struct sc__packet_event *e = r->mail[i].event;
        if (e->kind == SC__PACKET_PREPARE)
            r->mail[flows++] = r->mail[i];
        else
            sc__packet_schedule(&s->queue, e, SC__PACKET_ARRIVAL, e->time);
    }
    int64_t first = prepare_flows(s, flows);
    int64_t next = sc__packet_next_time(&s->queue);
    r->count = 0;
    r->end = (first < next ? first : next) + r->ahead;
}

void sc__packet_rounds_go_on(struct sc__packet_sim *s, int64_t until) {
    struct sc__packet_rounds *r = s->rounds;
    int64_t next = sc__packet_next_time(&s->queue);
    if (r->count && (next > r->end || !s->queue.live))
        close_round(s);
    else if (next > r->end && next <= until && next < INT64_MAX)
        r->end = next + r->ahead;
}
