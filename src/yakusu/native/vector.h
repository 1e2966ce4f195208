/* Vectors of 16 floats, with the same results on every instruction set.

   Every operation, including `v_fma`, rounds once, as IEEE 754 specifies. Sums over lanes have one
   fixed order: lane i + lane i + 8, then + 4, + 2, + 1. Compile with -ffp-contract=off. */

#ifndef YK_VECTOR_H
#define YK_VECTOR_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "engine.h"

#ifndef INLINE /* tests compile ten times as fast without */
#define INLINE static inline __attribute__((always_inline))
#endif
#define UNROLL _Pragma("GCC unroll 8")
#define ONES4 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff

/* From FIRST + 16 - n on: the mask of n lanes. */
static const uint32_t FIRST[2 * LANES] __attribute__((unused)) = {ONES4, ONES4, ONES4, ONES4};

#if defined(__wasm__)
/* a * b + c, rounded once: WebAssembly has no such instruction, and musl's fmaf rounds subnormal numbers twice.
   In double, the product is exact; the sum is rounded to odd, as Boldo and Melquiond (2008) explain. */
static inline float fma_once(float a, float b, float c) {
    double product = (double)a * b, sum = product + c, rest = sum - product;
    double error = (product - (sum - rest)) + (c - rest);
    int64_t bits;
    memcpy(&bits, &sum, 8);
    if (fabs(error) > 0 && !(bits & 1)) bits += (error > 0) == (sum > 0) ? 1 : -1;
    memcpy(&sum, &bits, 8);
    return (float)sum;
}
#else
#define fma_once fmaf
#endif

#if defined(__AVX512F__)

#include <immintrin.h>
typedef __m512 vec;
INLINE vec v_set(float x) { return _mm512_set1_ps(x); }
INLINE vec v_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE void v_store(float *p, vec a) { _mm512_storeu_ps(p, a); }
INLINE vec v_add(vec a, vec b) { return _mm512_add_ps(a, b); }
INLINE vec v_sub(vec a, vec b) { return _mm512_sub_ps(a, b); }
INLINE vec v_mul(vec a, vec b) { return _mm512_mul_ps(a, b); }
INLINE vec v_div(vec a, vec b) { return _mm512_div_ps(a, b); }
INLINE vec v_fma(vec a, vec b, vec c) { return _mm512_fmadd_ps(a, b, c); }
INLINE vec v_max(vec a, vec b) { return _mm512_max_ps(a, b); }
INLINE vec v_min(vec a, vec b) { return _mm512_min_ps(a, b); }
INLINE uint32_t v_greater(vec a, vec b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
/* the first n lanes of a, 1 to 16, and the others of b */
INLINE vec v_first(vec a, int n, vec b) { return _mm512_mask_blend_ps((__mmask16)((1u << n) - 1), b, a); }
INLINE vec v_from_int(const int32_t *p) { return _mm512_cvtepi32_ps(_mm512_loadu_si512(p)); }
/* a * 2^n for the integers n, given as n + 1.5 * 2^23 in b */
INLINE vec v_scale2(vec a, vec b) {
    __m512i n = _mm512_slli_epi32(_mm512_castps_si512(b), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), n));
}
/* the low bytes, or words, of the integers n, given as n + 1.5 * 2^23 in a */
INLINE void v_store_bytes(uint8_t *p, vec a) {
    _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_castps_si512(a)));
}
INLINE void v_store_words(int16_t *p, vec a) {
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(_mm512_castps_si512(a)));
}
/* lanes i and i ^ n exchanged, for n of 8, 4, 2 or 1 */
INLINE vec v_swap(vec a, int n) {
    return n == 8   ? _mm512_shuffle_f32x4(a, a, 0x4e)
           : n == 4 ? _mm512_shuffle_f32x4(a, a, 0xb1)
           : n == 2 ? _mm512_permute_ps(a, 0x4e)
                    : _mm512_permute_ps(a, 0xb1);
}
/* the lanes i of a without bit n of i, and those of b with it, for n of 8 or 4 */
INLINE vec v_pick(vec a, vec b, int n) { return _mm512_mask_blend_ps(n == 8 ? 0xff00 : 0xf0f0, a, b); }
/* n numbers, repeated in all lanes, for n of 4, 8 or 16 */
INLINE vec v_repeat(const float *p, int n) {
    return n == 4   ? _mm512_broadcast_f32x4(_mm_loadu_ps(p))
           : n == 8 ? _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_castps_pd(_mm256_loadu_ps(p))))
                    : v_load(p);
}
INLINE float v_lane0(vec a) { return _mm512_cvtss_f32(a); }

#elif defined(__AVX2__) && defined(__FMA__)

#include <immintrin.h>
typedef struct { __m256 low, high; } vec;
#define EACH(f) ((vec){f(a.low, b.low), f(a.high, b.high)})
INLINE vec v_set(float x) { return (vec){_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
INLINE vec v_load(const float *p) { return (vec){_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
INLINE void v_store(float *p, vec a) { _mm256_storeu_ps(p, a.low); _mm256_storeu_ps(p + 8, a.high); }
INLINE vec v_add(vec a, vec b) { return EACH(_mm256_add_ps); }
INLINE vec v_sub(vec a, vec b) { return EACH(_mm256_sub_ps); }
INLINE vec v_mul(vec a, vec b) { return EACH(_mm256_mul_ps); }
INLINE vec v_div(vec a, vec b) { return EACH(_mm256_div_ps); }
INLINE vec v_fma(vec a, vec b, vec c) {
    return (vec){_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
}
INLINE vec v_max(vec a, vec b) { return EACH(_mm256_max_ps); }
INLINE vec v_min(vec a, vec b) { return EACH(_mm256_min_ps); }
INLINE uint32_t v_greater(vec a, vec b) {
    uint32_t low = _mm256_movemask_ps(_mm256_cmp_ps(a.low, b.low, _CMP_GT_OQ));
    return low | (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.high, b.high, _CMP_GT_OQ)) << 8;
}
INLINE vec v_first(vec a, int n, vec b) {
    vec first = v_load((const float *)(FIRST + LANES - n));
    return (vec){_mm256_blendv_ps(b.low, a.low, first.low), _mm256_blendv_ps(b.high, a.high, first.high)};
}
INLINE vec v_from_int(const int32_t *p) {
    return (vec){_mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)p)),
                 _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(p + 8)))};
}
INLINE __m256 v_scale2_half(__m256 a, __m256 b) {
    __m256i n = _mm256_slli_epi32(_mm256_castps_si256(b), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), n));
}
INLINE vec v_scale2(vec a, vec b) { return EACH(v_scale2_half); }
INLINE void v_store_bytes(uint8_t *p, vec a) {
    __m256i mask = _mm256_set1_epi32(0xff);
    __m256i low = _mm256_and_si256(_mm256_castps_si256(a.low), mask);
    __m256i high = _mm256_and_si256(_mm256_castps_si256(a.high), mask);
    __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    __m128i bytes = _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128((__m128i *)p, bytes);
}
INLINE void v_store_words(int16_t *p, vec a) {
    __m256i mask = _mm256_set1_epi32(0xffff);
    __m256i low = _mm256_and_si256(_mm256_castps_si256(a.low), mask);
    __m256i high = _mm256_and_si256(_mm256_castps_si256(a.high), mask);
    _mm256_storeu_si256((__m256i *)p, _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8));
}
INLINE __m256 v_swap_half(__m256 a, int n) {
    return n == 4 ? _mm256_permute2f128_ps(a, a, 1) : n == 2 ? _mm256_permute_ps(a, 0x4e) : _mm256_permute_ps(a, 0xb1);
}
INLINE vec v_swap(vec a, int n) {
    return n == 8 ? (vec){a.high, a.low} : (vec){v_swap_half(a.low, n), v_swap_half(a.high, n)};
}
INLINE vec v_pick(vec a, vec b, int n) {
    return n == 8 ? (vec){a.low, b.high}
                  : (vec){_mm256_blend_ps(a.low, b.low, 0xf0), _mm256_blend_ps(a.high, b.high, 0xf0)};
}
INLINE vec v_repeat(const float *p, int n) {
    if (n == 16) return v_load(p);
    __m256 half = n == 8 ? _mm256_loadu_ps(p) : _mm256_broadcast_ps((const __m128 *)p);
    return (vec){half, half};
}
INLINE float v_lane0(vec a) { return _mm256_cvtss_f32(a.low); }
#undef EACH

#elif defined(__ARM_NEON) && defined(__aarch64__)

#include <arm_neon.h>
typedef struct { float32x4_t q[4]; } vec;
#define EACH(expression) vec r; for (int i = 0; i < 4; i++) r.q[i] = expression; return r
INLINE vec v_set(float x) { EACH(vdupq_n_f32(x)); }
INLINE vec v_load(const float *p) { EACH(vld1q_f32(p + 4 * i)); }
INLINE void v_store(float *p, vec a) { for (int i = 0; i < 4; i++) vst1q_f32(p + 4 * i, a.q[i]); }
INLINE vec v_add(vec a, vec b) { EACH(vaddq_f32(a.q[i], b.q[i])); }
INLINE vec v_sub(vec a, vec b) { EACH(vsubq_f32(a.q[i], b.q[i])); }
INLINE vec v_mul(vec a, vec b) { EACH(vmulq_f32(a.q[i], b.q[i])); }
INLINE vec v_div(vec a, vec b) { EACH(vdivq_f32(a.q[i], b.q[i])); }
INLINE vec v_fma(vec a, vec b, vec c) { EACH(vfmaq_f32(c.q[i], a.q[i], b.q[i])); }
/* as x86: the second operand if one of them is NaN */
INLINE vec v_max(vec a, vec b) { EACH(vbslq_f32(vcgtq_f32(a.q[i], b.q[i]), a.q[i], b.q[i])); }
INLINE vec v_min(vec a, vec b) { EACH(vbslq_f32(vcltq_f32(a.q[i], b.q[i]), a.q[i], b.q[i])); }
INLINE uint32_t v_greater(vec a, vec b) {
    static const uint32_t bits[4] = {1, 2, 4, 8};
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++)
        mask |= vaddvq_u32(vandq_u32(vcgtq_f32(a.q[i], b.q[i]), vld1q_u32(bits))) << 4 * i;
    return mask;
}
INLINE vec v_first(vec a, int n, vec b) {
    EACH(vbslq_f32(vld1q_u32(FIRST + LANES - n + 4 * i), a.q[i], b.q[i]));
}
INLINE vec v_from_int(const int32_t *p) { EACH(vcvtq_f32_s32(vld1q_s32(p + 4 * i))); }
INLINE vec v_scale2(vec a, vec b) {
    EACH(vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(a.q[i]),
                                         vshlq_n_s32(vreinterpretq_s32_f32(b.q[i]), 23))));
}
INLINE void v_store_bytes(uint8_t *p, vec a) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) p[4 * i + j] = (uint8_t)vreinterpretq_u32_f32(a.q[i])[j];
}
INLINE void v_store_words(int16_t *p, vec a) {
    for (int i = 0; i < 4; i++) vst1_s16(p + 4 * i, vmovn_s32(vreinterpretq_s32_f32(a.q[i])));
}
INLINE vec v_swap(vec a, int n) {
    EACH(n == 8   ? a.q[i ^ 2]
         : n == 4 ? a.q[i ^ 1]
         : n == 2 ? vextq_f32(a.q[i], a.q[i], 2)
                  : vrev64q_f32(a.q[i]));
}
INLINE vec v_pick(vec a, vec b, int n) { EACH(i & n / 4 ? b.q[i] : a.q[i]); }
INLINE vec v_repeat(const float *p, int n) { EACH(vld1q_f32(p + 4 * i % n)); }
INLINE float v_lane0(vec a) { return a.q[0][0]; }
#undef EACH

#elif defined(__wasm_simd128__)

#include <wasm_simd128.h>
typedef struct { v128_t q[4]; } vec;
#define EACH(expression) vec r; for (int i = 0; i < 4; i++) r.q[i] = expression; return r
INLINE vec v_set(float x) { EACH(wasm_f32x4_splat(x)); }
INLINE vec v_load(const float *p) { EACH(wasm_v128_load(p + 4 * i)); }
INLINE void v_store(float *p, vec a) { for (int i = 0; i < 4; i++) wasm_v128_store(p + 4 * i, a.q[i]); }
INLINE vec v_add(vec a, vec b) { EACH(wasm_f32x4_add(a.q[i], b.q[i])); }
INLINE vec v_sub(vec a, vec b) { EACH(wasm_f32x4_sub(a.q[i], b.q[i])); }
INLINE vec v_mul(vec a, vec b) { EACH(wasm_f32x4_mul(a.q[i], b.q[i])); }
INLINE vec v_div(vec a, vec b) { EACH(wasm_f32x4_div(a.q[i], b.q[i])); }
#if defined(__wasm_relaxed_simd__) /* of hosts where it rounds once: host.c */
INLINE vec v_fma(vec a, vec b, vec c) { EACH(wasm_f32x4_relaxed_madd(a.q[i], b.q[i], c.q[i])); }
#else
#define IN_DOUBLE
/* 16 doubles, two in each vector. */
typedef struct { v128_t q[8]; } doubles;
#define PAIRS(expression) doubles r; for (int i = 0; i < 8; i++) r.q[i] = expression; return r
INLINE doubles d_set(double x) { PAIRS(wasm_f64x2_splat(x)); }
INLINE doubles d_add(doubles a, doubles b) { PAIRS(wasm_f64x2_add(a.q[i], b.q[i])); }
INLINE doubles d_sub(doubles a, doubles b) { PAIRS(wasm_f64x2_sub(a.q[i], b.q[i])); }
INLINE doubles d_mul(doubles a, doubles b) { PAIRS(wasm_f64x2_mul(a.q[i], b.q[i])); }
INLINE v128_t half_of(vec a, int i) { return i & 1 ? wasm_i64x2_shuffle(a.q[i / 2], a.q[i / 2], 1, 0) : a.q[i / 2]; }
INLINE doubles d_of(vec a) { PAIRS(wasm_f64x2_promote_low_f32x4(half_of(a, i))); }
INLINE v128_t half_float(doubles a, int i) { return wasm_f32x4_demote_f64x2_zero(a.q[i]); }
INLINE vec d_float(doubles a) { EACH(wasm_i64x2_shuffle(half_float(a, 2 * i), half_float(a, 2 * i + 1), 0, 2)); }
/* the last 32 bits */
INLINE vec d_last(doubles a) { EACH(wasm_i32x4_shuffle(a.q[2 * i], a.q[2 * i + 1], 0, 2, 4, 6)); }
#undef PAIRS
static __attribute__((noinline)) v128_t fma_each(v128_t a, v128_t b, v128_t c) {
    float x[4], y[4], z[4];
    wasm_v128_store(x, a), wasm_v128_store(y, b), wasm_v128_store(z, c);
    for (int i = 0; i < 4; i++) x[i] = fma_once(x[i], y[i], z[i]);
    return wasm_v128_load(x);
}
/* Rounded to double, then to float. This differs from rounding once only if the double is halfway between two floats,
   so that its last 29 bits are 1000 ..., or if the float is subnormal. */
INLINE vec v_fma(vec a, vec b, vec c) {
    doubles sum = d_add(d_mul(d_of(a), d_of(b)), d_of(c));
    vec y = d_float(sum), last = d_last(sum);
    v128_t halfway = wasm_i32x4_splat(0), size = wasm_i32x4_splat(-1), one = wasm_i32x4_splat(1);
    for (int i = 0; i < 4; i++) {
        halfway = wasm_i32x4_min(halfway, wasm_i32x4_shl(last.q[i], 3)); /* INT32_MIN, if it is one */
        size = wasm_u32x4_min(size, wasm_i32x4_sub(wasm_i32x4_shl(y.q[i], 1), one)); /* of 0, the largest */
    }
    halfway = wasm_i32x4_eq(halfway, wasm_i32x4_splat(INT32_MIN));
    v128_t subnormal = wasm_u32x4_lt(size, wasm_i32x4_splat(1 << 24));
    if (!wasm_v128_any_true(wasm_v128_or(halfway, subnormal))) return y;
    EACH(fma_each(a.q[i], b.q[i], c.q[i]));
}
#endif
/* as x86: the second operand if one of them is NaN */
INLINE vec v_max(vec a, vec b) { EACH(wasm_f32x4_pmax(b.q[i], a.q[i])); }
INLINE vec v_min(vec a, vec b) { EACH(wasm_f32x4_pmin(b.q[i], a.q[i])); }
INLINE uint32_t v_greater(vec a, vec b) {
    uint32_t mask = 0;
    for (int i = 0; i < 4; i++) mask |= (uint32_t)wasm_i32x4_bitmask(wasm_f32x4_gt(a.q[i], b.q[i])) << 4 * i;
    return mask;
}
INLINE vec v_first(vec a, int n, vec b) {
    EACH(wasm_v128_bitselect(a.q[i], b.q[i], wasm_v128_load(FIRST + LANES - n + 4 * i)));
}
INLINE vec v_from_int(const int32_t *p) { EACH(wasm_f32x4_convert_i32x4(wasm_v128_load(p + 4 * i))); }
INLINE vec v_scale2(vec a, vec b) { EACH(wasm_i32x4_add(a.q[i], wasm_i32x4_shl(b.q[i], 23))); }
INLINE v128_t even_bytes(v128_t a, v128_t b) {
    return wasm_i8x16_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
INLINE v128_t even_words(v128_t a, v128_t b) { return wasm_i16x8_shuffle(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
INLINE void v_store_words(int16_t *p, vec a) {
    wasm_v128_store(p, even_words(a.q[0], a.q[1])), wasm_v128_store(p + 8, even_words(a.q[2], a.q[3]));
}
INLINE void v_store_bytes(uint8_t *p, vec a) {
    wasm_v128_store(p, even_bytes(even_words(a.q[0], a.q[1]), even_words(a.q[2], a.q[3])));
}
INLINE vec v_swap(vec a, int n) {
    EACH(n == 8   ? a.q[i ^ 2]
         : n == 4 ? a.q[i ^ 1]
         : n == 2 ? wasm_i32x4_shuffle(a.q[i], a.q[i], 2, 3, 0, 1)
                  : wasm_i32x4_shuffle(a.q[i], a.q[i], 1, 0, 3, 2));
}
INLINE vec v_pick(vec a, vec b, int n) { EACH(i & n / 4 ? b.q[i] : a.q[i]); }
INLINE vec v_repeat(const float *p, int n) { EACH(wasm_v128_load(p + 4 * i % n)); }
INLINE float v_lane0(vec a) { return wasm_f32x4_extract_lane(a.q[0], 0); }
#undef EACH

#else /* any other processor */

typedef struct { float q[LANES]; } vec;
#define EACH(expression) vec r; for (int i = 0; i < LANES; i++) r.q[i] = expression; return r
INLINE vec v_set(float x) { EACH(x); }
INLINE vec v_load(const float *p) { EACH(p[i]); }
INLINE void v_store(float *p, vec a) { memcpy(p, a.q, sizeof a.q); }
INLINE vec v_add(vec a, vec b) { EACH(a.q[i] + b.q[i]); }
INLINE vec v_sub(vec a, vec b) { EACH(a.q[i] - b.q[i]); }
INLINE vec v_mul(vec a, vec b) { EACH(a.q[i] * b.q[i]); }
INLINE vec v_div(vec a, vec b) { EACH(a.q[i] / b.q[i]); }
INLINE vec v_fma(vec a, vec b, vec c) { EACH(fma_once(a.q[i], b.q[i], c.q[i])); }
INLINE vec v_max(vec a, vec b) { EACH(a.q[i] > b.q[i] ? a.q[i] : b.q[i]); }
INLINE vec v_min(vec a, vec b) { EACH(a.q[i] < b.q[i] ? a.q[i] : b.q[i]); }
INLINE uint32_t v_greater(vec a, vec b) {
    uint32_t mask = 0;
    for (int i = 0; i < LANES; i++) mask |= (uint32_t)(a.q[i] > b.q[i]) << i;
    return mask;
}
INLINE vec v_first(vec a, int n, vec b) { EACH(i < n ? a.q[i] : b.q[i]); }
INLINE vec v_from_int(const int32_t *p) { EACH((float)p[i]); }
INLINE uint32_t bits_of(float x) { uint32_t n; memcpy(&n, &x, 4); return n; }
INLINE float float_of(uint32_t n) { float x; memcpy(&x, &n, 4); return x; }
INLINE vec v_scale2(vec a, vec b) { EACH(float_of(bits_of(a.q[i]) + (bits_of(b.q[i]) << 23))); }
INLINE void v_store_bytes(uint8_t *p, vec a) {
    for (int i = 0; i < LANES; i++) p[i] = (uint8_t)bits_of(a.q[i]);
}
INLINE void v_store_words(int16_t *p, vec a) {
    for (int i = 0; i < LANES; i++) p[i] = (int16_t)bits_of(a.q[i]);
}
INLINE vec v_swap(vec a, int n) { EACH(a.q[i ^ n]); }
INLINE vec v_pick(vec a, vec b, int n) { EACH(i & n ? b.q[i] : a.q[i]); }
INLINE vec v_repeat(const float *p, int n) { EACH(p[i % n]); }
INLINE float v_lane0(vec a) { return a.q[0]; }
#undef EACH

#endif

/* ---- over the lanes ----------------------------------------------------------------------- */

/* The sums of two vectors over lanes i and i + n, next to each other: in lanes without bit n those of
   a, in the others those of b. */
INLINE vec v_fold(vec a, vec b, int n) { return v_add(v_pick(a, b, n), v_swap(v_pick(b, a, n), n)); }

INLINE float v_sum(vec a) {
    a = v_add(a, v_swap(a, 8)), a = v_add(a, v_swap(a, 4));
    a = v_add(a, v_swap(a, 2)), a = v_add(a, v_swap(a, 1));
    return v_lane0(a);
}
INLINE float v_largest(vec a) {
    a = v_max(a, v_swap(a, 8)), a = v_max(a, v_swap(a, 4));
    a = v_max(a, v_swap(a, 2)), a = v_max(a, v_swap(a, 1));
    return v_lane0(a);
}

/* ---- exp ---------------------------------------------------------------------------------- */

#define WHOLE 12582912.0f /* 1.5 * 2^23: adding it rounds to an integer */
#define LOG2_E 0x1.715476p0f
#define LN2_HIGH 0x1.62e4p-1f /* of few digits: multiples are exact */
#define LN2_LOW 0x1.7f7d1cp-20f
#define TERMS 7 /* Taylor, fitted: ... + r^2 / 2 + r + 1 */
static const float TERM[TERMS] __attribute__((unused)) = {
    0x1.6850e4p-10f, 0x1.123bccp-7f, 0x1.555b98p-5f, 0x1.55548ep-3f, 0x1.fffff8p-2f, 1.0f, 1.0f};

/* exp(x) for x <= 88, within 2 units in the last place; exp(-87) for all x below -87. With k = x / ln 2 rounded to an
   integer and r = x - k ln 2, this is 2^k times the sum of the terms of exp(r). No inexact result is subnormal. */
#ifdef IN_DOUBLE

/* a b + c, rounded once: a b is exact, and adding C = 1.5 * 2^(52 + e) rounds to a multiple of 2^e, the distance of
   neighbouring floats. */
INLINE doubles d_fma(doubles a, doubles b, doubles c, doubles C) { return d_sub(d_add(d_mul(a, b), d_add(c, C)), C); }

/* C for numbers next to 1, where the distance doubles: of 1 and more if r >= 0. */
INLINE doubles next_to_1(doubles r) {
    doubles C;
    for (int i = 0; i < 8; i++) {
        v128_t twice = wasm_v128_and(wasm_f64x2_ge(r.q[i], wasm_f64x2_splat(0.0)), wasm_i64x2_splat(1ll << 52));
        C.q[i] = wasm_i64x2_add(wasm_f64x2_splat(0x1.8p28), twice);
    }
    return C;
}

/* The same as below for each of the 2^32 floats. */
INLINE vec v_exp(vec x) {
    doubles a = d_of(v_max(v_set(-87.0f), x)), whole = d_set(0x1.8p52);
    doubles n = d_add(d_mul(a, d_set(LOG2_E)), whole), k = d_sub(n, whole);
    doubles r = d_add(d_mul(k, d_set(-LN2_HIGH)), a); /* exact, as the next sum */
    r = d_of(d_float(d_add(d_mul(k, d_set(-LN2_LOW)), r)));
    doubles C = next_to_1(r), y = d_set(TERM[0]);
    y = d_fma(y, r, d_set(TERM[1]), d_set(0x1.8p22));
    y = d_fma(y, r, d_set(TERM[2]), d_set(0x1.8p24));
    y = d_fma(y, r, d_set(TERM[3]), d_set(0x1.8p26));
    y = d_fma(y, r, d_set(TERM[4]), d_mul(C, d_set(0.5)));
    y = d_fma(y, r, d_set(TERM[5]), C);
    y = d_fma(y, r, d_set(TERM[6]), C);
    return v_scale2(d_float(y), d_last(n));
}

#else

INLINE vec v_exp(vec x) {
    x = v_max(v_set(-87.0f), x); /* keeps NaN */
    vec n = v_fma(x, v_set(LOG2_E), v_set(WHOLE)), k = v_sub(n, v_set(WHOLE));
    vec r = v_fma(k, v_set(-LN2_HIGH), x), y = v_set(TERM[0]);
    r = v_fma(k, v_set(-LN2_LOW), r);
    UNROLL for (int i = 1; i < TERMS; i++) y = v_fma(y, r, v_set(TERM[i]));
    return v_scale2(y, n);
}

#endif

/* log(x) of a positive number, within 2 units in the last place; math libraries differ in it. */
static inline double log_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xfffffffffffffull) | 0x3ff0000000000000ull;
    double m;
    memcpy(&m, &bits, 8); /* 1 .. 2 */
    if (m > 1.4142135623730951) m /= 2, exponent++;
    double s = (m - 1) / (m + 1), z = s * s, sum = 0; /* log m = 2 atanh s */
    for (int k = 21; k > 0; k -= 2) sum = sum * z + 1.0 / k;
    return exponent * 0.6931471805599453 + 2 * s * sum;
}

#endif
