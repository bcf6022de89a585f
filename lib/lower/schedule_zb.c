/* schedule_zb: main sequences, and weight gradients in their gaps.
 *
 * Forwards and input gradients of a stage have a fixed order:
 *
 *   line   n forwards, then input gradient and forward in turn. n is p − s as
 *          in 1F1B, 2(p − s) − 1 as in ZB-H2, or what fits in before the first
 *          input gradient comes back, with the times at hand
 *   V      2(p − s) − 1 forwards of chunk 0; s times a forward of each chunk;
 *          p − s times forward and input gradient of chunk 1; then in turn
 *          forward and input gradient of chunk 0 and of chunk 1
 *
 * The pipeline is then played in time. Nobody waits for a weight gradient: it
 * runs where its stage would wait, or to give back memory for the next forward,
 * or at the end. Where the gap is shorter than it, it depends: beginning holds
 * up the next operation, waiting wastes the gap. So several shares of a gap
 * are tried, with every depth, and the best order wins (the paper searches the
 * same way). Two that are tried are 1F1B with each weight gradient right after
 * its input gradient, and ZB-H1, so that the result is never slower.
 *
 * What is made small is the period, the longest time from the first operation
 * of one stage to its last, or to the end of the reductions of its gradients,
 * which run beside it from the last weight gradient of a chunk on. Without a
 * synchronisation of all stages at the end of the step, a stage begins the next
 * step when it has ended this one, and the steps follow each other at that
 * distance.
 *
 * No deadlock: with depths that do not grow from stage to stage a forward that
 * is next has been sent, or is next, one part before it, an input gradient one
 * part after it; and before a forward there are fewer activations than the
 * limit once the weight gradients due are done. */
#include "lower/schedule_zb.h"

#include <string.h>

enum depth { DEPTH_1F1B, DEPTH_H2, DEPTH_FITS, DEPTH_FITS_MORE };

#define AT_ONCE (-1.0) /* right after its input gradient */
#define PUT_OFF (-2.0) /* s micro-batches later on stage s, as in ZB-H1 */

struct rule {
    enum depth depth; /* line */
    double gap; /* a weight gradient begins in a gap of at least this share of it, or as
                   above */
};

static const struct rule line_rules[] = {
    {DEPTH_1F1B, AT_ONCE},
    {DEPTH_1F1B, PUT_OFF},
    {DEPTH_H2, 0.5},
    {DEPTH_FITS, 0.5},
    {DEPTH_FITS_MORE, 0.5},
    {DEPTH_H2, 0},
    {DEPTH_H2, 1},
    {DEPTH_FITS, 0},
    {DEPTH_FITS, 1},
    {DEPTH_FITS_MORE, 0},
    {DEPTH_FITS_MORE, 1},
    {DEPTH_1F1B, 0},
    {DEPTH_1F1B, 0.5},
    {DEPTH_1F1B, 1},
};
static const struct rule v_rules[] = {
    {.gap = 0.5}, {.gap = 0}, {.gap = 1}, {.gap = AT_ONCE}};

/* Orders are tried on this many micro-batches per stage: what follows repeats. */
enum { TRIED_PER_STAGE = 8, MANY_PASSES = 1 << 17, FEW_RULES = 5 };
/* The rule that wins most often is played first, so that the others end early. */
enum { LIKELY_LINE_RULE = 4, LIKELY_V_RULE = 0 };

enum { UNIT = 4096 }; /* of one chunk activation */

struct chunk_state {
    /* micro-batches done */
    uint32_t f;
    uint32_t b;
    uint32_t w;
    /* when the input arrives, by micro-batch; INT64_MAX: not known yet */
    int64_t *f_ready;
    int64_t *b_ready;
};

struct stage_state {
    struct chunk_state chunk[2];
    struct sc__slot *main; /* forwards and input gradients in order */
    uint32_t main_count;
    uint32_t next;
    struct sc__slot *slots;
    struct sc__slot *best; /* slots of the best rule so far */
    uint32_t count;
    int64_t begin;
    int64_t end;
    int64_t least;   /* from its begin to its end: its work and what it has waited */
    int64_t reduced; /* the gradients handed to data parallelism so far */
    int64_t held;    /* activations, in UNIT */
};

/* When stages look up, in order: what is pushed is mostly among the last, so its place is
 * looked for from the end. Of equal times the first that was pushed comes first. */
struct look {
    int64_t time;
    uint32_t stage;
};

struct looks {
    struct sc__arena *arena;
    struct look *items;
    uint32_t first;
    uint32_t end;
    uint32_t capacity;
};

struct player {
    const struct sc__zb *z;
    const struct rule *rule;
    uint32_t micro_batches;
    /* in UNIT */
    int64_t limit;
    int64_t kept;
    struct stage_state *stages;
    struct looks looks;
    int64_t most;  /* a period above it is not asked for */
    bool too_long; /* the period is */
};

static bool is_v(const struct player *p) {
    return p->z->chunks == 2;
}

static const struct sc__zb_times *
times_of(const struct player *p, uint32_t stage, uint32_t chunk) {
    return &p->z->times[stage * p->z->chunks + chunk];
}

static int64_t later(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* ---- main sequences ---- */

static void
schedule_zb_put(struct player *p, struct stage_state *s, char kind, uint32_t chunk) {
    uint32_t *done = kind == 'F' ? &s->chunk[chunk].f : &s->chunk[chunk].b;
    if (*done == p->micro_batches)
        return;
    s->main[s->main_count++] =
        (struct sc__slot){.kind = (uint8_t)kind, .micro_batch = (*done)++, .chunk = chunk};
}

/* How many forwards fit in before the first input gradient comes back, if
 * nothing waits: the paper's warm-up. */
static uint32_t fitting(const struct player *p, uint32_t stage, bool more) {
    const struct sc__zb *z = p->z;
    int64_t back = 0;
    int64_t each = times_of(p, stage, 0)->f;
    for (uint32_t s = stage; s < z->pp; s++) {
        const struct sc__zb_times *t = times_of(p, s, 0);
        back += t->f + (s > stage ? t->b + 2 * z->message[s - 1] : 0);
    }
    if (each <= 0)
        return z->limit;
    int64_t n = (back + (more ? each - 1 : 0)) / each;
    return n < 1 ? 1 : n < z->limit ? (uint32_t)n : z->limit;
}

static uint32_t depth_of(const struct player *p, uint32_t stage) {
    uint32_t after = p->z->pp - stage;
    switch (p->rule->depth) {
    case DEPTH_1F1B:
        return after;
    case DEPTH_H2:
        return 2 * after - 1;
    case DEPTH_FITS:
    case DEPTH_FITS_MORE:
        break;
    }
    return fitting(p, stage, p->rule->depth == DEPTH_FITS_MORE);
}

static void line_sequence(struct player *p, uint32_t stage, uint32_t depth) {
    struct stage_state *s = &p->stages[stage];
    for (uint32_t i = 0; i < depth; i++)
        schedule_zb_put(p, s, 'F', 0);
    for (uint32_t i = 0; i < p->micro_batches; i++) {
        schedule_zb_put(p, s, 'B', 0);
        schedule_zb_put(p, s, 'F', 0);
    }
}

static void v_sequence(struct player *p, uint32_t stage) {
    struct stage_state *s = &p->stages[stage];
    uint32_t after = p->z->pp - stage;
    for (uint32_t i = 0; i < 2 * after - 1; i++)
        schedule_zb_put(p, s, 'F', 0);
    for (uint32_t i = 0; i < stage; i++) {
        schedule_zb_put(p, s, 'F', 1);
        schedule_zb_put(p, s, 'F', 0);
    }
    for (uint32_t i = 0; i < after; i++) {
        schedule_zb_put(p, s, 'F', 1);
        schedule_zb_put(p, s, 'B', 1);
    }
    while (s->main_count < 4 * p->micro_batches) {
        schedule_zb_put(p, s, 'F', 0);
        schedule_zb_put(p, s, 'B', 0);
        schedule_zb_put(p, s, 'F', 1);
        schedule_zb_put(p, s, 'B', 1);
    }
}

static void make_sequences(struct player *p) {
    uint32_t depth = 1;
    for (uint32_t s = p->z->pp; s-- > 0;) {
        uint32_t want = depth_of(p, s);
        if (want > depth)
            depth = want;
        if (is_v(p))
            v_sequence(p, s);
        else
            line_sequence(p, s, depth);
        for (uint32_t c = 0; c < p->z->chunks; c++)
            p->stages[s].chunk[c].f = p->stages[s].chunk[c].b = 0;
    }
}

/* ---- the game ---- */

static void make_room(struct looks *l) {
    if (l->first) {
        memmove(l->items, l->items + l->first, (l->end - l->first) * sizeof *l->items);
        l->end -= l->first;
        l->first = 0;
    } else {
        (void)SC__PUSH(l->arena, l->items, l->end, l->capacity);
        l->end--;
    }
}

static void look_up(struct looks *l, int64_t time, uint32_t stage) {
    if (l->end == l->capacity)
        make_room(l);
    uint32_t i = l->end++;
    for (; i > l->first && l->items[i - 1].time > time; i--)
        l->items[i] = l->items[i - 1];
    l->items[i] = (struct look){time, stage};
}

/* An input arrives: the stage looks up then, or when it is free. */
static void arrive(struct player *p, uint32_t stage, int64_t *ready, int64_t time) {
    *ready = time;
    if (time >= p->stages[stage].end)
        look_up(&p->looks, time, stage);
}

/* From one end of the parts to the other: chunk 0 goes down the stages, chunk
 * 1 of the V comes up again. False: there is no part after (before) this. */
static bool part_after(const struct player *p, uint32_t *stage, uint32_t *chunk) {
    if (*chunk == 1)
        return *stage ? (--*stage, true) : false;
    if (*stage + 1 < p->z->pp) {
        ++*stage;
        return true;
    }
    *chunk = 1;
    return is_v(p);
}

static bool part_before(const struct player *p, uint32_t *stage, uint32_t *chunk) {
    if (*chunk == 0)
        return *stage ? (--*stage, true) : false;
    if (*stage + 1 < p->z->pp) {
        ++*stage;
        return true;
    }
    *chunk = 0;
    return true;
}

static void
hand_on(struct player *p, uint32_t stage, const struct sc__slot *x, int64_t end) {
    uint32_t to = stage;
    uint32_t chunk = x->chunk;
    uint32_t m = x->micro_batch;
    if (x->kind == 'F' && !part_after(p, &to, &chunk)) {
        arrive(p, stage, &p->stages[stage].chunk[x->chunk].b_ready[m], end);
        return;
    }
    if (x->kind == 'B' && !part_before(p, &to, &chunk))
        return;
    struct chunk_state *c = &p->stages[to].chunk[chunk];
    int64_t message = to == stage ? 0 : p->z->message[to < stage ? to : stage];
    arrive(p, to, x->kind == 'F' ? &c->f_ready[m] : &c->b_ready[m], end + message);
}

static void
schedule_zb_run(struct player *p, uint32_t stage, struct sc__slot x, int64_t now) {
    struct stage_state *s = &p->stages[stage];
    struct chunk_state *c = &s->chunk[x.chunk];
    const struct sc__zb_times *t = times_of(p, stage, x.chunk);
    if (s->count)
        s->least += now - s->end;
    else
        s->begin = now;
    p->too_long |= s->least > p->most;
    s->slots[s->count++] = x;
    s->end = now + (x.kind == 'F' ? t->f : x.kind == 'B' ? t->b : t->w);
    s->held += x.kind == 'F' ? UNIT : x.kind == 'B' ? p->kept - UNIT : -p->kept;
    ++*(x.kind == 'F' ? &c->f : x.kind == 'B' ? &c->b : &c->w);
    look_up(&p->looks, s->end, stage);
    if (x.kind != 'W')
        hand_on(p, stage, &x, s->end);
    else if (c->w == p->micro_batches)
        s->reduced = later(s->reduced + t->reduce, s->end + t->reduce_late);
}

/* The weight gradient that is due first. */
static bool
due_weight(const struct player *p, const struct stage_state *s, struct sc__slot *x) {
    bool found = false;
    for (uint32_t c = p->z->chunks; c-- > 0;) {
        const struct chunk_state *k = &s->chunk[c];
        if (k->w == k->b || (found && x->micro_batch <= k->w))
            continue;
        *x = (struct sc__slot){.kind = 'W', .micro_batch = k->w, .chunk = c};
        found = true;
    }
    return found;
}

/* Of what is next in the main sequence; INT64_MAX: not known yet. */
static int64_t arrival(const struct stage_state *s) {
    const struct sc__slot *x = &s->main[s->next];
    const struct chunk_state *c = &s->chunk[x->chunk];
    return x->kind == 'F' ? c->f_ready[x->micro_batch] : c->b_ready[x->micro_batch];
}

/* In ZB-H1 one follows each input gradient, once more wait than the stage's
 * number, or the last forwards have been left behind. */
static bool put_off_is_over(const struct player *p, uint32_t stage) {
    const struct stage_state *s = &p->stages[stage];
    const struct chunk_state *c = &s->chunk[0];
    return s->slots[s->count - 1].kind == 'B' &&
           (c->b - c->w > stage || c->b + p->z->pp - stage - 1 > p->micro_batches);
}

static bool weight_goes_first(const struct player *p,
                              uint32_t stage,
                              const struct sc__slot *w,
                              int64_t now) {
    const struct stage_state *s = &p->stages[stage];
    if (s->next == s->main_count || p->rule->gap == AT_ONCE || s->held > p->limit)
        return true;
    if (s->main[s->next].kind == 'F' && s->held + UNIT > p->limit)
        return true;
    if (p->rule->gap == PUT_OFF)
        return put_off_is_over(p, stage);
    int64_t next = arrival(s);
    if (next == INT64_MAX)
        return true;
    return next > now &&
           (double)(next - now) >= p->rule->gap * (double)times_of(p, stage, w->chunk)->w;
}

static void decide(struct player *p, uint32_t stage, int64_t now) {
    struct stage_state *s = &p->stages[stage];
    struct sc__slot w;
    if (due_weight(p, s, &w) && weight_goes_first(p, stage, &w, now))
        schedule_zb_run(p, stage, w, now);
    else if (s->next < s->main_count && arrival(s) <= now)
        schedule_zb_run(p, stage, s->main[s->next++], now);
}

static void reset(struct player *p) {
    p->too_long = false;
    for (uint32_t i = 0; i < p->z->pp; i++) {
        struct stage_state *s = &p->stages[i];
        s->main_count = s->next = s->count = 0;
        s->begin = s->end = s->least = s->reduced = s->held = 0;
        for (uint32_t c = 0; c < p->z->chunks; c++) {
            struct chunk_state *k = &s->chunk[c];
            const struct sc__zb_times *t = times_of(p, i, c);
            s->least += p->micro_batches * (t->f + t->b + t->w);
            k->f = k->b = k->w = 0;
            for (uint32_t m = 0; m < p->micro_batches; m++) {
                k->f_ready[m] = i || c ? INT64_MAX : 0;
                k->b_ready[m] = INT64_MAX;
            }
        }
    }
    make_sequences(p);
    p->looks.first = p->looks.end = 0;
    look_up(&p->looks, 0, 0);
}

/* Plays the pipeline under a rule and gives its period; INT64_MAX: above `most`. */
static int64_t
play(struct player *p, const struct rule *rule, uint32_t micro_batches, int64_t most) {
    int64_t period = 0;
    p->rule = rule;
    p->micro_batches = micro_batches;
    p->most = most;
    reset(p);
    while (p->looks.first < p->looks.end && !p->too_long) {
        struct look next = p->looks.items[p->looks.first++];
        if (next.time >= p->stages[next.stage].end)
            decide(p, next.stage, next.time);
    }
    if (p->too_long)
        return INT64_MAX;
    for (uint32_t i = 0; i < p->z->pp; i++) {
        const struct stage_state *s = &p->stages[i];
        int64_t end = later(s->reduced, s->end);
        if (end - s->begin > period)
            period = end - s->begin;
    }
    return period;
}

static void make_player(struct player *p, struct sc__arena *a, const struct sc__zb *z) {
    size_t n = (size_t)z->chunks * z->micro_batches;
    *p = (struct player){.z = z,
                         .limit = (int64_t)z->limit * UNIT,
                         .kept = (int64_t)(z->kept * UNIT + 0.5)};
    p->stages = SC__NEW_ARRAY(a, struct stage_state, z->pp);
    p->looks.arena = a;
    for (uint32_t s = 0; s < z->pp; s++) {
        p->stages[s].main = SC__NEW_ARRAY(a, struct sc__slot, 2 * n);
        p->stages[s].slots = SC__NEW_ARRAY(a, struct sc__slot, 3 * n);
        p->stages[s].best = SC__NEW_ARRAY(a, struct sc__slot, 3 * n);
        for (uint32_t c = 0; c < z->chunks; c++) {
            p->stages[s].chunk[c].f_ready = SC__NEW_ARRAY(a, int64_t, z->micro_batches);
            p->stages[s].chunk[c].b_ready = SC__NEW_ARRAY(a, int64_t, z->micro_batches);
        }
    }
}

static void keep_slots(struct player *p) {
    for (uint32_t i = 0; i < p->z->pp; i++) {
        struct sc__slot *kept = p->stages[i].slots;
        p->stages[i].slots = p->stages[i].best;
        p->stages[i].best = kept;
    }
}

static uint32_t tried_micro_batches(const struct sc__zb *z) {
    uint32_t enough = TRIED_PER_STAGE * z->pp;
    return z->micro_batches < enough ? z->micro_batches : enough;
}

/* The shortest period, of equal ones the first rule; its slots are kept. */
static const struct rule *best_rule(struct player *p, int64_t *period) {
    const struct sc__zb *z = p->z;
    uint32_t m = tried_micro_batches(z);
    bool many = (uint64_t)m * z->pp * z->chunks > MANY_PASSES;
    const struct rule *rules = is_v(p) ? v_rules : line_rules;
    uint32_t count =
        is_v(p) ? sizeof v_rules / sizeof *v_rules : sizeof line_rules / sizeof *line_rules;
    uint32_t likely = is_v(p) ? LIKELY_V_RULE : LIKELY_LINE_RULE;
    uint32_t best = likely;
    if (many && count > FEW_RULES)
        count = FEW_RULES;
    *period = play(p, &rules[likely], m, INT64_MAX - 1);
    keep_slots(p);
    for (uint32_t i = 0; i < count; i++) {
        if (i == likely)
            continue;
        int64_t found = play(p, &rules[i], m, *period - (i > best));
        if (found > *period || (found == *period && i > best))
            continue;
        *period = found;
        best = i;
        keep_slots(p);
    }
    return &rules[best];
}

void sc__schedule_zb(struct sc__arena *a,
                     const struct sc__zb *z,
                     struct sc__zb_order *out) {
    struct player p;
    make_player(&p, a, z);
    const struct rule *rule = best_rule(&p, &out->period);
    if (tried_micro_batches(z) < z->micro_batches) {
        out->period = play(&p, rule, z->micro_batches, INT64_MAX - 1);
        keep_slots(&p);
    }
    out->slots = SC__NEW_ARRAY(a, struct sc__slot *, z->pp);
    for (uint32_t s = 0; s < z->pp; s++)
        out->slots[s] = p.stages[s].best;
}
