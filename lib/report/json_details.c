#include "report/json_details.h"

#include "report/write.h"
#include "result/stragglers.h"

#include <math.h>
#include <string.h>

#define MOST_PIECES 4000

static const struct sc__op *details_op_of(const struct sc__timeline *t, uint32_t span) {
    return &t->workload->ops[t->spans[span].op];
}

/* ---- critical path ---- */

static unsigned details_piece_kind(const struct sc__timeline *t,
                                   const struct sc__critical_piece *p) {
    static const uint8_t by_phase[SC__PHASES] = {SC__SEGMENT_FORWARD,
                                                 SC__SEGMENT_BACKWARD,
                                                 SC__SEGMENT_WGRAD,
                                                 SC__SEGMENT_RECOMPUTE,
                                                 SC__SEGMENT_UPDATE};
    if (p->span == SC__NONE)
        return SC__SEGMENT_OTHER;
    const struct sc__op *op = details_op_of(t, p->span);
    if (op->kind != SC__OP_COMPUTE)
        return SC__SEGMENT_COMM;
    return op->work == SC__WORK_HOST ? SC__SEGMENT_OTHER : by_phase[op->phase];
}

/* Pieces of one class and one kind that follow each other are one for the eye;
 * so are pieces shorter than `least`. */
static uint32_t details_join_pieces(const struct sc__timeline *t,
                                    struct sc__critical_piece *p,
                                    uint32_t n,
                                    int64_t least) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct sc__critical_piece *last = kept ? &p[kept - 1] : NULL;
        bool tiny =
            last && (p[i].end - p[i].start < least || last->end - last->start < least);
        if (last && last->class == p[i].class &&
            (tiny || details_piece_kind(t, last) == details_piece_kind(t, &p[i]))) {
            if (p[i].end - p[i].start > last->end - last->start)
                last->span = p[i].span;
            last->end = p[i].end;
        } else
            p[kept++] = p[i];
    }
    return kept;
}

static void details_put_path_sums(struct sc__json *j,
                                  const struct sc__timeline *t,
                                  const struct sc__critical *path) {
    int64_t sum[SC__SEGMENT_KINDS] = {0};
    const char *labels[SC__LABELS];
    int64_t by_label[SC__LABELS] = {0};
    unsigned n = 0;
    for (uint32_t i = 0; i < path->count; i++) {
        const struct sc__critical_piece *p = &path->pieces[i];
        unsigned kind = details_piece_kind(t, p);
        unsigned k = 0;
        sum[kind] += p->end - p->start;
        if (kind != SC__SEGMENT_COMM)
            continue;
        const char *label = sc__span_label(t->workload, details_op_of(t, p->span));
        while (k < n && strcmp(labels[k], label))
            k++;
        if (k == SC__LABELS)
            continue;
        if (k == n)
            labels[n++] = label;
        by_label[k] += p->end - p->start;
    }
    sc__json_row(j, "total_us");
    for (unsigned k = 0; k < SC__SEGMENT_KINDS; k++)
        if (sum[k] && k != SC__SEGMENT_COMM)
            sc__json_us(j, sc__segment_name(k), sum[k]);
    if (n)
        sc__json_row(j, "comm");
    for (unsigned k = 0; k < n; k++)
        sc__json_us(j, labels[k], by_label[k]);
    if (n)
        sc__json_end_object(j);
    sc__json_end_object(j);
}

/* The pieces to draw: a copy, joined until they are few enough. */
static struct sc__critical details_drawn_path(struct sc__arena *a,
                                              const struct sc__result *r) {
    const struct sc__timeline *t = r->timeline;
    struct sc__critical path = r->critical_path;
    int64_t least = t->end / 100000;
    path.pieces = SC__NEW_ARRAY(a, struct sc__critical_piece, path.count + 1);
    if (path.count)
        memcpy(path.pieces, r->critical_path.pieces, path.count * sizeof *path.pieces);
    path.count = details_join_pieces(t, path.pieces, path.count, 0);
    while (path.count > MOST_PIECES && least < t->end) {
        least *= 2;
        path.count = details_join_pieces(t, path.pieces, path.count, least);
    }
    return path;
}

static void details_put_path(struct sc__json *j, const struct sc__result *r) {
    struct sc__arena *a = j->out->arena;
    struct sc__critical path = details_drawn_path(a, r);
    struct sc__buffer kinds;
    sc__json_object(j, "critical_path");
    details_put_path_sums(j, r->timeline, &r->critical_path);
    sc__buffer_init(&kinds, a);
    sc__json_list(j, "row");
    for (uint32_t i = 0; i < path.count; i++)
        sc__json_u64(j, NULL, path.pieces[i].class);
    sc__json_end_array(j);
    sc__json_list(j, "length_ps");
    for (uint32_t i = 0; i < path.count; i++) {
        sc__json_i64(j, NULL, path.pieces[i].end - path.pieces[i].start);
        sc__putc(&kinds, "FBWRUCbso"[details_piece_kind(r->timeline, &path.pieces[i])]);
    }
    sc__json_end_array(j);
    sc__json_string(j, "kind", kinds.text ? kinds.text : "");
    sc__json_end_object(j);
}

/* ---- tables ---- */

static const char *details_operation_kind(const struct sc__op *op) {
    if (op->kind == SC__OP_COMPUTE)
        return sc__work_name(op->work);
    if (op->kind == SC__OP_COLLECTIVE)
        return sc__coll_name(op->coll);
    return op->kind == SC__OP_SEND ? "send" : "receive";
}

/* How many operations are not listed, and their time on the wire by group. */
static void details_put_left_out(struct sc__json *j, const struct sc__result *r) {
    const struct sc__operations *ops = &r->operations;
    struct sc__arena *a = j->out->arena;
    struct sc__names groups;
    double *us = NULL;
    uint32_t count = 0;
    uint32_t capacity = 0;
    if (ops->count <= SC__LISTED_OPERATIONS)
        return;
    sc__json_u64(j, "operations_left_out", ops->count - SC__LISTED_OPERATIONS);
    sc__names_init(&groups, a);
    for (uint32_t i = SC__LISTED_OPERATIONS; i < ops->count; i++) {
        const struct sc__operation *o = &ops->items[i];
        if (o->op->kind == SC__OP_COMPUTE)
            continue;
        const char *label = sc__span_label(r->workload, o->op);
        uint32_t group = sc__names_add(&groups, label, strlen(label));
        if (group == count)
            *SC__PUSH(a, us, count, capacity) = 0;
        us[group] += sc__operation_us(o->total);
    }
    sc__json_row(j, "groups_left_out_us");
    for (uint32_t group = 0; group < count; group++)
        sc__json_double(j, groups.text[group], us[group]);
    sc__json_end_object(j);
}

static void details_put_operations(struct sc__json *j, const struct sc__result *r) {
    const struct sc__operations *ops = &r->operations;
    sc__json_array(j, "operations");
    for (uint32_t i = 0; i < ops->count && i < SC__LISTED_OPERATIONS; i++) {
        const struct sc__operation *o = &ops->items[i];
        sc__json_row(j, NULL);
        sc__json_string(j, "name", o->name);
        sc__json_string(j, "kind", details_operation_kind(o->op));
        sc__json_string(j, "phase", sc__phase_name(o->op->phase));
        sc__json_string(j,
                        "group",
                        o->op->kind == SC__OP_COMPUTE
                            ? NULL
                            : sc__span_label(r->timeline->workload, o->op));
        /* Means over ranks, without digits that mean nothing. */
        sc__json_double(j, "count", round(o->count * 1e6) / 1e6);
        sc__json_double(j, "total_us", sc__operation_us(o->total));
        sc__json_double(j, "waited_us", sc__operation_us(o->waited));
        sc__json_double(j, "bytes", round(o->bytes));
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
    details_put_left_out(j, r);
}

static void details_put_stragglers(struct sc__json *j, const struct sc__result *r) {
    struct sc__stragglers s = sc__stragglers_find(j->out->arena, r);
    if (!s.count)
        return;
    sc__json_array(j, "stragglers");
    for (uint32_t i = 0; i < s.count; i++) {
        const struct sc__straggler *one = &s.items[i];
        const struct sc__class *class = r->classes[one->class].class;
        sc__json_row(j, NULL);
        sc__json_u64(j, "rank", class->rank);
        sc__json_u64(j, "ranks", class->ranks);
        sc__json_u64(j, "stage", class->stage);
        sc__json_us(j, "compute_us", one->compute);
        sc__json_us(j, "median_us", one->median);
        sc__json_us(j, "others_wait_us", one->waited);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void details_put_class_memory(struct sc__json *j, const struct sc__workload *w) {
    sc__json_array(j, "class_memory_bytes");
    for (uint32_t c = 0; c < w->class_count; c++) {
        const struct sc__memory *m = &w->memory[c];
        sc__json_row(j, NULL);
        sc__json_u64(j, "class", c);
        sc__json_u64(j, "stage", w->classes[c].stage);
        sc__json_u64(j, "weights", m->weights);
        sc__json_u64(j, "gradients", m->gradients);
        sc__json_u64(j, "optimizer", m->optimizer);
        sc__json_u64(j, "activations", m->activations);
        sc__json_u64(j, "logits", m->logits);
        sc__json_u64(j, "workspace", m->workspace);
        sc__json_u64(j, "communication", m->communication);
        sc__json_u64(j, "context", m->context);
        sc__json_u64(j, "fragmentation", m->fragmentation);
        if (m->host)
            sc__json_u64(j, "host", m->host);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void details_put_whatif(struct sc__json *j, const struct sc__whatif *whatif) {
    sc__json_array(j, "what_if");
    for (uint32_t i = 0; i < whatif->count; i++) {
        const struct sc__whatif_row *row = &whatif->rows[i];
        sc__json_row(j, NULL);
        sc__json_string(j, "key", row->key);
        sc__json_string(j, "title", row->title);
        sc__json_us(j, "step_at_zero_us", row->at_zero);
        sc__json_us(j, "step_at_half_us", row->at_half);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void details_put_changes(struct sc__json *j, const struct sc__result *r) {
    sc__json_array(j, "what_if_changes");
    for (uint32_t i = 0; i < r->changes.count; i++) {
        const struct sc__change_row *row = &r->changes.rows[i];
        sc__json_row(j, NULL);
        sc__json_string(j, "key", row->key);
        sc__json_string(j, "title", row->title);
        sc__json_us(j, "step_time_us", row->step);
        sc__json_double(j, "work", row->work);
        sc__json_bool(j, "fits", row->fits);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

static void details_put_band(struct sc__json *j, const struct sc__band *band) {
    sc__json_object(j, "band");
    sc__json_u64(j, "count", band->count);
    sc__json_double(j, "mean_error_pct", band->mean);
    sc__json_double(j, "bias_pct", band->bias);
    sc__json_string(j, "grade", band->grade);
    sc__json_string(j, "like", band->like);
    sc__json_end_object(j);
}

static void details_put_software(struct sc__json *j, const struct sc__software_costs *s) {
    sc__json_object(j, "software");
    sc__json_string(j, "name", s->name);
    sc__json_string(j, "title", s->title);
    sc__json_string(j, "source", s->source);
    sc__json_string(j, "usual", s->usual);
    if (s->usual_step >= 0)
        sc__json_us(j, "step_usual_us", s->usual_step);
    else
        sc__json_null(j, "step_usual_us");
    sc__json_array(j, "set");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_cost *row = &s->rows[i];
        sc__json_row(j, NULL);
        sc__json_string(j, row->is_constant ? "constant" : "option", row->name);
        sc__json_string(j, "value", row->value);
        sc__json_string(j, "profile", row->profile);
        sc__json_string(j, "why", row->why);
        if (row->without >= 0)
            sc__json_us(j, "step_without_us", row->without);
        else
            sc__json_null(j, "step_without_us");
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
    sc__json_end_object(j);
}

static bool details_knows_memory(const struct sc__workload *w) {
    for (uint32_t c = 0; w->memory && c < w->class_count; c++)
        if (w->memory[c].weights)
            return true;
    return false;
}

static void details_put_timeline(struct sc__json *j, const struct sc__result *r) {
    struct sc__buffer timeline;
    sc__buffer_init(&timeline, j->out->arena);
    sc__json_timeline(r, &timeline);
    sc__json_raw(j, "timeline", timeline.text, timeline.size);
}

void sc__json_put_details(struct sc__json *j,
                          const struct sc__result *r,
                          unsigned sections) {
    if (r->measured)
        sc__json_bool(j, "measured", true);
    if (details_knows_memory(r->workload))
        details_put_class_memory(j, r->workload);
    details_put_stragglers(j, r);
    if (r->band.count)
        details_put_band(j, &r->band);
    if (r->software)
        details_put_software(j, r->software);
    if (sections & SC__JSON_WHAT_IF && r->whatif && r->whatif->count)
        details_put_whatif(j, r->whatif);
    if (sections & SC__JSON_WHAT_IF && r->changes.count)
        details_put_changes(j, r);
    if (!(sections & SC__JSON_TIMELINE) || !r->timeline)
        return;
    if (r->critical_path.pieces) {
        details_put_operations(j, r);
        details_put_path(j, r);
    }
    details_put_timeline(j, r);
}
