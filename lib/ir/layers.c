#include "ir/layers.h"

#include <string.h>

static const char *const coll_names[] = {"NONE",      "ALLREDUCE",
                                         "ALLGATHER", "REDUCESCATTER",
                                         "ALLTOALL",  "ALLREDUCEALLTOALL",
                                         "BROADCAST", "ALLREDUCE_ASYNC",
                                         "SENDRECV",  NULL};
static const char *const suffix_names[] = {"", "_EP", "_DP_EP"};

const char *sc__row_coll_name(enum sc__row_coll coll) { return coll_names[coll]; }
const char *sc__suffix_name(enum sc__suffix suffix) { return suffix_names[suffix]; }
const char *const *sc__row_coll_names(void) { return coll_names; }

static bool takes_suffix(unsigned coll) {
    return coll != SC__ROW_NONE && coll != SC__ROW_ALLREDUCE_ASYNC && coll != SC__ROW_SENDRECV;
}

bool sc__row_coll_parse(struct sc__str word, uint8_t *coll, uint8_t *suffix) {
    if (sc__str_is(word, "None") || sc__str_is(word, "none")) word = SC__STR("NONE");
    for (unsigned c = 0; coll_names[c]; c++) {
        if (!sc__str_starts(word, coll_names[c])) continue;
        struct sc__str rest = {word.p + strlen(coll_names[c]), word.n - strlen(coll_names[c])};
        for (unsigned s = 0; s < 3; s++)
            if (sc__str_is(rest, suffix_names[s]) && (s == SC__SUFFIX_NONE || takes_suffix(c))) {
                *coll = (uint8_t)c;
                *suffix = (uint8_t)s;
                return true;
            }
    }
    return false;
}
