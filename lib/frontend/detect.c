/* detect: looks at the first bytes and picks a reader. */
#include "frontend/identify.h"
#include "frontend/reader.h"

#include <string.h>

#define HEAD ((size_t)64 << 10)

extern const struct sc__reader sc__reader_aicb_csv;
extern const struct sc__reader sc__reader_capture;
extern const struct sc__reader sc__reader_chakra;
extern const struct sc__reader sc__reader_goal;
extern const struct sc__reader sc__reader_ir_json;
extern const struct sc__reader sc__reader_megatron_trace;
extern const struct sc__reader sc__reader_operator_table;
extern const struct sc__reader sc__reader_neusight_csv;
extern const struct sc__reader sc__reader_profiler_table;
extern const struct sc__reader sc__reader_kineto;
extern const struct sc__reader sc__reader_nsys;
extern const struct sc__reader sc__reader_nsys_stats;
extern const struct sc__reader sc__reader_workload_text;

/* A new reader is a file beside this one and a line here. */
const struct sc__reader *const sc__readers[] = {
    &sc__reader_megatron_trace,
    &sc__reader_workload_text,
    &sc__reader_aicb_csv,
    &sc__reader_chakra,
    &sc__reader_goal,
    &sc__reader_operator_table,
    &sc__reader_neusight_csv,
    &sc__reader_profiler_table,
    &sc__reader_capture,
    &sc__reader_ir_json,
    &sc__reader_kineto,
    &sc__reader_nsys,
    &sc__reader_nsys_stats,
    NULL,
};

/* NULL where none of the readers knows it. */
static const struct sc__reader *
surest_reader(const unsigned char *head, size_t n, const char *path, bool directory) {
    const struct sc__reader *best = NULL;
    int most = 0;
    for (const struct sc__reader *const *r = sc__readers; *r; r++) {
        int sure = (*r)->detect(head, n, path, directory);
        if (sure > most) {
            most = sure;
            best = *r;
        }
    }
    return best;
}

static sc_status
sniff_input(struct sc__input *in, const char *path, const struct sc__reader **best) {
    SC__TRY(sc__input_fill_text(in, HEAD));
    struct sc__place at = {.file = in->name};
    if (in->end == in->begin)
        return sc__fail(in->ctx, SC_INPUT, &at, NULL, "the file is empty");
    const unsigned char *head = in->bytes + in->begin;
    size_t n = in->end - in->begin;
    if (!sc__identify_bytes((const char *)head, n))
        *best = surest_reader(head, n, path, false);
    return SC_OK;
}

static const char *known_names(struct sc_context *ctx) {
    struct sc__buffer b;
    sc__buffer_init(&b, &ctx->arena);
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        sc__printf(&b, "%s%s", r == sc__readers ? "one of: " : ", ", (*r)->name);
    return b.text;
}

static sc_status
unknown(struct sc_context *ctx, const char *path, const struct sc__input *in) {
    struct sc__place at = {.file = strcmp(path, "-") ? path : "<stdin>"};
    const struct sc__identity *identity =
        sc__identify((const char *)in->bytes + in->begin, in->end - in->begin);
    if (!identity)
        identity = sc__identify_name(path);
    if (identity)
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        identity->advice,
                        "is %s, which is no workload that can be run",
                        identity->what);
    return sc__fail(
        ctx,
        SC_INPUT,
        &at,
        sc__format(&ctx->arena, "%s; docs/formats.md says what they are", known_names(ctx)),
        "unknown format");
}

static sc_status unknown_folder(struct sc_context *ctx, const char *path) {
    struct sc__place at = {.file = path};
    int reason;
    struct sc__folder *folder = sc__folder_open(path, &reason);
    if (!folder)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "cannot open: %s", strerror(reason));
    sc__folder_close(folder);
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    sc__format(&ctx->arena, "stepcast show %s says what lies in it", path),
                    "is a folder, and not one of rank traces or of a job");
}

bool sc__folder_is_input(const char *path) {
    return surest_reader(NULL, 0, path, true) != NULL;
}

static const struct sc__reader *detect_by_name(const char *name) {
    for (const struct sc__reader *const *r = sc__readers; *r; r++)
        if (!strcmp((*r)->name, name))
            return *r;
    return NULL;
}

/* Finds the reader, unless it is given; a stream is copied to memory once that is
 * known, so that one of no known kind (or without an end) is not. */
static sc_status
open_document(struct sc_context *ctx, const char **path, const struct sc__reader **reader) {
    struct sc__input in = {0};
    bool stream = sc__path_is_stream(*path);
    if (!stream && sc__path_is_folder(*path)) {
        if (!*reader)
            *reader = surest_reader(NULL, 0, *path, true);
        return *reader ? SC_OK : unknown_folder(ctx, *path);
    }
    if (!stream && *reader)
        return SC_OK;
    SC__TRY(sc__input_open(ctx, *path, &in));
    sc_status status = *reader ? SC_OK : sniff_input(&in, *path, reader);
    if (status == SC_OK && !*reader)
        status = unknown(ctx, *path, &in);
    if (status == SC_OK && stream)
        status = sc__spool(&in, path);
    sc__input_close(&in);
    return status;
}

sc_status sc__import_keep(struct sc__input *in, const char **path) {
    const struct sc__reader *reader = NULL;
    SC__TRY(sniff_input(in, *path, &reader));
    return reader ? sc__spool(in, path) : unknown(in->ctx, *path, in);
}

/* A step of 0 us would be the answer to a damaged or wrong file. */
static sc_status refuse_nothing(struct sc_context *ctx, const struct sc__document *doc) {
    struct sc__place at = {.file = sc__shown_name(ctx, doc->files[0])};
    if (!doc->workload || doc->workload->op_count)
        return SC_OK;
    return sc__fail(ctx,
                    SC_INPUT,
                    &at,
                    "is it cut, or of another run?",
                    "there is no operation in it");
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
        const struct sc__reader *this = format ? reader : NULL;
        files[i] = paths[i];
        SC__TRY(open_document(ctx, &files[i], &this));
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
    SC__TRY(refuse_nothing(ctx, out));
    const char **shown = SC__NEW_ARRAY(&ctx->arena, const char *, out->file_count);
    for (uint32_t i = 0; i < out->file_count; i++)
        shown[i] = sc__shown_name(ctx, out->files[i]);
    out->files = shown;
    return SC_OK;
}
