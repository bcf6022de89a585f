/* json_details: the sections of the result document that only a page, a
 * comparison or a full JSON needs. docs/report.md describes them. */
#ifndef SC_REPORT_JSON_DETAILS_H
#define SC_REPORT_JSON_DETAILS_H

#include "result/result.h"

/* Adds "measured", "class_memory_bytes", "software", and of the sections asked for
 * (SC__JSON_… of report/write.h) "what_if", "operations", "critical_path" and
 * "timeline"; each only where the result has it. */
void sc__json_put_details(struct sc__json *j,
                          const struct sc__result *r,
                          unsigned sections);

/* "timeline" alone, as one line of JSON. Needs the timeline. */
void sc__json_timeline(const struct sc__result *r, struct sc__buffer *out);

#endif
