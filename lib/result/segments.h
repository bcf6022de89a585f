/* segments: what a class did at each moment of the step, one after the other
 * and without gaps. The breakdown as a picture: the lengths of the segments of
 * one kind add up to the figure of that kind, exactly. */
#ifndef SC_RESULT_SEGMENTS_H
#define SC_RESULT_SEGMENTS_H

#include "workload/timeline.h"

enum sc__segment_kind {
    SC__SEGMENT_FORWARD,
    SC__SEGMENT_BACKWARD,
    SC__SEGMENT_WGRAD,
    SC__SEGMENT_RECOMPUTE,
    SC__SEGMENT_UPDATE,
    SC__SEGMENT_COMM, /* transfer time nothing hides */
    SC__SEGMENT_BUBBLE,
    SC__SEGMENT_SKEW,
    SC__SEGMENT_OTHER,
    SC__SEGMENT_KINDS
};

struct sc__segment {
    int64_t start;
    int64_t end;
    uint32_t span; /* what ran, or was waited for; SC__NONE: nothing */
    uint8_t kind;
};

/* Segments of one class from 0 to the end of the step. */
struct sc__segments {
    struct sc__segment *items;
    uint32_t count;
    uint32_t capacity;
    int64_t total[SC__SEGMENT_KINDS];
};

/* Spans of each class, in the order of their start: spans[first[c] … first[c + 1]);
 * and the same of the idle times. */
struct sc__by_class {
    uint32_t *spans;
    uint32_t *first;
    uint32_t *idles;
    uint32_t *first_idle;
    uint32_t classes;
};

void sc__by_class(struct sc__arena *a,
                  const struct sc__timeline *t,
                  struct sc__by_class *out);
void sc__segments(struct sc__arena *a,
                  const struct sc__timeline *t,
                  const struct sc__by_class *index,
                  uint32_t class,
                  struct sc__segments *out);

const char *sc__segment_name(enum sc__segment_kind kind);
/* The key of a transfer in reports: the group's label, or that of messages. */
const char *sc__span_label(const struct sc__workload *w, const struct sc__op *op);

#endif
