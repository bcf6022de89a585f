/* kineto_operators: which operator of the host a kernel belongs to: kernel →
 * correlation → launch → the innermost operator around it on its thread. Ids that
 * traces give both ("External id") are taken where there is no launch: before
 * PyTorch 1.12 they number other things. */
#include "frontend/kineto/kineto.h"

#include <stdlib.h>

static int by_thread_and_start(const void *a, const void *b) {
    const struct sc__kineto_call *x = a;
    const struct sc__kineto_call *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

void sc__kineto_sort_calls(struct sc__kineto_trace *t) {
    if (!t->call_count)
        return;
    qsort(t->calls, t->call_count, sizeof *t->calls, by_thread_and_start);
    uint32_t open = SC__NONE; /* the innermost that has not ended */
    for (uint32_t i = 0; i < t->call_count; i++) {
        struct sc__kineto_call *c = &t->calls[i];
        while (open != SC__NONE &&
               (t->calls[open].thread != c->thread || t->calls[open].end <= c->start))
            open = t->calls[open].parent;
        c->parent = open;
        open = i;
    }
}

/* The last call of the thread that begins up to this time. */
static uint32_t last_call(const struct sc__kineto_trace *t, uint32_t thread, int64_t at) {
    uint32_t low = 0;
    uint32_t high = t->call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct sc__kineto_call *c = &t->calls[middle];
        bool before = c->thread != thread ? c->thread < thread : c->start <= at;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low && t->calls[low - 1].thread == thread ? low - 1 : SC__NONE;
}

uint32_t sc__kineto_call_of(const struct sc__kineto_trace *t,
                            const struct sc__kineto_kernel *k) {
    const struct sc__kineto_launch *l = sc__kineto_launch_of(t, k->correlation);
    if (!l)
        return SC__NONE;
    uint32_t call = last_call(t, l->thread, l->start);
    while (call != SC__NONE && t->calls[call].end < l->start)
        call = t->calls[call].parent;
    return call;
}

uint32_t sc__kineto_operator_of(const struct sc__kineto_trace *t,
                                const struct sc__kineto_kernel *k) {
    if (sc__kineto_launch_of(t, k->correlation)) {
        uint32_t call = sc__kineto_call_of(t, k);
        return call == SC__NONE ? SC__NO_NAME : t->calls[call].name;
    }
    return k->external < t->operator_count && t->operators[k->external]
               ? t->operators[k->external] - 1
               : SC__NO_NAME;
}
