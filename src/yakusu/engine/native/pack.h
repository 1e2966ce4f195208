#ifndef YK_PACK_H
#define YK_PACK_H

#include "engine.h"

/* A matrix in rows, both sizes multiples of 16. */
typedef struct {
    const float *rows; /* (n_out, n_in) */
    const float *bias; /* (n_out) or NULL */
    int32_t n_out, n_in;
} Matrix;

/* Zeros, aligned to 64 bytes; the last 64 are spare. */
void *aligned(size_t size);

Model *yk_model(const Config *config, const Matrix *matrices, const float *const *vectors);
void yk_free_model(Model *model);

#endif
