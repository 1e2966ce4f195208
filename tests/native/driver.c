/* Runs the functions for compressed vectors without Python, on pseudo-random input in arrays without a spare
   byte. Usage: driver INSTRUCTIONS. Prints hashes of the results, which are the same on every processor;
   exits with status 3 if this one lacks the instructions. Tests run it under qemu and with sanitizers. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codes.h"

static uint64_t state;

static uint32_t number(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

static void *bytes(size_t n) { /* pseudo-random */
    uint8_t *x = malloc(n);
    if (n && !x) exit(1);
    for (size_t i = 0; i < n; i++) x[i] = (uint8_t)number();
    return x;
}

static void print(const char *what, const void *data, size_t size) {
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (const uint8_t *at = data, *end = at + size; at < end; at++) h = (h ^ *at) * 1099511628211u;
    printf("%s %016" PRIx64 "\n", what, h);
}

static void scan(const Scans *scans, int n, int n_rows) {
    int n_blocks = (n_rows + 31) / 32;
    uint8_t *packed = bytes((size_t)n_blocks * n * 16);
    uint16_t *tables = bytes((size_t)n * 16 * 2);
    uint32_t *rows = bytes((size_t)n_blocks * 32 * 4);
    yk_scan4(scans, packed, n_blocks, n, tables, rows), print("scan4", rows, (size_t)n_blocks * 32 * 4);
    free(packed), free(tables), free(rows);
}

static void dot(const Scans *scans, int n, int n_rows) {
    int8_t *narrow = bytes((size_t)n_rows * n);
    int16_t *wide = bytes((size_t)n_rows * n * 2), *weights = bytes((size_t)n * 2);
    int64_t *out = bytes((size_t)n_rows * 8);
    yk_dot8(scans, narrow, n_rows, n, weights, out), print("dot8", out, (size_t)n_rows * 8);
    yk_dot16(scans, wide, n_rows, n, weights, out), print("dot16", out, (size_t)n_rows * 8);
    free(narrow), free(wide), free(weights), free(out);
}

/* Decode any words; with `broken`, the tables are not valid either. */
static void decode(int n_words, int broken) {
    enum { ROWS = 9, BLOCKS = 5, COMPONENTS = 3, SYMBOLS = 5, BITS = 10, SHIFT = 6, COARSE = 1 << (BITS - SHIFT) };
    static const uint16_t sums[SYMBOLS + 1] = {0, 1, 300, 301, 1000, 1 << BITS};
    uint16_t *stream = bytes((size_t)n_words * 2), *cumulative = bytes(COMPONENTS * (SYMBOLS + 1) * 2);
    uint16_t *coarse = bytes(COMPONENTS * COARSE * 2);
    int32_t *starts = bytes((COMPONENTS + 1) * 4);
    int16_t *values = bytes(COMPONENTS * SYMBOLS * 2), *out = calloc(ROWS * COMPONENTS, 2);
    if (!out) exit(1);
    for (int m = 0; m <= COMPONENTS; m++) starts[m] = m * (SYMBOLS + 1);
    for (int i = 0; i < COMPONENTS * COARSE; i++) coarse[i] = broken ? coarse[i] % (SYMBOLS + 1) : 0;
    for (int i = 0; i < COMPONENTS * (SYMBOLS + 1); i++)
        cumulative[i] = broken ? cumulative[i] % (1 << BITS) : sums[i % (SYMBOLS + 1)];
    int64_t begins[BLOCKS], ends[BLOCKS]; /* of any words, and not in order */
    for (int i = 0; i < BLOCKS; i++) {
        int64_t a = number() % (uint32_t)(n_words + 1), b = number() % (uint32_t)(n_words + 1);
        begins[i] = a < b ? a : b, ends[i] = a < b ? b : a;
    }
    int32_t wanted[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) wanted[i] = (int32_t)(number() % 5) - 1;
    int done = yk_rans_decode(stream, begins, ends, wanted, ROWS, ROWS / BLOCKS + 1, COMPONENTS, BITS, cumulative, starts,
                              coarse, SHIFT, values, out);
    printf("status %d\n", done), print("decode", out, ROWS * COMPONENTS * 2);
    free(stream), free(cumulative), free(coarse), free(starts), free(values), free(out);
}

/* Encode integers, and decode them again. */
static void encode(int n_rows) {
    enum { BLOCK = 4, COMPONENTS = 3, SYMBOLS = 5, BITS = 10 };
    static const uint16_t sums[SYMBOLS + 1] = {0, 1, 300, 301, 1000, 1 << BITS};
    static const int16_t known[SYMBOLS] = {-32768, -7, 0, 3, 32767};
    int n = n_rows * COMPONENTS, n_blocks = (n_rows + BLOCK - 1) / BLOCK;
    uint16_t cumulative[COMPONENTS * (SYMBOLS + 1)], coarse[COMPONENTS] = {0};
    int32_t starts[COMPONENTS + 1], *lengths = bytes((size_t)n_blocks * 4);
    int16_t values[COMPONENTS * SYMBOLS], *integers = bytes((size_t)n * 2), *out = bytes((size_t)n * 2);
    uint16_t *words = bytes((size_t)n_blocks * (BLOCK * COMPONENTS + 2) * 2);
    for (int m = 0; m <= COMPONENTS; m++) starts[m] = m * (SYMBOLS + 1);
    for (int i = 0; i < COMPONENTS * (SYMBOLS + 1); i++) cumulative[i] = sums[i % (SYMBOLS + 1)];
    for (int i = 0; i < COMPONENTS * SYMBOLS; i++) values[i] = known[i % SYMBOLS];
    for (int i = 0; i < n; i++) integers[i] = known[number() % SYMBOLS];
    int64_t size = yk_rans_encode(integers, n_rows, BLOCK, COMPONENTS, BITS, cumulative, starts, values, words, lengths);
    print("encode", words, (size_t)size * 2);
    int64_t *ends = bytes((size_t)n_blocks * 8), *begins = bytes((size_t)n_blocks * 8), end = 0;
    int32_t *wanted = bytes((size_t)n_blocks * 4);
    for (int i = 0; i < n_blocks; i++) begins[i] = end, ends[i] = end += lengths[i], wanted[i] = BLOCK;
    int done = yk_rans_decode(words, begins, ends, wanted, n_rows, BLOCK, COMPONENTS, BITS, cumulative, starts, coarse,
                              BITS, values, out);
    if (done || (n && memcmp(integers, out, (size_t)n * 2))) exit(1);
    free(lengths), free(integers), free(out), free(words), free(ends), free(begins), free(wanted);
}

int main(int argc, char **argv) {
    const Scans *scans = yk_scans(argc > 1 ? argv[1] : "");
    if (!scans) return 3;
    static const int widths[] = {0, 1, 2, 15, 16, 17, 100, 255, 256, 257, 513, 2064}, heights[] = {0, 1, 5, 32, 65};
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 5; j++) scan(scans, widths[i], heights[j]), dot(scans, widths[i], heights[j]);
    for (int n = 0; n < 200; n++) decode(n % 40, n >= 100);
    for (int n = 0; n < 40; n++) encode(n);
    return 0;
}
