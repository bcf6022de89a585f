#include "base/data.h"

#include <string.h>

const struct sc__data_file *sc__data_find(const char *path) {
    for (unsigned i = 0; i < sc__data_file_count; i++)
        if (!strcmp(sc__data_files[i].path, path)) return &sc__data_files[i];
    return NULL;
}
