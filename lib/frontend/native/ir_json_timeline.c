/* A measured timeline in ir json. */
#include "frontend/native/ir_json_parts.h"

static sc_status read_span(const struct sc__node *n,
                           const struct sc__timeline *t,
                           uint32_t count,
                           struct sc__span *s) {
    const struct sc__workload *w = t->workload;
    const int64_t most[8] = {(int64_t)w->class_count - 1,
                             (int64_t)w->op_count - 1,
                             UINT32_MAX - 1,
                             UINT32_MAX,
                             SC__IR_JSON_LONGEST,
                             SC__IR_JSON_LONGEST,
                             SC__IR_JSON_LONGEST,
                             (int64_t)count - 1};
    int64_t v[8] = {0, 0, SC__NONE, 0, 0, 0, 0, SC__NONE};
    if (!sc__node_is(n, '[') || sc__node_count(n) != 8)
        return sc__node_fail(
            n,
            NULL,
            "a span is [class, op, micro_batch, chunk, start, ready, end, peer]");
    for (unsigned i = 0; i < 8; i++) {
        struct sc__node item = sc__node_item(n, i);
        if ((i == 2 || i == 7) && sc__node_is(&item, 'n'))
            continue;
        SC__TRY(sc__node_number(&item, 0, most[i], &v[i]));
    }
    *s = (struct sc__span){.class = (uint32_t)v[0],
                           .op = (uint32_t)v[1],
                           .micro_batch = (uint32_t)v[2],
                           .chunk = (uint32_t)v[3],
                           .start = v[4],
                           .ready = v[5],
                           .end = v[6],
                           .peer_span = (uint32_t)v[7]};
    if (s->start > s->ready || s->ready > s->end)
        return sc__node_fail(n, NULL, "start, ready and end are out of order");
    return SC_OK;
}

static sc_status read_spans(const struct sc__node *n, struct sc__timeline *t) {
    struct sc__node spans;
    SC__TRY(sc__node_need(n, "spans", &spans));
    SC__TRY(sc__node_is_array(&spans));
    t->count = t->capacity = (uint32_t)sc__node_count(&spans);
    t->spans = SC__NEW_ARRAY(&sc__node_context(n)->arena, struct sc__span, t->count + 1);
    for (uint32_t i = 0; i < t->count; i++) {
        struct sc__node span = sc__node_item(&spans, i);
        SC__TRY(read_span(&span, t, t->count, &t->spans[i]));
    }
    return SC_OK;
}

static sc_status read_idles(const struct sc__node *n, struct sc__timeline *t) {
    struct sc__node idles = sc__node_at(n, "idles");
    const int64_t most[4] = {(int64_t)t->workload->class_count - 1,
                             SC__IDLE_COMM + (int64_t)t->workload->group_count,
                             SC__IR_JSON_LONGEST,
                             SC__IR_JSON_LONGEST};
    if (!idles.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&idles));
    for (size_t i = 0; i < sc__node_count(&idles); i++) {
        struct sc__node idle = sc__node_item(&idles, i);
        int64_t v[4] = {0};
        if (!sc__node_is(&idle, '[') || sc__node_count(&idle) != 4)
            return sc__node_fail(&idle, NULL, "idle time is [class, why, start, end]");
        for (unsigned k = 0; k < 4; k++) {
            struct sc__node item = sc__node_item(&idle, k);
            SC__TRY(sc__node_number(&item, 0, most[k], &v[k]));
        }
        *SC__PUSH(&sc__node_context(n)->arena, t->idles, t->idle_count, t->idle_capacity) =
            (struct sc__idle){.class = (uint32_t)v[0],
                              .why = (uint32_t)v[1],
                              .start = v[2],
                              .end = v[3]};
    }
    return SC_OK;
}

sc_status sc__ir_json_timeline(const struct sc__node *root, struct sc__document *out) {
    struct sc__node n = sc__node_at(root, "timeline");
    struct sc__workload *own = out->workload;
    if (!n.value)
        return SC_OK;
    struct sc__timeline *t = SC__NEW(&sc__node_context(root)->arena, struct sc__timeline);
    SC__TRY(sc__node_keys(&n, SC__IR_JSON_KEYS("workload", "end_ps", "spans", "idles")));
    SC__TRY(sc__ir_json_workload(&n, false, &own));
    if (!own)
        return sc__node_fail(&n, NULL, "a timeline needs a workload, its own or beside it");
    t->workload = own;
    SC__TRY(sc__node_i64(&n, "end_ps", 0, SC__IR_JSON_LONGEST, &t->end));
    SC__TRY(read_spans(&n, t));
    SC__TRY(read_idles(&n, t));
    out->measured = t;
    return SC_OK;
}
