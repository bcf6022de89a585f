/* gunzip: bytes of a file, unpacked where it is gzip. Members follow each other
 * and count as one stream, as gzip has it; but what follows a member and is no
 * member is an error and not, as in zlib's gzread, the end: it may be one that was
 * damaged. Zeroes, which tapes and block devices add, are no damage. */
#ifndef SC_BASE_GUNZIP_H
#define SC_BASE_GUNZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sc__gunzip;

/* Takes the descriptor; NULL without memory, and it stays the caller's. */
struct sc__gunzip *sc__gunzip_open(int fd);
void sc__gunzip_close(struct sc__gunzip *g);
/* Looks at the first bytes. */
bool sc__gunzip_is_packed(struct sc__gunzip *g);
/* Bytes read, 0 at the end, < 0 on errors. */
int sc__gunzip_read(struct sc__gunzip *g, void *to, size_t room);
/* Bytes taken from the file so far, packed or not; another thread may be reading. */
uint64_t sc__gunzip_taken(const struct sc__gunzip *g);
/* Why it failed: a reason of the system, or 0 and what is wrong with the packing. */
int sc__gunzip_error(const struct sc__gunzip *g, const char **what);

#endif
