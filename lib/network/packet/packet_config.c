/* packet_config: the settings of an HPCC or SimAI .conf file, `KEY value` a
 * line. A key that is not known is an error; so is one whose value asks for
 * something that this engine does not do, and a missing one that counts. */
#include "network/packet/packet.h"
#include "network/packet/packet_words.h"

#include <stddef.h>
#include <string.h>

enum packet_key_kind {
    KEY_WHOLE,
    KEY_NUMBER,
    KEY_RATE,
    KEY_RATE_MAP,
    KEY_FIXED, /* has only the value `least` here */
    KEY_GLOBAL_T,
    KEY_LINK_DOWN,
    KEY_UNUSED /* names of files and what is only recorded */
};

/* Bits of the CC_MODEs that cannot do without a key. */
#define NEED(mode) (1u << (mode))
#define NEED_ALL UINT32_MAX
#define NEED_UET                                                                           \
    (NEED(SC__PACKET_NSCC) | NEED(SC__PACKET_RCCC) | NEED(SC__PACKET_NSCC_RCCC))
#define NEED_ROCE (~NEED_UET)
#define NEED_CONTROL                                                                       \
    (NEED(SC__PACKET_DCQCN) | NEED(SC__PACKET_HPCC) | NEED(SC__PACKET_TIMELY) |            \
     NEED(SC__PACKET_DCTCP) | NEED(SC__PACKET_HPCC_PINT))
#define NEED_RATE_AI                                                                       \
    (NEED(SC__PACKET_DCQCN) | NEED(SC__PACKET_HPCC) | NEED(SC__PACKET_TIMELY) |            \
     NEED(SC__PACKET_HPCC_PINT))
#define NEED_RATE_HAI (NEED(SC__PACKET_DCQCN) | NEED(SC__PACKET_TIMELY))
#define NEED_GAIN (NEED(SC__PACKET_DCQCN) | NEED(SC__PACKET_DCTCP))
#define NEED_DCQCN NEED(SC__PACKET_DCQCN)
#define NEED_HPCC NEED(SC__PACKET_HPCC)
#define NEED_PINT NEED(SC__PACKET_HPCC_PINT)
#define NEED_SWIFT NEED(SC__PACKET_SWIFT)
#define NEED_WINDOW (NEED_ROCE & ~NEED_SWIFT)

struct packet_key {
    const char *name;
    enum packet_key_kind kind;
    size_t offset;
    uint32_t needed;
    double least;
    double most;
};

#define AT(member) offsetof(struct sc__packet_config, member)

static const struct packet_key keys[] = {
    {"CC_MODE", KEY_WHOLE, AT(control), NEED_ALL, 0, SC__PACKET_NSCC_RCCC},
    /* an IP packet has at most 65,535 bytes, 80 of which are headers with HPCC */
    {"PACKET_PAYLOAD_SIZE", KEY_WHOLE, AT(payload), NEED_ALL, 1, 65455},
    /* the simulator counts buffer bytes in 32 bits */
    {"BUFFER_SIZE", KEY_WHOLE, AT(buffer_mib), NEED_ROCE, 1, 4095},
    {"SIMULATOR_STOP_TIME", KEY_NUMBER, AT(stop_s), NEED_ALL, 1e-9, 1e15},
    {"HAS_WIN", KEY_WHOLE, AT(has_window), NEED_WINDOW, 0, 1},
    {"VAR_WIN", KEY_WHOLE, AT(variable_window), NEED_WINDOW, 0, 1},
    {"ACK_HIGH_PRIO", KEY_WHOLE, AT(ack_high_priority), NEED_ROCE, 0, 1},
    {"ENABLE_PFC", KEY_WHOLE, AT(enable_pfc), 0, 0, 1},
    {"DEP_ON_RX", KEY_WHOLE, AT(wait_for_arrival), 0, 0, 1},
    {"ERROR_RATE_PER_LINK", KEY_NUMBER, AT(error_rate), NEED_ALL, 0, 1},
    {"KMIN_MAP", KEY_RATE_MAP, AT(mark_from), NEED_ROCE, 0, 4e6},
    {"KMAX_MAP", KEY_RATE_MAP, AT(mark_all), NEED_ROCE, 0, 4e6},
    {"PMAX_MAP", KEY_RATE_MAP, AT(mark_share), NEED_ROCE, 0, 1},
    {"MIN_RATE", KEY_RATE, AT(min_rate), NEED_CONTROL, 1e3, 1e14},
    {"RATE_AI", KEY_RATE, AT(rate_ai), NEED_RATE_AI, 0, 1e14},
    {"RATE_HAI", KEY_RATE, AT(rate_hai), NEED_RATE_HAI, 0, 1e14},
    {"DCTCP_RATE_AI", KEY_RATE, AT(dctcp_rate_ai), NEED(SC__PACKET_DCTCP), 0, 1e14},
    {"EWMA_GAIN", KEY_NUMBER, AT(gain), NEED_GAIN, 0, 1},
    {"ALPHA_RESUME_INTERVAL", KEY_NUMBER, AT(alpha_interval_us), NEED_DCQCN, 1, 1e9},
    {"RATE_DECREASE_INTERVAL", KEY_NUMBER, AT(decrease_interval_us), NEED_DCQCN, 1, 1e9},
    {"RP_TIMER", KEY_NUMBER, AT(rise_interval_us), NEED_DCQCN, 1, 1e9},
    {"FAST_RECOVERY_TIMES", KEY_WHOLE, AT(fast_recovery), NEED_DCQCN, 0, UINT32_MAX},
    {"CLAMP_TARGET_RATE", KEY_WHOLE, AT(clamp_target), 0, 0, 1},
    {"U_TARGET", KEY_NUMBER, AT(target_use), NEED_HPCC | NEED_PINT, 0.01, 1},
    {"MI_THRESH", KEY_WHOLE, AT(most_additive), NEED_HPCC | NEED_PINT, 0, UINT32_MAX},
    {"INT_MULTI", KEY_WHOLE, AT(int_multiple), NEED_HPCC, 1, 1024},
    {"FAST_REACT", KEY_WHOLE, AT(fast_react), NEED_HPCC, 0, 1},
    /* what it encodes has 16 bits */
    {"PINT_LOG_BASE", KEY_NUMBER, AT(pint_base), NEED_PINT, 1.001, 2},
    {"PINT_PROB", KEY_NUMBER, AT(pint_share), NEED_PINT, 1.0 / 65536, 1},
    {"SWIFT_BASE_TARGET", KEY_NUMBER, AT(swift_base_us), NEED_SWIFT, 0.001, 1e6},
    {"SWIFT_HOP_TARGET", KEY_NUMBER, AT(swift_hop_us), NEED_SWIFT, 0, 1e6},
    {"SWIFT_FS_RANGE", KEY_NUMBER, AT(swift_range_us), NEED_SWIFT, 0, 1e6},
    {"SWIFT_FS_MIN_CWND", KEY_NUMBER, AT(swift_range_from), NEED_SWIFT, 1e-3, 1e6},
    {"SWIFT_FS_MAX_CWND", KEY_NUMBER, AT(swift_range_to), NEED_SWIFT, 1e-3, 1e6},
    {"SWIFT_AI", KEY_NUMBER, AT(swift_increase), NEED_SWIFT, 1e-6, 1e6},
    {"SWIFT_BETA", KEY_NUMBER, AT(swift_decrease), NEED_SWIFT, 1e-6, 1},
    {"SWIFT_MAX_MDF", KEY_NUMBER, AT(swift_most_decrease), NEED_SWIFT, 1e-6, 0.999},
    {"SWIFT_MIN_CWND", KEY_NUMBER, AT(swift_least_window), NEED_SWIFT, 1e-3, 1e6},
    {"SWIFT_MAX_CWND", KEY_NUMBER, AT(swift_most_window), NEED_SWIFT, 1, 1e6},
    {"UET_PATHS", KEY_WHOLE, AT(uet_paths), NEED_UET, 1, 1024},
    {"UET_LOAD_BALANCING", KEY_WHOLE, AT(uet_load_balancing), NEED_UET, 0, SC__UET_MIXED},
    {"UET_ACK_BYTES", KEY_WHOLE, AT(uet_ack_bytes), NEED_UET, 1, 1e6},
    {"UET_QUEUE", KEY_NUMBER, AT(uet_queue_bdp), NEED_UET, 0.1, 1000},
    {"UET_MARK_FROM", KEY_NUMBER, AT(uet_mark_from_bdp), NEED_UET, 0, 1000},
    {"UET_MARK_ALL", KEY_NUMBER, AT(uet_mark_all_bdp), NEED_UET, 0, 1000},
    {"UET_WINDOW", KEY_NUMBER, AT(uet_window_bdp), NEED_UET, 0.1, 100},
    {"UET_TARGET", KEY_NUMBER, AT(uet_target), NEED_UET, 0.01, 100},
    {"UET_PULL_RATE", KEY_NUMBER, AT(uet_pull_rate), NEED_UET, 0.01, 1},
    {"ENABLE_QCN", KEY_FIXED, 0, 0, 1, 0},
    {"USE_DYNAMIC_PFC_THRESHOLD", KEY_FIXED, 0, 0, 1, 0},
    {"L2_ACK_INTERVAL", KEY_FIXED, 0, 0, 1, 0},
    {"L2_BACK_TO_ZERO", KEY_FIXED, 0, 0, 0, 0},
    {"GLOBAL_T", KEY_GLOBAL_T, 0, 0, 0, 0},
    {"MULTI_RATE", KEY_FIXED, 0, 0, 0, 0},
    {"SAMPLE_FEEDBACK", KEY_FIXED, 0, 0, 0, 0},
    {"RATE_BOUND", KEY_FIXED, 0, 0, 1, 0},
    {"LINK_DOWN", KEY_LINK_DOWN, 0, 0, 0, 0},
    {"L2_CHUNK_SIZE", KEY_UNUSED, 0, 0, 0, 0},
    {"TOPOLOGY_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"FLOW_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"TRACE_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"TRACE_OUTPUT_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"FCT_OUTPUT_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"PFC_OUTPUT_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"OUT_DIR", KEY_UNUSED, 0, 0, 0, 0},
    {"ENABLE_TRACE", KEY_UNUSED, 0, 0, 0, 0},
    {"QMON", KEY_UNUSED, 0, 0, 0, 0},
    {"QLEN_MON_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"QLEN_MON_START", KEY_UNUSED, 0, 0, 0, 0},
    {"QLEN_MON_END", KEY_UNUSED, 0, 0, 0, 0},
    {"TRACE_NODE", KEY_UNUSED, 0, 0, 0, 0},
    {"SEND_OUTPUT_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"BW_MON_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"RATE_MON_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"CNP_MON_FILE", KEY_UNUSED, 0, 0, 0, 0},
    {"MON_START", KEY_UNUSED, 0, 0, 0, 0},
    {"MON_END", KEY_UNUSED, 0, 0, 0, 0},
    {"QP_MON_INTERVAL", KEY_UNUSED, 0, 0, 0, 0},
    {"QLEN_MON_INTERVAL", KEY_UNUSED, 0, 0, 0, 0},
    {"BW_MON_INTERVAL", KEY_UNUSED, 0, 0, 0, 0},
    {"NIC_TOTAL_PAUSE_TIME", KEY_UNUSED, 0, 0, 0, 0}};

enum { KEY_COUNT = sizeof keys / sizeof *keys };

struct packet_config_reader {
    struct sc__packet_words w;
    struct sc__packet_config *config;
    bool seen[KEY_COUNT];
};

static sc_status key_unknown(struct packet_config_reader *r) {
    const char *names[KEY_COUNT + 1] = {0};
    char name[48] = "";
    const char *hint = "the keys are listed in docs/model/packet.md";
    for (size_t i = 0; i < KEY_COUNT; i++)
        names[i] = keys[i].name;
    if (r->w.word.n < sizeof name) {
        memcpy(name, r->w.word.p, r->w.word.n);
        const char *near = sc__nearest(name, names);
        if (near)
            hint = sc__format(&r->w.in.ctx->arena, "did you mean %s?", near);
    }
    return sc__packet_bad(&r->w, hint, "unknown key");
}

static sc_status
check_range(struct packet_config_reader *r, const struct packet_key *k, double value) {
    if (value >= k->least && value <= k->most)
        return SC_OK;
    const char *hint = sc__format(&r->w.in.ctx->arena,
                                  "%s is from %.10g to %.10g%s",
                                  k->name,
                                  k->least,
                                  k->most,
                                  k->kind == KEY_RATE ? " bits per second" : "");
    return sc__packet_bad(&r->w, hint, "a value that makes no sense");
}

static sc_status read_whole(struct packet_config_reader *r, const struct packet_key *k) {
    uint32_t *field = (uint32_t *)(void *)((char *)r->config + k->offset);
    SC__TRY(sc__packet_take_u32(&r->w, NULL, "a whole number is expected", field));
    return check_range(r, k, *field);
}

static sc_status read_number(struct packet_config_reader *r, const struct packet_key *k) {
    double *field = (double *)(void *)((char *)r->config + k->offset);
    SC__TRY(sc__packet_take_double(&r->w, NULL, "a number from 0 on is expected", field));
    return check_range(r, k, *field);
}

static sc_status read_rate(struct packet_config_reader *r, const struct packet_key *k) {
    uint64_t *field = (uint64_t *)(void *)((char *)r->config + k->offset);
    SC__TRY(sc__packet_take_rate(&r->w, field));
    return check_range(r, k, (double)*field);
}

static sc_status read_rate_map(struct packet_config_reader *r, const struct packet_key *k) {
    struct sc__packet_rate_map *map =
        (struct sc__packet_rate_map *)(void *)((char *)r->config + k->offset);
    const char *hint = "a map is: count, then a rate in bits per second and a value each";
    SC__TRY(sc__packet_take_u32(&r->w, hint, "a count is expected", &map->count));
    if (map->count > SC__PACKET_THRESHOLDS)
        return sc__packet_bad(&r->w, "at most 32", "too many entries");
    for (uint32_t i = 0; i < map->count; i++) {
        sc__packet_word(&r->w);
        if (!sc__parse_u64(r->w.word, &map->rate[i]))
            return sc__packet_bad(&r->w, hint, "a rate is expected");
        SC__TRY(sc__packet_take_double(&r->w, hint, "a value is expected", &map->value[i]));
        SC__TRY(check_range(r, k, map->value[i]));
    }
    return SC_OK;
}

static sc_status read_fixed(struct packet_config_reader *r, const struct packet_key *k) {
    uint32_t value;
    SC__TRY(sc__packet_take_u32(&r->w, NULL, "a whole number is expected", &value));
    if (value == k->least)
        return SC_OK;
    const char *hint = sc__format(&r->w.in.ctx->arena,
                                  "the packet engine has %s %g only",
                                  k->name,
                                  k->least);
    return sc__packet_bad(&r->w, hint, "not simulated");
}

/* Whether all pairs have the longest round trip, or each its own: SimAI.conf says 0, and
 * the program that reads it takes 1. */
static sc_status read_global_t(struct packet_config_reader *r) {
    uint32_t value;
    SC__TRY(sc__packet_take_u32(&r->w, NULL, "a whole number is expected", &value));
    if (value > 1)
        return sc__packet_bad(&r->w, "0 or 1", "a value that makes no sense");
    if (!value)
        sc__note(
            r->w.in.ctx,
            "global-t",
            "GLOBAL_T 0 is taken as 1, as SimAI does: all pairs have the window of the "
            "longest round trip");
    return SC_OK;
}

/* LINK_DOWN time a b: 0 0 0 is none. */
static sc_status read_link_down(struct packet_config_reader *r) {
    while (sc__packet_word(&r->w))
        if (!sc__str_is(r->w.word, "0"))
            return sc__packet_bad(&r->w,
                                  "leave LINK_DOWN out, or give 0 0 0",
                                  "links that fail are not simulated");
    return SC_OK;
}

static sc_status read_value(struct packet_config_reader *r, const struct packet_key *k) {
    switch (k->kind) {
    case KEY_WHOLE:
        return read_whole(r, k);
    case KEY_NUMBER:
        return read_number(r, k);
    case KEY_RATE:
        return read_rate(r, k);
    case KEY_RATE_MAP:
        return read_rate_map(r, k);
    case KEY_FIXED:
        return read_fixed(r, k);
    case KEY_GLOBAL_T:
        return read_global_t(r);
    case KEY_LINK_DOWN:
        return read_link_down(r);
    case KEY_UNUSED:
        break;
    }
    r->w.rest.n = 0;
    return SC_OK;
}

static sc_status check_control(struct packet_config_reader *r) {
    switch (r->config->control) {
    case SC__PACKET_NO_CONTROL:
    case SC__PACKET_DCQCN:
    case SC__PACKET_HPCC:
    case SC__PACKET_TIMELY:
    case SC__PACKET_DCTCP:
    case SC__PACKET_HPCC_PINT:
    case SC__PACKET_SWIFT:
    case SC__PACKET_NSCC:
    case SC__PACKET_RCCC:
    case SC__PACKET_NSCC_RCCC:
        return SC_OK;
    default:
        return sc__packet_bad(
            &r->w,
            "0 none, 1 DCQCN, 3 HPCC, 7 TIMELY, 8 DCTCP, 10 HPCC-PINT, 11 Swift; Ultra "
            "Ethernet: 20 NSCC, 21 RCCC, 22 both",
            "this CC_MODE is not simulated");
    }
}

static sc_status read_key(struct packet_config_reader *r) {
    sc__packet_word(&r->w);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const struct packet_key *k = &keys[i];
        if (!sc__str_is(r->w.word, k->name))
            continue;
        if (r->seen[i] && !r->w.option)
            return sc__packet_bad(&r->w, NULL, "this key was given before");
        if (r->w.option && k->kind == KEY_UNUSED)
            return sc__packet_bad(&r->w, NULL, "this key has no effect");
        r->seen[i] = true;
        SC__TRY(read_value(r, k));
        if (!strcmp(k->name, "CC_MODE"))
            SC__TRY(check_control(r));
        return sc__packet_line_end(&r->w, NULL);
    }
    return key_unknown(r);
}

/* What two keys say together. */
static const char *contradiction(const struct sc__packet_config *c, const char **hint) {
    bool uet = NEED_UET >> c->control & 1;
    bool swift = c->control == SC__PACKET_SWIFT;
    *hint = NULL;
    if (uet && c->uet_paths & (c->uet_paths - 1)) {
        *hint = "for instance 128";
        return "UET_PATHS is a power of two";
    }
    if (uet && c->uet_mark_from_bdp > c->uet_mark_all_bdp)
        return "UET_MARK_FROM is over UET_MARK_ALL";
    if (c->control == SC__PACKET_HPCC && !c->has_window) {
        *hint = "HAS_WIN 1";
        return "HPCC (CC_MODE 3) needs a window";
    }
    if (swift && c->swift_range_from >= c->swift_range_to)
        return "SWIFT_FS_MIN_CWND is not below SWIFT_FS_MAX_CWND";
    if (swift && c->swift_least_window >= c->swift_most_window)
        return "SWIFT_MIN_CWND is not below SWIFT_MAX_CWND";
    return NULL;
}

static sc_status check_whole(struct packet_config_reader *r, const char *path) {
    const struct sc__packet_config *c = r->config;
    struct sc__place place = {.file = path};
    const char *hint;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!r->seen[i] && (keys[i].needed >> c->control & 1))
            return sc__fail(r->w.in.ctx,
                            SC_INPUT,
                            &place,
                            "docs/model/packet.md says what it means",
                            "%s is missing",
                            keys[i].name);
    const char *wrong = contradiction(c, &hint);
    return wrong ? sc__fail(r->w.in.ctx, SC_INPUT, &place, hint, "%s", wrong) : SC_OK;
}

static sc_status read_config_lines(struct packet_config_reader *r) {
    bool more;
    for (;;) {
        SC__TRY(sc__packet_line(&r->w, &more));
        if (!more)
            return SC_OK;
        SC__TRY(read_key(r));
    }
}

/* Options have the last word. */
static sc_status take_settings(struct packet_config_reader *r,
                               const struct sc__packet_settings *settings) {
    for (uint32_t i = 0; i < settings->count; i++) {
        r->w.option = settings->items[i].option;
        r->w.rest = sc__str(settings->items[i].text);
        SC__TRY(read_key(r));
    }
    return SC_OK;
}

static sc_status read_config_file(struct packet_config_reader *r, const char *path) {
    SC__TRY(sc__input_open(r->w.in.ctx, path, &r->w.in));
    sc_status status = read_config_lines(r);
    sc__input_close(&r->w.in);
    return status;
}

sc_status sc__packet_config_read(struct sc_context *ctx,
                                 const char *path,
                                 const struct sc__packet_settings *settings,
                                 struct sc__packet_config *out) {
    struct packet_config_reader r = {.config = out, .w.in.ctx = ctx};
    memset(out, 0, sizeof *out);
    out->file = path;
    out->enable_pfc = 1;
    if (path)
        SC__TRY(read_config_file(&r, path));
    r.w.in.ctx = ctx;
    SC__TRY(take_settings(&r, settings));
    return check_whole(&r, path);
}
