/* The stream of events of a Kineto trace. An event is parsed in place once all
 * of it is in the window; nothing of it stays but a few numbers. */
#include "frontend/kineto/kineto.h"
#include "frontend/kineto/kineto_event.h"
#include "frontend/torch_profiler/profile.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW ((size_t)1 << 20)

enum category {
    CAT_OTHER,
    CAT_KERNEL,
    CAT_MEMORY,
    CAT_RUNTIME,
    CAT_CPU_OP,
    CAT_ANNOTATION
};

struct parser {
    struct sc_context *ctx;
    struct sc__kineto_trace *t;
    struct sc__input in;
    struct sc__scan scan;
    struct sc__map communicating; /* name of a kernel → whether it says so */
    struct sc__str process;       /* that launches; no text: none did so far */
};

/* ---- what an event leaves behind ---- */

/* Up to PyTorch 1.11 operators, and ranges among them, are "Operator", launches "Runtime",
 * copies "Memcpy" and "Memset". */
static enum category category_of(struct sc__str cat) {
    static const struct {
        const char *word;
        enum category is;
    } words[] = {{"cpu_op", CAT_CPU_OP},
                 {"operator", CAT_CPU_OP},
                 {"runtime", CAT_RUNTIME},
                 {"memcpy", CAT_MEMORY},
                 {"memset", CAT_MEMORY},
                 {"kernel", CAT_KERNEL},
                 {"cuda_runtime", CAT_RUNTIME},
                 {"cuda_driver", CAT_RUNTIME},
                 {"gpu_memcpy", CAT_MEMORY},
                 {"gpu_memset", CAT_MEMORY},
                 {"user_annotation", CAT_ANNOTATION}};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (sc__str_is_any_case(cat, words[i].word))
            return words[i].is;
    /* xpu_runtime, privateuse1_driver … */
    return sc__str_ends(cat, "_runtime") || sc__str_ends(cat, "_driver") ? CAT_RUNTIME
                                                                         : CAT_OTHER;
}

static uint32_t element_bytes(struct parser *p, struct sc__str dtype) {
    static const struct {
        const char *word;
        uint32_t bytes;
    } types[] = {{"Byte", 1},
                 {"Char", 1},
                 {"Bool", 1},
                 {"Half", 2},
                 {"BFloat16", 2},
                 {"Short", 2},
                 {"UInt16", 2},
                 {"Float", 4},
                 {"Int", 4},
                 {"UInt32", 4},
                 {"Long", 8},
                 {"UInt64", 8},
                 {"Double", 8}};
    /* Float8_e4m3fn and its like; an element of Float4_e2m1fn_x2 is a pair in a byte */
    if (sc__str_starts_any_case(dtype, "Float8") ||
        sc__str_starts_any_case(dtype, "Float4"))
        return 1;
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (sc__str_is_any_case(dtype, types[i].word))
            return types[i].bytes;
    if (dtype.n)
        sc__note(p->ctx,
                 "kineto-dtype",
                 "%s: the dtype %.*s is not known: 4 bytes an element are assumed",
                 p->t->file,
                 SC__SHOW(dtype));
    return 4;
}

uint8_t sc__kineto_collective(struct sc__str name, bool *send) {
    static const struct {
        const char *word;
        uint8_t coll;
    } words[] = {{"allreduce", SC__ALLREDUCE},
                 {"all_reduce", SC__ALLREDUCE},
                 {"_allgather_base", SC__ALLGATHER},
                 {"all_gather", SC__ALLGATHER},
                 {"allgather", SC__ALLGATHER},
                 {"_reduce_scatter_base", SC__REDUCESCATTER},
                 {"reduce_scatter", SC__REDUCESCATTER},
                 {"all_to_all", SC__ALLTOALL},
                 {"alltoall", SC__ALLTOALL},
                 {"broadcast", SC__BROADCAST},
                 {"_broadcast_oop", SC__BROADCAST},
                 {"reduce", SC__REDUCE},
                 {"_reduce_oop", SC__REDUCE},
                 {"barrier", SC__BARRIER},
                 {"gather", SC__GATHER},
                 {"scatter", SC__SCATTER},
                 {"send", SC__COLLS},
                 {"recv", SC__COLLS}};
    *send = sc__str_starts(name, "send");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (sc__str_starts(name, words[i].word))
            return words[i].coll;
    return SC__COLLS + 1;
}

/* ncclAllReduceRingLLKernel_… up to NCCL 2.8, then ncclKernel_… and ncclDevKernel_…;
 * ncclSymDevKernel_… and ncclSymkDevKernel_… of memory that is registered with all ranks
 * (2.27 and later); "void rcclGenericKernel<…>", rccl_main_kernel (2.18 to 2.20) and
 * mscclKernel_… of RCCL. */
bool sc__kineto_is_nccl(struct sc__str kernel) {
    static const char void_word[] = "void ";
    if (sc__str_starts(kernel, void_word)) {
        kernel.p += sizeof void_word - 1;
        kernel.n -= sizeof void_word - 1;
    }
    bool library = sc__str_starts(kernel, "nccl") || sc__str_starts(kernel, "rccl") ||
                   sc__str_starts(kernel, "msccl");
    return library && (sc__find_word(kernel.p, kernel.n, "Kernel") ||
                       sc__find_word(kernel.p, kernel.n, "kernel"));
}

bool sc__kineto_communicates(const char *kernel) {
    return sc__kineto_is_nccl(sc__str(kernel)) || sc__profile_exchanges(kernel);
}

/* A kernel that says what it communicates is of some library, whatever its name; but for
 * PyTorch's own, which fill and copy buffers inside the same call. */
static bool
communicates(struct parser *p, const struct sc__kineto_event *e, uint32_t name) {
    bool fresh;
    if (e->coll.n && !sc__find_word(e->name.p, e->name.n, "at::"))
        return true;
    uint64_t *known = sc__map_at(&p->communicating, name, &fresh);
    if (fresh)
        *known = sc__kineto_communicates(p->t->names.text[name]);
    return *known;
}

uint8_t sc__kineto_collective_of_kernel(struct sc__str name) {
    static const struct {
        const char *word;
        uint8_t coll;
    } words[] = {{"AllReduce", SC__ALLREDUCE},
                 {"allreduce", SC__ALLREDUCE},
                 {"all_reduce", SC__ALLREDUCE},
                 {"cross_device_reduce", SC__ALLREDUCE},
                 {"deep_ep::", SC__ALLTOALL},
                 {"AllGather", SC__ALLGATHER},
                 {"all_gather", SC__ALLGATHER},
                 {"allgather", SC__ALLGATHER},
                 {"all_to_all", SC__ALLTOALL},
                 {"alltoall", SC__ALLTOALL},
                 {"broadcast", SC__BROADCAST},
                 {"reduce_scatter", SC__REDUCESCATTER},
                 {"ReduceScatter", SC__REDUCESCATTER},
                 {"Broadcast", SC__BROADCAST},
                 {"SendRecv", SC__ALLTOALL},
                 {"Reduce", SC__REDUCE}};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (sc__find_word(name.p, name.n, words[i].word))
            return words[i].coll;
    return SC__COLLS + 1;
}

static uint64_t volume(int64_t elements, uint32_t each) {
    return elements > 0 ? (uint64_t)elements * each : 0;
}

static uint32_t name_or_none(struct parser *p, struct sc__str s) {
    return s.n ? sc__names_add(&p->t->names, s.p, s.n) : SC__NO_NAME;
}

static struct sc__kineto_comm comm_of(struct parser *p, const struct sc__kineto_event *e) {
    struct sc__kineto_comm c = {.seq = e->seq};
    uint32_t each = element_bytes(p, e->dtype);
    c.coll = sc__kineto_collective(e->coll, &c.send);
    c.group_size =
        e->group_size > 0 && e->group_size < UINT32_MAX ? (uint32_t)e->group_size : 0;
    c.group = name_or_none(p, e->group);
    c.description = name_or_none(p, e->description);
    c.ranks = name_or_none(p, e->ranks);
    c.peer = c.send ? e->target : e->source;
    c.in_bytes = volume(e->in_elements, each);
    c.out_bytes = volume(e->out_elements, each);
    c.has_elements = c.coll == SC__ALLGATHER || c.coll == SC__SCATTER ? e->out_elements >= 0
                                                                      : e->in_elements >= 0;
    return c;
}

/* A process that drives several GPUs (DataParallel) numbers the streams of each alike. What
 * does not say its GPU (copies, in some traces) is on the one that others name first. */
static uint32_t device_of(struct sc__kineto_trace *t, const struct sc__kineto_event *e) {
    if (!t->kernel_count || t->device < 0)
        t->device = e->device;
    if (e->device == t->device || e->device < 0 || e->device >= UINT32_MAX - 1)
        return 0;
    t->devices = true;
    return (uint32_t)e->device + 1;
}

/* Where nothing says it, the thread is the stream, as Kineto has it: 7, "stream 7". */
static uint32_t stream_of(const struct sc__kineto_event *e) {
    uint32_t stream = 0;
    struct sc__str rest = e->tid;
    if (e->stream >= 0 || !rest.n)
        return (uint32_t)e->stream;
    while (rest.n && (*rest.p < '0' || *rest.p > '9'))
        rest = (struct sc__str){rest.p + 1, rest.n - 1};
    struct sc__str digits = {rest.p, 0};
    while (digits.n < rest.n && rest.p[digits.n] >= '0' && rest.p[digits.n] <= '9')
        digits.n++;
    return sc__parse_u32(digits, &stream) ? stream : (uint32_t)e->stream;
}

static void add_kernel(struct parser *p,
                       const struct sc__kineto_event *e,
                       int64_t start,
                       int64_t dur,
                       bool memory) {
    struct sc__kineto_trace *t = p->t;
    uint32_t device = device_of(t, e);
    struct sc__kineto_kernel *k =
        SC__PUSH(t->arena, t->kernels, t->kernel_count, t->kernel_capacity);
    k->start = start;
    k->dur = dur;
    k->stream = sc__kineto_stream(t, device, stream_of(e));
    k->name = sc__names_add(&t->names, e->name.p, e->name.n);
    bool comm = !memory && communicates(p, e, k->name);
    k->correlation = (uint32_t)e->correlation;
    k->external = (uint32_t)e->external;
    k->comm = SC__NONE;
    k->kind = comm ? SC__KINETO_COMM : memory ? SC__KINETO_MEMORY : SC__KINETO_COMPUTE;
    if (!comm)
        return;
    k->comm = t->comm_count;
    struct sc__kineto_comm *c =
        SC__PUSH(t->arena, t->comms, t->comm_count, t->comm_capacity);
    *c = comm_of(p, e);
    if (!e->coll.n) {
        c->by_name = true;
        c->coll = sc__kineto_collective_of_kernel(e->name);
        c->seq = -1;
    }
}

static uint32_t thread_of(const struct sc__kineto_event *e) {
    return (uint32_t)sc__hash(e->tid.p, e->tid.n, 0);
}

static void
add_launch(struct parser *p, const struct sc__kineto_event *e, int64_t start, int64_t dur) {
    struct sc__kineto_trace *t = p->t;
    if (e->correlation <= 0)
        return;
    *SC__PUSH(t->arena, t->launches, t->launch_count, t->launch_capacity) =
        (struct sc__kineto_launch){start, dur, (uint32_t)e->correlation, thread_of(e)};
}

/* Elements of the first argument, a list of tensors: [[[a, b], [c]], …]. */
static uint64_t first_list_elements(struct sc__str dims) {
    uint64_t sum = 0;
    uint64_t product = 1;
    uint64_t number = 0;
    bool in_number = false;
    int depth = 0;
    for (size_t i = 0; i < dims.n; i++) {
        char c = dims.p[i];
        if (c >= '0' && c <= '9') {
            number = 10 * number + (uint64_t)(c - '0');
            in_number = true;
            continue;
        }
        if (in_number)
            product *= number;
        if (c == '[' && ++depth == 3)
            product = 1;
        if (c == ']' && depth-- == 3)
            sum += product;
        if (c == ']' && depth < 2)
            return sum;
        number = 0;
        in_number = false;
    }
    return sum;
}

/* External ids are counted up from 1, so a list by id is dense. */
static void remember_operator(struct sc__kineto_trace *t,
                              const struct sc__kineto_event *e) {
    uint64_t id = (uint64_t)e->external;
    if (e->external <= 0 || id > 2 * t->events + (1 << 20))
        return;
    if (id >= t->operator_capacity)
        t->operators = sc__grow(t->arena,
                                t->operators,
                                &t->operator_capacity,
                                (uint32_t)id + 1,
                                sizeof *t->operators);
    if (id >= t->operator_count)
        t->operator_count = (uint32_t)id + 1;
    if (!t->operators[id])
        t->operators[id] = 1 + sc__names_add(&t->names, e->name.p, e->name.n);
}

static void add_annotation(struct parser *p,
                           const struct sc__kineto_event *e,
                           int64_t start,
                           int64_t dur) {
    struct sc__kineto_trace *t = p->t;
    if (sc__str_starts(e->name, "ProfilerStep"))
        *SC__PUSH(t->arena, t->steps, t->step_count, t->step_capacity) =
            (struct sc__kineto_step){sc__strndup(t->arena, e->name.p, e->name.n),
                                     start,
                                     start + dur};
    else if (sc__str_starts(e->name, "Optimizer.step"))
        *SC__PUSH(t->arena, t->optimizer, t->optimizer_count, t->optimizer_capacity) =
            (struct sc__kineto_range){start, start + dur, thread_of(e)};
}

static void add_operator(struct parser *p,
                         const struct sc__kineto_event *e,
                         int64_t start,
                         int64_t dur) {
    struct sc__kineto_trace *t = p->t;
    if (sc__str_is_any_case(e->cat, "operator"))
        add_annotation(p, e, start, dur);
    remember_operator(t, e);
    *SC__PUSH(t->arena, t->calls, t->call_count, t->call_capacity) =
        (struct sc__kineto_call){.start = start,
                                 .end = start + dur,
                                 .thread = thread_of(e),
                                 .name = sc__names_add(&t->names, e->name.p, e->name.n),
                                 .record = e->record};
    if (SC__KINETO_IS(e->name, "record_param_comms") && e->coll.n) {
        struct sc__kineto_comm *c =
            SC__PUSH(t->arena, t->recorded, t->recorded_count, t->recorded_capacity);
        *c = comm_of(p, e);
        c->start = start;
    } else if (sc__str_starts(e->name, "autograd::engine")) {
        sc__map_at(&t->backward, thread_of(e), NULL);
        *SC__PUSH(t->arena, t->autograd, t->autograd_count, t->autograd_capacity) =
            (struct sc__kineto_range){start, start + dur, thread_of(e)};
    } else if (sc__str_starts(e->name, "aten::_fused_") ||
               sc__str_starts(e->name, "aten::_foreach_addcdiv_"))
        *SC__PUSH(t->arena, t->updates, t->update_count, t->update_capacity) =
            (struct sc__kineto_update){start, first_list_elements(e->dims)};
}

/* Traces of ranks that somebody joined in one file (SGLang's --merge-profiles, scripts for
 * Perfetto) keep a pid each, and number streams and launches alike. A profiler sees the
 * calls of its own process alone. */
static bool of_one_process(struct parser *p, const struct sc__kineto_event *e) {
    if (!sc__str_starts_any_case(e->cat, "cuda") || !e->pid.n)
        return true;
    if (!p->process.n)
        p->process =
            (struct sc__str){sc__strndup(p->t->arena, e->pid.p, e->pid.n), e->pid.n};
    return (e->pid.n == p->process.n && !memcmp(e->pid.p, p->process.p, e->pid.n)) ||
           sc__scan_fail(&p->scan,
                         "several processes launch kernels in this trace: ranks joined in "
                         "one file cannot be told apart; give the trace of each");
}

static bool keep_event(struct parser *p, const struct sc__kineto_event *e) {
    int64_t start;
    int64_t dur;
    p->t->events++;
    enum category cat = category_of(e->cat);
    bool on_device = cat == CAT_KERNEL || cat == CAT_MEMORY;
    if (on_device && (e->ph == 'B' || e->ph == 'b'))
        return sc__scan_fail(&p->scan,
                             "a kernel whose end is another event (\"ph\": \"B\"): only "
                             "whole events (\"X\") are read");
    if (e->ph != 'X' || cat == CAT_OTHER)
        return true;
    if (!of_one_process(p, e))
        return false;
    if (!sc__kineto_nanoseconds(e->ts, &start) || !sc__kineto_nanoseconds(e->dur, &dur) ||
        dur < 0 || llabs(start) > INT64_MAX / 4 || dur > INT64_MAX / 4)
        return sc__scan_fail(&p->scan, "the ts or dur of an event is not a time");
    if (!sc__kineto_extend(&p->t->period, start, start + dur))
        return sc__scan_fail(&p->scan,
                             "the ts or dur of an event is not a time of this trace");
    switch (cat) {
    case CAT_KERNEL:
        add_kernel(p, e, start, dur, false);
        break;
    case CAT_MEMORY:
        add_kernel(p, e, start, dur, true);
        break;
    case CAT_RUNTIME:
        add_launch(p, e, start, dur);
        break;
    case CAT_CPU_OP:
        add_operator(p, e, start, dur);
        break;
    default:
        add_annotation(p, e, start, dur);
        break;
    }
    return true;
}

/* ---- the document ---- */

static void aim(struct parser *p) {
    p->in.bytes[p->in.end] = '\0';
    p->scan = (struct sc__scan){.p = (const char *)p->in.bytes + p->in.begin,
                                .end = (const char *)p->in.bytes + p->in.end};
}

/* Everything up to the scan's place is done with. */
static void commit(struct parser *p) {
    size_t used = (size_t)(p->scan.p - (const char *)(p->in.bytes + p->in.begin));
    p->in.begin += used;
    p->in.offset += used;
}

static sc_status syntax_error(struct parser *p) {
    uint64_t offset =
        p->in.offset + (uint64_t)(p->scan.p - (const char *)(p->in.bytes + p->in.begin));
    uint64_t seen = 0;
    struct sc__place at = {.file = p->t->file, .line = 1, .column = 1};
    struct sc__input again;
    const char *wrong = p->scan.cut ? "the file ends too early" : p->scan.wrong;
    SC__TRY(sc__input_open(p->ctx,
                           p->t->file,
                           &again)); /* lines were not counted while scanning */
    while (seen < offset && sc__input_fill(&again, 1) == SC_OK && again.end > again.begin) {
        for (; again.begin < again.end && seen < offset; again.begin++, seen++)
            if (again.bytes[again.begin] == '\n') {
                at.line++;
                at.column = 1;
            } else
                at.column++;
    }
    sc__input_close(&again);
    return sc__fail(p->ctx,
                    SC_INPUT,
                    &at,
                    p->scan.cut ? "the file is truncated" : NULL,
                    "%s",
                    wrong);
}

/* Runs `once` on the text in the window, with more text until it is not cut. */
static sc_status kineto_read_whole(struct parser *p, bool (*once)(struct parser *p)) {
    for (;;) {
        aim(p);
        if (once(p)) {
            commit(p);
            return SC_OK;
        }
        size_t have = p->in.end - p->in.begin;
        if (!p->scan.cut || p->in.at_end)
            return syntax_error(p);
        SC__TRY(sc__input_fill(&p->in, have < WINDOW / 2 ? WINDOW : 2 * have));
        if (p->in.at_end && p->in.end - p->in.begin == have) {
            aim(p);
            if (once(p)) {
                commit(p);
                return SC_OK;
            }
            return syntax_error(p);
        }
    }
}

struct list_state {
    bool first;
    bool done;
};

static struct list_state *list_of(struct parser *p);

/* As many events as the window holds; the last, cut one is left for the next
 * time. */
static bool some_events(struct parser *p) {
    struct list_state *l = list_of(p);
    struct sc__kineto_event e;
    while (!l->done) {
        struct sc__scan before = p->scan;
        bool first = l->first;
        if (!sc__scan_element(&p->scan, &first)) {
            l->done = !p->scan.wrong;
            if (!p->scan.wrong)
                return true;
        } else if (sc__kineto_parse_event(&p->scan, &e)) {
            if (!keep_event(p, &e))
                return false;
            l->first = first;
            continue;
        }
        if (!p->scan.cut || before.p == (const char *)p->in.bytes + p->in.begin)
            return false;
        p->scan = before;
        return true;
    }
    return true;
}

struct kineto_read_document {
    struct parser parser; /* first, so that it can be found from the parser */
    struct list_state list;
    struct sc__str key;
    char *key_text;
    bool first;
    bool end;
    bool bare;
    bool trace; /* it has a list of events */
};

static struct list_state *list_of(struct parser *p) {
    return &((struct kineto_read_document *)(void *)p)->list;
}

static bool begin_document(struct parser *p) {
    struct kineto_read_document *d = (struct kineto_read_document *)(void *)p;
    sc__scan_blanks(&p->scan);
    d->bare = *p->scan.p == '[';
    return sc__scan_open(&p->scan, d->bare ? '[' : '{');
}

static bool next_key(struct parser *p) {
    struct kineto_read_document *d = (struct kineto_read_document *)(void *)p;
    bool first = d->first;
    d->end = !sc__scan_member(&p->scan, &first, &d->key);
    if (p->scan.wrong)
        return false;
    if (d->end)
        return true;
    if (p->scan.p >= p->scan.end)
        return sc__scan_fail(&p->scan, "a value is missing");
    if (SC__KINETO_IS(d->key, "traceEvents") && !sc__scan_open(&p->scan, '['))
        return false;
    d->first = false;
    d->key_text = sc__strndup(p->t->arena, d->key.p, d->key.n);
    return true;
}

/* A whole number from least up to most; a key that is not there leaves *out. */
static bool
whole_number(const json_t *root, const char *key, long long least, uint32_t *out) {
    const json_t *value = json_object_get(root, key);
    if (!value)
        return true;
    long long number = json_integer_value(value);
    if (!json_is_integer(value) || number < least || number > 1 << 24)
        return false;
    *out = (uint32_t)number;
    return true;
}

static bool distributed(struct parser *p, struct sc__str v) {
    struct sc__kineto_trace *t = p->t;
    json_t *root = json_loadb(v.p, v.n, JSON_REJECT_DUPLICATES, NULL);
    if (!root)
        return sc__scan_fail(&p->scan, "distributedInfo cannot be read");
    t->has_rank = json_object_get(root, "rank") != NULL;
    bool rank = whole_number(root, "rank", 0, &t->rank);
    bool world = whole_number(root, "world_size", 1, &t->world);
    bool inside = !t->has_rank || !t->world || t->rank < t->world;
    json_decref(root);
    if (!world)
        return sc__scan_fail(&p->scan, "world_size is not a number of ranks");
    return (rank && inside) || sc__scan_fail(&p->scan, "rank is not one of world_size");
}

static bool other_value(struct parser *p) {
    struct kineto_read_document *d = (struct kineto_read_document *)(void *)p;
    struct sc__str v;
    if (!sc__scan_value(&p->scan, &v))
        return false;
    if (strcmp(d->key_text, "distributedInfo"))
        return true;
    return distributed(p, v);
}

static bool only_blanks(struct parser *p) {
    sc__scan_blanks(&p->scan);
    if (p->scan.p < p->scan.end)
        return sc__scan_fail(&p->scan, "text after the end of the document");
    return true;
}

static sc_status read_events(struct kineto_read_document *d) {
    d->list = (struct list_state){.first = true};
    while (!d->list.done) {
        SC__TRY(kineto_read_whole(&d->parser, some_events));
        if (!d->list.done && d->parser.in.end - d->parser.in.begin < WINDOW / 2)
            SC__TRY(sc__input_fill(&d->parser.in, WINDOW));
    }
    return SC_OK;
}

static sc_status kineto_read_read_document(struct kineto_read_document *d) {
    struct parser *p = &d->parser;
    d->first = true;
    SC__TRY(sc__input_fill_text(&p->in, WINDOW));
    sc__input_read_ahead(&p->in);
    SC__TRY(kineto_read_whole(p, begin_document));
    d->trace = d->bare;
    if (d->bare)
        SC__TRY(read_events(d));
    while (!d->bare) {
        SC__TRY(kineto_read_whole(p, next_key));
        if (d->end)
            break;
        d->trace = d->trace || !strcmp(d->key_text, "traceEvents");
        if (!strcmp(d->key_text, "traceEvents"))
            SC__TRY(read_events(d));
        else
            SC__TRY(kineto_read_whole(p, other_value));
    }
    while (!p->in.at_end || p->in.begin < p->in.end) {
        SC__TRY(sc__input_fill(&p->in, 1));
        SC__TRY(kineto_read_whole(p, only_blanks));
        if (p->in.at_end && p->in.begin == p->in.end)
            break;
    }
    return SC_OK;
}

sc_status sc__kineto_read_trace(struct sc_context *ctx,
                                const char *path,
                                struct sc__kineto_trace *t) {
    struct kineto_read_document d = {.parser = {.ctx = ctx, .t = t}};
    sc__kineto_begin_trace(ctx, path, t);
    sc__map_init(&d.parser.communicating, t->arena);
    SC__TRY(sc__input_open(ctx, path, &d.parser.in));
    sc_status status = kineto_read_read_document(&d);
    sc__input_close(&d.parser.in);
    SC__TRY(status);
    struct sc__place at = {.file = path};
    if (!d.trace)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "a folder of traces is to hold no other .json files",
                        "is no trace: there are no traceEvents in it");
    if (!t->events)
        return sc__fail(
            ctx,
            SC_INPUT,
            &at,
            "was it exported before a step was profiled (schedule, prof.step())?",
            "no events in this trace");
    if (!t->kernel_count)
        return sc__fail(
            ctx,
            SC_INPUT,
            &at,
            "profile with ProfilerActivity.CUDA",
            "no kernels in this trace: it has %llu events, none of them on a GPU",
            (unsigned long long)t->events);
    return sc__kineto_finish_trace(ctx, t);
}
