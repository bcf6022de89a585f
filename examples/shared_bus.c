/* A network engine of one's own: one bus that all transfers of the job share.
 *
 *     cc -I include examples/shared_bus.c -o shared_bus -lstepcast -lm
 *     ./shared_bus job.goal 25e9
 *
 * Each of the k transfers that run at a moment has 1/k of the bus. A transfer
 * passes the latency of an empty message first, undisturbed. */
#include <stepcast/engine.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct running {
    sc_transfer transfer;
    int64_t begins; /* when its bytes reach the bus */
    double left;    /* bytes */
};

struct bus {
    sc_engine_job *job;
    double rate; /* bytes per picosecond */
    int64_t latency;
    int64_t now;
    struct running *list;
    size_t count;
    size_t room;
};

static sc_status bus_create(sc_engine_job *job, void **self) {
    sc_link_rates rates = {.size = sizeof rates};
    const char *text = sc_engine_job_argument(job);
    double rate = text ? atof(text) : 0;
    sc_engine_job_rates(job, &rates);
    if (text && !(rate > 0))
        return sc_engine_fail(job,
                              SC_USAGE,
                              "write it like bus:25e9",
                              "'%s' is not a rate in bytes a second",
                              text);
    struct bus *b = calloc(1, sizeof *b);
    if (!b)
        return sc_engine_fail(job, SC_SYSTEM, NULL, "out of memory");
    b->job = job;
    b->rate = (text ? rate : rates.nic) * 1e-12;
    b->latency = rates.nic_latency;
    *self = b;
    return SC_OK;
}

static void bus_destroy(void *self) {
    struct bus *b = self;
    free(b->list);
    free(b);
}

/* What a transfer puts on the bus: that of all the groups, or messages, that it
 * stands for. */
static double bus_bytes(const struct bus *b, const sc_transfer *t) {
    double ranks = sc_engine_job_class_ranks(b->job, t->class);
    if (t->coll == SC_MESSAGE)
        return (double)t->bytes * ranks;
    double size = sc_engine_job_group_size(b->job, t->group);
    double groups = fmax(1, ranks / size);
    double passes = t->coll == SC_ALL_REDUCE ? 2 : 1;
    return (double)t->bytes * passes * (size - 1) * groups;
}

static sc_status
bus_alone(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    struct bus *b = self;
    claims->count = 0;
    claims->contended = true; /* everybody shares the bus */
    *time = b->latency + (int64_t)ceil(bus_bytes(b, t) / b->rate);
    return SC_OK;
}

static size_t bus_users(const struct bus *b) {
    size_t users = 0;
    for (size_t i = 0; i < b->count; i++)
        users += b->list[i].begins <= b->now;
    return users;
}

/* Between two calls nobody joins or leaves the bus: next stops at both. */
static void bus_advance(struct bus *b, int64_t to) {
    double each = b->rate / (double)bus_users(b);
    for (size_t i = 0; i < b->count; i++)
        if (b->list[i].begins <= b->now)
            b->list[i].left -= each * (double)(to - b->now);
    b->now = to;
}

static sc_status bus_start(void *self, const sc_transfer *t, int64_t now) {
    struct bus *b = self;
    bus_advance(b, now);
    if (b->count == b->room) {
        size_t room = 2 * b->room + 16;
        struct running *list = realloc(b->list, room * sizeof *list);
        if (!list)
            return sc_engine_fail(b->job, SC_SYSTEM, NULL, "out of memory");
        b->list = list;
        b->room = room;
    }
    b->list[b->count++] = (struct running){*t, now + b->latency, bus_bytes(b, t)};
    return SC_OK;
}

static sc_status bus_next(void *self, int64_t *when) {
    const struct bus *b = self;
    double each = b->rate / (double)bus_users(b);
    *when = INT64_MAX;
    for (size_t i = 0; i < b->count; i++) {
        const struct running *r = &b->list[i];
        int64_t at = r->begins;
        if (at <= b->now)
            at = b->now + (int64_t)ceil(fmax(0, r->left / each - 1e-3));
        if (at < *when)
            *when = at;
    }
    return SC_OK;
}

static sc_status bus_finish(void *self, int64_t to, sc_transfer *done, bool *found) {
    struct bus *b = self;
    *found = false;
    bus_advance(b, to);
    for (size_t i = 0; i < b->count && !*found; i++) {
        if (b->list[i].begins > to || b->list[i].left > b->rate)
            continue;
        *done = b->list[i].transfer;
        *found = true;
        for (b->count--; i < b->count; i++) /* in order of starting */
            b->list[i] = b->list[i + 1];
    }
    return SC_OK;
}

static const sc_engine bus_engine = {.size = sizeof bus_engine,
                                     .name = "bus",
                                     .summary = "one bus that all transfers share",
                                     .create = bus_create,
                                     .destroy = bus_destroy,
                                     .alone = bus_alone,
                                     .start = bus_start,
                                     .next = bus_next,
                                     .finish = bus_finish};

int main(int argc, char **argv) {
    char net[64];
    if (argc < 2) {
        fprintf(stderr, "usage: %s WORKLOAD [BYTES_PER_S]\n", argv[0]);
        return 2;
    }
    sc_context *ctx = sc_open();
    if (!ctx)
        return 4;
    snprintf(net, sizeof net, argc > 2 ? "bus:%s" : "bus", argc > 2 ? argv[2] : "");
    sc_status status = sc_engine_register(ctx, &bus_engine);
    sc_request *req = status == SC_OK ? sc_request_new(ctx, "run") : NULL;
    if (status == SC_OK) {
        sc_request_input(req, argv[1]);
        sc_request_set(req, "net", net);
        sc_request_set(req, "json", "-");
        status = sc_execute(req); /* SC_USAGE where there is no request */
    }
    if (status == SC_OK)
        fputs(sc_request_output(req), stdout);
    else
        fputs(sc_error_text(ctx), stderr);
    sc_close(ctx);
    return (int)status;
}
