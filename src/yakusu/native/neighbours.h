/* Nearest-neighbour predictions (Khandelwal et al. 2021): what followed similar states in similar segments.

       s       = A (h - mu)                                  scores of a hidden state h on M components
       d_i     = sum over m of (s_m - c[m][code_im])^2       its distance from stored state i
       N(y)    = sum of exp(-d_i / T) over those of the k nearest states that y followed, normalised
       w       = weight max(0, 1 - d_1 / reach) (1 - P(y_1))
       P'(y)   = (1 - w) P(y) + w N(y)

   d_1 is the smallest distance, and y_1 the most probable of the tokens that may follow.

   Distances are integers, so that they are equal on every instruction set. */

#ifndef YK_NEIGHBOURS_H
#define YK_NEIGHBOURS_H

#include "codes.h"
#include "model.h"

enum {
    NEAREST = 8,      /* k */
    CODES = 16,       /* of a component */
    STATES_PER_BLOCK = 32, /* of codes, see codes.h */
};

/* What maps the hidden states of a model to codes. */
typedef struct {
    const Linear *axes;      /* (M, width), float32: A, and -A mu as its bias; M is a multiple of 16 */
    const float *centroids;  /* (M, CODES); NaN: not used */
    int32_t n_components;    /* M */
    float temperature, reach, weight;
} Codebook;

/* The states of the segments that are similar to a sentence. */
typedef struct {
    int32_t n;
    const uint8_t *codes;   /* (n, M / 2): the code of component m in the low 4 bits of byte m / 2 if m is even */
    const int32_t *tokens;  /* (n): what followed each */
} States;

/* The same as the kernels read them: blocks (n / 32, M, 16), and the tokens of all rows. */
typedef struct {
    int n, n_blocks;
    uint8_t *codes;
    int32_t *tokens;
} Blocks;

/* The predictions for a row. */
typedef struct {
    double weight; /* w without its last factor; 0: nothing changes */
    int n;
    int32_t ids[NEAREST]; /* increasing */
    double probs[NEAREST]; /* N */
} Nearest;

/* Working memory. */
typedef struct {
    float *scores;     /* (rows, M) */
    uint16_t *tables;  /* (M, CODES) */
    uint32_t *distances;
    int rows, capacity; /* of `scores` and of `distances` */
} Distances;

/* Arrange states in blocks, which `release_blocks` frees. 0: out of memory. */
int arrange(const Codebook *codebook, const States *states, Blocks *out);
void release_blocks(Blocks *blocks);

/* Make room for n rows and `n_states` states. 0: out of memory. */
int reserve_distances(const Codebook *codebook, int n, int n_states, Distances *distances);
void release_distances(Distances *distances);

/* The codes (M / 2 bytes) of a state, from its scores. */
void encode_state(const Codebook *codebook, const float *scores, uint8_t *codes);

/* What the states predict, from the scores of a hidden state. */
Nearest nearest(const Codebook *codebook, const Scans *scans, const Blocks *blocks, const float *scores,
                Distances *distances);

/* Probe the tokens that are predicted, too; `probes` has room for all. */
void probe_nearest(const Nearest *near, Best *best, int32_t *probes);

/* Replace the logits of the best and of the first tokens of `probes` (n_probes) by those of P'. */
void mix_in(const Nearest *found, Best *best, const int32_t *probes, int n_probes);

#endif
