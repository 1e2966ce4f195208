/* y = x W^T + b in integers or in floats.

   Integers: W[j] = scale[j] w[j], and x = offset + step q for each row of x. Then
       x W[j]^T = scale[j] (step sum_k q[k] w[j][k] + offset sum_k w[j][k]),
   and both sums are exact integers. `pack` (pack.c) chooses scale[j] such that no sum overflows; so all
   processors use the same weights and get the same sums.

   Bytes (INT8): w in -127 .. 127, q in 0 .. 127. Where there is no product of four bytes, two products
   are added in 16 bits, and GROUP such pairs before they are widened.
   Words (INT16): q in -8191 .. 8191, and sum_k |q[k] w[j][k]| < 2^31. Bytes that are multiplied by such q
   (MIXED) become words in the processor.

   float32: the products of an output are added in the order of k, each with one rounding. */

#ifndef YK_PRODUCT_H
#define YK_PRODUCT_H

#include "amx.h"
#include "dots.h"
#include "planes.h"

/* Element (j, k) of a matrix of integers. */
INLINE int integer_of(const Linear *m, int j, int k) {
    const int bits = m->format == INT8 ? 2 : 1, group = 1 << bits; /* number of weights */
    const size_t strip = (size_t)(j / LANES) * LANES * m->n_in;
    const size_t at = strip + ((size_t)(k >> bits) * LANES + j % LANES) * group + (k & (group - 1));
    return m->format == INT16 ? ((const int16_t *)m->bytes)[at] : m->bytes[at];
}

/* Rows of x as integers. */
typedef struct {
    uint8_t *bytes;  /* (n, n_in) of 1 or 2 bytes each */
    uint8_t *planes; /* (n, 2, n_in): the lower and upper parts of words, for AMX and WebAssembly */
    float *offset, *step; /* (n) */
} Quantised;

/* ---- integers: 16 outputs of `rows` rows --------------------------------------------------- */

/* Outputs j .. j + 15 from the sums of integers of `rows` rows from i on. */
INLINE void store_tile(const Linear *m, const Quantised *x, int i, int rows, int j, const sums *dots, float *y,
                       size_t stride) {
    const vec scale = v_load(m->scale + j), sum = v_load(m->sum + j), bias = v_load(m->bias + j);
    UNROLL for (int r = 0; r < rows; r++) {
        vec t = v_mul(sum, v_set(x->offset[i + r]));
        t = v_fma(s_float(dots[r]), v_set(x->step[i + r]), t);
        v_store(y + (i + r) * stride + j, v_fma(t, scale, bias));
    }
}

/* `strips` times 16 outputs of `rows` rows from i on. Meanwhile, weights from `ahead` on are fetched into
   the cache, `pace` bytes per 4 bytes of a row. */
INLINE void integer_tile(const Linear *m, const Quantised *x, int i, int rows, int j, int strips, Format format,
                         const int8_t *ahead, int pace, float *y, size_t stride) {
    const size_t size = (size_t)m->n_in * activation_size(format); /* of a row of q */
    const size_t strip = (size_t)LANES * m->n_in * weight_size(format), group = LANES * group_size(format);
    const int8_t *w = m->bytes + j / LANES * strip;
    const uint8_t *q = x->bytes + i * size;
    sums dots[STRIPS][TILE];
    UNROLL for (int s = 0; s < strips; s++)
        UNROLL for (int r = 0; r < rows; r++) dots[s][r] = s_zero();
    for (size_t k = 0, step = 0; k < size; k += step, ahead += step / 4 * pace)
        UNROLL for (int s = 0; s < strips; s++) {
            if (64 * s < strips * (int)group) __builtin_prefetch(ahead + 64 * s);
            step = s_step(dots[s], rows, w + s * strip + k / 4 * group, q + k, size, format);
        }
    UNROLL for (int s = 0; s < strips; s++) store_tile(m, x, i, rows, j + LANES * s, dots[s], y, stride);
}

/* All n rows of `strips` times 16 outputs. Each tile fetches its share of the weights of the next outputs. */
INLINE void integer_strips(const Linear *m, const Quantised *x, int n, int j, int strips, Format format, float *y,
                           size_t stride) {
    const size_t strip = (size_t)LANES * m->n_in * weight_size(format);
    const int n_tiles = (n + TILE - 1) / TILE, pace = LANES * group_size(format) * strips / n_tiles;
    const int8_t *ahead = m->bytes + (j / LANES + strips) * strip;
    const size_t share = strips * strip / n_tiles;
    int i = 0;
    for (; i + TILE <= n; i += TILE, ahead += share)
        integer_tile(m, x, i, TILE, j, strips, format, ahead, pace, y, stride);
#if TILE > 4
    for (; i + 4 <= n; i += 4) integer_tile(m, x, i, 4, j, strips, format, ahead, pace, y, stride);
#endif
#if TILE > 2
    for (; i + 2 <= n; i += 2) integer_tile(m, x, i, 2, j, strips, format, ahead, pace, y, stride);
#endif
    for (; i < n; i++) integer_tile(m, x, i, 1, j, strips, format, ahead, pace, y, stride);
}

#if defined(__AMX_INT8__)

/* Outputs j .. j + 15 from the sums of 16 rows from i on. */
INLINE void store_block(const Linear *m, const Quantised *x, int i, int j, const sums *dots, float *y, size_t stride) {
    for (int r = 0; r < AMX_ROWS; r += TILE) store_tile(m, x, i + r, TILE, j, dots + r, y, stride);
}

/* Bytes: all rows of two strips from j on. The last blocks of rows overlap. */
INLINE void byte_strips(const Linear *m, const Quantised *x, int n, int j, float *y, size_t stride) {
    const size_t n_in = m->n_in, size = 2 * LANES * n_in;
    const int n_tiles = (n + 2 * AMX_ROWS - 1) / (2 * AMX_ROWS), last = n - AMX_ROWS;
    const int8_t *w = m->bytes + j * n_in, *ahead = w + size;
    sums dots[4][AMX_ROWS];
    for (int i = 0; i < n; i += 2 * AMX_ROWS, ahead += size / n_tiles) {
        int first = i < last ? i : last, second = i + AMX_ROWS < last ? i + AMX_ROWS : last;
        const uint8_t *next = second > first ? x->bytes + second * n_in : NULL;
        byte_tiles(w, x->bytes + first * n_in, next, n_in, ahead, AMX_BYTES * 2 * LANES / n_tiles, dots);
        for (int t = 0; t < (next ? 4 : 2); t++)
            store_block(m, x, t < 2 ? first : second, j + t % 2 * LANES, dots[t], y, stride);
    }
}

/* Words: all rows of a strip. */
INLINE void word_strip(const Linear *m, const Quantised *x, int n, int j, float *y, size_t stride) {
    const size_t n_in = m->n_in;
    _Alignas(64) int8_t w[LANES * WIDEST];
    sums dots[AMX_ROWS];
    join_pairs(m->bytes + j * n_in, n_in, w);
    complete_stores();
    for (int i = 0; i < n; i += AMX_ROWS) {
        int first = i < n - AMX_ROWS ? i : n - AMX_ROWS;
        word_tiles(w, x->planes + first * 2 * n_in, n_in, dots);
        store_block(m, x, first, j, dots, y, stride);
    }
}

/* The planes of n rows that will be multiplied by AMX. */
INLINE void split_rows(const Linear *m, int n, Quantised *x) {
    const size_t size = 2 * (size_t)m->n_in;
    if (m->format != MIXED || !fits_tiles(n, m->n_in, MIXED)) return;
    for (int i = 0; i < n; i++) split_words(x->bytes + i * size, m->n_in, x->planes + i * size);
}

/* All rows, by AMX; outputs from `from` on. Returns the first output that is left. */
INLINE int special_strips(const Linear *m, const Quantised *x, int n, int from, int until, Format format, float *y,
                          size_t stride) {
    const int wide = format == INT8 ? 2 * LANES : LANES;
    if (!fits_tiles(n, m->n_in, format)) return from;
    complete_stores();
    _tile_loadconfig(&ALL_TILES);
    for (; from + wide <= until; from += wide) {
        if (format == INT8) byte_strips(m, x, n, from, y, stride);
        else word_strip(m, x, n, from, y, stride);
    }
    _tile_release();
    return from;
}

#elif defined(__wasm_relaxed_simd__)

/* Whether n rows are multiplied in planes: not a single one, for which joining the weights takes too long. */
INLINE int is_split(int n, Format format) { return format == MIXED && n > 1 && adds_four(); }

INLINE void split_rows(const Linear *m, int n, Quantised *x) {
    const size_t size = 2 * (size_t)m->n_in;
    if (!is_split(n, m->format)) return;
    for (int i = 0; i < n; i++) split_words(x->bytes + i * size, m->n_in, x->planes + i * size);
}

INLINE void word_tile(const Linear *m, const Quantised *x, int i, int rows, int j, float *y, size_t stride) {
    const size_t n_in = m->n_in;
    sums dots[TILE];
    add_words(dots, rows, m->bytes + j * n_in, x->planes + i * 2 * n_in, n_in, m->sum + j);
    store_tile(m, x, i, rows, j, dots, y, stride);
}

/* All rows; outputs from `from` on. Returns the first output that is left. */
INLINE int special_strips(const Linear *m, const Quantised *x, int n, int from, int until, Format format, float *y,
                          size_t stride) {
    if (!is_split(n, format)) return from;
    for (; from < until; from += LANES) {
        int i = 0;
        for (; i + TILE <= n; i += TILE) word_tile(m, x, i, TILE, from, y, stride);
        for (; i < n; i++) word_tile(m, x, i, 1, from, y, stride);
    }
    return from;
}

#else

INLINE void split_rows(const Linear *m, int n, Quantised *x) { (void)m, (void)n, (void)x; }

INLINE int special_strips(const Linear *m, const Quantised *x, int n, int from, int until, Format format, float *y,
                          size_t stride) {
    return (void)m, (void)x, (void)n, (void)until, (void)format, (void)y, (void)stride, from;
}

#endif

/* All rows; outputs from .. until - 1. */
INLINE void integers(const Linear *m, const Quantised *x, int n, int from, int until, Format format, float *y,
                     size_t stride) {
    int j = special_strips(m, x, n, from, until, format, y, stride), wide = STRIPS * LANES;
    for (; j + wide <= until; j += wide) integer_strips(m, x, n, j, STRIPS, format, y, stride);
    for (; j < until; j += LANES) integer_strips(m, x, n, j, 1, format, y, stride);
}

/* ---- float32 ------------------------------------------------------------------------------- */

INLINE void float_tile(const Linear *m, const float *x, int i, int rows, int j, int strips, float *y,
                       size_t stride) {
    const float *w = m->floats + (size_t)j * m->n_in, *a = x + (size_t)i * m->n_in;
    const size_t strip = (size_t)LANES * m->n_in;
    vec dots[STRIPS][TILE];
    UNROLL for (int s = 0; s < strips; s++)
        UNROLL for (int r = 0; r < rows; r++) dots[s][r] = v_set(0.0f);
    for (int k = 0; k < m->n_in; k++)
        UNROLL for (int s = 0; s < strips; s++) {
            vec weights = v_load(w + s * strip + LANES * k);
            UNROLL for (int r = 0; r < rows; r++)
                dots[s][r] = v_fma(v_set(a[(size_t)r * m->n_in + k]), weights, dots[s][r]);
        }
    UNROLL for (int s = 0; s < strips; s++) {
        const vec bias = v_load(m->bias + j + LANES * s);
        UNROLL for (int r = 0; r < rows; r++)
            v_store(y + (i + r) * stride + j + LANES * s, v_add(dots[s][r], bias));
    }
}

INLINE void float_strips(const Linear *m, const float *x, int n, int j, int strips, float *y, size_t stride) {
    int i = 0;
    for (; i + TILE <= n; i += TILE) float_tile(m, x, i, TILE, j, strips, y, stride);
#if TILE > 4
    for (; i + 4 <= n; i += 4) float_tile(m, x, i, 4, j, strips, y, stride);
#endif
#if TILE > 2
    for (; i + 2 <= n; i += 2) float_tile(m, x, i, 2, j, strips, y, stride);
#endif
    for (; i < n; i++) float_tile(m, x, i, 1, j, strips, y, stride);
}

INLINE void floats(const Linear *m, const float *x, int n, int from, int until, float *y, size_t stride) {
    int j = from, wide = STRIPS * LANES;
    for (; j + wide <= until; j += wide) float_strips(m, x, n, j, STRIPS, y, stride);
    for (; j < until; j += LANES) float_strips(m, x, n, j, 1, y, stride);
}

/* ---- all rows ------------------------------------------------------------------------------ */

/* Row i of x as integers of 1 or 2 bytes; a row with NaN or infinity gives NaN. */
INLINE void quantise_row(const float *x, int n, int size, Quantised *out, int i) {
    uint8_t *q = out->bytes + (size_t)i * n * size;
    const float most = size == 2 ? 16382.0f : 127.0f, middle = size == 2 ? 8191.0f : 0.0f; /* of the integers */
    vec low = v_load(x), high = low, check = v_set(0.0f);
    for (int k = 0; k < n; k += LANES) {
        vec a = v_load(x + k);
        low = v_min(low, a), high = v_max(high, a);
        check = v_add(v_mul(a, v_set(0.0f)), check); /* NaN after NaN or infinity */
    }
    float least = -v_largest(v_sub(v_set(0.0f), low)), range = v_largest(high) - least, step = range / most;
    float faulty = v_sum(check), inverse = range > 1e-30f ? most / range : 0.0f;
    out->offset[i] = least + middle * step + faulty, out->step[i] = step + faulty;
    for (int k = 0; k < n; k += LANES) {
        vec a = v_add(v_mul(v_sub(v_load(x + k), v_set(least)), v_set(inverse)), v_set(WHOLE));
        if (size == 2) v_store_words((int16_t *)q + k, v_sub(a, v_set(middle)));
        else v_store_bytes(q + k, a);
    }
}

/* The rows of x (n, n_in) as the integers that a matrix of integers multiplies. */
static void quantise_rows(const Linear *m, const float *x, int n, Quantised *out) {
    if (!m->bytes) return;
    for (int i = 0; i < n; i++) quantise_row(x + (size_t)i * m->n_in, m->n_in, activation_size(m->format), out, i);
    split_rows(m, n, out);
}

/* y (n, stride) = x (n, n_in) W^T + b for the outputs from .. until - 1; `q` are the rows of
   x as integers, of a matrix of integers. */
static void product(const Linear *m, const float *x, int n, Quantised *q, float *y, size_t stride,
                    int from, int until) {
    float *out = y - from;
    switch (m->format) { /* each with a kernel of its own */
    case FLOAT32: floats(m, x, n, from, until, out, stride); break;
    case INT8: integers(m, q, n, from, until, INT8, out, stride); break;
    case INT16: integers(m, q, n, from, until, INT16, out, stride); break;
    case MIXED: integers(m, q, n, from, until, MIXED, out, stride); break;
    }
}

#endif
