/* coll: what nccl-tests would print on the described machine. */
#include "command/coll.h"

#include "command/job.h"
#include "network/packet/packet_engine.h"
#include "network/registry.h"
#include "report/write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct sc__option options[] = {
    {"cluster",
     'c',
     "C",
     "dgx-h100:8",
     "Machine",
     "preset:GPUS, one-line description, or file",
     0},
    {"net",
     0,
     "ENGINE",
     "analytic",
     "Machine",
     "analytic; on the links of the fabric: flow, or packet; several with commas: beside "
     "each other",
     0},
    {"gpus",
     0,
     "N",
     "all of the cluster",
     "Machine",
     "ranks that take part, from GPU 0 on",
     0},
    {"minbytes", 'b', "SIZE", "32M", "Sizes", "smallest size", 0},
    {"maxbytes", 'e', "SIZE", "32M", "Sizes", "largest size", 0},
    {"stepfactor", 'f', "F", NULL, "Sizes", "each size is F times the one before", 0},
    {"stepbytes", 'i', "SIZE", "1M", "Sizes", "or this much more", 0},
    {"datatype",
     'd',
     "TYPE",
     "float",
     "Sizes",
     "float, half, bfloat16, double, int8, …: for the count column",
     0},
    {"iters",
     'n',
     "N",
     NULL,
     "Sizes",
     "accepted as nccl-tests has it; a forecast needs none",
     0},
    {"json", 0, "FILE", NULL, "Output", "rows as JSON; - for standard output", 0},
    {"csv",
     0,
     "FILE",
     NULL,
     "Output",
     "rows as CSV (beside measurements: both); - for standard output",
     0},
    {"html",
     0,
     "FILE",
     NULL,
     "Output",
     "a page of the largest size: links over time, pauses, messages (--net packet)",
     0},
    {"against", 0, "LOG", NULL, "Measured", "compare with an nccl-tests log", 0},
    {"fit",
     0,
     "LOG",
     NULL,
     "Measured",
     "calibrate on nccl-tests logs (repeat for several)",
     SC__OPT_REPEAT},
    {"output",
     'o',
     "FILE",
     NULL,
     "Measured",
     "cluster file that --fit writes; - for standard output",
     0},
    {"validate", 0, "CSV", NULL, "Measured", "errors over a table of measurements", 0},
    {"leave-one-out",
     0,
     NULL,
     NULL,
     "Measured",
     "with --validate: fit again without each source, and predict it",
     0},
    {"eager",
     0,
     NULL,
     NULL,
     "Measured",
     "timed by PyTorch with a barrier (all_reduce_bench.py), not by nccl-tests",
     0},
    {"jobs", 'j', "N", "1", "Other", "threads that may be used (--net packet)", 0},
    {0}};
static const struct sc__option *const tables[] = {options,
                                                  sc__memory_options,
                                                  sc__cluster_options,
                                                  sc__flow_options,
                                                  sc__packet_options,
                                                  NULL};

static sc_status take_op(const struct sc_request *req, struct sc__coll_query *q) {
    const char *hint =
        "all_reduce, all_gather, reduce_scatter, alltoall, sendrecv, broadcast, "
        "reduce, gather or scatter";
    if (req->input_count != 1)
        return sc__usage(req, hint, "coll takes one operation, not %u", req->input_count);
    q->op = sc__coll_op_find(req->inputs[0]);
    return q->op ? SC_OK
                 : sc__usage(req, hint, "there is no operation '%s'", req->inputs[0]);
}

static sc_status take_type(const struct sc_request *req, struct sc__coll_query *q) {
    static const struct {
        const char *name;
        uint32_t size;
    } types[] = {{"float", 4},
                 {"half", 2},
                 {"bfloat16", 2},
                 {"double", 8},
                 {"int8", 1},
                 {"uint8", 1},
                 {"int32", 4},
                 {"uint32", 4},
                 {"int64", 8},
                 {"uint64", 8},
                 {"fp8_e4m3", 1},
                 {"fp8_e5m2", 1}};
    const char *name = sc__option(req, "datatype");
    q->type = name ? name : "float";
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, q->type)) {
            q->type_size = types[i].size;
            return SC_OK;
        }
    return sc__usage(req,
                     "float, half, bfloat16, double, int8, int32 …",
                     "there is no data type '%s'",
                     q->type);
}

#define TOO_LARGE ((uint64_t)1 << 63) /* sizes are below */

/* At most TOO_LARGE: below it nothing wraps round. */
uint64_t sc__coll_next_size(const struct sc__coll_query *q, uint64_t bytes) {
    if (!(q->factor > 1))
        return bytes >= TOO_LARGE - q->increment ? TOO_LARGE : bytes + q->increment;
    double next = (double)bytes * q->factor;
    uint64_t grown = next >= 0x1p63 ? TOO_LARGE : (uint64_t)next;
    return grown > bytes ? grown : bytes + 1;
}

static bool few_sizes(const struct sc__coll_query *q) {
    uint32_t n = 0;
    for (uint64_t bytes = q->begin; bytes < q->end && n <= 100000;
         bytes = sc__coll_next_size(q, bytes))
        n++;
    return n <= 100000;
}

static sc_status take_sizes(const struct sc_request *req, struct sc__coll_query *q) {
    struct sc__settings s = sc__settings(req);
    uint32_t iterations = 0;
    q->begin = q->end = 32 << 20;
    q->increment = 1 << 20;
    SC__TRY(sc__setting_bytes(&s, "minbytes", &q->begin));
    if (q->begin > q->end)
        q->end = q->begin;
    SC__TRY(sc__setting_bytes(&s, "maxbytes", &q->end));
    SC__TRY(sc__setting_double(&s, "stepfactor", &q->factor));
    SC__TRY(sc__setting_bytes(&s, "stepbytes", &q->increment));
    SC__TRY(sc__setting_u32(&s, "iters", 1, &iterations));
    if (!q->begin)
        return sc__usage(req, NULL, "-b takes a size above 0");
    if (q->begin >= TOO_LARGE || q->end >= TOO_LARGE || q->increment >= TOO_LARGE)
        return sc__usage(req,
                         "8EiB is 2^63 bytes; write it like 16G",
                         "a size of 8 EiB or more");
    if (q->end < q->begin)
        return sc__usage(req, NULL, "-e is smaller than -b");
    if (sc__option(req, "stepfactor") && !(q->factor > 1))
        return sc__usage(req, NULL, "-f takes a factor above 1");
    if (!q->increment)
        return sc__usage(req, NULL, "-i takes a size above 0");
    if (!few_sizes(q))
        return sc__usage(req, "use -f 2", "more than 100000 sizes");
    return SC_OK;
}

static sc_status take_cluster(const struct sc_request *req, struct sc__coll_query *q) {
    struct sc__settings s = sc__settings(req);
    sc_options tuning;
    const char *text = sc__option(req, "cluster");
    uint32_t ranks = 0;
    SC__TRY(sc__setting_u32(&s, "gpus", 1, &ranks));
    if (!text)
        sc__note(req->ctx, "cluster-default", "no cluster given: dgx-h100");
    SC__TRY(sc__cluster_parse(req->ctx, text ? text : "dgx-h100", ranks, &q->cluster));
    if (!ranks)
        ranks = q->cluster.gpus;
    SC__TRY(sc__options_read(&s, &tuning));
    SC__TRY(sc__cluster_apply(req->ctx, &tuning, ranks, &q->cluster));
    q->cluster.tuning.eager_timer = sc__option(req, "eager") != NULL;
    q->shape = sc__cluster_shape(&q->cluster, q->cluster.gpu_of, ranks);
    return SC_OK;
}

/* Times are counted in picoseconds and end at the largest number of them. */
static sc_status check_longest(const struct sc_request *req,
                               const struct sc__coll_query *q) {
    struct sc__coll_cost p = sc__coll_op_cost(&q->cluster, q->op, &q->shape, q->end);
    if (p.time < INT64_MAX / 2)
        return SC_OK;
    return sc__usage(req,
                     "a smaller -e",
                     "%s of %llu bytes takes longer than the 46 days that can be counted",
                     q->op->name,
                     (unsigned long long)q->end);
}

/* The algorithm changes with the size, and not all may have the links they need:
 * asking for every size here leaves nothing that can fail to the tables. */
sc_status sc__coll_network(const struct sc_request *req,
                           const struct sc__settings *s,
                           struct sc__coll_query *q) {
    struct sc__engine_choice choice;
    int64_t unused;
    SC__TRY(sc__engine_choose(s, sc__setting(s, "net"), &choice));
    if (choice.engine == &sc__analytic_engine)
        return SC_OK;
    bool packets = choice.engine == &sc__packet_engine;
    if (choice.engine != &sc__flow_engine && !packets)
        return sc__usage(req,
                         "one of: analytic, flow, packet",
                         "--net %s has no time for a collective by itself",
                         choice.engine->name);
    q->net = SC__NEW(&req->ctx->arena, struct sc__net);
    q->net_cost = packets ? sc__packet_cost : sc__flow_cost;
    SC__TRY(packets ? sc__packet_group(req->ctx, &q->cluster, q->shape.ranks, s, q->net)
                    : sc__flow_group(req->ctx, &q->cluster, q->shape.ranks, s, q->net));
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes))
        SC__TRY(q->net_cost(q->net, q->op->coll, bytes, &unused));
    return SC_OK;
}

struct coll_cmd_row {
    uint64_t bytes;
    struct sc__coll_cost cost;
    double us;
    double algbw;
    double busbw;
};

static struct coll_cmd_row make_row(const struct sc__coll_query *q, uint64_t bytes) {
    struct coll_cmd_row r = {.bytes = bytes,
                             .cost =
                                 sc__coll_op_cost(&q->cluster, q->op, &q->shape, bytes)};
    if (q->net)
        (void)q->net_cost(q->net, q->op->coll, bytes, &r.cost.time);
    r.us = sc__us(r.cost.time);
    r.algbw = r.us > 0 ? (double)bytes / r.us / 1e3 : 0;
    r.busbw = r.algbw * sc__coll_bus_factor(q->op, q->shape.ranks);
    return r;
}

static void coll_cmd_put_head(const struct sc__coll_query *q, struct sc__buffer *out) {
    sc__printf(out,
               "# %s on %s: %u GPU%s on %u node%s, %u GPU%s a process\n#\n",
               q->op->name,
               q->cluster.name,
               q->shape.ranks,
               q->shape.ranks == 1 ? "" : "s",
               q->shape.nodes,
               q->shape.nodes == 1 ? "" : "s",
               q->cluster.tuning.gpus_per_process ? q->cluster.tuning.gpus_per_process : 1,
               q->cluster.tuning.gpus_per_process > 1 ? "s" : "");
    sc__puts(out,
             "#                                                              out-of-place  "
             "        "
             "          "
             "   in-place\n"
             "#       size         count      type   redop    root     time   algbw   "
             "busbw #wrong "
             "    time   "
             "algbw   busbw #wrong  algo         proto\n"
             "#        (B)    (elements)                               (us)  (GB/s)  "
             "(GB/s)        "
             "    (us)  "
             "(GB/s)  (GB/s)\n");
}

/* nccl-tests prints a time in 7 places, with as many decimals as fit. */
static void coll_cmd_put_time(struct sc__buffer *out, double us) {
    sc__printf(out, us >= 10000 ? " %8.0f" : us >= 100 ? " %8.1f" : " %8.2f", us);
}

static void coll_cmd_put_row(const struct sc__coll_query *q,
                             const struct coll_cmd_row *r,
                             struct sc__buffer *out) {
    bool parts = q->op->coll == SC__ALLGATHER || q->op->coll == SC__REDUCESCATTER ||
                 q->op->coll == SC__ALLTOALL || sc__coll_to_root((unsigned)q->op->coll);
    uint64_t count = r->bytes / q->type_size / (parts ? q->shape.ranks : 1);
    bool rooted = sc__coll_rooted((unsigned)q->op->coll);
    sc__printf(out,
               "%12llu  %12llu  %8s  %6s  %6d",
               (unsigned long long)r->bytes,
               (unsigned long long)count,
               q->type,
               q->op->redop,
               rooted ? 0 : -1);
    for (int i = 0; i < 2; i++) {
        coll_cmd_put_time(out, r->us);
        sc__printf(out, "  %6.2f  %6.2f    N/A", r->algbw, r->busbw);
    }
    sc__printf(out,
               "  %-12s %s\n",
               sc__algo_name(r->cost.algo),
               sc__proto_name(r->cost.proto));
}

void sc__coll_put_notes(const struct sc_request *req, struct sc__buffer *out) {
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(out, "# note: %s\n", req->ctx->notes[i].text);
}

static void put_table(const struct sc_request *req,
                      const struct sc__coll_query *q,
                      struct sc__buffer *out) {
    double sum = 0;
    uint32_t rows = 0;
    coll_cmd_put_head(q, out);
    for (uint64_t bytes = q->begin; bytes <= q->end;
         bytes = sc__coll_next_size(q, bytes), rows++) {
        struct coll_cmd_row r = make_row(q, bytes);
        coll_cmd_put_row(q, &r, out);
        sum += r.busbw;
    }
    sc__printf(out, "# Avg bus bandwidth    : %g\n", rows ? sum / rows : 0);
    sc__coll_put_notes(req, out);
}

static void put_json_row(struct sc__json *j, const struct coll_cmd_row *r) {
    sc__json_row(j, NULL);
    sc__json_u64(j, "size_bytes", r->bytes);
    sc__json_us(j, "time_us", r->cost.time);
    sc__json_double(j, "algbw_gbs", r->algbw);
    sc__json_double(j, "busbw_gbs", r->busbw);
    sc__json_string(j, "algo", sc__algo_name(r->cost.algo));
    sc__json_string(j, "proto", sc__proto_name(r->cost.proto));
    sc__json_end_object(j);
}

void sc__coll_open_json(const struct sc_request *req,
                        const struct sc__coll_query *q,
                        const char *schema,
                        struct sc__json *j,
                        struct sc__buffer *out) {
    sc__json_init(j, out);
    sc__json_object(j, NULL);
    sc__json_string(j, "schema", schema);
    sc__json_string(j, "version", SC_VERSION);
    sc__json_string(j, "op", q->op->name);
    sc__json_string(j, "cluster", q->cluster.name);
    sc__json_u64(j, "gpus", q->shape.ranks);
    sc__json_u64(j, "nodes", q->shape.nodes);
    sc__json_notes(j, req->ctx);
}

static void put_json(const struct sc_request *req,
                     const struct sc__coll_query *q,
                     struct sc__buffer *out) {
    struct sc__json j;
    sc__coll_open_json(req, q, "stepcast/coll/1", &j, out);
    sc__json_array(&j, "rows");
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes)) {
        struct coll_cmd_row r = make_row(q, bytes);
        put_json_row(&j, &r);
    }
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

static void put_csv(const struct sc_request *req,
                    const struct sc__coll_query *q,
                    struct sc__buffer *out) {
    (void)req;
    sc__puts(out, "op,gpus,nodes,size_bytes,time_us,algbw_gbs,busbw_gbs,algo,proto\n");
    for (uint64_t bytes = q->begin; bytes <= q->end; bytes = sc__coll_next_size(q, bytes)) {
        struct coll_cmd_row r = make_row(q, bytes);
        sc__printf(out,
                   "%s,%u,%u,%llu,",
                   q->op->name,
                   q->shape.ranks,
                   q->shape.nodes,
                   (unsigned long long)bytes);
        sc__put_us(out, r.cost.time);
        sc__printf(out,
                   ",%.6g,%.6g,%s,%s\n",
                   r.algbw,
                   r.busbw,
                   sc__algo_name(r.cost.algo),
                   sc__proto_name(r.cost.proto));
    }
}

typedef void
put_fn(const struct sc_request *, const struct sc__coll_query *, struct sc__buffer *);

/* Into the file the option names, or to standard output alone. */
static sc_status put_file(struct sc_request *req,
                          const struct sc__coll_query *q,
                          const char *option,
                          put_fn *put,
                          bool *alone) {
    const char *path = sc__option(req, option);
    struct sc__buffer text;
    if (!path)
        return SC_OK;
    if (!strcmp(path, "-")) {
        if (*alone)
            return sc__usage(req,
                             NULL,
                             "only one of --json and --csv can go to standard output");
        put(req, q, &req->out);
        *alone = true;
        return SC_OK;
    }
    sc__buffer_init(&text, &req->ctx->arena);
    put(req, q, &text);
    return sc__write_file(req->ctx, path, text.text, text.size);
}

static void put_sample(struct sc__buffer *out, const struct sc__sample *s) {
    sc__printf(out,
               "%s,%s,%u,%u,%llu,%.6g,%.6g,%.4g,",
               s->op->name,
               s->cluster->gpu,
               s->shape.ranks,
               s->shape.nodes,
               (unsigned long long)s->bytes,
               s->us,
               s->model_us,
               100 * (s->model_us / s->us - 1));
}

sc_status sc__coll_put_samples(struct sc_request *req,
                               const struct sc__samples *samples,
                               const struct sc__names *sources) {
    struct sc__buffer b;
    if (!sc__option(req, "csv"))
        return SC_OK;
    sc__buffer_init(&b, &req->ctx->arena);
    sc__puts(&b,
             "op,gpu,gpus,nodes,size_bytes,measured_us,forecast_us,error_percent,source\n");
    for (uint32_t i = 0; i < samples->count; i++) {
        put_sample(&b, &samples->items[i]);
        if (sources)
            sc__put_csv_cell(&b, sources->text[samples->items[i].source]);
        sc__putc(&b, '\n');
    }
    return sc__job_output(req, "csv", &b);
}

void sc__coll_note_unused(struct sc_request *req) {
    for (uint32_t i = 0; i < req->value_count; i++)
        if (!req->values[i].used)
            sc__note(req->ctx,
                     "option-unused",
                     "--%s has no effect beside measurements",
                     req->values[i].option->name);
}

/* Options about another operation or engine, which were asked for all the same. */
static void note_idle(struct sc_request *req, const struct sc__coll_query *q) {
    enum sc__coll coll = (enum sc__coll)q->op->coll;
    bool messages = coll == SC__COLLS || sc__coll_direct(coll);
    const struct sc__idle_option list[] = {
        {"two-level", coll != SC__ALLTOALL, "only an all-to-all has two levels"},
        {"no-pxn", coll != SC__ALLTOALL, "only an all-to-all changes rails (PXN)"},
        {"net-channels",
         !messages && !sc__option(req, "algo"),
         "only messages have channels to a peer"},
        {"cc", !sc__coll_has_packets(q), "only --net packet has congestion control"},
        {"leave-one-out", true, "only --validate fits"},
    };
    sc__note_idle_options(req, list, sizeof list / sizeof *list);
}

/* What cannot run here must not be answered with something else. */
static sc_status check_forced(const struct sc_request *req,
                              const struct sc__coll_query *q) {
    const struct sc__tuning *t = &q->cluster.tuning;
    if (q->op->coll == SC__COLLS || q->cluster.ideal || q->shape.ranks < 2)
        return SC_OK;
    struct sc__coll_cost p = sc__coll_op_cost(&q->cluster, q->op, &q->shape, q->end);
    if (t->algo && p.algo != t->algo)
        return sc__usage(
            req,
            "leave --algo out, or see docs/model/collectives.md for what each needs",
            "%s cannot run as %s on %u GPUs of %s",
            q->op->name,
            sc__algo_name(t->algo),
            q->shape.ranks,
            q->cluster.name);
    bool allowed = !t->protocols || (p.proto && t->protocols & SC__PROTO_BIT(p.proto));
    if (!allowed)
        return sc__usage(
            req,
            "NVLS, NVLSTree, CollNet, PAT and messages have the Simple protocol only",
            "%s as %s cannot do with --proto %s here",
            q->op->name,
            sc__algo_name(p.algo),
            sc__option(req, "proto"));
    return SC_OK;
}

/* Forecasts beside measurements, or fitted to them. */
static sc_status measured_execute(struct sc_request *req) {
    const char *truth = sc__option(req, "validate");
    const char *log = sc__option(req, "against");
    if (sc__option(req, "json") || sc__option(req, "html"))
        return sc__usage(
            req,
            "--csv writes rows",
            "--json and --html write forecasts alone, no measurements beside them");
    if (truth)
        return sc__coll_validate(req, truth);
    if (!sc__option(req, "fit"))
        return sc__coll_against(req, log);
    if (sc__option(req, "csv"))
        return sc__usage(req, "--against writes rows", "--csv has no effect with --fit");
    return sc__coll_fit(req);
}

static sc_status coll_cmd_execute(struct sc_request *req) {
    struct sc__coll_query q = {0};
    bool alone = false;
    if (sc__option(req, "validate") || sc__option(req, "fit") || sc__option(req, "against"))
        return measured_execute(req);
    SC__TRY(take_op(req, &q));
    SC__TRY(take_type(req, &q));
    SC__TRY(take_sizes(req, &q));
    SC__TRY(take_cluster(req, &q));
    SC__TRY(check_forced(req, &q));
    SC__TRY(check_longest(req, &q));
    if (sc__coll_compares(req))
        return sc__coll_compare(req, &q);
    struct sc__settings settings = sc__settings(req);
    SC__TRY(sc__coll_network(req, &settings, &q));
    sc__job_note_unused(req);
    note_idle(req, &q);
    if (q.cluster.ideal)
        sc__note(req->ctx,
                 "free",
                 "communication is free on %s: it takes no time and has no bandwidth",
                 q.cluster.name);
    if (sc__coll_has_packets(&q))
        sc__packet_note_effort(q.net);
    if (sc__option(req, "html")) {
        struct sc__coll_shown shown = {&q, sc__option(req, "cc")};
        SC__TRY(sc__coll_write_page(req, &shown, sc__coll_has_packets(&q)));
    }
    SC__TRY(put_file(req, &q, "json", put_json, &alone));
    SC__TRY(put_file(req, &q, "csv", put_csv, &alone));
    req->out.for_people = !alone;
    if (!alone)
        put_table(req, &q, &req->out);
    return SC_OK;
}

const struct sc__command sc__command_coll = {
    .name = "coll",
    .args = "OP",
    .summary = "what nccl-tests would print on a cluster",
    .text = "OP is all_reduce, all_gather, reduce_scatter, alltoall, sendrecv, broadcast, "
            "reduce, "
            "gather or scatter. "
            "Sizes,\n"
            "types and columns are nccl-tests'. With --against the forecast is set beside "
            "a log; "
            "with --fit the cluster's\n"
            "constants are calibrated on logs.",
    .options = tables,
    .execute = coll_cmd_execute,
};
