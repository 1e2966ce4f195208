/* Sections 3.1 and 3.3 to 3.5: layer normalisation, residual connections, activations. Rows are padded to
   multiples of 16 with zeros. */

#ifndef YK_LAYERS_H
#define YK_LAYERS_H

#include "engine.h"
#include "vector.h"

/* y = (x - mean) / sqrt(variance + epsilon) * gain + bias, for a row of n numbers */
static void normalise(const float *x, int n, const Norm *norm, float epsilon, float *y) {
    int width = (n + LANES - 1) / LANES * LANES;
    vec sum = v_set(0.0f), squares = v_set(0.0f);
    for (int k = 0; k < width; k += LANES) sum = v_add(sum, v_load(x + k));
    vec mean = v_set(v_sum(sum) / n);
    for (int k = 0; k < width; k += LANES) {
        vec d = v_sub(v_load(x + k), mean);
        if (k + LANES > n) d = v_first(d, n - k, v_set(0.0f));
        squares = v_fma(d, d, squares);
    }
    vec factor = v_set(1.0f / sqrtf(v_sum(squares) / n + epsilon));
    for (int k = 0; k < width; k += LANES) {
        vec d = v_mul(v_sub(v_load(x + k), mean), factor);
        v_store(y + k, v_fma(d, v_load(norm->gain + k), v_load(norm->bias + k)));
    }
}

INLINE void add(float *x, const float *y, size_t n) {
    for (size_t k = 0; k < n; k += LANES) v_store(x + k, v_add(v_load(x + k), v_load(y + k)));
}

INLINE vec sigmoid(vec x) {
    vec one = v_set(1.0f), most = v_set(87.0f);
    return v_div(one, v_add(one, v_exp(v_min(most, v_sub(v_set(0.0f), x)))));
}

/* x / 2 (1 + erf(x / sqrt 2)); erf by Abramowitz and Stegun 7.1.26, within 1.5e-7 */
INLINE vec gelu(vec x) {
    vec one = v_set(1.0f), zero = v_set(0.0f);
    vec z = v_mul(x, v_set(0.70710678f)), size = v_max(z, v_sub(zero, z));
    vec t = v_div(one, v_fma(size, v_set(0.3275911f), one)), p = v_set(1.061405429f);
    p = v_fma(p, t, v_set(-1.453152027f));
    p = v_fma(p, t, v_set(1.421413741f));
    p = v_fma(p, t, v_set(-0.284496736f));
    p = v_mul(v_fma(p, t, v_set(0.254829592f)), t);
    vec rest = v_mul(p, v_exp(v_sub(zero, v_mul(size, size)))); /* 1 - erf(size) */
    vec half = v_mul(v_set(0.5f), x), part = v_mul(v_max(half, v_sub(zero, half)), rest);
    return v_sub(v_max(zero, x), part); /* max(0, x) - |x| / 2 (1 - erf |z|) */
}

static void activate(float *x, size_t n, int activation) {
    for (size_t k = 0; k < n; k += LANES) {
        vec a = v_load(x + k);
        if (activation == RELU) a = v_max(v_set(0.0f), a);
        else if (activation == SILU) a = v_mul(a, sigmoid(a));
        else a = gelu(a);
        v_store(x + k, a);
    }
}

#endif
