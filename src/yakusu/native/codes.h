/* Compressed vectors: decoding them, and scoring their rows without decoding them.

   All sums are exact, so the results are equal on every instruction set. */

#ifndef YK_CODES_H
#define YK_CODES_H

#include "api.h"

/* The functions of scan.c, which are compiled once per instruction set; see below. */
typedef struct {
    void (*scan4)(const uint8_t *codes, int64_t n_blocks, int n_components, const uint16_t *tables, uint32_t *out);
    void (*dot8)(const int8_t *integers, int64_t n_rows, int n_components, const int16_t *weights, int64_t *out);
    void (*dot16)(const int16_t *integers, int64_t n_rows, int n_components, const int16_t *weights, int64_t *out);
} Scans;

/* The functions of an instruction set, or the fastest ones for ""; NULL if they cannot run here. */
API const Scans *yk_scans(const char *name);

/* Scores of rows whose components have at most 16 codes: out[row] = sum over m of tables[m][code].
   codes: (n_blocks, n_components, 16). A block has 32 rows; byte j of a component has the code of row j
     in its low 4 bits and that of row j + 16 in its high 4 bits.
   tables: (n_components, 16); entries of codes that no row has are not used.
   out: (n_blocks * 32), modulo 2^32: exact for up to 65,537 components. */
API void yk_scan4(const Scans *scans, const uint8_t *codes, int64_t n_blocks, int n_components,
                  const uint16_t *tables, uint32_t *out);

/* Dot products of each row with one vector: out[row] = sum over m of integers[row][m] weights[m].
   integers: (n_rows, n_components). weights: (n_components). out: (n_rows). Exact for all numbers. */
API void yk_dot8(const Scans *scans, const int8_t *integers, int64_t n_rows, int n_components,
                 const int16_t *weights, int64_t *out);
API void yk_dot16(const Scans *scans, const int16_t *integers, int64_t n_rows, int n_components,
                  const int16_t *weights, int64_t *out);

/* Sums of rows: out[i] = the sum of the rows with the numbers of group i, in this order.
   rows: (any, width). numbers: those of all groups, one group after another; each is the number of a row.
   lengths: (n_groups), how many numbers each group has. out: (n_groups, width). */
API void yk_sum_rows(const float *rows, int64_t width, const int64_t *numbers, const int64_t *lengths,
                     int64_t n_groups, float *out);

/* Encode integers with rANS, in blocks of rows that can be decoded apart; see yk_rans_decode.
   integers: (n_rows, n_components); each must be among the values of its component.
   out: room for block_rows * n_components + 2 words per block; the words of all blocks, one after another.
   lengths: the number of words of each block.
   Returns the number of words. */
API int64_t yk_rans_encode(const int16_t *integers, int64_t n_rows, int block_rows, int n_components, int scale_bits,
                           const uint16_t *cumulative, const int32_t *starts, const int16_t *values, uint16_t *out,
                           int32_t *lengths);

/* Decode blocks of integers that are entropy-coded with rANS, row by row and component by component.
   stream: the words of all blocks; the first two words of a block are the high and the low half of its first
     state. Any words are valid input.
   n_rows: rows of all blocks; each but the last has `block_rows`, the last one may have fewer.
   begins, ends: the place of each block in `stream`.
   wanted: number of rows to decode of each block, the first ones; larger numbers mean all of its rows. Runs of equal
     numbers are the fastest.
   scale_bits: 1 to 15; the counts of a component add up to 2^scale_bits.
   cumulative: the cumulative counts of all components, one after another; each begins with 0 and ends with
     2^scale_bits.
   starts: (n_components + 1) ascending positions in `cumulative`; component m has
     starts[m + 1] - starts[m] - 1 symbols.
   coarse: (n_components, 2^(scale_bits - coarse_shift)), the first symbol that can contain a slot with these
     upper bits.
   values: the integers of the symbols of all components, one after another.
   out: (n_rows, n_components); rows that are not wanted are left as they are.
   Returns 0; or -1 if a block of which all rows are wanted does not end where its rows end, or if `coarse` and `cumulative` lead to no symbol
   of the component; `out` is then incomplete or wrong. The arrays must have these sizes; their values are not
   trusted, except `begins`, `ends` and `starts`. */
API int yk_rans_decode(const uint16_t *stream, const int64_t *begins, const int64_t *ends, const int32_t *wanted,
                       int64_t n_rows, int block_rows, int n_components, int scale_bits, const uint16_t *cumulative,
                       const int32_t *starts, const uint16_t *coarse, int coarse_shift, const int16_t *values,
                       int16_t *out);

#endif
