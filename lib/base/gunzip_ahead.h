/* gunzip_ahead: a .gz file unpacked by a thread of its own, some chunks ahead of the
 * reader, so that reading takes the longer of the two and not their sum. */
#ifndef SC_BASE_GUNZIP_AHEAD_H
#define SC_BASE_GUNZIP_AHEAD_H

#include "base/gunzip.h"

struct sc__ahead;

/* Only the thread may touch gz until the end was reached or stop was called. NULL
 * when there is no thread to be had. */
struct sc__ahead *sc__ahead_start(struct sc__gunzip *gz);
void sc__ahead_stop(struct sc__ahead *a);
/* Like sc__gunzip_read. */
int sc__ahead_read(struct sc__ahead *a, void *to, size_t room);

#endif
