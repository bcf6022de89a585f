/* kineto_event: one event of a Kineto trace, parsed in place. */
#ifndef SC_FRONTEND_KINETO_EVENT_H
#define SC_FRONTEND_KINETO_EVENT_H

#include "base/json_scan.h"
#include "base/text.h"

/* Texts point into what was parsed; numbers that are not there are -1. */
struct sc__kineto_event {
    struct sc__str name;
    struct sc__str cat;
    struct sc__str tid;
    struct sc__str pid;
    struct sc__str ts;
    struct sc__str dur;
    struct sc__str coll;
    struct sc__str dtype;
    struct sc__str group;
    struct sc__str description;
    struct sc__str ranks;
    struct sc__str dims;
    int64_t stream;
    int64_t device;
    int64_t correlation;
    int64_t external;
    int64_t record; /* "Record function id": the rf_id of a host trace */
    int64_t in_elements;
    int64_t out_elements;
    int64_t group_size;
    int64_t source;
    int64_t target;
    int64_t seq;
    char ph;
};

/* A word known when this is compiled. */
#define SC__KINETO_IS(s, literal)                                                          \
    ((s).n == sizeof(literal) - 1 && !memcmp((s).p, (literal), sizeof(literal) - 1))

/* The object the scan is at; false where it is damaged or not all there. */
bool sc__kineto_parse_event(struct sc__scan *s, struct sc__kineto_event *e);
/* Microseconds with up to three decimals as nanoseconds, exactly; more decimals
 * are rounded. */
bool sc__kineto_nanoseconds(struct sc__str s, int64_t *out);

#endif
