/* cluster_nccl: NCCL's description of a node (NCCL_TOPO_DUMP_FILE) as a cluster of such
 * nodes: its GPUs, how they are joined, and its NICs. What lies between the nodes is not
 * in it.
 *
 *     <system version="1"><cpu …><pci … device="0x20b2" …>
 *       <gpu dev="0" sm="80" …><nvlink target="0000:c3:00.0" count="2" tclass="0x068000"/>
 *       <nic><net name="mlx5_0" dev="0" speed="200000" …/></nic>
 *
 * RCCL writes the same, with <xgmi …> for <nvlink …>. Clouds have files of the form for
 * NCCL to read (NCCL_TOPO_FILE), with what a virtual machine hides: <pci> of the GPUs and
 * NICs (classes 0x03…, 0x02…) below their switches. NVLinks and rates NCCL adds itself. */
#include "hardware/cluster_fields.h"

#include <string.h>

enum { MOST_NESTED = 64, MOST_GPUS = 1024 };

/* NVLinks of one GPU to one end: a GPU by its PCI address, or an NVSwitch. */
struct nccl_link {
    struct sc__str target;
    uint32_t gpu; /* in the order of the file */
    uint32_t count;
    bool to_gpu; /* by the class of the other end */
};

struct nccl_reader {
    struct sc_context *ctx;
    const char *file;
    struct sc__str text;
    struct sc__str rest;
    struct sc__str device; /* of the last <pci> */
    struct sc__str busid;  /* of it too */
    uint32_t gpus;
    uint32_t sm;
    struct sc__str address[MOST_GPUS]; /* on PCI, of the GPUs */
    struct nccl_link *ends;
    uint32_t end_count;
    uint32_t end_capacity;
    uint32_t links; /* NVLinks of the GPU that has fewest */
    uint32_t most_links;
    bool to_gpus;  /* some lead to GPUs, not to NVSwitches */
    bool too_many; /* as many to each GPU as a GPU has in all: NVSwitches join them */
    bool xgmi;     /* they are AMD's */
    bool by_class; /* there are no <gpu>: the classes of <pci> tell */
    bool to_read;  /* for NCCL to read: it does not say all */
    /* NICs of the fastest kind below a PCI switch that has GPUs, and of any place; those
     * beside the GPUs are for them, the others for storage */
    uint32_t near_nics;
    uint32_t nics;
    uint32_t nic_speed; /* Mb/s */
    uint32_t bridges;   /* of containers and virtual machines, which are no NICs */
    const char *gpu;
    struct sc__str open[MOST_NESTED]; /* names of the tags around */
    uint32_t nested;
    bool seen[MOST_GPUS]; /* by dev */
    uint32_t depth;       /* of <pci> in <pci> */
    uint32_t branch_gpus; /* below the outermost of them */
    uint32_t branch_nics;
};

static sc_status nccl_fail(const struct nccl_reader *r, const char *at, const char *what) {
    struct sc__place place = {.file = r->file, .line = 1, .column = 1};
    for (const char *p = r->text.p; p < at; p++) {
        place.line += *p == '\n';
        place.column = *p == '\n' ? 1 : place.column + 1;
    }
    return sc__fail(r->ctx, SC_INPUT, &place, NULL, "%s", what);
}

/* What stands between '<' and '>'; false at the end of the file. */
static sc_status next_tag(struct nccl_reader *r, struct sc__str *tag, bool *more) {
    const char *open = r->rest.n ? memchr(r->rest.p, '<', r->rest.n) : NULL;
    *more = open != NULL;
    if (!open)
        return SC_OK;
    size_t left = r->rest.n - (size_t)(open - r->rest.p);
    const char *close = memchr(open, '>', left);
    if (!close)
        return nccl_fail(r, open, "not XML: a '<' without its '>'; is the file cut off?");
    *tag = (struct sc__str){open + 1, (size_t)(close - open) - 1};
    r->rest = (struct sc__str){close + 1, left - (size_t)(close - open) - 1};
    return SC_OK;
}

static bool tag_is(struct sc__str tag, const char *name) {
    size_t n = strlen(name);
    return tag.n >= n && !memcmp(tag.p, name, n) &&
           (tag.n == n || tag.p[n] == ' ' || tag.p[n] == '/');
}

/* name="value"; empty where the tag does not have it. */
static struct sc__str attribute(struct sc__str tag, const char *name) {
    size_t n = strlen(name);
    for (size_t i = 1; i + n + 2 < tag.n; i++) {
        bool here = tag.p[i - 1] == ' ' && !memcmp(tag.p + i, name, n) &&
                    tag.p[i + n] == '=' && tag.p[i + n + 1] == '"';
        const char *begin = tag.p + i + n + 2;
        const char *end = here ? memchr(begin, '"', tag.n - i - n - 2) : NULL;
        if (end)
            return (struct sc__str){begin, (size_t)(end - begin)};
    }
    return (struct sc__str){"", 0};
}

static sc_status attribute_number(const struct nccl_reader *r,
                                  struct sc__str tag,
                                  const char *name,
                                  uint32_t *out) {
    struct sc__str value = attribute(tag, name);
    if (sc__parse_u32(value, out) && *out <= 100000000)
        return SC_OK;
    return nccl_fail(r,
                     tag.p,
                     sc__format(&r->ctx->arena,
                                "%s=\"%.*s\" is not a whole number",
                                name,
                                SC__SHOW(value)));
}

/* PCI ids of NVIDIA's and AMD's devices, as the PCI ID repository lists them. */
static const char *gpu_of_device(struct sc__str device) {
    static const struct {
        const char *device;
        const char *gpu;
    } devices[] = {
        {"0x1db1", "v100-16"},  {"0x1db5", "v100"},         {"0x20b0", "a100-40"},
        {"0x20b2", "a100-80"},  {"0x20b5", "a100-80-pcie"}, {"0x20f1", "a100-40-pcie"},
        {"0x20f3", "a800"},     {"0x2235", "a40"},          {"0x2324", "h800"},
        {"0x2329", "h20"},      {"0x2330", "h100-sxm"},     {"0x2331", "h100-pcie"},
        {"0x2335", "h200"},     {"0x2684", "rtx-4090"},     {"0x26b5", "l40"},
        {"0x2204", "rtx-3090"}, {"0x2230", "rtx-a6000"},    {"0x2236", "a10"},
        {"0x20b7", "a30"},      {"0x26b1", "rtx-6000-ada"}, {"0x27b8", "l4"},
        {"0x2b85", "rtx-5090"}, {"0x233b", "h200-nvl"},     {"0x26b9", "l40s"},
        {"0x1eb8", "t4"},       {"0x2237", "a10g"},         {"0x26ba", "l20"},
        {"0x2901", "b200"},     {"0x2941", "gb200"},        {"0x7408", "mi250x"},
        {"0x740c", "mi250x"},   {"0x74a1", "mi300x"},       {"0x74b5", "mi300x"},
        {"0x74a5", "mi325x"}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (sc__str_is_any_case(device, devices[i].device))
            return devices[i].gpu;
    return NULL;
}

/* bytes/s of an NVLink, one way, by compute capability: as NVIDIA specifies them. */
static double nvlink_rate(uint32_t sm) {
    return sm >= 100 ? 50e9 : sm == 86 ? 14.0625e9 : sm >= 70 ? 25e9 : 20e9;
}

/* NVLinks that a GPU has at most: V100, A100, H100 and B200. */
static uint32_t most_nvlinks(uint32_t sm) {
    return !sm ? UINT32_MAX : sm < 80 ? 6 : sm < 90 ? 12 : sm < 110 ? 18 : UINT32_MAX;
}

static void enter_pci(struct nccl_reader *r, struct sc__str tag) {
    if (!r->depth)
        r->branch_gpus = r->branch_nics = 0;
    if (tag.p[tag.n - 1] != '/')
        r->depth++;
}

static void leave_pci(struct nccl_reader *r) {
    r->depth--;
    if (!r->depth && r->branch_gpus)
        r->near_nics += r->branch_nics;
}

static struct sc__str tag_name(struct sc__str tag) {
    size_t n = 0;
    while (n < tag.n && !strchr(" \t\r\n/", tag.p[n]))
        n++;
    return (struct sc__str){tag.p, n};
}

static sc_status shut_tag(struct nccl_reader *r, struct sc__str name) {
    const struct sc__str *last = r->nested ? &r->open[r->nested - 1] : NULL;
    if (!last || last->n != name.n || memcmp(last->p, name.p, name.n))
        return nccl_fail(r,
                         name.p,
                         sc__format(&r->ctx->arena,
                                    "not XML: a </%.*s> without its <%.*s>",
                                    SC__SHOW(name),
                                    SC__SHOW(name)));
    r->nested--;
    return SC_OK;
}

/* Every tag has its end, in order. */
static sc_status nest_tag(struct nccl_reader *r, struct sc__str tag) {
    if (!tag.n || tag.p[0] == '?' || tag.p[0] == '!')
        return SC_OK;
    if (tag.p[0] == '/')
        return shut_tag(r, tag_name((struct sc__str){tag.p + 1, tag.n - 1}));
    if (tag.p[tag.n - 1] == '/')
        return SC_OK;
    if (r->nested == MOST_NESTED)
        return nccl_fail(r, tag.p, "tags nested deeper than 64");
    r->open[r->nested++] = tag_name(tag);
    return SC_OK;
}

/* The last <pci> is a GPU. */
static sc_status add_gpu(struct nccl_reader *r, struct sc__str tag) {
    const char *gpu = gpu_of_device(r->device);
    if (r->gpus && (!gpu != !r->gpu || (gpu && strcmp(gpu, r->gpu))))
        return nccl_fail(r, tag.p, "GPUs of several kinds in a node");
    if (r->gpus == MOST_GPUS)
        return nccl_fail(r, tag.p, "more than 1024 GPUs in a node");
    r->gpu = gpu;
    r->address[r->gpus++] = r->busid;
    r->branch_gpus++;
    return SC_OK;
}

static sc_status read_gpu_tag(struct nccl_reader *r, struct sc__str tag) {
    uint32_t dev;
    SC__TRY(attribute_number(r, tag, "dev", &dev));
    if (dev >= MOST_GPUS || r->seen[dev])
        return nccl_fail(r, tag.p, "this GPU's dev is another one's too, or too large");
    r->seen[dev] = true;
    SC__TRY(add_gpu(r, tag));
    r->to_read |= !attribute(tag, "sm").n;
    return attribute(tag, "sm").n ? attribute_number(r, tag, "sm", &r->sm) : SC_OK;
}

/* NICs of the fastest kind; Mb/s, 0: it is not said. */
static void add_nic(struct nccl_reader *r, uint32_t speed) {
    if (speed > r->nic_speed)
        r->nics = r->near_nics = r->branch_nics = 0;
    r->nic_speed = speed > r->nic_speed ? speed : r->nic_speed;
    r->nics += speed == r->nic_speed;
    r->branch_nics += speed == r->nic_speed;
}

/* Networks of containers and virtual machines on this node, which NCCL lists with the NICs
 * where it has nothing but sockets, at 10 Gb/s for want of a rate. */
static bool is_bridge(struct sc__str net) {
    static const char *const words[] = {"veth", "br-", "docker", "virbr", "vnet", "cni"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sc__str_starts(net, words[i]))
            return true;
    return false;
}

/* A device that only its class tells. */
static sc_status read_class(struct nccl_reader *r, struct sc__str tag) {
    struct sc__str class = attribute(tag, "class");
    if (sc__str_starts(class, "0x0302") || sc__str_starts(class, "0x0300"))
        return add_gpu(r, tag);
    if (sc__str_starts(class, "0x0200") || sc__str_starts(class, "0x0207"))
        add_nic(r, 0);
    return SC_OK;
}

/* To GPUs the class of the other end is 0x0302 or 0x0300, to NVSwitches 0x068000; links to
 * the CPU (POWER9, 0x068001) join no GPUs. */
static sc_status read_link_tag(struct nccl_reader *r, struct sc__str tag) {
    struct sc__str class = attribute(tag, "tclass");
    bool xgmi = tag_is(tag, "xgmi");
    bool gpu = xgmi || sc__str_starts(class, "0x0302") || sc__str_starts(class, "0x0300");
    uint32_t count;
    SC__TRY(attribute_number(r, tag, "count", &count));
    r->xgmi |= xgmi;
    if (sc__str_is(class, "0x068001"))
        return SC_OK;
    *SC__PUSH(&r->ctx->arena, r->ends, r->end_count, r->end_capacity) =
        (struct nccl_link){attribute(tag, "target"), r->gpus - 1, count, gpu};
    return SC_OK;
}

static sc_status read_tag(struct nccl_reader *r, struct sc__str tag) {
    uint32_t speed = 0;
    SC__TRY(nest_tag(r, tag));
    if (tag_is(tag, "pci")) {
        r->device = attribute(tag, "device");
        r->busid = attribute(tag, "busid");
        enter_pci(r, tag);
        if (r->by_class)
            SC__TRY(read_class(r, tag));
    }
    if (tag_is(tag, "/pci"))
        leave_pci(r);
    if (tag_is(tag, "gpu"))
        return read_gpu_tag(r, tag);
    if (r->gpus && (tag_is(tag, "xgmi") || tag_is(tag, "nvlink")))
        return read_link_tag(r, tag);
    if (tag_is(tag, "net") && is_bridge(attribute(tag, "name")))
        r->bridges++;
    else if (tag_is(tag, "net")) {
        if (attribute(tag, "speed").n)
            SC__TRY(attribute_number(r, tag, "speed", &speed));
        add_nic(r, speed);
    }
    return SC_OK;
}

/* The GPU at the other end of a link (r->gpus: an NVSwitch, or a GPU that is not in the
 * file, as in a container that has some of them). */
static uint32_t gpu_at_end(const struct nccl_reader *r, const struct nccl_link *l) {
    uint32_t gpu = 0;
    while (gpu < r->gpus && (!l->target.n || l->target.n != r->address[gpu].n ||
                             memcmp(l->target.p, r->address[gpu].p, l->target.n)))
        gpu++;
    return gpu;
}

static void count_links(struct nccl_reader *r) {
    uint32_t *links = SC__NEW_ARRAY(&r->ctx->arena, uint32_t, r->gpus);
    bool alike = true;
    for (uint32_t i = 0; i < r->end_count; i++) {
        const struct nccl_link *l = &r->ends[i];
        bool to_gpu = gpu_at_end(r, l) < r->gpus;
        r->to_gpus |= to_gpu || l->to_gpu;
        alike &= to_gpu && l->count == r->ends[0].count;
        if (to_gpu || !l->to_gpu)
            links[l->gpu] += l->count;
    }
    r->links = r->most_links = links[0];
    for (uint32_t g = 1; g < r->gpus; g++) {
        r->links = links[g] < r->links ? links[g] : r->links;
        r->most_links = links[g] > r->most_links ? links[g] : r->most_links;
    }
    r->too_many = alike && r->links > most_nvlinks(r->sm);
    if (r->too_many)
        r->links = r->most_links = r->ends[0].count;
}

/* Whether links from GPU to GPU lead from the first to all; *all: every pair has some. */
static bool links_reach_all(const struct nccl_reader *r, bool *all) {
    bool *reached = SC__NEW_ARRAY(&r->ctx->arena, bool, r->gpus);
    uint32_t count = 1;
    uint32_t before = 0;
    uint32_t pairs = 0;
    reached[0] = true;
    while (count > before) {
        before = count;
        pairs = 0;
        for (uint32_t i = 0; i < r->end_count; i++) {
            uint32_t to = gpu_at_end(r, &r->ends[i]);
            pairs += to < r->gpus;
            if (to == r->gpus || !reached[r->ends[i].gpu] || reached[to])
                continue;
            reached[to] = true;
            count++;
        }
    }
    *all = pairs >= r->gpus * (r->gpus - 1);
    return count == r->gpus;
}

static sc_status fill_inside(struct nccl_reader *r, struct sc__cluster *c) {
    bool all = false;
    count_links(r);
    if (!r->xgmi && r->most_links > most_nvlinks(r->sm))
        return nccl_fail(r,
                         r->text.p,
                         sc__format(&r->ctx->arena,
                                    "a GPU has %u NVLinks in it, of sm %u at most %u",
                                    r->most_links,
                                    r->sm,
                                    most_nvlinks(r->sm)));
    bool joined = r->links && (!r->to_gpus || links_reach_all(r, &all));
    /* 0: as the GPU has it */
    c->nvlink = r->xgmi || !r->sm ? 0 : r->links * nvlink_rate(r->sm);
    c->inside = SC__INSIDE_SWITCH;
    if (r->to_read && !r->end_count)
        return SC_OK;
    if (!joined)
        c->inside = SC__INSIDE_PCIE;
    else if (r->to_gpus && !r->too_many)
        c->inside = all ? SC__INSIDE_FULL : SC__INSIDE_MESH;
    if (!joined && r->most_links) {
        c->nvlink = SC__PCIE_RATE;
        sc__note(r->ctx,
                 "nvlink-bridges",
                 "%s: NVLink joins some GPUs and not others: all are taken to communicate "
                 "over PCIe",
                 r->file);
    } else if (r->links < r->most_links)
        sc__note(r->ctx,
                 "unlike-links",
                 "%s: GPUs have %u to %u NVLinks: the fewest count",
                 r->file,
                 r->links,
                 r->most_links);
    return SC_OK;
}

static void note_node(const struct nccl_reader *r) {
    const char *gpu = r->gpu ? r->gpu : "a GPU whose PCI id is not known (--gpu)";
    if (r->bridges)
        sc__note(r->ctx,
                 "nccl-bridges",
                 "%s: %u networks of containers on the node (veth…, br-…) are no NICs",
                 r->file,
                 r->bridges);
    if (r->to_read)
        sc__note(
            r->ctx,
            "nccl-node",
            "%s: %u × %s and %u NICs, for NCCL to read (NCCL_TOPO_FILE): it adds NVLinks "
            "and the rates of NICs itself. NVLink is that of the GPU; --cluster \"%s "
            "gpu=NAME nic=400Gbps\" says what is not in it",
            r->file,
            r->gpus,
            gpu,
            r->nics,
            r->file);
    else
        sc__note(r->ctx,
                 "nccl-node",
                 "%s: %u × %s, %u %s each, %u NICs of %u Gb/s; what joins the nodes is "
                 "not in it: an ideal switch is taken",
                 r->file,
                 r->gpus,
                 gpu,
                 r->links,
                 r->xgmi ? "xGMI links" : "NVLinks",
                 r->nics,
                 r->nic_speed / 1000);
}

sc_status sc__cluster_nccl(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           struct sc__cluster *out) {
    struct nccl_reader r = {.ctx = ctx, .file = file, .text = text, .rest = text};
    struct sc__str tag = {0};
    bool more = true;
    r.by_class = r.to_read = !sc__find_word(text.p, text.n, "<gpu");
    memset(out, 0, sizeof *out);
    SC__TRY(next_tag(&r, &tag, &more));
    while (more) {
        SC__TRY(read_tag(&r, tag));
        SC__TRY(next_tag(&r, &tag, &more));
    }
    if (!r.gpus)
        return nccl_fail(&r,
                         text.p,
                         "there are no <gpu> in it, and no <pci> of a GPU's class");
    if (r.nested || !tag_is(tag, "/system"))
        return nccl_fail(&r, tag.p, "the end, </system>, is missing: is the file cut off?");
    out->name = file;
    out->source = "NCCL's description of a node";
    out->gpu = r.gpu;
    out->node_gpus = r.gpus;
    if (r.near_nics)
        r.nics = r.near_nics;
    out->node_nics = r.nics;
    out->nic = r.nic_speed * 1e6 / 8;
    SC__TRY(fill_inside(&r, out));
    note_node(&r);
    return SC_OK;
}
