/* Scores of coded rows; codes.h describes them. Compiled once per instruction set. */

#include <string.h>

#include "codes.h"

#define CHUNK 256 /* components at a time: the sum of as many bytes fits in 16 bits */

/* The low and the high bytes of the tables of a chunk. */
typedef struct { uint8_t low[CHUNK * 16], high[CHUNK * 16]; } Tables;

/* ---- a chunk of n components of a block of 32 rows, added to `out` ------------------------- */

#if defined(__AVX2__)

#include <immintrin.h>

static inline __m256i load(const void *p) { return _mm256_loadu_si256(p); }

/* Sums of the bytes at even and odd positions, in 16 bits. `all` adds pairs of bytes as 16-bit numbers, which
   overflow; the sums of the odd bytes are subtracted at the end. */
typedef struct { __m256i all, odd; } Sums;
static inline void add(Sums *sums, __m256i table, __m256i codes) {
    __m256i found = _mm256_shuffle_epi8(table, codes);
    sums->all = _mm256_add_epi16(sums->all, found);
    sums->odd = _mm256_add_epi16(sums->odd, _mm256_srli_epi16(found, 8));
}

/* Even and odd components are in different halves of `sums`; the result has 16 rows. */
static inline __m256i rows_of(const Sums *sums) {
    __m128i odd = _mm_add_epi16(_mm256_castsi256_si128(sums->odd), _mm256_extracti128_si256(sums->odd, 1));
    __m128i all = _mm_add_epi16(_mm256_castsi256_si128(sums->all), _mm256_extracti128_si256(sums->all, 1));
    __m128i even = _mm_sub_epi16(all, _mm_slli_epi16(odd, 8));
    return _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
}

static inline void add8(__m128i low, __m128i high, uint32_t *out) {
    __m256i sum = _mm256_slli_epi32(_mm256_cvtepu16_epi32(high), 8);
    sum = _mm256_add_epi32(_mm256_add_epi32(sum, _mm256_cvtepu16_epi32(low)), load(out));
    _mm256_storeu_si256((__m256i *)out, sum);
}

static void add_block(const uint8_t *codes, int n, const Tables *tables, uint32_t *out) {
    const __m256i zero = _mm256_setzero_si256(), mask = _mm256_set1_epi8(15);
    Sums low[2] = {{zero, zero}, {zero, zero}}, high[2] = {{zero, zero}, {zero, zero}}; /* of 16 rows each */
    for (int m = 0; m < n; m += 2) {
        __m256i both = m + 1 < n ? load(codes + m * 16)
                                 : _mm256_inserti128_si256(zero, _mm_loadu_si128((const __m128i *)(codes + m * 16)), 0);
        __m256i first = _mm256_and_si256(both, mask);
        __m256i second = _mm256_and_si256(_mm256_srli_epi16(both, 4), mask);
        __m256i low_table = load(tables->low + m * 16), high_table = load(tables->high + m * 16);
        add(&low[0], low_table, first), add(&low[1], low_table, second);
        add(&high[0], high_table, first), add(&high[1], high_table, second);
    }
    for (int i = 0; i < 2; i++, out += 16) {
        __m256i l = rows_of(&low[i]), h = rows_of(&high[i]);
        add8(_mm256_castsi256_si128(l), _mm256_castsi256_si128(h), out);
        add8(_mm256_extracti128_si256(l, 1), _mm256_extracti128_si256(h, 1), out + 8);
    }
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

#include <arm_neon.h>

static inline void add4(uint16x4_t low, uint16x4_t high, uint32_t *out) {
    vst1q_u32(out, vaddq_u32(vld1q_u32(out), vaddw_u16(vshll_n_u16(high, 8), low)));
}

static void add_block(const uint8_t *codes, int n, const Tables *tables, uint32_t *out) {
    uint16x8_t low[4], high[4]; /* of 8 rows each */
    for (int i = 0; i < 4; i++) low[i] = high[i] = vdupq_n_u16(0);
    for (int m = 0; m < n; m++) {
        uint8x16_t both = vld1q_u8(codes + m * 16);
        uint8x16_t rows[2] = {vandq_u8(both, vdupq_n_u8(15)), vshrq_n_u8(both, 4)};
        uint8x16_t low_table = vld1q_u8(tables->low + m * 16), high_table = vld1q_u8(tables->high + m * 16);
        for (int i = 0; i < 2; i++) {
            uint8x16_t l = vqtbl1q_u8(low_table, rows[i]), h = vqtbl1q_u8(high_table, rows[i]);
            low[2 * i] = vaddw_u8(low[2 * i], vget_low_u8(l));
            low[2 * i + 1] = vaddw_high_u8(low[2 * i + 1], l);
            high[2 * i] = vaddw_u8(high[2 * i], vget_low_u8(h));
            high[2 * i + 1] = vaddw_high_u8(high[2 * i + 1], h);
        }
    }
    for (int i = 0; i < 4; i++, out += 8) {
        add4(vget_low_u16(low[i]), vget_low_u16(high[i]), out);
        add4(vget_high_u16(low[i]), vget_high_u16(high[i]), out + 4);
    }
}

#else /* any other processor */

static void add_block(const uint8_t *codes, int n, const Tables *tables, uint32_t *out) {
    for (int m = 0; m < n; m++, codes += 16)
        for (int j = 0; j < 16; j++) {
            int first = m * 16 + (codes[j] & 15), second = m * 16 + (codes[j] >> 4);
            out[j] += tables->low[first] + 256u * tables->high[first];
            out[j + 16] += tables->low[second] + 256u * tables->high[second];
        }
}

#endif

static void split(const uint16_t *tables, int n, Tables *to) {
    for (int i = 0; i < n * 16; i++) to->low[i] = (uint8_t)tables[i], to->high[i] = (uint8_t)(tables[i] >> 8);
    if (n % 2) memset(to->low + n * 16, 0, 16), memset(to->high + n * 16, 0, 16);
}

static void scan4(const uint8_t *codes, int64_t n_blocks, int n_components, const uint16_t *tables, uint32_t *out) {
    Tables chunk;
    if (n_blocks > 0) memset(out, 0, (size_t)n_blocks * 32 * sizeof *out);
    for (int first = 0; first < n_components; first += CHUNK) {
        int n = n_components - first < CHUNK ? n_components - first : CHUNK;
        split(tables + (size_t)first * 16, n, &chunk);
        for (int64_t i = 0; i < n_blocks; i++)
            add_block(codes + ((size_t)i * n_components + first) * 16, n, &chunk, out + i * 32);
    }
}

/* ---- dot products -------------------------------------------------------------------------- */

#if defined(__AVX2__)

static inline int64_t sum_of(__m256i sums) { /* of 64-bit numbers */
    __m128i two = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    return _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
}

#define MOST8 2048 /* components whose products, in pairs of at most 2^23, are added in 8 sums of 32 bits */

/* The first n components, a multiple of 16. */
static inline int64_t dot8_of(const int8_t *x, const int16_t *w, int n) {
    __m256i total = _mm256_setzero_si256();
    for (int first = 0; first < n; first += MOST8) {
        __m256i sum = _mm256_setzero_si256();
        for (int m = first; m < n && m < first + MOST8; m += 16) {
            __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(x + m)));
            sum = _mm256_add_epi32(sum, _mm256_madd_epi16(wide, load(w + m)));
        }
        total = _mm256_add_epi64(total, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum)));
        total = _mm256_add_epi64(total, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(sum, 1)));
    }
    return sum_of(total);
}

/* A sum of two products is between -LEAST and 2^31; 2^31 overflows. Increased by LEAST, it fits in 32 bits
   without a sign. */
#define LEAST (2ll * 32768 * 32767)

static inline int64_t dot16_of(const int16_t *x, const int16_t *w, int n) {
    const __m256i least = _mm256_set1_epi32((int32_t)LEAST), low = _mm256_set1_epi64x(0xffffffff);
    __m256i total = _mm256_setzero_si256();
    for (int m = 0; m < n; m += 16) {
        __m256i pairs = _mm256_add_epi32(_mm256_madd_epi16(load(x + m), load(w + m)), least);
        total = _mm256_add_epi64(total, _mm256_and_si256(pairs, low));
        total = _mm256_add_epi64(total, _mm256_srli_epi64(pairs, 32));
    }
    return sum_of(total) - n / 2 * LEAST;
}

#else

static inline int64_t dot8_of(const int8_t *x, const int16_t *w, int n) {
    int64_t total = 0;
    for (int m = 0; m < n; m += 16) {
        int32_t sum = 0;
        for (int i = m; i < m + 16; i++) sum += x[i] * w[i];
        total += sum;
    }
    return total;
}

static inline int64_t dot16_of(const int16_t *x, const int16_t *w, int n) {
    int64_t total = 0;
    for (int m = 0; m < n; m++) total += x[m] * w[m];
    return total;
}

#endif

#define DOT(name, number)                                                                                    \
    static void name(const number *x, int64_t n_rows, int n_components, const int16_t *w, int64_t *out) {    \
        int whole = n_components / 16 * 16;                                                                  \
        for (int64_t row = 0; row < n_rows; row++, x += n_components) {                                      \
            out[row] = name##_of(x, w, whole);                                                               \
            for (int m = whole; m < n_components; m++) out[row] += x[m] * w[m];                              \
        }                                                                                                    \
    }
DOT(dot8, int8_t)
DOT(dot16, int16_t)

#define JOIN(a, b) a##b
#define NAME(isa) JOIN(scans_, isa)
const Scans NAME(ISA) = {scan4, dot8, dot16};
