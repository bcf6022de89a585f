#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const options[] = {"cluster", "ideal", "layers", "4", NULL};
    fuzz_run(data, size, "neusight-csv", options);
    return 0;
}
