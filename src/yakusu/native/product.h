/* y = x W^T + b in 8-bit integers or in floats.

   int8: W[j] = scale[j] w[j] with w in -127 .. 127; x = low + step q with q in 0 .. 127 for each
   row of x. Then
       x W[j]^T = scale[j] (step sum_k q[k] w[j][k] + low sum_k w[j][k]),
   and both sums are exact integers. If q has two parts, it is 128 q1 + q2, in 0 .. 16383, and
   sum_k q[k] w[j][k] = 128 sum_k q1[k] w[j][k] + sum_k q2[k] w[j][k]. Where there is no product of four bytes, two products are
   added in 16 bits, and GROUP such pairs before they are widened; `pack` (pack.c) chooses scale[j]
   such that no sum overflows. All processors use the same weights and get the same sums.

   float32: the products of an output are added in the order of k, each with one rounding. */

#ifndef YK_PRODUCT_H
#define YK_PRODUCT_H

#include "engine.h"
#include "vector.h"

/* Rows of x as integers. */
typedef struct {
    uint8_t *bytes; /* (n, parts, n_in) */
    float *low, *step; /* (n) */
} Quantised;

/* ---- int8: 16 outputs of `rows` rows ------------------------------------------------------- */

/* In each 32-bit lane, sum += the four products of bytes. With the intrinsic, gcc 12 copies every sum
   at every step, and the products take 1.5 times as long. */
#define ADD_DOTS(prefix, sum, unsigned_, signed_) \
    __asm__(prefix "vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_), "v"(signed_))

#if defined(__AVX512VNNI__)

#define TILE 8
#define STRIPS 2 /* computed together, so that enough sums are independent */
typedef struct { __m512i q; } sums;
INLINE sums s_zero(void) { return (sums){_mm512_setzero_si512()}; }
INLINE vec s_float(sums a) { return _mm512_cvtepi32_ps(a.q); }
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride) {
    __m512i weights = _mm512_loadu_si512(w);
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        ADD_DOTS("", sum[r].q, _mm512_set1_epi32(four), weights);
    }
    return 4;
}

#elif defined(__AVX2__)

#define STRIPS 1
typedef struct { __m256i low, high; } sums;
INLINE sums s_zero(void) { return (sums){_mm256_setzero_si256(), _mm256_setzero_si256()}; }
INLINE vec s_float(sums a) { return (vec){_mm256_cvtepi32_ps(a.low), _mm256_cvtepi32_ps(a.high)}; }
INLINE __m256i s_load(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }

#if defined(__AVXVNNI__)
#define TILE 6
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride) {
    __m256i low = s_load(w), high = s_load(w + 32);
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        ADD_DOTS("%{vex%} ", sum[r].low, _mm256_set1_epi32(four), low);
        ADD_DOTS("%{vex%} ", sum[r].high, _mm256_set1_epi32(four), high);
    }
    return 4;
}
#else
#define TILE 4
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i low[TILE], high[TILE]; /* sums of pairs in 16 bits */
    for (int g = 0; g < GROUP; g++)
        UNROLL for (int r = 0; r < rows; r++) {
            int32_t four;
            memcpy(&four, q + r * stride + 4 * g, 4);
            __m256i a = _mm256_set1_epi32(four);
            __m256i p = _mm256_maddubs_epi16(a, s_load(w + 64 * g));
            __m256i s = _mm256_maddubs_epi16(a, s_load(w + 64 * g + 32));
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
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride) {
    UNROLL for (int r = 0; r < rows; r++) {
        int32_t four;
        memcpy(&four, q + r * stride, 4);
        int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four)); /* 0 .. 127 */
        for (int i = 0; i < 4; i++) sum[r].q[i] = vdotq_s32(sum[r].q[i], vld1q_s8(w + 16 * i), a);
    }
    return 4;
}

#else /* any other processor */

#define TILE 2
#define STRIPS 1
typedef struct { int32_t q[LANES]; } sums;
INLINE sums s_zero(void) { return (sums){{0}}; }
INLINE vec s_float(sums a) { return v_from_int(a.q); }
INLINE int s_step(sums *sum, int rows, const int8_t *w, const uint8_t *q, size_t stride) {
    UNROLL for (int r = 0; r < rows; r++)
        for (int j = 0; j < LANES; j++)
            for (int k = 0; k < 4; k++) sum[r].q[j] += w[4 * j + k] * q[r * stride + k];
    return 4;
}

#endif

/* Outputs j .. j + 15 from the sums of integers of `rows` rows of bytes, of which every `parts` are a row of x;
   i is the first of these. */
INLINE void store_tile(const Linear *m, const Quantised *x, int i, int rows, int parts, int j, const sums *dots,
                       float *y, size_t stride) {
    const vec scale = v_load(m->scale + j), sum = v_load(m->sum + j), bias = v_load(m->bias + j);
    UNROLL for (int r = 0; r < rows; r += parts, i++) {
        vec dot = s_float(dots[r]), t = v_mul(sum, v_set(x->low[i]));
        if (parts == 2) dot = v_fma(dot, v_set(128.0f), s_float(dots[r + 1]));
        v_store(y + i * stride + j, v_fma(v_fma(dot, v_set(x->step[i]), t), scale, bias));
    }
}

/* `strips` times 16 outputs of `rows` rows of bytes from i on. Meanwhile, weights from `ahead` on are fetched into
   the cache, `pace` bytes per 4 columns. */
INLINE void int8_tile(const Linear *m, const Quantised *x, int i, int rows, int parts, int j, int strips,
                      const int8_t *ahead, int pace, float *y, size_t stride) {
    const int8_t *w = m->bytes + (size_t)j * m->n_in;
    const uint8_t *q = x->bytes + (size_t)i * m->n_in;
    const size_t strip = (size_t)LANES * m->n_in;
    sums dots[STRIPS][TILE];
    UNROLL for (int s = 0; s < strips; s++)
        UNROLL for (int r = 0; r < rows; r++) dots[s][r] = s_zero();
    for (int k = 0, step = 0; k < m->n_in; k += step, ahead += step / 4 * pace)
        UNROLL for (int s = 0; s < strips; s++) {
            __builtin_prefetch(ahead + 64 * s);
            step = s_step(dots[s], rows, w + s * strip + LANES * k, q + k, m->n_in);
        }
    UNROLL for (int s = 0; s < strips; s++)
        store_tile(m, x, i / parts, rows, parts, j + LANES * s, dots[s], y, stride);
}

/* All n rows of bytes of `strips` times 16 outputs. Each tile fetches its share of the weights of the next
   outputs. */
INLINE void int8_strips(const Linear *m, const Quantised *x, int n, int parts, int j, int strips, float *y,
                        size_t stride) {
    const int8_t *ahead = m->bytes + (size_t)(j + strips * LANES) * m->n_in;
    const int n_tiles = (n + TILE - 1) / TILE, pace = 64 * strips / n_tiles;
    const size_t share = (size_t)strips * LANES * m->n_in / n_tiles;
    int i = 0;
    for (; i + TILE <= n; i += TILE, ahead += share) int8_tile(m, x, i, TILE, parts, j, strips, ahead, pace, y, stride);
#if TILE > 4
    for (; i + 4 <= n; i += 4) int8_tile(m, x, i, 4, parts, j, strips, ahead, pace, y, stride);
#endif
#if TILE > 2
    for (; i + 2 <= n; i += 2) int8_tile(m, x, i, 2, parts, j, strips, ahead, pace, y, stride);
#endif
    for (; parts == 1 && i < n; i++) int8_tile(m, x, i, 1, 1, j, strips, ahead, pace, y, stride);
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

/* ---- all rows ------------------------------------------------------------------------------ */

/* Store integers 128 a + b as a and b, n bytes apart. */
INLINE void store_parts(vec both, uint8_t *q, int n) {
    vec a = v_add(v_fma(both, v_set(1 / 128.0f), v_set(-63.5f / 128)), v_set(WHOLE)); /* rounded down */
    vec b = v_fma(v_sub(a, v_set(WHOLE)), v_set(-128.0f), both);
    v_store_bytes(q, a), v_store_bytes(q + n, v_add(b, v_set(WHOLE)));
}

/* Row i of x as integers of one or two parts; a row with NaN or infinity gives NaN. */
INLINE void quantise_row(const float *x, int n, int parts, Quantised *out, int i) {
    uint8_t *q = out->bytes + (size_t)i * parts * n;
    const float most = parts == 2 ? 16383.0f : 127.0f;
    vec low = v_load(x), high = low, check = v_set(0.0f);
    for (int k = 0; k < n; k += LANES) {
        vec a = v_load(x + k);
        low = v_min(low, a), high = v_max(high, a);
        check = v_fma(a, v_set(0.0f), check); /* NaN after NaN or infinity */
    }
    float least = -v_largest(v_sub(v_set(0.0f), low)), range = v_largest(high) - least;
    float faulty = v_sum(check), inverse = range > 1e-30f ? most / range : 0.0f;
    out->low[i] = least + faulty, out->step[i] = range / most + faulty;
    for (int k = 0; k < n; k += LANES) {
        vec a = v_add(v_mul(v_sub(v_load(x + k), v_set(least)), v_set(inverse)), v_set(WHOLE));
        if (parts == 2) store_parts(v_sub(a, v_set(WHOLE)), q + k, n);
        else v_store_bytes(q + k, a);
    }
}


/* y (n, stride) = x (n, n_in) W^T + b for the outputs from .. until - 1; `q` are the rows of
   x as integers, of an int8 matrix. */
static void product(const Linear *m, const float *x, int n, Quantised *q, float *y, size_t stride,
                    int from, int until) {
    float *out = y - from;
    int j = from, wide = STRIPS * LANES;
    if (m->bytes && m->parts == 2) {
        for (; j + wide <= until; j += wide) int8_strips(m, q, 2 * n, 2, j, STRIPS, out, stride);
        for (; j < until; j += LANES) int8_strips(m, q, 2 * n, 2, j, 1, out, stride);
    }
    for (; m->bytes && j + wide <= until; j += wide) int8_strips(m, q, n, 1, j, STRIPS, out, stride);
    for (; m->bytes && j < until; j += LANES) int8_strips(m, q, n, 1, j, 1, out, stride);
    for (; m->floats && j + wide <= until; j += wide) float_strips(m, x, n, j, STRIPS, out, stride);
    for (; m->floats && j < until; j += LANES) float_strips(m, x, n, j, 1, out, stride);
}

#endif
