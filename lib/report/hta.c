/* One file per rank, as torch.profiler would have written it, with what
 * HolisticTraceAnalysis looks for: "rank": in distributedInfo (a blank after
 * the colon: its regular expression wants one), kernels with stream and
 * correlation, a launch on the host of the same correlation for each, NCCL's
 * names for transfers, one ProfilerStep around it all. Times are shifted so
 * that the first launch comes before the first kernel. */
#include "report/write.h"

#define LEAD (10 * SC__PS_PER_US) /* of the host before the GPU */
#define FIRST_STREAM 7            /* torch's compute stream */

struct hta {
    const struct sc__result *r;
    const struct sc__timeline *t;
    const struct sc__workload *w;
    struct sc__buffer *out;
    int64_t host_free; /* when the host can launch again */
    uint32_t rank;
};

static const char *kernel_name(const struct hta *h, const struct sc__op *op) {
    static const char *const nccl[SC__COLLS] = {
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
        "ncclDevKernel_AllGather_RING_LL",
        "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
        "ncclDevKernel_SendRecv",
        "ncclDevKernel_Broadcast_RING_LL",
        "ncclDevKernel_Reduce_Sum_bf16_RING_LL",
        "ncclDevKernel_AllReduce_Sum_i32_RING_LL",
        "ncclDevKernel_SendRecv",
        "ncclDevKernel_SendRecv",
        "ncclDevKernel_SendRecv"};
    if (op->kind == SC__OP_COLLECTIVE)
        return nccl[op->coll];
    return op->kind == SC__OP_COMPUTE ? sc__trace_name(h->w, op) : "ncclDevKernel_SendRecv";
}

static void hta_put_times(struct hta *h, int64_t start, int64_t end) {
    sc__puts(h->out, ",\"ts\":");
    sc__put_us(h->out, start);
    sc__puts(h->out, ",\"dur\":");
    sc__put_us(h->out, end - start);
}

static void hta_put_name(struct hta *h, const char *name) {
    struct sc__json j;
    sc__json_init(&j, h->out);
    sc__puts(h->out, ",\"name\":");
    sc__json_string(&j, NULL, name);
}

/* The host launches one kernel after the other, each a little before it runs. */
static void hta_put_launch(struct hta *h, const struct sc__span *s, uint32_t correlation) {
    int64_t at = s->start + LEAD / 2;
    if (at < h->host_free)
        at = h->host_free;
    h->host_free = at + SC__PS_PER_NS;
    sc__puts(h->out,
             ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
             "\"pid\":1000,"
             "\"tid\":1000");
    hta_put_times(h, at, h->host_free);
    sc__printf(h->out,
               ",\"args\":{\"correlation\":%u,\"External id\":%u}}",
               correlation,
               correlation);
}

static const char *nccl_word(const struct sc__op *op) {
    static const char *const words[SC__COLLS] = {"allreduce",
                                                 "_allgather_base",
                                                 "_reduce_scatter_base",
                                                 "all_to_all",
                                                 "broadcast",
                                                 "reduce",
                                                 "barrier",
                                                 "gather",
                                                 "scatter",
                                                 "all_to_all"};
    if (op->kind == SC__OP_COLLECTIVE)
        return words[op->coll];
    return op->kind == SC__OP_SEND ? "send" : "recv";
}

/* torch names 30 ranks at most. */
static void hta_put_members(struct hta *h, const struct sc__op *op) {
    uint32_t size = sc__group_size(h->w, op->group);
    sc__puts(h->out, ",\"Process Group Ranks\":\"[");
    for (uint32_t i = 0; i < size && i < 30; i++) {
        if (i)
            sc__puts(h->out, ", ");
        sc__put_u64(h->out, sc__group_member(h->w, op->group, h->rank, i));
    }
    sc__puts(h->out, size > 30 ? ", ...]\"" : "]\"");
}

/* What goes in and comes out on each rank; of a gather or scatter on those
 * that are not its root. */
static void hta_put_transfer(struct hta *h, const struct sc__op *op) {
    bool coll = op->kind == SC__OP_COLLECTIVE;
    uint32_t size = coll ? sc__group_size(h->w, op->group) : 2;
    bool gathers = coll && (op->coll == SC__ALLGATHER || op->coll == SC__GATHER);
    bool scatters = coll && (op->coll == SC__REDUCESCATTER || op->coll == SC__SCATTER);
    sc__printf(
        h->out,
        ",\"Collective name\":\"%s\",\"dtype\":\"Byte\",\"In msg nelems\":%llu,\"Out msg "
        "nelems\":%llu,"
        "\"Group size\":%u,\"Process Group Description\":\"%s\"",
        nccl_word(op),
        (unsigned long long)(gathers ? op->bytes / size : op->bytes),
        (unsigned long long)(scatters ? op->bytes / size : op->bytes),
        size,
        sc__span_label(h->w, op));
}

static bool is_alone(const struct hta *h, const struct sc__op *op) {
    return op->kind == SC__OP_COLLECTIVE && h->w->groups[op->group].kind == SC__GROUP_HOST;
}

/* What the kernel is for. Of a rank alone the time is all that is known, and a record with
 * one rank in its group would be one of a collective that takes none. */
static void hta_put_record(struct hta *h, const struct sc__op *op) {
    if (is_alone(h, op)) {
        sc__printf(h->out,
                   ",\"Process Group Description\":\"%s\"",
                   sc__span_label(h->w, op));
        return;
    }
    hta_put_transfer(h, op);
    if (op->kind == SC__OP_COLLECTIVE)
        hta_put_members(h, op);
}

static void hta_put_kernel(struct hta *h,
                           const struct sc__span *s,
                           const struct sc__op *op,
                           uint32_t correlation) {
    unsigned stream = FIRST_STREAM + op->stream;
    sc__printf(h->out, ",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"pid\":0,\"tid\":%u", stream);
    hta_put_name(h, kernel_name(h, op));
    hta_put_times(h, s->start + LEAD, s->end + LEAD);
    sc__printf(
        h->out,
        ",\"args\":{\"device\":0,\"stream\":%u,\"correlation\":%u,\"External id\":%u",
        stream,
        correlation,
        correlation);
    if (op->kind != SC__OP_COMPUTE)
        hta_put_record(h, op);
    sc__puts(h->out, "}}");
}

static void hta_put_head(struct hta *h, uint32_t rank, uint32_t world) {
    const char *gpu = h->r->cluster.gpu ? h->r->cluster.gpu : "GPU";
    struct sc__json j;
    sc__json_init(&j, h->out);
    sc__puts(h->out,
             "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": ");
    sc__json_string(&j, NULL, gpu);
    sc__printf(
        h->out,
        "}], \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %u, \"world_size\": "
        "%u},\n"
        "\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1000,\"tid\":0,\"ts\":0,\"args\":{"
        "\"name\":\"python\"}},\n"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"ts\":0,\"args\":{"
        "\"name\":"
        "\"GPU 0\"}},\n"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":"
        "1000,"
        "\"tid\":1000",
        rank,
        world);
    hta_put_times(h, 0, h->t->end + 2 * LEAD);
    sc__puts(h->out, ",\"args\":{\"External id\":0}}");
}

/* While the GPU waits for its host no kernel runs. */
static bool is_kernel(const struct sc__op *op) {
    return op->kind != SC__OP_WAIT &&
           !(op->kind == SC__OP_COMPUTE && op->work == SC__WORK_HOST);
}

void sc__write_hta(const struct sc__result *r, uint32_t rank, struct sc__buffer *out) {
    struct hta h = {.r = r, .t = r->timeline, .w = r->workload, .out = out, .rank = rank};
    uint32_t class = sc__workload_class_of(h.w, rank);
    uint32_t correlation = 0;
    hta_put_head(&h, rank, sc__mesh_ranks(&h.w->mesh));
    for (uint32_t i = r->by_class.first[class]; i < r->by_class.first[class + 1]; i++) {
        const struct sc__span *s = &h.t->spans[r->by_class.spans[i]];
        const struct sc__op *op = &h.w->ops[s->op];
        if (!is_kernel(op) || s->end <= s->start)
            continue;
        correlation++;
        hta_put_launch(&h, s, correlation);
        hta_put_kernel(&h, s, op, correlation);
    }
    sc__puts(out, "\n]}\n");
}
