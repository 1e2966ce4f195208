#include "memory.h"

#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <malloc.h>
#endif

void *allocate(size_t size) {
    size = (size / 64 + 1) * 64; /* kernels may read up to 64 bytes past the end */
#if defined(_WIN32)
    void *memory = _aligned_malloc(size, 64);
#else
    void *memory = aligned_alloc(64, size);
#endif
    if (memory) memset(memory, 0, size);
    return memory;
}

void release(void *memory) {
#if defined(_WIN32)
    _aligned_free(memory);
#else
    free(memory);
#endif
}
