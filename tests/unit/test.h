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

/* A path below the shared data, or skip(): they are not part of the repository. */
static inline const char *shared_path(const char *name) {
    static char path[4][1024];
    static int next;
    const char *root = getenv("STEPCAST_SHARED");
    char *p = path[next++ & 3];
    snprintf(p, sizeof path[0], "%s/%s", root ? root : "../shared", name);
    if (access(p, R_OK) != 0)
        skip();
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
