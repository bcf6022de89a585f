/* A cluster by its text, which must be right. */
#ifndef SC_TESTS_CLUSTER_TEXT_H
#define SC_TESTS_CLUSTER_TEXT_H

#include "hardware/cluster.h"

#include "test.h"

#include "context.h"

static struct sc__cluster cluster(const char *text) {
    struct sc__cluster c;
    if (sc__cluster_parse(ctx, text, 0, &c) != SC_OK)
        fail_msg("%s: %s", text, sc_error_text(ctx));
    return c;
}

#endif
