/* Sums of products of integers, for each instruction set.

   Each `s_step` adds the products of the next integers of `rows` rows to 32-bit sums of 16 outputs, and
   returns the number of bytes of a row of q that it has used. */

#ifndef YK_DOTS_H
#define YK_DOTS_H

#include "engine.h"
#include "vector.h"

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

#endif
