/* ahead: a .gz file unpacked by a thread of its own, some chunks ahead of the
 * reader, so that reading takes the longer of the two and not their sum. */
#ifndef SC_BASE_AHEAD_H
#define SC_BASE_AHEAD_H

#include <stddef.h>

struct sc__ahead;

/* gz is a gzFile; only the thread may touch it until the end was reached or
 * stop was called. NULL when there is no thread to be had. */
struct sc__ahead *sc__ahead_start(void *gz);
void sc__ahead_stop(struct sc__ahead *a);
/* Like gzread: bytes read, 0 at the end, < 0 on errors (gzerror has them). */
int sc__ahead_read(struct sc__ahead *a, void *to, size_t room);

#endif
