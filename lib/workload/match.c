#include "workload/match.h"

#include <string.h>

struct matcher {
    struct sc__workload *w;
    struct sc__arena *arena; /* for what is gone afterwards */
    struct sc__mismatch *bad;
    bool exact;
    uint32_t ranks;
    /* sends by destination, in program order of the sources */
    uint32_t *sends;
    uint32_t *first_send;
    uint32_t *source; /* their ranks */
    uint32_t rendezvous;
};

/* Receives waiting under one (source, tag): a list through next. */
struct match_bucket {
    uint32_t source;
    uint32_t tag;
    /* receive + 1, or 0 */
    uint32_t head;
    uint32_t tail;
};

const struct sc__block *sc__rank_block(const struct sc__workload *w, uint32_t rank) {
    const struct sc__program *p =
        &w->programs[w->classes[sc__workload_class_of(w, rank)].program];
    return &w->blocks[w->calls[p->first_call].block];
}

static bool match_fail(struct matcher *m,
                       enum sc__mismatch_kind kind,
                       uint32_t op,
                       uint32_t rank,
                       uint32_t peer_op,
                       uint32_t peer_rank) {
    *m->bad = (struct sc__mismatch){kind, op, rank, peer_op, peer_rank, 0};
    return false;
}

/* Counting sort by destination: it keeps the program order of each source,
 * which is what decides who is matched with whom. */
static void count_sends(struct matcher *m) {
    const struct sc__workload *w = m->w;
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        const struct sc__block *b = sc__rank_block(w, rank);
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++)
            if (w->ops[i].kind == SC__OP_SEND)
                m->first_send[w->ops[i].peer + 1]++;
    }
    for (uint32_t rank = 0; rank < m->ranks; rank++)
        m->first_send[rank + 1] += m->first_send[rank];
}

static void sort_sends(struct matcher *m) {
    const struct sc__workload *w = m->w;
    m->first_send = SC__NEW_ARRAY(m->arena, uint32_t, (size_t)m->ranks + 1);
    count_sends(m);
    m->sends = SC__NEW_ARRAY(m->arena, uint32_t, m->first_send[m->ranks]);
    m->source = SC__NEW_ARRAY(m->arena, uint32_t, m->first_send[m->ranks]);
    uint32_t *at = SC__NEW_ARRAY(m->arena, uint32_t, m->ranks);
    memcpy(at, m->first_send, m->ranks * sizeof *at);
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        const struct sc__block *b = sc__rank_block(w, rank);
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
            if (w->ops[i].kind != SC__OP_SEND)
                continue;
            uint32_t to = w->ops[i].peer;
            m->source[at[to]] = rank;
            m->sends[at[to]++] = i;
        }
    }
}

static struct match_bucket *
find_bucket(struct match_bucket *table, uint32_t mask, uint32_t source, uint32_t tag) {
    uint32_t i = (uint32_t)sc__splitmix64((uint64_t)source << 32 | tag) & mask;
    while (table[i].head && (table[i].source != source || table[i].tag != tag))
        i = (i + 1) & mask;
    table[i].source = source;
    table[i].tag = tag;
    return &table[i];
}

struct receives {
    struct match_bucket *table;
    uint32_t mask;
    uint32_t count;
    uint32_t *next; /* by index in the block, receive + 1 */
    bool any;
};

static struct receives collect_receives(struct matcher *m, const struct sc__block *b) {
    struct receives r = {0};
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
        if (m->w->ops[i].kind != SC__OP_RECV)
            continue;
        r.count++;
        if (m->w->ops[i].flags & (SC__OP_ANY_PEER | SC__OP_ANY_TAG))
            r.any = true;
    }
    /* A receive from any rank or of any tag is matched when messages arrive. */
    if (r.any)
        return r;
    uint32_t size = 4; /* at least twice the receives: the table is never full */
    while (size < 2 * r.count)
        size *= 2;
    r.mask = size - 1;
    r.table = SC__NEW_ARRAY(m->arena, struct match_bucket, size);
    r.next = SC__NEW_ARRAY(m->arena, uint32_t, b->ops);
    for (uint32_t i = 0; i < b->ops; i++) {
        const struct sc__op *op = &m->w->ops[b->first_op + i];
        if (op->kind != SC__OP_RECV)
            continue;
        struct match_bucket *k = find_bucket(r.table, r.mask, op->peer, op->tag);
        if (k->head)
            r.next[k->tail - 1] = i + 1;
        else
            k->head = i + 1;
        k->tail = i + 1;
    }
    return r;
}

/* An emptied bucket keeps a mark, so that those behind it in the table are
 * still found. */
static uint32_t take_receive(struct receives *r, uint32_t source, uint32_t tag) {
    struct match_bucket *k = find_bucket(r->table, r->mask, source, tag);
    if (!k->head || k->head == UINT32_MAX)
        return SC__NONE;
    uint32_t taken = k->head - 1;
    k->head = r->next[taken] ? r->next[taken] : UINT32_MAX;
    return taken;
}

static bool match_to_rank(struct matcher *m, uint32_t rank) {
    struct sc__workload *w = m->w;
    const struct sc__block *b = sc__rank_block(w, rank);
    uint32_t first = m->first_send[rank];
    uint32_t last = m->first_send[rank + 1];
    struct receives r = collect_receives(m, b);
    if (r.any)
        return true;
    for (uint32_t s = first; s < last; s++) {
        const struct sc__op *send = &w->ops[m->sends[s]];
        uint32_t i = take_receive(&r, m->source[s], send->tag);
        if (i == SC__NONE)
            return match_fail(m,
                              SC__MATCH_NO_RECV,
                              m->sends[s],
                              m->source[s],
                              SC__NONE,
                              rank);
        uint32_t recv = b->first_op + i;
        uint64_t room = w->ops[recv].bytes;
        if (m->exact ? room != send->bytes : room < send->bytes)
            return match_fail(m, SC__MATCH_SIZE, m->sends[s], m->source[s], recv, rank);
        w->match[m->sends[s]] = recv;
        w->match[recv] = m->sends[s];
    }
    /* every send took a receive: equal counts leave none over */
    if (r.count == last - first)
        return true;
    for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++)
        if (w->ops[i].kind == SC__OP_RECV && w->match[i] == SC__NONE)
            return match_fail(m, SC__MATCH_NO_SEND, i, rank, SC__NONE, w->ops[i].peer);
    return true;
}

static bool match_messages(struct matcher *m) {
    struct sc__arena *outer = m->arena;
    sort_sends(m);
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        /* tables of one rank at a time: those of 65,536 would not fit */
        struct sc__arena inner;
        sc__arena_init(&inner);
        m->arena = &inner;
        bool fine = match_to_rank(m, rank);
        sc__arena_free(&inner);
        m->arena = outer;
        if (!fine)
            return false;
    }
    return true;
}

/* The collectives of a rank, by group: lists through next. */
struct calls {
    /* by group: operation + 1 */
    uint32_t *head;
    uint32_t *tail;
};

static uint32_t *link_collectives(struct matcher *m, struct calls *by_rank) {
    const struct sc__workload *w = m->w;
    uint32_t *next = SC__NEW_ARRAY(m->arena, uint32_t, w->op_count);
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        const struct sc__block *b = sc__rank_block(w, rank);
        for (uint32_t i = b->first_op; i < b->first_op + b->ops; i++) {
            if (w->ops[i].kind != SC__OP_COLLECTIVE)
                continue;
            uint16_t g = w->ops[i].group;
            if (!by_rank[g].head) {
                by_rank[g].head = SC__NEW_ARRAY(m->arena, uint32_t, m->ranks);
                by_rank[g].tail = SC__NEW_ARRAY(m->arena, uint32_t, m->ranks);
            }
            if (by_rank[g].head[rank])
                next[by_rank[g].tail[rank] - 1] = i + 1;
            else
                by_rank[g].head[rank] = i + 1;
            by_rank[g].tail[rank] = i + 1;
        }
    }
    return next;
}

static bool check_members(struct matcher *m, uint16_t g, const struct calls *c) {
    bool *member = SC__NEW_ARRAY(m->arena, bool, m->ranks);
    for (uint32_t i = 0; i < sc__group_size(m->w, g); i++)
        member[sc__group_member(m->w, g, 0, i)] = true;
    for (uint32_t rank = 0; rank < m->ranks; rank++)
        if (c->head[rank] && !member[rank])
            return match_fail(m,
                              SC__MATCH_NOT_MEMBER,
                              c->head[rank] - 1,
                              rank,
                              SC__NONE,
                              sc__group_member(m->w, g, 0, 0));
    return true;
}

static bool same_collective(const struct sc__op *x, const struct sc__op *y) {
    return x->coll == y->coll && x->bytes == y->bytes && x->peer == y->peer;
}

/* One rendezvous: head[rank] is the collective of a member + 1, or 0. `lead` is
 * a member that has one; the others must have the same. */
static bool match_rendezvous(
    struct matcher *m, uint16_t g, const uint32_t *head, uint32_t lead, uint32_t nth) {
    struct sc__workload *w = m->w;
    for (uint32_t i = 0; i < sc__group_size(w, g); i++) {
        uint32_t rank = sc__group_member(w, g, 0, i);
        uint32_t op = head[rank];
        enum sc__mismatch_kind kind = SC__MATCH_FINE;
        if (!op)
            kind = SC__MATCH_MISSING;
        else if (!same_collective(&w->ops[head[lead] - 1], &w->ops[op - 1]))
            kind = SC__MATCH_OTHER;
        if (kind != SC__MATCH_FINE) {
            match_fail(m, kind, head[lead] - 1, lead, op ? op - 1 : SC__NONE, rank);
            m->bad->nth = nth;
            return false;
        }
        w->match[op - 1] = m->rendezvous;
    }
    m->rendezvous++;
    return true;
}

static bool
match_group(struct matcher *m, uint16_t g, struct calls *c, const uint32_t *next) {
    struct sc__workload *w = m->w;
    uint32_t size = sc__group_size(w, g);
    if (!check_members(m, g, c))
        return false;
    for (uint32_t nth = 0;; nth++) {
        uint32_t lead = SC__NONE;
        for (uint32_t i = 0; i < size && lead == SC__NONE; i++)
            if (c->head[sc__group_member(w, g, 0, i)])
                lead = sc__group_member(w, g, 0, i);
        if (lead == SC__NONE)
            return true;
        if (!match_rendezvous(m, g, c->head, lead, nth))
            return false;
        for (uint32_t i = 0; i < size; i++) {
            uint32_t rank = sc__group_member(w, g, 0, i);
            c->head[rank] = next[c->head[rank] - 1];
        }
    }
}

static bool match_collectives(struct matcher *m) {
    struct calls *by_group = SC__NEW_ARRAY(m->arena, struct calls, m->w->group_count);
    uint32_t *next = link_collectives(m, by_group);
    for (uint32_t g = 0; g < m->w->group_count; g++)
        if (by_group[g].head && !match_group(m, (uint16_t)g, &by_group[g], next))
            return false;
    return true;
}

bool sc__workload_match(struct sc__workload *w,
                        bool exact,
                        uint32_t *rendezvous,
                        struct sc__mismatch *bad) {
    struct sc__arena temporary;
    sc__arena_init(&temporary);
    struct matcher m = {.w = w,
                        .arena = &temporary,
                        .bad = bad,
                        .exact = exact,
                        .ranks = sc__mesh_ranks(&w->mesh)};
    w->match = SC__NEW_ARRAY(w->arena, uint32_t, w->op_count);
    memset(w->match, 0xff, w->op_count * sizeof *w->match);
    bad->kind = SC__MATCH_FINE;
    bool fine = match_messages(&m) && (!w->group_count || match_collectives(&m));
    sc__arena_free(&temporary);
    *rendezvous = m.rendezvous;
    return fine;
}
