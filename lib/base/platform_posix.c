/* The only file of lib/ that calls POSIX and what Linux adds to it. */
#define _GNU_SOURCE
#include "base/platform.h"

#include "base/context.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <locale.h>
#include <pthread.h>
#include <regex.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- numbers ---- */

static locale_t plain_locale;

static void make_plain_locale(void) {
    plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* strtod and printf follow the thread's locale; a host that has set one with a
 * decimal comma would change what the library reads and writes. Returns the
 * locale to go back to. */
static locale_t enter_plain_locale(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_plain_locale);
    return plain_locale ? uselocale(plain_locale) : (locale_t)0;
}

static void leave_plain_locale(locale_t back) {
    if (back)
        uselocale(back);
}

/* ---- memory ---- */

struct guard {
    struct guard *outer;
    locale_t locale; /* the host's, or that of the guard around this one */
    jmp_buf back;
};

/* One chain a thread: a jump never leaves the stack it began on. */
static _Thread_local struct guard *innermost;

static void leave_guard(const struct guard *g) {
    innermost = g->outer;
    leave_plain_locale(g->locale);
}

bool sc__memory_guard(void (*work)(void *self), void *self) {
    struct guard here = {.outer = innermost, .locale = enter_plain_locale()};
    if (setjmp(here.back) != 0) {
        leave_guard(&here);
        return false;
    }
    innermost = &here;
    work(self);
    leave_guard(&here);
    return true;
}

void sc__memory_exhausted(void) {
    if (!innermost)
        abort(); /* only in programs that call the inside of the library */
    longjmp(innermost->back, 1);
}

void *sc__pages_take(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void *sc__pages_grow(void *pages, size_t bytes, size_t new_bytes) {
    void *moved = mremap(pages, bytes, new_bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void sc__pages_give(void *pages, size_t bytes) {
    munmap(pages, bytes);
}

uint64_t sc__memory_allowed(void) {
    struct rlimit limit;
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < bytes)
        bytes = limit.rlim_cur;
    return bytes;
}

/* ---- paths and folders ---- */

/* Where Linux shows open files; a root without /proc (an empty one) has no such paths. */
#define OPEN_FILES "/proc/self/fd/"

/* The open file that a path of sc__memory_file means; -1: it is another path. */
static int open_file_of(const char *path) {
    size_t n = sizeof OPEN_FILES - 1;
    return strncmp(path, OPEN_FILES, n) == 0 && path[n] ? atoi(path + n) : -1;
}

static int look_at_path(const char *path, struct stat *st) {
    int fd = open_file_of(path);
    return fd < 0 ? stat(path, st) : fstat(fd, st);
}

struct sc__path_info sc__path_look(const char *path) {
    struct stat st;
    if (look_at_path(path, &st) != 0)
        return (struct sc__path_info){.kind = SC__PATH_NONE};
    if (S_ISREG(st.st_mode))
        return (struct sc__path_info){SC__PATH_FILE, (uint64_t)st.st_size};
    return (struct sc__path_info){.kind = S_ISDIR(st.st_mode) ? SC__PATH_FOLDER
                                                              : SC__PATH_OTHER};
}

bool sc__path_is_folder(const char *path) {
    return sc__path_look(path).kind == SC__PATH_FOLDER;
}

bool sc__path_readable(const char *path) {
    return access(path, R_OK) == 0 || fcntl(open_file_of(path), F_GETFD) >= 0;
}

bool sc__path_same_file(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* As many as the system follows. */
#define MOST_LINKS 40u

/* What a link names, which need not be there; NULL where the path is no link. */
static char *link_target(struct sc__arena *a, const char *path) {
    char text[4096];
    ssize_t n = readlink(path, text, sizeof text);
    const char *slash = strrchr(path, '/');
    if (n <= 0 || n == (ssize_t)sizeof text)
        return NULL;
    int folder = *text == '/' || !slash ? 0 : (int)(slash + 1 - path);
    return sc__format(a, "%.*s%.*s", folder, path, (int)n, text);
}

char *sc__path_real(struct sc__arena *a, const char *path) {
    char *found = NULL;
    char *real = realpath(path, NULL);
    if (!real && access(path, F_OK) == 0)
        return NULL; /* a pipe by its name in /proc, which has no path */
    for (unsigned links = 0; !real && links < MOST_LINKS; links++) {
        char *target = link_target(a, path);
        if (!target)
            return found;
        path = found = target;
        real = realpath(path, NULL);
    }
    if (!real)
        return NULL;
    found = sc__strdup(a, real);
    free(real);
    return found;
}

int sc__folder_make(const char *path) {
    return mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
}

/* A struct sc__folder is a DIR of the system's. */
struct sc__folder *sc__folder_open(const char *path, int *reason) {
    DIR *d = opendir(path);
    *reason = d ? 0 : errno;
    return (struct sc__folder *)d;
}

const char *sc__folder_next(struct sc__folder *f) {
    struct dirent *e = readdir((DIR *)f);
    return e ? e->d_name : NULL;
}

void sc__folder_close(struct sc__folder *f) {
    closedir((DIR *)f);
}

/* ---- files ---- */

int sc__reason_now(void) {
    return errno ? errno : EIO;
}

bool sc__reason_is_path(int reason) {
    return reason == ENOENT || reason == EISDIR || reason == EACCES;
}

/* A copy with a place of its own to read from. */
static int copy_memory_file(int from) {
    char bytes[65536];
    int fd = memfd_create("stepcast", MFD_CLOEXEC);
    off_t at = 0;
    ssize_t n = 0;
    while (fd >= 0 && (n = pread(from, bytes, sizeof bytes, at)) > 0) {
        at += n;
        if (sc__file_write(fd, bytes, (size_t)n))
            break;
    }
    if (fd >= 0 && (n != 0 || lseek(fd, 0, SEEK_SET) < 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int sc__file_open(const char *path, int *fd) {
    *fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
    if (*fd < 0 && errno == ENOENT && open_file_of(path) >= 0)
        *fd = copy_memory_file(open_file_of(path));
    return *fd < 0 ? errno : 0;
}

int sc__file_read(int fd, void *bytes, size_t size, size_t *got) {
    ssize_t n;
    do
        n = read(fd, bytes, size);
    while (n < 0 && errno == EINTR);
    *got = n > 0 ? (size_t)n : 0;
    return n < 0 ? sc__reason_now() : 0;
}

int sc__file_write(int fd, const char *bytes, size_t size) {
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return sc__reason_now();
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

int sc__file_close(int fd) {
    return close(fd) < 0 ? errno : 0;
}

int sc__memory_file(struct sc__arena *a, int *fd, const char **path) {
    *fd = memfd_create("stepcast", MFD_CLOEXEC);
    if (*fd < 0)
        return errno;
    *path = sc__format(a, OPEN_FILES "%d", *fd);
    return 0;
}

/* A file in the folder of the path that has no name yet. */
static bool open_nameless(struct sc__arena *a, struct sc__new_file *f) {
    const char *slash = strrchr(f->path, '/');
    const char *folder =
        slash ? sc__strndup(a, f->path, (size_t)(slash - f->path) + 1) : ".";
    if (access("/proc/self/fd", X_OK) < 0)
        return false; /* naming it takes that */
    f->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    f->nameless = f->fd >= 0;
    return f->nameless;
}

int sc__new_file_open(struct sc__arena *a, const char *path, struct sc__new_file *f) {
    struct stat st;
    bool exists = stat(path, &st) == 0;
    *f = (struct sc__new_file){.path = path, .fd = -1, .mode = -1};
    if (!exists && errno == ELOOP)
        return errno;
    if (exists)
        f->mode = st.st_mode & 0777;
    if (exists && !S_ISREG(st.st_mode)) {
        f->fd = open(path, O_WRONLY | O_CLOEXEC);
        return f->fd < 0 ? errno : 0;
    }
    /* a new file takes its place, so that its own protection would not hold */
    if (exists && (!(st.st_mode & 0222) || access(path, W_OK) < 0))
        return EACCES;
    f->temporary = sc__format(a, "%s.XXXXXX", path);
    if (open_nameless(a, f))
        return 0;
    f->fd = mkostemp(f->temporary, O_CLOEXEC);
    if (f->fd >= 0)
        return 0;
    f->temporary = NULL;
    return errno;
}

int sc__new_file_share(const struct sc__new_file *f, int *fd) {
    *fd = dup(f->fd);
    return *fd < 0 ? errno : 0;
}

/* The mode of the file it replaces, or the usual one, which a file without a
 * name has already. */
static int give_mode(const struct sc__new_file *f) {
    mode_t mask = umask(0);
    umask(mask);
    if (f->mode < 0 && f->nameless)
        return 0;
    return fchmod(f->fd, f->mode < 0 ? 0666 & ~mask : (mode_t)f->mode) < 0 ? errno : 0;
}

/* The first temporary name that is free. */
static int give_name(struct sc__arena *a, struct sc__new_file *f) {
    char *file = sc__format(a, "/proc/self/fd/%d", f->fd);
    char *tail = f->temporary + strlen(f->temporary) - 6;
    for (unsigned i = 0; i < 1000000; i++) {
        snprintf(tail, 7, "%06u", i);
        if (linkat(AT_FDCWD, file, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0) {
            f->nameless = false;
            return 0;
        }
        if (errno != EEXIST)
            break;
    }
    return errno;
}

int sc__new_file_end(struct sc__arena *a, struct sc__new_file *f, bool keep) {
    int reason = 0;
    if (keep && f->temporary)
        reason = give_mode(f);
    if (keep && f->nameless && !reason)
        reason = give_name(a, f);
    if (f->fd >= 0 && close(f->fd) < 0 && !reason)
        reason = errno;
    f->fd = -1;
    if (!f->temporary)
        return reason;
    if (keep && !reason && rename(f->temporary, f->path) < 0)
        reason = errno;
    if ((!keep || reason) && !f->nameless)
        unlink(f->temporary);
    return reason;
}

/* ---- names ---- */

bool sc__name_matches(const char *pattern, const char *name) {
    return fnmatch(pattern, name, 0) == 0;
}

enum sc__regex_answer sc__regex_match(const char *pattern,
                                      const char *text,
                                      struct sc__regex_group groups[SC__REGEX_GROUPS]) {
    regmatch_t found[SC__REGEX_GROUPS];
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED))
        return SC__REGEX_WRONG;
    bool yes = regexec(&compiled, text, SC__REGEX_GROUPS, found, 0) == 0;
    regfree(&compiled);
    for (unsigned i = 0; yes && i < SC__REGEX_GROUPS; i++) {
        groups[i].matched = found[i].rm_so >= 0;
        groups[i].begin = groups[i].matched ? (size_t)found[i].rm_so : 0;
        groups[i].end = groups[i].matched ? (size_t)found[i].rm_eo : 0;
    }
    return yes ? SC__REGEX_YES : SC__REGEX_NO;
}

/* ---- threads ---- */

struct sc__thread {
    pthread_t id;
    void (*work)(void *self);
    void *self;
};

static void *run_thread(void *self) {
    const struct sc__thread *t = self;
    enter_plain_locale(); /* a new thread has the locale of the process */
    t->work(t->self);
    return NULL;
}

unsigned sc__cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : (unsigned)n;
}

struct sc__thread *sc__thread_start(void (*work)(void *self), void *self) {
    struct sc__thread *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->work = work;
    t->self = self;
    if (pthread_create(&t->id, NULL, run_thread, t) == 0)
        return t;
    free(t);
    return NULL;
}

void sc__thread_join(struct sc__thread *t) {
    pthread_join(t->id, NULL);
    free(t);
}

struct sc__mutex {
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

struct sc__mutex *sc__mutex_new(void) {
    struct sc__mutex *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    return m;
}

void sc__mutex_free(struct sc__mutex *m) {
    pthread_cond_destroy(&m->changed);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

void sc__mutex_lock(struct sc__mutex *m) {
    pthread_mutex_lock(&m->lock);
}

void sc__mutex_unlock(struct sc__mutex *m) {
    pthread_mutex_unlock(&m->lock);
}

void sc__mutex_wait(struct sc__mutex *m) {
    pthread_cond_wait(&m->changed, &m->lock);
}

void sc__mutex_signal(struct sc__mutex *m) {
    pthread_cond_signal(&m->changed);
}
