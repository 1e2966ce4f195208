#include "memory.h"

#include <stdint.h>
#include <stdlib.h>


/* `calloc` leaves large memory to the operating system, which provides zeros where it is used. The
   pointer to what `calloc` returned lies before the memory. */
void *allocate(size_t size) {
    char *all = calloc(1, size + 2 * ALIGNED); /* kernels may read up to 64 bytes past the end */
    if (!all) return NULL;
    char *memory = all + ALIGNED - (uintptr_t)all % ALIGNED;
    ((void **)memory)[-1] = all;
    return memory;
}

void release(void *memory) {
    if (memory) free(((void **)memory)[-1]);
}
