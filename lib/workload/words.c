#include "workload/words.h"

#include <stddef.h>

const char *const sc__op_words[] = {"compute", "collective", "send", "recv", "wait", NULL};
const char *const sc__phase_words[] = {
    "forward", "backward", "wgrad", "recompute", "update", NULL};
const char *const sc__coll_words[] = {"ALLREDUCE",
                                      "ALLGATHER",
                                      "REDUCESCATTER",
                                      "ALLTOALL",
                                      "BROADCAST",
                                      "REDUCE",
                                      "BARRIER",
                                      "GATHER",
                                      "SCATTER",
                                      "SHIFT",
                                      NULL};
const char *const sc__work_words[] = {"compute",
                                      "gemm",
                                      "attention",
                                      "norm",
                                      "elementwise",
                                      "embedding",
                                      "loss",
                                      "optimizer",
                                      "router",
                                      "copy",
                                      "host",
                                      NULL};
const char *const sc__flag_words[] = {
    "eager", "measured", "peer_next", "peer_prev", "any_peer", "any_tag", NULL};
const char *const sc__group_words[] = {
    "tp",      "cp",       "ep",         "dp",   "dp_cp", "dp_ep",     "shard",
    "replica", "shard_ep", "replica_ep", "etp",  "pp",    "embedding", "mirror",
    "stage",   "model",    "world",      "host", "list",  NULL};
const char *const sc__dim_words[] = {"tp", "cp", "dp", "pp", NULL};
