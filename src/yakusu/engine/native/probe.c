/* Single operations of the kernels, for tests. All widths are multiples of 16. */

#include "memory.h"
#include "model.h"
#include "pack.h"

/* y (n, n_out) = x (n, n_in) W^T + b; `scale` and `bytes` receive the scales (n_out) and the
   integers (n_out, n_in) of an int8 matrix. The result is that of `yk_pack`. */
API int yk_probe_linear(const Kernels *kernels, const float *rows, const float *bias, int n_out, int n_in,
                        int int8, const float *x, int n, float *y, float *scale, int8_t *bytes) {
    Linear *m = yk_matrix(n_out, n_in, bias, int8);
    Scratch s = {.q = {allocate((size_t)n * n_in), allocate(n * 4), allocate(n * 4)}};
    int done = m && s.q.bytes && s.q.low && s.q.step ? yk_pack(m, 0, rows, n_out) : NO_MEMORY;
    if (done == PACKED) kernels->linear(m, x, n, y, &s);
    for (int j = 0; done == PACKED && int8 && j < n_out; j++) {
        const int8_t *w = m->bytes + (size_t)(j / 16) * 16 * n_in + j % 16 * 4;
        for (int k = 0; k < n_in; k++) bytes[(size_t)j * n_in + k] = w[(size_t)(k / 4) * 64 + k % 4];
        scale[j] = m->scale[j];
    }
    yk_free_matrix(m), release(s.q.bytes), release(s.q.low), release(s.q.step);
    return done;
}

/* Attention of n queries (n, h d_k) to keys (S, h d_k) and values (S, h d_v), as for a source
   sentence or, one query at a time, as for the target so far. 0: out of memory. */
API int yk_probe_attention(const Kernels *kernels, const float *q, int n, const float *keys, float *values,
                           int n_keys, int n_heads, int d_k, int d_v, float scale, int target, float *out) {
    size_t width = (size_t)n_heads * (d_k + d_v), padded = (n_keys + 15) / 16 * 16;
    Sources of = {n_keys, n_heads, d_k, d_v, allocate(padded * n_heads * d_k * 4), values};
    float *scores = allocate(padded * (QUERIES > n_heads ? QUERIES : n_heads) * 4), *rows = allocate(n_keys * width * 4);
    float **at = allocate(n_keys * sizeof *at);
    int ok = of.keys && scores && rows && at;
    for (int t = 0; ok && t < n_keys; t++) {
        at[t] = rows + t * width;
        memcpy(at[t], keys + (size_t)t * n_heads * d_k, (size_t)n_heads * d_k * 4);
        memcpy(at[t] + (size_t)n_heads * d_k, values + (size_t)t * n_heads * d_v, (size_t)n_heads * d_v * 4);
    }
    size_t q_width = (size_t)n_heads * d_k, out_width = (size_t)n_heads * d_v;
    if (ok && !target) {
        kernels->store_keys(keys, q_width, &of);
        kernels->attend(q, q_width, n, &of, scale, scores, out, out_width, NULL);
    }
    for (int i = 0; ok && target && i < n; i++)
        kernels->attend_targets(q + i * q_width, at, n_keys, 0, q_width, n_heads, d_k, d_v, scale, scores,
                                out + i * out_width, NULL, 0);
    release(of.keys), release(scores), release(rows), release(at);
    return ok;
}

API void yk_probe_activation(const Kernels *kernels, float *x, size_t n, int activation) {
    kernels->activate(x, n, activation);
}

API void yk_probe_norm(const Kernels *kernels, const float *x, int n, float *gain, float *bias, float epsilon,
                       float *y) {
    Norm norm = {gain, bias};
    kernels->normalise(x, n, &norm, epsilon, y);
}
