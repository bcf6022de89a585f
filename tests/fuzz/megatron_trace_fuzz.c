#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const options[] = {"cluster",
                                          "ideal",
                                          "tp",
                                          "1",
                                          "pp",
                                          "2",
                                          "dp",
                                          "2",
                                          "ep",
                                          "2",
                                          "pp-comm",
                                          "1000",
                                          NULL};
    fuzz_run(data, size, "megatron-trace", options);
    return 0;
}
