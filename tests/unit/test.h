/* What every unit test includes: cmocka, and where the shared data lies. */
#ifndef SC_TESTS_TEST_H
#define SC_TESTS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Skips the test, and says which need of it is not met here, in the words of
 * scripts/test.py; that fails a test that skips where its need is met. */
#define skip_needs(need)                                                                   \
    do {                                                                                   \
        printf("[  NEEDS   ] %s\n", need);                                                 \
        fflush(stdout);                                                                    \
        skip();                                                                            \
    } while (0)

/* Comparisons of numbers that tell both values where they fail. */
#define assert_number(got, compare, wanted)                                                \
    do {                                                                                   \
        double got_ = (double)(got);                                                       \
        double wanted_ = (double)(wanted);                                                 \
        if (!(got_ compare wanted_))                                                       \
            fail_msg("%s %s %s: %.17g and %.17g", #got, #compare, #wanted, got_, wanted_); \
    } while (0)
/* |got - wanted| <= relative · |wanted| */
#define assert_within(got, wanted, relative)                                               \
    do {                                                                                   \
        double got_ = (double)(got);                                                       \
        double wanted_ = (double)(wanted);                                                 \
        double off_ = got_ < wanted_ ? wanted_ - got_ : got_ - wanted_;                    \
        double room_ = (double)(relative) * (wanted_ < 0 ? -wanted_ : wanted_);            \
        if (!(off_ <= room_))                                                              \
            fail_msg("%s is %.17g, not %.17g within %g (%s)",                              \
                     #got,                                                                 \
                     got_,                                                                 \
                     wanted_,                                                              \
                     (double)(relative),                                                   \
                     #wanted);                                                             \
    } while (0)

/* A path below the shared data, or a skip: they are not part of the repository. */
static inline const char *shared_path(const char *name) {
    static char path[4][1024];
    static int next;
    const char *root = getenv("STEPCAST_SHARED");
    char *p = path[next++ & 3];
    snprintf(p, sizeof path[0], "%s/%s", root ? root : "../shared", name);
    if (access(p, R_OK) != 0)
        skip_needs("shared");
    return p;
}

/* A file with this content, in a place that goes with the process. */
static inline const char *temporary_file(const void *bytes, size_t n) {
    static char path[8][64];
    static int next;
    char *p = path[next++ & 7];
    snprintf(p, sizeof path[0], "/tmp/stepcast_test_XXXXXX");
    int fd = mkstemp(p);
    assert_true(fd >= 0);
    assert_true(write(fd, bytes, n) == (ssize_t)n);
    close(fd);
    return p;
}

#endif
