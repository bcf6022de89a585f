/* python_json: JSON as Python's json module writes it, made fit for a strict
 * reader. */
#ifndef SC_MODEL_PYTHON_JSON_H
#define SC_MODEL_PYTHON_JSON_H

#include "base/base.h"

/* Each value NaN, Infinity or -Infinity becomes a string of the same length, so
 * that lines and columns stay right and no reader takes it for a number (nor,
 * as it would null, for an absent one). Text without any is returned as it is. */
struct sc__str sc__python_json(struct sc__arena *arena, struct sc__str text);

#endif
