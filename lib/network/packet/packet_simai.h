/* packet_simai: what SimAI's ns-3 simulation does that other collectives here do not
 * (--send-latency): the paths that its switches choose, the order in which messages begin,
 * and what its ranks take beside the network. Rules, not code, of astra-sim-alibabacloud,
 * ns-3-alibabacloud and Unison, which it runs on. */
#ifndef SC_NETWORK_PACKET_SIMAI_H
#define SC_NETWORK_PACKET_SIMAI_H

#include "network/packet/packet_traffic.h"

/* Before each send: the way over the bus of a GPU. */
#define SC__SIMAI_BUS ((int64_t)10)

/* ns before the send of a ring's phase that GPUs take to reduce what has come. */
int64_t sc__simai_reduction(int coll, uint32_t channels, uint32_t ranks, uint32_t phase);

/* Devices are divided into SimAI's processes, and paths are as its switches choose them.
 */
void sc__simai_divide(struct sc__packet_fabric *f);

/* The links of a message, or of its ACKs, in the fabric's room: its switches choose by a
 * hash of addresses and ports. number: of the message among those of its pair. *count 0
 * where every path is broken. */
enum sc__simai_way { SC__SIMAI_DATA, SC__SIMAI_ACKS };
void sc__simai_links(struct sc__packet_fabric *f,
                     enum sc__simai_way way,
                     uint32_t from,
                     uint32_t to,
                     uint32_t plane,
                     uint32_t number,
                     uint32_t *count);

/* Sets the order in which the messages of a transfer that wait for nothing begin. */
void sc__simai_order_starts(const struct sc__packet_traffic_builder *b,
                            struct sc__packet_traffic *t);
/* The order of `count` of them on one server. */
void sc__simai_shuffle(uint32_t *messages, uint32_t count);

#endif
