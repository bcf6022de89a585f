/* tables: the readers of operator and profiler tables and of our own JSON. */
#ifndef SC_IMPORT_TABLES_H
#define SC_IMPORT_TABLES_H

#include "import/reader.h"

extern const struct sc__reader sc__operator_table_reader;
extern const struct sc__reader sc__profiler_table_reader;
extern const struct sc__reader sc__ir_json_reader;

#endif
