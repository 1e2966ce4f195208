/* Drawing tokens at random; search/sampling.py defines which token a random number draws. */

#ifndef YK_SAMPLING_H
#define YK_SAMPLING_H

#include <stdint.h>

/* How the tokens of a sentence are drawn. */
typedef struct {
    const double *uniform; /* (beam, limit): from 0 to 1, without 1, for each token of each sample */
    double temperature, top_p;
    int32_t top_k; /* 0: all */
} Sampling;

/* The tokens that may be drawn, with weights as whole numbers, whose sums do not depend on their order. */
typedef struct {
    const float *logits;
    const uint64_t *weights;
    int32_t *ids;         /* (n): the first ones are more likely than the others */
    int n, n_first;
    uint64_t total, first; /* the weight of all, and of the first ones */
} Choices;

/* The choices of a row of n logits and their weights, which sum to `total`. `ids` (n) is working memory. */
Choices choices_of(const Sampling *sampling, const float *logits, const uint64_t *weights, uint64_t total, int n,
                   int32_t *ids);

/* The token that a random number draws: that whose part of the cumulative distribution, the most likely first,
   contains the number; 0 if there is none. */
int32_t drawn(Choices *choices, double uniform);

#endif
