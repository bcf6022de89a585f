/* steady: periods that repeat are added, not simulated.
 *
 * A pipeline in its steady phase does the same again and again: each class
 * calls the same blocks, for later micro-batches. Once the state of the whole
 * run, seen relative to now and to the places in the programs, is one it has
 * been in before, and the programs go on as they did since, the same period
 * follows: as often as the shortest of the programs still repeats. So all
 * times move by that many periods, all counters grow by what one period added,
 * and the run goes on from there. Nothing is estimated; what comes out is what
 * would have come out (tests/unit/steady_test.c).
 *
 * It is looked for when one stream comes round: the compute stream of the
 * class whose program repeats longest, each time it enters a new period. */
#include "simulate/steady.h"

#include <string.h>

/* ---- what repeats in a program ---- */

static const struct sc__call *program_calls(const struct sc__executor *x, uint32_t class) {
    return x->w->call_count
               ? &x->w->calls[x->w->programs[x->w->classes[class].program].first_call]
               : NULL;
}

/* How calls of a later period differ from those of the one before. */
struct stride {
    uint64_t tag;
    uint32_t micro_batch;
    bool tag_known;
    bool micro_batch_known;
};

static bool same_stride(const struct sc__executor *x,
                        const struct sc__call *a,
                        const struct sc__call *b,
                        bool messages,
                        struct stride *by) {
    if (a->block != b->block)
        return false;
    if (messages && !by->tag_known) {
        by->tag_known = true;
        by->tag = (uint64_t)b->tag - a->tag;
    }
    if (messages && (uint64_t)b->tag - a->tag != by->tag)
        return false;
    if (!x->out->timeline)
        return true;
    /* Spans are copied with the micro-batch of their call. */
    if (a->chunk != b->chunk ||
        (a->micro_batch == SC__NONE) != (b->micro_batch == SC__NONE))
        return false;
    if (a->micro_batch == SC__NONE)
        return true;
    if (!by->micro_batch_known) {
        by->micro_batch_known = true;
        by->micro_batch = b->micro_batch - a->micro_batch;
    }
    return b->micro_batch - a->micro_batch == by->micro_batch;
}

/* The first call from `first` on that is not repeated `period` calls later. */
static uint32_t repeats_until(const struct sc__executor *x,
                              uint32_t class,
                              uint32_t first,
                              uint32_t period,
                              struct stride *by) {
    const struct sc__runner *r = &x->runners[class];
    const struct sc__call *calls = program_calls(x, class);
    uint32_t k = first;
    while (k + period < r->calls &&
           same_stride(x, &calls[k], &calls[k + period], r->blocks[k]->messages, by))
        k++;
    return k;
}

/* An interleaved schedule comes round after pp·vpp micro-batches, forward and
 * backward; the same chunk is called up to 2·pp times in between. */
#define MOST_PERIODS_TRIED 512

struct search {
    const struct sc__executor *x;
    uint32_t class;
    uint32_t *next; /* by call: the next of the same block, or SC__NONE */
};

/* The stretch may have begun before the place where it was found. */
static void
extend_backward(const struct search *s, uint32_t from, struct sc__stretch *found) {
    const struct sc__runner *r = &s->x->runners[s->class];
    const struct sc__call *calls = program_calls(s->x, s->class);
    struct stride by = {0};
    (void)repeats_until(s->x, s->class, found->first, found->period, &by);
    while (found->first > from) {
        uint32_t k = found->first - 1;
        if (!same_stride(s->x,
                         &calls[k],
                         &calls[k + found->period],
                         r->blocks[k]->messages,
                         &by))
            break;
        found->first = k;
    }
}

/* The stretch from `first` on that repeats longest, at least three times. */
static struct sc__stretch longest_stretch(struct search *s, uint32_t first) {
    struct sc__stretch best = {.first = first, .end = first};
    uint32_t tried = 0;
    for (uint32_t k = s->next[first]; k != SC__NONE && tried < MOST_PERIODS_TRIED;
         k = s->next[k], tried++) {
        uint32_t period = k - first;
        struct stride by = {0};
        uint32_t until = repeats_until(s->x, s->class, first, period, &by);
        if (until - first >= 2 * period && until + period > best.end)
            best = (struct sc__stretch){first, until + period, period};
        if (best.end - first > (s->x->runners[s->class].calls - first) / 2)
            break; /* longer periods would be multiples of this one */
    }
    return best;
}

static void find_next_calls(struct search *s, uint32_t *last) {
    const struct sc__runner *r = &s->x->runners[s->class];
    const struct sc__call *calls = program_calls(s->x, s->class);
    for (uint32_t k = r->calls; k-- > 0;) {
        s->next[k] = last[calls[k].block];
        last[calls[k].block] = k;
    }
    for (uint32_t k = 0; k < r->calls; k++)
        last[calls[k].block] = SC__NONE;
}

struct stretch_list {
    struct sc__stretch *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t longest;
};

/* Programs are asked at some places, not at every call: a stretch that lies
 * between two of them is too short to matter. */
#define PROBES 16

static struct stretch_list
find_stretches(struct sc__executor *x, uint32_t class, struct search *s, uint32_t *last) {
    uint32_t calls = x->runners[class].calls;
    struct stretch_list list = {0};
    uint32_t covered = 0;
    s->class = class;
    find_next_calls(s, last);
    for (uint32_t i = 0; i < PROBES; i++) {
        uint32_t k = (uint32_t)((uint64_t)calls * i / PROBES);
        if (k < covered || k == calls)
            continue;
        struct sc__stretch found = longest_stretch(s, k);
        if (found.end == k)
            continue;
        extend_backward(s, covered, &found);
        *SC__PUSH(&x->arena, list.items, list.count, list.capacity) = found;
        covered = found.end;
        if (found.end - found.first > list.longest)
            list.longest = found.end - found.first;
    }
    return list;
}

/* ---- when to look ---- */

/* Some classes are asked, the first and the last among them: neighbours repeat alike. */
#define MOST_CLASSES_ASKED 4

static void choose_stream(struct sc__executor *x, struct sc__steady *y) {
    uint32_t *last = SC__NEW_ARRAY(&x->arena, uint32_t, x->w->block_count);
    struct search s = {.x = x};
    uint32_t longest = 0;
    uint32_t most = 0;
    uint32_t classes = x->w->class_count;
    uint32_t asked = classes < MOST_CLASSES_ASKED ? classes : MOST_CLASSES_ASKED;
    for (uint32_t c = 0; c < classes; c++)
        most = x->runners[c].calls > most ? x->runners[c].calls : most;
    s.next = SC__NEW_ARRAY(&x->arena, uint32_t, most + 1);
    for (uint32_t b = 0; b < x->w->block_count; b++)
        last[b] = SC__NONE;
    for (uint32_t i = 0; i < asked; i++) {
        uint32_t c = asked == 1 ? 0 : (uint32_t)((uint64_t)(classes - 1) * i / (asked - 1));
        struct stretch_list list = find_stretches(x, c, &s, last);
        if (list.longest <= longest)
            continue;
        longest = list.longest;
        y->class = c;
        y->stretches = list.items;
        y->stretch_count = list.count;
    }
    y->stream = x->w->compute_stream;
}

static void count_cell(struct sc__executor *x, void *cell) {
    struct sc__steady *y = x->steady;
    y->cells[y->cell_count++] = cell;
}

static void list_cells(struct sc__executor *x) {
    uint32_t classes = x->w->class_count;
    size_t each = 5 + 4 * (size_t)x->lanes + SC__WORKS;
    x->steady->cells = SC__NEW_ARRAY(&x->arena, uint64_t *, 2 + classes * each);
    count_cell(x, &x->out->events);
    count_cell(x, &x->items_ended);
    for (uint32_t c = 0; c < classes; c++) {
        struct sc__class_result *r = &x->out->classes[c];
        count_cell(x, &r->account.compute);
        count_cell(x, &r->account.recompute);
        count_cell(x, &r->account.bubble);
        count_cell(x, &r->account.skew);
        count_cell(x, &r->account.other);
        for (uint32_t g = 0; g < x->lanes; g++) {
            count_cell(x, &r->account.exposed[g]);
            count_cell(x, &r->traffic[g].ops);
            count_cell(x, &r->traffic[g].bytes);
            count_cell(x, &r->traffic[g].busy);
        }
        for (unsigned k = 0; k < SC__WORKS; k++)
            count_cell(x, &r->work[k]);
    }
}

/* Many classes make large states: then fewer of them are kept. */
#define SNAPSHOT_MEMORY (16u << 20)
#define FEWEST_SNAPSHOTS 4

static uint32_t snapshot_room(const struct sc__executor *x) {
    size_t streams = (size_t)x->w->class_count * x->streams;
    /* a stream takes about six words of state, and its place */
    size_t each = x->steady->cell_count * sizeof(uint64_t) + streams * (6 * 8 + 4);
    size_t room = SNAPSHOT_MEMORY / each;
    return room < FEWEST_SNAPSHOTS ? FEWEST_SNAPSHOTS
           : room < SC__SNAPSHOTS  ? (uint32_t)room
                                   : SC__SNAPSHOTS;
}

static struct sc__snapshot *next_snapshot(struct sc__executor *x) {
    struct sc__steady *y = x->steady;
    struct sc__snapshot *s = &y->snapshots[y->kept % y->room];
    if (s->calls)
        return s;
    s->calls = SC__NEW_ARRAY(&x->arena, uint32_t, (size_t)x->w->class_count * x->streams);
    s->marks = SC__NEW_ARRAY(&x->arena, int64_t, x->w->class_count);
    s->ends = SC__NEW_ARRAY(&x->arena, int64_t, x->w->class_count);
    s->counters = SC__NEW_ARRAY(&x->arena, uint64_t, y->cell_count);
    return s;
}

void sc__steady_prepare(struct sc__executor *x) {
    if (x->options.no_skip || x->graph || !x->net->periods)
        return;
    struct sc__steady *y = SC__NEW(&x->arena, struct sc__steady);
    choose_stream(x, y);
    if (!y->stretch_count)
        return;
    x->steady = y;
    y->next_call = y->stretches[0].first;
    list_cells(x);
    y->scratch =
        SC__NEW_ARRAY(&x->arena, uint32_t, 2 * (size_t)x->w->class_count + x->peers_count);
    y->room = snapshot_room(x);
}

/* The next call at which a period begins, past `call`. */
static void set_next_call(struct sc__steady *y, uint32_t call) {
    for (; y->stretch < y->stretch_count; y->stretch++) {
        const struct sc__stretch *s = &y->stretches[y->stretch];
        uint32_t passed = call < s->first ? 0 : (call - s->first) / s->period + 1;
        uint64_t next = s->first + (uint64_t)passed * s->period;
        if (next >= s->end)
            continue;
        y->next_call = (uint32_t)next;
        return;
    }
    y->next_call = UINT32_MAX;
}

void sc__steady_watch(struct sc__executor *x, uint32_t class, uint32_t stream) {
    struct sc__steady *y = x->steady;
    if (class != y->class || stream != y->stream)
        return;
    uint32_t call = x->runners[class].streams[stream].call;
    if (call < y->next_call)
        return;
    y->due = true;
    set_next_call(y, call);
}

void sc__steady_link(struct sc__executor *x, uint32_t send_span, uint32_t recv_span) {
    struct sc__steady *y = x->steady;
    x->out->timeline->spans[send_span].peer_span = recv_span;
    if (y)
        *SC__PUSH(&x->arena, y->links, y->link_count, y->link_capacity) =
            (struct sc__steady_link){send_span, recv_span};
}

/* ---- has it been here before, and for how long does it go on ---- */

/* From snapshot a to b: by class the calls its streams moved on (0: none did),
 * and how often that may follow. */
struct repetition {
    const struct sc__snapshot *a;
    const struct sc__snapshot *b;
    int64_t length; /* ps */
    uint32_t *moved;
    uint32_t *low;     /* by class that moved: the first call it looked at since a */
    uint32_t *numbers; /* by peers: collectives of a period */
    struct stride by;
    uint64_t times;
};

static bool stays(const struct repetition *p, uint32_t index) {
    return p->a->calls[index] == p->b->calls[index];
}

static bool
measure_class(const struct sc__executor *x, uint32_t class, struct repetition *p) {
    uint32_t first = class * x->streams;
    p->moved[class] = 0;
    for (uint32_t i = first; i < first + x->streams; i++) {
        uint32_t moved = p->b->calls[i] - p->a->calls[i];
        if (!moved || moved == p->moved[class])
            continue;
        if (p->moved[class])
            return false;
        p->moved[class] = moved;
    }
    return true;
}

/* Streams that move look at the calls from `low` to `high`. One that stays must
 * be through, or wait at a call that the others do not come to. */
static bool
bound_class(const struct sc__executor *x, uint32_t class, struct repetition *p) {
    const struct sc__runner *r = &x->runners[class];
    uint32_t period = p->moved[class];
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
    uint32_t limit = UINT32_MAX;
    if (!period)
        return true;
    for (uint32_t t = 0; t < x->streams; t++) {
        uint32_t i = class * x->streams + t;
        uint32_t call = p->b->calls[i];
        if (stays(p, i)) {
            if (r->streams[t].state == SC__STREAM_DONE)
                continue;
            if (r->streams[t].state != SC__STREAM_BLOCKED)
                return false;
            limit = call < limit ? call : limit;
            continue;
        }
        low = p->a->calls[i] < low ? p->a->calls[i] : low;
        high = call > high ? call : high;
    }
    p->low[class] = low;
    uint32_t until = repeats_until(x, class, low, period, &p->by);
    uint32_t end = until + period; /* calls low … end − 1 repeat */
    if (limit < end)
        end = limit;
    uint64_t times = high < end ? (end - 1 - high) / period : 0;
    if (times < p->times)
        p->times = times;
    return times > 0;
}

/* The account has either moved on with the period, or not been touched. */
static bool same_distance(const struct repetition *p, int64_t a, int64_t b) {
    return a == b || b - a == p->length;
}

static bool follow_classes(const struct sc__executor *x, struct repetition *p) {
    for (uint32_t c = 0; c < x->w->class_count; c++)
        if (!measure_class(x, c, p) || !bound_class(x, c, p) ||
            !same_distance(p, p->a->marks[c], p->b->marks[c]) ||
            !same_distance(p, p->a->ends[c], p->b->ends[c]))
            return false;
    return true;
}

/* Collectives of a group in one period of the class. */
static uint32_t period_collectives(const struct sc__executor *x,
                                   uint32_t class,
                                   uint32_t group,
                                   const struct repetition *p) {
    const struct sc__runner *r = &x->runners[class];
    uint32_t count = 0;
    for (uint32_t c = p->low[class]; c < p->low[class] + p->moved[class]; c++)
        for (uint32_t k = 0; k < r->blocks[c]->shared_count; k++)
            if (r->blocks[c]->shared_groups[k] == group)
                count += r->blocks[c]->shared_counts[k];
    return count;
}

/* All classes of a group go through as many of its collectives. */
static bool follow_peers(const struct sc__executor *x, struct repetition *p) {
    for (uint32_t i = 0; i < x->peers_count; i++) {
        const struct sc__peers *m = &x->peers[i];
        for (uint32_t k = 0; k < m->count; k++) {
            uint32_t c = m->classes[k];
            uint32_t count = p->moved[c] ? period_collectives(x, c, m->group, p) : 0;
            if (k && count != p->numbers[i])
                return false;
            p->numbers[i] = count;
        }
    }
    return true;
}

/* What is open has moved on with the numbers and the tags. */
static bool follow_open(const struct sc__executor *x, const struct repetition *p) {
    for (uint32_t i = 0; i < x->rendezvous_count; i++) {
        const struct sc__rendezvous *g = &x->rendezvous[i];
        if (!g->serial)
            continue;
        uint32_t k = x->steady->order[i];
        uint64_t moved = p->b->open[k] - p->a->open[k];
        if (g->sent || g->received) {
            if (moved != p->by.tag)
                return false;
        } else if (g->peers != SC__NONE && moved != p->numbers[g->peers])
            return false;
    }
    return true;
}

static bool same_words(const struct sc__snapshot *a, const struct sc__snapshot *b) {
    return a->hash == b->hash && a->state.count == b->state.count &&
           a->open_count == b->open_count &&
           a->state.counter_count == b->state.counter_count &&
           !memcmp(a->state.words, b->state.words, a->state.count * sizeof *a->state.words);
}

static bool find_repetition(const struct sc__executor *x, struct repetition *p) {
    if (!same_words(p->a, p->b))
        return false;
    p->length = p->b->now - p->a->now;
    p->by = (struct stride){0};
    p->times = p->length ? (uint64_t)((SC__LONGEST - x->now) / p->length) : 0;
    return p->times && follow_classes(x, p) && follow_peers(x, p) && follow_open(x, p);
}

/* ---- going on from there ---- */

static void shift_stream(struct sc__stream *s, const struct repetition *p, uint32_t calls) {
    int64_t by = p->length * (int64_t)p->times;
    s->call += calls;
    s->start += by;
    s->ready += by;
    s->since += by;
    s->op_start += by;
}

/* What has ended in the calls at hand has ended in those far on. */
static void shift_done(const struct sc__executor *x,
                       struct sc__runner *r,
                       uint32_t first,
                       uint32_t calls) {
    if (!r->done || r->done_high < first)
        return;
    for (uint32_t c = r->done_high + 1; c-- > first;)
        if (r->done[c])
            memcpy(r->done[c + calls], r->done[c], sc__call_block(x, r, c)->ops);
    r->done_high += calls;
}

static void
shift_class(struct sc__executor *x, uint32_t class, const struct repetition *p) {
    struct sc__runner *r = &x->runners[class];
    uint32_t moved = p->moved[class];
    uint32_t calls = moved * (uint32_t)p->times;
    uint32_t first = UINT32_MAX;
    if (!moved)
        return;
    for (uint32_t t = 0; t < x->streams; t++)
        if (r->streams[t].call < first)
            first = r->streams[t].call;
    shift_done(x, r, first, calls);
    for (uint32_t t = 0; t < x->streams; t++) {
        if (!stays(p, class * x->streams + t))
            shift_stream(&r->streams[t], p, calls);
    }
}

static void
shift_account(struct sc__executor *x, uint32_t class, const struct repetition *p) {
    int64_t by = p->length * (int64_t)p->times;
    if (p->a->marks[class] != p->b->marks[class])
        x->runners[class].mark += by;
    if (p->a->ends[class] != p->b->ends[class])
        x->out->classes[class].end += by;
}

static void add_counters(struct sc__executor *x, const struct repetition *p) {
    struct sc__steady *y = x->steady;
    uint64_t processed = x->out->events;
    for (uint32_t i = 0; i < y->cell_count; i++)
        *y->cells[i] += (p->b->counters[i] - p->a->counters[i]) * p->times;
    x->out->skipped += x->out->events - processed;
    x->out->events = processed;
}

/* ---- the timeline: what was kept since a, once more for every period ---- */

static void copy_spans(struct sc__executor *x, const struct repetition *p, uint64_t nth) {
    struct sc__timeline *t = x->out->timeline;
    int64_t by = p->length * (int64_t)nth;
    for (uint32_t i = p->a->spans; i < p->b->spans; i++) {
        struct sc__span s = t->spans[i];
        s.start += by;
        s.ready += by;
        s.end += by;
        s.peer_span = SC__NONE;
        if (s.micro_batch != SC__NONE)
            s.micro_batch += p->by.micro_batch * (uint32_t)nth;
        *SC__PUSH(&x->ctx->arena, t->spans, t->count, t->capacity) = s;
    }
    for (uint32_t i = p->a->idles; i < p->b->idles; i++) {
        struct sc__idle d = t->idles[i];
        d.start += by;
        d.end += by;
        *SC__PUSH(&x->ctx->arena, t->idles, t->idle_count, t->idle_capacity) = d;
    }
}

/* Links are noted apart: one may reach back into the period before. */
static void copy_links(struct sc__executor *x, const struct repetition *p, uint64_t nth) {
    uint32_t by = (p->b->spans - p->a->spans) * (uint32_t)nth;
    for (uint32_t i = p->a->links; i < p->b->links; i++) {
        struct sc__steady_link l = x->steady->links[i];
        sc__steady_link(x, l.send + by, l.recv + by);
    }
}

static void copy_timeline(struct sc__executor *x, const struct repetition *p) {
    uint32_t by = (p->b->spans - p->a->spans) * (uint32_t)p->times;
    if (!x->out->timeline)
        return;
    for (uint64_t n = 1; n <= p->times; n++)
        copy_spans(x, p, n);
    for (uint64_t n = 1; n <= p->times; n++)
        copy_links(x, p, n);
    for (uint32_t i = 0; i < x->rendezvous_count; i++)
        if (x->rendezvous[i].serial && x->rendezvous[i].linked)
            x->rendezvous[i].span += by;
}

static sc_status shift_network(struct sc__executor *x, const struct repetition *p) {
    uint32_t n = p->b->state.counter_count;
    uint64_t *more = SC__NEW_ARRAY(&x->arena, uint64_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        more[i] = (p->b->state.counters[i] - p->a->state.counters[i]) * p->times;
    return x->net->periods->shift(x->net->self, p->length * (int64_t)p->times, more);
}

static sc_status skip(struct sc__executor *x, struct repetition *p) {
    int64_t by = p->length * (int64_t)p->times;
    for (uint32_t c = 0; c < x->w->class_count; c++) {
        shift_class(x, c, p);
        shift_account(x, c, p);
    }
    for (uint32_t i = 0; i < x->peers_count; i++)
        p->numbers[i] *= (uint32_t)p->times;
    copy_timeline(x, p);
    sc__rendezvous_shift(x, p->numbers, p->by.tag * p->times);
    sc__steady_shift_events(x, by);
    add_counters(x, p);
    SC__TRY(shift_network(x, p));
    x->now += by;
    return SC_OK;
}

/* States that never come back are looked for ever more rarely. */
#define LOOKS_EACH 256

static bool too_rare(struct sc__steady *y) {
    uint64_t every = (uint64_t)1 << (y->looks / LOOKS_EACH < 6 ? y->looks / LOOKS_EACH : 6);
    return y->looks++ % every != 0;
}

bool sc__steady_due(const struct sc__executor *x) {
    return x->steady && x->steady->due;
}

sc_status sc__steady_look(struct sc__executor *x) {
    struct sc__steady *y = x->steady;
    y->due = false;
    if (too_rare(y))
        return SC_OK;
    struct sc__snapshot *b = next_snapshot(x);
    struct repetition p = {.b = b};
    SC__TRY(sc__steady_write(x, b));
    p.moved = y->scratch;
    p.low = p.moved + x->w->class_count;
    p.numbers = p.low + x->w->class_count;
    for (uint32_t i = 1; i < y->room && i <= y->kept; i++) {
        p.a = &y->snapshots[(y->kept - i) % y->room];
        if (!find_repetition(x, &p))
            continue;
        SC__TRY(skip(x, &p));
        y->kept = 0;
        y->looks = 0;
        set_next_call(y, x->runners[y->class].streams[y->stream].call);
        return SC_OK;
    }
    y->kept++;
    return SC_OK;
}
