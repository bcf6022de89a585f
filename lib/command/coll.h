/* coll: what the parts of `stepcast coll` share. */
#ifndef SC_COMMAND_COLL_H
#define SC_COMMAND_COLL_H

#include "collective/operations.h"
#include "command/command.h"
#include "hardware/cluster_options.h"
#include "network/flow/flow.h"

/* What is asked for. */
struct sc__coll_query {
    const struct sc__coll_op *op;
    struct sc__cluster cluster;
    struct sc__shape shape;
    /* with --net flow or packet: the engine that gives the costs, and how to ask it */
    struct sc__net *net;
    sc_status (*net_cost)(struct sc__net *net, int coll, uint64_t bytes, int64_t *time);
    uint64_t begin;
    uint64_t end;
    uint64_t increment;
    double factor;
    const char *type;
    uint32_t type_size;
};

/* The size after one; sizes end where it is over q->end. */
uint64_t sc__coll_next_size(const struct sc__coll_query *q, uint64_t bytes);
/* The engine that the settings ask for, which has then been asked for every size. */
sc_status sc__coll_network(const struct sc_request *req,
                           const struct sc__settings *s,
                           struct sc__coll_query *q);
/* Opens a document and says what was asked for. */
void sc__coll_open_json(const struct sc_request *req,
                        const struct sc__coll_query *q,
                        const char *schema,
                        struct sc__json *j,
                        struct sc__buffer *out);
/* Below a table for people. */
void sc__coll_put_notes(const struct sc_request *req, struct sc__buffer *out);
/* coll_page.c: --html, of those that are simulated packet by packet. */
struct sc__coll_shown {
    const struct sc__coll_query *query;
    const char *control; /* NULL: the usual one */
};
bool sc__coll_has_packets(const struct sc__coll_query *q);
sc_status sc__coll_write_page(struct sc_request *req,
                              const struct sc__coll_shown *shown,
                              uint32_t count);
/* coll_compare.c: --net flow,packet or --cc dcqcn,hpcc. */
bool sc__coll_compares(const struct sc_request *req);
sc_status sc__coll_compare(struct sc_request *req, const struct sc__coll_query *q);
sc_status sc__coll_against(struct sc_request *req, const char *path);
sc_status sc__coll_fit(struct sc_request *req);
sc_status sc__coll_validate(struct sc_request *req, const char *path);
/* --csv of a comparison: measured and forecast, a line each row. sources may be NULL. */
sc_status sc__coll_put_samples(struct sc_request *req,
                               const struct sc__samples *samples,
                               const struct sc__names *sources);
/* Options that a comparison with measurements has not asked for. */
void sc__coll_note_unused(struct sc_request *req);

#endif
