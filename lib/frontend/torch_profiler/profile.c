#include "frontend/torch_profiler/profile.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Words of kernels and operators that exchange data with other ranks, beside those of the
 * libraries themselves: all-reduces of vLLM and SGLang, DeepEP's exchange of tokens. */
static const char *const exchange_words[] = {"all2all",
                                             "alltoall",
                                             "all_to_all",
                                             "allreduce",
                                             "all_reduce",
                                             "allgather",
                                             "all_gather",
                                             "reduce_scatter",
                                             "reducescatter",
                                             "cross_device_reduce",
                                             "deep_ep::int", /* intranode, internode */
                                             "nvshmem",
                                             "userbuffers"};

/* First match wins, so the order is from the special to the general. */
static const struct {
    const char *word; /* anywhere in the name, in small letters */
    uint8_t class;
} class_words[] = {
    {"dataloader", SC__WORK_HOST},
    {"nccl", SC__CLASS_COMM},
    {"rccl", SC__CLASS_COMM},
    {"msccl", SC__CLASS_COMM},
    {"hccl", SC__CLASS_COMM},
    {"c10d::", SC__CLASS_COMM},
    {"record_param_comms", SC__CLASS_COMM},
    {"multi_tensor", SC__WORK_OPTIMIZER},
    {"_foreach", SC__WORK_OPTIMIZER},
    {"optimizer", SC__WORK_OPTIMIZER},
    {"adam", SC__WORK_OPTIMIZER},
    {"sgd", SC__WORK_OPTIMIZER},
    {"fusedlamb", SC__WORK_OPTIMIZER},
    {"nll", SC__WORK_LOSS},
    {"log_softmax", SC__WORK_LOSS},
    {"logsoftmax", SC__WORK_LOSS},
    {"cross_entropy", SC__WORK_LOSS},
    {"crossentropy", SC__WORK_LOSS},
    {"cunn_softmax", SC__WORK_LOSS},
    {"layer_norm", SC__WORK_NORM},
    {"layernorm", SC__WORK_NORM},
    {"rms_norm", SC__WORK_NORM},
    {"rmsnorm", SC__WORK_NORM},
    {"batch_norm", SC__WORK_NORM},
    {"batchnorm", SC__WORK_NORM},
    {"group_norm", SC__WORK_NORM},
    {"groupnorm", SC__WORK_NORM},
    {"gammabeta", SC__WORK_NORM},
    {"bn_fw", SC__WORK_NORM},
    {"bn_bw", SC__WORK_NORM},
    {"rowwisemoments", SC__WORK_NORM},
    {"cucomputegradinput", SC__WORK_NORM},
    {"moegate", SC__WORK_ROUTER},
    {"gating", SC__WORK_ROUTER},
    {"router", SC__WORK_ROUTER},
    {"dispatchmask", SC__WORK_ROUTER},
    {"moemm", SC__WORK_ROUTER},
    {"combineexpert", SC__WORK_ROUTER},
    {"topk", SC__WORK_ROUTER},
    {"sort", SC__WORK_ROUTER},
    {"moe_align_block_size", SC__WORK_ROUTER},
    {"flashinfer::norm", SC__WORK_NORM},
    {"flashinfer::activation", SC__WORK_ELEMENTWISE},
    {"reshape_and_cache", SC__WORK_COPY},
    {"attention", SC__WORK_ATTENTION},
    {"attndropout", SC__WORK_ELEMENTWISE},
    {"attnres", SC__WORK_ELEMENTWISE},
    {"attn", SC__WORK_ATTENTION},
    {"sdpa", SC__WORK_ATTENTION},
    {"flash", SC__WORK_ATTENTION},
    {"fmha", SC__WORK_ATTENTION},
    {"bwd_kernel_dk_dv", SC__WORK_ATTENTION}, /* AOTriton's, of ROCm */
    {"bwd_kernel_dq", SC__WORK_ATTENTION},
    {"softmax", SC__WORK_ATTENTION},
    {"cudnn::fusion", SC__WORK_ATTENTION},
    {"fused_moe", SC__WORK_GEMM},
    {"gemm", SC__WORK_GEMM},
    {"gemv", SC__WORK_GEMM},
    {"cijk_", SC__WORK_GEMM}, /* Tensile's, of rocBLAS and hipBLASLt */
    {"scudnn", SC__WORK_GEMM},
    {"marlin", SC__WORK_GEMM},
    {"nvjet", SC__WORK_GEMM},
    {"cutlass", SC__WORK_GEMM},
    {"cublas", SC__WORK_GEMM},
    {"xmma", SC__WORK_GEMM},
    {"splitkreduce", SC__WORK_GEMM},
    {"addmm", SC__WORK_GEMM},
    {"bmm", SC__WORK_GEMM},
    {"::mm", SC__WORK_GEMM},
    {"mmbackward", SC__WORK_GEMM},
    {"matmul", SC__WORK_GEMM},
    {"einsum", SC__WORK_GEMM},
    {"linear", SC__WORK_GEMM},
    {"convolution", SC__WORK_GEMM},
    {"conv1d", SC__WORK_GEMM},
    {"conv2d", SC__WORK_GEMM},
    {"conv3d", SC__WORK_GEMM},
    {"winograd", SC__WORK_GEMM},
    {"ffn", SC__WORK_GEMM},
    {"expert", SC__WORK_GEMM},
    {"embedding", SC__WORK_EMBEDDING},
    {"index_select", SC__WORK_EMBEDDING},
    {"indexselect", SC__WORK_EMBEDDING},
    {"gather_kernel", SC__WORK_EMBEDDING},
    {"compute_grad_weight", SC__WORK_EMBEDDING},
    {"_rsqrt", SC__WORK_NORM}, /* Inductor's, where a norm is one kernel */
    {"fused__to_copy", SC__WORK_ELEMENTWISE},
    {"memcpy", SC__WORK_COPY},
    {"memset", SC__WORK_COPY},
    {"copy", SC__WORK_COPY},
    {"catarray", SC__WORK_COPY},
    {"fused_cat_", SC__WORK_COPY},
    {"::cat", SC__WORK_COPY},
    {"catbackward", SC__WORK_COPY},
    {"clone", SC__WORK_COPY},
    {"contiguous", SC__WORK_COPY},
    {"slice", SC__WORK_COPY},
    {"split", SC__WORK_COPY},
    {"transpose", SC__WORK_COPY},
    {"view", SC__WORK_COPY},
    {"dropout", SC__WORK_ELEMENTWISE},
    {"elementwise", SC__WORK_ELEMENTWISE},
    {"reduce_kernel", SC__WORK_ELEMENTWISE},
    {"add", SC__WORK_ELEMENTWISE},
    {"mul", SC__WORK_ELEMENTWISE},
    {"div", SC__WORK_ELEMENTWISE},
    {"sub", SC__WORK_ELEMENTWISE},
    {"gelu", SC__WORK_ELEMENTWISE},
    {"relu", SC__WORK_ELEMENTWISE},
    {"silu", SC__WORK_ELEMENTWISE},
    {"swiglu", SC__WORK_ELEMENTWISE},
    {"fused_rope", SC__WORK_ELEMENTWISE},
    {"rotary", SC__WORK_ELEMENTWISE},
    {"tanh", SC__WORK_ELEMENTWISE},
    {"pow", SC__WORK_ELEMENTWISE},
    {"sum", SC__WORK_ELEMENTWISE},
    {"mean", SC__WORK_ELEMENTWISE},
    {"clamp", SC__WORK_ELEMENTWISE},
    {"fill", SC__WORK_ELEMENTWISE},
    {"zero", SC__WORK_ELEMENTWISE},
    {"accumulategrad", SC__WORK_ELEMENTWISE},
    {"norm", SC__WORK_NORM},
};

const char *sc__class_name(unsigned class) {
    if (class == SC__WORK_OTHER)
        return "other";
    return class == SC__CLASS_COMM ? "communication" : sc__work_name((enum sc__work) class);
}

static bool starts(const char *s, const char *prefix) {
    return !strncmp(s, prefix, strlen(prefix));
}

/* Inductor names its kernels after their kind and what it fused, views among it
 * ("triton_poi_fused_add_permute_view_3"): the kind and what follows, or NULL. */
static const char *inductor_kind(const char *small) {
    const char *at = strstr(small, "triton_");
    const char *fused = at ? strstr(at, "_fused") : NULL;
    return fused && fused - at == 10 ? at + 7 : NULL;
}

static bool is_word_of(const char *words, const char *at, size_t n) {
    for (const char *w = words; *w; w += strlen(w) + 1)
        if (strlen(w) == n && !memcmp(w, at, n))
            return true;
    return false;
}

/* All that a kernel fused moves its data and computes nothing. */
static bool only_moves(const char *fused) {
    static const char moves[] =
        "unsafe\0view\0clone\0permute\0transpose\0t\0unsqueeze\0squeeze\0expand\0"
        "slice\0select\0split\0with\0sizes\0cat\0copy\0reshape\0contiguous\0stack\0"
        "repeat\0index\0scatter\0backward\0as\0strided\0alias\0";
    const char *at = fused;
    bool some = false;
    while (*at) {
        size_t n = strcspn(at, "_");
        bool word = n && strspn(at, "0123456789") < n;
        if (word && !is_word_of(moves, at, n))
            return false;
        some |= word;
        at += n + (at[n] == '_');
    }
    return some;
}

/* Products and attention are templates (tem); what stands of them in another name are views
 * of what they made, or what is computed of it. */
static uint8_t inductor_class(const char *kind) {
    if (starts(kind, "tem"))
        return strstr(kind, "attention") ? SC__WORK_ATTENTION : SC__WORK_GEMM;
    if (starts(kind, "for")) /* a list of tensors, each the same way */
        return SC__WORK_OPTIMIZER;
    for (size_t i = 0; i < sizeof class_words / sizeof *class_words; i++) {
        const char *word = class_words[i].word;
        uint8_t class = class_words[i].class;
        bool beside = class == SC__WORK_GEMM || class == SC__WORK_HOST ||
                      class == SC__WORK_COPY || class == SC__CLASS_COMM ||
                      (class == SC__WORK_ATTENTION && strcmp(word, "softmax") != 0);
        if (!beside && strstr(kind, word))
            return class;
    }
    return only_moves(strstr(kind, "_fused") + strlen("_fused")) ? SC__WORK_COPY
                                                                 : SC__WORK_ELEMENTWISE;
}

/* What waits for a collective or copies for it is none
 * ("triton_poi_fused_all_gather_into_tensor_view_3"). */
static bool exchanges(const char *small) {
    if (inductor_kind(small))
        return false;
    for (size_t i = 0; i < sizeof exchange_words / sizeof *exchange_words; i++)
        if (strstr(small, exchange_words[i]))
            return true;
    return false;
}

struct small_name {
    char text[160];
};

static struct small_name small_letters(const char *name) {
    struct small_name small;
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof small.text; n++)
        small.text[n] = (char)tolower((unsigned char)name[n]);
    small.text[n] = '\0';
    return small;
}

bool sc__profile_exchanges(const char *name) {
    return exchanges(small_letters(name).text);
}

bool sc__profile_of_inductor(const char *name) {
    return inductor_kind(small_letters(name).text) != NULL;
}

uint8_t sc__profile_class(const char *name) {
    struct small_name letters = small_letters(name);
    const char *small = letters.text;
    const char *kind = inductor_kind(small);
    if (kind)
        return inductor_class(kind);
    if (exchanges(small))
        return SC__CLASS_COMM;
    for (size_t i = 0; i < sizeof class_words / sizeof *class_words; i++)
        if (strstr(small, class_words[i].word))
            return class_words[i].class;
    return SC__WORK_OTHER;
}

/* cudaMalloc, cuLaunchKernelEx, hipFree; and what the tracer itself did. */
static bool is_runtime(const char *name) {
    static const char *const prefixes[] =
        {"cuda", "cu", "hip", "aclrt", "musa", "xpu", "ze", "ur", NULL};
    static const char *const own[] = {"Activity Buffer Request",
                                      "Buffer Flush",
                                      "Command Buffer Full",
                                      "Runtime Triggered Module Loading",
                                      "Lazy Function Loading",
                                      "Resource",
                                      "Unknown",
                                      NULL};
    for (const char *const *p = own; *p; p++)
        if (!strcmp(name, *p))
            return true;
    for (const char *const *p = prefixes; *p; p++)
        if (starts(name, *p) && isupper((unsigned char)name[strlen(*p)]))
            return true;
    return false;
}

static bool is_comm(const char *name) {
    return starts(name, "nccl:") || starts(name, "c10d::") || starts(name, "hccl:") ||
           starts(name, "gloo:") || !strcmp(name, "record_param_comms");
}

/* MulBackward0, _AllToAllBackward, torch::autograd::CopyBackwards … */
static bool is_node(const char *name) {
    if (starts(name, "torch::autograd::"))
        return true;
    const char *at = strstr(name, "Backward");
    if (!at || at == name || strstr(name, "::"))
        return false;
    at += strlen("Backward");
    if (*at == 's')
        at++;
    while (isdigit((unsigned char)*at))
        at++;
    return !*at || !strcmp(at, "...") || (*at == '.' && at[1] == '.');
}

static bool is_operator(const char *name) {
    const char *colon = strstr(name, "::");
    if (colon && !strchr(name, ' ') && islower((unsigned char)name[0]))
        return true;
    return !strcmp(name, "detach") || !strcmp(name, "detach_");
}

static bool device_only(const struct sc__profile_row *r) {
    return !r->async && !r->self_cpu && !r->cpu_total && (r->dev_total || r->self_dev);
}

/* Words with blanks between them; a kernel that has some is a C++ function, of which at
 * least the beginning of its parameters is left, or a copy ("[CUDA memset]" of nsys). */
static bool is_phrase(const char *name) {
    return strchr(name, ' ') && !strpbrk(name, "(<") && !strstr(name, "...") &&
           !starts(name, "Mem") && !starts(name, "void ") && name[0] != '[';
}

/* Names only people and frameworks write; a table that was cut may lack the host's row,
 * which has no device time of its own and is the first to go. */
static bool looks_annotated(const char *name) {
    static const char *const prefixes[] = {"ProfilerStep",
                                           "Optimizer.",
                                           "LAYER_",
                                           "MOE",
                                           "train_step",
                                           "nccl:",
                                           "FullyShardedDataParallel.",
                                           "DistributedDataParallel.",
                                           "FSDP::",
                                           "Torch-Compiled Region",
                                           "## Call CompiledFxGraph",
                                           "CompiledFunction",
                                           "[pl]",
                                           NULL};
    static const char *const whole[] = {"forward", "backward", "optimizer", "loss", NULL};
    for (const char *const *p = prefixes; *p; p++)
        if (starts(name, *p))
            return true;
    for (const char *const *p = whole; *p; p++)
        if (!strcmp(name, *p))
            return true;
    return is_phrase(name);
}

/* Names of the host's rows, and the device time that is their own. */
struct host_rows {
    struct sc__names names;
    int64_t *self_dev; /* by name */
};

static struct host_rows find_host_rows(struct sc__arena *a, const struct sc__profile *p) {
    struct host_rows h;
    sc__names_init(&h.names, a);
    h.self_dev = SC__NEW_ARRAY(a, int64_t, p->count + 1);
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        if (!device_only(r))
            h.self_dev[sc__names_add(&h.names, r->name, strlen(r->name))] += r->self_dev;
    }
    return h;
}

/* A row that the host has too is an annotation as the device saw it, from the first of its
 * kernels to the end of the last; but an operator of one kernel that gave it its name (of
 * Triton) has exactly the kernel's time as its own. */
static bool is_mark(const struct sc__profile_row *r, const struct host_rows *host) {
    if (looks_annotated(r->name))
        return true;
    uint32_t twin = sc__names_find(&host->names, r->name, strlen(r->name));
    return twin != SC__NO_NAME && host->self_dev[twin] != r->self_dev;
}

static uint8_t profile_kind_of(const struct sc__profile_row *r,
                               const struct host_rows *host) {
    const char *name = r->name;
    if (device_only(r))
        return is_mark(r, host) ? SC__PROFILE_MARK : SC__PROFILE_KERNEL;
    if (starts(name, "autograd::engine::"))
        return SC__PROFILE_ENGINE;
    if (is_comm(name))
        return SC__PROFILE_COMM;
    if (is_runtime(name))
        return SC__PROFILE_RUNTIME;
    if (is_node(name))
        return SC__PROFILE_NODE;
    return is_operator(name) ? SC__PROFILE_OPERATOR : SC__PROFILE_ANNOTATION;
}

static uint64_t calls_named(const struct sc__profile *p, const char *name, uint8_t kind) {
    uint64_t calls = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == kind && starts(p->rows[i].name, name))
            calls += p->rows[i].calls;
    return calls;
}

/* A step is an annotation: called once for each, or numbered. A table that was cut may
 * have it as the device saw it alone. */
static uint32_t count_steps(const struct sc__profile *p) {
    static const char *const names[] = {"train_step", "ProfilerStep"};
    for (unsigned n = 0; n < 2; n++) {
        uint64_t steps = calls_named(p, names[n], SC__PROFILE_ANNOTATION);
        if (!steps)
            steps = calls_named(p, names[n], SC__PROFILE_MARK);
        if (steps)
            return steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX;
    }
    return 1;
}

void sc__profile_classify(struct sc__arena *a, struct sc__profile *p) {
    struct host_rows host = find_host_rows(a, p);
    for (uint32_t i = 0; i < p->count; i++) {
        struct sc__profile_row *r = &p->rows[i];
        r->kind = profile_kind_of(r, &host);
        r->class =
            r->kind == SC__PROFILE_RUNTIME ? SC__WORK_HOST : sc__profile_class(r->name);
    }
    p->steps = count_steps(p);
}

const struct sc__profile_row *sc__profile_find(const struct sc__profile *p,
                                               const char *name) {
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].kind != SC__PROFILE_MARK && !strcmp(p->rows[i].name, name))
            return &p->rows[i];
    return NULL;
}

enum basis { KERNELS, OPERATORS, TOTALS, HOST };

static int64_t time_on(const struct sc__profile_row *r, enum basis basis) {
    bool kernel = r->kind == SC__PROFILE_KERNEL;
    if (r->kind == SC__PROFILE_MARK)
        return 0;
    if (basis == TOTALS)
        return r->dev_total > 0 ? r->dev_total : 0;
    if (basis == HOST)
        return kernel || r->async || r->self_cpu < 0 ? 0 : r->self_cpu;
    return kernel == (basis == KERNELS) && r->self_dev > 0 ? r->self_dev : 0;
}

static int64_t sum_on(const struct sc__profile *p, enum basis basis) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++)
        sum += time_on(&p->rows[i], basis);
    return sum;
}

/* A kernel's time stands in its own row and in its operator's: one of the two
 * may be added up. A table that was cut may hold more of either. Tables of old
 * versions have neither, only totals that count nested operators twice, as
 * does the total they print. */
static enum basis choose_basis(const struct sc__profile *p) {
    int64_t kernels = sum_on(p, KERNELS);
    int64_t operators = sum_on(p, OPERATORS);
    if (!kernels && !operators && !p->has_self_dev && sum_on(p, TOTALS))
        return TOTALS;
    /* a table that was cut may have nothing that ran on the device but its total */
    if (!kernels && !operators)
        return p->dev_total > 0 ? KERNELS : HOST;
    bool kernels_fit = p->dev_total < 0 || kernels <= p->dev_total + p->dev_total / 100;
    bool operators_fit = p->dev_total < 0 || operators <= p->dev_total + p->dev_total / 100;
    if (kernels_fit && kernels && (kernels >= operators || !operators_fit))
        return KERNELS;
    return operators ? OPERATORS : KERNELS;
}

bool sc__profile_on_host(const struct sc__profile *p) {
    return !sum_on(p, KERNELS) && !sum_on(p, OPERATORS) && !sum_on(p, TOTALS) &&
           p->dev_total <= 0;
}

/* What a time is all of, by the row whose share has most digits; -1 where none tells it to
 * a percent. */
static int64_t total_by_shares(const struct sc__profile *p, bool device) {
    double most = 1; /* %; shares have two decimals */
    int64_t total = -1;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        double share = device ? r->self_dev_share : r->self_cpu_share;
        int64_t time = device ? r->self_dev : r->self_cpu;
        double all = (double)time * 100 / share;
        if (!(share > most) || time <= 0 || !(all < 0x1p61))
            continue;
        most = share;
        total = (int64_t)all;
    }
    return total;
}

/* One percent is what rounding leaves. */
static bool is_most_of(int64_t listed, int64_t total) {
    return total <= listed + listed / 100;
}

static int64_t guess_total(const struct sc__profile *p, bool device, int64_t listed) {
    int64_t total = total_by_shares(p, device);
    return is_most_of(listed, total) ? -1 : total;
}

void sc__profile_guess_totals(struct sc_context *ctx, struct sc__profile *p) {
    int64_t kernels = sum_on(p, KERNELS);
    int64_t operators = sum_on(p, OPERATORS);
    bool device = p->dev_total < 0;
    if (device)
        p->dev_total = guess_total(p, true, kernels > operators ? kernels : operators);
    device = device && p->dev_total >= 0;
    bool host = p->cpu_total < 0 && p->dev_total < 0;
    if (host)
        p->cpu_total = guess_total(p, false, sum_on(p, HOST));
    if (device || (host && p->cpu_total >= 0))
        sc__note(ctx,
                 "totals-by-shares",
                 "%s: a total below the table is missing; by the shares of its rows the %s "
                 "total is %.3f ms",
                 p->file,
                 device ? "device" : "host",
                 sc__us(device ? p->dev_total : p->cpu_total) / 1e3);
}

/* A word that could be a region of the program (record_function): kernels have types and
 * parameters, say what they do, or that they are one. */
static bool could_be_region(const struct sc__profile_row *r) {
    return r->kind == SC__PROFILE_KERNEL && r->class == SC__WORK_OTHER &&
           !strpbrk(r->name, "<(:[") && !strstr(r->name, "kernel") &&
           !strstr(r->name, "...") && r->name[0] != '_' && !starts(r->name, "Mem");
}

/* An operator that launched one kernel has its time as its own. */
static bool was_launched(const struct sc__profile *p, const struct sc__profile_row *r) {
    for (uint32_t i = 0; i < p->count; i++)
        if (!device_only(&p->rows[i]) && p->rows[i].self_dev == r->self_dev)
            return true;
    return false;
}

/* Which rows are regions as the device saw them, where the table was cut and the host's
 * rows of them went: words that no operator launched, called no more often than any
 * kernel. Their time. */
static int64_t mark_regions(const struct sc__profile *p, bool *regions) {
    uint64_t fewest = UINT64_MAX;
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == SC__PROFILE_KERNEL && !could_be_region(&p->rows[i]) &&
            p->rows[i].calls < fewest)
            fewest = p->rows[i].calls;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct sc__profile_row *r = &p->rows[i];
        regions[i] = could_be_region(r) && r->calls <= fewest && !was_launched(p, r);
        sum += regions[i] ? r->self_dev : 0;
    }
    return sum;
}

void sc__profile_find_regions(struct sc_context *ctx, struct sc__profile *p) {
    bool *regions = SC__NEW_ARRAY(&ctx->arena, bool, p->count + 1);
    int64_t sum = mark_regions(p, regions);
    bool whole = is_most_of(sum_on(p, HOST), p->cpu_total);
    /* those of a whole step are half of what they and its kernels add up to, or more where
     * they hold each other; of some the row may be cut off */
    if (!sum || p->dev_total < 0 || whole || sum < p->dev_total / 3)
        return;
    for (uint32_t i = 0; i < p->count; i++) {
        if (!regions[i])
            continue;
        p->rows[i].kind = SC__PROFILE_MARK;
        sc__note(ctx,
                 "region",
                 "%s: '%s' is taken for a region of the program (record_function), not a "
                 "kernel: no operator has its time, and no kernel was called less often",
                 p->file,
                 p->rows[i].name);
    }
}

static int64_t sum_of_marks(const struct sc__profile *p) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->count; i++)
        if (p->rows[i].kind == SC__PROFILE_MARK && p->rows[i].self_dev > 0)
            sum += p->rows[i].self_dev;
    return sum;
}

/* Up to PyTorch 2.4 the device total adds the annotations to the kernels below them. Times
 * have four digits at least, so that a total that is what both add up to is that to a
 * thousandth. In a table that was cut the total is more: where the annotations are as long
 * as what is listed, kernels alone would be longer than the time they ran in. */
void sc__profile_take_marks_off(struct sc_context *ctx, struct sc__profile *p) {
    int64_t marks = sum_of_marks(p);
    int64_t kernels = sum_on(p, KERNELS);
    int64_t operators = sum_on(p, OPERATORS);
    int64_t listed = kernels > operators ? kernels : operators;
    int64_t both = listed + marks;
    if (!marks || p->dev_total < both - both / 1000 || marks < listed / 200)
        return;
    bool whole = p->dev_total <= both + both / 1000;
    if (whole || marks >= listed) {
        sc__note(ctx,
                 "marks-in-total",
                 "%s: the device total of %.3f ms has the annotations in it once more, as "
                 "PyTorch up to 2.4 adds them up: %.3f ms are of kernels",
                 p->file,
                 sc__us(p->dev_total) / 1e3,
                 sc__us(p->dev_total - marks) / 1e3);
        p->dev_total -= marks;
        return;
    }
    sc__note(
        ctx,
        "marks-perhaps",
        "%s: if it is of PyTorch up to 2.4, %.3f ms of what the device total has and no "
        "row are annotations, not kernels",
        p->file,
        sc__us(marks) / 1e3);
}

static int profile_longest_first(const void *a, const void *b) {
    const struct sc__profile_part *x = a;
    const struct sc__profile_part *y = b;
    if (x->time != y->time)
        return x->time < y->time ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

void sc__profile_add_up(struct sc__arena *a,
                        const struct sc__profile *p,
                        struct sc__profile_sum *sum) {
    static const char *const names[] = {"kernels",
                                        "operators",
                                        "device totals",
                                        "host times"};
    enum basis basis = choose_basis(p);
    int64_t printed = (basis == HOST ? p->cpu_total : p->dev_total) / p->steps;
    memset(sum, 0, sizeof *sum);
    sum->basis = names[basis];
    for (uint32_t i = 0; i < p->count; i++) {
        int64_t t = time_on(&p->rows[i], basis) / p->steps;
        if (!t)
            continue;
        uint8_t class = p->rows[i].class;
        bool runtime = p->rows[i].kind == SC__PROFILE_RUNTIME;
        if (class == SC__WORK_HOST && basis != HOST && runtime)
            class = SC__WORK_OTHER; /* kernels launched by the runtime itself */
        *SC__PUSH(a, sum->parts, sum->count, sum->capacity) =
            (struct sc__profile_part){&p->rows[i], t, class};
        sum->by_class[class] += t;
        sum->total += t;
    }
    if (printed > sum->total)
        sum->unlisted = printed - sum->total;
    if (printed >= 0 && sum->total > printed)
        sum->beyond = sum->total - printed;
    sum->total += sum->unlisted;
    if (sum->count)
        qsort(sum->parts, sum->count, sizeof *sum->parts, profile_longest_first);
}
