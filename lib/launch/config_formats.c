/* config_formats: what the keys of a configuration mean as flags.
 *
 * A key that stands in a table becomes its flag; one of a program that takes
 * Megatron's names with underscores (FlagScale, Primus, NeMo, Megatron-Bridge) the
 * flag of that name. Keys that say nothing about a step are passed over. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

static void add_word(struct sc__launch *l, uint32_t *capacity, const char *word) {
    *SC__PUSH(&l->ctx->arena, l->words, l->count, *capacity) = word;
}

struct config_taking {
    struct sc__launch *l;
    const struct sc__config *c;
    enum sc__config_kind kind;
    uint32_t capacity;
};

static void add_flag(struct config_taking *t, const char *flag, const char *value) {
    add_word(t->l, &t->capacity, sc__format(&t->l->ctx->arena, "--%s", flag));
    if (value && *value)
        add_word(t->l, &t->capacity, value);
}

/* What "from=to" words make of a value: NULL: none of them; "-": nothing. */
static const char *mapped(struct sc__arena *arena, const char *words, const char *value) {
    struct sc__str rest = sc__str(words);
    struct sc__str word;
    while (sc__split(&rest, ' ', &word)) {
        struct sc__str to = word;
        struct sc__str from;
        if (sc__str_is(word, "*"))
            return value;
        sc__split(&to, '=', &from);
        if (sc__str_is(from, "*") || sc__str_is_any_case(from, value))
            return to.p ? sc__strndup(arena, to.p, to.n) : "";
    }
    return NULL;
}

/* What may stand before "=" in them, for a hint. */
static const char *known_words(struct sc__arena *arena, const char *words) {
    struct sc__buffer b;
    struct sc__str rest = sc__str(words);
    struct sc__str word;
    sc__buffer_init(&b, arena);
    while (sc__split(&rest, ' ', &word)) {
        struct sc__str from;
        sc__split(&word, '=', &from);
        sc__printf(&b, "%s%.*s", b.size ? ", " : "of these we know: ", SC__SHOW(from));
    }
    return b.text;
}

/* Options take digits alone: 262_144 and 5e8 of YAML become them. */
static const char *plain_number(struct sc__arena *arena, const char *value) {
    uint64_t whole;
    if (!strpbrk(value, "_eE") || !sc__config_whole(value, &whole))
        return value;
    return sc__format(arena, "%" PRIu64, whole);
}

static void add_flags(struct config_taking *t, const struct sc__flag_list *flags);

/* A value that the option would refuse has a place here. */
static sc_status check_value(const struct config_taking *t,
                             const struct sc__config_item *item,
                             const char *flag,
                             const char *value) {
    struct sc__place at = {.file = t->l->file, .line = item->line, .column = item->column};
    const struct sc__option *o = sc__option_find(t->l->known, flag);
    if (!o || !item->line || sc__launch_overridden(t->l, flag))
        return SC_OK;
    return sc__option_check(t->l->ctx, o, value, &at);
}

/* "--per_device_train_batch_size $BS" with a BS that has no value. */
static sc_status refuse_bare(const struct config_taking *t,
                             const struct sc__config_key *k,
                             const struct sc__config_item *item) {
    struct sc__buffer names;
    if (!item->bare || k->words || sc__launch_overridden(t->l, k->flag))
        return SC_OK;
    sc__buffer_init(&names, &t->l->ctx->arena);
    for (uint32_t i = 0; i < t->l->shell.unset_count && i < 12; i++)
        sc__printf(&names,
                   "%s%s",
                   i ? ", " : "variables without a value: ",
                   t->l->shell.unset[i].name);
    if (names.size)
        sc__puts(&names, "; give them with --set NAME=value");
    return sc__launch_fail(t->l,
                           item->line,
                           names.size ? names.text : NULL,
                           "--%.60s has no value",
                           item->key);
}

/* What a file denies, a profile that --software names is not to fill in. */
static void take_denied(struct config_taking *t, const char *flag) {
    static const char *const opposites[][3] = {
        {"overlap-grad-reduce", "overlap-grad", "no"},
        {"overlap-param-gather", "overlap-param", "no"},
        {"overlap-moe-expert-parallel-comm", "overlap-moe", "no"},
        {"sequence-parallel", "no-sequence-parallel", NULL},
        {"fp8-param-gather", "no-fp8-param-gather", NULL},
        {"fp8-dot-product-attention", "no-fp8-dot-product-attention", NULL}};
    bool filled = sc__launch_overridden(t->l, "software");
    for (size_t i = 0; filled && i < sizeof opposites / sizeof *opposites; i++)
        if (!strcmp(flag, opposites[i][0]))
            add_flag(t, opposites[i][1], opposites[i][2]);
}

static sc_status take_key(struct config_taking *t,
                          const struct sc__config_key *k,
                          const struct sc__config_item *item) {
    struct sc__arena *arena = &t->l->ctx->arena;
    const char *value = plain_number(arena, item->value);
    SC__TRY(refuse_bare(t, k, item));
    SC__TRY(sc__config_known(t->l, item, k->flag));
    if (!strcmp(k->flag, "model")) {
        struct sc__flag_list flags = {0};
        SC__TRY(sc__config_model_id(t->l, item, &flags));
        add_flags(t, &flags);
        return SC_OK;
    }
    if (!k->words) {
        double number;
        /* 1.0 for 1, as YAML of Python has it */
        size_t n = strlen(value);
        if (n > 2 && !strcmp(value + n - 2, ".0") &&
            sc__parse_double(sc__str(value), &number))
            value = sc__strndup(arena, value, n - 2);
        if (sc__config_nothing(value))
            return SC_OK;
        SC__TRY(check_value(t, item, k->flag, value));
        add_flag(t, k->flag, value);
        return SC_OK;
    }
    if (!*k->words) {
        if (sc__config_true(value))
            add_flag(t, k->flag, NULL);
        else if (sc__config_false(value))
            take_denied(t, k->flag);
        return SC_OK;
    }
    if (!strcmp(k->flag, "ddp-bucket-size"))
        value = sc__config_bucket(t->l, item, value);
    const char *to = sc__config_nothing(value) && !strstr(k->words, "none=")
                         ? "-"
                         : mapped(arena, k->words, value);
    if (!to)
        return sc__fail(t->l->ctx,
                        SC_INPUT,
                        &(struct sc__place){.file = t->l->file,
                                            .line = item->line,
                                            .column = item->column},
                        known_words(arena, k->words),
                        "%s: unknown '%.60s'",
                        item->key,
                        value);
    if (strcmp(to, "-"))
        add_flag(t, k->flag, to);
    return SC_OK;
}

static const char *dashed(struct sc__arena *arena, const char *key) {
    char *name = sc__strdup(arena, key);
    for (char *c = name; *c; c++)
        if (*c == '_')
            *c = '-';
    return name;
}

/* A key that is a flag of Megatron's with underscores for dashes; those that change the
 * step and are not modelled become words, too, and a note of take_flags. */
static void take_megatron_name(struct config_taking *t,
                               const struct sc__config_item *item) {
    static const char *const others[] = {"model",
                                         "optimizer",
                                         "precision",
                                         "gpu",
                                         "batch-size", /* of validation, of all GPUs … */
                                         NULL};
    const char *name = dashed(&t->l->ctx->arena, item->last);
    const char *why;
    struct sc__flag as;
    for (const char *const *o = others; *o; o++)
        if (!strcmp(name, *o))
            return;
    /* it is that of a precision-aware optimizer (optimizer_config.py), and counts with it
     */
    const char *aware = sc__config_value(t->c, "use_precision_aware_optimizer");
    if (!strcmp(name, "main-grads-dtype") && (!aware || !sc__config_true(aware)))
        return;
    /* Primus' files have a rank for the day when it is switched on */
    if (!strcmp(name, "lora-rank") && sc__config_value(t->c, "use_lora") &&
        !sc__config_on(t->c, "use_lora"))
        return;
    enum sc__flag_kind kind = sc__flag_kind(t->l->known, name, &as, &why);
    bool off = sc__str_is_any_case(sc__str(item->value), "false");
    bool on = sc__config_true(item->value);
    if (kind == SC__FLAG_NOT_MODELLED && !off && !sc__config_nothing(item->value))
        add_flag(t, name, on ? NULL : item->value);
    if (kind != SC__FLAG_ACTS)
        return;
    bool takes_value = !as.value && sc__option_find(t->l->known, as.name)->arg;
    /* none, whatever the model has */
    if (!strcmp(name, "mtp-num-layers") && sc__config_nothing(item->value))
        add_flag(t, name, "0");
    if (off)
        take_denied(t, as.name);
    else if (!takes_value && on)
        add_flag(t, name, NULL);
    else if (takes_value && !sc__config_nothing(item->value))
        add_flag(t, name, item->value);
}

/* "${NAME}" is a variable that --set gives. */
static const char *put_variables(struct config_taking *t, const char *value) {
    struct sc__launch *l = t->l;
    struct sc__buffer b;
    sc__buffer_init(&b, &l->ctx->arena);
    while (*value) {
        const char *end = value[0] == '$' && value[1] == '{' ? strchr(value, '}') : NULL;
        if (!end) {
            sc__putc(&b, *value++);
            continue;
        }
        struct sc__str name = {value + 2, (size_t)(end - value) - 2};
        const char *given = NULL;
        for (size_t i = 0; i < l->pinned.count; i++)
            if (sc__str_is(name, l->pinned.items[i].name))
                given = l->pinned.items[i].value;
        sc__puts(&b, given ? given : "");
        value = end + 1;
    }
    return b.text ? b.text : "";
}

/* --num-layers: 61, as Megatron's own tests write them */
static void take_flag_key(struct config_taking *t, const struct sc__config_item *item) {
    const char *value = put_variables(t, item->value);
    if (!strcmp(value, "false"))
        return;
    add_word(t->l, &t->capacity, item->last);
    if (strcmp(value, "true"))
        add_word(t->l, &t->capacity, value);
}

/* A size of the model that would be passed over: that of another one would be told. */
static sc_status refuse_shape(const struct config_taking *t,
                              const struct sc__config_item *item) {
    const char *name = dashed(&t->l->ctx->arena, item->last);
    struct sc__flag as;
    const char *why = "by its name it shapes the model, and it is not known there";
    uint32_t number = 0;
    enum sc__flag_kind kind = sc__flag_kind(t->l->known, name, &as, &why);
    /* a name of Megatron's that this program does not have */
    bool foreign = t->kind != SC__CONFIG_NESTED && kind == SC__FLAG_ACTS &&
                   sc__flag_shapes_model(name);
    bool on = kind == SC__FLAG_REFUSED && sc__config_true(item->value);
    if (!on && (!sc__parse_u32(sc__str(item->value), &number) || !number ||
                (kind != SC__FLAG_REFUSED && !foreign)))
        return SC_OK;
    return sc__launch_fail(t->l,
                           item->line,
                           "take the key out to forecast the model without it",
                           "%.60s: %s",
                           item->key,
                           why);
}

/* A list where one value is wanted: its entries have keys of their own ("batch_size.0"),
 * and would be passed over. */
static sc_status refuse_list(const struct config_taking *t,
                             const struct sc__config_key *k,
                             const struct sc__config_item *item) {
    struct sc__str key = sc__str(item->key);
    if (k->words || !sc__str_ends(key, ".0")) /* "0" alone is a key like others */
        return SC_OK;
    const char *owner = sc__strndup(&t->l->ctx->arena, key.p, key.n - strlen(".0"));
    if (!sc__config_key_is(owner, k->key))
        return SC_OK;
    return sc__launch_fail(t->l,
                           item->line,
                           NULL,
                           "%.60s takes one value, not a list",
                           owner);
}

static sc_status take_item(struct config_taking *t, struct sc__config_item *item) {
    sc__config_note_not_modelled(t->l, item, t->kind);
    if (t->kind == SC__CONFIG_MEGATRON) {
        if (!strncmp(item->last, "--", 2))
            take_flag_key(t, item);
        return SC_OK;
    }
    for (const struct sc__config_key *k = sc__config_keys; k->key; k++) {
        if (!(k->kinds & (1u << t->kind)))
            continue;
        if (sc__config_key_is(item->key, k->key)) {
            item->asked = true;
            return take_key(t, k, item);
        }
        SC__TRY(refuse_list(t, k, item));
    }
    if (t->kind == SC__CONFIG_NESTED)
        take_megatron_name(t, item);
    bool describes_model = t->kind == SC__CONFIG_NESTED || t->kind == SC__CONFIG_NEOX ||
                           t->kind == SC__CONFIG_MAXTEXT || t->kind == SC__CONFIG_OLMO ||
                           t->kind == SC__CONFIG_NANOTRON || t->kind == SC__CONFIG_FOUNDRY;
    return describes_model ? refuse_shape(t, item) : SC_OK;
}

/* ---- what several keys say together ---- */

void sc__config_add(struct sc__launch *l,
                    struct sc__flag_list *out,
                    const char *name,
                    const char *value) {
    *SC__PUSH(&l->ctx->arena, out->items, out->count, out->capacity) =
        (struct sc__flag){name, value};
}

void sc__config_copies(struct sc__launch *l, uint64_t copies, struct sc__flag_list *out) {
    if (copies > 1 && !sc__launch_overridden(l, "shard-group"))
        sc__config_add(l,
                       out,
                       "num-distributed-optimizer-instances",
                       sc__format(&l->ctx->arena, "%" PRIu64, copies));
}

static void add_flags(struct config_taking *t, const struct sc__flag_list *flags) {
    for (uint32_t i = 0; i < flags->count; i++)
        add_flag(t, flags->items[i].name, flags->items[i].value);
}

static void take_several(struct config_taking *t) {
    struct sc__flag_list flags = {0};
    sc__config_offload(t->l, t->c, t->kind, &flags);
    sc__config_optimizer(t->l, t->c, t->kind, &flags);
    sc__config_precision(t->l, t->c, t->kind, &flags);
    if (t->kind == SC__CONFIG_NESTED)
        sc__config_nemo(t->l, t->c, &flags);
    add_flags(t, &flags);
}

sc_status sc__config_local_batch(struct sc__launch *l,
                                 const struct sc__config_batch *b,
                                 struct sc__flag_list *out) {
    struct sc__arena *arena = &l->ctx->arena;
    uint32_t each = b->stages > 1 ? b->piece : b->local;
    sc__config_add(l, out, "micro-batch", sc__format(arena, "%" PRIu32, each));
    if (b->stages <= 1 || !b->piece)
        return SC_OK;
    bool divides = b->local % b->piece == 0;
    if (!divides && sc__launch_overridden(l, "micro-batch"))
        return SC_OK;
    if (!divides)
        return sc__launch_fail(l,
                               0,
                               "give --micro-batch, and --global-batch or --micro-batches",
                               "a local batch of %" PRIu32 " does not go through the "
                               "pipeline in pieces of %" PRIu32 " (%s)",
                               b->local,
                               b->piece,
                               b->piece_key);
    sc__config_add(l, out, b->runs, sc__format(arena, "%" PRIu32, b->local / b->piece));
    return SC_OK;
}

const char *sc__config_primus_model(const struct sc__config *c) {
    const char *model = sc__config_value(c, "pre_trainer.model");
    return model ? model : sc__config_value(c, "post_trainer.model");
}

/* NeMo 1, FlagScale, Primus' Megatron and files of Megatron-LM change what Megatron-Core is
 * told only where a key says so; recipes of NeMo 2 and Megatron-Bridge (which trains after
 * pretraining in Primus) are functions that set more than is seen. */
static bool leaves_core_defaults(const struct sc__config *c) {
    static const char *const keys[] = {"=train.global_batch_size",
                                       "=train.micro_batch_size",
                                       "=train.train_iters",
                                       "=trainer.strategy.tensor_model_parallel_size",
                                       "post_trainer.model",
                                       NULL};
    for (const char *const *key = keys; *key; key++)
        if (sc__config_has(c, *key))
            return false;
    return true;
}

/* Primus names a file of its own for the model, and may take its latent attention away. */
static sc_status take_primus(struct config_taking *t) {
    const char *model = sc__config_primus_model(t->c);
    const char *latent = sc__config_value(t->c, "multi_latent_attention");
    if (!model)
        return SC_OK;
    if (latent && sc__config_false(latent))
        add_flag(t, "no-multi-latent-attention", NULL);
    struct sc__flag_list flags = {0};
    SC__TRY(sc__config_preset(t->l, model, &flags));
    add_flags(t, &flags);
    return SC_OK;
}

/* Flags that launch_follow.c looks at among the words. */
static void take_followed(struct config_taking *t) {
    static const char *const keys[] = {"multiple_of",
                                       "hidden_dim_multiplier",
                                       "schedules_method",
                                       "attention_backend",
                                       "transformer_impl",
                                       "tokenizer_type",
                                       "tokenizer_model",
                                       NULL};
    for (const char *const *key = keys; *key; key++) {
        const char *value = sc__config_value(t->c, *key);
        if (value && !sc__config_nothing(value))
            add_flag(t, dashed(&t->l->ctx->arena, *key), value);
    }
}

/* Published files often name the devices of one node for a plan that needs many. */
static bool fits_a_node(const struct sc__config *c, uint32_t local) {
    uint64_t ranks = sc__config_number(c, "tensor_model_parallel_size", 1);
    ranks *= sc__config_number(c, "pipeline_model_parallel_size", 1);
    return ranks <= local &&
           ranks * sc__config_number(c, "context_parallel_size", 1) <= local;
}

static void take_nodes(struct config_taking *t) {
    uint32_t nodes = sc__config_number(t->c, "num_nodes", 0);
    /* NeMo Run's recipes have helpers with other devices beside it */
    uint32_t local = sc__config_number(t->c, "num_gpus_per_node", 0);
    if (!local)
        local = sc__config_number(t->c, "devices", 0);
    if (!local)
        local = sc__config_number(t->c, "nproc_per_node", 0);
    if (!nodes)
        nodes = sc__config_number(t->c, "nnodes", 0);
    /* all there are, as Lightning has it */
    const char *devices = local ? NULL : sc__config_value(t->c, "devices");
    if (devices && (!strcmp(devices, "-1") || !strcmp(devices, "auto")))
        t->l->all_of_hosts = nodes ? nodes : 1;
    bool said = sc__config_has(t->c, "num_nodes") || sc__config_has(t->c, "nnodes");
    if (!said && local && fits_a_node(t->c, local)) {
        nodes = 1; /* num_nodes of Lightning's Trainer and of NeMo 2's recipes */
        if (!sc__launch_overridden(t->l, "gpus"))
            sc__config_note_default(t->l, "num_nodes", "1");
    }
    if (nodes && local && (uint64_t)nodes * local <= UINT32_MAX)
        add_flag(t, "gpus", sc__format(&t->l->ctx->arena, "%u", nodes * local));
}

/* A list in YAML, as words behind one flag. */
static void take_modules(struct config_taking *t) {
    bool any = false;
    for (uint32_t i = 0; i < t->c->count; i++) {
        const char *list = strstr(t->c->items[i].key, "recompute_modules.");
        if (!list)
            continue;
        if (!any)
            add_flag(t, "recompute-modules", NULL);
        any = true;
        add_word(t->l, &t->capacity, t->c->items[i].value);
    }
}

static sc_status take_nested(struct config_taking *t) {
    if (t->kind != SC__CONFIG_NESTED)
        return SC_OK;
    SC__TRY(take_primus(t));
    take_followed(t);
    take_nodes(t);
    take_modules(t);
    return SC_OK;
}

/* Numbers that were asked for and are not whole would be passed over. */
static sc_status refuse_parts(const struct config_taking *t) {
    for (uint32_t i = 0; i < t->c->count; i++)
        if (t->c->items[i].not_whole)
            return sc__launch_fail(t->l,
                                   t->c->items[i].line,
                                   NULL,
                                   "%.60s takes a whole number, not %.40s",
                                   t->c->items[i].key,
                                   t->c->items[i].value);
    return SC_OK;
}

/* What keys of one program say together. */
static sc_status take_program(struct config_taking *t) {
    struct sc__flag_list flags = {0};
    if (t->kind == SC__CONFIG_NEOX)
        SC__TRY(sc__config_neox(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_TORCHTITAN)
        SC__TRY(sc__config_torchtitan(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_TRAINER)
        SC__TRY(sc__config_trainer(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_MAXTEXT)
        SC__TRY(sc__config_maxtext(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_NANOTRON)
        SC__TRY(sc__config_nanotron(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_OLMO)
        SC__TRY(sc__config_olmo(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_AUTOMODEL)
        SC__TRY(sc__config_automodel(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_FOUNDRY)
        SC__TRY(sc__config_foundry(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_TORCHTUNE)
        SC__TRY(sc__config_torchtune(t->l, t->c, &flags));
    if (t->kind == SC__CONFIG_INTERNEVO)
        SC__TRY(sc__config_internevo(t->l, t->c, &flags));
    add_flags(t, &flags);
    return refuse_parts(t);
}

/* ---- recipes in Python ---- */

/* A key that decides the step has one value, or the command line gives it. */
static sc_status one_value(const struct config_taking *t,
                           const struct sc__config_item *item,
                           bool *repeated) {
    const char *flag = dashed(&t->l->ctx->arena, item->last);
    *repeated = false;
    if (sc__launch_overridden(t->l, flag))
        return SC_OK;
    for (const struct sc__config_item *before = t->c->items; before < item; before++) {
        if (strcmp(before->last, item->last) != 0)
            continue;
        *repeated = true;
        if (strcmp(before->value, item->value) != 0 && sc__option_find(t->l->known, flag))
            return sc__launch_fail(t->l,
                                   item->line,
                                   sc__format(&t->l->ctx->arena,
                                              "the file holds several recipes: give --%s",
                                              flag),
                                   "%s is %.60s here and %.60s in line %u",
                                   item->last,
                                   item->value,
                                   before->value,
                                   before->line);
    }
    return SC_OK;
}

static sc_status take_python_model(struct config_taking *t) {
    const char *other;
    /* sizes beside a class are changes to its model; an id may be that of a tokenizer */
    bool sizes = sc__config_has(t->c, "num_layers") && sc__config_has(t->c, "hidden_size");
    const char *model = sc__config_python_model(t->l->ctx, t->l->text, !sizes, &other);
    if (sc__launch_overridden(t->l, "model") || (sizes && (!model || other)))
        return SC_OK;
    if (!model || other)
        return sc__launch_fail(t->l,
                               0,
                               "name the model with --model (stepcast list models)",
                               model ? "the recipe names two models, %s and %s"
                                     : "the recipe names no model that is known%s%s",
                               model ? model : "",
                               other ? other : "");
    add_flag(t, "model", model);
    return SC_OK;
}

/* Values that are no literals would be passed over, and names of other files are no
 * numbers: a key of the plan is named. */
static sc_status refuse_expression(const struct config_taking *t,
                                   const struct sc__config_item *item) {
    const struct sc__option *o =
        sc__option_find(t->l->known, dashed(&t->l->ctx->arena, item->last));
    double number;
    if (!o || !o->arg || sc__launch_overridden(t->l, o->name) ||
        sc__config_nothing(item->value) || sc__config_false(item->value) ||
        sc__parse_double(sc__str(item->value), &number) ||
        sc__str_starts(sc__str(item->value), "torch."))
        return SC_OK;
    if (!strchr(item->value, '.') && strcmp(o->arg, "N") != 0)
        return SC_OK;
    return sc__launch_fail(t->l,
                           item->line,
                           sc__format(&t->l->ctx->arena, "give --%s", o->name),
                           "%s is %.60s, which is no value that can be read",
                           item->last,
                           item->value);
}

/* NeMo 2's recipes have the distributed optimizer, and degrees of their own. */
static void take_called_recipe(struct config_taking *t) {
    static const char *const degrees[] = {"tensor_model_parallel_size",
                                          "pipeline_model_parallel_size",
                                          "context_parallel_size",
                                          NULL};
    struct sc__launch *l = t->l;
    struct sc__buffer unsaid;
    bool called = sc__find_word(l->text.p, l->text.n, ".pretrain_recipe(") ||
                  sc__find_word(l->text.p, l->text.n, ".finetune_recipe(");
    if (!called)
        return;
    if (!sc__config_has(t->c, "use_distributed_optimizer"))
        add_flag(t, "use-distributed-optimizer", NULL);
    sc__buffer_init(&unsaid, &l->ctx->arena);
    for (const char *const *key = degrees; *key; key++)
        if (!sc__config_has(t->c, *key) &&
            !sc__launch_overridden(l, dashed(&l->ctx->arena, *key)))
            sc__config_put_name(&unsaid, *key);
    if (unsaid.size)
        sc__note(
            l->ctx,
            "config-recipe",
            "%s calls a recipe, which is not read, and does not say %s: 1 is taken, the "
            "recipe may have others",
            l->file,
            unsaid.text);
}

static sc_status take_recipe(struct sc__launch *l, struct sc__config *c) {
    struct config_taking t = {.l = l, .c = c, .kind = SC__CONFIG_NESTED};
    l->own_defaults = true;
    if (!sc__config_has(c, "tensor_model_parallel_size") &&
        !sc__config_has(c, "global_batch_size"))
        return sc__launch_fail(l,
                               0,
                               "recipes of NeMo and Megatron-Bridge are read, as far as "
                               "they are values under names",
                               "no recipe that we know");
    sc__note(l->ctx,
             "config-kind",
             "%s is read as a recipe in Python: values under names; nothing in it is run",
             l->file);
    for (uint32_t i = 0; i < c->count; i++) {
        bool repeated;
        SC__TRY(one_value(&t, &c->items[i], &repeated));
        if (repeated)
            continue;
        SC__TRY(refuse_expression(&t, &c->items[i]));
        SC__TRY(take_item(&t, &c->items[i]));
    }
    take_several(&t);
    SC__TRY(take_python_model(&t));
    take_called_recipe(&t);
    take_nodes(&t);
    return SC_OK;
}

/* A key that is the flag: by its name, or by a table. */
static bool key_gives(const struct sc__launch *l,
                      const struct sc__config_item *item,
                      const char *flag) {
    if (!strcmp(dashed(&l->ctx->arena, item->last), flag))
        return true;
    if (!strncmp(item->last, "--", 2) && !strcmp(item->last + 2, flag))
        return true;
    for (const struct sc__config_key *k = sc__config_keys; k->key; k++)
        if (!strcmp(k->flag, flag) && sc__config_key_is(item->key, k->key))
            return true;
    return false;
}

bool sc__config_where(const void *self, const char *name, struct sc__place *at) {
    const struct sc__launch *l = self;
    if (!l->config || sc__launch_overridden(l, name))
        return false;
    for (uint32_t i = 0; i < l->config->count; i++) {
        const struct sc__config_item *item = &l->config->items[i];
        if (!item->line || !key_gives(l, item, name))
            continue;
        *at = (struct sc__place){.file = l->file, .line = item->line};
        at->column = item->column;
        return true;
    }
    return false;
}

static void take_software(struct config_taking *t) {
    const char *software = sc__config_software(t->c, t->kind);
    if (software)
        add_flag(t, "software", software);
}

static sc_status take_keys(struct config_taking *t) {
    struct sc__launch *l = t->l;
    sc__note(l->ctx,
             "config-kind",
             "%s is read as a configuration of %s",
             l->file,
             sc__config_kind_name(t->kind));
    take_software(t);
    for (uint32_t i = 0; i < t->c->count; i++)
        SC__TRY(take_item(t, &l->config->items[i]));
    take_several(t);
    SC__TRY(take_program(t));
    SC__TRY(sc__config_note_unread(l, t->c, t->kind));
    SC__TRY(take_nested(t));
    l->other_program = t->kind != SC__CONFIG_MEGATRON && t->kind != SC__CONFIG_NESTED;
    l->own_defaults = t->kind == SC__CONFIG_NESTED && !leaves_core_defaults(t->c);
    return SC_OK;
}

sc_status sc__config_words(struct sc__launch *l, enum sc__config_kind *kind) {
    struct sc__config *c = SC__NEW(&l->ctx->arena, struct sc__config);
    *kind = SC__CONFIG_NONE;
    l->config = c;
    if (sc__config_is_internevo(l->text)) {
        struct config_taking t = {.l = l, .c = c, .kind = *kind = SC__CONFIG_INTERNEVO};
        sc__config_read_dictionaries(l, l->text, c);
        return take_keys(&t);
    }
    if (sc__config_is_registry(l->text)) {
        struct config_taking t = {.l = l, .c = c, .kind = *kind = SC__CONFIG_TORCHTITAN};
        SC__TRY(sc__config_read_registry(l, c));
        return take_keys(&t);
    }
    if (sc__config_looks_like_python(l)) {
        *kind = SC__CONFIG_NESTED;
        sc__config_read_python(l->ctx, l->text, c);
        return take_recipe(l, c);
    }
    if (sc__config_looks_like_toml(l))
        SC__TRY(sc__config_read_toml(l->ctx, l->file, l->text, c));
    else if (sc__config_looks_like_yaml(l))
        SC__TRY(sc__config_read_yaml(l->ctx, l->file, l->text, c));
    else
        return SC_OK;
    sc__config_yaml_truth(c);
    sc__config_unwrap_run(c);
    sc__config_interpolate(l->ctx, c);
    struct config_taking t = {.l = l, .c = c, .kind = sc__config_kind_of(c)};
    if (!t.kind && sc__config_job(l, c))
        return SC_OK;
    if (!t.kind)
        return sc__launch_fail(
            l,
            0,
            "Megatron, GPT-NeoX, DeepSpeed, torchtitan, torchtune, Axolotl, "
            "LLaMA-Factory, accelerate, FlagScale, Primus, NeMo, Automodel, MaxText, "
            "LLM Foundry, Nanotron and OLMo are known; a config.json of Hugging Face goes "
            "to --model; a file of stepcast's own options begins with 'stepcast: job/1'",
            "no configuration that we know");
    *kind = t.kind;
    if (t.kind == SC__CONFIG_TRAINER)
        SC__TRY(sc__config_read_beside(l, c));
    return take_keys(&t);
}

sc_status sc__config_trainer_script(struct sc__launch *l) {
    struct sc__config c = {0};
    enum sc__config_kind kind = sc__launch_settings(l->words, l->count);
    bool launched = kind || sc__config_launches_trainer(l->words, l->count);
    sc__config_read_words(l, &c);
    sc__config_colossal_letters(l, &c);
    sc__config_swift(l, &c);
    if (kind)
        SC__TRY(sc__config_read_settings(l, kind, &c));
    else if (sc__config_names_trainer(&c) || launched)
        SC__TRY(sc__config_read_beside(l, &c));
    if (!sc__config_names_trainer(&c) && !launched)
        return SC_OK;
    struct config_taking t = {.l = l, .c = &c, .kind = kind ? kind : SC__CONFIG_TRAINER};
    uint32_t world = sc__launch_asks(l);
    uint32_t said = sc__launch_world(l->words, l->count);
    l->words = NULL;
    l->count = 0;
    l->other_program = t.kind != SC__CONFIG_NESTED;
    take_software(&t);
    if (world)
        add_flag(&t, "gpus", sc__format(&l->ctx->arena, "%u", world));
    for (uint32_t i = 0; i < c.count; i++)
        SC__TRY(take_item(&t, &c.items[i]));
    if (said) /* before what a file of accelerate's says */
        add_flag(&t, "gpus", sc__format(&l->ctx->arena, "%u", said));
    take_several(&t);
    SC__TRY(take_program(&t));
    SC__TRY(take_nested(&t));
    return sc__config_note_unread(l, &c, t.kind);
}
