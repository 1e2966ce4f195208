/* The output layer: the logits of blocks of columns, of which only the normaliser and the best
   tokens of each row are kept. */

#ifndef YK_OUTPUT_H
#define YK_OUTPUT_H

#include "product.h"

#define BLOCK 256 /* columns whose logits are stored at a time */

/* What the search needs of the logits of a row. */
typedef struct {
    int n, wanted;      /* best tokens found so far, and at most */
    float *logits;      /* (wanted), the largest first; of equal logits, lower ids first */
    int32_t *ids;       /* (wanted) */
    float largest, sum; /* of all logits: the maximum, and the sum of exp(logit - maximum) */
    int32_t forced;     /* the only token that may follow; -1: none */
    const int32_t *banned; /* ids that may not follow, in increasing order */
    int n_banned;
    const uint8_t *allowed; /* (V) flags of the tokens that may follow; NULL: all but `banned` */
} Best;

INLINE void insert(Best *best, float logit, int32_t id) {
    int at = best->n < best->wanted ? best->n++ : best->n - 1;
    for (; at && best->logits[at - 1] < logit; at--)
        best->logits[at] = best->logits[at - 1], best->ids[at] = best->ids[at - 1];
    best->logits[at] = logit, best->ids[at] = id;
}

/* Add the logits of the tokens `first` .. `first + n - 1` to the sum of exponentials. */
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
            insert(best, logits[i], first + i);
            if (best->n == best->wanted) least = best->logits[best->n - 1];
        }
    }
}

/* Take the logits of `n` tokens from `first` into account. */
static void scan(Best *best, float *logits, int first, int n) {
    add_to_sum(best, logits, n);
    if (best->forced >= 0) {
        if (best->forced < first || best->forced >= first + n) return;
        insert(best, logits[best->forced - first], best->forced);
        return;
    }
    for (; best->n_banned && *best->banned < first + n; best->banned++, best->n_banned--)
        logits[*best->banned - first] = -INFINITY;
    if (best->allowed)
        for (int k = 0; k < n; k++)
            if (!best->allowed[first + k]) logits[k] = -INFINITY;
    add_to_best(best, logits, first, n);
}

#endif
