/* packet_options: the options that make the settings of the packet engine. */
#include "network/packet/packet.h"

#include <string.h>

const struct sc__option sc__packet_options[] = {
    {"conf",
     0,
     "NAME|FILE",
     NULL,
     "Packets",
     "settings of --net packet: hpcc-100g, simai-400g, uet-100g, or a file of HPCC or "
     "SimAI",
     0,
     .folder = "networks/"},
    {"cc",
     0,
     "NAME",
     NULL,
     "Packets",
     "congestion control: none, dcqcn, hpcc, hpcc-pint, timely, dctcp, swift; nscc, rccc, "
     "nscc-rccc of Ultra Ethernet (CC_MODE)",
     0},
    {"cc-set",
     0,
     "KEY=VALUE",
     NULL,
     "Packets",
     "another value of a key of --conf; may be given several times",
     SC__OPT_REPEAT},
    {"mtu",
     0,
     "BYTES",
     NULL,
     "Packets",
     "payload of a full packet (PACKET_PAYLOAD_SIZE)",
     0},
    {"buffer", 0, "MIB", NULL, "Packets", "buffer of a switch (BUFFER_SIZE)", 0},
    {"rng",
     0,
     "SOURCE",
     "reference",
     "Packets",
     "random numbers: reference (those of ns-3), or a seed of our own",
     0},
    {"exact",
     0,
     NULL,
     NULL,
     "Packets",
     "nothing is skipped or approximated: all phases, all sizes",
     0},
    {0}};

/* Where a network is usual: that of Ultra Ethernet's controls. */
#define UET_NETWORK "uet-100g"

static const char *const control_names[] = {"none",
                                            "dcqcn",
                                            "hpcc",
                                            "hpcc-pint",
                                            "timely",
                                            "dctcp",
                                            "swift",
                                            "nscc",
                                            "rccc",
                                            "nscc-rccc",
                                            NULL};
static const char control_hint[] =
    "one of: none, dcqcn, hpcc, hpcc-pint, timely, dctcp, swift, nscc, rccc, nscc-rccc";
static const int control_modes[] = {SC__PACKET_NO_CONTROL,
                                    SC__PACKET_DCQCN,
                                    SC__PACKET_HPCC,
                                    SC__PACKET_HPCC_PINT,
                                    SC__PACKET_TIMELY,
                                    SC__PACKET_DCTCP,
                                    SC__PACKET_SWIFT,
                                    SC__PACKET_NSCC,
                                    SC__PACKET_RCCC,
                                    SC__PACKET_NSCC_RCCC};

/* text: "KEY value". */
static void add_setting(const struct sc__settings *s,
                        struct sc__packet_settings *list,
                        const char *option,
                        const char *text) {
    *SC__PUSH(&s->ctx->arena, list->items, list->count, list->capacity) =
        (struct sc__packet_setting){option, text};
}

static sc_status read_control(const struct sc__settings *s,
                              const char *control,
                              struct sc__packet_settings *list) {
    for (size_t i = 0; control_names[i] && control; i++)
        if (!strcmp(control, control_names[i])) {
            add_setting(s,
                        list,
                        "cc",
                        sc__format(&s->ctx->arena, "CC_MODE %d", control_modes[i]));
            return SC_OK;
        }
    if (!control)
        return SC_OK;
    return sc__fail(s->ctx, SC_USAGE, NULL, control_hint, "--cc: unknown '%.80s'", control);
}

/* One key of the settings from `first` on has one value. */
static sc_status check_once(const struct sc__settings *s,
                            const struct sc__packet_settings *list,
                            uint32_t first,
                            const char *text) {
    size_t key = strcspn(text, " ") + 1;
    for (uint32_t i = first; i < list->count; i++) {
        const struct sc__packet_setting *other = &list->items[i];
        if (!strncmp(other->text, text, key) && strcmp(other->text, text) != 0)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "give one of them",
                            "--cc-set %.80s contradicts --%s, which says %.80s",
                            text,
                            other->option,
                            other->text);
    }
    return SC_OK;
}

static sc_status read_values(const struct sc__settings *s,
                             const char *control,
                             struct sc__packet_settings *list) {
    struct sc__arena *arena = &s->ctx->arena;
    const char *mtu = sc__setting(s, "mtu");
    const char *buffer = sc__setting(s, "buffer");
    const char *text;
    uint32_t first = list->count;
    SC__TRY(read_control(s, control, list));
    if (mtu)
        add_setting(s, list, "mtu", sc__format(arena, "PACKET_PAYLOAD_SIZE %s", mtu));
    if (buffer)
        add_setting(s, list, "buffer", sc__format(arena, "BUFFER_SIZE %s", buffer));
    for (unsigned i = 0; (text = sc__setting_nth(s, "cc-set", i)) != NULL; i++) {
        char *copy = sc__strdup(arena, text);
        char *equals = strchr(copy, '=');
        if (!equals || equals == copy)
            return sc__fail(s->ctx,
                            SC_USAGE,
                            NULL,
                            "for instance RATE_AI=50Mb/s",
                            "--cc-set: '%.80s' is not KEY=VALUE",
                            text);
        *equals = ' ';
        SC__TRY(check_once(s, list, first, copy));
        add_setting(s, list, "cc-set", copy);
    }
    return SC_OK;
}

static sc_status read_random(const struct sc__settings *s,
                             struct sc__packet_random *random) {
    const char *text = sc__setting(s, "rng");
    random->reference = !text || !strcmp(text, "reference");
    if (random->reference || sc__parse_u64(sc__str(text), &random->seed))
        return SC_OK;
    return sc__fail(s->ctx,
                    SC_USAGE,
                    NULL,
                    "reference, or a whole number as seed",
                    "--rng: '%.80s' is neither",
                    text);
}

/* A name of data/networks: its settings, and no file. Where no control is asked for: the
 * one the network has then, else the usual one. */
static sc_status read_network(const struct sc__settings *s,
                              const char *control,
                              const char *usual,
                              struct sc__packet_settings *list,
                              const char **conf) {
    struct sc__packet_network network;
    if (!sc__packet_network_exists(s->ctx, *conf))
        return SC_OK;
    sc__packet_network_describe(s->ctx, *conf, &network);
    if (!control)
        control = network.usual ? network.usual : usual;
    if (!control)
        return sc__fail(s->ctx,
                        SC_USAGE,
                        NULL,
                        control_hint,
                        "--conf %s needs a --cc",
                        *conf);
    SC__TRY(sc__packet_network_settings(s->ctx, *conf, control, list));
    *conf = NULL;
    return SC_OK;
}

static bool is_uet(const char *control) {
    for (size_t i = 0; control && control_names[i]; i++)
        if (!strcmp(control, control_names[i]))
            return control_modes[i] >= SC__PACKET_NSCC;
    return false;
}

sc_status sc__packet_options_read(const struct sc__settings *s,
                                  const char *network,
                                  const char *usual_control,
                                  const char *control,
                                  struct sc__packet_config *config,
                                  struct sc__packet_random *random) {
    struct sc__packet_settings list = {0};
    const char *conf = sc__setting(s, "conf");
    const char *given = control ? control : sc__setting(s, "cc");
    if (!conf && network && is_uet(given))
        conf = UET_NETWORK;
    if (!conf)
        conf = network;
    SC__TRY(read_random(s, random));
    SC__TRY(read_network(s, given, usual_control, &list, &conf));
    SC__TRY(read_values(s, given, &list));
    return sc__packet_config_read(s->ctx, conf, &list, config);
}
