/* A network for tests that is right by inspection: every transfer has a cost
 * (its bytes, in ps), and in the shared form a resource serves those on it in
 * turns. Everything is computed anew from the list of transfers at every
 * question, in whole numbers. */
#ifndef ORACLE_NET_H
#define ORACLE_NET_H

#include "network/engine.h"

enum {
    ORACLE_WORK = 60 /* of a transfer alone in a ps; divisible by 1 … 6 */,
    ORACLE_FLIGHTS = 256
};

struct oracle_flight {
    struct sc_transfer transfer;
    int64_t left;
};

struct oracle_net {
    struct oracle_flight flight[ORACLE_FLIGHTS];
    uint32_t count;
    int64_t now;
    bool shared;    /* transfers on one resource slow down */
    bool shortcuts; /* claims are told as they are; otherwise every transfer may meet others
                     */
    bool free;
    /* Whether the group of a class lies inside it. */
    bool (*inside)(const void *self, uint32_t class, uint32_t group);
    const void *self;
};

/* Messages use a port out and one in; a collective inside a class one of four
 * ports of it, the first two of which are those; one across classes one of
 * its own. */
static int oracle_claims(const struct oracle_net *n,
                         const struct sc_transfer *t,
                         uint64_t resource[2]) {
    if (!n->shared || t->bytes == 0)
        return 0;
    if (t->coll != SC__COLLS) {
        resource[0] = n->inside(n->self, t->class, t->group) ? t->class * 4 + t->group % 4
                                                             : 1000000u + t->group;
        return 1;
    }
    resource[0] = t->class * 4;
    resource[1] = t->peer_class * 4 + 1;
    return 2;
}

static sc_status oracle_alone(void *self,
                              const struct sc_transfer *t,
                              int64_t *time,
                              struct sc_claims *claims) {
    const struct oracle_net *n = self;
    uint64_t resource[2];
    claims->count = (uint32_t)oracle_claims(n, t, resource);
    claims->contended = !n->shortcuts;
    for (uint32_t i = 0; i < claims->count; i++)
        claims->list[i] = (struct sc_claim){resource[i], 1};
    *time = n->free ? 0 : (int64_t)t->bytes;
    return SC_OK;
}

static int64_t oracle_rate(const struct oracle_net *n, uint32_t i) {
    uint64_t mine[2], other[2];
    int most = 1, here = oracle_claims(n, &n->flight[i].transfer, mine);
    for (int k = 0; k < here; k++) {
        int users = 0;
        for (uint32_t j = 0; j < n->count; j++)
            for (int c = oracle_claims(n, &n->flight[j].transfer, other); c--;)
                users += other[c] == mine[k];
        if (users > most)
            most = users;
    }
    return ORACLE_WORK / most;
}

static void oracle_advance(struct oracle_net *n, int64_t to) {
    int64_t rate[ORACLE_FLIGHTS];
    for (uint32_t i = 0; i < n->count; i++)
        rate[i] = oracle_rate(n, i);
    for (uint32_t i = 0; i < n->count; i++)
        n->flight[i].left -= rate[i] * (to - n->now);
    n->now = to;
}

static sc_status oracle_start(void *self, const struct sc_transfer *t, int64_t now) {
    struct oracle_net *n = self;
    oracle_advance(n, now);
    if (n->count == ORACLE_FLIGHTS)
        return SC_SYSTEM;
    n->flight[n->count++] =
        (struct oracle_flight){*t, n->free ? 0 : (int64_t)t->bytes * ORACLE_WORK};
    return SC_OK;
}

static sc_status oracle_next(void *self, int64_t *when) {
    const struct oracle_net *n = self;
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < n->count; i++) {
        int64_t rate = oracle_rate(n, i), left = n->flight[i].left, end = n->now;
        if (left > 0)
            end += (left + rate - 1) / rate;
        if (end < next)
            next = end;
    }
    *when = next;
    return SC_OK;
}

static sc_status
oracle_finish(void *self, int64_t to, struct sc_transfer *done, bool *found) {
    struct oracle_net *n = self;
    *found = false;
    oracle_advance(n, to);
    for (uint32_t i = 0; i < n->count; i++) {
        if (n->flight[i].left > 0)
            continue;
        *done = n->flight[i].transfer;
        n->flight[i] = n->flight[--n->count];
        *found = true;
        break;
    }
    return SC_OK;
}

/* All of it, flights in the order of the list: the first of those that end goes first. */
static sc_status oracle_state(void *self, int64_t now, struct sc__net_state *out) {
    const struct oracle_net *n = self;
    for (uint32_t i = 0; i < n->count; i++) {
        const struct sc_transfer *t = &n->flight[i].transfer;
        sc__net_state_put(out, out->user_number(out, t->user));
        sc__net_state_put(out, (uint64_t)t->coll << 16 | t->group);
        sc__net_state_put(out, (uint64_t)t->class << 32 | t->peer_class);
        sc__net_state_put(out, t->bytes);
        sc__net_state_put(out, (uint64_t)n->flight[i].left);
        sc__net_state_put(out, (uint64_t)(now - n->now));
    }
    return SC_OK;
}

static sc_status oracle_shift(void *self, int64_t by, const uint64_t *more) {
    (void)more;
    ((struct oracle_net *)self)->now += by;
    return SC_OK;
}

static const struct sc_engine oracle_ops = {.name = "oracle",
                                            .alone = oracle_alone,
                                            .start = oracle_start,
                                            .next = oracle_next,
                                            .finish = oracle_finish};
static const struct sc__net_periods oracle_periods = {.state = oracle_state,
                                                      .shift = oracle_shift};

#endif
