/* Words of 14 bits times bytes on hosts of WebAssembly that add four products of bytes at once, but multiply words in
   pairs: q + 8192 = a + 128 b, where a and b are planes of 7 bits. So
       sum_k q[k] w[k] = sum_k a[k] w[k] + 128 sum_k b[k] w[k] - 8192 sum_k w[k]. */

#ifndef YK_PLANES_H
#define YK_PLANES_H

#include "dots.h"

#if defined(__wasm_relaxed_simd__)

/* Whether the host adds four products at once. Others add two with saturation, which a byte of 255 reveals; those of
   the engine are at most 127. */
INLINE int adds_four(void) {
    v128_t w = wasm_i8x16_splat(127), q = wasm_i8x16_splat(-1), zero = wasm_i32x4_splat(0);
    return wasm_i32x4_extract_lane(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, q, zero), 0) != 2 * INT16_MAX;
}

/* Split a row of words into its planes: a, then b. */
INLINE void split_words(const uint8_t *words, size_t n_in, uint8_t *planes) {
    const v128_t middle = wasm_i16x8_splat(8192), last = wasm_i16x8_splat(127);
    for (size_t k = 0; k < n_in; k += 16) {
        v128_t x = wasm_i16x8_add(wasm_v128_load(words + 2 * k), middle);
        v128_t y = wasm_i16x8_add(wasm_v128_load(words + 2 * k + 16), middle);
        wasm_v128_store(planes + k, wasm_u8x16_narrow_i16x8(wasm_v128_and(x, last), wasm_v128_and(y, last)));
        wasm_v128_store(planes + n_in + k, wasm_u8x16_narrow_i16x8(wasm_u16x8_shr(x, 7), wasm_u16x8_shr(y, 7)));
    }
}

INLINE v128_t low_pairs(v128_t x, v128_t y) { return wasm_i16x8_shuffle(x, y, 0, 8, 1, 9, 2, 10, 3, 11); }
INLINE v128_t high_pairs(v128_t x, v128_t y) { return wasm_i16x8_shuffle(x, y, 4, 12, 5, 13, 6, 14, 7, 15); }

/* Add the products of a strip of MIXED weights with one plane of `rows` rows. */
INLINE void add_plane(sums *sum, int rows, const int8_t *w, const uint8_t *plane, size_t n_in) {
    for (size_t k = 0; k < n_in; k += 4, w += 4 * LANES) {
        v128_t x = wasm_v128_load(w), y = wasm_v128_load(w + 16); /* two weights of outputs 0 .. 7, of 8 .. 15 */
        v128_t next = wasm_v128_load(w + 32), last = wasm_v128_load(w + 48);
        v128_t four[4] = {low_pairs(x, next), high_pairs(x, next), low_pairs(y, last), high_pairs(y, last)};
        for (int i = 0; i < 4; i++)
            UNROLL for (int r = 0; r < rows; r++) {
                v128_t a = wasm_v128_load32_splat(plane + r * 2 * n_in + k);
                sum[r].q[i] = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(four[i], a, sum[r].q[i]);
            }
    }
}

/* The sums of `rows` rows of words, from a strip of weights, whose own sums are `of_weights`. */
INLINE void add_words(sums *sum, int rows, const int8_t *w, const uint8_t *planes, size_t n_in,
                      const float *of_weights) {
    UNROLL for (int r = 0; r < rows; r++) sum[r] = s_zero();
    add_plane(sum, rows, w, planes + n_in, n_in);
    for (int i = 0; i < 4; i++) {
        v128_t less = wasm_i32x4_shl(wasm_i32x4_trunc_sat_f32x4(wasm_v128_load(of_weights + 4 * i)), 13);
        UNROLL for (int r = 0; r < rows; r++) sum[r].q[i] = wasm_i32x4_sub(wasm_i32x4_shl(sum[r].q[i], 7), less);
    }
    add_plane(sum, rows, w, planes, n_in);
}

#endif

#endif
