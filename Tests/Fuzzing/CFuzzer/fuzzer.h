#pragma once
#include <stddef.h>
#include <stdint.h>

// libFuzzer as a library: "LLVMFuzzerRunDriver … int LLVMFuzzerRunDriver(int *argc, char ***argv,
// int (*UserCb)(const uint8_t *Data, size_t Size))". Source: llvm.org/docs/LibFuzzer.html, "Using
// libFuzzer as a library".
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));
