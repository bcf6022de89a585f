/* replay: options, and how the job was cut: tp, pp, dp and ep come from the
 * command line, from the names of the files, or from what the records decide.
 *
 * With --dp other than what ran, the traced replicas are repeated (or left
 * out): rank (t, d, s) of the new job does what (t, d mod dp, s) did. */
#include "frontend/megatron_trace/replay_parts.h"

#include "hardware/cluster.h"
#include "hardware/gpu.h"

#include <jansson.h>
#include <string.h>

#define RANKS_MAX (1u << 20)

struct sc__iteration sc__replay_iteration(const struct sc__trace_rank *rank,
                                          uint32_t iteration) {
    uint32_t first = 0;
    uint32_t seen = 0;
    uint32_t i = 0;
    for (; i < rank->record_count; i++) {
        if (rank->records[i].kind != SC__TRACE_OPTIMIZER)
            continue;
        if (seen++ == iteration)
            break;
        first = i + 1;
    }
    uint32_t end = i < rank->record_count ? i + 1 : i;
    return (struct sc__iteration){.rank = rank,
                                  .records = &rank->records[first],
                                  .count = end - first,
                                  .given = true};
}

static sc_status fail_set(struct sc__replay *r, const char *hint, const char *what) {
    struct sc__place at = {.file = r->set->ranks->file};
    return sc__fail(r->ctx, SC_INPUT, &at, hint, "%s", what);
}

static bool uses_experts(const struct sc__trace_rank *rank) {
    for (uint32_t i = 0; i < rank->record_count; i++) {
        const struct sc__trace_record *rec = &rank->records[i];
        for (uint32_t k = 0; k < rec->subs; k++)
            if (rank->subs[rec->first_sub + k].group == SC__GROUP_EP)
                return true;
    }
    return false;
}

static sc_status ask(struct sc__replay *r, const char *missing) {
    return fail_set(
        r,
        "give --tp, --pp and --dp (and --ep where there are experts), or the file's "
        "original name wd…_tp…_pp…",
        sc__format(
            &r->ctx->arena,
            "how the job was cut is not known: %s is neither in the file's name nor given",
            missing));
}

/* One size: the command line wins over the names. */
static sc_status size_of(struct sc__replay *r,
                         const struct sc__settings *settings,
                         const char *name,
                         uint32_t fact,
                         uint32_t *out) {
    *out = fact;
    SC__TRY(sc__setting_u32(settings, name, 1, out));
    return *out ? SC_OK : ask(r, name);
}

/* dp as it ran and as it is asked for: where the names tell it, --dp asks for
 * another; else --dp tells it, or the files do when they are all there. */
static sc_status data_parallel(struct sc__replay *r,
                               const struct sc__settings *settings,
                               const struct sc__trace_facts *facts,
                               uint32_t tp,
                               uint32_t pp,
                               uint32_t *traced,
                               uint32_t *wanted) {
    uint64_t replica = (uint64_t)tp * pp;
    *traced = facts->dp;
    *wanted = 0;
    if (facts->world)
        *traced = facts->world % replica ? 0 : (uint32_t)(facts->world / replica);
    if (facts->world && !*traced)
        return fail_set(r,
                        "check --tp and --pp",
                        "tp × pp does not divide the number of ranks in the file's name");
    SC__TRY(sc__setting_u32(settings, "dp", 1, wanted));
    if (!*traced)
        *traced = *wanted;
    if (!*traced && r->set->rank_count % replica == 0 &&
        r->set->ranks[r->set->rank_count - 1].rank + 1 == r->set->rank_count)
        *traced = (uint32_t)(r->set->rank_count / replica);
    if (!*traced)
        return ask(r, "dp");
    if (!*wanted)
        *wanted = *traced;
    return SC_OK;
}

static uint32_t given_or(const struct sc__settings *s, const char *name, uint32_t fact) {
    const char *text = sc__setting(s, name);
    uint32_t n = 0;
    return text && sc__parse_u32(sc__str(text), &n) ? n : fact;
}

/* Expert parallelism over all replicas. */
static uint32_t assumed_experts(const struct sc__replay *r, uint32_t dp) {
    sc__note(r->ctx,
             "trace-experts",
             "experts are taken to be spread over all %u replicas; --ep says otherwise",
             dp);
    return dp;
}

/* Fills in what neither names nor options say: stages and the ranks of each by the
 * records; of tensor and data parallelism the one that its collectives speak for. */
static void infer_cut(struct sc__replay *r,
                      const struct sc__settings *settings,
                      struct sc__trace_facts *f) {
    struct sc__inferred_cut cut;
    uint32_t tp = given_or(settings, "tp", f->tp);
    uint32_t pp = given_or(settings, "pp", f->pp);
    uint32_t dp = given_or(settings, "dp", f->dp);
    bool sized = f->world || (tp && dp);
    if ((tp && pp && sized) || r->set->plan || !sc__replay_infer(r->set, &cut))
        return;
    if (f->world && pp && f->world % pp == 0)
        cut.stage_ranks = f->world / pp;
    uint32_t n = cut.stage_ranks;
    if (!tp)
        tp = dp && n % dp == 0 ? n / dp : cut.tensor && !dp ? n : 1;
    if (!dp && n % tp == 0)
        dp = n / tp;
    if (!f->tp)
        f->tp = tp;
    if (!f->pp)
        f->pp = pp ? pp : cut.pp;
    if (!f->dp && !f->world)
        f->dp = dp;
    if (!f->ep && uses_experts(r->set->ranks))
        f->ep = assumed_experts(r, dp);
    sc__note(r->ctx,
             "trace-cut",
             "how the job was cut is not said: %u stages (%s) of %u ranks (%s), each tp %u "
             "· dp %u, assumed%s; --tp, --pp and --dp say otherwise",
             f->pp,
             cut.stages_known ? "by the records" : "assumed",
             n,
             cut.ranks_known ? "by the records" : "assumed",
             tp,
             dp,
             cut.tensor ? " (tensor-parallel collectives take time)"
                        : " (no tensor-parallel collective takes time)");
}

static sc_status replay_cut(struct sc__replay *r, const struct sc__settings *settings) {
    struct sc__trace_facts inferred = r->set->facts;
    const struct sc__trace_facts *f = &inferred;
    infer_cut(r, settings, &inferred);
    uint32_t tp;
    uint32_t pp;
    uint32_t dp;
    uint32_t wanted;
    uint32_t ep;
    SC__TRY(size_of(r, settings, "tp", f->tp, &tp));
    SC__TRY(size_of(r, settings, "pp", f->pp, &pp));
    SC__TRY(data_parallel(r, settings, f, tp, pp, &dp, &wanted));
    SC__TRY(
        size_of(r, settings, "ep", f->ep || uses_experts(r->set->ranks) ? f->ep : 1, &ep));
    r->traced = sc__mesh(tp, 1, ep, dp, pp, tp);
    r->w->mesh = sc__mesh(tp, 1, ep, wanted, pp, tp);
    SC__TRY(sc__mesh_check(r->ctx, &r->traced));
    SC__TRY(sc__mesh_check(r->ctx, &r->w->mesh));
    if (sc__mesh_ranks(&r->traced) > RANKS_MAX || sc__mesh_ranks(&r->w->mesh) > RANKS_MAX)
        return fail_set(r,
                        "check the sizes in the names and on the command line",
                        "more than a million ranks");
    if (wanted != dp)
        sc__note(r->ctx,
                 "trace-replicas",
                 "the traced job has dp %u; its replicas are repeated to make dp %u",
                 dp,
                 wanted);
    return SC_OK;
}

/* data/traces.json: calibrated constants with their source. */
static sc_status read_constants(struct sc__replay *r) {
    json_t *j = sc__data_json("traces.json");
    double gap = 0;
    bool ok = j && json_unpack(j,
                               "{s:F, s:F, s:F}",
                               "host_gap_us",
                               &gap,
                               "nested_share",
                               &r->nested_share,
                               "stream_share",
                               &r->stream_share) == 0;
    r->host_gap = sc__from_us(gap);
    return ok ? SC_OK
              : sc__fail(r->ctx,
                         SC_SYSTEM,
                         NULL,
                         NULL,
                         "data/traces.json is missing or damaged");
}

static sc_status read_options(struct sc__replay *r, const struct sc__settings *settings) {
    static const char *const comms[] = {"simulated", "measured", NULL};
    const char *gap = sc__setting(settings, "host-gap");
    const char *hbm = sc__setting(settings, "hbm");
    unsigned comm = 0;
    SC__TRY(sc__setting_word(settings, "comm", comms, &comm));
    r->measured_comm = comm == 1;
    if (gap && (!sc__parse_time(sc__str(gap), &r->host_gap) || r->host_gap < 0 ||
                r->host_gap > SC__PS_PER_S))
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        "write it like 100us",
                        "--host-gap takes a time up to a second, not '%s'",
                        gap);
    if (hbm && (!sc__parse_rate(sc__str(hbm), &r->hbm) || r->hbm < 1e9))
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        "write it like 1.97TB/s",
                        "--hbm takes a rate from 1 GB/s on, not '%s'",
                        hbm);
    if (sc__setting(settings, "order"))
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        "leave out --order",
                        "--order does not apply: traced ranks are numbered tp, dp, pp");
    r->iteration = r->set->ranks->iterations ? r->set->ranks->iterations - 1 : 0;
    uint32_t iteration = r->iteration + 1;
    SC__TRY(sc__setting_u32(settings, "iteration", 1, &iteration));
    if (iteration > r->iteration + 1)
        return sc__fail(r->ctx,
                        SC_USAGE,
                        NULL,
                        NULL,
                        "--iteration %u, but the traces hold %u",
                        iteration,
                        r->iteration + 1);
    if (r->iteration)
        sc__note(r->ctx,
                 "trace-iteration",
                 "iteration %u of %u is replayed",
                 iteration,
                 r->iteration + 1);
    r->iteration = iteration - 1;
    return SC_OK;
}

/* The cluster's; where it tells none, what streaming kernels reach of its GPU's. */
static sc_status memory_bandwidth(struct sc__replay *r,
                                  const struct sc__settings *settings) {
    const char *text = sc__setting(settings, "cluster");
    struct sc__cluster cluster = {0};
    const struct sc__gpu *gpu;
    if (r->hbm > 0)
        return SC_OK;
    if (text)
        SC__TRY(sc__cluster_parse(r->ctx, text, sc__mesh_ranks(&r->w->mesh), &cluster));
    r->hbm = cluster.hbm;
    if (r->hbm > 0)
        return SC_OK;
    if (!cluster.gpu || sc__gpu_find(r->ctx, cluster.gpu, &gpu) != SC_OK)
        SC__TRY(sc__gpu_find(r->ctx, "h100", &gpu));
    sc__clear_error(r->ctx);
    r->hbm = r->stream_share * gpu->dram * 1e12;
    sc__note(r->ctx,
             "trace-hbm",
             "the cluster does not give its memory bandwidth: scaling gradients is timed "
             "at %.3g TB/s",
             r->hbm / 1e12);
    return SC_OK;
}

static uint32_t forward_steps(const struct sc__iteration *it) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < it->count; i++)
        n += it->records[i].kind == SC__TRACE_FORWARD;
    return n;
}

static sc_status pipeline(struct sc__replay *r, const struct sc__settings *settings) {
    static const char *const schedules[] = {"1f1b", NULL};
    unsigned schedule = 0;
    SC__TRY(sc__setting_word(settings, "schedule", schedules, &schedule));
    uint32_t traced = forward_steps(&r->ranks[0]);
    r->micro_batches = traced;
    SC__TRY(sc__setting_u32(settings, "micro-batches", 1, &r->micro_batches));
    if (r->set->profile && !sc__setting(settings, "micro-batches"))
        sc__note(
            r->ctx,
            "trace-micro-batches",
            "a profile holds one micro-batch; --micro-batches says how many a step has");
    if (!r->micro_batches)
        return fail_set(r, NULL, "the traces hold no forward_step");
    if (r->set->profile || r->micro_batches != traced)
        r->scheduled = true;
    r->w->micro_batches = r->micro_batches;
    r->w->schedule = "1f1b";
    if (r->measured_comm && (r->scheduled || r->w->mesh.dp != r->traced.dp))
        return sc__fail(
            r->ctx,
            SC_USAGE,
            NULL,
            "leave out --comm measured, or replay all ranks as they ran",
            "measured communication is known only for the job as it was traced");
    return SC_OK;
}

/* Bytes of a message between stages: from a message, else from the names. */
static sc_status message_size(struct sc__replay *r, const struct sc__settings *settings) {
    const struct sc__trace_facts *f = &r->set->facts;
    if (r->scheduled)
        SC__TRY(sc__setting_bytes(settings, "pp-comm", &r->message));
    for (uint32_t i = 0; i < r->ranks[0].count && !r->message; i++)
        if (sc__trace_is_message(r->ranks[0].records[i].kind))
            r->message = r->ranks[0].records[i].bytes;
    if (r->message || r->traced.pp == 1 || !r->scheduled)
        return SC_OK;
    r->message = 2ull * f->hidden * f->sequence * (f->micro_batch ? f->micro_batch : 1);
    if (!r->message)
        return fail_set(
            r,
            "give --pp-comm BYTES: sequence × micro-batch × hidden × 2 for bf16",
            "the traces hold no message, and the names do not tell hidden and sequence "
            "size");
    sc__note(r->ctx,
             "trace-message",
             "no message between stages was traced: assuming %llu bytes, hidden %u × "
             "sequence %u in bf16",
             (unsigned long long)r->message,
             f->hidden,
             f->sequence);
    return SC_OK;
}

sc_status sc__replay_open(struct sc__replay *r,
                          struct sc_context *ctx,
                          const struct sc__settings *settings,
                          const struct sc__trace_set *set) {
    memset(r, 0, sizeof *r);
    r->ctx = ctx;
    r->set = set;
    r->w = sc__workload_new(&ctx->arena, "megatron-trace");
    if (set->plan)
        return fail_set(
            r,
            "give the traces of a run: a plan tells only the order of operations",
            "a plan holds no times");
    SC__TRY(replay_cut(r, settings));
    SC__TRY(read_constants(r));
    SC__TRY(read_options(r, settings));
    SC__TRY(sc__replay_ranks(r));
    SC__TRY(pipeline(r, settings));
    return message_size(r, settings);
}

/* The longest any rank took, from its first operation to its last. */
static int64_t measured_step(const struct sc__replay *r) {
    int64_t longest = 0;
    for (uint32_t i = 0; i < sc__mesh_ranks(&r->traced); i++) {
        const struct sc__trace_record *last = &r->ranks[i].records[r->ranks[i].count - 1];
        int64_t took = last->end_ns - sc__replay_origin(r, i);
        if (last->end_ns && took > longest)
            longest = took;
    }
    return longest * SC__PS_PER_NS;
}

static void note_rules(struct sc__replay *r) {
    sc__note(r->ctx,
             "trace-waits",
             "recorded sends, receives and reductions include waiting; that waiting is "
             "simulated, not replayed as work");
    if (!r->measured_comm)
        sc__note(r->ctx,
                 "trace-host",
                 "%.3g us of host time before every message and reduction, half before "
                 "nested calls%s",
                 sc__us(r->host_gap),
                 r->scheduled ? "; the same before every operation"
                              : "; between operations as measured");
    if (measured_step(r) && !r->set->profile)
        sc__note(r->ctx,
                 "trace-measured",
                 "the traced step took %.2f ms on its slowest rank",
                 sc__us(measured_step(r)) / 1e3);
    if (r->set->profile)
        sc__note(
            r->ctx,
            "trace-median",
            "compute times are medians over the same places in the layers of %u traces",
            r->set->sample_count);
}

sc_status sc__lower_replay(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const struct sc__trace_set *set,
                           struct sc__workload **out) {
    struct sc__replay r;
    SC__TRY(sc__replay_open(&r, ctx, settings, set));
    SC__TRY(memory_bandwidth(&r, settings));
    SC__TRY(sc__replay_check(&r));
    if (set->profile)
        sc__replay_estimate(&r);
    if (r.measured_comm)
        sc__replay_collect_rendezvous(&r);
    if (r.scheduled)
        sc__replay_scheduled(&r);
    else
        sc__replay_traced(&r);
    note_rules(&r);
    *out = r.w;
    return SC_OK;
}
