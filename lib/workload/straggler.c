/* straggler: --slow rank:5=1.2, and the splitting of classes of ranks that it
 * needs; also the splitting of ranks that lie differently in nodes, and the merging
 * of ranks that are alike.
 *
 * Ranks share a class when nothing they do or wait for tells them apart. Start
 * from the classes there are with the straggler in one of its own (or from the
 * programs alone), and split a class whose ranks have groups or pipeline
 * neighbours of different classes, until nothing changes (colour refinement).
 * What comes out is the coarsest partition of which the simulator may run one
 * rank each: with a straggler in dp 64, tp 1, pp 4 that is 8 classes (its
 * pipeline, and the rest, by stage). */
#include "workload/workload.h"

#include "base/random.h"

#include <string.h>

#define NEIGHBOUR_NEXT 1u
#define NEIGHBOUR_PREV 2u

struct class_split {
    struct sc__workload *w;
    struct sc__arena arena; /* of the split alone */
    uint32_t ranks;
    uint32_t colours;
    uint32_t *colour;    /* by rank */
    uint64_t *signature; /* by rank: its colour and those of the ranks it waits for */
    uint8_t *uses_group; /* by (class, group) */
    uint8_t *neighbours; /* by class: NEIGHBOUR_… */
};

static void mark_op(struct class_split *s, uint32_t class, const struct sc__op *op) {
    if (op->kind == SC__OP_COLLECTIVE)
        s->uses_group[class * s->w->group_count + op->group] = 1;
    if (op->kind != SC__OP_SEND && op->kind != SC__OP_RECV)
        return;
    if (op->flags & SC__OP_PEER_NEXT)
        s->neighbours[class] |= NEIGHBOUR_NEXT;
    if (op->flags & SC__OP_PEER_PREV)
        s->neighbours[class] |= NEIGHBOUR_PREV;
}

/* Whom the ranks of a class ever wait for. Only changes of block are looked
 * at: a program calls the same block for micro-batch after micro-batch. */
static void mark_class(struct class_split *s, uint32_t class) {
    const struct sc__workload *w = s->w;
    const struct sc__program *p = &w->programs[w->classes[class].program];
    for (uint32_t c = 0, last = SC__NONE; c < p->calls; c++) {
        uint32_t block = w->calls[p->first_call + c].block;
        if (block == last)
            continue;
        last = block;
        for (uint32_t i = 0; i < w->blocks[block].ops; i++)
            mark_op(s, class, &w->ops[w->blocks[block].first_op + i]);
    }
}

static uint64_t colour_hash(const struct class_split *s, uint32_t rank) {
    return sc__splitmix64(s->colour[rank] + 1u);
}

/* Adds what a group holds to the signatures of its members: once a group, at
 * its first member. Colours are summed, so that their order within a group does
 * not matter, and mixed afterwards, so that sums of two groups cannot cancel. */
static void sign_group(struct class_split *s, uint16_t g, uint32_t rank) {
    const struct sc__workload *w = s->w;
    uint32_t n = sc__group_size(w, g);
    uint64_t held = 0;
    if (sc__group_member(w, g, rank, 0) != rank)
        return;
    for (uint32_t i = 0; i < n; i++)
        held += colour_hash(s, sc__group_member(w, g, rank, i));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t member = sc__group_member(w, g, rank, i);
        uint32_t class = sc__workload_class_of(w, member);
        if (s->uses_group[class * w->group_count + g])
            s->signature[member] =
                sc__splitmix64(s->signature[member] ^ sc__splitmix64(held + g));
    }
}

static void sign_neighbours(struct class_split *s, uint32_t rank) {
    const struct sc__workload *w = s->w;
    uint8_t has = s->neighbours[sc__workload_class_of(w, rank)];
    static const uint8_t flags[] = {SC__OP_PEER_NEXT, SC__OP_PEER_PREV};
    for (unsigned i = 0; i < 2; i++) {
        if (!(has >> i & 1))
            continue;
        struct sc__op op = {.flags = flags[i]};
        uint64_t peer = colour_hash(s, sc__op_peer(w, &op, rank));
        /* + 1000 + i: neighbours must not look like a group, nor next like previous */
        s->signature[rank] =
            sc__splitmix64(s->signature[rank] ^ sc__splitmix64(peer + 1000 + i));
    }
}

/* New colours: one for each signature, numbered by their first rank. */
static uint32_t recolour(struct class_split *s) {
    struct sc__map seen;
    sc__map_init(&seen, &s->arena);
    for (uint32_t r = 0; r < s->ranks; r++) {
        bool fresh;
        uint64_t *colour = sc__map_at(&seen, s->signature[r], &fresh);
        if (fresh)
            *colour = seen.count - 1;
        s->colour[r] = (uint32_t)*colour;
    }
    return seen.count;
}

/* Colours only ever split: when a round leaves their number, it left them all. */
static void refine(struct class_split *s) {
    const struct sc__workload *w = s->w;
    for (uint32_t before = 0; before != s->colours;) {
        before = s->colours;
        for (uint32_t r = 0; r < s->ranks; r++)
            s->signature[r] = colour_hash(s, r);
        for (uint32_t g = 0; g < w->group_count; g++) {
            /* A group of the mesh is one for every rank, a listed one is the
             * same whichever rank asks. */
            bool list = w->groups[g].kind == SC__GROUP_LIST;
            if (list && w->groups[g].count)
                sign_group(s, (uint16_t)g, w->groups[g].ranks[0]);
            for (uint32_t r = 0; r < s->ranks && !list; r++)
                sign_group(s, (uint16_t)g, r);
        }
        for (uint32_t r = 0; r < s->ranks; r++)
            sign_neighbours(s, r);
        s->colours = recolour(s);
    }
}

/* Classes from colours; each keeps the program, place and memory of the class
 * its ranks had. */
static void make_classes(struct class_split *s) {
    struct sc__workload *w = s->w;
    struct sc__class *classes = SC__NEW_ARRAY(w->arena, struct sc__class, s->colours);
    struct sc__memory *memory =
        w->memory ? SC__NEW_ARRAY(w->arena, struct sc__memory, s->colours) : NULL;
    uint32_t *rank_class = SC__NEW_ARRAY(w->arena, uint32_t, s->ranks);
    for (uint32_t r = 0; r < s->ranks; r++) {
        uint32_t old = sc__workload_class_of(w, r);
        struct sc__class *c = &classes[s->colour[r]];
        rank_class[r] = s->colour[r];
        if (c->ranks++)
            continue;
        uint32_t stands_for = c->ranks;
        *c = w->classes[old];
        c->ranks = stands_for;
        if (c->rank != r)
            c->name = sc__format(w->arena, "%s, rank %u", w->classes[old].name, r);
        c->rank = r;
        if (memory)
            memory[s->colour[r]] = w->memory[old];
    }
    w->classes = classes;
    w->class_count = w->class_capacity = s->colours;
    w->memory = memory;
    w->rank_class = rank_class;
}

static void straggler_begin(struct sc__workload *w, struct class_split *s) {
    *s = (struct class_split){.w = w, .ranks = sc__mesh_ranks(&w->mesh)};
    sc__arena_init(&s->arena);
    s->colour = SC__NEW_ARRAY(&s->arena, uint32_t, s->ranks);
    s->signature = SC__NEW_ARRAY(&s->arena, uint64_t, s->ranks);
    s->uses_group =
        SC__NEW_ARRAY(&s->arena, uint8_t, (size_t)w->class_count * w->group_count);
    s->neighbours = SC__NEW_ARRAY(&s->arena, uint8_t, w->class_count);
    for (uint32_t c = 0; c < w->class_count; c++)
        mark_class(s, c);
}

sc_status sc__workload_slow_rank(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 uint32_t rank,
                                 double slow) {
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    struct class_split s;
    if (rank >= ranks)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "ranks count from 0",
                        "there is no rank %u: the job has %u",
                        rank,
                        ranks);
    if (!(slow > 0 && slow <= 100))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "1.2 is 20 % slower",
                        "--slow: a rank cannot take %g times as long",
                        slow);
    straggler_begin(w, &s);
    for (uint32_t r = 0; r < s.ranks; r++)
        s.colour[r] = r == rank ? w->class_count : sc__workload_class_of(w, r);
    s.colours = w->class_count + 1;
    refine(&s);
    make_classes(&s);
    struct sc__class *c = &w->classes[w->rank_class[rank]];
    c->slow *= slow;
    c->name = sc__format(w->arena, "rank %u (slow)", rank);
    sc__arena_free(&s.arena);
    return SC_OK;
}

void sc__workload_merge(struct sc__workload *w) {
    struct class_split s;
    straggler_begin(w, &s);
    for (uint32_t r = 0; r < s.ranks; r++) {
        const struct sc__class *c = &w->classes[sc__workload_class_of(w, r)];
        struct {
            double slow;
            uint64_t program;
        } same = {c->slow, c->program};
        s.signature[r] = sc__hash(&same, sizeof same, 0);
    }
    s.colours = recolour(&s);
    refine(&s);
    make_classes(&s);
    sc__arena_free(&s.arena);
}

/* ---- places in nodes ---- */

/* Everything is said by the mesh: no lists of ranks, no peers by number. */
static bool of_the_mesh(const struct sc__workload *w) {
    for (uint32_t g = 0; g < w->group_count; g++)
        if (w->groups[g].kind == SC__GROUP_LIST)
            return false;
    for (uint32_t b = 0; b < w->block_count; b++)
        if (w->blocks[b].graph)
            return false;
    return true;
}

/* How many members of a group follow each other in a node. */
static uint64_t
group_lies(const struct class_split *s, uint16_t g, uint32_t rank, const uint32_t *node) {
    uint32_t n = sc__group_size(s->w, g);
    uint64_t lies = 0;
    uint32_t run = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t here = node[sc__group_member(s->w, g, rank, i)];
        bool last = i + 1 == n || node[sc__group_member(s->w, g, rank, i + 1)] != here;
        run++;
        if (!last)
            continue;
        lies = sc__splitmix64(lies ^ run);
        run = 0;
    }
    return lies;
}

static void place_group(struct class_split *s, uint16_t g, const uint32_t *node) {
    const struct sc__workload *w = s->w;
    uint32_t n = sc__group_size(w, g);
    for (uint32_t r = 0; r < s->ranks; r++) {
        if (sc__group_member(w, g, r, 0) != r)
            continue;
        uint64_t lies = group_lies(s, g, r, node);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t member = sc__group_member(w, g, r, i);
            uint32_t class = sc__workload_class_of(w, member);
            if (s->uses_group[class * w->group_count + g])
                s->signature[member] = sc__splitmix64(s->signature[member] ^ lies);
        }
    }
}

static void place_neighbours(struct class_split *s, uint32_t rank, const uint32_t *node) {
    uint8_t has = s->neighbours[sc__workload_class_of(s->w, rank)];
    static const uint8_t flags[] = {SC__OP_PEER_NEXT, SC__OP_PEER_PREV};
    for (unsigned i = 0; i < 2; i++) {
        struct sc__op op = {.flags = flags[i]};
        if (has >> i & 1 && node[sc__op_peer(s->w, &op, rank)] == node[rank])
            s->signature[rank] = sc__splitmix64(s->signature[rank] + 1 + i);
    }
}

void sc__workload_split_places(struct sc__workload *w, const uint32_t *node) {
    struct class_split s;
    if (!of_the_mesh(w))
        return;
    straggler_begin(w, &s);
    for (uint32_t r = 0; r < s.ranks; r++)
        s.signature[r] = sc__splitmix64(sc__workload_class_of(w, r) + 1u);
    for (uint32_t g = 0; g < w->group_count; g++)
        place_group(&s, (uint16_t)g, node);
    for (uint32_t r = 0; r < s.ranks; r++)
        place_neighbours(&s, r, node);
    s.colours = recolour(&s);
    if (s.colours > w->class_count) {
        refine(&s);
        make_classes(&s);
    }
    sc__arena_free(&s.arena);
}

static sc_status
slow_one(struct sc_context *ctx, struct sc__workload *w, const char *text) {
    struct sc__str rest = sc__str(text);
    struct sc__str number;
    uint32_t rank;
    double slow;
    bool ok = sc__str_starts(rest, "rank:");
    if (ok) {
        rest.p += 5;
        rest.n -= 5;
    }
    ok = ok && sc__split(&rest, '=', &number) && sc__parse_u32(number, &rank) &&
         sc__parse_double(rest, &slow);
    if (!ok)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "write it like --slow rank:5=1.2",
                        "--slow: cannot read '%s'",
                        text);
    SC__TRY(sc__workload_slow_rank(ctx, w, rank, slow));
    sc__note(ctx,
             "slow-rank",
             "rank %u is a straggler: its compute takes %g times as long",
             rank,
             slow);
    return SC_OK;
}

sc_status
sc__workload_slow(struct sc_context *ctx, const char *const *slow, struct sc__workload *w) {
    for (const char *const *one = slow; one && *one; one++) {
        size_t name = strcspn(*one, "=");
        for (const char *const *before = slow; before < one; before++)
            if (strcspn(*before, "=") == name && !strncmp(*before, *one, name))
                return sc__fail(ctx,
                                SC_USAGE,
                                NULL,
                                "write the product, if both are meant",
                                "--slow: %.*s is given twice",
                                (int)name,
                                *one);
        SC__TRY(slow_one(ctx, w, *one));
    }
    return SC_OK;
}
