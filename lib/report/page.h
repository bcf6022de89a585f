/* page: what the report page needs beyond the result: keys added to the
 * result document when a page or a full JSON is asked for. docs/report.md
 * describes them. */
#ifndef SC_WRITE_PAGE_H
#define SC_WRITE_PAGE_H

#include "result/operations.h"
#include "result/result.h"
#include "result/whatif.h"

#define SC__PAGE_ITEMS 20000 /* kept in a page; more are put together */

/* Adds "timeline", "critical_path", "operations", "class_memory_bytes" and
 * "what_if" to a finished result document; each only where the result has it.
 * whatif may be NULL. */
void sc__page_extend(struct sc_context *ctx,
                     const struct sc__result *r,
                     const struct sc__whatif *whatif,
                     struct sc__buffer *document);

/* "timeline" alone, as one line of JSON. */
void sc__page_timeline(struct sc_context *ctx,
                       const struct sc__timeline *t,
                       const struct sc__by_class *index,
                       struct sc__buffer *out);

/* A page from one result document, or from two with their names. The text must
 * be valid JSON. SC_SYSTEM when the library was built without the page. */
sc_status sc__page_html(struct sc_context *ctx,
                        const struct sc__str *documents,
                        const char *const *names,
                        unsigned count,
                        struct sc__buffer *out);

#endif
