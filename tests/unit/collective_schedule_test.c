/* Schedules run on symbolic data. A member's copy of a part is the list of who
 * has contributed to it, how often; a transfer adds or replaces. At the end
 * everyone must hold what the collective promises, every contribution once. The
 * same in any order that the needs of transfers allow. */
#include "collective/double_tree.h"
#include "collective/schedule.h"
#include "symbolic_schedule.h"

/* --- structure ------------------------------------------------------------ */

/* One transfer out and one in for a member, phase and channel, and the same by
 * sent_by and received_by. */
static void
check_slots(const struct sc__coll_schedule *s, uint32_t phase, uint32_t channel) {
    uint32_t out[MOST];
    uint32_t in[MOST];
    struct sc__coll_transfer t;
    memset(out, 0xff, sizeof out);
    memset(in, 0xff, sizeof in);
    for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
        struct sc__coll_transfer_id id = {phase, channel, i};
        if (!sc__coll_schedule_transfer(s, id, &t))
            continue;
        assert_true(t.source + t.sources <= s->group.ranks);
        assert_true(t.destination + t.destinations <= s->group.ranks);
        assert_true(t.count > 0 && t.first < s->parts);
        if (t.sources == 1) {
            assert_int_equal(out[t.source], SC__NO_MEMBER);
            out[t.source] = i;
        }
        if (t.destinations == 1) {
            assert_int_equal(in[t.destination], SC__NO_MEMBER);
            in[t.destination] = i;
        }
        if (t.sources == 1 && t.destinations == 1)
            assert_int_not_equal(t.source, t.destination);
    }
    for (uint32_t m = 0; m < s->group.ranks; m++) {
        assert_int_equal(sc__coll_schedule_sent_by(s, phase, channel, m), out[m]);
        assert_int_equal(sc__coll_schedule_received_by(s, phase, channel, m), in[m]);
    }
}

/* Phases that repeat have the same connections. */
static void
check_repeats(const struct sc__coll_schedule *s, uint32_t phase, uint32_t channel) {
    struct sc__coll_transfer a;
    struct sc__coll_transfer b;
    uint32_t repeats = sc__coll_schedule_repeats(s, channel, phase);
    uint32_t last = phase + repeats - 1;
    assert_true(repeats > 0 && last < s->phases);
    assert_true(phase / (s->phases / s->rounds) == last / (s->phases / s->rounds));
    assert_int_equal(sc__coll_schedule_slots(s, phase), sc__coll_schedule_slots(s, last));
    for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
        struct sc__coll_transfer_id first_id = {phase, channel, i};
        struct sc__coll_transfer_id last_id = {last, channel, i};
        bool is = sc__coll_schedule_transfer(s, first_id, &a);
        assert_int_equal(is, sc__coll_schedule_transfer(s, last_id, &b));
        if (!is)
            continue;
        assert_int_equal(a.source, b.source);
        assert_int_equal(a.destination, b.destination);
        assert_int_equal(a.count, b.count);
        assert_int_equal(a.relay, b.relay);
    }
}

/* Parts over every connection, by pass: [source][destination]. */
static void check_rounds(const struct sc__coll_schedule *s, uint32_t channel) {
    static uint64_t parts[2][MOST][MOST];
    struct sc__coll_transfer t;
    if (s->rounds < 2 || !s->phases)
        return;
    memset(parts, 0, sizeof parts);
    for (uint32_t phase = 0; phase < s->phases; phase++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++)
            if (sc__coll_schedule_transfer(s,
                                           (struct sc__coll_transfer_id){phase, channel, i},
                                           &t))
                parts[phase >= s->phases / 2][t.source][t.destination] += t.count;
    assert_memory_equal(parts[0], parts[1], sizeof parts[0]);
}

static void check_schedule(struct sc__coll_schedule *s) {
    sc__coll_schedule_init(s);
    struct symbolic x = {.s = s, .n = s->group.ranks, .parts = (uint32_t)s->parts};
    x.held = malloc((size_t)x.n * x.parts * x.n + 1);
    assert_non_null(x.held);
    for (x.channel = 0; x.channel < s->channels; x.channel++) {
        fill(&x);
        for (uint32_t phase = 0; phase < s->phases; phase++) {
            check_slots(s, phase, x.channel);
            check_repeats(s, phase, x.channel);
            run_phase(&x, phase);
        }
        check_rounds(s, x.channel);
        check_promise(&x);
        if (x.n > 17 && x.channel > 1)
            continue;
        fill(&x);
        run_shuffled(&x, 7919u * x.n + x.channel);
        check_promise(&x);
    }
    free(x.held);
}

/* --- shapes --------------------------------------------------------------- */

/* n members, per_node on a node; per_node 0: node sizes 3, 1, 2, 4, 1 … */
static struct sc__coll_group make_group(uint32_t n, uint32_t per_node, uint32_t *first) {
    static const uint32_t sizes[] = {3, 1, 2, 4, 1};
    uint32_t node[MOST];
    if (per_node && n % per_node == 0)
        return (struct sc__coll_group){.ranks = n,
                                       .nodes = n / per_node,
                                       .per_node = per_node,
                                       .least = per_node};
    for (uint32_t i = 0, k = 0, left = 0; i < n; i++) {
        if (!left)
            left = per_node ? per_node : sizes[k++ % 5];
        left--;
        node[i] = i ? node[i - 1] : 0;
        if (i && left + 1 == (per_node ? per_node : sizes[(k + 4) % 5]))
            node[i]++;
    }
    return sc__coll_group_of(node, n, 1, first);
}

static const uint32_t group_sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                       11, 12, 13, 14, 15, 16, 17, 24, 32, 64};
static const uint32_t nodes_of[] = {64, 8, 4, 2, 1, 3, 0};

typedef void with_group(struct sc__coll_group group);

static void for_groups(uint32_t most, with_group *run) {
    uint32_t first[MOST + 1];
    for (unsigned i = 0; i < sizeof group_sizes / sizeof *group_sizes; i++)
        for (unsigned k = 0; k < sizeof nodes_of / sizeof *nodes_of; k++) {
            uint32_t n = group_sizes[i];
            uint32_t per_node = nodes_of[k] < n ? nodes_of[k] : n;
            if (n <= most && (k == 0 || nodes_of[k] < n))
                run(make_group(n, per_node, first));
        }
}

static void run_ring(struct sc__coll_group group) {
    static const int colls[] = {SC__ALLREDUCE, SC__ALLGATHER, SC__REDUCESCATTER};
    for (unsigned c = 0; c < 3; c++)
        for (int order = SC__ORDER_RAILS; order <= SC__ORDER_ROTATED; order++) {
            struct sc__coll_schedule s = {.family = SC__FAMILY_RING,
                                          .coll = colls[c],
                                          .group = group,
                                          .order = (enum sc__coll_order)order};
            check_schedule(&s);
        }
}

static void test_rings(void **state) {
    (void)state;
    for_groups(MOST, run_ring);
}

static void run_chain(struct sc__coll_group group) {
    for (uint32_t root = 0; root < group.ranks; root += 1 + group.ranks / 5) {
        struct sc__coll_schedule s = {.family = SC__FAMILY_CHAIN,
                                      .coll = SC__BROADCAST,
                                      .group = group,
                                      .root = root};
        check_schedule(&s);
        s.coll = SC__REDUCE;
        s.order = SC__ORDER_ROTATED;
        check_schedule(&s);
        s.family = SC__FAMILY_BINOMIAL;
        check_schedule(&s);
        s.coll = SC__BROADCAST;
        s.channels = 0;
        check_schedule(&s);
    }
}

static void test_chains_and_binomial_trees(void **state) {
    (void)state;
    for_groups(MOST, run_chain);
}

static void run_trees(struct sc__coll_group group) {
    struct sc__coll_schedule s = {.coll = SC__ALLREDUCE, .group = group};
    for (unsigned i = 0; i < 4; i++) {
        static const enum sc__coll_family families[] = {SC__FAMILY_TREE,
                                                        SC__FAMILY_NVLS,
                                                        SC__FAMILY_COLLNET,
                                                        SC__FAMILY_COLLNET};
        s.family = families[i];
        s.switch_reduces = i == 3;
        s.channels = 0;
        check_schedule(&s);
    }
}

static void test_trees_and_switches(void **state) {
    (void)state;
    for_groups(MOST, run_trees);
}

/* Transfers of a phase that leave each NIC of a node, two members to a NIC. */
static void count_leaving(const struct sc__coll_schedule *s,
                          const uint32_t *nic,
                          uint32_t node,
                          uint32_t leaving[MOST]) {
    struct sc__coll_transfer t;
    memset(leaving, 0, MOST * sizeof *leaving);
    for (uint32_t c = 0; c < s->channels; c++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(s, 0); i++) {
            if (!sc__coll_schedule_transfer(s, (struct sc__coll_transfer_id){0, c, i}, &t))
                continue;
            uint32_t from = sc__coll_node_of(&s->group, t.source);
            if (from == node && sc__coll_node_of(&s->group, t.destination) != node)
                leaving[nic[t.source]]++;
        }
}

/* Members 2k and 2k + 1 of a node share a NIC. Where a node has an odd number of them, the
 * NIC of two has no more channels than that of one. */
static void run_doors(struct sc__coll_group group) {
    uint32_t nic[MOST] = {0};
    uint32_t door[MOST];
    uint32_t leaving[MOST];
    bool odd = false;
    for (uint32_t node = 0; node < group.nodes; node++) {
        uint32_t first = sc__coll_node_first(&group, node);
        uint32_t size = sc__coll_node_size(&group, node);
        odd |= size % 2 && size > 1;
        for (uint32_t i = 0; i < size; i++)
            nic[first + i] = i / 2;
    }
    sc__coll_group_doors(&group, nic, door);
    assert_int_equal(group.door != NULL, odd && group.nodes > 1);
    run_ring(group);
    run_chain(group);
    run_trees(group);
    struct sc__coll_schedule s = {.family = SC__FAMILY_RING,
                                  .coll = SC__ALLGATHER,
                                  .group = group};
    sc__coll_schedule_init(&s);
    for (uint32_t node = 0; group.door && node + group.nodes % 2 < group.nodes; node++) {
        count_leaving(&s, nic, node, leaving);
        for (uint32_t i = 0; i < MOST; i++)
            assert_true(leaving[i] <= 1);
    }
}

static void test_shared_nics(void **state) {
    (void)state;
    for_groups(32, run_doors);
}

static void run_halving(struct sc__coll_group group) {
    static const int colls[] = {SC__ALLREDUCE, SC__ALLGATHER, SC__REDUCESCATTER};
    for (unsigned c = 0; c < 3; c++) {
        struct sc__coll_schedule s = {.family = SC__FAMILY_HALVING,
                                      .coll = colls[c],
                                      .group = group};
        check_schedule(&s);
        s.family = SC__FAMILY_PAT;
        check_schedule(&s);
    }
}

static void test_halving_and_pat(void **state) {
    (void)state;
    for_groups(MOST, run_halving);
}

static void run_pairs(struct sc__coll_group group) {
    static const int colls[] = {SC__ALLREDUCE,
                                SC__ALLGATHER,
                                SC__REDUCESCATTER,
                                SC__ALLTOALL};
    struct sc__coll_schedule s = {.family = SC__FAMILY_PAIRS, .group = group};
    for (unsigned c = 0; c < 4; c++) {
        s.coll = colls[c];
        check_schedule(&s);
    }
    s.relay = SC__RELAY_AT_SOURCE;
    check_schedule(&s);
    s.family = SC__FAMILY_ROOT;
    for (s.root = 0; s.root < group.ranks; s.root += 1 + group.ranks / 4) {
        s.coll = SC__GATHER;
        check_schedule(&s);
        s.coll = SC__SCATTER;
        check_schedule(&s);
    }
    s.relay = SC__RELAY_NONE;
    s.family = SC__FAMILY_SHIFT;
    s.coll = SC__SHIFT;
    check_schedule(&s);
    s.family = SC__FAMILY_DISSEMINATION;
    s.coll = SC__BARRIER;
    check_schedule(&s);
}

static void test_pairs_roots_and_barriers(void **state) {
    (void)state;
    for_groups(32, run_pairs);
}

static void test_torus(void **state) {
    static const struct sc__coll_box boxes[] = {
        {1, {5}, {true}, {false}},
        {1, {2}, {false}, {false}},
        {2, {4, 3}, {true, true}, {false, false}},
        {2, {3, 4}, {true, false}, {false, true}},
        {2, {2, 5}, {false, true}, {false, false}},
        {3, {2, 3, 4}, {false, false, true}, {true, false, false}},
        {3, {4, 4, 4}, {true, true, true}, {false, false, false}},
    };
    static const int colls[] = {SC__ALLREDUCE, SC__ALLGATHER, SC__REDUCESCATTER};
    (void)state;
    for (unsigned i = 0; i < sizeof boxes / sizeof *boxes; i++)
        for (unsigned c = 0; c < 3; c++) {
            uint32_t n = 1;
            for (uint32_t d = 0; d < boxes[i].dims; d++)
                n *= boxes[i].size[d];
            struct sc__coll_schedule s = {.family = SC__FAMILY_TORUS,
                                          .coll = colls[c],
                                          .group = {n, n, 1, 1, NULL},
                                          .box = boxes[i]};
            check_schedule(&s);
        }
}

/* --- sums ----------------------------------------------------------------- */

struct sums {
    double sent[MOST];
    double received[MOST];
    double port[MOST];
    double nic[MOST];
    double node[MOST];
    double messages[MOST]; /* of channel 0 */
    double total;
};

/* Shares of the buffer over all transfers. */
static void sum_up(const struct sc__coll_schedule *s, struct sums *out) {
    struct sc__coll_transfer t;
    memset(out, 0, sizeof *out);
    for (uint32_t phase = 0; phase < s->phases; phase++)
        for (uint32_t channel = 0; channel < s->channels; channel++)
            for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
                struct sc__coll_transfer_id id = {phase, channel, i};
                if (!sc__coll_schedule_transfer(s, id, &t))
                    continue;
                double share = sc__coll_schedule_share(s, &t);
                uint32_t from = sc__coll_node_of(&s->group, t.source);
                bool inside = from == sc__coll_node_of(&s->group, t.destination);
                for (uint32_t k = 0; k < t.sources; k++) {
                    out->sent[t.source + k] += share;
                    (inside ? out->port : out->nic)[t.source + k] += share;
                    out->messages[t.source + k] += channel == 0;
                    out->total += share;
                }
                for (uint32_t k = 0; k < t.destinations; k++)
                    out->received[t.destination + k] += share;
                if (!inside)
                    out->node[from] += share;
            }
}

static double most(const double *x, uint32_t n) {
    double m = 0;
    for (uint32_t i = 0; i < n; i++)
        m = fmax(m, x[i]);
    return m;
}

static void assert_near(double a, double b) {
    if (fabs(a - b) > 1e-9 * fmax(1, fabs(b)))
        fail_msg("%.12g is not %.12g", a, b);
}

static struct sc__coll_counts counts_of(const struct sc__coll_schedule *s) {
    return sc__coll_counts(s->family,
                           s->coll,
                           s->group.ranks,
                           s->group.nodes,
                           s->group.per_node,
                           s->group.least);
}

/* Known volumes: a ring all-reduce sends 2(n-1)/n of the buffer from every
 * rank, gathers and scatters half of that, and so does halving. */
static void check_volumes(struct sc__coll_group group) {
    static const int colls[] = {SC__ALLREDUCE, SC__ALLGATHER, SC__REDUCESCATTER};
    static const enum sc__coll_family families[] = {SC__FAMILY_RING,
                                                    SC__FAMILY_HALVING,
                                                    SC__FAMILY_PAT,
                                                    SC__FAMILY_PAIRS};
    struct sums sums;
    double n = group.ranks;
    for (unsigned i = 0; i < 12; i++) {
        struct sc__coll_schedule s = {.family = families[i / 3],
                                      .coll = colls[i % 3],
                                      .group = group};
        double volume = (i % 3 ? 1 : 2) * (n - 1) / n;
        sc__coll_schedule_init(&s);
        sum_up(&s, &sums);
        struct sc__coll_counts c = counts_of(&s);
        for (uint32_t m = 0; m < group.ranks; m++) {
            assert_near(sums.sent[m], volume);
            assert_near(sums.received[m], volume);
            assert_near(sums.messages[m], c.messages);
        }
        assert_near(c.sent / c.parts, volume);
        if (families[i / 3] == SC__FAMILY_RING)
            assert_near(most(sums.node, group.nodes), c.node / c.parts);
        if (families[i / 3] == SC__FAMILY_PAIRS) {
            assert_near(most(sums.port, group.ranks), c.port / c.parts);
            assert_near(most(sums.nic, group.ranks), c.nic / c.parts);
        }
    }
}

static void test_volumes(void **state) {
    (void)state;
    for_groups(MOST, check_volumes);
}

/* Of the rest, in total: (n-1) S for a chain, a binomial tree and a tree's way
 * up; (n-1)/n S for gather and scatter; (n-1) S for an all-to-all of S each. */
static void check_totals(struct sc__coll_group group) {
    struct sums sums;
    double n = group.ranks;
    static const struct {
        enum sc__coll_family family;
        int coll;
    } kinds[] = {{SC__FAMILY_CHAIN, SC__BROADCAST},
                 {SC__FAMILY_CHAIN, SC__REDUCE},
                 {SC__FAMILY_BINOMIAL, SC__BROADCAST},
                 {SC__FAMILY_BINOMIAL, SC__REDUCE},
                 {SC__FAMILY_TREE, SC__ALLREDUCE},
                 {SC__FAMILY_ROOT, SC__GATHER},
                 {SC__FAMILY_ROOT, SC__SCATTER},
                 {SC__FAMILY_PAIRS, SC__ALLTOALL},
                 {SC__FAMILY_SHIFT, SC__SHIFT}};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sc__coll_schedule s = {.family = kinds[i].family,
                                      .coll = kinds[i].coll,
                                      .group = group,
                                      .root = group.ranks / 2};
        double total = n - 1;
        if (kinds[i].family == SC__FAMILY_SHIFT)
            total = n > 1 ? n : 0;
        if (kinds[i].family == SC__FAMILY_TREE)
            total = 2 * (n - 1);
        if (kinds[i].family == SC__FAMILY_ROOT)
            total = (n - 1) / n;
        sc__coll_schedule_init(&s);
        sum_up(&s, &sums);
        assert_near(sums.total, total);
    }
}

static void test_totals(void **state) {
    (void)state;
    for_groups(MOST, check_totals);
}

/* The longest chain of transfers that need each other. Halvings and binomial
 * trees of other sizes than powers of two are cut short. */
static uint32_t longest_path(const struct sc__coll_schedule *s, uint32_t channel) {
    static uint32_t length[512][MOST];
    uint32_t longest = 0;
    assert_true(s->phases <= 512);
    for (uint32_t phase = 0; phase < s->phases; phase++)
        for (uint32_t i = 0; i < sc__coll_schedule_slots(s, phase); i++) {
            struct sc__coll_transfer_id id = {phase, channel, i};
            struct sc__coll_needs needs = sc__coll_schedule_needs(s, id);
            struct sc__coll_transfer_id on;
            struct sc__coll_transfer t;
            uint32_t before = 0;
            length[phase][i] = 0;
            if (!sc__coll_schedule_transfer(s, id, &t))
                continue;
            for (uint32_t p = needs.first; p < needs.end; p++)
                if (sc__coll_schedule_needs_arrival(s, id, p, &on) &&
                    length[p][on.index] > before)
                    before = length[p][on.index];
            length[phase][i] = before + 1;
            if (before + 1 > longest)
                longest = before + 1;
        }
    return longest;
}

static void check_steps(struct sc__coll_group group) {
    static const struct {
        enum sc__coll_family family;
        int coll;
    } kinds[] = {{SC__FAMILY_RING, SC__ALLREDUCE},
                 {SC__FAMILY_RING, SC__ALLGATHER},
                 {SC__FAMILY_CHAIN, SC__BROADCAST},
                 {SC__FAMILY_CHAIN, SC__REDUCE},
                 {SC__FAMILY_HALVING, SC__ALLREDUCE},
                 {SC__FAMILY_PAT, SC__REDUCESCATTER},
                 {SC__FAMILY_PAIRS, SC__ALLREDUCE},
                 {SC__FAMILY_BINOMIAL, SC__BROADCAST},
                 {SC__FAMILY_BINOMIAL, SC__REDUCE},
                 {SC__FAMILY_DISSEMINATION, SC__BARRIER}};
    for (unsigned i = 0; group.ranks > 1 && i < sizeof kinds / sizeof *kinds; i++) {
        struct sc__coll_schedule s = {.family = kinds[i].family,
                                      .coll = kinds[i].coll,
                                      .group = group};
        sc__coll_schedule_init(&s);
        uint32_t longest = longest_path(&s, s.channels - 1);
        bool cut_short = s.family == SC__FAMILY_HALVING || s.family == SC__FAMILY_PAT ||
                         s.family == SC__FAMILY_BINOMIAL;
        if (cut_short && (group.ranks & (group.ranks - 1)))
            assert_true(longest <= counts_of(&s).steps);
        else
            assert_near(longest, counts_of(&s).steps);
    }
}

static void test_steps(void **state) {
    (void)state;
    for_groups(24, check_steps);
}

/* Trees and switches of equal nodes: what a port and a node send, and how long the way
 * up and down is at most. */
static void check_trees(struct sc__coll_group group) {
    static const enum sc__coll_family families[] = {SC__FAMILY_TREE,
                                                    SC__FAMILY_NVLS,
                                                    SC__FAMILY_COLLNET};
    struct sums sums;
    if (group.node_first || group.ranks < 2)
        return;
    for (unsigned i = 0; i < 3; i++) {
        struct sc__coll_schedule s = {.family = families[i],
                                      .coll = SC__ALLREDUCE,
                                      .group = group};
        sc__coll_schedule_init(&s);
        sum_up(&s, &sums);
        struct sc__coll_counts c = counts_of(&s);
        assert_near(most(sums.port, group.ranks), c.port);
        /* between nodes a node sends half a buffer to each of its neighbours in both trees
         */
        double busiest = most(sums.node, group.nodes);
        uint32_t neighbours = 0;
        for (uint32_t k = 0; i < 2 && k < group.nodes && group.nodes > 1; k++) {
            uint32_t cut = sc__node_tree_cut(k, k + 1, group.nodes);
            neighbours = cut > neighbours ? cut : neighbours;
        }
        if (i < 2)
            assert_near(busiest, neighbours / 2.0);
        if (i == 2 || (group.nodes & (group.nodes - 1)) == 0)
            assert_near(busiest, c.node);
        if (i == 0)
            assert_true(longest_path(&s, 0) <= c.steps);
    }
}

static void test_trees_add_up(void **state) {
    (void)state;
    for_groups(MOST, check_trees);
}

/* Parts that leave a block of whole nodes. */
static void check_leaving(struct sc__coll_group group) {
    static const struct {
        enum sc__coll_family family;
        int coll;
    } kinds[] = {{SC__FAMILY_RING, SC__ALLREDUCE},
                 {SC__FAMILY_RING, SC__ALLGATHER},
                 {SC__FAMILY_TREE, SC__ALLREDUCE},
                 {SC__FAMILY_NVLS, SC__ALLREDUCE},
                 {SC__FAMILY_COLLNET, SC__ALLREDUCE},
                 {SC__FAMILY_PAIRS, SC__ALLREDUCE},
                 {SC__FAMILY_PAIRS, SC__ALLTOALL},
                 {SC__FAMILY_PAT, SC__ALLGATHER},
                 {SC__FAMILY_ROOT, SC__SCATTER},
                 {SC__FAMILY_SHIFT, SC__SHIFT}};
    bool powers = (group.ranks & (group.ranks - 1)) == 0;
    if (group.node_first || group.nodes < 2)
        return;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (uint32_t end = 1; end < group.nodes; end *= 2) {
            struct sc__coll_schedule s = {.family = kinds[i].family,
                                          .coll = kinds[i].coll,
                                          .group = group};
            uint32_t k = end * group.per_node;
            double left = 0;
            struct sc__coll_transfer t;
            sc__coll_schedule_init(&s);
            for (uint32_t phase = 0; phase < s.phases; phase++)
                for (uint32_t c = 0; c < s.channels; c++)
                    for (uint32_t j = 0; j < sc__coll_schedule_slots(&s, phase); j++)
                        if (sc__coll_schedule_transfer(
                                &s,
                                (struct sc__coll_transfer_id){phase, c, j},
                                &t) &&
                            t.source < k && t.destination >= k)
                            left += sc__coll_schedule_share(&s, &t);
            uint32_t edges = sc__node_tree_cut(0, end, group.nodes);
            double parts = sc__coll_parts_leaving(kinds[i].family,
                                                  kinds[i].coll,
                                                  group.ranks,
                                                  k,
                                                  edges);
            double all = counts_of(&s).parts;
            if (kinds[i].family != SC__FAMILY_PAT || powers)
                assert_near(left, parts / all);
            else
                assert_true(left <= parts / all + 1e-9);
        }
}

static void test_leaving(void **state) {
    (void)state;
    for_groups(MOST, check_leaving);
}

/* --- bytes ---------------------------------------------------------------- */

/* Whole bytes add up whatever the size: an all-gather brings everyone all but
 * its own part, a reduce-scatter sends all but that. */
static void test_bytes(void **state) {
    (void)state;
    for (uint32_t n = 2; n < 20; n++)
        for (uint64_t bytes = 0; bytes < 60; bytes += 7) {
            static const enum sc__coll_family families[] = {SC__FAMILY_RING,
                                                            SC__FAMILY_PAIRS,
                                                            SC__FAMILY_HALVING};
            for (unsigned f = 0; f < 6; f++) {
                struct sc__coll_schedule s = {.family = families[f / 2],
                                              .coll =
                                                  f % 2 ? SC__ALLGATHER : SC__REDUCESCATTER,
                                              .group = {n, 1, n, n, NULL}};
                uint64_t moved[MOST] = {0};
                struct sc__coll_transfer t;
                sc__coll_schedule_init(&s);
                for (uint32_t phase = 0; phase < s.phases; phase++)
                    for (uint32_t i = 0; i < n; i++) {
                        struct sc__coll_transfer_id id = {phase, 0, i};
                        assert_true(sc__coll_schedule_transfer(&s, id, &t));
                        moved[f % 2 ? t.destination : t.source] +=
                            sc__coll_schedule_bytes(&s, &t, bytes);
                    }
                for (uint32_t m = 0; m < n; m++)
                    assert_int_equal(moved[m], bytes - (bytes / n + (m < bytes % n)));
            }
        }
}

/* --- many ranks ----------------------------------------------------------- */

/* 65,536 ranks on 8,192 nodes, and on 65,536: the first phase and the last of every
 * algorithm; nothing is stored, so there is nothing to run out of. */
static void test_many_ranks(void **state) {
    static const struct {
        enum sc__coll_family family;
        int coll;
        double volume; /* of the buffer, in the first and the last phase, all members */
        double last;
    } kinds[] = {{SC__FAMILY_RING, SC__ALLREDUCE, 1, 1},
                 {SC__FAMILY_CHAIN, SC__BROADCAST, 1, 1},
                 {SC__FAMILY_TREE, SC__ALLREDUCE, 8192, 8192},
                 {SC__FAMILY_NVLS, SC__ALLREDUCE, 8192, 8192},
                 {SC__FAMILY_COLLNET, SC__ALLREDUCE, 8192, 8192},
                 {SC__FAMILY_HALVING, SC__ALLREDUCE, 32768, 32768},
                 {SC__FAMILY_PAT, SC__ALLGATHER, 1, 32768},
                 {SC__FAMILY_PAIRS, SC__ALLTOALL, 1, 1},
                 {SC__FAMILY_ROOT, SC__GATHER, 1.0 / 65536, 1.0 / 65536},
                 {SC__FAMILY_SHIFT, SC__SHIFT, 65536, 65536},
                 {SC__FAMILY_BINOMIAL, SC__BROADCAST, 1, 32768},
                 {SC__FAMILY_DISSEMINATION, SC__BARRIER, 65536, 65536}};
    (void)state;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct sc__coll_schedule s = {.family = kinds[i].family,
                                      .coll = kinds[i].coll,
                                      .group = {65536, 8192, 8, 8, NULL},
                                      .root = 40000};
        sc__coll_schedule_init(&s);
        for (unsigned end = 0; end < 2; end++) {
            uint32_t phase = end ? s.phases - 1 : 0;
            double volume = 0;
            struct sc__coll_transfer t;
            for (uint32_t c = 0; c < s.channels; c++)
                for (uint32_t k = 0; k < sc__coll_schedule_slots(&s, phase); k++)
                    if (sc__coll_schedule_transfer(
                            &s,
                            (struct sc__coll_transfer_id){phase, c, k},
                            &t))
                        volume += sc__coll_schedule_share(&s, &t);
            assert_near(volume, end ? kinds[i].last : kinds[i].volume);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings),
        cmocka_unit_test(test_chains_and_binomial_trees),
        cmocka_unit_test(test_trees_and_switches),
        cmocka_unit_test(test_shared_nics),
        cmocka_unit_test(test_halving_and_pat),
        cmocka_unit_test(test_pairs_roots_and_barriers),
        cmocka_unit_test(test_torus),
        cmocka_unit_test(test_volumes),
        cmocka_unit_test(test_totals),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_trees_add_up),
        cmocka_unit_test(test_leaving),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
