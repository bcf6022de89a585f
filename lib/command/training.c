#include "command/training.h"

#include "base/units.h"
#include "search/search.h"

const struct sc__option sc__training_options[] = {
    {"train-tokens",
     0,
     "N",
     NULL,
     "Whole run",
     "tokens of the whole run (15T, 300B): days, GPU-hours, money, if nothing fails",
     0},
    {"price", 0, "USD", "data/prices.json", "Whole run", "of a GPU-hour", 0},
    {0}};

const char *sc__training_gpu(const struct sc__job *job) {
    const struct sc__evaluation *ev = job->ev;
    return job->model ? sc__plan_gpu(&ev->plan, &ev->cluster) : ev->cluster.gpu;
}

sc_status
sc__training_quote(struct sc_request *req, const char *gpu, double *usd_per_hour) {
    struct sc__search_price price = {0};
    if (gpu)
        SC__TRY(sc__search_price(req->ctx, gpu, &price));
    *usd_per_hour = price.usd_per_hour;
    if (price.quoted && price.usd_per_hour > 0)
        sc__note(req->ctx,
                 "price-assumed",
                 "no --price is given: %g USD for an hour of a %s, of data/prices.json",
                 price.usd_per_hour,
                 price.gpu);
    if (!(price.usd_per_hour > 0))
        sc__note(req->ctx,
                 "price-unknown",
                 "data/prices.json has no price of a %s: --price USD (of a GPU-hour) gives "
                 "the money",
                 price.gpu ? price.gpu : "GPU that is not named");
    return SC_OK;
}

sc_status sc__training_price_said(struct sc_request *req, double *usd_per_hour) {
    const char *text = sc__option(req, "price");
    double price = 1;
    if (text && (!sc__parse_double(sc__str(text), &price) || !(price > 0) ||
                 price > SC__MOST_PRICE))
        return sc__usage(req,
                         "US dollars for a GPU-hour, like 2.5",
                         "--price: '%s' is no price",
                         text);
    if (text)
        *usd_per_hour = price;
    return SC_OK;
}

static sc_status
training_price(struct sc_request *req, const struct sc__job *job, double *usd_per_hour) {
    SC__TRY(sc__training_price_said(req, usd_per_hour));
    return sc__flag(req, "price")
               ? SC_OK
               : sc__training_quote(req, sc__training_gpu(job), usd_per_hour);
}

void sc__training_note_short(struct sc_context *ctx, double tokens, double step_tokens) {
    if (tokens < step_tokens)
        sc__note(ctx,
                 "less-than-a-step",
                 "--train-tokens: %.0f tokens are less than the %.0f of one step",
                 tokens,
                 step_tokens);
}

static sc_status
training_tokens(struct sc_request *req, const struct sc__result *r, double *tokens) {
    const char *text = sc__option(req, "train-tokens");
    if (!text)
        return SC_OK;
    if (!sc__parse_count(sc__str(text), tokens))
        return sc__usage(req,
                         "a number above 0, like 15T, 300B or 1000",
                         "--train-tokens: '%s' is no value for it",
                         text);
    if (!(r->tokens_per_s > 0))
        return sc__usage(req,
                         "stepcast train --train-steps counts steps",
                         "--train-tokens: the input does not say how many tokens a step "
                         "has");
    sc__training_note_short(req->ctx,
                            *tokens,
                            r->tokens_per_s * (double)r->step / SC__PS_PER_S);
    return SC_OK;
}

sc_status sc__training_add(struct sc_request *req, struct sc__job *job) {
    struct sc__result *r = &job->ev->result;
    double tokens = 0;
    double usd_per_hour = 0;
    if (!sc__flag(req, "train-tokens") && !sc__flag(req, "price"))
        return SC_OK;
    SC__TRY(training_tokens(req, r, &tokens));
    SC__TRY(training_price(req, job, &usd_per_hour));
    r->cost_usd = usd_per_hour * sc__mesh_ranks(&r->workload->mesh) * (double)r->step /
                  (double)SC__PS_PER_S / 3600;
    if (tokens > 0)
        sc__result_add_training(r, tokens, usd_per_hour);
    sc__result_take_notes(req->ctx, r);
    return SC_OK;
}
