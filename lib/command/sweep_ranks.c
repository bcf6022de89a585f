/* sweep_ranks: a sweep in several processes, started by mpirun or srun.
 *
 *     a rank → rank 0   how many points it wants, and the rows of the last ones
 *     rank 0 → a rank   their numbers; none: go home
 *
 * Who is fast asks more often, so the load balances itself. Rank 0 alone has the
 * database. What a rank that is lost was computing is not in it, all else is: the same
 * command goes on from there. */
#include "command/sweep.h"

#include <string.h>

/* ---- rows as bytes ---- */

static void put_u32(struct sc__buffer *b, uint32_t x) {
    sc__put(b, (const char *)&x, sizeof x);
}

static void put_text(struct sc__buffer *b, const char *text) {
    put_u32(b, (uint32_t)strlen(text));
    sc__put(b, text, strlen(text) + 1);
}

static void put_row(struct sc__buffer *b, uint32_t id, const struct sc__sweep_row *r) {
    put_u32(b, id);
    sc__put(b, (const char *)r->figures, sizeof r->figures);
    put_text(b, r->outcome);
    put_text(b, r->settings);
    put_text(b, r->message);
}

/* Of a message between processes of one program: what is missing is a defect. */
static bool take_bytes(struct sc__str *from, void *to, size_t n) {
    if (from->n < n)
        return false;
    memcpy(to, from->p, n);
    from->p += n;
    from->n -= n;
    return true;
}

static bool take_text(struct sc__str *from, const char **to) {
    uint32_t n;
    if (!take_bytes(from, &n, sizeof n) || from->n <= n)
        return false;
    *to = from->p;
    from->p += n + 1;
    from->n -= n + 1;
    return true;
}

static bool take_row(struct sc__str *from, uint32_t *id, struct sc__sweep_row *r) {
    *r = (struct sc__sweep_row){0};
    if (!take_bytes(from, id, sizeof *id) ||
        !take_bytes(from, r->figures, sizeof r->figures))
        return false;
    return take_text(from, &r->outcome) && take_text(from, &r->settings) &&
           take_text(from, &r->message);
}

/* ---- rank 0 ---- */

struct lead {
    const struct sc__sweep_share *x;
    struct sc__store *store;
    const bool *done;
    uint32_t points;
    uint32_t at;
    uint32_t written;
    uint32_t followers; /* that have not been sent home */
    /* rows that are not written yet, and the messages that hold them */
    uint32_t ids[SC__SWEEP_ROUND];
    struct sc__sweep_row rows[SC__SWEEP_ROUND];
    uint32_t row_count;
    struct sc_context *messages[SC__SWEEP_ROUND];
    uint32_t message_count;
    sc_status status;
};

static void write_rows(struct lead *l) {
    if (l->row_count && l->status == SC_OK)
        l->status = sc__store_add(l->store, l->ids, l->rows, l->row_count);
    l->written += l->row_count;
    l->row_count = 0;
    for (uint32_t i = 0; i < l->message_count; i++)
        sc_close(l->messages[i]);
    l->message_count = 0;
    if (l->status == SC_OK)
        l->status = sc__progress(l->x->ctx, "sweeping", (double)l->written / l->points);
}

static void take_rows(struct lead *l, struct sc__str message) {
    while (message.n && l->status == SC_OK) {
        if (l->row_count == SC__SWEEP_ROUND)
            write_rows(l);
        if (!take_row(&message, &l->ids[l->row_count], &l->rows[l->row_count]))
            l->status = sc__fail(l->x->ctx, SC_SYSTEM, NULL, NULL, "a row was cut short");
        else
            l->row_count++;
    }
}

/* Numbers of the next points, as many as are wanted and there. */
static void answer(struct lead *l, uint32_t to, uint32_t wanted) {
    uint32_t ids[SC__SWEEP_ROUND];
    uint32_t n = 0;
    for (; l->status == SC_OK && l->at < l->points && n < wanted && n < SC__SWEEP_ROUND;
         l->at++)
        if (!l->done[l->at])
            ids[n++] = l->at;
    l->followers -= n == 0;
    sc_status sent = sc__ranks_send(l->x->ctx, l->x->ranks, to, ids, n * sizeof *ids);
    if (l->status == SC_OK)
        l->status = sent;
}

/* One message; false: no rank can be heard any more. */
static bool serve_one(struct lead *l) {
    struct sc_context *room = sc_open();
    struct sc__str message;
    uint32_t from;
    uint32_t wanted = 1;
    if (!room || sc__ranks_receive(room, l->x->ranks, &from, &message) != SC_OK) {
        sc_close(room);
        l->status = sc__fail(l->x->ctx, SC_SYSTEM, NULL, NULL, "no rank answers");
        return false;
    }
    take_bytes(&message, &wanted, sizeof wanted);
    answer(l, from, wanted); /* first: it waits */
    if (l->message_count == SC__SWEEP_ROUND || l->row_count == SC__SWEEP_ROUND)
        write_rows(l);
    take_rows(l, message); /* which may write those before, so it is kept from here on */
    l->messages[l->message_count++] = room;
    if (!sc__ranks_waiting(l->x->ranks))
        write_rows(l);
    return true;
}

sc_status sc__sweep_lead(const struct sc__sweep_share *x,
                         struct sc__store *store,
                         const bool *done,
                         uint32_t points,
                         sc_status begun) {
    struct lead *l = SC__NEW(&x->ctx->arena, struct lead);
    *l = (struct lead){.x = x,
                       .store = store,
                       .done = done,
                       .points = points,
                       .followers = x->ranks->count - 1,
                       .status = begun};
    for (uint32_t i = 0; i < points && done; i++)
        l->written += done[i];
    while (l->followers && serve_one(l))
        continue;
    write_rows(l);
    return l->status;
}

/* ---- the others ---- */

sc_status sc__sweep_follow(const struct sc__sweep_share *x) {
    sc_status status = SC_OK;
    struct sc_context *last = NULL; /* holds the numbers of the last points */
    struct sc__str ids = {NULL, 0};
    for (;;) {
        struct sc_context *ctx = sc_open();
        struct sc__buffer b;
        const struct sc__sweep_row *rows = NULL;
        uint32_t count = (uint32_t)(ids.n / sizeof(uint32_t));
        uint32_t id[SC__SWEEP_ROUND];
        uint32_t from;
        if (!ctx)
            break;
        if (count)
            memcpy(id, ids.p, count * sizeof *id);
        sc__buffer_init(&b, &ctx->arena);
        put_u32(&b, x->at_once);
        if (count)
            status = x->evaluate(x->self, id, count, &rows);
        for (uint32_t i = 0; i < count && status == SC_OK; i++)
            put_row(&b, id[i], &rows[i]);
        sc_close(last);
        last = ctx;
        if (status == SC_OK)
            status = sc__ranks_send(x->ctx, x->ranks, 0, b.text, b.size);
        if (status == SC_OK)
            status = sc__ranks_receive(ctx, x->ranks, &from, &ids);
        if (status != SC_OK || !ids.n)
            break;
    }
    sc_close(last);
    return status;
}
