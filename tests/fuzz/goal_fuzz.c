#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const options[] = {"loggops", "3700,200,5,0.02", NULL};
    fuzz_run(data, size, "goal", options);
    return 0;
}
