/* Section 3.2, Eq. 1: softmax(Q K^T / sqrt(d_k)) V for one sentence.

   Heads are padded to multiples of 16 numbers. Keys that are all known at once, those of a source
   sentence, are stored in blocks of 16 positions (h, S / 16, d_k, 16), so that 16 scores are
   computed together; values are rows (S, h d_v). Those of the target so far are rows at the
   addresses that a hypothesis inherits from its ancestors. */

#ifndef YK_ATTENTION_H
#define YK_ATTENTION_H

#include "layers.h"

#define QUERIES 4 /* processed together */

/* Keys and values of a source sentence. */
typedef struct {
    int n, n_heads, d_k, d_v; /* positions; padded widths */
    float *keys, *values;
} Sources;

INLINE size_t sources_size(int n, int n_heads, int d_k, int d_v) {
    size_t padded = (n + LANES - 1) / LANES * LANES;
    return padded * n_heads * (d_k + d_v);
}

/* Store the keys of rows x (n, stride) in blocks. */
static void store_keys(const float *x, size_t stride, const Sources *to) {
    int n_blocks = (to->n + LANES - 1) / LANES;
    for (int h = 0; h < to->n_heads; h++)
        for (int b = 0; b < n_blocks; b++) {
            float *block = to->keys + (size_t)(h * n_blocks + b) * to->d_k * LANES;
            for (int i = 0; i < LANES; i++)
                for (int d = 0; d < to->d_k; d++) {
                    int s = b * LANES + i;
                    block[d * LANES + i] = s < to->n ? x[s * stride + h * to->d_k + d] : 0.0f;
                }
        }
}

static void store_values(const float *x, size_t stride, const Sources *to) {
    int width = to->n_heads * to->d_v;
    for (int s = 0; s < to->n; s++) memcpy(to->values + s * width, x + s * stride, width * sizeof *x);
}

/* The scores of `rows` queries of a head for all positions. */
INLINE void score_sources(const float *q, size_t stride, int rows, const Sources *of, int h,
                          float scale, float *scores, size_t ld) {
    int n_blocks = (of->n + LANES - 1) / LANES;
    for (int b = 0; b < n_blocks; b++) {
        const float *block = of->keys + (size_t)(h * n_blocks + b) * of->d_k * LANES;
        vec dots[QUERIES];
        for (int r = 0; r < rows; r++) dots[r] = v_set(0.0f);
        for (int d = 0; d < of->d_k; d++) {
            vec keys = v_load(block + d * LANES);
            for (int r = 0; r < rows; r++) dots[r] = v_fma(v_set(q[r * stride + d]), keys, dots[r]);
        }
        for (int r = 0; r < rows; r++)
            v_store(scores + r * ld + b * LANES, v_mul(dots[r], v_set(scale)));
    }
}

/* sum_s weights[s] values[s] / total for `rows` queries of a head */
INLINE void mix_sources(const float *weights, size_t ld, const float *total, int rows,
                        const Sources *of, int h, float *out, size_t stride) {
    int width = of->n_heads * of->d_v;
    for (int d = 0; d < of->d_v; d += LANES) {
        const float *values = of->values + h * of->d_v + d;
        vec sums[QUERIES];
        for (int r = 0; r < rows; r++) sums[r] = v_set(0.0f);
        for (int s = 0; s < of->n; s++) {
            vec value = v_load(values + (size_t)s * width);
            for (int r = 0; r < rows; r++) sums[r] = v_fma(v_set(weights[r * ld + s]), value, sums[r]);
        }
        for (int r = 0; r < rows; r++)
            v_store(out + r * stride + d, v_div(sums[r], v_set(total[r])));
    }
}

INLINE void attend_some(const float *q, size_t stride, int rows, const Sources *of, float scale,
                        float *scores, float *out, size_t out_stride, float *weights) {
    size_t ld = (of->n + LANES - 1) / LANES * LANES;
    for (int h = 0; h < of->n_heads; h++) {
        float total[QUERIES];
        score_sources(q + h * of->d_k, stride, rows, of, h, scale, scores, ld);
        for (int r = 0; r < rows; r++) total[r] = exponentials(scores + r * ld, of->n);
        mix_sources(scores, ld, total, rows, of, h, out + h * of->d_v, out_stride);
        for (int s = 0; weights && s < of->n; s++) weights[h * of->n + s] = scores[s] / total[0];
    }
}

/* Attention of n queries (n, stride) to a source sentence; of a single query, the weights (h, S)
   are stored in `weights`, unless that is NULL. */
static void attend(const float *q, size_t stride, int n, const Sources *of, float scale, float *scores,
                   float *out, size_t out_stride, float *weights) {
    int i = 0;
    for (; i + QUERIES <= n; i += QUERIES)
        attend_some(q + i * stride, stride, QUERIES, of, scale, scores, out + i * out_stride, out_stride, NULL);
    for (; i < n; i++)
        attend_some(q + i * stride, stride, 1, of, scale, scores, out + i * out_stride, out_stride, weights);
}

/* Attention of one hypothesis to n target positions, whose keys and values are at `rows[t]` plus
   `key` and `value`. The weights of each head are stored `ld` apart, unless `weights` is NULL. A step
   is done for all heads before the next one, so that scores are not read right after they are written. */
static void attend_targets(const float *q, float *const *rows, int n, size_t key, size_t value, int n_heads,
                           int d_k, int d_v, float scale, float *scores, float *out, float *weights, int ld) {
    const int padded = (n + LANES - 1) / LANES * LANES;
    for (int h = 0; h < n_heads; h++)
        for (int t = 0; t < n; t += 4) {
            vec dots[4] = {v_set(0.0f), v_set(0.0f), v_set(0.0f), v_set(0.0f)};
            for (int d = h * d_k; d < (h + 1) * d_k; d += LANES)
                for (int i = 0; i < 4; i++) {
                    const float *k = rows[t + i < n ? t + i : t] + key + d;
                    dots[i] = v_fma(v_load(q + d), v_load(k), dots[i]);
                }
            v_sums(scores + h * padded + t, dots[0], dots[1], dots[2], dots[3]);
        }
    for (int h = 0; h < n_heads; h++) {
        float *own = scores + h * padded;
        for (int t = 0; t < n; t += LANES) v_store(own + t, v_mul(v_load(own + t), v_set(scale)));
        vec total = v_set(exponentials(own, n));
        for (int t = 0; t < n; t += LANES) v_store(own + t, v_div(v_load(own + t), total));
        if (weights) memcpy(weights + h * ld, own, n * sizeof *own);
    }
    for (int h = 0; h < n_heads; h++)
        for (int d = h * d_v; d < (h + 1) * d_v; d += LANES) {
            vec sum = v_set(0.0f);
            for (int t = 0; t < n; t++)
                sum = v_fma(v_set(scores[h * padded + t]), v_load(rows[t] + value + d), sum);
            v_store(out + d, sum);
        }
}

#endif
