/* cluster_nccl: NCCL's description of a node (NCCL_TOPO_DUMP_FILE) as a cluster of such
 * nodes: its GPUs, how they are joined, and its NICs. What lies between the nodes is not
 * in it.
 *
 *     <system version="1"><cpu …><pci … device="0x20b2" …>
 *       <gpu dev="0" sm="80" …><nvlink target="0000:c3:00.0" count="2" tclass="0x068000"/>
 *       <nic><net name="mlx5_0" dev="0" speed="200000" …/></nic>
 *
 * RCCL writes the same, with <xgmi …> for <nvlink …>. */
#include "hardware/cluster_fields.h"

#include <string.h>

enum { MOST_NESTED = 64, MOST_GPUS = 1024 };

struct nccl_reader {
    struct sc_context *ctx;
    const char *file;
    struct sc__str text;
    struct sc__str rest;
    struct sc__str device; /* of the last <pci> */
    uint32_t gpus;
    uint32_t sm;
    uint32_t links; /* NVLinks of the first GPU */
    uint32_t peers; /* that they lead to */
    bool to_gpus;   /* they lead to GPUs, not to NVSwitches */
    bool xgmi;      /* they are AMD's */
    /* NICs of the fastest kind below a PCI switch that has GPUs, and of any place; those
     * beside the GPUs are for them, the others for storage */
    uint32_t near_nics;
    uint32_t nics;
    uint32_t nic_speed; /* Mb/s */
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
        {"0x2901", "b200"},     {"0x7408", "mi250x"},       {"0x740c", "mi250x"},
        {"0x74a1", "mi300x"},   {"0x74b5", "mi300x"},       {"0x74a5", "mi325x"}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (sc__str_is_any_case(device, devices[i].device))
            return devices[i].gpu;
    return NULL;
}

/* bytes/s of an NVLink, one way, by compute capability: as NVIDIA specifies them. */
static double nvlink_rate(uint32_t sm) {
    return sm >= 100 ? 50e9 : sm == 86 ? 14.0625e9 : sm >= 70 ? 25e9 : 20e9;
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

static sc_status read_gpu_tag(struct nccl_reader *r, struct sc__str tag) {
    const char *gpu = gpu_of_device(r->device);
    uint32_t dev;
    if (r->gpus && (!gpu != !r->gpu || (gpu && strcmp(gpu, r->gpu))))
        return nccl_fail(r, tag.p, "GPUs of several kinds in a node");
    SC__TRY(attribute_number(r, tag, "dev", &dev));
    if (dev >= MOST_GPUS || r->seen[dev])
        return nccl_fail(r, tag.p, "this GPU's dev is another one's too, or too large");
    r->seen[dev] = true;
    r->gpu = gpu;
    r->gpus++;
    r->branch_gpus++;
    return attribute_number(r, tag, "sm", &r->sm);
}

static sc_status read_tag(struct nccl_reader *r, struct sc__str tag) {
    uint32_t count;
    SC__TRY(nest_tag(r, tag));
    if (tag_is(tag, "pci")) {
        r->device = attribute(tag, "device");
        enter_pci(r, tag);
    }
    if (tag_is(tag, "/pci"))
        leave_pci(r);
    if (tag_is(tag, "gpu"))
        return read_gpu_tag(r, tag);
    bool xgmi = tag_is(tag, "xgmi");
    if ((xgmi || tag_is(tag, "nvlink")) && r->gpus == 1) {
        SC__TRY(attribute_number(r, tag, "count", &count));
        r->links += count;
        r->peers++;
        r->xgmi = xgmi;
        r->to_gpus = xgmi || sc__str_starts(attribute(tag, "tclass"), "0x0302") ||
                     sc__str_starts(attribute(tag, "tclass"), "0x0300");
    }
    if (tag_is(tag, "net")) {
        SC__TRY(attribute_number(r, tag, "speed", &count));
        if (count > r->nic_speed)
            r->nics = r->near_nics = r->branch_nics = 0;
        r->nic_speed = count > r->nic_speed ? count : r->nic_speed;
        r->nics += count == r->nic_speed;
        r->branch_nics += count == r->nic_speed;
    }
    return SC_OK;
}

static void fill_inside(const struct nccl_reader *r, struct sc__cluster *c) {
    c->nvlink = r->xgmi ? 0 : r->links * nvlink_rate(r->sm); /* 0: as the GPU has it */
    c->inside = SC__INSIDE_SWITCH;
    if (!r->links)
        c->inside = SC__INSIDE_PCIE;
    else if (r->to_gpus)
        c->inside = r->peers + 1 >= r->gpus ? SC__INSIDE_FULL : SC__INSIDE_MESH;
}

sc_status sc__cluster_nccl(struct sc_context *ctx,
                           const char *file,
                           struct sc__str text,
                           struct sc__cluster *out) {
    struct nccl_reader r = {.ctx = ctx, .file = file, .text = text, .rest = text};
    struct sc__str tag = {0};
    bool more = true;
    memset(out, 0, sizeof *out);
    SC__TRY(next_tag(&r, &tag, &more));
    while (more) {
        SC__TRY(read_tag(&r, tag));
        SC__TRY(next_tag(&r, &tag, &more));
    }
    if (!r.gpus)
        return nccl_fail(&r, text.p, "there are no <gpu> in it");
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
    fill_inside(&r, out);
    sc__note(ctx,
             "nccl-node",
             "%s: %u × %s, %u %s each, %u NICs of %u Gb/s; what joins the nodes is "
             "not in it: an ideal switch is taken",
             file,
             r.gpus,
             r.gpu ? r.gpu : "a GPU whose PCI id is not known (--gpu)",
             r.links,
             r.xgmi ? "xGMI links" : "NVLinks",
             r.nics,
             r.nic_speed / 1000);
    return SC_OK;
}
