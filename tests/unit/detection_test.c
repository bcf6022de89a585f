/* Which reader takes which file: of all samples, one at most is the surest, and what
 * the table of other formats says is of files that no reader takes. */
#include "frontend/identify.h"
#include "frontend/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

extern const struct sc__reader sc__reader_kineto;

struct tally {
    unsigned files;
    unsigned read;
    unsigned doubtful;
};

static void look_at(const char *path, struct tally *t) {
    sc_context *ctx = sc_open();
    struct sc__input in;
    if (sc__input_open(ctx, path, &in) == SC_OK) {
        if (sc__input_fill_text(&in, 64 << 10) == SC_OK) {
            int most = 0;
            unsigned surest = 0;
            for (const struct sc__reader *const *r = sc__readers; *r; r++) {
                int sure =
                    (*r)->detect(in.bytes + in.begin, in.end - in.begin, path, false);
                if (sure > most)
                    surest = 0;
                if (sure > most)
                    most = sure;
                surest += sure && sure == most;
            }
            t->files++;
            t->read += most > 0;
            if (most && surest > 1) {
                print_error("%s: %u readers are equally sure\n", path, surest);
                t->doubtful++;
            }
        }
        sc__input_close(&in);
    }
    sc_close(ctx);
}

static void look_into(const char *folder, unsigned depth, struct tally *t) {
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[2048];
        struct stat info;
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (stat(path, &info))
            continue;
        if (S_ISDIR(info.st_mode) && depth < 4)
            look_into(path, depth + 1, t);
        else if (S_ISREG(info.st_mode) && info.st_size)
            look_at(path, t);
    }
    if (d)
        closedir(d);
}

static void test_one_reader_is_the_surest(void **state) {
    static const char *const folders[] = {"tests/data",
                                          "tests/fuzz/corpus",
                                          "../shared/inputs",
                                          "../shared/seeds"};
    struct tally t = {0};
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        look_into(folders[i], 0, &t);
    assert_true(t.files > 100);
    assert_true(t.read > 10);
    assert_int_equal(t.doubtful, 0);
}

/* The reader that is surest of a file; NULL: none takes it. */
static const char *surest_of(const char *path) {
    sc_context *ctx = sc_open();
    struct sc__input in;
    const char *name = NULL;
    assert_int_equal(sc__input_open(ctx, path, &in), SC_OK);
    assert_int_equal(sc__input_fill_text(&in, 64 << 10), SC_OK);
    int most = 0;
    for (const struct sc__reader *const *r = sc__readers; *r; r++) {
        int sure = (*r)->detect(in.bytes + in.begin, in.end - in.begin, path, false);
        if (sure > most) {
            most = sure;
            name = (*r)->name;
        }
    }
    sc__input_close(&in);
    sc_close(ctx);
    return name;
}

/* A row for each format: a sample, and who must take it. */
static void test_sample_by_sample(void **state) {
    static const struct {
        const char *file;
        const char *reader; /* NULL: none, it is for another option */
    } samples[] = {
        {"tests/fuzz/corpus/aicb_csv/one_stage.csv", "aicb-csv"},
        {"tests/fuzz/corpus/aicb_csv/two_stages.csv", "aicb-csv"},
        {"tests/fuzz/corpus/neusight_csv/two_layers.csv", "neusight-csv"},
        {"tests/data/seed_000.txt", "operator-table"},
        {"tests/fuzz/corpus/cluster/nvidia_smi", NULL},
        {"tests/fuzz/corpus/cluster/ibnetdiscover", NULL},
        {"tests/fuzz/corpus/cluster/nccl", NULL},
        {"tests/fuzz/corpus/cluster/htsim", NULL},
        {"tests/fuzz/corpus/cluster/astra1", NULL},
        {"tests/fuzz/corpus/host_trace/old.json", NULL},
        {"tests/fuzz/corpus/host_trace/new.json", NULL},
        {"tests/data/kernels_reference.csv", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *got = surest_of(samples[i].file);
        if (samples[i].reader)
            assert_string_equal(got ? got : "none", samples[i].reader);
        else
            assert_null(got);
    }
}

/* Beginnings of files, and the words that their description must have. */
static void test_other_formats(void **state) {
    static const struct {
        const char *head;
        const char *what;
    } samples[] = {
        {"{\n \"model_type\": \"llama\" }", "Hugging Face"},
        {"{\"schema\": \"1.0.1\", \"nodes\": [{\"op_schema\": \"\"", "PyTorch's host"},
        {"{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [{\"ctrl_deps\": 2", "host"},
        {"{\"dimensions-count\": 2, \"topologies-per-dim\": [", "ASTRA-sim 1"},
        {"<system version=\"1\">\n <cpu numaid=\"0\">\n <pci", "NCCL's"},
        {"Nodes 8\nTiers 3\n\nTier 0\nRadix_Down 2\n", "htsim"},
        {"41 25 52\n16 17\n16 0 4800Gbps 0.1ms 0\n", "ns-3"},
        {"128 8 16 10 400 H100\n1 2\n0 1 400Gbps 1us 0\n", "SimAI"},
        {"train_iter:10\nEmb:\n    time_gpu_avg: 799\n", "AIOB"},
        {"\tGPU0\tGPU1\tNIC0\tCPU Affinity\n", "nvidia-smi"},
        {"vendid=0x2c9\nswitchguid=0x1(1)\nSwitch\t36 \"S-1\"\n", "ibnetdiscover"},
        {"#!/bin/bash\n#SBATCH --nodes=4\n", "SLURM"},
        {"{\"zero_optimization\": {\"stage\": 3}}", "DeepSpeed"},
        {"[{\"name\": \"add\", \"ph\": \"X\", \"pid\": \"CPU functions\"}]", "autograd"},
        {"{\"metadata\":{\"highres-ticks\":true},\"traceEvents\":[{\"ph\":\"M\"}]}", "XLA"},
        {"[{\"ph\":\"M\",\"args\":{\"name\":\"Ascend Hardware\"}}]", "Ascend"},
        {"[{\"ph\": \"b\", \"args\": {\"CommHash\": 1}}]", "NCCL's profiler"},
        {"{\"segments\": [], \"device_traces\": [[]]}", "snapshot of PyTorch's memory"},
        {"| PyTorch CUDA memory summary, device ID 0 |\n| Allocated memory |", "summary"},
        {"---- DeepSpeed Flops Profiler ----\n", "flops profiler"},
        {"a:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 8\n", "NCCL_DEBUG"},
        {" iteration 10/ 500 | elapsed time per iteration (ms): 8261.3 |\n", "Megatron's"},
        {"==PROF== Connected\n    Section: GPU Speed\n", "Nsight Compute"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sc__identity *is =
            sc__identify(samples[i].head, strlen(samples[i].head));
        assert_non_null(is);
        assert_non_null(strstr(is->what, samples[i].what));
    }
    static const char *const none[] =
        {"", "hello", "{}", "1 2 3\n", "\1\2\3", "{\"a\": 1}"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_null(sc__identify(none[i], strlen(none[i])));
}

/* Traces of other profilers in Chrome's form are not taken for Kineto's; one without an
 * event is. */
static void test_traces_of_other_profilers(void **state) {
    static const struct {
        const char *head;
        bool kineto;
    } samples[] = {
        {"{\"traceEvents\": []}", true},
        {"[{\"ph\": \"X\", \"cat\": \"kernel\"}]", true},
        {"[{\"name\": \"add\", \"ph\": \"X\", \"pid\": \"CPU functions\"}]", false},
        {"{\"metadata\":{\"highres-ticks\":true},\"traceEvents\":[{\"ph\":\"M\"}]}", false},
        {"[{\"ph\":\"M\",\"cat\":\"cpu_op\",\"args\":{\"name\":\"Ascend Hardware\"}}]",
         false},
        {"[{\"ph\": \"b\", \"args\": {\"CommHash\": 1}}]", false},
        {"[]", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const unsigned char *head = (const unsigned char *)samples[i].head;
        int sure = sc__reader_kineto.detect(head, strlen(samples[i].head), "x", false);
        assert_int_equal(sure > 0, samples[i].kineto);
    }
}

static void test_names_tell_what_bytes_do_not(void **state) {
    (void)state;
    assert_non_null(strstr(sc__identify_name("a/train.py")->what, "Python"));
    assert_non_null(strstr(sc__identify_name("r.nsys-rep")->advice, "nsys export"));
    assert_non_null(strstr(sc__identify_name("host.xplane.pb")->what, "XLA"));
    assert_null(sc__identify_name("trace.json"));
    assert_null(sc__identify_name("-"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_reader_is_the_surest),
        cmocka_unit_test(test_sample_by_sample),
        cmocka_unit_test(test_other_formats),
        cmocka_unit_test(test_traces_of_other_profilers),
        cmocka_unit_test(test_names_tell_what_bytes_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
