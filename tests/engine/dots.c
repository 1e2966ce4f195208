/* Exits with status 1 if relaxed dot products are not those of 8-bit and 7-bit integers. */

#include <wasm_simd128.h>

int main(int argc, char **argv) {
    const v128_t w = wasm_i8x16_const(-127, 127, -127, 127, -127, -127, -127, -127, 127, 127, 127, 127, 1, -2, 3, -4);
    const v128_t a = wasm_i8x16_splat(argc + 126), sum = wasm_i32x4_splat(-1); /* 127, not known when compiled */
    const v128_t expected = wasm_i32x4_const(-1, -1 - 4 * 127 * 127, -1 + 4 * 127 * 127, -1 - 2 * 127);
    return !wasm_i32x4_all_true(wasm_i32x4_eq(wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, a, sum), expected));
}
