/* space: the seeds a search looks at: plans but for their recomputation.
 *
 * A number or choice that the user has given is fixed. What is left open takes the
 * values below; what cannot be, by the sizes alone, is left out before anything is
 * computed. */
#include "search/search.h"

#include <string.h>

const struct sc__choice sc__search_tries[] = {{"schedule", SC__TRY_SCHEDULE},
                                              {"recompute", SC__TRY_RECOMPUTE},
                                              {"zero", SC__TRY_ZERO},
                                              {"sequence-parallel", SC__TRY_SEQUENCE},
                                              {"overlap", SC__TRY_OVERLAP},
                                              {"cp-comm-type", SC__TRY_CP_COMM},
                                              {"dispatcher", SC__TRY_DISPATCHER},
                                              {"etp", SC__TRY_ETP},
                                              {"types", SC__TRY_TYPES},
                                              {"order", SC__TRY_ORDER},
                                              {"all", SC__TRY_ALL},
                                              {0}};

static const struct {
    const char *name;
    const char *key;
    size_t offset;
} numbers[SC__NUMBERS] = {
    {"tp", "tp", offsetof(sc_plan, tp)},
    {"pp", "pp", offsetof(sc_plan, pp)},
    {"cp", "cp", offsetof(sc_plan, cp)},
    {"ep", "ep", offsetof(sc_plan, ep)},
    {"etp", "etp", offsetof(sc_plan, etp)},
    {"vpp", "vpp", offsetof(sc_plan, vpp)},
    {"micro-batch", "micro_batch", offsetof(sc_plan, micro_batch)},
};

const char *sc__space_number_name(int number) {
    return numbers[number].name;
}

const char *sc__space_number_key(int number) {
    return numbers[number].key;
}

static uint32_t *number_of(sc_plan *p, int which) {
    return (uint32_t *)((char *)p + numbers[which].offset);
}

bool sc__space_number_given(const struct sc__search *s, int number) {
    sc_plan given = s->given;
    return *number_of(&given, number) != 0;
}

/* ---- choices ---- */

/* Text of a value: "label|option=text|…". The first of an axis is the usual one. */
struct axis_text {
    int axis;
    unsigned try; /* the values after the first are asked for by this */
    const char *values[SC__SEARCH_VALUES];
};

static const struct axis_text axis_texts[] = {
    {SC__CHOICE_SHARDING,
     SC__TRY_ZERO,
     {"ZeRO 1|zero=1",
      "ZeRO 1, weights gathered behind forward|zero=1|overlap-param=yes",
      "ZeRO 0|zero=0",
      "ZeRO 2|zero=2",
      "ZeRO 3|zero=3",
      "ZeRO 3 in groups of 8|zero=3|shard-group=8",
      "ZeRO 3 in groups of 32|zero=3|shard-group=32",
      "ZeRO 3 in groups of 128|zero=3|shard-group=128"}},
    {SC__CHOICE_SEQUENCE,
     SC__TRY_SEQUENCE,
     {"sequence parallel|sequence-parallel=",
      "no sequence parallel|no-sequence-parallel="}},
    {SC__CHOICE_TP_OVERLAP,
     SC__TRY_OVERLAP,
     {"", "tensor parallel in chunks|overlap-tp=chunks"}},
    {SC__CHOICE_MOE_OVERLAP, SC__TRY_OVERLAP, {"", "dispatch overlapped|overlap-moe=yes"}},
    {SC__CHOICE_CP_COMM,
     SC__TRY_CP_COMM,
     {"", "cp by all_gather|cp-comm-type=all_gather", "cp by a2a|cp-comm-type=a2a"}},
    {SC__CHOICE_DISPATCHER,
     SC__TRY_DISPATCHER,
     {"", "flex dispatcher|moe-token-dispatcher-type=flex"}},
    {SC__CHOICE_TYPE, SC__TRY_TYPES, {"", "fp8|fp8=", "fp4|fp4="}},
    {SC__CHOICE_ORDER, SC__TRY_ORDER, {"", "pp before dp|order=tp-cp-pp-ep-dp"}},
};

/* Without --try recompute only the first, selective and full count. */
static const char *const recompute_texts[] = {
    "none",
    "selective|recompute=selective",
    "full|recompute=full",
    "selective: act|recompute=selective|recompute-modules=act",
    "selective: norm,act|recompute=selective|recompute-modules=norm,act",
    "selective: mlp,moe|recompute=selective|recompute-modules=mlp,moe",
    "first layer|recompute=full|recompute-method=block|recompute-layers=1",
    "first 2 layers|recompute=full|recompute-method=block|recompute-layers=2",
    "first 4 layers|recompute=full|recompute-method=block|recompute-layers=4",
    "first 8 layers|recompute=full|recompute-method=block|recompute-layers=8",
};
enum {
    RECOMPUTE_NONE,
    RECOMPUTE_SELECTIVE,
    RECOMPUTE_FULL,
    RECOMPUTE_USUAL,
    RECOMPUTE_BLOCK = 6,
    RECOMPUTES = sizeof recompute_texts / sizeof *recompute_texts
};

bool sc__space_recompute_contains(const struct sc__search *s,
                                  uint32_t more,
                                  uint32_t less) {
    bool usual = s->axes[SC__CHOICE_RECOMPUTE].count == RECOMPUTE_USUAL;
    if (more == less)
        return false;
    if (less == RECOMPUTE_NONE || (usual && more == RECOMPUTE_FULL))
        return true;
    if (less < RECOMPUTE_BLOCK)
        return false;
    return more == RECOMPUTE_FULL || more > less; /* blocks of more layers */
}

static const struct sc__option *find_option(const char *name, size_t n) {
    static const struct sc__option *const tables[] = {sc__model_options, sc__job_options};
    for (unsigned t = 0; t < 2; t++)
        for (const struct sc__option *o = tables[t]; o->name; o++)
            if (strlen(o->name) == n && !memcmp(o->name, name, n))
                return o;
    return NULL;
}

static void
read_value(struct sc__arena *arena, const char *text, struct sc__search_value *out) {
    struct sc__str rest = sc__str(text);
    struct sc__str part;
    uint32_t n = 0;
    memset(out, 0, sizeof *out);
    out->label = "";
    for (bool first = true; sc__split(&rest, '|', &part); first = false) {
        if (first) {
            out->label = sc__strndup(arena, part.p, part.n);
            continue;
        }
        const char *equals = memchr(part.p, '=', part.n);
        size_t name = (size_t)(equals - part.p);
        out->sets[n].option = find_option(part.p, name);
        out->sets[n++].text = sc__strndup(arena, equals + 1, part.n - name - 1);
    }
}

/* The user has said something about an option that the value sets. */
static bool is_given(const struct sc__search *s, const struct sc__search_value *v) {
    static const sc_plan nothing = SC_PLAN_INIT;
    for (unsigned i = 0; i < SC__SEARCH_SETS && v->sets[i].option; i++) {
        const struct sc__option *o = v->sets[i].option;
        if (o->in == SC__IN_OPTIONS) {
            if (s->options.rank_order)
                return true;
            continue;
        }
        if (memcmp((const char *)&s->given + o->offset,
                   (const char *)&nothing + o->offset,
                   sc__option_size(o)) != 0)
            return true;
    }
    return false;
}

static void add_axis_value(struct sc__search *s, int axis, const char *text) {
    struct sc__search_axis *a = &s->axes[axis];
    read_value(&s->ctx->arena, text, &a->values[a->count++]);
}

static void make_axis(struct sc__search *s, const struct axis_text *t) {
    struct sc__search_axis *a = &s->axes[t->axis];
    struct sc__search_value v;
    add_axis_value(s, t->axis, t->values[0]);
    if (is_given(s, &a->values[0])) {
        memset(a->values[0].sets, 0, sizeof a->values[0].sets);
        return;
    }
    for (unsigned i = 1; i < SC__SEARCH_VALUES && t->values[i] && s->tries & t->try; i++) {
        read_value(&s->ctx->arena, t->values[i], &v);
        if (!is_given(s, &v))
            a->values[a->count++] = v;
    }
}

/* Schedules beside those that vpp decides: whatever the option knows, but for the one with
 * two copies of the model, whose V waits as long with one. */
static void make_schedules(struct sc__search *s) {
    static const char *const usual[] = {"auto", "1f1b", "gpipe", "interleaved", "dualpipe"};
    const struct sc__option *o = find_option("schedule", 8);
    add_axis_value(s, SC__CHOICE_SCHEDULE, "");
    if (s->given.schedule != SC_SCHEDULE_AUTO || !(s->tries & SC__TRY_SCHEDULE))
        return;
    for (const struct sc__choice *c = o->choices; c->name; c++) {
        bool skip = false;
        for (unsigned i = 0; i < sizeof usual / sizeof *usual; i++)
            skip |= !strcmp(c->name, usual[i]);
        if (!skip)
            add_axis_value(s,
                           SC__CHOICE_SCHEDULE,
                           sc__format(&s->ctx->arena, "%s|schedule=%s", c->name, c->name));
    }
}

static void make_recomputes(struct sc__search *s) {
    bool given = s->given.recompute != SC_RECOMPUTE_AUTO || s->given.recompute_modules ||
                 s->given.recompute_layers;
    uint32_t count = s->tries & SC__TRY_RECOMPUTE ? RECOMPUTES : RECOMPUTE_USUAL;
    if (given)
        count = 1;
    for (uint32_t i = 0; i < count; i++)
        add_axis_value(s, SC__CHOICE_RECOMPUTE, given ? "" : recompute_texts[i]);
}

sc_status sc__space_make(struct sc__search *s) {
    memset(s->axes, 0, sizeof s->axes);
    make_schedules(s);
    for (unsigned i = 0; i < sizeof axis_texts / sizeof *axis_texts; i++)
        make_axis(s, &axis_texts[i]);
    make_recomputes(s);
    return SC_OK;
}

/* ---- plans ---- */

enum { MOST_VALUES = 64, MOST_PLANS = 4000000 };

struct range {
    uint32_t value[MOST_VALUES];
    uint32_t count;
};

static void add_value(struct range *r, uint32_t x) {
    if (r->count < MOST_VALUES)
        r->value[r->count++] = x;
}

static void powers(struct range *r, uint32_t from, uint64_t to) {
    for (uint64_t x = from; x <= to && x <= UINT16_MAX; x *= 2)
        add_value(r, (uint32_t)x);
}

/* Divisors of n, and the powers of two below it: uneven ones. */
static void parts(struct range *r, uint32_t n, uint32_t most) {
    for (uint32_t d = 1; d <= n && d <= most; d++)
        if (n % d == 0 || (d & (d - 1)) == 0)
            add_value(r, d);
}

enum { MOST_CHUNKS = 12, MOST_STAGES = MOST_VALUES };

/* Stages of equal layers, a power of two of them, or as many as divide the GPUs, without
 * which 72 of them leave little to cut. */
static void stage_values(struct range *r, uint32_t layers, uint32_t gpus) {
    for (uint32_t d = 1; d <= layers && d <= MOST_STAGES; d++)
        if (layers % d == 0 || gpus % d == 0 || (d & (d - 1)) == 0)
            add_value(r, d);
}

/* Chunks of a stage: even ones, and those that come out even with the ends counted as
 * layers (126 layers on 16 stages: 8; 27 on 2: 7). */
static void chunk_values(const struct sc__plan *base,
                         const struct sc__model *m,
                         uint32_t pp,
                         struct range *r) {
    if (pp == 1) {
        add_value(r, 1);
        return;
    }
    parts(r, m->layers / pp, MOST_CHUNKS);
    for (uint32_t d = 2; d <= MOST_CHUNKS; d++) {
        bool known = false;
        for (uint32_t i = 0; i < r->count; i++)
            known |= r->value[i] == d;
        if (!known && sc__plan_ends_make_even(base, m, pp * d))
            add_value(r, d);
    }
}

struct enumeration {
    struct sc__search *s;
    const struct sc__search_machine *machine;
    const struct sc__gpu *gpu;
    struct sc__plan base;
    struct sc__search_seed at;
};

/* Where the user left the choice: tensor parallel inside a node, pipelines that
 * divide the layers or the GPUs or are a power of two, context parallel while a rank keeps
 * 4096 tokens. */
static void number_values(const struct enumeration *e, int which, struct range *r) {
    const struct sc__model *m = e->s->model;
    sc_plan given = e->s->given;
    uint32_t pp = e->at.number[SC__NUMBER_PP];
    if (*number_of(&given, which))
        add_value(r, *number_of(&given, which));
    else if (which == SC__NUMBER_TP)
        powers(r, 1, e->machine->node_gpus);
    else if (which == SC__NUMBER_PP)
        stage_values(r, m->layers, e->machine->gpus);
    else if (which == SC__NUMBER_CP)
        powers(r, 1, e->base.seq / 4096 ? e->base.seq / 4096 : 1);
    else if (which == SC__NUMBER_EP)
        powers(r, 1, m->experts ? m->experts : 1);
    else if (which == SC__NUMBER_ETP) {
        add_value(r, 0);
        if (m->experts && e->s->tries & SC__TRY_ETP && e->at.number[SC__NUMBER_TP] > 1)
            add_value(r, 1);
    } else if (which == SC__NUMBER_VPP)
        chunk_values(&e->base, m, pp, r);
    else
        powers(r, 1, 8);
}

/* What the user said is refused with its reason, later. */
static bool experts_can_be(const struct enumeration *e) {
    const uint16_t *n = e->at.number;
    uint32_t etp = n[SC__NUMBER_ETP] ? n[SC__NUMBER_ETP] : n[SC__NUMBER_TP];
    uint32_t stage = e->machine->gpus / n[SC__NUMBER_PP];
    bool given = sc__space_number_given(e->s, SC__NUMBER_EP) ||
                 sc__space_number_given(e->s, SC__NUMBER_ETP);
    return given || n[SC__NUMBER_EP] == 1 ||
           stage % ((uint32_t)n[SC__NUMBER_EP] * etp) == 0;
}

static bool sizes_can_be(const struct enumeration *e) {
    const struct sc__model *m = e->s->model;
    const uint16_t *n = e->at.number;
    uint64_t cut = (uint64_t)n[SC__NUMBER_TP] * n[SC__NUMBER_PP] * n[SC__NUMBER_CP];
    if (!cut || e->machine->gpus % cut || m->heads % n[SC__NUMBER_TP])
        return false;
    uint64_t dp = e->machine->gpus / cut;
    return e->base.global_batch % (dp * n[SC__NUMBER_MICRO_BATCH]) == 0 &&
           experts_can_be(e) && (m->experts ? m->experts : 1) % n[SC__NUMBER_EP] == 0;
}

/* The type that a value of its axis sets. */
static enum sc__dtype type_of(const struct sc__search_value *v) {
    return strcmp(v->sets[0].option->name, "fp4") ? SC__FP8 : SC__FP4;
}

/* Ranks of dp × cp that share the weights, as a value sets them; 0: all. */
static uint32_t shard_group_of(const struct sc__search_value *v) {
    uint32_t group = 0;
    for (unsigned i = 0; i < SC__SEARCH_SETS && v->sets[i].option; i++)
        if (!strcmp(v->sets[i].option->name, "shard-group"))
            (void)sc__parse_u32(sc__str(v->sets[i].text), &group); /* a value of ours */
    return group;
}

static bool sets_zero_3(const struct sc__search_value *v) {
    return v->sets[0].option && !strcmp(v->sets[0].option->name, "zero") &&
           !strcmp(v->sets[0].text, "3");
}

/* With a pipeline weights are gathered once a step: 3 is as 2. Groups of shards are not
 * modelled with expert parallelism. */
static bool sharding_can_be(const struct enumeration *e,
                            const struct sc__search_value *v,
                            uint32_t ranks) {
    const uint16_t *n = e->at.number;
    uint32_t group = shard_group_of(v);
    bool grouped = ranks > group && ranks % (group ? group : 1) == 0;
    if (group && (!grouped || n[SC__NUMBER_EP] > 1))
        return false;
    return ranks > 1 && !(n[SC__NUMBER_PP] > 1 && sets_zero_3(v));
}

/* DualPipeV overlaps the dispatch by itself: asked for or not, it is one plan. And it
 * needs two micro-batches a stage. */
static bool dualpipev_can_be(const struct enumeration *e,
                             uint32_t dp,
                             const struct sc__search_value *v) {
    const uint16_t *n = e->at.number;
    uint32_t micro_batches = e->base.global_batch / (dp * n[SC__NUMBER_MICRO_BATCH]);
    if (strcmp(v->label, "dualpipev") != 0)
        return true;
    return !e->at.choice[SC__CHOICE_MOE_OVERLAP] && micro_batches >= 2u * n[SC__NUMBER_PP];
}

/* A value other than the first says something about this plan. */
static bool choice_can_be(const struct enumeration *e, int axis) {
    const uint16_t *n = e->at.number;
    const uint8_t *c = e->at.choice;
    const struct sc__search_axis *a = &e->s->axes[axis];
    uint32_t dp = e->machine->gpus /
                  ((uint32_t)n[SC__NUMBER_TP] * n[SC__NUMBER_PP] * n[SC__NUMBER_CP]);
    if (!c[axis])
        return true;
    switch (axis) {
    case SC__CHOICE_SCHEDULE:
        return n[SC__NUMBER_PP] > 1 && n[SC__NUMBER_VPP] == 1 &&
               dualpipev_can_be(e, dp, &a->values[c[axis]]);
    case SC__CHOICE_SHARDING:
        return sharding_can_be(e, &a->values[c[axis]], dp * n[SC__NUMBER_CP]);
    case SC__CHOICE_SEQUENCE:
        return n[SC__NUMBER_TP] > 1;
    case SC__CHOICE_TP_OVERLAP:
        return n[SC__NUMBER_TP] > 1 && !c[SC__CHOICE_SEQUENCE];
    case SC__CHOICE_MOE_OVERLAP:
    case SC__CHOICE_DISPATCHER:
        return n[SC__NUMBER_EP] > 1;
    case SC__CHOICE_CP_COMM:
        return n[SC__NUMBER_CP] > 1;
    case SC__CHOICE_ORDER:
        return n[SC__NUMBER_PP] > 1 && dp > 1;
    case SC__CHOICE_TYPE:
        return e->gpu->peak[type_of(&a->values[c[axis]])] > 0;
    default:
        return true;
    }
}

static sc_status add_seed(struct enumeration *e) {
    struct sc__search *s = e->s;
    if (s->seed_count == MOST_PLANS)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        "fix --tp, --pp, --vpp or --micro-batch, or --try less",
                        "there are over %d plans to try",
                        MOST_PLANS);
    *SC__PUSH(&s->ctx->arena, s->seeds, s->seed_count, s->seed_room) = e->at;
    return SC_OK;
}

/* What the parts of the model depend on comes first: all seeds that differ in what is
 * behind it are a group. */
enum { IS_CHOICE = 64 };
static const uint8_t axis_order[] = {SC__NUMBER_TP,
                                     SC__NUMBER_PP,
                                     SC__NUMBER_CP,
                                     SC__NUMBER_EP,
                                     SC__NUMBER_ETP,
                                     SC__NUMBER_MICRO_BATCH,
                                     IS_CHOICE + SC__CHOICE_SEQUENCE,
                                     IS_CHOICE + SC__CHOICE_TP_OVERLAP,
                                     IS_CHOICE + SC__CHOICE_MOE_OVERLAP,
                                     IS_CHOICE + SC__CHOICE_CP_COMM,
                                     IS_CHOICE + SC__CHOICE_DISPATCHER,
                                     IS_CHOICE + SC__CHOICE_TYPE,
                                     IS_CHOICE + SC__CHOICE_ORDER,
                                     SC__NUMBER_VPP,
                                     IS_CHOICE + SC__CHOICE_SCHEDULE,
                                     IS_CHOICE + SC__CHOICE_SHARDING};
enum {
    FAMILY_DEPTH = 4,
    SIZES_DEPTH = 6,
    GROUP_DEPTH = 13,
    AXES = sizeof axis_order / sizeof *axis_order
};

static sc_status enumerate(struct enumeration *e, unsigned depth);

static sc_status enumerate_choice(struct enumeration *e, unsigned depth, int axis) {
    for (uint32_t v = 0; v < e->s->axes[axis].count; v++) {
        e->at.choice[axis] = (uint8_t)v;
        if (choice_can_be(e, axis))
            SC__TRY(enumerate(e, depth + 1));
    }
    e->at.choice[axis] = 0;
    return SC_OK;
}

static sc_status enumerate(struct enumeration *e, unsigned depth) {
    struct sc__search *s = e->s;
    struct range r = {.count = 0};
    if (depth == FAMILY_DEPTH) {
        e->at.family = s->family_count;
        *SC__PUSH(&s->ctx->arena, s->families, s->family_count, s->family_room) =
            (struct sc__search_family){SC__NONE};
    }
    if (depth == SIZES_DEPTH && !sizes_can_be(e))
        return SC_OK;
    if (depth == GROUP_DEPTH)
        e->at.group = s->group_count++;
    if (depth == AXES)
        return add_seed(e);
    if (axis_order[depth] >= IS_CHOICE)
        return enumerate_choice(e, depth, axis_order[depth] - IS_CHOICE);
    number_values(e, axis_order[depth], &r);
    for (uint32_t i = 0; i < r.count; i++) {
        if (r.value[i] > UINT16_MAX)
            continue;
        e->at.number[axis_order[depth]] = (uint16_t)r.value[i];
        SC__TRY(enumerate(e, depth + 1));
    }
    return SC_OK;
}

static sc_status set_choice(struct sc_context *ctx,
                            const struct sc__search_value *v,
                            sc_plan *out,
                            const char **order) {
    for (unsigned i = 0; i < SC__SEARCH_SETS && v->sets[i].option; i++) {
        const struct sc__option *o = v->sets[i].option;
        if (o->in == SC__IN_PLAN)
            SC__TRY(sc__option_take(ctx, o, v->sets[i].text, out));
        else
            *order = v->sets[i].text;
    }
    return SC_OK;
}

sc_status sc__space_enumerate(struct sc__search *s, uint32_t machine) {
    struct enumeration e = {.s = s, .machine = &s->machines[machine]};
    e.at.machine = machine;
    const struct sc__plan_surroundings around = {.gpus = e.machine->gpus,
                                                 .gpu = e.machine->description.cluster.gpu};
    sc_plan given = s->given;
    const char *order;
    given.micro_batches = 0; /* how many there are depends on the plan's dp */
    /* --shard-group needs something that is sharded */
    const struct sc__search_value *usual = &s->axes[SC__CHOICE_SHARDING].values[0];
    SC__TRY(set_choice(s->ctx, usual, &given, &order));
    SC__TRY(sc__plan_resolve(s->ctx, &given, s->model, &around, &e.base));
    SC__TRY(sc__gpu_find(s->ctx, sc__search_gpu(&s->given, e.machine), &e.gpu));
    s->seq = e.base.seq;
    return enumerate(&e, 0);
}

static const struct sc__search_value *
value_of(const struct sc__search *s, const struct sc__search_plan *p, int axis) {
    return &s->axes[axis].values[p->choice[axis]];
}

/* Sequence parallel is for tensor parallel ranks. */
static bool choice_counts(const struct sc__search_plan *p, int axis) {
    return axis != SC__CHOICE_SEQUENCE || p->number[SC__NUMBER_TP] > 1;
}

sc_status sc__space_plan(struct sc_context *ctx,
                         const struct sc__search *s,
                         const struct sc__search_plan *p,
                         sc_plan *out,
                         const char **order) {
    *out = s->given;
    *order = s->options.rank_order;
    out->gpus = s->machines[p->machine].gpus;
    for (int i = 0; i < SC__NUMBERS; i++)
        *number_of(out, i) = p->number[i];
    for (int axis = 0; axis < SC__CHOICES; axis++)
        if (choice_counts(p, axis))
            SC__TRY(set_choice(ctx, value_of(s, p, axis), out, order));
    uint32_t chunks = out->pp * out->vpp;
    bool v = sc__schedule_two_ways((enum sc__schedule)out->schedule);
    if (v && !sc__space_number_given(s, SC__NUMBER_VPP)) {
        out->vpp = 0;
        chunks = sc__schedule_parts((enum sc__schedule)out->schedule, out->pp, 2);
    }
    bool cut = s->given.first_stage_layers || s->given.last_stage_layers ||
               s->given.count_embedding == SC_ON || s->given.count_loss == SC_ON;
    if (out->uneven_stages == SC_AUTO && !cut && s->model->layers % chunks)
        out->uneven_stages = SC_ON;
    return SC_OK;
}

void sc__space_settings(struct sc_context *ctx,
                        const struct sc__search *s,
                        const struct sc__search_plan *p,
                        void (*put)(void *self, const char *name, const char *text),
                        void *self) {
    sc_plan plan;
    const char *order;
    if (sc__space_plan(ctx, s, p, &plan, &order) != SC_OK)
        return;
    for (int i = 0; i < SC__NUMBERS; i++) {
        uint32_t n = *number_of(&plan, i);
        bool says = i == SC__NUMBER_ETP ? n > 0 : n > 1;
        if (says && !sc__space_number_given(s, i))
            put(self, numbers[i].name, sc__format(&ctx->arena, "%u", n));
    }
    for (int axis = 0; axis < SC__CHOICES; axis++) {
        const struct sc__search_value *v = value_of(s, p, axis);
        for (unsigned i = 0; i < SC__SEARCH_SETS && v->sets[i].option; i++)
            if (choice_counts(p, axis))
                put(self, v->sets[i].option->name, v->sets[i].text);
    }
    if (plan.uneven_stages != s->given.uneven_stages)
        put(self, "uneven-stages", "");
}
