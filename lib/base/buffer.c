#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

#define PIECE                                                                              \
    ((size_t)128                                                                           \
     << 10) /* a buffer that doubled up to here is handed on instead of growing further */

void sc__buffer_init(struct sc__buffer *b, struct sc__arena *arena) {
    memset(b, 0, sizeof *b);
    b->arena = arena;
}

void sc__buffer_stream(struct sc__buffer *b,
                       void (*take)(void *user, const char *bytes, size_t n),
                       void *user) {
    b->take = take;
    b->user = user;
}

static void drop(void *user, const char *bytes, size_t n) {
    (void)user;
    (void)bytes;
    (void)n;
}

void sc__buffer_nowhere(struct sc__buffer *b, struct sc__arena *arena) {
    sc__buffer_init(b, arena);
    sc__buffer_stream(b, drop, NULL);
}

void sc__buffer_flush(struct sc__buffer *b) {
    if (!b->take || !b->size)
        return;
    b->take(b->user, b->text, b->size);
    b->size = 0;
}

static void buffer_reserve(struct sc__buffer *b, size_t extra) {
    if (b->size + extra + 1 <= b->capacity)
        return;
    if (b->size >= PIECE)
        sc__buffer_flush(b);
    size_t need = b->size + extra + 1;
    if (need <= b->capacity)
        return;
    size_t fresh = b->capacity ? b->capacity * 2 : 256;
    if (fresh < need)
        fresh = need;
    b->text = sc__realloc(b->arena, b->text, b->capacity, fresh);
    b->capacity = fresh;
}

void sc__show_controls(char *text, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned char next = i + 1 < n ? (unsigned char)text[i + 1] : 0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
            text[i] = '?';
        else if (c == 0xc2 && next >= 0x80 && next < 0xa0) { /* the controls of C1 */
            text[i] = '?';
            text[i + 1] = '?';
        }
    }
}

void sc__put_colour(struct sc__buffer *b, const char *code) {
    bool for_people = b->for_people;
    b->for_people = false;
    sc__printf(b, "\033[%sm", code);
    b->for_people = for_people;
}

void sc__put(struct sc__buffer *b, const char *s, size_t n) {
    buffer_reserve(b, n);
    if (n)
        memcpy(b->text + b->size, s, n);
    if (b->for_people)
        sc__show_controls(b->text + b->size, n);
    b->size += n;
    b->text[b->size] = '\0';
}

void sc__puts(struct sc__buffer *b, const char *s) {
    sc__put(b, s, strlen(s));
}

void sc__putc(struct sc__buffer *b, char c) {
    sc__put(b, &c, 1);
}

void sc__vprintf(struct sc__buffer *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0)
        return;
    buffer_reserve(b, (size_t)n);
    vsnprintf(b->text + b->size, (size_t)n + 1, fmt, ap);
    if (b->for_people)
        sc__show_controls(b->text + b->size, (size_t)n);
    b->size += (size_t)n;
}

void sc__printf(struct sc__buffer *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sc__vprintf(b, fmt, ap);
    va_end(ap);
}

void sc__repeat(struct sc__buffer *b, const char *s, unsigned n) {
    while (n--)
        sc__puts(b, s);
}

void sc__put_u64(struct sc__buffer *b, uint64_t v) {
    char digits[20];
    size_t n = sizeof digits;
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    sc__put(b, digits + n, sizeof digits - n);
}
