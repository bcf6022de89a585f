/* config_jobs: files that hand a launch to machines: `run` of SkyPilot, and the command of
 * a container of Kubernetes. What they launch is a script; the nodes and GPUs beside it are
 * what #SBATCH lines say elsewhere, and stand above the script as such. */
#include "launch/config.h"

#include <string.h>

struct job {
    const char *program;
    const char *script;
    uint32_t line; /* where it begins */
    uint32_t nodes;
    uint32_t local; /* GPUs of a node; 0: not said */
};

static bool has_key_of(const struct sc__config *c, const char *beginning) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__str_starts(sc__str(c->items[i].key), beginning))
            return true;
    return false;
}

/* ---- SkyPilot ---- */

/* "H100:8", "8" of {H100: 8}; a name alone is one. */
static uint32_t accelerators(const struct sc__config *c) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        struct sc__str key = sc__str(c->items[i].key);
        if (!sc__str_starts(key, "resources.accelerators"))
            continue;
        const char *colon = strrchr(c->items[i].value, ':');
        const char *number = colon ? colon + 1 : c->items[i].value;
        return sc__parse_u32(sc__str(number), &count) ? count : 1;
    }
    return 0;
}

static bool of_skypilot(const struct sc__config *c, struct job *job) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        if (strcmp(item->key, "run") != 0 || !has_key_of(c, "resources."))
            continue;
        *job = (struct job){.program = "SkyPilot",
                            .script = item->value,
                            .line = item->line,
                            .nodes = sc__config_number(c, "num_nodes", 1),
                            .local = accelerators(c)};
        return true;
    }
    return false;
}

/* ---- Kubernetes ---- */

/* Nodes: replicas of a PyTorchJob's masters and workers, or the pods of a Job. The launcher
 * of an MPIJob has no GPUs. */
static uint32_t pods(const struct sc__config *c) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        uint32_t n;
        if (!strcmp(c->items[i].last, "replicas") &&
            !strstr(c->items[i].key, "Launcher.") &&
            sc__parse_u32(sc__str(c->items[i].value), &n) && n <= 1u << 20)
            sum += n;
    }
    return sum ? sum : sc__config_number(c, "parallelism", 1);
}

static uint32_t gpu_limit(const struct sc__config *c) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count && !count; i++)
        if (sc__str_ends(sc__str(c->items[i].key), "com/gpu"))
            sc__parse_u32(sc__str(c->items[i].value), &count);
    return count;
}

/* In single quotes, as the shell has it. */
static void put_quoted(struct sc__buffer *b, const char *word) {
    sc__putc(b, '\'');
    for (; *word; word++)
        if (*word == '\'')
            sc__puts(b, "'\\''");
        else
            sc__putc(b, *word);
    sc__puts(b, "' ");
}

/* The words of `command` and `args` of one container; behind `-c` a script of their own. */
static const char *container_command(struct sc_context *ctx,
                                     const struct sc__config *c,
                                     const char *container,
                                     uint32_t *line) {
    static const char *const lists[] = {"command.", "args.", NULL};
    struct sc__buffer b;
    bool script = false;
    sc__buffer_init(&b, &ctx->arena);
    *line = 0;
    for (const char *const *list = lists; *list; list++) {
        const char *begin = sc__format(&ctx->arena, "%s%s", container, *list);
        for (uint32_t i = 0; i < c->count; i++) {
            const struct sc__config_item *item = &c->items[i];
            if (!sc__str_starts(sc__str(item->key), begin))
                continue;
            *line = script || !*line ? item->line : *line;
            if (script)
                return item->value;
            put_quoted(&b, item->value);
            script = !strcmp(item->value, "-c") || !strcmp(item->value, "-lc");
        }
    }
    return b.size ? b.text : NULL;
}

static bool
of_kubernetes(struct sc_context *ctx, const struct sc__config *c, struct job *job) {
    if (!sc__config_exact(c, "apiVersion") || !sc__config_exact(c, "kind"))
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const char *at = strstr(c->items[i].key, "containers.0.");
        if (!at)
            continue;
        size_t n = (size_t)(at - c->items[i].key) + strlen("containers.0.");
        const char *container = sc__strndup(&ctx->arena, c->items[i].key, n);
        *job =
            (struct job){.program = "Kubernetes", .nodes = pods(c), .local = gpu_limit(c)};
        job->script = container_command(ctx, c, container, &job->line);
        if (job->script)
            return true;
    }
    return false;
}

/* ---- as a script ---- */

static void put_variable(struct sc__buffer *b, const char *name, const char *value) {
    sc__printf(b, "%s=", name);
    put_quoted(b, value);
}

/* `envs` of SkyPilot; `env` of a container is a list of names and values. */
static void put_environment(struct sc__buffer *b, const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        bool one_line = !strchr(item->value, '\n');
        if (one_line && sc__str_starts(sc__str(item->key), "envs."))
            put_variable(b, item->last, item->value);
        bool named = strstr(item->key, ".env.") && !strcmp(item->last, "name");
        if (named && i + 1 < c->count && !strcmp(c->items[i + 1].last, "value") &&
            !strchr(c->items[i + 1].value, '\n'))
            put_variable(b, item->value, c->items[i + 1].value);
    }
}

bool sc__config_job(struct sc__launch *l, const struct sc__config *c) {
    struct job job;
    struct sc__buffer b;
    if (!of_skypilot(c, &job) && !of_kubernetes(l->ctx, c, &job))
        return false;
    sc__buffer_init(&b, &l->ctx->arena);
    sc__printf(&b, "#SBATCH --nodes=%u", job.nodes);
    if (job.local)
        sc__printf(&b, " --gpus-per-node=%u", job.local);
    sc__puts(&b, "\n");
    put_variable(&b, "SKYPILOT_NUM_NODES", sc__format(&l->ctx->arena, "%u", job.nodes));
    if (job.local)
        put_variable(&b,
                     "SKYPILOT_NUM_GPUS_PER_NODE",
                     sc__format(&l->ctx->arena, "%u", job.local));
    put_environment(&b, c);
    sc__puts(&b, "\n");
    /* lines keep their numbers: a block begins below its key */
    bool block = strchr(job.script, '\n') != NULL;
    for (uint32_t line = 3; line < job.line + (block ? 1 : 0); line++)
        sc__puts(&b, "\n");
    sc__puts(&b, job.script);
    sc__puts(&b, "\n");
    l->text = (struct sc__str){b.text, b.size};
    l->config = NULL;
    sc__note(l->ctx,
             "config-job",
             "%s is read as a job of %s: what it launches, on %u node%s%s",
             l->file,
             job.program,
             job.nodes,
             job.nodes == 1 ? "" : "s",
             job.local ? sc__format(&l->ctx->arena, " of %u GPUs", job.local) : "");
    return true;
}
