/* packet_words: the words of a text file, with their places for errors. */
#ifndef SC_NETWORK_PACKET_WORDS_H
#define SC_NETWORK_PACKET_WORDS_H

#include "base/base.h"

struct sc__packet_words {
    const char *option; /* the words are its value; NULL: they are a file's */
    struct sc__input in;
    struct sc__str line;
    struct sc__str rest; /* of the line */
    struct sc__str word; /* the one last taken */
};

/* The next line with something in it; lines that begin with # are passed over. */
sc_status sc__packet_line(struct sc__packet_words *w, bool *more);
/* The next word of the line; false at its end. */
bool sc__packet_word(struct sc__packet_words *w);
/* Fails at the word last taken; an option's is a usage error. */
sc_status sc__packet_bad(struct sc__packet_words *w, const char *hint, const char *what);
/* The next word as a value; what: what is expected, for the error. */
sc_status sc__packet_take_u32(struct sc__packet_words *w,
                              const char *hint,
                              const char *what,
                              uint32_t *out);
sc_status sc__packet_take_double(struct sc__packet_words *w,
                                 const char *hint,
                                 const char *what,
                                 double *out);
/* "100Gbps", "1000Mb/s": bits per second. */
sc_status sc__packet_take_rate(struct sc__packet_words *w, uint64_t *out);
/* Fails where a word is left. */
sc_status sc__packet_line_end(struct sc__packet_words *w, const char *hint);

#endif
