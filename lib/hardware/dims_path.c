#include "hardware/dims_path.h"

uint32_t sc__dims_links(const struct sc__fabric_dim *d) {
    return d->kind == SC__DIM_FULL ? d->size - 1 : 2;
}

uint32_t sc__dims_at(const struct sc__dims *t, uint32_t gpu, uint32_t d) {
    return gpu / t->stride[d] % t->fabric->dim[d].size;
}

uint32_t sc__dims_move(const struct sc__dims *t, uint32_t gpu, uint32_t d, uint32_t to) {
    return gpu - sc__dims_at(t, gpu, d) * t->stride[d] + to * t->stride[d];
}

/* The links that change coordinate d of *at to what `to` has. */
static uint32_t correct_dim(
    const struct sc__dims *t, uint32_t *at, uint32_t to, uint32_t d, uint32_t *links) {
    const struct sc__fabric_dim *dim = &t->fabric->dim[d];
    uint32_t n = 0;
    uint32_t here = sc__dims_at(t, *at, d);
    uint32_t there = sc__dims_at(t, to, d);
    uint32_t size = dim->size;
    uint32_t each = sc__dims_links(dim);
    if (here == there)
        return 0;
    if (dim->kind == SC__DIM_FULL)
        links[n++] = t->first[d] + *at * each + (there + size - here - 1) % size;
    if (dim->kind == SC__DIM_SWITCH) {
        links[n++] = t->first[d] + *at * each;
        links[n++] = t->first[d] + sc__dims_move(t, *at, d, there) * each + 1;
    }
    uint32_t ahead = (there + size - here) % size;
    bool forth = 2 * ahead == size ? here % 2 == 0
                                   : 2 * ahead < size; /* half way round: either, in turn */
    while (dim->kind == SC__DIM_RING && sc__dims_at(t, *at, d) != there) {
        links[n++] = t->first[d] + *at * each + !forth;
        *at = sc__dims_move(t,
                            *at,
                            d,
                            (sc__dims_at(t, *at, d) + (forth ? 1 : size - 1)) % size);
    }
    *at = sc__dims_move(t, *at, d, there);
    return n;
}

uint32_t sc__dims_paths(const struct sc__dims *t, uint32_t from, uint32_t to) {
    uint32_t differ = 0;
    for (uint32_t d = 0; d < t->fabric->dims; d++)
        differ += sc__dims_at(t, from, d) != sc__dims_at(t, to, d);
    return differ > 1 ? t->fabric->dims : 1;
}

uint32_t sc__dims_path(
    const struct sc__dims *t, uint32_t from, uint32_t to, uint32_t w, uint32_t *links) {
    uint32_t n = 0;
    uint32_t at = from;
    for (uint32_t i = 0; i < t->fabric->dims; i++)
        n += correct_dim(t, &at, to, (i + w) % t->fabric->dims, links + n);
    return n;
}

bool sc__dims_init(const struct sc__cluster *c, struct sc__dims *t) {
    uint64_t places = 1;
    uint64_t links = 0;
    uint64_t hops = 0;
    *t = (struct sc__dims){.fabric = &c->fabric};
    for (uint32_t d = 0; d < c->fabric.dims; d++) {
        const struct sc__fabric_dim *dim = &c->fabric.dim[d];
        t->stride[d] = (uint32_t)places;
        t->first[d] = (uint32_t)links;
        places *= dim->size;
        links += (uint64_t)c->gpus * sc__dims_links(dim);
        hops += dim->kind == SC__DIM_RING ? dim->size / 2 + 1 : 2;
    }
    if (places < c->gpus || links > 1u << 28 || hops > SC__DIMS_HOPS)
        return false;
    t->links = (uint32_t)links;
    t->hops = (uint32_t)hops;
    return true;
}

static bool is_member(const uint32_t *gpu, uint32_t n, uint32_t wanted) {
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (gpu[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && gpu[low] == wanted;
}

/* Every other line is walked backwards. */
uint32_t *sc__dims_snake(struct sc__arena *arena,
                         const struct sc__cluster *c,
                         const uint32_t *gpu,
                         uint32_t n) {
    const struct sc__fabric *f = &c->fabric;
    uint32_t *order = SC__NEW_ARRAY(arena, uint32_t, n);
    uint32_t count = 0;
    for (uint32_t place = 0; place < c->gpus && count < n; place++) {
        uint32_t stride = c->gpus;
        uint32_t at = 0;
        uint32_t rest = place;
        bool back = false;
        for (uint32_t d = f->dims; d-- > 0;) {
            stride /= f->dim[d].size;
            uint32_t digit = rest / stride;
            uint32_t here = back ? f->dim[d].size - 1 - digit : digit;
            rest %= stride;
            at += here * stride;
            back = here % 2;
        }
        if (is_member(gpu, n, at))
            order[count++] = at;
    }
    return order;
}
