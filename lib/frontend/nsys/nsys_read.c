/* nsys_read: the activities of an export as traces of ranks.
 *
 * Times are ns since the session began, the same clock for all processes of a node.
 * globalTid is a process and a thread in its low 24 bits, globalPid the same with no
 * thread; correlationId joins an activity to the call that launched it. */
#include "frontend/nsys/nsys.h"

#include <stdlib.h>
#include <string.h>

#define THREAD_BITS 24
#define MOST_DEVICES 4096
#define ASIDE 0.01 /* of the kernel time of a process: a device used by the way */

#define COLUMNS(list) (list), (uint32_t)(sizeof(list) / sizeof *(list))

/* ---- devices ---- */

static sc_status
nsys_device(struct sc__nsys *n, int64_t process, int64_t device, uint32_t *out) {
    int64_t key[2] = {process, device};
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    bool fresh;
    bool first;
    uint64_t *index = sc__map_at(&n->device_at, sc__hash(key, sizeof key, 0), &fresh);
    if (fresh) {
        if (n->device_count == MOST_DEVICES)
            return sc__fail(n->ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "more than %d devices",
                            MOST_DEVICES);
        *index = n->device_count;
        uint64_t *chain = sc__map_at(&n->process_at, (uint64_t)process, &first);
        struct sc__nsys_device *d =
            SC__PUSH(&n->ctx->arena, n->devices, n->device_count, n->device_capacity);
        d->process = process;
        d->device = device;
        d->next = first ? SC__NONE : (uint32_t)*chain;
        d->trace = SC__NEW(&n->ctx->arena, struct sc__kineto_trace);
        sc__kineto_begin_trace(n->ctx, n->file, d->trace);
        *chain = *index;
    }
    *out = (uint32_t)*index;
    return SC_OK;
}

/* The first device of a process; SC__NONE where it used none. */
static uint32_t nsys_devices_of(const struct sc__nsys *n, int64_t process) {
    const uint64_t *chain = sc__map_find(&n->process_at, (uint64_t)process);
    return chain ? (uint32_t)*chain : SC__NONE;
}

static int64_t nsys_process(const struct sc__nsys *n, int64_t global) {
    return n->no_processes ? 0 : global >> THREAD_BITS;
}

static uint32_t nsys_thread(int64_t global) {
    return (uint32_t)global & ((1u << THREAD_BITS) - 1);
}

/* ---- what ran on the device ---- */

enum { AT_START, AT_END, AT_DEVICE, AT_STREAM, AT_CORRELATION, AT_PROCESS, AT_NAME };

/* A kernel, copy, memset or graph. */
static sc_status nsys_add_activity(struct sc__nsys *n,
                                   sqlite3_stmt *row,
                                   const char *table,
                                   const char *name,
                                   enum sc__kineto_kind kind) {
    int64_t start;
    int64_t end;
    int64_t device;
    int64_t stream;
    int64_t correlation;
    int64_t process;
    uint32_t index = 0;
    SC__TRY(sc__nsys_times(n, row, table, &start, &end));
    SC__TRY(sc__nsys_number(n, row, table, AT_DEVICE, 0, &device));
    SC__TRY(sc__nsys_number(n, row, table, AT_STREAM, 0, &stream));
    SC__TRY(sc__nsys_number(n, row, table, AT_CORRELATION, 0, &correlation));
    SC__TRY(sc__nsys_number(n, row, table, AT_PROCESS, 0, &process));
    SC__TRY(nsys_device(n, nsys_process(n, process), device, &index));
    struct sc__nsys_device *d = &n->devices[index];
    struct sc__kineto_trace *t = d->trace;
    struct sc__kineto_kernel *k =
        SC__PUSH(t->arena, t->kernels, t->kernel_count, t->kernel_capacity);
    struct sc__str text = sc__str(name);
    k->start = start;
    k->dur = end - start;
    k->stream = sc__kineto_stream(t, 0, (uint32_t)stream);
    k->name = sc__names_add(&t->names, text.p, text.n);
    k->correlation = (uint32_t)correlation;
    k->comm = SC__NONE;
    bool comm = kind == SC__KINETO_COMPUTE && sc__kineto_communicates(name);
    k->kind = (uint8_t)(comm ? SC__KINETO_COMM : kind);
    t->events++;
    d->busy += end - start;
    return SC_OK;
}

static sc_status
nsys_take_kernel(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    const char *name = NULL;
    for (int i = 0; i < 3 && !name; i++) /* with its types, short, as an old one */
        name = sc__nsys_text(n, row, AT_NAME + i);
    return nsys_add_activity(n,
                             row,
                             table,
                             name ? name : "kernel without a name",
                             SC__KINETO_COMPUTE);
}

/* CUpti_ActivityMemcpyKind */
static const char *nsys_copy_name(int64_t kind) {
    static const char *const names[] = {"Memcpy",
                                        "Memcpy HtoD",
                                        "Memcpy DtoH",
                                        "Memcpy HtoA",
                                        "Memcpy AtoH",
                                        "Memcpy AtoA",
                                        "Memcpy AtoD",
                                        "Memcpy DtoA",
                                        "Memcpy DtoD",
                                        "Memcpy HtoH",
                                        "Memcpy PtoP"};
    bool known = kind >= 0 && kind < (int64_t)(sizeof names / sizeof *names);
    return names[known ? kind : 0];
}

static sc_status nsys_take_copy(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    int64_t kind;
    SC__TRY(sc__nsys_number(n, row, table, AT_NAME, 0, &kind));
    return nsys_add_activity(n, row, table, nsys_copy_name(kind), SC__KINETO_MEMORY);
}

static sc_status nsys_take_set(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    return nsys_add_activity(n, row, table, "Memset", SC__KINETO_MEMORY);
}

static sc_status nsys_take_graph(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    n->graphs++;
    return nsys_add_activity(n, row, table, "CUDA graph", SC__KINETO_COMPUTE);
}

/* ---- what the host did ---- */

static sc_status
nsys_take_launch(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    int64_t start;
    int64_t end;
    int64_t thread;
    int64_t correlation;
    SC__TRY(sc__nsys_times(n, row, table, &start, &end));
    SC__TRY(sc__nsys_number(n, row, table, 2, 0, &thread));
    SC__TRY(sc__nsys_number(n, row, table, 3, 0, &correlation));
    if (correlation <= 0)
        return SC_OK;
    for (uint32_t i = nsys_devices_of(n, nsys_process(n, thread)); i != SC__NONE;
         i = n->devices[i].next) {
        struct sc__kineto_trace *t = n->devices[i].trace;
        t->events++;
        *SC__PUSH(t->arena, t->launches, t->launch_count, t->launch_capacity) =
            (struct sc__kineto_launch){start,
                                       end - start,
                                       (uint32_t)correlation,
                                       nsys_thread(thread)};
    }
    return SC_OK;
}

/* "step 12", "Iteration#3", "train_step": one of these words, then numbers. */
static bool nsys_is_usual_step(struct sc__str text) {
    static const char *const words[] = {"profilerstep",
                                        "training_step",
                                        "training step",
                                        "train_step",
                                        "train step",
                                        "iteration",
                                        "iter",
                                        "step"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i]);
        if (!sc__str_starts_any_case(text, words[i]))
            continue;
        bool only_numbers = true;
        for (size_t k = length; k < text.n; k++)
            only_numbers = only_numbers && strchr("0123456789 _#:=-()/[]", text.p[k]);
        if (only_numbers)
            return true;
    }
    return false;
}

static bool nsys_is_step(const struct sc__nsys *n, struct sc__str text) {
    return n->step_range ? sc__str_starts(text, n->step_range) : nsys_is_usual_step(text);
}

/* emit_nvtx writes "aten::mm, seq = 12, op_id = 3, sizes = …". */
static struct sc__str nsys_operator_name(struct sc__str text) {
    static const char *const ends[] = {", seq = ", ", op_id = ", ", sizes = "};
    for (unsigned i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *at = sc__find_word(text.p, text.n, ends[i]);
        if (at)
            text.n = (size_t)(at - text.p);
    }
    return text;
}

static void nsys_add_range(const struct sc__nsys *n,
                           struct sc__kineto_trace *t,
                           struct sc__str text,
                           int64_t start,
                           int64_t end,
                           uint32_t thread) {
    struct sc__str name = nsys_operator_name(text);
    t->events++;
    if (nsys_is_step(n, text)) {
        *SC__PUSH(t->arena, t->steps, t->step_count, t->step_capacity) =
            (struct sc__kineto_step){sc__strndup(t->arena, text.p, text.n), start, end};
        return;
    }
    *SC__PUSH(t->arena, t->calls, t->call_count, t->call_capacity) =
        (struct sc__kineto_call){.start = start,
                                 .end = end,
                                 .thread = thread,
                                 .name = sc__names_add(&t->names, name.p, name.n)};
    if (sc__str_starts(text, "autograd::engine"))
        sc__map_at(&t->backward, thread, NULL);
    else if (sc__str_starts_any_case(text, "optimizer"))
        *SC__PUSH(t->arena, t->optimizer, t->optimizer_count, t->optimizer_capacity) =
            (struct sc__kineto_range){start, end, thread};
    else if (sc__str_is_any_case(text, "backward"))
        *SC__PUSH(t->arena, t->backward_ranges, t->backward_count, t->backward_capacity) =
            (struct sc__kineto_range){start, end, thread};
}

enum { AT_TEXT = 2, AT_TEXT_ID, AT_THREAD, AT_DOMAIN, AT_JSON, AT_JSON_ID, AT_BINARY };

static sc_status nsys_take_range(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    int64_t global;
    int64_t domain;
    struct sc__nsys_call range = {0};
    if (sqlite3_column_type(row, 1) == SQLITE_NULL)
        return SC_OK; /* a mark, a range that was open at the end, a name of a thread */
    SC__TRY(sc__nsys_times(n, row, table, &range.start, &range.end));
    SC__TRY(sc__nsys_number(n, row, table, AT_THREAD, 0, &global));
    SC__TRY(sc__nsys_number(n, row, table, AT_DOMAIN, 0, &domain));
    const char *text = sc__nsys_text(n, row, AT_TEXT);
    if (!text)
        text = sc__nsys_text(n, row, AT_TEXT_ID);
    if (!text || !*text)
        return SC_OK;
    range.process = nsys_process(n, global);
    range.thread = nsys_thread(global);
    for (uint32_t i = nsys_devices_of(n, range.process); i != SC__NONE;
         i = n->devices[i].next)
        nsys_add_range(n,
                       n->devices[i].trace,
                       sc__str(text),
                       range.start,
                       range.end,
                       range.thread);
    if (strncmp(text, "nccl", 4))
        return SC_OK;
    const char *json = sc__nsys_text(n, row, AT_JSON);
    const void *bytes = sqlite3_column_blob(row, AT_BINARY);
    sc__nsys_nccl_range(n,
                        &range,
                        text,
                        domain,
                        json ? json : sc__nsys_text(n, row, AT_JSON_ID),
                        bytes,
                        (size_t)sqlite3_column_bytes(row, AT_BINARY));
    return SC_OK;
}

static sc_status
nsys_take_string(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    int64_t id;
    SC__TRY(sc__nsys_number(n, row, table, 0, 0, &id));
    if (sqlite3_column_type(row, 1) != SQLITE_TEXT)
        return SC_OK;
    const char *text = (const char *)sqlite3_column_text(row, 1);
    *sc__map_at(&n->strings, (uint64_t)id, NULL) =
        (uint64_t)(uintptr_t)sc__strdup(&n->ctx->arena, text);
    return SC_OK;
}

/* ---- the export ---- */

static sc_status nsys_read_device(struct sc__nsys *n) {
    static const struct sc__nsys_column kernel[] = {{"start", true},
                                                    {"end", true},
                                                    {"deviceId", true},
                                                    {"streamId", true},
                                                    {"correlationId", false},
                                                    {"globalPid", false},
                                                    {"demangledName", false},
                                                    {"shortName", false},
                                                    {"name", false}};
    static const struct sc__nsys_column copy[] = {{"start", true},
                                                  {"end", true},
                                                  {"deviceId", true},
                                                  {"streamId", true},
                                                  {"correlationId", false},
                                                  {"globalPid", false},
                                                  {"copyKind", false}};
    const uint32_t without_name = AT_NAME;
    SC__TRY(sc__nsys_read_table(n,
                                "CUPTI_ACTIVITY_KIND_KERNEL",
                                COLUMNS(kernel),
                                nsys_take_kernel,
                                NULL));
    SC__TRY(sc__nsys_read_table(n,
                                "CUPTI_ACTIVITY_KIND_MEMCPY",
                                COLUMNS(copy),
                                nsys_take_copy,
                                NULL));
    SC__TRY(sc__nsys_read_table(n,
                                "CUPTI_ACTIVITY_KIND_MEMSET",
                                copy,
                                without_name,
                                nsys_take_set,
                                NULL));
    return sc__nsys_read_table(n,
                               "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                               copy,
                               without_name,
                               nsys_take_graph,
                               NULL);
}

static sc_status nsys_read_host(struct sc__nsys *n) {
    static const struct sc__nsys_column call[] = {{"start", true},
                                                  {"end", true},
                                                  {"globalTid", false},
                                                  {"correlationId", true}};
    static const struct sc__nsys_column range[] = {{"start", true},
                                                   {"end", true},
                                                   {"text", false},
                                                   {"textId", false},
                                                   {"globalTid", false},
                                                   {"domainId", false},
                                                   {"jsonText", false},
                                                   {"jsonTextId", false},
                                                   {"binaryData", false}};
    SC__TRY(sc__nsys_read_table(n,
                                "CUPTI_ACTIVITY_KIND_RUNTIME",
                                COLUMNS(call),
                                nsys_take_launch,
                                NULL));
    SC__TRY(sc__nsys_read_schemas(n));
    return sc__nsys_read_table(n, "NVTX_EVENTS", COLUMNS(range), nsys_take_range, NULL);
}

static sc_status nsys_read_tables(struct sc__nsys *n) {
    static const struct sc__nsys_column string[] = {{"id", true}, {"value", true}};
    struct sc__place at = {.file = sc__shown_name(n->ctx, n->file)};
    SC__TRY(sc__nsys_read_table(n, "StringIds", COLUMNS(string), nsys_take_string, NULL));
    n->no_processes = !sc__nsys_has_column(n, "CUPTI_ACTIVITY_KIND_KERNEL", "globalPid");
    SC__TRY(nsys_read_device(n));
    if (!n->device_count)
        return sc__fail(n->ctx,
                        SC_INPUT,
                        &at,
                        "profile with nsys profile --trace cuda,nvtx, then nsys export "
                        "--type sqlite",
                        "no kernels in this export");
    return nsys_read_host(n);
}

static int nsys_by_device(const void *a, const void *b) {
    const struct sc__nsys_device *x = a;
    const struct sc__nsys_device *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

/* A process that computes on one device may have touched another (a context there, a
 * copy from it): that is no rank. */
static void nsys_drop_asides(struct sc__nsys *n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n->device_count; i++) {
        int64_t most = 0;
        for (uint32_t k = nsys_devices_of(n, n->devices[i].process); k != SC__NONE;
             k = n->devices[k].next)
            most = n->devices[k].busy > most ? n->devices[k].busy : most;
        n->devices[i].trace->has_rank = (double)n->devices[i].busy >= ASIDE * (double)most;
    }
    for (uint32_t i = 0; i < n->device_count; i++)
        if (n->devices[i].trace->has_rank)
            n->devices[kept++] = n->devices[i];
    if (kept < n->device_count)
        sc__note(n->ctx,
                 "nsys-asides",
                 "%s: %u devices on which a process spent less than 1 %% of its kernel "
                 "time are left out",
                 n->file,
                 n->device_count - kept);
    n->device_count = kept;
    qsort(n->devices, n->device_count, sizeof *n->devices, nsys_by_device);
}

/* A step inside another is part of it; one without kernels was not profiled. */
static void nsys_keep_steps(struct sc__kineto_trace *t) {
    uint32_t kept = 0;
    int64_t end = INT64_MIN;
    for (uint32_t i = 0; i < t->step_count; i++) {
        struct sc__kineto_step s = t->steps[i];
        uint32_t first = sc__kineto_first(t, t->launched, s.start);
        bool launches = first < t->kernel_count && t->launched[first] < s.end;
        if (s.start < end || !launches)
            continue;
        end = s.end;
        t->steps[kept++] = s;
    }
    t->step_count = kept;
}

static void nsys_note_export(const struct sc__nsys *n) {
    bool steps = false;
    for (uint32_t i = 0; i < n->device_count; i++)
        steps = steps || n->devices[i].trace->step_count;
    if (!steps)
        sc__note(
            n->ctx,
            "nsys-steps",
            "%s: no NVTX range with kernels is called %s: the whole export is one step "
            "(--step-range names the ranges that are steps)",
            n->file,
            n->step_range ? n->step_range : "step, iteration or train_step");
    if (n->graphs)
        sc__note(
            n->ctx,
            "nsys-graphs",
            "%s: %llu CUDA graphs are traced as a whole, so that their kernels are not "
            "told apart (nsys profile --cuda-graph-trace node traces each)",
            n->file,
            (unsigned long long)n->graphs);
}

sc_status sc__nsys_read_export(struct sc__nsys *n) {
    struct sc__arena *arena = &n->ctx->arena;
    sc__map_init(&n->strings, arena);
    sc__map_init(&n->device_at, arena);
    sc__map_init(&n->process_at, arena);
    SC__TRY(sc__nsys_open(n));
    SC__TRY(nsys_read_tables(n));
    nsys_drop_asides(n);
    for (uint32_t i = 0; i < n->device_count; i++) {
        SC__TRY(sc__kineto_finish_trace(n->ctx, n->devices[i].trace));
        nsys_keep_steps(n->devices[i].trace);
    }
    nsys_note_export(n);
    return SC_OK;
}
