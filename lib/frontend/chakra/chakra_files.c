/* Which files make a Chakra job: <prefix>.<rank>.et (or .json) for every rank, and the
 * process groups, from <prefix>.json or --comm-group or a METADATA node. */
#include "frontend/chakra/chakra.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct found {
    const char *path;
    struct sc__str prefix;
    uint32_t rank;
};

struct chakra_files_list {
    struct sc_context *ctx;
    struct found *items;
    uint32_t count;
    uint32_t capacity;
};

bool sc__chakra_name(struct sc__str *name) {
    if (sc__str_ends(*name, ".gz"))
        name->n -= 3;
    if (!sc__str_ends(*name, ".et"))
        return false;
    name->n -= 3;
    return true;
}

bool sc__chakra_json_name(struct sc__str *name) {
    if (sc__str_ends(*name, ".gz"))
        name->n -= 3;
    if (!sc__str_ends(*name, ".json"))
        return false;
    name->n -= 5;
    if (sc__str_ends(*name, ".et"))
        name->n -= 3;
    return true;
}

/* "dir/all_reduce.3.et", "dir/all_reduce.3.json": prefix "dir/all_reduce", rank 3. */
static bool cut_name(const char *path, struct sc__str *prefix, uint32_t *rank) {
    struct sc__str s = sc__str(path);
    if (!sc__chakra_name(&s) && !sc__chakra_json_name(&s))
        return false;
    size_t dot = s.n;
    while (dot && s.p[dot - 1] != '.')
        dot--;
    if (!dot)
        return false;
    *prefix = (struct sc__str){s.p, dot - 1};
    return sc__parse_u32((struct sc__str){s.p + dot, s.n - dot}, rank);
}

static sc_status add_file(struct chakra_files_list *l, const char *path) {
    struct found f = {.path = sc__strdup(&l->ctx->arena, path)};
    struct sc__place at = {.file = path};
    if (!cut_name(f.path, &f.prefix, &f.rank))
        return sc__fail(l->ctx,
                        SC_INPUT,
                        &at,
                        "a trace is a set of files PREFIX.0.et, PREFIX.1.et, … (or .json)",
                        "the name does not say which rank this is");
    *SC__PUSH(&l->ctx->arena, l->items, l->count, l->capacity) = f;
    return SC_OK;
}

static sc_status add_directory(struct chakra_files_list *l, const char *path) {
    struct sc__place at = {.file = path};
    int reason;
    struct sc__folder *d = sc__folder_open(path, &reason);
    if (!d)
        return sc__fail(l->ctx, SC_INPUT, &at, NULL, "cannot open: %s", strerror(reason));
    sc_status status = SC_OK;
    for (const char *name; status == SC_OK && (name = sc__folder_next(d));)
        if (sc__chakra_name(&(struct sc__str){name, strlen(name)}))
            status = add_file(l, sc__format(&l->ctx->arena, "%s/%s", path, name));
    sc__folder_close(d);
    return status;
}

bool sc__chakra_directory(const char *path) {
    int reason;
    struct sc__folder *d = sc__folder_open(path, &reason);
    bool found = false;
    if (!d)
        return false;
    for (const char *name; !found && (name = sc__folder_next(d));)
        found = sc__chakra_name(&(struct sc__str){name, strlen(name)});
    sc__folder_close(d);
    return found;
}

static int chakra_files_by_rank(const void *a, const void *b) {
    const struct found *x = a;
    const struct found *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank ? 1 : strcmp(x->path, y->path);
}

static sc_status check_set(struct chakra_files_list *l) {
    for (uint32_t i = 0; i < l->count; i++) {
        const struct found *f = &l->items[i];
        struct sc__place at = {.file = f->path};
        if (f->prefix.n != l->items[0].prefix.n ||
            memcmp(f->prefix.p, l->items[0].prefix.p, f->prefix.n) != 0)
            return sc__fail(l->ctx,
                            SC_INPUT,
                            &at,
                            "give the files of one trace",
                            "belongs to another trace than %s",
                            l->items[0].path);
        if (i && f->rank == l->items[i - 1].rank)
            return sc__fail(l->ctx,
                            SC_INPUT,
                            &at,
                            NULL,
                            "rank %u was given twice",
                            f->rank);
        if (f->rank != i)
            return sc__fail(l->ctx,
                            SC_INPUT,
                            &at,
                            "a trace has a file for every rank, from 0 on",
                            "the file of rank %u is missing: %.*s.%u.et",
                            i,
                            SC__SHOW(f->prefix),
                            i);
    }
    return SC_OK;
}

sc_status sc__chakra_find_files(struct sc_context *ctx,
                                const char *const *paths,
                                uint32_t count,
                                struct sc__chakra_files *out) {
    struct chakra_files_list l = {.ctx = ctx};
    for (uint32_t i = 0; i < count; i++)
        if (sc__path_is_folder(paths[i]))
            SC__TRY(add_directory(&l, paths[i]));
        else
            SC__TRY(add_file(&l, paths[i]));
    struct sc__place at = {.file = count ? paths[0] : NULL};
    if (!l.count)
        return sc__fail(ctx, SC_INPUT, &at, NULL, "no .et files here");
    qsort(l.items, l.count, sizeof *l.items, chakra_files_by_rank);
    SC__TRY(check_set(&l));
    out->count = l.count;
    out->path = SC__NEW_ARRAY(&ctx->arena, const char *, l.count);
    for (uint32_t i = 0; i < l.count; i++)
        out->path[i] = l.items[i].path;
    char *groups =
        sc__format(&ctx->arena, "%.*s.json", (int)l.items[0].prefix.n, l.items[0].prefix.p);
    out->groups = sc__path_readable(groups) ? groups : NULL;
    return SC_OK;
}

/* ---- process groups ---- */

/* Groups of one size and stride share a line in reports: all tensor-parallel
 * groups of a job look alike. */
static const char *
group_label(struct sc__workload *w, const uint32_t *ranks, uint32_t count) {
    if (count == sc__mesh_ranks(&w->mesh))
        return "world";
    uint32_t stride = count > 1 ? ranks[1] - ranks[0] : 1;
    for (uint32_t i = 2; i < count; i++)
        if (ranks[i] - ranks[i - 1] != stride)
            return sc__format(w->arena, "group of %u", count);
    return sc__format(w->arena, "group of %u by %u", count, stride);
}

static sc_status add_group(struct sc_context *ctx,
                           struct sc__workload *w,
                           const char *name,
                           const json_t *list,
                           const struct sc__place *at,
                           struct sc__chakra_groups *g) {
    uint32_t world = sc__mesh_ranks(&w->mesh);
    uint32_t count = (uint32_t)json_array_size(list);
    if (sc__names_find(&g->names, name, strlen(name)) != SC__NO_NAME)
        return SC_OK;
    if (w->group_count == UINT16_MAX)
        return sc__fail(ctx, SC_INPUT, at, NULL, "more than 65535 process groups");
    uint32_t *ranks = SC__NEW_ARRAY(&ctx->arena, uint32_t, count);
    bool *seen = SC__NEW_ARRAY(&ctx->arena, bool, world);
    for (uint32_t i = 0; i < count; i++) {
        const json_t *v = json_array_get(list, i);
        json_int_t rank = json_is_integer(v) ? json_integer_value(v) : -1;
        if (rank < 0 || rank >= world || seen[rank])
            return sc__fail(ctx,
                            SC_INPUT,
                            at,
                            "members are ranks of this trace, each once",
                            "process group '%s': member %u is not one of the %u ranks, or "
                            "is listed twice",
                            name,
                            i,
                            world);
        seen[rank] = true;
        ranks[i] = (uint32_t)rank;
    }
    if (!count)
        return sc__fail(ctx, SC_INPUT, at, NULL, "process group '%s' has no members", name);
    sc__names_add(&g->names, name, strlen(name));
    *SC__PUSH(&ctx->arena, g->group, g->count, g->capacity) =
        sc__workload_group_list(w, group_label(w, ranks, count), ranks, count);
    return SC_OK;
}

sc_status sc__chakra_groups_file(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 const char *path,
                                 struct sc__chakra_groups *g) {
    struct sc__str text;
    json_error_t e;
    SC__TRY(sc__read_all(ctx, path, (size_t)64 << 20, &text));
    json_t *root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES, &e);
    struct sc__place at = {.file = path};
    if (!root || !json_is_object(root)) {
        at.line = root ? 1 : (uint64_t)e.line;
        at.column = root ? 1 : (uint64_t)e.column;
        json_decref(root);
        return sc__fail(ctx,
                        SC_INPUT,
                        &at,
                        "{\"1\": [0, 1], \"2\": [2, 3]}",
                        "not a file of process groups: %s",
                        root ? "no object" : e.text);
    }
    const char *name;
    json_t *list;
    sc_status status = SC_OK;
    json_object_foreach(root, name, list) if (status == SC_OK) {
        if (!json_is_array(list))
            status = sc__fail(ctx,
                              SC_INPUT,
                              &at,
                              NULL,
                              "process group '%s' is not a list",
                              name);
        else
            status = add_group(ctx, w, name, list, &at, g);
    }
    json_decref(root);
    return status;
}

/* [{"pg_name": "1", "ranks": [0, 1]}, …], perhaps inside a list or quotes; an
 * empty list of ranks is the world. */
sc_status sc__chakra_groups_text(struct sc_context *ctx,
                                 struct sc__workload *w,
                                 struct sc__str text,
                                 const struct sc__place *at,
                                 struct sc__chakra_groups *g) {
    const char *from = sc__find_word(text.p, text.n, "[{");
    const char *to = NULL;
    for (const char *p = from; p && p + 1 < text.p + text.n; p++)
        if (p[0] == '}' && p[1] == ']')
            to = p + 2;
    if (!to)
        return SC_OK;
    json_error_t e;
    json_t *root = json_loadb(from, (size_t)(to - from), 0, &e);
    if (!root)
        return sc__fail(ctx,
                        SC_INPUT,
                        at,
                        NULL,
                        "a METADATA node with damaged process groups: %s",
                        e.text);
    size_t i;
    json_t *entry;
    sc_status status = SC_OK;
    json_array_foreach(root, i, entry) {
        const json_t *ranks = json_object_get(entry, "ranks");
        const char *name = json_string_value(json_object_get(entry, "pg_name"));
        if (status == SC_OK && name && json_array_size(ranks))
            status = add_group(ctx, w, name, ranks, at, g);
    }
    json_decref(root);
    return status;
}

const char *sc__chakra_groups_hint(struct sc_context *ctx, const char *trace) {
    const char *slash = trace ? strrchr(trace, '/') : NULL;
    const char *beside = sc__format(&ctx->arena,
                                    "%.*scomm_group.json",
                                    slash ? (int)(slash + 1 - trace) : 0,
                                    slash ? trace : "");
    if (sc__path_look(beside).kind != SC__PATH_FILE)
        return "name the file of process groups with --comm-group";
    return sc__format(&ctx->arena, "it may be in --comm-group %s", beside);
}
