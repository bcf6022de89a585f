/* software_apply: a profile fills what nobody said. */
#include "hardware/cluster_options.h"
#include "plan/plan.h"
#include "plan/software.h"

#include <string.h>

/* One of the prefixes with commas between them begins the text. */
static bool one_begins(const char *prefixes, const char *text) {
    struct sc__str rest = sc__str(prefixes);
    struct sc__str prefix;
    while (sc__split(&rest, ',', &prefix)) {
        struct sc__str begin = {text, strlen(text) < prefix.n ? 0 : prefix.n};
        char word[64];
        if (!prefix.n || prefix.n >= sizeof word || begin.n != prefix.n)
            continue;
        memcpy(word, prefix.p, prefix.n);
        word[prefix.n] = 0;
        if (sc__str_is_any_case(begin, word))
            return true;
    }
    return false;
}

static bool entry_holds(const struct sc__software_entry *e,
                        const struct sc__software_facts *facts) {
    bool type = !e->precision;
    for (unsigned i = 0; !type && i < 3 && facts->types[i]; i++)
        type = one_begins(e->precision, facts->types[i]);
    return type && (!e->model || (facts->model && one_begins(e->model, facts->model))) &&
           (!e->gpu || (facts->gpu && one_begins(e->gpu, facts->gpu)));
}

/* The structure an option belongs to, twice: what the profile says so far, and what
 * it was before anybody spoke. */
struct filled {
    enum sc__option_object in;
    char *said;
    const char *usual;
    char *target;
};

const struct sc__option *sc__software_option(const char *name) {
    const struct sc__option *o = sc__option_find(sc__model_options, name);
    o = o && o->in == SC__IN_PLAN ? o : sc__option_find(sc__cluster_options, name);
    return o && o->in != SC__IN_NOTHING ? o : NULL;
}

/* Where nobody said anything the profile's word holds. */
static bool fill_field(const struct filled *f, const struct sc__option *o) {
    size_t size = sc__option_size(o);
    if (memcmp(f->target + o->offset, f->usual + o->offset, size) ||
        !memcmp(f->said + o->offset, f->usual + o->offset, size))
        return false;
    memcpy(f->target + o->offset, f->said + o->offset, size);
    return true;
}

/* A later entry for the same field, which holds too, goes before this one. */
static bool is_overruled(const struct sc__software *s,
                         const struct sc__software_facts *facts,
                         uint32_t without,
                         uint32_t i,
                         const struct sc__option *o) {
    for (uint32_t k = i + 1; k < s->count; k++) {
        const struct sc__software_entry *later = &s->entries[k];
        if (k == without || later->is_constant || !entry_holds(later, facts))
            continue;
        if (later->option->in == o->in && later->option->offset == o->offset)
            return true;
    }
    return false;
}

sc_status sc__software_apply(struct sc_context *ctx,
                             const struct sc__software *s,
                             const struct sc__software_facts *facts,
                             uint32_t without,
                             sc_plan *plan,
                             sc_options *options,
                             bool *used) {
    const sc_plan usual_plan = SC_PLAN_INIT;
    const sc_options usual_options = SC_OPTIONS_INIT;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        sc_plan said_plan = SC_PLAN_INIT;
        sc_options said_options = SC_OPTIONS_INIT;
        if (e->is_constant || i == without || !entry_holds(e, facts))
            continue;
        const struct sc__option *o = e->option;
        bool in_plan = o->in == SC__IN_PLAN;
        struct filled f = {.in = o->in,
                           .said = in_plan ? (char *)&said_plan : (char *)&said_options,
                           .usual = in_plan ? (const char *)&usual_plan
                                            : (const char *)&usual_options,
                           .target = in_plan ? (char *)plan : (char *)options};
        SC__TRY(sc__option_take(ctx, o, e->text, f.said));
        if (is_overruled(s, facts, without, i, o))
            continue;
        bool decided = fill_field(&f, o);
        if (used)
            used[i] = decided;
    }
    return SC_OK;
}

/* Collectives are cut into chunks with sequence parallelism only. */
static void drop_chunks(const sc_plan *given, sc_plan *g) {
    bool of_profile = !given->overlap_tp && g->overlap_tp == SC_TP_OVERLAP_CHUNKS;
    if (of_profile && g->sequence_parallel != SC_ON)
        g->overlap_tp = SC_TP_OVERLAP_WGRAD;
}

/* DeepEP's and HybridEP's way between nodes is nothing to NCCL's all-to-all, which sends
 * every copy by itself. */
static void drop_two_levels(sc_toggle given, const sc_plan *g, sc_options *options) {
    if (given == SC_AUTO && g->moe_dispatcher != SC_MOE_DISPATCHER_FLEX)
        options->two_level = SC_AUTO;
}

/* Layers whose activations wait on the host belong to recipes that shard weights; Megatron
 * has none of it in a pipeline. */
static void drop_offload(const sc_plan *given, sc_plan *g) {
    if (!given->offload_activations && (g->zero < 3 || g->pp > 1))
        g->offload_activations = 0;
}

/* The size of a bucket that was given in bytes takes the place of one in parameters. */
static void drop_bucket(const sc_plan *given, sc_plan *g) {
    if (given->bucket_bytes && !given->bucket_parameters)
        g->bucket_parameters = 0;
}

void sc__software_give_way(const sc_plan *given,
                           sc_toggle two_level,
                           sc_plan *g,
                           sc_options *options) {
    drop_chunks(given, g);
    drop_offload(given, g);
    drop_bucket(given, g);
    drop_two_levels(two_level, g, options);
}

sc_status sc__software_constants(struct sc_context *ctx,
                                 const struct sc__software *s,
                                 const struct sc__software_facts *facts,
                                 uint32_t without,
                                 struct sc__software_constants *out,
                                 bool *used) {
    uint32_t last[sizeof *out / sizeof(double)] = {0};
    const char *const *names = sc__software_constant_names();
    *out = (struct sc__software_constants){0};
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        if (!e->is_constant || i == without || !entry_holds(e, facts))
            continue;
        uint32_t *by = &last[e->field];
        ((double *)out)[e->field] = e->number;
        if (used && *by)
            used[*by - 1] = false;
        if (used)
            used[i] = true;
        *by = i + 1;
    }
    for (unsigned i = 0; names[i]; i++)
        if (!last[sc__software_constant(out, names[i]) - (double *)out])
            return sc__fail(ctx,
                            SC_INPUT,
                            NULL,
                            NULL,
                            "software %s does not say the constant \"%s\"",
                            s->name,
                            names[i]);
    return SC_OK;
}
