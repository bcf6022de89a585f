#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const plain[] = {"cluster", "dgx-a100", NULL};
    static const char *const what_if[] = {"cluster",
                                          "dgx-h100",
                                          "ep",
                                          "16",
                                          "a2a-chunks",
                                          "3",
                                          "top-k",
                                          "1",
                                          "gpu-speedup",
                                          "2",
                                          NULL};
    fuzz_run(data, size, "profiler-table", size % 2 ? plain : what_if);
    return 0;
}
