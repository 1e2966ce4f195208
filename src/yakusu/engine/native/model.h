/* The functions that are compiled once per instruction set, and what they exchange. */

#ifndef YK_MODEL_H
#define YK_MODEL_H

#include "attention.h"
#include "output.h"

/* Working memory for `n` rows, and one sentence of `n` positions. */
typedef struct {
    int n;
    float *x, *y, *wide, *heads, *scores, *logits;
    Quantised q;
} Scratch;

/* A hypothesis at one position. */
typedef struct {
    int32_t id;            /* of the last token */
    int position;
    float *const *cache;   /* (position + 1): keys and values of all layers at each position */
    const Sources *memory; /* (layers) */
} Row;

typedef struct {
    const char *name;
    void (*encode)(const Model *, const int32_t *ids, const int *lengths, int n_sentences,
                   Sources *const *memories, Scratch *);
    void (*step)(const Model *, const Row *rows, int n, Best *best, Scratch *);
} Kernels;

#endif
