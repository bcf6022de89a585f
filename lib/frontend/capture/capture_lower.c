/* capture lower: the operations of a capture as a workload. A rank has a host, which
 * starts one operation after another, a stream for the kernels, and a stream for each
 * process group; a kernel begins when the host has launched it and its stream is free.
 * A step whose host is slower than its kernels comes out so. */
#include "base/options.h"
#include "frontend/capture/capture.h"
#include "hardware/cluster.h"
#include "hardware/power_throttling.h"

#include <math.h>
#include <string.h>

enum { STREAM_COMPUTE, STREAM_HOST, STREAM_SEND, STREAM_RECV, STREAM_OTHERS };

struct lowering {
    struct sc_context *ctx;
    struct sc__capture *c;
    const struct sc__gpu *gpu;
    struct sc__operators operators;
    struct sc__capture_price *prices; /* by call */
    double *scratch;                  /* by call */
    struct sc__throttling throttling;
    double host_scale;
    unsigned compiled; /* enum compiled */
    struct sc__workload *w;
    int32_t stream_id[SC__MAX_STREAMS]; /* of the capture, from STREAM_OTHERS on */
    uint32_t streams;
    uint16_t *group; /* of the capture → of the workload */
    uint32_t *op_at; /* operation of the program → operation of the block */
};

/* ---- the machine ---- */

static sc_status take_host_scale(struct lowering *l, const struct sc__settings *s) {
    l->host_scale = 1;
    if (!s)
        return SC_OK;
    SC__TRY(sc__setting_double(s, "host-scale", &l->host_scale));
    if (l->host_scale >= 0 && l->host_scale <= 1e6)
        return SC_OK;
    return sc__fail(l->ctx,
                    SC_USAGE,
                    NULL,
                    "1 is the host of the measurements, 0.3 a fast one, 0 none",
                    "--host-scale must be a number from 0 on");
}

enum compiled { COMPILED_AUTO, COMPILED_NO, COMPILED_YES, COMPILED_GRAPHS };

static sc_status take_compiled(struct lowering *l, const struct sc__settings *s) {
    static const char *const words[] = {"auto", "no", "yes", "graphs", NULL};
    l->compiled = COMPILED_AUTO;
    if (s)
        SC__TRY(sc__setting_word(s, "compiled", words, &l->compiled));
    if (l->compiled == COMPILED_AUTO)
        l->compiled = l->c->compiled ? COMPILED_YES : COMPILED_NO;
    return SC_OK;
}

/* ---- the mesh ---- */

static bool named(const char *name, const char *const *names) {
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* Dimensions by the words that programs use. */
static int dim_of(const char *name) {
    static const char *const tensor[] = {"tp", "mp", "model", "tensor", NULL};
    static const char *const context[] = {"cp", "sp", "context", "sequence", NULL};
    static const char *const data[] = {"dp",
                                       "data",
                                       "fsdp",
                                       "shard",
                                       "dp_shard",
                                       "replicate",
                                       "dp_replicate",
                                       "ddp",
                                       NULL};
    static const char *const pipeline[] = {"pp", "pipe", "pipeline", "stage", NULL};
    if (named(name, tensor))
        return SC__DIM_TP;
    if (named(name, context))
        return SC__DIM_CP;
    if (named(name, data))
        return SC__DIM_DP;
    return named(name, pipeline) ? SC__DIM_PP : SC__DIMS;
}

static sc_status bad_mesh(const struct lowering *l, const char *name) {
    struct sc__place at = {.file = l->c->file};
    return sc__fail(l->ctx,
                    SC_INPUT,
                    &at,
                    "dimensions are tp, cp, dp (or dp_replicate and dp_shard) and pp, each "
                    "once",
                    "the mesh has a dimension '%s' that has no place here",
                    name);
}

static sc_status lower_mesh(struct lowering *l) {
    uint32_t size[SC__DIMS] = {1, 1, 1, 1};
    uint8_t order[SC__DIMS];
    unsigned placed = 0;
    unsigned seen = 0;
    if (!l->c->dims) {
        l->w->mesh = sc__mesh(1, 1, 1, l->c->world, 1, 1);
        return SC_OK;
    }
    /* fastest first */
    for (uint32_t i = l->c->dims; i-- > 0;) {
        int dim = dim_of(l->c->mesh[i].name);
        bool again = dim < SC__DIMS && seen >> dim & 1;
        bool beside = placed && order[placed - 1] == dim;
        if (dim == SC__DIMS || (again && !(dim == SC__DIM_DP && beside)))
            return bad_mesh(l, l->c->mesh[i].name);
        if (!again)
            order[placed++] = (uint8_t)dim;
        seen |= 1u << dim;
        size[dim] *= l->c->mesh[i].size;
    }
    for (unsigned dim = 0; dim < SC__DIMS; dim++)
        if (!(seen >> dim & 1))
            order[placed++] = (uint8_t)dim;
    l->w->mesh = sc__mesh(size[SC__DIM_TP],
                          size[SC__DIM_CP],
                          1,
                          size[SC__DIM_DP],
                          size[SC__DIM_PP],
                          0);
    memcpy(l->w->mesh.order, order, sizeof order);
    return sc__mesh_check(l->ctx, &l->w->mesh);
}

/* The set of our dimensions that a set of the capture's covers; SC__NONE when it has
 * only a part of one (HSDP's shards). */
static uint32_t our_dims(const struct sc__capture *c, uint32_t dims) {
    uint32_t ours = 0;
    uint32_t rest = 0;
    for (uint32_t i = 0; i < c->dims; i++) {
        int dim = dim_of(c->mesh[i].name);
        if (c->mesh[i].size == 1)
            continue;
        if (dims >> i & 1)
            ours |= 1u << dim;
        else
            rest |= 1u << dim;
    }
    return ours & rest ? SC__NONE : ours;
}

static sc_status bad_group(const struct lowering *l, uint32_t group) {
    struct sc__place at = {.file = l->c->file};
    return sc__fail(l->ctx,
                    SC_INPUT,
                    &at,
                    "groups along tp, cp, dp, dp × cp or pp, or of all ranks",
                    "process group %u lies across the mesh in a way that is not known",
                    group);
}

/* A group of one rank, which has nobody to talk to. */
static bool is_alone(const struct lowering *l, const struct sc__capture_with *with) {
    return with->group != SC__NONE && l->c->groups[with->group].count == 1;
}

static sc_status lower_group(struct lowering *l, uint32_t i) {
    const struct sc__capture_group *g = &l->c->groups[i];
    if (g->count == 1)
        return SC_OK;
    uint32_t dims = g->world ? 0 : our_dims(l->c, g->dims);
    static const struct {
        uint32_t dims;
        enum sc__group_kind kind;
    } kinds[] = {{1u << SC__DIM_TP, SC__GROUP_TP},
                 {1u << SC__DIM_CP, SC__GROUP_CP},
                 {1u << SC__DIM_DP, SC__GROUP_DP},
                 {1u << SC__DIM_DP | 1u << SC__DIM_CP, SC__GROUP_DP_CP},
                 {1u << SC__DIM_PP, SC__GROUP_PP}};
    for (size_t k = 0; !g->ranks && !g->world && k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].dims == dims) {
            l->group[i] = sc__workload_group(l->w, kinds[k].kind);
            return SC_OK;
        }
    if (g->ranks && l->c->class_count == l->c->world) {
        l->group[i] = sc__workload_group_list(l->w,
                                              sc__format(l->c->arena, "group %u", i),
                                              g->ranks,
                                              g->count);
        return SC_OK;
    }
    if (g->ranks || g->count != l->c->world)
        return bad_group(l, i);
    l->group[i] = sc__workload_group(l->w, l->c->dims ? SC__GROUP_WORLD : SC__GROUP_DP);
    return SC_OK;
}

/* ---- prices ---- */

static bool is_host(const char *op) {
    return !strncmp(op, "host.", 5);
}

static bool is_transfer(const char *op) {
    return !strncmp(op, "c10d.", 5);
}

/* A file that was made before storages and units were written cannot tell what fuses. */
static sc_status check_units(const struct lowering *l,
                             const struct sc__capture_program *p) {
    struct sc__place at = {.file = l->c->file};
    for (uint32_t i = 0; i < p->op_count; i++)
        if (p->ops[i].used.count)
            return SC_OK;
    return sc__fail(l->ctx,
                    SC_INPUT,
                    &at,
                    "capture it again",
                    "this capture does not say what would be compiled together");
}

/* Where the last phase of a step begins: the optimizer's, with what a step costs but once.
 */
static uint32_t last_phase(const struct sc__capture_program *p) {
    uint32_t i = p->op_count;
    while (i > 1 && p->ops[i - 2].phase == p->ops[p->op_count - 1].phase)
        i--;
    return i ? i - 1 : 0;
}

static sc_status price_programs(struct lowering *l) {
    struct sc__kernel_model *model = sc__kernel_model_new(&l->ctx->arena, l->gpu);
    l->prices =
        SC__NEW_ARRAY(&l->ctx->arena, struct sc__capture_price, l->c->call_count + 1);
    l->scratch = SC__NEW_ARRAY(&l->ctx->arena, double, l->c->call_count + 1);
    for (uint32_t i = 0; i < l->c->call_count; i++) {
        const struct sc__capture_call *call = &l->c->calls[i];
        if (is_host(call->op) || is_transfer(call->op))
            continue;
        l->prices[i] = sc__capture_price(l->c, &l->operators, model, call);
        l->scratch[i] = l->prices[i].scratch;
    }
    for (uint32_t i = 0; i < l->c->program_count; i++) {
        struct sc__capture_program *p = &l->c->programs[i];
        p->prices =
            SC__NEW_ARRAY(&l->ctx->arena, struct sc__capture_price, p->op_count + 1);
        for (uint32_t k = 0; k < p->op_count; k++)
            p->prices[k] = l->prices[p->ops[k].call];
        p->last_phase_begins = last_phase(p);
        if (l->compiled == COMPILED_NO)
            continue;
        SC__TRY(check_units(l, p));
        sc__capture_fuse(l->ctx, l->c, &l->operators, model, p);
    }
    return SC_OK;
}

/* Compiled code starts its kernels one after another, or all of a call as one graph. The
 * price of the call itself is counted behind them: from step to step the host is ahead, and
 * the GPU does not wait for it. */
static double compiled_host_us(const struct lowering *l,
                               const struct sc__capture_program *p,
                               uint32_t i) {
    const struct sc__operators *o = &l->operators;
    bool graph = l->compiled == COMPILED_GRAPHS;
    double call = graph ? o->host_graph : o->host_compiled_unit;
    double kernel = graph ? 0 : o->host_compiled_kernel;
    return (p->prices[i].ends ? call : 0) + p->prices[i].calls * kernel;
}

static double
host_us(const struct lowering *l, const struct sc__capture_program *p, uint32_t i) {
    const struct sc__operators *o = &l->operators;
    const struct sc__capture_op *op = &p->ops[i];
    const struct sc__capture_price *price = &p->prices[i];
    double step = i == p->last_phase_begins ? o->host_step : 0;
    if (price->compiled)
        return (step + compiled_host_us(l, p, i)) * l->host_scale;
    double us = step + op->quiet * o->host_view + price->lists * o->host_tensor;
    if (op->phase != SC__UPDATE) {
        us += o->host_operation + o->host_kind[price->host][op->phase == SC__BACKWARD];
        us += price->launching;
        if (price->host == SC__HOST_PLAIN && price->kernels > 1)
            us += (price->kernels - 1) * o->host_kernel;
    }
    return us * l->host_scale;
}

/* The clock that the whole step settles at. */
static void find_clock(struct lowering *l) {
    const struct sc__capture_program *p = &l->c->programs[l->c->classes[0].program];
    struct sc__load load = {0};
    double host = 0;
    for (uint32_t i = 0; i < p->op_count; i++) {
        host += host_us(l, p, i);
        if (p->prices[i].kernel.us > 0)
            sc__load_add(&load, &p->prices[i].kernel, 1);
    }
    l->throttling = sc__throttle(l->gpu, &load, fmax(0, host - load.us));
}

static double kernel_us(const struct lowering *l, const struct sc__capture_price *price) {
    return price->kernel.us * l->throttling.factor[price->kernel.kind] +
           price->kernels * l->gpu->gap;
}

/* ---- from step to step ---- */

/* Kernels that can wait in a queue of CUDA. */
enum { MOST_QUEUED = 1024 };

/* What is left for the GPU to do when the host is through with a step that it began so far
 * ahead. */
static double
lead_after(const struct lowering *l, const struct sc__capture_program *p, double lead) {
    double host = 0;
    double gpu = lead;
    for (uint32_t i = 0; i < p->op_count; i++) {
        const char *name = l->c->calls[p->ops[i].call].op;
        host += host_us(l, p, i);
        if (!strcmp(name, "host.wait"))
            host = fmax(host, gpu);
        if (!is_host(name) && !is_transfer(name))
            gpu = fmax(host, gpu) + kernel_us(l, &p->prices[i]);
    }
    return fmax(0, gpu - host);
}

/* Steps follow each other without a pause: while the GPU ends one, the host has begun the
 * next, as far as the queue reaches. Communication, which would let it be further ahead, is
 * left out. */
static void find_lead(const struct lowering *l, struct sc__capture_program *p) {
    double kernels = 0;
    double busy = 0;
    for (uint32_t i = 0; i < p->op_count; i++) {
        kernels += p->prices[i].kernels;
        busy += kernel_us(l, &p->prices[i]);
    }
    double most = kernels > MOST_QUEUED ? busy * MOST_QUEUED / kernels : busy;
    for (unsigned steps = 0; steps < 4; steps++)
        p->lead = fmin(most, lead_after(l, p, p->lead));
}

/* ---- operations ---- */

static int64_t ps_of(double us) {
    return us >= 9e11 ? (int64_t)9e17 : (int64_t)llround(us * 1e6);
}

/* The workload's stream for a captured one; the last is shared where there are too many. */
static uint8_t stream_of(struct lowering *l, int32_t id) {
    if (!id)
        return STREAM_COMPUTE;
    for (uint32_t i = STREAM_OTHERS; i < l->streams; i++)
        if (l->stream_id[i] == id)
            return (uint8_t)i;
    if (l->streams == SC__MAX_STREAMS)
        return SC__MAX_STREAMS - 1;
    l->stream_id[l->streams] = id;
    l->w->stream_names[l->streams] = id < 0
                                         ? sc__format(l->c->arena, "communication %d", -id)
                                         : sc__format(l->c->arena, "stream %d", id);
    return (uint8_t)l->streams++;
}

static const char *op_name(const struct lowering *l, const struct sc__capture_op *op) {
    const char *module = l->c->modules[op->module];
    const char *name = l->c->calls[op->call].op;
    const char *dot = strchr(name, '.');
    name = dot ? dot + 1 : name;
    return *module ? sc__format(l->c->arena, "%s.%s", module, name) : name;
}

static void depend_on(struct lowering *l, const struct sc__capture_op *op) {
    const uint32_t *after = &l->c->places[op->after.first];
    for (uint32_t i = 0; i < op->after.count; i++)
        sc__block_depend(l->w, l->op_at[after[i]]);
}

static enum sc__coll coll_named(const char *op) {
    static const struct {
        const char *name;
        enum sc__coll coll;
    } names[] = {{"c10d.all_reduce", SC__ALLREDUCE},
                 {"c10d.all_gather", SC__ALLGATHER},
                 {"c10d.reduce_scatter", SC__REDUCESCATTER},
                 {"c10d.all_to_all", SC__ALLTOALL},
                 {"c10d.broadcast", SC__BROADCAST},
                 {"c10d.reduce", SC__REDUCE},
                 {"c10d.barrier", SC__BARRIER}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(op, names[i].name))
            return names[i].coll;
    return SC__COLLS;
}

/* Along the pipeline, to the next or the previous stage. */
static sc_status
set_peer(struct lowering *l, struct sc__op *op, const struct sc__capture_with *w) {
    struct sc__place at = {.file = l->c->file};
    uint32_t stages = l->w->mesh.pp;
    if (w->peer_rank != SC__NONE) {
        op->peer = w->peer_rank;
        return SC_OK;
    }
    bool pipeline = dim_of(l->c->mesh[w->peer_dim].name) == SC__DIM_PP;
    if (!pipeline || (w->peer_by != 1 && w->peer_by != stages - 1))
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        "capture all ranks (--ranks all)",
                        "a message goes %u ranks along '%s', not to the next stage",
                        w->peer_by,
                        l->c->mesh[w->peer_dim].name);
    bool next = w->peer_by == 1;
    bool send = op->kind == SC__OP_SEND;
    op->flags |= next ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    /* activations and gradients are told apart by where they go */
    op->tag = next == send ? 0 : 1;
    if (stages == 2)
        op->tag = op->phase == SC__BACKWARD;
    return SC_OK;
}

static sc_status
add_message(struct lowering *l, const struct sc__capture_op *from, bool send) {
    const struct sc__capture_with *with = &l->c->calls[from->call].with;
    struct sc__op *op = sc__block_add(l->w,
                                      send ? SC__OP_SEND : SC__OP_RECV,
                                      from->phase,
                                      send ? STREAM_SEND : STREAM_RECV,
                                      op_name(l, from));
    op->after = 1u << STREAM_HOST;
    op->bytes = with->bytes;
    op->flags = send ? SC__OP_EAGER : 0;
    SC__TRY(set_peer(l, op, with));
    depend_on(l, from);
    return SC_OK;
}

static sc_status add_transfer(struct lowering *l, const struct sc__capture_op *from) {
    const struct sc__capture_call *call = &l->c->calls[from->call];
    struct sc__place at = {.file = l->c->file};
    enum sc__coll coll = coll_named(call->op);
    if (!strcmp(call->op, "c10d.send") || !strcmp(call->op, "c10d.recv"))
        return add_message(l, from, !strcmp(call->op, "c10d.send"));
    if (coll == SC__COLLS || call->with.group == SC__NONE)
        return sc__fail(l->ctx, SC_INPUT, &at, NULL, "unknown collective '%s'", call->op);
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_COLLECTIVE,
                                      from->phase,
                                      stream_of(l, -1 - (int32_t)call->with.group),
                                      op_name(l, from));
    op->after = 1u << STREAM_HOST;
    op->coll = (uint8_t)coll;
    op->group = l->group[call->with.group];
    op->bytes = call->with.bytes;
    if (sc__coll_rooted(coll))
        op->peer = 0;
    depend_on(l, from);
    return SC_OK;
}

static void add_host(struct lowering *l,
                     const struct sc__capture_program *p,
                     uint32_t i,
                     bool waits,
                     double *lead) {
    struct sc__op *op =
        sc__block_add(l->w, SC__OP_COMPUTE, p->ops[i].phase, STREAM_HOST, "host");
    double us = host_us(l, p, i);
    double before = fmin(us, *lead);
    *lead = waits ? 0 : *lead - before;
    op->work = SC__WORK_HOST;
    op->cost = ps_of(us - before);
    if (waits)
        op->after = (uint16_t)(UINT16_MAX & ~(1u << STREAM_HOST));
}

static void add_kernel(struct lowering *l,
                       const struct sc__capture_op *from,
                       const struct sc__capture_price *price) {
    struct sc__op *op = sc__block_add(l->w,
                                      SC__OP_COMPUTE,
                                      from->phase,
                                      stream_of(l, from->stream),
                                      op_name(l, from));
    op->work = price->kernel.work;
    op->after = 1u << STREAM_HOST;
    op->cost = ps_of(kernel_us(l, price));
    op->bytes = (uint64_t)price->kernel.bytes;
    depend_on(l, from);
}

static sc_status lower_program(struct lowering *l, const struct sc__capture_program *p) {
    l->op_at = SC__NEW_ARRAY(&l->ctx->arena, uint32_t, p->op_count + 1);
    uint32_t first = l->w->op_count;
    double lead = p->lead;
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct sc__capture_op *op = &p->ops[i];
        const char *name = l->c->calls[op->call].op;
        add_host(l, p, i, !strcmp(name, "host.wait"), &lead);
        l->op_at[i] = l->w->op_count - first;
        if (is_host(name) || is_alone(l, &l->c->calls[op->call].with))
            l->op_at[i]--;
        else if (is_transfer(name))
            SC__TRY(add_transfer(l, op));
        else
            add_kernel(l, op, &p->prices[i]);
    }
    return SC_OK;
}

/* ---- the job ---- */

static sc_status check_classes(const struct lowering *l) {
    struct sc__place at = {.file = l->c->file};
    uint32_t stages = l->w->mesh.pp;
    bool fits = l->c->class_count == stages || l->c->class_count == l->c->world;
    for (uint32_t i = 0; fits && l->c->class_count == stages && i < stages; i++)
        fits = sc__mesh_coordinate(&l->w->mesh, l->c->classes[i].rank, SC__DIM_PP) == i &&
               l->c->classes[i].ranks == l->c->world / stages;
    if (fits)
        return SC_OK;
    return sc__fail(l->ctx,
                    SC_INPUT,
                    &at,
                    "capture one rank of each pipeline stage in their order, or all",
                    "%u ranks were captured, which do not stand for %u stages of %u ranks",
                    l->c->class_count,
                    stages,
                    l->c->world / stages);
}

static void add_class(struct lowering *l, uint32_t i, uint32_t block) {
    const struct sc__capture_class *k = &l->c->classes[i];
    uint32_t program = sc__program_begin(l->w);
    sc__program_call(l->w, block, SC__NONE, 0, 0);
    sc__class_add(l->w,
                  program,
                  k->rank,
                  k->ranks,
                  l->w->mesh.pp > 1 ? sc__mesh_coordinate(&l->w->mesh, k->rank, SC__DIM_PP)
                                    : 0);
}

static sc_status lower_classes(struct lowering *l) {
    uint32_t *block = SC__NEW_ARRAY(&l->ctx->arena, uint32_t, l->c->program_count + 1);
    struct sc__memory *peak =
        SC__NEW_ARRAY(&l->ctx->arena, struct sc__memory, l->c->program_count + 1);
    for (uint32_t i = 0; i < l->c->program_count; i++) {
        find_lead(l, &l->c->programs[i]);
        sc__block_begin(l->w);
        SC__TRY(lower_program(l, &l->c->programs[i]));
        block[i] = sc__block_end(l->w);
        peak[i] =
            sc__capture_peak(l->c, &l->c->programs[i], l->scratch, l->operators.workspace);
    }
    l->w->memory = SC__NEW_ARRAY(l->w->arena, struct sc__memory, l->c->class_count);
    if (l->c->class_count == l->c->world && l->c->world > 1)
        l->w->rank_class = SC__NEW_ARRAY(l->w->arena, uint32_t, l->c->world);
    for (uint32_t i = 0; i < l->c->class_count; i++) {
        add_class(l, i, block[l->c->classes[i].program]);
        l->w->memory[i] = peak[l->c->classes[i].program];
        if (l->w->rank_class)
            l->w->rank_class[l->c->classes[i].rank] = i;
    }
    return SC_OK;
}

static void note_unknown(const struct lowering *l) {
    struct sc__buffer b;
    uint32_t count = 0;
    sc__buffer_init(&b, &l->ctx->arena);
    for (uint32_t i = 0; i < l->c->call_count; i++) {
        const char *op = l->c->calls[i].op;
        bool host = is_host(op) || is_transfer(op);
        if (host || l->prices[i].known || (b.text && strstr(b.text, op)))
            continue;
        if (count++ < 8)
            sc__printf(&b, "%s%s", count > 1 ? ", " : "", op);
    }
    if (count)
        sc__note(l->ctx,
                 "capture-operators",
                 "%u operators have no price of their own and go by their bytes: %s%s",
                 count,
                 b.text,
                 count > 8 ? " …" : "");
}

/* Products of types whose kernels nobody measured. */
static void note_types(const struct lowering *l) {
    for (uint32_t i = 0; i < l->c->call_count; i++) {
        const struct sc__capture_call *call = &l->c->calls[i];
        if (l->prices[i].kernel.flop <= 0 || !call->in.count)
            continue;
        unsigned type = sc__capture_tensor(l->c, call->in, 0)->type;
        if (type <= SC__CAPTURE_FP32 || type == SC__CAPTURE_FP8)
            continue;
        sc__note(l->ctx,
                 "capture-types",
                 "%s has factors of a type other than bf16, fp16, fp32 and fp8: such "
                 "products are timed and counted as those of fp32",
                 call->op);
        return;
    }
}

/* FLOPs of the products and attention of all ranks: forward, backward and again. */
static void count_flops(struct lowering *l) {
    for (uint32_t i = 0; i < l->c->class_count; i++) {
        const struct sc__capture_program *p = &l->c->programs[l->c->classes[i].program];
        for (uint32_t k = 0; k < p->op_count; k++) {
            double flop = p->prices[k].kernel.flop * l->c->classes[i].ranks;
            l->w->hardware_flops += flop;
            if (p->ops[k].phase != SC__RECOMPUTE)
                l->w->model_flops += flop;
        }
    }
}

sc_status sc__capture_lower(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            struct sc__capture *c,
                            struct sc__workload **out) {
    struct lowering l = {.ctx = ctx, .c = c, .streams = STREAM_OTHERS};
    SC__TRY(sc__gpu_of_job(ctx, settings, &l.gpu));
    SC__TRY(take_host_scale(&l, settings));
    SC__TRY(sc__operators_load(ctx, &l.operators));
    SC__TRY(take_compiled(&l, settings));
    SC__TRY(price_programs(&l));
    find_clock(&l);
    l.w = sc__workload_new(&ctx->arena, "capture");
    l.w->stream_names[STREAM_COMPUTE] = "compute";
    l.w->stream_names[STREAM_HOST] = "host";
    l.w->stream_names[STREAM_SEND] = "send";
    l.w->stream_names[STREAM_RECV] = "receive";
    SC__TRY(lower_mesh(&l));
    SC__TRY(check_classes(&l));
    l.group = SC__NEW_ARRAY(&ctx->arena, uint16_t, c->group_count + 1);
    for (uint32_t i = 0; i < c->group_count; i++)
        SC__TRY(lower_group(&l, i));
    SC__TRY(lower_classes(&l));
    count_flops(&l);
    l.w->memory_capacity = (uint64_t)l.gpu->memory;
    l.w->peak_flops = 1e12 * l.gpu->peak[l.gpu->peak[SC__BF16] > 0 ? SC__BF16 : SC__FP16];
    l.w->draw = sc__throttling_draw(l.gpu, &l.throttling);
    note_unknown(&l);
    note_types(&l);
    if (l.compiled != COMPILED_NO)
        sc__note(ctx,
                 "capture-compiled",
                 "the memory is that of the program as it is: torch.compile keeps fewer "
                 "tensors for backward");
    *out = l.w;
    return SC_OK;
}
