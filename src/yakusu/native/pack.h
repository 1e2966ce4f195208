#ifndef YK_PACK_H
#define YK_PACK_H

#include "engine.h"

/* A matrix of zeros, both sizes multiples of 16, and its bias (n_out), or NULL for zeros. INT16
   starts as MIXED, and becomes INT16 when `yk_pack` finds a row that does not consist of 8-bit integers.
   NULL: out of memory. */
API Linear *yk_matrix(int n_out, int n_in, const float *bias, Format format);
API void yk_free_matrix(Linear *matrix);

/* The rows `ids` (n) of a matrix; the outputs of padding are -infinity. NULL: out of memory. */
Linear *take_rows(const Linear *from, const int32_t *ids, int n);

enum { NO_MEMORY = -1, NOT_FINITE, PACKED };

/* Pack `rows` (n, n_in) as the rows of a matrix from `first` on. NOT_FINITE: a weight is NaN or
   infinite. */
API int yk_pack(Linear *to, int first, const float *rows, int n);

/* A model from its matrices, which belong to it afterwards, and its vectors, which are copied. Both
   are in the order of Figure 1; the two tables of positions may be the same. NULL: out of
   memory, and the matrices still belong to the caller. */
API Model *yk_model(const Config *config, Linear *const *matrices, const float *const *vectors);
API void yk_free_model(Model *model);

/* A model without matrices and vectors; NULL: out of memory. */
Model *new_model(const Config *config);

/* An array of a model, in bytes, and the zeros that follow it in a file, where each array begins at a
   multiple of 64. */
typedef struct {
    const void *at;
    size_t size, zeros;
} Array;

/* List the arrays of a model, unless `arrays` is NULL; returns their number. */
API int yk_arrays(Model *model, Array *arrays);

/* A model whose arrays are in a file, which must outlive it. NULL: out of memory, or they are those of a
   model of other sizes. */
API Model *yk_mapped(const Config *config, char *file, size_t size);
API void yk_free_mapped(Model *model);

#endif
