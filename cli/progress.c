#include "progress.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define WIDTH 32
#define WORDS 40     /* beside the bar: what, per cent, time left */
#define PATIENCE 0.7 /* seconds before the line appears */
#define PAUSE 0.1    /* between two of its states */

static double began, shown;
static int bar = WIDTH;
static bool visible;
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
    int filled = share < 0 ? 0 : share > 1 ? bar : (int)(share * bar);
    if (share < last_share)
        stage_began = shown > 0 ? shown : began;
    last_share = share;
    shown = now;
    visible = true;
    fprintf(stderr,
            "\r%-16s [%.*s%.*s] %3.0f %%",
            what,
            filled,
            "################################",
            bar - filled,
            "                                ",
            100 * share);
    put_left(now - stage_began, share);
    fflush(stderr);
    return 0;
}

/* A line that is broken in two could not be written over. */
static int fitting_bar(void) {
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col)
        return WIDTH;
    int room = size.ws_col - WORDS;
    return room < 0 ? 0 : room < WIDTH ? room : WIDTH;
}

void progress_begin(sc_context *ctx) {
    const char *term = getenv("TERM");
    if (!isatty(STDERR_FILENO) || (term && !strcmp(term, "dumb")))
        return;
    bar = fitting_bar();
    began = seconds();
    stage_began = began;
    sc_set_progress(ctx, show, NULL);
}

void progress_hide(void) {
    if (!visible)
        return;
    fprintf(stderr, "\r%*s\r", bar + WORDS - 1, "");
    fflush(stderr);
    visible = false;
}
