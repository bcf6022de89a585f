#include "base/gunzip_ahead.h"

#include "base/platform.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 4, CHUNK = 256 << 10 };

struct sc__ahead {
    struct sc__thread *thread;
    struct sc__mutex *lock;
    struct sc__gunzip *gz;
    int size[CHUNKS];
    /* chunks that wait; the next to read; the next to fill */
    unsigned filled;
    unsigned take;
    unsigned put;
    size_t at; /* in the chunk being read; the reader's */
    int last;  /* what sc__gunzip_read said at the end */
    bool done;
    bool stop;
    unsigned char chunk[CHUNKS][CHUNK];
};

static bool wait_for_room(struct sc__ahead *a) {
    sc__mutex_lock(a->lock);
    while (a->filled == CHUNKS && !a->stop)
        sc__mutex_wait(a->lock);
    bool go = !a->stop;
    sc__mutex_unlock(a->lock);
    return go;
}

static void unpack(void *self) {
    struct sc__ahead *a = self;
    while (wait_for_room(a)) {
        int n = sc__gunzip_read(a->gz, a->chunk[a->put], CHUNK);
        sc__mutex_lock(a->lock);
        if (n > 0) {
            a->size[a->put] = n;
            a->put = (a->put + 1) % CHUNKS;
            a->filled++;
        } else {
            a->last = n;
            a->done = true;
        }
        sc__mutex_signal(a->lock);
        sc__mutex_unlock(a->lock);
        if (n <= 0)
            break;
    }
}

struct sc__ahead *sc__ahead_start(struct sc__gunzip *gz) {
    struct sc__ahead *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    a->gz = gz;
    a->lock = sc__mutex_new();
    a->thread = a->lock ? sc__thread_start(unpack, a) : NULL;
    if (a->thread)
        return a;
    if (a->lock)
        sc__mutex_free(a->lock);
    free(a);
    return NULL;
}

void sc__ahead_stop(struct sc__ahead *a) {
    if (!a)
        return;
    sc__mutex_lock(a->lock);
    a->stop = true;
    sc__mutex_signal(a->lock);
    sc__mutex_unlock(a->lock);
    sc__thread_join(a->thread);
    sc__mutex_free(a->lock);
    free(a);
}

static bool wait_for_chunk(struct sc__ahead *a) {
    sc__mutex_lock(a->lock);
    while (!a->filled && !a->done)
        sc__mutex_wait(a->lock);
    bool there = a->filled > 0;
    sc__mutex_unlock(a->lock);
    return there;
}

int sc__ahead_read(struct sc__ahead *a, void *to, size_t room) {
    if (!wait_for_chunk(a))
        return a->last;
    size_t have = (size_t)a->size[a->take] - a->at;
    size_t n = room < have ? room : have;
    memcpy(to, a->chunk[a->take] + a->at, n);
    a->at += n;
    if (n < have)
        return (int)n;
    a->at = 0;
    a->take = (a->take + 1) % CHUNKS;
    sc__mutex_lock(a->lock);
    a->filled--;
    sc__mutex_signal(a->lock);
    sc__mutex_unlock(a->lock);
    return (int)n;
}
