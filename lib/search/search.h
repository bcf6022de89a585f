/* search: which plan is best?
 *
 *   what is given        → machines (cluster and GPUs), and a space of plans: numbers
 *                          (sizes, micro-batch) and choices that are left open
 *   every seed           → a floor: a time that no plan of it is faster than, from the
 *                          parts of the model, which many seeds share (lower/model.h)
 *   in order of floors   → its plans: memory, with the recomputation that they need,
 *                          and a floor that counts it
 *   in order of those    → a bound that is nearer to their step (lower/step_bound.c)
 *   in order of bounds   → evaluated as `run` would, until no floor and no bound is
 *                          below what is already known: the same answer as evaluating all
 *
 *   space.c     axes, seeds, what a plan sets
 *   trial.c     floors, memory, bounds, evaluations
 *   families.c  what can still be shown, the best of each family, the Pareto front
 *   search.c    the order of it all */
#ifndef SC_SEARCH_SEARCH_H
#define SC_SEARCH_SEARCH_H

#include "evaluate/evaluate.h"

/* Numbers of a plan that are searched. */
enum {
    SC__NUMBER_TP,
    SC__NUMBER_PP,
    SC__NUMBER_CP,
    SC__NUMBER_EP,
    SC__NUMBER_ETP, /* 0: as tp */
    SC__NUMBER_VPP,
    SC__NUMBER_MICRO_BATCH,
    SC__NUMBERS
};

/* Choices of a plan that are searched where they are asked for. */
enum {
    SC__CHOICE_SCHEDULE,
    SC__CHOICE_SHARDING, /* ZeRO, and whether weights are gathered behind forward */
    SC__CHOICE_SEQUENCE,
    SC__CHOICE_TP_OVERLAP,
    SC__CHOICE_MOE_OVERLAP,
    SC__CHOICE_CP_COMM,
    SC__CHOICE_DISPATCHER,
    SC__CHOICE_TYPE,
    SC__CHOICE_ORDER,
    SC__CHOICE_RECOMPUTE,
    SC__CHOICES
};

/* --try: what is searched beside sizes, micro-batch and the least recomputation. */
enum {
    SC__TRY_SCHEDULE = 1,
    SC__TRY_RECOMPUTE = 2,
    SC__TRY_ZERO = 4,
    SC__TRY_SEQUENCE = 8,
    SC__TRY_OVERLAP = 16,
    SC__TRY_CP_COMM = 32,
    SC__TRY_DISPATCHER = 64,
    SC__TRY_ETP = 128,
    SC__TRY_TYPES = 256,
    SC__TRY_ORDER = 512,
    SC__TRY_ALL = 1023
};

/* An option with its value, as a choice sets it. */
struct sc__search_set {
    const struct sc__option *option; /* NULL ends the list */
    const char *text;
};
enum { SC__SEARCH_SETS = 4, SC__SEARCH_VALUES = 16 };

struct sc__search_value {
    const char *label; /* in words */
    struct sc__search_set sets[SC__SEARCH_SETS];
};

struct sc__search_axis {
    struct sc__search_value values[SC__SEARCH_VALUES];
    uint32_t count; /* 1: nothing is searched */
};

/* A cluster and how many of its GPUs. */
struct sc__search_machine {
    const char *cluster; /* as given, or NULL */
    const char *name;    /* the same, or what is taken where none is given */
    struct sc__cluster_description description;
    uint32_t gpus;
    uint32_t node_gpus;
    double capacity;     /* bytes of memory of a GPU; filled by the search */
    double usd_per_hour; /* of a GPU; 0: unknown */
    /* Productive share of the time of a run, by the number of replicas (dp): for the
     * divisors of gpus; NULL: not asked for. */
    const double *ettr;
    double spare_gpus; /* of machines that stand by in such a run, and are paid too */
};

enum sc__search_objective {
    SC__SEARCH_FASTEST,
    SC__SEARCH_CHEAPEST,
    SC__SEARCH_ENERGY,
    SC__SEARCH_GOODPUT
};

enum {
    SC__PLAN_REFUSED, /* cannot be run */
    SC__PLAN_TOO_LARGE,
    SC__PLAN_FITS
};

/* Plans that differ in their recomputation alone. */
struct sc__search_seed {
    uint32_t machine;
    uint32_t family;
    uint32_t group; /* seeds of one group have the same parts */
    uint16_t number[SC__NUMBERS];
    uint8_t choice[SC__CHOICES];
    int64_t floor; /* ps: no plan of it is faster */
};

/* The same machine, tp, pp, cp and ep. */
struct sc__search_family {
    uint32_t best; /* plan, or SC__NONE */
};

struct sc__search_plan {
    uint64_t serial; /* in the order of the space: of equal plans the first is shown */
    uint32_t family;
    uint32_t machine;
    uint16_t number[SC__NUMBERS];
    uint8_t choice[SC__CHOICES];
    uint8_t outcome;
    bool bounded; /* else `bound` is a floor, and power and prices are not known */
    bool evaluated;
    bool cut;            /* evaluated as far as to know that it is not shown */
    uint16_t recomputes; /* set of values of the recompute axis that fit and are needed */
    int64_t bound;       /* ps */
    double factor;       /* score of a picosecond */
    double memory;       /* bytes of the fullest stage */
    double watts;        /* mean draw of one GPU; until it is evaluated, that at rest */
    double work_j;       /* until then: of a step's energy what comes to that, at least */
    double usd_per_hour;
    double ettr; /* productive share of the time of a run; 0: not asked for */
    /* where it was evaluated */
    int64_t step;
    double mfu;
    struct sc__step_shares shares;
};

struct sc__search {
    /* filled by the caller */
    struct sc_context *ctx; /* notes, memory, threads */
    const struct sc__model *model;
    sc_plan given;
    sc_options options;
    struct sc__setting_list engine_settings;
    struct sc__search_machine *machines;
    uint32_t machine_count;
    uint32_t only;        /* its number + 1: of the machines this one alone; 0: all */
    unsigned tries;       /* SC__TRY_… */
    double memory_margin; /* share of the memory that stays free */
    uint32_t top;         /* families that are wanted */
    bool exhaustive;      /* every plan is evaluated */
    bool pareto;          /* the front of time, memory, cost and energy is wanted */
    enum sc__search_objective objective;
    double longest; /* ps: no plan with a longer step is wanted; 0: any */

    /* filled here */
    struct sc__search_axis axes[SC__CHOICES];
    uint32_t seq; /* tokens of a sequence */
    struct sc__search_seed *seeds;
    uint32_t seed_count;
    uint32_t seed_room;
    uint32_t group_count;
    struct sc__search_family *families;
    uint32_t family_count;
    uint32_t family_room;
    struct sc__search_plan *plans; /* of the seeds that were looked at */
    uint32_t count;
    uint32_t room;
    uint32_t tried;  /* fit + too_large + refused + unseen */
    uint32_t unseen; /* seeds whose floor says enough */
    uint32_t fit;
    uint32_t too_large;
    uint32_t refused;
    uint32_t evaluated;
    uint32_t in_part; /* of these: as far as to know that they are not shown */
    uint32_t *best;   /* the best plan of each family, best first; as indices */
    uint32_t best_count;
    uint32_t best_room;
    uint32_t *front; /* of the Pareto front, fastest first */
    uint32_t front_count;
    uint32_t front_room;
    const char *why;     /* the first refused plan was */
    const char *way_out; /* the hint of that; NULL: it has none */
};

/* Makes a machine of a description, or of the usual one of the GPU (sc__cluster_usual);
 * gpus 0: as it says. */
sc_status sc__search_machine(struct sc_context *ctx,
                             const sc_options *options,
                             const struct sc__setting_list *engine,
                             const char *cluster,
                             const char *gpu,
                             uint32_t gpus,
                             struct sc__search_machine *out);
/* What an hour of a GPU costs. */
struct sc__search_price {
    const char *gpu; /* its own name, whatever it was called */
    double usd_per_hour;
    bool quoted; /* in data/prices.json, or nowhere: then 0; else the GPU's file says it */
};
sc_status
sc__search_price(struct sc_context *ctx, const char *gpu, struct sc__search_price *out);
/* The GPU of a machine, where the plan does not name one. */
const char *sc__search_gpu(const sc_plan *given, const struct sc__search_machine *m);
/* Everything. SC_OK also where nothing fits: then best_count is 0. */
sc_status sc__search_run(struct sc__search *s);

/* Of a plan that was evaluated. */
double sc__search_score(const struct sc__search_plan *p);
double sc__search_usd(const struct sc__search *s, const struct sc__search_plan *p);
double sc__search_joule(const struct sc__search *s, const struct sc__search_plan *p);
uint32_t sc__search_dp(const struct sc__search *s, const struct sc__search_plan *p);

/* ---- trial.c ---- */

struct sc__trials;
struct sc__trials *sc__trials_begin(struct sc__search *s);
/* SC_SYSTEM where memory or threads did not suffice. */
sc_status sc__trials_end(struct sc__trials *t);
/* The floors of all seeds. */
sc_status sc__trials_floors(struct sc__trials *t);
/* Adds the plans of seeds that fit, with floors of their own. */
sc_status
sc__trials_expand(struct sc__trials *t, const uint32_t *seeds, uint32_t count, double done);
/* Finds the bounds of plans. */
sc_status
sc__trials_bound(struct sc__trials *t, const uint32_t *plans, uint32_t count, double done);
/* limits: ps, by plan; one whose step is longer need not be simulated to its end. */
sc_status sc__trials_evaluate(struct sc__trials *t,
                              const uint32_t *plans,
                              const int64_t *limits,
                              uint32_t count,
                              double done);
/* What the first plan is refused for. */
void sc__trials_say_why(struct sc__trials *t);

/* ---- families.c ---- */

/* Nothing of it can be shown, not even as a tie. */
bool sc__families_cut_seed(const struct sc__search *s, uint32_t seed);
bool sc__families_cut_plan(const struct sc__search *s, uint32_t plan);
/* No seed from this floor on can be shown. */
bool sc__families_full(const struct sc__search *s, double floor);
/* Score of a picosecond of a seed's plans, or less. */
double sc__families_factor(const struct sc__search *s, uint32_t seed);
double sc__families_floor(const struct sc__search *s, uint32_t seed);
double sc__families_bound(const struct sc__search *s, uint32_t plan);
/* ps: a plan whose step is longer is not shown. */
int64_t sc__families_limit(const struct sc__search *s, uint32_t plan);
/* A plan was evaluated. */
void sc__families_take(struct sc__search *s, uint32_t plan);
/* The best first, as many as are wanted. */
void sc__families_close(struct sc__search *s);

/* ---- space.c ---- */

extern const struct sc__choice sc__search_tries[];

sc_status sc__space_make(struct sc__search *s);
/* Every seed of a machine. */
sc_status sc__space_enumerate(struct sc__search *s, uint32_t machine);
/* The plan as the public structure; *order: of ranks, or NULL. */
sc_status sc__space_plan(struct sc_context *ctx,
                         const struct sc__search *s,
                         const struct sc__search_plan *p,
                         sc_plan *out,
                         const char **order);
/* Calls put for every option that the plan sets beside what is given. */
void sc__space_settings(struct sc_context *ctx,
                        const struct sc__search *s,
                        const struct sc__search_plan *p,
                        void (*put)(void *self, const char *name, const char *text),
                        void *self);
/* A value of the recompute axis repeats all that another one does. */
bool sc__space_recompute_contains(const struct sc__search *s, uint32_t more, uint32_t less);
/* Name of a number as an option, and its key in JSON. */
const char *sc__space_number_name(int number);
const char *sc__space_number_key(int number);
bool sc__space_number_given(const struct sc__search *s, int number);

#endif
