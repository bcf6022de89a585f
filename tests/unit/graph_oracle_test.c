/* The executor of graph blocks against a slow simulator of the same rules
 * (workload/workload.h, the head of graph.c), on random graphs: every
 * operation is asked at every moment what it waits for. */
#include "random_graph.h"

/* ---- the slow simulator: who meets whom ---- */

static bool like(const struct one *a, const struct one *b) {
    if (a->op->kind != b->op->kind || a->rank != b->rank)
        return false;
    if (a->op->kind == SC__OP_COLLECTIVE)
        return a->op->group == b->op->group;
    return a->op->peer == b->op->peer && a->op->tag == b->op->tag;
}

/* How many of its like its rank has before it. */
static uint32_t nth(const struct slow *s, uint32_t i) {
    uint32_t n = 0;
    for (uint32_t k = s->first[s->one[i].rank]; k < i; k++)
        n += like(&s->one[k], &s->one[i]);
    return n;
}

static uint32_t find_receive(const struct slow *s, uint32_t send) {
    const struct one *o = &s->one[send];
    for (uint32_t k = s->first[o->op->peer]; k < s->first[o->op->peer + 1]; k++)
        if (s->one[k].op->kind == SC__OP_RECV && s->one[k].op->peer == o->rank &&
            s->one[k].op->tag == o->op->tag && nth(s, k) == nth(s, send))
            return k;
    return SC__NONE;
}

static uint32_t find_meeting(struct slow *s, uint32_t i) {
    uint32_t number = nth(s, i) * GROUPS + s->one[i].op->group;
    s->meeting[number].group = s->one[i].op->group;
    if (number >= s->meetings)
        s->meetings = number + 1;
    return number;
}

static void set_up(struct slow *s, const struct plan *p) {
    const struct sc__workload *w = s->w = p->w;
    s->slots = p->slots;
    for (uint32_t r = 0; r < p->ranks; r++) {
        const struct sc__block *b = &w->blocks[r];
        s->first[r] = s->count;
        for (uint32_t i = 0; i < b->ops; i++)
            s->one[s->count++] =
                (struct one){.op = &w->ops[b->first_op + i], .rank = r, .match = SC__NONE};
    }
    s->first[p->ranks] = s->count;
    for (uint32_t i = 0; i < s->count;
         i++) { /* rank 0 may take from anyone: then only the run can tell */
        struct one *o = &s->one[i];
        if (o->op->kind == SC__OP_RECV && o->op->flags & (SC__OP_ANY_PEER | SC__OP_ANY_TAG))
            s->any = true;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        struct one *o = &s->one[i];
        if (o->op->kind == SC__OP_COLLECTIVE)
            o->match = find_meeting(s, i);
        if (o->op->kind != SC__OP_SEND || (s->any && o->op->peer == 0))
            continue;
        o->match = find_receive(s, i);
        s->one[o->match].match = i;
    }
}

/* ---- … what an operation does ---- */

static void end_after(struct slow *s, struct one *o) {
    if (o->op->cost > 0 && !(o->op->flags & SC__OP_MEASURED)) {
        o->after = true;
        o->until = s->now + o->op->cost;
        return;
    }
    o->done = true;
    o->end = s->now;
}

static void begin(struct slow *s, struct one *o) {
    o->begun = true;
    o->start = o->met = s->now;
}

static void received(struct slow *s, struct one *o) {
    o->flies = false;
    o->arrived = true;
    if (s->loads) {
        o->queued = true;
        o->ready = s->now;
    } else
        end_after(s, o);
}

/* Its send ends when the answer is there, not when the processor is done. */
static bool asks(const struct slow *s, const struct one *o) {
    struct sc_overhead v;
    charge(NULL, o->op->bytes, &v);
    return s->loads && v.rendezvous;
}

static void fly(struct slow *s, uint32_t send) {
    struct one *o = &s->one[send];
    struct sc_transfer t = {.coll = SC__COLLS,
                            .class = o->rank,
                            .peer_class = o->op->peer,
                            .bytes = o->op->bytes,
                            .user = send};
    o->held = false;
    o->flies = true;
    o->met = s->now;
    if (asks(s, o)) {
        struct sc_overhead v;
        charge(NULL, o->op->bytes, &v);
        o->after = true;
        o->until = s->now + v.asking;
    }
    if (o->match != SC__NONE)
        s->one[o->match].flies = true;
    if (o->match != SC__NONE && s->one[o->match].posted)
        s->one[o->match].met = s->now;
    o->lands = o->op->flags & SC__OP_MEASURED ? s->now + o->op->cost : -1;
    if (o->lands < 0)
        oracle_start(&s->net, &t, s->now);
}

static void send(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    bool waits = !(o->op->flags & SC__OP_EAGER) || asks(s, o);
    if (waits && o->match != SC__NONE && !s->one[o->match].posted)
        o->held = true;
    else
        fly(s, i);
}

static bool fits(const struct one *recv, const struct one *sent) {
    return ((recv->op->flags & SC__OP_ANY_PEER) || recv->op->peer == sent->rank) &&
           ((recv->op->flags & SC__OP_ANY_TAG) || recv->op->tag == sent->op->tag);
}

static void forget(uint32_t *list, uint32_t *count, uint32_t i) {
    memmove(list + i, list + i + 1, (--*count - i) * sizeof *list);
}

static void note_any(struct slow *s) {
    s->tie |= s->last_any == s->now + 1;
    s->last_any = s->now + 1;
}

static void post(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    begin(s, o);
    o->posted = true;
    if (o->match == SC__NONE) {
        note_any(s);
        for (uint32_t k = 0; k < s->landed_count; k++)
            if (fits(o, &s->one[s->landed[k]])) {
                forget(s->landed, &s->landed_count, k);
                received(s, o);
                return;
            }
        s->posts[s->post_count++] = i;
    } else if (o->arrived) {
        received(s, o);
    } else if (s->one[o->match].held)
        fly(s, o->match);
}

static void land(struct slow *s, uint32_t send_op) {
    struct one *o = &s->one[send_op];
    o->flies = false;
    if (!s->loads && s->slots)
        s->lane[o->rank][o->op->stream] = false;
    if (!s->loads)
        end_after(s, o);
    if (o->match == SC__NONE) {
        note_any(s);
        for (uint32_t k = 0; k < s->post_count; k++)
            if (fits(&s->one[s->posts[k]], o)) {
                struct one *recv = &s->one[s->posts[k]];
                forget(s->posts, &s->post_count, k);
                received(s, recv);
                return;
            }
        s->landed[s->landed_count++] = send_op;
        return;
    }
    s->one[o->match].arrived = true;
    s->one[o->match].flies = false;
    if (s->one[o->match].posted)
        received(s, &s->one[o->match]);
}

/* The groups are lines: a complete meeting flies when the one before is over. */
static void start_meetings(struct slow *s) {
    for (uint32_t k = 0; k < s->line_count; k++) {
        struct meeting *m = &s->meeting[s->line[k]];
        bool free = !m->flies && !m->over;
        for (uint32_t j = 0; j < k; j++)
            if (s->meeting[s->line[j]].group == m->group && !s->meeting[s->line[j]].over)
                free = false;
        if (!free)
            continue;
        const struct sc__op *op = NULL;
        m->flies = true;
        for (uint32_t i = 0; i < s->count; i++)
            if (s->one[i].op->kind == SC__OP_COLLECTIVE && s->one[i].match == s->line[k]) {
                op = s->one[i].op;
                s->one[i].here = false;
                s->one[i].flies = true;
                s->one[i].met = s->now;
            }
        struct sc_transfer t = {.coll = op->coll,
                                .group = op->group,
                                .bytes = op->bytes,
                                .user = (uint64_t)OPS + s->line[k]};
        m->until = op->flags & SC__OP_MEASURED ? s->now + op->cost : -1;
        if (m->until < 0)
            oracle_start(&s->net, &t, s->now);
    }
}

static void arrive(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    struct meeting *m = &s->meeting[o->match];
    o->here = true;
    if (++m->came == s->w->groups[m->group].count) {
        for (uint32_t k = 0; k < s->line_count; k++)
            s->tie |= s->meeting[s->line[k]].group == m->group &&
                      s->meeting[s->line[k]].line_up == s->now;
        m->line_up = s->now;
        s->line[s->line_count++] = o->match;
    }
    start_meetings(s);
}

static void part(struct slow *s, uint32_t number) {
    s->meeting[number].over = true;
    for (uint32_t i = 0; i < s->count; i++) {
        struct one *o = &s->one[i];
        if (o->op->kind != SC__OP_COLLECTIVE || o->match != number)
            continue;
        o->flies = false;
        if (s->slots)
            s->lane[o->rank][o->op->stream] = false;
        end_after(s, o);
    }
    start_meetings(s);
}

static void become_ready(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    bool lane = o->op->kind == SC__OP_COMPUTE ||
                (o->op->kind == SC__OP_SEND && (s->loads || s->slots)) ||
                (o->op->kind == SC__OP_COLLECTIVE && s->slots);
    o->ready = s->now;
    if (lane) {
        o->queued = true;
        return;
    }
    if (o->op->kind == SC__OP_RECV) {
        post(s, i);
        return;
    }
    begin(s, o);
    if (o->op->kind == SC__OP_WAIT) {
        o->done = true;
        o->end = s->now;
    } else if (o->op->kind == SC__OP_SEND)
        send(s, i);
    else
        arrive(s, i);
}

static void take_lane(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    struct sc_overhead v;
    charge(NULL, o->op->bytes, &v);
    o->queued = false;
    s->lane[o->rank][o->op->stream] = true;
    if (o->op->kind != SC__OP_RECV)
        begin(s, o);
    if (o->op->kind == SC__OP_COLLECTIVE)
        arrive(s, i);
    else if (o->op->kind == SC__OP_SEND && !s->loads)
        send(s, i);
    else {
        o->runs = true;
        o->until = s->now + (o->op->kind == SC__OP_COMPUTE ? o->op->cost
                             : o->op->kind == SC__OP_SEND  ? v.send
                                                           : v.recv);
    }
}

/* ---- … the clock ---- */

static bool waits(const struct slow *s, uint32_t i) {
    const struct one *o = &s->one[i];
    for (uint32_t d = 0; d < o->op->deps; d++) {
        uint32_t dep = s->w->deps[o->op->first_dep + d];
        const struct one *before = &s->one[s->first[o->rank] + (dep & ~SC__DEP_START)];
        if (dep & SC__DEP_START ? !before->begun : !before->done)
            return true;
    }
    return false;
}

static bool sooner(const struct slow *s, const struct one *a, const struct one *b) {
    return !s->slots && a->ready != b->ready ? a->ready < b->ready : a < b;
}

static bool begin_lanes(struct slow *s) {
    uint32_t chosen[RANKS * STREAMS];
    uint32_t n = 0;
    for (uint32_t r = 0; r < s->w->class_count; r++)
        for (uint32_t t = 0; t < STREAMS; t++) {
            uint32_t best = SC__NONE;
            for (uint32_t i = s->first[r]; i < s->first[r + 1] && !s->lane[r][t]; i++)
                if (s->one[i].queued && s->one[i].op->stream == t &&
                    (best == SC__NONE || sooner(s, &s->one[i], &s->one[best])))
                    best = i;
            if (best != SC__NONE)
                chosen[n++] = best;
        }
    for (uint32_t k = 0; k < n; k++)
        take_lane(s, chosen[k]);
    return n > 0;
}

static void begin_all(struct slow *s) {
    do {
        for (bool again = true; again;) {
            again = false;
            for (uint32_t i = 0; i < s->count; i++) {
                struct one *o = &s->one[i];
                if (o->begun || o->queued || waits(s, i))
                    continue;
                become_ready(s, i);
                again = true;
            }
        }
    } while (begin_lanes(s));
}

static int64_t next_time(struct slow *s) {
    int64_t next;
    oracle_next(&s->net, &next);
    for (uint32_t i = 0; i < s->count; i++)
        if ((s->one[i].runs || s->one[i].after) && s->one[i].until < next)
            next = s->one[i].until;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->one[i].op->kind == SC__OP_SEND && s->one[i].flies && s->one[i].lands >= 0 &&
            s->one[i].lands < next)
            next = s->one[i].lands;
    for (uint32_t k = 0; k < s->meetings; k++)
        if (s->meeting[k].flies && !s->meeting[k].over && s->meeting[k].until >= 0 &&
            s->meeting[k].until < next)
            next = s->meeting[k].until;
    return next;
}

static void end_run(struct slow *s, uint32_t i) {
    struct one *o = &s->one[i];
    o->runs = o->after = false;
    o->done = true;
    o->end = s->now;
}

static void end_all(struct slow *s) {
    struct sc_transfer t;
    bool found;
    while (oracle_finish(&s->net, s->now, &t, &found), found)
        if (t.user >= OPS)
            part(s, (uint32_t)t.user - OPS);
        else
            land(s, (uint32_t)t.user);
    for (uint32_t i = 0; i < s->count; i++)
        if (s->one[i].op->kind == SC__OP_SEND && s->one[i].flies &&
            s->one[i].lands == s->now)
            land(s, i);
    for (uint32_t k = 0; k < s->meetings; k++)
        if (s->meeting[k].flies && !s->meeting[k].over && s->meeting[k].until == s->now)
            part(s, k);
    for (uint32_t i = 0; i < s->count; i++) {
        struct one *o = &s->one[i];
        if (!(o->runs || o->after) || o->until != s->now)
            continue;
        bool sent = o->runs && o->op->kind == SC__OP_SEND;
        if (o->runs)
            s->lane[o->rank][o->op->stream] = false;
        o->runs = false;
        if (!sent || !asks(s, o))
            end_run(s, i);
        if (sent)
            send(s, i);
    }
}

/* What the time of a rank counts as (docs/model/executor.md): what its lowest
 * stream computes, of the GPU before the host; else the group of a transfer that runs; else
 * what it waits for: peers of a collective, the other end of a message; when all has ended,
 * the other ranks. */
static int64_t *part_of_computing(struct slow *s, uint32_t rank) {
    struct sc__account *a = &s->rank[rank].account;
    const struct sc__op *first = NULL;
    for (uint32_t i = s->first[rank]; i < s->first[rank + 1]; i++) {
        const struct one *o = &s->one[i];
        if (!o->runs || o->op->kind != SC__OP_COMPUTE)
            continue;
        bool host = o->op->work == SC__WORK_HOST;
        bool behind = first && first->work == SC__WORK_HOST;
        if (!first || host < behind || (host == behind && o->op->stream < first->stream))
            first = o->op;
    }
    if (!first)
        return NULL;
    return first->work == SC__WORK_HOST    ? &a->other
           : first->phase == SC__RECOMPUTE ? &a->recompute
                                           : &a->compute;
}

static bool moves(const struct slow *s, const struct one *o) {
    bool message = o->op->kind == SC__OP_SEND || o->op->kind == SC__OP_RECV;
    if (o->after) /* a local update is part of its transfer */
        return true;
    if (message && s->loads)
        return o->runs || (o->op->kind == SC__OP_RECV && o->flies && o->posted);
    return o->flies && (o->op->kind != SC__OP_RECV || o->posted);
}

static void account(struct slow *s, int64_t passed) {
    for (uint32_t r = 0; r < s->w->class_count; r++) {
        struct sc__account *a = &s->rank[r].account;
        bool moving = false, meets = false, waiting = false, all = true;
        bool busy[GROUPS + 1] = {0};
        for (uint32_t i = s->first[r]; i < s->first[r + 1]; i++) {
            const struct one *o = &s->one[i];
            bool message = o->op->kind == SC__OP_SEND || o->op->kind == SC__OP_RECV;
            all &= o->done;
            moving |= moves(s, o);
            busy[message ? GROUPS : o->op->group] |= moves(s, o);
            meets |= o->here;
            waiting |=
                (o->held && (!s->loads || asks(s, o))) ||
                (o->op->kind == SC__OP_RECV && o->posted && !o->flies && !o->arrived);
        }
        for (uint32_t g = 0; g <= GROUPS; g++)
            s->busy[r][g] += busy[g] ? passed : 0;
        int64_t *part = part_of_computing(s, r);
        if (!part)
            part = moving         ? &s->exposed[r]
                   : meets || all ? &a->skew /* groups do not span stages here */
                   : waiting      ? &a->bubble
                                  : &a->other;
        *part += passed;
    }
}

static bool run_slow(struct slow *s) {
    for (;;) {
        begin_all(s);
        int64_t next = next_time(s);
        if (next == INT64_MAX)
            break;
        account(s, next - s->now);
        s->now = next;
        end_all(s);
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (!s->one[i].done)
            return false;
    return true;
}

/* ---- the comparison ---- */

struct setting {
    const char *how;
    bool shared;
    bool loads;
};

static void same(const char *how,
                 uint64_t seed,
                 const char *what,
                 uint32_t rank,
                 int64_t got,
                 int64_t want) {
    if (got != want)
        fail_msg("case %llu (%s): %s of rank %u is %lld, expected %lld",
                 (unsigned long long)seed,
                 how,
                 what,
                 rank,
                 (long long)got,
                 (long long)want);
}

static void same_spans(const char *how,
                       uint64_t seed,
                       const struct slow *s,
                       const struct sc__timeline *t) {
    assert_int_equal(t->count, s->count);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct sc__span *span = &t->spans[i];
        const struct one *o = s->one;
        while (o->op != &s->w->ops[span->op])
            o++;
        same(how, seed, "start of a span", o->rank, span->start, o->start);
        same(how, seed, "end of a span", o->rank, span->end, o->end);
    }
}

static bool compare(const struct plan *p, const struct setting *x, uint64_t seed) {
    struct slow *s = SC__NEW(&ctx->arena, struct slow);
    struct sc__sim sim;
    struct sc__sim_options options = {.keep_timeline = seed % 2};
    s->loads = x->loads;
    s->net = (struct oracle_net){.shared = x->shared, .inside = never_inside};
    set_up(s, p);
    bool runs = run_slow(s);
    if (s->tie)
        return false;
    struct oracle_net *own = SC__NEW(&ctx->arena, struct oracle_net);
    *own = (struct oracle_net){.shared = x->shared, .inside = never_inside};
    struct sc__net net = {.ops = x->loads ? &charging_ops : &oracle_ops, .self = own};
    sc_status status = sc__simulate(ctx, p->w, &net, &options, &sim);
    same(x->how, seed, "running", 0, status == SC_OK, runs);
    if (!runs)
        return false;
    int64_t step = 0;
    for (uint32_t i = 0; i < s->count; i++)
        step = s->one[i].end > step ? s->one[i].end : step;
    same(x->how, seed, "step", 0, sim.step, step);
    for (uint32_t r = 0; r < p->ranks; r++) {
        const struct sc__account *got = &sim.classes[r].account;
        const struct sc__account *want = &s->rank[r].account;
        int64_t exposed = 0;
        for (uint32_t g = 0; g <= GROUPS; g++)
            exposed += got->exposed[g];
        same(x->how, seed, "compute", r, got->compute, want->compute);
        same(x->how, seed, "recompute", r, got->recompute, want->recompute);
        same(x->how, seed, "exposed communication", r, exposed, s->exposed[r]);
        same(x->how, seed, "skew", r, got->skew, want->skew);
        same(x->how, seed, "bubble", r, got->bubble, want->bubble);
        same(x->how, seed, "other", r, got->other, want->other);
        for (uint32_t g = 0; g <= GROUPS; g++)
            same(x->how,
                 seed,
                 "busy time",
                 r,
                 sim.classes[r].traffic[g].busy,
                 s->busy[r][g]);
    }
    if (sim.timeline)
        same_spans(x->how, seed, s, sim.timeline);
    return true;
}

static void random_graphs(void **unused) {
    (void)unused;
    static const struct setting settings[] = {
        {"fixed costs", false, false},
        {"shared ports", true, false},
        {"charged processors", false, true},
        {"charged processors, shared ports", true, true}};
    uint32_t ran = 0;
    uint32_t cases = 2000;
    for (uint32_t k = 0; k < cases; k++) {
        struct plan p;
        ctx = sc_open();
        make_plan(&p, k);
        for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++)
            ran += compare(&p, &settings[i], k);
        sc_close(ctx);
    }
    assert_true(ran > 2 * cases); /* most have neither ties nor deadlocks */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_graphs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
