/* A module of its own, which says whether a host runs the engine with relaxed instructions. */

#ifdef __wasm_relaxed_simd__

#include "product.h"

/* Whether they compute what the engine needs: fma rounds once, and products of bytes have exact
   sums. The results differ if fma rounds twice, or to double first, or if a byte has the wrong sign.
   one: 1, so that the compiler does not compute them. */
API int is_exact(int one) {
    float a = one + 0x1p-18f, b = one * (0x1p-24f - 0x1p-42f), c = 1 + 0x1p-23f;
    if (v_lane0(v_fma(v_set(a), v_set(b), v_set(c))) != c) return 0;
    if (v_lane0(v_fma(v_set(one + 0x1p-12f), v_set(1 - 0x1p-12f), v_set(-1))) != -0x1p-24f) return 0;
    int8_t w[4 * LANES];
    uint8_t q[4] = {127, (uint8_t)one, 126, 127};
    for (int i = 0; i < 4 * LANES; i++) w[i] = (int8_t)(i % 4 ? one * 37 * i % 255 - 127 : -127);
    sums sum[1] = {s_zero()};
    for (int i = 0; i < 3; i++) s_step(sum, 1, w, q, 4, INT8);
    float found[LANES];
    v_store(found, s_float(sum[0]));
    for (int i = 0; i < LANES; i++) {
        int expected = 0;
        for (int k = 0; k < 4; k++) expected += 3 * w[4 * i + k] * q[k];
        if (found[i] != (float)expected) return 0;
    }
    return 1;
}

#endif
