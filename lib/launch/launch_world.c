/* launch_world: how many GPUs a launch asks for. */
#include "launch/launch.h"

#include <ctype.h>
#include <string.h>

/* However it is reached. */
static bool is_command(const char *word, const char *name) {
    const char *slash = strrchr(word, '/');
    return !strcmp(slash ? slash + 1 : word, name);
}

/* The command behind "nice -n 10" or "numactl -N 0", which run another one in turn; i where
 * none of these stands there. */
static uint32_t behind_wrapper(const char *const *words, uint32_t count, uint32_t i) {
    static const char *const wrappers[] = {"nice", "ionice", "numactl"};
    bool wraps = false;
    for (size_t k = 0; k < sizeof wrappers / sizeof *wrappers; k++)
        wraps = wraps || is_command(words[i], wrappers[k]);
    for (i += wraps; wraps && i < count && words[i][0] == '-'; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        bool short_flag = words[i][1] && !words[i][2];
        i += short_flag && (isdigit((unsigned char)*value) || !strcmp(value, "all"));
    }
    return i;
}

/* The value of the last flag of this name ("--nnodes 4", "--nnodes=4", "-N4"; dashes and
 * underscores are one); NULL where there is none. Letters behind the program are its own,
 * and so are those of what runs it. */
static const char *
launcher_value(const char *const *words, uint32_t count, const char *name) {
    const char *value = NULL;
    bool letter = !name[1];
    for (uint32_t i = 0; i < count; i++) {
        const char *w = words[i];
        size_t n = 0;
        if (letter && sc__str_ends(sc__str(w), ".py"))
            break;
        uint32_t wrapped = letter ? behind_wrapper(words, count, i) : i;
        if (wrapped > i)
            i = wrapped - 1;
        if (w[0] != '-')
            continue;
        w += 1 + (w[1] == '-');
        while (name[n] && (w[n] == name[n] || (w[n] == '_' && name[n] == '-')))
            n++;
        if (name[n])
            continue;
        if (w[n] == '=')
            value = w + n + 1;
        else if (letter && w[n] >= '0' && w[n] <= '9')
            value = w + n;
        else if (!w[n] && i + 1 < count && words[i + 1][0] != '-')
            value = words[i + 1];
    }
    return value;
}

static bool launcher_number(const char *const *words,
                            uint32_t count,
                            const char *const *names,
                            uint32_t *out) {
    for (; *names; names++) {
        const char *text = launcher_value(words, count, *names);
        const char *range = text ? strchr(text, ':') : NULL; /* --nnodes 1:4 of torchrun */
        if (text && sc__parse_u32(sc__str(range ? range + 1 : text), out) && *out)
            return true;
    }
    return false;
}

/* "gpu" and "auto" of torchrun: as many as PyTorch sees. */
static bool counts_visible(const char *value) {
    return value && (!strcmp(value, "gpu") || !strcmp(value, "auto"));
}

/* That, or what is counted when it runs: $(nvidia-smi -L | wc -l) */
static bool counts_devices(const char *value) {
    return value && (counts_visible(value) || sc__shell_mark(value) != 0);
}

/* The word that is a launcher, before the program that it launches; count: none. */
static uint32_t
launcher_at(const char *const *words, uint32_t count, const char *const *names) {
    for (uint32_t i = 0; i < count && !sc__str_ends(sc__str(words[i]), ".py"); i++)
        for (const char *const *name = names; *name; name++)
            if (is_command(words[i], *name))
                return i;
    return count;
}

static bool runs_program(const char *const *words, uint32_t count, const char *program) {
    for (uint32_t i = 0; i < count; i++)
        if (is_command(words[i], program))
            return true;
    return false;
}

/* (mason.py of open-instruct starts accelerate on each of --num_nodes hosts and has the
 * --num_processes of one host behind it.) */
uint32_t sc__launch_world(const char *const *words, uint32_t count) {
    static const char *const per_node[] = {"nproc-per-node",
                                           "num-gpus",
                                           "ntasks-per-node",
                                           "gpus-per-node",
                                           "num-proc",
                                           NULL};
    static const char *const nodes[] = {"nnodes", "num-nodes", "nodes", "N", NULL};
    static const char *const all[] =
        {"num-processes", "np", "ntasks", "worker-num", "world-size", "n", NULL};
    static const char *const composer[] = {"composer", NULL};
    static const char *const processes[] = {"nproc", NULL};
    uint32_t local;
    uint32_t node_count = 1;
    uint32_t world = 0;
    if (counts_devices(launcher_value(words, count, "nproc-per-node")))
        return 0; /* whatever srun has beside it */
    if (launcher_number(words, count, per_node, &local)) {
        bool given = launcher_number(words, count, nodes, &node_count);
        uint64_t product = (uint64_t)local * node_count;
        /* "--nnodes $N" with an N that is not known says nothing */
        if (!given && (launcher_value(words, count, "nnodes") ||
                       launcher_value(words, count, "num-nodes")))
            return 0;
        return product <= UINT32_MAX ? (uint32_t)product : 0;
    }
    if (!launcher_number(words, count, all, &world) &&
        launcher_at(words, count, composer) < count)
        launcher_number(words, count, processes, &world);
    if (runs_program(words, count, "mason.py"))
        launcher_number(words, count, nodes, &node_count);
    return world <= UINT32_MAX / node_count ? world * node_count : 0;
}

/* ---- the environment ---- */

/* Whether one of the words is one of these commands. */
static bool runs(const struct sc__shell_command *command, const char *const *names) {
    for (const char *const *name = names; *name; name++)
        if (runs_program(command->words, command->count, *name))
            return true;
    return false;
}

/* "0,1,2,3", or names as nvidia-smi -L has them (GPU-…, MIG-…) */
static uint32_t listed_devices(const char *list) {
    struct sc__str rest = sc__str(list);
    struct sc__str part;
    uint32_t n = 0;
    uint32_t device;
    while (sc__split(&rest, ',', &part)) {
        part = sc__trim(part);
        if (!sc__parse_u32(part, &device) && !sc__str_starts(part, "GPU-") &&
            !sc__str_starts(part, "MIG-"))
            return 0;
        n++;
    }
    return n;
}

/* "localhost:0,1" or "worker-0:0,1@worker-1:0,2" behind --include of DeepSpeed's launcher
 * (parse_resource_filter of launcher/runner.py): the devices of each host; 0: a host
 * without a list has all of its own, how many is not said. */
static uint32_t included_devices(const struct sc__shell_command *command) {
    const char *value = launcher_value(command->words, command->count, "include");
    const char *brief = launcher_value(command->words, command->count, "i");
    if (!value && brief && strchr(brief, ':'))
        value = brief;
    struct sc__str rest = sc__str(value ? value : "");
    struct sc__str host;
    uint64_t n = 0;
    while (sc__split(&rest, '@', &host)) {
        const char *colon = host.n ? memchr(host.p, ':', host.n) : NULL;
        struct sc__str list = {colon, colon ? host.n - (size_t)(colon - host.p) : 0};
        struct sc__str device;
        if (!colon)
            return 0;
        list.p++;
        list.n--;
        while (sc__split(&list, ',', &device))
            n++;
    }
    return n <= UINT32_MAX ? (uint32_t)n : 0;
}

/* Hosts of torchrun that starts a process for each device that it sees; 0: it does not. */
static uint32_t hosts_that_see(const struct sc__shell_command *command) {
    static const char *const nodes[] = {"nnodes", NULL};
    uint32_t count = 1;
    bool given = launcher_value(command->words, command->count, "nnodes") != NULL;
    bool known = launcher_number(command->words, command->count, nodes, &count);
    if (!counts_visible(launcher_value(command->words, command->count, "nproc-per-node")))
        return 0;
    return given && !known ? 0 : count;
}

/* ms-swift, LLaMA-Factory and XTuner start torchrun by NPROC_PER_NODE and NNODES;
 * LLaMA-Factory, accelerate and what calls it, DeepSpeed and Composer take the devices that
 * are visible. */
static uint32_t environment_world(const struct sc__shell_command *command) {
    static const char *const by_number[] = {"swift",
                                            "megatron",
                                            "llamafactory-cli",
                                            "xtuner",
                                            NULL};
    static const char *const by_devices[] =
        {"llamafactory-cli", "accelerate", "trl", "axolotl", "deepspeed", "composer", NULL};
    static const char *const by_list[] = {"deepspeed", NULL};
    const char *local = command->watched[SC__SHELL_NPROC_PER_NODE];
    const char *nodes = command->watched[SC__SHELL_NNODES];
    const char *devices = command->watched[SC__SHELL_CUDA_VISIBLE_DEVICES];
    static const char *const titan[] = {"run_train.sh", NULL};
    const char *titans = command->watched[SC__SHELL_NGPU];
    uint32_t each = runs(command, by_list) ? included_devices(command) : 0;
    uint32_t seen = hosts_that_see(command);
    uint32_t node_count = seen ? seen : 1;
    if (each)
        return each;
    if (runs(command, titan)) { /* torchtitan's own script: NGPU=${NGPU:-"8"} */
        each = 8;
        if (titans)
            sc__parse_u32(sc__str(titans), &each);
    }
    if (local && runs(command, by_number))
        sc__parse_u32(sc__str(local), &each);
    if (!each && devices && (seen || runs(command, by_devices)))
        each = listed_devices(devices);
    if (each && nodes && runs(command, by_number) &&
        (!sc__parse_u32(sc__str(nodes), &node_count) || !node_count))
        return 0;
    uint64_t world = (uint64_t)each * node_count;
    return world <= UINT32_MAX ? (uint32_t)world : 0;
}

/* slime hands its program the nodes and GPUs that ray gives the training. */
static uint32_t actor_world(const struct sc__launch *l) {
    const char *nodes = sc__launch_word_behind(l, "actor-num-nodes");
    const char *each = sc__launch_word_behind(l, "actor-num-gpus-per-node");
    uint32_t count = 0;
    uint32_t gpus = 0;
    bool known = nodes && each && sc__parse_u32(sc__str(nodes), &count) &&
                 sc__parse_u32(sc__str(each), &gpus);
    return known && count && gpus <= UINT32_MAX / count ? count * gpus : 0;
}

uint32_t sc__launch_asks(const struct sc__launch *l) {
    uint32_t world = sc__launch_world(l->words, l->count);
    if (!world && l->command)
        world = environment_world(l->command);
    return world ? world : actor_world(l);
}

/* ---- all GPUs of a host ---- */

/* Launchers that take all GPUs where they are given no number: runner.py of DeepSpeed,
 * commands/launch.py of accelerate and what calls it (TRL, Axolotl), launcher.py of
 * LLaMA-Factory, cli/launcher.py of Composer. */
static bool takes_all(const struct sc__shell_command *command) {
    static const char *const names[] =
        {"deepspeed", "accelerate", "trl", "axolotl", "llamafactory-cli", "composer", NULL};
    return launcher_at(command->words, command->count, names) < command->count;
}

/* (torch.distributed.run and .launch stand behind -m.) */
bool sc__launch_starts_ranks(const struct sc__shell_command *command) {
    static const char *const names[] = {"torchrun",
                                        "torch.distributed.run",
                                        "torch.distributed.launch",
                                        "tune",
                                        NULL};
    return takes_all(command) ||
           launcher_at(command->words, command->count, names) < command->count;
}

uint32_t sc__launch_hosts(const struct sc__launch *l) {
    static const char *const hosts[] = {"nnodes", "num-nodes", NULL};
    static const char *const listed[] = {"nnodes", "num-nodes", "hostfile", "H", NULL};
    static const char *const picked[] = {"include", "exclude", "i", "e", NULL};
    static const char *const factory[] = {"llamafactory-cli", NULL};
    const struct sc__shell_command *c = l->command;
    uint32_t count = 1;
    if (!c || l->all_of_hosts)
        return l->all_of_hosts;
    const char *local = launcher_value(c->words, c->count, "nproc-per-node");
    bool counted = counts_devices(local) ||
                   counts_devices(launcher_value(c->words, c->count, "num-processes"));
    if (sc__launch_asks(l) || (!counted && !takes_all(c)))
        return 0;
    for (const char *const *name = picked; !counted && *name; name++)
        if (launcher_value(c->words, c->count, *name))
            return 0;
    bool given = launcher_number(c->words, c->count, hosts, &count);
    bool unknown = false;
    for (const char *const *name = listed; !given && *name; name++)
        unknown = unknown || launcher_value(c->words, c->count, *name);
    const char *said = c->watched[SC__SHELL_NNODES];
    if (!given && said && runs(c, factory))
        unknown = !sc__parse_u32(sc__str(said), &count) || !count;
    return unknown ? 0 : count;
}

const char *sc__launch_counted_in(const struct sc__launch *l) {
    static const char *const names[] = {"accelerate", "trl", NULL};
    const struct sc__shell_command *c = l->command;
    bool launched = c && launcher_at(c->words, c->count, names) < c->count;
    return launched ? launcher_value(c->words, c->count, "config-file") : NULL;
}

/* ---- #SBATCH ---- */

static void add_slurm_text(struct sc__arena *arena,
                           struct sc__setting_list *out,
                           const char *name,
                           const char *value) {
    sc_setting *items = SC__NEW_ARRAY(arena, sc_setting, out->count + 1);
    for (size_t i = 0; i < out->count; i++)
        items[i] = out->items[i];
    items[out->count] = (sc_setting){.name = name, .value = value};
    out->items = items;
    out->count++;
}

static void add_slurm(struct sc__arena *arena,
                      struct sc__setting_list *out,
                      const char *name,
                      uint32_t value) {
    add_slurm_text(arena, out, name, sc__format(arena, "%u", value));
}

/* "--gres=gpu:4", "--gpus-per-node=a100:8": the number at its end. */
static uint32_t number_at_end(const char *text) {
    const char *colon = strrchr(text, ':');
    uint32_t n = 0;
    sc__parse_u32(sc__str(colon ? colon + 1 : text), &n);
    return n;
}

static void split_line(struct sc__arena *arena,
                       struct sc__str line,
                       const char **words,
                       uint32_t *count) {
    struct sc__str part;
    while (*count < 256 && sc__split(&line, ' ', &part)) {
        part = sc__trim(part);
        if (part.n && part.p[0] == '#')
            return;
        if (part.n)
            words[(*count)++] = sc__strndup(arena, part.p, part.n);
    }
}

/* "#PBS -l select=4:ncpus=64:ngpus=8,walltime=…": GPUs of all nodes; 0: it does not say, or
 * there are several kinds of nodes. */
static uint32_t pbs_gpus(struct sc__str text) {
    static const char select[] = "select=";
    static const char each[] = "ngpus=";
    struct sc__str line;
    while (sc__split(&text, '\n', &line)) {
        const char *at =
            sc__str_starts(line, "#PBS") ? sc__str_find_any_case(line, select) : NULL;
        if (!at)
            continue;
        struct sc__str rest = {at + strlen(select),
                               line.n - (size_t)(at + strlen(select) - line.p)};
        struct sc__str part;
        struct sc__str chunk;
        uint32_t nodes = 0;
        uint32_t local = 0;
        sc__split(&rest, ',', &chunk);
        if (chunk.n && memchr(chunk.p, '+', chunk.n))
            return 0;
        for (bool first = true; sc__split(&chunk, ':', &part); first = false)
            if (first)
                sc__parse_u32(sc__trim(part), &nodes);
            else if (sc__str_starts(part, each))
                sc__parse_u32(sc__trim((struct sc__str){part.p + strlen(each),
                                                        part.n - strlen(each)}),
                              &local);
        uint64_t all = (uint64_t)nodes * local;
        return all <= UINT32_MAX ? (uint32_t)all : 0;
    }
    return 0;
}

void sc__launch_slurm(struct sc__arena *arena,
                      struct sc__str text,
                      struct sc__setting_list *out) {
    static const char *const nodes[] = {"nodes", "N", NULL};
    static const char *const tasks[] = {"ntasks-per-node", NULL};
    static const char *const cores[] = {"cpus-per-task", "c", NULL};
    static const char *const all[] = {"ntasks", "n", NULL};
    const char *words[256];
    uint32_t count = 0;
    struct sc__str line;
    uint32_t n;
    uint32_t per_node = 1;
    *out = (struct sc__setting_list){0};
    if (pbs_gpus(text))
        add_slurm(arena, out, "PBS_GPUS", pbs_gpus(text));
    while (sc__split(&text, '\n', &line))
        if (sc__str_starts(line, "#SBATCH"))
            split_line(arena, (struct sc__str){line.p + 7, line.n - 7}, words, &count);
    if (!count)
        return;
    /* scripts that submit themselves look whether they run in a job */
    add_slurm_text(arena, out, "SLURM_JOB_ID", "1");
    add_slurm_text(arena, out, "SLURM_JOBID", "1");
    if (launcher_value(words, count, "job-name"))
        add_slurm_text(arena,
                       out,
                       "SLURM_JOB_NAME",
                       launcher_value(words, count, "job-name"));
    if (launcher_number(words, count, cores, &n))
        add_slurm(arena, out, "SLURM_CPUS_PER_TASK", n);
    if (launcher_number(words, count, tasks, &per_node))
        add_slurm(arena, out, "SLURM_NTASKS_PER_NODE", per_node);
    if (launcher_number(words, count, nodes, &n)) {
        add_slurm(arena, out, "SLURM_NNODES", n);
        add_slurm(arena, out, "SLURM_JOB_NUM_NODES", n);
        if ((uint64_t)n * per_node <= UINT32_MAX)
            add_slurm(arena, out, "SLURM_NTASKS", n * per_node);
    }
    if (launcher_number(words, count, all, &n))
        add_slurm(arena, out, "SLURM_NTASKS", n);
    const char *gpus = launcher_value(words, count, "gpus-per-node");
    if (!gpus)
        gpus = launcher_value(words, count, "gres");
    if (gpus && number_at_end(gpus)) {
        add_slurm(arena, out, "SLURM_GPUS_PER_NODE", number_at_end(gpus));
        add_slurm(arena, out, "SLURM_GPUS_ON_NODE", number_at_end(gpus));
    }
    gpus = launcher_value(words, count, "gpus");
    if (!gpus)
        gpus = launcher_value(words, count, "G");
    if (gpus && number_at_end(gpus))
        add_slurm(arena, out, "SLURM_GPUS", number_at_end(gpus));
}
