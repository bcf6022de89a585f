/* ir json: our own form of the intermediate representation, read back whole.
 * Every index is checked, so that what follows may trust it; every key that is
 * not known is an error. docs/formats/ir-json.md */
#include "base/json_view.h"
#include "frontend/native/ir_json.h"
#include "frontend/reader.h"
#include "workload/words.h"

#include <string.h>

#define LARGEST ((size_t)2 << 30)

/* ---- rows ---- */

static sc_status
read_part(const struct sc__node *row, const char *key, struct sc__row_part *p) {
    struct sc__node n = sc__node_at(row, key);
    unsigned coll = SC__ROW_NONE;
    unsigned suffix = SC__SUFFIX_NONE;
    if (!n.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&n, KEYS("compute_ps", "coll", "suffix", "bytes")));
    SC__TRY(sc__node_i64(&n, "compute_ps", 0, IR_JSON_LONGEST, &p->compute));
    SC__TRY(sc__node_word(&n, "coll", sc__row_coll_names(), &coll));
    SC__TRY(sc__node_word(&n, "suffix", KEYS("", "_EP", "_DP_EP"), &suffix));
    SC__TRY(sc__node_u64(&n, "bytes", &p->bytes));
    p->coll = (uint8_t)coll;
    p->suffix = (uint8_t)suffix;
    return SC_OK;
}

static sc_status read_row(const struct sc__node *n,
                          uint32_t index,
                          struct sc__names *names,
                          struct sc__row *r) {
    struct sc__node needed;
    struct sc__str name = {NULL, 0};
    unsigned work = 0;
    SC__TRY(sc__node_keys(n,
                          KEYS("name",
                               "forward",
                               "input",
                               "weight",
                               "process_ps",
                               "work",
                               "recompute_from")));
    SC__TRY(sc__node_need(n, "name", &needed));
    SC__TRY(sc__node_slice(n, "name", &name));
    uint32_t id = sc__names_add(names, name.p, name.n);
    r->name = names->text[id];
    SC__TRY(read_part(n, "forward", &r->part[SC__PART_FORWARD]));
    SC__TRY(read_part(n, "input", &r->part[SC__PART_INPUT]));
    SC__TRY(read_part(n, "weight", &r->part[SC__PART_WEIGHT]));
    SC__TRY(sc__node_i64(n, "process_ps", 0, IR_JSON_LONGEST, &r->process));
    SC__TRY(sc__node_word(n, "work", sc__work_words, &work));
    r->work = (uint8_t)work;
    r->recompute_from = SC__NONE;
    return sc__node_u32(n, "recompute_from", 0, index, &r->recompute_from);
}

static sc_status ir_json_read_read_rows(const struct sc__node *n,
                                        struct sc_context *ctx,
                                        struct sc__layers *l) {
    struct sc__node rows;
    int64_t sum = 0;
    struct sc__names names; /* equal names share their text, as in every reader */
    sc__names_init(&names, &ctx->arena);
    SC__TRY(sc__node_need(n, "rows", &rows));
    SC__TRY(sc__node_is_array(&rows));
    l->count = l->capacity = (uint32_t)sc__node_count(&rows);
    l->rows = SC__NEW_ARRAY(&ctx->arena, struct sc__row, l->count + 1);
    if (!l->count)
        return sc__node_fail(&rows, NULL, "no rows");
    for (uint32_t i = 0; i < l->count; i++) {
        struct sc__node row = sc__node_item(&rows, i);
        struct sc__row *r = &l->rows[i];
        SC__TRY(read_row(&row, i, &names, r));
        for (unsigned p = 0; p < SC__PARTS; p++)
            SC__TRY(sc__ir_json_add_time(&row, r->part[p].compute, &sum));
        SC__TRY(sc__ir_json_add_time(&row, r->process, &sum));
    }
    return SC_OK;
}

static sc_status read_layers(const struct sc__node *root, struct sc__document *out) {
    struct sc_context *ctx = sc__node_context(root);
    struct sc__layers *l = SC__NEW(&ctx->arena, struct sc__layers);
    struct sc__node n = sc__node_at(root, "layers");
    struct sc__node pp_comm;
    struct sc__node vpp;
    unsigned format = 0;
    if (!n.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&n,
                          KEYS("format",
                               "policy",
                               "tp",
                               "ep",
                               "pp",
                               "vpp",
                               "ga",
                               "gpus",
                               "pp_comm",
                               "rows")));
    SC__TRY(sc__node_word(&n, "format", KEYS("workload-text", "operator-table"), &format));
    l->format = format ? "operator-table" : "workload-text";
    l->file = root->file->text.name;
    SC__TRY(sc__node_string(&n, "policy", &l->policy));
    if (!format && !l->policy)
        return sc__node_fail(&n, NULL, "rows of workload-text need a \"policy\"");
    SC__TRY(sc__node_u32(&n, "tp", 1, UINT32_MAX, &l->tp));
    SC__TRY(sc__node_u32(&n, "ep", 1, UINT32_MAX, &l->ep));
    SC__TRY(sc__node_u32(&n, "pp", 1, UINT32_MAX, &l->pp));
    SC__TRY(sc__node_u32(&n, "vpp", 1, UINT32_MAX, &l->vpp));
    SC__TRY(sc__node_u32(&n, "ga", 1, UINT32_MAX, &l->ga));
    SC__TRY(sc__node_u32(&n, "gpus", 1, UINT32_MAX, &l->gpus));
    SC__TRY(sc__node_double(&n, "pp_comm", &l->pp_comm));
    vpp = sc__node_at(&n, "vpp");
    pp_comm = sc__node_at(&n, "pp_comm");
    l->has_vpp = vpp.value != NULL;
    l->has_pp_comm = pp_comm.value != NULL;
    if (l->pp_comm > 0x1p60)
        return sc__node_fail(&pp_comm, NULL, "a message of more than 2^60 bytes");
    out->layers = l;
    return ir_json_read_read_rows(&n, ctx, l);
}

/* ---- timeline ---- */

static sc_status read_span(const struct sc__node *n,
                           const struct sc__timeline *t,
                           uint32_t count,
                           struct sc__span *s) {
    const struct sc__workload *w = t->workload;
    const int64_t most[8] = {(int64_t)w->class_count - 1,
                             (int64_t)w->op_count - 1,
                             UINT32_MAX - 1,
                             UINT32_MAX,
                             IR_JSON_LONGEST,
                             IR_JSON_LONGEST,
                             IR_JSON_LONGEST,
                             (int64_t)count - 1};
    int64_t v[8] = {0, 0, SC__NONE, 0, 0, 0, 0, SC__NONE};
    if (!sc__node_is(n, '[') || sc__node_count(n) != 8)
        return sc__node_fail(
            n,
            NULL,
            "a span is [class, op, micro_batch, chunk, start, ready, end, peer]");
    for (unsigned i = 0; i < 8; i++) {
        struct sc__node item = sc__node_item(n, i);
        if ((i == 2 || i == 7) && sc__node_is(&item, 'n'))
            continue;
        SC__TRY(sc__node_number(&item, 0, most[i], &v[i]));
    }
    *s = (struct sc__span){.class = (uint32_t)v[0],
                           .op = (uint32_t)v[1],
                           .micro_batch = (uint32_t)v[2],
                           .chunk = (uint32_t)v[3],
                           .start = v[4],
                           .ready = v[5],
                           .end = v[6],
                           .peer_span = (uint32_t)v[7]};
    if (s->start > s->ready || s->ready > s->end)
        return sc__node_fail(n, NULL, "start, ready and end are out of order");
    return SC_OK;
}

static sc_status read_spans(const struct sc__node *n, struct sc__timeline *t) {
    struct sc__node spans;
    SC__TRY(sc__node_need(n, "spans", &spans));
    SC__TRY(sc__node_is_array(&spans));
    t->count = t->capacity = (uint32_t)sc__node_count(&spans);
    t->spans = SC__NEW_ARRAY(&sc__node_context(n)->arena, struct sc__span, t->count + 1);
    for (uint32_t i = 0; i < t->count; i++) {
        struct sc__node span = sc__node_item(&spans, i);
        SC__TRY(read_span(&span, t, t->count, &t->spans[i]));
    }
    return SC_OK;
}

static sc_status read_idles(const struct sc__node *n, struct sc__timeline *t) {
    struct sc__node idles = sc__node_at(n, "idles");
    const int64_t most[4] = {(int64_t)t->workload->class_count - 1,
                             SC__IDLE_COMM + (int64_t)t->workload->group_count,
                             IR_JSON_LONGEST,
                             IR_JSON_LONGEST};
    if (!idles.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&idles));
    for (size_t i = 0; i < sc__node_count(&idles); i++) {
        struct sc__node idle = sc__node_item(&idles, i);
        int64_t v[4] = {0};
        if (!sc__node_is(&idle, '[') || sc__node_count(&idle) != 4)
            return sc__node_fail(&idle, NULL, "idle time is [class, why, start, end]");
        for (unsigned k = 0; k < 4; k++) {
            struct sc__node item = sc__node_item(&idle, k);
            SC__TRY(sc__node_number(&item, 0, most[k], &v[k]));
        }
        *SC__PUSH(&sc__node_context(n)->arena, t->idles, t->idle_count, t->idle_capacity) =
            (struct sc__idle){.class = (uint32_t)v[0],
                              .why = (uint32_t)v[1],
                              .start = v[2],
                              .end = v[3]};
    }
    return SC_OK;
}

static sc_status read_timeline(const struct sc__node *root, struct sc__document *out) {
    struct sc__node n = sc__node_at(root, "timeline");
    struct sc__workload *own = out->workload;
    if (!n.value)
        return SC_OK;
    struct sc__timeline *t = SC__NEW(&sc__node_context(root)->arena, struct sc__timeline);
    SC__TRY(sc__node_keys(&n, KEYS("workload", "end_ps", "spans", "idles")));
    SC__TRY(sc__ir_json_workload(&n, false, &own));
    if (!own)
        return sc__node_fail(&n, NULL, "a timeline needs a workload, its own or beside it");
    t->workload = own;
    SC__TRY(sc__node_i64(&n, "end_ps", 0, IR_JSON_LONGEST, &t->end));
    SC__TRY(read_spans(&n, t));
    SC__TRY(read_idles(&n, t));
    out->measured = t;
    return SC_OK;
}

static sc_status ir_json_read_read_document(const struct sc__node *root,
                                            struct sc__document *out) {
    const char *schema = NULL;
    SC__TRY(sc__node_keys(root, KEYS("schema", "layers", "workload", "timeline")));
    SC__TRY(sc__node_string(root, "schema", &schema));
    if (!schema || strcmp(schema, SC__IR_SCHEMA))
        return sc__node_fail(root,
                             "this program reads " SC__IR_SCHEMA,
                             "schema is %s",
                             schema ? schema : "missing");
    SC__TRY(read_layers(root, out));
    SC__TRY(sc__ir_json_workload(root, true, &out->workload));
    SC__TRY(read_timeline(root, out));
    if (!out->layers && !out->workload)
        return sc__node_fail(root, NULL, "neither \"layers\" nor \"workload\"");
    return SC_OK;
}

static sc_status read_json(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const char *const *paths,
                           uint32_t count,
                           struct sc__document *out) {
    struct sc__json_file file;
    (void)settings;
    if (count != 1)
        return sc__fail(ctx, SC_USAGE, NULL, NULL, "ir-json is one file");
    sc_status status = sc__json_open(ctx, paths[0], LARGEST, &file);
    struct sc__node root = sc__json_root(&file);
    if (status == SC_OK)
        status = ir_json_read_read_document(&root, out);
    sc__json_close(&file);
    return status;
}

static int
ir_json_read_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    (void)path;
    return !directory && n && memmem(head, n, "\"stepcast/ir/", 13) ? 100 : 0;
}

const struct sc__reader sc__reader_ir_json = {.name = "ir-json",
                                              .title = "stepcast's own form of a workload",
                                              .detect = ir_json_read_detect,
                                              .read = read_json};
