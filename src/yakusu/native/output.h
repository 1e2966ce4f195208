/* The output layer: the logits of blocks of columns, of which only the normaliser and the best
   tokens of each row are kept. */

#ifndef YK_OUTPUT_H
#define YK_OUTPUT_H

#include "product.h"

#define BLOCK 256 /* columns whose logits are stored at a time */
#define FEW 32    /* rows of which a member of an ensemble stores all logits: they stay in the cache */

/* What the search requests of the logits of a row, and the result. */
typedef struct {
    const int32_t *tokens; /* (n_tokens), increasing: those whose logits are computed; NULL: all */
    int n_tokens;
    int wanted, n;      /* number of best tokens, and how many there are */
    float *logits;      /* (wanted), the largest first; of equal logits, the lower id first */
    int32_t *ids;       /* (wanted) */
    float largest, sum; /* of all logits: the maximum, and the sum of exp(logit - maximum) */
    const int32_t *probes; /* (n_probes), increasing: ids among `tokens` whose logits are always returned */
    float *probed;         /* (n_probes) */
    int n_probes, n_probed;
    const uint8_t *allowed; /* (V): whether a token may be among the best; NULL: all may */
    const int32_t *banned;  /* (n_banned): further tokens that may not */
    int n_banned;
} Best;

/* log sum_i exp(logit i) */
static inline double log_norm(const Best *best) { return (double)best->largest + log_of(best->sum); }

/* The token of a logit, and the logit of a token. */
INLINE int32_t token_at(const Best *best, int at) { return best->tokens ? best->tokens[at] : at; }

INLINE int position_of(const Best *best, int32_t id) {
    int low = 0, high = best->tokens ? best->n_tokens : 0;
    while (low < high) {
        int middle = (low + high) / 2;
        if (best->tokens[middle] < id) low = middle + 1;
        else high = middle;
    }
    return best->tokens ? low : id;
}

INLINE int may_follow(const Best *best, int32_t id) {
    if (best->allowed && !best->allowed[id]) return 0;
    for (int i = 0; i < best->n_banned; i++)
        if (best->banned[i] == id) return 0;
    return 1;
}

INLINE void insert(Best *best, float logit, int32_t id) {
    int at = best->n < best->wanted ? best->n++ : best->n - 1;
    for (; at && best->logits[at - 1] < logit; at--)
        best->logits[at] = best->logits[at - 1], best->ids[at] = best->ids[at - 1];
    best->logits[at] = logit, best->ids[at] = id;
}

/* Add the logits `first` .. `first + n - 1` to the sum of exponentials. */
INLINE void add_to_sum(Best *best, const float *logits, int n) {
    vec most = v_load(logits), sum = v_set(0.0f);
    for (int k = LANES; k < n; k += LANES) most = v_max(most, v_load(logits + k));
    float largest = v_largest(most);
    if (largest > best->largest) {
        float x[LANES];
        v_store(x, v_exp(v_set(best->largest - largest)));
        best->sum *= x[0], best->largest = largest;
    }
    vec shift = v_set(best->largest);
    for (int k = 0; k < n; k += LANES) sum = v_add(sum, v_exp(v_sub(v_load(logits + k), shift)));
    best->sum += v_sum(sum);
}

INLINE void add_to_best(Best *best, const float *logits, int first, int n) {
    float least = best->n < best->wanted ? -INFINITY : best->logits[best->n - 1];
    for (int k = 0; k < n; k += LANES) {
        uint32_t better = v_greater(v_load(logits + k), v_set(least));
        while (better) {
            int i = k + __builtin_ctz(better);
            better &= better - 1;
            if (!(logits[i] > least)) continue;
            int32_t id = token_at(best, first + i);
            if (!may_follow(best, id)) continue;
            insert(best, logits[i], id);
            if (best->n == best->wanted) least = best->logits[best->n - 1];
        }
    }
}

/* Choose among `n` logits from `first`. */
static void choose(Best *best, const float *logits, int first, int n) {
    for (int at; best->n_probed < best->n_probes; best->n_probed++) {
        if ((at = position_of(best, best->probes[best->n_probed])) >= first + n) break;
        best->probed[best->n_probed] = logits[at - first];
    }
    if (best->wanted) add_to_best(best, logits, first, n);
}

/* Take `n` logits from `first` into account. */
static void scan(Best *best, const float *logits, int first, int n) {
    add_to_sum(best, logits, n);
    choose(best, logits, first, n);
}

#endif
