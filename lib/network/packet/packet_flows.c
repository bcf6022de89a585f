/* packet_flows: HPCC's list of flows.
 *
 *     count
 *     src dst priority dport bytes start_s [ids of flows to wait for]
 *
 * A flow's id is its line, from 0 on. Its source port is 10000 plus the number
 * of earlier flows of the same pair of hosts. */
#include "network/packet/packet.h"
#include "network/packet/packet_words.h"

#include <string.h>

#define FIRST_SOURCE_PORT 10000u
#define MOST_PORT 65535u
#define MOST_BYTES ((uint64_t)1 << 50)

static const char flow_hint[] = "a flow is: src dst priority dport bytes start_s [ids]";

static sc_status
read_host(struct sc__packet_words *w, const struct sc__packet_topology *t, uint32_t *host) {
    SC__TRY(sc__packet_take_u32(w, flow_hint, "a host is expected", host));
    if (*host >= t->node_count || t->is_switch[*host])
        return sc__packet_bad(w, "see the topology", "there is no such host");
    return SC_OK;
}

static sc_status
read_waits(struct sc__packet_words *w, uint32_t id, struct sc__packet_flow *f) {
    uint32_t capacity = 0;
    while (sc__packet_word(w)) {
        struct sc__str list = w->word;
        struct sc__str part;
        while (sc__split(&list, ',', &part)) {
            uint32_t other;
            if (!sc__parse_u32(part, &other) || other >= id)
                return sc__packet_bad(w,
                                      "the ids of earlier flows, from 0 on, with commas",
                                      "this is no flow to wait for");
            *SC__PUSH(&w->in.ctx->arena, f->waits_for, f->wait_count, capacity) = other;
        }
    }
    if (f->wait_count)
        f->start = -1;
    return SC_OK;
}

static sc_status take_source_port(struct sc__packet_words *w,
                                  struct sc__map *pairs,
                                  struct sc__packet_flow *f) {
    bool fresh;
    uint64_t *count = sc__map_at(pairs, (uint64_t)f->from << 32 | f->to, &fresh);
    f->source_port = FIRST_SOURCE_PORT + (uint32_t)*count;
    if (f->source_port > MOST_PORT)
        return sc__packet_bad(w, NULL, "a pair of hosts has no port left for this flow");
    ++*count;
    return SC_OK;
}

static sc_status read_sizes(struct sc__packet_words *w, struct sc__packet_flow *f) {
    double start;
    SC__TRY(sc__packet_take_u32(w, flow_hint, "a priority is expected", &f->priority));
    if (f->priority < 1 || f->priority > 7)
        return sc__packet_bad(w, "0 is that of pauses", "a priority is from 1 to 7");
    SC__TRY(sc__packet_take_u32(w, flow_hint, "a port is expected", &f->target_port));
    if (f->target_port > MOST_PORT)
        return sc__packet_bad(w, NULL, "a port is at most 65535");
    sc__packet_word(w);
    if (!sc__parse_u64(w->word, &f->bytes) || !f->bytes || f->bytes > MOST_BYTES)
        return sc__packet_bad(w, flow_hint, "a number of bytes from 1 on is expected");
    SC__TRY(sc__packet_take_double(w, flow_hint, "a start in seconds is expected", &start));
    if (start > 1e6)
        return sc__packet_bad(w, flow_hint, "a start of more than a million seconds");
    f->start = llrint(start * 1e9);
    return SC_OK;
}

static sc_status read_flow(struct sc__packet_words *w,
                           const struct sc__packet_topology *t,
                           struct sc__map *pairs,
                           uint32_t id,
                           struct sc__packet_flow *f) {
    f->completion = -1;
    f->received = -1;
    SC__TRY(read_host(w, t, &f->from));
    SC__TRY(read_host(w, t, &f->to));
    if (f->from == f->to)
        return sc__packet_bad(w, NULL, "a flow to the host that it comes from");
    SC__TRY(take_source_port(w, pairs, f));
    SC__TRY(read_sizes(w, f));
    return read_waits(w, id, f);
}

static sc_status read_flow_lines(struct sc__packet_words *w,
                                 const struct sc__packet_topology *t,
                                 uint32_t said,
                                 struct sc__packet_flows *out) {
    struct sc__map pairs;
    bool more;
    sc__map_init(&pairs, &w->in.ctx->arena);
    for (;;) {
        SC__TRY(sc__packet_line(w, &more));
        if (!more)
            return SC_OK;
        if (out->count == said)
            return sc__packet_bad(w, NULL, "there are more flows than the first line says");
        struct sc__packet_flow *f =
            SC__PUSH(&w->in.ctx->arena, out->items, out->count, out->capacity);
        SC__TRY(read_flow(w, t, &pairs, out->count - 1, f));
    }
}

static sc_status read_flows(struct sc__packet_words *w,
                            const struct sc__packet_topology *t,
                            struct sc__packet_flows *out) {
    const char *hint = "the first line is the number of flows";
    struct sc__place place = {.file = out->file};
    uint32_t said;
    bool more;
    SC__TRY(sc__packet_line(w, &more));
    if (!more)
        return sc__fail(w->in.ctx, SC_INPUT, &place, hint, "there is no flow");
    SC__TRY(sc__packet_take_u32(w, hint, "a number of flows is expected", &said));
    SC__TRY(sc__packet_line_end(w, hint));
    SC__TRY(read_flow_lines(w, t, said, out));
    if (out->count < said || !said)
        return sc__fail(w->in.ctx,
                        SC_INPUT,
                        &place,
                        hint,
                        "%u flows are here, %u were announced",
                        out->count,
                        said);
    return SC_OK;
}

sc_status sc__packet_flows_read(struct sc_context *ctx,
                                const char *path,
                                const struct sc__packet_topology *topology,
                                struct sc__packet_flows *out) {
    struct sc__packet_words w = {0};
    memset(out, 0, sizeof *out);
    out->file = path;
    SC__TRY(sc__input_open(ctx, path, &w.in));
    sc_status status = read_flows(&w, topology, out);
    sc__input_close(&w.in);
    return status;
}
