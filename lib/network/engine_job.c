/* What engines from outside may ask about their job (stepcast/engine.h). */
#include "network/engine.h"

#include <stdarg.h>
#include <string.h>

const char *sc_engine_job_argument(const sc_engine_job *job) {
    return job->argument;
}

uint32_t sc_engine_job_ranks(const sc_engine_job *job) {
    return sc__mesh_ranks(&job->w->mesh);
}

uint32_t sc_engine_job_classes(const sc_engine_job *job) {
    return job->w->class_count;
}

uint32_t sc_engine_job_class_of(const sc_engine_job *job, uint32_t rank) {
    return sc__workload_class_of(job->w, rank);
}

uint32_t sc_engine_job_class_ranks(const sc_engine_job *job, uint32_t class_number) {
    return class_number < job->w->class_count ? job->w->classes[class_number].ranks : 0;
}

uint32_t sc_engine_job_group_size(const sc_engine_job *job, uint16_t group) {
    return group < job->w->group_count ? sc__group_size(job->w, group) : 0;
}

uint32_t sc_engine_job_group_member(const sc_engine_job *job,
                                    uint16_t group,
                                    uint32_t rank,
                                    uint32_t i) {
    if (i >= sc_engine_job_group_size(job, group))
        return rank;
    return sc__group_member(job->w, group, rank, i);
}

uint32_t sc_engine_job_gpu(const sc_engine_job *job, uint32_t rank) {
    return sc__cluster_gpu(job->cluster, rank);
}

uint32_t sc_engine_job_node(const sc_engine_job *job, uint32_t rank) {
    return sc__cluster_node(job->cluster, rank);
}

/* What a message without bytes takes; on dimensions over a link of the innermost. */
static int64_t empty_message(const struct sc__cluster *c, bool same_node) {
    if (c->fabric.kind == SC__FABRIC_DIMS)
        return c->fabric.dim[0].latency;
    return sc__message_time(c, same_node, 0);
}

void sc_engine_job_rates(const sc_engine_job *job, sc_link_rates *out) {
    const struct sc__cluster *c = job->cluster;
    struct sc_link_rates rates = {.size = out->size,
                                  .node_gpus = c->node_gpus,
                                  .node_nics = c->node_nics,
                                  .nvlink = c->nvlink,
                                  .nic = c->nic,
                                  .nvlink_latency = empty_message(c, true),
                                  .nic_latency = empty_message(c, false)};
    memcpy(out, &rates, out->size < sizeof rates ? out->size : sizeof rates);
}

sc_status sc_engine_fail(
    sc_engine_job *job, sc_status status, const char *hint, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    status = sc__vfail(job->ctx, status, NULL, hint, format, ap);
    va_end(ap);
    return status;
}
