/* megatron_trace_scan: the lines of one rank's trace → records.
 *
 *   rank:2:loss_func(stage_id=1,…,description=loss_func, and so on,group_kind=None,…,
 *                    timestamp=16109898862.39,sub_operations=['trace_src_func=allreduce,…',
 * …])
 *
 * Keys come in a fixed order, so a value ends where ",<next key>=" follows at
 * bracket depth 0: descriptions are free text with commas and parentheses.
 * Nothing is copied and nothing allocated per line; the line's bytes are looked
 * at once. Times are decimal milliseconds and read exactly. */
#include "frontend/megatron_trace/megatron_trace.h"

#include <string.h>

#define DESCRIPTION_MAX ((size_t)64 << 10)
#define DAY_NS ((int64_t)86400 * 1000000000)
#define DAY_PS (DAY_NS * 1000)
/* Durations are from events of the device, timestamps from the host's clock:
 * how far a nested operation may stick out of the one around it. */
#define SLACK_NS ((int64_t)5 * 1000000)

struct key {
    const char *text;
    size_t n;
};
#define KEY(name)                                                                          \
    { name "=", sizeof(name) }

enum {
    STAGE,
    BATCH,
    STATE,
    DURATION,
    DESCRIPTION,
    GROUP,
    SHAPE,
    DTYPE,
    TIMESTAMP,
    SUBS,
    FIELDS
};
static const struct key fields[FIELDS] = {KEY("stage_id"),
                                          KEY("batch_id"),
                                          KEY("mg_state"),
                                          KEY("duration"),
                                          KEY("description"),
                                          KEY("group_kind"),
                                          KEY("input__shape"),
                                          KEY("input__dtype"),
                                          KEY("timestamp"),
                                          KEY("sub_operations")};

enum {
    SUB_SOURCE,
    SUB_DURATION,
    SUB_TIMESTAMP,
    SUB_SHAPE,
    SUB_DTYPE,
    SUB_NAME,
    SUB_GROUP,
    SUB_COLL,
    SUB_FIELDS
};
static const struct key sub_fields[SUB_FIELDS] = {KEY("trace_src_func"),
                                                  KEY("duration"),
                                                  KEY("timestamp"),
                                                  KEY("input__shape"),
                                                  KEY("input__dtype"),
                                                  KEY("func_name"),
                                                  KEY("group"),
                                                  KEY("comm_func")};

struct scan {
    struct sc__trace_scanner *to;
    struct sc__input *in;
    struct sc__trace_rank *rank;
    struct sc__str line;
    /* what is left of the line, or of the nested operation */
    const char *p;
    const char *end;
    int64_t clock_ns; /* the last timestamp of the file */
    int64_t total;    /* of all durations */
};

static sc_status fail_at(struct scan *s,
                         const char *at,
                         const char *hint,
                         const char *what,
                         struct sc__str value) {
    struct sc__place place = sc__input_place(s->in, s->line, at);
    return sc__fail(s->to->ctx, SC_INPUT, &place, hint, "%s '%.*s'", what, SC__SHOW(value));
}

static sc_status fail_cut(struct scan *s, const char *at, const struct key *missing) {
    struct sc__place place = sc__input_place(s->in, s->line, at);
    return sc__fail(s->to->ctx,
                    SC_INPUT,
                    &place,
                    "the line was truncated, its brackets do not match, or its keys are "
                    "not in the order stage_id, batch_id, mg_state, duration, description, "
                    "group_kind, input__shape, input__dtype, timestamp, sub_operations",
                    "'%s' does not follow",
                    missing->text);
}

static bool starts(const char *p, const char *end, const struct key *k) {
    return (size_t)(end - p) >= k->n && !memcmp(p, k->text, k->n);
}

/* Takes a key at the reading point. */
static bool take_key(struct scan *s, const struct key *k) {
    if (!starts(s->p, s->end, k))
        return false;
    s->p += k->n;
    return true;
}

/* The value at the reading point, up to the comma before `next` (or `other`),
 * where the reading point then is; false when neither follows. */
static bool take_value(struct scan *s,
                       const struct key *next,
                       const struct key *other,
                       struct sc__str *value) {
    unsigned depth = 0;
    for (const char *q = s->p; q < s->end; q++) {
        if (*q == '[' || *q == '(' || *q == '{')
            depth++;
        else if (depth && (*q == ']' || *q == ')' || *q == '}'))
            depth--;
        else if (*q == ',' && !depth) {
            const char *key = q + 1;
            if (key < s->end && *key == ' ')
                key++;
            if (!starts(key, s->end, next) && !(other && starts(key, s->end, other)))
                continue;
            *value = (struct sc__str){s->p, (size_t)(q - s->p)};
            s->p = key;
            return true;
        }
    }
    return false;
}

static unsigned find_word(struct sc__str value, const char *const *words, unsigned count) {
    unsigned i = 0;
    while (i < count && !sc__str_is(value, words[i]))
        i++;
    return i;
}

static sc_status
read_u32(struct scan *s, struct sc__str value, const char *what, uint32_t *out) {
    if (!sc__parse_u32(value, out))
        return fail_at(s, value.p, "a whole number is expected", what, value);
    return SC_OK;
}

/* Milliseconds → ps. "None" and the sentence of asynchronous operations: -1. */
static sc_status
read_duration(struct scan *s, struct sc__str value, bool *measured, int64_t *out) {
    *measured = !sc__str_is(value, "None") && !sc__str_starts(value, "Async");
    *out = -1;
    if (!*measured)
        return SC_OK;
    if (!sc__parse_decimal(value, 9, out) || *out < 0 || *out > DAY_PS)
        return fail_at(s,
                       value.p,
                       "milliseconds, 0 or more and less than a day",
                       "not a duration:",
                       value);
    return SC_OK;
}

static sc_status read_clock(struct scan *s, struct sc__str value, int64_t *ns) {
    if (!sc__parse_decimal(value, 6, ns) || *ns < 0)
        return fail_at(s,
                       value.p,
                       "milliseconds of the node's clock, 0 = never timed",
                       "not a timestamp:",
                       value);
    return SC_OK;
}

/* "[1024, 1, 4096]" → the number of elements. "None": none. */
static sc_status read_shape(struct scan *s, struct sc__str value, uint64_t *elements) {
    static const char hint[] =
        "a shape is None or whole numbers in brackets: [1024, 1, 4096]";
    struct sc__str rest = value;
    struct sc__str part;
    *elements = 0;
    if (sc__str_is(value, "None"))
        return SC_OK;
    if (value.n < 2 || value.p[0] != '[' || value.p[value.n - 1] != ']')
        return fail_at(s, value.p, hint, "not a shape:", value);
    rest = (struct sc__str){value.p + 1, value.n - 2};
    *elements = 1; /* of "[]", a scalar, too */
    while (sc__trim(rest).n && sc__split(&rest, ',', &part)) {
        uint64_t n;
        if (!sc__parse_u64(sc__trim(part), &n))
            return fail_at(s, part.p, hint, "not a size:", part);
        if (__builtin_mul_overflow(*elements, n, elements) || *elements > (uint64_t)1 << 40)
            return fail_at(s, part.p, NULL, "more elements than a tensor can have:", value);
    }
    return SC_OK;
}

static sc_status read_dtype(struct scan *s, struct sc__str value, uint64_t *bytes) {
    static const struct {
        const char *name;
        uint8_t bytes;
    } known[] = {{"float32", 4},
                 {"bfloat16", 2},
                 {"float16", 2},
                 {"int64", 8},
                 {"bool", 1},
                 {"int32", 4},
                 {"float64", 8},
                 {"half", 2},
                 {"float", 4},
                 {"uint8", 1},
                 {"int8", 1},
                 {"int16", 2},
                 {"double", 8},
                 {"long", 8},
                 {"float8_e4m3fn", 1},
                 {"float8_e5m2", 1},
                 {"int", 4}};
    struct sc__str name = value;
    *bytes = 0;
    if (sc__str_is(value, "None"))
        return SC_OK;
    if (sc__str_starts(name, "torch.")) {
        name.p += 6;
        name.n -= 6;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known && !*bytes; i++)
        if (sc__str_is(name, known[i].name))
            *bytes = known[i].bytes;
    if (!*bytes)
        return fail_at(s,
                       value.p,
                       "torch.float32, torch.bfloat16, torch.int64 …",
                       "unknown type",
                       value);
    return SC_OK;
}

static const char group_hint[] =
    "groups are None, pp, tp, dp, exp (experts), ep (embedding), ep_dp or exp_dp";

static sc_status read_sub_group(struct scan *s, struct sc__str value, uint8_t *group) {
    static const char *const words[] = {"tp", "dp", "exp", "ep", "ep_dp", "exp_dp"};
    static const uint8_t kinds[] = {SC__GROUP_TP,
                                    SC__GROUP_DP,
                                    SC__GROUP_EP,
                                    SC__GROUP_EMBEDDING,
                                    SC__GROUP_DP_EP,
                                    SC__GROUP_DP_EP};
    unsigned i = find_word(value, words, 6);
    if (i == 6)
        return fail_at(s,
                       value.p,
                       group_hint,
                       "unknown group of a nested operation",
                       value);
    *group = kinds[i];
    return SC_OK;
}

static sc_status read_coll(struct scan *s, struct sc__str value, uint8_t *coll) {
    static const char *const words[] = {"allreduce",
                                        "all_to_all",
                                        "allgather",
                                        "broadcast",
                                        "reduce_scatter",
                                        "reducescatter",
                                        "barrier"};
    static const uint8_t colls[] = {SC__ALLREDUCE,
                                    SC__ALLTOALL,
                                    SC__ALLGATHER,
                                    SC__BROADCAST,
                                    SC__REDUCESCATTER,
                                    SC__REDUCESCATTER,
                                    SC__BARRIER};
    unsigned i = find_word(value, words, 7);
    if (i == 7)
        return fail_at(
            s,
            value.p,
            "allreduce, all_to_all, allgather, broadcast, reduce_scatter, barrier",
            "unknown collective",
            value);
    *coll = colls[i];
    return SC_OK;
}

/* The values of a nested operation; func_name may be left out. */
static sc_status take_sub_values(struct scan *s, struct sc__str value[SUB_FIELDS]) {
    if (!take_key(s, &sub_fields[SUB_SOURCE]))
        return fail_cut(s, s->p, &sub_fields[SUB_SOURCE]);
    for (unsigned i = 0; i < SUB_COLL; i++) {
        const struct key *next = &sub_fields[i + 1];
        const struct key *other = i + 1 == SUB_NAME ? &sub_fields[SUB_GROUP] : NULL;
        if (!take_value(s, next, other, &value[i]))
            return fail_cut(s, s->p, next);
        if (take_key(s, next))
            continue;
        value[SUB_NAME] = value[SUB_SOURCE];
        s->p += sub_fields[SUB_GROUP].n;
        i++;
    }
    value[SUB_COLL] = (struct sc__str){s->p, (size_t)(s->end - s->p)};
    return SC_OK;
}

static bool names_async(struct sc__str source) {
    return sc__find_word(source.p, source.n, "async") != NULL;
}

static sc_status read_sub(struct scan *s, struct sc__trace_sub *sub) {
    struct sc__str value[SUB_FIELDS];
    uint64_t elements;
    uint64_t width;
    bool measured;
    SC__TRY(take_sub_values(s, value));
    SC__TRY(read_duration(s, value[SUB_DURATION], &measured, &sub->duration));
    SC__TRY(read_clock(s, value[SUB_TIMESTAMP], &sub->end_ns));
    SC__TRY(read_shape(s, value[SUB_SHAPE], &elements));
    SC__TRY(read_dtype(s, value[SUB_DTYPE], &width));
    SC__TRY(read_sub_group(s, value[SUB_GROUP], &sub->group));
    SC__TRY(read_coll(s, value[SUB_COLL], &sub->coll));
    sub->bytes = elements * width;
    sub->async = !measured || names_async(value[SUB_SOURCE]);
    sub->name = sc__names_add(s->to->names, value[SUB_NAME].p, value[SUB_NAME].n);
    return SC_OK;
}

/* Nested operations lie inside the one around them, one after another. */
static sc_status check_sub(struct scan *s,
                           const struct sc__trace_record *r,
                           const struct sc__trace_sub *sub,
                           const char *at) {
    struct sc__place place = sc__input_place(s->in, s->line, at);
    if (!sub->end_ns || !r->end_ns || r->duration < 0)
        return SC_OK;
    if (sub->end_ns > r->end_ns + SLACK_NS ||
        sub->end_ns < sc__trace_start_ns(r->end_ns, r->duration) - SLACK_NS)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &place,
                        "a timestamp is the end of its operation, in milliseconds",
                        "a nested operation ends outside the operation it is nested in");
    const struct sc__trace_sub *before = sub - 1;
    if (s->to->sub_count - 1 > r->first_sub && before->end_ns > sub->end_ns &&
        !sub->async && !before->async)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &place,
                        "operations are listed in the order in which they ended",
                        "timestamps of nested operations are out of order");
    return SC_OK;
}

static sc_status fail_list(struct scan *s, const char *at) {
    struct sc__place place = sc__input_place(s->in, s->line, at);
    return sc__fail(s->to->ctx,
                    SC_INPUT,
                    &place,
                    "the line was truncated or its brackets do not match: it ends in a "
                    "list of quoted strings and ')'",
                    "the list of nested operations does not end");
}

/* ['…', '…']) up to the end of the line. */
static sc_status read_subs(struct scan *s, struct sc__trace_record *r) {
    const char *line_end = s->end;
    r->first_sub = s->to->sub_count;
    if (s->p == line_end || *s->p++ != '[')
        return fail_list(s, s->p);
    while (s->p < line_end && (*s->p == '\'' || *s->p == '"')) {
        const char *first = s->p + 1;
        const char *close = memchr(first, *s->p, (size_t)(line_end - first));
        if (!close)
            return fail_list(s, first);
        struct sc__trace_sub *sub = SC__PUSH(&s->to->ctx->arena,
                                             s->to->subs,
                                             s->to->sub_count,
                                             s->to->sub_capacity);
        memset(sub, 0, sizeof *sub);
        s->p = first;
        s->end = close;
        SC__TRY(read_sub(s, sub));
        SC__TRY(check_sub(s, r, sub, first));
        s->end = line_end;
        s->p = close + 1;
        if (s->p == line_end || *s->p != ',')
            break;
        s->p++;
        while (s->p < line_end && *s->p == ' ')
            s->p++;
    }
    r->subs = s->to->sub_count - r->first_sub;
    if (line_end - s->p != 2 || s->p[0] != ']' || s->p[1] != ')')
        return fail_list(s, s->p);
    return SC_OK;
}

enum { EXP_DP_NAME = SC__TRACE_KINDS, DDP_NAME, KIND_NAMES };

static sc_status read_kind(struct scan *s, uint8_t *kind) {
    const char *open = memchr(s->p, '(', (size_t)(s->end - s->p));
    struct sc__str name = {s->p, open ? (size_t)(open - s->p) : (size_t)(s->end - s->p)};
    unsigned i = find_word(name, sc__trace_names, KIND_NAMES);
    if (i == KIND_NAMES || !open) {
        const char *near =
            sc__nearest(sc__format(&s->to->ctx->arena, "%.*s", SC__SHOW(name)),
                        sc__trace_names);
        return fail_at(s,
                       s->p,
                       near ? sc__format(&s->to->ctx->arena, "did you mean %s?", near)
                            : NULL,
                       "unknown operation",
                       name);
    }
    s->p = open + 1;
    *kind = (uint8_t)i;
    return SC_OK;
}

/* Two of the names do not stand for a kind of their own. */
static sc_status settle_kind(struct scan *s, struct sc__str group, uint8_t *kind) {
    static const char *const words[] =
        {"None", "pp", "tp", "dp", "ep", "exp", "ep_dp", "exp_dp"};
    unsigned i = find_word(group, words, 8);
    if (i == 8)
        return fail_at(s, group.p, group_hint, "unknown group", group);
    if (*kind == EXP_DP_NAME)
        *kind = SC__TRACE_EXPERT_ALLREDUCE;
    if (*kind == DDP_NAME)
        *kind = i >= 6 ? SC__TRACE_EXPERT_ALLREDUCE : SC__TRACE_DP_ALLREDUCE;
    return SC_OK;
}

static sc_status read_state(struct scan *s, struct sc__str value, uint8_t *state) {
    static const char *const words[SC__STATES] =
        {"None", "warmup", "help", "steady", "cooldown", "finalize"};
    unsigned i = find_word(value, words, SC__STATES);
    if (i == SC__STATES)
        return fail_at(s,
                       value.p,
                       "None, warmup, help, steady, cooldown or finalize",
                       "unknown mg_state",
                       value);
    *state = (uint8_t)i;
    return SC_OK;
}

/* "rank:3:" or, in plans, "stage:1:". */
static sc_status read_prefix(struct scan *s, bool first) {
    static const struct key rank = {"rank:", 5};
    static const struct key stage = {"stage:", 6};
    bool plan = starts(s->p, s->end, &stage);
    struct sc__str number;
    uint32_t value;
    if (!plan && !starts(s->p, s->end, &rank))
        return fail_at(s,
                       s->p,
                       "every line begins with rank:<number>:<operation>(",
                       "not a trace record:",
                       s->line);
    s->p += plan ? stage.n : rank.n;
    struct sc__str rest = {s->p, (size_t)(s->end - s->p)};
    sc__split(&rest, ':', &number);
    SC__TRY(read_u32(s, number, "not a number:", &value));
    if (first) {
        s->rank->rank = value;
        s->rank->plan = plan;
    }
    if (s->rank->rank != value || s->rank->plan != plan)
        return fail_at(s,
                       s->p,
                       "one file holds one rank",
                       "another rank in the same file:",
                       number);
    s->p = number.p + number.n;
    if (s->p < s->end)
        s->p++;
    return SC_OK;
}

static const char overlap_hint[] =
    "gradients that are reduced beside backward are told by their launches alone: trace "
    "without --trace-ddp-grad-overlap";

/* "None,cmd_uid=…,op_semantics=None,finalize_base_duration_ms=None": traces from 2026 on
 * number their operations, and say which only waits for, or stands for, what others do. */
static sc_status cut_number(struct scan *s, struct sc__str *group) {
    static const struct key semantics = KEY("op_semantics");
    const char *at = sc__find_word(group->p, group->n, "cmd_uid=");
    struct sc__str rest = {at, at ? group->n - (size_t)(at - group->p) : 0};
    struct sc__str part;
    if (!at)
        return SC_OK;
    group->n = (size_t)(at - group->p);
    while (group->n && strchr(", ", group->p[group->n - 1]))
        group->n--;
    while (sc__split(&rest, ',', &part)) {
        part = sc__trim(part);
        if (!starts(part.p, part.p + part.n, &semantics))
            continue;
        part = (struct sc__str){part.p + semantics.n, part.n - semantics.n};
        if (!sc__str_is(part, "None"))
            return fail_at(s,
                           part.p,
                           overlap_hint,
                           "an operation that others stand for:",
                           part);
    }
    return SC_OK;
}

static sc_status take_values(struct scan *s, struct sc__str value[FIELDS]) {
    static const struct key bucket = KEY("comm_uid");
    struct sc__str rest = {s->p, (size_t)(s->end - s->p)};
    struct sc__str first;
    if (starts(s->p, s->end, &bucket) && sc__split(&rest, ',', &first))
        return fail_at(s,
                       s->p,
                       overlap_hint,
                       "a bucket of gradients that is reduced beside backward:",
                       first);
    if (!take_key(s, &fields[STAGE]))
        return fail_cut(s, s->p, &fields[STAGE]);
    for (unsigned i = 0; i < SUBS; i++) {
        if (!take_value(s, &fields[i + 1], NULL, &value[i]))
            return fail_cut(s, s->p, &fields[i + 1]);
        s->p += fields[i + 1].n;
    }
    SC__TRY(cut_number(s, &value[GROUP]));
    if (value[DESCRIPTION].n > DESCRIPTION_MAX)
        return fail_at(s,
                       value[DESCRIPTION].p,
                       "a description is a sentence",
                       "a description of more than 64 KiB:",
                       value[DESCRIPTION]);
    return SC_OK;
}

static sc_status read_values(struct scan *s,
                             const struct sc__str value[FIELDS],
                             struct sc__trace_record *r,
                             uint32_t *stage) {
    uint64_t elements;
    uint64_t width;
    bool measured;
    SC__TRY(read_u32(s, value[STAGE], "not a stage:", stage));
    SC__TRY(read_u32(s, value[BATCH], "not a micro-batch number:", &r->batch));
    SC__TRY(read_state(s, value[STATE], &r->state));
    SC__TRY(read_duration(s, value[DURATION], &measured, &r->duration));
    SC__TRY(settle_kind(s, value[GROUP], &r->kind));
    SC__TRY(read_shape(s, value[SHAPE], &elements));
    SC__TRY(read_dtype(s, value[DTYPE], &width));
    SC__TRY(read_clock(s, value[TIMESTAMP], &r->end_ns));
    r->bytes = elements * width;
    if (r->batch > 1u << 20)
        return fail_at(s,
                       value[BATCH].p,
                       NULL,
                       "more than a million micro-batches:",
                       value[BATCH]);
    if (!measured && !s->rank->plan)
        return fail_at(s,
                       value[DURATION].p,
                       "only plans, whose lines begin with stage:, have no durations",
                       "an operation without a duration:",
                       value[DURATION]);
    if (sc__str_starts(value[DESCRIPTION], "simulation"))
        s->rank->profile = true;
    return SC_OK;
}

/* A fused exchange is told twice: send forward and receive backward (or send
 * backward and receive forward) with the same duration and timestamp. */
static bool is_fused(const struct sc__trace_record *a, const struct sc__trace_record *b) {
    if (!sc__trace_is_message(a->kind) || !sc__trace_is_message(b->kind) || a->fused)
        return false;
    if (a->duration != b->duration || a->end_ns != b->end_ns)
        return false;
    unsigned both = 1u << a->kind | 1u << b->kind;
    return both == (1u << SC__TRACE_SEND_FORWARD | 1u << SC__TRACE_RECV_BACKWARD) ||
           both == (1u << SC__TRACE_SEND_BACKWARD | 1u << SC__TRACE_RECV_FORWARD);
}

static sc_status check_record(struct scan *s, struct sc__trace_record *r, uint32_t stage) {
    struct sc__place at = sc__input_place(s->in, s->line, s->line.p);
    if (s->to->record_count == 1)
        s->rank->stage = stage;
    if (s->rank->stage != stage)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &at,
                        "one rank is on one stage",
                        "stage %u, but stage %u in the lines before",
                        stage,
                        s->rank->stage);
    if (r->end_ns && s->clock_ns > r->end_ns)
        return sc__fail(
            s->to->ctx,
            SC_INPUT,
            &at,
            "the operations of a rank are listed in the order in which they ended",
            "timestamps are out of order");
    if (r->end_ns && s->clock_ns && r->end_ns - s->clock_ns > DAY_NS)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "more than a day between this operation and the one before");
    r->fused = s->to->record_count > 1 && !s->rank->plan && is_fused(r - 1, r);
    int64_t start_ns = sc__trace_start_ns(r->end_ns, r->duration);
    bool timed = r->end_ns && s->clock_ns && r->duration >= 0;
    if (timed && !r->fused && start_ns < s->clock_ns - SLACK_NS)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &at,
                        "a rank runs one operation after another: is its duration in "
                        "milliseconds, and its timestamp right?",
                        "begins %.3f ms before the operation before it ended",
                        (double)(s->clock_ns - start_ns) * 1e-6);
    if (r->end_ns)
        s->clock_ns = r->end_ns;
    s->total += r->duration;
    if (s->total > 30 * DAY_PS)
        return sc__fail(s->to->ctx,
                        SC_INPUT,
                        &at,
                        NULL,
                        "the operations take more than 30 days");
    if (r->kind == SC__TRACE_OPTIMIZER)
        s->rank->iterations++;
    return SC_OK;
}

static sc_status read_record(struct scan *s) {
    struct sc__str value[FIELDS];
    uint32_t stage = 0;
    struct sc__trace_record *r = SC__PUSH(&s->to->ctx->arena,
                                          s->to->records,
                                          s->to->record_count,
                                          s->to->record_capacity);
    memset(r, 0, sizeof *r);
    r->line = (uint32_t)s->in->line;
    s->p = s->line.p;
    s->end = s->line.p + s->line.n;
    SC__TRY(read_prefix(s, s->to->record_count == 1));
    SC__TRY(read_kind(s, &r->kind));
    SC__TRY(take_values(s, value));
    SC__TRY(read_values(s, value, r, &stage));
    SC__TRY(read_subs(s, r));
    return check_record(s, r, stage);
}

static void keep(struct sc__trace_scanner *t, struct sc__trace_rank *out) {
    struct sc__arena *a = &t->ctx->arena;
    out->record_count = t->record_count;
    out->records = SC__NEW_ARRAY(a, struct sc__trace_record, t->record_count);
    out->subs = SC__NEW_ARRAY(a, struct sc__trace_sub, t->sub_count);
    memcpy(out->records, t->records, t->record_count * sizeof *t->records);
    if (t->sub_count)
        memcpy(out->subs, t->subs, t->sub_count * sizeof *t->subs);
}

sc_status sc__trace_scan(struct sc__trace_scanner *scanner,
                         struct sc__input *in,
                         struct sc__trace_rank *out) {
    struct scan s = {.to = scanner, .in = in, .rank = out};
    bool more;
    scanner->record_count = scanner->sub_count = 0;
    for (;;) {
        SC__TRY(sc__input_line(in, &s.line, &more));
        if (!more)
            break;
        if (s.line.n)
            SC__TRY(read_record(&s));
    }
    struct sc__place at = {.file = in->name};
    if (!scanner->record_count)
        return sc__fail(scanner->ctx, SC_INPUT, &at, NULL, "holds no operation");
    at.line = in->line - 1;
    if (!out->iterations && !out->plan)
        return sc__fail(scanner->ctx,
                        SC_INPUT,
                        &at,
                        "the file was truncated, or holds no whole iteration",
                        "the trace ends before optimizer_step");
    keep(scanner, out);
    return SC_OK;
}
