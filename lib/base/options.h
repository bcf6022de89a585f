/* options: the one table that parser, --help, man pages and completions come
 * from, and the view of the given values that readers get. */
#ifndef SC_BASE_OPTIONS_H
#define SC_BASE_OPTIONS_H

#include "base/context.h"

enum {
    SC__OPT_REPEAT = 1, /* may be given several times */
    /* Another name of a field that only counts where nothing else sets it:
     * --use-distributed-optimizer beside --zero. */
    SC__OPT_WEAK = 2
};

/* What a value is, and so what its field in a structure is. */
enum sc__option_type {
    SC__TYPE_TEXT,   /* const char * */
    SC__TYPE_FLAG,   /* int: takes no value, sets its one choice */
    SC__TYPE_WHOLE,  /* uint32_t */
    SC__TYPE_NUMBER, /* double */
    SC__TYPE_SHARE,  /* double: "5%" or 0.05 */
    SC__TYPE_SIZE,   /* uint64_t: bytes */
    SC__TYPE_WORD,   /* int: one of the choices */
    SC__TYPE_WORDS,  /* unsigned: a sum of choices, with commas or blanks */
    SC__TYPE_LIST    /* const char *const *: all values given */
};

/* The structure that an option's field is in. */
enum sc__option_object { SC__IN_NOTHING, SC__IN_PLAN, SC__IN_OPTIONS };

struct sc__choice {
    const char *name; /* NULL ends the list */
    int value;
};

struct sc__option {
    const char *name;  /* long name, without dashes */
    char letter;       /* or 0 */
    const char *arg;   /* what it takes ("FILE", "N"), NULL for a flag */
    const char *dflt;  /* shown in --help, or NULL */
    const char *group; /* heading in --help */
    const char *help;  /* one line */
    unsigned flags;

    enum sc__option_type type;
    enum sc__option_object in; /* and where: */
    size_t offset;
    const char *field; /* its name there */
    double least;      /* of numbers */
    const char *unit;  /* of numbers without one of their own: "us" */
    const struct sc__choice *choices;
    const char *folder; /* of data/ whose files are values: "models/" */
    const char *hint;   /* to a bad value, where the choices are not all */
};

/* A field of sc_plan or sc_options: SC__PLAN_FIELD(tp). */
#define SC__PLAN_FIELD(member)                                                             \
    .in = SC__IN_PLAN, .offset = offsetof(sc_plan, member), .field = #member
#define SC__OPTIONS_FIELD(member)                                                          \
    .in = SC__IN_OPTIONS, .offset = offsetof(sc_options, member), .field = #member

/* The values given with a request. i counts the values of a repeated option;
 * NULL past the last. Flags have the value "". */
struct sc__settings {
    const char *(*nth)(const void *self, const char *name, unsigned i);
    const void *self;
    struct sc_context *ctx;
    /* Whether a value stands in a file, and where; NULL: none does. An error about it is
     * one of that file. */
    bool (*where)(const void *self, const char *name, struct sc__place *at);
};

/* The last value given, NULL when the option was not given. */
const char *sc__setting(const struct sc__settings *s, const char *name);
const char *sc__setting_nth(const struct sc__settings *s, const char *name, unsigned i);
bool sc__setting_flag(const struct sc__settings *s, const char *name);
/* Typed access: *out is left alone when the option is absent; a bad value is SC_USAGE,
 * or SC_INPUT with its place in a file, and names the option. */
sc_status sc__setting_u32(const struct sc__settings *s,
                          const char *name,
                          uint32_t least,
                          uint32_t *out);
sc_status sc__setting_double(const struct sc__settings *s, const char *name, double *out);
sc_status sc__setting_bytes(const struct sc__settings *s, const char *name, uint64_t *out);
sc_status sc__setting_share(const struct sc__settings *s, const char *name, double *out);
/* A share, of which a bare number above 1 is refused: 5 would be 500 %, a gate that
 * never closes. */
sc_status
sc__setting_tolerance(const struct sc__settings *s, const char *name, double *out);
/* Reads text as the option's type, checks it and puts it into its field of
 * object. What is text stays where it is. */
sc_status sc__option_take(struct sc_context *ctx,
                          const struct sc__option *o,
                          const char *text,
                          void *object);
/* Whether the option takes the text, where that can be told from the text alone: not of
 * files, names and lists. at: where it stands in a file, or NULL. */
sc_status sc__option_check(struct sc_context *ctx,
                           const struct sc__option *o,
                           const char *text,
                           const struct sc__place *at);
/* Fills the fields of `in` that the tables have: first by weak names, then by
 * the others, two of which may not contradict each other. */
sc_status sc__options_take(const struct sc__settings *s,
                           const struct sc__option *const *tables,
                           enum sc__option_object in,
                           void *object);
/* SC_USAGE with the name of the field where an enumeration of the object is
 * none of the choices; object_name is what the message calls it. */
sc_status sc__options_check(struct sc_context *ctx,
                            const struct sc__option *table,
                            enum sc__option_object in,
                            const char *object_name,
                            const void *object);
/* Two names of one thing, such as --gbs and --global-batch: one cannot be given beside
 * the other. */
bool sc__options_say_the_same(const struct sc__option *a, const struct sc__option *b);
const struct sc__option *sc__option_find(const struct sc__option *table, const char *name);
/* Its field is an sc_toggle. */
bool sc__option_is_toggle(const struct sc__option *o);
/* No option before it in the table has the same field. */
bool sc__option_is_first(const struct sc__option *table, const struct sc__option *o);
/* Bytes of its field. */
size_t sc__option_size(const struct sc__option *o);
/* "one of: a, b". */
const char *sc__choices_hint(struct sc__arena *arena, const struct sc__choice *choices);

/* The fields of the object that say something, each once: the name of its option
 * and its value as text. */
void sc__options_echo(struct sc__arena *arena,
                      const struct sc__option *table,
                      enum sc__option_object in,
                      const void *object,
                      void (*put)(void *self, const char *name, const char *value),
                      void *self);

/* Settings that are an array of names and values. */
struct sc__setting_list {
    const sc_setting *items;
    size_t count;
};
struct sc__settings sc__settings_of(struct sc_context *ctx,
                                    const struct sc__setting_list *list);

/* One of words (NULL-terminated); *out is its index. */
sc_status sc__setting_word(const struct sc__settings *s,
                           const char *name,
                           const char *const *words,
                           unsigned *out);

#endif
