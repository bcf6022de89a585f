/* config_internevo: configurations of InternEvo, which are Python: dictionaries in
 * assignments, whose values are literals or names of other assignments.
 *
 *     SEQ_LEN = 2048
 *     data = dict(seq_len=SEQ_LEN, micro_num=4, micro_bsz=1)
 *     parallel = dict(zero1=dict(size=-1), tensor=dict(size=2, mode="msp"), pipeline=1)
 *
 * They become keys with dots between: data.seq_len. Nothing is run. */
#include "launch/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { MOST_DEPTH = 8, MOST_KEYS = 4000 };

struct python_keys {
    struct sc__launch *l;
    struct sc__config *c;
    const char *p;
    const char *end;
    uint32_t line;
    bool calls; /* what any function is called with is a section, too */
};

static void skip_line(struct python_keys *r) {
    while (r->p < r->end && *r->p != '\n')
        r->p++;
}

/* Behind a string; a triple one may go over lines. */
static struct sc__str take_string(struct python_keys *r) {
    char quote = *r->p;
    size_t width = r->end - r->p > 2 && r->p[1] == quote && r->p[2] == quote ? 3 : 1;
    const char *begin = r->p += width;
    for (; r->p < r->end; r->p++) {
        bool closes =
            *r->p == quote &&
            (width == 1 || (r->end - r->p > 2 && r->p[1] == quote && r->p[2] == quote));
        r->line += *r->p == '\n';
        if (closes || (width == 1 && *r->p == '\n'))
            break;
    }
    struct sc__str text = {begin, (size_t)(r->p - begin)};
    r->p += (size_t)(r->end - r->p) < width ? (size_t)(r->end - r->p) : width;
    return text;
}

static void skip_space(struct python_keys *r) {
    for (; r->p < r->end && (isspace((unsigned char)*r->p) || *r->p == '#'); r->p++) {
        if (*r->p == '#')
            skip_line(r);
        if (r->p == r->end)
            return;
        r->line += *r->p == '\n';
    }
}

static bool is_in_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static struct sc__str take_word(struct python_keys *r) {
    const char *begin = r->p;
    while (r->p < r->end && is_in_word(*r->p))
        r->p++;
    return (struct sc__str){begin, (size_t)(r->p - begin)};
}

/* Behind an expression that is not read, at the comma, the bracket or the line that ends
 * it. */
static void skip_expression(struct python_keys *r, bool inside) {
    int depth = 0;
    while (r->p < r->end) {
        char c = *r->p;
        if (c == '"' || c == '\'') {
            take_string(r);
            continue;
        }
        if (depth <= 0 && (inside ? strchr(",)}", c) != NULL : c == '\n'))
            return;
        depth += strchr("([{", c) ? 1 : strchr(")]}", c) ? -1 : 0;
        r->line += c == '\n';
        r->p++;
    }
}

static void take_value(struct python_keys *r, const char *key, unsigned depth);

/* name=value and "name": value up to the bracket that closes them. */
static void take_entries(struct python_keys *r, const char *prefix, unsigned depth) {
    for (;;) {
        skip_space(r);
        if (r->p == r->end || *r->p == ')' || *r->p == '}')
            break;
        if (*r->p == ',') {
            r->p++;
            continue;
        }
        bool quoted = *r->p == '"' || *r->p == '\'';
        struct sc__str name = quoted ? take_string(r) : take_word(r);
        skip_space(r);
        bool named = name.n && r->p < r->end && *r->p == (quoted ? ':' : '=');
        if (!named) {
            skip_expression(r, true);
            continue;
        }
        r->p++;
        take_value(r,
                   sc__format(&r->l->ctx->arena,
                              "%s%s%.*s",
                              prefix,
                              *prefix ? "." : "",
                              SC__SHOW(name)),
                   depth + 1);
    }
    if (r->p < r->end)
        r->p++;
}

/* The literal, or what a name stands for, if nothing else is done with it. */
static void take_plain(struct python_keys *r, const char *key, bool inside) {
    struct sc__arena *arena = &r->l->ctx->arena;
    uint32_t line = r->line;
    bool quoted = r->p < r->end && (*r->p == '"' || *r->p == '\'');
    bool minus = r->p < r->end && *r->p == '-';
    const char *begin = r->p;
    r->p += minus;
    struct sc__str word = quoted ? take_string(r) : take_word(r);
    if (minus)
        word = (struct sc__str){begin, (size_t)(r->p - begin)};
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\r'))
        r->p++;
    bool whole =
        r->p == r->end || *r->p == '#' || *r->p == '\n' || (inside && strchr(",)}", *r->p));
    if (!whole || !word.n || r->c->count == MOST_KEYS) {
        skip_expression(r, inside);
        return;
    }
    const char *value = sc__strndup(arena, word.p, word.n);
    const char *known = quoted ? NULL : sc__config_exact(r->c, value);
    sc__config_put(r->l, r->c, key, known ? known : value, line);
}

/* Characters up to the bracket of a call that is a section; 0: none stands here. */
static size_t call_length(const struct python_keys *r) {
    static const char call[] = "dict(";
    size_t left = (size_t)(r->end - r->p);
    size_t n = 0;
    if (!r->calls)
        return left >= sizeof call - 1 && !memcmp(r->p, call, sizeof call - 1)
                   ? sizeof call - 1
                   : 0;
    while (n < left && is_in_word(r->p[n]))
        n++;
    return n && n < left && r->p[n] == '(' ? n + 1 : 0;
}

/* ["loss", "model"] as it is written. */
static void take_list(struct python_keys *r, const char *key, bool inside) {
    uint32_t line = r->line;
    const char *begin = r->p;
    skip_expression(r, inside);
    sc__config_put(r->l,
                   r->c,
                   key,
                   sc__strndup(&r->l->ctx->arena, begin, (size_t)(r->p - begin)),
                   line);
}

static void take_value(struct python_keys *r, const char *key, unsigned depth) {
    skip_space(r);
    size_t call = call_length(r);
    bool braces = r->p < r->end && *r->p == '{';
    if (r->calls && r->p < r->end && *r->p == '[') {
        take_list(r, key, depth > 0);
        return;
    }
    if ((!call && !braces) || depth >= MOST_DEPTH) {
        take_plain(r, key, depth > 0);
        return;
    }
    r->p += call ? call : 1;
    take_entries(r, key, depth);
}

void sc__config_read_call(struct sc__launch *l,
                          struct sc__config *c,
                          struct sc__str text,
                          uint32_t line,
                          const char *key) {
    struct python_keys r =
        {.l = l, .c = c, .p = text.p, .end = text.p + text.n, .line = line, .calls = true};
    take_value(&r, key, 0);
}

void sc__config_read_internevo(struct sc__launch *l, struct sc__config *c) {
    struct python_keys r = {.l = l,
                            .c = c,
                            .p = l->text.p,
                            .end = l->text.p + l->text.n,
                            .line = 1};
    *c = (struct sc__config){0};
    for (;;) {
        skip_space(&r);
        if (r.p == r.end)
            return;
        if (*r.p == '"' || *r.p == '\'') {
            take_string(&r);
            continue;
        }
        struct sc__str name = take_word(&r);
        while (r.p < r.end && (*r.p == ' ' || *r.p == '\t'))
            r.p++;
        bool assigns = name.n && r.end - r.p > 1 && r.p[0] == '=' && r.p[1] != '=';
        if (!assigns) {
            skip_expression(&r, false);
            r.p += r.p < r.end && *r.p != '\n';
            continue;
        }
        r.p++;
        take_value(&r, sc__strndup(&l->ctx->arena, name.p, name.n), 0);
    }
}

bool sc__config_is_internevo(struct sc__str text) {
    return sc__find_word(text.p, text.n, "parallel = dict(") &&
           sc__find_word(text.p, text.n, "model = dict(") &&
           sc__find_word(text.p, text.n, "micro_bsz");
}

/* ---- what they mean ---- */

/* parallel.tensor is a number, or a dictionary with one; below 1: all there are. */
static int64_t size_of(const struct sc__config *c, const char *name, int64_t usual) {
    char key[64];
    snprintf(key, sizeof key, "parallel.%s.size", name);
    const char *value = sc__config_exact(c, key);
    snprintf(key, sizeof key, "parallel.%s", name);
    if (!value)
        value = sc__config_exact(c, key);
    double x;
    bool number = value && sc__parse_double(sc__str(value), &x) && x > -1e9 && x < 1e9;
    return number ? (int64_t)x : usual;
}

static void add_number(struct sc__launch *l,
                       struct sc__flag_list *out,
                       const char *flag,
                       uint64_t value) {
    sc__config_add(l, out, flag, sc__format(&l->ctx->arena, "%" PRIu64, value));
}

/* The feed-forward is mlp_ratio times the hidden size, up to the next 256 (multiple_of of
 * modeling_llama.py and modeling_internlm2.py). */
static void
take_model(struct sc__launch *l, const struct sc__config *c, struct sc__flag_list *out) {
    const char *ratio = sc__config_exact(c, "model.mlp_ratio");
    const char *norm = sc__config_exact(c, "model.norm_type");
    uint64_t hidden = sc__config_number(c, "model.hidden_size", 0);
    uint64_t of = sc__config_number(c, "model.multiple_of", 256);
    double times = 4;
    if (ratio && (!sc__parse_double(sc__str(ratio), &times) || !(times > 0 && times < 64)))
        times = 4;
    if (hidden && of && of < 1u << 20)
        add_number(l,
                   out,
                   "ffn-hidden-size",
                   ((uint64_t)((double)hidden * times) + of - 1) / of * of);
    sc__config_add(l, out, "swiglu", NULL);
    if (!norm || !strcmp(norm, "rmsnorm"))
        sc__config_add(l, out, "normalization", "RMSNorm");
    sc__config_add(l, out, "position-embedding-type", "rope");
    sc__config_add(l, out, "disable-bias-linear", NULL);
    sc__config_add(l, out, "untie-embeddings-and-output-weights", NULL);
    const char *flash = sc__config_exact(c, "model.use_flash_attn");
    sc__config_add(l,
                   out,
                   "attention",
                   flash && sc__config_false(flash) ? "unfused" : "flash2");
    sc__config_add(l, out, "no-dropout", NULL);
}

/* A share of the layers, or all of them. */
static void take_checkpointing(struct sc__launch *l,
                               const struct sc__config *c,
                               uint64_t stages,
                               struct sc__flag_list *out) {
    const char *value = sc__config_exact(c, "model.checkpoint");
    uint64_t layers = sc__config_number(c, "model.num_layers", 0) / stages;
    double share = 0;
    bool part = value && sc__parse_double(sc__str(value), &share) && share > 0 && share < 1;
    bool all = (value && sc__config_true(value)) || share >= 1;
    sc__config_add(l, out, "recompute", all || part ? "full" : "none");
    if (part && (uint64_t)(share * (double)layers)) {
        sc__config_add(l, out, "recompute-method", "block");
        add_number(l, out, "recompute-num-layers", (uint64_t)(share * (double)layers));
    }
}

/* Weights of isp are sharded over the ranks of weight parallel and gathered for use, and
 * the ranks of "tensor" exchange heads for parts of the sequence; mtp, msp and fsp cut
 * products (docs/source/parallel.rst of InternEvo). */
static void take_ranks(struct sc__launch *l,
                       const struct sc__config *c,
                       uint64_t tensor,
                       struct sc__flag_list *out) {
    const char *mode = sc__config_exact(c, "parallel.tensor.mode");
    const char *parts = sc__config_exact(c, "parallel.sequence_parallel");
    bool isp = mode && !strcmp(mode, "isp");
    bool cut = (mode && (!strcmp(mode, "msp") || !strcmp(mode, "fsp"))) ||
               (parts && sc__config_true(parts));
    int64_t weight = size_of(c, "weight", 1);
    int64_t zero = size_of(c, "zero1", -1);
    add_number(l, out, isp ? "cp" : "tp", tensor);
    if (isp && tensor > 1)
        sc__config_add(l, out, "cp-comm-type", "a2a");
    if (cut && tensor > 1)
        sc__config_add(l, out, "sequence-parallel", NULL);
    bool gathers = isp && weight > 1;
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
}

sc_status sc__config_internevo(struct sc__launch *l,
                               const struct sc__config *c,
                               struct sc__flag_list *out) {
    const char *type = sc__config_exact(c, "model.dtype");
    int64_t stages = size_of(c, "pipeline", 1);
    int64_t tensor = size_of(c, "tensor", 1);
    if (sc__config_number(c, "model.num_experts", 1) > 1)
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
    take_model(l, c, out);
    take_checkpointing(l, c, (uint64_t)stages, out);
    take_ranks(l, c, (uint64_t)tensor, out);
    add_number(l, out, "pp", (uint64_t)stages);
    if (stages > 1 && sc__config_number(c, "model.num_chunks", 1) > 1)
        add_number(l, out, "vpp", sc__config_number(c, "model.num_chunks", 1));
    if (type)
        sc__config_add(l,
                       out,
                       "dtype",
                       strstr(type, "bfloat16")  ? "bf16"
                       : strstr(type, "float16") ? "fp16"
                       : strstr(type, "tf32")    ? "tf32"
                                                 : "fp32");
    return SC_OK;
}
