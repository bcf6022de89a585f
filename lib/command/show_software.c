/* show --software: what a profile says, entry by entry. */
#include "command/show.h"

#include <string.h>

static const char *entry_set(struct sc__arena *arena, const struct sc__software_entry *e) {
    if (e->is_constant)
        return sc__format(arena, "%s %g", e->name, e->number);
    return sc__format(arena, "--%s%s%s", e->name, *e->text ? " " : "", e->text);
}

static const char *entry_where(struct sc__arena *arena,
                               const struct sc__software_entry *e) {
    struct sc__buffer b;
    sc__buffer_init(&b, arena);
    sc__puts(&b, "");
    if (e->model)
        sc__printf(&b, " model %s", e->model);
    if (e->gpu)
        sc__printf(&b, " gpu %s", e->gpu);
    if (e->precision)
        sc__printf(&b, " precision %s", e->precision);
    return b.text;
}

static void write_software_text(struct sc_context *ctx,
                                const struct sc__software *s,
                                struct sc__buffer *out) {
    sc__printf(out,
               "%s\n  what      %s\n  covers    %s to %s\n  source    %s\n",
               s->name,
               s->title,
               s->from,
               s->to,
               s->source);
    if (s->names)
        sc__printf(out, "  named by  %s\n", s->names);
    if (s->near)
        sc__printf(out, "  near to   %s\n", s->near);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        const char *where = entry_where(&ctx->arena, e);
        sc__printf(out,
                   "  %-44s %s%s%s%s: %s\n",
                   entry_set(&ctx->arena, e),
                   e->profile,
                   *where ? " [" : "",
                   *where ? where + 1 : "",
                   *where ? "]" : "",
                   e->why);
    }
}

static void write_software_json(const struct sc__software *s, struct sc__buffer *out) {
    struct sc__json j;
    sc__json_init(&j, out);
    sc__json_object(&j, NULL);
    sc__json_string(&j, "schema", "stepcast/show-software/1");
    sc__json_string(&j, "name", s->name);
    sc__json_string(&j, "title", s->title);
    sc__json_string(&j, "stack", s->stack);
    sc__json_string(&j, "from", s->from);
    sc__json_string(&j, "to", s->to);
    sc__json_string(&j, "source", s->source);
    sc__json_string(&j, "near", s->near);
    sc__json_array(&j, "entries");
    for (uint32_t i = 0; i < s->count; i++) {
        const struct sc__software_entry *e = &s->entries[i];
        sc__json_row(&j, NULL);
        sc__json_string(&j, e->is_constant ? "constant" : "option", e->name);
        if (e->is_constant)
            sc__json_double(&j, "value", e->number);
        else
            sc__json_string(&j, "value", e->text);
        sc__json_string(&j, "model", e->model);
        sc__json_string(&j, "gpu", e->gpu);
        sc__json_string(&j, "precision", e->precision);
        sc__json_string(&j, "profile", e->profile);
        sc__json_string(&j, "why", e->why);
        sc__json_end_object(&j);
    }
    sc__json_end_array(&j);
    sc__json_end_object(&j);
    sc__putc(out, '\n');
}

sc_status sc__show_software(struct sc_request *req) {
    const struct sc__software *s;
    static const struct sc__str nothing = {"", 0};
    SC__TRY(sc__software_find(req->ctx, sc__option(req, "software"), nothing, &s));
    if (!s)
        return sc__usage(req, "stepcast list software", "auto names no profile by itself");
    if (sc__flag(req, "json")) {
        struct sc__buffer b;
        sc__buffer_init(&b, &req->ctx->arena);
        write_software_json(s, &b);
        SC__TRY(sc__job_output(req, "json", &b));
        if (!strcmp(sc__option(req, "json"), "-"))
            return SC_OK;
    }
    write_software_text(req->ctx, s, &req->out);
    sc__job_note_in_vain(req, "no model is given");
    for (uint32_t i = 0; i < req->ctx->note_count; i++)
        sc__printf(&req->out, "note: %s\n", req->ctx->notes[i].text);
    return SC_OK;
}
