/* platform: what C17 does not have. Everything else in lib/ is plain C17 with
 * jansson, zlib and libyaml, so that another system needs another file like
 * platform_posix.c and nothing more. */
#ifndef SC_BASE_PLATFORM_H
#define SC_BASE_PLATFORM_H

#include <stdbool.h>

/* ---- memory that runs short ---- */

/* Calls work(self). True when it came back; false when sc__memory_exhausted was
 * called inside, at any depth, on this thread: its work ends there. Guards nest. */
bool sc__memory_guard(void (*work)(void *self), void *self);
/* Goes back to the innermost guard of this thread; without one the program ends. */
_Noreturn void sc__memory_exhausted(void);

#endif
