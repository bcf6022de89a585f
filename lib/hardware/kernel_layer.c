/* kernel_layer: operator lists of a transformer layer.
 *
 *   forward   norm · qkv · (rope) · core · out · add │ norm · [router] · fc1 ·
 *             activation · fc2 · [unroute] · add
 *   backward  the same from the end; a linear layer has an input gradient and
 *             a weight gradient (and a bias gradient where nothing fuses it)
 *
 * What differs between softwares is which elementwise kernels there are, and in
 * transformers' modules which GEMMs. */
#include "hardware/kernel_layer_maker.h"
#include "hardware/kernel_model.h"

/* A kernel knows its phase only where that is sure (a weight gradient); what is
 * the same in both directions gets it here. */
void sc__layer_push(struct sc__layer_maker *m, struct sc__kernel k) {
    if (!m->backward)
        k.phase = SC__FORWARD;
    if (m->backward && k.phase == SC__FORWARD)
        k.phase = SC__BACKWARD;
    if (k.work == SC__WORK_ATTENTION)
        k.head_dim = (uint32_t)(m->s->head_dim + (m->s->kv_rank ? m->s->rope_dim : 0));
    *SC__PUSH(m->arena, m->out->items, m->out->count, m->out->capacity) =
        (struct sc__layer_kernel){k, (uint8_t)m->part, m->up};
}

void sc__layer_memory(struct sc__layer_maker *m,
                      enum sc__memory_op op,
                      uint64_t rows,
                      uint64_t cols) {
    if (rows && cols)
        sc__layer_push(m, sc__memory_op(m->kernel_model, op, m->s->dtype, rows, cols));
}

/* Either side of an operation whose constants come in pairs: in enum
 * sc__memory_op …_B follows …_F. */
void sc__layer_either(struct sc__layer_maker *m,
                      enum sc__memory_op forward,
                      uint64_t rows,
                      uint64_t cols) {
    sc__layer_memory(m, m->backward ? forward + 1 : forward, rows, cols);
}

static bool eager(const struct sc__layer_maker *m) {
    return sc__fusion_eager(m->s->fusion);
}
static bool of_modules(const struct sc__layer_maker *m) {
    return m->s->fusion == SC__FUSION_HF;
}

/* Where modules are those of transformers, and none of their operators is Liger's. */
static bool of_modules_alone(const struct sc__layer_maker *m) {
    return of_modules(m) && !m->s->liger;
}

/* ---- linear layers ---- */

enum { /* as in --lora-targets */
       LORA_Q = 1,
       LORA_K = 2,
       LORA_V = 4,
       LORA_QKV = 7,
       LORA_OUT = 8,
       LORA_GATE = 16,
       LORA_UP = 32,
       LORA_DOWN = 64,
       LORA_SCAN_IN = 128,
       LORA_SCAN_OUT = 256
};

/* Layers with one input; its gradient is the sum of theirs. */
static void
linears(struct sc__layer_maker *m, const struct sc__linear *l, unsigned n, uint64_t rows) {
    for (unsigned i = 0; i < n; i++)
        sc__layer_linear(m, &l[i], rows);
    if (m->backward)
        for (unsigned i = 1; i < n; i++)
            sc__layer_memory(m, SC__MEM_ADD, rows, l->in);
}

/* ---- norms, adds, activations ---- */

static void norm(struct sc__layer_maker *m, uint64_t rows, uint64_t cols) {
    enum sc__memory_op rms =
        of_modules_alone(m) ? SC__MEM_RMSNORM_OPS_F : SC__MEM_RMSNORM_F;
    sc__layer_either(m, m->s->rmsnorm ? rms : SC__MEM_LAYERNORM_F, rows, cols);
}

/* Two for the routed part, or behind both parts. */
static void branch_norms(struct sc__layer_maker *m) {
    norm(m, m->rows, m->s->hidden);
    norm(m, m->rows, m->s->hidden);
}

/* Norm at the head of a half layer; in backward the gradient of the residual
 * joins there. */
static void head_norm(struct sc__layer_maker *m, enum sc__layer_part part) {
    m->part = part;
    norm(m, m->rows, m->s->hidden);
    if (part == SC__PART_MLP_NORM && m->s->branch_norms)
        branch_norms(m); /* before the experts, and the router's own */
    if (m->backward)
        sc__layer_memory(m, SC__MEM_ADD, m->rows, m->s->hidden);
}

static void residual(struct sc__layer_maker *m, enum sc__layer_part part) {
    const struct sc__layer_shape *s = m->s;
    m->part = part;
    if (s->post_norms)
        norm(m, m->rows, s->hidden);
    if (part == SC__PART_MLP_ADD && s->branch_norms)
        branch_norms(m);
    if (part == SC__PART_MLP_ADD && s->stacked_bytes > 0)
        sc__layer_elementwise(m, "stack", 2 * s->stacked_bytes, 1);
    if (eager(m)) {
        if (m->backward && s->dropout)
            sc__layer_memory(m, SC__MEM_DROPOUT_B, m->rows, s->hidden);
        if (!m->backward && s->dropout)
            sc__layer_memory(m, SC__MEM_DROPOUT_F, m->rows, s->hidden);
        if (!m->backward)
            sc__layer_memory(m, SC__MEM_ADD, m->rows, s->hidden);
    } else if (s->dropout) {
        sc__layer_either(m, SC__MEM_BIAS_DROPOUT_ADD_F, m->rows, s->hidden);
    } else if (!m->backward) {
        sc__layer_memory(m, SC__MEM_ADD, m->rows, s->hidden);
    } else if (s->bias || (s->mlp_bias && part == SC__PART_MLP_ADD)) {
        sc__layer_memory(m, SC__MEM_BIAS_GRAD, m->rows, s->hidden);
    }
}

/* x/2 (1 + tanh(0.798 x (1 + 0.0447 x x))) as operators: six of one operand and three of
 * two; its gradient, which computes the tanh again: ten of one, one of a square, seven of
 * two. Each operand is read and the result written. */
static void function_gelu(struct sc__layer_maker *m, double elements) {
    double width = sc__dtype_bytes(m->s->dtype);
    double one = 2 * width * elements;
    double two = 3 * width * elements;
    sc__layer_elementwise(m, "gelu_operators", one, m->backward ? 11 : 6);
    sc__layer_elementwise(m, "gelu_operators", two, m->backward ? 7 : 3);
}

/* where(x > 0, p x x + x/2, (expm1(min(x, e)) - x) n + x/2) as operators, p, n and e
 * tensors of one element, and its gradients. Operators with such a one (5 forward, 8
 * backward) compute the place of each element and take as long as four tensors, where two
 * move; the others (7, 17) read and write 18 tensors and 2 masks of bytes, backward 43
 * and 6. */
static void learned_activation(struct sc__layer_maker *m, double elements) {
    double tensor = sc__dtype_bytes(m->s->dtype) * elements;
    double kernels = m->backward ? 17 : 7;
    double moved = m->backward ? 43 * tensor + 6 * elements : 18 * tensor + 2 * elements;
    sc__layer_elementwise(m, "xielu_operators", 4 * tensor, m->backward ? 8 : 5);
    sc__layer_elementwise(m, "xielu_operators", moved / kernels, kernels);
}

/* one: both halves come from one product, and are parts of its rows. */
static void activation(struct sc__layer_maker *m, uint64_t rows, uint64_t ffn, bool one) {
    const struct sc__layer_shape *s = m->s;
    if (s->gated && of_modules_alone(m) && !one)
        sc__layer_either(m, SC__MEM_SWIGLU_F, rows, ffn);
    else if (s->gated)
        sc__layer_either(m,
                         eager(m) && !s->liger ? SC__MEM_SWIGLU_CHUNK_F
                                               : SC__MEM_FUSED_SWIGLU_F,
                         rows,
                         ffn);
    else if (s->new_gelu && of_modules(m))
        sc__layer_either(m, SC__MEM_NEW_GELU_F, rows, ffn);
    else if (s->function_gelu && of_modules(m))
        function_gelu(m, (double)rows * (double)ffn);
    else if (s->learned_activation && of_modules(m))
        learned_activation(m, (double)rows * (double)ffn);
    else
        sc__layer_either(m,
                         !eager(m) && (s->bias || s->mlp_bias) ? SC__MEM_BIAS_GELU_F
                                                               : SC__MEM_GELU_F,
                         rows,
                         ffn);
}

/* ---- attention ---- */

struct heads {
    uint64_t q;  /* query heads of this GPU */
    uint64_t kv; /* key-value heads of this GPU */
    uint64_t qk_dim;
    uint64_t v_dim;
    uint64_t width; /* of the qkv GEMM */
};

static struct heads heads_of(const struct sc__layer_shape *s) {
    struct heads h = {sc__at_least_one(s->heads, s->tp),
                      sc__at_least_one(s->kv_heads, s->tp),
                      s->head_dim,
                      s->head_dim,
                      0};
    /* Latent attention: the rotated part is beside the plain one, and every
     * query head has its own keys once they are projected up. */
    if (s->kv_rank) {
        h.qk_dim += s->rope_dim;
        h.v_dim = s->v_dim;
        h.kv = h.q;
    }
    /* cut by its rows, also where ranks are more than key-value heads */
    uint64_t gate = s->attention_gate ? 2 : 1;
    uint64_t all = gate * s->heads + (s->key_values ? 1 : 2) * s->kv_heads;
    h.width = sc__at_least_one(all * s->head_dim, s->tp);
    return h;
}

/* Pairs of fp32 are multiplied by a complex number: a kernel of its own, and casts before
 * and behind it that are fused with nothing that is large. */
static void rotate_complex(struct sc__layer_maker *m, double elements) {
    double narrow = sc__dtype_bytes(m->s->dtype);
    double wide = sc__dtype_bytes(SC__FP32);
    sc__layer_elementwise(m, "rope_cast", (narrow + wide) * elements, 1);
    sc__layer_elementwise(m, "rope_complex", 2 * wide * elements, 1);
    sc__layer_elementwise(m, "rope_cast", (narrow + wide) * elements, 1);
}

/* Attention that knows no shared keys gets them as often as there are heads, and sums
 * their gradients. */
static void repeat_keys(struct sc__layer_maker *m, const struct heads *h) {
    double bytes = 2 * sc__dtype_bytes(m->s->dtype) * (double)m->tokens;
    if ((m->s->repeat_keys || m->s->masked) && h->q > h->kv)
        sc__layer_elementwise(m,
                              "repeat_keys",
                              bytes * (double)((h->q + h->kv) * m->s->head_dim),
                              1);
}

static void rotate(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    /* latent attention rotates one key for all heads */
    uint64_t width = s->kv_rank ? (h->q + 1) * s->rope_dim : (h->q + h->kv) * s->head_dim;
    enum sc__memory_op op = SC__MEM_ROPE_F;
    if (of_modules_alone(m))
        op = SC__MEM_ROPE_OPS_F;
    else if (eager(m) && !s->liger)
        op = SC__MEM_ROPE_EAGER_F;
    if (s->rope && s->complex_rope)
        rotate_complex(m, (double)m->tokens * (double)width);
    else if (s->rope)
        sc__layer_either(m, op, m->tokens, width);
}

/* Latent attention: down to the ranks, norm, up to the heads. */
static void latent_in(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    uint64_t q_in = s->q_rank ? s->q_rank : s->hidden;
    uint64_t rows = s->latents_of_all ? m->tokens : m->rows;
    struct sc__linear q_down =
        {"q_down", "q_down_dgrad", "q_down_wgrad", s->hidden, s->q_rank, 0, false, 0};
    struct sc__linear q_up =
        {"q_up", "q_up_dgrad", "q_up_wgrad", q_in, h->q * h->qk_dim, 0, false, LORA_Q};
    struct sc__linear kv_down = {"kv_down",
                                 "kv_down_dgrad",
                                 "kv_down_wgrad",
                                 s->hidden,
                                 s->kv_rank + s->rope_dim,
                                 0,
                                 false,
                                 0};
    struct sc__linear kv_up = {"kv_up",
                               "kv_up_dgrad",
                               "kv_up_wgrad",
                               s->kv_rank,
                               h->q * (s->head_dim + s->v_dim),
                               0,
                               false,
                               LORA_K | LORA_V};
    struct sc__linear index = {"index",
                               "index_dgrad",
                               "index_wgrad",
                               q_in,
                               s->index_heads * s->index_dim / s->tp,
                               0,
                               false,
                               0};
    if (s->index_heads)
        sc__layer_linear(m, &index, m->tokens);
    if (m->backward)
        rotate(m, h);
    if (s->q_rank && !m->backward) {
        sc__layer_linear(m, &q_down, rows);
        norm(m, rows, s->q_rank);
    }
    m->up = true;
    sc__layer_linear(m, &q_up, m->tokens);
    m->up = false;
    if (s->q_rank && m->backward) {
        norm(m, rows, s->q_rank);
        sc__layer_linear(m, &q_down, rows);
    }
    if (!m->backward) {
        sc__layer_linear(m, &kv_down, rows);
        norm(m, rows, s->kv_rank);
    }
    m->up = true;
    sc__layer_linear(m, &kv_up, m->tokens);
    if (!m->backward)
        rotate(m, h);
    m->up = false;
    if (m->backward) {
        norm(m, rows, s->kv_rank);
        sc__layer_linear(m, &kv_down, rows);
    }
}

/* What autograd does to put the gradients of q, k and v together. */
static void join_qkv_gradients(struct sc__layer_maker *m, const struct heads *h) {
    if (m->s->rmsnorm || m->s->gated || of_modules(m)) {
        sc__layer_memory(m, SC__MEM_CAT, m->tokens, h->width);
    } else {
        sc__layer_memory(m, SC__MEM_CAT_STRIDED, m->tokens, h->width);
        sc__layer_memory(m, SC__MEM_COPY_STRIDED, m->tokens, h->width);
    }
}

static void project_qkv(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    bool bias = (s->bias && !s->no_qkv_bias) || s->qkv_bias;
    bool apart = of_modules(m) && s->rmsnorm;
    uint64_t q = h->q * s->head_dim;
    uint64_t kv = h->kv * s->head_dim;
    unsigned targets = s->key_values ? LORA_Q | LORA_K : LORA_QKV;
    const struct sc__linear one =
        {"qkv", "qkv_dgrad", "qkv_wgrad", s->hidden, h->width, 0, bias, targets};
    const struct sc__linear three[] = {
        {"q", "q_dgrad", "q_wgrad", s->hidden, q, 0, bias, LORA_Q},
        {"k", "k_dgrad", "k_wgrad", s->hidden, kv, 0, bias, LORA_K},
        {"v", "v_dgrad", "v_wgrad", s->hidden, kv, 0, bias, LORA_V}};
    if (m->backward && eager(m) && !apart)
        join_qkv_gradients(m, h);
    unsigned count = s->key_values ? 2 : 3;
    linears(m, apart ? three : &one, apart ? count : 1, m->tokens);
    if (m->backward && s->key_values) /* gradients of keys and values meet */
        sc__layer_memory(m, SC__MEM_ADD, m->tokens, kv);
}

/* Megatron's and Liger's norms take several short rows to a block and go by their bytes. */
static void norm_heads(struct sc__layer_maker *m, const struct heads *h) {
    uint64_t rows = m->tokens * (h->q + (m->s->v_norm ? 2 : 1) * h->kv);
    uint64_t cols = m->s->head_dim;
    if (!m->s->qk_norm)
        return;
    if (eager(m) && !m->s->liger) {
        norm(m, rows, cols);
        return;
    }
    double each = (m->backward ? 4 : 2) * sc__dtype_bytes(m->s->dtype);
    struct sc__kernel k =
        sc__elementwise(m->kernel_model, "qk_norm", each * (double)rows * (double)cols);
    k.work = SC__WORK_NORM;
    sc__layer_push(m, k);
}

static void attention_in(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    m->part = SC__PART_ATTENTION_IN;
    if (s->kv_rank) {
        latent_in(m, h);
        return;
    }
    if (!m->backward)
        project_qkv(m, h);
    if (!m->backward)
        norm_heads(m, h);
    rotate(m, h);
    repeat_keys(m, h);
    if (m->backward)
        norm_heads(m, h);
    if (m->backward)
        project_qkv(m, h);
}

/* Part of the blocks of 128 queries by 128 keys that a window leaves: `wide`
 * blocks in every row of blocks, less the triangle that is missing at the top.
 * 0: the window is no narrower than the causal mask. */
static double window_share(uint64_t seq, uint64_t window) {
    double blocks = ceil((double)seq / 128);
    double wide = ceil((double)(window - 1) / 128) + 1;
    if (!window || wide >= blocks)
        return 0;
    return (wide * blocks - wide * (wide - 1) / 2) / (blocks * blocks);
}

/* The sequences that attention sees, and their length. */
struct seen_sequences {
    uint64_t count;
    uint64_t length;
};

static struct seen_sequences attention_sequences(const struct sc__layer_shape *s) {
    uint64_t pieces = s->pieces ? s->pieces : 1;
    return (struct seen_sequences){.count = s->batch * pieces,
                                   .length = (s->seq + pieces - 1) / pieces};
}

/* A byte of yes and no becomes what is added to a score, in a kernel that finds the place
 * of each element. */
static void add_mask(struct sc__layer_maker *m) {
    double traffic = sc__kernel_model_operators(m->kernel_model)->mask_traffic;
    double bytes = traffic * (1 + sc__dtype_bytes(m->s->dtype));
    double scores = (double)m->s->batch * (double)m->s->seq * (double)m->s->seq;
    sc__layer_elementwise(m, "mask", bytes * scores, 1);
}

static void flash(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    double share = s->causal ? window_share(s->seq, s->window) : 0;
    /* Context parallel ranks hold a chunk from the front and one from the back,
     * so that each computes half of its rows. */
    if (!(share > 0) && s->causal && s->cp > 1)
        share = 0.5;
    struct seen_sequences seen = attention_sequences(s);
    if (s->masked && !m->backward)
        add_mask(m);
    struct sc__attention a = {.batch = seen.count,
                              .heads = h->q,
                              .kv_heads = s->masked ? h->q : h->kv,
                              .sq = seen.length / s->cp,
                              .skv = seen.length,
                              .head_dim = h->qk_dim,
                              .v_dim = h->v_dim,
                              .causal = s->causal && !s->masked,
                              .masked = s->masked,
                              .share = share,
                              .software = s->attention,
                              .wide = sc__dtype_bytes(s->dtype) > 2};
    sc__layer_push(m,
                   m->backward ? sc__attention_backward(m->kernel_model, &a)
                               : sc__attention_forward(m->kernel_model, &a));
}

static void unfused(struct sc__layer_maker *m, const struct heads *h) {
    struct seen_sequences seen = attention_sequences(m->s);
    sc__layer_scores(m,
                     &(struct sc__written_scores){.sequences = seen.count,
                                                  .heads = h->q,
                                                  .queries = seen.length / m->s->cp,
                                                  .keys = seen.length,
                                                  .qk_dim = h->qk_dim,
                                                  .v_dim = h->v_dim});
}

static void attention_core(struct sc__layer_maker *m, const struct heads *h) {
    m->part = SC__PART_ATTENTION_CORE;
    if (m->s->attention == SC__ATTENTION_UNFUSED)
        unfused(m, h);
    else
        flash(m, h);
}

static void attention_out(struct sc__layer_maker *m, const struct heads *h) {
    const struct sc__layer_shape *s = m->s;
    struct sc__linear out = {"proj",
                             "proj_dgrad",
                             "proj_wgrad",
                             h->q * h->v_dim,
                             s->hidden,
                             0,
                             s->bias && eager(m),
                             LORA_OUT};
    m->part = SC__PART_ATTENTION_OUT;
    if (s->attention_gate)
        sc__layer_either(m, SC__MEM_FUSED_SWIGLU_F, m->tokens, h->q * h->v_dim);
    if (s->sub_norms)
        norm(m, m->tokens, h->q * h->v_dim);
    sc__layer_linear(m, &out, m->tokens);
}

static void push_list(struct sc__layer_maker *m, const struct sc__kernels *list) {
    for (uint32_t i = 0; i < list->count; i++)
        sc__layer_push(m, list->items[i]);
}

static void scan_core(struct sc__layer_maker *m) {
    struct sc__kernels list = {0};
    m->part = SC__PART_ATTENTION_CORE;
    sc__scan_kernels(m->arena, m->kernel_model, m->s, m->tokens, m->backward, &list);
    push_list(m, &list);
}

static void pick_keys(struct sc__layer_maker *m) {
    struct sc__kernels list = {0};
    m->part = SC__PART_ATTENTION_CORE;
    if (m->s->index_heads && m->s->window)
        sc__index_kernels(m->arena, m->kernel_model, m->s, m->backward, &list);
    push_list(m, &list);
}

static void scan_half(struct sc__layer_maker *m) {
    const struct sc__layer_shape *s = m->s;
    uint64_t width = s->scan_heads * s->scan_head_dim / s->tp;
    uint64_t wide = s->scan_input / s->tp;
    struct sc__linear in = {"scan_in",
                            "scan_in_dgrad",
                            "scan_in_wgrad",
                            s->hidden,
                            wide,
                            0,
                            false,
                            LORA_SCAN_IN};
    struct sc__linear out = {"scan_out",
                             "scan_out_dgrad",
                             "scan_out_wgrad",
                             width,
                             s->hidden,
                             0,
                             false,
                             LORA_SCAN_OUT};
    for (unsigned i = 0; i < 5; i++)
        switch (m->backward ? 4 - i : i) {
        case 0:
            head_norm(m, SC__PART_ATTENTION_NORM);
            break;
        case 1:
            m->part = SC__PART_ATTENTION_IN;
            sc__layer_linear(m, &in, m->tokens);
            break;
        case 2:
            scan_core(m);
            break;
        case 3:
            m->part = SC__PART_ATTENTION_OUT;
            sc__layer_linear(m, &out, m->tokens);
            break;
        default:
            residual(m, SC__PART_ATTENTION_ADD);
        }
}

static void attention_half(struct sc__layer_maker *m) {
    struct heads h = heads_of(m->s);
    if (m->s->no_mixer)
        return;
    if (m->s->scan_heads) {
        scan_half(m);
        return;
    }
    if (!m->backward) {
        head_norm(m, SC__PART_ATTENTION_NORM);
        attention_in(m, &h);
        pick_keys(m);
        attention_core(m, &h);
        attention_out(m, &h);
        residual(m, SC__PART_ATTENTION_ADD);
    } else {
        residual(m, SC__PART_ATTENTION_ADD);
        attention_out(m, &h);
        attention_core(m, &h);
        pick_keys(m);
        attention_in(m, &h);
        head_norm(m, SC__PART_ATTENTION_NORM);
    }
}

/* ---- feed-forward ---- */

/* What an expert makes of a token counts by its probability, whose gradient is the product
 * of the activation, computed again, and its gradient: a pass over both. */
static void
probabilities(struct sc__layer_maker *m, const struct sc__mlp *f, uint64_t rows) {
    double read = (m->s->gated ? 3 : 2) * sc__dtype_bytes(m->s->dtype);
    if (f->experts && m->backward && !m->s->by_modules)
        sc__layer_elementwise(m, "probability_b", read * (double)rows * (double)f->ffn, 1);
}

void sc__layer_mlp(struct sc__layer_maker *m, const struct sc__mlp *f) {
    const struct sc__layer_shape *s = m->s;
    uint64_t all = f->rows * (f->experts ? f->experts : 1);
    bool bias = (s->bias || s->mlp_bias) && !f->experts;
    bool apart = s->gated && of_modules(m) && !f->experts;
    uint64_t width = (s->gated && !apart ? 2 : 1) * f->ffn;
    struct sc__linear fc1 = {"fc1",
                             "fc1_dgrad",
                             "fc1_wgrad",
                             f->hidden,
                             width,
                             f->experts,
                             bias && (eager(m) || s->gated),
                             s->gated ? LORA_GATE | LORA_UP : LORA_UP};
    struct sc__linear two[] = {fc1, fc1};
    struct sc__linear fc2 = {"fc2",
                             "fc2_dgrad",
                             "fc2_wgrad",
                             f->ffn,
                             f->hidden,
                             f->experts,
                             bias && eager(m),
                             LORA_DOWN};
    if (apart) {
        two[0].targets = LORA_GATE;
        two[1].targets = LORA_UP;
    }
    bool in_products = f->experts && s->in_products;
    if (in_products && m->backward)
        two[0].operand_is_cast = true;
    if (in_products && !m->backward)
        fc2.operand_is_cast = true;
    if (m->backward) {
        m->part = f->out;
        sc__layer_linear(m, &fc2, f->rows);
    }
    m->part = f->in;
    if (!m->backward)
        linears(m, two, apart ? 2 : 1, f->rows);
    bool gates_apart = f->experts && s->by_modules && s->expert_bias;
    if (!in_products && !gates_apart) {
        activation(m, all, f->ffn, f->experts && s->by_modules);
        probabilities(m, f, all);
        if (s->sub_norms && !f->experts)
            norm(m, all, f->ffn);
    }
    if (m->backward)
        linears(m, two, apart ? 2 : 1, f->rows);
    if (!m->backward) {
        m->part = f->out;
        sc__layer_linear(m, &fc2, f->rows);
    }
}

static void dense_mlp(struct sc__layer_maker *m) {
    struct sc__mlp f = {m->tokens,
                        m->s->hidden,
                        m->s->ffn / m->s->tp,
                        0,
                        SC__PART_MLP_IN,
                        SC__PART_MLP_OUT};
    sc__layer_mlp(m, &f);
}

static void mlp_half(struct sc__layer_maker *m) {
    if (m->s->no_feed_forward)
        return;
    if (!m->backward)
        head_norm(m, SC__PART_MLP_NORM);
    if (m->backward)
        residual(m, SC__PART_MLP_ADD);
    if (m->s->experts)
        sc__layer_experts(m);
    else
        dense_mlp(m);
    if (!m->backward)
        residual(m, SC__PART_MLP_ADD);
    if (m->backward)
        head_norm(m, SC__PART_MLP_NORM);
}

void sc__norm_kernels(struct sc__arena *arena,
                      struct sc__kernel_model *p,
                      const struct sc__layer_shape *s,
                      bool backward,
                      uint64_t rows,
                      struct sc__layer_kernels *out) {
    struct sc__layer_maker m = {.arena = arena,
                                .kernel_model = p,
                                .s = s,
                                .out = out,
                                .backward = backward};
    norm(&m, rows, s->hidden);
}

void sc__layer_kernels(struct sc__arena *arena,
                       struct sc__kernel_model *p,
                       const struct sc__layer_shape *s,
                       struct sc__layer_kernels *forward,
                       struct sc__layer_kernels *backward) {
    struct sc__layer_maker m = {.arena = arena, .kernel_model = p, .s = s, .out = forward};
    m.tokens = s->batch * s->seq / s->cp;
    m.rows = s->sequence_parallel ? m.tokens / s->tp : m.tokens;
    attention_half(&m);
    mlp_half(&m);
    m.out = backward;
    m.backward = true;
    mlp_half(&m);
    attention_half(&m);
    sc__layer_apply_pieces(p, forward);
    sc__layer_apply_pieces(p, backward);
}
