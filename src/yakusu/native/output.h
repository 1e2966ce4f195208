/* The output layer: the logits of blocks of columns, of which only the normaliser and the best
   tokens of each row are kept. In int8, the HEAD largest logits of a row are computed again, with weights of
   16 bits and a hidden state of 14 bits, whatever is requested; so the probability of a token does not depend
   on that. */

#ifndef YK_OUTPUT_H
#define YK_OUTPUT_H

#include "product.h"

#define BLOCK 256 /* columns whose logits are stored at a time */
#define HEAD 16   /* logits that are computed again */
#define FEW 32    /* rows of which a member of an ensemble stores all logits: they stay in the cache */
#define SPARE 8   /* tokens beyond those requested, which may be better than their 8-bit logits */

/* What the search requests of the logits of a row, and the result. */
typedef struct {
    int wanted, n;      /* number of best tokens, and how many there are */
    float *logits;      /* (wanted + SPARE), the largest first; of equal logits, the lower id first */
    int32_t *ids;       /* (wanted + SPARE) */
    float largest, sum; /* of all logits: about the maximum, and the sum of exp(logit - largest) */
    const int32_t *probes; /* (n_probes), increasing: ids whose logits are always returned */
    float *probed;         /* (n_probes) */
    int n_probes, n_probed;
    const uint8_t *allowed; /* (V): whether a token may be among the best; NULL: all may */
    const int32_t *banned;  /* (n_banned): further tokens that may not */
    int n_banned;
} Best;

/* The largest logits of a row. */
typedef struct {
    Best best; /* of all tokens, and the normaliser */
    float logits[HEAD];
    int32_t ids[HEAD];
} Head;

/* log sum_i exp(logit i) */
static inline double log_norm(const Best *best) { return (double)best->largest + log_of(best->sum); }

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
            if (!(logits[i] > least && may_follow(best, first + i))) continue;
            insert(best, logits[i], first + i);
            if (best->n == best->wanted) least = best->logits[best->n - 1];
        }
    }
}

/* Replace a logit by a more exact one, also in the sum. */
INLINE void replace(Best *best, float *logit, float exact) {
    float x[LANES] = {*logit - best->largest, exact - best->largest};
    v_store(x, v_exp(v_load(x)));
    best->sum += x[1] - x[0], *logit = exact;
}

/* Sort the best tokens. */
INLINE void sort(Best *best) {
    for (int i = 1; i < best->n; i++) {
        float logit = best->logits[i];
        int32_t id = best->ids[i];
        int at = i;
        for (; at && (best->logits[at - 1] < logit || (best->logits[at - 1] <= logit && best->ids[at - 1] > id)); at--)
            best->logits[at] = best->logits[at - 1], best->ids[at] = best->ids[at - 1];
        best->logits[at] = logit, best->ids[at] = id;
    }
}

/* Choose among the logits of `n` tokens from `first`. */
static void choose(Best *best, const float *logits, int first, int n) {
    for (; best->n_probed < best->n_probes && best->probes[best->n_probed] < first + n; best->n_probed++)
        best->probed[best->n_probed] = logits[best->probes[best->n_probed] - first];
    if (best->wanted) add_to_best(best, logits, first, n);
}

/* Take the logits of `n` tokens from `first` into account. */
static void scan(Best *best, const float *logits, int first, int n) {
    add_to_sum(best, logits, n), choose(best, logits, first, n);
}

static void begin(Head *head) {
    head->best = (Best){.wanted = HEAD, .logits = head->logits, .ids = head->ids, .largest = -INFINITY};
}

/* A logit, from the head if the token is there. */
INLINE float exact(const Head *head, int32_t id, float logit) {
    for (int i = 0; i < head->best.n; i++)
        if (head->ids[i] == id) return head->logits[i];
    return logit;
}

/* Take the exact logits of the head; keep the best `wanted`. */
static void take_exact(const Head *head, Best *best, int wanted) {
    best->largest = head->best.largest, best->sum = head->best.sum;
    for (int i = 0; i < best->n; i++) best->logits[i] = exact(head, best->ids[i], best->logits[i]);
    for (int i = 0; i < best->n_probed; i++) best->probed[i] = exact(head, best->probes[i], best->probed[i]);
    sort(best);
    best->wanted = wanted, best->n = best->n < wanted ? best->n : wanted;
}

#endif
