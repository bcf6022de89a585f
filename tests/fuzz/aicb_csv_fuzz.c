#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const options[] = {"cluster", "dgx-h100", NULL};
    fuzz_run(data, size, "aicb-csv", options);
    return 0;
}
