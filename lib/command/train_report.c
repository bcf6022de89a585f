/* train_report: the forecast of a run as text and as JSON. */
#include "command/train.h"

#include "base/json_write.h"

#define J_PER_KWH 3.6e6

static const char *const cause_titles[] = {"productive",
                                           "checkpoints",
                                           "work lost since the last checkpoint",
                                           "detection",
                                           "localisation",
                                           "waiting for machines",
                                           "restart",
                                           "restore",
                                           "slow GPUs, lost replicas"};

static double gpu_hours(const struct sc__train *t, double wall_s) {
    return sc__train_paid_gpus(t) * wall_s / SC__HOUR_S;
}

static double energy_kwh(const struct sc__train *t, double wall_s) {
    return t->step.watts * wall_s / J_PER_KWH;
}

/* units[i] is a thousand times units[i - 1]; the value is in the first. */
static void put_quantity(struct sc__buffer *out,
                         const char *head,
                         double value,
                         const char *const units[3]) {
    int i = 0;
    for (; i < 2 && value >= 1000; i++)
        value /= 1000;
    sc__printf(out, "%s%.4g %s\n", head, value, units[i]);
}

static void text_put_tokens(const struct sc__train *t, struct sc__buffer *out) {
    bool few = t->tokens < 1e9;
    double unit = few ? 1e6 : 1e9;
    const char *name = few ? "million" : "billion";
    sc__printf(out,
               "         %.5g %s tokens, %.4g %s a day\n",
               t->tokens / unit,
               name,
               t->step.tokens_per_s * SC__DAY_S * t->ettr / unit,
               name);
}

static void text_put_money(const struct sc__train *t, double usd, struct sc__buffer *out) {
    bool large = usd >= 1e6;
    if (t->price > 0)
        sc__printf(out,
                   "cost     %.*f %sUSD at %.3g USD per GPU-hour\n",
                   large        ? 3
                   : usd >= 100 ? 0
                                : 2,
                   large ? usd / 1e6 : usd,
                   large ? "million " : "",
                   t->price);
}

static void text_put_run(const struct sc__train *t, struct sc__buffer *out) {
    double wall = sc__train_wall(t, 0.5);
    struct sc__span_unit unit = sc__span_unit(wall);
    sc__printf(
        out,
        "run      %.4g %s (P10 %.4g, P90 %.4g) on %.0f GPU%s; %.4g without any loss\n",
        wall / unit.seconds,
        unit.name,
        sc__train_wall(t, 0.1) / unit.seconds,
        sc__train_wall(t, 0.9) / unit.seconds,
        t->in.gpus,
        t->in.gpus > 1 ? "s" : "",
        t->in.work_s / unit.seconds);
    if (t->step.tokens_per_s > 0)
        text_put_tokens(t, out);
    sc__printf(out, "ETTR     %.4f", t->ettr);
    if (t->closed > 0)
        sc__printf(out, "; closed form %.4f", t->closed);
    sc__printf(out, " (%u run%s simulated)\n", t->seeds, t->seeds == 1 ? "" : "s");
    sc__puts(out, "GPU-h    ");
    sc__put_count(out, gpu_hours(t, wall));
    if (t->in.spares)
        sc__printf(out, ", %u spare machines among them", t->in.spares);
    sc__putc(out, '\n');
    text_put_money(t, gpu_hours(t, wall) * t->price, out);
    if (t->step.watts > 0)
        put_quantity(out,
                     "energy   ",
                     energy_kwh(t, wall),
                     (const char *const[]){"kWh", "MWh", "GWh"});
    if (t->carbon > 0)
        put_quantity(out,
                     "CO2      ",
                     energy_kwh(t, wall) * t->carbon / 1e3,
                     (const char *const[]){"kg", "t", "kt"});
}

static void put_seconds(struct sc__buffer *out, double seconds) {
    sc__put_time(out, sc__from_us(1e6 * seconds));
}

static void text_put_failures(const struct sc__train *t, struct sc__buffer *out) {
    double rate = sc__goodput_rate(&t->in);
    sc__printf(out, "failures %s: ", t->in.set->name);
    if (rate > 0)
        sc__printf(out,
                   "one in %.3g h, %.4g in the run; recovery %s\n",
                   1 / rate / SC__HOUR_S,
                   t->failures,
                   t->recovery);
    else
        sc__puts(out, "none\n");
    sc__printf(out,
               "spares   99 %% of the time at most %u machine%s under repair at once\n",
               t->spares_p99,
               t->spares_p99 == 1 ? " is" : "s are");
    sc__printf(out, "checkpoint  %s, every ", t->kind);
    put_seconds(out, t->in.interval_s);
    sc__printf(out, " (%s), blocks ", t->best_is_used ? "best" : "given");
    put_seconds(out, t->in.blocking_s);
    sc__puts(out, ", restore ");
    put_seconds(out, t->in.restore_s);
    if (!t->best_is_used) {
        sc__puts(out, "; best: ");
        put_seconds(out, t->best_interval_s);
    }
    sc__putc(out, '\n');
}

/* Days that a change saves; by the mean of all runs, so that one late failure does not
 * decide. */
static double days_saved(const struct sc__train *t, const struct sc__train_whatif *w) {
    return t->in.work_s / SC__DAY_S * (1 / t->ettr - 1 / w->ettr);
}

static void text_put_whatif(const struct sc__train *t, struct sc__buffer *out) {
    for (uint32_t i = 0; i < t->whatif_count; i++) {
        const struct sc__train_whatif *w = &t->whatif[i];
        sc__printf(out,
                   "%s  %-44s ETTR %.4f  %+8.2f days\n",
                   i ? "" : "\nwhat if\n",
                   w->title,
                   w->ettr,
                   -days_saved(t, w));
    }
}

void sc__train_write_text(const struct sc__train *t,
                          const struct sc_context *ctx,
                          struct sc__buffer *out) {
    text_put_run(t, out);
    text_put_failures(t, out);
    sc__puts(out, "\nwhere the time goes\n");
    for (unsigned c = 0; c < SC__TIME_CAUSES; c++)
        if (t->time_share[c] > 0)
            sc__printf(out, "  %-38s %7.3f %%\n", cause_titles[c], 100 * t->time_share[c]);
    text_put_whatif(t, out);
    for (uint32_t i = 0; i < ctx->note_count; i++)
        sc__printf(out, "%s  - %s\n", i ? "" : "\nnotes\n", ctx->notes[i].text);
}

static void json_put_percentiles(struct sc__json *j, const struct sc__train *t) {
    sc__json_row(j, "days");
    sc__json_double(j, "p10", sc__train_wall(t, 0.1) / SC__DAY_S);
    sc__json_double(j, "p50", sc__train_wall(t, 0.5) / SC__DAY_S);
    sc__json_double(j, "p90", sc__train_wall(t, 0.9) / SC__DAY_S);
    sc__json_double(j, "without_loss", t->in.work_s / SC__DAY_S);
    sc__json_end_object(j);
}

static void json_put_money(struct sc__json *j, const struct sc__train *t) {
    double wall = sc__train_wall(t, 0.5);
    sc__json_double(j, "gpu_hours", gpu_hours(t, wall));
    if (t->price > 0) {
        sc__json_double(j, "usd_per_gpu_hour", t->price);
        sc__json_double(j, "cost_usd", gpu_hours(t, wall) * t->price);
    }
    if (t->step.watts > 0)
        sc__json_double(j, "energy_kwh", energy_kwh(t, wall));
    if (t->carbon > 0)
        sc__json_double(j, "co2_kg", energy_kwh(t, wall) * t->carbon / 1e3);
}

static void json_put_checkpoint(struct sc__json *j, const struct sc__train *t) {
    sc__json_row(j, "checkpoint");
    sc__json_string(j, "kind", t->kind);
    sc__json_double(j, "interval_s", t->in.interval_s);
    sc__json_double(j, "best_interval_s", t->best_interval_s);
    sc__json_double(j, "blocking_s", t->in.blocking_s);
    sc__json_double(j, "write_s", t->in.write_s);
    sc__json_double(j, "restore_s", t->in.restore_s);
    if (t->state_bytes > 0)
        sc__json_double(j, "state_bytes", t->state_bytes);
    sc__json_end_object(j);
}

static void json_put_failures(struct sc__json *j, const struct sc__train *t) {
    double rate = sc__goodput_rate(&t->in);
    sc__json_object(j, "failures");
    sc__json_string(j, "set", t->in.set->name);
    sc__json_string(j, "source", t->in.set->source);
    if (rate > 0)
        sc__json_double(j, "mean_time_between_s", 1 / rate);
    sc__json_double(j, "in_the_run", t->failures);
    sc__json_string(j, "recovery", t->recovery);
    sc__json_u64(j, "spares", t->in.spares);
    sc__json_u64(j, "spares_p99", t->spares_p99);
    sc__json_end_object(j);
}

static void json_put_whatif(struct sc__json *j, const struct sc__train *t) {
    if (!t->whatif_count)
        return;
    sc__json_array(j, "what_if");
    for (uint32_t i = 0; i < t->whatif_count; i++) {
        sc__json_row(j, NULL);
        sc__json_string(j, "key", t->whatif[i].key);
        sc__json_string(j, "title", t->whatif[i].title);
        sc__json_double(j, "ettr", t->whatif[i].ettr);
        sc__json_double(j, "days_saved", days_saved(t, &t->whatif[i]));
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

void sc__train_write_json(const struct sc__train *t,
                          const struct sc_context *ctx,
                          struct sc__buffer *out) {
    struct sc__json json;
    struct sc__json *j = &json;
    sc__json_init(j, out);
    sc__json_object(j, NULL);
    sc__json_string(j, "schema", "stepcast/train/1");
    sc__json_string(j, "version", SC_VERSION);
    sc__json_double(j, "gpus", t->in.gpus);
    sc__json_double(j, "step_time_us", t->step.step_s * 1e6);
    sc__json_double(j, "ettr", t->ettr);
    if (t->closed > 0)
        sc__json_double(j, "ettr_closed_form", t->closed);
    sc__json_u64(j, "seeds", t->seeds);
    json_put_percentiles(j, t);
    if (t->step.tokens_per_s > 0) {
        sc__json_double(j, "tokens", t->tokens);
        sc__json_double(j, "tokens_per_day", t->step.tokens_per_s * SC__DAY_S * t->ettr);
    }
    json_put_money(j, t);
    json_put_failures(j, t);
    json_put_checkpoint(j, t);
    sc__json_row(j, "time_share");
    for (unsigned c = 0; c < SC__TIME_CAUSES; c++)
        sc__json_double(j, sc__goodput_causes[c], t->time_share[c]);
    sc__json_end_object(j);
    json_put_whatif(j, t);
    sc__json_notes(j, ctx);
    sc__json_end_object(j);
}
