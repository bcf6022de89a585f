#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const plain[] =
        {"cluster", "dgx-a100", "dp", "8", "bucket", "1MiB", NULL};
    static const char *const deep[] = {"cluster",
                                       "ideal",
                                       "layers",
                                       "4",
                                       "backward",
                                       "synth",
                                       "micro-batches",
                                       "3",
                                       "bytes-per-element",
                                       "2",
                                       NULL};
    fuzz_run(data, size, "operator-table", size % 2 ? plain : deep);
    return 0;
}
