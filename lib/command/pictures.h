/* pictures: what `run` writes for the eye and for other tools: the report
 * page, traces, the picture in text, the what-if table. All of them need the
 * timeline, which is kept only when one of them is asked for. */
#ifndef SC_COMMAND_PICTURES_H
#define SC_COMMAND_PICTURES_H

#include "command/job.h"

extern const struct sc__option sc__picture_options[];

/* Does the request need the timeline? */
bool sc__pictures_wanted(const struct sc_request *req);
/* Adds what the outputs need to the result, once, before any is written: the
 * critical path, and the what-if table. That where --what-if asks for it, or
 * where a page is asked for and simulating the step some twenty times more takes
 * no time to speak of. */
sc_status sc__pictures_prepare(struct sc_request *req, struct sc__job *job);
/* The sections that --timeline and --what-if add to the JSON document. */
unsigned sc__pictures_sections(const struct sc_request *req);
/* The files: --html, --trace, --hta. */
sc_status sc__pictures_write(struct sc_request *req, struct sc__job *job);
/* After the text of the result: --gantt, --what-if. */
void sc__pictures_text(struct sc_request *req, const struct sc__result *r);

#endif
