/* deadlock: nothing can run and not all has: who waits for whom. Operations that
 * wait for others of their own rank are shown only where none waits for a peer:
 * they are the consequence, not the cause. */
#include "simulate/executor.h"
#include "simulate/graph.h"
#include "workload/match.h"

static void
put_waiting(struct sc__executor *x, struct sc__buffer *b, uint32_t class, uint32_t stream) {
    const struct sc__runner *r = &x->runners[class];
    const struct sc__stream *s = &r->streams[stream];
    const struct sc__op *op = sc__stream_op(x, r, stream);
    const struct sc__call *call =
        &x->w->calls[x->w->programs[r->class->program].first_call + s->call];
    sc__printf(b, "\n    rank %u (stage %u): ", r->class->rank, r->class->stage);
    if (call->micro_batch != SC__NONE)
        sc__printf(b, "micro-batch %u, ", call->micro_batch);
    sc__printf(b, "'%s' ", x->w->names.text[op->name]);
    if (s->state == SC__STREAM_BLOCKED) {
        sc__puts(b, "waits for other operations of its rank");
    } else if (op->kind != SC__OP_COLLECTIVE) {
        sc__printf(b,
                   "waits for rank %u to %s",
                   sc__op_peer(x->w, op, r->class->rank),
                   op->kind == SC__OP_SEND ? "receive" : "send");
    } else {
        const struct sc__peers *m = &x->peers[r->peers[op->group]];
        const struct sc__rendezvous *g = &x->rendezvous[s->wait];
        sc__printf(b,
                   "(%s in group %s) waits for rank",
                   sc__coll_name(op->coll),
                   x->w->groups[op->group].label);
        for (uint32_t i = 0, shown = 0; i < m->count && shown < 4; i++) {
            bool came = false;
            for (uint32_t k = 0; k < g->here; k++)
                came |= g->classes[k] == m->classes[i];
            if (!came)
                sc__printf(b,
                           "%s %u",
                           shown++ ? "," : "",
                           x->w->classes[m->classes[i]].rank);
        }
    }
}

sc_status sc__deadlock(struct sc__executor *x) {
    struct sc__buffer b;
    uint32_t shown = 0;
    uint32_t waiting = 0;
    sc__buffer_init(&b, &x->ctx->arena);
    for (uint32_t c = 0; c < x->w->class_count; c++)
        for (uint32_t s = 0; s < x->streams; s++) {
            const struct sc__stream *st = &x->runners[c].streams[s];
            if (st->state != SC__STREAM_WAITING && st->state != SC__STREAM_BLOCKED)
                continue;
            waiting++;
            if (st->state == SC__STREAM_WAITING && shown < 8) {
                put_waiting(x, &b, c, s);
                shown++;
            }
        }
    if (!shown)
        for (uint32_t c = 0; c < x->w->class_count && shown < 8; c++)
            for (uint32_t s = 0; s < x->streams && shown < 8; s++)
                if (x->runners[c].streams[s].state == SC__STREAM_BLOCKED) {
                    put_waiting(x, &b, c, s);
                    shown++;
                }
    return sc__fail(x->ctx,
                    SC_INPUT,
                    NULL,
                    "a send without its receive, or collectives in different order",
                    "deadlock after %.3f us: %u operations wait for each other:%s",
                    sc__us(x->now),
                    waiting,
                    b.text);
}

static uint32_t members_here(const struct sc__graph *r, uint32_t op) {
    uint32_t open = r->collectives[r->match[op]];
    return open ? r->x->rendezvous[open - 1].here : 0;
}

static void describe_waiting(const struct sc__graph *r,
                             uint32_t class,
                             uint32_t op,
                             struct sc__buffer *b) {
    const struct sc__op *o = &r->w->ops[op];
    const struct sc__block *block = sc__rank_block(r->w, r->w->classes[class].rank);
    sc__printf(b,
               "%srank %u, operation %u (%s)",
               b->size ? "; " : "",
               r->w->classes[class].rank,
               op - block->first_op,
               r->w->names.text[o->name]);
    if (o->kind == SC__OP_SEND || o->kind == SC__OP_RECV) {
        if (o->flags & SC__OP_ANY_PEER)
            sc__puts(b, " waits for any rank");
        else
            sc__printf(b, " waits for rank %u", o->peer);
        if (!(o->flags & SC__OP_ANY_TAG))
            sc__printf(b, ", tag %u", o->tag);
    } else if (o->kind == SC__OP_COLLECTIVE)
        sc__printf(b,
                   " waits for %u of %u ranks of group %s",
                   sc__group_size(r->w, o->group) - members_here(r, op),
                   sc__group_size(r->w, o->group),
                   r->w->groups[o->group].label);
    else
        sc__puts(b, " waits for its dependencies");
}

sc_status sc__graph_deadlock(struct sc__graph *r) {
    struct sc__buffer b;
    unsigned shown = 0;
    sc__buffer_init(&b, &r->x->ctx->arena);
    for (unsigned blocked = 0; blocked < 2 && !shown; blocked++)
        for (uint32_t c = 0; c < r->w->class_count && shown < 4; c++) {
            const struct sc__block *block = sc__rank_block(r->w, r->w->classes[c].rank);
            for (uint32_t i = block->first_op; i < block->first_op + block->ops; i++) {
                if ((r->state[i] & SC__DONE) || (!blocked && r->waits[i]))
                    continue;
                describe_waiting(r, c, i, &b);
                shown++;
                break;
            }
        }
    return sc__fail(r->x->ctx,
                    SC_INPUT,
                    NULL,
                    "these operations can never run: look for an order in which all can",
                    "deadlock after %.3f us: %llu of %llu operations were not executed: %s",
                    sc__us(r->x->now),
                    (unsigned long long)(r->x->items - r->x->items_ended),
                    (unsigned long long)r->x->items,
                    b.text);
}
