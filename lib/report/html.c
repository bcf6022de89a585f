/* The page is one template, made from web/ and compiled into the library, with
 * a mark where the data goes. The data is the JSON result itself, so whatever
 * the page shows can be read from the same file by a program. */
#include "report/page.h"

#include <string.h>

#define MARK "\"@STEPCAST_DATA@\""

extern const struct sc__data_file sc__page_files[];
extern const unsigned sc__page_file_count;

/* JSON inside <script>: "</script>" and "<!--" must not appear, and "\u003c"
 * means the same as "<" in a JSON string, the only place it can be. */
static void report_html_put_json(struct sc__buffer *out, struct sc__str json) {
    const char *p = json.p;
    const char *end = json.p + json.n;
    const char *lt;
    while ((lt = memchr(p, '<', (size_t)(end - p)))) {
        sc__put(out, p, (size_t)(lt - p));
        sc__puts(out, "\\u003c");
        p = lt + 1;
    }
    sc__put(out, p, (size_t)(end - p));
}

static void put_data(struct sc_context *ctx,
                     struct sc__buffer *out,
                     const struct sc__str *documents,
                     const char *const *names,
                     unsigned count) {
    struct sc__buffer quoted;
    struct sc__json j;
    sc__buffer_init(&quoted, &ctx->arena);
    sc__json_init(&j, &quoted);
    sc__json_list(&j, NULL);
    for (unsigned i = 0; i < count; i++)
        sc__json_string(&j, NULL, names[i]);
    sc__json_end_array(&j);
    sc__puts(out, "{\"names\":");
    report_html_put_json(out, (struct sc__str){quoted.text, quoted.size});
    sc__puts(out, ",\"results\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            sc__putc(out, ',');
        report_html_put_json(out, documents[i]);
    }
    sc__puts(out, "]}");
}

sc_status sc__page_html(struct sc_context *ctx,
                        const struct sc__str *documents,
                        const char *const *names,
                        unsigned count,
                        struct sc__buffer *out) {
    if (!sc__page_file_count)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        "install node and npm, and build stepcast again",
                        "this stepcast was built without the report page");
    const char *text = (const char *)sc__page_files[0].bytes;
    size_t size = sc__page_files[0].size;
    const char *mark = sc__find_word(text, size, MARK);
    if (!mark)
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "the built-in report page is damaged");
    sc__put(out, text, (size_t)(mark - text));
    put_data(ctx, out, documents, names, count);
    mark += strlen(MARK);
    sc__put(out, mark, size - (size_t)(mark - text));
    return SC_OK;
}
