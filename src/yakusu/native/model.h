/* The functions that are compiled once per instruction set, and their arguments. */

#ifndef YK_MODEL_H
#define YK_MODEL_H

#include "attention.h"
#include "output.h"

/* Working memory for as many rows as it was allocated for. */
typedef struct {
    float *x, *y, *wide, *heads, *scores, *logits, **rows;
    Quantised q;
} Scratch;

/* Attention weights of one position of the decoder, with h heads; NULL: they are not stored. */
typedef struct {
    float *to_target; /* (layers, h, n_target) */
    float *to_source; /* (layers, h, S) */
    int n_target;
} Weights;

/* Keys and values of a source sentence (n, key_width + value_width). */
typedef struct {
    int n;
    float *rows;
} Sources;

/* A hypothesis at one position. */
typedef struct {
    const int32_t *tokens; /* (position); the model's start comes before them */
    int position;
    float *const *cache;   /* (position + 1): keys and values of all layers at each position */
    const Sources *memory; /* (layers) */
    Weights weights;       /* where to store them */
} Row;

/* A model, and where its layers are in `Row.cache` and `Row.memory`; an ensemble has several. */
typedef struct {
    const Model *model;
    size_t cache_at;
    int memory_at;
} Member;

typedef struct {
    const char *name;
    /* Store the keys and values of n sentences for the layers of the decoder, and the attention
       weights (layers, S, h, S) of those whose `weights` is not NULL. */
    void (*encode)(const Member *, const int32_t *ids, const int *lengths, int n, Sources *const *memories,
                   float *const *weights, Scratch *);
    /* One position of the decoder stack for n rows; leaves the hidden states in `scratch`. */
    void (*decode)(const Member *, const Row *rows, int n, Scratch *);
    /* The normaliser and the best tokens of n rows from `first` on, from hidden states; `output` has a row for
       each of the tokens of `best`. */
    void (*predict)(const Linear *output, int first, int n, Best *best, Scratch *);
    /* The same for member i of an ensemble, to be called for one after the other: the last call returns the best
       tokens of the mean of their probabilities, and the logarithms of all of them (n, n_tokens). `logits`
       (FEW, n_tokens) is working memory, of an ensemble. */
    void (*mean)(const Model *, int i, int n_members, int n, Best *best, float *log_probs, float *logits, Scratch *);
    /* exp((logit - largest) / temperature) of n logits, in units of 2^-44; returns the sum. */
    uint64_t (*weigh)(const float *logits, int n, double temperature, uint64_t *weights);
    /* Parts of the above, for tests. */
    void (*linear)(const Linear *, const float *x, int n, float *y, Scratch *);
    void (*attend)(const Heads *, const float *q, size_t stride, int n, const Positions *of, float *scores,
                   float *out, size_t out_stride, float *weights, int ld);
    void (*activate)(float *x, size_t n, int activation);
    void (*normalise)(const float *x, int n, const Norm *norm, float epsilon, float *y);
} Kernels;

/* The kernels of an instruction set, or the fastest ones for ""; NULL if they cannot run here. */
API const Kernels *yk_kernels(const char *name);
API const char *yk_name(const Kernels *kernels);

#endif
