#include "hardware/placement.h"

#include <string.h>

struct placement_reader {
    struct sc_context *ctx;
    struct sc__input in;
    struct sc__cluster *cluster;
    struct sc__names hosts;
    /* rank_of: rank + 1 */
    uint32_t *gpu_of;
    uint32_t *rank_of;
    uint32_t ranks;
    uint32_t next;
};

static sc_status fail_line(struct placement_reader *r,
                           struct sc__str line,
                           const char *hint,
                           const char *what) {
    struct sc__place at = sc__input_place(&r->in, line, line.p);
    return sc__fail(r->ctx, SC_INPUT, &at, hint, "%s", what);
}

static sc_status placement_place(struct placement_reader *r,
                                 struct sc__str line,
                                 uint32_t rank,
                                 uint64_t gpu) {
    if (rank >= r->ranks)
        return fail_line(r,
                         line,
                         NULL,
                         sc__format(&r->ctx->arena, "the job has only %u ranks", r->ranks));
    if (r->gpu_of[rank] != UINT32_MAX)
        return fail_line(r,
                         line,
                         NULL,
                         sc__format(&r->ctx->arena, "rank %u is placed twice", rank));
    if (gpu >= r->cluster->gpus)
        return fail_line(r,
                         line,
                         NULL,
                         sc__format(&r->ctx->arena,
                                    "cluster '%s' has only %u GPUs",
                                    r->cluster->name,
                                    r->cluster->gpus));
    if (r->rank_of[gpu])
        return fail_line(r,
                         line,
                         NULL,
                         sc__format(&r->ctx->arena,
                                    "GPU %llu already has rank %u",
                                    (unsigned long long)gpu,
                                    r->rank_of[gpu] - 1));
    r->gpu_of[rank] = (uint32_t)gpu;
    r->rank_of[gpu] = rank + 1;
    r->next++;
    return SC_OK;
}

static bool node_and_slot(const struct placement_reader *r,
                          uint32_t node,
                          struct sc__str slot,
                          uint64_t *gpu) {
    uint32_t s;
    if (!sc__parse_u32(slot, &s) || s >= r->cluster->node_gpus)
        return false;
    *gpu = (uint64_t)node * r->cluster->node_gpus + s;
    return true;
}

/* "rank 3=node07 slot=1" */
static bool
mpi_line(struct placement_reader *r, struct sc__str text, uint32_t *rank, uint64_t *gpu) {
    struct sc__str rest = {text.p + 5, text.n - 5};
    struct sc__str number;
    struct sc__str host;
    if (!sc__split(&rest, '=', &number) || !rest.p ||
        !sc__parse_u32(sc__trim(number), rank))
        return false;
    if (!sc__split(&rest, ' ', &host) || !rest.p)
        return false;
    rest = sc__trim(rest);
    if (!host.n || !sc__str_starts(rest, "slot="))
        return false;
    return node_and_slot(r,
                         sc__names_add(&r->hosts, host.p, host.n),
                         (struct sc__str){rest.p + 5, rest.n - 5},
                         gpu);
}

static bool
plain_line(struct placement_reader *r, struct sc__str text, uint32_t *rank, uint64_t *gpu) {
    struct sc__str slot = text;
    struct sc__str node;
    uint32_t n;
    *rank = r->next;
    if (!memchr(text.p, ':', text.n))
        return sc__parse_u64(text, gpu);
    sc__split(&slot, ':', &node);
    return sc__parse_u32(node, &n) && node_and_slot(r, n, slot, gpu);
}

static sc_status read_lines(struct placement_reader *r) {
    struct sc__str line;
    struct sc__str text;
    bool more = true;
    for (;;) {
        uint32_t rank = 0;
        uint64_t gpu = 0;
        SC__TRY(sc__input_line(&r->in, &line, &more));
        if (!more)
            return SC_OK;
        struct sc__str rest = line;
        sc__split(&rest, '#', &text);
        text = sc__trim(text);
        if (!text.n)
            continue;
        bool good = sc__str_starts(text, "rank ") ? mpi_line(r, text, &rank, &gpu)
                                                  : plain_line(r, text, &rank, &gpu);
        if (!good)
            return fail_line(r,
                             line,
                             "write a GPU number, node:slot, or 'rank N=host slot=S'",
                             "this is not a place for a rank");
        SC__TRY(placement_place(r, line, rank, gpu));
    }
}

sc_status sc__placement_read(struct sc_context *ctx,
                             const char *path,
                             uint32_t ranks,
                             struct sc__cluster *cluster) {
    struct placement_reader r = {.ctx = ctx, .cluster = cluster, .ranks = ranks};
    struct sc__place at = {.file = path};
    r.gpu_of = SC__NEW_ARRAY(&ctx->arena, uint32_t, ranks);
    r.rank_of = SC__NEW_ARRAY(&ctx->arena, uint32_t, cluster->gpus);
    for (uint32_t i = 0; i < ranks; i++)
        r.gpu_of[i] = UINT32_MAX;
    sc__names_init(&r.hosts, &ctx->arena);
    SC__TRY(sc__input_open(ctx, path, &r.in));
    sc_status status = read_lines(&r);
    sc__input_close(&r.in);
    SC__TRY(status);
    if (r.next != ranks)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "one line for every rank",
                        "ranks placed: %u; the job has %u",
                        r.next,
                        ranks);
    cluster->gpu_of = r.gpu_of;
    cluster->rank_of = r.rank_of;
    cluster->placed = ranks;
    return SC_OK;
}
