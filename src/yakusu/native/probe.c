/* Single operations of the kernels and of the search, for tests. All widths are multiples of 16. */

#include "memory.h"
#include "model.h"
#include "pack.h"
#include "search.h"

/* y (n, n_out) = x (n, n_in) W^T + b; `scale` and `integers` receive the scales (n_out)
   and the integers (n_out, n_in) of a matrix of integers. The result is that of `yk_pack`. */
API int yk_probe_linear(const Kernels *kernels, const float *rows, const float *bias, int n_out, int n_in,
                        Format format, const float *x, int n, float *y, float *scale, int16_t *integers) {
    Linear *m = yk_matrix(n_out, n_in, bias, format);
    const size_t size = (size_t)2 * n * n_in;
    Scratch s = {.q = {allocate(size), allocate(size), allocate(n * 4), allocate(n * 4)}};
    int done = m && s.q.bytes && s.q.planes && s.q.offset && s.q.step ? yk_pack(m, 0, rows, n_out) : NO_MEMORY;
    if (done == PACKED) kernels->linear(m, x, n, y, &s);
    for (int j = 0; done == PACKED && m->bytes && j < n_out; j++) {
        for (int k = 0; k < n_in; k++) integers[(size_t)j * n_in + k] = (int16_t)integer_of(m, j, k);
        scale[j] = m->scale[j];
    }
    yk_free_matrix(m), release(s.q.bytes), release(s.q.planes), release(s.q.offset), release(s.q.step);
    return done;
}

/* Attention of n queries (n, key_width) to keys (S, key_width) and values (S, value_width) in the order
   of attention.h. 0: out of memory. */
API int yk_probe_attention(const Kernels *kernels, const Heads *heads, int n_groups, const float *q, int n,
                           const float *keys, const float *values, int n_keys, float *out) {
    size_t of_keys = (size_t)n_groups * heads->key_width, of_values = (size_t)n_groups * heads->value_width;
    float *rows = allocate(n_keys * (of_keys + of_values) * 4), **at = allocate(n_keys * sizeof *at);
    float *scores = allocate((size_t)MAX_QUERIES * (n_keys + POSITIONS) * LANES * 4);
    int ok = rows && at && scores;
    for (int s = 0; ok && s < n_keys; s++) {
        at[s] = rows + s * (of_keys + of_values);
        memcpy(at[s], keys + s * of_keys, of_keys * 4), memcpy(at[s] + of_keys, values + s * of_values, of_values * 4);
    }
    Positions of = {at, n_keys, 0, of_keys};
    if (ok) kernels->attend(heads, q, of_keys, n, &of, scores, out, of_values, NULL, 0);
    release(rows), release(at), release(scores);
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

/* The order of n candidates, each of which would have `progress` of the required tokens. 0: out of
   memory. */
API int yk_probe_alternate(const double *log_probs, const int32_t *progress, int n, int n_required, int32_t *order) {
    Hypothesis *open = allocate((n_required + 1) * sizeof *open);
    int32_t *missing = allocate((n_required + 1) * sizeof *missing);
    Candidate *candidates = allocate(n * sizeof *candidates);
    Ranked *ranked = allocate(n * sizeof *ranked);
    Search s = {.open = open, .n_required = n_required};
    int ok = open && missing && candidates && ranked;
    for (int k = 0; ok && k <= n_required; k++) open[k].missing = missing, open[k].n_missing = n_required - k;
    for (int i = 0; ok && i < n; i++) candidates[i] = (Candidate){log_probs[i], progress[i], i + 1}; /* 0 is missing */
    if (ok) alternate(&s, candidates, n, ranked);
    for (int i = 0; ok && i < n; i++) order[i] = candidates[i].id - 1;
    release(open), release(missing), release(candidates), release(ranked);
    return ok;
}
