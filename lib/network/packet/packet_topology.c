/* packet_topology: HPCC's topology file.
 *
 *     nodes switches links
 *     the ids of the switches
 *     a b rate delay error_rate      (a line each) */
#include "network/packet/packet.h"
#include "network/packet/packet_words.h"

#include <string.h>

/* Addresses are 11.x.y.1 with 16 bits of node. */
#define MOST_NODES 65536u
#define MOST_DELAY ((int64_t)1000000000) /* ns */

static const char head_hint[] = "the first line is: nodes switches links";
static const char link_hint[] = "a link is: a b rate delay error_rate";

static sc_status read_head(struct sc__packet_words *w, struct sc__packet_topology *t) {
    bool more;
    SC__TRY(sc__packet_line(w, &more));
    if (!more) {
        struct sc__place place = {.file = t->file};
        return sc__fail(w->in.ctx, SC_INPUT, &place, head_hint, "the topology is empty");
    }
    SC__TRY(sc__packet_take_u32(w, head_hint, "a number is expected", &t->node_count));
    if (t->node_count < 2 || t->node_count > MOST_NODES)
        return sc__packet_bad(w, NULL, "from 2 to 65536 nodes are possible");
    SC__TRY(sc__packet_take_u32(w, head_hint, "a number is expected", &t->switch_count));
    if (t->switch_count >= t->node_count)
        return sc__packet_bad(w, head_hint, "not all nodes can be switches");
    SC__TRY(sc__packet_take_u32(w, head_hint, "a number is expected", &t->link_count));
    if (t->link_count > MOST_NODES * 64u)
        return sc__packet_bad(w, NULL, "at most 4194304 links are possible");
    return sc__packet_line_end(w,
                               "SimAI's topologies, with six numbers here, are not read");
}

static sc_status read_switches(struct sc__packet_words *w, struct sc__packet_topology *t) {
    bool more = true;
    for (uint32_t left = t->switch_count; left; left--) {
        uint32_t id;
        while (more && !sc__packet_word(w))
            SC__TRY(sc__packet_line(w, &more));
        if (!more || !sc__parse_u32(w->word, &id) || id >= t->node_count)
            return sc__packet_bad(w,
                                  "the second line has the ids of the switches",
                                  "the id of a switch is expected");
        if (t->is_switch[id])
            return sc__packet_bad(w, NULL, "this switch was named before");
        t->is_switch[id] = true;
    }
    return sc__packet_line_end(w, "there are more ids than the first line says");
}

static sc_status
read_end(struct sc__packet_words *w, const struct sc__packet_topology *t, uint32_t *id) {
    SC__TRY(sc__packet_take_u32(w, link_hint, "a node is expected", id));
    if (*id >= t->node_count)
        return sc__packet_bad(w, "nodes are numbered from 0", "there is no such node");
    return SC_OK;
}

static sc_status read_delay(struct sc__packet_words *w, int64_t *delay) {
    int64_t ps;
    sc__packet_word(w);
    if (!sc__parse_time(w->word, &ps) || ps < 0 || ps % SC__PS_PER_NS)
        return sc__packet_bad(w, "for instance 1000ns", "this is no delay in whole ns");
    *delay = ps / SC__PS_PER_NS;
    if (*delay > MOST_DELAY)
        return sc__packet_bad(w, NULL, "a delay of more than a second");
    return SC_OK;
}

static sc_status read_link(struct sc__packet_words *w,
                           const struct sc__packet_topology *t,
                           struct sc__map *pairs,
                           struct sc__packet_link *l) {
    bool fresh;
    SC__TRY(read_end(w, t, &l->a));
    SC__TRY(read_end(w, t, &l->b));
    if (l->a == l->b)
        return sc__packet_bad(w, NULL, "a link joins two nodes");
    uint64_t low = l->a < l->b ? l->a : l->b;
    uint64_t high = l->a < l->b ? l->b : l->a;
    sc__map_at(pairs, low << 32 | high, &fresh);
    if (!fresh)
        return sc__packet_bad(w,
                              "parallel links have no meaning in this format",
                              "these nodes are linked already");
    SC__TRY(sc__packet_take_rate(w, &l->rate));
    if (l->rate < 1000000)
        return sc__packet_bad(w, NULL, "a link has at least 1 Mb/s");
    SC__TRY(read_delay(w, &l->delay));
    SC__TRY(
        sc__packet_take_double(w, link_hint, "an error rate is expected", &l->error_rate));
    if (l->error_rate > 1)
        return sc__packet_bad(w, NULL, "an error rate is from 0 to 1");
    return sc__packet_line_end(w, link_hint);
}

static sc_status read_links(struct sc__packet_words *w, struct sc__packet_topology *t) {
    struct sc__map pairs;
    uint32_t said = t->link_count;
    uint32_t capacity = 0;
    bool more;
    sc__map_init(&pairs, &w->in.ctx->arena);
    t->link_count = 0;
    for (uint32_t i = 0; i < said; i++) {
        SC__TRY(sc__packet_line(w, &more));
        if (!more) {
            struct sc__place place = {.file = t->file, .line = w->in.line};
            return sc__fail(w->in.ctx,
                            SC_INPUT,
                            &place,
                            link_hint,
                            "the file ends after %u of %u links",
                            i,
                            said);
        }
        struct sc__packet_link *l =
            SC__PUSH(&w->in.ctx->arena, t->links, t->link_count, capacity);
        SC__TRY(read_link(w, t, &pairs, l));
    }
    SC__TRY(sc__packet_line(w, &more));
    if (more)
        return sc__packet_bad(w, NULL, "there are more lines than the first one says");
    return SC_OK;
}

static sc_status read_topology(struct sc__packet_words *w, struct sc__packet_topology *t) {
    SC__TRY(read_head(w, t));
    t->is_switch = SC__NEW_ARRAY(&w->in.ctx->arena, bool, t->node_count);
    SC__TRY(read_switches(w, t));
    return read_links(w, t);
}

sc_status sc__packet_topology_read(struct sc_context *ctx,
                                   const char *path,
                                   struct sc__packet_topology *out) {
    struct sc__packet_words w = {0};
    memset(out, 0, sizeof *out);
    out->file = path;
    SC__TRY(sc__input_open(ctx, path, &w.in));
    sc_status status = read_topology(&w, out);
    sc__input_close(&w.in);
    return status;
}
