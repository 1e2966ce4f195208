/* Functions for compressed vectors; codes.h describes them. */

#include "codes.h"

/* ---- scores of rows ------------------------------------------------------------------------ */

API void yk_scan4(const Scans *scans, const uint8_t *codes, int64_t n_blocks, int n_components,
                  const uint16_t *tables, uint32_t *out) {
    scans->scan4(codes, n_blocks, n_components, tables, out);
}

API void yk_dot8(const Scans *scans, const int8_t *integers, int64_t n_rows, int n_components,
                 const int16_t *weights, int64_t *out) {
    scans->dot8(integers, n_rows, n_components, weights, out);
}

API void yk_dot16(const Scans *scans, const int16_t *integers, int64_t n_rows, int n_components,
                  const int16_t *weights, int64_t *out) {
    scans->dot16(integers, n_rows, n_components, weights, out);
}

/* ---- entropy coding ------------------------------------------------------------------------ */

/* The symbol of a slot among n, or -1: the search begins at `symbol` and goes upwards. */
static inline int find(const uint16_t *cumulative, int n, uint32_t slot, int symbol) {
    if (symbol >= n || cumulative[symbol] > slot) return -1;
    while (cumulative[symbol + 1] <= slot)
        if (++symbol >= n) return -1;
    return symbol;
}

API int yk_rans_decode(const uint16_t *stream, int64_t n_words, int n_rows, int n_components, int scale_bits,
                       const uint16_t *cumulative, const int32_t *starts, const uint16_t *coarse,
                       int coarse_shift, const int16_t *values, int factor, int16_t *out) {
    if (n_words < 2) return -1;
    const uint16_t *next = stream + 2, *end = stream + n_words;
    const uint32_t mask = (1u << scale_bits) - 1;
    const int coarse_bits = scale_bits - coarse_shift;
    uint32_t x = (uint32_t)stream[0] << 16 | stream[1];
    for (int row = 0; row < n_rows; row++)
        for (int m = 0; m < n_components; m++) {
            const uint16_t *own = cumulative + starts[m];
            uint32_t slot = x & mask;
            int first = coarse[((size_t)m << coarse_bits) + (slot >> coarse_shift)];
            int s = find(own, starts[m + 1] - starts[m] - 1, slot, first);
            if (s < 0) return -1;
            x = (uint32_t)(own[s + 1] - own[s]) * (x >> scale_bits) + slot - own[s];
            if (x < 1u << 16) {
                if (next == end) return -1;
                x = x << 16 | *next++;
            }
            *out++ = (int16_t)((uint32_t)values[starts[m] - m + s] * (uint32_t)factor);
        }
    return x == 1u << 16 && next == end ? 0 : -1;
}
