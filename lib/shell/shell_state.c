/* shell_state: what the shell knows at one place of a script, kept to come back to it, and
 * joined where two ways meet. */
#include "shell/shell_parts.h"

#include <string.h>

struct shell_state shell_save_state(struct shell *sh) {
    struct shell_state s = {.variable_count = sh->variable_count,
                            .files = sh->files,
                            .arguments = sh->arguments,
                            .argument_count = sh->argument_count,
                            .function_count = sh->function_count,
                            .flow = sh->flow,
                            .flow_levels = sh->flow_levels,
                            .status = sh->status,
                            .status_unknown = sh->status_unknown};
    s.variables =
        SC__NEW_ARRAY(&sh->ctx->arena, struct sc__shell_variable, sh->variable_count);
    if (sh->variable_count)
        memcpy(s.variables, sh->variables, sh->variable_count * sizeof *s.variables);
    return s;
}

void shell_restore_state(struct shell *sh, const struct shell_state *s) {
    sh->variables =
        SC__NEW_ARRAY(&sh->ctx->arena, struct sc__shell_variable, s->variable_count);
    if (s->variable_count)
        memcpy(sh->variables, s->variables, s->variable_count * sizeof *s->variables);
    sh->variable_count = sh->variable_capacity = s->variable_count;
    sh->files = s->files;
    sh->arguments = s->arguments;
    sh->argument_count = s->argument_count;
    sh->function_count = s->function_count;
    sh->flow = s->flow;
    sh->flow_levels = s->flow_levels;
    sh->status = s->status;
    sh->status_unknown = s->status_unknown;
}

static bool equal_values(const struct sc__shell_variable *a,
                         const struct sc__shell_variable *b) {
    if (a->set != b->set || a->count != b->count || !a->keys != !b->keys)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) || (a->keys && strcmp(a->keys[i], b->keys[i])))
            return false;
    return true;
}

/* The words of both, as what the mark may stand for. */
static void add_ways(struct shell *sh,
                     struct sc__shell_unknown *u,
                     const struct sc__shell_variable *v,
                     uint32_t from) {
    uint32_t more = v->set && v->count > from ? v->count - from : 0;
    const char **ways = SC__NEW_ARRAY(&sh->ctx->arena, const char *, u->way_count + more);
    for (uint32_t i = 0; i < u->way_count; i++)
        ways[i] = u->ways[i];
    for (uint32_t i = 0; i < more; i++)
        ways[u->way_count + i] = v->items[from + i];
    u->ways = ways;
    u->way_count += more;
}

/* A variable that the two ways left with different values: what they have in
 * common at the beginning stays, a mark stands for the rest. */
static void join_variable(struct shell *sh,
                          struct sc__shell_variable *v,
                          const struct sc__shell_variable *other,
                          uint32_t condition) {
    struct sc__shell_result *r = sh->result;
    const struct sc__shell_unknown *why = &r->unknowns[condition - 1];
    const char *what =
        sc__format(&sh->ctx->arena, "%s, which decides %s", why->what, v->name);
    const char *mark = shell_unknown(sh, why->line, what);
    struct sc__shell_unknown *u = &r->unknowns[r->unknown_count - 1];
    uint32_t common = 0;
    bool array = v->array || other->array;
    while (array && v->set && other->set && common < v->count && common < other->count &&
           !strcmp(v->items[common], other->items[common]))
        common++;
    u->ways = NULL;
    add_ways(sh, u, v, common);
    add_ways(sh, u, other, common);
    const char **items = SC__NEW_ARRAY(&sh->ctx->arena, const char *, common + 1);
    for (uint32_t i = 0; i < common; i++)
        items[i] = v->items[i];
    items[common] = mark;
    v->items = items;
    v->count = common + 1;
    v->keys = NULL;
    v->set = true;
}

void shell_join_states(struct shell *sh,
                       const struct shell_state *other,
                       uint32_t condition) {
    static const struct sc__shell_variable none;
    shell_join_files(sh, other->files, condition);
    for (uint32_t i = 0; i < other->variable_count; i++) {
        const struct sc__shell_variable *b = &other->variables[i];
        struct sc__shell_variable *a = shell_find(sh, sc__str(b->name));
        if (!a) {
            a = shell_make(sh, sc__str(b->name));
            a->set = false;
        }
        if (!equal_values(a, b))
            join_variable(sh, a, b, condition);
    }
    for (uint32_t i = 0; i < sh->variable_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < other->variable_count && !found; k++)
            found = !strcmp(sh->variables[i].name, other->variables[k].name);
        if (!found && sh->variables[i].set)
            join_variable(sh, &sh->variables[i], &none, condition);
    }
}
