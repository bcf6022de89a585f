/* nsys_payload: what NCCL tells about its calls. Its NVTX ranges (domain NCCL) carry a
 * payload: the communicator, the bytes of the message, and, where a communicator is
 * made, its size and rank. An export has it as JSON (nsys export --include-json true),
 * or as bytes whose layout is in two tables. */
#include "frontend/nsys/nsys.h"

#include <jansson.h>
#include <string.h>

#define PAYLOAD_HEADER 32 /* bytes before the first field; the schema is at 8 */
#define SCHEMA_AT 8

enum payload_field { COMMUNICATOR, MESSAGE_BYTES, RANKS, RANK, PAYLOAD_FIELDS };

/* As NCCL names them (src/include/nvtx_payload_schemas.h). */
static const char *const field_names[PAYLOAD_FIELDS] = {
    "NCCL communicator ID", "Message size [bytes]", "No. of ranks", "Rank"};

struct payload {
    uint64_t value[PAYLOAD_FIELDS];
    bool has[PAYLOAD_FIELDS];
};

static int payload_field_of(const char *name) {
    for (int i = 0; name && i < PAYLOAD_FIELDS; i++)
        if (!strcmp(name, field_names[i]))
            return i;
    return -1;
}

/* Bytes of NVTX's types of payload entries; 0: not a whole number. */
static uint32_t payload_type_bytes(int64_t type) {
    static const uint8_t bytes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1,
                                    1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8, 8};
    return type > 0 && type < (int64_t)sizeof bytes ? bytes[type] : 0;
}

static sc_status
payload_take_entry(struct sc__nsys *n, sqlite3_stmt *row, const char *table) {
    int64_t domain;
    int64_t schema;
    int64_t type;
    int64_t offset;
    SC__TRY(sc__nsys_number(n, row, table, 0, 0, &domain));
    SC__TRY(sc__nsys_number(n, row, table, 1, 0, &schema));
    SC__TRY(sc__nsys_number(n, row, table, 2, 0, &type));
    SC__TRY(sc__nsys_number(n, row, table, 4, 0, &offset));
    int field = payload_field_of(sc__nsys_text(n, row, 3));
    uint32_t bytes = payload_type_bytes(type);
    if (field < 0 || !bytes || offset < 0)
        return SC_OK;
    *SC__PUSH(&n->ctx->arena, n->fields, n->field_count, n->field_capacity) =
        (struct sc__nsys_field){.domain = domain,
                                .schema = schema,
                                .offset = (uint64_t)offset,
                                .bytes = bytes,
                                .what = (uint8_t)field};
    return SC_OK;
}

sc_status sc__nsys_read_schemas(struct sc__nsys *n) {
    static const struct sc__nsys_column entry[] = {{"domainId", false},
                                                   {"schemaId", true},
                                                   {"type", true},
                                                   {"name", true},
                                                   {"offset", false}};
    return sc__nsys_read_table(n,
                               "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                               entry,
                               (uint32_t)(sizeof entry / sizeof *entry),
                               payload_take_entry,
                               NULL);
}

static uint64_t little_endian(const unsigned char *p, uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = bytes; i > 0; i--)
        value = value << 8 | p[i - 1];
    return value;
}

static void payload_of_bytes(const struct sc__nsys *n,
                             int64_t domain,
                             const unsigned char *bytes,
                             size_t size,
                             struct payload *p) {
    if (size < PAYLOAD_HEADER)
        return;
    int64_t schema = (int64_t)little_endian(bytes + SCHEMA_AT, 8);
    for (uint32_t i = 0; i < n->field_count; i++) {
        const struct sc__nsys_field *f = &n->fields[i];
        bool fits = f->offset <= size - PAYLOAD_HEADER &&
                    f->bytes <= size - PAYLOAD_HEADER - f->offset;
        if (f->schema != schema || f->domain != domain || !fits)
            continue;
        p->value[f->what] = little_endian(bytes + PAYLOAD_HEADER + f->offset, f->bytes);
        p->has[f->what] = true;
    }
}

static bool json_whole(const json_t *value, uint64_t *out) {
    if (json_is_integer(value)) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    return json_is_string(value) && sc__parse_u64(sc__str(json_string_value(value)), out);
}

static void payload_of_json(const char *text, struct payload *p) {
    json_t *root = json_loads(text, 0, NULL);
    for (int i = 0; i < PAYLOAD_FIELDS; i++)
        p->has[i] = json_whole(json_object_get(root, field_names[i]), &p->value[i]);
    json_decref(root);
}

/* Bytes of the collective as the simulator counts them follow from those of a rank
 * once the size of the communicator is known (nsys_nccl.c). */
static uint8_t collective_of_call(const char *name) {
    static const struct {
        const char *name;
        uint8_t coll;
    } calls[] = {{"ncclAllReduce", SC__ALLREDUCE},
                 {"ncclAllGather", SC__ALLGATHER},
                 {"ncclReduceScatter", SC__REDUCESCATTER},
                 {"ncclBroadcast", SC__BROADCAST},
                 {"ncclReduce", SC__REDUCE},
                 {"ncclAlltoAll", SC__ALLTOALL},
                 {"ncclAllToAll", SC__ALLTOALL}};
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(name, calls[i].name))
            return calls[i].coll;
    return SC__COLLS;
}

void sc__nsys_nccl_range(struct sc__nsys *n,
                         const struct sc__nsys_call *range,
                         const char *name,
                         int64_t domain,
                         const char *json,
                         const void *bytes,
                         size_t size) {
    struct payload p = {0};
    if (json)
        payload_of_json(json, &p);
    else if (bytes)
        payload_of_bytes(n, domain, bytes, size, &p);
    if (!p.has[COMMUNICATOR])
        return;
    if (p.has[RANKS] && p.has[RANK] && p.value[RANK] < p.value[RANKS] &&
        p.value[RANKS] < UINT32_MAX)
        *SC__PUSH(&n->ctx->arena, n->members, n->member_count, n->member_capacity) =
            (struct sc__nsys_member){range->process,
                                     p.value[COMMUNICATOR],
                                     (uint32_t)p.value[RANKS],
                                     (uint32_t)p.value[RANK]};
    uint8_t coll = collective_of_call(name);
    if (coll == SC__COLLS || !p.has[MESSAGE_BYTES] || p.value[MESSAGE_BYTES] > INT64_MAX)
        return;
    struct sc__nsys_call *c =
        SC__PUSH(&n->ctx->arena, n->calls, n->call_count, n->call_capacity);
    *c = *range;
    c->communicator = p.value[COMMUNICATOR];
    c->bytes = p.value[MESSAGE_BYTES];
    c->coll = coll;
}
