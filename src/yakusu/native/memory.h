#ifndef YK_MEMORY_H
#define YK_MEMORY_H

#include <stddef.h>

#define ALIGNED 64 /* bytes; kernels may read so many past the end of an array */

/* Zeros, aligned to 64 bytes; NULL if out of memory. */
void *allocate(size_t size);
void release(void *memory);

#endif
