/* The reader of exports of Nsight Systems: ranks are read by nsys_read.c; what is
 * shown, measured and run again is what it is for traces of Kineto. */
#include "frontend/nsys/nsys.h"

#include <string.h>

static const char *const export_endings[] = {".sqlite", ".sqlite3", NULL};

static sc_status nsys_read(struct sc_context *ctx,
                           const struct sc__settings *settings,
                           const char *const *paths,
                           uint32_t count,
                           struct sc__document *out) {
    struct sc__kineto_paths files = {0};
    if (settings && sc__setting_nth(settings, "host-trace", 0))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        "NCCL's own NVTX ranges tell its sizes here",
                        "--host-trace is for Kineto traces");
    SC__TRY(sc__kineto_find_files(ctx, paths, count, export_endings, &files));
    struct sc__nsys *exports = SC__NEW_ARRAY(&ctx->arena, struct sc__nsys, files.count);
    struct sc__kineto_traces *traces = SC__NEW(&ctx->arena, struct sc__kineto_traces);
    for (uint32_t i = 0; i < files.count; i++) {
        exports[i].ctx = ctx;
        exports[i].file = files.items[i];
        exports[i].step_range = settings ? sc__setting(settings, "step-range") : NULL;
        SC__TRY(sc__nsys_read_export(&exports[i]));
    }
    sc__nsys_order_ranks(exports, files.count, traces);
    sc__nsys_name_collectives(exports, files.count);
    return sc__kineto_make_document(ctx, settings, traces, &files, out);
}

static int
nsys_detect(const unsigned char *head, size_t n, const char *path, bool directory) {
    static const char magic[] = "SQLite format 3"; /* and its NUL */
    int reason;
    if (!directory)
        return n >= sizeof magic && !memcmp(head, magic, sizeof magic) ? 90 : 0;
    struct sc__folder *d = sc__folder_open(path, &reason);
    bool found = false;
    if (!d)
        return 0;
    for (const char *name; !found && (name = sc__folder_next(d));)
        for (const char *const *e = export_endings; *e && !found; e++)
            found = sc__str_ends(sc__str(name), *e);
    sc__folder_close(d);
    return found ? 85 : 0;
}

const struct sc__reader sc__reader_nsys = {
    .name = "nsys",
    .title = "export of Nsight Systems (nsys export --type sqlite)",
    .detect = nsys_detect,
    .read = nsys_read,
    .show = sc__kineto_show,
    .options = sc__kineto_options,
    .many = true,
};
