#include "command/recovery.h"

#include <math.h>
#include <string.h>

#define MOST_SPARES (1u << 24)

static const char *recovery_given(const struct sc_request *req) {
    const char *text = sc__option(req, "recovery");
    return text ? text : "requeue";
}

static sc_status recovery_unknown(struct sc_request *req, const char *hint) {
    return sc__usage(req, hint, "--recovery: '%s' is no value for it", recovery_given(req));
}

/* Rounded up, but for what binary fractions add: 7 % of 100 are 7. */
static uint32_t part_of_machines(double share, double machines) {
    double exact = share * machines;
    double nearest = round(exact);
    return (uint32_t)(fabs(exact - nearest) < 1e-9 * machines ? nearest : ceil(exact));
}

static sc_status
recovery_spares(struct sc_request *req, const char *text, struct sc__goodput_input *in) {
    double machines = ceil(in->gpus / in->set->unit_gpus[SC__SCOPE_NODE]);
    struct sc__str value = sc__str(text);
    double share;
    in->recovery = SC__RECOVERY_SPARES;
    if (sc__str_ends(value, "%")) {
        if (!sc__parse_share(value, &share) || share > 1)
            return recovery_unknown(req, "spares=2% or spares=4");
        in->spares = part_of_machines(share, machines);
        return SC_OK;
    }
    if (!sc__parse_u32(value, &in->spares) || in->spares > MOST_SPARES)
        return recovery_unknown(req, "spares=2% or spares=4");
    return SC_OK;
}

sc_status sc__recovery_read(struct sc_request *req, struct sc__goodput_input *in) {
    static const struct {
        const char *word;
        enum sc__recovery policy;
    } words[] = {
        {"requeue", SC__RECOVERY_REQUEUE},
        {"hot", SC__RECOVERY_HOT},
        {"in-memory", SC__RECOVERY_HOT},
        {"drop-replica", SC__RECOVERY_DROP},
        {"shrink", SC__RECOVERY_SHRINK},
    };
    const char *text = recovery_given(req);
    if (!strncmp(text, "spares=", 7))
        return recovery_spares(req, text + 7, in);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i].word)) {
            in->recovery = words[i].policy;
            return SC_OK;
        }
    return recovery_unknown(
        req,
        "one of: requeue, hot, in-memory, spares=N, spares=2%, drop-replica, shrink");
}

bool sc__recovery_from_memory(const struct sc_request *req) {
    return !strcmp(recovery_given(req), "in-memory");
}

bool sc__recovery_drops(const struct sc__goodput_input *in) {
    return in->recovery == SC__RECOVERY_DROP || in->recovery == SC__RECOVERY_SHRINK;
}

void sc__recovery_note(struct sc_request *req, const struct sc__goodput_input *in) {
    if (in->recovery == SC__RECOVERY_REQUEUE || in->recovery == SC__RECOVERY_HOT)
        sc__note(req->ctx,
                 "machines-from-queue",
                 "a machine for a broken one is always there when the queue has run");
}
