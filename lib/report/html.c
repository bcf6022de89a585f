/* The page is one template, made from web/ and compiled into the library, with
 * a mark where the data goes. The data is the JSON result itself, so whatever
 * the page shows can be read from the same file by a program. */
#include "report/write.h"

#include <string.h>

#define MARK "\"@STEPCAST_DATA@\""

extern const struct sc__data_file sc__page_files[];
extern const unsigned sc__page_file_count;

/* JSON inside <script>: "</script>" and "<!--" must not appear, and "\u003c"
 * means the same as "<" in a JSON string, the only place it can be. */
static void html_put_json(struct sc__buffer *out, struct sc__str json) {
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

static void html_put_side(struct sc__buffer *out, const struct sc__page_side *side) {
    struct sc__buffer document;
    if (!side->result) {
        html_put_json(out, side->saved);
        return;
    }
    sc__buffer_init(&document, out->arena);
    sc__write_json(side->result, SC__JSON_ALL, &document);
    html_put_json(out, (struct sc__str){document.text, document.size});
}

static void
html_put_data(struct sc__buffer *out, const struct sc__page_side *sides, unsigned count) {
    struct sc__buffer names;
    struct sc__json j;
    sc__buffer_init(&names, out->arena);
    sc__json_init(&j, &names);
    sc__json_list(&j, NULL);
    for (unsigned i = 0; i < count; i++)
        sc__json_string(&j, NULL, sides[i].name);
    sc__json_end_array(&j);
    sc__puts(out, "{\"names\":");
    html_put_json(out, (struct sc__str){names.text, names.size});
    sc__puts(out, ",\"results\":[");
    for (unsigned i = 0; i < count; i++) {
        if (i)
            sc__putc(out, ',');
        html_put_side(out, &sides[i]);
    }
    sc__puts(out, "]}");
}

void sc__page_begin(struct sc__json *j,
                    struct sc__buffer *out,
                    const char *schema,
                    const char *const *argv,
                    int argc) {
    sc__json_init(j, out);
    sc__json_object(j, NULL);
    sc__json_string(j, "schema", schema);
    sc__json_string(j, "version", SC_VERSION);
    sc__json_list(j, "command");
    for (int i = 0; i < argc; i++)
        sc__json_string(j, NULL, argv[i]);
    sc__json_end_array(j);
}

static const char *html_find_mark(void) {
    const char *text = (const char *)sc__page_files[0].bytes;
    return sc__find_word(text, sc__page_files[0].size, MARK);
}

sc_status sc__page_check(struct sc_context *ctx) {
    if (!sc__page_file_count)
        return sc__fail(ctx,
                        SC_SYSTEM,
                        NULL,
                        "install node and npm, and build stepcast again",
                        "this stepcast was built without the report page");
    if (!html_find_mark())
        return sc__fail(ctx, SC_SYSTEM, NULL, NULL, "the built-in report page is damaged");
    return SC_OK;
}

void sc__write_html(const struct sc__page_side *sides,
                    unsigned count,
                    struct sc__buffer *out) {
    const char *text = (const char *)sc__page_files[0].bytes;
    const char *end = text + sc__page_files[0].size;
    const char *mark = html_find_mark();
    const char *after = mark + strlen(MARK);
    sc__put(out, text, (size_t)(mark - text));
    html_put_data(out, sides, count);
    sc__put(out, after, (size_t)(end - after));
}
