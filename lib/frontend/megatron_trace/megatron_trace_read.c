/* megatron_trace_read: files and directories of per-rank traces → one run of one job.
 *
 * Which files belong together is told by their names: rank and time stamp. The
 * ranks of a measured run have stamps a second or two apart; a profile runs one
 * rank after another, so there a new run begins where a rank comes again. Of
 * several runs one is taken, with a note; a job pieced together from two of
 * them is refused. Further runs of a profile are kept as samples. */
#include "frontend/megatron_trace/megatron_trace.h"

#include <stdlib.h>
#include <string.h>

#define STAMP_SPREAD 2 /* seconds between the stamps of one measured run */

struct megatron_trace_read_paths {
    const char **items;
    uint32_t count;
    uint32_t capacity;
};

static int megatron_trace_read_by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_text(const char *name) {
    struct sc__str s = sc__str(name);
    return sc__str_ends(s, ".txt") || sc__str_ends(s, ".txt.gz");
}

/* The trace files of a directory: those named after a rank, else all texts. */
static sc_status list_directory(struct sc_context *ctx,
                                const char *path,
                                struct megatron_trace_read_paths *out) {
    struct megatron_trace_read_paths named = {0};
    struct megatron_trace_read_paths texts = {0};
    struct sc__place at = {.file = path};
    int reason;
    struct sc__folder *dir = sc__folder_open(path, &reason);
    if (!dir)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "cannot read the directory");
    for (const char *name; (name = sc__folder_next(dir));) {
        if (name[0] == '.' || !is_text(name))
            continue;
        struct sc__trace_facts facts;
        sc__trace_name_facts(name, &facts);
        const char *full = sc__format(&ctx->arena,
                                      "%s%s%s",
                                      path,
                                      path[strlen(path) - 1] == '/' ? "" : "/",
                                      name);
        *SC__PUSH(&ctx->arena, texts.items, texts.count, texts.capacity) = full;
        if (facts.has_rank)
            *SC__PUSH(&ctx->arena, named.items, named.count, named.capacity) = full;
    }
    sc__folder_close(dir);
    const struct megatron_trace_read_paths *from = named.count ? &named : &texts;
    if (!from->count)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "traces are .txt or .txt.gz files",
                        "no trace in this directory");
    if (texts.count > from->count)
        sc__note(ctx,
                 "files-left-out",
                 "%s: %u texts are not named after a rank, as the %u traces are, and were "
                 "left out",
                 path,
                 texts.count - from->count,
                 from->count);
    qsort(from->items, from->count, sizeof *from->items, megatron_trace_read_by_name);
    for (uint32_t i = 0; i < from->count; i++)
        *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = from->items[i];
    return SC_OK;
}

static sc_status list_files(struct sc_context *ctx,
                            const char *const *paths,
                            uint32_t count,
                            struct megatron_trace_read_paths *out) {
    for (uint32_t i = 0; i < count; i++)
        if (sc__path_is_folder(paths[i]))
            SC__TRY(list_directory(ctx, paths[i], out));
        else
            *SC__PUSH(&ctx->arena, out->items, out->count, out->capacity) = paths[i];
    return SC_OK;
}

/* Seconds since some day long ago; 0 for no stamp. */
static int64_t stamp_seconds(uint64_t stamp) {
    int64_t s = (int64_t)(stamp % 100);
    int64_t min = (int64_t)(stamp / 100 % 100);
    int64_t h = (int64_t)(stamp / 10000 % 100);
    int64_t day = (int64_t)(stamp / 1000000 % 100);
    int64_t month = (int64_t)(stamp / 100000000 % 100);
    int64_t year = (int64_t)(stamp / 10000000000);
    if (!stamp)
        return 0;
    if (month <= 2) {
        month += 12;
        year--;
    }
    int64_t days =
        365 * year + year / 4 - year / 100 + year / 400 + (153 * (month - 3) + 2) / 5 + day;
    return ((days * 24 + h) * 60 + min) * 60 + s;
}

/* "./rank0.txt" lies in a directory whose name tells something, too. */
static void
file_facts(struct sc__arena *a, const char *path, struct sc__trace_facts *facts) {
    const char *slash = strrchr(path, '/');
    bool relative = !slash || (slash > path && slash[-1] == '.');
    const char *real = relative ? sc__path_real(a, path) : NULL;
    sc__trace_name_facts(real ? real : path, facts);
}

static sc_status read_file(struct sc__trace_scanner *scanner,
                           const char *path,
                           struct sc__trace_rank *rank) {
    struct sc__input in;
    SC__TRY(sc__input_open(scanner->ctx, path, &in));
    rank->file = in.name;
    sc_status status = sc__trace_scan(scanner, &in, rank);
    sc__input_close(&in);
    SC__TRY(status);
    file_facts(&scanner->ctx->arena, path, &rank->facts);
    struct sc__place at = {.file = rank->file, .line = 1, .column = 1};
    if (rank->facts.has_rank && !rank->plan && rank->facts.rank != rank->rank)
        return sc__fail(scanner->ctx,
                        SC_INPUT,
                        &at,
                        "the file was renamed, or holds another rank's trace",
                        "the records are of rank %u, the name says rank %u",
                        rank->rank,
                        rank->facts.rank);
    return SC_OK;
}

static int by_stamp(const void *va, const void *vb) {
    const struct sc__trace_rank *a = va;
    const struct sc__trace_rank *b = vb;
    if (a->facts.stamp != b->facts.stamp)
        return a->facts.stamp < b->facts.stamp ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return strcmp(a->file, b->file);
}

static int megatron_trace_read_by_rank(const void *va, const void *vb) {
    const struct sc__trace_rank *a = va;
    const struct sc__trace_rank *b = vb;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

struct run {
    uint32_t first;
    uint32_t count;
};

struct runs {
    struct run *items;
    uint32_t count;
    uint32_t capacity;
};

static sc_status fail_duplicate(struct sc_context *ctx,
                                const struct sc__trace_rank *a,
                                const struct sc__trace_rank *b) {
    struct sc__place at = {.file = b->file};
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "give each rank of a run once",
                    "a second trace of rank %u; the first is %s",
                    b->rank,
                    a->file);
}

/* The files are in order of their stamps; every run is a stretch of them. */
static sc_status find_runs(struct sc_context *ctx,
                           const struct sc__trace_rank *files,
                           uint32_t count,
                           struct runs *runs) {
    struct sc__map last; /* rank → its latest file + 1 */
    sc__map_init(&last, &ctx->arena);
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__trace_rank *f = &files[i];
        bool fresh;
        uint64_t *before = sc__map_at(&last, f->rank, &fresh);
        bool again = !fresh && *before > runs->items[runs->count - 1].first;
        if (again && files[*before - 1].facts.stamp == f->facts.stamp)
            return fail_duplicate(ctx, &files[*before - 1], f);
        bool apart =
            i && !f->profile &&
            stamp_seconds(f->facts.stamp) - stamp_seconds(files[i - 1].facts.stamp) >
                STAMP_SPREAD;
        if (!i || again || apart)
            SC__PUSH(&ctx->arena, runs->items, runs->count, runs->capacity)->first = i;
        runs->items[runs->count - 1].count = i + 1 - runs->items[runs->count - 1].first;
        *before = i + 1;
    }
    return SC_OK;
}

/* How many different ranks the runs have together. */
static uint32_t
ranks_in_all(struct sc_context *ctx, const struct sc__trace_rank *files, uint32_t count) {
    struct sc__map seen;
    bool fresh;
    sc__map_init(&seen, &ctx->arena);
    for (uint32_t i = 0; i < count; i++)
        sc__map_at(&seen, files[i].rank, &fresh);
    return seen.count;
}

static sc_status fail_mixed(struct sc_context *ctx,
                            const struct sc__trace_rank *files,
                            const struct runs *runs) {
    const struct sc__trace_rank *a = &files[runs->items[0].first];
    const struct sc__trace_rank *b = &files[runs->items[1].first];
    struct sc__place at = {.file = b->file};
    return sc__fail(
        ctx,
        SC_INPUT,
        &at,
        "give the files of one run, or choose one with --run N",
        "%u runs are mixed and none has all ranks: rank %u is of %llu, rank %u of %llu",
        runs->count,
        a->rank,
        (unsigned long long)a->facts.stamp,
        b->rank,
        (unsigned long long)b->facts.stamp);
}

/* The run asked for with --run, else the one with most ranks. */
static sc_status choose_run(struct sc_context *ctx,
                            const struct sc__settings *settings,
                            const struct sc__trace_rank *files,
                            uint32_t count,
                            const struct runs *runs,
                            uint32_t *chosen) {
    uint32_t wanted = 0;
    *chosen = 0;
    SC__TRY(sc__setting_u32(settings, "run", 1, &wanted));
    if (wanted > runs->count)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--run %u, but the input holds %u runs",
                        wanted,
                        runs->count);
    for (uint32_t i = 1; i < runs->count; i++)
        if (runs->items[i].count > runs->items[*chosen].count)
            *chosen = i;
    if (wanted)
        *chosen = wanted - 1;
    else if (runs->count > 1 &&
             ranks_in_all(ctx, files, count) > runs->items[*chosen].count)
        return fail_mixed(ctx, files, runs);
    if (runs->count > 1)
        sc__note(
            ctx,
            "trace-runs",
            "the input holds %u runs; using number %u, of %llu (--run N selects another)%s",
            runs->count,
            *chosen + 1,
            (unsigned long long)files[runs->items[*chosen].first].facts.stamp,
            files->profile ? "; the others add samples to the medians" : "");
    return SC_OK;
}

static sc_status merge_fact(struct sc_context *ctx,
                            const struct sc__trace_rank *r,
                            const char *what,
                            uint32_t value,
                            uint32_t *to) {
    struct sc__place at = {.file = r->file};
    if (value && *to && *to != value)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "give the files of one job",
                        "its name says %s %u, the others' say %u",
                        what,
                        value,
                        *to);
    if (value)
        *to = value;
    return SC_OK;
}

static sc_status merge_facts(struct sc_context *ctx,
                             struct sc__trace_set *set,
                             const struct sc__trace_rank *r) {
    struct sc__trace_facts *to = &set->facts;
    const struct sc__trace_facts *f = &r->facts;
    SC__TRY(merge_fact(ctx, r, "world", f->world, &to->world));
    SC__TRY(merge_fact(ctx, r, "tp", f->tp, &to->tp));
    SC__TRY(merge_fact(ctx, r, "pp", f->pp, &to->pp));
    SC__TRY(merge_fact(ctx, r, "dp", f->dp, &to->dp));
    SC__TRY(merge_fact(ctx, r, "ep", f->ep, &to->ep));
    SC__TRY(merge_fact(ctx, r, "experts", f->experts, &to->experts));
    SC__TRY(merge_fact(ctx, r, "layers", f->layers, &to->layers));
    SC__TRY(merge_fact(ctx, r, "micro-batch", f->micro_batch, &to->micro_batch));
    SC__TRY(merge_fact(ctx, r, "hidden size", f->hidden, &to->hidden));
    SC__TRY(merge_fact(ctx, r, "sequence", f->sequence, &to->sequence));
    struct sc__place at = {.file = r->file};
    if (r->profile != set->profile || r->plan != set->plan)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "give traces of one kind",
                        "%s among %s",
                        r->plan      ? "a plan"
                        : r->profile ? "a profile"
                                     : "a measured trace",
                        set->plan      ? "plans"
                        : set->profile ? "profiles"
                                       : "measured traces");
    return SC_OK;
}

static sc_status make_set(struct sc_context *ctx,
                          const struct sc__settings *settings,
                          struct sc__trace_rank *files,
                          uint32_t count,
                          struct sc__trace_set *set) {
    struct runs runs = {0};
    uint32_t chosen;
    set->profile = files->profile;
    set->plan = files->plan;
    set->single = count == 1;
    for (uint32_t i = 0; i < count; i++)
        SC__TRY(merge_facts(ctx, set, &files[i]));
    qsort(files, count, sizeof *files, by_stamp);
    SC__TRY(find_runs(ctx, files, count, &runs));
    SC__TRY(choose_run(ctx, settings, files, count, &runs, &chosen));
    set->runs = runs.count;
    set->ranks = &files[runs.items[chosen].first];
    set->rank_count = runs.items[chosen].count;
    if (set->profile) {
        set->samples = files;
        set->sample_count = count;
    } else {
        set->samples = set->ranks;
        set->sample_count = set->rank_count;
    }
    qsort(set->ranks, set->rank_count, sizeof *set->ranks, megatron_trace_read_by_rank);
    return SC_OK;
}

static sc_status read_traces(struct sc_context *ctx,
                             const struct sc__settings *settings,
                             const char *const *paths,
                             uint32_t count,
                             struct sc__document *out) {
    struct sc__trace_set *set = SC__NEW(&ctx->arena, struct sc__trace_set);
    struct megatron_trace_read_paths files = {0};
    sc__names_init(&set->names, &ctx->arena);
    SC__TRY(list_files(ctx, paths, count, &files));
    struct sc__trace_scanner scanner = {.ctx = ctx, .names = &set->names};
    struct sc__trace_rank *ranks =
        SC__NEW_ARRAY(&ctx->arena, struct sc__trace_rank, files.count);
    for (uint32_t i = 0; i < files.count; i++)
        SC__TRY(read_file(&scanner, files.items[i], &ranks[i]));
    SC__TRY(make_set(ctx, settings, ranks, files.count, set));
    out->traces = set;
    out->files = files.items;
    out->file_count = files.count;
    return SC_OK;
}

static int detect_directory(const char *path) {
    int reason;
    struct sc__folder *dir = sc__folder_open(path, &reason);
    int sure = 0;
    if (!dir)
        return 0;
    for (const char *name; !sure && (name = sc__folder_next(dir));) {
        struct sc__trace_facts f;
        sc__trace_name_facts(name, &f);
        if (f.has_rank && (f.world || f.tp || f.pp) && is_text(name))
            sure = 90;
    }
    sc__folder_close(dir);
    return sure;
}

/* "rank:" or, in plans, "stage:", and a digit. */
static int megatron_trace_read_detect(const unsigned char *head,
                                      size_t n,
                                      const char *path,
                                      bool directory) {
    if (directory)
        return detect_directory(path);
    struct sc__str text = {(const char *)head, n};
    size_t word = sc__str_starts(text, "rank:")    ? 5
                  : sc__str_starts(text, "stage:") ? 6
                                                   : n;
    return word < n && head[word] >= '0' && head[word] <= '9' ? 95 : 0;
}

/* All but the first are read by frontend/megatron_trace/replay.c. */
static const struct sc__option options[] = {
    {"run",
     0,
     "N",
     "the one with most ranks",
     "Traces",
     "which run of a directory that holds several",
     0},
    {"iteration",
     0,
     "N",
     "the last",
     "Traces",
     "which iteration of traces that hold several",
     0},
    {"comm",
     0,
     "KIND",
     "simulated",
     "Traces",
     "simulated: the network decides; measured: least time in the group",
     0},
    {"host-gap",
     0,
     "TIME",
     "100us",
     "Traces",
     "host time per operation and message; nested calls take half",
     0},
    {"hbm",
     0,
     "RATE",
     "the cluster's",
     "Traces",
     "memory bandwidth of the gradient scaling kernel",
     0},
    {0}};

const struct sc__reader sc__reader_megatron_trace = {
    .name = "megatron-trace",
    .title = "per-rank trace of a Megatron-LM run (Echo)",
    .detect = megatron_trace_read_detect,
    .read = read_traces,
    .show = sc__trace_show,
    .options = options,
    .many = true};
