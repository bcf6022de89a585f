/* towers: the encoders for pictures and sound of the first stage. Each is lowered as a
 * small model: the kernels and scripts of its layers are made by what makes those of the
 * language model, of a plan in which its pictures are the sequences. */
#include "plan/towers.h"

#include "lower/step_scripts.h"

static const struct sc__tower *tower_of(const struct sc__lowering *l, uint32_t i) {
    for (uint32_t k = 0; k < l->model->tower_count; k++)
        if (sc__tower_items(&l->plan, &l->model->towers[k]) && i-- == 0)
            return &l->model->towers[k];
    return NULL;
}

/* ---- kernels ---- */

static void tower_product(struct sc__lowering *t,
                          const struct sc__tower_product *x,
                          const char *const names[3],
                          bool backward,
                          bool input_gradient,
                          struct sc__kernels *list) {
    struct sc__kernel_model *q = t->kernel_model;
    enum sc__dtype type = (enum sc__dtype)t->plan.dtype;
    uint64_t rows = (uint64_t)(sc__plan_tokens(&t->plan) * x->rows + 0.5);
    if (!backward) {
        sc__step_add_kernel(t,
                            list,
                            sc__gemm(q, names[0], type, rows, x->out, x->in),
                            SC__FORWARD,
                            SC__WORK_GEMM);
        return;
    }
    if (input_gradient)
        sc__step_add_kernel(t,
                            list,
                            sc__gemm_dgrad(q, names[1], type, rows, x->in, x->out),
                            SC__BACKWARD,
                            SC__WORK_GEMM);
    sc__step_add_kernel(t,
                        list,
                        sc__gemm_wgrad(q, names[2], type, x->out, x->in, rows, false),
                        SC__WGRAD,
                        SC__WORK_GEMM);
}

static void tower_memory(struct sc__lowering *t,
                         enum sc__memory_op op,
                         double rows,
                         uint64_t cols,
                         enum sc__phase phase,
                         struct sc__kernels *list) {
    struct sc__kernel k = sc__memory_op(t->kernel_model,
                                        op,
                                        (enum sc__dtype)t->plan.dtype,
                                        (uint64_t)(rows + 0.5),
                                        cols);
    sc__step_add_kernel(t, list, k, phase, SC__WORK_ELEMENTWISE);
}

/* Patches to vectors, and a position added to each. */
static void input_kernels(struct sc__lowering *t, const struct sc__tower *tower) {
    static const char *const names[3] = {"patches", "patches dgrad", "patches wgrad"};
    double rows = sc__plan_tokens(&t->plan);
    for (uint32_t i = 0; i < tower->in_count; i++) {
        tower_product(t, &tower->in[i], names, false, false, &t->embedding[0]);
        tower_product(t, &tower->in[i], names, true, i > 0, &t->embedding[1]);
    }
    tower_memory(t, SC__MEM_ADD, rows, tower->body.hidden, SC__FORWARD, &t->embedding[0]);
}

static void connector_kernels(struct sc__lowering *t, const struct sc__tower *tower) {
    static const char *const names[3] = {"connector", "connector dgrad", "connector wgrad"};
    double tokens = sc__plan_tokens(&t->plan);
    bool frozen = sc__tower_frozen(&t->plan);
    sc__step_add_norm(t, &t->head[0], (uint64_t)tokens, SC__FORWARD);
    for (uint32_t i = 0; i < tower->out_count; i++) {
        const struct sc__tower_product *x = &tower->out[i];
        tower_product(t, x, names, false, false, &t->head[0]);
        bool last = i + 1 == tower->out_count || tower->out[i + 1].first;
        if (!last)
            tower_memory(t,
                         SC__MEM_GELU_F,
                         tokens * x->rows,
                         x->out,
                         SC__FORWARD,
                         &t->head[0]);
    }
    for (uint32_t i = tower->out_count; i-- > 0;) {
        const struct sc__tower_product *x = &tower->out[i];
        tower_product(t, x, names, true, !frozen || !x->first, &t->head[1]);
        if (!x->first)
            tower_memory(t,
                         SC__MEM_GELU_B,
                         tokens * x->rows,
                         x->in,
                         SC__BACKWARD,
                         &t->head[1]);
    }
    sc__step_add_norm(t, &t->head[1], (uint64_t)tokens, SC__BACKWARD);
}

void sc__towers_kernels(struct sc__lowering *l) {
    while (tower_of(l, l->tower_count))
        l->tower_count++;
    if (!l->tower_count)
        return;
    l->towers = SC__NEW_ARRAY(l->arena, struct sc__lowering, l->tower_count);
    for (uint32_t i = 0; i < l->tower_count; i++) {
        const struct sc__tower *tower = tower_of(l, i);
        struct sc__lowering *t = &l->towers[i];
        *t = (struct sc__lowering){.ctx = l->ctx,
                                   .arena = l->arena,
                                   .model = &tower->body,
                                   .cluster = l->cluster,
                                   .plan = sc__tower_plan(&l->plan, tower),
                                   .constants = l->constants,
                                   .gpu = l->gpu,
                                   .kernel_model = l->kernel_model,
                                   .workload = l->workload};
        /* adapters leave the tower as it is; the plan of its layers has none */
        t->plan.freeze_towers = sc__tower_frozen(&l->plan);
        sc__step_layer_kernels(t);
        input_kernels(t, tower);
        connector_kernels(t, tower);
    }
}

static void
load_kernels(struct sc__load *load, const struct sc__kernels *list, double times) {
    for (uint32_t i = 0; i < list->count; i++)
        sc__load_add(load, &list->items[i], times);
}

static void
load_layer(struct sc__load *load, const struct sc__layer_kernels *list, double times) {
    for (uint32_t i = 0; i < list->count; i++)
        sc__load_add(load, &list->items[i].kernel, times);
}

void sc__towers_load(const struct sc__lowering *l, struct sc__load *load) {
    double times = (double)l->plan.micro_batches / l->plan.mesh.pp;
    for (uint32_t i = 0; i < l->tower_count; i++) {
        const struct sc__lowering *t = &l->towers[i];
        bool trained = !sc__tower_frozen(&t->plan);
        for (uint32_t k = 0; k < t->model->layers; k++) {
            int kind = sc__layer_kind(t, k);
            load_layer(load, &t->kernels[kind][0], times);
            if (trained)
                load_layer(load, &t->kernels[kind][1], times);
        }
        load_kernels(load, &t->embedding[0], times);
        load_kernels(load, &t->head[0], times);
        if (trained)
            load_kernels(load, &t->embedding[1], times);
        if (!sc__connector_frozen(&l->plan))
            load_kernels(load, &t->head[1], times);
    }
}

/* ---- scripts ---- */

static void tower_script(struct sc__lowering *t,
                         struct sc__script *out,
                         uint8_t phase,
                         const struct sc__kernels *list,
                         unsigned phases,
                         double params,
                         const char *name) {
    struct sc__script_maker k = {.l = t, .script = out, .phase = phase};
    struct sc__shard shard = {.dense = params};
    sc__script_kernels(&k, list, phases, name);
    if (phases & 1u << SC__WGRAD)
        sc__script_accumulate(&k, &shard);
}

void sc__towers_scripts(struct sc__lowering *l) {
    bool split = sc__schedule_splits(l->plan.schedule);
    unsigned forward = 1u << SC__FORWARD;
    unsigned input = 1u << SC__BACKWARD;
    unsigned weight = 1u << SC__WGRAD;
    for (uint32_t i = 0; i < l->tower_count; i++) {
        const struct sc__tower *tower = tower_of(l, i);
        struct sc__lowering *t = &l->towers[i];
        t->throttling = l->throttling;
        t->constants = l->constants;
        t->plan.schedule = l->plan.schedule;
        t->plan.recompute = sc__tower_plan(&l->plan, tower).recompute;
        sc__step_layer_scripts(t);
        tower_script(t,
                     &t->embedding_forward,
                     SC__FORWARD,
                     &t->embedding[0],
                     forward,
                     0,
                     "patches");
        tower_script(t,
                     &t->embedding_backward,
                     SC__BACKWARD,
                     &t->embedding[1],
                     input | weight,
                     tower->in_params,
                     "patches");
        tower_script(t,
                     &t->head_forward,
                     SC__FORWARD,
                     &t->head[0],
                     forward,
                     0,
                     "connector");
        tower_script(t,
                     &t->head_backward,
                     SC__BACKWARD,
                     &t->head[1],
                     split ? input : input | weight,
                     tower->out_params,
                     "connector");
        if (split)
            tower_script(t,
                         &t->head_wgrad,
                         SC__WGRAD,
                         &t->head[1],
                         weight,
                         tower->out_params,
                         "connector");
    }
}
