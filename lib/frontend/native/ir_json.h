/* ir json: what the readers of its parts share. */
#ifndef SC_FRONTEND_NATIVE_IR_JSON_H
#define SC_FRONTEND_NATIVE_IR_JSON_H

#include "base/json_view.h"
#include "workload/workload.h"

#define IR_JSON_LONGEST ((int64_t)1 << 61) /* of a time, ps: two may still be added */
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Adds a time to a sum; an error where times together come near overflow. */
sc_status sc__ir_json_add_time(const struct sc__node *n, int64_t time, int64_t *sum);
/* The "workload" of a node, or nothing. runs: it is to be simulated; that of a
 * measurement may hold some of the ranks only. */
sc_status
sc__ir_json_workload(const struct sc__node *parent, bool runs, struct sc__workload **out);

#endif
