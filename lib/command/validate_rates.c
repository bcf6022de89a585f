/* validate_rates: rows of published steps that print a rate instead of a time. */
#include "command/validate.h"

#include <ctype.h>
#include <string.h>

/* What is printed, and the FLOPs, tokens or sequences of a step that it counts. */
enum printed { RATE_TOKENS, RATE_SEQUENCES, RATE_TFLOPS, RATE_MFU, RATE_SECONDS, RATES };

struct rate_name {
    const char *text;
    enum printed rate;
    bool per_gpu;
    double unit;
};

/* As `plain_words` leaves them. */
static const struct rate_name rate_names[] = {
    {"tokens/s/gpu", RATE_TOKENS, true, 1},
    {"tokens/s", RATE_TOKENS, false, 1},
    {"sequences/s/gpu", RATE_SEQUENCES, true, 1},
    {"sequences/s", RATE_SEQUENCES, false, 1},
    {"modeltflop/s/gpu", RATE_TFLOPS, true, 1e12},
    {"tflop/s/gpu", RATE_TFLOPS, true, 1e12},
    {"tflop/s", RATE_TFLOPS, true, 1e12},
    {"pflop/s", RATE_TFLOPS, false, 1e15},
    {"mfu", RATE_MFU, true, 1},
    {"mfu%", RATE_MFU, true, 1},
    {"iterationseconds", RATE_SECONDS, false, 1},
    {"iterationtime", RATE_SECONDS, false, 1},
    {"steptime", RATE_SECONDS, false, 1},
    {"stepseconds", RATE_SECONDS, false, 1},
    {"s/iteration", RATE_SECONDS, false, 1},
    {"s/step", RATE_SECONDS, false, 1},
    {"train_step_timing", RATE_SECONDS, false, 1},
    {"iterationms", RATE_SECONDS, false, 1e-3},
    {"iterationtimems", RATE_SECONDS, false, 1e-3},
    {"steptimems", RATE_SECONDS, false, 1e-3},
    {"ms/iteration", RATE_SECONDS, false, 1e-3},
    {"ms/step", RATE_SECONDS, false, 1e-3},
    {NULL, RATES, false, 0},
};

/* Words for the same, put for one another in this order; blanks go last. */
static const char *const same_words[][2] = {{"(seconds)", ""},
                                            {"(sec)", ""},
                                            {"(s)", ""},
                                            {"(ms)", "ms"},
                                            {" per ", "/"},
                                            {"/second", "/s"},
                                            {"/sec", "/s"},
                                            {"/device", "/gpu"},
                                            {"/accelerator", "/gpu"},
                                            {"/chip", "/gpu"},
                                            {"/gpu/s", "/s/gpu"},
                                            {"samples/", "sequences/"},
                                            {"sample/", "sequences/"},
                                            {"examples/", "sequences/"},
                                            {"seqs/", "sequences/"},
                                            {"seq/", "sequences/"},
                                            {"toks/", "tokens/"},
                                            {"tok/", "tokens/"},
                                            {"seconds/", "s/"},
                                            {"sec/", "s/"},
                                            {"/iter ", "/iteration "},
                                            {"/it ", "/iteration "},
                                            {"flops/s", "flop/s"},
                                            {"flops", "flop/s"},
                                            {" ", ""},
                                            {NULL, NULL}};

#define MOST_WORDS 256

/* Every `from` in the text becomes `to`; what would not fit is left as it is. */
static void put_for(char *text, const char *from, const char *to) {
    size_t n = strlen(from);
    size_t more = strlen(to);
    for (char *at = strstr(text, from); at; at = strstr(at + more, from)) {
        size_t rest = strlen(at + n) + 1;
        if ((size_t)(at - text) + more + rest > MOST_WORDS)
            return;
        memmove(at + more, at + n, rest);
        memcpy(at, to, more);
    }
}

/* In small letters, with one word for the same, without blanks: "TFLOPs/s per device" is
 * "tflop/s/gpu". */
static void plain_words(const char *text, char *out) {
    size_t n = 0;
    for (; text[n] && n < MOST_WORDS / 2; n++)
        out[n] = (char)tolower((unsigned char)text[n]);
    out[n++] = ' ';
    out[n] = 0;
    for (unsigned i = 0; same_words[i][0]; i++)
        put_for(out, same_words[i][0], same_words[i][1]);
}

static const struct rate_name *printed_rate(const struct sc__truth_row *row) {
    double value;
    char words[MOST_WORDS];
    if (!sc__parse_double(sc__str(row->cell[SC__TRUTH_VALUE]), &value) || !(value > 0))
        return NULL;
    plain_words(row->cell[SC__TRUTH_QUANTITY], words);
    for (const struct rate_name *n = rate_names; n->text; n++)
        if (!strcmp(words, n->text))
            return n;
    return NULL;
}

bool sc__truth_prints_rate(const struct sc__truth_row *row) {
    return printed_rate(row) != NULL;
}

double sc__truth_derived(const struct sc__truth_row *row, const struct sc__truth_rates *r) {
    const struct rate_name *name = printed_rate(row);
    double value = 0;
    if (!name)
        return 0;
    sc__parse_double(sc__str(row->cell[SC__TRUTH_VALUE]), &value);
    value *= name->unit;
    if (name->rate == RATE_SECONDS)
        return value;
    /* a share is printed as 0.4 or as 40 */
    double share = value > 1 ? value / 100 : value;
    const double step[] = {r->tokens, r->sequences, r->model_flops, r->model_flops};
    const double rate[] = {value, value, value, share * r->peak_flops};
    return step[name->rate] / rate[name->rate] / (name->per_gpu ? r->gpus : 1);
}
