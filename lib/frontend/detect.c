/* detect: looks at the first bytes and picks a reader. */
#include "frontend/reader.h"

#include <string.h>

#define HEAD ((size_t)64 << 10)

extern const struct sc__reader sc__reader_chakra;
extern const struct sc__reader sc__reader_goal;
extern const struct sc__reader sc__reader_ir_json;
extern const struct sc__reader sc__reader_megatron_trace;
extern const struct sc__reader sc__reader_operator_table;
extern const struct sc__reader sc__reader_profiler_table;
extern const struct sc__reader sc__reader_kineto;
extern const struct sc__reader sc__reader_workload_text;

/* A new reader is a file beside this one and a line here. */
const struct sc__reader *const sc__readers[] = {
    &sc__reader_megatron_trace,
    &sc__reader_workload_text,
    &sc__reader_chakra,
    &sc__reader_goal,
    &sc__reader_operator_table,
    &sc__reader_profiler_table,
    &sc__reader_ir_json,
    &sc__reader_kineto,
    NULL,
};

static sc_status
sniff(struct sc_context *ctx, const char *path, const struct sc__reader **best) {
    struct sc__input in = {0};
    bool directory = strcmp(path, "-") && sc__path_is_folder(path);
    int most = 0;
    *best = NULL;
    if (!directory) {
        SC__TRY(sc__input_open(ctx, path, &in));
        sc_status status = sc__input_fill_text(&in, HEAD);
        if (status != SC_OK) {
            sc__input_close(&in);
            return status;
        }
    }
    const unsigned char *head = directory ? NULL : in.bytes + in.begin;
    for (const struct sc__reader *const *r = sc__readers; *r; r++) {
        int sure = (*r)->detect(head, in.end - in.begin, path, directory);
        if (sure > most) {
            most = sure;
            *best = *r;
        }
    }
    bool empty = !directory && in.end == in.begin;
    if (!directory)
        sc__input_close(&in);
    struct sc__place at = {.file = path};
    if (empty)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "the file is empty");
    return SC_OK;
}

static sc_status unknown(struct sc_context *ctx, const char *path) {
    struct sc__buffer b;
    struct sc__place at = {.file = strcmp(path, "-") ? path : "<stdin>"};
    sc__buffer_init(&b, &ctx->arena);
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        sc__printf(&b, "%s%s", r == sc__readers ? "known: " : "; ", (*r)->title);
    return sc__fail(ctx, SC_INPUT, &at, b.text, "unknown format");
}

static const char *known_names(struct sc_context *ctx) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        sc__printf(&b, "%s%s", r == sc__readers ? "one of: " : ", ", (*r)->name);
    return b.text;
}

static const struct sc__reader *detect_by_name(const char *name) {
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        if (!strcmp((*r)->name, name))
            return *r;
    return NULL;
}

sc_status sc__import(struct sc_context *ctx,
                     const struct sc__settings *settings,
                     const char *format,
                     const char *const *paths,
                     uint32_t count,
                     struct sc__document *out) {
    const struct sc__reader *reader = NULL;
    const char **files = SC__NEW_ARRAY(&ctx->arena, const char *, count);
    memset(out, 0, sizeof *out);
    if (format && !(reader = detect_by_name(format)))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        known_names(ctx),
                        "there is no format '%s'",
                        format);
    for (uint32_t i = 0; i < count; i++) {
        const struct sc__reader *this = reader;
        files[i] = paths[i];
        SC__TRY(sc__spool(ctx, &files[i]));
        if (!format)
            SC__TRY(sniff(ctx, files[i], &this));
        if (!this)
            return unknown(ctx, paths[i]);
        if (reader && this != reader) {
            struct sc__place at = {.file = paths[i]};
            return sc__fail(ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "is %s, but the input before it is %s",
                            this->title,
                            reader->title);
        }
        reader = this;
    }
    if (count > 1 && !reader->many)
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "give one file",
                        "%u files given, but %s takes one",
                        count,
                        reader->title);
    out->reader = reader;
    out->files = files;
    out->file_count = count;
    SC__TRY(reader->read(ctx, settings, files, count, out));
    const char **shown = SC__NEW_ARRAY(&ctx->arena, const char *, out->file_count);
    for (uint32_t i = 0; i < out->file_count; i++)
        shown[i] = sc__shown_name(ctx, out->files[i]);
    out->files = shown;
    return SC_OK;
}
