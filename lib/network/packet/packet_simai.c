#include "network/packet/packet_simai.h"

#include "collective/library.h"

#define REDUCTION ((int64_t)30) /* a write and two reads of memory, 10 ns each */
#define FIRST_PORT 10000u       /* of the sender; one more for each message of a pair */
#define TARGET_PORT 100u
#define SMALL_PART 16u /* std::sort leaves parts of so many to insertion sort */

/* Which sends reduce: all of a reduce-scatter's but the first of every round of the ranks.
 * An all-reduce has a switch that each channel turns at the beginning of each such round:
 * with an even number of channels it is off whenever all have turned it. */
int64_t sc__simai_reduction(int coll, uint32_t channels, uint32_t ranks, uint32_t phase) {
    bool first = phase % ranks == 0;
    bool on = coll == SC__REDUCESCATTER;
    if (coll == SC__ALLREDUCE)
        on = channels % 2 && phase / ranks % 2 == 0;
    return on && !first ? REDUCTION : 0;
}

/* ---- processes ---- */

/* Unison's least delay of a link at which it divides a network: the median. */
static int64_t median_delay(const struct sc__packet_fabric *f) {
    uint32_t count = f->graph->links;
    double *delays = SC__NEW_ARRAY(&f->ctx->arena, double, count);
    for (uint32_t i = 0; i < count; i++)
        delays[i] = (double)sc__packet_link_delay(f, i);
    sc__sort_doubles(delays, count);
    return (int64_t)((delays[(count - 1) / 2] + delays[count / 2]) / 2);
}

static uint32_t first_of(uint32_t *above, uint32_t device) {
    while (above[device] != device) {
        above[device] = above[above[device]];
        device = above[device];
    }
    return device;
}

static void join(uint32_t *above, const uint32_t ends[2]) {
    uint32_t a = first_of(above, ends[0]);
    uint32_t b = first_of(above, ends[1]);
    above[a > b ? a : b] = a < b ? a : b;
}

/* NICs are devices of their own here, behind the GPUs; there they are part of a server. */
static void join_nics(const struct sc__packet_fabric *f, uint32_t *above) {
    uint32_t gpus = f->cluster->gpus;
    uint32_t servers = (gpus + f->cluster->node_gpus - 1) / f->cluster->node_gpus;
    uint32_t planes = f->graph->planes ? f->graph->planes : 1;
    if (f->graph->hosts <= gpus)
        return;
    uint32_t nics = (f->graph->hosts - gpus) / planes;
    for (uint32_t i = gpus; i < f->graph->hosts; i++) {
        uint64_t server = (uint64_t)((i - gpus) % nics) * servers / nics;
        join(above, (const uint32_t[2]){i, (uint32_t)server * f->cluster->node_gpus});
    }
}

/* Devices that links of less than the median delay join are one process: the GPUs and
 * the NVSwitch of a server, and every other switch. Numbers are in the order of devices. */
void sc__simai_divide(struct sc__packet_fabric *f) {
    const struct sc__graph *g = f->graph;
    uint32_t *above = SC__NEW_ARRAY(&f->ctx->arena, uint32_t, g->devices);
    int64_t least = g->links ? median_delay(f) : 0;
    uint32_t processes = 0;
    f->as_simai = true;
    f->ahead = INT64_MAX;
    f->process = SC__NEW_ARRAY(&f->ctx->arena, uint32_t, g->devices);
    for (uint32_t i = 0; i < g->devices; i++)
        above[i] = i;
    for (uint32_t i = 0; i < g->links; i++) {
        int64_t delay = sc__packet_link_delay(f, i);
        if (delay < least)
            join(above, f->ends[i]);
        else if (delay < f->ahead)
            f->ahead = delay;
    }
    join_nics(f, above);
    for (uint32_t i = 0; i < g->devices; i++) {
        uint32_t first = first_of(above, i);
        f->process[i] = first == i ? processes++ : f->process[first];
    }
}

/* ---- paths ---- */

static const struct sc__route_policy simai_by_number = {.kind = SC__ROUTE_SPRAY};

/* Numbers of nodes as in SimAI's topologies: GPUs, NVSwitches, switches. */
static uint32_t simai_node(const struct sc__packet_fabric *f, uint32_t device) {
    return device < f->cluster->gpus ? device
                                     : device - (f->graph->hosts - f->cluster->gpus);
}

struct simai_choice {
    struct sc__packet_fabric *fabric;
    uint32_t pair[2];
    uint32_t plane;
    uint32_t key[3];
    uint32_t paths;
    uint32_t *next; /* devices to choose from, in order; room for all paths */
    bool *out;      /* by path: it goes another way than was chosen so far */
};

static bool lay_simai_path(const struct simai_choice *c, uint32_t path, uint32_t *count) {
    struct sc__packet_fabric *f = c->fabric;
    *count = 0;
    if (!c->out[path])
        sc__graph_path(f->graph,
                       &simai_by_number,
                       c->pair[0],
                       c->pair[1],
                       c->plane,
                       path,
                       f->links,
                       count);
    return *count > 0;
}

/* Paths come mostly in the order of their devices. */
static void add_next_device(uint32_t *next, uint32_t *count, uint32_t device) {
    uint32_t i = *count;
    while (i && next[i - 1] > device)
        i--;
    if (i && next[i - 1] == device)
        return;
    for (uint32_t k = *count; k > i; k--)
        next[k] = next[k - 1];
    next[i] = device;
    (*count)++;
}

/* The device after the switch that link `hop` leaves, by that switch's hash. False: paths
 * end here. SimAI's tables are in the order of addresses: a switch has 33 MB there, and
 * what is as large is mapped from high addresses down. */
static bool choose_next(const struct simai_choice *c, uint32_t hop, uint32_t *chosen) {
    const struct sc__packet_fabric *f = c->fabric;
    uint32_t here = 0;
    uint32_t devices = 0;
    uint32_t count;
    for (uint32_t i = 0; i < c->paths; i++) {
        if (!lay_simai_path(c, i, &count) || hop >= count)
            continue;
        here = f->ends[f->links[hop]][0];
        add_next_device(c->next, &devices, f->ends[f->links[hop]][1]);
    }
    if (!devices)
        return false;
    uint32_t seed = simai_node(f, here) + (uint32_t)(f->route->seed - 1) + c->plane;
    *chosen = c->next[devices - 1 - sc__packet_ecmp_hash(c->key, seed) % devices];
    return true;
}

/* What is left; *path: one of them. */
static uint32_t
keep_chosen(struct simai_choice *c, uint32_t hop, uint32_t chosen, uint32_t *path) {
    const struct sc__packet_fabric *f = c->fabric;
    uint32_t left = 0;
    uint32_t count;
    for (uint32_t i = 0; i < c->paths; i++) {
        bool stays = lay_simai_path(c, i, &count) && hop < count &&
                     f->ends[f->links[hop]][1] == chosen;
        c->out[i] = !stays;
        left += stays;
        if (stays)
            *path = i;
    }
    return left;
}

void sc__simai_links(struct sc__packet_fabric *f,
                     enum sc__simai_way way,
                     uint32_t from,
                     uint32_t to,
                     uint32_t plane,
                     uint32_t number,
                     uint32_t *count) {
    bool acks = way == SC__SIMAI_ACKS;
    uint32_t ports[2] = {(FIRST_PORT + number) & 0xffff, TARGET_PORT};
    struct simai_choice c = {.fabric = f,
                             .pair = {acks ? to : from, acks ? from : to},
                             .plane = plane,
                             .next = f->next_devices,
                             .out = f->passed_over};
    uint32_t chosen;
    uint32_t path = 0;
    c.key[0] = sc__packet_address(c.pair[0]);
    c.key[1] = sc__packet_address(c.pair[1]);
    c.key[2] = ports[acks] | ports[!acks] << 16;
    c.paths = f->graph->paths(f->graph, c.pair[0], c.pair[1]);
    for (uint32_t i = 0; i < c.paths; i++)
        c.out[i] = false;
    for (uint32_t hop = 1, left = c.paths; left > 1 && choose_next(&c, hop, &chosen); hop++)
        left = keep_chosen(&c, hop, chosen, &path);
    (void)lay_simai_path(&c, path, count);
}

/* ---- the order of starts ---- */

static void swap_messages(uint32_t *a, uint32_t *b) {
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void reverse_messages(uint32_t *messages, uint32_t count) {
    for (uint32_t i = 0; i + 1 < count - i; i++)
        swap_messages(&messages[i], &messages[count - 1 - i]);
}

/* What std::sort of GNU's C++ library does with elements that are all equal: the middle
 * one becomes the pivot in front, the others change places end for end, and both halves
 * are sorted alike. */
static void sort_as_equal(uint32_t *messages, uint32_t count) {
    while (count > SMALL_PART) {
        swap_messages(&messages[0], &messages[count / 2]);
        reverse_messages(messages + 1, count - 1);
        uint32_t cut = 1 + (count - 1) / 2;
        sort_as_equal(messages + cut, count - cut);
        count = cut;
    }
}

/* Messages of one time go to the mailbox of their server with equal keys; the mailbox is
 * sorted, and taken from its end. */
void sc__simai_shuffle(uint32_t *messages, uint32_t count) {
    sort_as_equal(messages, count);
    reverse_messages(messages, count);
}

static int compare_senders(const void *a, const void *b, void *self) {
    const struct sc__packet_traffic *t = self;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    uint32_t from[2] = {t->messages[x].from, t->messages[y].from};
    if (from[0] != from[1])
        return from[0] < from[1] ? -1 : 1;
    return (x > y) - (x < y);
}

void sc__simai_order_starts(const struct sc__packet_traffic_builder *b,
                            struct sc__packet_traffic *t) {
    uint32_t server = b->fabric->cluster->node_gpus;
    uint32_t count = 0;
    t->starts = SC__NEW_ARRAY(b->arena, uint32_t, t->count);
    for (uint32_t i = 0; i < t->count; i++)
        if (!t->messages[i].waits)
            t->starts[count++] = i;
    t->start_count = count;
    sc__sort(t->starts, count, sizeof *t->starts, compare_senders, t);
    for (uint32_t first = 0, end; first < count; first = end) {
        uint32_t here = t->messages[t->starts[first]].from / server;
        end = first + 1;
        while (end < count && t->messages[t->starts[end]].from / server == here)
            end++;
        sc__simai_shuffle(t->starts + first, end - first);
    }
}
