/* units: values as people write them, and back. Time inside is integer
 * picoseconds, sizes are bytes, rates are bytes per second. */
#ifndef SC_BASE_UNITS_H
#define SC_BASE_UNITS_H

#include "base/buffer.h"
#include "base/text.h"

#include <math.h>

#define SC__PS_PER_NS ((int64_t)1000)
#define SC__PS_PER_US ((int64_t)1000000)
#define SC__PS_PER_MS ((int64_t)1000000000)
#define SC__PS_PER_S ((int64_t)1000000000000)

/* "80GiB", "25MB", "4096", "1.5e9", "64K" (1024). Plain numbers are bytes. */
bool sc__parse_bytes(struct sc__str s, uint64_t *bytes);
/* "400Gbps", "50GB/s", "300GiB/s". Plain numbers are bytes per second. */
bool sc__parse_rate(struct sc__str s, double *bytes_per_second);
/* "3us", "1.5ms", "500ns". A unit is required, except for 0. */
bool sc__parse_time(struct sc__str s, int64_t *ps);
/* "5%" is 0.05; "0.05" too. */
bool sc__parse_share(struct sc__str s, double *share);

/* Microseconds as a decimal number without trailing zeros, exact. */
void sc__put_us(struct sc__buffer *b, int64_t ps);
/* "13.97 s", "8.31 ms", "27.4 us" */
void sc__put_time(struct sc__buffer *b, int64_t ps);
/* What runs and jobs are counted in: days, or hours, minutes, seconds of those below one.
 */
struct sc__span_unit {
    const char *name;
    double seconds;
};
struct sc__span_unit sc__span_unit(double seconds);
/* "6.40 GB", "134 MB", "512 B" (powers of ten) */
void sc__put_bytes(struct sc__buffer *b, uint64_t bytes);

static inline double sc__us(int64_t ps) {
    return (double)ps / 1e6;
}
/* Microseconds to picoseconds, rounded; saturates at half of what a time can
 * hold, so that two may still be added. */
static inline int64_t sc__from_us(double us) {
    return us >= 4e12    ? INT64_MAX / 2
           : us <= -4e12 ? INT64_MIN / 2
                         : (int64_t)llround(us * 1e6);
}

/* "15T", above 0: decimal, as tokens are counted. */
bool sc__parse_count(struct sc__str s, double *out);
/* And back: 15 T, 3.99 M. */
void sc__put_count(struct sc__buffer *b, double v);

#endif
