/* cluster_nvidia_smi: what `nvidia-smi topo -m` says of a node as a cluster of such nodes.
 *
 *             GPU0  GPU1  NIC0  CPU Affinity
 *     GPU0     X    NV18  PIX   0-47
 *     GPU1    NV18   X    SYS   48-95
 *     NIC0    PIX   SYS    X
 *
 * NV# counts the NVLinks between two GPUs; PIX and PXB lie below one PCI switch, PHB,
 * NODE and SYS farther apart. Rates and the kind of GPU are not in it. */
#include "hardware/cluster_fields.h"

#include <string.h>

#define SMI_MOST 128 /* columns */
#define P100_NVLINKS 4
#define SMI_MOST_NVLINKS 18u /* that a GPU has (Hopper, Blackwell) */

enum smi_path { SMI_SELF, SMI_PIX, SMI_PXB, SMI_PHB, SMI_NODE, SMI_SYS, SMI_NVLINK };

struct smi_matrix {
    struct sc_context *ctx;
    const char *file;
    struct sc__str rest;
    struct sc__str line;
    uint64_t number; /* of the line */
    struct sc__str names[SMI_MOST];
    uint32_t count;
    uint32_t gpus; /* the columns before the NICs */
    bool numa;     /* there is a column "GPU NUMA ID" */
    bool grace; /* with numbers: the GPUs' memory is part of the host's, as Grace has it */
    uint8_t path[SMI_MOST][SMI_MOST]; /* enum smi_path */
    uint8_t links[SMI_MOST][SMI_MOST];
    bool read[SMI_MOST]; /* the row is there */
};

static sc_status smi_fail(const struct smi_matrix *m, const char *at, const char *what) {
    struct sc__place place = {.file = m->file,
                              .line = m->number,
                              .column = at ? (uint64_t)(at - m->line.p) + 1 : 1};
    return sc__fail(m->ctx,
                    SC_INPUT,
                    &place,
                    "give what 'nvidia-smi topo -m' prints",
                    "%s",
                    what);
}

/* The header is underlined on terminals: "\033[4mGPU0". */
static struct sc__str without_escapes(struct sc__str word) {
    while (word.n > 1 && word.p[0] == '\033') {
        const char *end = memchr(word.p, 'm', word.n);
        size_t n = end ? (size_t)(end - word.p) + 1 : word.n;
        word = (struct sc__str){word.p + n, word.n - n};
    }
    const char *escape = word.n ? memchr(word.p, '\033', word.n) : NULL;
    if (escape)
        word.n = (size_t)(escape - word.p);
    return word;
}

static bool smi_word(struct sc__str *rest, struct sc__str *word) {
    while (sc__next_word(rest, word)) {
        *word = without_escapes(*word);
        if (word->n)
            return true;
    }
    return false;
}

static bool smi_line(struct smi_matrix *m) {
    bool more = sc__split(&m->rest, '\n', &m->line);
    m->number += more;
    return more;
}

/* The columns up to "CPU Affinity". */
static sc_status read_smi_header(struct smi_matrix *m) {
    struct sc__str rest;
    struct sc__str word;
    do {
        if (!smi_line(m))
            return smi_fail(m, NULL, "there is no line 'GPU0 GPU1 …' in it");
        rest = m->line;
    } while (!smi_word(&rest, &word) || !sc__str_is(word, "GPU0"));
    m->numa = sc__find_word(m->line.p, m->line.n, "GPU NUMA ID");
    do {
        if (sc__str_is(word, "CPU") || sc__str_is(word, "NUMA"))
            return SC_OK;
        if (m->count == SMI_MOST)
            return smi_fail(m, word.p, "more columns than are read");
        bool gpu = sc__str_starts(word, "GPU");
        if (gpu && m->gpus < m->count)
            return smi_fail(m, word.p, "a GPU behind the NICs");
        m->gpus += gpu;
        m->names[m->count++] = word;
    } while (smi_word(&rest, &word));
    return SC_OK;
}

static bool
read_smi_path(struct smi_matrix *m, struct sc__str word, uint32_t a, uint32_t b) {
    static const char *const paths[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
    uint32_t links = 0;
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)
        if (sc__str_is(word, paths[i])) {
            m->path[a][b] = (uint8_t)i;
            return (i == SMI_SELF) == (a == b);
        }
    if (sc__str_is(word, "SOC")) { /* as drivers before 2018 wrote SYS */
        m->path[a][b] = SMI_SYS;
        return a != b;
    }
    if (a == b || !sc__str_starts(word, "NV") ||
        !sc__parse_u32((struct sc__str){word.p + 2, word.n - 2}, &links) || !links ||
        links > SMI_MOST_NVLINKS)
        return false;
    m->path[a][b] = SMI_NVLINK;
    m->links[a][b] = (uint8_t)links;
    return true;
}

static sc_status read_smi_row(struct smi_matrix *m, uint32_t row, struct sc__str rest) {
    struct sc__str word;
    if (m->read[row])
        return smi_fail(m, m->line.p, "this row stands there twice");
    m->read[row] = true;
    for (uint32_t i = 0; i < m->count; i++) {
        if (!smi_word(&rest, &word))
            return smi_fail(m,
                            m->line.p,
                            sc__format(&m->ctx->arena,
                                       "%u of %u columns: is the line cut off?",
                                       i,
                                       m->count));
        if (!read_smi_path(m, word, row, i))
            return smi_fail(m,
                            word.p,
                            sc__format(&m->ctx->arena,
                                       "'%.*s' is no path between %.*s and %.*s: X, NV1 … "
                                       "NV18, PIX, PXB, PHB, NODE or SYS",
                                       SC__SHOW(word),
                                       SC__SHOW(m->names[row]),
                                       SC__SHOW(m->names[i])));
    }
    uint32_t id;
    bool number = false;
    while (smi_word(&rest, &word))
        number = sc__parse_u32(word, &id);
    m->grace |= m->numa && row < m->gpus && number;
    return SC_OK;
}

static sc_status read_smi_rows(struct smi_matrix *m) {
    struct sc__str word;
    uint32_t rows = 0;
    while (rows < m->count && smi_line(m)) {
        struct sc__str rest = m->line;
        if (!smi_word(&rest, &word))
            continue;
        uint32_t row = 0;
        while (row < m->count &&
               (m->names[row].n != word.n || memcmp(m->names[row].p, word.p, word.n)))
            row++;
        if (row == m->count)
            break;
        SC__TRY(read_smi_row(m, row, rest));
        rows++;
    }
    for (uint32_t row = 0; row < m->count; row++)
        if (!m->read[row])
            return smi_fail(m,
                            NULL,
                            sc__format(&m->ctx->arena,
                                       "the row of %.*s is missing: is the table cut off?",
                                       SC__SHOW(m->names[row])));
    for (uint32_t a = 0; a < m->count; a++)
        for (uint32_t b = 0; b < a; b++)
            if (m->path[a][b] != m->path[b][a] || m->links[a][b] != m->links[b][a])
                return smi_fail(m,
                                NULL,
                                sc__format(&m->ctx->arena,
                                           "%.*s and %.*s are joined in two ways",
                                           SC__SHOW(m->names[b]),
                                           SC__SHOW(m->names[a])));
    return SC_OK;
}

/* People paste the tables of several machines under each other. */
static void note_other_tables(struct smi_matrix *m) {
    while (smi_line(m)) {
        struct sc__str rest = m->line;
        struct sc__str word;
        if (!smi_word(&rest, &word) || !sc__str_is(word, "GPU0") ||
            !sc__find_word(m->line.p, m->line.n, "CPU Affinity"))
            continue;
        sc__note(m->ctx,
                 "smi-tables",
                 "%s:%llu: another table begins here; the first is taken",
                 m->file,
                 (unsigned long long)m->number);
        return;
    }
}

static uint32_t links_of(const struct smi_matrix *m, uint32_t gpu) {
    uint32_t links = 0;
    for (uint32_t i = 0; i < m->gpus; i++)
        links += m->links[gpu][i];
    return links;
}

/* The NVLinks of the GPU that has fewest, and of the one that has most. */
struct smi_links {
    uint32_t fewest;
    uint32_t most;
};

static struct smi_links links_of_all(const struct smi_matrix *m) {
    struct smi_links all = {links_of(m, 0), links_of(m, 0)};
    for (uint32_t gpu = 1; gpu < m->gpus; gpu++) {
        uint32_t links = links_of(m, gpu);
        all.fewest = links < all.fewest ? links : all.fewest;
        all.most = links > all.most ? links : all.most;
    }
    return all;
}

/* The NVLinks of the pairs of GPUs that have fewest and most. */
static struct smi_links links_of_pairs(const struct smi_matrix *m) {
    uint32_t first = m->gpus > 1 ? m->links[0][1] : 0;
    struct smi_links all = {first, first};
    for (uint32_t a = 0; a < m->gpus; a++)
        for (uint32_t b = 0; b < a; b++) {
            uint32_t links = m->links[a][b];
            all.fewest = links < all.fewest ? links : all.fewest;
            all.most = links > all.most ? links : all.most;
        }
    return all;
}

/* From the first GPU all others are reached over NVLinks. */
static bool nvlink_joins_all(const struct smi_matrix *m) {
    bool reached[SMI_MOST] = {true};
    uint32_t count = 1;
    uint32_t before = 0;
    while (count > before) {
        before = count;
        for (uint32_t a = 0; a < m->gpus; a++)
            for (uint32_t b = 0; b < m->gpus; b++)
                if (reached[a] && !reached[b] && m->links[a][b]) {
                    reached[b] = true;
                    count++;
                }
    }
    return m->gpus > 1 && count == m->gpus;
}

/* *links: NVLinks of a GPU, in all. */
static enum sc__inside smi_inside(const struct smi_matrix *m, uint32_t *links) {
    struct smi_links pair = links_of_pairs(m);
    bool too_many = pair.fewest * (m->gpus - 1) > SMI_MOST_NVLINKS;
    *links = 0;
    if (!nvlink_joins_all(m))
        return SC__INSIDE_PCIE;
    if (too_many) {
        *links = pair.fewest;
        return SC__INSIDE_SWITCH;
    }
    *links = links_of_all(m).fewest;
    return pair.fewest ? SC__INSIDE_FULL : SC__INSIDE_MESH;
}

/* One link to some and two to others have V100 and P100, and more than four in all the V100
 * alone: 25 GB/s each, of which a machine with fewer than eight has not all. The P100's
 * have 20 GB/s, so that which it is must be known. */
static void
fill_part_of_cube(const struct smi_matrix *m, uint32_t links, struct sc__cluster *out) {
    struct smi_links pair = links_of_pairs(m);
    bool alike = pair.fewest == pair.most || pair.most > 2;
    if (out->gpu || !links || alike || links_of_all(m).most <= P100_NVLINKS)
        return;
    out->gpu = "v100";
    out->nvlink = 25e9 * links;
}

static void note_unlike_links(const struct smi_matrix *m, enum sc__inside inside) {
    /* to NVSwitches each pair names all links that the weaker of the two has */
    struct smi_links all =
        inside == SC__INSIDE_SWITCH ? links_of_pairs(m) : links_of_all(m);
    if (inside == SC__INSIDE_PCIE && all.most)
        sc__note(m->ctx,
                 "nvlink-bridges",
                 "%s: NVLink joins some GPUs and not others: all are taken to communicate "
                 "over PCIe",
                 m->file);
    else if (inside != SC__INSIDE_PCIE && all.fewest < all.most)
        sc__note(m->ctx,
                 "unlike-links",
                 "%s: GPUs have %u to %u NVLinks: the fewest count",
                 m->file,
                 all.fewest,
                 all.most);
}

/* NVLinks of a GPU, by the beginning of its name; of those with as many the first here is
 * taken (Blackwell has as many as Hopper). */
static const struct {
    const char *family;
    const char *gpu;
    uint32_t links;
} sold[] = {{"h100-sxm", "h100-sxm", 18},
            {"a100", "a100-80", 12},
            {"h800", "h800", 8},
            {"a800", "a800", 8},
            {"v100", "v100", 6}};
#define SOLD (sizeof sold / sizeof *sold)

/* The kind that is sold with so many NVLinks. Beside Grace GPUs are of GB200s behind
 * NVSwitches, of GH200s where they are joined directly. */
static const char *gpu_with_links(uint32_t links, bool grace, enum sc__inside inside) {
    if (grace && links == 18)
        return inside == SC__INSIDE_SWITCH ? "gb200" : "gh200";
    for (unsigned i = 0; i < SOLD; i++)
        if (sold[i].links == links)
            return sold[i].gpu;
    return NULL;
}

uint32_t sc__nvlinks_sold(const char *gpu) {
    for (unsigned i = 0; i < SOLD; i++)
        if (sc__str_starts(sc__str(gpu), sold[i].family))
            return sold[i].links;
    return 0;
}

/* NICs that are below a switch with this GPU and no other; SMI_MOST where one of its is
 * below a switch with others too. */
static uint32_t own_nics(const struct smi_matrix *m, uint32_t gpu) {
    uint32_t own = 0;
    for (uint32_t nic = m->gpus; nic < m->count; nic++) {
        uint32_t beside = 0;
        for (uint32_t g = 0; g < m->gpus; g++)
            beside += m->path[nic][g] <= SMI_PXB;
        if (m->path[nic][gpu] > SMI_PXB)
            continue;
        if (beside > 1)
            return SMI_MOST;
        own++;
    }
    return own;
}

/* Where every GPU has NICs to itself, some more than others, the rest are for storage and
 * the host: what a GPU sends goes through one slot. 0: it is not so. */
static uint32_t fewest_own_nics(const struct smi_matrix *m) {
    uint32_t fewest = SMI_MOST;
    uint32_t most = 0;
    for (uint32_t gpu = 0; gpu < m->gpus; gpu++) {
        uint32_t own = own_nics(m, gpu);
        fewest = own < fewest ? own : fewest;
        most = own > most ? own : most;
    }
    if (fewest == most || most == SMI_MOST || !fewest)
        return 0;
    sc__note(m->ctx,
             "unlike-nics",
             "%s: GPUs have %u to %u NICs to themselves: the fewest count; nics= says how "
             "many there are for them",
             m->file,
             fewest,
             most);
    return fewest;
}

/* NICs as near to a GPU as the nearest: those beside the GPUs are for them, the others
 * for storage. */
static uint32_t near_nics(const struct smi_matrix *m) {
    uint32_t own = fewest_own_nics(m);
    if (own)
        return own * m->gpus;
    uint32_t count[SMI_NVLINK + 1] = {0};
    for (uint32_t nic = m->gpus; nic < m->count; nic++) {
        uint8_t least = SMI_SYS;
        for (uint32_t gpu = 0; gpu < m->gpus; gpu++)
            if (m->path[nic][gpu] < least)
                least = m->path[nic][gpu];
        count[least]++;
    }
    uint32_t below_a_switch = count[SMI_PIX] + count[SMI_PXB];
    for (unsigned path = SMI_PHB; path <= SMI_SYS && !below_a_switch; path++)
        below_a_switch = count[path];
    return below_a_switch;
}

sc_status sc__cluster_nvidia_smi(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 struct sc__cluster *out) {
    struct smi_matrix *m = SC__NEW(&ctx->arena, struct smi_matrix);
    uint32_t links = 0;
    m->ctx = ctx;
    m->file = file;
    m->rest = text;
    memset(out, 0, sizeof *out);
    SC__TRY(read_smi_header(m));
    SC__TRY(read_smi_rows(m));
    note_other_tables(m);
    out->name = file;
    out->source = "nvidia-smi topo -m";
    out->node_gpus = m->gpus;
    out->node_nics = near_nics(m);
    out->inside = smi_inside(m, &links);
    out->nvlinks = links;
    out->gpu = gpu_with_links(links, m->grace, out->inside);
    fill_part_of_cube(m, links, out);
    if (out->inside == SC__INSIDE_PCIE)
        out->nvlink = SC__PCIE_RATE;
    note_unlike_links(m, out->inside);
    sc__note(
        ctx,
        "smi-node",
        "%s: %u GPUs, %u NVLinks each%s, %u NICs beside them; the kind of GPU (%s) and "
        "rates are not in it: --cluster \"%s gpu=NAME nic=400Gbps\"",
        file,
        m->gpus,
        links,
        links_of_all(m).most || m->gpus < 2 ? ""
                                            : " (topo -mp leaves them out: print topo -m)",
        out->node_nics,
        out->gpu ? sc__format(&ctx->arena, "%s by its NVLinks", out->gpu) : "none taken",
        file);
    return SC_OK;
}
