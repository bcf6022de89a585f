/* platform: what C17 does not have. Everything else in lib/ is plain C17 with
 * jansson, zlib and libyaml, so that another system needs another file like
 * platform_posix.c and nothing more.
 *
 * A function that can fail for a reason of the system answers with it: 0, or a
 * number that strerror knows. */
#ifndef SC_BASE_PLATFORM_H
#define SC_BASE_PLATFORM_H

#include "base/arena.h"

#include <stdbool.h>

/* ---- memory ---- */

/* Calls work(self). True when it came back; false when sc__memory_exhausted was
 * called inside, at any depth, on this thread: its work ends there. Guards nest.
 * Inside, numbers are read and written with a decimal point, whatever locale the
 * program around the library has set; afterwards the thread has its own again. */
bool sc__memory_guard(void (*work)(void *self), void *self);
/* Goes back to the innermost guard of this thread; without one the program ends. */
_Noreturn void sc__memory_exhausted(void);

/* Pages of zeroes that take no memory until they are written; NULL when there
 * are none. They grow without being copied, perhaps to another address. */
void *sc__pages_take(size_t bytes);
void *sc__pages_grow(void *pages, size_t bytes, size_t new_bytes);
void sc__pages_give(void *pages, size_t bytes);

/* The bytes that the process may map (ulimit -v) or the machine has, whichever
 * is less. */
uint64_t sc__memory_allowed(void);

/* ---- paths and folders ---- */

enum sc__path_kind { SC__PATH_NONE, SC__PATH_FILE, SC__PATH_FOLDER, SC__PATH_OTHER };

struct sc__path_info {
    enum sc__path_kind kind; /* of what a link leads to */
    uint64_t bytes;          /* of a file */
};

struct sc__path_info sc__path_look(const char *path);
bool sc__path_is_folder(const char *path);
bool sc__path_readable(const char *path);
/* Both are there, and are one regular file. */
bool sc__path_same_file(const char *a, const char *b);
/* Without links and dots; of a link to a file that is not there yet that file's path.
 * NULL where it leads nowhere. */
char *sc__path_real(struct sc__arena *a, const char *path);

/* It may be there already. */
int sc__folder_make(const char *path);

struct sc__folder;
/* NULL: *reason says why. */
struct sc__folder *sc__folder_open(const char *path, int *reason);
/* The names in it, in no order; NULL after the last. */
const char *sc__folder_next(struct sc__folder *f);
void sc__folder_close(struct sc__folder *f);

/* ---- files ---- */

/* The reason of the call of the C library or of zlib that just failed. */
int sc__reason_now(void);
/* The path is wrong, rather than the system. */
bool sc__reason_is_path(int reason);

/* For reading; "-" is standard input. */
int sc__file_open(const char *path, int *fd);
/* got is 0 at the end. */
int sc__file_read(int fd, void *bytes, size_t size, size_t *got);
int sc__file_write(int fd, const char *bytes, size_t size);
int sc__file_close(int fd);
/* A file in memory, gone with its descriptor, and a path that opens it again. */
int sc__memory_file(struct sc__arena *a, int *fd, const char **path);

/* A file that appears whole or not at all. Where the system has files without a
 * name it is one until its end, so that nothing is left behind when the program
 * is killed; else it has a temporary name beside the path. What is no regular
 * file (a pipe, /dev/null) is written in place. */
struct sc__new_file {
    const char *path;
    char *temporary; /* NULL: written in place */
    int fd;          /* -1: not open */
    int mode;        /* of the file it replaces; -1: none */
    bool nameless;   /* the temporary name is not taken yet */
};

int sc__new_file_open(struct sc__arena *a, const char *path, struct sc__new_file *f);
/* Another descriptor of it, which its taker closes. */
int sc__new_file_share(const struct sc__new_file *f, int *fd);
/* Closes it; keep lets it appear, else nothing is left. */
int sc__new_file_end(struct sc__arena *a, struct sc__new_file *f, bool keep);

/* ---- names ---- */

/* A name against a pattern of a shell: * ? [a-z]. */
bool sc__name_matches(const char *pattern, const char *name);

/* An extended regular expression of POSIX, and where its groups are in the text; the first
 * is the whole. */
struct sc__regex_group {
    bool matched;
    size_t begin;
    size_t end;
};
#define SC__REGEX_GROUPS 10
enum sc__regex_answer { SC__REGEX_NO, SC__REGEX_YES, SC__REGEX_WRONG };
enum sc__regex_answer sc__regex_match(const char *pattern,
                                      const char *text,
                                      struct sc__regex_group groups[SC__REGEX_GROUPS]);

/* ---- threads ---- */

struct sc__thread;
/* NULL when there is none to be had. */
struct sc__thread *sc__thread_start(void (*work)(void *self), void *self);
void sc__thread_join(struct sc__thread *t);
/* How many of them can run at once. */
unsigned sc__cores(void);

/* A lock with a condition to wait for. */
struct sc__mutex;
/* NULL when there is no memory. */
struct sc__mutex *sc__mutex_new(void);
void sc__mutex_free(struct sc__mutex *m);
void sc__mutex_lock(struct sc__mutex *m);
void sc__mutex_unlock(struct sc__mutex *m);
/* Both while it is locked: waits until somebody signals; wakes who waits. */
void sc__mutex_wait(struct sc__mutex *m);
void sc__mutex_signal(struct sc__mutex *m);

#endif
