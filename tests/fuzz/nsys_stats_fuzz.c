#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const options[] = {"cluster", "ideal", "gpu-speedup", "2", NULL};
    fuzz_run(data, size, "nsys-stats", options);
    return 0;
}
