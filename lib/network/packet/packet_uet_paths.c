/* packet_uet_paths: the path of the next packet. Spray takes all in turn, in another order
 * each time. With penalties a path that marked or trimmed a packet is left out for some
 * turns. REPS uses a path again for each packet that came through it well. Mixed, which is
 * usual, is REPS where such a path is known and spray with penalties elsewhere. */
#include "network/packet/packet_uet.h"

#include <string.h>

#define MARK_PENALTY 1u
#define TRIM_PENALTY 4u
#define MOST_PENALTY 15u
#define GOOD_PATHS 256u /* remembered, at most */

void sc__uet_paths_init(struct sc__packet_sim *s, struct sc__uet_paths *p) {
    uint32_t count = s->config->uet_paths;
    if (!p->penalty) {
        p->penalty = SC__NEW_ARRAY(s->arena, uint8_t, count);
        p->good = SC__NEW_ARRAY(s->arena, uint16_t, GOOD_PATHS);
    }
    memset(p->penalty, 0, count);
    p->next = 0;
    p->good_first = 0;
    p->good_count = 0;
    p->mixed = (uint32_t)(sc__packet_draw(s) * count);
}

static uint32_t path_in_turn(const struct sc__packet_sim *s,
                             const struct sc__uet_paths *p) {
    return (p->next ^ p->mixed) & (s->config->uet_paths - 1);
}

static void next_turn(struct sc__packet_sim *s, struct sc__uet_paths *p) {
    if (++p->next < s->config->uet_paths)
        return;
    p->next = 0;
    p->mixed = (uint32_t)(sc__packet_draw(s) * s->config->uet_paths);
}

/* The first that is met with a penalty has one turn less to wait. */
static uint32_t spray(struct sc__packet_sim *s, struct sc__uet_paths *p) {
    uint32_t path = path_in_turn(s, p);
    uint32_t passed = 0;
    bool penalised = p->penalty[path] > 0;
    if (penalised)
        p->penalty[path]--;
    while (penalised && passed++ < s->config->uet_paths) {
        next_turn(s, p);
        path = path_in_turn(s, p);
        penalised = p->penalty[path] > 0;
    }
    next_turn(s, p);
    return path;
}

uint32_t sc__uet_next_path(struct sc__packet_sim *s, struct sc__uet_paths *p) {
    uint32_t balance = s->config->uet_load_balancing;
    if (balance >= SC__UET_REPS && p->good_count) {
        uint32_t path = p->good[p->good_first];
        p->good_first = (p->good_first + 1) % GOOD_PATHS;
        p->good_count--;
        return path;
    }
    return spray(s, p);
}

void sc__uet_path_feedback(const struct sc__packet_sim *s,
                           struct sc__uet_paths *p,
                           uint32_t path,
                           enum sc__uet_feedback feedback) {
    uint32_t balance = s->config->uet_load_balancing;
    if (feedback == SC__UET_PATH_GOOD) {
        if (p->good_count < GOOD_PATHS)
            p->good[(p->good_first + p->good_count++) % GOOD_PATHS] = (uint16_t)path;
        return;
    }
    if (balance != SC__UET_PENALTIES && balance != SC__UET_MIXED)
        return;
    unsigned penalty = p->penalty[path];
    penalty += feedback == SC__UET_PATH_MARKED ? MARK_PENALTY : TRIM_PENALTY;
    p->penalty[path] = (uint8_t)(penalty < MOST_PENALTY ? penalty : MOST_PENALTY);
}
