/* driver: runs a fuzz target without libFuzzer: mutates the given files for a
 * number of seconds and leaves the case that crashed in crash-input.
 *     NAME_fuzz SECONDS SEED FILE…
 * FUZZ_DICTIONARY names a file of words to insert, a line each in quotes, as
 * libFuzzer reads them. */
#include "base/random.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* Changes of its own that a target may have. */
__attribute__((weak)) size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed);

#define MOST ((size_t)256 << 10)

static uint8_t current[MOST], other[MOST];
static size_t current_size;

static void keep_crash(int signal_number) {
    FILE *f = fopen("crash-input", "wb");
    if (f) {
        fwrite(current, 1, current_size, f);
        fclose(f);
    }
    static const char text[] = "crashed or hung: see crash-input\n";
    if (write(2, text, sizeof text - 1) < 0)
        _exit(3);
    _exit(signal_number == SIGALRM || signal_number == SIGPROF ? 4 : 3);
}

/* A case may take so many seconds of the processor, and of the clock where others
 * have the processor, too; 0: it has ended. */
static void limit_time(int cpu_seconds) {
    struct itimerval limit = {.it_value.tv_sec = cpu_seconds};
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(15 * (unsigned)cpu_seconds);
}

static size_t load(const char *path, uint8_t *to) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    size_t n = fread(to, 1, MOST, f);
    fclose(f);
    return n;
}

static void insert(uint64_t *seed, size_t at, const void *bytes, size_t n) {
    (void)seed;
    if (current_size + n > MOST)
        return;
    memmove(current + at + n, current + at, current_size - at);
    memcpy(current + at, bytes, n);
    current_size += n;
}

enum { WORDS = 512, WORD = 64 };
static char words[WORDS][WORD];
static size_t word_count;

/* A character of a word: itself, or \\, \" or \x0a for one that cannot stand there. */
static char next_character(const char **at) {
    const char *p = *at;
    unsigned code;
    int length = 0;
    if (sscanf(p, "\\x%2x%n", &code, &length) == 1) {
        *at += length;
        return (char)code;
    }
    p += *p == '\\';
    *at = p + 1;
    return *p;
}

/* "word" a line; lines of other kinds are comments. */
static void load_words(const char *path) {
    char line[WORD];
    FILE *f = path ? fopen(path, "r") : NULL;
    while (f && word_count < WORDS && fgets(line, sizeof line, f)) {
        const char *end = strrchr(line, '"');
        size_t n = 0;
        if (line[0] != '"' || end == line)
            continue;
        for (const char *p = line + 1; p < end;)
            words[word_count][n++] = next_character(&p);
        word_count++;
    }
    if (f)
        fclose(f);
}

static void mutate(uint64_t *seed, char **files, int count) {
    static const char *const tokens[] = {"-1",         "0",     "18446744073709551615",
                                         "4294967296", "1e308", "nan",
                                         ":",          ",",     "\n",
                                         "\t",         "(",     ")",
                                         "[",          "]",     "{",
                                         "}",          "\"",    "=",
                                         " ",          "%",     ".",
                                         "-",          "\r\n",  "9999999999999999999999"};
    if (!current_size)
        return;
    if (LLVMFuzzerCustomMutator && sc__random(seed) % 2) {
        unsigned own = (unsigned)sc__random(seed);
        current_size = LLVMFuzzerCustomMutator(current, current_size, MOST, own);
        return;
    }
    size_t at = sc__random(seed) % current_size;
    size_t n = 1 + sc__random(seed) % 32;
    if (at + n > current_size)
        n = current_size - at;
    switch (sc__random(seed) % (word_count ? 9 : 8)) {
    case 8: {
        const char *word = words[sc__random(seed) % word_count];
        insert(seed, at, word, strlen(word));
        break;
    }
    case 0:
        current[at] ^= (uint8_t)(1u << sc__random(seed) % 8);
        break;
    case 1:
        current[at] = (uint8_t)sc__random(seed);
        break;
    case 2: /* cut */
        memmove(current + at, current + at + n, current_size - at - n);
        current_size -= n;
        break;
    case 3:
        current_size = at;
        break; /* truncate */
    case 4: {  /* repeat */
        uint8_t copy[32];
        memcpy(copy, current + at, n);
        insert(seed, at, copy, n);
        break;
    }
    case 5: {
        const char *t = tokens[sc__random(seed) % (sizeof tokens / sizeof *tokens)];
        insert(seed, at, t, strlen(t));
        break;
    }
    case 6: { /* splice with another file */
        size_t m = load(files[sc__random(seed) % (uint64_t)count], other);
        if (!m)
            break;
        size_t from = sc__random(seed) % m;
        size_t take = m - from < 200 ? m - from : 200;
        insert(seed, at, other + from, take);
        break;
    }
    default: { /* replace a digit run by a token */
        size_t end = at;
        while (end < current_size && current[end] >= '0' && current[end] <= '9')
            end++;
        memmove(current + at, current + end, current_size - end);
        current_size -= end - at;
        const char *t = tokens[sc__random(seed) % 6];
        insert(seed, at, t, strlen(t));
    }
    }
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    double seconds = atof(argv[1]);
    uint64_t seed = strtoull(argv[2], NULL, 10);
    uint64_t runs = 0;
    struct timespec begin;
    struct timespec now;
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGALRM, SIGPROF};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], keep_crash);
    load_words(getenv("FUZZ_DICTIONARY"));
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        current_size = load(argv[3 + sc__random(&seed) % (uint64_t)(argc - 3)], current);
        uint64_t changes = sc__random(&seed) % 12;
        for (uint64_t i = 0; runs && i <= changes; i++)
            mutate(&seed, argv + 3, argc - 3);
        limit_time(20);
        LLVMFuzzerTestOneInput(current, current_size);
        limit_time(0);
        runs++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) +
                 (double)(now.tv_nsec - begin.tv_nsec) / 1e9 <
             seconds);
    printf("%llu cases\n", (unsigned long long)runs);
    return 0;
}
