/* Products of integers by AMX, for at least 16 rows. Its registers, tiles, have 16 rows of 64 bytes: those of q,
   or four bytes of each of 16 outputs.

   MIXED: a word of q is two bytes, q = a + 256 b, where a is unsigned. So
       sum_k q[k] w[k] = sum_k a w + 256 sum_k b w. */

#ifndef YK_AMX_H
#define YK_AMX_H

#include "dots.h"

#if defined(__AMX_INT8__)

#define AMX_ROWS 16
#define AMX_BYTES 64
#define WIDEST 2048 /* row of MIXED weights */

/* The sizes of eight tiles, as ldtilecfg reads them. */
typedef struct {
    uint8_t palette, first_row, zeros[14];
    uint16_t bytes[16]; /* of a row */
    uint8_t rows[16];
} Tiles;

static const Tiles ALL_TILES = {
    .palette = 1,
    .bytes = {64, 64, 64, 64, 64, 64, 64, 64},
    .rows = {16, 16, 16, 16, 16, 16, 16, 16},
};

/* Complete earlier stores: gcc does not know that loading a tile reads memory. */
INLINE void complete_stores(void) { __asm__ volatile("" ::: "memory"); }

/* Whether there are enough rows, tiles divide a row of q, and the weights are bytes, of which `word_strip` has space
   for those of a strip. */
INLINE int fits_tiles(int n, int n_in, Format format) {
    if (n < AMX_ROWS || n_in % AMX_BYTES) return 0;
    return format == INT8 || (format == MIXED && n_in <= WIDEST);
}

/* dots[s][r]: 16 outputs of 16 rows of bytes, from two strips of weights. If there are two blocks of rows,
   dots[2 + s] are those of the second one. Meanwhile, weights from `ahead` on are fetched into the cache, `pace`
   bytes per 64 bytes of a row. */
INLINE void byte_tiles(const int8_t *w, const uint8_t *q, const uint8_t *next, size_t n_in, const int8_t *ahead,
                       size_t pace, sums (*dots)[AMX_ROWS]) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < n_in; k += AMX_BYTES) {
        for (const int8_t *end = ahead + pace; ahead < end; ahead += 64) __builtin_prefetch(ahead, 0, 2);
        _tile_loadd(6, w + LANES * k, AMX_BYTES);
        _tile_loadd(7, w + LANES * (n_in + k), AMX_BYTES);
        _tile_loadd(4, q + k, n_in);
        _tile_dpbusd(0, 4, 6);
        _tile_dpbusd(1, 4, 7);
        if (!next) continue;
        _tile_loadd(5, next + k, n_in);
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
    }
    _tile_stored(0, dots[0], AMX_BYTES);
    _tile_stored(1, dots[1], AMX_BYTES);
    if (!next) return;
    _tile_stored(2, dots[2], AMX_BYTES);
    _tile_stored(3, dots[3], AMX_BYTES);
}

/* Split a row of words into its planes: lower bytes, then upper bytes. */
INLINE void split_words(const uint8_t *words, size_t n_in, uint8_t *planes) {
    for (size_t k = 0; k < n_in; k += 32) {
        __m512i some = _mm512_loadu_si512(words + 2 * k);
        _mm256_storeu_si256((__m256i *)(planes + k), _mm512_cvtepi16_epi8(some));
        _mm256_storeu_si256((__m256i *)(planes + n_in + k), _mm512_cvtepi16_epi8(_mm512_srli_epi16(some, 8)));
    }
}

/* A strip of MIXED weights, with four bytes of each output together instead of two. */
INLINE void join_pairs(const int8_t *strip, size_t n_in, int8_t *to) {
    uint8_t from[64];
    for (int i = 0; i < 64; i++) from[i] = (uint8_t)(i / 2 % 2 * 32 + i / 4 * 2 + i % 2);
    const __m512i order = _mm512_loadu_si512(from);
    for (size_t at = 0; at < LANES * n_in; at += 64)
        _mm512_storeu_si512(to + at, _mm512_permutexvar_epi8(order, _mm512_loadu_si512(strip + at)));
}

/* 16 outputs of 16 rows of words, from a strip of joined pairs. */
INLINE void word_tiles(const int8_t *w, const uint8_t *planes, size_t n_in, sums *dots) {
    sums upper[AMX_ROWS];
    _tile_zero(0);
    _tile_zero(1);
    for (size_t k = 0; k < n_in; k += AMX_BYTES) {
        _tile_loadd(2, planes + k, 2 * n_in);
        _tile_loadd(3, planes + n_in + k, 2 * n_in);
        _tile_loadd(4, w + LANES * k, AMX_BYTES);
        _tile_dpbusd(0, 2, 4);
        _tile_dpbssd(1, 3, 4);
    }
    _tile_stored(0, dots, AMX_BYTES);
    _tile_stored(1, upper, AMX_BYTES);
    for (int r = 0; r < AMX_ROWS; r++) dots[r].q = _mm512_add_epi32(dots[r].q, _mm512_slli_epi32(upper[r].q, 8));
}

#endif

#endif
