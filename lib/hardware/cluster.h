/* cluster: the machine, as far as it decides times. Read from a preset, a
 * one-line description or a file; immutable after that.
 *
 *     dgx-h100:1024                a preset and the number of GPUs
 *     dgx-h100:64 nic=200Gbps      the same with something changed
 *     ideal:64                     communication is free
 *     gpu=h100 gpus=64 node=8 nvlink=450GB/s nics=8 nic=400Gbps hop=2us
 *     cluster.json                 docs/formats/cluster.md
 *     topology file, network.yml   SimAI's and ASTRA-sim's
 *
 * A node is an NVLink domain (8 GPUs of a DGX, 72 of an NVL72 rack). GPU g is
 * GPU g % node_gpus of node g / node_gpus; its NIC is
 * g % node_gpus · node_nics / node_gpus. What lies between the NICs is the
 * fabric. */
#ifndef SC_HARDWARE_CLUSTER_H
#define SC_HARDWARE_CLUSTER_H

#include "base/base.h"
#include "collective/constants.h"

/* How the GPUs of a node reach each other. */
enum sc__inside {
    SC__INSIDE_SWITCH,
    SC__INSIDE_MESH, /* cube mesh of V100 */
    SC__INSIDE_PCIE,
    SC__INSIDE_FULL /* a link to every other GPU (xGMI) */
};

enum sc__fabric_kind {
    SC__FABRIC_NONE, /* one node, or nothing known: NICs are joined by one ideal switch */
    /* leaf i of a segment joins NIC i of its leaf_nodes nodes; spines join leaves */
    SC__FABRIC_RAIL,
    /* a leaf joins all NICs of leaf_nodes consecutive nodes; spines, and cores when
     * pod_leaves */
    SC__FABRIC_FAT_TREE,
    /* rail, each NIC as `planes` ports to as many leaves in separate planes */
    SC__FABRIC_HPN,
    /* DCN+: fat tree of consecutive nodes, each NIC to `planes` leaves of one plane */
    SC__FABRIC_DCN,
    /* torus and the like: dimensions of rings, full meshes or switches; no nodes */
    SC__FABRIC_DIMS,
    SC__FABRIC_DRAGONFLY, /* groups of routers, all to all inside and between groups */
    SC__FABRIC_LINKS,     /* the links one by one */
    SC__FABRIC_KINDS
};

enum sc__dim_kind { SC__DIM_RING, SC__DIM_FULL, SC__DIM_SWITCH };

#define SC__FABRIC_DIMS_MAX 6

struct sc__fabric_dim {
    enum sc__dim_kind kind;
    uint32_t size;
    double rate;     /* bytes/s of one link, one direction */
    int64_t latency; /* ps per hop */
};

/* A cable: both directions at this rate each. Devices: GPUs first (0…gpus-1),
 * then NVSwitches, then switches. */
struct sc__fabric_link {
    uint32_t a;
    uint32_t b;
    double rate;
    int64_t latency;
};

struct sc__fabric {
    enum sc__fabric_kind kind;
    const char
        *class; /* "ib", "roce", "efa", "efa-p4d", "plain": the software's cost on it */
    uint32_t leaf_nodes; /* nodes below one leaf (rail, hpn: below one segment); 0 = all */
    /* per plane, and per pod where there are pods; 0 = as many as a non-blocking leaf
     * needs */
    uint32_t spines;
    uint32_t pod_leaves;   /* leaves in a pod of a three-level tree; 0 = two levels */
    uint32_t cores;        /* per spine index, where there are pods; 0 = non-blocking */
    uint32_t planes;       /* ports of a NIC to separate leaves; ≥ 1 */
    uint32_t switch_ports; /* that a switch has, of the speed of `link`; 0 = not checked */
    double
        oversubscription; /* leaf: bandwidth down / up; ≥ 1 where given, 1 = non-blocking */
    double pod_oversubscription; /* the same from spine to core */
    double link;         /* bytes/s of a cable between switches; 0 = the NIC's port */
    int64_t hop_latency; /* ps per switch hop */
    bool sharp;          /* switches reduce (SHARP / CollNet) */
    /* dims: dimension 0 innermost: GPU g has coordinate g % size[0], g / size[0] % size[1],
     * … */
    struct sc__fabric_dim dim[SC__FABRIC_DIMS_MAX];
    uint32_t dims;
    /* dragonfly: NICs a router, routers a group, links of a router to other groups, groups
     */
    uint32_t router_nics;
    uint32_t group_routers;
    uint32_t global_links;
    uint32_t groups;
    /* links */
    struct sc__fabric_link *links;
    uint32_t link_count;
    uint32_t link_capacity;
    /* devices gpus … gpus+nvswitches+switches-1 */
    uint32_t nvswitches;
    uint32_t switches;
};

/* What may be forced, and how collectives are run; all zero: NCCL's defaults. */
enum sc__algo {
    SC__ALGO_AUTO,
    SC__ALGO_RING,
    SC__ALGO_TREE,
    SC__ALGO_NVLS,
    SC__ALGO_NVLS_TREE,
    SC__ALGO_COLLNET,
    SC__ALGO_PAT,
    SC__ALGO_DIRECT, /* all pairs */
    SC__ALGO_PXN,    /* all-to-all over the destination's rail */
    /* two-level all-to-all as DeepEP: one copy a node over the NIC, then NVLink */
    SC__ALGO_HIERARCHICAL,
    SC__ALGO_TORUS,  /* dimension by dimension */
    SC__ALGO_CHAIN,  /* broadcast, reduce */
    SC__ALGO_CUSTOM, /* all-reduce of serving stacks, in one node */
    SC__ALGOS
};

enum sc__proto {
    SC__PROTO_AUTO,
    SC__PROTO_LL,
    SC__PROTO_LL128,
    SC__PROTO_SIMPLE,
    SC__PROTOS
};

#define SC__PROTO_BIT(proto) ((uint8_t)(1u << ((proto)-SC__PROTO_LL)))
#define SC__PROTO_ANY 7 /* all bits */

struct sc__tuning {
    uint8_t algo;      /* enum sc__algo */
    uint8_t protocols; /* bits of those that may be used; 0 = any */
    bool by_tuner;     /* between nodes by NCCL's own cost table instead of by least time */
    bool no_pxn;       /* all-to-all may not use the destination's rail */
    bool two_level;    /* all-to-all as DeepEP does it */
    bool eager_timer;  /* timed by PyTorch with a barrier, not by nccl-tests */
    uint32_t gpus_per_process; /* 0 = 1 */
    double copies;        /* two_level: copies of a token; 0 = as many as there are ranks */
    bool copies_together; /* they go to neighbouring ranks, not to any */
};

/* A constant of the model that the description replaces. */
struct sc__override {
    const struct sc__constant *constant;
    double value[SC__MESH_RINGS];
};

struct sc__cluster {
    const char *name;
    const char *source;     /* where its figures come from */
    const char *gpu;        /* a file of data/gpus, or NULL */
    const char *generation; /* of data/collectives.json */
    /* how its collectives are known: "measured", "scaled" or "guessed" */
    const char *grade_inside;
    const char *grade_between;
    bool ideal;         /* communication is free */
    uint32_t gpus;      /* in all; 0 = as many as the job has */
    bool sized;         /* the description itself says how many */
    uint32_t node_gpus; /* in a node (NVLink domain) */
    uint32_t node_nics;
    uint32_t tray; /* GPUs of a host inside the node: a job may leave whole ones idle */
    enum sc__inside inside;
    double nvlink;          /* bytes/s, one GPU, one direction, as specified */
    uint32_t nvlinks;       /* links of a GPU that a topology counts; 0: none does */
    double nic;             /* bytes/s, one NIC, one direction, as specified */
    int64_t nvlink_latency; /* ps per step inside a node (class "plain") */
    /* the words of the one-line form, a bit each: of sc__cluster_fields in their order */
    uint64_t said;
    /* ps per step between nodes (class "plain"); else added per network hop */
    int64_t nic_latency;
    /* bytes/s of device memory that streaming kernels reach; 0 = data/gpus tells */
    double hbm;
    /* of a GPU's host, where the description says: bytes/s of the link, one way, and of the
     * CPU's memory, bytes of it, the GPUs that share it and its cores; 0 = data/hosts.json
     * tells */
    double host_link;
    double host_memory;
    uint64_t host_size;
    uint32_t host_gpus;
    uint32_t host_cores;
    struct sc__fabric fabric;
    struct sc__tuning tuning;
    struct sc__constants constants; /* of the generation and fabric class, as calibrated */
    struct sc__override *overrides;
    uint32_t override_count;
    uint32_t override_capacity;
    /* placement.h: the GPU of each rank, and rank + 1 of each GPU; NULL: rank r
     * runs on GPU r. */
    const uint32_t *gpu_of;
    const uint32_t *rank_of;
    uint32_t placed; /* ranks in gpu_of */
};

static inline uint32_t sc__cluster_gpu(const struct sc__cluster *c, uint32_t rank) {
    return c->gpu_of && rank < c->placed ? c->gpu_of[rank] : rank;
}
static inline uint32_t sc__cluster_node(const struct sc__cluster *c, uint32_t rank) {
    return sc__cluster_gpu(c, rank) / c->node_gpus;
}
/* Which NIC of its node a GPU uses. */
static inline uint32_t sc__cluster_nic(const struct sc__cluster *c, uint32_t gpu) {
    return (uint32_t)((uint64_t)(gpu % c->node_gpus) * c->node_nics / c->node_gpus);
}

/* A cluster as described. Where the description says how many GPUs there are, it
 * is ready; else it takes the size of each job. Not changed by what uses it. */
struct sc__cluster_description {
    struct sc__cluster cluster;
    const char *file; /* it came from, for errors; or NULL */
    bool sized;
};
sc_status sc__cluster_describe(struct sc_context *ctx,
                               const char *text,
                               struct sc__cluster_description *out);
/* The bytes of a file. */
sc_status sc__cluster_describe_bytes(struct sc_context *ctx,
                                     const char *name,
                                     struct sc__str text,
                                     struct sc__cluster_description *out);
/* A copy for a job of this many ranks; SC_INPUT when it is too small. */
sc_status sc__cluster_sized(struct sc_context *ctx,
                            const struct sc__cluster_description *d,
                            uint32_t ranks,
                            struct sc__cluster *out);
/* Both at once. gpus: the job's size, used where the description gives none. */
sc_status sc__cluster_parse(struct sc_context *ctx,
                            const char *text,
                            uint32_t gpus,
                            struct sc__cluster *out);

/* GPUs of a node, where nothing says how many. */
enum { SC__USUAL_NODE_GPUS = 8 };

/* The description of the cluster of a job that names none: the machine its GPU comes in,
 * or nodes of eight such cards with the NICs of a dgx-h100; a dgx-h100 where gpu is NULL or
 * a file of one's own. */
const char *sc__cluster_usual(struct sc_context *ctx, const char *gpu);

struct sc__gpu;
/* The GPU that a job's settings name, else the cluster's, else that of a dgx-h100, which
 * is the cluster where none is given. settings may be NULL. */
sc_status sc__gpu_of_job(struct sc_context *ctx,
                         const struct sc__settings *settings,
                         const struct sc__gpu **out);
/* A note where a job runs on another GPU than the cluster's nodes were made for. */
void sc__cluster_note_links(struct sc_context *ctx,
                            const struct sc__cluster *c,
                            const struct sc__gpu *gpu);

/* Parts of a fabric that have uplinks: leaves (segments of rails, dragonfly
 * groups), and pods of a three-level tree. */
enum sc__level { SC__LEAF, SC__POD, SC__LEVELS };

/* What sc__shape counts on rails: families of algorithms (collective/schedule.h) whose
 * members send to few others. */
enum {
    SC__RAIL_RING, /* one pass */
    SC__RAIL_BROADCAST,
    SC__RAIL_REDUCE,
    SC__RAIL_TREE,
    SC__RAIL_NVLS,
    SC__RAIL_PAT,
    SC__RAIL_SCHEDULES
};

/* … and on dimensions. */
enum {
    SC__DIMS_SHIFT,
    SC__DIMS_RING,
    SC__DIMS_BROADCAST,
    SC__DIMS_REDUCE,
    SC__DIMS_ROUNDS
};

/* How a group lies on the nodes. */
struct sc__shape {
    uint32_t ranks;    /* in the group */
    uint32_t nodes;    /* it touches */
    uint32_t per_node; /* ranks on the fullest node */
    uint32_t least;    /* ranks on the emptiest node it touches */
    /* What follows may be 0: then the group is alone and takes consecutive
     * GPUs. */
    uint32_t nics;    /* distinct NICs its ranks have on the node that has fewest */
    double nic_pairs; /* messages that the fullest NIC sends in an all-to-all */
    uint32_t leaves;  /* leaves (rail: segments) it touches */
    uint32_t on_leaf; /* ranks on the leaf whose uplinks an all-to-all fills most */
    /* the same for pods of a three-level tree */
    uint32_t pods;
    uint32_t on_pod;
    /* edges of both trees (collective/double_tree.h) that leave the leaf, pod with most */
    uint32_t leaf_edges;
    uint32_t pod_edges;
    uint32_t sharing_nic;  /* groups that use each of its NICs at once, itself included */
    uint32_t sharing_port; /* groups that use the NVLink port of its GPUs at once */
    /* groups that use the uplinks of its leaf, its pod at once, itself included */
    uint32_t sharing_up[SC__LEVELS];
    uint32_t extent[SC__FABRIC_DIMS_MAX]; /* dims: distinct coordinates */
    /* messages of a shift, every member to the next, that meet on the fullest NIC, and on
     * the uplinks of a leaf (on rails: those of a rail), a pod, where these are thin; so
     * with all that follows */
    uint32_t shift_nic;
    uint32_t shift_up[SC__LEVELS];
    /* messages of a gather to its first member that pass the uplinks of that one's leaf (on
     * rails: of its rail), pod */
    uint32_t root_up[SC__LEVELS];
    /* rails: messages of an all-to-all on the fullest uplinks of a leaf, that is of a rail:
     * direct ones, and those that change rails inside a node */
    double rail_pairs;
    double rail_relayed;
    /* … and where its members have other rails on one node than on another (1) the share of
     * the buffer there, of rings and trees; else closed forms tell */
    uint32_t off_rails;
    double rail_share[SC__RAIL_SCHEDULES];
    /* dims: bytes/s that each member has where all send to the next, of a shift in the
     * order of ranks, of rings and chains from neighbour to neighbour; ps of the longest
     * way. 0: neighbours are one link apart */
    double dims_rate[SC__DIMS_ROUNDS];
    double dims_latency[SC__DIMS_ROUNDS];
};

/* The shape of n GPUs of the cluster; gpu[i] is the GPU of the group's i-th
 * member, NULL: GPUs 0 … n-1. */
struct sc__shape
sc__cluster_shape(const struct sc__cluster *c, const uint32_t *gpu, uint32_t n);

/* Clusters of one key give the same shapes. */
uint64_t sc__cluster_shape_key(const struct sc__cluster *c);

/* Distinct NICs of the first ranks GPUs of a node. */
uint32_t sc__cluster_nics(const struct sc__cluster *c, uint32_t ranks);
/* Nodes below a leaf (a segment, a dragonfly group), and its bandwidth down / up. */
double sc__fabric_leaf_nodes(const struct sc__cluster *c);
double sc__fabric_oversubscription(const struct sc__cluster *c);
/* Ports of a GPU that do not meet before its peer, and what one sends is spread over: the
 * planes of its NIC, of each of its NICs. */
uint32_t sc__fabric_planes(const struct sc__cluster *c);
/* NICs of a node in one plane, those of no fabric as one. */
uint32_t sc__fabric_plane_nics(const struct sc__cluster *c);

/* Cables of a tree's switch upwards, in one plane, and the bytes/s of each. Where a
 * description gives oversubscription rather than counts, as many as their rate asks for. */
struct sc__cables {
    uint32_t count;
    double rate;
};
struct sc__cables sc__fabric_leaf_cables(const struct sc__cluster *c);
struct sc__cables sc__fabric_core_cables(const struct sc__cluster *c);
/* Leaves below an aggregation switch: whole segments, where there are rails; and the
 * bandwidth of their cables over that of its own to the cores. */
uint32_t sc__fabric_pod_leaves(const struct sc__cluster *c);
double sc__fabric_pod_oversubscription(const struct sc__cluster *c);
/* Nodes of a part, and how many NICs its uplinks are worth (a segment: of all rails). */
double sc__fabric_part_nodes(const struct sc__cluster *c, enum sc__level level);
double sc__fabric_uplinks(const struct sc__cluster *c, enum sc__level level);
/* Whether its uplinks carry less than the NICs below. */
bool sc__fabric_is_thin(const struct sc__cluster *c, enum sc__level level);
bool sc__fabric_has_rails(const struct sc__cluster *c);
/* Links between two GPUs along a dimension: on a ring the shorter way round, else one where
 * their coordinates differ. */
uint32_t
sc__fabric_dim_hops(const struct sc__cluster *c, uint32_t dim, uint32_t from, uint32_t to);
/* Refuses what cannot be wired: too many ports, devices that nothing joins. */
sc_status sc__fabric_check(struct sc_context *ctx,
                           const struct sc__cluster *c,
                           const struct sc__place *at);

struct sc__coll_cost {
    int64_t time;    /* ps */
    int64_t latency; /* ps of it in which no bytes move: latency and software */
    uint8_t algo;    /* enum sc__algo */
    uint8_t proto;   /* enum sc__proto */
    /* Share of what the group can have of its NVLink ports, its NICs and the
     * uplinks of its leaf and pod that it uses on average while it runs, 0…1. */
    float port;
    float wire;
    float uplink[SC__LEVELS];
};

/* One collective alone, with how it is run. coll is enum sc__coll of
 * workload/workload.h. */
struct sc__coll_cost sc__collective_cost(const struct sc__cluster *c,
                                         int coll,
                                         const struct sc__shape *shape,
                                         uint64_t bytes);
/* Time of one collective alone, ps. */
int64_t sc__collective_time(const struct sc__cluster *c,
                            int coll,
                            const struct sc__shape *shape,
                            uint64_t bytes);
/* Two-level all-to-all: of the copies of a token to other nodes, the share that
 * goes over the NIC, since it goes to each node once. */
double sc__two_level_share(const struct sc__cluster *c, uint32_t ranks, uint32_t nodes);
/* Time of one message alone, ps. */
int64_t sc__message_time(const struct sc__cluster *c, bool same_node, uint64_t bytes);
/* … and what the switches between leaves and pods add to it. */
int64_t sc__message_switches(const struct sc__cluster *c, uint32_t from, uint32_t to);
/* The same between two GPUs, which on dimensions may be several links apart. */
int64_t sc__message_time_between(const struct sc__cluster *c,
                                 uint32_t from,
                                 uint32_t to,
                                 uint64_t bytes);
/* The same when it has one part in `sharing` of a NIC. */
int64_t sc__message_time_shared(const struct sc__cluster *c,
                                bool same_node,
                                double sharing,
                                uint64_t bytes);
/* Share of its NVLink port or NIC that a message alone fills while its bytes move. */
double sc__message_share(const struct sc__cluster *c, bool same_node, uint64_t bytes);
/* The time its bytes need there: all but latency and software. Of small messages
 * the software's least time may hide it. */
int64_t sc__message_bytes_time(const struct sc__cluster *c,
                               bool same_node,
                               double sharing,
                               uint64_t bytes);

/* "ring", "ll128" …, and back; SC__ALGOS when there is no such. */
const char *sc__algo_name(enum sc__algo algo);
const char *sc__proto_name(enum sc__proto proto);
enum sc__algo sc__algo_find(const char *name);
/* Bytes of payload in a byte that goes over a link: LL sends a flag with every
 * 4 bytes, LL128 one with every 120. */
double sc__proto_payload(enum sc__proto proto);

/* The drawing of `stepcast show --cluster`: levels, counts, bandwidths, bisection. */
void sc__cluster_show(const struct sc__cluster *c, struct sc__buffer *out);
/* Bytes/s between the two halves of the machine, one direction. */
double sc__cluster_bisection(const struct sc__cluster *c);

#endif
