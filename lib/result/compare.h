/* compare: two steps, line by line. Each side is the same view of a step,
 * whether it was simulated just now, measured, or saved as JSON before. */
#ifndef SC_RESULT_COMPARE_H
#define SC_RESULT_COMPARE_H

#include "result/result.h"

/* Times by key, in the order the keys came. */
struct sc__amounts {
    struct sc__names keys;
    double *us; /* by key */
    uint32_t count;
    uint32_t capacity;
};

/* One side. Amounts are means over all ranks; groups and operations are empty
 * where the step has no timeline. */
struct sc__compared {
    const char *name;
    bool measured;
    double step;                   /* us */
    double tokens;                 /* of a step; 0: not known */
    struct sc__amounts parts;      /* of the breakdown: they add up to the step */
    struct sc__amounts slowest;    /* the same of the slowest rank alone */
    struct sc__amounts work;       /* of the slowest rank's compute, by kind: "gemm" … */
    struct sc__amounts groups;     /* communication: time on the wire */
    struct sc__amounts operations; /* by name */
    uint64_t left_out;             /* shorter operations that a saved one does not list */
};

struct sc__pair {
    const char *key;
    /* us */
    double a;
    double b;
};

struct sc__pairs {
    struct sc__pair *items;
    uint32_t count;
    uint32_t capacity;
};

struct sc__comparison {
    const char *name[2];
    bool measured[2];
    uint64_t left_out[2]; /* operations that a side has and does not list */
    double tokens[2];     /* of a step; 0: not known */
    struct sc__pair step;
    struct sc__pairs parts;
    struct sc__pairs work; /* empty where one side does not know */
    /* What explains the difference, on the slowest rank of each side: compute by kind
     * of work where both know it, and all other parts; they add up to the difference of
     * the steps. Largest first. */
    struct sc__pairs causes;
    /* empty when one side has no timeline */
    struct sc__pairs groups;
    struct sc__pairs operations; /* largest difference first */
    double worst; /* largest difference of the step or a part, as a share of A's step */
    const char *worst_key;
};

/* The view of a result (after sc__result_add_path). Keys are copied into the arena. */
void sc__compared_result(struct sc__arena *a,
                         const char *name,
                         const struct sc__result *r,
                         struct sc__compared *out);
/* The view of a saved one: a document of schema stepcast/result/1. The error
 * says what is wrong with it. */
sc_status sc__compared_saved(struct sc_context *ctx,
                             const char *name,
                             struct sc__str document,
                             struct sc__compared *out);

void sc__compare(struct sc__arena *a,
                 const struct sc__compared side[2],
                 struct sc__comparison *out);

/* Both sides know the tokens of a step, and these are not as many: the times of the steps
 * say less than tokens per second. */
bool sc__compare_is_uneven(const struct sc__comparison *c);

/* (b − a) / a; 0 where both are 0, infinite where only a is. */
double sc__relative(const struct sc__pair *p);

/* For who makes views: adds us to the amount of this key, made where it is new. */
void sc__amounts_add(struct sc__arena *a,
                     struct sc__amounts *to,
                     const char *key,
                     double us);

#endif
