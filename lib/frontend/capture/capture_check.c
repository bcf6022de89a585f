/* capture check: what a capture must say for its step to mean something. A product whose
 * factors do not fit, communication without its size or its partner, or a message that
 * nobody takes would have a price, but a wrong one. */
#include "base/json_view.h"
#include "base/sort.h"
#include "frontend/capture/capture.h"

#include <string.h>

static bool is_one_of(const char *op, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(op, *names))
            return true;
    return false;
}

/* ---- storages ---- */

sc_status sc__capture_check_change(const struct sc__node *n,
                                   const struct sc__capture *c,
                                   struct sc__capture_list list,
                                   bool there,
                                   bool *alive) {
    const uint32_t *storages = &c->places[list.first];
    for (uint32_t i = 0; i < list.count; i++) {
        bool *one = &alive[storages[i]];
        if (*one == there)
            return sc__node_fail(n,
                                 "a storage begins once, and ends once after that",
                                 there ? "storage %u begins, and is there already"
                                       : "storage %u ends, and is not there",
                                 storages[i]);
        *one = there;
    }
    return SC_OK;
}

/* ---- calls ---- */

static sc_status check_communication(const struct sc__node *n,
                                     const struct sc__capture_call *call) {
    static const char *const collectives[] = {"c10d.all_reduce",
                                              "c10d.all_gather",
                                              "c10d.reduce_scatter",
                                              "c10d.all_to_all",
                                              "c10d.broadcast",
                                              "c10d.reduce",
                                              "c10d.barrier",
                                              NULL};
    bool message = !strcmp(call->op, "c10d.send") || !strcmp(call->op, "c10d.recv");
    struct sc__node with;
    struct sc__node part;
    if (!message && !is_one_of(call->op, collectives))
        return sc__node_fail(n, NULL, "unknown collective '%.80s'", call->op);
    SC__TRY(sc__node_need(n, "with", &with));
    if (strcmp(call->op, "c10d.barrier") != 0)
        SC__TRY(sc__node_need(&with, "bytes", &part));
    return sc__node_need(&with, message ? "peer" : "group", &part);
}

static sc_status check_own_words(const struct sc__node *n,
                                 const struct sc__capture_call *call) {
    static const char *const words[] = {"host.copy",
                                        "host.wait",
                                        "host.end",
                                        "stepcast.attention",
                                        "stepcast.attention_backward",
                                        "stepcast.recurrent",
                                        "stepcast.recurrent_backward",
                                        NULL};
    bool ours = !strncmp(call->op, "host.", 5) || !strncmp(call->op, "stepcast.", 9);
    if (!ours || is_one_of(call->op, words))
        return SC_OK;
    return sc__node_fail(n,
                         "is the capture of a newer version?",
                         "unknown operation '%.80s'",
                         call->op);
}

static sc_status misfit(const struct sc__node *n, const struct sc__capture_call *call) {
    return sc__node_fail(n, NULL, "the tensors do not fit '%.80s'", call->op);
}

/* [batch,] rows × k times [batch,] k × columns, behind `first` other inputs. */
static sc_status check_product(const struct sc__node *n,
                               const struct sc__capture *c,
                               const struct sc__capture_call *call,
                               uint32_t first,
                               unsigned dims) {
    if (call->in.count < first + 2)
        return misfit(n, call);
    const struct sc__capture_tensor *a = sc__capture_tensor(c, call->in, first);
    const struct sc__capture_tensor *b = sc__capture_tensor(c, call->in, first + 1);
    if (a->dims != dims || b->dims != dims || a->size[dims - 1] != b->size[dims - 2])
        return misfit(n, call);
    if (dims == 3 && a->size[0] != b->size[0])
        return misfit(n, call);
    if (!call->out.count)
        return SC_OK;
    const struct sc__capture_tensor *out = sc__capture_tensor(c, call->out, 0);
    bool fits = out->dims == dims && out->size[dims - 2] == a->size[dims - 2] &&
                out->size[dims - 1] == b->size[dims - 1];
    return fits ? SC_OK : misfit(n, call);
}

/* Queries, keys and values: [batch, heads, sequence, width]. */
static sc_status check_attention(const struct sc__node *n,
                                 const struct sc__capture *c,
                                 const struct sc__capture_call *call,
                                 uint32_t first) {
    if (call->in.count < first + 3)
        return misfit(n, call);
    const struct sc__capture_tensor *q = sc__capture_tensor(c, call->in, first);
    const struct sc__capture_tensor *k = sc__capture_tensor(c, call->in, first + 1);
    const struct sc__capture_tensor *v = sc__capture_tensor(c, call->in, first + 2);
    bool fits = q->dims == 4 && k->dims == 4 && v->dims == 4;
    fits = fits && q->size[3] == k->size[3] && k->size[2] == v->size[2];
    fits = fits && k->size[1] == v->size[1] && k->size[1] && q->size[1] % k->size[1] == 0;
    /* one sequence of keys may serve all of queries */
    fits =
        fits && k->size[0] == v->size[0] && (k->size[0] == q->size[0] || k->size[0] == 1);
    if (!fits)
        return misfit(n, call);
    if (call->with.dropout > 1)
        return sc__node_fail(n,
                             "a share, from 0 to 1",
                             "dropout is %g",
                             call->with.dropout);
    return SC_OK;
}

/* Pictures (or sounds, volumes) and the weights that go over them; in backward the gradient
 * of what was made comes first. Weights are [to, from / groups, window]; those of a
 * transposed one go the other way. */
static sc_status check_convolution(const struct sc__node *n,
                                   const struct sc__capture *c,
                                   const struct sc__capture_call *call,
                                   bool backward) {
    uint32_t first = backward ? 1 : 0;
    if (call->in.count < first + 2 || (!backward && !call->out.count))
        return misfit(n, call);
    const struct sc__capture_tensor *seen = sc__capture_tensor(c, call->in, first);
    const struct sc__capture_tensor *weights = sc__capture_tensor(c, call->in, first + 1);
    const struct sc__capture_tensor *made =
        backward ? sc__capture_tensor(c, call->in, 0) : sc__capture_tensor(c, call->out, 0);
    const struct sc__capture_tensor *from = call->with.transposed ? made : seen;
    const struct sc__capture_tensor *to = call->with.transposed ? seen : made;
    uint32_t groups = call->with.groups;
    bool fits = seen->dims >= 3 && seen->dims == weights->dims && made->dims == seen->dims;
    fits = fits && made->size[0] == seen->size[0] && weights->size[0] % groups == 0;
    fits = fits && to->size[1] == weights->size[0] &&
           from->size[1] == weights->size[1] * groups;
    return fits ? SC_OK : misfit(n, call);
}

static sc_status check_recurrent(const struct sc__node *n,
                                 const struct sc__capture_call *call,
                                 uint32_t first) {
    struct sc__node with;
    struct sc__node part;
    if (call->in.count < first + 1)
        return misfit(n, call);
    SC__TRY(sc__node_need(n, "with", &with));
    SC__TRY(sc__node_need(&with, "hidden", &part));
    SC__TRY(sc__node_need(&with, "layers", &part));
    return sc__node_need(&with, "gates", &part);
}

sc_status sc__capture_check_call(const struct sc__node *n,
                                 const struct sc__capture *c,
                                 const struct sc__capture_call *call) {
    const char *op = call->op;
    SC__TRY(check_own_words(n, call));
    if (!strncmp(op, "c10d.", 5))
        return check_communication(n, call);
    if (!strcmp(op, "aten.mm") || !strcmp(op, "aten._scaled_mm"))
        return check_product(n, c, call, 0, 2);
    if (!strcmp(op, "aten.addmm"))
        return check_product(n, c, call, 1, 2);
    if (!strcmp(op, "aten.bmm"))
        return check_product(n, c, call, 0, 3);
    if (!strcmp(op, "aten.baddbmm"))
        return check_product(n, c, call, 1, 3);
    if (!strcmp(op, "stepcast.attention"))
        return check_attention(n, c, call, 0);
    if (!strcmp(op, "stepcast.attention_backward"))
        return check_attention(n, c, call, 1);
    if (!strcmp(op, "aten.convolution"))
        return check_convolution(n, c, call, false);
    if (!strcmp(op, "aten.convolution_backward"))
        return check_convolution(n, c, call, true);
    if (!strcmp(op, "stepcast.recurrent"))
        return check_recurrent(n, call, 0);
    if (!strcmp(op, "stepcast.recurrent_backward"))
        return check_recurrent(n, call, 1);
    return SC_OK;
}

/* ---- messages ---- */

/* One side of a message between captured ranks. */
struct capture_message {
    uint32_t from; /* classes */
    uint32_t to;
    uint64_t bytes;
};

struct message_list {
    struct capture_message *list;
    uint32_t count;
    uint32_t capacity;
};

static int message_before(const void *a, const void *b, void *self) {
    const struct capture_message *x = a;
    const struct capture_message *y = b;
    (void)self;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* The rank that lies `by` on along a dimension of the mesh, round. */
static uint32_t
rank_along(const struct sc__capture *c, uint32_t rank, uint32_t dim, uint32_t by) {
    uint32_t stride = 1;
    for (uint32_t i = dim + 1; i < c->dims; i++)
        stride *= c->mesh[i].size;
    uint32_t size = c->mesh[dim].size;
    uint32_t at = rank / stride % size;
    return rank - at * stride + (at + by) % size * stride;
}

/* The class that a message of class k goes to or comes from: by its rank where every rank
 * was captured, else so many stages on. */
static uint32_t peer_of(const struct sc__capture *c,
                        const uint32_t *class_of_rank,
                        const struct sc__capture_with *with,
                        uint32_t k) {
    if (with->peer_rank != SC__NONE)
        return class_of_rank[with->peer_rank];
    if (c->class_count < c->world)
        return (k + with->peer_by) % c->class_count;
    return class_of_rank[rank_along(c, c->classes[k].rank, with->peer_dim, with->peer_by)];
}

/* Sent and received by one class. */
static void collect_messages(const struct sc__capture *c,
                             const uint32_t *class_of_rank,
                             uint32_t k,
                             struct message_list *sent,
                             struct message_list *received) {
    const struct sc__capture_program *p = &c->programs[c->classes[k].program];
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct sc__capture_call *call = &c->calls[p->ops[i].call];
        bool send = !strcmp(call->op, "c10d.send");
        if (!send && strcmp(call->op, "c10d.recv") != 0)
            continue;
        uint32_t peer = peer_of(c, class_of_rank, &call->with, k);
        struct message_list *to = send ? sent : received;
        *SC__PUSH(c->arena, to->list, to->count, to->capacity) =
            (struct capture_message){.from = send ? k : peer,
                                     .to = send ? peer : k,
                                     .bytes = call->with.bytes};
    }
}

static sc_status unmatched(struct sc_context *ctx,
                           const struct sc__capture *c,
                           const struct capture_message *m,
                           bool sent) {
    struct sc__place at = {.file = c->file};
    uint32_t self = c->classes[sent ? m->from : m->to].rank;
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "every send needs a receive of the same size, and the other way round",
                    "rank %u %s a message of %llu bytes that rank %u does not %s",
                    self,
                    sent ? "sends" : "receives",
                    (unsigned long long)m->bytes,
                    c->classes[sent ? m->to : m->from].rank,
                    sent ? "receive" : "send");
}

static sc_status
check_messages(struct sc_context *ctx, struct sc__capture *c, const uint32_t *classes) {
    struct message_list sent = {0};
    struct message_list received = {0};
    for (uint32_t k = 0; k < c->class_count; k++)
        collect_messages(c, classes, k, &sent, &received);
    sc__sort(sent.list, sent.count, sizeof *sent.list, message_before, NULL);
    sc__sort(received.list, received.count, sizeof *received.list, message_before, NULL);
    for (uint32_t i = 0; i < sent.count || i < received.count; i++) {
        if (i >= received.count)
            return unmatched(ctx, c, &sent.list[i], true);
        if (i >= sent.count)
            return unmatched(ctx, c, &received.list[i], false);
        int order = message_before(&sent.list[i], &received.list[i], NULL);
        if (order)
            return unmatched(ctx,
                             c,
                             order < 0 ? &sent.list[i] : &received.list[i],
                             order < 0);
    }
    return SC_OK;
}

sc_status sc__capture_check(struct sc_context *ctx, struct sc__capture *c) {
    uint32_t *class_of_rank = SC__NEW_ARRAY(c->arena, uint32_t, c->world);
    struct sc__place at = {.file = c->file};
    for (uint32_t i = 0; i < c->world; i++)
        class_of_rank[i] = SC__NONE;
    for (uint32_t k = 0; k < c->class_count; k++) {
        uint32_t *class = &class_of_rank[c->classes[k].rank];
        if (*class != SC__NONE)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "capture one rank of each stage, or all (--ranks all)",
                            "rank %u was captured twice",
                            c->classes[k].rank);
        *class = k;
    }
    for (uint32_t i = 0; i < c->call_count; i++) {
        uint32_t peer = c->calls[i].with.peer_rank;
        if (peer != SC__NONE && class_of_rank[peer] == SC__NONE)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "capture all ranks (--ranks all)",
                            "a message names rank %u, which was not captured",
                            peer);
    }
    return check_messages(ctx, c, class_of_rank);
}
