/* cluster_ibnetdiscover: an InfiniBand fabric as ibnetdiscover writes it, link by link.
 *
 *     switchguid=0x…(…)
 *     Switch  40 "S-b8ce…"          # "MF0;leaf-1:MQM8790/U1" enhanced port 0 lid 1 lmc 0
 *     [1]  "H-0c42…"[1](c42a…)      # "node01 mlx5_0" lid 5 4xHDR
 *     [21] "S-b8cf…"[1]             # "MF0;spine-1:MQM8790/U1" lid 2 4xHDR
 *
 * Both ends of a cable list it. The blocks of switches have all that is needed: the
 * comment of a line to an adapter names its host. A GPU beside each port of a host that
 * has as many ports as most hosts have; what joins the GPUs of a host is not in it. */
#include "base/hash.h"
#include "base/sort.h"
#include "hardware/cluster_fields.h"

#include <string.h>

#define IB_MOST (1u << 20) /* cables */
#define IB_PORTS 65536u    /* of a switch */

/* A line of a switch. */
struct ib_cable {
    uint32_t from; /* switch */
    uint32_t port;
    struct sc__str to; /* "H-…", "S-…" */
    uint32_t to_port;
    struct sc__str name; /* of the other end, as the comment has it */
    double rate;
    uint64_t line;
};

struct ib_port {
    struct sc__str host;
    struct sc__str name;
    struct sc__str id;
    uint32_t number;
    uint32_t leaf; /* switch */
    double rate;
};

struct ib_reader {
    struct sc_context *ctx;
    const char *file;
    struct sc__str line;
    uint64_t number; /* of the line */
    struct sc__names switches;
    struct sc__names adapters; /* their ports, "H-…[1]" */
    uint32_t *seen;            /* by port: the switches up to the last one that has it */
    bool in_switch;
    bool begun;
    struct ib_cable *cables;
    uint32_t cable_count;
    uint32_t cable_capacity;
    struct ib_port *ports;
    uint32_t port_count;
    uint32_t port_capacity;
    uint32_t aggregation; /* adapters inside switches (SHARP) */
};

static sc_status ib_fail(const struct ib_reader *r, uint64_t line, const char *what) {
    struct sc__place at = {.file = r->file, .line = line, .column = line ? 1 : 0};
    return sc__fail(r->ctx, SC_INPUT, &at, NULL, "%s", what);
}

/* What stands between the next two quotes. */
static bool ib_quoted(struct sc__str *rest, struct sc__str *out) {
    struct sc__str before;
    sc__split(rest, '"', &before);
    return rest->p && sc__split(rest, '"', out) && rest->p;
}

/* "[12]" at the beginning of *rest. */
static bool ib_bracket(struct sc__str *rest, uint32_t *out) {
    struct sc__str number;
    if (!rest->n || rest->p[0] != '[')
        return false;
    *rest = (struct sc__str){rest->p + 1, rest->n - 1};
    return sc__split(rest, ']', &number) && rest->p && sc__parse_u32(number, out);
}

/* Data of a lane, Gb/s, as InfiniBand's specification has it: the older ones send 8 of 10
 * bits, FDR and EDR 64 of 66. */
static double lane_rate(struct sc__str speed) {
    static const struct {
        const char *name;
        double gbps;
    } lanes[] = {{"SDR", 2},
                 {"DDR", 4},
                 {"QDR", 8},
                 {"FDR10", 10},
                 {"FDR", 13.64},
                 {"EDR", 25},
                 {"HDR", 50},
                 {"NDR", 100},
                 {"XDR", 200}};
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (sc__str_is(speed, lanes[i].name))
            return lanes[i].gbps;
    return 0;
}

/* "4xHDR", the last word of a line; 0 where it is none. */
static double ib_rate(struct sc__str line) {
    size_t n = line.n;
    while (n && line.p[n - 1] != ' ' && line.p[n - 1] != '\t')
        n--;
    struct sc__str speed = {line.p + n, line.n - n};
    struct sc__str width;
    uint32_t lanes;
    if (!sc__split(&speed, 'x', &width) || !speed.p || !sc__parse_u32(width, &lanes) ||
        !lanes || lanes > 12)
        return 0;
    return lanes * lane_rate(speed) * 1e9 / 8;
}

/* Ports of directors: "[1][ext 3]". */
static void skip_external(struct sc__str *rest) {
    struct sc__str part;
    if (sc__str_starts(*rest, "[ext"))
        sc__split(rest, ']', &part);
}

static sc_status read_cable(struct ib_reader *r) {
    struct sc__str rest = sc__trim(r->line);
    struct ib_cable c = {.from = r->switches.count - 1, .line = r->number};
    if (!ib_bracket(&rest, &c.port))
        return ib_fail(r, r->number, "a line of a switch begins with '[port]'");
    if (c.port >= IB_PORTS || r->seen[c.port] == r->switches.count)
        return ib_fail(r, r->number, "this port of the switch stands there twice");
    r->seen[c.port] = r->switches.count;
    skip_external(&rest);
    if (!ib_quoted(&rest, &c.to) || !ib_bracket(&rest, &c.to_port))
        return ib_fail(r, r->number, "what the port leads to is not '\"id\"[port]'");
    if (!ib_quoted(&rest, &c.name))
        c.name = (struct sc__str){"", 0};
    c.rate = ib_rate(sc__trim(r->line));
    if (!(c.rate > 0))
        return ib_fail(r,
                       r->number,
                       "width and speed of the link (4xHDR) do not end the line");
    if (r->cable_count == IB_MOST)
        return ib_fail(r, r->number, "more links than are read");
    *SC__PUSH(&r->ctx->arena, r->cables, r->cable_count, r->cable_capacity) = c;
    return SC_OK;
}

static sc_status open_switch(struct ib_reader *r) {
    struct sc__str rest = r->line;
    struct sc__str id;
    if (!ib_quoted(&rest, &id))
        return ib_fail(r, r->number, "a switch has no id: Switch 40 \"S-…\"");
    if (sc__names_find(&r->switches, id.p, id.n) != SC__NO_NAME)
        return ib_fail(r, r->number, "this switch stands there twice");
    sc__names_add(&r->switches, id.p, id.n);
    r->in_switch = true;
    return SC_OK;
}

/* "Ca      2 …", and not "CA:" or "Switch:" of iblinkinfo, which people print before it. */
static bool ib_begins(struct sc__str line, const char *word) {
    size_t n = strlen(word);
    return sc__str_starts(line, word) && line.n > n &&
           (line.p[n] == ' ' || line.p[n] == '\t');
}

/* "devid=0x673c" */
static bool ib_attribute(struct sc__str line) {
    struct sc__str key;
    return sc__split(&line, '=', &key) && line.p && key.n && !memchr(key.p, ' ', key.n) &&
           sc__str_starts(line, "0x");
}

static sc_status read_ib_line(struct ib_reader *r) {
    struct sc__str line = sc__trim(r->line);
    if (!line.n || line.p[0] == '#')
        return SC_OK;
    if (sc__str_starts(line, "```")) { /* the fence of Markdown: text follows */
        r->begun = r->in_switch = false;
        return SC_OK;
    }
    if (ib_begins(line, "Switch")) {
        r->begun = true;
        return open_switch(r);
    }
    if (line.p[0] == '[' && r->in_switch)
        return read_cable(r);
    bool other = ib_begins(line, "Ca") || ib_begins(line, "Rt");
    if (other || ib_attribute(line)) {
        r->begun = true;
        r->in_switch = false;
        return SC_OK;
    }
    if (line.p[0] == '[' || !r->begun || sc__str_starts(line, "Non-Chassis") ||
        sc__str_starts(line, "Chassis") || sc__str_starts(line, "DR path"))
        return SC_OK;
    return ib_fail(r, r->number, "this line is none of ibnetdiscover's");
}

/* --- hosts ------------------------------------------------------------- */

/* "node01 mlx5_0": the first word. Adapters that nobody named are hosts of their own. */
static struct sc__str host_of(const struct ib_cable *c) {
    struct sc__str rest = sc__trim(c->name);
    struct sc__str host;
    if (!rest.n || sc__find_word(rest.p, rest.n, "Mellanox Technologies"))
        return c->to;
    sc__split(&rest, ' ', &host);
    return host;
}

static int compare_ports(const void *left, const void *right, void *self) {
    const struct ib_port *a = left;
    const struct ib_port *b = right;
    (void)self;
    int order = sc__compare_names(a->host, b->host);
    if (!order)
        order = sc__compare_names(a->name, b->name);
    if (!order)
        order = sc__compare_names(a->id, b->id);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static sc_status add_port(struct ib_reader *r, const struct ib_cable *c) {
    if (sc__find_word(c->name.p, c->name.n, "Aggregation Node")) {
        r->aggregation++;
        return SC_OK;
    }
    const char *port = sc__format(&r->ctx->arena,
                                  "%.*s[%u]",
                                  (int)(c->to.n < 1000 ? c->to.n : 1000),
                                  c->to.p,
                                  c->to_port);
    if (sc__names_add(&r->adapters, port, strlen(port)) != r->port_count)
        return ib_fail(r,
                       c->line,
                       "this port of the adapter is joined to another switch too");
    *SC__PUSH(&r->ctx->arena, r->ports, r->port_count, r->port_capacity) =
        (struct ib_port){.host = host_of(c),
                         .name = c->name,
                         .id = c->to,
                         .number = c->to_port,
                         .leaf = c->from,
                         .rate = c->rate};
    return SC_OK;
}

/* Ports of the host that begins at `first`, in the sorted list. */
static uint32_t ports_of_host(const struct ib_reader *r, uint32_t first) {
    uint32_t n = 1;
    while (first + n < r->port_count &&
           !sc__compare_names(r->ports[first + n].host, r->ports[first].host))
        n++;
    return n;
}

/* Slower ports of a host are for storage and management. */
static void drop_slower_ports(struct ib_reader *r) {
    uint32_t kept = 0;
    uint32_t all = r->port_count;
    for (uint32_t first = 0, n; first < all; first += n) {
        double most = 0;
        n = ports_of_host(r, first);
        for (uint32_t i = first; i < first + n; i++)
            most = r->ports[i].rate > most ? r->ports[i].rate : most;
        for (uint32_t i = first; i < first + n; i++)
            if (r->ports[i].rate >= most)
                r->ports[kept++] = r->ports[i];
    }
    if (kept < all)
        sc__note(r->ctx,
                 "ib-slower-ports",
                 "%s: %u ports slower than others of their host are left out",
                 r->file,
                 all - kept);
    r->port_count = kept;
}

/* The number of ports that most hosts have, the larger where two are as frequent. */
static uint32_t usual_ports(const struct ib_reader *r, uint32_t *hosts) {
    uint32_t *count = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, (uint64_t)r->port_count + 1);
    uint32_t usual = 1;
    *hosts = 0;
    for (uint32_t first = 0; first < r->port_count;) {
        uint32_t n = ports_of_host(r, first);
        count[n]++;
        (*hosts)++;
        first += n;
    }
    for (uint32_t n = 1; n <= r->port_count; n++)
        if (count[n] >= count[usual])
            usual = n;
    return usual;
}

static void keep_usual_hosts(struct ib_reader *r, struct sc__cluster *out) {
    uint32_t hosts;
    uint32_t kept = 0;
    out->node_gpus = usual_ports(r, &hosts);
    for (uint32_t first = 0, n; first < r->port_count; first += n) {
        n = ports_of_host(r, first);
        if (n != out->node_gpus)
            continue;
        memmove(r->ports + kept, r->ports + first, n * sizeof *r->ports);
        kept += n;
    }
    if (kept / out->node_gpus < hosts)
        sc__note(r->ctx,
                 "ib-other-hosts",
                 "%s: %u of %u hosts have another number of ports than %u and are left out",
                 r->file,
                 hosts - kept / out->node_gpus,
                 hosts,
                 out->node_gpus);
    r->port_count = kept;
    out->gpus = kept;
}

/* --- links ------------------------------------------------------------- */

static void add_link(const struct ib_reader *r,
                     struct sc__cluster *out,
                     uint32_t a,
                     uint32_t b,
                     double rate) {
    struct sc__fabric *f = &out->fabric;
    *SC__PUSH(&r->ctx->arena, f->links, f->link_count, f->link_capacity) =
        (struct sc__fabric_link){.a = a, .b = b, .rate = rate};
}

/* Each cable between switches once; both ends must list it. */
static sc_status join_switches(const struct ib_reader *r, struct sc__cluster *out) {
    uint32_t first = out->gpus + out->fabric.nvswitches;
    uint32_t *listed =
        SC__NEW_ARRAY(&r->ctx->arena, uint32_t, (uint64_t)r->switches.count + 1);
    for (uint32_t i = 0; i < r->cable_count; i++) {
        const struct ib_cable *c = &r->cables[i];
        uint32_t to = sc__names_find(&r->switches, c->to.p, c->to.n);
        if (!sc__str_starts(c->to, "S-"))
            continue;
        if (to == SC__NO_NAME)
            return ib_fail(r,
                           c->line,
                           "the link leads to a switch that is not listed: is the file "
                           "cut off?");
        listed[c->from] += c->from < to;
        listed[to] -= c->from > to;
        if (c->from < to)
            add_link(r, out, first + c->from, first + to, c->rate);
    }
    for (uint32_t s = 0; s < r->switches.count; s++)
        if (listed[s])
            return ib_fail(r,
                           0,
                           sc__format(&r->ctx->arena,
                                      "links of switch %s are listed by one end only: is "
                                      "the file cut off?",
                                      r->switches.text[s]));
    return SC_OK;
}

/* The GPUs of the time; --cluster "FILE gpu=NAME" says which they are. */
static const char *gpu_beside(double rate) {
    double gbps = rate * 8 / 1e9;
    return gbps >= 800   ? "b200"
           : gbps >= 400 ? "h100-sxm"
           : gbps >= 200 ? "a100-80"
                         : "v100";
}

static sc_status build_fabric(const struct ib_reader *r, struct sc__cluster *out) {
    out->fabric.kind = SC__FABRIC_LINKS;
    out->fabric.class = "ib";
    out->fabric.switches = r->switches.count;
    out->fabric.nvswitches = out->node_gpus > 1 ? out->gpus / out->node_gpus : 0;
    uint32_t first = out->gpus + out->fabric.nvswitches;
    for (uint32_t gpu = 0; gpu < out->gpus; gpu++) {
        add_link(r, out, gpu, first + r->ports[gpu].leaf, r->ports[gpu].rate);
        if (out->node_gpus > 1)
            add_link(r, out, gpu, out->gpus + gpu / out->node_gpus, 0);
    }
    SC__TRY(join_switches(r, out));
    sc__cluster_sum_links(r->ctx, out);
    return SC_OK;
}

sc_status sc__cluster_ibnetdiscover(struct sc_context *ctx,
                                    const char *file,
                                    struct sc__str text,
                                    struct sc__cluster *out) {
    struct ib_reader r = {.ctx = ctx, .file = file};
    memset(out, 0, sizeof *out);
    r.seen = SC__NEW_ARRAY(&ctx->arena, uint32_t, IB_PORTS);
    sc__names_init(&r.switches, &ctx->arena);
    sc__names_init(&r.adapters, &ctx->arena);
    while (sc__split(&text, '\n', &r.line)) {
        r.number++;
        SC__TRY(read_ib_line(&r));
    }
    for (uint32_t i = 0; i < r.cable_count; i++)
        if (sc__str_starts(r.cables[i].to, "H-"))
            SC__TRY(add_port(&r, &r.cables[i]));
    if (!r.port_count)
        return ib_fail(&r, 0, "no switch in it leads to an adapter ([1] \"H-…\"[1])");
    sc__sort(r.ports, r.port_count, sizeof *r.ports, compare_ports, NULL);
    drop_slower_ports(&r);
    keep_usual_hosts(&r, out);
    out->name = file;
    out->source = "ibnetdiscover";
    out->gpu = gpu_beside(r.ports[0].rate);
    SC__TRY(build_fabric(&r, out));
    sc__note(ctx,
             "ib-hosts",
             "%s: %u hosts of %u ports, a GPU beside each port; the GPUs are not in it: %s "
             "by the speed of the ports (--cluster \"%s gpu=NAME\")",
             file,
             out->gpus / out->node_gpus,
             out->node_gpus,
             out->gpu,
             file);
    return SC_OK;
}
