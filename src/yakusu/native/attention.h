/* Section 3.2, Eq. 1: softmax(Q K^T / sqrt(d_k)) V, for all heads together.

   The heads of a row are interleaved: element d of head h is at index d H + h, where H is the number
   of heads, padded to a power of 2; more than 16 heads form groups of 16. One operation on a vector
   thus multiplies elements of all heads of a group, and the lanes of each head are added only at the
   end: lane i + lane i + 8, then + 4, + 2 and + 1, down to H lanes. */

#ifndef YK_ATTENTION_H
#define YK_ATTENTION_H

#include "layers.h"

#define POSITIONS 4 /* processed together */
#if defined(__AVX512F__)
#define QUERIES 4 /* processed together: as many as there are registers for */
#else
#define QUERIES 1
#endif
#define MAX_QUERIES 4

/* Scores per position: the heads of a group, at least 4; the scores of fewer heads are repeated. */
INLINE int n_scores(const Heads *h) { return h->lanes < 4 ? 4 : h->lanes; }

/* Keys and values of n positions, at `rows[s] + key` and `rows[s] + value`. */
typedef struct {
    float *const *rows;
    int n;
    size_t key, value;
} Positions;

/* Store the scores of 4 positions: `w` of each. */
INLINE void store_scores(const vec *dots, int lanes, int w, float scale, float *scores) {
    vec sums[POSITIONS] = {dots[0], dots[1], dots[2], dots[3]};
    int n = POSITIONS * w / LANES;
    if (w == 8) sums[0] = v_fold(dots[0], dots[1], 8), sums[1] = v_fold(dots[2], dots[3], 8);
    if (w == 4) sums[0] = v_fold(v_fold(dots[0], dots[2], 8), v_fold(dots[1], dots[3], 8), 4);
    if (w == 4 && lanes < 4) sums[0] = v_add(sums[0], v_swap(sums[0], 2));
    if (w == 4 && lanes < 2) sums[0] = v_add(sums[0], v_swap(sums[0], 1));
    for (int i = 0; i < n; i++) v_store(scores + i * LANES, v_mul(sums[i], v_set(scale)));
}

/* Q K^T / sqrt(d_k): the scores (n_q, S, w) of a group of heads. */
INLINE void score_positions(const Heads *h, const float *q, size_t stride, int n_q, const Positions *of, int w,
                            float *scores, size_t ld) {
    for (int s = 0; s < of->n; s += POSITIONS) {
        vec dots[QUERIES][POSITIONS];
        const float *keys[POSITIONS];
        for (int i = 0; i < POSITIONS; i++) keys[i] = of->rows[s + i < of->n ? s + i : s] + of->key;
        for (int r = 0; r < n_q; r++)
            for (int i = 0; i < POSITIONS; i++) dots[r][i] = v_set(0.0f);
        for (int d = 0; d < h->key_width; d += LANES)
            for (int i = 0; i < POSITIONS; i++) {
                vec key = v_load(keys[i] + d);
                for (int r = 0; r < n_q; r++) dots[r][i] = v_fma(v_load(q + r * stride + d), key, dots[r][i]);
            }
        for (int r = 0; r < n_q; r++)
            store_scores(dots[r], h->lanes, w, h->scale, scores + r * ld + (size_t)s * w);
    }
}

/* softmax over the positions, in place; n scores, `w` of each position */
INLINE void softmax(float *x, int n, int w) {
    const int last = (n - 1) / LANES * LANES;
    vec most = v_first(v_load(x + last), n - last, v_set(-INFINITY)), sum = v_set(0.0f);
    for (int k = 0; k < last; k += LANES) most = v_max(v_load(x + k), most);
    if (w <= 8) most = v_max(most, v_swap(most, 8));
    if (w <= 4) most = v_max(most, v_swap(most, 4));
    for (int k = 0; k <= last; k += LANES) {
        vec e = v_exp(v_sub(v_load(x + k), most));
        if (k == last) e = v_first(e, n - last, v_set(0.0f));
        v_store(x + k, e);
        sum = v_add(sum, e);
    }
    if (w <= 8) sum = v_add(sum, v_swap(sum, 8));
    if (w <= 4) sum = v_add(sum, v_swap(sum, 4));
    for (int k = 0; k <= last; k += LANES) v_store(x + k, v_div(v_load(x + k), sum));
}

/* sum_s weights[s] values[s]: n vectors of the outputs of n_q queries */
INLINE void mix(const float *weights, size_t ld, int n_q, const Positions *of, size_t value, int w, int n, float *out,
                size_t stride) {
    vec sums[QUERIES][4];
    for (int r = 0; r < n_q; r++)
        for (int i = 0; i < n; i++) sums[r][i] = v_set(0.0f);
    for (int s = 0; s < of->n; s++)
        for (int r = 0; r < n_q; r++) {
            vec weight = v_repeat(weights + r * ld + (size_t)s * w, w);
            for (int i = 0; i < n; i++)
                sums[r][i] = v_fma(weight, v_load(of->rows[s] + value + i * LANES), sums[r][i]);
        }
    for (int r = 0; r < n_q; r++)
        for (int i = 0; i < n; i++) v_store(out + r * stride + i * LANES, sums[r][i]);
}

/* One group of heads for n_q queries. */
INLINE void attend_some(const Heads *h, const float *q, size_t stride, int n_q, const Positions *of, int w,
                        float *scores, float *out, size_t out_stride) {
    size_t ld = (size_t)(of->n + POSITIONS - 1) / POSITIONS * POSITIONS * w;
    int d = 0;
    score_positions(h, q, stride, n_q, of, w, scores, ld);
    for (int r = 0; r < n_q; r++) softmax(scores + r * ld, of->n * w, w);
    for (; d + 4 * LANES <= h->value_width; d += 4 * LANES)
        mix(scores, ld, n_q, of, of->value + d, w, 4, out + d, out_stride);
    for (; d < h->value_width; d += LANES) mix(scores, ld, n_q, of, of->value + d, w, 1, out + d, out_stride);
}

INLINE void attend_group(const Heads *h, const float *q, size_t stride, int n, const Positions *of, int w,
                         float *scores, float *out, size_t out_stride) {
    int i = 0;
    for (; i + QUERIES <= n; i += QUERIES)
        attend_some(h, q + i * stride, stride, QUERIES, of, w, scores, out + i * out_stride, out_stride);
    for (; QUERIES > 1 && i < n; i++)
        attend_some(h, q + i * stride, stride, 1, of, w, scores, out + i * out_stride, out_stride);
}

/* Attention of n queries (n, stride). The weights of a single query are stored in `weights` (h, ld),
   unless that is NULL. */
static void attend(const Heads *h, const float *q, size_t stride, int n, const Positions *of, float *scores,
                   float *out, size_t out_stride, float *weights, int ld) {
    const int w = n_scores(h);
    for (int first = 0; first < h->n; first += LANES) {
        size_t group = first / LANES;
        Positions own = {of->rows, of->n, of->key + group * h->key_width, of->value + group * h->value_width};
        const float *of_group = q + group * h->key_width;
        float *to = out + group * h->value_width;
        if (w == 4) attend_group(h, of_group, stride, n, &own, 4, scores, to, out_stride);
        else if (w == 8) attend_group(h, of_group, stride, n, &own, 8, scores, to, out_stride);
        else attend_group(h, of_group, stride, n, &own, 16, scores, to, out_stride);
        for (int i = first; weights && i < h->n && i < first + LANES; i++)
            for (int s = 0; s < of->n; s++) weights[(size_t)i * ld + s] = scores[(size_t)s * w + i - first];
    }
}

#endif
