/* A context for the whole group of tests: cmocka_run_group_tests(tests,
 * open_context, close_context). */
#ifndef SC_TESTS_CONTEXT_H
#define SC_TESTS_CONTEXT_H

#include "base/context.h"

static struct sc_context *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = sc_open();
    return ctx ? 0 : -1;
}

static int close_context(void **state) {
    (void)state;
    sc_close(ctx);
    return 0;
}

#endif
