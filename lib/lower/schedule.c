/* schedule: the order of work on a stage.
 *
 *   1F1B         w = min(pp − stage − 1, m) forwards, then one forward and one
 *                backward in turn, then the backwards that are left
 *   GPipe        all forwards, all backwards
 *   interleaved  the same over m·vpp pieces: micro-batches go in groups of pp, the
 *                first of pp + m % pp, for a smaller group anywhere would lock the
 *                stages, or of as many as is said; a group passes chunk after chunk;
 *                warm-up is 2(pp − stage − 1) + (vpp − 1)·(first group) pieces, and one
 *                more where forwards hide the exchanges of backwards
 *                (get_pp_rank_microbatches, get_schedule_table of Megatron-Core)
 *   ZB-H1        1F1B whose weight gradients stage s puts off by s micro-batches,
 *                so that input gradients reach the stages before it sooner
 *                (Qi et al., Zero Bubble Pipeline Parallelism, 2024)
 *   DualPipeV    two chunks a stage in a V; forwards of one chunk in pairs with
 *                backwards of the other, weight gradients put off at both ends
 *                (DeepSeek-AI, DualPipe, 2025)
 *   DualPipe     micro-batches enter at both ends of a pipeline that holds the model
 *                twice: stages s and pp − 1 − s are two Vs of pp/2 stages, each the
 *                other's second half
 *
 * ZB-2p and ZB-V depend on times: schedule_zb.c. A step of several runs through the
 * pipeline repeats the order of one. */
#include "lower/pipeline.h"

const char *const sc__schedule_words[] = {"1f1b",
                                          "gpipe",
                                          "interleaved",
                                          "zb-h1",
                                          "zb-2p",
                                          "zb-v",
                                          "dualpipev",
                                          "dualpipe",
                                          NULL};

const char *sc__schedule_name(enum sc__schedule s) {
    return s == SC__SCHEDULE_AUTO ? "auto" : sc__schedule_words[s - 1];
}

bool sc__schedule_splits(enum sc__schedule s) {
    return s == SC__SCHEDULE_ZBH1 || s == SC__SCHEDULE_ZB2P || sc__schedule_two_ways(s);
}

bool sc__schedule_two_ways(enum sc__schedule s) {
    return sc__schedule_is_v(s) || s == SC__SCHEDULE_DUALPIPE;
}

bool sc__schedule_is_dualpipe(enum sc__schedule s) {
    return s == SC__SCHEDULE_DUALPIPEV || s == SC__SCHEDULE_DUALPIPE;
}

uint32_t sc__schedule_parts(enum sc__schedule s, uint32_t pp, uint32_t vpp) {
    return s == SC__SCHEDULE_DUALPIPE ? pp : pp * vpp;
}

uint32_t sc__schedule_passes(enum sc__schedule s, uint32_t micro_batches) {
    return s == SC__SCHEDULE_DUALPIPE ? micro_batches / 2 : micro_batches;
}

bool sc__schedule_is_v(enum sc__schedule s) {
    return s == SC__SCHEDULE_ZBV || s == SC__SCHEDULE_DUALPIPEV;
}

bool sc__schedule_overlaps_steps(enum sc__schedule s) {
    return s == SC__SCHEDULE_ZB2P || s == SC__SCHEDULE_ZBV;
}

uint32_t
sc__schedule_part(enum sc__schedule s, uint32_t pp, uint32_t stage, uint32_t chunk) {
    if (sc__schedule_is_v(s) && chunk)
        return 2 * pp - 1 - stage;
    if (s == SC__SCHEDULE_DUALPIPE && chunk)
        return pp - 1 - stage;
    return chunk * pp + stage;
}

uint32_t sc__schedule_last_stage(enum sc__schedule s, uint32_t pp) {
    return sc__schedule_is_v(s) ? 0 : pp - 1;
}

struct schedule_order {
    struct sc__slot *slots;
    uint32_t count;
};

static void
schedule_put(struct schedule_order *o, char kind, uint32_t micro_batch, uint32_t chunk) {
    o->slots[o->count++] = (struct sc__slot){.kind = (uint8_t)kind,
                                             .micro_batch = micro_batch,
                                             .chunk = chunk};
}

static void order_1f1b(struct schedule_order *o, uint32_t pp, uint32_t stage, uint32_t m) {
    uint32_t warm = pp - stage - 1 < m ? pp - stage - 1 : m;
    for (uint32_t i = 0; i < warm; i++)
        schedule_put(o, 'F', i, 0);
    for (uint32_t i = 0; i < m - warm; i++) {
        schedule_put(o, 'F', warm + i, 0);
        schedule_put(o, 'B', i, 0);
    }
    for (uint32_t i = m - warm; i < m; i++)
        schedule_put(o, 'B', i, 0);
}

static void order_gpipe(struct schedule_order *o, uint32_t m) {
    for (uint32_t i = 0; i < m; i++)
        schedule_put(o, 'F', i, 0);
    for (uint32_t i = 0; i < m; i++)
        schedule_put(o, 'B', i, 0);
}

static void order_zbh1(struct schedule_order *o, uint32_t pp, uint32_t stage, uint32_t m) {
    uint32_t warm = pp - stage - 1 < m ? pp - stage - 1 : m;
    uint32_t done = 0;
    for (uint32_t i = 0; i < warm; i++)
        schedule_put(o, 'F', i, 0);
    for (uint32_t i = 0; i < m; i++) {
        if (warm + i < m)
            schedule_put(o, 'F', warm + i, 0);
        schedule_put(o, 'B', i, 0);
        if (i >= stage || i >= m - warm)
            schedule_put(o, 'W', done++, 0);
    }
    while (done < m)
        schedule_put(o, 'W', done++, 0);
}

struct interleaving {
    uint32_t vpp;
    uint32_t m;
    uint32_t first; /* micro-batches of the first group */
    uint32_t size;  /* of the others, but for a last one that has the rest */
};

/* The k-th piece in the order of group after group, chunk after chunk. */
static struct sc__slot piece(const struct interleaving *n, uint32_t k) {
    uint32_t size = n->first;
    uint32_t start = 0;
    if (k >= n->first * n->vpp) {
        uint32_t group = (k - n->first * n->vpp) / (n->size * n->vpp);
        start = n->first + group * n->size;
        size = n->size < n->m - start ? n->size : n->m - start;
    }
    uint32_t inside = k - start * n->vpp;
    return (struct sc__slot){.micro_batch = start + inside % size, .chunk = inside / size};
}

static void
put_backward(struct schedule_order *o, const struct interleaving *n, uint32_t k) {
    struct sc__slot s = piece(n, k);
    schedule_put(o, 'B', s.micro_batch, n->vpp - 1 - s.chunk);
}

static void
put_forward(struct schedule_order *o, const struct interleaving *n, uint32_t k) {
    struct sc__slot s = piece(n, k);
    schedule_put(o, 'F', s.micro_batch, s.chunk);
}

static struct interleaving
interleaving(uint32_t pp, uint32_t vpp, struct sc__turns turns, uint32_t m) {
    uint32_t first = m < pp ? m : pp + m % pp;
    if (turns.group)
        return (struct interleaving){vpp, m, turns.group, turns.group};
    return (struct interleaving){vpp, m, first, pp};
}

uint32_t sc__schedule_warm_up(uint32_t pp,
                              uint32_t vpp,
                              struct sc__turns turns,
                              uint32_t stage,
                              uint32_t micro_batches) {
    uint64_t group = interleaving(pp, vpp, turns, micro_batches).first;
    uint64_t want = 2 * (uint64_t)(pp - stage - 1) + (vpp - 1) * group + turns.ahead;
    uint32_t total = micro_batches * vpp;
    return want < total && micro_batches >= pp ? (uint32_t)want : total;
}

double sc__schedule_most_held(uint32_t pp,
                              uint32_t vpp,
                              struct sc__turns turns,
                              uint32_t stage,
                              uint32_t micro_batches,
                              const double *of_chunk) {
    struct interleaving n = interleaving(pp, vpp, turns, micro_batches);
    uint32_t warm = sc__schedule_warm_up(pp, vpp, turns, stage, micro_batches);
    uint64_t end = warm + (uint64_t)vpp * (n.first + 2 * (uint64_t)n.size);
    uint64_t total = (uint64_t)micro_batches * vpp;
    double held = 0;
    double most = 0;
    for (uint32_t k = 0; k < total && k < end; k++) { /* from there on it repeats */
        held += of_chunk[piece(&n, k).chunk];
        most = held > most ? held : most;
        if (k >= warm)
            held -= of_chunk[vpp - 1 - piece(&n, k - warm).chunk];
    }
    return most;
}

static void order_interleaved(struct schedule_order *o,
                              uint32_t pp,
                              uint32_t vpp,
                              struct sc__turns turns,
                              uint32_t stage,
                              uint32_t m) {
    struct interleaving n = interleaving(pp, vpp, turns, m);
    uint32_t total = m * vpp;
    uint32_t warm = sc__schedule_warm_up(pp, vpp, turns, stage, m);
    for (uint32_t k = 0; k < warm; k++)
        put_forward(o, &n, k);
    for (uint32_t k = warm; k < total; k++) {
        put_forward(o, &n, k);
        put_backward(o, &n, k - warm);
    }
    for (uint32_t k = total - warm; k < total; k++)
        put_backward(o, &n, k);
}

/* ---- DualPipeV ---- */

/* What was done of each chunk, and input gradients whose weight gradients wait: those
 * are done in the order in which they came. */
struct dualpipe {
    struct schedule_order *o;
    uint32_t f[2];
    uint32_t b[2];
    struct sc__slot *waiting;
    uint32_t first;
    uint32_t end;
};

static void dualpipe_forward(struct dualpipe *d, uint32_t chunk) {
    schedule_put(d->o, 'F', d->f[chunk]++, chunk);
}

static void dualpipe_backward(struct dualpipe *d, uint32_t chunk, bool put_off) {
    uint32_t i = d->b[chunk]++;
    schedule_put(d->o, 'B', i, chunk);
    if (put_off)
        d->waiting[d->end++] = (struct sc__slot){.micro_batch = i, .chunk = chunk};
    else
        schedule_put(d->o, 'W', i, chunk);
}

static void dualpipe_weights(struct dualpipe *d) {
    const struct sc__slot *s = &d->waiting[d->first++];
    schedule_put(d->o, 'W', s->micro_batch, s->chunk);
}

/* Filling: chunk 0 down the stages, both chunks, chunk 1 back up. */
static void dualpipe_fill(struct dualpipe *d, uint32_t pp, uint32_t stage) {
    for (uint32_t i = 0; i < 2 * (pp - stage - 1); i++)
        dualpipe_forward(d, 0);
    for (uint32_t i = 0; i <= stage; i++) {
        dualpipe_forward(d, 0);
        dualpipe_forward(d, 1);
    }
    for (uint32_t i = 0; i < pp - stage - 1; i++) {
        dualpipe_backward(d, 1, true);
        dualpipe_weights(d);
        dualpipe_forward(d, 1);
    }
}

/* Emptying: from the middle on weight gradients make way for input gradients. */
static void dualpipe_drain(struct dualpipe *d, uint32_t pp, uint32_t stage) {
    uint32_t middle = (stage + 1) / 2;
    bool put_off = false;
    for (uint32_t i = 0; i <= stage; i++) {
        put_off |= i == middle && stage % 2 == 1;
        dualpipe_backward(d, 1, put_off);
        put_off |= i == middle && stage % 2 == 0;
        dualpipe_backward(d, 0, put_off);
    }
    for (uint32_t i = 0; i < pp - stage - 1; i++) {
        dualpipe_weights(d);
        dualpipe_backward(d, 0, true);
    }
    for (uint32_t i = 0; i <= stage; i++)
        dualpipe_weights(d);
}

static void order_dualpipev(struct sc__arena *a,
                            struct schedule_order *o,
                            uint32_t pp,
                            uint32_t stage,
                            uint32_t m) {
    struct dualpipe d = {.o = o, .waiting = SC__NEW_ARRAY(a, struct sc__slot, 2 * m)};
    dualpipe_fill(&d, pp, stage);
    for (uint32_t i = 0; i < m - 2 * pp + stage + 1; i++) {
        dualpipe_forward(&d, 0);
        dualpipe_backward(&d, 1, false);
        dualpipe_forward(&d, 1);
        dualpipe_backward(&d, 0, false);
    }
    for (uint32_t i = 0; i < pp - stage - 1; i++) {
        dualpipe_backward(&d, 1, false);
        dualpipe_forward(&d, 1);
        dualpipe_backward(&d, 0, false);
    }
    dualpipe_drain(&d, pp, stage);
}

/* The second half of the stages begins with what comes from its own end: chunk 1. */
static void order_dualpipe(struct sc__arena *a,
                           struct schedule_order *o,
                           uint32_t pp,
                           uint32_t stage,
                           uint32_t m) {
    bool second = stage >= pp / 2;
    order_dualpipev(a, o, pp / 2, second ? pp - 1 - stage : stage, m / 2);
    for (uint32_t i = 0; second && i < o->count; i++)
        o->slots[i].chunk = !o->slots[i].chunk;
}

struct sc__slot *sc__schedule_order(struct sc__arena *a,
                                    enum sc__schedule s,
                                    uint32_t pp,
                                    uint32_t vpp,
                                    struct sc__turns turns,
                                    uint32_t stage,
                                    uint32_t micro_batches,
                                    uint32_t *count) {
    uint64_t pieces = (uint64_t)micro_batches * vpp * (sc__schedule_splits(s) ? 3 : 2);
    struct schedule_order o = {.slots = SC__NEW_ARRAY(a, struct sc__slot, pieces)};
    switch (s) {
    case SC__SCHEDULE_GPIPE:
        order_gpipe(&o, micro_batches);
        break;
    case SC__SCHEDULE_INTERLEAVED:
        order_interleaved(&o, pp, vpp, turns, stage, micro_batches);
        break;
    case SC__SCHEDULE_ZBH1:
        order_zbh1(&o, pp, stage, micro_batches);
        break;
    case SC__SCHEDULE_DUALPIPEV:
        order_dualpipev(a, &o, pp, stage, micro_batches);
        break;
    case SC__SCHEDULE_DUALPIPE:
        order_dualpipe(a, &o, pp, stage, micro_batches);
        break;
    case SC__SCHEDULE_AUTO:
    case SC__SCHEDULE_ZB2P:
    case SC__SCHEDULE_ZBV:
    case SC__SCHEDULE_1F1B:
        order_1f1b(&o, pp, stage, micro_batches);
        break;
    }
    *count = o.count;
    return o.slots;
}

struct sc__slot *sc__schedule_runs(struct sc__arena *a,
                                   enum sc__schedule s,
                                   uint32_t pp,
                                   uint32_t vpp,
                                   struct sc__turns turns,
                                   uint32_t stage,
                                   uint32_t micro_batches,
                                   uint32_t run,
                                   uint32_t *count) {
    uint32_t of_run = run ? run : micro_batches;
    uint32_t runs = micro_batches / of_run;
    uint32_t passes = sc__schedule_passes(s, of_run);
    struct sc__slot *once = sc__schedule_order(a, s, pp, vpp, turns, stage, of_run, count);
    if (runs == 1)
        return once;
    uint32_t slots = *count;
    struct sc__slot *all = SC__NEW_ARRAY(a, struct sc__slot, (size_t)slots * runs);
    for (uint32_t i = 0; i < slots * runs; i++) {
        all[i] = once[i % slots];
        all[i].micro_batch += i / slots * passes;
    }
    *count = slots * runs;
    return all;
}
