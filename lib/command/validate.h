/* validate: published training steps → forecasts of the same steps.
 *
 *   CSV → rows → (data/validate.json) options of `run`, a profile of the software
 *       among them → lowering, simulation
 *       → error by row, summary by source, GPU and size → text, JSON, docs */
#ifndef SC_COMMAND_VALIDATE_H
#define SC_COMMAND_VALIDATE_H

#include "command/command.h"
#include "result/result.h"

#include <jansson.h>

enum sc__truth_column {
    SC__TRUTH_ID,
    SC__TRUTH_SOURCE,
    SC__TRUTH_MODEL,
    SC__TRUTH_LAYERS,
    SC__TRUTH_HIDDEN,
    SC__TRUTH_HEADS,
    SC__TRUTH_KV_HEADS,
    SC__TRUTH_FFN,
    SC__TRUTH_VOCAB,
    SC__TRUTH_SEQ,
    SC__TRUTH_GPU,
    SC__TRUTH_GPUS,
    SC__TRUTH_NODE,
    SC__TRUTH_NVLINK,
    SC__TRUTH_NIC,
    SC__TRUTH_TP,
    SC__TRUTH_PP,
    SC__TRUTH_DP,
    SC__TRUTH_EP,
    SC__TRUTH_CP,
    SC__TRUTH_VPP,
    SC__TRUTH_MICRO_BATCH,
    SC__TRUTH_GLOBAL_BATCH,
    SC__TRUTH_PRECISION,
    SC__TRUTH_RECOMPUTE,
    SC__TRUTH_SP,
    SC__TRUTH_ZERO,
    SC__TRUTH_QUANTITY,
    SC__TRUTH_VALUE,
    SC__TRUTH_SECONDS,
    SC__TRUTH_NOTES,
    SC__TRUTH_COLUMNS
};

struct sc__truth_row {
    const char *cell[SC__TRUTH_COLUMNS]; /* "" where empty */
    uint32_t line;
    bool measured_is_number;  /* or empty */
    bool measured_is_derived; /* from a rate that was printed */
    /* s */
    double measured;
    double predicted;
    const char *skipped; /* why, or NULL */
    const char *options; /* as for `stepcast run` */
    struct sc__step_shares shares;
    char *text; /* from malloc: what skipped or options is, while threads run */
};

const char *sc__truth_column_name(enum sc__truth_column c);

struct sc__truth {
    const char *file;
    struct sc__truth_row *rows;
    uint32_t count;
    uint32_t capacity;
};

#define SC__CSV_COLUMNS 256
struct sc__csv {
    struct sc_context *ctx;
    const char *file;
    struct sc__str text;
    size_t at;
    uint64_t line;
    uint32_t width; /* cells of the header */
};
/* The header: where each of these columns is. */
sc_status sc__csv_columns(struct sc__csv *c,
                          const char *const *wanted,
                          unsigned count,
                          uint32_t *column);
/* The next row that is not empty, and the line it begins in; *more is false at the end of
 * the text. cells: SC__CSV_COLUMNS. */
sc_status sc__csv_row(struct sc__csv *c, const char **cells, uint64_t *line, bool *more);
sc_status sc__csv_error(struct sc__csv *c, const char *what);

/* validate_memory.c: `validate --memory`, and the table of memory it reads. */
struct sc__memory_truth_row;
struct sc__memory_truth {
    struct sc__memory_truth_row *rows;
    uint32_t count;
    uint32_t capacity;
};
sc_status sc__memory_truth_parse(struct sc_context *ctx,
                                 const char *file,
                                 struct sc__str text,
                                 struct sc__memory_truth *out);
sc_status sc__validate_memory(struct sc_request *req, const char *path);
/* Memory of the stage that needs most. */
const struct sc__memory *sc__validate_fullest(const struct sc__workload *w);
/* SC_OK where there is one. */
sc_status sc__validate_any_row(struct sc_request *req, uint32_t rows);
/* Leaves the rows whose source or id holds the text; all of them where it is NULL. */
void sc__truth_filter(struct sc__truth *t, const char *text);

sc_status
sc__validate_read(struct sc_context *ctx, const char *path, struct sc__truth *out);
sc_status sc__truth_parse(struct sc_context *ctx,
                          const char *file,
                          struct sc__str text,
                          struct sc__truth *out);

/* The options of `run` a row stands for; *skip says why there are none. */
struct sc__truth_rates { /* of the model on its GPUs, to derive a time from a rate */
    double model_flops;  /* of a step */
    double peak_flops;   /* of one GPU */
    double tokens;       /* of a step */
    double sequences;
    double gpus;
};
/* Seconds of a step from what the row prints: tokens, sequences, FLOPs a second, a
 * share of the peak. 0 where it prints none of them. */
bool sc__truth_prints_rate(const struct sc__truth_row *row);
double sc__truth_derived(const struct sc__truth_row *row, const struct sc__truth_rates *r);

struct sc__truth_plan {
    sc_setting *items;
    uint32_t count;
    uint32_t capacity;
    const char *model;         /* preset, or NULL: built from the row's dimensions */
    const char *cluster;       /* description */
    const char *cluster_words; /* what the source says about it beyond the row */
    bool causal_flops;         /* its FLOPs have the half of attention that is computed */
    const char *skip;
};
/* Which software a row runs. */
enum sc__truth_software {
    SC__TRUTH_OWN,     /* its source's */
    SC__TRUTH_NEAREST, /* the profile that is nearest to it, as if that were not known */
    SC__TRUTH_ASSUMED  /* what `run` assumes where nobody says */
};
sc_status sc__truth_plan(struct sc_context *ctx,
                         const struct sc__truth_row *row,
                         enum sc__truth_software which,
                         struct sc__truth_plan *out);
/* An option of `run` that the row stands for. */
void sc__truth_set(struct sc_context *ctx,
                   struct sc__truth_plan *p,
                   const char *name,
                   const char *value);
/* The option for the number of a cell. An empty cell is not said; one that is no count
 * ends the row. */
void sc__truth_number(struct sc_context *ctx,
                      const struct sc__truth_row *row,
                      enum sc__truth_column c,
                      const char *option,
                      struct sc__truth_plan *p);
/* The preset, or dimensions and family, by data/validate.json. */
void sc__truth_model(struct sc_context *ctx,
                     const struct sc__truth_row *row,
                     const json_t *root,
                     struct sc__truth_plan *p);
/* Does the cell name this GPU, in whatever spelling: "8x H100-SXM" names H100? */
bool sc__truth_gpu_named(const char *text, const char *name);
/* GPU and cluster, by data/validate.json. */
void sc__truth_machine(struct sc_context *ctx,
                       const struct sc__truth_row *row,
                       const json_t *root,
                       struct sc__truth_plan *p);
/* "--name value --flag", as on the command line. */
void sc__truth_words(struct sc_context *ctx, struct sc__truth_plan *p, const char *text);
struct sc__settings sc__truth_settings(struct sc_context *ctx,
                                       const struct sc__truth_plan *plan);
const char *sc__truth_command(struct sc_context *ctx, const struct sc__truth_plan *plan);

struct sc__truth_summary {
    const char *key;
    uint32_t rows;
    uint32_t simulated;
    /* % */
    double mean;
    double median;
    double p90;
    double worst;
    double bias;
};
/* Groups: by source, by GPU, by size; and all of them together. */
struct sc__truth_summary sc__truth_sum(struct sc_context *ctx,
                                       const struct sc__truth *t,
                                       const char *label,
                                       bool (*in)(const struct sc__truth_row *row,
                                                  const char *label));
void sc__truth_text(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out);
void sc__truth_json(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out);
void sc__truth_markdown(struct sc_context *ctx,
                        const struct sc__truth *t,
                        struct sc__buffer *out);
void sc__truth_plot(struct sc_context *ctx,
                    const struct sc__truth *t,
                    struct sc__buffer *out);

#endif
