/* config_jobs: files that hand a launch to machines: `run` of SkyPilot, `commands` of
 * dstack, and the command of a container of Kubernetes. What they launch is a script; the
 * nodes and GPUs beside it are what #SBATCH lines say elsewhere, and stand above the script
 * as such. */
#include "launch/config.h"

#include <inttypes.h>
#include <string.h>

struct job {
    const char *program;
    const char *script;
    uint32_t line; /* where it begins */
    uint32_t nodes;
    uint32_t local;    /* GPUs of a node; 0: not said */
    const char *named; /* which ones, or NULL */
};

static bool has_key_of(const struct sc__config *c, const char *beginning) {
    for (uint32_t i = 0; i < c->count; i++)
        if (sc__str_starts(sc__str(c->items[i].key), beginning))
            return true;
    return false;
}

/* ---- SkyPilot ---- */

/* "H100:8", "8" of {H100: 8}; a name alone is one. */
static uint32_t
accelerators(struct sc__arena *arena, const struct sc__config *c, const char **named) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        if (!sc__str_starts(sc__str(item->key), "resources.accelerators"))
            continue;
        const char *colon = strrchr(item->value, ':');
        const char *number = colon ? colon + 1 : item->value;
        bool counted = sc__parse_u32(sc__str(number), &count);
        size_t n = colon ? (size_t)(colon - item->value) : strlen(item->value);
        *named = counted && !colon ? item->last : sc__strndup(arena, item->value, n);
        return counted ? count : 1;
    }
    return 0;
}

static bool
of_skypilot(struct sc__arena *arena, const struct sc__config *c, struct job *job) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        if (strcmp(item->key, "run") != 0 || !has_key_of(c, "resources."))
            continue;
        *job = (struct job){.program = "SkyPilot",
                            .script = item->value,
                            .line = item->line,
                            .nodes = sc__config_number(c, "num_nodes", 1)};
        job->local = accelerators(arena, c, &job->named);
        return true;
    }
    return false;
}

/* ---- dstack ---- */

/* "H100:8", "80GB:8", "H100:80GB:8"; a name or a size alone is one; a range says nothing.
 */
static uint32_t gpus_of_dstack(const struct sc__config *c) {
    const char *spec = sc__config_exact(c, "resources.gpu");
    const char *colon = spec ? strrchr(spec, ':') : NULL;
    uint32_t count = 0;
    if (!spec)
        return sc__config_number(c, "resources.gpu.count", 0);
    if (!colon || sc__parse_u32(sc__str(colon + 1), &count))
        return colon ? count : 1;
    return strstr(colon, "..") ? 0 : 1;
}

static bool
of_dstack(struct sc__arena *arena, const struct sc__config *c, struct job *job) {
    struct sc__buffer b;
    const char *type = sc__config_exact(c, "type");
    uint32_t line = 0;
    if (!type || strcmp(type, "task") != 0)
        return false;
    sc__buffer_init(&b, arena);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        if (!sc__str_starts(sc__str(item->key), "commands."))
            continue;
        uint32_t at = item->line + (strchr(item->value, '\n') ? 1 : 0);
        if (!line) { /* a block begins below its key */
            line = at;
            job->line = at - 1;
        }
        for (; line < at; line++)
            sc__putc(&b, '\n');
        sc__printf(&b, "%s\n", item->value);
        for (const char *p = item->value; *p; p++)
            line += *p == '\n';
        line++;
    }
    job->program = "dstack";
    job->script = b.text;
    job->nodes = sc__config_number(c, "nodes", 1);
    job->local = gpus_of_dstack(c);
    return b.size > 0;
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
    if (!count) /* of a PyTorchJob, of a TrainJob */
        count = sc__config_number(c, "nprocPerNode", 0);
    return count ? count : sc__config_number(c, "numProcPerNode", 0);
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
    if (has_key_of(c, "spec.trainer.")) { /* a TrainJob of Kubeflow's trainer */
        *job = (struct job){.program = "Kubernetes",
                            .nodes = sc__config_number(c, "spec.trainer.numNodes", 1),
                            .local = gpu_limit(c)};
        job->script = container_command(ctx, c, "spec.trainer.", &job->line);
        return job->script != NULL;
    }
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

/* "NAME=value" of dstack's list; a name alone comes from where the job is handed in. */
static void
put_assignment(struct sc__buffer *b, struct sc__arena *arena, const char *text) {
    const char *equals = strchr(text, '=');
    if (equals)
        put_variable(b, sc__strndup(arena, text, (size_t)(equals - text)), equals + 1);
}

/* `envs` of SkyPilot; `env` of dstack is a list or a mapping, of a container a list of
 * names and values. */
static void
put_environment(struct sc__buffer *b, struct sc__arena *arena, const struct sc__config *c) {
    for (uint32_t i = 0; i < c->count; i++) {
        const struct sc__config_item *item = &c->items[i];
        bool one_line = !strchr(item->value, '\n');
        if (one_line && sc__str_starts(sc__str(item->key), "envs."))
            put_variable(b, item->last, item->value);
        if (one_line && sc__str_starts(sc__str(item->key), "env.")) {
            if (item->last[0] >= '0' && item->last[0] <= '9')
                put_assignment(b, arena, item->value);
            else
                put_variable(b, item->last, item->value);
        }
        bool named = strstr(item->key, ".env.") && !strcmp(item->last, "name");
        if (named && i + 1 < c->count && !strcmp(c->items[i + 1].last, "value") &&
            !strchr(c->items[i + 1].value, '\n'))
            put_variable(b, item->value, c->items[i + 1].value);
    }
}

/* Variables by which a launch learns where it runs. */
static void
put_machines(struct sc__buffer *b, struct sc__arena *arena, const struct job *job) {
    const char *nodes = sc__format(arena, "%u", job->nodes);
    const char *local = sc__format(arena, "%u", job->local);
    put_variable(b, "SKYPILOT_NUM_NODES", nodes);
    put_variable(b, "DSTACK_NODES_NUM", nodes);
    if (!job->local)
        return;
    uint64_t all = (uint64_t)job->nodes * job->local;
    put_variable(b, "SKYPILOT_NUM_GPUS_PER_NODE", local);
    put_variable(b, "DSTACK_GPUS_PER_NODE", local);
    put_variable(b, "DSTACK_GPUS_NUM", sc__format(arena, "%" PRIu64, all));
}

bool sc__config_job(struct sc__launch *l, const struct sc__config *c) {
    struct job job = {0};
    struct sc__arena *arena = &l->ctx->arena;
    struct sc__buffer b;
    if (!of_skypilot(arena, c, &job) && !of_dstack(arena, c, &job) &&
        !of_kubernetes(l->ctx, c, &job))
        return false;
    sc__buffer_init(&b, arena);
    sc__printf(&b, "#SBATCH --nodes=%u", job.nodes);
    if (job.local)
        sc__printf(&b, " --gpus-per-node=%u", job.local);
    sc__puts(&b, "\n");
    put_machines(&b, arena, &job);
    put_environment(&b, arena, c);
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
             job.local ? sc__format(arena, " of %u GPUs", job.local) : "");
    if (job.named && !sc__launch_overridden(l, "cluster") &&
        !sc__launch_overridden(l, "gpu"))
        sc__note(l->ctx,
                 "config-job-gpu",
                 "%s asks for %.60s: --cluster or --gpu says so here",
                 l->file,
                 job.named);
    return true;
}
