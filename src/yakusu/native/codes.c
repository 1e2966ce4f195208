/* Functions for compressed vectors; codes.h describes them. */

#include <string.h>

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

/* ---- sums of rows -------------------------------------------------------------------------- */

API void yk_sum_rows(const float *rows, int64_t width, const int64_t *numbers, const int64_t *lengths,
                     int64_t n_groups, float *out) {
    for (int64_t i = 0; i < n_groups; i++, out += width) {
        for (int64_t m = 0; m < width; m++) out[m] = 0;
        for (const int64_t *end = numbers + lengths[i]; numbers < end; numbers++) {
            const float *row = rows + *numbers * width;
            for (int64_t m = 0; m < width; m++) out[m] += row[m];
        }
    }
}

/* ---- entropy coding ------------------------------------------------------------------------ */

/* The symbol of a slot among n, or -1: the search begins at `symbol` and goes upwards. */
static inline int find(const uint16_t *cumulative, int n, uint32_t slot, int symbol) {
    if (symbol >= n || cumulative[symbol] > slot) return -1;
    while (cumulative[symbol + 1] <= slot)
        if (++symbol >= n) return -1;
    return symbol;
}

typedef struct {
    int n_components, scale_bits, coarse_shift;
    const uint16_t *cumulative, *coarse;
    const int32_t *starts;
    const int16_t *values;
} Tables;

typedef struct {
    const uint16_t *next, *end;
    uint32_t x;
} Block;

/* Decode an integer of component m; returns 0, or -1. */
static inline int step(Block *block, int m, const Tables *t, int16_t *out) {
    const uint16_t *own = t->cumulative + t->starts[m];
    uint32_t x = block->x, slot = x & ((1u << t->scale_bits) - 1);
    int first = t->coarse[((size_t)m << (t->scale_bits - t->coarse_shift)) + (slot >> t->coarse_shift)];
    int s = find(own, t->starts[m + 1] - t->starts[m] - 1, slot, first);
    if (s < 0) return -1;
    x = (uint32_t)(own[s + 1] - own[s]) * (x >> t->scale_bits) + slot - own[s];
    if (x < 1u << 16) {
        if (block->next == block->end) return -1;
        x = x << 16 | *block->next++;
    }
    block->x = x;
    *out = t->values[t->starts[m] - m + s];
    return 0;
}

/* Decode the first `wanted` of `n_rows` rows of `lanes` blocks side by side, whose steps do not wait for each
   other. */
static inline int decode(const uint16_t *stream, const int64_t *begins, const int64_t *ends, int lanes, int n_rows,
                         int wanted, const Tables *t, int16_t *out) {
    Block blocks[4];
    size_t size = (size_t)n_rows * t->n_components;
    for (int i = 0; i < lanes; i++) {
        if (ends[i] - begins[i] < 2) return -1;
        const uint16_t *start = stream + begins[i];
        blocks[i] = (Block){start + 2, stream + ends[i], (uint32_t)start[0] << 16 | start[1]};
    }
    for (int row = 0; row < wanted; row++)
        for (int m = 0; m < t->n_components; m++, out++)
            for (int i = 0; i < lanes; i++)
                if (step(blocks + i, m, t, out + i * size)) return -1;
    for (int i = 0; i < lanes && wanted == n_rows; i++)
        if (blocks[i].x != 1u << 16 || blocks[i].next != blocks[i].end) return -1;
    return 0;
}

static inline int are_equal(const int32_t *numbers) {
    return numbers[0] == numbers[1] && numbers[0] == numbers[2] && numbers[0] == numbers[3];
}

API int yk_rans_decode(const uint16_t *stream, const int64_t *begins, const int64_t *ends, const int32_t *wanted,
                       int64_t n_rows, int block_rows, int n_components, int scale_bits, const uint16_t *cumulative,
                       const int32_t *starts, const uint16_t *coarse, int coarse_shift, const int16_t *values,
                       int16_t *out) {
    const Tables tables = {n_components, scale_bits, coarse_shift, cumulative, coarse, starts, values};
    for (int64_t n_left = n_rows; n_left > 0;) {
        int lanes = n_left >= 4 * block_rows && are_equal(wanted) ? 4 : 1;
        int own = n_left < block_rows ? (int)n_left : block_rows, first = *wanted < own ? *wanted : own;
        if (lanes == 4 ? decode(stream, begins, ends, 4, own, first, &tables, out)
                       : decode(stream, begins, ends, 1, own, first, &tables, out))
            return -1;
        out += (size_t)lanes * own * n_components;
        n_left -= lanes * own, begins += lanes, ends += lanes, wanted += lanes;
    }
    return 0;
}

/* The symbol of an integer that is among n ascending ones. */
static inline int symbol_of(const int16_t *values, int n, int16_t integer) {
    int symbol = 0;
    for (int half; n > 1; n -= half) {
        half = n / 2;
        symbol += values[symbol + half] <= integer ? half : 0;
    }
    return symbol;
}

/* Encode the rows of a block from the last integer to the first; the words end at `end`. Returns the first. */
static uint16_t *encode(const int16_t *integers, int n_rows, const Tables *t, uint16_t *end) {
    uint32_t x = 1u << 16;
    for (int row = n_rows - 1; row >= 0; row--)
        for (int m = t->n_components - 1; m >= 0; m--) {
            const uint16_t *own = t->cumulative + t->starts[m];
            int n = t->starts[m + 1] - t->starts[m] - 1;
            int s = symbol_of(t->values + t->starts[m] - m, n, integers[(size_t)row * t->n_components + m]);
            uint32_t begin = own[s], count = own[s + 1] - begin;
            if (x >= (uint64_t)count << (32 - t->scale_bits)) *--end = (uint16_t)x, x >>= 16;
            x = (x / count << t->scale_bits) + begin + x % count;
        }
    *--end = (uint16_t)x, *--end = (uint16_t)(x >> 16);
    return end;
}

API int64_t yk_rans_encode(const int16_t *integers, int64_t n_rows, int block_rows, int n_components, int scale_bits,
                           const uint16_t *cumulative, const int32_t *starts, const int16_t *values, uint16_t *out,
                           int32_t *lengths) {
    const Tables tables = {n_components, scale_bits, .cumulative = cumulative, .starts = starts, .values = values};
    uint16_t *next = out;
    for (int64_t n_left = n_rows; n_left > 0; n_left -= block_rows) {
        int own = n_left < block_rows ? (int)n_left : block_rows;
        uint16_t *end = next + (size_t)own * n_components + 2, *words = encode(integers, own, &tables, end);
        memmove(next, words, (size_t)(end - words) * sizeof *words);
        integers += (size_t)own * n_components;
        next += *lengths++ = (int32_t)(end - words);
    }
    return next - out;
}
