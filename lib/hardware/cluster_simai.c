/* cluster_simai: SimAI's topology files, and those of ns-3 (HPCC, ASTRA-sim's ns-3), of
 * which they are a dialect.
 *
 *     24 8 2 6 40 H100          devices, GPUs a server, NVSwitches, switches, links, GPU
 *     16 17 18 19 …             ids of the switches, NVSwitches first
 *     0 16 2880Gbps 0.000025ms 0  from, to, rate, delay, error rate
 *
 *     18 1 0 2 17 X000 1        ns3-msccl: the same, and GPUs a node once more
 *     41 25 52                  ns-3: nodes, switches, links
 *
 * SimAI's GPUs are 0 … G-1; ns3-msccl's and ns-3's are the nodes that are no switches.
 * Which of ns-3's switches join the GPUs of a server is read off the links. The links
 * become an explicit fabric; what the collective model wants to know beyond them (NVLink,
 * NICs, leaves and what is above them) is read off the links. */
#include "hardware/cluster_fields.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct cluster_simai_reader {
    struct sc_context *ctx;
    const char *file;
    struct sc__str rest;
    struct sc__str line;
    uint64_t number; /* of the line */
    struct sc__cluster *out;
    uint32_t devices;
    uint32_t links;
    uint32_t *device_of; /* by id */
    bool ns3;
    bool any_ids;       /* GPUs are the devices that are no switches, whatever their ids */
    double most_errors; /* of a link */
};

static sc_status fail_at(const struct cluster_simai_reader *r,
                         const char *at,
                         const char *hint,
                         const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));

static sc_status fail_at(const struct cluster_simai_reader *r,
                         const char *at,
                         const char *hint,
                         const char *fmt,
                         ...) {
    struct sc__place place = {.file = r->file,
                              .line = r->number,
                              .column = (uint64_t)(at - r->line.p) + 1};
    struct sc__buffer b;
    va_list ap;
    sc__buffer_init(&b, &r->ctx->arena);
    va_start(ap, fmt);
    sc__vprintf(&b, fmt, ap);
    va_end(ap);
    return sc__fail(r->ctx, SC_INPUT, &place, hint, "%s", b.text);
}

static bool cluster_simai_next_line(struct cluster_simai_reader *r) {
    while (sc__split(&r->rest, '\n', &r->line)) {
        r->number++;
        if (sc__trim(r->line).n)
            return true;
    }
    return false;
}

static const char *gpu_name(struct sc_context *ctx, struct sc__str word) {
    char *name = sc__strndup(&ctx->arena, word.p, word.n);
    for (char *p = name; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return name;
}

static uint32_t words_of(struct sc__str rest) {
    struct sc__str word;
    uint32_t n = 0;
    while (sc__next_word(&rest, &word))
        n++;
    return n;
}

static sc_status read_ns3_header(struct cluster_simai_reader *r) {
    struct sc__cluster *c = r->out;
    uint32_t *const field[3] = {&r->devices, &c->fabric.switches, &r->links};
    struct sc__str rest = r->line;
    struct sc__str word;
    r->ns3 = r->any_ids = true;
    for (int i = 0; i < 3; i++)
        if (!sc__next_word(&rest, &word) || !sc__parse_u32(word, field[i]) ||
            *field[i] > 1u << 28)
            return fail_at(r,
                           word.p,
                           "line 1: nodes, switches, links",
                           "not a topology file: field %d of line 1 is not a count",
                           i + 1);
    if (c->fabric.switches >= r->devices)
        return fail_at(r,
                       r->line.p,
                       "line 1: nodes, switches, links",
                       "%u nodes leave no GPUs beside %u switches",
                       r->devices,
                       c->fabric.switches);
    if ((uint64_t)r->links + 1 < r->devices) /* and memory follows the size of the file */
        return fail_at(r,
                       r->line.p,
                       NULL,
                       "%u links cannot join %u nodes",
                       r->links,
                       r->devices);
    c->gpus = r->devices - c->fabric.switches;
    c->node_gpus = 1; /* until the links are read */
    return SC_OK;
}

/* GPUs a node, behind the GPU type: what the second field says. */
static sc_status read_node_gpus(struct cluster_simai_reader *r, struct sc__str rest) {
    struct sc__str word;
    uint32_t gpus;
    if (!sc__next_word(&rest, &word))
        return SC_OK;
    if (sc__trim(rest).n)
        return fail_at(r,
                       rest.p,
                       "line 1: devices, GPUs a server, NVSwitches, switches, links, GPU "
                       "type, and perhaps GPUs a node",
                       "line 1 has more than seven fields");
    if (!sc__parse_u32(word, &gpus) || gpus != r->out->node_gpus)
        return fail_at(r,
                       word.p,
                       NULL,
                       "line 1 says %u GPUs a server, and '%.*s' a node",
                       r->out->node_gpus,
                       SC__SHOW(word));
    r->any_ids = true;
    return SC_OK;
}

static sc_status cluster_simai_read_header(struct cluster_simai_reader *r) {
    static const char *const hint =
        "line 1: devices, GPUs a server, NVSwitches, switches, links, GPU type";
    struct sc__cluster *c = r->out;
    uint32_t *const field[5] = {&r->devices,
                                &c->node_gpus,
                                &c->fabric.nvswitches,
                                &c->fabric.switches,
                                &r->links};
    struct sc__str rest;
    struct sc__str word = {0};
    if (!cluster_simai_next_line(r)) {
        struct sc__place at = {.file = r->file};
        return sc__fail(r->ctx, SC_INPUT, &at, hint, "the file is empty");
    }
    if (words_of(r->line) == 3)
        return read_ns3_header(r);
    rest = r->line;
    for (int i = 0; i < 5; i++)
        if (!sc__next_word(&rest, &word) || !sc__parse_u32(word, field[i]) ||
            *field[i] > 1u << 28)
            return fail_at(r,
                           word.p ? word.p : r->line.p,
                           hint,
                           "not a topology file: field %d of line 1 is not a count",
                           i + 1);
    if (!sc__next_word(&rest, &word))
        return fail_at(r, r->line.p, hint, "line 1 names no GPU type");
    c->gpu = gpu_name(r->ctx, word);
    SC__TRY(read_node_gpus(r, rest));
    if (!c->node_gpus || (uint64_t)c->fabric.nvswitches + c->fabric.switches >= r->devices)
        return fail_at(r,
                       r->line.p,
                       hint,
                       "%u devices leave no GPUs beside %u NVSwitches and %u switches",
                       r->devices,
                       c->fabric.nvswitches,
                       c->fabric.switches);
    c->gpus = r->devices - c->fabric.nvswitches - c->fabric.switches;
    return SC_OK;
}

/* The GPUs are those that no one called a switch, in their order. */
static sc_status number_hosts(struct cluster_simai_reader *r) {
    uint32_t host = 0;
    for (uint32_t id = 0; id < r->devices; id++)
        if (r->device_of[id] == UINT32_MAX)
            r->device_of[id] = host++;
    return SC_OK;
}

static sc_status
take_switch(struct cluster_simai_reader *r, struct sc__str word, uint32_t count) {
    uint32_t id;
    bool known = sc__parse_u32(word, &id) && id < r->devices;
    if (!known || (!r->any_ids && id < r->out->gpus))
        return fail_at(r,
                       word.p,
                       r->any_ids ? NULL : "GPUs have the first ids, switches the others",
                       "'%.*s' is not the id of a switch",
                       SC__SHOW(word));
    if (r->device_of[id] != UINT32_MAX)
        return fail_at(r, word.p, NULL, "switch %u is named twice", id);
    r->device_of[id] = r->out->gpus + count;
    return SC_OK;
}

/* A link has a rate where a list of switches has another id. */
static bool is_link(struct sc__str line) {
    struct sc__str word = {0};
    uint32_t id;
    for (int i = 0; i < 3; i++)
        if (!sc__next_word(&line, &word))
            return false;
    return !sc__parse_u32(word, &id);
}

/* On a line, or on several: the tools that read these files look at words alone. */
static sc_status read_switches(struct cluster_simai_reader *r) {
    uint32_t switches = r->devices - r->out->gpus;
    uint32_t count = 0;
    struct sc__str rest;
    struct sc__str word;
    r->device_of = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->devices);
    for (uint32_t i = 0; i < r->devices; i++)
        r->device_of[i] = i < r->out->gpus && !r->any_ids ? i : UINT32_MAX;
    while (count < switches) {
        if (!cluster_simai_next_line(r))
            return fail_at(r, r->line.p, NULL, "the ids of the switches are missing");
        if (count && is_link(r->line))
            break;
        for (rest = r->line; sc__next_word(&rest, &word); count++)
            SC__TRY(take_switch(r, word, count));
    }
    if (count != switches)
        return fail_at(r,
                       r->line.p,
                       NULL,
                       "%u switches are named, line 1 says %u",
                       count,
                       switches);
    return number_hosts(r);
}

static sc_status read_link(struct cluster_simai_reader *r) {
    struct sc__fabric *f = &r->out->fabric;
    struct sc__str rest = r->line;
    struct sc__str word[5];
    uint32_t a;
    uint32_t b;
    double errors;
    struct sc__fabric_link link;
    for (int i = 0; i < 5; i++)
        if (!sc__next_word(&rest, &word[i]))
            return fail_at(r,
                           r->line.p,
                           "a link is: from to rate delay error-rate",
                           "the link has %d fields",
                           i);
    if (sc__trim(rest).n)
        return fail_at(r, rest.p, NULL, "a link has five fields");
    if (!sc__parse_u32(word[0], &a) || !sc__parse_u32(word[1], &b) || a >= r->devices ||
        b >= r->devices)
        return fail_at(r,
                       word[0].p,
                       NULL,
                       "a link joins two of the %u devices",
                       r->devices);
    if (!sc__parse_rate(word[2], &link.rate) || !(link.rate > 0))
        return fail_at(r,
                       word[2].p,
                       "write it like 400Gbps",
                       "'%.*s' is not a rate above 0",
                       SC__SHOW(word[2]));
    if (!sc__parse_time(word[3], &link.latency) || link.latency < 0)
        return fail_at(r,
                       word[3].p,
                       "write it like 0.0005ms",
                       "'%.*s' is not a delay",
                       SC__SHOW(word[3]));
    if (!sc__parse_double(word[4], &errors) || errors < 0 || errors >= 1)
        return fail_at(r,
                       word[4].p,
                       NULL,
                       "'%.*s' is not an error rate",
                       SC__SHOW(word[4]));
    r->most_errors = fmax(r->most_errors, errors);
    link.a = r->device_of[a];
    link.b = r->device_of[b];
    *SC__PUSH(&r->ctx->arena, f->links, f->link_count, f->link_capacity) = link;
    return SC_OK;
}

/* --- what the links say --------------------------------------------------- */

static bool is_nvswitch(const struct sc__cluster *c, uint32_t device) {
    return device >= c->gpus && device < c->gpus + c->fabric.nvswitches;
}

/* ---- ns-3: which switches are those of a server ---- */

struct switch_census {
    uint32_t hosts; /* it joins */
    uint32_t lowest;
    uint32_t highest;
    bool other;    /* it has a link to a switch */
    double slower; /* of its hosts' rates to it, the least */
};

static void count_link(const struct sc__cluster *c,
                       const struct sc__fabric_link *l,
                       struct switch_census *census) {
    uint32_t low = l->a < l->b ? l->a : l->b;
    uint32_t high = l->a ^ l->b ^ low;
    if (low >= c->gpus)
        census[low].other = true;
    if (high < c->gpus)
        return;
    struct switch_census *s = &census[high];
    if (low >= c->gpus) {
        s->other = true;
        return;
    }
    s->lowest = s->hosts && s->lowest < low ? s->lowest : low;
    s->highest = s->hosts && s->highest > low ? s->highest : low;
    s->slower = s->hosts && s->slower < l->rate ? s->slower : l->rate;
    s->hosts++;
}

/* A switch of a server joins GPUs alone, and faster than anything else does: each of
 * them has another, slower link. */
static bool joins_a_server(const struct sc__cluster *c,
                           const struct switch_census *census,
                           uint32_t device) {
    const struct switch_census *s = &census[device];
    if (device < c->gpus || s->other || s->hosts < 2)
        return false;
    for (uint32_t i = 0; i < c->fabric.link_count; i++) {
        const struct sc__fabric_link *l = &c->fabric.links[i];
        bool of_lowest = l->a == s->lowest || l->b == s->lowest;
        if (of_lowest && l->a != device && l->b != device && l->rate < s->slower)
            return true;
    }
    return false;
}

static sc_status unequal_servers(const struct cluster_simai_reader *r) {
    struct sc__place at = {.file = r->file};
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "give the file in SimAI's form, whose line 1 says how many GPUs a "
                    "server has",
                    "the switches that join the GPUs of a server do not join equal numbers "
                    "of consecutive ones");
}

/* The servers' switches go before the others. */
static sc_status find_servers(struct cluster_simai_reader *r) {
    struct sc__cluster *c = r->out;
    struct sc__fabric *f = &c->fabric;
    struct switch_census *census =
        SC__NEW_ARRAY(&r->ctx->arena, struct switch_census, r->devices);
    uint32_t *order = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->devices);
    uint32_t place = c->gpus;
    for (uint32_t i = 0; i < f->link_count; i++)
        count_link(c, &f->links[i], census);
    for (uint32_t d = c->gpus; d < r->devices; d++) {
        order[d] = UINT32_MAX;
        if (!joins_a_server(c, census, d))
            continue;
        order[d] = place++;
        uint32_t size = census[d].hosts;
        if ((c->node_gpus > 1 && c->node_gpus != size) || census[d].lowest % size ||
            census[d].highest - census[d].lowest + 1 != size || c->gpus % size)
            return unequal_servers(r);
        c->node_gpus = size;
    }
    f->nvswitches = place - c->gpus;
    f->switches -= f->nvswitches;
    for (uint32_t d = 0; d < r->devices; d++)
        if (d < c->gpus)
            order[d] = d;
        else if (order[d] == UINT32_MAX)
            order[d] = place++;
    for (uint32_t i = 0; i < f->link_count; i++) {
        f->links[i].a = order[f->links[i].a];
        f->links[i].b = order[f->links[i].b];
    }
    sc__note(r->ctx,
             "ns3-servers",
             "%s: %u GPUs a server, by the switches that join GPUs alone; the kind of GPU "
             "is not said (--gpu)",
             r->file,
             c->node_gpus);
    return SC_OK;
}

static bool joins(const struct sc__fabric_link *l, uint32_t from, uint32_t to) {
    bool forth = l->a >= from && l->a < to;
    bool back = l->b >= from && l->b < to;
    return forth || back;
}

/* An NVSwitch with a link to a switch, where no GPU has one, is the way out of its server:
 * a switch of the network like the others, which follow it in their numbers. */
static void name_switches(struct sc_context *ctx, const char *file, struct sc__cluster *c) {
    uint32_t first = c->gpus + c->fabric.nvswitches;
    uint32_t end = first + c->fabric.switches;
    bool way_out = false;
    for (uint32_t i = 0; i < c->fabric.link_count; i++) {
        const struct sc__fabric_link *l = &c->fabric.links[i];
        if (joins(l, first, end) && joins(l, 0, c->gpus))
            return;
        way_out |= joins(l, first, end) && joins(l, c->gpus, first);
    }
    if (!way_out)
        return;
    sc__note(ctx,
             "simai-nvswitch",
             "%s: the NVSwitches join the servers to the network, and are taken for its "
             "switches",
             file);
    c->fabric.switches += c->fabric.nvswitches;
    c->fabric.nvswitches = 0;
}

/* Without NVLink the GPUs of a server reach each other over their NICs like any others, and
 * are nodes of one GPU: what is known of NVSwitches must not be taken for their links. */
static void part_servers(struct sc_context *ctx, const char *file, struct sc__cluster *c) {
    for (uint32_t i = 0; i < c->fabric.link_count; i++) {
        const struct sc__fabric_link *l = &c->fabric.links[i];
        bool in_network = joins(l, c->gpus + c->fabric.nvswitches, UINT32_MAX);
        if (joins(l, 0, c->gpus) && !in_network)
            return;
    }
    if (c->node_gpus <= 1)
        return;
    sc__note(ctx,
             "simai-no-nvlink",
             "%s: no link joins the GPUs of a server, so that each of the %u is a node of "
             "its own and sends over its NIC alone",
             file,
             c->gpus);
    c->node_gpus = 1;
}

/* bytes/s of the links of a GPU to NVSwitches and GPUs, and to switches of the network. */
struct gpu_ports {
    double nvlink;
    double nic;
};

static void
add_link(const struct sc__cluster *c, struct gpu_ports *p, uint32_t other, double rate) {
    if (other < c->gpus || is_nvswitch(c, other))
        p->nvlink += rate;
    else
        p->nic += rate;
}

static struct gpu_ports *ports_of_gpus(struct sc_context *ctx,
                                       const struct sc__cluster *c) {
    struct gpu_ports *ports = SC__NEW_ARRAY(&ctx->arena, struct gpu_ports, c->gpus);
    for (uint32_t i = 0; i < c->fabric.link_count; i++) {
        const struct sc__fabric_link *l = &c->fabric.links[i];
        if (l->a < c->gpus)
            add_link(c, &ports[l->a], l->b, l->rate);
        if (l->b < c->gpus)
            add_link(c, &ports[l->b], l->a, l->rate);
    }
    return ports;
}

/* A collective waits for its slowest GPU. */
static void
take_slowest(struct sc_context *ctx, const struct gpu_ports *ports, struct sc__cluster *c) {
    struct gpu_ports first = ports[0];
    uint32_t other = 0;
    for (uint32_t g = 1; g < c->gpus; g++) {
        bool differs = ports[g].nvlink != first.nvlink || ports[g].nic != first.nic;
        if (differs && !other)
            other = g;
        if (ports[g].nvlink > 0)
            c->nvlink = fmin(c->nvlink, ports[g].nvlink);
        if (ports[g].nic > 0)
            c->nic = fmin(c->nic, ports[g].nic);
    }
    if (!other)
        return;
    sc__note(
        ctx,
        "links-differ",
        "GPUs have unlike links: GPU %u %.6g GB/s NVLink and %.6g GB/s NIC, GPU 0 %.6g "
        "and %.6g. The slowest of each counts for all; --net flow and packet have "
        "every link as it is",
        other,
        ports[other].nvlink / 1e9,
        ports[other].nic / 1e9,
        first.nvlink / 1e9,
        first.nic / 1e9);
}

/* GPUs forward nothing: one that only its node has a link to is cut off. */
static sc_status
find_cut_off(struct sc_context *ctx, const char *file, const struct sc__cluster *c) {
    struct sc__place at = {.file = file};
    const struct gpu_ports *ports = ports_of_gpus(ctx, c);
    bool network = false;
    for (uint32_t g = 0; g < c->gpus; g++)
        network |= ports[g].nic > 0;
    for (uint32_t g = 0; network && g < c->gpus; g++)
        if (!(ports[g].nic > 0))
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "GPUs do not forward: each needs a link to a switch",
                            "GPU %u has no link to the network, others have",
                            g);
    return SC_OK;
}

/* GPUs that are joined without an NVSwitch: by a link to every other of the node, else a
 * mesh as V100s have it. rate: bytes/s from GPU 0 to each. */
static enum sc__inside inside_of_links(const struct sc__cluster *c, const double *rate) {
    for (uint32_t g = 1; g < c->node_gpus; g++)
        if (g >= c->gpus || rate[g] <= 0 || rate[g] != rate[1])
            return SC__INSIDE_MESH;
    return SC__INSIDE_FULL;
}

/* What GPU 0 has stands for all: its links to NVSwitches (or GPUs) are its NVLink port,
 * those to switches the ports of its NIC. */
static void read_ports(struct sc_context *ctx, struct sc__cluster *c) {
    double *rate = SC__NEW_ARRAY(&ctx->arena, double, c->gpus);
    bool direct = false;
    uint32_t planes = 0;
    for (uint32_t i = 0; i < c->fabric.link_count; i++) {
        const struct sc__fabric_link *l = &c->fabric.links[i];
        if (l->a != 0 && l->b != 0)
            continue;
        uint32_t other = l->a ? l->a : l->b;
        if (other < c->gpus || is_nvswitch(c, other)) {
            c->nvlink += l->rate;
            c->nvlink_latency = l->latency;
            direct = direct || other < c->gpus;
            if (other < c->gpus)
                rate[other] += l->rate;
        } else {
            c->nic += l->rate;
            c->fabric.hop_latency = l->latency;
            planes++;
        }
    }
    if (direct)
        c->inside = inside_of_links(c, rate);
    c->fabric.planes = planes ? planes : 1;
    c->node_nics = planes ? c->node_gpus : 0;
}

/* The most oversubscribed leaf, and how many nodes lie below a leaf. */
static void read_leaves(struct sc_context *ctx, struct sc__cluster *c) {
    const struct sc__fabric *f = &c->fabric;
    uint32_t devices = c->gpus + f->nvswitches + f->switches;
    uint32_t nodes = 0;
    double *down = SC__NEW_ARRAY(&ctx->arena, double, devices);
    double *up = SC__NEW_ARRAY(&ctx->arena, double, devices);
    double worst = 1;
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < f->link_count; i++) {
        uint32_t low = f->links[i].a < f->links[i].b ? f->links[i].a : f->links[i].b;
        uint32_t high = f->links[i].a ^ f->links[i].b ^ low;
        if (is_nvswitch(c, high) || is_nvswitch(c, low) || high < c->gpus)
            continue;
        if (low < c->gpus) {
            down[high] += f->links[i].rate;
            if (first == UINT32_MAX)
                first = high;
            if (high == first && low % c->node_gpus == 0)
                nodes++;
        } else {
            up[low] += f->links[i].rate;
            up[high] += f->links[i].rate;
        }
    }
    for (uint32_t d = 0; d < devices; d++)
        if (down[d] > 0 && up[d] > 0 && down[d] / up[d] > worst)
            worst = down[d] / up[d];
    c->fabric.oversubscription = worst;
    c->fabric.leaf_nodes = nodes;
}

void sc__cluster_sum_links(struct sc_context *ctx, struct sc__cluster *c) {
    read_ports(ctx, c);
    take_slowest(ctx, ports_of_gpus(ctx, c), c);
    read_leaves(ctx, c);
}

static void note_errors(const struct cluster_simai_reader *r) {
    if (r->most_errors > 0)
        sc__note(r->ctx,
                 "link-errors",
                 "%s: links lose up to %.3g of their packets, which is not counted; --net "
                 "packet --cc-set ERROR_RATE_PER_LINK=%.3g loses as many on every link",
                 r->file,
                 r->most_errors,
                 r->most_errors);
}

sc_status sc__cluster_simai(struct sc_context *ctx,
                            const char *file,
                            struct sc__str text,
                            struct sc__cluster *out) {
    struct cluster_simai_reader r = {.ctx = ctx, .file = file, .rest = text, .out = out};
    memset(out, 0, sizeof *out);
    SC__TRY(cluster_simai_read_header(&r));
    SC__TRY(read_switches(&r));
    while (cluster_simai_next_line(&r))
        SC__TRY(read_link(&r));
    if (out->fabric.link_count != r.links)
        return fail_at(&r,
                       r.line.p ? r.line.p : text.p,
                       "is the file cut off?",
                       "%u links; line 1 says %u",
                       out->fabric.link_count,
                       r.links);
    if (r.ns3)
        SC__TRY(find_servers(&r));
    out->name = file;
    out->source = r.ns3 ? "topology file of ns-3" : "SimAI topology file";
    out->fabric.kind = SC__FABRIC_LINKS;
    name_switches(ctx, file, out);
    part_servers(ctx, file, out);
    SC__TRY(find_cut_off(ctx, file, out));
    sc__cluster_sum_links(ctx, out);
    note_errors(&r);
    sc__note(ctx,
             "simai-topology",
             "the GPU's rates are those of its links: %.6g GB/s NVLink, %.6g GB/s NIC",
             out->nvlink / 1e9,
             out->nic / 1e9);
    return SC_OK;
}
