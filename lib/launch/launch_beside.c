/* launch_beside: files that a launch names, and writes itself or has beside it: DeepSpeed's
 * JSON, the YAML of `accelerate launch --config_file` and of TRL's --config. What they say
 * counts where the launch itself does not say it. Only plain files in the launch's folder,
 * or below it or below the current one, are opened. */
#include "launch/config.h"

#include "base/file.h"
#include "base/platform.h"

#include <string.h>

#define BESIDE_LARGEST ((size_t)1 << 20)

static bool leads_outside(const char *path) {
    struct sc__str rest = sc__str(path);
    struct sc__str part;
    if (*path == '/')
        return true;
    while (sc__split(&rest, '/', &part))
        if (sc__str_is(part, ".."))
            return true;
    return false;
}

static bool is_plain_file(const char *path) {
    return sc__path_look(path).kind == SC__PATH_FILE && sc__path_readable(path);
}

/* NULL: there is none. */
static const char *path_beside(const struct sc__launch *l, const char *name) {
    const char *slash = strrchr(l->file, '/');
    if (!l->reads_files || leads_outside(name))
        return NULL;
    if (slash) {
        const char *path =
            sc__format(&l->ctx->arena, "%.*s/%s", (int)(slash - l->file), l->file, name);
        if (is_plain_file(path))
            return path;
    }
    return is_plain_file(name) ? name : NULL;
}

sc_status
sc__launch_read_beside(const struct sc__launch *l, const char *name, struct sc__str *text) {
    const char *path = path_beside(l, name);
    *text = (struct sc__str){NULL, 0};
    return path ? sc__read_all(l->ctx, path, BESIDE_LARGEST, text) : SC_OK;
}

const char *sc__launch_written(const struct sc__launch *l, const char *name) {
    return sc__shell_written(l->command ? l->command->files : l->shell.files, name);
}

/* The text of a file that the script writes, or NULL. For what is not known of it "auto"
 * stands, a value that counts for nothing; what a program makes, as sed of a template, is
 * not known at all. */
static const char *written_text(const struct sc__launch *l, const char *name) {
    const char *text = sc__launch_written(l, name);
    uint32_t mark = text ? sc__shell_mark(text) : 0;
    if (!mark)
        return text;
    const struct sc__shell_unknown *u = &l->shell.unknowns[mark - 1];
    sc__note(
        l->ctx,
        "launch-beside",
        "%s:%u: %.80s, which the script writes, has %s in it: what depends on that does "
        "not count unless options say it",
        l->file,
        u->line,
        name,
        u->what);
    text = sc__shell_known(&l->ctx->arena, text, "auto");
    return strpbrk(text, ":{") ? text : NULL;
}

static bool is_said(const struct sc__config *c, uint32_t count, const char *key) {
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(c->items[i].key, key))
            return true;
    return false;
}

/* Behind what c says itself. */
static void
add_keys(const struct sc__launch *l, struct sc__config *c, struct sc__config *more) {
    uint32_t own = c->count;
    sc__config_yaml_truth(more);
    sc__config_interpolate(l->ctx, more);
    for (uint32_t i = 0; i < more->count; i++) {
        struct sc__config_item *item = &more->items[i];
        if (is_said(c, own, item->key) || !strcmp(item->value, "auto"))
            continue;
        item->line = 0; /* of another file */
        *SC__PUSH(&l->ctx->arena, c->items, c->count, c->capacity) = *item;
    }
}

sc_status sc__config_take_beside(const struct sc__launch *l,
                                 const char *name,
                                 struct sc__config *c,
                                 bool *found) {
    struct sc__config more = {0};
    struct sc__str text;
    const char *written = written_text(l, name);
    const char *path = written ? name : path_beside(l, name);
    *found = path != NULL;
    if (!path)
        return SC_OK;
    if (written)
        text = sc__str(written);
    else
        SC__TRY(sc__read_all(l->ctx, path, BESIDE_LARGEST, &text));
    if (sc__str_ends(sc__str(path), ".toml"))
        SC__TRY(sc__config_read_toml(l->ctx, path, text, &more));
    else
        SC__TRY(sc__config_read_yaml(l->ctx, path, text, &more));
    add_keys(l, c, &more);
    sc__note(l->ctx, "launch-beside", "%s, which %s names, is read too", name, l->file);
    return SC_OK;
}

/* JSON in place of a file's name, as TrainingArguments takes it. */
static sc_status take_json(const struct sc__launch *l,
                           struct sc__config *c,
                           const char *key,
                           const char *text) {
    struct sc__config more = {0};
    SC__TRY(sc__config_read_yaml(l->ctx, l->file, sc__str(text), &more));
    for (uint32_t i = 0; i < c->count; i++)
        if (!strcmp(c->items[i].key, key))
            c->items[i].value = "given.json"; /* whose name says nothing */
    add_keys(l, c, &more);
    return SC_OK;
}

static bool has_ending(const char *name, const char *const *endings) {
    for (; *endings; endings++)
        if (sc__str_ends(sc__str(name), *endings))
            return true;
    return false;
}

/* A file whose name says a stage of ZeRO is known without being read; that the optimizer is
 * on the host counts by the name, too (config_offload.c). */
static void note_missing(const struct sc__launch *l, const char *key, const char *name) {
    bool of_deepspeed = sc__str_starts(sc__str(key), "deepspeed");
    bool offloads = of_deepspeed && strstr(name, "offload");
    const char *stage = sc__config_deepspeed_stage(name);
    if (of_deepspeed && stage)
        return;
    if (!strcmp(key, "config_file") && (stage || sc__config_fsdp_file(name))) {
        sc__note(
            l->ctx,
            "launch-beside",
            "%s names %.80s, which is not beside it: of what it says %s%s is taken, by "
            "its name",
            l->file,
            name,
            stage ? "ZeRO " : "FSDP",
            stage ? sc__strndup(&l->ctx->arena, stage, 1) : "");
        return;
    }
    sc__note(l->ctx,
             "launch-beside",
             "%s names %.80s, which is not beside it: %s does not count unless options say "
             "it",
             l->file,
             name,
             offloads ? "offloading is taken from its name, and what else it says (ZeRO)"
             : !strcmp(key, "config")
                 ? "what it says (length, batch, checkpointing and all else)"
             : !strcmp(key, "fsdp_config") ? "what it says (checkpointing, offloading)"
                                           : "what it says (ZeRO, FSDP, offloading)");
}

/* `llamafactory-cli train FILE`, `axolotl train FILE`, `-m axolotl.cli.train FILE`, and
 * LLaMA-Factory's own files behind other launchers: `src/train.py FILE`, `-m
 * llamafactory.cli train FILE`. */
static bool trains_file(const char *const *words, uint32_t at) {
    static const char *const modules[] = {"axolotl.cli.train", NULL};
    static const char *const programs[] = {"llamafactory-cli",
                                           "llamafactory.cli",
                                           "llmtuner.cli",
                                           "axolotl",
                                           NULL};
    static const char *const files[] = {"src/train.py", "src/train_bash.py", NULL};
    bool train = at && !strcmp(words[at], "train");
    return has_ending(words[at], modules) || has_ending(words[at], files) ||
           (train && has_ending(words[at - 1], programs));
}

const char *sc__launch_configuration(const char *const *words, uint32_t count) {
    static const char *const endings[] = {".yaml", ".yml", ".json", NULL};
    for (uint32_t i = 0; i + 1 < count; i++)
        if (trains_file(words, i) && has_ending(words[i + 1], endings))
            return words[i + 1];
    return NULL;
}

bool sc__launch_is_script(const struct sc__launch *l) {
    const struct sc__shell_command *c = l->command;
    return c && !sc__launch_configuration(c->words, c->count);
}

/* All that is trained is said there. */
static sc_status read_configuration(const struct sc__launch *l, struct sc__config *c) {
    const char *name = sc__launch_configuration(l->words, l->count);
    bool found = true;
    if (name)
        SC__TRY(sc__config_take_beside(l, name, c, &found));
    return found ? SC_OK
                 : sc__launch_fail(l,
                                   l->line,
                                   "give that file itself: stepcast run FILE --gpus N",
                                   "what is trained stands in %.80s, which is not beside "
                                   "this script",
                                   name);
}

static void put_unsaid(const struct sc__launch *l,
                       struct sc__config *c,
                       const char *key,
                       const char *value) {
    const char *dot = strrchr(key, '.');
    if (!is_said(c, c->count, key))
        *SC__PUSH(&l->ctx->arena, c->items, c->count, c->capacity) =
            (struct sc__config_item){.key = key,
                                     .last = dot ? dot + 1 : key,
                                     .value = value};
}

/* --accelerate_config of TRL is one of its own files (trl/accelerate_configs), or a path.
 * How many processes its multi_gpu has differs by version. */
static void take_accelerate_config(const struct sc__launch *l, struct sc__config *c) {
    static const struct {
        const char *name;
        const char *key;
        const char *value;
        const char *processes;
    } own[] = {{"single_gpu", NULL, NULL, "1"},
               {"multi_gpu", NULL, NULL, NULL},
               {"fsdp1", "fsdp_config.fsdp_version", "1", "8"},
               {"fsdp2", "fsdp_config.fsdp_version", "2", "8"},
               {"zero1", "deepspeed_config.zero_stage", "1", "8"},
               {"zero2", "deepspeed_config.zero_stage", "2", "8"},
               {"zero3", "deepspeed_config.zero_stage", "3", "8"}};
    const char *name = sc__config_exact(c, "accelerate_config");
    if (!name)
        return;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(own[i].name, name) != 0)
            continue;
        if (own[i].key)
            put_unsaid(l, c, own[i].key, own[i].value);
        if (own[i].processes)
            put_unsaid(l, c, "num_processes", own[i].processes);
        const char *processes = own[i].processes;
        sc__note(l->ctx,
                 "launch-beside",
                 "%s names TRL's own accelerate_config %s%s",
                 l->file,
                 name,
                 processes ? sc__format(&l->ctx->arena,
                                        ", of %s processes unless it says another number",
                                        processes)
                           : "");
        return;
    }
    put_unsaid(l, c, "config_file", name);
}

/* The keys from one on are those of a section. */
static void put_in_section(const struct sc__launch *l,
                           struct sc__config *c,
                           uint32_t from,
                           const char *section) {
    for (uint32_t i = from; i < c->count; i++)
        c->items[i].key = sc__format(&l->ctx->arena, "%s.%s", section, c->items[i].key);
}

sc_status sc__config_read_beside(const struct sc__launch *l, struct sc__config *c) {
    static const char *const endings[] = {".json", ".yaml", ".yml", ".conf", NULL};
    static const char *const keys[] = {"config",
                                       "config_file",
                                       "deepspeed",
                                       "deepspeed_config", /* of DeepSpeed's own flags */
                                       "deepspeed_config_file",
                                       "fsdp_config", /* of TrainingArguments */
                                       NULL};
    SC__TRY(read_configuration(l, c));
    for (const char *const *key = keys; *key; key++) {
        bool in_sections = !strcmp(*key, "deepspeed_config_file"); /* accelerate's file */
        const char *name =
            in_sections ? sc__config_value(c, *key) : sc__config_exact(c, *key);
        bool found = true;
        bool read = name && has_ending(name, endings);
        uint32_t own = c->count;
        if (read)
            SC__TRY(sc__config_take_beside(l, name, c, &found));
        else if (name && *name == '{' && l->command)
            SC__TRY(take_json(l, c, *key, name));
        if (!strcmp(*key, "fsdp_config"))
            put_in_section(l, c, own, *key);
        if (!found)
            note_missing(l, *key, name);
        if (!strcmp(*key, "config")) /* which may say it */
            take_accelerate_config(l, c);
    }
    return SC_OK;
}
