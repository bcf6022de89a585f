/* launch: a launch script as flags. launch_script.c evaluates the script and finds
 * the command that trains; launch_flags.c says what each flag means here; launch_words.c
 * which words other programs have for them, launch_settings.c and launch_overrides.c what
 * words name=value and --a.b mean over a file; launch_world.c how many GPUs it asks for;
 * launch_follow.c what several flags say together, launch_noop.c and launch_vocabulary.c
 * two of these; launch_mlperf.c what variables of a script that runs nothing say;
 * launch_beside.c reads files that it names; launch_pins.c has --set. */
#ifndef SC_LAUNCH_LAUNCH_H
#define SC_LAUNCH_LAUNCH_H

#include "launch/read.h"
#include "model/read.h"
#include "shell/shell.h"

struct sc__config;

struct sc__flag {
    const char *name; /* without dashes */
    const char *value;
};

struct sc__flag_list {
    struct sc__flag *items;
    uint32_t count;
    uint32_t capacity;
};

/* What a flag of a launch is to a forecast. */
enum sc__flag_kind {
    SC__FLAG_ACTS,         /* an option of ours */
    SC__FLAG_NO_EFFECT,    /* nothing in the time of a step depends on it */
    SC__FLAG_NOT_MODELLED, /* it does change the step, and is left out */
    SC__FLAG_REFUSED,      /* the model is another one */
    SC__FLAG_UNKNOWN
};

/* *as: the flag it stands for, where that has another name (value NULL: its own
 * value). why: for those refused. */
enum sc__flag_kind sc__flag_kind(const struct sc__option *known,
                                 const char *name,
                                 struct sc__flag *as,
                                 const char **why);

/* A size or a count of a model by its name (with dashes). */
bool sc__flag_shapes_model(const char *name);

struct sc__launch {
    struct sc_context *ctx;
    const char *file;
    struct sc__str text;
    struct sc__settings first; /* of the command line: these win */
    const struct sc__option *known;
    struct sc__setting_list pinned; /* --set */
    uint32_t all_of_hosts;          /* its configuration takes all GPUs of so many; or 0 */
    uint32_t least_data; /* ranks of data parallelism that it has a multiple of */
    bool reads_files;    /* that it names and that lie beside it */
    bool other_program;  /* than Megatron, which must be told what overlaps */
    bool whole_stage_0;  /* shards nothing, in bf16 either: not DeepSpeed */
    bool own_defaults;   /* where it is silent, not those of Megatron-Core */
    const struct sc__config *config; /* whose keys the words stand for, or NULL */
    struct sc__str deepspeed; /* the text that has the file of --deepspeed_config in it */
    struct sc__shell_result shell;
    const struct sc__shell_command *command; /* that trains, or NULL */
    const char **words;                      /* its words */
    uint32_t count;
    uint32_t line;
    struct sc__flag_list flags;
    struct sc__buffer by_kind[SC__FLAG_UNKNOWN + 1]; /* names for the notes */
};

/* The last value that the command line gives a flag, else the script's; i: 0. */
const char *sc__launch_nth(const void *self, const char *name, unsigned i);
/* The command line gives this option, or another that says the same. */
bool sc__launch_overridden(const struct sc__launch *l, const char *name);
void sc__launch_add(struct sc__launch *l, const char *name, const char *value);
sc_status sc__launch_fail(const struct sc__launch *l,
                          uint32_t line,
                          const char *hint,
                          const char *fmt,
                          ...) __attribute__((format(printf, 4, 5)));
bool sc__is_flag(const char *word);
/* The name of a flag without what follows "=", and with Megatron's dashes where it is one
 * of those that others write with underscores. */
const char *sc__launch_flag_name(const struct sc__launch *l, const char *word);
/* The value of the flag at a place among the words, or NULL. */
const char *sc__launch_value_at(const struct sc__launch *l, uint32_t at);
/* That of the last flag of a name (with dashes; underscores count as such), or NULL. */
const char *sc__launch_word_behind(const struct sc__launch *l, const char *flag);
/* Whether a switch (its name with dashes) stands there, and not `false` behind it. */
bool sc__launch_switched(const struct sc__launch *l, const char *flag);
/* AICB's words for DeepSpeed are not Megatron's: a stage, and layers of Llama. */
sc_status sc__launch_refuse_aicb(const struct sc__launch *l);
/* The words of Megatron-SWIFT (`megatron sft`) as those of Megatron. */
bool sc__launch_calls_swift(const char *const *words, uint32_t count);
sc_status sc__launch_swift(struct sc__launch *l);
/* The text of a file that the script has written when it launches; NULL: it writes none. */
const char *sc__launch_written(const struct sc__launch *l, const char *name);
/* The text of a file that the launch names, if one is beside it, or none. */
sc_status
sc__launch_read_beside(const struct sc__launch *l, const char *name, struct sc__str *text);

/* Megatron's names of linear layers as those of Hugging Face, which we have;
 * --noop-layers, --data-parallel-sharding-strategy, the tokenizer's vocabulary and
 * the number of GPUs, as flags of ours. */
const char *sc__launch_lora_targets(const struct sc__launch *l, const char *names);
/* The number behind a flag, or behind our own name of it; 1 where neither is given. */
uint32_t sc__launch_number(const struct sc__launch *l, const char *name, const char *own);
sc_status sc__launch_noop_layers(struct sc__launch *l);
sc_status sc__launch_sharding(struct sc__launch *l);
sc_status sc__launch_deepspeed(struct sc__launch *l);
/* What flags of Pai-Megatron-Patch's DeepSeek-V2 mean there. */
sc_status sc__launch_pai(struct sc__launch *l);
/* Stage 0 of DeepSpeed in bf16, which shards as stage 1; deepspeed: it runs it. */
void sc__launch_bf16_stage(struct sc__launch *l, bool deepspeed);
/* --optimizer-cpu-offload and what stands beside it. */
void sc__launch_offload(struct sc__launch *l);
void sc__launch_moe_recompute(struct sc__launch *l);
/* --attention-backend, --transformer-impl local and Transformer Engine's switches. */
sc_status sc__launch_attention(struct sc__launch *l);
void sc__launch_loss(struct sc__launch *l);
/* --hidden-dropout, --attention-dropout; script: not a configuration. */
void sc__launch_dropout(struct sc__launch *l, bool script);
void sc__launch_precision(struct sc__launch *l, bool script);
/* --schedules-method (MindSpeed); --multiple-of and --hidden-dim-multiplier (FlagScale). */
void sc__launch_schedule(struct sc__launch *l);
void sc__launch_mindspeed(struct sc__launch *l);
sc_status sc__launch_feed_forward(struct sc__launch *l);
sc_status sc__launch_vocabulary(struct sc__launch *l);
/* --spec and the like: code of the user's own that makes the layers. */
sc_status sc__launch_spec(struct sc__launch *l);
void sc__launch_gpus(struct sc__launch *l, const struct sc__setting_list *slurm);

/* A config_*.sh of MLPerf, which runs nothing: its variables as words. */
bool sc__launch_mlperf(struct sc__launch *l);

/* launch_pins.c: --set NAME=value; those that the script does not use are noted. */
sc_status sc__launch_read_pins(const struct sc__settings *s, struct sc__setting_list *out);
void sc__launch_note_pins(const struct sc__launch *l);
sc_status
sc__launch_refuse_nul(struct sc_context *ctx, const char *file, struct sc__str text);

/* GPUs that the words of a command ask for: --nproc_per_node × --nnodes, and the
 * names of other launchers; 0: they do not say. */
uint32_t sc__launch_world(const char *const *words, uint32_t count);
/* GPUs that the command that trains asks for, with its words or, of launchers that look
 * there, in its environment; 0: it does not say. */
uint32_t sc__launch_asks(const struct sc__launch *l);
/* Hosts of which it takes all GPUs, however many those are; 0: it does not say. */
uint32_t sc__launch_hosts(const struct sc__launch *l);
/* The file of accelerate that would say how many; NULL: it is given none. */
const char *sc__launch_counted_in(const struct sc__launch *l);
/* Whether a launcher starts the ranks, and not srun, mpirun or the script one each. */
bool sc__launch_starts_ranks(const struct sc__shell_command *command);
/* The variables that SLURM sets for the #SBATCH lines of a script; PBS_GPUS: those of its
 * #PBS lines. */
void sc__launch_slurm(struct sc__arena *arena,
                      struct sc__str text,
                      struct sc__setting_list *out);

#endif
