/* plans_page: the page of a search. Its data is the JSON of the plans, and every plan
 * that was simulated in short. */
#include "command/plans.h"

#include "report/write.h"

static void page_put_simulated(const struct sc__search *s, struct sc__json *j) {
    sc__json_array(j, "simulated");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__search_plan *p = &s->plans[i];
        const struct sc__search_machine *m = &s->machines[p->machine];
        if (!p->evaluated || p->step <= 0)
            continue;
        sc__json_row(j, NULL);
        for (int k = 0; k < SC__NUMBERS; k++)
            sc__json_u64(j, sc__space_number_key(k), p->number[k]);
        sc__json_us(j, "step_time_us", p->step);
        sc__json_double(j, "memory_bytes", p->memory);
        sc__json_double(j, "mfu", p->mfu);
        if (m->cluster)
            sc__json_string(j, "cluster", m->cluster);
        sc__json_u64(j, "gpus", m->gpus);
        sc__json_double(j, "capacity_bytes", m->capacity);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}

sc_status sc__plans_write_page(const struct sc__plans *x) {
    struct sc_request *req = x->req;
    struct sc__buffer plans;
    struct sc__buffer data;
    struct sc__buffer page;
    struct sc__json j;
    SC__TRY(sc__page_check(req->ctx));
    sc__buffer_init(&plans, &req->ctx->arena);
    sc__buffer_init(&data, &req->ctx->arena);
    sc__buffer_init(&page, &req->ctx->arena);
    sc__plans_put_json(x, &plans);
    sc__page_begin(&j, &data, "stepcast/plans-page/1", req->argv, req->argc);
    sc__json_raw(&j, "search", plans.text, plans.size);
    page_put_simulated(&x->search, &j);
    sc__json_end_object(&j);
    struct sc__page_side side = {.name = "plans",
                                 .saved = (struct sc__str){data.text, data.size}};
    sc__write_html(&side, 1, &page);
    return sc__job_output(req, "html", &page);
}
