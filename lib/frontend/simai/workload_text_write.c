/* workload text: rows as SimAI, AICB and ASTRA-sim read them.
 *
 * Times are whole nanoseconds, sizes bytes. Gradient all-reduces of operator
 * tables become weight-gradient ALLREDUCEs, which mean the same: they belong
 * to the data-parallel group and overlap the rest of backward. */
#include "frontend/convert.h"

#include <string.h>

struct workload_text_write_writing {
    struct sc__losses losses;
    const struct sc__layers *l;
    struct sc__buffer *out;
    uint32_t moved;    /* all-reduces put into the weight-gradient columns */
    uint32_t rounded;  /* times that are not whole nanoseconds … */
    const char *first; /* … and the first such row */
};

static void
put_key(struct workload_text_write_writing *w, const char *key, uint32_t value) {
    if (value)
        sc__printf(w->out, " %s: %u", key, value);
}

/* checkpoints and checkpoint_initiates: a row recomputes from the last
 * checkpoint at or before it. */
static void put_recompute(struct workload_text_write_writing *w) {
    const struct sc__layers *l = w->l;
    bool *checkpoint = SC__NEW_ARRAY(&w->losses.ctx->arena, bool, l->count);
    uint32_t rows = 0;
    uint32_t last = 0;
    for (uint32_t i = 0; i < l->count; i++)
        if (l->rows[i].recompute_from != SC__NONE)
            checkpoint[l->rows[i].recompute_from] = true;
    for (uint32_t i = 0; i < l->count; i++) {
        uint32_t from = l->rows[i].recompute_from;
        if (checkpoint[i])
            last = i;
        if (from == SC__NONE)
            continue;
        rows++;
        if (last != from)
            sc__lose(
                &w->losses,
                "the recomputation of row %u from row %u, past the checkpoint at row %u",
                i,
                from,
                last);
    }
    if (!rows)
        return;
    if (rows > 1000)
        sc__lose(&w->losses, "recomputation at %u rows in one header line", rows);
    sc__printf(w->out, " checkpoints: %u", rows);
    for (uint32_t i = 0; i < l->count; i++)
        if (l->rows[i].recompute_from != SC__NONE)
            sc__printf(w->out, " %u", l->rows[i].recompute_from);
    sc__printf(w->out, " checkpoint_initiates: %u", rows);
    for (uint32_t i = l->count; i-- > 0;)
        if (l->rows[i].recompute_from != SC__NONE)
            sc__printf(w->out, " %u", i);
}

static void put_header(struct workload_text_write_writing *w) {
    const struct sc__layers *l = w->l;
    const char *policy = l->policy ? l->policy : "HYBRID_TRANSFORMER";
    bool needs_tp = !strncmp(policy, "HYBRID_TRANSFORMER", 18);
    sc__puts(w->out, policy);
    put_key(w, "model_parallel_NPU_group", !l->tp && needs_tp ? 1 : l->tp);
    put_key(w, "ep", l->ep);
    put_key(w, "pp", l->pp);
    if (l->has_vpp)
        put_key(w, "vpp", l->vpp);
    put_key(w, "ga", l->ga);
    put_key(w, "all_gpus", l->gpus);
    if (l->has_pp_comm)
        sc__printf(w->out, " pp_comm: %.17g", l->pp_comm);
    if (l->inference)
        sc__puts(w->out, " mode: 1");
    put_recompute(w);
    if (!strcmp(policy, "HYBRID_CUSTOMIZED"))
        sc__lose(&w->losses, "the policies of single rows (HYBRID_CUSTOMIZED)");
    sc__printf(w->out, "\n%u\n", l->count);
}

static void workload_text_write_put_name(struct workload_text_write_writing *w,
                                         uint32_t row) {
    const char *name = w->l->rows[row].name;
    if (!*name || strpbrk(name, " \t\r\n"))
        sc__lose(&w->losses, "the name '%.40s' of row %u, with its blanks", name, row);
    if (!*name)
        sc__putc(w->out, '_');
    for (; *name; name++)
        sc__putc(w->out, strchr(" \t\r\n", *name) ? '_' : *name);
}

static void workload_text_write_put_time(struct workload_text_write_writing *w,
                                         uint32_t row,
                                         int64_t ps) {
    if (ps % SC__PS_PER_NS && !w->rounded++)
        w->first = w->l->rows[row].name;
    sc__printf(w->out, "\t%lld", (long long)((ps + SC__PS_PER_NS / 2) / SC__PS_PER_NS));
}

static void workload_text_write_put_part(struct workload_text_write_writing *w,
                                         uint32_t row,
                                         const struct sc__row_part *p) {
    struct sc__row_part part = *p;
    workload_text_write_put_time(w, row, part.compute);
    if (part.coll == SC__ROW_SENDRECV || part.coll == SC__ROW_ALLREDUCE_ASYNC) {
        sc__lose(&w->losses,
                 "%s in row %u (%.40s)",
                 sc__row_coll_name((enum sc__row_coll)part.coll),
                 row,
                 w->l->rows[row].name);
        part.coll = SC__ROW_NONE;
        part.bytes = 0;
    }
    if (part.bytes > (uint64_t)1 << 60)
        sc__lose(&w->losses, "a message above 2^60 bytes in row %u", row);
    sc__printf(w->out,
               "\t%s%s\t%llu",
               sc__row_coll_name((enum sc__row_coll)part.coll),
               sc__suffix_name((enum sc__suffix)part.suffix),
               (unsigned long long)part.bytes);
}

/* A gradient all-reduce of the backward columns moves into the weight-gradient
 * columns where those are free and take no time. */
static void move_gradient(struct workload_text_write_writing *w,
                          struct sc__row_part part[SC__PARTS]) {
    struct sc__row_part *input = &part[SC__PART_INPUT];
    struct sc__row_part *weight = &part[SC__PART_WEIGHT];
    if (weight->coll == SC__ROW_ALLREDUCE_ASYNC)
        weight->coll = SC__ROW_ALLREDUCE;
    if (input->coll != SC__ROW_ALLREDUCE_ASYNC || weight->coll || weight->compute)
        return;
    weight->coll = SC__ROW_ALLREDUCE;
    weight->bytes = input->bytes;
    input->coll = SC__ROW_NONE;
    input->bytes = 0;
    w->moved++;
}

static void workload_text_write_put_row(struct workload_text_write_writing *w, uint32_t i) {
    const struct sc__row *r = &w->l->rows[i];
    struct sc__row_part part[SC__PARTS];
    memcpy(part, r->part, sizeof part);
    if (!w->l->policy)
        move_gradient(w, part);
    workload_text_write_put_name(w, i);
    sc__puts(w->out, "\t-1");
    for (unsigned p = 0; p < SC__PARTS; p++)
        workload_text_write_put_part(w, i, &part[p]);
    workload_text_write_put_time(w, i, r->process);
    if (r->work)
        sc__lose(&w->losses, "the kind of work of row %u (%.40s)", i, r->name);
    if (w->l->policy && !strcmp(w->l->policy, "HYBRID_CUSTOMIZED"))
        sc__puts(w->out, "\tHYBRID_TRANSFORMER");
    sc__putc(w->out, '\n');
}

/* In a layer workload of tp 1 a collective of forward belongs to data
 * parallelism; in an operator table it is always tensor parallel. */
static void check_groups(struct workload_text_write_writing *w) {
    if (w->l->policy || w->l->tp)
        return;
    for (uint32_t i = 0; i < w->l->count; i++)
        for (unsigned p = 0; p < SC__PART_WEIGHT; p++) {
            const struct sc__row_part *part = &w->l->rows[i].part[p];
            bool plain =
                part->coll && part->coll < SC__ROW_ALLREDUCE_ASYNC && !part->suffix;
            if (!plain)
                continue;
            sc__lose(&w->losses,
                     "tensor-parallel collectives without a size (give --tp N)");
            return;
        }
}

sc_status sc__write_workload_text(struct sc_context *ctx,
                                  const struct sc__layers *l,
                                  bool lossy,
                                  struct sc__buffer *out) {
    struct workload_text_write_writing w = {.l = l, .out = out};
    sc__losses_init(&w.losses, ctx, "workload-text", lossy);
    check_groups(&w);
    put_header(&w);
    for (uint32_t i = 0; i < l->count; i++)
        workload_text_write_put_row(&w, i);
    if (w.rounded)
        sc__lose(&w.losses,
                 "parts of a nanosecond in %u times (first: row %.40s)",
                 w.rounded,
                 w.first);
    if (w.moved)
        sc__note(ctx,
                 "gradients-moved",
                 "%u gradient all-reduces of backward were written into the "
                 "weight-gradient columns, where they mean the same",
                 w.moved);
    return sc__losses_end(&w.losses);
}
