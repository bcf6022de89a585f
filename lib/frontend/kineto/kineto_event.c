#include "frontend/kineto/kineto_event.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

/* Many digits, or an exponent, which tools that write a trace anew give small numbers. */
static bool rare_nanoseconds(struct sc__str s, int64_t *out) {
    double us;
    if (sc__parse_decimal(s, 3, out))
        return true;
    if (!sc__parse_double(s, &us) || fabs(us) > 9e15)
        return false;
    *out = llround(us * 1e3);
    return true;
}

bool sc__kineto_nanoseconds(struct sc__str s, int64_t *out) {
    if (!s.n) /* not there: no pointer to count from */
        return false;
    const char *p = s.p;
    const char *end = s.p + s.n;
    int64_t v = 0;
    bool minus = p < end && *p == '-';
    p += minus;
    if (end - p > 15 + 4)
        return rare_nanoseconds(s, out);
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        v = 10 * v + (*p - '0');
    int decimals = 0;
    if (p < end && *p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9' && decimals < 3; p++, decimals++)
            v = 10 * v + (*p - '0');
    if (p < end || v > INT64_MAX / 1000)
        return rare_nanoseconds(s, out);
    for (; decimals < 3; decimals++)
        v *= 10;
    *out = minus ? -v : v;
    return true;
}

static bool event_integer(struct sc__scan *s, int64_t *out) {
    struct sc__str text;
    if (!sc__scan_value(s, &text))
        return false;
    if (text.n >= 2 && *text.p == '"')
        text = (struct sc__str){text.p + 1, text.n - 2};
    if (!sc__parse_i64(text, out))
        *out = -1; /* "stream": "" and the like */
    return true;
}

static bool event_text(struct sc__scan *s, struct sc__str *out) {
    if (*s->p == '"')
        return sc__scan_string(s, out);
    return sc__scan_value(s, out);
}

/* ---- one event ---- */

/* Of two values for one key there is no telling which is meant. */
static bool once(struct sc__scan *s, bool known) {
    return !known || sc__scan_fail(s, "a key of an event stands twice");
}

static bool
event_argument(struct sc__scan *s, struct sc__str key, struct sc__kineto_event *e) {
    struct sc__str skipped;
    switch (key.n) {
    case 3:
        if (SC__KINETO_IS(key, "Seq"))
            return event_integer(s, &e->seq);
        break;
    case 5:
        if (SC__KINETO_IS(key, "dtype"))
            return event_text(s, &e->dtype);
        break;
    case 6:
        if (SC__KINETO_IS(key, "stream"))
            return event_integer(s, &e->stream);
        if (SC__KINETO_IS(key, "device"))
            return event_integer(s, &e->device);
        break;
    case 8:
        if (SC__KINETO_IS(key, "Src Rank"))
            return event_integer(s, &e->source);
        if (SC__KINETO_IS(key, "Dst Rank"))
            return event_integer(s, &e->target);
        break;
    case 10:
        if (SC__KINETO_IS(key, "Group size"))
            return once(s, e->group_size) && event_integer(s, &e->group_size);
        if (SC__KINETO_IS(key, "Input Dims"))
            return sc__scan_value(s, &e->dims);
        break;
    case 11:
        if (SC__KINETO_IS(key, "correlation"))
            return event_integer(s, &e->correlation);
        if (SC__KINETO_IS(key, "External id") || SC__KINETO_IS(key, "external id"))
            return event_integer(s, &e->external);
        break;
    case 13:
        if (SC__KINETO_IS(key, "In msg nelems"))
            return once(s, e->in_elements >= 0) && event_integer(s, &e->in_elements);
        break;
    case 14:
        if (SC__KINETO_IS(key, "Out msg nelems"))
            return once(s, e->out_elements >= 0) && event_integer(s, &e->out_elements);
        break;
    case 15:
        if (SC__KINETO_IS(key, "Collective name"))
            return event_text(s, &e->coll);
        break;
    case 18:
        if (SC__KINETO_IS(key, "Process Group Name"))
            return event_text(s, &e->group);
        if (SC__KINETO_IS(key, "Record function id"))
            return event_integer(s, &e->record);
        break;
    case 19:
        if (SC__KINETO_IS(key, "Process Group Ranks"))
            return event_text(s, &e->ranks);
        break;
    case 25:
        if (SC__KINETO_IS(key, "Process Group Description"))
            return event_text(s, &e->description);
        break;
    default:
        break;
    }
    return sc__scan_value(s, &skipped);
}

/* PyTorch writes nothing for a text that is empty: "Process Group Description": , */
static bool absent(const struct sc__scan *s) {
    return *s->p == ',' || *s->p == '}';
}

static bool event_arguments(struct sc__scan *s, struct sc__kineto_event *e) {
    struct sc__str key;
    struct sc__str skipped;
    bool first = true;
    if (*s->p != '{')
        return sc__scan_value(s, &skipped);
    s->p++;
    while (sc__scan_member(s, &first, &key))
        if (!absent(s) && !event_argument(s, key, e))
            return false;
    return !s->wrong;
}

static bool
event_member(struct sc__scan *s, struct sc__str key, struct sc__kineto_event *e) {
    struct sc__str v;
    switch (key.n) {
    case 2:
        if (SC__KINETO_IS(key, "ts"))
            return once(s, e->ts.p) && sc__scan_number(s, &e->ts);
        if (SC__KINETO_IS(key, "ph")) {
            if (!sc__scan_string(s, &v))
                return false;
            e->ph = v.n ? *v.p : 0;
            return true;
        }
        break;
    case 3:
        if (SC__KINETO_IS(key, "cat"))
            return event_text(s, &e->cat);
        if (SC__KINETO_IS(key, "dur"))
            return once(s, e->dur.p) && sc__scan_number(s, &e->dur);
        if (SC__KINETO_IS(key, "tid"))
            return sc__scan_value(s, &e->tid);
        if (SC__KINETO_IS(key, "pid"))
            return sc__scan_value(s, &e->pid);
        break;
    case 4:
        if (SC__KINETO_IS(key, "name"))
            return once(s, e->name.p) && event_text(s, &e->name);
        if (SC__KINETO_IS(key, "args"))
            return event_arguments(s, e);
        break;
    default:
        break;
    }
    return sc__scan_value(s, &v);
}

bool sc__kineto_parse_event(struct sc__scan *s, struct sc__kineto_event *e) {
    struct sc__str key;
    bool first = true;
    memset(e, 0, sizeof *e);
    e->stream = e->device = e->correlation = e->external = e->record = e->source =
        e->target = e->seq = -1;
    e->in_elements = e->out_elements = -1;
    if (!sc__scan_open(s, '{'))
        return false;
    while (sc__scan_member(s, &first, &key))
        if (!event_member(s, key, e))
            return false;
    return !s->wrong;
}
