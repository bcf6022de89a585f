/* text: the answer on a terminal, to be read in ten seconds. */
#include "report/write.h"

#include <stdio.h>
#include <string.h>

#define BAR 30

struct page {
    struct sc__buffer *out;
    const struct sc__result *r;
    bool colour;
    int names; /* width of the column of names */
};

static void paint(struct page *p, const char *code) {
    if (p->colour)
        sc__printf(p->out, "\033[%sm", code);
}

/* Eighths of a character, so that small shares show. */
static void put_bar(struct sc__buffer *out, double share) {
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    unsigned eighths = (unsigned)(share * BAR * 8 + 0.5);
    sc__repeat(out, "█", eighths / 8);
    sc__puts(out, parts[eighths % 8]);
}

static void put_line(struct page *p, const char *name, int64_t ps, const char *code) {
    struct sc__buffer time;
    struct sc__buffer bar;
    double share = p->r->step ? (double)ps / (double)p->r->step : 0;
    if (!ps)
        return;
    sc__buffer_init(&time, p->out->arena);
    sc__buffer_init(&bar, p->out->arena);
    sc__put_time(&time, ps);
    put_bar(&bar, share);
    sc__printf(p->out, "  %-*s %12s %6.1f %%", p->names, name, time.text, 100 * share);
    if (bar.size) {
        sc__puts(p->out, "  ");
        paint(p, code);
        sc__puts(p->out, bar.text);
        paint(p, "0");
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

static void put_breakdown(struct page *p) {
    const struct sc__breakdown *b = &p->r->classes[p->r->slowest].breakdown;
    char name[64];
    put_line(p, "compute", b->compute, "34");
    put_line(p, "recompute", b->recompute, "36");
    for (uint32_t i = 0; i < p->r->labels; i++) {
        snprintf(name, sizeof name, "exposed %s", b->comm[i].label);
        put_line(p, name, b->comm[i].exposed, "33");
    }
    put_line(p,
             p->r->workload->mesh.pp > 1 ? "pipeline bubble" : "wait for messages",
             b->bubble,
             "31");
    put_line(p, "skew", b->skew, "35");
    put_line(p, "host and other", b->other, "90");
}

/* Graphs of operations name their groups and know no plan. */
static bool has_plan(const struct sc__workload *w) {
    return strcmp(w->format, "chakra") != 0 && strcmp(w->format, "goal") != 0;
}

static void report_text_put_plan(struct page *p) {
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

static void report_text_put_head(struct page *p) {
    const struct sc__result *r = p->r;
    const struct sc__workload *w = r->workload;
    uint32_t ranks = sc__mesh_ranks(&w->mesh);
    if (r->file_count)
        sc__printf(p->out,
                   "%s%s (%s)\n",
                   r->files[0],
                   r->file_count > 1 ? " …" : "",
                   w->format);
    sc__printf(p->out, "%u GPU%s", ranks, ranks > 1 ? "s" : "");
    if (has_plan(w))
        report_text_put_plan(p);
    sc__printf(p->out,
               "\non %s, %s network\n\n",
               r->cluster.name,
               r->cluster.ideal ? "free" : r->net);
}

static void put_energy(struct sc__buffer *out, double joule) {
    double wh = joule / 3600;
    if (joule <= 0)
        return;
    const char *unit = wh >= 1000 ? "kWh" : wh >= 0.1 ? "Wh" : "J";
    sc__printf(out,
               "\n  energy     %.3g %s a step of the GPUs",
               wh >= 1000  ? wh / 1000
               : wh >= 0.1 ? wh
                           : joule,
               unit);
}

static void put_headline(struct page *p) {
    const struct sc__result *r = p->r;
    double seconds = (double)r->step / (double)SC__PS_PER_S;
    sc__puts(p->out, "  step time  ");
    paint(p, "1");
    sc__put_time(p->out, r->step);
    paint(p, "0");
    if (r->tokens_per_s > 0)
        sc__printf(p->out, "    %.0f tokens/s", r->tokens_per_s);
    else if (seconds > 0 && has_plan(r->workload))
        sc__printf(p->out,
                   "    %.3g micro-batches/s per replica",
                   r->workload->micro_batches / seconds);
    if (r->tflops_per_gpu > 0)
        sc__printf(p->out, "    %.1f TFLOP/s per GPU", r->tflops_per_gpu);
    if (r->mfu > 0)
        sc__printf(p->out, "    MFU %.1f %%", 100 * r->mfu);
    put_energy(p->out, r->energy_j);
    if (r->cost_usd > 0)
        sc__printf(p->out, "    %.3g USD", r->cost_usd);
    sc__puts(p->out, "\n\n");
}

static void put_traffic(struct page *p) {
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

static void put_compat(struct page *p) {
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
    sc__puts(
        p->out,
        "  It adds one stage's rows and a closed-form bubble; the step above runs the "
        "schedule over all\n"
        "  stages with messages between them, overlap, and latency in every collective.\n");
}

static void report_text_put_notes(struct page *p, unsigned width) {
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

static void put_spread(struct page *p) {
    const struct sc__result *r = p->r;
    uint32_t first = 0;
    for (uint32_t i = 1; i < r->class_count; i++)
        if (r->classes[i].end < r->classes[first].end)
            first = i;
    if (r->class_count < 2)
        return;
    bool overlap = r->workload->steps_overlap;
    sc__printf(p->out,
               "\n  shown: %s (rank %u), which %s of %u classes of ranks; ",
               r->classes[r->slowest].class->name,
               r->classes[r->slowest].class->rank,
               overlap ? "takes longest" : "ends last",
               r->class_count);
    sc__printf(p->out,
               "%s %s, ",
               r->classes[first].class->name,
               overlap ? "is done soonest" : "ends first");
    sc__put_time(p->out, r->step - r->classes[first].end);
    sc__puts(p->out, overlap ? " sooner\n" : " before\n");
}

void sc__write_text(const struct sc__result *r,
                    bool colour,
                    unsigned width,
                    struct sc__buffer *out) {
    struct page p = {.out = out, .r = r, .colour = colour, .names = names_width(r)};
    report_text_put_head(&p);
    put_headline(&p);
    put_breakdown(&p);
    put_traffic(&p);
    put_spread(&p);
    if (r->shares)
        sc__shares_text(r->shares, 12, out);
    put_compat(&p);
    report_text_put_notes(&p, width ? width : 100);
}
