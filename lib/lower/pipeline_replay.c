/* pipeline_replay: the blocks of a pipeline in the order of its schedule, each as long
 * as it is at least, with the messages between them: when the last stage is through.
 * What the simulation has beside it (shared links, taxes, what is waited for across
 * blocks) only makes it later. */
#include "lower/pipeline_replay.h"

enum { NOT_YET = -1 };

/* What a pass of a chunk waits for and sends: by (stage, chunk, forward). */
struct pass_route {
    bool waits;      /* for a message of another stage */
    uint32_t stage;  /* that sends it */
    uint32_t chunk;  /* which it is of there */
    int64_t message; /* what it takes; 0: none comes */
    int64_t output;  /* what the message that it sends takes; 0: none */
};

struct pipeline_replay {
    const struct sc__pipeline_costs *p;
    struct pass_route *routes;
    struct sc__slot **slots; /* by stage */
    uint32_t *count;
    /* by stage: slots that have run, until when, and until when it sends */
    uint32_t *at;
    int64_t *clock;
    int64_t *sending;
    int64_t *exchanging; /* the same of experts' exchange */
    /* by (micro-batch, chunk, stage): when it ended */
    int64_t *forward;
    int64_t *backward;
    int64_t **ends; /* by stage and slot, or NULL */
};

static size_t
replay_place(const struct sc__pipeline_costs *p, const struct sc__slot *x, uint32_t stage) {
    return ((size_t)x->micro_batch * p->vpp + x->chunk) * p->pp + stage;
}

/* Where data comes from and goes to in forward; in backward it is the other way. Chunk 1
 * of a V goes up the stages, the chunks of other pipelines begin at the first again. */
struct data_path {
    bool begins; /* nothing comes before it */
    bool ends;
    bool turns_in; /* what comes is of the stage's own chunk before, without a message */
    bool turns_out;
    uint32_t from; /* stage */
    uint32_t to;
};

static struct data_path
data_path(const struct sc__pipeline_costs *p, uint32_t stage, uint32_t chunk) {
    uint32_t last = p->pp - 1;
    bool v = sc__schedule_is_v(p->schedule);
    bool up = v && chunk;
    bool first_stage = stage == (up ? last : 0);
    bool last_stage = stage == (up ? 0 : last);
    struct data_path x = {.begins = first_stage && chunk == 0,
                          .ends = last_stage && chunk + 1 == p->vpp,
                          .turns_in = v && first_stage,
                          .turns_out = v && last_stage,
                          .from = up ? stage + 1 : stage - 1,
                          .to = up ? stage - 1 : stage + 1};
    if (first_stage)
        x.from = v ? stage : last;
    if (last_stage)
        x.to = v ? stage : 0;
    return x;
}

/* Between neighbours; from the last stage to the first, and back, it is the last's. */
static int64_t message_between(const struct sc__pipeline_costs *p,
                               uint32_t stage,
                               uint32_t other,
                               bool wraps) {
    uint32_t lower = stage < other ? stage : other;
    return p->message[wraps ? p->pp - 1 : lower];
}

static struct pass_route pass_route(const struct sc__pipeline_costs *p,
                                    uint32_t stage,
                                    uint32_t chunk,
                                    bool forward) {
    struct data_path path = data_path(p, stage, chunk);
    bool v = sc__schedule_is_v(p->schedule);
    uint32_t first = forward ? 0 : p->pp - 1;
    uint32_t last = p->pp - 1 - first;
    bool turns_in = forward ? path.turns_in : path.turns_out;
    bool turns_out = forward ? path.turns_out : path.turns_in;
    bool begins = forward ? path.begins : path.ends;
    bool ends = forward ? path.ends : path.begins;
    uint32_t from = forward ? path.from : path.to;
    uint32_t to = forward ? path.to : path.from;
    bool wraps = stage == first && !v;
    struct pass_route r = {.waits = !turns_in && !begins, .stage = from, .chunk = chunk};
    if (wraps)
        r.chunk += forward ? -1u : 1u;
    if (r.waits)
        r.message = message_between(p, stage, from, wraps);
    if (!turns_out && !ends)
        r.output = message_between(p, stage, to, stage == last && !v);
    return r;
}

static const struct pass_route *
route_of(const struct pipeline_replay *r, uint32_t stage, const struct sc__slot *x) {
    return &r->routes[2 * (stage * r->p->vpp + x->chunk) + (x->kind == 'F')];
}

/* When what a slot needs has been sent; NOT_YET: not yet. */
static int64_t input_sent(const struct pipeline_replay *r,
                          const struct sc__slot *x,
                          const struct pass_route *route) {
    if (!route->waits)
        return 0; /* of the stage itself: its slots are in order */
    struct sc__slot there = *x;
    there.chunk = route->chunk;
    size_t at = replay_place(r->p, &there, route->stage);
    return x->kind == 'F' ? r->forward[at] : r->backward[at];
}

static const struct sc__block_cost *
slot_cost(const struct sc__pipeline_costs *p, uint32_t stage, const struct sc__slot *x) {
    const struct sc__chunk_costs *c = &p->chunks[stage * p->vpp + x->chunk];
    bool first = x->micro_batch == 0;
    bool last = x->micro_batch + 1 == p->micro_batches;
    if (x->kind == 'F')
        return first ? &c->forward_first : &c->forward;
    if (x->kind == 'B')
        return last ? &c->backward_last : &c->backward;
    return last ? &c->wgrad_last : &c->wgrad;
}

/* What compute loses beside a message of the given length that begins with its block:
 * x for each ps of compute, until the message, or what is known of the block, is over.
 * Where the block then waits for something else, it only waits for less long. */
static double lost_beside(const struct sc__block_cost *c, double message, double x) {
    double lost = 0;
    int64_t at = 0;
    for (uint32_t i = 0; i <= c->pauses && message > 0; i++) {
        int64_t until = c->alone < c->least ? c->alone : c->least;
        if (i < c->pauses)
            until = c->pause[i].at;
        double compute = (double)(until - at);
        double most = message / (1 + x);
        lost += x * (compute < most ? compute : most);
        message -= compute * (1 + x);
        if (i == c->pauses)
            break;
        message -= (double)c->pause[i].length;
        if (c->pause[i].waits)
            lost = fmax(0, lost - (double)c->pause[i].length);
        at = until + c->pause[i].length;
    }
    return lost;
}

/* Where receives are posted ahead a message leaves when its slot ends, so the next slot
 * runs beside it. Its end grows with its begin, since it loses less than a ps for a ps that
 * it begins later, and with the time of the slot before: so a replay from times that are
 * too early is not too late. A pause that is longer than it is alone makes the block longer
 * by more than the compute that then no longer runs beside the message would lose. */
static int64_t taxed_end(const struct pipeline_replay *r,
                         uint32_t stage,
                         int64_t begin,
                         const struct sc__block_cost *cost) {
    double beside = r->p->overlap ? (double)(r->sending[stage] - begin) : 0;
    if (r->p->exchange_taxes)
        beside = fmax(beside, (double)(r->exchanging[stage] - begin));
    if (beside <= 0)
        return begin + cost->least;
    double more = lost_beside(cost, beside, r->p->tax);
    more -= 4 + cost->pauses; /* paces are rounded to a picosecond */
    return begin + cost->least + (more > 0 ? (int64_t)more : 0);
}

/* When a slot ends. The exchange that it begins with is over no earlier in the run, and
 * what waits for it neither. */
static int64_t end_slot(struct pipeline_replay *r,
                        uint32_t stage,
                        int64_t begin,
                        const struct sc__block_cost *cost) {
    int64_t end = taxed_end(r, stage, begin, cost);
    int64_t *exchanging = &r->exchanging[stage];
    if (!cost->exchanges)
        return end;
    if (*exchanging + cost->exchange_to_end > end)
        end = *exchanging + cost->exchange_to_end;
    *exchanging += cost->exchange_through;
    if (begin + cost->exchange_end > *exchanging)
        *exchanging = begin + cost->exchange_end;
    return end;
}

/* Runs what a stage can run now; false: nothing. */
static bool replay_stage(struct pipeline_replay *r, uint32_t stage) {
    static const struct pass_route alone; /* of weight gradients */
    const struct sc__pipeline_costs *p = r->p;
    uint32_t before = r->at[stage];
    int64_t now = r->clock[stage];
    while (r->at[stage] < r->count[stage]) {
        const struct sc__slot *x = &r->slots[stage][r->at[stage]];
        const struct pass_route *route = x->kind == 'W' ? &alone : route_of(r, stage, x);
        int64_t sent = input_sent(r, x, route);
        if (sent == NOT_YET)
            break;
        if (!p->overlap)
            now = (sent > now ? sent : now) + route->message; /* it holds the stream */
        else if (sent + route->message > now)
            now = sent + route->message;
        now = end_slot(r, stage, now, slot_cost(p, stage, x));
        if (route->output && now + route->output > r->sending[stage])
            r->sending[stage] = now + route->output;
        if (x->kind == 'F')
            r->forward[replay_place(p, x, stage)] = now;
        else if (x->kind == 'B')
            r->backward[replay_place(p, x, stage)] = now;
        if (r->ends)
            r->ends[stage][r->at[stage]] =
                now > r->exchanging[stage] ? now : r->exchanging[stage];
        r->at[stage]++;
    }
    r->clock[stage] = now;
    return r->at[stage] > before;
}

static void prepare_replay(struct pipeline_replay *r, struct sc__arena *arena) {
    const struct sc__pipeline_costs *p = r->p;
    size_t passes = (size_t)p->micro_batches * p->vpp * p->pp;
    r->routes = SC__NEW_ARRAY(arena, struct pass_route, (size_t)p->pp * p->vpp * 2);
    for (uint32_t i = 0; i < p->pp * p->vpp * 2; i++)
        r->routes[i] = pass_route(p, i / 2 / p->vpp, i / 2 % p->vpp, i % 2);
    r->slots = SC__NEW_ARRAY(arena, struct sc__slot *, p->pp);
    r->count = SC__NEW_ARRAY(arena, uint32_t, p->pp);
    r->at = SC__NEW_ARRAY(arena, uint32_t, p->pp);
    r->clock = SC__NEW_ARRAY(arena, int64_t, p->pp);
    r->sending = SC__NEW_ARRAY(arena, int64_t, p->pp);
    r->exchanging = SC__NEW_ARRAY(arena, int64_t, p->pp);
    r->forward = SC__NEW_ARRAY(arena, int64_t, passes);
    r->backward = SC__NEW_ARRAY(arena, int64_t, passes);
    for (size_t i = 0; i < passes; i++) {
        r->forward[i] = NOT_YET;
        r->backward[i] = NOT_YET;
    }
    for (uint32_t s = 0; s < p->pp; s++) {
        r->count[s] = 3 * p->vpp * p->micro_batches;
        r->slots[s] = p->slots ? p->slots[s]
                               : sc__schedule_runs(arena,
                                                   p->schedule,
                                                   p->pp,
                                                   p->vpp,
                                                   p->turns,
                                                   s,
                                                   p->micro_batches,
                                                   p->run,
                                                   &r->count[s]);
    }
}

/* Some 40 bytes and 40 instructions a pass; of more of them the bubble, which is what
 * a replay finds, is a small part. */
#define MOST_REPLAYED (1u << 18)

bool sc__pipeline_replays(uint32_t pp, uint32_t vpp, uint32_t micro_batches) {
    return (uint64_t)micro_batches * vpp * pp <= MOST_REPLAYED;
}

static void keep_ends(struct pipeline_replay *r,
                      struct sc__arena *arena,
                      struct sc__replay_ends *ends) {
    r->ends = SC__NEW_ARRAY(arena, int64_t *, r->p->pp);
    for (uint32_t s = 0; s < r->p->pp; s++)
        r->ends[s] = SC__NEW_ARRAY(arena, int64_t, r->count[s]);
    *ends = (struct sc__replay_ends){r->slots, r->count, r->ends};
}

int64_t sc__pipeline_replay(struct sc__arena *arena,
                            const struct sc__pipeline_costs *p,
                            struct sc__replay_ends *ends) {
    struct pipeline_replay r = {.p = p};
    int64_t most = 0;
    bool moved = true;
    bool found = sc__schedule_overlaps_steps(p->schedule); /* the order depends on times */
    if (!sc__pipeline_replays(p->pp, p->vpp, p->micro_batches) || (found && !p->slots))
        return 0;
    prepare_replay(&r, arena);
    if (ends)
        keep_ends(&r, arena, ends);
    while (moved) {
        moved = false;
        for (uint32_t s = 0; s < p->pp; s++)
            moved |= replay_stage(&r, s);
    }
    for (uint32_t s = 0; s < p->pp; s++) {
        if (r.at[s] < r.count[s])
            return 0; /* the simulation says what locks it */
        if (r.clock[s] + p->after[s] > most)
            most = r.clock[s] + p->after[s];
    }
    /* The distance of two steps is no shorter than the step of any stage, from its first
     * operation on; only the first has waited for nobody before that. */
    if (found)
        return r.clock[0] + p->after[0];
    return most;
}
