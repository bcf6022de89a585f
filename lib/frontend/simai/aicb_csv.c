/* aicb_csv: AICB's workload for real clusters (CSV): the calls that a rank makes, one after
 * another, and the log of a run of them, which has their times.
 *
 *     [rank0 ~ rank127]                       or a section for each pipeline stage:
 *     [ pp_stage0: [rank0, rank1, …] ]
 *     comm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,…
 *     CommType.all_reduce,CommGroup.tp_group,8,20971520,forward.MegatronRowLinear,…
 *     CommType.computation,…,((4096, 1, 5120), (5120, 1280)),forward.Linear,…
 *     CommType.epoch_end,…
 *
 * msg_size is in bytes: of the whole tensor for gathers and scatters. A computation is a
 * product of the two shapes, or has its time. Each rank of a stage does the same, in the
 * order of the rows; each waits for the one before. */
#include "frontend/reader.h"
#include "hardware/cluster.h"
#include "hardware/kernel.h"
#include "lower/pipeline.h"

#include <math.h>
#include <string.h>

enum {
    AICB_TYPE,
    AICB_GROUP,
    AICB_GROUP_SIZE,
    AICB_SIZE,
    AICB_STAGE,
    AICB_ADDITIONAL,
    AICB_ELAPSED,
    AICB_COUNT,
    AICB_COLUMNS
};

static const char *const aicb_columns[AICB_COLUMNS] = {"comm_type",
                                                       "comm_group",
                                                       "comm_group_size",
                                                       "msg_size",
                                                       "stage",
                                                       "additional",
                                                       "_elapsed_time",
                                                       "count"};

#define AICB_MOST_CELLS 32
#define AICB_MOST_ROWS 20000000u
#define AICB_MOST_BYTES (UINT64_C(1) << 50)
#define AICB_LONGEST_NS 1e14 /* more than a day is a mistake */

enum aicb_kind { AICB_COLLECTIVE, AICB_SEND, AICB_RECEIVE, AICB_PRODUCT, AICB_TIMED };

struct aicb_row {
    uint8_t kind;  /* enum aicb_kind */
    uint8_t coll;  /* enum sc__coll */
    uint8_t group; /* in aicb_groups */
    uint8_t phase;
    bool next;     /* messages: with the next stage, not the previous one */
    uint32_t name; /* in names */
    uint32_t line;
    uint64_t bytes; /* or rows of a product */
    uint64_t columns;
    uint64_t depth;
    double elapsed; /* as the file has it */
};

static const struct {
    const char *name;
    enum sc__group_kind kind;
} aicb_groups[] = {{"tp_group", SC__GROUP_TP},
                   {"dp_group", SC__GROUP_DP_CP},
                   {"pp_group", SC__GROUP_PP},
                   {"ep_group", SC__GROUP_EP},
                   {"ep_dp_group", SC__GROUP_DP_EP},
                   {"cp_group", SC__GROUP_CP},
                   {"embedding_group", SC__GROUP_EMBEDDING},
                   {"all", SC__GROUP_WORLD}};
enum { AICB_TP, AICB_DP, AICB_PP, AICB_EP, AICB_EDP, AICB_CP, AICB_EMBEDDING, AICB_ALL };
#define AICB_GROUPS (sizeof aicb_groups / sizeof *aicb_groups)

/* The rows of a stage: the first iteration. */
struct aicb_section {
    uint32_t ranks; /* that are listed; 0: none */
    uint32_t first; /* row */
    uint32_t rows;
    uint32_t iterations; /* ended */
    bool init;           /* the iteration that is being read sets up or warms up the run */
    uint64_t line;
};

struct aicb_reader {
    struct sc_context *ctx;
    const struct sc__settings *settings;
    struct sc__input in;
    struct sc__str line;
    int place[AICB_COLUMNS]; /* of the column in a row; -1: there is none */
    struct sc__str cells[AICB_MOST_CELLS];
    unsigned count;
    unsigned wanted; /* cells of a row; 0: before the header */
    uint32_t size[AICB_GROUPS];
    uint32_t world; /* 0: not said */
    uint8_t phase;
    bool timed_calls; /* calls have times: the log of a run */
    struct sc__names names;
    struct aicb_row *rows;
    uint32_t row_count;
    uint32_t row_capacity;
    struct aicb_section *sections;
    uint32_t section_count;
    uint32_t section_capacity;
    struct sc__workload *w;
    struct sc__kernel_model *kernels; /* made for the first product */
    uint32_t products;
};

static sc_status
aicb_refuse(const struct aicb_reader *p, struct sc__str cell, const char *what) {
    struct sc__place at = sc__input_place(&p->in, p->line, cell.p);
    return sc__fail(p->ctx, SC_INPUT, &at, NULL, "%s: '%.*s'", what, SC__SHOW(cell));
}

/* Shapes stand in parentheses and have commas in them. */
static sc_status split_aicb_row(struct aicb_reader *p) {
    struct sc__str rest = sc__trim(p->line);
    p->count = 0;
    for (;;) {
        size_t n = 0;
        unsigned depth = 0;
        bool quoted = false;
        for (; n < rest.n && (quoted || depth || rest.p[n] != ','); n++) {
            quoted ^= rest.p[n] == '"';
            depth += rest.p[n] == '(';
            depth -= depth && rest.p[n] == ')';
        }
        if (quoted || depth)
            return aicb_refuse(p, rest, "a quote or parenthesis that does not end");
        if (p->count == AICB_MOST_CELLS)
            return aicb_refuse(p, rest, "too many columns");
        p->cells[p->count++] = sc__trim((struct sc__str){rest.p, n});
        if (n == rest.n)
            return SC_OK;
        rest = (struct sc__str){rest.p + n + 1, rest.n - n - 1};
    }
}

static sc_status read_aicb_header(struct aicb_reader *p) {
    SC__TRY(split_aicb_row(p));
    for (unsigned c = 0; c < AICB_COLUMNS; c++) {
        p->place[c] = -1;
        for (unsigned i = 0; i < p->count; i++)
            if (sc__str_is(p->cells[i], aicb_columns[c]))
                p->place[c] = (int)i;
        if (p->place[c] < 0 && c <= AICB_STAGE)
            return aicb_refuse(
                p,
                p->line,
                sc__format(&p->ctx->arena, "the header has no column %s", aicb_columns[c]));
    }
    p->wanted = p->count;
    return SC_OK;
}

/* A cell without quotes and without the name of Python's enumeration; empty for None. */
static struct sc__str aicb_cell(const struct aicb_reader *p, unsigned column) {
    struct sc__str cell = {"", 0};
    if (p->place[column] >= 0)
        cell = p->cells[p->place[column]];
    if (cell.n > 1 && cell.p[0] == '"')
        cell = (struct sc__str){cell.p + 1, cell.n - 2};
    static const char *const prefixes[] = {"CommType.", "CommGroup."};
    for (unsigned i = 0; i < 2; i++) {
        size_t n = strlen(prefixes[i]);
        if (sc__str_starts(cell, prefixes[i]))
            cell = (struct sc__str){cell.p + n, cell.n - n};
    }
    return sc__str_is(cell, "None") ? (struct sc__str){cell.p, 0} : cell;
}

/* --- sections ---------------------------------------------------------- */

static struct aicb_section *open_section(struct aicb_reader *p) {
    struct aicb_section *s =
        SC__PUSH(&p->ctx->arena, p->sections, p->section_count, p->section_capacity);
    s->first = p->row_count;
    s->line = p->in.line;
    p->phase = SC__FORWARD;
    return s;
}

/* "[rank0 ~ rank127]", "[ pp_stage0: [rank0, rank1, rank2] ]". */
static sc_status read_ranks(struct aicb_reader *p) {
    struct sc__str rest = p->line;
    const char *stage = sc__find_word(rest.p, rest.n, "pp_stage");
    uint32_t ranks = 0;
    uint32_t last = 0;
    for (const char *at; (at = sc__find_word(rest.p, rest.n, "rank"));) {
        rest = (struct sc__str){at + 4, rest.n - (size_t)(at + 4 - rest.p)};
        size_t n = 0;
        while (n < rest.n && rest.p[n] >= '0' && rest.p[n] <= '9')
            n++;
        if (!sc__parse_u32((struct sc__str){rest.p, n}, &last) || last >= SC__MOST_RANKS)
            return aicb_refuse(p, p->line, "the ranks of a stage are not rank0, rank1 …");
        ranks++;
    }
    if (!stage) {
        p->world = ranks == 2 ? last + 1 : ranks;
        return SC_OK;
    }
    if (sc__find_word(p->line.p, p->line.n, "~"))
        return aicb_refuse(p, p->line, "the ranks of a stage are not listed one by one");
    if (p->section_count && !p->sections[p->section_count - 1].rows)
        return aicb_refuse(p, p->line, "the stage before it has no iteration");
    if (p->section_count == SC__MOST_STAGES)
        return aicb_refuse(p, p->line, "more stages than are read");
    open_section(p)->ranks = ranks;
    p->wanted = 0;
    return SC_OK;
}

/* --- rows -------------------------------------------------------------- */

static bool find_collective(struct sc__str name, uint8_t *out) {
    static const struct {
        const char *name;
        enum sc__coll coll;
    } calls[] = {{"all_reduce", SC__ALLREDUCE},
                 {"all_gather", SC__ALLGATHER},
                 {"all_gather_into_tensor", SC__ALLGATHER},
                 {"reduce_scatter", SC__REDUCESCATTER},
                 {"reduce_scatter_tensor", SC__REDUCESCATTER},
                 {"all_to_all", SC__ALLTOALL},
                 {"broadcast", SC__BROADCAST},
                 {"reduce", SC__REDUCE},
                 {"barrier", SC__BARRIER}};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (sc__str_is(name, calls[i].name)) {
            *out = (uint8_t)calls[i].coll;
            return true;
        }
    return false;
}

static void find_aicb_phase(struct aicb_reader *p, struct sc__str stage) {
    if (sc__str_starts(stage, "forward"))
        p->phase = SC__FORWARD;
    else if (sc__str_starts(stage, "backward"))
        p->phase = SC__BACKWARD;
    else if (sc__str_starts(stage, "step"))
        p->phase = SC__UPDATE;
}

static sc_status read_group(struct aicb_reader *p, struct aicb_row *row) {
    struct sc__str name = aicb_cell(p, AICB_GROUP);
    struct sc__str cell = aicb_cell(p, AICB_GROUP_SIZE);
    uint32_t size = 0;
    unsigned g = 0;
    while (g < AICB_GROUPS && !sc__str_is(name, aicb_groups[g].name))
        g++;
    if (g == AICB_GROUPS)
        return aicb_refuse(p, name, "a group that is not read");
    if (!sc__parse_u32(cell, &size) || !size || size > SC__MOST_RANKS)
        return aicb_refuse(p, cell, "comm_group_size is not a number of ranks");
    if (p->size[g] && p->size[g] != size)
        return aicb_refuse(p, cell, "the group had another size before");
    p->size[g] = size;
    row->group = (uint8_t)g;
    return SC_OK;
}

static sc_status read_bytes(struct aicb_reader *p, uint64_t *out) {
    struct sc__str cell = aicb_cell(p, AICB_SIZE);
    double bytes;
    /* sizes computed with a division are floats in Python */
    if (sc__parse_double(cell, &bytes) && bytes >= 0 && bytes <= (double)AICB_MOST_BYTES) {
        *out = (uint64_t)ceil(bytes);
        return SC_OK;
    }
    return aicb_refuse(p, cell, "msg_size is not a number of bytes");
}

/* "(4096, 1, 5120)": the product of all but the last, and the last. */
static bool read_shape(struct sc__str *rest, uint64_t *rows, uint64_t *columns) {
    struct sc__str inside;
    struct sc__str part;
    struct sc__str before;
    *rows = 1;
    *columns = 1;
    if (!sc__split(rest, '(', &before) || !rest->p || !sc__split(rest, ')', &inside) ||
        !rest->p)
        return false;
    while (sc__split(&inside, ',', &part)) {
        uint64_t n = 0;
        if (!sc__trim(part).n)
            continue;
        if (!sc__parse_u64(sc__trim(part), &n) || !n || n > UINT32_MAX ||
            *rows > AICB_MOST_BYTES / *columns)
            return false;
        *rows *= *columns;
        *columns = n;
    }
    return true;
}

static sc_status read_product(struct aicb_reader *p, struct aicb_row *row) {
    struct sc__str cell = aicb_cell(p, AICB_SIZE);
    struct sc__str rest = cell.n ? (struct sc__str){cell.p + 1, cell.n - 1} : cell;
    uint64_t depth;
    if (!read_shape(&rest, &row->bytes, &row->depth) ||
        !read_shape(&rest, &depth, &row->columns))
        return aicb_refuse(
            p,
            cell,
            "a computation has neither a time nor two shapes like ((4096, 1, "
            "5120), (5120, 1280))");
    if (depth != row->depth)
        return aicb_refuse(p, cell, "the shapes of a product do not fit");
    row->kind = AICB_PRODUCT;
    return SC_OK;
}

static sc_status read_elapsed(struct aicb_reader *p, double *out) {
    struct sc__str cell = aicb_cell(p, AICB_ELAPSED);
    *out = -1;
    if (!cell.n)
        return SC_OK;
    if (sc__parse_double(cell, out) && *out >= 0 && *out <= AICB_LONGEST_NS)
        return SC_OK;
    return aicb_refuse(p, cell, "_elapsed_time is not a time");
}

static sc_status read_message(struct aicb_reader *p, struct aicb_row *row) {
    struct sc__str to = aicb_cell(p, AICB_ADDITIONAL);
    bool send = row->kind == AICB_SEND;
    row->next = sc__str_is(to, send ? "send_next" : "recv_next");
    if (!row->next && !sc__str_is(to, send ? "send_prev" : "recv_prev"))
        return aicb_refuse(p, to, "a message with neither the next nor the previous stage");
    return read_bytes(p, &row->bytes);
}

static sc_status read_call(struct aicb_reader *p, struct aicb_row *row) {
    struct sc__str type = aicb_cell(p, AICB_TYPE);
    SC__TRY(read_elapsed(p, &row->elapsed));
    if (sc__str_is(type, "computation")) {
        row->kind = AICB_TIMED;
        return row->elapsed >= 0 ? SC_OK : read_product(p, row);
    }
    if (sc__str_is(type, "isend") || sc__str_is(type, "irecv")) {
        row->kind = sc__str_is(type, "isend") ? AICB_SEND : AICB_RECEIVE;
        p->timed_calls |= row->elapsed >= 0;
        return read_message(p, row);
    }
    if (!find_collective(type, &row->coll))
        return aicb_refuse(p, type, "a call that is not known");
    row->kind = AICB_COLLECTIVE;
    p->timed_calls |= row->elapsed >= 0;
    SC__TRY(read_group(p, row));
    return read_bytes(p, &row->bytes);
}

static void end_iteration(struct aicb_reader *p, struct aicb_section *s) {
    uint32_t rows = p->row_count - s->first;
    bool counts = rows && !s->init;
    s->init = false;
    if (counts && !s->iterations)
        s->rows = rows;
    s->iterations += counts;
    if (!counts || s->iterations > 1)
        p->row_count = s->first + s->rows;
}

static sc_status read_aicb_row(struct aicb_reader *p) {
    struct aicb_row row = {.line = (uint32_t)p->in.line};
    struct aicb_section *s =
        p->section_count ? &p->sections[p->section_count - 1] : open_section(p);
    uint32_t times = 1;
    if (p->count != p->wanted)
        return aicb_refuse(p, p->line, "another number of columns than the header has");
    if (sc__str_is(aicb_cell(p, AICB_TYPE), "epoch_end")) {
        end_iteration(p, s);
        return SC_OK;
    }
    struct sc__str stage = aicb_cell(p, AICB_STAGE);
    struct sc__str count = aicb_cell(p, AICB_COUNT);
    if (count.n && (!sc__parse_u32(count, &times) || times != 1))
        return aicb_refuse(p, count, "rows that stand for several calls are not read");
    SC__TRY(read_call(p, &row));
    find_aicb_phase(p, stage);
    s->init |= sc__str_starts(stage, "init") || sc__str_starts(stage, "warmup");
    row.phase = p->phase;
    row.name = sc__names_add(&p->names, stage.p, stage.n);
    if (p->row_count == AICB_MOST_ROWS)
        return aicb_refuse(p, p->line, "more rows than are read");
    /* NCCL returns at once where there is nothing to send */
    if (row.bytes || row.kind == AICB_TIMED || row.coll == SC__BARRIER)
        *SC__PUSH(&p->ctx->arena, p->rows, p->row_count, p->row_capacity) = row;
    return SC_OK;
}

static sc_status read_aicb_file(struct aicb_reader *p) {
    bool more = true;
    for (;;) {
        SC__TRY(sc__input_line(&p->in, &p->line, &more));
        if (!more)
            break;
        struct sc__str line = sc__trim(p->line);
        if (!line.n)
            continue;
        if (line.p[0] == '[')
            SC__TRY(read_ranks(p));
        else if (!p->wanted || sc__str_starts(line, aicb_columns[AICB_TYPE]))
            SC__TRY(read_aicb_header(p));
        else {
            SC__TRY(split_aicb_row(p));
            SC__TRY(read_aicb_row(p));
        }
    }
    /* a file without an end of the iteration is one iteration */
    for (uint32_t i = 0; i < p->section_count; i++) {
        struct aicb_section *s = &p->sections[i];
        uint32_t end = i + 1 < p->section_count ? s[1].first : p->row_count;
        if (!s->iterations && !s->init)
            s->rows = end - s->first;
    }
    return SC_OK;
}

/* --- the job ----------------------------------------------------------- */

static uint32_t size_or_one(const struct aicb_reader *p, unsigned group) {
    return p->size[group] ? p->size[group] : 1;
}

static sc_status
refuse_job(const struct aicb_reader *p, const char *hint, const char *what) {
    struct sc__place at = {.file = p->in.name};
    return sc__fail(p->ctx, SC_INPUT, &at, hint, "%s", what);
}

static sc_status check_sections(struct aicb_reader *p) {
    uint32_t listed = 0;
    bool messages = false;
    for (uint32_t i = 0; i < p->section_count; i++) {
        if (!p->sections[i].rows)
            return refuse_job(p, "is it cut off?", "a stage has no calls of an iteration");
        listed += p->sections[i].ranks;
    }
    for (uint32_t i = 0; i < p->row_count; i++)
        messages |= p->rows[i].kind == AICB_SEND || p->rows[i].kind == AICB_RECEIVE;
    if (!p->section_count)
        return refuse_job(p, NULL, "a header and no rows");
    if (listed)
        p->world = listed;
    uint32_t pp = p->size[AICB_PP] ? p->size[AICB_PP] : p->section_count;
    if (pp != p->section_count || (messages && pp == 1))
        return refuse_job(p,
                          "a file with a section [ pp_stage0: [rank0, …] ] for each stage "
                          "has all; stepcast gen writes a whole job",
                          "the calls of one pipeline stage alone: what the others do is "
                          "not in it");
    return SC_OK;
}

static sc_status make_mesh(struct aicb_reader *p) {
    uint32_t tp = size_or_one(p, AICB_TP);
    uint32_t cp = size_or_one(p, AICB_CP);
    uint32_t pp = p->section_count;
    uint64_t others = (uint64_t)tp * cp;
    others = others > SC__MOST_RANKS ? others : others * pp;
    uint32_t world = p->world ? p->world : p->size[AICB_ALL];
    uint32_t dp = p->size[AICB_DP];
    if (!dp)
        dp = world ? (uint32_t)(world / others) : 1;
    if (!dp || (world && others * dp != world) || others * dp > SC__MOST_RANKS)
        return refuse_job(p,
                          NULL,
                          sc__format(&p->ctx->arena,
                                     "groups of tp %u, cp %u, dp %u and pp %u do not make "
                                     "the %u ranks that it has",
                                     tp,
                                     cp,
                                     dp,
                                     pp,
                                     world));
    p->w->mesh = sc__mesh(tp, cp, size_or_one(p, AICB_EP), dp, pp, 0);
    SC__TRY(sc__mesh_check(p->ctx, &p->w->mesh));
    for (unsigned g = 0; g < AICB_GROUPS; g++)
        if (p->size[g] &&
            p->size[g] != sc__mesh_group_size(&p->w->mesh, aicb_groups[g].kind))
            return refuse_job(
                p,
                NULL,
                sc__format(&p->ctx->arena,
                           "%s has %u ranks, but %u by the other groups",
                           aicb_groups[g].name,
                           p->size[g],
                           sc__mesh_group_size(&p->w->mesh, aicb_groups[g].kind)));
    return SC_OK;
}

/* ps. AIOB's times of computations are in ns, those of a log in ms. */
static int64_t aicb_time(const struct aicb_reader *p, const struct aicb_row *row) {
    return (int64_t)llround(row->elapsed * (p->timed_calls ? 1e9 : 1e3));
}

static sc_status
price_product(struct aicb_reader *p, const struct aicb_row *row, int64_t *ps) {
    const struct sc__gpu *gpu;
    if (!p->kernels) {
        SC__TRY(sc__gpu_of_job(p->ctx, p->settings, &gpu));
        p->kernels = sc__kernel_model_new(&p->ctx->arena, gpu);
    }
    struct sc__kernel k =
        sc__gemm(p->kernels, NULL, SC__BF16, row->bytes, row->columns, row->depth);
    *ps = (int64_t)llround(k.us * 1e6);
    p->products++;
    return SC_OK;
}

/* How many messages went each way, so that the n-th sent is the n-th received. */
struct aicb_messages {
    uint32_t sent[2];
    uint32_t received[2];
};

static void
add_message(struct sc__op *op, const struct aicb_row *row, struct aicb_messages *m) {
    bool send = row->kind == AICB_SEND;
    bool forward = row->next == send;
    uint32_t *count = send ? &m->sent[forward] : &m->received[forward];
    op->flags = row->next ? SC__OP_PEER_NEXT : SC__OP_PEER_PREV;
    /* the host posts a send and goes on */
    if (send)
        op->flags |= SC__OP_EAGER;
    op->tag = 2 * (*count)++ + forward;
    op->bytes = row->bytes;
}

static sc_status
add_call(struct aicb_reader *p, const struct aicb_row *row, struct aicb_messages *m) {
    static const enum sc__op_kind kinds[] = {[AICB_COLLECTIVE] = SC__OP_COLLECTIVE,
                                             [AICB_SEND] = SC__OP_SEND,
                                             [AICB_RECEIVE] = SC__OP_RECV,
                                             [AICB_PRODUCT] = SC__OP_COMPUTE,
                                             [AICB_TIMED] = SC__OP_COMPUTE};
    int64_t cost = row->kind == AICB_TIMED ? aicb_time(p, row) : 0;
    if (row->kind == AICB_PRODUCT)
        SC__TRY(price_product(p, row, &cost));
    struct sc__op *op = sc__block_add(p->w,
                                      kinds[row->kind],
                                      (enum sc__phase)row->phase,
                                      SC__STREAM_COMPUTE,
                                      p->names.text[row->name]);
    op->row = row->line;
    op->cost = cost;
    op->work = row->kind == AICB_PRODUCT ? SC__WORK_GEMM : SC__WORK_OTHER;
    if (row->kind == AICB_COLLECTIVE) {
        op->coll = row->coll;
        op->bytes = row->bytes;
        op->group = sc__workload_group(p->w, aicb_groups[row->group].kind);
    }
    if (row->kind == AICB_SEND || row->kind == AICB_RECEIVE)
        add_message(op, row, m);
    return SC_OK;
}

static sc_status lower_sections(struct aicb_reader *p) {
    uint32_t ranks = sc__mesh_ranks(&p->w->mesh) / p->section_count;
    for (uint32_t stage = 0; stage < p->section_count; stage++) {
        const struct aicb_section *s = &p->sections[stage];
        struct aicb_messages messages = {0};
        sc__block_begin(p->w);
        for (uint32_t i = 0; i < s->rows; i++)
            SC__TRY(add_call(p, &p->rows[s->first + i], &messages));
        uint32_t block = sc__block_end(p->w);
        uint32_t program = sc__program_begin(p->w);
        sc__program_call(p->w, block, SC__NONE, 0, 0);
        sc__class_add(p->w, program, stage * ranks, ranks, stage);
    }
    return SC_OK;
}

/* AICB's micro tests name a group that has one rank in the file: nothing is sent. */
static void note_groups_of_one(const struct aicb_reader *p) {
    uint32_t calls = 0;
    uint32_t alone = 0;
    for (uint32_t i = 0; i < p->row_count; i++) {
        if (p->rows[i].kind != AICB_COLLECTIVE)
            continue;
        calls++;
        alone += p->size[p->rows[i].group] == 1;
    }
    if (calls && alone == calls)
        sc__note(p->ctx,
                 "aicb-groups-of-one",
                 "%s: every call is of a group of one rank and takes no time",
                 p->in.name);
}

/* AICB ends every iteration with a row of its own. */
static void note_open_end(const struct aicb_reader *p) {
    uint32_t open = 0;
    for (uint32_t i = 0; i < p->section_count; i++)
        open += !p->sections[i].iterations;
    if (open)
        sc__note(
            p->ctx,
            "aicb-open-end",
            "%s: no epoch_end: its calls are taken for one iteration; was the file cut "
            "off?",
            p->in.name);
}

static void note_aicb(const struct aicb_reader *p) {
    bool computes = false;
    for (uint32_t i = 0; i < p->row_count; i++)
        computes |= p->rows[i].kind == AICB_PRODUCT || p->rows[i].kind == AICB_TIMED;
    if (!computes)
        sc__note(p->ctx,
                 "aicb-no-compute",
                 "%s has no computation: the step is communication alone",
                 p->in.name);
    if (p->products)
        sc__note(p->ctx,
                 "aicb-products",
                 "%s: %u products of bf16 by the model of %s (--gpu); attention, norms and "
                 "the optimizer are not in it",
                 p->in.name,
                 p->products,
                 sc__kernel_model_gpu(p->kernels)->name);
    if (p->timed_calls)
        sc__note(p->ctx,
                 "aicb-log",
                 "%s has measured times of calls: communication is simulated all the same",
                 p->in.name);
    if (p->sections[0].iterations > 1)
        sc__note(p->ctx,
                 "aicb-iterations",
                 "%s has %u iterations; the first is taken",
                 p->in.name,
                 p->sections[0].iterations);
    note_open_end(p);
    note_groups_of_one(p);
}

static sc_status read_aicb_job(struct aicb_reader *p) {
    SC__TRY(read_aicb_file(p));
    SC__TRY(check_sections(p));
    SC__TRY(make_mesh(p));
    SC__TRY(lower_sections(p));
    note_aicb(p);
    return SC_OK;
}

static sc_status read_aicb_csv(struct sc_context *ctx,
                               const struct sc__settings *settings,
                               const char *const *paths,
                               uint32_t count,
                               struct sc__document *out) {
    struct aicb_reader *p = SC__NEW(&ctx->arena, struct aicb_reader);
    (void)count;
    *p = (struct aicb_reader){.ctx = ctx, .settings = settings};
    sc__names_init(&p->names, &ctx->arena);
    p->w = sc__workload_new(&ctx->arena, "aicb-csv");
    p->w->stream_names[SC__STREAM_COMPUTE] = "calls";
    SC__TRY(sc__input_open(ctx, paths[0], &p->in));
    sc_status status = read_aicb_job(p);
    sc__input_close(&p->in);
    out->workload = p->w;
    return status;
}

static int
detect_aicb_csv(const unsigned char *head, size_t n, const char *path, bool directory) {
    struct sc__str text = sc__trim((struct sc__str){(const char *)head, n});
    (void)path;
    if (directory ||
        !(sc__str_starts(text, "[") || sc__str_starts(text, aicb_columns[AICB_TYPE])))
        return 0;
    return sc__find_word(head, n, "comm_type,comm_group,comm_group_size,msg_size") ? 95 : 0;
}

const struct sc__reader sc__reader_aicb_csv = {
    .name = "aicb-csv",
    .title = "workload of AICB for real clusters, or the log of one (CSV)",
    .detect = detect_aicb_csv,
    .read = read_aicb_csv};
