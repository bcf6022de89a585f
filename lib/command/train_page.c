/* train_page: the page of a run. Its data is the JSON of the forecast with two more
 * parts: one run as it goes, and ETTR against the interval of checkpoints. */
#include "command/train.h"

#include "report/write.h"

#include <math.h>

#define MOST_POINTS 1500
#define CURVE_POINTS 41
#define CURVE_FROM 0.1 /* of the best interval, to its inverse */

/* Of many failures every second, third …, and the end. */
static void page_put_progress(struct sc__json *j,
                              const struct sc__train *t,
                              const struct sc__goodput_track *track) {
    uint32_t step = track->count / MOST_POINTS + 1;
    sc__json_list(j, "progress");
    for (uint32_t i = 0; i < track->count; i++) {
        const struct sc__goodput_point *p = &track->points[i];
        bool last = i + 1 == track->count;
        if (i % step && !last)
            continue;
        sc__json_list(j, NULL);
        sc__json_double(j, NULL, p->at_s);
        sc__json_double(j, NULL, p->done_s);
        sc__json_string(j, NULL, last ? NULL : t->in.set->classes[p->class].name);
        sc__json_end_array(j);
    }
    sc__json_end_array(j);
}

/* By the closed form, where it holds. */
static void page_put_curve(struct sc__json *j, const struct sc__train *t) {
    struct sc__goodput_input in = t->in;
    if (!sc__goodput_is_closed(&in) || !(sc__goodput_losing_rate(&in) > 0))
        return;
    sc__json_list(j, "interval_curve");
    for (unsigned i = 0; i < CURVE_POINTS; i++) {
        double exponent = 1 - 2.0 * i / (CURVE_POINTS - 1);
        in.interval_s = t->best_interval_s * pow(CURVE_FROM, exponent);
        if (in.write_s > in.interval_s + in.blocking_s)
            continue; /* the next one would begin before it is written */
        sc__json_list(j, NULL);
        sc__json_double(j, NULL, in.interval_s);
        sc__json_double(j, NULL, sc__goodput_closed(&in));
        sc__json_end_array(j);
    }
    sc__json_end_array(j);
}

static void
page_put_run(struct sc_request *req, const struct sc__train *t, struct sc__buffer *out) {
    struct sc__goodput_track track = {0};
    struct sc__goodput_input in = t->in;
    struct sc__goodput run;
    struct sc__buffer forecast;
    struct sc__json j;
    in.track = &track;
    sc__goodput_simulate(&in, 1, &req->ctx->arena, &run);
    sc__buffer_init(&forecast, &req->ctx->arena);
    sc__train_write_json(t, req->ctx, &forecast);
    sc__page_begin(&j, out, "stepcast/train-page/1", req->argv, req->argc);
    sc__json_raw(&j, "forecast", forecast.text, forecast.size);
    page_put_progress(&j, t, &track);
    page_put_curve(&j, t);
    sc__json_end_object(&j);
}

sc_status sc__train_write_page(struct sc_request *req, const struct sc__train *t) {
    struct sc__buffer data;
    struct sc__buffer page;
    SC__TRY(sc__page_check(req->ctx));
    sc__buffer_init(&data, &req->ctx->arena);
    sc__buffer_init(&page, &req->ctx->arena);
    page_put_run(req, t, &data);
    struct sc__page_side side = {.name = "run",
                                 .saved = (struct sc__str){data.text, data.size}};
    sc__write_html(&side, 1, &page);
    return sc__job_output(req, "html", &page);
}
