/* program_rendezvous: which rendezvous an operation of a program comes to. The
 * k-th collective of a group in the program of one class meets the k-th of the
 * others, whichever of their streams come first; messages meet by (from, to,
 * tag), in order. */
#include "simulate/executor.h"

#include <string.h>

struct sc_transfer
sc__transfer_of(const struct sc__executor *x, uint32_t class, const struct sc__op *op) {
    uint32_t rank = x->w->classes[class].rank;
    struct sc_transfer t = {.rank = rank,
                            .class = class,
                            .peer = op->peer,
                            .peer_class = class,
                            .job = x->job,
                            .bytes = op->bytes};
    if (op->kind == SC__OP_COLLECTIVE) {
        t.coll = op->coll;
        t.group = op->group;
        return t;
    }
    t.coll = SC__COLLS;
    t.peer = sc__op_peer(x->w, op, rank);
    t.peer_class = sc__workload_class_of(x->w, t.peer);
    if (op->kind == SC__OP_RECV) {
        uint32_t swap = t.rank;
        t.rank = t.peer, t.peer = swap;
        swap = t.class, t.class = t.peer_class, t.peer_class = swap;
    }
    return t;
}

bool sc__inside_class(const struct sc__runner *r, const struct sc__op *op) {
    return r->peers[op->group] == SC__NONE;
}

/* The classes of the group as seen from a class, in order, each once. */
static uint32_t member_classes(
    struct sc__executor *x, uint32_t group, uint32_t rank, uint32_t *out, uint8_t *seen) {
    const struct sc__workload *w = x->w;
    uint32_t n = sc__group_size(w, (uint16_t)group);
    uint32_t count = 0;
    enum sc__group_kind kind = w->groups[group].kind;
    if (!w->rank_class && kind != SC__GROUP_LIST) { /* classes are stages: only groups
                                                       across stages span several */
        if (!sc__group_across_stages(w, (uint16_t)group)) {
            out[0] = sc__workload_class_of(w, rank);
            return 1;
        }
        if (kind == SC__GROUP_WORLD) {
            for (uint32_t c = 0; c < w->class_count; c++)
                out[c] = c;
            return w->class_count;
        }
    }
    for (uint32_t i = 0; i < n; i++)
        seen[sc__workload_class_of(w, sc__group_member(w, (uint16_t)group, rank, i))] = 1;
    for (uint32_t c = 0; c < w->class_count && n; c++)
        if (seen[c]) {
            out[count++] = c;
            seen[c] = 0;
        }
    return count;
}

static uint32_t find_peers(struct sc__executor *x,
                           struct sc__map *known,
                           uint32_t group,
                           const uint32_t *classes,
                           uint32_t n) {
    uint64_t key = sc__hash(classes, n * sizeof *classes, group);
    bool fresh;
    uint64_t *slot = sc__map_at(known, key, &fresh);
    if (!fresh)
        return (uint32_t)*slot;
    struct sc__peers *m = SC__PUSH(&x->arena, x->peers, x->peers_count, x->peers_capacity);
    m->classes = SC__NEW_ARRAY(&x->arena, uint32_t, n);
    memcpy(m->classes, classes, n * sizeof *classes);
    m->count = n;
    m->group = group;
    m->first = SC__NONE;
    m->lead = classes[0];
    for (uint32_t i = 1; i < n; i++)
        if (x->w->classes[classes[i]].ranks > x->w->classes[m->lead].ranks)
            m->lead = classes[i];
    *slot = x->peers_count - 1;
    return x->peers_count - 1;
}

/* Which groups a class uses at all: only those need peers. */
static void mark_used_groups(const struct sc__executor *x, uint32_t class, uint8_t *used) {
    const struct sc__workload *w = x->w;
    const struct sc__block_list *called = &x->called[w->classes[class].program];
    for (uint32_t k = 0; k < called->count; k++) {
        const struct sc__block *b = &w->blocks[called->ids[k]];
        for (uint32_t i = 0; i < b->ops; i++)
            if (w->ops[b->first_op + i].kind == SC__OP_COLLECTIVE)
                used[w->ops[b->first_op + i].group] = 1;
    }
}

sc_status sc__rendezvous_prepare(struct sc__executor *x) {
    const struct sc__workload *w = x->w;
    uint32_t *classes = SC__NEW_ARRAY(&x->arena, uint32_t, w->class_count);
    uint8_t *seen = SC__NEW_ARRAY(&x->arena, uint8_t, w->class_count);
    uint8_t *used = SC__NEW_ARRAY(&x->arena, uint8_t, w->group_count + 1);
    struct sc__map known;
    sc__map_init(&known, &x->arena);
    sc__map_init(&x->messages, &x->arena);
    for (uint32_t c = 0; c < w->class_count; c++) {
        struct sc__runner *r = &x->runners[c];
        r->peers = SC__NEW_ARRAY(&x->arena, uint32_t, w->group_count + 1);
        memset(used, 0, w->group_count + 1);
        mark_used_groups(x, c, used);
        for (uint32_t g = 0; g < w->group_count; g++) {
            r->peers[g] = SC__NONE;
            if (!used[g])
                continue;
            uint32_t n = member_classes(x, g, w->classes[c].rank, classes, seen);
            if (n > 1)
                r->peers[g] = find_peers(x, &known, g, classes, n);
        }
    }
    return SC_OK;
}

static uint32_t shared_group(const struct sc__prepared *b, uint32_t group) {
    uint32_t i = 0;
    while (i < b->shared_count && b->shared_groups[i] != group)
        i++;
    return i;
}

static void
add_shared_group(struct sc__executor *x, struct sc__prepared *b, uint32_t group) {
    uint32_t old = b->shared_capacity;
    *SC__PUSH(&x->arena, b->shared_groups, b->shared_count, b->shared_capacity) = group;
    if (b->shared_capacity == old)
        return;
    b->shared_counts = sc__realloc(&x->arena,
                                   b->shared_counts,
                                   old * sizeof *b->shared_counts,
                                   b->shared_capacity * sizeof *b->shared_counts);
}

static void number_block(struct sc__executor *x,
                         const struct sc__runner *r,
                         const struct sc__block *block,
                         struct sc__prepared *b) {
    b->ordinal = SC__NEW_ARRAY(&x->arena, uint32_t, block->ops);
    for (uint32_t i = 0; i < block->ops; i++) {
        const struct sc__op *op = &x->w->ops[block->first_op + i];
        if (op->kind != SC__OP_COLLECTIVE || sc__inside_class(r, op))
            continue;
        uint32_t k = shared_group(b, op->group);
        if (k == b->shared_count) {
            add_shared_group(x, b, op->group);
            b->shared_counts[k] = 0;
        }
        b->ordinal[i] = b->shared_counts[k]++;
    }
}

void sc__rendezvous_number(struct sc__executor *x, uint32_t class) {
    struct sc__runner *r = &x->runners[class];
    uint32_t *so_far = SC__NEW_ARRAY(&x->arena, uint32_t, x->w->group_count + 1);
    bool spans_classes = false;
    for (uint32_t g = 0; g < x->w->group_count; g++)
        spans_classes |= r->peers[g] != SC__NONE;
    if (!spans_classes)
        return;
    r->numbers = SC__NEW_ARRAY(&x->arena, uint32_t *, r->calls);
    for (uint32_t c = 0; c < r->calls; c++) {
        struct sc__prepared *b = r->blocks[c];
        if (!b->ordinal)
            number_block(x, r, sc__call_block(x, r, c), b);
        if (!b->shared_count)
            continue;
        r->numbers[c] = SC__NEW_ARRAY(&x->arena, uint32_t, b->shared_count);
        for (uint32_t k = 0; k < b->shared_count; k++) {
            r->numbers[c][k] = so_far[b->shared_groups[k]];
            so_far[b->shared_groups[k]] += b->shared_counts[k];
        }
    }
}

/* Which of its group's collectives this one is in the program of the class. */
static uint32_t number_of(const struct sc__executor *x,
                          const struct sc__runner *r,
                          uint32_t call,
                          const struct sc__op *op) {
    const struct sc__prepared *b = r->blocks[call];
    uint32_t first = sc__call_block(x, r, call)->first_op;
    return r->numbers[call][shared_group(b, op->group)] +
           b->ordinal[(uint32_t)(op - x->w->ops) - first];
}

/* The open rendezvous with this number, made when nobody has come yet. */
static uint32_t
rendezvous_numbered(struct sc__executor *x, uint32_t peers, uint32_t number) {
    struct sc__peers *m = &x->peers[peers];
    uint32_t *link = &m->first;
    while (*link != SC__NONE && x->rendezvous[*link].number != number)
        link = &x->rendezvous[*link].next;
    if (*link != SC__NONE)
        return *link;
    uint32_t id = sc__rendezvous_open(x, m->count);
    m = &x->peers[peers];
    for (link = &m->first; *link != SC__NONE;)
        link = &x->rendezvous[*link].next;
    *link = id;
    x->rendezvous[id].peers = peers;
    x->rendezvous[id].number = number;
    return id;
}

static sc_status mismatch(struct sc__executor *x,
                          const struct sc__rendezvous *g,
                          uint32_t class,
                          const struct sc__op *op) {
    const struct sc__op *first = &x->w->ops[g->op];
    return sc__fail(
        x->ctx,
        SC_INPUT,
        NULL,
        "all ranks of a group must run the same collectives in the same order",
        "rank %u runs %s '%s' while rank %u runs %s '%s' in the same group (%s)",
        x->w->classes[class].rank,
        sc__coll_name(op->coll),
        x->w->names.text[op->name],
        x->w->classes[g->classes[0]].rank,
        sc__coll_name(first->coll),
        x->w->names.text[first->name],
        x->w->groups[op->group].label);
}

static sc_status collective_inside(struct sc__executor *x,
                                   uint32_t class,
                                   uint32_t stream,
                                   const struct sc__op *op) {
    uint32_t id = sc__rendezvous_open(x, 1);
    struct sc__rendezvous *g = &x->rendezvous[id];
    struct sc_transfer t = sc__transfer_of(x, class, op);
    g->op = (uint32_t)(op - x->w->ops);
    g->cost = op->cost;
    sc__rendezvous_join(x, id, class, stream);
    return sc__rendezvous_begin(x, id, &t, (op->flags & SC__OP_MEASURED) != 0);
}

sc_status sc__program_collective(struct sc__executor *x,
                                 uint32_t class,
                                 uint32_t stream,
                                 const struct sc__op *op) {
    struct sc__runner *r = &x->runners[class];
    uint32_t peers = r->peers[op->group];
    if (peers == SC__NONE)
        return collective_inside(x, class, stream, op);
    uint32_t id =
        rendezvous_numbered(x, peers, number_of(x, r, r->streams[stream].call, op));
    struct sc__rendezvous *g = &x->rendezvous[id];
    if (!g->here)
        g->op = (uint32_t)(op - x->w->ops);
    else if (x->w->ops[g->op].coll != op->coll)
        return mismatch(x, g, class, op);
    if (op->bytes > g->bytes)
        g->bytes = op->bytes;
    if (op->cost > g->cost)
        g->cost = op->cost;
    sc__rendezvous_join(x, id, class, stream);
    if (g->here < x->peers[peers].count)
        return SC_OK;
    struct sc_transfer t = sc__transfer_of(x, x->peers[peers].lead, op);
    t.bytes = g->bytes;
    return sc__rendezvous_begin(x, id, &t, (op->flags & SC__OP_MEASURED) != 0);
}

static uint64_t message_key(uint32_t from, uint32_t to, uint64_t tag) {
    uint64_t parts[2] = {(uint64_t)from << 32 | to, tag};
    return sc__hash(parts, sizeof parts, 0);
}

static uint64_t key_of(const struct sc__rendezvous *g) {
    return message_key(g->from, g->to, g->tag);
}

/* The oldest message of this key that lacks this side. */
static uint32_t open_message(struct sc__executor *x,
                             const struct sc_transfer *t,
                             uint64_t tag,
                             bool sending) {
    uint64_t key = message_key(t->class, t->peer_class, tag);
    uint64_t head = *sc__map_at(&x->messages, key, NULL);
    uint32_t id = head ? (uint32_t)head - 1 : SC__NONE;
    uint32_t last = SC__NONE;
    for (; id != SC__NONE; last = id, id = x->rendezvous[id].next)
        if (!(sending ? x->rendezvous[id].sent : x->rendezvous[id].received))
            return id;
    id = sc__rendezvous_open(x, 2);
    x->rendezvous[id].from = t->class;
    x->rendezvous[id].to = t->peer_class;
    x->rendezvous[id].tag = tag;
    if (last == SC__NONE)
        *sc__map_at(&x->messages, key, NULL) = (uint64_t)id + 1;
    else
        x->rendezvous[last].next = id;
    return id;
}

/* Takes it out of the list of equal messages. */
static void unlink_message(struct sc__executor *x, uint32_t id) {
    uint64_t *head = sc__map_find(&x->messages, key_of(&x->rendezvous[id]));
    uint32_t next = x->rendezvous[id].next;
    if (*head == (uint64_t)id + 1 && next == SC__NONE)
        sc__map_remove(&x->messages, key_of(&x->rendezvous[id]));
    else if (*head == (uint64_t)id + 1)
        *head = (uint64_t)next + 1;
    else {
        uint32_t at = (uint32_t)*head - 1;
        while (x->rendezvous[at].next != id)
            at = x->rendezvous[at].next;
        x->rendezvous[at].next = next;
    }
}

sc_status sc__program_message(struct sc__executor *x,
                              uint32_t class,
                              uint32_t stream,
                              const struct sc__op *op) {
    const struct sc__runner *r = &x->runners[class];
    const struct sc__call *call =
        &x->w->calls[x->w->programs[r->class->program].first_call +
                     r->streams[stream].call];
    struct sc__message_end end = {.class = class,
                                  .member = stream,
                                  .sending = op->kind == SC__OP_SEND,
                                  .eager = (op->flags & SC__OP_EAGER) != 0,
                                  .measured = (op->flags & SC__OP_MEASURED) != 0};
    struct sc_transfer t = sc__transfer_of(x, class, op);
    uint32_t id = open_message(x, &t, (uint64_t)op->tag + call->tag, end.sending);
    struct sc__rendezvous *g = &x->rendezvous[id];
    if (!g->here)
        g->op = (uint32_t)(op - x->w->ops);
    if (op->cost > g->cost)
        g->cost = op->cost;
    if (op->bytes > g->bytes)
        g->bytes = op->bytes;
    t.bytes = g->bytes;
    return sc__rendezvous_message(x, id, &end, &t);
}

/* The spans of the two ends of a message find each other. */
void sc__program_leaves(struct sc__executor *x,
                        uint32_t id,
                        uint32_t class,
                        uint32_t stream) {
    const struct sc__timeline *t = x->out->timeline;
    sc__stream_end(x, class, stream);
    struct sc__rendezvous *g = &x->rendezvous[id];
    if (!t || x->w->ops[g->op].kind == SC__OP_COLLECTIVE)
        return;
    uint32_t here = x->runners[class].streams[stream].span;
    bool sending = x->w->ops[t->spans[here].op].kind == SC__OP_SEND;
    if (g->linked)
        sc__steady_link(x, sending ? here : g->span, sending ? g->span : here);
    g->linked = true;
    g->span = here;
}

/* Nobody will look for it any more. */
sc_status sc__program_closes(struct sc__executor *x, uint32_t id) {
    const struct sc__rendezvous *g = &x->rendezvous[id];
    if (g->sent || g->received)
        unlink_message(x, id);
    if (g->peers == SC__NONE)
        return SC_OK;
    uint32_t *link = &x->peers[g->peers].first;
    while (*link != id)
        link = &x->rendezvous[*link].next;
    *link = g->next;
    return SC_OK;
}

/* Messages are found by their tags, so they are all taken out first. */
void sc__rendezvous_shift(struct sc__executor *x, const uint32_t *numbers, uint64_t tags) {
    uint32_t count = x->rendezvous_count;
    uint64_t *heads = SC__NEW_ARRAY(&x->arena, uint64_t, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        struct sc__rendezvous *g = &x->rendezvous[i];
        if (!g->serial)
            continue;
        if (g->peers != SC__NONE)
            g->number += numbers[g->peers];
        bool message = g->sent || g->received;
        uint64_t *head = message && tags ? sc__map_find(&x->messages, key_of(g)) : NULL;
        if (!head || *head != (uint64_t)i + 1)
            continue;
        heads[i] = *head;
        sc__map_remove(&x->messages, key_of(g));
    }
    for (uint32_t i = 0; i < count; i++) {
        struct sc__rendezvous *g = &x->rendezvous[i];
        if (g->serial && (g->sent || g->received))
            g->tag += tags;
        if (heads[i])
            *sc__map_at(&x->messages, key_of(g), NULL) = heads[i];
    }
}
