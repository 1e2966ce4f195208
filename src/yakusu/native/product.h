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

#include "engine.h"
#include "vector.h"

/* Element (j, k) of a matrix of integers. */
INLINE int integer_of(const Linear *m, int j, int k) {
    const int bits = m->format == INT8 ? 2 : 1, group = 1 << bits; /* number of weights */
    const size_t strip = (size_t)(j / LANES) * LANES * m->n_in;
    const size_t at = strip + ((size_t)(k >> bits) * LANES + j % LANES) * group + (k & (group - 1));
    return m->format == INT16 ? ((const int16_t *)m->bytes)[at] : m->bytes[at];
}

/* Rows of x as integers. */
typedef struct {
    uint8_t *bytes; /* (n, n_in) of 1 or 2 bytes each */
    float *offset, *step; /* (n) */
} Quantised;

/* ---- integers: 16 outputs of `rows` rows --------------------------------------------------- */

/* Each `s_step` adds the products of the next integers to 32-bit sums, and returns the number of bytes of a
   row of q that it has used. */

/* In each 32-bit lane, sum += four products of bytes (vpdpbusd) or two of words (vpdpwssd). With the
   intrinsic, gcc 12 copies every sum at every step, and the products take 1.5 times as long. */
#define ADD_DOTS(instruction, sum, q, w) __asm__(instruction " %2, %1, %0" : "+v"(sum) : "v"(q), "v"(w))

#if defined(__AVX512VNNI__)

#define TILE 8
#define STRIPS 2 /* computed together, so that enough sums are independent */
typedef struct { __m512i q; } sums;
INLINE sums s_zero(void) { return (sums){_mm512_setzero_si512()}; }
INLINE vec s_float(sums a) { return _mm512_cvtepi32_ps(a.q); }
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    __m512i weights = format == MIXED ? _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w))
                                      : _mm512_loadu_si512(w);
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        if (format == INT8) ADD_DOTS("vpdpbusd", sum[r].q, _mm512_set1_epi32(four), weights);
        else ADD_DOTS("vpdpwssd", sum[r].q, _mm512_set1_epi32(four), weights);
    }
    return 4;
}

#elif defined(__AVX2__)

#define STRIPS 1
typedef struct { __m256i low, high; } sums;
INLINE sums s_zero(void) { return (sums){_mm256_setzero_si256(), _mm256_setzero_si256()}; }
INLINE vec s_float(sums a) { return (vec){_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
INLINE __m256i s_load(const int8_t *w, int half, Format format) {
    if (format == MIXED) return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(w + 16 * half)));
    return _mm256_loadu_si256((const __m256i *)(w + 32 * half));
}

#if defined(__AVXVNNI__)
#define TILE 6
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    __m256i low = s_load(w, 0, format), high = s_load(w, 1, format);
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        __m256i a = _mm256_set1_epi32(four);
        if (format == INT8) {
            ADD_DOTS("%{vex%} vpdpbusd", sum[r].low, a, low);
            ADD_DOTS("%{vex%} vpdpbusd", sum[r].high, a, high);
        } else {
            ADD_DOTS("%{vex%} vpdpwssd", sum[r].low, a, low);
            ADD_DOTS("%{vex%} vpdpwssd", sum[r].high, a, high);
        }
    }
    return 4;
}
#else
#define TILE 4
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i low[TILE], high[TILE]; /* sums of pairs in 16 bits */
    if (format != INT8) {
        __m256i first = s_load(w, 0, format), second = s_load(w, 1, format);
        UNROLL for (int r = 0; r < rows; r++) {
            int32_t two;
            memcpy(&two, q + r * stride, 4);
            __m256i a = _mm256_set1_epi32(two);
            sum[r].low = _mm256_add_epi32(sum[r].low, _mm256_madd_epi16(a, first));
            sum[r].high = _mm256_add_epi32(sum[r].high, _mm256_madd_epi16(a, second));
        }
        return 4;
    }
    for (int g = 0; g < GROUP; g++)
        UNROLL for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, q + r * stride + 4 * g, 4);
            __m256i a = _mm256_set1_epi32(four);
            __m256i p = _mm256_maddubs_epi16(a, s_load(w + 64 * g, 0, INT8));
            __m256i s = _mm256_maddubs_epi16(a, s_load(w + 64 * g, 1, INT8));
            low[r] = g ? _mm256_add_epi16(low[r], p) : p;
            high[r] = g ? _mm256_add_epi16(high[r], s) : s;
        }
    UNROLL for (int r = 0; r < rows; r++) {
        sum[r].low = _mm256_add_epi32(sum[r].low, _mm256_madd_epi16(low[r], ones));
        sum[r].high = _mm256_add_epi32(sum[r].high, _mm256_madd_epi16(high[r], ones));
    }
    return 4 * GROUP;
}
#endif

#elif defined(__ARM_FEATURE_DOTPROD)

#define TILE 4
#define STRIPS 1
typedef struct { int32x4_t q[4]; } sums;
INLINE sums s_zero(void) {
    int32x4_t zero = vdupq_n_s32(0);
    return (sums){{zero, zero, zero, zero}};
}
INLINE vec s_float(sums a) {
    return (vec){{vcvtq_f32_s32(a.q[0]), vcvtq_f32_s32(a.q[1]), vcvtq_f32_s32(a.q[2]), vcvtq_f32_s32(a.q[3])}};
}
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four)); /* bytes: 0 .. 127 */
        int16x8_t b = vreinterpretq_s16_s8(a);
        for (int i = 0; i < 4; i++) {
            if (format == INT8) {
                sum[r].q[i] = vdotq_s32(sum[r].q[i], vld1q_s8(w + 16 * i), a);
                continue;
            }
            int16x8_t wide = format == MIXED ? vmovl_s8(vld1_s8(w + 8 * i)) : vreinterpretq_s16_s8(vld1q_s8(w + 16 * i));
            int32x4_t pairs = vpaddq_s32(vmull_s16(vget_low_s16(wide), vget_low_s16(b)), vmull_high_s16(wide, b));
            sum[r].q[i] = vaddq_s32(sum[r].q[i], pairs);
        }
    }
    return 4;
}

#elif defined(__wasm_simd128__)

#define TILE 2
#define STRIPS 1
typedef struct { v128_t q[4]; } sums;
INLINE sums s_zero(void) {
    v128_t zero = wasm_i32x4_splat(0);
    return (sums){{zero, zero, zero, zero}};
}
INLINE vec s_float(sums a) {
    vec y;
    for (int i = 0; i < 4; i++) y.q[i] = wasm_f32x4_convert_i32x4(a.q[i]);
    return y;
}
INLINE v128_t s_add(v128_t sum, v128_t a, v128_t b) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b)); }
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    for (int i = 0; i < 4; i++) {
        v128_t weights = format == MIXED ? wasm_i16x8_load8x8(w + 8 * i) : wasm_v128_load(w + 16 * i);
        UNROLL for (int r = 0; r < rows; r++) {
            v128_t a = wasm_v128_load32_splat(q + r * stride); /* bytes: 0 .. 127 */
            if (format != INT8) {
                sum[r].q[i] = s_add(sum[r].q[i], weights, a);
                continue;
            }
#if defined(__wasm_relaxed_simd__)
            sum[r].q[i] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(weights, a, sum[r].q[i]);
#else /* the bytes at even positions, then those at odd ones */
            v128_t low = wasm_i16x8_shr(wasm_i16x8_shl(weights, 8), 8), high = wasm_i16x8_shr(weights, 8);
            sum[r].q[i] = s_add(sum[r].q[i], low, wasm_v128_and(a, wasm_i16x8_splat(0xff)));
            sum[r].q[i] = s_add(sum[r].q[i], high, wasm_u16x8_shr(a, 8));
#endif
        }
    }
    return 4;
}

#else /* any other processor */

#define TILE 2
#define STRIPS 1
typedef struct { int32_t q[LANES]; } sums;
INLINE sums s_zero(void) { return (sums){{0}}; }
INLINE vec s_float(sums a) { return v_from_int(a.q); }
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride, Format format) {
    UNROLL for (int r = 0; r < rows; r++)
        for (int j = 0; j < LANES; j++) {
            int16_t a[2], b[2] = {w[2 * j], w[2 * j + 1]};
            memcpy(a, q + r * stride, 4);
            if (format == INT16) memcpy(b, w + 4 * j, 4);
            if (format != INT8) sum[r].q[j] += a[0] * b[0] + a[1] * b[1];
            else
                for (int k = 0; k < 4; k++) sum[r].q[j] += w[4 * j + k] * q[r * stride + k];
        }
    return 4;
}

#endif

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

/* All rows; outputs from .. until - 1. */
INLINE void integers(const Linear *m, const Quantised *x, int n, int from, int until, Format format, float *y,
                     size_t stride) {
    int j = from, wide = STRIPS * LANES;
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
        check = v_fma(a, v_set(0.0f), check); /* NaN after NaN or infinity */
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
