/* base: what every folder may use. One include for all of it.
 *
 * Memory comes from arenas by lifetime; an allocation never fails in the eyes
 * of its caller: when memory is short the arena goes back to the entry of the
 * library (sc__guarded in context.h), which answers SC_SYSTEM. So no function
 * checks for NULL. */
#ifndef SC_BASE_BASE_H
#define SC_BASE_BASE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/context.h"
#include "base/data.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/heap.h"
#include "base/json_write.h"
#include "base/number.h"
#include "base/options.h"
#include "base/output.h"
#include "base/platform.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/text.h"
#include "base/units.h"

#endif
