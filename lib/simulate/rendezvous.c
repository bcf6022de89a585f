/* rendezvous: where classes wait for each other. A collective begins when the
 * last of its members has come; a message when both ends have (or, eager, when
 * the sender has). Until then a member waits, after that it communicates.
 *
 * Which rendezvous an operation comes to is the policy's: programs find it
 * while they run, by number and tag (program_rendezvous.c); in graphs it is
 * known beforehand (graph.c), so that messages there do without. A member is
 * what the policy calls it: a stream of a program, an operation of a graph. */
#include "simulate/executor.h"

uint32_t sc__rendezvous_open(struct sc__executor *x, uint32_t room) {
    uint32_t id = x->free_rendezvous;
    if (id != SC__NONE)
        x->free_rendezvous = x->rendezvous[id].next;
    else {
        (void)
            SC__PUSH(&x->arena, x->rendezvous, x->rendezvous_count, x->rendezvous_capacity);
        id = x->rendezvous_count - 1;
    }
    struct sc__rendezvous *g = &x->rendezvous[id];
    uint32_t *classes = g->classes;
    uint32_t *members = g->members;
    if (g->room < room) {
        classes = SC__NEW_ARRAY(&x->arena, uint32_t, room);
        members = SC__NEW_ARRAY(&x->arena, uint32_t, room);
    } else
        room = g->room;
    *g = (struct sc__rendezvous){.next = SC__NONE,
                                 .serial = ++x->opened,
                                 .peers = SC__NONE,
                                 .classes = classes,
                                 .members = members,
                                 .room = room};
    return id;
}

static sc_status close_rendezvous(struct sc__executor *x, uint32_t id) {
    SC__TRY(x->policy->closes(x, id));
    x->rendezvous[id].serial = 0;
    x->rendezvous[id].next = x->free_rendezvous;
    x->free_rendezvous = id;
    return SC_OK;
}

void sc__rendezvous_join(struct sc__executor *x,
                         uint32_t id,
                         uint32_t class,
                         uint32_t member) {
    struct sc__rendezvous *g = &x->rendezvous[id];
    g->classes[g->here] = class;
    g->members[g->here++] = member;
    x->policy->waits(x, class, member, id);
}

sc_status sc__rendezvous_begin(struct sc__executor *x,
                               uint32_t id,
                               struct sc_transfer *t,
                               bool measured) {
    struct sc__rendezvous *g = &x->rendezvous[id];
    g->started = true;
    for (uint32_t i = 0; i < g->here; i++)
        x->policy->ready(x, g->classes[i], g->members[i]);
    if (measured) {
        sc__queue_push(&x->queue, x->now + g->cost, SC__EVENT_RENDEZVOUS | id, 1);
        return SC_OK;
    }
    t->user = id;
    return x->net->ops->start(x->net->self, t, x->now);
}

sc_status sc__rendezvous_message(struct sc__executor *x,
                                 uint32_t id,
                                 const struct sc__message_end *end,
                                 struct sc_transfer *t) {
    struct sc__rendezvous *g = &x->rendezvous[id];
    *(end->sending ? &g->sent : &g->received) = true;
    sc__rendezvous_join(x, id, end->class, end->member);
    if (g->over) { /* the bytes are here already */
        x->policy->ready(x, end->class, end->member);
        x->policy->leaves(x, id, end->class, end->member);
        return close_rendezvous(x, id);
    }
    if (g->started) {
        x->policy->ready(x, end->class, end->member);
        return SC_OK;
    }
    if (!(g->sent && g->received) && !(end->sending && end->eager))
        return SC_OK;
    return sc__rendezvous_begin(x, id, t, end->measured);
}

static void all_leave(struct sc__executor *x, uint32_t id) {
    const struct sc__rendezvous *g = &x->rendezvous[id];
    for (uint32_t i = 0; i < g->here; i++) {
        uint32_t k = x->policy->newest_leaves_first ? g->here - 1 - i : i;
        x->policy->leaves(x, id, g->classes[k], g->members[k]);
    }
}

sc_status sc__rendezvous_over(struct sc__executor *x, uint32_t id, bool local) {
    struct sc__rendezvous *g = &x->rendezvous[id];
    if (!local && g->cost && !x->net->free) {
        sc__queue_push(&x->queue, x->now + g->cost, SC__EVENT_RENDEZVOUS | id, 1);
        return SC_OK;
    }
    all_leave(x, id);
    if (!g->sent)
        return close_rendezvous(x, id);
    g->over = true;
    g->here = 0;
    return g->received ? close_rendezvous(x, id) : SC_OK;
}
