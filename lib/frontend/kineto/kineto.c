/* Kineto JSON, what torch.profiler writes: one trace a rank. show says where
 * the measured time went, run replays a step with simulated communication. */
#include "frontend/kineto/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const char *const trace_endings[] = {".json", ".json.gz", NULL};

static bool has_ending(const char *name, const char *const *endings) {
    struct sc__str s = sc__str(name);
    for (; *endings; endings++)
        if (sc__str_ends(s, *endings))
            return true;
    return false;
}

static int kineto_by_name(const void *a, const void *b) {
    return sc__compare_names(sc__str(*(const char *const *)a),
                             sc__str(*(const char *const *)b));
}

static sc_status add_folder(struct sc_context *ctx,
                            const char *path,
                            const char *const *endings,
                            struct sc__kineto_paths *out) {
    struct sc__place at = {.file = path};
    int reason;
    struct sc__folder *d = sc__folder_open(path, &reason);
    uint32_t before = out->count;
    if (!d)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "cannot open: %s", strerror(reason));
    for (const char *name; (name = sc__folder_next(d));)
        if (has_ending(name, endings))
            *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) =
                sc__format(&ctx->arena, "%s/%s", path, name);
    sc__folder_close(d);
    if (out->count == before)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "no %s%s%s traces here",
                        endings[0],
                        endings[1] ? " or " : "",
                        endings[1] ? endings[1] : "");
    qsort(out->items + before, out->count - before, sizeof *out->items, kineto_by_name);
    return SC_OK;
}

sc_status sc__kineto_find_files(struct sc_context *ctx,
                                const char *const *paths,
                                uint32_t count,
                                const char *const *endings,
                                struct sc__kineto_paths *out) {
    for (uint32_t i = 0; i < count; i++)
        if (sc__path_is_folder(paths[i]))
            SC__TRY(add_folder(ctx, paths[i], endings, out));
        else
            *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = paths[i];
    return SC_OK;
}

static int kineto_by_rank(const void *a, const void *b) {
    const struct sc__kineto_trace *x = *(struct sc__kineto_trace *const *)a;
    const struct sc__kineto_trace *y = *(struct sc__kineto_trace *const *)b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The traces in order of rank: those of all ranks, or, where they say of how
 * many they are, of some. */
static sc_status
order_traces(struct sc_context *ctx, struct sc__kineto_trace **traces, uint32_t count) {
    uint32_t world = traces[0]->world ? traces[0]->world : count;
    uint32_t unnumbered = 0;
    if (count == 1)
        return SC_OK;
    for (uint32_t i = 0; i < count; i++) {
        struct sc__kineto_trace *t = traces[i];
        struct sc__place at = {.file = t->file};
        if (!t->has_rank) {
            t->rank = i;
            unnumbered++;
        }
        if ((t->world && t->world != world) || count > world)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "all traces given together must be of one job",
                            "this trace is of a job of %u ranks; the %u traces given are "
                            "of a job of %u",
                            t->world,
                            count,
                            world);
        if (t->rank >= world)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "unexpected rank %u of %u",
                            t->rank,
                            world);
    }
    if (unnumbered)
        sc__note(ctx,
                 "kineto-unnumbered",
                 "%u traces do not say of which rank they are (distributedInfo): in the "
                 "order in which they were given, files of a folder by name, from %s on",
                 unnumbered,
                 traces[0]->file);
    qsort(traces, count, sizeof *traces, kineto_by_rank);
    for (uint32_t i = 1; i < count; i++) {
        struct sc__place at = {.file = traces[i]->file};
        if (traces[i]->rank == traces[i - 1]->rank)
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            "each rank once",
                            "unexpected rank %u, already given by %s",
                            traces[i]->rank,
                            traces[i - 1]->file);
    }
    return SC_OK;
}

static sc_status read_plan(const struct sc__settings *s, struct sc__kineto_plan *plan) {
    *plan = (struct sc__kineto_plan){.step = SC__NONE};
    if (!s)
        return SC_OK;
    static const char *const comm[] = {"simulated", "measured", NULL};
    uint32_t step = 0;
    uint32_t which = 0;
    SC__TRY(sc__setting_word(s, "comm", comm, &which));
    plan->measured_comm = which == 1;
    SC__TRY(sc__setting_u32(s, "dp", 1, &plan->dp));
    SC__TRY(sc__setting_u32(s, "ep", 1, &plan->ep));
    if (plan->dp > 1)
        SC__TRY(sc__setting_bytes(s, "grad-bytes", &plan->grad_bytes));
    SC__TRY(sc__setting_u32(s, "step", 1, &step));
    if (step)
        plan->step = step - 1;
    return SC_OK;
}

sc_status sc__kineto_make_document(struct sc_context *ctx,
                                   const struct sc__settings *settings,
                                   struct sc__kineto_traces *traces,
                                   const struct sc__kineto_paths *files,
                                   struct sc__document *out) {
    struct sc__kineto_plan plan;
    SC__TRY(read_plan(settings, &plan));
    if (traces->count == 1 && !traces->items[0]->has_rank && !traces->items[0]->world)
        sc__kineto_place(ctx, traces->items[0]);
    SC__TRY(order_traces(ctx, traces->items, traces->count));
    out->details = traces;
    out->files = files->items;
    out->file_count = files->count;
    return sc__kineto_replay(ctx,
                             traces->items,
                             traces->count,
                             &plan,
                             out->reader->name,
                             &out->workload,
                             &out->measured);
}

/* --host-trace, once for each trace in the order that they are given in. */
static sc_status link_host_traces(struct sc_context *ctx,
                                  const struct sc__settings *settings,
                                  const struct sc__kineto_traces *d) {
    uint32_t count = 0;
    while (settings && sc__setting_nth(settings, "host-trace", count))
        count++;
    if (count && count != d->count)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one for each trace, in their order",
                        "%u host traces for %u traces",
                        count,
                        d->count);
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(sc__kineto_link_host_trace(ctx,
                                           sc__setting_nth(settings, "host-trace", i),
                                           d->items[i]));
    return SC_OK;
}

static sc_status kineto_read(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             const char *const *paths,
                             uint32_t count,
                             struct sc__document *out) {
    struct sc__kineto_paths files = {0};
    struct sc__kineto_plan plan;
    SC__TRY(read_plan(settings, &plan)); /* before long files are read */
    if (settings && sc__setting(settings, "step-range"))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "steps of a Kineto trace are its ProfilerStep",
                        "--step-range is for exports of Nsight Systems");
    SC__TRY(sc__kineto_find_files(ctx, paths, count, trace_endings, &files));
    struct sc__kineto_traces *d = SC__NEW(&ctx->arena, struct sc__kineto_traces);
    for (uint32_t i = 0; i < files.count; i++) {
        struct sc__kineto_trace *t = SC__NEW(&ctx->arena, struct sc__kineto_trace);
        SC__TRY(sc__kineto_read_trace(ctx, files.items[i], t));
        *SC__PUSH(&ctx->arena, d->items, d->count, d->capacity) = t;
    }
    SC__TRY(link_host_traces(ctx, settings, d));
    return sc__kineto_make_document(ctx, settings, d, &files, out);
}

/* Chrome's form in the hands of other profilers, which sc__identify names. */
static bool of_another_profiler(const unsigned char *head, size_t n) {
    static const char *const words[] = {"\"pid\": \"CPU functions\"",
                                        "highres-ticks",
                                        "Ascend Hardware",
                                        "CommHash"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (sc__find_word(head, n, words[i]))
            return true;
    return false;
}

static int detect_text(const unsigned char *head, size_t n) {
    size_t i = 0;
    while (i < n && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    if (i == n || (head[i] != '{' && head[i] != '['))
        return 0;
    if (sc__find_word(head, n, "\"deviceProperties\"") ||
        sc__find_word(head, n, "\"distributedInfo\""))
        return 90;
    bool trace = head[i] == '[' ? sc__find_word(head, n, "\"ph\"") != NULL
                                : sc__find_word(head, n, "\"traceEvents\"") != NULL;
    if (!trace || of_another_profiler(head, n))
        return 0;
    return sc__find_word(head, n, "cuda_runtime") || sc__find_word(head, n, "cpu_op") ||
                   sc__find_word(head, n, "\"kernel\"")
               ? 70
               : 20;
}

/* A directory is what the first trace in it is. */
static int detect_directory(const char *path) {
    int reason;
    struct sc__folder *d = sc__folder_open(path, &reason);
    char trace[4096] = "";
    static const size_t enough = 65536;
    if (!d)
        return 0;
    for (const char *name; !*trace && (name = sc__folder_next(d));)
        if (has_ending(name, trace_endings))
            snprintf(trace, sizeof trace, "%s/%s", path, name);
    sc__folder_close(d);
    gzFile gz = *trace ? gzopen(trace, "rb") : NULL;
    unsigned char *head = gz ? malloc(enough) : NULL;
    int n = head ? gzread(gz, head, (unsigned)enough) : 0;
    int sure = n > 0 ? detect_text(head, (size_t)n) : 0;
    free(head);
    if (gz)
        gzclose_r(gz);
    return sure > 80 ? 80 : sure;
}

static int
kineto_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    return directory ? detect_directory(path) : detect_text(head, n);
}

static void put_us(struct sc__buffer *b, const char *title, int64_t ns, int64_t of) {
    sc__printf(b, "    %-22s", title);
    sc__put_time(b, ns * SC__PS_PER_NS);
    sc__printf(b, "  %5.1f %%\n", of ? 100.0 * (double)ns / (double)of : 0.0);
}

static void show_text(struct sc__buffer *b, const struct sc__kineto_breakdown *s) {
    put_us(b, "compute", s->compute, s->span);
    put_us(b, "exposed communication", s->exposed_comm, s->span);
    put_us(b, "exposed memory copies", s->exposed_memory, s->span);
    put_us(b, "idle", s->span - s->busy, s->span);
    put_us(b, "  waiting for host", s->host_idle, s->span);
    put_us(b, "  between kernels", s->kernel_idle, s->span);
    put_us(b, "  other", s->other_idle, s->span);
    sc__printf(b,
               "    communication overlap %5.1f %%\n",
               s->comm ? 100.0 * (double)s->overlap / (double)s->comm : 0.0);
}

static void show_totals(struct sc__buffer *b,
                        const struct sc__kineto_trace *t,
                        const struct sc__kineto_totals *s) {
    sc__puts(b, "    kernel time by class\n");
    for (unsigned k = 0; k < SC__WORKS; k++) {
        if (!s->work[k])
            continue;
        sc__printf(b, "      %-20s", sc__work_name(k));
        sc__put_time(b, s->work[k] * SC__PS_PER_NS);
        sc__putc(b, '\n');
    }
    if (s->comm) {
        sc__printf(b, "      %-20s", "communication");
        sc__put_time(b, s->comm * SC__PS_PER_NS);
        sc__putc(b, '\n');
    }
    sc__puts(b, "    kernel time by operator\n");
    for (uint32_t i = 0; i < s->top_count; i++) {
        sc__puts(b, "      ");
        sc__put_time(b, s->top[i].time * SC__PS_PER_NS);
        sc__printf(b,
                   "  %u x %.60s\n",
                   s->top[i].kernels,
                   s->top[i].name == SC__NO_NAME ? "no operator"
                                                 : t->names.text[s->top[i].name]);
    }
}

static void json_totals(struct sc__json *j,
                        const struct sc__kineto_trace *t,
                        const struct sc__kineto_totals *s) {
    sc__json_object(j, "kernels_us");
    for (unsigned k = 0; k < SC__WORKS; k++)
        if (s->work[k])
            sc__json_us(j, sc__work_name(k), s->work[k] * SC__PS_PER_NS);
    if (s->comm)
        sc__json_us(j, "communication", s->comm * SC__PS_PER_NS);
    sc__json_end_object(j);
    sc__json_array(j, "operators");
    for (uint32_t i = 0; i < s->top_count; i++) {
        sc__json_object(j, NULL);
        sc__json_string(j,
                        "name",
                        s->top[i].name == SC__NO_NAME ? NULL
                                                      : t->names.text[s->top[i].name]);
        sc__json_u64(j, "kernels", s->top[i].kernels);
        sc__json_us(j, "time_us", s->top[i].time * SC__PS_PER_NS);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void show_json(struct sc__json *j,
                      const char *name,
                      const struct sc__kineto_trace *t,
                      const struct sc__kineto_breakdown *s,
                      const struct sc__kineto_totals *totals) {
    sc__json_row(j, NULL);
    sc__json_u64(j, "rank", t->rank);
    sc__json_string(j, "step", name);
    sc__json_us(j, "span_us", s->span * SC__PS_PER_NS);
    sc__json_us(j, "compute_us", s->compute * SC__PS_PER_NS);
    sc__json_us(j, "communication_us", s->comm * SC__PS_PER_NS);
    sc__json_us(j, "exposed_communication_us", s->exposed_comm * SC__PS_PER_NS);
    sc__json_us(j, "memory_us", s->memory * SC__PS_PER_NS);
    sc__json_us(j, "non_compute_us", (s->busy - s->compute) * SC__PS_PER_NS);
    sc__json_us(j, "idle_us", (s->span - s->busy) * SC__PS_PER_NS);
    sc__json_us(j, "idle_host_us", s->host_idle * SC__PS_PER_NS);
    sc__json_us(j, "idle_kernel_us", s->kernel_idle * SC__PS_PER_NS);
    sc__json_us(j, "idle_other_us", s->other_idle * SC__PS_PER_NS);
    sc__json_double(j, "overlap", s->comm ? (double)s->overlap / (double)s->comm : 0);
    json_totals(j, t, totals);
    sc__json_end_object(j);
}

void sc__kineto_show(struct sc_context *ctx,
                     const struct sc__document *doc,
                     struct sc__buffer *text,
                     struct sc__json *json) {
    const struct sc__kineto_traces *d = doc->details;
    (void)ctx;
    if (json)
        sc__json_array(json, "measured");
    for (uint32_t i = 0; i < d->count; i++) {
        const struct sc__kineto_trace *t = d->items[i];
        sc__printf(
            text,
            "  rank %u: %llu events, %u kernels on %u streams, %u of communication\n",
            t->rank,
            (unsigned long long)t->events,
            t->kernel_count,
            t->stream_count,
            t->comm_count);
        if (t->host_nodes)
            sc__printf(
                text,
                "  host trace: %u of %u operators are in the trace, %u collectives\n",
                t->host_linked,
                t->host_nodes,
                t->host_comms);
        for (uint32_t s = 0; s < (t->step_count ? t->step_count : 1); s++) {
            int64_t start;
            int64_t end;
            sc__kineto_step_window(t, s, &start, &end);
            struct sc__kineto_breakdown b = sc__kineto_break_down(t, start, end);
            const char *name = t->step_count ? t->steps[s].name : "whole trace";
            sc__printf(text, "  %s, ", name);
            sc__put_time(text, b.span * SC__PS_PER_NS);
            sc__putc(text, '\n');
            show_text(text, &b);
            struct sc__kineto_totals totals;
            sc__kineto_total(t, start, end, &totals);
            show_totals(text, t, &totals);
            if (json)
                show_json(json, name, t, &b, &totals);
        }
    }
    if (json)
        sc__json_end_array(json);
}

const struct sc__option sc__kineto_options[] = {
    {"step",
     0,
     "N",
     NULL,
     "Profiles",
     "which of the steps is replayed; else the first that has kernels",
     0},
    {"step-range",
     0,
     "TEXT",
     NULL,
     "Profiles",
     "NVTX ranges that begin with this are the steps of an Nsight Systems export",
     0},
    {"grad-bytes",
     0,
     "SIZE",
     NULL,
     "Profiles",
     "size of the gradients all-reduced with --dp, if not in the trace",
     0},
    {"host-trace",
     0,
     "FILE",
     NULL,
     "Profiles",
     "PyTorch's execution trace of the host of the same run: sizes of its collectives",
     SC__OPT_REPEAT},
    {0},
};

const struct sc__reader sc__reader_kineto = {
    .name = "kineto",
    .title = "Kineto trace (torch.profiler), one .json or .json.gz a rank",
    .detect = kineto_detect,
    .read = kineto_read,
    .show = sc__kineto_show,
    .options = sc__kineto_options,
    .many = true,
};
