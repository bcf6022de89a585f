/* ir_json_parts: what the files that read ir json share. Every part is looked for
 * in the node given, and may be missing. */
#ifndef SC_FRONTEND_IR_JSON_PARTS_H
#define SC_FRONTEND_IR_JSON_PARTS_H

#include "base/json_view.h"
#include "frontend/reader.h"

/* No time is longer than this, in ps. */
#define SC__IR_JSON_LONGEST ((int64_t)1 << 61)

#define SC__IR_JSON_KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

sc_status sc__ir_json_layers(const struct sc__node *root, struct sc__document *out);
/* runs: it is to be simulated, not only the frame of a timeline. */
sc_status
sc__ir_json_workload(const struct sc__node *root, bool runs, struct sc__workload **out);
sc_status sc__ir_json_timeline(const struct sc__node *root, struct sc__document *out);
/* Refuses a sum that is longer than any time. */
sc_status sc__ir_json_add_time(const struct sc__node *n, int64_t time, int64_t *sum);

#endif
