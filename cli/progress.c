#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 32
#define PATIENCE 0.7 /* seconds before the line appears */
#define PAUSE 0.1    /* between two of its states */

static double began, shown;
/* A share that falls belongs to something new: what is left is told of that. */
static double stage_began, last_share;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* "  1:05 left", once there is something to go by. */
static void put_left(double spent, double share) {
    if (share < 0.05 || share >= 1)
        return;
    double left = spent * (1 - share) / share;
    if (left >= 3600)
        fprintf(stderr, "  %.1f h left ", left / 3600);
    else
        fprintf(stderr, "  %d:%02d left ", (int)(left / 60), (int)left % 60);
}

static int show(void *user, const char *what, double share) {
    double now = seconds();
    (void)user;
    if (now - began < PATIENCE || now - shown < PAUSE)
        return 0;
    int filled = share < 0 ? 0 : share > 1 ? WIDTH : (int)(share * WIDTH);
    if (share < last_share)
        stage_began = shown > 0 ? shown : began;
    last_share = share;
    shown = now;
    fprintf(stderr,
            "\r%-16s [%.*s%.*s] %3.0f %%",
            what,
            filled,
            "################################",
            WIDTH - filled,
            "                                ",
            100 * share);
    put_left(now - stage_began, share);
    fflush(stderr);
    return 0;
}

void progress_begin(sc_context *ctx) {
    const char *term = getenv("TERM");
    if (!isatty(STDERR_FILENO) || (term && !strcmp(term, "dumb")))
        return;
    began = seconds();
    stage_began = began;
    sc_set_progress(ctx, show, NULL);
}

void progress_end(void) {
    if (shown > 0)
        fprintf(stderr, "\r%*s\r", WIDTH + 40, "");
}
