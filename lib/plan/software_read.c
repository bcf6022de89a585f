/* software_read: a profile from its file. Every value has its place, so that an
 * error names line and column. */
#include "base/data.h"
#include "base/file.h"
#include "hardware/gpu.h"
#include "plan/software.h"

#include <string.h>

#define SCHEMA "stepcast/software/1"
#define MOST_BYTES ((size_t)1 << 20)
#define MOST_ENTRIES 1000u
#define MOST_ANCESTORS 8u

/* The profile that says every constant; all others fall back on it. */
#define ROOT "megatron-core-2025"

/* Every constant by its name, in one list for both tables below. */
#define EACH_CONSTANT(DO)                                                                  \
    DO(host_us)                                                                            \
    DO(blocking)                                                                           \
    DO(host_message_us)                                                                    \
    DO(host_wait_us)                                                                       \
    DO(host_route_us)                                                                      \
    DO(host_route_back_us)                                                                 \
    DO(host_product_us)                                                                    \
    DO(hybrid_ep)                                                                          \
    DO(wide_gate)                                                                          \
    DO(router_operators)                                                                   \
    DO(titan_routes)                                                                       \
    DO(padded_routes)                                                                      \
    DO(tp_exposed)                                                                         \
    DO(comm_tax)                                                                           \
    DO(shard_messages)                                                                     \
    DO(owned_tensors)                                                                      \
    DO(accumulate_bytes)                                                                   \
    DO(adam_bytes)                                                                         \
    DO(host_update)                                                                        \
    DO(attention_64)                                                                       \
    DO(unaligned_heads)                                                                    \
    DO(early_stop)                                                                         \
    DO(gather_again)                                                                       \
    DO(weights_given_back)                                                                 \
    DO(own_ends)                                                                           \
    DO(one_communicator)                                                                   \
    DO(whole_reductions)                                                                   \
    DO(gradient_copies)                                                                    \
    DO(one_hot_embedding)                                                                  \
    DO(complex_rope)                                                                       \
    DO(stacked_layers)                                                                     \
    DO(repeat_keys)                                                                        \
    DO(row_products)                                                                       \
    DO(predictions)

#define NAME(member) #member,
#define OFFSET(member) offsetof(struct sc__software_constants, member),

static const char *const constant_names[] = {EACH_CONSTANT(NAME) NULL};
static const size_t constant_offsets[] = {EACH_CONSTANT(OFFSET)};

const char *sc__software_root(void) {
    return ROOT;
}

const char *const *sc__software_constant_names(void) {
    return constant_names;
}

double *sc__software_constant(struct sc__software_constants *c, const char *name) {
    for (unsigned i = 0; constant_names[i]; i++)
        if (!strcmp(constant_names[i], name))
            return (double *)((char *)c + constant_offsets[i]);
    return NULL;
}

/* ---- entries ---- */

/* The types of GEMMs and the recipes of their scales. */
static bool names_precision(const char *prefix) {
    const struct sc__option *recipe = sc__software_option("fp8-recipe");
    for (unsigned t = 0; t < SC__DTYPES; t++)
        if (sc__str_starts_any_case(sc__str(sc__dtype_name(t)), prefix))
            return true;
    for (const struct sc__choice *c = recipe->choices; c->name; c++)
        if (sc__str_starts_any_case(sc__str(c->name), prefix))
            return true;
    return false;
}

/* A condition that nothing meets would leave its entry out without a word. */
static sc_status check_precision(const struct sc__node *n, const char *words) {
    struct sc__str rest = sc__str(words ? words : "");
    struct sc__str word;
    while (words && sc__split(&rest, ',', &word)) {
        struct sc__node at = sc__node_at(n, "precision");
        const char *prefix = sc__strndup(&sc__node_context(n)->arena, word.p, word.n);
        if (!*prefix || !names_precision(prefix))
            return sc__node_fail(&at,
                                 "bf16, fp8, mxfp8, nvfp4 …",
                                 "\"%.60s\" begins no type and no recipe",
                                 prefix);
    }
    return SC_OK;
}

static sc_status read_conditions(const struct sc__node *n, struct sc__software_entry *e) {
    SC__TRY(sc__node_string(n, "model", &e->model));
    SC__TRY(sc__node_string(n, "gpu", &e->gpu));
    SC__TRY(sc__node_string(n, "precision", &e->precision));
    return check_precision(n, e->precision);
}

/* Also where its conditions do not hold today. */
static sc_status check_switch(const struct sc__node *n, struct sc__software_entry *e) {
    const struct sc__option *o = sc__software_option(e->name);
    struct sc__node at = sc__node_at(n, "option");
    sc_plan plan = SC_PLAN_INIT;
    sc_options options = SC_OPTIONS_INIT;
    void *said = &plan;
    if (!o)
        return sc__node_fail(&at,
                             "stepcast run --help lists the options",
                             "there is no option --%.60s it could set",
                             e->name);
    e->option = o;
    if (o->arg && !*e->text)
        return sc__node_fail(&at, NULL, "--%s needs a value", e->name);
    if (o->in != SC__IN_PLAN)
        said = &options;
    if (sc__option_take(sc__node_context(n), o, e->text, said) == SC_OK)
        return SC_OK;
    at = sc__node_at(n, *e->text ? "value" : "option");
    return sc__node_fail(&at,
                         "stepcast run --help lists what it takes",
                         "--%s: unknown '%.60s'",
                         e->name,
                         e->text);
}

/* An option of `run` that sets a field of the plan or of the evaluation. */
static sc_status read_switch(const struct sc__node *n, struct sc__software_entry *e) {
    static const char *const keys[] =
        {"option", "value", "why", "model", "gpu", "precision", NULL};
    struct sc__node at;
    SC__TRY(sc__node_keys(n, keys));
    SC__TRY(sc__node_need(n, "option", &at));
    SC__TRY(sc__node_need(n, "why", &at));
    SC__TRY(sc__node_string(n, "option", &e->name));
    SC__TRY(sc__node_string(n, "value", &e->text));
    SC__TRY(sc__node_string(n, "why", &e->why));
    if (!e->text)
        e->text = "";
    SC__TRY(check_switch(n, e));
    return read_conditions(n, e);
}

static sc_status read_constant(const struct sc__node *n, struct sc__software_entry *e) {
    static const char *const keys[] =
        {"name", "value", "why", "model", "gpu", "precision", NULL};
    struct sc__software_constants unused;
    struct sc__node at;
    SC__TRY(sc__node_keys(n, keys));
    SC__TRY(sc__node_need(n, "value", &at));
    SC__TRY(sc__node_need(n, "why", &at));
    SC__TRY(sc__node_need(n, "name", &at));
    SC__TRY(sc__node_string(n, "name", &e->name));
    SC__TRY(sc__node_double(n, "value", &e->number));
    SC__TRY(sc__node_string(n, "why", &e->why));
    e->is_constant = true;
    const double *field = sc__software_constant(&unused, e->name);
    if (!field) {
        const char *near = sc__nearest(e->name, sc__software_constant_names());
        const char *hint =
            near ? sc__format(&sc__node_context(n)->arena, "did you mean %s?", near)
                 : "docs/formats/software.md lists them";
        return sc__node_fail(&at, hint, "there is no constant \"%.60s\"", e->name);
    }
    e->field = (uint32_t)(field - (const double *)&unused);
    if (!(e->number <= 1e6))
        return sc__node_fail(n, NULL, "\"value\" of a constant is from 0 to 1e6");
    return read_conditions(n, e);
}

static bool same_word(const char *a, const char *b) {
    return !a == !b && (!a || !strcmp(a, b));
}

/* Of two values for the same case neither is sure to be meant. */
static sc_status refuse_twice(const struct sc__node *n,
                              const struct sc__software *s,
                              uint32_t own,
                              const struct sc__software_entry *e) {
    for (uint32_t i = own; i < s->count; i++) {
        const struct sc__software_entry *x = &s->entries[i];
        if (x->is_constant == e->is_constant && !strcmp(x->name, e->name) &&
            same_word(x->model, e->model) && same_word(x->gpu, e->gpu) &&
            same_word(x->precision, e->precision))
            return sc__node_fail(n,
                                 NULL,
                                 "\"%.60s\" is given twice for the same case",
                                 e->name);
    }
    return SC_OK;
}

typedef sc_status read_entry(const struct sc__node *n, struct sc__software_entry *e);

static sc_status read_list(const struct sc__node *root,
                           const char *key,
                           read_entry *read,
                           struct sc__software *s) {
    struct sc__node list = sc__node_at(root, key);
    struct sc__arena *arena = &sc__node_context(root)->arena;
    if (!list.value)
        return SC_OK;
    SC__TRY(sc__node_is_array(&list));
    size_t count = sc__node_count(&list);
    uint32_t own = s->count;
    if (count + s->count > MOST_ENTRIES)
        return sc__node_fail(&list, NULL, "a profile has up to %u entries", MOST_ENTRIES);
    for (size_t i = 0; i < count; i++) {
        struct sc__node n = sc__node_item(&list, i);
        struct sc__software_entry e = {.profile = s->name};
        SC__TRY(read(&n, &e));
        SC__TRY(refuse_twice(&n, s, own, &e));
        *SC__PUSH(arena, s->entries, s->count, s->capacity) = e;
    }
    return SC_OK;
}

/* ---- the file ---- */

/* "2024-05", so that months compare as text. */
static sc_status
read_month(const struct sc__node *root, const char *key, const char **out) {
    struct sc__node at;
    unsigned month;
    SC__TRY(sc__node_need(root, key, &at));
    SC__TRY(sc__node_string(root, key, out));
    const char *text = *out;
    bool digits = strspn(text, "0123456789-") == 7 && strlen(text) == 7 && text[4] == '-';
    month = digits ? (unsigned)(text[5] - '0') * 10 + (unsigned)(text[6] - '0') : 0;
    if (month < 1 || month > 12)
        return sc__node_fail(&at, NULL, "\"%s\" is a month like 2024-05", key);
    return SC_OK;
}

static sc_status
read_head(const struct sc__node *root, struct sc__software *s, const char **like) {
    static const char *const keys[] = {"schema",
                                       "title",
                                       "stack",
                                       "source",
                                       "from",
                                       "to",
                                       "names",
                                       "near",
                                       "like",
                                       "switches",
                                       "constants",
                                       NULL};
    static const char *const needed[] = {"title", "stack", "source", NULL};
    SC__TRY(sc__node_document(root, SCHEMA, keys, needed));
    SC__TRY(sc__node_string(root, "title", &s->title));
    SC__TRY(sc__node_string(root, "stack", &s->stack));
    SC__TRY(sc__node_string(root, "source", &s->source));
    SC__TRY(read_month(root, "from", &s->from));
    SC__TRY(read_month(root, "to", &s->to));
    SC__TRY(sc__node_string(root, "names", &s->names));
    SC__TRY(sc__node_string(root, "near", &s->near));
    return sc__node_string(root, "like", like);
}

static sc_status read_profile(struct sc_context *ctx,
                              const char *name,
                              unsigned depth,
                              struct sc__software *s);

/* What it is like comes first, so that its own entries go over it. */
static sc_status take_ancestor(const struct sc__node *root,
                               const char *like,
                               unsigned depth,
                               struct sc__software *s) {
    struct sc_context *ctx = sc__node_context(root);
    struct sc__node at = sc__node_at(root, "like");
    struct sc__software base = {0};
    if (!like && !strcmp(s->name, ROOT))
        return SC_OK;
    if (depth >= MOST_ANCESTORS)
        return sc__node_fail(&at,
                             "profiles may not be like each other in a circle",
                             "more than %u profiles, each like the next",
                             MOST_ANCESTORS);
    SC__TRY(read_profile(ctx, like ? like : ROOT, depth + 1, &base));
    s->entries = base.entries;
    s->count = base.count;
    s->capacity = base.capacity;
    return SC_OK;
}

/* depth: HEAD_ALONE leaves the entries out, and what it is like. */
#define HEAD_ALONE UINT32_MAX

static sc_status
read_root(const struct sc__json_file *file, unsigned depth, struct sc__software *s) {
    struct sc__node root = sc__json_root(file);
    const char *like = NULL;
    SC__TRY(read_head(&root, s, &like));
    if (depth == HEAD_ALONE)
        return SC_OK;
    SC__TRY(take_ancestor(&root, like, depth, s));
    SC__TRY(read_list(&root, "switches", read_switch, s));
    return read_list(&root, "constants", read_constant, s);
}

static sc_status open_profile(struct sc_context *ctx, const char *name, const char **path) {
    const struct sc__data_file *data = NULL;
    if (!strchr(name, '/'))
        data = sc__data_find_loosely(&ctx->arena, "software/", name);
    *path = name;
    if (data)
        return sc__spool_bytes(ctx,
                               sc__format(&ctx->arena, "data/%s", data->path),
                               data->bytes,
                               data->size,
                               path);
    if (!strpbrk(name, "./"))
        return sc__fail(ctx,
                        SC_USAGE,
                        NULL,
                        sc__data_hint(ctx, "software/", name, "a file"),
                        "there is no software profile '%.80s'",
                        name);
    return SC_OK;
}

static sc_status read_profile(struct sc_context *ctx,
                              const char *name,
                              unsigned depth,
                              struct sc__software *s) {
    const struct sc__data_file *data =
        sc__data_find_loosely(&ctx->arena, "software/", name);
    struct sc__json_file file;
    const char *path;
    s->name = data ? sc__data_name(&ctx->arena, data) : sc__strdup(&ctx->arena, name);
    SC__TRY(open_profile(ctx, name, &path));
    sc_status status = sc__json_open(ctx, path, MOST_BYTES, &file);
    if (status == SC_OK)
        status = read_root(&file, depth, s);
    sc__json_close(&file);
    return status;
}

static sc_status
read_whole(struct sc_context *ctx, const char *name, const void *unused, void **out) {
    struct sc__software *s = SC__NEW(&ctx->arena, struct sc__software);
    (void)unused;
    *out = s;
    return read_profile(ctx, name, 0, s);
}

static sc_status
read_head_alone(struct sc_context *ctx, const char *name, const void *unused, void **out) {
    struct sc__software *s = SC__NEW(&ctx->arena, struct sc__software);
    (void)unused;
    *out = s;
    return read_profile(ctx, name, HEAD_ALONE, s);
}

sc_status sc__software_read(struct sc_context *ctx,
                            const char *name,
                            const struct sc__software **out) {
    return sc__memo_ask(ctx, "software", name, read_whole, NULL, (void **)out);
}

sc_status sc__software_head(struct sc_context *ctx,
                            const char *name,
                            const struct sc__software **out) {
    return sc__memo_ask(ctx, "software-head", name, read_head_alone, NULL, (void **)out);
}
