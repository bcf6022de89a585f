/* config: configurations of training programs (YAML, JSON, TOML) as flags of a
 * launch. config_keys.c reads any of them as a list of keys with dots between;
 * config_python.c the values of a recipe in Python, config_dictionaries.c those of
 * dictionaries; config_interpolate.c looks up what values say of each other; config_kind.c
 * knows whose keys they are, config_formats.c what they mean. */
#ifndef SC_LAUNCH_CONFIG_H
#define SC_LAUNCH_CONFIG_H

#include "launch/launch.h"

struct sc__config_item {
    const char *key;  /* "zero_optimization.stage" */
    const char *last; /* its last part */
    const char *value;
    uint32_t line;
    uint32_t column; /* 0: not known */
    bool asked;      /* its value was looked at */
    bool not_whole;  /* a whole number was wanted of it, and it is another one */
    bool plain;      /* YAML without quotes, where yes and off are no text */
    bool bare;       /* a flag of a command with nothing behind it */
};

struct sc__config {
    struct sc__config_item *items;
    uint32_t count;
    uint32_t capacity;
    /* key and line of a list without an entry, the last one; NULL: none */
    const char *empty;
    uint32_t empty_line;
};

enum sc__config_kind {
    SC__CONFIG_NONE, /* a launch script */
    SC__CONFIG_MEGATRON,
    SC__CONFIG_NEOX,
    SC__CONFIG_DEEPSPEED,
    SC__CONFIG_TORCHTITAN,
    SC__CONFIG_TRAINER, /* Axolotl, LLaMA-Factory, TrainingArguments */
    SC__CONFIG_MAXTEXT,
    SC__CONFIG_NESTED, /* Megatron's names with underscores: FlagScale, Primus, NeMo */
    SC__CONFIG_NANOTRON,
    SC__CONFIG_OLMO,
    SC__CONFIG_AUTOMODEL,
    SC__CONFIG_FOUNDRY,
    SC__CONFIG_TORCHTUNE,
    SC__CONFIG_INTERNEVO
};

/* Whose configuration it is, by its keys; SC__CONFIG_NONE: nobody's that is known. */
enum sc__config_kind sc__config_kind_of(const struct sc__config *c);
/* Whose it is in words. */
const char *sc__config_kind_name(enum sc__config_kind kind);
/* The profile of data/software that it runs with; NULL: it says none. */
const char *sc__config_software(const struct sc__config *c, enum sc__config_kind kind);
/* By the name of its file or by how it begins. */
bool sc__config_looks_like_toml(const struct sc__launch *l);
bool sc__config_looks_like_yaml(const struct sc__launch *l);
bool sc__config_looks_like_python(const struct sc__launch *l);

struct sc__config_key {
    unsigned kinds;  /* bits of enum sc__config_kind */
    const char *key; /* at any depth; "=key": in no section */
    const char *flag;
    /* NULL: the value itself; "": a switch, given where the value is true; else "from=to"
     * with blanks between, and "*" where other values pass as they are. */
    const char *words;
};
extern const struct sc__config_key sc__config_keys[]; /* ended by a NULL key */

sc_status sc__config_read_yaml(struct sc_context *ctx,
                               const char *file,
                               struct sc__str text,
                               struct sc__config *out);
sc_status sc__config_read_toml(struct sc_context *ctx,
                               const char *file,
                               struct sc__str text,
                               struct sc__config *out);

/* What YAML 1.1 has for a truth value becomes true or false: PyYAML and OmegaConf, with
 * which training programs read their configurations, take yes, on, no and off for one. */
void sc__config_yaml_truth(struct sc__config *c);

/* The values under names of a recipe in Python. */
void sc__config_read_python(struct sc_context *ctx,
                            struct sc__str text,
                            struct sc__config *out);
/* The preset that a class (Llama3Config8B), a module of recipes or, where quotes count, an
 * id in quotes names, or NULL; *other: a second one, where there is. */
const char *sc__config_python_model(struct sc_context *ctx,
                                    struct sc__str text,
                                    bool quotes,
                                    const char **other);
/* Keys under `parameters` of a run of MosaicML's platform as those of its program. */
void sc__config_unwrap_run(struct sc__config *c);
/* Puts the values in that others name ("${.hidden_size}"). */
void sc__config_interpolate(struct sc_context *ctx, struct sc__config *c);

/* Whether a key is this one, or ends in ".key"; "=key" stands in no section. GPT-NeoX takes
 * dashes for underscores. */
bool sc__config_key_is(const char *whole, const char *key);
/* The value of the first item whose key it is. */
const char *sc__config_value(const struct sc__config *c, const char *key);

bool sc__config_has(const struct sc__config *c, const char *key);

/* That of the first item with this very key, in no section. */
const char *sc__config_exact(const struct sc__config *c, const char *key);
/* A whole number as YAML and Python write it: 262144, 262_144, 5e8, 4.0. */
bool sc__config_whole(const char *value, uint64_t *out);
/* The whole number under a key, or what is usual. */
uint32_t sc__config_number(const struct sc__config *c, const char *key, uint32_t usual);
/* A value that leaves a key open (null, auto), one that is yes, and one that is no. */
bool sc__config_nothing(const char *value);
bool sc__config_true(const char *value);
bool sc__config_false(const char *value);
/* Whether a key is there and says yes; or what is usual where it is not there. */
bool sc__config_on(const struct sc__config *c, const char *key);
bool sc__config_on_or(const struct sc__config *c, const char *key, bool usual);
/* Whether one of these keys does, which a NULL ends. All of them are asked, so that none is
 * said to count for nothing beside another that says the same. */
bool sc__config_any_on(const struct sc__config *c, const char *const *keys);

/* Weights are sharded within each of so many copies, over what the GPUs leave. */
void sc__config_copies(struct sc__launch *l, uint64_t copies, struct sc__flag_list *out);

/* A batch of one replica, which stages of a pipeline take in pieces. */
struct sc__config_batch {
    uint32_t local;
    uint32_t stages;
    uint32_t piece;
    const char *piece_key;
    const char *runs; /* the flag for how many pieces there are */
};
sc_status sc__config_local_batch(struct sc__launch *l,
                                 const struct sc__config_batch *b,
                                 struct sc__flag_list *out);

/* The arguments of a command as keys; one without a value is true. */
void sc__config_read_words(const struct sc__launch *l, struct sc__config *c);
/* One flag more of those that several keys stand for together. */
void sc__config_add(struct sc__launch *l,
                    struct sc__flag_list *out,
                    const char *name,
                    const char *value);
/* Says that a key changes the step and is not modelled, where that is so. */
void sc__config_note_not_modelled(const struct sc__launch *l,
                                  struct sc__config_item *item,
                                  enum sc__config_kind kind);
/* A value that hangs on what is not known is refused, unless the option is given. */
sc_status sc__config_known(const struct sc__launch *l,
                           const struct sc__config_item *item,
                           const char *flag);
/* What nobody asked for and by its name changes the step: a degree of parallelism is
 * refused, the rest is noted. */
sc_status sc__config_note_unread(const struct sc__launch *l,
                                 const struct sc__config *c,
                                 enum sc__config_kind kind);
/* `accelerate launch` and `trl`: what a trainer reads may stand in a file that is named
 * behind them. */
bool sc__config_launches_trainer(const char *const *words, uint32_t count);
/* Flags by which a trainer of Hugging Face is known (sc__config_trainer_script). */
bool sc__config_of_a_trainer(const char *flag);
/* What it keeps on the host, as flags. */
void sc__config_offload(struct sc__launch *l,
                        const struct sc__config *c,
                        enum sc__config_kind kind,
                        struct sc__flag_list *out);
/* In which types the optimizer's state is kept, where its name says it. */
void sc__config_optimizer(struct sc__launch *l,
                          const struct sc__config *c,
                          enum sc__config_kind kind,
                          struct sc__flag_list *out);
/* The parameters of a bucket, of which DeepSpeed's files may say more than there can be. */
const char *sc__config_bucket(const struct sc__launch *l,
                              const struct sc__config_item *item,
                              const char *value);
/* What NeMo 1 says by several keys. */
void sc__config_nemo(struct sc__launch *l,
                     const struct sc__config *c,
                     struct sc__flag_list *out);
/* What GPT-NeoX takes where it is silent, and its feed-forward. */
sc_status sc__config_neox(struct sc__launch *l,
                          const struct sc__config *c,
                          struct sc__flag_list *out);

/* What a trainer of Hugging Face trains: everything, or adapters. */
struct sc__config_lora {
    const char *rank;
    const char *targets;
    const char *dropout; /* the key of its rate */
};

/* The configuration that LLaMA-Factory's and Axolotl's commands are given, or NULL. */
const char *sc__launch_configuration(const char *const *words, uint32_t count);
/* Whether flags of a script say what is trained, and not such a configuration. */
bool sc__launch_is_script(const struct sc__launch *l);
/* Adds the keys of files that c names: launch_beside.c. */
sc_status sc__config_read_beside(const struct sc__launch *l, struct sc__config *c);
/* The stage of ZeRO in the name of DeepSpeed's file, as a text; NULL: it says none. */
const char *sc__config_deepspeed_stage(const char *name);
/* Whether accelerate's file of that name is one of FSDP. */
bool sc__config_fsdp_file(const char *name);
/* The file of accelerate that a launch names and that was not read, or NULL. */
const char *sc__config_accelerate_file(const struct sc__config *c);
/* What is written of the linear layers that have adapters; NULL: nothing. */
const char *sc__config_lora_targets(struct sc__launch *l, const struct sc__config *c);
/* A job of SkyPilot or Kubernetes: its launch becomes the text of l (config_jobs.c). */
bool sc__config_job(struct sc__launch *l, const struct sc__config *c);
/* Whether the words of a launch are those of a trainer of Hugging Face, or of its kin. */
bool sc__config_names_trainer(const struct sc__config *c);
/* Whether it is a launch of OpenRLHF. */
bool sc__config_openrlhf(const struct sc__config *c);
/* Whether it is one of Colossal-AI's examples, and whether PyTorch's FSDP shards there. */
bool sc__config_colossal(const struct sc__config *c);
bool sc__config_colossal_fsdp(const struct sc__config *c);
/* What such a launch says (config_colossal.c). */
sc_status sc__config_take_colossal(struct sc__launch *l,
                                   const struct sc__config *c,
                                   struct sc__flag_list *out);
/* The flags of one letter of its benchmarks as keys. */
void sc__config_colossal_letters(struct sc__launch *l, struct sc__config *c);
/* Programs of FSDP with words of their own (fms-fsdp): --sharding_strategy, and a
 * --batch_size that is a rank's. */
bool sc__config_own_fsdp(const struct sc__config *c);
/* The profile of what runs the steps of a trainer. */
const char *sc__config_trainer_software(const struct sc__config *c);
/* Whether DeepSpeed or FSDP runs it, which keep main weights of their own. */
bool sc__config_engine(const struct sc__launch *l,
                       const struct sc__config *c,
                       const struct sc__flag_list *flags);
/* A name behind the others of a list with commas. */
void sc__config_put_name(struct sc__buffer *list, const char *name);
/* Adapters of a rank beside the targets (NULL: those that peft takes), with dropout where
 * the rate under a key is above 0. */
void sc__config_add_adapters(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out,
                             const struct sc__config_lora *lora);
sc_status sc__config_adapters(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out);
/* fp32, where the half-precision types are said to be off. */
void sc__config_precision(struct sc__launch *l,
                          const struct sc__config *c,
                          enum sc__config_kind kind,
                          struct sc__flag_list *out);

/* What keys of one program say together, as flags. */
sc_status sc__config_torchtitan(struct sc__launch *l,
                                const struct sc__config *c,
                                struct sc__flag_list *out);
sc_status sc__config_trainer(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out);
sc_status sc__config_maxtext(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out);
sc_status sc__config_nanotron(struct sc__launch *l,
                              const struct sc__config *c,
                              struct sc__flag_list *out);
sc_status sc__config_olmo(struct sc__launch *l,
                          const struct sc__config *c,
                          struct sc__flag_list *out);
sc_status sc__config_automodel(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out);
sc_status sc__config_foundry(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out);
/* Weights whole on every GPU, with Composer's words for a precision, which OLMo has too. */
void sc__config_copy_weights(struct sc__launch *l,
                             const struct sc__config *c,
                             struct sc__flag_list *out);
sc_status sc__config_torchtune(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out);
/* Dictionaries in Python (config_dictionaries.c). */
void sc__config_read_dictionaries(struct sc__launch *l,
                                  struct sc__str text,
                                  struct sc__config *c);
/* Configurations of InternEvo, which are such (config_internevo.c). */
bool sc__config_is_internevo(struct sc__str text);
/* One value of Python in which every call is a section, under a key. */
void sc__config_read_call(struct sc__launch *l,
                          struct sc__config *c,
                          struct sc__str text,
                          uint32_t line,
                          const char *key);
/* config_registry.c: a function of torchtitan's config_registry.py. */
bool sc__config_is_registry(struct sc__str text);
sc_status sc__config_read_registry(struct sc__launch *l, struct sc__config *c);
/* Models of torchtitan go by a name and a flavor; NULL: not known. */
const char *
sc__config_titan_preset(struct sc__arena *arena, const char *name, const char *flavor);
sc_status sc__config_internevo(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out);
/* A command whose program takes its settings as words name=value: whose they are (of verl's
 * trainer of supervised fine-tuning SC__CONFIG_TRAINER, of MaxText SC__CONFIG_MAXTEXT), or
 * SC__CONFIG_NONE (launch_settings.c). */
enum sc__config_kind sc__launch_settings(const char *const *words, uint32_t count);
/* The same of torchtitan, torchtune, NeMo 1 and InternEvo (launch_overrides.c), whose
 * settings c has. */
sc_status sc__config_read_overrides(struct sc__launch *l,
                                    enum sc__config_kind kind,
                                    struct sc__config *c);
/* A key behind those there are; line 0: of another file. */
void sc__config_put(struct sc__launch *l,
                    struct sc__config *c,
                    const char *key,
                    const char *value,
                    uint32_t line);
/* The same, but that it takes the place of one that there is: of settings the last counts.
 */
void sc__config_set(struct sc__launch *l,
                    struct sc__config *c,
                    const char *key,
                    const char *value,
                    uint32_t line);
/* Adds the keys of a file that lies beside the launch, or that it writes, where c does not
 * say them itself. */
sc_status sc__config_take_beside(const struct sc__launch *l,
                                 const char *name,
                                 struct sc__config *c,
                                 bool *found);
/* Adds those settings, and what the program takes where they are silent. */
sc_status sc__config_read_settings(struct sc__launch *l,
                                   enum sc__config_kind kind,
                                   struct sc__config *c);
/* The note of copies of the weights of which the file does not say how many. */
void sc__config_note_hybrid(const struct sc__launch *l);
/* The note of what a file does not say, and what that is in its program. */
void sc__config_note_default(const struct sc__launch *l,
                             const char *key,
                             const char *value);
/* That value as a flag, with this note, unless an option says it. */
void sc__config_add_default(struct sc__launch *l,
                            struct sc__flag_list *out,
                            const char *key,
                            const char *flag,
                            const char *value);
/* A key that c does not have with the value that its program gives it, and a note unless an
 * option says the flag it stands for. */
void sc__config_usual(struct sc__launch *l,
                      struct sc__config *c,
                      const char *key,
                      const char *flag,
                      const char *value);
/* Whether a command is `swift sft` and its like (of one task, or NULL); what it means where
 * it is silent (config_swift.c). */
bool sc__launch_runs_swift(const char *const *words, uint32_t count, const char *task);
void sc__config_swift(struct sc__launch *l, struct sc__config *c);
/* How many words of a command are settings. */
uint32_t sc__launch_setting_count(const char *const *words, uint32_t count);
/* The error of a script without flags that mean something; hint: where it has no such
 * settings either. */
sc_status sc__launch_no_flags(struct sc__launch *l, const char *hint);
/* Whether they are verl's; whether it is a launch of Llama recipes. */
bool sc__config_verl(const struct sc__config *c);
bool sc__config_llama_recipes(const struct sc__config *c);
/* An id of Hugging Face that is a preset, or a path. */
sc_status sc__config_model_id(struct sc__launch *l,
                              const struct sc__config_item *item,
                              struct sc__flag_list *out);
/* The file that Primus names for the model, or NULL. */
const char *sc__config_primus_model(const struct sc__config *c);
/* It names classes of NeMo Automodel. */
bool sc__config_is_automodel(const struct sc__config *c);
/* It names functions and classes of torchtune. */
bool sc__config_is_torchtune(const struct sc__config *c);
/* The preset that a name in a configuration means, without the ending of a file. */
sc_status
sc__config_preset(struct sc__launch *l, const char *name, struct sc__flag_list *out);

/* Where the value of a flag stands in the configuration of a launch (self); false: it is
 * none, the command line gives it, or no key of its own does. */
bool sc__config_where(const void *self, const char *name, struct sc__place *at);

/* The words of the flags that the configuration stands for, into l; *kind says whose
 * it is, SC__CONFIG_NONE where it is no configuration. */
sc_status sc__config_words(struct sc__launch *l, enum sc__config_kind *kind);
/* A script that calls a trainer of Hugging Face (--model_name_or_path …): its words
 * become those that its arguments stand for. */
sc_status sc__config_trainer_script(struct sc__launch *l);

#endif
