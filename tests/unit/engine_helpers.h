/* engine_helpers: the calls of a network engine that a test expects to succeed. */
#ifndef ENGINE_HELPERS_H
#define ENGINE_HELPERS_H

#include "network/engine.h"
#include "test.h"

static inline int64_t engine_alone(const struct sc__net *net,
                                   const struct sc_transfer *t,
                                   struct sc_claims *claims) {
    int64_t time = -1;
    assert_int_equal(net->ops->alone(net->self, t, &time, claims), SC_OK);
    return time;
}

static inline int64_t engine_next(const struct sc__net *net) {
    int64_t when = -1;
    assert_int_equal(net->ops->next(net->self, &when), SC_OK);
    return when;
}

static inline bool
engine_finish(const struct sc__net *net, int64_t to, struct sc_transfer *done) {
    bool found = false;
    assert_int_equal(net->ops->finish(net->self, to, done, &found), SC_OK);
    return found;
}

#endif
