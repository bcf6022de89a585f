/* words: how the JSON form of the intermediate representation spells its
 * enumerations. In the order of the enums, NULL-terminated. */
#ifndef SC_WORKLOAD_WORDS_H
#define SC_WORKLOAD_WORDS_H

#define SC__IR_SCHEMA "stepcast/ir/1"

extern const char *const sc__op_words[];    /* enum sc__op_kind */
extern const char *const sc__phase_words[]; /* enum sc__phase */
extern const char *const sc__coll_words[];  /* enum sc__coll */
extern const char *const sc__work_words[];  /* enum sc__work */
extern const char *const sc__flag_words[];  /* SC__OP_EAGER …, by bit */
extern const char *const sc__group_words[]; /* enum sc__group_kind */
extern const char *const sc__dim_words[];   /* enum sc__dim */

#endif
