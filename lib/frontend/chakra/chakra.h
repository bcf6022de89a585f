/* chakra: one node as it is on the wire, and the decoder's interface. */
#ifndef SC_FRONTEND_CHAKRA_H
#define SC_FRONTEND_CHAKRA_H

#include "frontend/reader.h"
#include "workload/graph.h"

enum sc__chakra_type {
    SC__CHAKRA_INVALID,
    SC__CHAKRA_METADATA,
    SC__CHAKRA_LOAD,
    SC__CHAKRA_STORE,
    SC__CHAKRA_COMP,
    SC__CHAKRA_SEND,
    SC__CHAKRA_RECV,
    SC__CHAKRA_COLL,
    SC__CHAKRA_TYPES
};

/* Numbers of the attributes that count; the rest is kept by nobody. */
enum sc__chakra_attr {
    SC__ATTR_IS_CPU_OP,
    SC__ATTR_NUM_OPS,
    SC__ATTR_TENSOR_SIZE,
    SC__ATTR_COMM_TYPE,
    SC__ATTR_COMM_SIZE,
    SC__ATTR_COMM_SRC,
    SC__ATTR_COMM_DST,
    SC__ATTR_COMM_TAG,
    SC__ATTR_ROOT,
    /* ours, so that a workload comes back as it was */
    SC__ATTR_PS, /* duration, or what comes after a transfer */
    SC__ATTR_STREAM,
    SC__ATTR_PHASE,
    SC__ATTR_WORK,
    SC__ATTR_LAYER,
    SC__ATTR_FLAGS,
    SC__ATTR_WAIT,
    SC__ATTR_BYTES, /* where comm_size is rounded */
    SC__ATTR_SHIFT, /* an all-to-all whose bytes all go to the next rank */
    SC__ATTR_NUMBERS,
    SC__ATTR_PG_NAME = SC__ATTR_NUMBERS,
    SC__ATTR_LABEL,
    SC__ATTR_START_DEPS,
    SC__ATTR_INVOLVED,
    SC__ATTR_UNKNOWN
};

struct sc__chakra_node {
    uint64_t id;
    struct sc__str name;
    struct sc__str pg_name;
    struct sc__str label;
    struct sc__str inputs;
    uint64_t offset; /* in the file */
    uint64_t duration_us;
    int64_t number[SC__ATTR_NUMBERS];
    uint32_t has; /* set of numbers */
    /* in the reader's list of ids */
    uint32_t first_dep;
    uint32_t deps;
    uint32_t first_start;
    uint32_t start_deps;
    uint8_t type;
    bool partial; /* a collective over some dimensions of the network, not all */
};

struct sc__id_list {
    uint64_t *ids;
    uint32_t count;
    uint32_t capacity;
};

struct sc__chakra_nodes {
    struct sc__chakra_node *items;
    uint32_t count;
    uint32_t capacity;
};

/* SC__ATTR_UNKNOWN: one that nobody keeps. */
enum sc__chakra_attr sc__chakra_attr_of(struct sc__str name);
/* NULL, or what is wrong: an attribute stands once. */
const char *
sc__chakra_set_number(struct sc__chakra_node *n, enum sc__chakra_attr id, int64_t number);
const char *sc__chakra_set_text(struct sc__chakra_node *n,
                                enum sc__chakra_attr id,
                                struct sc__str text);

/* Decodes one message. NULL, or what is wrong, with *at the place in it. Names
 * point into the message. */
const char *sc__chakra_decode(struct sc__arena *a,
                              const unsigned char *message,
                              size_t n,
                              struct sc__chakra_node *out,
                              struct sc__id_list *deps,
                              size_t *at);
/* Checks that the bytes are a GlobalMetadata message. */
const char *sc__chakra_metadata(const unsigned char *message, size_t n, size_t *at);

/* The whole of a trace that chakra_jsonizer wrote as JSON: NULL, or what is wrong, with *at
 * the place in it. */
const char *sc__chakra_decode_json(struct sc__arena *memory,
                                   struct sc__str text,
                                   struct sc__chakra_nodes *nodes,
                                   struct sc__id_list *deps,
                                   size_t *at);
bool sc__chakra_is_json(struct sc__str head);

/* Process groups by name; "0" and "" are the world. */
struct sc__chakra_groups {
    struct sc__names names;
    uint16_t *group; /* by name: index in workload.groups */
    uint32_t count;
    uint32_t capacity;
};

/* Where groups may be defined that a trace names: ASTRA-sim's usual file, if it lies
 * beside it. */
const char *sc__chakra_groups_hint(struct sc_context *ctx, const char *trace);
/* {"1": [0, 1], …} of a file, or the list a METADATA node carries. */
sc_status sc__chakra_groups_file(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 const char *path,
                                 struct sc__chakra_groups *g);
sc_status sc__chakra_groups_text(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 struct sc__str text,
                                 const struct sc__place *at,
                                 struct sc__chakra_groups *g);

/* A set of files <prefix>.<rank>.et. */
struct sc__chakra_files {
    const char **path; /* by rank */
    uint32_t count;
    const char *groups; /* <prefix>.json beside them, or NULL */
};

sc_status sc__chakra_find_files(struct sc_context *ctx,
                                const char *const *paths,
                                uint32_t count,
                                struct sc__chakra_files *out);
bool sc__chakra_directory(const char *path);
/* Whether the name ends in .et or .et.gz; cuts that off. */
bool sc__chakra_name(struct sc__str *name);
/* The same for .json, .et.json and what is packed of these. */
bool sc__chakra_json_name(struct sc__str *name);

void sc__chakra_show(struct sc_context *ctx,
                     const struct sc__document *doc,
                     struct sc__buffer *text,
                     struct sc__json *json);

/* Traces of PyTorch, which leave things open. */
bool sc__chakra_is_pytorch(const struct sc__chakra_node *nodes, uint32_t count);
/* A collective that only has a name and a time. */
void sc__chakra_measured(struct sc__workload *w,
                         const struct sc__chakra_node *n,
                         uint8_t stream,
                         struct sc__op *op);
/* Such a one that is a message, or an all-to-all, whose other ranks are not known. */
bool sc__chakra_is_message(const struct sc__chakra_node *n);
void sc__chakra_note_pytorch(struct sc_context *ctx, uint64_t parents, uint64_t measured);

#endif
