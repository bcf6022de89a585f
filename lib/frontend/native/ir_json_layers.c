/* The rows of a table of layers in ir json. */
#include "frontend/native/ir_json_parts.h"
#include "workload/words.h"

static sc_status
read_part(const struct sc__node *row, const char *key, struct sc__row_part *p) {
    struct sc__node n = sc__node_at(row, key);
    unsigned coll = SC__ROW_NONE;
    unsigned suffix = SC__SUFFIX_NONE;
    if (!n.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&n, SC__IR_JSON_KEYS("compute_ps", "coll", "suffix", "bytes")));
    SC__TRY(sc__node_i64(&n, "compute_ps", 0, SC__IR_JSON_LONGEST, &p->compute));
    SC__TRY(sc__node_word(&n, "coll", sc__row_coll_names(), &coll));
    SC__TRY(sc__node_word(&n, "suffix", SC__IR_JSON_KEYS("", "_EP", "_DP_EP"), &suffix));
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
                          SC__IR_JSON_KEYS("name",
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
    SC__TRY(sc__node_i64(n, "process_ps", 0, SC__IR_JSON_LONGEST, &r->process));
    SC__TRY(sc__node_word(n, "work", sc__work_words, &work));
    r->work = (uint8_t)work;
    r->recompute_from = SC__NONE;
    return sc__node_u32(n, "recompute_from", 0, index, &r->recompute_from);
}

static sc_status
read_rows(const struct sc__node *n, struct sc_context *ctx, struct sc__layers *l) {
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

sc_status sc__ir_json_layers(const struct sc__node *root, struct sc__document *out) {
    struct sc_context *ctx = sc__node_context(root);
    struct sc__layers *l = SC__NEW(&ctx->arena, struct sc__layers);
    struct sc__node n = sc__node_at(root, "layers");
    struct sc__node pp_comm;
    struct sc__node vpp;
    unsigned format = 0;
    if (!n.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&n,
                          SC__IR_JSON_KEYS("format",
                                           "policy",
                                           "tp",
                                           "ep",
                                           "pp",
                                           "vpp",
                                           "ga",
                                           "gpus",
                                           "pp_comm",
                                           "inference",
                                           "rows")));
    SC__TRY(sc__node_word(&n,
                          "format",
                          SC__IR_JSON_KEYS("workload-text", "operator-table"),
                          &format));
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
    SC__TRY(sc__node_bool(&n, "inference", &l->inference));
    vpp = sc__node_at(&n, "vpp");
    pp_comm = sc__node_at(&n, "pp_comm");
    l->has_vpp = vpp.value != NULL;
    l->has_pp_comm = pp_comm.value != NULL;
    if (l->pp_comm > 0x1p60)
        return sc__node_fail(&pp_comm, NULL, "a message of more than 2^60 bytes");
    out->layers = l;
    return read_rows(&n, ctx, l);
}
