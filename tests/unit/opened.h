/* Tests whose state is a context of their own: opened before, closed behind. */
#ifndef SC_TESTS_OPENED_H
#define SC_TESTS_OPENED_H

#include "stepcast/stepcast.h"

static int setup(void **state) {
    *state = sc_open();
    return *state ? 0 : -1;
}

static int teardown(void **state) {
    sc_close(*state);
    return 0;
}

#endif
