/* measured_table: a table of published measurements → rows with the cluster
 * each was measured on. The table tells GPU, counts and rates; how a source
 * ran (class of fabric, GPUs of a process, timer) stands under "systems" in
 * data/collectives.json, by its name or by words in its name and notes. */
#include "collective/operations.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum column {
    SOURCE,
    GPU,
    GPUS,
    NODE,
    INSIDE,
    NIC,
    OP,
    ALGO,
    SIZE,
    TIME,
    NOTES, /* may be missing */
    COLUMNS
};

static const char *const column_names[COLUMNS] = {"source",
                                                  "gpu",
                                                  "gpus",
                                                  "gpus_per_node",
                                                  "intra_gbs_uni",
                                                  "nic_gbps_per_gpu",
                                                  "op",
                                                  "algo",
                                                  "size_bytes",
                                                  "time_us",
                                                  "notes"};

#define CELLS 64

struct coll_measured_table_reader {
    struct sc_context *ctx;
    struct sc__input *in;
    int at[COLUMNS]; /* cell of each column */
    json_t *systems;
    struct sc__names *sources;
    struct sc__samples *out;
    struct sc__names unknown;  /* GPUs the model has no constants for */
    struct sc__names clusters; /* descriptions → made */
    struct sc__cluster **made;
    uint32_t made_count;
    uint32_t made_capacity;
};

/* Cells of a line; quotes may enclose commas and doubled quotes. */
static unsigned
split_cells(struct sc_context *ctx, struct sc__str line, struct sc__str cell[CELLS]) {
    char *text = sc__strndup(&ctx->arena, line.p, line.n);
    char *to = text;
    char *from = text;
    unsigned n = 0;
    while (n < CELLS) {
        bool quoted = *from == '"';
        cell[n].p = to;
        if (quoted)
            from++;
        while (*from && (quoted || *from != ',')) {
            if (quoted && *from == '"' && from[1] != '"') {
                quoted = false;
                from++;
                continue;
            }
            from += quoted && *from == '"';
            *to++ = *from++;
        }
        cell[n].n = (size_t)(to - cell[n].p);
        n++;
        if (!*from++)
            break;
    }
    return n;
}

static sc_status coll_measured_table_read_header(struct coll_measured_table_reader *r,
                                                 struct sc__str line) {
    struct sc__str cell[CELLS];
    unsigned n = split_cells(r->ctx, line, cell);
    for (int c = 0; c < COLUMNS; c++) {
        r->at[c] = -1;
        for (unsigned i = 0; i < n; i++)
            if (sc__str_is(sc__trim(cell[i]), column_names[c]))
                r->at[c] = (int)i;
        if (r->at[c] < 0 && c != NOTES) {
            struct sc__place at = sc__input_place(r->in, line, line.p);
            return sc__fail(r->ctx,
                            SC_INPUT,
                            &at,
                            "the first line names the columns",
                            "there is no column '%s'",
                            column_names[c]);
        }
    }
    return SC_OK;
}

static struct sc__str measured_cell(const struct coll_measured_table_reader *r,
                                    const struct sc__str *cell,
                                    int c) {
    return r->at[c] < 0 ? sc__str("") : cell[r->at[c]];
}

/* How a row was run. */
struct run_conditions {
    const char *system;        /* that its source belongs to; or NULL */
    const char *class;         /* of the fabric */
    uint32_t nodes;            /* 0: as many as its GPUs fill */
    uint32_t gpus_per_process; /* UINT32_MAX: those of the node */
    bool eager;
    bool no_ll128;
    double p2p_ll_channel; /* 0: as the generation's */
};

static char *lower(struct sc_context *ctx, struct sc__str s) {
    char *text = sc__strndup(&ctx->arena, s.p, s.n);
    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

static bool is_system(const json_t *system, const char *source, const char *told) {
    const char *begin = json_string_value(json_object_get(system, "source"));
    const char *word = json_string_value(json_object_get(system, "word"));
    return (begin && !strncmp(source, begin, strlen(begin))) ||
           (word && strstr(told, word));
}

/* What a system tells and no earlier one has. */
static void take_system(const json_t *system, struct run_conditions *run) {
    const char *class = json_string_value(json_object_get(system, "class"));
    json_t *per = json_object_get(system, "gpus_per_process");
    if (!run->system)
        run->system = json_string_value(json_object_get(system, "source"));
    if (!run->class)
        run->class = class;
    if (!run->nodes)
        run->nodes = (uint32_t)json_integer_value(json_object_get(system, "nodes"));
    if (per && !run->gpus_per_process)
        run->gpus_per_process = (uint32_t)json_integer_value(per);
    if (per && !run->gpus_per_process)
        run->gpus_per_process = UINT32_MAX;
    run->eager |= json_is_true(json_object_get(system, "eager"));
    if (!(run->p2p_ll_channel > 0))
        run->p2p_ll_channel = json_number_value(json_object_get(system, "p2p_ll_channel"));
    run->no_ll128 |= json_is_true(json_object_get(system, "no_ll128"));
}

/* "-g 8" of nccl-tests. */
static uint32_t told_gpus_per_process(const char *told) {
    const char *at = strstr(told, "-g ");
    return at ? (uint32_t)strtoul(at + 3, NULL, 10) : 0;
}

/* Systems are known by the beginning of their source, or by words ("efa") anywhere in
 * what the row tells, in small letters. */
static struct run_conditions find_conditions(const struct coll_measured_table_reader *r,
                                             const struct sc__str *cell) {
    struct run_conditions run = {0};
    struct sc__str source = cell[r->at[SOURCE]];
    char *name = sc__strndup(&r->ctx->arena, source.p, source.n);
    char *told = sc__format(&r->ctx->arena,
                            "%s %s",
                            lower(r->ctx, source),
                            lower(r->ctx, measured_cell(r, cell, NOTES)));
    for (size_t i = 0; i < json_array_size(r->systems); i++)
        if (is_system(json_array_get(r->systems, i), name, told))
            take_system(json_array_get(r->systems, i), &run);
    if (!run.gpus_per_process)
        run.gpus_per_process = told_gpus_per_process(told);
    if (!run.gpus_per_process)
        run.gpus_per_process = 1;
    return run;
}

/* "Ring", "Ring forced", "Ring (NVLS off)" and "NCCL_ALGO=Ring" were asked for;
 * "Ring (default)" and "Ring LL <=1MiB, NVLS above" tell what NCCL chose. */
static void force_algo(struct sc_context *ctx, struct sc__str algo, struct sc__cluster *c) {
    char *text = lower(ctx, algo);
    if (strstr(text, "default") || strstr(text, "best"))
        return;
    if (!strncmp(text, "nccl_algo=", 10))
        text += 10;
    size_t length = strcspn(text, " (,/");
    bool alone = !text[length];
    bool asked = alone || strstr(text, "forced") || strstr(text, " off)");
    text[length] = 0;
    enum sc__algo found = sc__algo_find(text);
    if (asked && found < SC__ALGOS)
        c->tuning.algo = (uint8_t)found;
}

/* Gb/s a GPU has of the NICs of its maker's machines (DGX; Frontier). */
static double usual_nic(const char *gpu) {
    static const struct {
        const char *gpu;
        double gbps;
    } usual[] = {{"v100", 50},
                 {"a100", 200},
                 {"mi250x", 100},
                 {"b300", 800},
                 {"gb300", 800}};
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!strncmp(gpu, usual[i].gpu, strlen(usual[i].gpu)))
            return usual[i].gbps;
    return 400;
}

/* A figure of the machine: a number, or an empty cell, which leaves *out as it is. A word
 * or a unit there would be taken for nothing said. */
static sc_status machine_figure(const struct coll_measured_table_reader *r,
                                const struct sc__str *cell,
                                int column,
                                double *out) {
    struct sc__str text = cell[r->at[column]];
    struct sc__place at = {.file = r->in->name, .line = r->in->line};
    if (!text.n)
        return SC_OK;
    double x;
    if (sc__parse_double(text, &x) && x >= 0) {
        *out = x;
        return SC_OK;
    }
    return sc__fail(r->ctx,
                    SC_INPUT,
                    &at,
                    "a number without a unit, or nothing where it is not known",
                    "%s: '%.*s' is no number",
                    column_names[column],
                    SC__SHOW(text));
}

/* The description of the row's cluster in the one-line form. Where the table
 * leaves the NIC open it is the usual one. */
static sc_status describe(const struct coll_measured_table_reader *r,
                          const struct sc__str *cell,
                          const struct run_conditions *run,
                          const char *gpu,
                          uint32_t gpus,
                          char **out) {
    double node_gpus = 0;
    uint32_t nodes = run->nodes;
    double nic = usual_nic(gpu);
    double inside = 0;
    SC__TRY(machine_figure(r, cell, NODE, &node_gpus));
    SC__TRY(machine_figure(r, cell, NIC, &nic));
    SC__TRY(machine_figure(r, cell, INSIDE, &inside));
    uint32_t node = node_gpus >= 1 && node_gpus <= 1e6 ? (uint32_t)node_gpus : 8;
    if (!nodes)
        nodes = (gpus + node - 1) / node;
    char *nvlink = "";
    if (inside > 0)
        nvlink = sc__format(&r->ctx->arena, " nvlink=%gGB/s", inside);
    *out = sc__format(&r->ctx->arena,
                      "gpu=%s gpus=%u node=%u nics=%u nic=%gGbps class=%s fabric=rail%s%s",
                      gpu,
                      nodes * node,
                      node,
                      node,
                      nic,
                      run->class ? run->class : "ib",
                      nvlink,
                      strncmp(gpu, "v100", 4) ? "" : " inside=mesh");
    return SC_OK;
}

static void
tune_cluster(const struct run_conditions *run, uint32_t gpus, struct sc__cluster *c) {
    uint32_t most = gpus < c->node_gpus ? gpus : c->node_gpus;
    c->tuning.gpus_per_process =
        run->gpus_per_process < most ? run->gpus_per_process : most;
    c->tuning.eager_timer = run->eager;
    if (run->no_ll128)
        c->constants.ll128[0] = 0;
    if (run->p2p_ll_channel > 0)
        c->constants.p2p_ll_channel = run->p2p_ll_channel;
}

/* One cluster for all rows of one description, so that a fit moves them
 * together. */
static sc_status make_cluster(struct coll_measured_table_reader *r,
                              const struct sc__str *cell,
                              const struct run_conditions *run,
                              const char *gpu,
                              uint32_t gpus,
                              struct sc__cluster **out) {
    char *text;
    SC__TRY(describe(r, cell, run, gpu, gpus, &text));
    struct sc__cluster c = {0};
    struct sc__str algo = cell[r->at[ALGO]];
    char *key = sc__format(&r->ctx->arena,
                           "%s %.*s %u %u %d %d %g",
                           text,
                           SC__SHOW(algo),
                           run->gpus_per_process,
                           gpus,
                           run->eager,
                           run->no_ll128,
                           run->p2p_ll_channel);
    uint32_t known = r->clusters.count;
    uint32_t id = sc__names_add(&r->clusters, key, strlen(key));
    if (id == known) {
        SC__TRY(sc__cluster_parse(r->ctx, text, gpus, &c));
        tune_cluster(run, gpus, &c);
        force_algo(r->ctx, algo, &c);
        struct sc__cluster *made = SC__NEW(&r->ctx->arena, struct sc__cluster);
        *made = c;
        *SC__PUSH(&r->ctx->arena, r->made, r->made_count, r->made_capacity) = made;
    }
    *out = r->made[id];
    return SC_OK;
}

/* gpus spread evenly over the nodes of the cluster. */
static struct sc__shape
spread(struct sc_context *ctx, const struct sc__cluster *c, uint32_t gpus) {
    uint32_t nodes = c->gpus / c->node_gpus;
    uint32_t *gpu = SC__NEW_ARRAY(&ctx->arena, uint32_t, gpus);
    for (uint32_t i = 0; i < gpus; i++)
        gpu[i] = i % nodes * c->node_gpus + i / nodes;
    return sc__cluster_shape(c, gpu, gpus);
}

static sc_status
take_row(struct coll_measured_table_reader *r, const struct sc__str *cell, bool *taken) {
    uint32_t gpus;
    uint64_t bytes;
    double us;
    double nvlink;
    struct sc__str source = cell[r->at[SOURCE]];
    struct sc__str name = cell[r->at[OP]];
    const struct sc__coll_op *op =
        sc__coll_op_find(sc__strndup(&r->ctx->arena, name.p, name.n));
    *taken = op && sc__parse_u32(cell[r->at[GPUS]], &gpus) &&
             sc__parse_u64(cell[r->at[SIZE]], &bytes) &&
             sc__parse_double(cell[r->at[TIME]], &us) && gpus > 1 && us > 0 && bytes;
    if (!*taken)
        return SC_OK;
    char *gpu = lower(r->ctx, cell[r->at[GPU]]);
    gpu[strcspn(gpu, " ")] = 0;
    if (!sc__constants_generation(r->ctx, gpu, &nvlink)) {
        sc__names_add(&r->unknown, gpu, strlen(gpu));
        *taken = false;
        return SC_OK;
    }
    struct sc__sample s = {.op = op, .bytes = bytes, .us = us};
    struct run_conditions run = find_conditions(r, cell);
    if (run.system)
        source = sc__str(run.system);
    SC__TRY(make_cluster(r, cell, &run, gpu, gpus, &s.cluster));
    s.shape = spread(r->ctx, s.cluster, gpus);
    s.source = sc__names_add(r->sources, source.p, source.n);
    *SC__PUSH(&r->ctx->arena, r->out->items, r->out->count, r->out->capacity) = s;
    return SC_OK;
}

static sc_status coll_measured_table_read_rows(struct coll_measured_table_reader *r,
                                               uint32_t *skipped) {
    struct sc__str line;
    struct sc__str cell[CELLS];
    bool more = true, taken, header = true;
    for (;; header = false) {
        SC__TRY(sc__input_line(r->in, &line, &more));
        if (!more)
            return SC_OK;
        if (header) {
            SC__TRY(coll_measured_table_read_header(r, line));
            continue;
        }
        unsigned n = split_cells(r->ctx, line, cell);
        for (int c = 0; c < COLUMNS; c++)
            if (r->at[c] >= (int)n) {
                struct sc__place at = sc__input_place(r->in, line, line.p);
                return sc__fail(r->ctx,
                                SC_INPUT,
                                &at,
                                NULL,
                                "the row has %u cells, the header more",
                                n);
            }
        SC__TRY(take_row(r, cell, &taken));
        *skipped += !taken;
    }
}

sc_status sc__truth_read(struct sc_context *ctx,
                         const char *path,
                         struct sc__samples *out,
                         struct sc__names *sources,
                         uint32_t *skipped) {
    struct sc__input in;
    struct coll_measured_table_reader r = {.ctx = ctx,
                                           .in = &in,
                                           .sources = sources,
                                           .out = out};
    r.systems = json_object_get(sc__data_json("collectives.json"), "systems");
    memset(out, 0, sizeof *out);
    sc__names_init(sources, &ctx->arena);
    sc__names_init(&r.clusters, &ctx->arena);
    sc__names_init(&r.unknown, &ctx->arena);
    *skipped = 0;
    sc_status status = sc__input_open(ctx, path, &in);
    if (status == SC_OK) {
        status = coll_measured_table_read_rows(&r, skipped);
        sc__input_close(&in);
    }
    for (uint32_t i = 0; i < r.unknown.count; i++)
        sc__note(
            ctx,
            "unknown-gpu",
            "rows of GPU %s were left out: the collective model has no constants for it",
            r.unknown.text[i]);
    return status;
}
