/* file_names: file and directory names of traces as facts.
 *
 *   wd16_tp1_pp2_exp2_expNum8_l8_bs1_GPT2BPETokenizer_rank0_20250818085316.txt
 *   pp2_tp1_exp4_expn8_dp8_nl8_hs4096_sl1024/
 *
 * A name is words between '_', each letters and then digits; words that are
 * not known (the tokenizer) are passed over. */
#include "frontend/megatron_trace/megatron_trace.h"

#include <ctype.h>
#include <string.h>

static uint32_t *fact(struct sc__trace_facts *f, struct sc__str word) {
    const struct {
        const char *word;
        uint32_t *to;
    } known[] = {{"wd", &f->world},
                 {"tp", &f->tp},
                 {"pp", &f->pp},
                 {"dp", &f->dp},
                 {"exp", &f->ep},
                 {"ep", &f->ep},
                 {"expNum", &f->experts},
                 {"expn", &f->experts},
                 {"numl", &f->layers},
                 {"l", &f->layers},
                 {"nl", &f->layers},
                 {"bs", &f->micro_batch},
                 {"hs", &f->hidden},
                 {"sl", &f->sequence},
                 {"rank", &f->rank}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (sc__str_is(word, known[i].word))
            return known[i].to;
    return NULL;
}

static void read_word(struct sc__trace_facts *f, struct sc__str word) {
    struct sc__str name = word;
    struct sc__str number;
    while (name.n && isdigit((unsigned char)name.p[name.n - 1]))
        name.n--;
    number = (struct sc__str){word.p + name.n, word.n - name.n};
    if (!name.n) {
        uint64_t stamp;
        if (word.n == 14 && sc__parse_u64(word, &stamp))
            f->stamp = stamp;
        return;
    }
    uint32_t *to = fact(f, name);
    uint32_t value;
    if (!to || !sc__parse_u32(number, &value))
        return;
    *to = value;
    if (to == &f->rank)
        f->has_rank = true;
}

/* The words of one name, without what follows the first dot. */
static void read_name(struct sc__trace_facts *f, struct sc__str name) {
    const char *dot = name.n ? memchr(name.p, '.', name.n) : NULL;
    struct sc__str word;
    if (dot)
        name.n = (size_t)(dot - name.p);
    while (sc__split(&name, '_', &word))
        read_word(f, word);
}

/* One name; one that does not tell tp and pp is not of this kind, and "exp5"
 * in it may be anything: only rank and stamp count then. */
static struct sc__trace_facts name_facts(struct sc__str name) {
    struct sc__trace_facts f = {0};
    read_name(&f, name);
    if (f.tp && f.pp)
        return f;
    return (
        struct sc__trace_facts){.rank = f.rank, .has_rank = f.has_rank, .stamp = f.stamp};
}

static struct sc__str last_part(struct sc__str path, struct sc__str *above) {
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    size_t from = path.n;
    while (from && path.p[from - 1] != '/')
        from--;
    *above = (struct sc__str){path.p, from ? from - 1 : 0};
    return (struct sc__str){path.p + from, path.n - from};
}

static void file_names_take(uint32_t *to, uint32_t value) {
    if (value)
        *to = value;
}

void sc__trace_name_facts(const char *path, struct sc__trace_facts *out) {
    struct sc__str above;
    struct sc__str rest;
    struct sc__trace_facts file = name_facts(last_part(sc__str(path), &above));
    struct sc__str directory = last_part(above, &rest);
    *out = name_facts(directory);
    out->rank = file.rank;
    out->has_rank = file.has_rank;
    out->stamp = file.stamp;
    file_names_take(&out->world, file.world);
    file_names_take(&out->tp, file.tp);
    file_names_take(&out->pp, file.pp);
    file_names_take(&out->dp, file.dp);
    file_names_take(&out->ep, file.ep);
    file_names_take(&out->experts, file.experts);
    file_names_take(&out->layers, file.layers);
    file_names_take(&out->micro_batch, file.micro_batch);
    file_names_take(&out->hidden, file.hidden);
    file_names_take(&out->sequence, file.sequence);
    uint64_t replica = (uint64_t)out->tp * out->pp;
    if (out->world && replica && out->world % replica == 0)
        out->dp = (uint32_t)(out->world / replica);
}
