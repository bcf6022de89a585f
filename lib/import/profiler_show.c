#include "import/profiler_table.h"
void sc__profile_show(struct sc_context *ctx, const struct sc__document *doc, struct sc__buffer *text,
                      struct sc__json *json) { (void)ctx,(void)doc,(void)text,(void)json; }
