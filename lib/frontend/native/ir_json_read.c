/* ir json: our own form of the intermediate representation, read back whole.
 * Every index is checked, so that what follows may trust it; every key that is
 * not known is an error. docs/formats/ir-json.md */
#include "frontend/native/ir_json_parts.h"
#include "workload/match.h"
#include "workload/words.h"

#include <string.h>

#define LARGEST ((size_t)2 << 30)

/* ---- workload ---- */

/* Times together must stay far from overflow. */
sc_status sc__ir_json_add_time(const struct sc__node *n, int64_t time, int64_t *sum) {
    if (time > SC__IR_JSON_LONGEST - *sum)
        return sc__node_fail(n, NULL, "the times are out of range");
    *sum += time;
    return SC_OK;
}

static sc_status read_order(const struct sc__node *mesh, struct sc__mesh *m) {
    struct sc__node order = sc__node_at(mesh, "order");
    unsigned seen = 0;
    if (!order.value)
        return SC_OK;
    if (!sc__node_is(&order, '[') || sc__node_count(&order) != SC__DIMS)
        return sc__node_fail(&order, NULL, "must list tp, cp, dp and pp, fastest first");
    for (unsigned i = 0; i < SC__DIMS; i++) {
        struct sc__node item = sc__node_item(&order, i);
        unsigned dim = 0;
        SC__TRY(sc__node_choice(&item, sc__dim_words, &dim));
        if (seen >> dim & 1)
            return sc__node_fail(&order, NULL, "must list tp, cp, dp and pp, each once");
        seen |= 1u << dim;
        m->order[i] = (uint8_t)dim;
    }
    return SC_OK;
}

static sc_status read_mesh(const struct sc__node *n, struct sc__workload *w) {
    struct sc__node mesh;
    uint32_t tp = 1;
    uint32_t cp = 1;
    uint32_t dp = 1;
    uint32_t pp = 1;
    uint32_t ep = 1;
    uint32_t etp = 0;
    SC__TRY(sc__node_need(n, "mesh", &mesh));
    SC__TRY(sc__node_keys(
        &mesh,
        SC__IR_JSON_KEYS("tp", "cp", "dp", "pp", "ep", "etp", "shard", "order")));
    SC__TRY(sc__node_u32(&mesh, "tp", 1, UINT32_MAX, &tp));
    SC__TRY(sc__node_u32(&mesh, "cp", 1, UINT32_MAX, &cp));
    SC__TRY(sc__node_u32(&mesh, "dp", 1, UINT32_MAX, &dp));
    SC__TRY(sc__node_u32(&mesh, "pp", 1, UINT32_MAX, &pp));
    SC__TRY(sc__node_u32(&mesh, "ep", 1, UINT32_MAX, &ep));
    SC__TRY(sc__node_u32(&mesh, "etp", 1, UINT32_MAX, &etp));
    w->mesh = sc__mesh(tp, cp, ep, dp, pp, etp);
    SC__TRY(sc__node_u32(&mesh, "shard", 1, UINT32_MAX, &w->mesh.shard));
    SC__TRY(read_order(&mesh, &w->mesh));
    if (sc__mesh_check(sc__node_context(n), &w->mesh) == SC_OK)
        return SC_OK;
    return sc__node_fail(&mesh, NULL, "%s", sc_error_message(sc__node_context(n)));
}

static sc_status read_ranks(const struct sc__node *n,
                            const struct sc__workload *w,
                            uint32_t **ranks,
                            uint32_t *count) {
    SC__TRY(sc__node_is_array(n));
    *count = (uint32_t)sc__node_count(n);
    *ranks = SC__NEW_ARRAY(w->arena, uint32_t, *count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        struct sc__node item = sc__node_item(n, i);
        int64_t rank;
        SC__TRY(sc__node_number(&item, 0, (int64_t)sc__mesh_ranks(&w->mesh) - 1, &rank));
        (*ranks)[i] = (uint32_t)rank;
    }
    return *count ? SC_OK : sc__node_fail(n, NULL, "a group without ranks");
}

static sc_status ir_json_read_read_groups(const struct sc__node *n,
                                          struct sc__workload *w) {
    struct sc__node groups = sc__node_at(n, "groups");
    if (!groups.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&groups));
    for (size_t i = 0; i < sc__node_count(&groups); i++) {
        struct sc__node g = sc__node_item(&groups, i);
        struct sc__node kind_node;
        struct sc__node ranks;
        unsigned kind = 0;
        if (i == UINT16_MAX)
            return sc__node_fail(&g, NULL, "more than 65535 groups");
        SC__TRY(sc__node_keys(&g, SC__IR_JSON_KEYS("kind", "label", "ranks")));
        SC__TRY(sc__node_need(&g, "kind", &kind_node));
        SC__TRY(sc__node_word(&g, "kind", sc__group_words, &kind));
        struct sc__group *group =
            SC__PUSH(w->arena, w->groups, w->group_count, w->group_capacity);
        group->kind = (enum sc__group_kind)kind;
        group->label = sc__group_label(group->kind);
        SC__TRY(sc__node_string(&g, "label", &group->label));
        ranks = sc__node_at(&g, "ranks");
        if ((ranks.value != NULL) != (kind == SC__GROUP_LIST))
            return sc__node_fail(
                &g,
                NULL,
                "\"ranks\" belongs to groups of kind list, and to them only");
        if (ranks.value)
            SC__TRY(read_ranks(&ranks, w, &group->ranks, &group->count));
    }
    return SC_OK;
}

static sc_status
read_streams_set(const struct sc__node *n, const char *key, uint16_t *set) {
    struct sc__node list = sc__node_at(n, key);
    if (!list.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&list));
    for (size_t i = 0; i < sc__node_count(&list); i++) {
        struct sc__node item = sc__node_item(&list, i);
        int64_t stream;
        SC__TRY(sc__node_number(&item, 0, SC__MAX_STREAMS - 1, &stream));
        *set = (uint16_t)(*set | 1u << stream);
    }
    return SC_OK;
}

static sc_status read_flags(const struct sc__node *n, uint8_t *flags) {
    struct sc__node list = sc__node_at(n, "flags");
    if (!list.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&list));
    for (size_t i = 0; i < sc__node_count(&list); i++) {
        struct sc__node item = sc__node_item(&list, i);
        unsigned bit = 0;
        SC__TRY(sc__node_choice(&item, sc__flag_words, &bit));
        *flags = (uint8_t)(*flags | 1u << bit);
    }
    return SC_OK;
}

/* index: of the operation; count: operations of the block. */
static sc_status read_deps(const struct sc__node *n,
                           struct sc__workload *w,
                           uint32_t index,
                           uint32_t count,
                           bool graph) {
    struct sc__node deps = sc__node_at(n, "deps");
    if (!deps.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&deps));
    if (sc__node_count(&deps) > UINT16_MAX)
        return sc__node_fail(&deps, NULL, "more than 65535 dependencies");
    for (size_t i = 0; i < sc__node_count(&deps); i++) {
        struct sc__node item = sc__node_item(&deps, i);
        int64_t on = 0;
        bool start = sc__node_is(&item, '{');
        if (start)
            SC__TRY(sc__node_keys(&item, SC__IR_JSON_KEYS("start")));
        if (start && !graph)
            return sc__node_fail(&item,
                                 NULL,
                                 "only in blocks with \"graph\": true may an operation "
                                 "wait for another to start");
        if (start)
            SC__TRY(sc__node_i64(&item, "start", 0, (int64_t)count - 1, &on));
        else
            SC__TRY(sc__node_number(&item, 0, (int64_t)count - 1, &on));
        if (on == index || (!graph && on > index))
            return sc__node_fail(
                &item,
                "only blocks with \"graph\": true may depend on later operations",
                "an operation cannot depend on itself or on one issued after it");
        sc__block_depend(w, (uint32_t)on | (start ? SC__DEP_START : 0));
    }
    return SC_OK;
}

static sc_status
read_collective(const struct sc__node *n, const struct sc__workload *w, struct sc__op *op) {
    struct sc__node coll_node;
    struct sc__node group_node;
    unsigned coll = 0;
    uint32_t group = 0;
    bool collective = op->kind == SC__OP_COLLECTIVE;
    coll_node = sc__node_at(n, "coll");
    group_node = sc__node_at(n, "group");
    if (!collective && (coll_node.value || group_node.value))
        return sc__node_fail(n, NULL, "\"coll\" and \"group\" belong to collectives only");
    if (!collective) {
        SC__TRY(sc__node_u32(n, "nic", 0, UINT16_MAX, &group));
        op->group = (uint16_t)group;
        return SC_OK;
    }
    SC__TRY(sc__node_need(n, "coll", &coll_node));
    SC__TRY(sc__node_need(n, "group", &group_node));
    if (!w->group_count)
        return sc__node_fail(&group_node, NULL, "there are no groups");
    SC__TRY(sc__node_word(n, "coll", sc__coll_words, &coll));
    SC__TRY(sc__node_u32(n, "group", 0, w->group_count - 1, &group));
    op->coll = (uint8_t)coll;
    op->group = (uint16_t)group;
    return SC_OK;
}

static sc_status check_peer(const struct sc__node *n, const struct sc__op *op) {
    bool by_flag = op->flags & (SC__OP_PEER_NEXT | SC__OP_PEER_PREV | SC__OP_ANY_PEER);
    if ((op->kind == SC__OP_SEND || op->kind == SC__OP_RECV) && op->peer == SC__NONE &&
        !by_flag)
        return sc__node_fail(n,
                             "give \"peer\", or a flag peer_next, peer_prev or any_peer",
                             "a message needs a peer");
    if ((op->flags & SC__OP_PEER_NEXT) && (op->flags & SC__OP_PEER_PREV))
        return sc__node_fail(n, NULL, "peer_next and peer_prev exclude each other");
    return SC_OK;
}

static sc_status read_op(const struct sc__node *n,
                         struct sc__workload *w,
                         uint32_t index,
                         uint32_t count,
                         bool graph) {
    unsigned kind = 0;
    unsigned phase = 0;
    unsigned work = 0;
    uint32_t stream = 0;
    struct sc__str name = {NULL, 0};
    struct sc__node needed;
    SC__TRY(sc__node_keys(n,
                          SC__IR_JSON_KEYS("kind",
                                           "name",
                                           "phase",
                                           "stream",
                                           "after",
                                           "coll",
                                           "group",
                                           "nic",
                                           "work",
                                           "flags",
                                           "peer",
                                           "tag",
                                           "cost_ps",
                                           "bytes",
                                           "row",
                                           "layer",
                                           "deps")));
    SC__TRY(sc__node_need(n, "kind", &needed));
    SC__TRY(sc__node_need(n, "name", &needed));
    SC__TRY(sc__node_word(n, "kind", sc__op_words, &kind));
    SC__TRY(sc__node_slice(n, "name", &name));
    SC__TRY(sc__node_word(n, "phase", sc__phase_words, &phase));
    SC__TRY(sc__node_word(n, "work", sc__work_words, &work));
    SC__TRY(sc__node_u32(n, "stream", 0, SC__MAX_STREAMS - 1, &stream));
    struct sc__op *op = sc__block_add_id(w,
                                         (enum sc__op_kind)kind,
                                         (enum sc__phase)phase,
                                         (uint8_t)stream,
                                         sc__names_add(&w->names, name.p, name.n));
    op->work = (uint8_t)work;
    SC__TRY(read_streams_set(n, "after", &op->after));
    SC__TRY(read_collective(n, w, op));
    SC__TRY(read_flags(n, &op->flags));
    SC__TRY(sc__node_u32(n, "peer", 0, sc__mesh_ranks(&w->mesh) - 1, &op->peer));
    SC__TRY(sc__node_u32(n, "tag", 0, UINT32_MAX, &op->tag));
    SC__TRY(sc__node_i64(n, "cost_ps", 0, SC__IR_JSON_LONGEST, &op->cost));
    SC__TRY(sc__node_u64(n, "bytes", &op->bytes));
    SC__TRY(sc__node_u32(n, "row", 0, UINT32_MAX - 1, &op->row));
    SC__TRY(sc__node_u32(n, "layer", 0, UINT32_MAX - 1, &op->layer));
    SC__TRY(check_peer(n, op));
    return read_deps(n, w, index, count, graph);
}

static sc_status read_blocks(const struct sc__node *n, struct sc__workload *w) {
    struct sc__node blocks;
    SC__TRY(sc__node_need(n, "blocks", &blocks));
    SC__TRY(sc__node_is_array(&blocks));
    for (size_t i = 0; i < sc__node_count(&blocks); i++) {
        struct sc__node block = sc__node_item(&blocks, i);
        struct sc__node ops;
        bool graph = false;
        bool slots = false;
        SC__TRY(sc__node_keys(&block, SC__IR_JSON_KEYS("graph", "slots", "ops")));
        SC__TRY(sc__node_bool(&block, "graph", &graph));
        SC__TRY(sc__node_bool(&block, "slots", &slots));
        SC__TRY(sc__node_need(&block, "ops", &ops));
        SC__TRY(sc__node_is_array(&ops));
        uint32_t count = (uint32_t)sc__node_count(&ops);
        sc__block_begin(w);
        w->blocks[w->block_count - 1].graph = graph;
        w->blocks[w->block_count - 1].slots = slots;
        for (uint32_t k = 0; k < count; k++) {
            struct sc__node op = sc__node_item(&ops, k);
            SC__TRY(read_op(&op, w, k, count, graph));
        }
        sc__block_end(w);
    }
    return SC_OK;
}

/* The compute of a program, so that no sum overflows later. */
static sc_status check_length(const struct sc__node *n,
                              const struct sc__workload *w,
                              const struct sc__program *p,
                              const int64_t *block_cost) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < p->calls; i++)
        SC__TRY(
            sc__ir_json_add_time(n, block_cost[w->calls[p->first_call + i].block], &sum));
    return SC_OK;
}

static sc_status
sum_blocks(const struct sc__node *n, const struct sc__workload *w, int64_t **out) {
    int64_t *cost = SC__NEW_ARRAY(w->arena, int64_t, w->block_count + 1);
    for (uint32_t b = 0; b < w->block_count; b++)
        for (uint32_t i = 0; i < w->blocks[b].ops; i++)
            SC__TRY(
                sc__ir_json_add_time(n, w->ops[w->blocks[b].first_op + i].cost, &cost[b]));
    *out = cost;
    return SC_OK;
}

static sc_status read_call(const struct sc__node *n, struct sc__workload *w) {
    struct sc__call c = {.micro_batch = SC__NONE};
    struct sc__node block;
    SC__TRY(sc__node_keys(n, SC__IR_JSON_KEYS("block", "micro_batch", "chunk", "tag")));
    SC__TRY(sc__node_need(n, "block", &block));
    if (!w->block_count)
        return sc__node_fail(&block, NULL, "there are no blocks");
    SC__TRY(sc__node_u32(n, "block", 0, w->block_count - 1, &c.block));
    SC__TRY(sc__node_u32(n, "micro_batch", 0, UINT32_MAX - 1, &c.micro_batch));
    SC__TRY(sc__node_u32(n, "chunk", 0, UINT32_MAX, &c.chunk));
    SC__TRY(sc__node_u32(n, "tag", 0, UINT32_MAX, &c.tag));
    sc__program_call(w, c.block, c.micro_batch, c.chunk, c.tag);
    return SC_OK;
}

static sc_status read_programs(const struct sc__node *n, struct sc__workload *w) {
    struct sc__node programs;
    int64_t *cost;
    SC__TRY(sc__node_need(n, "programs", &programs));
    SC__TRY(sc__node_is_array(&programs));
    SC__TRY(sum_blocks(n, w, &cost));
    for (size_t i = 0; i < sc__node_count(&programs); i++) {
        struct sc__node program = sc__node_item(&programs, i);
        SC__TRY(sc__node_is_array(&program));
        sc__program_begin(w);
        for (size_t k = 0; k < sc__node_count(&program); k++) {
            struct sc__node call = sc__node_item(&program, k);
            SC__TRY(read_call(&call, w));
        }
        SC__TRY(check_length(&program, w, &w->programs[w->program_count - 1], cost));
    }
    return SC_OK;
}

/* The parts are added up in 64 bits. */
static sc_status check_memory(const struct sc__node *n, const struct sc__memory *m) {
    double sum = (double)m->weights + (double)m->gradients + (double)m->optimizer +
                 (double)m->activations + (double)m->logits + (double)m->workspace +
                 (double)m->communication + (double)m->context + (double)m->fragmentation;
    if (sum < 0x1p62)
        return SC_OK;
    return sc__node_fail(n, NULL, "adds up to %g bytes: 2^62 are too many", sum);
}

static sc_status read_memory(const struct sc__node *class,
                             struct sc__workload *w,
                             uint32_t index,
                             uint32_t count) {
    struct sc__node n = sc__node_at(class, "memory_bytes");
    if (!n.value)
        return SC_OK;
    if (!w->memory)
        w->memory = SC__NEW_ARRAY(w->arena, struct sc__memory, count);
    struct sc__memory *m = &w->memory[index];
    SC__TRY(sc__node_keys(&n,
                          SC__IR_JSON_KEYS("weights",
                                           "gradients",
                                           "optimizer",
                                           "activations",
                                           "other",
                                           "logits",
                                           "workspace",
                                           "communication",
                                           "context",
                                           "fragmentation",
                                           "host")));
    SC__TRY(sc__node_u64(&n, "weights", &m->weights));
    SC__TRY(sc__node_u64(&n, "gradients", &m->gradients));
    SC__TRY(sc__node_u64(&n, "optimizer", &m->optimizer));
    SC__TRY(sc__node_u64(&n, "activations", &m->activations));
    SC__TRY(sc__node_u64(&n, "logits", &m->logits));
    SC__TRY(sc__node_u64(&n, "workspace", &m->workspace));
    SC__TRY(sc__node_u64(&n, "communication", &m->communication));
    SC__TRY(sc__node_u64(&n, "context", &m->context));
    SC__TRY(sc__node_u64(&n, "fragmentation", &m->fragmentation));
    SC__TRY(sc__node_u64(&n, "host", &m->host));
    /* documents of before have one figure for all but the first four */
    uint64_t other = 0;
    SC__TRY(sc__node_u64(&n, "other", &other));
    m->workspace += other;
    return check_memory(&n, m);
}

static sc_status read_class(const struct sc__node *n,
                            struct sc__workload *w,
                            uint32_t index,
                            uint32_t count) {
    uint32_t program = 0;
    uint32_t rank = 0;
    uint32_t ranks = 1;
    uint32_t stage = 0;
    uint32_t world = sc__mesh_ranks(&w->mesh);
    struct sc__node needed;
    SC__TRY(sc__node_keys(n,
                          SC__IR_JSON_KEYS("name",
                                           "program",
                                           "rank",
                                           "ranks",
                                           "stage",
                                           "slow",
                                           "memory_bytes")));
    SC__TRY(sc__node_need(n, "program", &needed));
    SC__TRY(sc__node_need(n, "rank", &needed));
    SC__TRY(sc__node_need(n, "ranks", &needed));
    if (!w->program_count)
        return sc__node_fail(n, NULL, "there are no programs");
    SC__TRY(sc__node_u32(n, "program", 0, w->program_count - 1, &program));
    SC__TRY(sc__node_u32(n, "rank", 0, world - 1, &rank));
    SC__TRY(sc__node_u32(n, "ranks", 1, world, &ranks));
    SC__TRY(sc__node_u32(n, "stage", 0, w->mesh.pp - 1, &stage));
    sc__class_add(w, program, rank, ranks, stage);
    struct sc__class *c = &w->classes[index];
    SC__TRY(sc__node_string(n, "name", &c->name));
    SC__TRY(sc__node_double(n, "slow", &c->slow));
    if (!(c->slow > 0 && c->slow < 1e6))
        return sc__node_fail(n, NULL, "\"slow\" must be above 0 and below a million");
    return read_memory(n, w, index, count);
}

static sc_status read_rank_class(const struct sc__node *n, struct sc__workload *w) {
    struct sc__node list = sc__node_at(n, "rank_class");
    uint32_t world = sc__mesh_ranks(&w->mesh);
    if (!list.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&list));
    if (sc__node_count(&list) != world)
        return sc__node_fail(&list,
                             NULL,
                             "%zu entries for %u ranks",
                             sc__node_count(&list),
                             world);
    w->rank_class = SC__NEW_ARRAY(w->arena, uint32_t, world);
    for (uint32_t i = 0; i < world; i++) {
        struct sc__node item = sc__node_item(&list, i);
        int64_t class;
        SC__TRY(sc__node_number(&item, 0, (int64_t)w->class_count - 1, &class));
        w->rank_class[i] = (uint32_t) class;
    }
    return SC_OK;
}

/* Every rank belongs to one class, and the classes say how many they have. */
static sc_status check_classes(const struct sc__node *classes,
                               const struct sc__workload *w) {
    uint32_t world = sc__mesh_ranks(&w->mesh);
    uint32_t *have = SC__NEW_ARRAY(w->arena, uint32_t, w->class_count + 1);
    if (!w->rank_class && w->class_count != w->mesh.pp)
        return sc__node_fail(classes,
                             "without \"rank_class\" there is one class per pipeline stage",
                             "%u classes for %u stages",
                             w->class_count,
                             w->mesh.pp);
    for (uint32_t c = 0; c < w->class_count && !w->rank_class; c++)
        have[c] = world / w->mesh.pp;
    for (uint32_t r = 0; r < world && w->rank_class; r++)
        have[w->rank_class[r]]++;
    for (uint32_t c = 0; c < w->class_count; c++) {
        struct sc__node n = sc__node_item(classes, c);
        if (have[c] != w->classes[c].ranks)
            return sc__node_fail(&n,
                                 NULL,
                                 "says %u ranks and has %u",
                                 w->classes[c].ranks,
                                 have[c]);
        if (sc__workload_class_of(w, w->classes[c].rank) != c)
            return sc__node_fail(&n,
                                 NULL,
                                 "rank %u stands for it but is of another class",
                                 w->classes[c].rank);
    }
    return SC_OK;
}

/* Graph blocks run one class a rank, and who communicates with whom is found beforehand. */
static sc_status match_graph(const struct sc__node *n, struct sc__workload *w) {
    bool graph = false;
    uint32_t rendezvous;
    struct sc__mismatch bad;
    for (uint32_t i = 0; i < w->block_count; i++)
        graph |= w->blocks[i].graph;
    if (!graph)
        return SC_OK;
    if (w->class_count != sc__mesh_ranks(&w->mesh))
        return sc__node_fail(n, NULL, "graph blocks need one class per rank");
    for (uint32_t i = 0; i < w->class_count; i++)
        if (w->programs[w->classes[i].program].calls != 1)
            return sc__node_fail(n,
                                 NULL,
                                 "a rank with a graph block runs that block alone");
    if (sc__workload_match(w, false, &rendezvous, &bad))
        return SC_OK;
    return sc__node_fail(n,
                         NULL,
                         "operation %u of rank %u (%s) has no counterpart",
                         bad.op,
                         bad.rank,
                         bad.op < w->op_count ? w->names.text[w->ops[bad.op].name] : "?");
}

static sc_status read_classes(const struct sc__node *n, struct sc__workload *w, bool runs) {
    struct sc__node classes;
    SC__TRY(sc__node_need(n, "classes", &classes));
    SC__TRY(sc__node_is_array(&classes));
    uint32_t count = (uint32_t)sc__node_count(&classes);
    if (!count)
        return sc__node_fail(&classes, NULL, "no classes");
    for (uint32_t i = 0; i < count; i++) {
        struct sc__node class = sc__node_item(&classes, i);
        SC__TRY(read_class(&class, w, i, count));
    }
    SC__TRY(read_rank_class(n, w));
    if (!runs)
        return SC_OK;
    SC__TRY(check_classes(&classes, w));
    return match_graph(n, w);
}

/* Of a step: a rate of it is finite. */
static sc_status read_amount(const struct sc__node *n, const char *key, double *out) {
    SC__TRY(sc__node_double(n, key, out));
    if (*out <= 1e40)
        return SC_OK;
    struct sc__node at = sc__node_at(n, key);
    return sc__node_fail(&at, NULL, "is more than 1e40");
}

static sc_status read_stream_names(const struct sc__node *n, struct sc__workload *w) {
    struct sc__node list = sc__node_at(n, "streams");
    if (!list.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&list));
    if (sc__node_count(&list) > SC__MAX_STREAMS)
        return sc__node_fail(&list, NULL, "at most %d streams", SC__MAX_STREAMS);
    for (size_t i = 0; i < sc__node_count(&list); i++) {
        struct sc__node item = sc__node_item(&list, i);
        if (sc__node_is(&item, 'n'))
            continue;
        if (!sc__node_is(&item, '"'))
            return sc__node_fail(&item, NULL, "must be a string or null");
        struct sc__str name = sc__json_decode(w->arena, sc__json_raw_text(item.value));
        w->stream_names[i] = sc__strndup(w->arena, name.p, name.n);
    }
    return SC_OK;
}

/* runs: to be simulated; a measurement may hold some of the ranks only. */
sc_status
sc__ir_json_workload(const struct sc__node *parent, bool runs, struct sc__workload **out) {
    struct sc__node n = sc__node_at(parent, "workload");
    uint32_t stream = 0;
    const char *format = "ir-json";
    if (!n.value)
        return SC_OK;
    SC__TRY(sc__node_keys(&n,
                          SC__IR_JSON_KEYS("format",
                                           "mesh",
                                           "vpp",
                                           "micro_batches",
                                           "schedule",
                                           "steps_overlap",
                                           "tokens",
                                           "model_flops",
                                           "hardware_flops",
                                           "compute_stream",
                                           "comm_tax",
                                           "untaxed_streams",
                                           "streams",
                                           "groups",
                                           "blocks",
                                           "programs",
                                           "classes",
                                           "rank_class")));
    SC__TRY(sc__node_string(&n, "format", &format));
    struct sc__workload *w = sc__workload_new(&sc__node_context(parent)->arena, format);
    SC__TRY(read_mesh(&n, w));
    SC__TRY(sc__node_u32(&n, "vpp", 1, UINT32_MAX, &w->vpp));
    SC__TRY(sc__node_u32(&n, "micro_batches", 1, UINT32_MAX, &w->micro_batches));
    SC__TRY(sc__node_string(&n, "schedule", &w->schedule));
    SC__TRY(sc__node_bool(&n, "steps_overlap", &w->steps_overlap));
    SC__TRY(read_amount(&n, "tokens", &w->tokens));
    SC__TRY(read_amount(&n, "model_flops", &w->model_flops));
    SC__TRY(read_amount(&n, "hardware_flops", &w->hardware_flops));
    SC__TRY(sc__node_u32(&n, "compute_stream", 0, SC__MAX_STREAMS - 1, &stream));
    w->compute_stream = (uint8_t)stream;
    SC__TRY(sc__node_double(&n, "comm_tax", &w->comm_tax));
    SC__TRY(read_streams_set(&n, "untaxed_streams", &w->untaxed));
    SC__TRY(read_stream_names(&n, w));
    SC__TRY(ir_json_read_read_groups(&n, w));
    SC__TRY(read_blocks(&n, w));
    SC__TRY(read_programs(&n, w));
    SC__TRY(read_classes(&n, w, runs));
    *out = w;
    return SC_OK;
}

static sc_status ir_json_read_read_document(const struct sc__node *root,
                                            struct sc__document *out) {
    const char *schema = NULL;
    SC__TRY(
        sc__node_keys(root, SC__IR_JSON_KEYS("schema", "layers", "workload", "timeline")));
    SC__TRY(sc__node_string(root, "schema", &schema));
    if (!schema || strcmp(schema, SC__IR_SCHEMA))
        return sc__node_fail(root,
                             "this program reads " SC__IR_SCHEMA,
                             "schema is %s",
                             schema ? schema : "missing");
    SC__TRY(sc__ir_json_layers(root, out));
    SC__TRY(sc__ir_json_workload(root, true, &out->workload));
    SC__TRY(sc__ir_json_timeline(root, out));
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
    return !directory && n && sc__find_word(head, n, "\"stepcast/ir/") ? 100 : 0;
}

const struct sc__reader sc__reader_ir_json = {.name = "ir-json",
                                              .title = "stepcast's own form of a workload",
                                              .detect = ir_json_read_detect,
                                              .read = read_json};
