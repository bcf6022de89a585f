/* flows --net packet: what a run of the packet engine says. */
#ifndef SC_COMMAND_FLOWS_PACKET_H
#define SC_COMMAND_FLOWS_PACKET_H

#include "command/command.h"
#include "network/packet/packet.h"
#include "network/packet/packet_watch.h"

/* Flows under one congestion control. */
struct sc__packet_run {
    const char *net;     /* the engine */
    const char *control; /* as --cc has it; NULL: the file's, or none */
    struct sc__packet_config config;
    struct sc__packet_flows flows;
    struct sc__packet_counters counters;
    struct sc__packet_watch *watch; /* or NULL */
    /* flows that ended: completion over completion alone */
    double mean_slowdown;
    double median_slowdown;
    double p99_slowdown;
    double worst_slowdown;
    int64_t last_end; /* ns */
};

/* Completion over the least there can be. */
double sc__packet_slowdown(const struct sc__packet_flow *f);
/* Slowdowns and last_end, from the flows. */
void sc__packet_run_sum_up(struct sc__packet_run *r, struct sc__arena *arena);
void sc__packet_run_put_text(struct sc_request *req, const struct sc__packet_run *r);
void sc__packet_run_put_json(const struct sc_request *req,
                             const struct sc__packet_run *r,
                             struct sc__buffer *out);
/* A line for each link and span of time in which something happened. */
void sc__packet_run_put_links(const struct sc__packet_run *r, struct sc__buffer *out);
/* Several runs beside each other. */
void sc__packet_runs_put_text(struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count);
void sc__packet_runs_put_json(const struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count,
                              struct sc__buffer *out);

/* Parts of the JSON that the page has too: a flow, the figures of a run, the fields of
 * a link. */
void sc__packet_run_put_flow(struct sc__json *j, const struct sc__packet_flow *f);
void sc__packet_run_put_summary(struct sc__json *j, const struct sc__packet_run *r);
void sc__packet_run_put_link_fields(struct sc__json *j,
                                    const struct sc__packet_watch *w,
                                    const struct sc__packet_watched *p);
/* Runs as data of a page; of: what they differ in, NULL for congestion controls. */
struct sc__page_side;
void sc__packet_runs_put_page(struct sc_request *req,
                              const struct sc__packet_run *runs,
                              uint32_t count,
                              const char *what,
                              const char *of,
                              struct sc__page_side *side);
/* --html; what: what they are of, or NULL for flows. */
#define SC__PACKET_PAGE_SPANS 160u
sc_status sc__packet_runs_write_page(struct sc_request *req,
                                     const struct sc__packet_run *runs,
                                     uint32_t count,
                                     const char *what);

#endif
