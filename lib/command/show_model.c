/* show_model: a model by itself, and the memory of a plan whether it fits or not. */
#include "command/show.h"

#include "model/tower.h"
#include "plan/plan.h"

#define GIB ((double)(1 << 30))
#define BILLION 1e9

static void put_tower(const struct sc__tower *t, struct sc__buffer *out) {
    bool vision = t->kind == SC__TOWER_VISION;
    sc__printf(out, "  tower     for %s: ", vision ? "pictures" : "sound");
    if (t->refused) {
        sc__printf(out, "not simulated, %s\n", t->refused);
        return;
    }
    sc__printf(out,
               "%s, %u layers of width %u, %.0f parameters",
               t->type,
               t->body.layers,
               t->body.hidden,
               sc__tower_params(t));
    if (!vision)
        sc__printf(out, "; %g tokens of %g seconds", t->clip_tokens, t->clip_seconds);
    else if (t->image_size || t->usual_patches)
        sc__printf(out,
                   "; %llu tokens a picture",
                   (unsigned long long)sc__tower_tokens(t, t->image_size));
    else
        sc__printf(out, "; a token for each %u pixels a side", t->patch_size * t->merge);
    sc__putc(out, '\n');
}

static void put_architecture(const struct sc__model *m, struct sc__buffer *out) {
    struct sc__model_params count;
    sc__model_count(m, &count);
    sc__printf(out, "%s\n", m->name ? m->name : "the model");
    sc__printf(out,
               "  layers    %u of width %u, %u heads, %u for keys and values",
               m->layers,
               m->hidden,
               m->heads,
               m->kv_heads);
    if (m->full_head_dim)
        sc__printf(out,
                   "; each %u. layer sees all keys: heads of %u, not %u, %u for keys and "
                   "values",
                   m->window_every,
                   m->full_head_dim,
                   m->head_dim,
                   m->full_kv_heads);
    if (m->experts)
        sc__printf(out, "; %u experts, %u a token", m->experts, m->topk);
    sc__printf(out, "\n  parameters %.2f B", count.total / BILLION);
    if (count.active < count.total)
        sc__printf(out, ", %.2f B of them active", count.active / BILLION);
    sc__putc(out, '\n');
    for (uint32_t i = 0; i < m->tower_count; i++)
        put_tower(&m->towers[i], out);
}

/* Of one token, as MFU counts them. */
static void put_flops(const struct sc__job *job, struct sc__buffer *out) {
    const struct sc__workload *w = job->workload;
    if (w->tokens > 0)
        sc__printf(out,
                   "  FLOPs     %.4g per token, forward and backward, sequences of %u\n",
                   w->model_flops / w->tokens,
                   job->ev->settings.seq);
}

/* Of the stage that needs most. */
static void put_memory(const struct sc__workload *w, struct sc__buffer *out) {
    const struct sc__memory *most = w->memory;
    if (!most)
        return;
    for (uint32_t c = 1; c < w->class_count; c++)
        if (sc__memory_total(&w->memory[c]) > sc__memory_total(most))
            most = &w->memory[c];
    uint64_t total = sc__memory_total(most);
    sc__printf(out, "  memory    %.1f GiB", (double)total / GIB);
    if (w->memory_capacity)
        sc__printf(out,
                   " of %.1f: %s",
                   (double)w->memory_capacity / GIB,
                   total <= w->memory_capacity ? "fits" : "does not fit");
    sc__printf(out,
               "\n            weights %.2f · gradients %.2f · optimizer %.2f · activations "
               "%.2f · logits %.2f · workspace %.2f · NCCL %.2f · CUDA context %.2f · "
               "fragmentation %.2f\n",
               (double)most->weights / GIB,
               (double)most->gradients / GIB,
               (double)most->optimizer / GIB,
               (double)most->activations / GIB,
               (double)most->logits / GIB,
               (double)most->workspace / GIB,
               (double)most->communication / GIB,
               (double)most->context / GIB,
               (double)most->fragmentation / GIB);
}

void sc__show_model(const struct sc__job *job, struct sc__buffer *out) {
    put_architecture(job->model, out);
    put_flops(job, out);
    put_memory(job->workload, out);
}
