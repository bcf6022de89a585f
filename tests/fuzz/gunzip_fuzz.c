/* Any bytes as a packed file: what is unpacked is what zlib unpacks, member after
 * member, or it is refused. */
#include "base/gunzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST ((size_t)4 << 20)

/* All members of the bytes by zlib itself; -1: damaged, or something else follows. */
static long unpack_members(const uint8_t *data, size_t size, unsigned char *to) {
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)data, .avail_in = (unsigned)size};
    size_t done = 0;
    int code = Z_STREAM_END;
    if (inflateInit2(&z, 15 + 16) != Z_OK)
        abort();
    while (code == Z_STREAM_END && z.avail_in && *z.next_in) {
        inflateReset(&z);
        do {
            z.next_out = to + done;
            z.avail_out = (unsigned)(MOST - done);
            code = inflate(&z, Z_NO_FLUSH);
            done = MOST - z.avail_out;
        } while (code == Z_OK && z.avail_in && done < MOST);
    }
    bool zeroes = true;
    for (unsigned i = 0; i < z.avail_in; i++)
        zeroes = zeroes && !z.next_in[i];
    inflateEnd(&z);
    return code == Z_STREAM_END && zeroes ? (long)done : -1;
}

/* -1: refused. */
static long unpack_ours(struct sc__gunzip *g, unsigned char *to) {
    size_t done = 0;
    int n = 1;
    while (n > 0 && done < MOST) {
        n = sc__gunzip_read(g, to + done, MOST - done);
        done += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : (long)done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static unsigned char ours[MOST];
    static unsigned char theirs[MOST];
    int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
        abort();
    struct sc__gunzip *g = sc__gunzip_open(fd);
    bool packed = sc__gunzip_is_packed(g);
    long n = unpack_ours(g, ours);
    if (!packed && (n != (long)size || memcmp(ours, data, size)))
        abort();
    long wanted = packed ? unpack_members(data, size, theirs) : n;
    if (packed && n < (long)MOST && wanted < (long)MOST &&
        (n != wanted || (n > 0 && memcmp(ours, theirs, (size_t)n))))
        abort();
    sc__gunzip_close(g);
    return 0;
}
