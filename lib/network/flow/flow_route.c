/* Routes: one path out of several, or all of them at once.
 *
 *   dmodk      the path is numbered by the destination (its place on its leaf, with rails)
 *   ecmp       by splitmix64(seed ^ (from << 32 | to))
 *   adaptive   the path whose busiest link has the fewest routes per capacity so far
 *              (packets: at every switch the shortest queue)
 *   spray      all paths, an equal part of the flow on each
 *   flowlet    packets only: another path after a gap
 *
 * A path with a failed link is passed over: the next whole one is taken. */
#include "network/flow/flow_graph.h"

#include <math.h>
#include <string.h>

#define LONGEST 256
#define LONGEST_GAP ((int64_t)1000000000000) /* ps */

static sc_status
parse_gap(struct sc_context *ctx, const char *text, struct sc__str rest, int64_t *gap) {
    if (sc__parse_time(rest, gap) && *gap > 0 && *gap <= LONGEST_GAP)
        return SC_OK;
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    "flowlet:GAP takes a time up to 1 s, for instance flowlet:50us",
                    "route '%s'",
                    text);
}

sc_status
sc__route_parse(struct sc_context *ctx, const char *text, struct sc__route_policy *out) {
    static const char *const words[] =
        {"dmodk", "ecmp", "adaptive", "spray", "flowlet", NULL};
    struct sc__str rest = sc__str(text);
    struct sc__str word = {NULL, 0};
    unsigned kind = 0;
    sc__split(&rest, ':', &word);
    while (words[kind] && !sc__str_is(word, words[kind]))
        kind++;
    if (!words[kind])
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "one of: dmodk, ecmp, ecmp:SEED, adaptive, spray, flowlet:GAP",
                        "unknown route '%s'",
                        text);
    *out = (struct sc__route_policy){.kind = (enum sc__route_kind)kind, .seed = 1};
    if (kind == SC__ROUTE_FLOWLET)
        return parse_gap(ctx, text, rest, &out->gap);
    if (text[word.n] == ':' && (kind != SC__ROUTE_ECMP || !sc__parse_u64(rest, &out->seed)))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "ecmp:SEED takes a whole number",
                        "route '%s'",
                        text);
    return SC_OK;
}

uint32_t sc__graph_room(const struct sc__graph *g, const struct sc__route_policy *p) {
    return g->planes *
           (p->kind == SC__ROUTE_SPRAY ? g->most_hops * g->most_paths : g->most_hops);
}

/* The path's links in a plane, and whether they all work. */
static bool take_path(const struct sc__graph *g,
                      uint32_t from,
                      uint32_t to,
                      uint32_t w,
                      uint32_t plane,
                      uint32_t *links,
                      uint32_t *count) {
    bool whole = true;
    *count = g->path(g, from, to, w, links);
    for (uint32_t i = 0; i < *count; i++) {
        if (plane && links[i] >= g->first_plane)
            links[i] += plane * g->plane_links;
        if (!sc__link_works(g, links[i]))
            whole = false;
    }
    return whole && *count;
}

/* Path number `first`, or the next one that is whole; 0 hops when none is. */
static uint32_t whole_path(const struct sc__graph *g,
                           uint32_t from,
                           uint32_t to,
                           uint64_t first,
                           uint32_t plane,
                           uint32_t *links) {
    uint32_t paths = g->paths(g, from, to);
    uint32_t n;
    for (uint32_t i = 0; i < paths; i++)
        if (take_path(g, from, to, (uint32_t)((first + i) % paths), plane, links, &n))
            return n;
    return 0;
}

/* Routes per capacity, with one more: a slow link is full before a fast one. */
static double busiest(const struct sc__graph *g, const uint32_t *links, uint32_t n) {
    double most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = fmax(most, (g->load[links[i]] + 1.0) / g->capacity[links[i]]);
    return most;
}

/* Ends (the first and the last link) are the same for all paths: only the
 * links between decide. */
static uint32_t least_loaded(
    struct sc__graph *g, uint32_t from, uint32_t to, uint32_t plane, uint32_t *best) {
    uint32_t links[LONGEST];
    uint32_t paths = g->paths(g, from, to);
    uint32_t found = 0;
    double least = INFINITY;
    uint32_t n;
    if (!g->load)
        g->load = SC__NEW_ARRAY(g->arena, uint32_t, g->links);
    for (uint32_t w = 0; w < paths; w++) {
        if (!take_path(g, from, to, (to + w) % paths, plane, links, &n))
            continue;
        double load = n > 2 ? busiest(g, links + 1, n - 2) : 0;
        if (load >= least)
            continue;
        least = load;
        found = n;
        memcpy(best, links, n * sizeof *links);
    }
    for (uint32_t i = 0; i < found; i++)
        g->load[best[i]]++;
    return found;
}

static void
add_load(struct sc__share_hop *hops, uint32_t *count, uint32_t link, double load) {
    uint32_t i = 0;
    while (i < *count && hops[i].link != link)
        i++;
    if (i == *count)
        hops[(*count)++] = (struct sc__share_hop){.link = link};
    hops[i].load += load;
}

static uint32_t spray(const struct sc__graph *g,
                      uint32_t from,
                      uint32_t to,
                      uint32_t plane,
                      struct sc__share_hop *hops,
                      uint32_t *count) {
    uint32_t links[LONGEST];
    uint32_t paths = g->paths(g, from, to);
    uint32_t alive = 0;
    uint32_t n;
    for (uint32_t w = 0; w < paths; w++)
        alive += take_path(g, from, to, w, plane, links, &n);
    for (uint32_t w = 0; w < paths; w++) {
        if (!take_path(g, from, to, w, plane, links, &n))
            continue;
        for (uint32_t i = 0; i < n; i++)
            add_load(hops, count, links[i], 1.0 / alive / g->planes);
    }
    return alive;
}

void sc__graph_path(struct sc__graph *g,
                    const struct sc__route_policy *p,
                    uint32_t from,
                    uint32_t to,
                    uint32_t plane,
                    uint32_t number,
                    uint32_t *links,
                    uint32_t *count) {
    uint64_t path = to / (g->leaf_stride ? g->leaf_stride : 1);
    uint64_t pair = (uint64_t)from << 32 | to;
    uint64_t seed = number ? sc__splitmix64(p->seed + number) : p->seed;
    if (p->kind == SC__ROUTE_ECMP)
        path = sc__splitmix64((seed + plane) ^ pair);
    if (p->kind == SC__ROUTE_SPRAY)
        path = number;
    if (p->kind == SC__ROUTE_ADAPTIVE)
        *count = least_loaded(g, from, to, plane, links);
    else
        *count = whole_path(g, from, to, path, plane, links);
}

static uint32_t single_path(struct sc__graph *g,
                            const struct sc__route_policy *p,
                            uint32_t from,
                            uint32_t to,
                            uint32_t plane,
                            struct sc__share_hop *hops,
                            uint32_t *count) {
    uint32_t links[LONGEST];
    uint32_t n;
    sc__graph_path(g, p, from, to, plane, 0, links, &n);
    for (uint32_t i = 0; i < n && g->planes == 1; i++)
        hops[(*count)++] = (struct sc__share_hop){links[i], 1};
    for (uint32_t i = 0; i < n && g->planes > 1; i++)
        add_load(hops, count, links[i], 1.0 / g->planes);
    return n;
}

sc_status sc__graph_route(struct sc_context *ctx,
                          struct sc__graph *g,
                          const struct sc__route_policy *p,
                          uint32_t from,
                          uint32_t to,
                          struct sc__share_hop *hops,
                          uint32_t *count) {
    *count = 0;
    if (p->kind == SC__ROUTE_FLOWLET)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "--net packet",
                        "--route flowlet needs packets");
    if (from >= g->ports || to >= g->ports)
        return sc__fail(ctx,
                        SC_INPUT,
                        NULL,
                        NULL,
                        "the fabric has the hosts 0 to %u; there is no host %u",
                        g->ports - 1,
                        from >= g->ports ? from : to);
    if (from == to)
        return SC_OK;
    for (uint32_t plane = 0; plane < g->planes; plane++) {
        uint32_t found = p->kind == SC__ROUTE_SPRAY
                             ? spray(g, from, to, plane, hops, count)
                             : single_path(g, p, from, to, plane, hops, count);
        if (!found)
            return sc__fail(
                ctx,
                SC_INPUT,
                NULL,
                "every path between them has a failed link; a GPU whose NIC is gone "
                "shares that of a neighbour, which is --degrade LINK=0.5 in both "
                "directions",
                "GPU %u cannot be reached from GPU %u",
                to,
                from);
    }
    return SC_OK;
}

#define NAMES_COMPARED 200000u /* links whose names are compared with a wrong one */

static const char *
link_name(const struct sc__graph *g, uint32_t link, struct sc__buffer *name) {
    name->size = 0;
    g->name(g, link, name);
    return name->text;
}

/* The link whose name a wrong one is most like, else a few examples. */
static const char *
near_links(struct sc_context *ctx, const struct sc__graph *g, const char *name) {
    struct sc__buffer b;
    struct sc__buffer candidate;
    const char *near = NULL;
    sc__buffer_init(&b, &ctx->arena);
    sc__buffer_init(&candidate, &ctx->arena);
    for (uint32_t i = 0; i < g->links && i < NAMES_COMPARED; i++) {
        const char *pair[3] = {near, link_name(g, i, &candidate), NULL};
        const char *best = sc__nearest(name, near ? pair : pair + 1);
        if (best && best != near)
            near = sc__strdup(&ctx->arena, best);
    }
    if (near)
        sc__printf(&b, "did you mean %s? ", near);
    sc__puts(&b, "links are named like ");
    for (uint32_t i = 0, step = g->links / 4 ? g->links / 4 : 1; i < g->links; i += step)
        sc__printf(&b, "%s%s", i ? ", " : "", link_name(g, i, &candidate));
    if (strstr(b.text, "port"))
        sc__puts(&b, "; port0.up and port0.down are those of the first NIC");
    return b.text;
}

static sc_status find_link(struct sc_context *ctx,
                           const struct sc__graph *g,
                           const char *name,
                           uint32_t *out) {
    struct sc__buffer candidate;
    sc__buffer_init(&candidate, &ctx->arena);
    for (uint32_t i = 0; i < g->links; i++)
        if (!strcmp(link_name(g, i, &candidate), name)) {
            *out = i;
            return SC_OK;
        }
    return sc__fail(ctx,
                    SC_USAGE,
                    NULL,
                    near_links(ctx, g, name),
                    "the fabric has no link '%s'",
                    name);
}

sc_status sc__graph_fail(struct sc_context *ctx, struct sc__graph *g, const char *link) {
    uint32_t id = 0;
    SC__TRY(find_link(ctx, g, link, &id));
    g->capacity[id] = 0;
    return SC_OK;
}

sc_status sc__graph_degrade(struct sc_context *ctx,
                            struct sc__graph *g,
                            const char *link,
                            double factor) {
    uint32_t id = 0;
    SC__TRY(find_link(ctx, g, link, &id));
    if (!(factor > 0 && factor <= 1))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "to take it out of service write --fail",
                        "link '%s' scaled by %g: a factor above 0, up to 1",
                        link,
                        factor);
    if (!g->undegraded) {
        g->undegraded = SC__NEW_ARRAY(g->arena, double, g->links);
        memcpy(g->undegraded, g->capacity, g->links * sizeof *g->capacity);
    }
    g->capacity[id] *= factor;
    return SC_OK;
}
