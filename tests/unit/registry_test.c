/* Engines registered from outside, through the public headers alone: chosen by
 * name, made and destroyed as often, and what their failures come to. */
#include <stepcast/engine.h>

#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Every transfer takes 5 us, whatever else runs. */
enum { TIME = 5000000, ROOM = 64 };

struct fixed {
    sc_engine_job *job;
    sc_transfer list[ROOM];
    int64_t ends[ROOM];
    uint32_t count;
};

static int created;
static int destroyed;
static bool fails_late;

static sc_status fixed_create(sc_engine_job *job, void **self) {
    const char *text = sc_engine_job_argument(job);
    if (text && !strcmp(text, "no"))
        return sc_engine_fail(job, SC_INPUT, "say yes", "%s means no", text);
    struct fixed *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->job = job;
    *self = f;
    created++;
    return SC_OK;
}

static void fixed_destroy(void *self) {
    free(self);
    destroyed++;
}

static sc_status
fixed_alone(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    (void)self;
    assert_true(t->coll <= SC_MESSAGE);
    claims->count = 0;
    claims->contended = true;
    *time = TIME;
    return SC_OK;
}

static sc_status fixed_start(void *self, const sc_transfer *t, int64_t now) {
    struct fixed *f = self;
    if (fails_late)
        return sc_engine_fail(f->job, SC_INPUT, NULL, "the cable is cut");
    assert_true(f->count < ROOM);
    f->list[f->count] = *t;
    f->ends[f->count++] = now + TIME;
    return SC_OK;
}

static sc_status fixed_next(void *self, int64_t *when) {
    const struct fixed *f = self;
    *when = f->count ? f->ends[0] : INT64_MAX;
    return SC_OK;
}

static sc_status fixed_finish(void *self, int64_t to, sc_transfer *done, bool *found) {
    struct fixed *f = self;
    *found = f->count && f->ends[0] <= to;
    if (!*found)
        return SC_OK;
    *done = f->list[0];
    f->count--;
    memmove(f->list, f->list + 1, f->count * sizeof *f->list);
    memmove(f->ends, f->ends + 1, f->count * sizeof *f->ends);
    return SC_OK;
}

static sc_status fixed_links(void *self,
                             int64_t step,
                             void (*add)(void *to, const sc_link_use *use),
                             void *to) {
    (void)self, (void)step;
    add(to, &(sc_link_use){.name = "ether", .bytes = 1, .capacity = 2, .busy_share = 0.5});
    return SC_OK;
}

static const sc_engine fixed = {.size = sizeof fixed,
                                .name = "fixed",
                                .create = fixed_create,
                                .destroy = fixed_destroy,
                                .alone = fixed_alone,
                                .start = fixed_start,
                                .next = fixed_next,
                                .finish = fixed_finish,
                                .links = fixed_links};

static char path[] = "/tmp/stepcast_registry_XXXXXX";

/* Three messages one after the other. */
static int write_goal(void **state) {
    (void)state;
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        return 1;
    fputs("num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: recv 8b from 1 tag 2\n"
          "c: send 8b to 1 tag 3\nb requires a\nc requires b\n}\n"
          "rank 1 {\na: recv 8b from 0 tag 1\nb: send 8b to 0 tag 2\n"
          "c: recv 8b from 0 tag 3\nb requires a\nc requires b\n}\n",
          f);
    return fclose(f);
}

static int remove_goal(void **state) {
    (void)state;
    return unlink(path);
}

static sc_request *request(sc_context *ctx, const char *net) {
    sc_request *req = sc_request_new(ctx, "run");
    assert_non_null(req);
    assert_int_equal(sc_request_input(req, path), SC_OK);
    assert_int_equal(sc_request_set(req, "net", net), SC_OK);
    assert_int_equal(sc_request_set(req, "json", "-"), SC_OK);
    return req;
}

static void chosen_by_name(void **state) {
    (void)state;
    created = destroyed = 0;
    fails_late = false;
    sc_context *ctx = sc_open();
    assert_int_equal(sc_engine_register(ctx, &fixed), SC_OK);
    sc_request *req = request(ctx, "fixed");
    assert_int_equal(sc_execute(req), SC_OK);
    const char *json = sc_request_output(req);
    assert_non_null(strstr(json, "\"net\": \"fixed\""));
    assert_non_null(strstr(json, "\"step_time_us\": 15,"));
    assert_non_null(strstr(json, "\"ether\""));
    assert_true(created > 0);
    sc_close(ctx);
    assert_int_equal(created, destroyed);
}

static void failures_end_the_run(void **state) {
    (void)state;
    created = destroyed = 0;
    sc_context *ctx = sc_open();
    assert_int_equal(sc_engine_register(ctx, &fixed), SC_OK);
    assert_int_equal(sc_execute(request(ctx, "fixed:no")), SC_INPUT);
    assert_string_equal(sc_error_message(ctx), "no means no");
    assert_string_equal(sc_error_hint(ctx), "say yes");
    assert_int_equal(created, 0);
    fails_late = true;
    assert_int_equal(sc_execute(request(ctx, "fixed")), SC_INPUT);
    assert_string_equal(sc_error_message(ctx), "the cable is cut");
    sc_close(ctx);
    assert_int_equal(created, destroyed);
}

/* Contexts know their own engines only. */
static void per_context(void **state) {
    (void)state;
    sc_context *with = sc_open();
    sc_context *without = sc_open();
    fails_late = false;
    assert_int_equal(sc_engine_register(with, &fixed), SC_OK);
    assert_int_equal(sc_execute(request(without, "fixed")), SC_USAGE);
    assert_non_null(strstr(sc_error_hint(without), "analytic, flow"));
    assert_int_equal(sc_execute(request(with, "fxied")), SC_USAGE);
    assert_non_null(strstr(sc_error_hint(with), "fixed"));
    sc_close(with);
    sc_close(without);
}

static void bad_engines_are_refused(void **state) {
    (void)state;
    sc_context *ctx = sc_open();
    sc_engine e = fixed;
    assert_int_equal(sc_engine_register(ctx, NULL), SC_USAGE);
    e.name = "flow";
    assert_int_equal(sc_engine_register(ctx, &e), SC_USAGE);
    e.name = "a:b";
    assert_int_equal(sc_engine_register(ctx, &e), SC_USAGE);
    e = fixed;
    e.finish = NULL;
    assert_int_equal(sc_engine_register(ctx, &e), SC_USAGE);
    e = fixed;
    e.size = 8;
    assert_int_equal(sc_engine_register(ctx, &e), SC_USAGE);
    e = fixed;
    e.size = offsetof(sc_engine, links); /* an older header */
    assert_int_equal(sc_engine_register(ctx, &e), SC_OK);
    assert_int_equal(sc_engine_register(ctx, &fixed), SC_USAGE); /* the name is taken */
    sc_close(ctx);
}

/* ---- engines that answer what cannot be ---- */

static sc_status
negative_alone(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    assert_int_equal(fixed_alone(self, t, time, claims), SC_OK);
    *time = -5;
    return SC_OK;
}

static sc_status
greedy_alone(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    assert_int_equal(fixed_alone(self, t, time, claims), SC_OK);
    claims->count = SC_CLAIMS_MAX + 1;
    return SC_OK;
}

static sc_status
overfull_alone(void *self, const sc_transfer *t, int64_t *time, sc_claims *claims) {
    assert_int_equal(fixed_alone(self, t, time, claims), SC_OK);
    claims->count = 1;
    claims->list[0] = (sc_claim){.resource = 1, .share = 1.5};
    return SC_OK;
}

static sc_status next_before(void *self, int64_t *when) {
    assert_int_equal(fixed_next(self, when), SC_OK);
    if (*when > TIME && *when < INT64_MAX)
        *when = TIME - 1; /* the first transfer has ended after that */
    return SC_OK;
}

static sc_status finish_nothing(void *self, int64_t to, sc_transfer *done, bool *found) {
    (void)self, (void)to, (void)done;
    *found = false;
    return SC_OK;
}

static sc_status finish_another(void *self, int64_t to, sc_transfer *done, bool *found) {
    assert_int_equal(fixed_finish(self, to, done, found), SC_OK);
    done->user += 12345;
    return SC_OK;
}

/* Such an engine ended the run with a wrong number, with a crash, or not at all. */
static void answers_that_cannot_be(void **state) {
    (void)state;
    const struct {
        sc_engine engine;
        const char *message;
    } wrong[] = {
        {{.alone = negative_alone}, "engine 'fixed': alone says less than no time"},
        {{.alone = greedy_alone}, "alone claims more than there is room for"},
        {{.alone = overfull_alone}, "alone claims a share that is not from 0 to 1"},
        {{.next = next_before}, "engine 'fixed': time goes back"},
        {{.finish = finish_nothing}, "engine 'fixed': time stands still"},
        {{.finish = finish_another}, "a transfer ends that was never started"},
    };
    fails_late = false;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        sc_context *ctx = sc_open();
        sc_engine e = fixed;
        e.alone = wrong[i].engine.alone ? wrong[i].engine.alone : e.alone;
        e.next = wrong[i].engine.next ? wrong[i].engine.next : e.next;
        e.finish = wrong[i].engine.finish ? wrong[i].engine.finish : e.finish;
        assert_int_equal(sc_engine_register(ctx, &e), SC_OK);
        assert_int_equal(sc_execute(request(ctx, "fixed")), SC_INPUT);
        assert_non_null(strstr(sc_error_message(ctx), wrong[i].message));
        sc_close(ctx);
    }
}

/* Every candidate of a search and every what-if has an engine of its own. */
static void in_worker_contexts(void **state) {
    (void)state;
    created = destroyed = 0;
    fails_late = false;
    sc_context *ctx = sc_open();
    assert_int_equal(sc_engine_register(ctx, &fixed), SC_OK);
    sc_request *req = sc_request_new(ctx, "plans");
    assert_int_equal(sc_request_set(req, "model", "llama2-7b"), SC_OK);
    assert_int_equal(sc_request_set(req, "gpus", "8"), SC_OK);
    assert_int_equal(sc_request_set(req, "global-batch", "8"), SC_OK);
    assert_int_equal(sc_request_set(req, "net", "fixed"), SC_OK);
    assert_int_equal(sc_execute(req), SC_OK);
    assert_true(created > 1);
    assert_int_equal(created, destroyed);
    sc_close(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_by_name),
        cmocka_unit_test(failures_end_the_run),
        cmocka_unit_test(per_context),
        cmocka_unit_test(bad_engines_are_refused),
        cmocka_unit_test(answers_that_cannot_be),
        cmocka_unit_test(in_worker_contexts),
    };
    return cmocka_run_group_tests(tests, write_goal, remove_goal);
}
