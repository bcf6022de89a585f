/* text: the answer on a terminal, to be read in ten seconds. */
#include "report/write.h"
#include "result/stragglers.h"

#include <stdio.h>
#include <string.h>

#define BAR 30
#define MOST_STRAGGLERS 5

struct text_page {
    struct sc__buffer *out;
    const struct sc__result *r;
    bool colour;
    int names; /* width of the column of names */
};

static void text_paint(struct text_page *p, const char *code) {
    if (p->colour)
        sc__put_colour(p->out, code);
}

/* Eighths of a character, so that small shares show. */
static void text_put_bar(struct sc__buffer *out, double share) {
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned eighths = (unsigned)(share * BAR * 8 + 0.5);
    sc__repeat(out, "█", eighths / 8);
    sc__puts(out, parts[eighths % 8]);
}

static void
text_put_line(struct text_page *p, const char *name, int64_t ps, const char *code) {
    struct sc__buffer time;
    struct sc__buffer bar;
    double share = p->r->step ? (double)ps / (double)p->r->step : 0;
    if (!ps)
        return;
    sc__buffer_init(&time, p->out->arena);
    sc__buffer_init(&bar, p->out->arena);
    sc__put_time(&time, ps);
    text_put_bar(&bar, share);
    sc__printf(p->out, "  %-*s %12s %6.1f %%", p->names, name, time.text, 100 * share);
    if (bar.size) {
        sc__puts(p->out, "  ");
        text_paint(p, code);
        sc__puts(p->out, bar.text);
        text_paint(p, "0");
    }
    sc__putc(p->out, '\n');
}

/* Names of groups are the input's and may be long. */
static int names_width(const struct sc__result *r) {
    const struct sc__breakdown *b = &r->classes[r->slowest].breakdown;
    int most = 22;
    for (uint32_t i = 0; i < r->labels; i++) {
        int n = (int)strlen("exposed ") + (int)strlen(b->comm[i].label);
        if (b->comm[i].ops && n > most && n < 60)
            most = n;
    }
    return most;
}

static void text_put_breakdown(struct text_page *p) {
    const struct sc__breakdown *b = &p->r->classes[p->r->slowest].breakdown;
    char name[64];
    text_put_line(p, "compute", b->compute, "34");
    text_put_line(p, "recompute", b->recompute, "36");
    for (uint32_t i = 0; i < p->r->labels; i++) {
        snprintf(name, sizeof name, "exposed %s", b->comm[i].label);
        text_put_line(p, name, b->comm[i].exposed, "33");
    }
    text_put_line(p,
                  p->r->workload->mesh.pp > 1 ? "pipeline bubble" : "waiting for messages",
                  b->bubble,
                  "31");
    text_put_line(p, "skew", b->skew, "35");
    text_put_line(p, "host and other", b->other, "90");
}

/* Graphs of operations name their groups and know no plan. */
static bool has_plan(const struct sc__workload *w) {
    return strcmp(w->format, "chakra") != 0 && strcmp(w->format, "goal") != 0;
}

static void text_put_plan(struct text_page *p) {
    const struct sc__workload *w = p->r->workload;
    const struct sc__mesh *m = &w->mesh;
    sc__printf(p->out, ": tp %u", m->tp);
    if (m->cp > 1)
        sc__printf(p->out, " · cp %u", m->cp);
    if (m->ep > 1)
        sc__printf(p->out, " · ep %u", m->ep);
    sc__printf(p->out, " · pp %u", m->pp);
    if (w->vpp > 1)
        sc__printf(p->out, " (vpp %u)", w->vpp);
    sc__printf(p->out,
               " · dp %u · %u micro-batch%s",
               m->dp,
               w->micro_batches,
               w->micro_batches > 1 ? "es" : "");
    if (w->schedule)
        sc__printf(p->out, " · %s", w->schedule);
}

static const char *setting_of(const struct sc__result *r, const char *name) {
    for (uint32_t i = 0; i < r->settings.count; i++)
        if (!strcmp(r->settings.items[i].name, name))
            return r->settings.items[i].value;
    return NULL;
}

/* " · zero 1", where it is something and not the word for nothing. */
static void put_setting(struct text_page *p, const char *name, const char *title) {
    const char *value = setting_of(p->r, name);
    if (value && strcmp(value, "none") != 0 && strcmp(value, "0") != 0 &&
        strcmp(value, "no") != 0)
        sc__printf(p->out, " · %s%s", title, value);
}

static void text_put_model(struct text_page *p) {
    const struct sc__result_model *m = &p->r->model;
    if (!m->name)
        return;
    sc__printf(p->out, "%s: %.4g B parameters", m->name, m->parameters / 1e9);
    if (m->active < m->parameters * 0.999)
        sc__printf(p->out, " (%.4g B active)", m->active / 1e9);
    put_setting(p, "seq", "seq ");
    put_setting(p, "global-batch", "batch ");
    put_setting(p, "micro-batch", "micro-batch ");
    put_setting(p, "dtype", "");
    put_setting(p, "fp8", "");
    put_setting(p, "lora", "LoRA ");
    put_setting(p, "recompute", "recompute ");
    put_setting(p, "zero", "ZeRO ");
    put_setting(p, "software", "");
    sc__putc(p->out, '\n');
}

static void text_put_head(struct text_page *p) {
    const struct sc__result *r = p->r;
    const struct sc__workload *w = r->workload;
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    if (r->file_count)
        sc__printf(p->out,
                   "%s%s (%s)\n",
                   r->files[0],
                   r->file_count > 1 ? " …" : "",
                   w->format);
    text_put_model(p);
    sc__printf(p->out, "%u GPU%s", ranks, ranks > 1 ? "s" : "");
    if (has_plan(w))
        text_put_plan(p);
    if (r->cluster.ideal)
        sc__printf(p->out, "\non %s: communication takes no time\n\n", r->cluster.name);
    else
        sc__printf(p->out, "\non %s, %s network model\n\n", r->cluster.name, r->net);
}

static void text_put_energy(struct sc__buffer *out, double joule) {
    double wh = joule / 3600;
    if (joule <= 0)
        return;
    const char *unit = wh >= 1000 ? "kWh" : wh >= 0.1 ? "Wh" : "J";
    sc__printf(out,
               "\n  energy     %.3g %s per step (GPUs only)",
               wh >= 1000  ? wh / 1000
               : wh >= 0.1 ? wh
                           : joule,
               unit);
}

static void text_put_training(struct sc__buffer *out, const struct sc__training *t) {
    if (!(t->tokens > 0))
        return;
    sc__puts(out, "\n  training   ");
    sc__put_count(out, t->tokens);
    struct sc__span_unit unit = sc__span_unit(86400 * t->days);
    sc__printf(out, " tokens: %.4g %s, ", 86400 * t->days / unit.seconds, unit.name);
    sc__put_count(out, t->gpu_hours);
    sc__puts(out, " GPU-hours");
    if (t->usd > 0) {
        sc__puts(out, ", ");
        sc__put_count(out, t->usd);
        sc__printf(out, " USD at %.4g an hour", t->usd_per_hour);
    }
    sc__puts(out, "; nothing fails (else: stepcast train)");
}

static void text_put_headline(struct text_page *p) {
    const struct sc__result *r = p->r;
    double seconds = (double)r->step / (double)SC__PS_PER_S;
    sc__puts(p->out, "  step time  ");
    text_paint(p, "1");
    sc__put_time(p->out, r->step);
    text_paint(p, "0");
    if (r->tokens_per_s > 0)
        sc__printf(p->out,
                   "    %.0f tokens/s (%.0f per GPU)",
                   r->tokens_per_s,
                   r->tokens_per_s / sc__mesh_ranks(&r->workload->mesh));
    else if (seconds > 0 && has_plan(r->workload))
        sc__printf(p->out,
                   "    %.3g micro-batches/s per replica",
                   r->workload->micro_batches / seconds);
    if (r->tflops_per_gpu > 0)
        sc__printf(p->out, "    %.1f TFLOP/s per GPU", r->tflops_per_gpu);
    if (r->mfu > 0)
        sc__printf(p->out, "    MFU %.1f %%", 100 * r->mfu);
    text_put_energy(p->out, r->energy_j);
    if (r->cost_usd > 0)
        sc__printf(p->out, "    %.3g USD per step", r->cost_usd);
    text_put_training(p->out, &r->training);
    if (r->band.count)
        sc__printf(p->out,
                   "\n  band       %.1f %% mean error of %u published steps (%s), bias "
                   "%+.1f %%: %s",
                   r->band.mean,
                   r->band.count,
                   r->band.like,
                   r->band.bias,
                   r->band.grade);
    sc__puts(p->out, "\n\n");
}

/* The fullest stage, part by part. */
static void text_put_memory(struct text_page *p, unsigned width) {
    const struct sc__workload *w = p->r->workload;
    double gib = 1u << 30;
    uint32_t most = 0;
    if (!w->memory || !w->memory[0].weights)
        return;
    for (uint32_t i = 1; i < w->class_count; i++)
        if (sc__memory_total(&w->memory[i]) > sc__memory_total(&w->memory[most]))
            most = i;
    const struct sc__memory *m = &w->memory[most];
    const struct {
        const char *name;
        uint64_t bytes;
    } parts[] = {{"weights", m->weights},
                 {"gradients", m->gradients},
                 {"optimizer", m->optimizer},
                 {"activations", m->activations},
                 {"logits", m->logits},
                 {"workspace", m->workspace},
                 {"NCCL", m->communication},
                 {"CUDA context", m->context},
                 {"fragmentation", m->fragmentation}};
    double total = (double)sc__memory_total(m);
    sc__printf(p->out, "\n  memory     %.1f GiB", total / gib);
    if (w->memory_capacity)
        sc__printf(p->out,
                   " of %.1f (%.0f %%)",
                   (double)w->memory_capacity / gib,
                   100 * total / (double)w->memory_capacity);
    sc__printf(p->out, " on a GPU of stage %u:", w->classes[most].stage);
    size_t column = width;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[64];
        int n = snprintf(text,
                         sizeof text,
                         "%s %.2f",
                         parts[i].name,
                         (double)parts[i].bytes / gib);
        if (!parts[i].bytes)
            continue;
        if (column + (size_t)n + 3 > width) {
            sc__puts(p->out, "\n            ");
            column = 12;
        } else {
            sc__puts(p->out, " ·");
            column += 2;
        }
        sc__printf(p->out, " %s", text);
        column += (size_t)n + 1;
    }
    if (m->host)
        sc__printf(p->out,
                   "\n             and %.1f GiB of each rank on its host",
                   (double)m->host / gib);
    sc__putc(p->out, '\n');
}

static void text_put_traffic(struct text_page *p) {
    const struct sc__breakdown *b = &p->r->classes[p->r->slowest].breakdown;
    bool any = false;
    for (uint32_t i = 0; i < p->r->labels; i++) {
        const struct sc__by_label *l = &b->comm[i];
        struct sc__buffer cell[3];
        if (!l->ops)
            continue;
        if (!any)
            sc__printf(p->out,
                       "\n  %-*s       ops        bytes         busy      exposed\n",
                       p->names - 4,
                       "communication");
        any = true;
        for (int k = 0; k < 3; k++)
            sc__buffer_init(&cell[k], p->out->arena);
        sc__put_bytes(&cell[0], l->bytes);
        sc__put_time(&cell[1], l->busy);
        sc__put_time(&cell[2], l->exposed);
        sc__printf(p->out,
                   "  %-*s %9llu %12s %12s %12s\n",
                   p->names - 4,
                   l->label,
                   (unsigned long long)l->ops,
                   cell[0].text,
                   cell[1].text,
                   cell[2].text);
    }
}

static void text_put_compat(struct text_page *p) {
    const struct sc__compat *c = &p->r->compat;
    if (!c->present)
        return;
    sc__puts(p->out, "\n  SimAI-Analytical on the same file\n");
    sc__printf(p->out,
               "  compute %.0f us · dp %.0f · dp_ep %.0f · tp %.0f · ep %.0f · ",
               c->compute,
               c->dp,
               c->dp_ep,
               c->tp,
               c->ep);
    if (c->no_bubble)
        sc__puts(p->out,
                 "bubble: the file has no vpp, SimAI divides by zero and prints NaN (--vpp "
                 "1 gives "
                 "its number)\n");
    else
        sc__printf(p->out, "bubble %.0f · total %.0f us\n", c->bubble, c->total);
    sc__puts(p->out,
             "  SimAI adds up the rows of one stage and a closed-form bubble; the step "
             "above runs "
             "the schedule\n"
             "  over all stages, with messages between them, overlap, and latency in every "
             "collective.\n");
}

static void text_put_notes(struct text_page *p, unsigned width) {
    const struct sc__result *r = p->r;
    if (r->note_count)
        sc__puts(p->out, "\n  notes\n");
    for (uint32_t i = 0; i < r->note_count; i++) {
        const char *text = r->notes[i].text;
        unsigned column = 4;
        sc__puts(p->out, "  - ");
        for (const char *word = text; *word;) {
            size_t n = strcspn(word, " ");
            bool wrap = column > 4 && column + n + 1 > width;
            if (wrap)
                sc__puts(p->out, "\n    ");
            else if (word > text)
                sc__putc(p->out, ' ');
            sc__put(p->out, word, n);
            column = (wrap ? 4 : column) + (unsigned)n + 1;
            word += n + (word[n] == ' ');
        }
        sc__putc(p->out, '\n');
    }
}

static bool is_whole_stage(const struct sc__result *r, const struct sc__class *c) {
    uint32_t sharing = 0;
    for (uint32_t i = 0; i < r->class_count; i++)
        sharing += r->classes[i].class->stage == c->stage;
    return r->workload->mesh.pp > 1 && sharing == 1;
}

/* "stage 3 (128 ranks)"; where ranks of a stage differ, "rank 25 and 2 like it". */
static void text_put_ranks(struct text_page *p, const struct sc__class *c) {
    if (is_whole_stage(p->r, c)) {
        sc__printf(p->out, "stage %u", c->stage);
        if (c->ranks > 1)
            sc__printf(p->out, " (%u ranks)", c->ranks);
        return;
    }
    sc__printf(p->out, "rank %u", c->rank);
    if (c->ranks > 1)
        sc__printf(p->out, " and %u like it", c->ranks - 1);
    if (p->r->workload->mesh.pp > 1)
        sc__printf(p->out, " (stage %u)", c->stage);
}

/* Whose breakdown this is, and how far apart the ranks finish. */
static void text_put_spread(struct text_page *p) {
    const struct sc__result *r = p->r;
    bool overlap = r->workload->steps_overlap;
    uint32_t first = 0;
    if (r->class_count < 2)
        return;
    for (uint32_t i = 1; i < r->class_count; i++)
        if (r->classes[i].end < r->classes[first].end)
            first = i;
    int64_t earlier = r->step - r->classes[first].end;
    sc__puts(p->out, "\n  shown: ");
    text_put_ranks(p, r->classes[r->slowest].class);
    if (!earlier) {
        sc__puts(p->out, "; all ranks finish at the same time\n");
        return;
    }
    sc__puts(p->out, overlap ? ", which takes longest; " : ", the last to finish; ");
    text_put_ranks(p, r->classes[first].class);
    sc__puts(p->out, overlap ? " needs " : " finishes first, ");
    sc__put_time(p->out, earlier);
    sc__puts(p->out, overlap ? " less\n" : " earlier\n");
}

/* Who is slow, and what that costs the others. */
static void text_put_stragglers(struct text_page *p) {
    struct sc__stragglers s = sc__stragglers_find(p->out->arena, p->r);
    if (!s.count)
        return;
    sc__puts(p->out,
             "\n  slow ranks                compute  over the median   others wait\n");
    for (uint32_t i = 0; i < s.count && i < MOST_STRAGGLERS; i++) {
        const struct sc__straggler *one = &s.items[i];
        struct sc__buffer name;
        struct sc__buffer time[3];
        struct text_page into = *p;
        sc__buffer_init(&name, p->out->arena);
        into.out = &name;
        text_put_ranks(&into, p->r->classes[one->class].class);
        for (unsigned k = 0; k < 3; k++)
            sc__buffer_init(&time[k], p->out->arena);
        sc__put_time(&time[0], one->compute);
        sc__put_time(&time[1], one->compute - one->median);
        sc__put_time(&time[2], one->waited);
        double over = 100 * (double)(one->compute - one->median);
        sc__printf(p->out,
                   "  %-20s %12s  %9s %6s  %12s\n",
                   name.text,
                   time[0].text,
                   time[1].text,
                   one->median > 0
                       ? sc__format(p->out->arena, "%+4.1f %%", over / (double)one->median)
                       : "-", /* the others compute nothing */
                   time[2].text);
    }
    if (s.count > MOST_STRAGGLERS)
        sc__printf(p->out, "  … and %u more\n", s.count - MOST_STRAGGLERS);
}

void sc__write_text(const struct sc__result *r,
                    bool colour,
                    unsigned width,
                    struct sc__buffer *out) {
    struct text_page p = {.out = out, .r = r, .colour = colour, .names = names_width(r)};
    text_put_head(&p);
    text_put_headline(&p);
    text_put_breakdown(&p);
    text_put_traffic(&p);
    text_put_spread(&p);
    text_put_stragglers(&p);
    text_put_memory(&p, width ? width : 100);
    if (r->shares)
        sc__shares_text(r->shares, 12, out);
    text_put_compat(&p);
    text_put_notes(&p, width ? width : 100);
}
