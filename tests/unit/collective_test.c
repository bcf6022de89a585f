/* The collective model against the vectors of its specification, closed forms
 * and published plateaus. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ir/workload.h"
#include "machine/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct sc_context *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = sc_open();
    return ctx ? 0 : -1;
}

static int close_context(void **state) {
    (void)state;
    sc_close(ctx);
    return 0;
}

static struct sc__cluster cluster(const char *text) {
    struct sc__cluster c;
    sc_status status = sc__cluster_parse(ctx, text, 0, &c);
    if (status != SC_OK) fail_msg("%s: %s", text, sc_error_text(ctx));
    return c;
}

struct vector {
    const char *cluster;
    uint32_t ranks;
    int coll;
    uint64_t bytes;
    const char *algo, *proto;
    double us;
};

static void spec_vectors(void **state) {
    static const struct vector vectors[] = {
        {"dgx-h100:8", 8, SC__ALLREDUCE, 8192, "tree", "ll", 17.1},
        {"dgx-h100:8", 8, SC__ALLREDUCE, 16777216, "nvls", "simple", 118.8},
        {"dgx-h100:8", 8, SC__ALLREDUCE, 1073741824, "nvls", "simple", 4057.5},
        {"dgx-a100:8", 8, SC__ALLREDUCE, 1048576, "tree", "ll128", 71.9},
        {"dgx-a100:8", 8, SC__ALLREDUCE, 268435456, "ring", "simple", 2237.4},
        {"dgx-a100:16", 16, SC__ALLREDUCE, 1048576, "tree", "ll128", 109.7},
        {"dgx-h100:32 class=efa", 32, SC__ALLREDUCE, 4294967296, "ring", "simple", 23406.8},
        {"dgx-h100:16", 16, SC__ALLREDUCE, 67108864, "nvlstree", "simple", 396.8},
        {"dgx-b200:8", 8, SC__ALLREDUCE, 67108864, "nvls", "simple", 255.8},
        {"dgx-h100:8", 8, SC__ALLGATHER, 268435456, "ring", "simple", 738.0},
        {"dgx-h100:64", 64, SC__REDUCESCATTER, 268435456, "ring", "ll128", 1122.7},
        {"dgx-h100:64", 64, SC__ALLTOALL, 67108864, "direct", "simple", 1323.5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        const struct vector *v = &vectors[i];
        struct sc__cluster c = cluster(v->cluster);
        struct sc__shape s = sc__cluster_shape(&c, NULL, v->ranks);
        struct sc__price p = sc__collective_price(&c, v->coll, &s, v->bytes);
        printf("%s %d %llu: %s %s %.2f (%s %s %.1f)\n", v->cluster, v->coll, (unsigned long long)v->bytes,
               sc__algo_name(p.algo), sc__proto_name(p.proto), sc__us(p.time), v->algo, v->proto, v->us);
        assert_true(fabs(sc__us(p.time) - v->us) < 0.006 * v->us);
        assert_string_equal(sc__algo_name(p.algo), v->algo);
        assert_string_equal(sc__proto_name(p.proto), v->proto);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec_vectors),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
