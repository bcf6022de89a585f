/* Where a GPU's time went, counted as HolisticTraceAnalysis does: unions of
 * intervals by kind of kernel, their overlap, and idle time by its cause. */
#include "frontend/kineto/kineto.h"

#include "frontend/torch_profiler/profile.h"

#include <stdlib.h>
#include <string.h>

#define SHORT_GAP 30 /* ns: what the device needs between two kernels; HTA's figure */

struct interval {
    int64_t start;
    int64_t end;
};

struct intervals {
    struct interval *items;
    uint32_t count;
    uint32_t capacity;
};

/* kind 3: any. Kernels come by start, so merging looks at the last one only. */
static struct intervals merge(struct sc__arena *a,
                              const struct sc__kineto_trace *t,
                              unsigned kind,
                              int64_t start,
                              int64_t end) {
    struct intervals m = {0};
    for (uint32_t i = sc__kineto_first(t, t->ended, start + 1); i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        if (k->start >= end)
            break;
        struct interval v = {k->start > start ? k->start : start,
                             k->start + k->dur < end ? k->start + k->dur : end};
        if ((kind < 3 && k->kind != kind) || v.start >= v.end)
            continue;
        if (m.count && v.start <= m.items[m.count - 1].end) {
            if (v.end > m.items[m.count - 1].end)
                m.items[m.count - 1].end = v.end;
        } else
            *SC__PUSH(a, m.items, m.count, m.capacity) = v;
    }
    return m;
}

static int64_t length(const struct intervals *m) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < m->count; i++)
        sum += m->items[i].end - m->items[i].start;
    return sum;
}

/* Length of the overlap: both lists are sorted and disjoint, so one pass does. */
static int64_t common(const struct intervals *x, const struct intervals *y) {
    int64_t sum = 0;
    for (uint32_t i = 0, j = 0; i < x->count && j < y->count;) {
        int64_t from =
            x->items[i].start > y->items[j].start ? x->items[i].start : y->items[j].start;
        int64_t to = x->items[i].end < y->items[j].end ? x->items[i].end : y->items[j].end;
        if (to > from)
            sum += to - from;
        if (x->items[i].end < y->items[j].end)
            i++;
        else
            j++;
    }
    return sum;
}

/* A gap ends with the start of some kernel: if that was launched only after
 * the gap began, the device waited for the host. */
static void idle(const struct sc__kineto_trace *t,
                 const struct intervals *busy,
                 int64_t start,
                 int64_t end,
                 struct sc__kineto_breakdown *b) {
    uint32_t k = sc__kineto_first(t, t->ended, start + 1);
    for (uint32_t i = 0; i <= busy->count; i++) {
        int64_t from = i ? busy->items[i - 1].end : start;
        int64_t to = i < busy->count ? busy->items[i].start : end;
        if (to <= from)
            continue;
        while (k < t->kernel_count && t->kernels[k].start < to)
            k++;
        const struct sc__kineto_launch *l =
            i < busy->count && k < t->kernel_count
                ? sc__kineto_launch_of(t, t->kernels[k].correlation)
                : NULL;
        if (i == busy->count || (l && l->start + l->dur > from))
            b->host_idle += to - from;
        else if (to - from <= SHORT_GAP)
            b->kernel_idle += to - from;
        else
            b->other_idle += to - from;
    }
}

struct sc__kineto_breakdown
sc__kineto_break_down(const struct sc__kineto_trace *t, int64_t start, int64_t end) {
    struct sc__kineto_breakdown b = {.span = end - start};
    struct sc__arena a;
    sc__arena_init(&a);
    struct intervals compute = merge(&a, t, SC__KINETO_COMPUTE, start, end);
    struct intervals comm = merge(&a, t, SC__KINETO_COMM, start, end);
    struct intervals memory = merge(&a, t, SC__KINETO_MEMORY, start, end);
    struct intervals busy = merge(&a, t, 3, start, end);
    b.compute = length(&compute);
    b.comm = length(&comm);
    b.memory = length(&memory);
    b.busy = length(&busy);
    b.overlap = common(&compute, &comm);
    b.exposed_comm = b.comm - b.overlap;
    b.exposed_memory = b.busy - b.compute - b.exposed_comm;
    idle(t, &busy, start, end, &b);
    sc__arena_free(&a);
    return b;
}

enum sc__work sc__kineto_work(const char *name) {
    static const struct {
        const char *part;
        enum sc__work work;
    } parts[] = {{"flashinfer::norm", SC__WORK_NORM},
                 {"flashinfer::activation", SC__WORK_ELEMENTWISE},
                 {"reshape_and_cache", SC__WORK_COPY},
                 {"flash", SC__WORK_ATTENTION},
                 {"fmha", SC__WORK_ATTENTION},
                 {"attention", SC__WORK_ATTENTION},
                 {"gemm", SC__WORK_GEMM},
                 {"cutlass", SC__WORK_GEMM},
                 {"nvjet", SC__WORK_GEMM},
                 {"cublas", SC__WORK_GEMM},
                 {"_mma", SC__WORK_GEMM},
                 {"layer_norm", SC__WORK_NORM},
                 {"LayerNorm", SC__WORK_NORM},
                 {"rms_norm", SC__WORK_NORM},
                 {"RMSNorm", SC__WORK_NORM},
                 {"GammaBeta", SC__WORK_NORM},
                 {"multi_tensor", SC__WORK_OPTIMIZER},
                 {"adam", SC__WORK_OPTIMIZER},
                 {"nll_loss", SC__WORK_LOSS},
                 {"oftMax", SC__WORK_LOSS},
                 {"cross_entropy", SC__WORK_LOSS},
                 {"mbedding", SC__WORK_EMBEDDING},
                 {"Memcpy", SC__WORK_COPY},
                 {"Memset", SC__WORK_COPY},
                 {"topk", SC__WORK_ROUTER},
                 {"TopK", SC__WORK_ROUTER},
                 {"Sort", SC__WORK_ROUTER},
                 {"sort", SC__WORK_ROUTER},
                 {"permute", SC__WORK_ROUTER},
                 {"copy", SC__WORK_COPY},
                 {"CatArray", SC__WORK_COPY},
                 {"elementwise", SC__WORK_ELEMENTWISE},
                 {"reduce_kernel", SC__WORK_ELEMENTWISE}};
    bool fused = sc__profile_by_inductor(name);
    for (unsigned i = 0; i < sizeof parts / sizeof *parts && !fused; i++)
        if (strstr(name, parts[i].part))
            return parts[i].work;
    uint8_t class = sc__profile_class(name);
    return class == SC__CLASS_COMM ? SC__WORK_OTHER : (enum sc__work) class;
}

static int by_time(const void *a, const void *b) {
    const struct sc__kineto_operator *x = a;
    const struct sc__kineto_operator *y = b;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

void sc__kineto_total(const struct sc__kineto_trace *t,
                      int64_t start,
                      int64_t end,
                      struct sc__kineto_totals *out) {
    struct sc__arena a;
    memset(out, 0, sizeof *out);
    sc__arena_init(&a);
    uint32_t used = 0;
    uint32_t room = 0;
    struct sc__kineto_operator *all = NULL;
    struct sc__map by_name;
    sc__map_init(&by_name, &a);
    for (uint32_t i = sc__kineto_first(t, t->ended, start); i < t->kernel_count; i++) {
        const struct sc__kineto_kernel *k = &t->kernels[i];
        if (k->start >= end)
            break;
        if (k->start < start)
            continue;
        if (k->kind == SC__KINETO_COMM)
            out->comm += k->dur;
        else
            out->work[k->kind == SC__KINETO_MEMORY
                          ? SC__WORK_COPY
                          : sc__kineto_work(t->names.text[k->name])] += k->dur;
        uint32_t name = sc__kineto_operator_of(t, k);
        bool fresh;
        uint64_t *at = sc__map_at(&by_name, name, &fresh);
        if (fresh) {
            *at = used;
            SC__PUSH(&a, all, used, room)->name = name;
        }
        all[*at].kernels++;
        all[*at].time += k->dur;
    }
    if (used)
        qsort(all, used, sizeof *all, by_time);
    out->top_count = used < SC__KINETO_TOP ? used : SC__KINETO_TOP;
    if (used)
        memcpy(out->top, all, out->top_count * sizeof *all);
    sc__arena_free(&a);
}
