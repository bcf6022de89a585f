#include "base/gunzip.h"

#include "base/platform.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define RAW ((size_t)256 << 10)
#define GZIP_ONLY (15 + 16) /* zlib's word for the largest window, with gzip's header */

struct sc__gunzip {
    int fd;
    bool looked;
    bool packed;
    bool in_member;
    bool padded; /* zeroes after the last member */
    bool at_end; /* of the file */
    int reason;
    const char *wrong;
    atomic_uint_least64_t taken;
    z_stream z; /* next_in, avail_in: what was read and not yet used */
    unsigned char raw[RAW];
};

struct sc__gunzip *sc__gunzip_open(int fd) {
    struct sc__gunzip *g = calloc(1, sizeof *g);
    if (g)
        g->fd = fd;
    return g;
}

void sc__gunzip_close(struct sc__gunzip *g) {
    if (!g)
        return;
    if (g->packed)
        inflateEnd(&g->z);
    sc__file_close(g->fd);
    free(g);
}

int sc__gunzip_error(const struct sc__gunzip *g, const char **what) {
    *what = g->wrong ? g->wrong : "damaged";
    return g->reason;
}

uint64_t sc__gunzip_taken(const struct sc__gunzip *g) {
    return atomic_load_explicit(&g->taken, memory_order_relaxed);
}

/* More raw bytes behind those that are there; false on errors. */
static bool read_raw(struct sc__gunzip *g) {
    size_t got;
    if (g->z.avail_in)
        memmove(g->raw, g->z.next_in, g->z.avail_in);
    g->z.next_in = g->raw;
    g->reason = sc__file_read(g->fd, g->raw + g->z.avail_in, RAW - g->z.avail_in, &got);
    if (g->reason)
        return false;
    g->z.avail_in += (unsigned)got;
    g->at_end = got == 0;
    atomic_fetch_add_explicit(&g->taken, got, memory_order_relaxed);
    return true;
}

static bool look(struct sc__gunzip *g) {
    if (g->looked)
        return !g->reason && !g->wrong;
    g->looked = true;
    while (g->z.avail_in < 2 && !g->at_end)
        if (!read_raw(g))
            return false;
    if (g->z.avail_in < 2 || g->raw[0] != 0x1f || g->raw[1] != 0x8b)
        return true;
    if (inflateInit2(&g->z, GZIP_ONLY) != Z_OK) {
        g->wrong = "out of memory";
        return false;
    }
    g->packed = true;
    g->in_member = true;
    return true;
}

bool sc__gunzip_is_packed(struct sc__gunzip *g) {
    return look(g) && g->packed;
}

static int read_plain(struct sc__gunzip *g, void *to, size_t room) {
    if (!g->z.avail_in && !g->at_end && !read_raw(g))
        return -1;
    size_t n = g->z.avail_in < room ? g->z.avail_in : room;
    if (n)
        memcpy(to, g->z.next_in, n);
    g->z.next_in += n;
    g->z.avail_in -= (unsigned)n;
    return (int)n;
}

/* Between two members: what comes is the next one, or nothing but zeroes. */
static bool begin_member(struct sc__gunzip *g) {
    for (; g->z.avail_in && !*g->z.next_in; g->z.avail_in--) {
        g->z.next_in++;
        g->padded = true;
    }
    if (!g->z.avail_in)
        return true;
    if (g->padded) {
        g->wrong = "bytes that are not packed after the packed ones";
        return false;
    }
    inflateReset(&g->z);
    g->in_member = true;
    return true;
}

/* Unpacks from what was read; false on errors. */
static bool unpack_some(struct sc__gunzip *g) {
    if (!g->in_member && !begin_member(g))
        return false;
    if (!g->in_member)
        return true;
    int code = inflate(&g->z, Z_NO_FLUSH);
    if (code == Z_STREAM_END)
        g->in_member = false;
    if (code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR)
        return true;
    g->wrong = code == Z_MEM_ERROR ? "out of memory" : g->z.msg ? g->z.msg : "damaged";
    return false;
}

int sc__gunzip_read(struct sc__gunzip *g, void *to, size_t room) {
    if (!look(g))
        return -1;
    if (!g->packed)
        return read_plain(g, to, room);
    g->z.next_out = to;
    g->z.avail_out = (unsigned)room;
    while (g->z.avail_out == room) {
        if (!g->z.avail_in && !g->at_end && !read_raw(g))
            return -1;
        if (!g->z.avail_in && !g->in_member)
            return 0;
        /* what inflate still holds may come without more input */
        if (!unpack_some(g))
            return -1;
        if (g->z.avail_out == room && g->in_member && g->at_end && !g->z.avail_in) {
            g->wrong = "unexpected end of file";
            return -1;
        }
    }
    return (int)(room - g->z.avail_out);
}
