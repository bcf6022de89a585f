/* config_internevo: what the configurations of InternEvo say, which are Python
 * (config_dictionaries.c). What they leave out is what args_sanity_check of
 * internlm/initialize/launch.py takes. */
#include "launch/config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

bool sc__config_is_internevo(struct sc__str text) {
    return sc__find_word(text.p, text.n, "parallel = dict(") &&
           sc__find_word(text.p, text.n, "model = dict(") &&
           sc__find_word(text.p, text.n, "micro_bsz");
}

/* The number under a key, or what *out is where it says none. Another expression is
 * refused, unless an option is given that says what it would. */
static sc_status take_number(const struct sc__launch *l,
                             const struct sc__config *c,
                             const char *key,
                             const char *flag,
                             double *out) {
    const char *value = sc__config_exact(c, key);
    uint32_t line = 0;
    double number;
    bool read = value && sc__parse_double(sc__str(value), &number) && fabs(number) < 1e9;
    *out = read ? number : *out;
    if (read || !value || sc__config_nothing(value) || sc__launch_overridden(l, flag))
        return SC_OK;
    for (uint32_t i = 0; i < c->count; i++)
        line = strcmp(c->items[i].key, key) ? line : c->items[i].line;
    return sc__launch_fail(
        l,
        line,
        sc__format(&l->ctx->arena, "write the number, or give --%s", flag),
        "%.60s is %.60s: of Python numbers, names of them and arithmetic "
        "are read",
        key,
        value);
}

/* parallel.tensor is a number, or a dictionary with one. */
static sc_status take_size(const struct sc__launch *l,
                           const struct sc__config *c,
                           const char *name,
                           const char *flag,
                           int64_t *out) {
    struct sc__arena *arena = &l->ctx->arena;
    const char *whole = sc__format(arena, "parallel.%s", name);
    double size = (double)*out;
    SC__TRY(take_number(l, c, whole, flag, &size));
    SC__TRY(take_number(l, c, sc__format(arena, "%s.size", whole), flag, &size));
    *out = (int64_t)size;
    return SC_OK;
}

static void add_number(struct sc__launch *l,
                       struct sc__flag_list *out,
                       const char *flag,
                       uint64_t value) {
    sc__config_add(l, out, flag, sc__format(&l->ctx->arena, "%" PRIu64, value));
}

/* The feed-forward is mlp_ratio times the hidden size, up to the next 256 (multiple_of of
 * model/modules/mlp.py). Biases stand beside queries, keys and values unless no_bias says
 * otherwise. */
static sc_status
take_model(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *norm = sc__config_exact(c, "model.norm_type");
    double hidden = 0;
    double times = 4;
    double of = 256;
    SC__TRY(take_number(l, c, "model.hidden_size", "hidden-size", &hidden));
    SC__TRY(take_number(l, c, "model.mlp_ratio", "ffn-hidden-size", &times));
    SC__TRY(take_number(l, c, "model.multiple_of", "ffn-hidden-size", &of));
    if (hidden >= 1 && hidden * times >= 1 && of >= 1)
        add_number(l,
                   out,
                   "ffn-hidden-size",
                   (uint64_t)(ceil(floor(hidden * times) / of) * of));
    sc__config_add(l, out, "swiglu", NULL);
    if (!norm || !strcmp(norm, "rmsnorm"))
        sc__config_add(l, out, "normalization", "RMSNorm");
    sc__config_add(l, out, "position-embedding-type", "rope");
    sc__config_add(l, out, "disable-bias-linear", NULL);
    if (sc__config_on_or(c, "=model.qkv_bias", !sc__config_on(c, "=model.no_bias")))
        sc__config_add(l, out, "add-qkv-bias", NULL);
    sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    sc__config_add(l,
                   out,
                   "attention",
                   sc__config_on_or(c, "=model.use_flash_attn", true) ? "flash2"
                                                                      : "unfused");
    sc__config_add(l, out, "no-dropout", NULL);
    return SC_OK;
}

/* A share of the layers of each chunk (lid < checkpoint_layer_num), or all of them. */
static sc_status take_checkpointing(struct sc__launch *l,
                                    const struct sc__config *c,
                                    uint64_t stages,
                                    uint64_t chunks,
                                    struct sc__flag_list *out) {
    const char *value = sc__config_exact(c, "model.checkpoint");
    double share = value && sc__config_true(value) ? 1 : 0;
    double layers = 0;
    SC__TRY(take_number(l, c, "model.num_layers", "num-layers", &layers));
    if (value && !sc__config_true(value) && !sc__config_false(value))
        SC__TRY(take_number(l, c, "model.checkpoint", "recompute", &share));
    sc__config_add(l, out, "recompute", share > 0 ? "full" : "none");
    if (!(share > 0 && share < 1))
        return SC_OK;
    double chunk = ceil(layers / (double)(stages * chunks) * share);
    sc__config_add(l, out, "recompute-method", "block");
    add_number(l, out, "recompute-num-layers", (uint64_t)chunk * chunks);
    return SC_OK;
}

static void note_two_ways(struct sc__launch *l, const struct sc__config *c) {
    if (sc__config_on(c, "=parallel.sequence_2D.enable"))
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: parallel.sequence_2D, which cuts heads and context, is counted as an "
                 "exchange of heads alone",
                 l->file);
}

/* Weights of isp are sharded over the ranks of weight parallel and gathered for use, and
 * the ranks of "tensor" exchange heads for parts of the sequence; mtp, msp and fsp cut
 * products (docs/source/parallel.rst of InternEvo). fsdp of zero1 is PyTorch's, of all
 * weights (train/pipeline.py). */
static sc_status take_ranks(struct sc__launch *l,
                            const struct sc__config *c,
                            uint64_t tensor,
                            struct sc__flag_list *out) {
    const char *mode = sc__config_exact(c, "parallel.tensor.mode");
    bool isp = mode && !strcmp(mode, "isp");
    bool cut = (mode && (!strcmp(mode, "msp") || !strcmp(mode, "fsp"))) ||
               sc__config_on(c, "=parallel.sequence_parallel");
    bool fsdp = sc__config_on(c, "=parallel.zero1.fsdp");
    int64_t weight = 1;
    int64_t zero = -1;
    SC__TRY(take_size(l, c, "weight", "shard-group", &weight));
    SC__TRY(take_size(l, c, "zero1", "shard-group", &zero));
    add_number(l, out, isp ? "cp" : "tp", tensor);
    if (isp && tensor > 1)
        sc__config_add(l, out, "cp-comm-type", "a2a");
    if (!isp && cut && tensor > 1)
        sc__config_add(l, out, "sequence-parallel", NULL);
    bool gathers = isp && weight > 1;
    if (fsdp)
        sc__config_add(l, out, "use-torch-fsdp2", NULL);
    else
        sc__config_add(l, out, "zero", gathers ? "3" : zero == 1 ? "0" : "1");
    if (gathers || zero > 1)
        add_number(l, out, "shard-group", (uint64_t)(gathers ? weight : zero));
    if (gathers && zero != weight)
        sc__note(l->ctx,
                 "config-not-modelled",
                 "%s: the optimizer's state is counted as sharded as the weights are, over "
                 "%" PRId64 " ranks, and not as zero1 says",
                 l->file,
                 weight);
    note_two_ways(l, c);
    return SC_OK;
}

static const char *type_of(const char *name) {
    static const struct sc__flag types[] = {{"torch.bfloat16", "bf16"},
                                            {"torch.float16", "fp16"},
                                            {"torch.half", "fp16"},
                                            {"torch.tf32", "tf32"},
                                            {"torch.float32", "fp32"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return types[i].value;
    return name; /* which --dtype refuses */
}

sc_status sc__config_internevo(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *type = sc__config_exact(c, "model.dtype");
    int64_t stages = 1;
    int64_t tensor = 1;
    double experts = 1;
    double chunks = 1;
    SC__TRY(take_size(l, c, "pipeline", "pp", &stages));
    SC__TRY(take_size(l, c, "tensor", "tp", &tensor));
    SC__TRY(take_number(l, c, "model.num_experts", "model", &experts));
    SC__TRY(take_number(l, c, "model.num_chunks", "vpp", &chunks));
    if (experts > 1)
        return sc__launch_fail(l,
                               0,
                               "give the model with --model and the plan with options",
                               "model.num_experts: experts of InternEvo are not read");
    if (stages < 1 || tensor < 1)
        return sc__launch_fail(l,
                               0,
                               "a whole number from 1 on",
                               "parallel: %s is no number of ranks",
                               stages < 1 ? "pipeline" : "tensor");
    uint64_t parts = stages > 1 && chunks > 1 ? (uint64_t)chunks : 1;
    SC__TRY(take_model(l, c, out));
    SC__TRY(take_checkpointing(l, c, (uint64_t)stages, parts, out));
    SC__TRY(take_ranks(l, c, (uint64_t)tensor, out));
    add_number(l, out, "pp", (uint64_t)stages);
    if (parts > 1)
        add_number(l, out, "vpp", parts);
    if (type)
        sc__config_add(l, out, "dtype", type_of(type));
    else
        sc__config_add_default(l, out, "model.dtype", "dtype", "fp16");
    if (!sc__config_exact(c, "data.micro_num"))
        sc__config_add_default(l, out, "data.micro_num", "micro-batches", "1");
    return SC_OK;
}
