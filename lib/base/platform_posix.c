/* The only file of lib/ that calls POSIX and what Linux adds to it. */
#include "base/platform.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>

/* ---- memory that runs short ---- */

struct guard {
    struct guard *outer;
    jmp_buf back;
};

/* One chain a thread: a jump never leaves the stack it began on. */
static _Thread_local struct guard *innermost;

bool sc__memory_guard(void (*work)(void *self), void *self) {
    struct guard here = {.outer = innermost};
    if (setjmp(here.back) != 0) {
        innermost = here.outer;
        return false;
    }
    innermost = &here;
    work(self);
    innermost = here.outer;
    return true;
}

void sc__memory_exhausted(void) {
    if (!innermost)
        abort(); /* only in programs that call the inside of the library */
    longjmp(innermost->back, 1);
}
