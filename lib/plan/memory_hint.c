/* memory_hint: what would make a plan fit that does not: the fewest of a list of
 * changes, those that cost least time first, each tried with the one memory function. */
#include "base/context.h"
#include "base/text.h"
#include "plan/memory.h"

struct memory_change {
    const char *option;
    bool (*make)(struct sc__plan *p); /* false: it changes nothing */
    bool costs_time;
};

/* Whoever shards keeps fp32 copies of the weights, unless something else is said. */
static void shard(struct sc__plan *p, unsigned zero) {
    p->zero = zero;
    if (!p->plain_for_copies)
        return;
    p->plain_update = p->plain_for_copies = false;
    p->grad_bytes = p->sharded_grad_bytes;
    p->summed_bytes = p->sharded_summed_bytes;
}

static bool shard_optimizer(struct sc__plan *p) {
    bool helps = !p->zero && !sc__plan_shares_nothing(p);
    if (helps)
        shard(p, 1);
    return helps;
}

static bool cut_the_sequence(struct sc__plan *p) {
    bool helps = p->mesh.tp > 1 && !p->sequence_parallel;
    p->sequence_parallel = true;
    return helps;
}

static bool repeat_attention(struct sc__plan *p) {
    if (p->recompute != SC__RECOMPUTE_NONE)
        return false;
    p->recompute = SC__RECOMPUTE_SELECTIVE;
    return true;
}

static bool one_sequence_at_a_time(struct sc__plan *p) {
    bool helps = p->micro_batch > 1;
    p->micro_batches *= p->micro_batch;
    p->micro_batch = 1;
    return helps;
}

static bool shard_weights(struct sc__plan *p) {
    if (p->zero == 3 || p->mesh.pp > 1 || sc__plan_shares_nothing(p))
        return false;
    shard(p, 3);
    p->reshard = true;
    return true;
}

static bool repeat_layers(struct sc__plan *p) {
    if (p->recompute == SC__RECOMPUTE_FULL && !p->recompute_block)
        return false;
    p->recompute = SC__RECOMPUTE_FULL;
    p->recompute_block = false;
    return true;
}

/* The frozen weights take 4 bits and are widened for every product. */
static bool quantize_weights(struct sc__plan *p) {
    bool helps = p->lora && !p->qlora;
    p->qlora |= helps;
    return helps;
}

static bool shard_over_all(struct sc__plan *p) {
    bool helps = p->mesh.shard > 0;
    p->mesh.shard = 0;
    return helps;
}

static const struct memory_change changes[] = {
    {"--zero 1", shard_optimizer, false},
    {"--sequence-parallel", cut_the_sequence, false},
    {"--recompute selective", repeat_attention, true},
    {"--micro-batch 1", one_sequence_at_a_time, true},
    {"--zero 3", shard_weights, true},
    {"--recompute full", repeat_layers, true},
    {"--qlora", quantize_weights, true},
    {"no --shard-group", shard_over_all, true},
};

enum { CHANGES = sizeof changes / sizeof *changes };

/* Makes the changes of a set and says which of them changed something. */
static unsigned make_changes(struct sc__plan *p, unsigned set) {
    unsigned made = 0;
    for (unsigned i = 0; i < CHANGES; i++)
        if (set >> i & 1 && changes[i].make(p))
            made |= 1u << i;
    return made;
}

static double
memory_with(const struct sc__model *m, const struct sc__plan *p, unsigned set) {
    struct sc__plan changed = *p;
    uint32_t stage;
    make_changes(&changed, set);
    struct sc__stage_memory most = sc__plan_most_memory(m, &changed, &stage);
    return sc__memory_sum(&most);
}

/* The first change with which, and those before it, the plan fits: then what costs time
 * and is not needed is taken out, the dearest first. 0: nothing helps. */
static unsigned
changes_that_fit(const struct sc__model *m, const struct sc__plan *p, double capacity) {
    struct sc__plan all = *p;
    unsigned possible = make_changes(&all, (1u << CHANGES) - 1);
    unsigned set = 0;
    for (unsigned i = 0; i < CHANGES; i++) {
        set |= possible & 1u << i;
        if (memory_with(m, p, set) <= capacity)
            break;
    }
    if (memory_with(m, p, set) > capacity)
        return 0;
    for (unsigned i = CHANGES; i-- > 0;)
        if (changes[i].costs_time && memory_with(m, p, set & ~(1u << i)) <= capacity)
            set &= ~(1u << i);
    return set;
}

const char *sc__memory_hint(struct sc_context *ctx,
                            const struct sc__model *m,
                            const struct sc__plan *p,
                            double capacity) {
    unsigned set = changes_that_fit(m, p, capacity);
    struct sc__plan changed = *p;
    struct sc__buffer text;
    sc__buffer_init(&text, &ctx->arena);
    if (!set)
        return p->gpus == 1 && !p->lora
                   ? "a GPU alone does not hold it: --lora 16 trains adapters alone; "
                     "--ignore-memory goes on"
                   : "neither recompute nor sharding nor a smaller micro-batch makes this "
                     "cut fit: more tp, cp or pp, or more GPUs; --ignore-memory goes on";
    make_changes(&changed, set);
    sc__puts(&text, "it fits with");
    for (unsigned i = 0; i < CHANGES; i++)
        if (set >> i & 1 && !(changes[i].make == shard_optimizer && changed.zero == 3))
            sc__printf(&text, " %s", changes[i].option);
    sc__printf(&text,
               " (%.1f GiB); --ignore-memory goes on",
               memory_with(m, p, set) / (1u << 30));
    return text.text;
}
