#ifndef YK_PACK_H
#define YK_PACK_H

#include "engine.h"

/* A matrix in rows, both sizes multiples of 16. */
typedef struct {
    const float *rows; /* (n_out, n_in) */
    const float *bias; /* (n_out) or NULL */
    int32_t n_out, n_in;
} Matrix;

/* A model from its matrices and vectors, in the order of Figure 1; NULL: no memory. */
API Model *yk_model(const Config *config, const Matrix *matrices, const float *const *vectors);
API void yk_free_model(Model *model);

/* A single matrix; `n_in` 0: no memory. */
Linear pack(const Matrix *from, int int8);
void free_linear(Linear *m);

#endif
