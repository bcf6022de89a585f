/* spine_bench: what a whole run of the program costs, from start to exit.
 *
 *   seed 003           ratio to a program that does nothing
 *   1,000,000 rows     ratio to reading the same bytes
 *   1,048,576 GPUs     ratio to the same job with 1/16 of the replicas
 *   GPT-3 175B         ratio to the same step with half the micro-batches
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct cost {
    double seconds;
    long kilobytes;
};

/* The best of several runs: the rest is noise of the machine. */
static struct cost run(int times, char *const argv[]) {
    struct cost best = {1e9, 0};
    for (int i = 0; i < times; i++) {
        double begin = now();
        int status;
        struct rusage use;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            if (!freopen("/dev/null", "w", stdout))
                _exit(126);
            execv(argv[0], argv);
            _exit(127);
        }
        if (wait4(pid, &status, 0, &use) < 0 || status != 0) {
            fprintf(stderr, "%s %s failed\n", argv[0], argv[1] ? argv[1] : "");
            exit(1);
        }
        double seconds = now() - begin;
        if (seconds < best.seconds)
            best = (struct cost){seconds, use.ru_maxrss};
    }
    return best;
}

static void print(const char *name, struct cost c, struct cost base, const char *to) {
    printf("%-34s %9.1f ms %8.1f MB   %6.1f × %s\n",
           name,
           c.seconds * 1e3,
           (double)c.kilobytes / 1024,
           c.seconds / base.seconds,
           to);
}

/* A file like seed 003: 16 stages, micro-batches of 34 rows. */
static void write_rows(const char *path, unsigned micro_batches) {
    FILE *f = fopen(path, "w");
    if (!f)
        exit(1);
    fprintf(f,
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 16 vpp: "
            "1 ga: "
            "%u all_gpus: 1024\n%u\n",
            micro_batches,
            micro_batches * 34);
    for (unsigned m = 0; m < micro_batches; m++) {
        fputs("embedding_layer\t-"
              "1\t2456804\tALLREDUCE\t134217728\t1\tNONE\t0\t2864860\tNONE\t0\t100\n",
              f);
        for (unsigned l = 0; l < 8; l++)
            fputs("attention_column\t-"
                  "1\t5729721\tALLGATHER\t134217728\t2864860\tREDUCESCATTER\t0\t2864860\tNO"
                  "NE\t0\t1"
                  "00\n"
                  "attention_row\t-"
                  "1\t5729721\tREDUCESCATTER\t134217728\t2864860\tALLGATHER\t134217728\t286"
                  "4860\tNO"
                  "NE\t0\t100\n"
                  "mlp_column\t-"
                  "1\t5278888\tALLGATHER\t134217728\t5278888\tREDUCESCATTER\t0\t5278888\tNO"
                  "NE\t0\t1"
                  "00\n"
                  "mlp_row\t-"
                  "1\t5278888\tREDUCESCATTER\t134217728\t5278888\tALLGATHER\t134217728\t527"
                  "8888\tNO"
                  "NE\t0\t100\n",
                  f);
        fputs("final_column\t-"
              "1\t2864860\tALLGATHER\t134217728\t2864860\tREDUCESCATTER\t0\t2864860\tNONE\t"
              "0\t100\n",
              f);
    }
    fclose(f);
}

/* tp 8, pp 64, 128 micro-batches, 2 layers a stage; the rest data parallel. */
static void write_large_job(const char *path, unsigned gpus) {
    FILE *f = fopen(path, "w");
    if (!f)
        exit(1);
    fprintf(f,
            "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 64 vpp: "
            "1 ga: "
            "128 all_gpus: %u pp_comm: "
            "16777216\n%u\n",
            gpus,
            2 + 128 * 9);
    fputs("grad_gather -1 1 NONE 0 1 NONE 0 1 ALLGATHER 6401032192 100\n"
          "grad_param_comm -1 1 NONE 0 1 NONE 0 1 REDUCESCATTER 12802064384 100\n",
          f);
    for (unsigned m = 0; m < 128; m++) {
        fputs("embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 100\n", f);
        for (unsigned l = 0; l < 2; l++)
            fputs("attention_column -1 5729721 ALLGATHER 134217728 2864860 NONE 0 2864860 "
                  "NONE 0 "
                  "100\n"
                  "attention_row -1 5729721 REDUCESCATTER 134217728 2864860 ALLGATHER "
                  "134217728 "
                  "2864860 NONE 0 100\n"
                  "mlp_column -1 5278888 ALLGATHER 134217728 5278888 NONE 0 5278888 NONE 0 "
                  "100\n"
                  "mlp_row -1 5278888 REDUCESCATTER 134217728 5278888 ALLGATHER 134217728 "
                  "5278888 "
                  "NONE 0 100\n",
                  f);
    }
    fclose(f);
}

/* GPT-3 175B on 1024 GPUs, as the README has it: 8 sequences are a micro-batch of each
 * replica. */
static struct cost gpt3(char *program, char *global_batch) {
    return run(10,
               (char *[]){program,
                          "run",
                          "--model",
                          "gpt3-175b",
                          "--gpus",
                          "1024",
                          "--tp",
                          "8",
                          "--pp",
                          "16",
                          "--micro-batch",
                          "1",
                          "--global-batch",
                          global_batch,
                          "--seq",
                          "2048",
                          "--recompute",
                          "selective",
                          "--sequence-parallel",
                          "--cluster",
                          "dgx-h100:1024",
                          NULL});
}

int main(void) {
    char *program = getenv("STEPCAST");
    char rows[] = "/tmp/stepcast_bench_rows.txt";
    char large[] = "/tmp/stepcast_bench_large.txt";
    char small[] = "/tmp/stepcast_bench_small.txt";
    if (!program)
        program = "build/stepcast";
    write_rows(rows, 29412);
    write_large_job(large, 1048576);
    write_large_job(small, 65536);
    struct cost nothing = run(20, (char *[]){"/bin/true", NULL});
    struct cost reading = run(5, (char *[]){"/usr/bin/wc", "-l", rows, NULL});
    print("seed 003",
          run(20,
              (char *[]){program,
                         "run",
                         "tests/data/seed_003.txt",
                         "--cluster",
                         "dgx-h100:1024",
                         NULL}),
          nothing,
          "a program that does nothing");
    print("seed 004",
          run(20,
              (char *[]){program,
                         "run",
                         "tests/data/seed_004.txt",
                         "--cluster",
                         "dgx-h100:512",
                         NULL}),
          nothing,
          "a program that does nothing");
    print("1,000,008 rows, 16 stages",
          run(3, (char *[]){program, "run", rows, NULL}),
          reading,
          "counting its lines");
    struct cost few = run(5, (char *[]){program, "run", small, NULL});
    print("1,048,576 GPUs",
          run(5, (char *[]){program, "run", large, NULL}),
          few,
          "the same on 65,536");
    struct cost half = gpt3(program, "1536");
    print("GPT-3, 192 micro-batches", half, nothing, "a program that does nothing");
    print("GPT-3, 384 micro-batches",
          gpt3(program, "3072"),
          half,
          "the same with 192 micro-batches");
    unlink(rows);
    unlink(large);
    unlink(small);
    return 0;
}
