/* Changes of command_fuzz's inputs that bytes alone rarely come to: an option of the
 * command that is asked, with a value of its kind, put in, put in place of another one, or
 * taken out. libFuzzer and our driver call it beside their own changes. */
#ifndef SC_TESTS_OPTION_MUTATOR_H
#define SC_TESTS_OPTION_MUTATOR_H

#include "base/data.h"
#include "base/random.h"
#include "command/command.h"

#include <stdio.h>
#include <string.h>

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed);
/* libFuzzer's own; our driver has none. */
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

enum { MOST_LINE = 256 };

#define PICK(list, random) ((list)[sc__random(random) % (sizeof(list) / sizeof *(list))])

static const char *pick_of_list(const char *const *names, uint64_t *random) {
    uint64_t n = 0;
    while (names[n])
        n++;
    return n ? names[sc__random(random) % n] : "x";
}

static const char *pick_choice(const struct sc__choice *choices, uint64_t *random) {
    uint64_t n = 0;
    while (choices[n].name)
        n++;
    return n ? choices[sc__random(random) % n].name : "x";
}

/* Values of text: what some option takes, and what the folder of the case may hold. */
static const char *pick_text(const struct sc__option *o, uint64_t *random) {
    static const char *const clusters[] = {"dgx-h100:8",
                                           "dgx-a100:16",
                                           "gb200-nvl72:8",
                                           "mi300x:16 nic=200Gbps",
                                           "a100-pcie:4",
                                           "h200:2 nvlink=200GB/s",
                                           "ideal:8"};
    static const char *const words[] = {"1",
                                        "0.5",
                                        "2,4",
                                        "auto",
                                        "x=2",
                                        "rank:0=1.5",
                                        "tp=1,2",
                                        "1us",
                                        "100GB/s",
                                        "t.csv",
                                        "out.txt",
                                        "w.json",
                                        "30min",
                                        "spares=2%",
                                        "core_attn",
                                        "1T"};
    if (!strcmp(o->name, "cluster"))
        return PICK(clusters, random);
    return PICK(words, random);
}

static const char *
pick_value(struct sc__arena *arena, const struct sc__option *o, uint64_t *random) {
    static const char *const wholes[] =
        {"0", "1", "2", "3", "4", "5", "8", "16", "64", "100"};
    static const char *const numbers[] = {"0", "0.5", "1", "1.25", "2", "100", "-1", "1e9"};
    static const char *const shares[] = {"0", "5%", "0.5", "100%", "1"};
    static const char *const sizes[] = {"0", "1", "64K", "1M", "25MB", "1GB"};
    static const char *const outputs[] = {"-", "out.json", "out.txt", "out.json.gz"};
    if (sc__option_is_output(o->name))
        return PICK(outputs, random);
    if (o->choices)
        return pick_choice(o->choices, random);
    if (o->folder)
        return pick_of_list(sc__data_names(arena, o->folder), random);
    switch (o->type) {
    case SC__TYPE_WHOLE:
        return PICK(wholes, random);
    case SC__TYPE_NUMBER:
        return PICK(numbers, random);
    case SC__TYPE_SHARE:
        return PICK(shares, random);
    case SC__TYPE_SIZE:
        return PICK(sizes, random);
    default:
        return pick_text(o, random);
    }
}

/* "name value\n" of an option that the command has. */
static size_t make_line(const char *command, uint64_t *random, char *line) {
    sc_context *ctx = sc_open();
    const struct sc__command *c = sc__command_find(ctx, command);
    int n = 0;
    if (c) {
        const struct sc__option **all = sc__command_options(&ctx->arena, c);
        uint32_t count = 0;
        while (all[count])
            count++;
        const struct sc__option *o = all[sc__random(random) % count];
        n = snprintf(line,
                     MOST_LINE,
                     o->arg ? "%s %s\n" : "%s\n",
                     o->name,
                     o->arg ? pick_value(&ctx->arena, o, random) : "");
    }
    sc_close(ctx);
    return n > 0 && n < MOST_LINE ? (size_t)n : 0;
}

/* Where the lines of options begin, and where a file or the bytes end them. */
static void find_options(const uint8_t *data, size_t size, size_t *begin, size_t *end) {
    const uint8_t *first = memchr(data, '\n', size);
    *begin = first ? (size_t)(first - data) + 1 : size;
    *end = *begin;
    while (*end < size && data[*end] != '%') {
        const uint8_t *next = memchr(data + *end, '\n', size - *end);
        *end = next ? (size_t)(next - data) + 1 : size;
    }
}

/* The begin of one of the lines of [begin, end), and its length with its end. */
static size_t
pick_line(const uint8_t *data, size_t begin, size_t end, uint64_t *random, size_t *length) {
    size_t at = begin + sc__random(random) % (end - begin);
    while (at > begin && data[at - 1] != '\n')
        at--;
    const uint8_t *next = memchr(data + at, '\n', end - at);
    *length = (next ? (size_t)(next - data) + 1 : end) - at;
    return at;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned int seed) {
    uint64_t random = seed;
    uint64_t kind = sc__random(&random) % 4;
    size_t begin;
    size_t end;
    size_t cut = 0;
    size_t n = 0;
    char command[MOST_LINE];
    char line[MOST_LINE];
    find_options(data, size, &begin, &end);
    if ((kind == 3 || begin == size) && LLVMFuzzerMutate)
        return LLVMFuzzerMutate(data, size, capacity);
    size_t at = begin;
    if (kind > 0 && end > begin) /* 0: put in; 1: put in place of another; 2: taken out */
        at = pick_line(data, begin, end, &random, &cut);
    size_t word = 0;
    while (word < begin && data[word] != ' ' && data[word] != '\n')
        word++;
    snprintf(command, sizeof command, "%.*s", (int)word, (const char *)data);
    if (kind < 2)
        n = make_line(command, &random, line);
    if (size - cut + n > capacity)
        return size;
    memmove(data + at + n, data + at + cut, size - at - cut);
    memcpy(data + at, line, n);
    return size - cut + n;
}

#endif
