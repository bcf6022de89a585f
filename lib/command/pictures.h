/* pictures: what `run` writes for the eye and for other tools: the report
 * page, traces, the picture in text, the what-if table. All of them need the
 * timeline, which is kept only when one of them is asked for. */
#ifndef SC_COMMAND_PICTURES_H
#define SC_COMMAND_PICTURES_H

#include "command/job.h"

extern const struct sc__option sc__picture_options[];

/* Does the request need the timeline? */
bool sc__pictures_wanted(const struct sc_request *req);
/* Adds what --timeline and --what-if ask for to the JSON document. */
sc_status sc__pictures_extend(struct sc_request *req,
                              struct sc__job *job,
                              struct sc__buffer *document);
/* The files: --html, --trace, --hta. */
sc_status sc__pictures_write(struct sc_request *req, struct sc__job *job);
/* After the text of the result: --gantt, --what-if. */
sc_status sc__pictures_text(struct sc_request *req, struct sc__job *job);

#endif
