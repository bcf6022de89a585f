#include "frontend/megatron_trace/trace.h"

const char *const sc__trace_names[] = {
    [SC__TRACE_GET_BATCH] = "get_batch",
    [SC__TRACE_FORWARD] = "forward_step",
    [SC__TRACE_LOSS] = "loss_func",
    [SC__TRACE_BACKWARD] = "backward_step",
    [SC__TRACE_RECV_FORWARD] = "recv_forward",
    [SC__TRACE_SEND_FORWARD] = "send_forward",
    [SC__TRACE_RECV_BACKWARD] = "recv_backward",
    [SC__TRACE_SEND_BACKWARD] = "send_backward",
    [SC__TRACE_DP_ALLREDUCE] = "dp_allreduce",
    [SC__TRACE_EMBEDDING_ALLREDUCE] = "ep_allreduce",
    [SC__TRACE_EXPERT_ALLREDUCE] = "ep_dp_allreduce",
    [SC__TRACE_POSITION_ALLREDUCE] = "pep_allreduce",
    [SC__TRACE_OPTIMIZER] = "optimizer_step",
    "exp_dp_allreduce",
    "ddp_grad_comm",
    NULL,
};
