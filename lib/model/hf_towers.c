/* hf_towers: what the keys of a tower mean, by its model_type, as in transformers:
 * modeling_clip, _siglip, _pixtral, _llama4, _qwen2_vl, _qwen2_5_vl, _qwen3_vl, _gemma4,
 * _qwen2_audio and _voxtral; the connectors of _llava, _mistral3, _gemma3 and of those.
 * A key that is left out has the default of its class, as such files are saved. */
#include "model/hf_towers.h"

#include <string.h>

enum {                 /* traits of a tower */
       TOWER_BIAS = 1, /* LayerNorm, and a bias in every linear layer */
       TOWER_GATED = 2,
       TOWER_RMSNORM = 4,
       TOWER_ROTARY = 8,
       TOWER_CLASS = 16,     /* a position more, for the whole picture */
       TOWER_POSITIONS = 32, /* a learned vector for each position */
       TOWER_NORM_BEFORE = 64,
       TOWER_NORM_AFTER = 128,
       TOWER_PATCH_BIAS = 256,
       TOWER_GEMMA4 = 512, /* norms of queries, keys and behind each half */
       TOWER_QWEN = 1024,  /* merges with a connector of its own, any size of picture */
       TOWER_SOUND = 2048
};

struct tower_family {
    const char *type;  /* of the tower's own configuration */
    const char *whole; /* of the model, where the tower's leaves it out; or NULL */
    unsigned traits;
    uint32_t hidden;
    uint32_t layers;
    uint32_t heads;
    uint32_t ffn;
    uint32_t image;
    uint32_t patch;
    uint32_t merge;
};

#define CLIP_LIKE (TOWER_BIAS | TOWER_POSITIONS | TOWER_NORM_AFTER)
#define QWEN_LIKE (TOWER_ROTARY | TOWER_QWEN | TOWER_BIAS)

static const struct tower_family tower_families[] = {
    {"clip_vision_model",
     "llava",
     CLIP_LIKE | TOWER_CLASS | TOWER_NORM_BEFORE,
     768,
     12,
     12,
     3072,
     224,
     32,
     1},
    {"siglip_vision_model",
     "gemma3",
     CLIP_LIKE | TOWER_PATCH_BIAS,
     768,
     12,
     12,
     3072,
     224,
     16,
     1},
    {"pixtral",
     "mistral3",
     TOWER_GATED | TOWER_RMSNORM | TOWER_ROTARY | TOWER_NORM_BEFORE,
     1024,
     24,
     16,
     4096,
     1024,
     16,
     1},
    {"llama4_vision_model",
     "llama4",
     CLIP_LIKE | TOWER_CLASS | TOWER_NORM_BEFORE | TOWER_ROTARY,
     768,
     34,
     16,
     5632,
     448,
     14,
     2},
    {"qwen2_vl", "qwen2_vl", QWEN_LIKE, 1280, 32, 16, 0, 0, 14, 2},
    {"qwen2_5_vl",
     "qwen2_5_vl",
     QWEN_LIKE | TOWER_RMSNORM | TOWER_GATED,
     3584,
     32,
     16,
     3420,
     0,
     14,
     2},
    {"qwen3_vl",
     "qwen3_vl",
     QWEN_LIKE | TOWER_POSITIONS | TOWER_PATCH_BIAS,
     1152,
     27,
     16,
     4304,
     0,
     16,
     2},
    {"qwen3_vl_moe",
     "qwen3_vl_moe",
     QWEN_LIKE | TOWER_POSITIONS | TOWER_PATCH_BIAS,
     1152,
     27,
     16,
     4304,
     0,
     16,
     2},
    {"gemma4_vision",
     "gemma4",
     TOWER_GATED | TOWER_RMSNORM | TOWER_ROTARY | TOWER_GEMMA4,
     768,
     16,
     12,
     3072,
     0,
     16,
     3},
    {"qwen2_audio_encoder",
     "qwen2_audio",
     TOWER_BIAS | TOWER_SOUND | TOWER_NORM_AFTER,
     1280,
     32,
     20,
     5120,
     0,
     0,
     2},
    {"voxtral_encoder",
     "voxtral",
     TOWER_BIAS | TOWER_SOUND | TOWER_NORM_AFTER,
     1280,
     32,
     20,
     5120,
     0,
     0,
     4},
};

struct tower_reading {
    struct sc_context *ctx;
    const json_t *whole;
    const json_t *config; /* of the tower */
    const char *model;    /* model_type of the whole */
    const struct tower_family *family;
    const struct sc__model *language;
    struct sc__tower *out;
};

static void tower_refuse(struct tower_reading *r, const char *why) {
    if (!r->out->refused)
        r->out->refused = why;
}

/* A size from the first key that is there; a list stands for height and width, which
 * have to be equal. */
static uint32_t tower_size(struct tower_reading *r,
                           const json_t *from,
                           const char *const *keys,
                           uint32_t otherwise) {
    static const json_int_t largest = 1 << 20;
    for (; *keys; keys++) {
        const json_t *v = json_object_get(from, *keys);
        if (!v || json_is_null(v))
            continue;
        const json_t *both = v;
        if (json_is_array(both)) {
            const json_t *last = json_array_get(both, json_array_size(both) - 1);
            v = json_array_get(both, 0);
            if (json_integer_value(v) != json_integer_value(last))
                v = NULL;
        }
        json_int_t n = json_integer_value(v);
        if (!json_is_integer(v) || n < 1 || n > largest) {
            tower_refuse(r,
                         sc__format(&r->ctx->arena,
                                    "its \"%s\" is no whole number from 1 to %d",
                                    *keys,
                                    (int)largest));
            return otherwise ? otherwise : 1;
        }
        return (uint32_t)n;
    }
    return otherwise;
}

static uint32_t tower_key(struct tower_reading *r, const char *key, uint32_t otherwise) {
    const char *const keys[] = {key, NULL};
    return tower_size(r, r->config, keys, otherwise);
}

/* Sides of squares of patches that become a token. */
static uint32_t merged_side(struct tower_reading *r, uint32_t side) {
    static const uint32_t most = 16;
    if (side <= most)
        return side;
    tower_refuse(r, "squares of more than 16 patches a side become a token");
    return 1;
}

static uint32_t whole_key(struct tower_reading *r, const char *key, uint32_t otherwise) {
    const char *const keys[] = {key, NULL};
    return tower_size(r, r->whole, keys, otherwise);
}

static bool whole_says(const struct tower_reading *r, const char *key, bool otherwise) {
    const json_t *v = json_object_get(r->whole, key);
    return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

static double norm_params(const struct sc__model *body, double width) {
    return width * (body->norm_bias ? 2 : 1);
}

static void add_input(struct tower_reading *r, uint32_t in, double rows, bool bias) {
    struct sc__tower *t = r->out;
    uint32_t out = t->body.hidden;
    t->in[t->in_count++] = (struct sc__tower_product){.in = in, .out = out, .rows = rows};
    t->in_params += (double)in * out + (bias ? out : 0);
}

static void add_output(struct tower_reading *r,
                       uint32_t in,
                       uint32_t out,
                       double rows,
                       bool first,
                       bool bias) {
    struct sc__tower *t = r->out;
    if (t->out_count == SC__TOWER_PRODUCTS) {
        tower_refuse(r, "its connector has more products than are modelled");
        return;
    }
    t->out[t->out_count++] =
        (struct sc__tower_product){.in = in, .out = out, .rows = rows, .first = first};
    t->out_params += (double)in * out + (bias ? out : 0);
}

/* ---- layers ---- */

/* Each n-th layer sees the whole picture, the others windows of it. */
static void read_windows(struct tower_reading *r) {
    struct sc__model *body = &r->out->body;
    const json_t *full = json_object_get(r->config, "fullatt_block_indexes");
    uint32_t side = tower_key(r, "window_size", 112) / r->out->patch_size;
    uint32_t every = 8; /* 7, 15, 23, 31 */
    if (json_is_array(full)) {
        json_int_t first = json_integer_value(json_array_get(full, 0));
        if (first < 0 || first >= (json_int_t)body->layers) {
            tower_refuse(r, "\"fullatt_block_indexes\" names layers it does not have");
            return;
        }
        every = (uint32_t)first + 1;
        for (size_t i = 0; i < json_array_size(full); i++)
            if (json_integer_value(json_array_get(full, i)) !=
                (json_int_t)((i + 1) * every - 1))
                tower_refuse(r,
                             "layers that see the whole picture are not each n-th "
                             "(\"fullatt_block_indexes\")");
        if (json_array_size(full) != body->layers / every)
            tower_refuse(r, "\"fullatt_block_indexes\" does not go on to the last layer");
    }
    body->window = side * side;
    body->window_every = every;
}

/* More than any has; what is larger is refused. */
#define WIDEST_FEED_FORWARD (1u << 24)

static uint32_t times_ratio(uint32_t hidden, uint32_t ratio) {
    uint64_t wide = (uint64_t)hidden * ratio;
    return wide > WIDEST_FEED_FORWARD ? WIDEST_FEED_FORWARD + 1 : (uint32_t)wide;
}

static void read_body(struct tower_reading *r) {
    static const char *const hidden[] = {"hidden_size", "embed_dim", "d_model", NULL};
    static const char *const qwen2[] = {"embed_dim", NULL};
    static const char *const layers[] = {"num_hidden_layers",
                                         "depth",
                                         "encoder_layers",
                                         NULL};
    static const char *const heads[] = {"num_attention_heads",
                                        "num_heads",
                                        "encoder_attention_heads",
                                        NULL};
    static const char *const ffn[] = {"intermediate_size", "encoder_ffn_dim", NULL};
    const struct tower_family *f = r->family;
    struct sc__model *body = &r->out->body;
    bool by_ratio = !f->ffn; /* "hidden_size" is then the language model's */
    body->name = f->type;
    body->family = f->type;
    body->hidden = tower_size(r, r->config, by_ratio ? qwen2 : hidden, f->hidden);
    body->layers = tower_size(r, r->config, layers, f->layers);
    body->heads = tower_size(r, r->config, heads, f->heads);
    body->ffn = tower_size(r, r->config, ffn, f->ffn ? f->ffn : 1);
    if (by_ratio)
        body->ffn = times_ratio(body->hidden, tower_key(r, "mlp_ratio", 4));
    body->kv_heads = tower_key(r, "num_key_value_heads", body->heads);
    body->head_dim = tower_key(r, "head_dim", body->hidden / body->heads);
    body->norm = f->traits & TOWER_RMSNORM ? SC__RMSNORM : SC__LAYERNORM;
    body->norm_bias = !(f->traits & TOWER_RMSNORM);
    body->linear_bias = f->traits & TOWER_BIAS;
    body->gated = f->traits & TOWER_GATED;
    body->no_rotary = !(f->traits & TOWER_ROTARY);
    body->no_key_bias = f->traits & TOWER_SOUND;
    body->both_ways = true;
    body->moe_every = 1;
    body->post_norms = f->traits & TOWER_GEMMA4;
    body->qk_norm = f->traits & TOWER_GEMMA4;
    body->v_norm = f->traits & TOWER_GEMMA4;
    if (body->layers > SC__MOST_LAYERS || !body->head_dim || body->heads % body->kv_heads ||
        body->ffn > WIDEST_FEED_FORWARD)
        tower_refuse(r, "its sizes do not go together");
}

/* ---- pictures ---- */

static void read_patches(struct tower_reading *r) {
    static const char *const image[] = {"image_size", NULL};
    static const char *const channels[] = {"num_channels", "in_channels", "in_chans", NULL};
    struct sc__tower *t = r->out;
    unsigned traits = r->family->traits;
    uint32_t hidden = t->body.hidden;
    t->image_size = tower_size(r, r->config, image, r->family->image);
    t->patch_size = tower_key(r, "patch_size", r->family->patch);
    t->merge = merged_side(r, tower_key(r, "spatial_merge_size", r->family->merge));
    t->class_positions = traits & TOWER_CLASS ? 1 : 0;
    uint32_t frames = traits & TOWER_QWEN ? tower_key(r, "temporal_patch_size", 2) : 1;
    uint64_t pixels = (uint64_t)t->patch_size * t->patch_size * frames *
                      tower_size(r, r->config, channels, 3);
    if (pixels > 1u << 20) {
        tower_refuse(r, "its patches are larger than a million values");
        pixels = 1;
    }
    add_input(r, (uint32_t)pixels, 1, traits & TOWER_PATCH_BIAS);
    uint32_t across = t->image_size / t->patch_size;
    double positions = (double)across * across + t->class_positions;
    if (traits & TOWER_QWEN)
        positions = tower_key(r, "num_position_embeddings", 2304);
    if (traits & TOWER_POSITIONS)
        t->in_params += positions * hidden;
    if (traits & TOWER_CLASS)
        t->in_params += hidden;
    if (traits & TOWER_NORM_BEFORE)
        t->in_params += norm_params(&t->body, hidden);
    if (traits & TOWER_NORM_AFTER)
        t->out_params += norm_params(&t->body, hidden);
}

/* Squares of patches side by side become one vector, and two products a token. */
static void
connect_qwen_merger(struct tower_reading *r, uint32_t wide, uint32_t out, double norm) {
    double rows = 1.0 / (r->out->merge * r->out->merge);
    r->out->out_params += norm_params(&r->out->body, norm);
    add_output(r, wide, wide, rows, true, true);
    add_output(r, wide, out, rows, false, true);
}

static void connect_qwen(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    bool deep = !strncmp(r->family->type, "qwen3", 5);
    bool second = !r->family->ffn; /* of Qwen2-VL */
    uint32_t wide = t->body.hidden * t->merge * t->merge;
    uint32_t out =
        tower_key(r, second ? "hidden_size" : "out_hidden_size", r->language->hidden);
    connect_qwen_merger(r, wide, out, t->body.hidden);
    if (!deep)
        return;
    /* layers whose output goes to the first layers of the language model as well */
    const json_t *layers = json_object_get(r->config, "deepstack_visual_indexes");
    size_t more = json_is_array(layers) ? json_array_size(layers) : 3;
    for (size_t i = 0; i < more && !t->refused; i++)
        connect_qwen_merger(r, wide, out, wide);
}

/* Of the positions of a picture, those that are patches. */
static double patch_share(const struct sc__tower *t) {
    double across = t->image_size / t->patch_size;
    return across * across / (across * across + t->class_positions);
}

static void connect_llama4(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    uint32_t between = tower_key(r, "projector_input_dim", 4096);
    uint32_t after = tower_key(r, "projector_output_dim", 4096);
    const json_t *ratio = json_object_get(r->config, "pixel_shuffle_ratio");
    if (ratio && json_number_value(ratio) != 0.5)
        tower_refuse(r, "\"pixel_shuffle_ratio\" other than 0.5 is not modelled");
    double rows = 0.25 * patch_share(t);
    add_output(r, t->body.ffn, between, rows, true, false);
    add_output(r, between, after, rows, false, false);
    add_output(r,
               tower_key(r, "vision_output_dim", 7680),
               r->language->hidden,
               rows,
               false,
               false);
}

/* A square of patches becomes one by its mean. */
static void add_pooled_output(struct tower_reading *r) {
    const struct sc__tower *t = r->out;
    double rows = 1.0 / (t->merge * t->merge);
    add_output(r, t->body.hidden, r->language->hidden, rows, true, false);
}

static void connect_gemma3(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    uint32_t tokens = whole_key(r, "mm_tokens_per_image", 256);
    uint32_t across = t->image_size / t->patch_size;
    t->merge = 1;
    while ((uint64_t)t->merge * t->merge * tokens < (uint64_t)across * across)
        t->merge++;
    if ((uint64_t)t->merge * t->merge * tokens != (uint64_t)across * across)
        tower_refuse(r, "\"mm_tokens_per_image\" is no square part of its patches");
    t->out_params += t->body.hidden;
    add_pooled_output(r);
}

static void connect_gemma4(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    t->merge = merged_side(r, tower_key(r, "pooling_kernel_size", 3));
    t->usual_patches = tower_key(r, "default_output_length", 280) * t->merge * t->merge;
    t->in_params += 2.0 * tower_key(r, "position_embedding_size", 10240) * t->body.hidden;
    if (json_is_true(json_object_get(r->config, "standardize")))
        t->out_params += 2.0 * t->body.hidden;
    add_pooled_output(r);
}

/* A norm, a product that merges squares, and two more. */
static void connect_mistral3(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    bool bias = whole_says(r, "multimodal_projector_bias", false);
    t->merge = merged_side(r, whole_key(r, "spatial_merge_size", 2));
    double rows = 1.0 / (t->merge * t->merge);
    uint32_t hidden = t->body.hidden;
    t->out_params += hidden;
    add_output(r, hidden * t->merge * t->merge, hidden, rows, true, false);
    add_output(r, hidden, r->language->hidden, rows, false, bias);
    add_output(r, r->language->hidden, r->language->hidden, rows, false, bias);
}

static void connect_llava(struct tower_reading *r) {
    bool bias = whole_says(r, "multimodal_projector_bias", true);
    double rows = patch_share(r->out);
    add_output(r, r->out->body.hidden, r->language->hidden, rows, true, bias);
    add_output(r, r->language->hidden, r->language->hidden, rows, false, bias);
}

/* ---- sound ---- */

/* Two convolutions of three values, the second with a stride of two; a clip is always
 * computed whole. */
static void read_sound(struct tower_reading *r) {
    static const double seconds = 30;
    struct sc__tower *t = r->out;
    uint32_t hidden = t->body.hidden;
    t->clip_positions = tower_key(r, "max_source_positions", 1500);
    t->clip_seconds = seconds * t->clip_positions / 1500;
    t->merge = r->family->merge;
    t->clip_tokens = (double)t->clip_positions / t->merge;
    add_input(r, 3 * tower_key(r, "num_mel_bins", 128), 2, true);
    add_input(r, 3 * hidden, 1, true);
    t->in_params += (double)t->clip_positions * hidden;
    t->out_params += norm_params(&t->body, hidden);
}

/* Four positions side by side, and two products (Voxtral); or the mean of two, and one. */
static void connect_sound(struct tower_reading *r) {
    struct sc__tower *t = r->out;
    uint32_t out = r->language->hidden;
    if (strcmp(r->family->type, "voxtral_encoder") != 0) {
        add_output(r, t->body.hidden, out, 1.0 / t->merge, true, true);
        return;
    }
    add_output(r, t->body.hidden * t->merge, out, 1.0 / t->merge, true, false);
    add_output(r, out, out, 1.0 / t->merge, false, false);
}

/* ---- which ---- */

static void connect_tower(struct tower_reading *r) {
    static const struct {
        const char *model;
        enum sc__tower_kind kind;
        void (*connect)(struct tower_reading *);
    } connectors[] = {
        {"llava", SC__TOWER_VISION, connect_llava},
        {"mistral3", SC__TOWER_VISION, connect_mistral3},
        {"gemma3", SC__TOWER_VISION, connect_gemma3},
        {"gemma4", SC__TOWER_VISION, connect_gemma4},
        {"llama4", SC__TOWER_VISION, connect_llama4},
        {"qwen2_vl", SC__TOWER_VISION, connect_qwen},
        {"qwen2_5_vl", SC__TOWER_VISION, connect_qwen},
        {"qwen3_vl", SC__TOWER_VISION, connect_qwen},
        {"qwen3_vl_moe", SC__TOWER_VISION, connect_qwen},
        {"qwen2_audio", SC__TOWER_AUDIO, connect_sound},
        {"voxtral", SC__TOWER_AUDIO, connect_sound},
    };
    for (size_t i = 0; i < sizeof connectors / sizeof *connectors; i++)
        if (!strcmp(connectors[i].model, r->model) && connectors[i].kind == r->out->kind) {
            connectors[i].connect(r);
            return;
        }
    tower_refuse(r,
                 sc__format(&r->ctx->arena,
                            "what connects it to a model of model_type \"%.60s\" is not "
                            "modelled",
                            r->model));
}

/* Of the tower's own model_type, or where it has none of the model's. */
static const struct tower_family *find_tower_family(const struct tower_reading *r) {
    const char *type = json_string_value(json_object_get(r->config, "model_type"));
    for (size_t i = 0; i < sizeof tower_families / sizeof *tower_families; i++) {
        const struct tower_family *f = &tower_families[i];
        if (type ? !strcmp(type, f->type) : !strcmp(r->model, f->whole))
            return f;
    }
    return NULL;
}

static void read_tower(struct tower_reading *r, enum sc__tower_kind kind) {
    struct sc__tower *t = r->out;
    const char *type = json_string_value(json_object_get(r->config, "model_type"));
    t->kind = kind;
    t->type = sc__strdup(&r->ctx->arena, type ? type : "");
    r->family = find_tower_family(r);
    bool sound = r->family && r->family->traits & TOWER_SOUND;
    if (!r->family || sound != (kind == SC__TOWER_AUDIO)) {
        tower_refuse(r,
                     sc__format(&r->ctx->arena,
                                "its model_type \"%.60s\" is not modelled",
                                t->type));
        return;
    }
    t->type = r->family->type;
    read_body(r);
    if (t->refused)
        return;
    if (sound)
        read_sound(r);
    else
        read_patches(r);
    connect_tower(r);
    if (!strcmp(r->family->type, "qwen2_5_vl"))
        read_windows(r);
}

void sc__hf_towers_read(struct sc_context *ctx, const json_t *whole, struct sc__model *m) {
    static const char *const keys[] = {"vision_config", "audio_config"};
    const char *model = json_string_value(json_object_get(whole, "model_type"));
    m->towers = SC__NEW_ARRAY(&ctx->arena, struct sc__tower, 2);
    for (int kind = SC__TOWER_VISION; kind <= SC__TOWER_AUDIO; kind++) {
        const json_t *config = json_object_get(whole, keys[kind]);
        struct sc__tower *t = &m->towers[m->tower_count];
        struct tower_reading r = {.ctx = ctx,
                                  .whole = whole,
                                  .config = config,
                                  .model = model ? model : "",
                                  .language = m,
                                  .out = t};
        if (!json_is_object(config))
            continue;
        read_tower(&r, (enum sc__tower_kind)kind);
        m->tower_count++;
    }
}
