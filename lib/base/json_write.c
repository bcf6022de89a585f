#include "base/json_write.h"

#include "base/context.h"
#include "base/text.h"
#include "base/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sc__json_init(struct sc__json *j, struct sc__buffer *out) {
    memset(j, 0, sizeof *j);
    j->out = out;
}

static bool on_one_line(const struct sc__json *j) {
    return j->flat && j->depth >= j->flat;
}

static void new_line(struct sc__json *j) {
    sc__putc(j->out, '\n');
    sc__repeat(j->out, "  ", j->depth);
}

static bool json_write_is_plain(unsigned char c) {
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct sc__buffer *b, unsigned char c) {
    if (c == '"' || c == '\\')
        sc__printf(b, "\\%c", c);
    else if (c == '\n')
        sc__puts(b, "\\n");
    else if (c == '\t')
        sc__puts(b, "\\t");
    else
        sc__printf(b, "\\u%04x", c);
}

/* File names may hold any bytes, JSON may not: the replacement character
 * stands for what is no text. */
static size_t put_wide(struct sc__buffer *b, const char *s, size_t n) {
    size_t length = sc__utf8_length(s, n);
    if (!length)
        sc__puts(b, "\xef\xbf\xbd");
    sc__put(b, s, length);
    return length ? length : 1;
}

static void put_string(struct sc__buffer *b, const char *s, size_t n) {
    sc__putc(b, '"');
    for (size_t i = 0, from = 0; i < n; from = i) {
        while (i < n && json_write_is_plain((unsigned char)s[i]))
            i++;
        sc__put(b, s + from, i - from);
        if (i < n && (unsigned char)s[i] >= 0x80)
            i += put_wide(b, s + i, n - i);
        else if (i < n)
            put_escaped(b, (unsigned char)s[i++]);
    }
    sc__putc(b, '"');
}

static void json_write_begin(struct sc__json *j, const char *key) {
    if (j->after_value)
        sc__puts(j->out, on_one_line(j) ? ", " : ",");
    if (j->depth && !on_one_line(j))
        new_line(j);
    if (key) {
        put_string(j->out, key, strlen(key));
        sc__puts(j->out, ": ");
    }
    j->after_value = true;
}

static void open_container(struct sc__json *j, const char *key, char c, bool one_line) {
    json_write_begin(j, key);
    sc__putc(j->out, c);
    j->depth++;
    if (one_line && !j->flat)
        j->flat = j->depth;
    j->after_value = false;
}

static void close_container(struct sc__json *j, char c) {
    bool one_line = on_one_line(j), empty = !j->after_value;
    if (j->flat == j->depth)
        j->flat = 0;
    j->depth--;
    if (!one_line && !empty)
        new_line(j);
    sc__putc(j->out, c);
    j->after_value = true;
    if (!j->depth)
        sc__putc(j->out, '\n');
}

void sc__json_object(struct sc__json *j, const char *key) {
    open_container(j, key, '{', false);
}
void sc__json_array(struct sc__json *j, const char *key) {
    open_container(j, key, '[', false);
}
void sc__json_row(struct sc__json *j, const char *key) {
    open_container(j, key, '{', true);
}
void sc__json_list(struct sc__json *j, const char *key) {
    open_container(j, key, '[', true);
}
void sc__json_end_object(struct sc__json *j) {
    close_container(j, '}');
}
void sc__json_end_array(struct sc__json *j) {
    close_container(j, ']');
}

void sc__json_string(struct sc__json *j, const char *key, const char *value) {
    if (!value) {
        sc__json_null(j, key);
        return;
    }
    json_write_begin(j, key);
    put_string(j->out, value, strlen(value));
}

void sc__json_u64(struct sc__json *j, const char *key, uint64_t value) {
    json_write_begin(j, key);
    sc__put_u64(j->out, value);
}

void sc__json_i64(struct sc__json *j, const char *key, int64_t value) {
    json_write_begin(j, key);
    if (value < 0)
        sc__putc(j->out, '-');
    sc__put_u64(j->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* The shortest form that reads back as the same double. */
void sc__json_double(struct sc__json *j, const char *key, double value) {
    char text[40];
    if (!isfinite(value)) {
        sc__json_null(j, key);
        return;
    }
    json_write_begin(j, key);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    sc__puts(j->out, text);
}

void sc__json_bool(struct sc__json *j, const char *key, bool value) {
    json_write_begin(j, key);
    sc__puts(j->out, value ? "true" : "false");
}

void sc__json_null(struct sc__json *j, const char *key) {
    json_write_begin(j, key);
    sc__puts(j->out, "null");
}

void sc__json_raw(struct sc__json *j, const char *key, const char *text, size_t n) {
    json_write_begin(j, key);
    sc__put(j->out, text, n);
}

void sc__json_us(struct sc__json *j, const char *key, int64_t ps) {
    json_write_begin(j, key);
    sc__put_us(j->out, ps);
}

void sc__json_notes(struct sc__json *j, const struct sc_context *ctx) {
    sc__json_note_list(j, ctx->notes, ctx->note_count);
}

void sc__json_note_list(struct sc__json *j, const struct sc__note *notes, uint32_t count) {
    sc__json_array(j, "notes");
    for (uint32_t i = 0; i < count; i++) {
        sc__json_row(j, NULL);
        sc__json_string(j, "code", notes[i].code);
        sc__json_string(j, "text", notes[i].text);
        sc__json_end_object(j);
    }
    sc__json_end_array(j);
}
