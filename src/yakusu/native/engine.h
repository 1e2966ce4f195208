/* The CPU engine: a Transformer, and the caches of the sentences that it translates. */

#ifndef YK_ENGINE_H
#define YK_ENGINE_H

#include "api.h"

#define LANES 16 /* numbers in a vector; widths are multiples of it */
#define MAX_MEMBERS 16 /* of an ensemble */
#define GROUP 2 /* pairs of products that may be added in 16 bits, see product.h */

/* How a matrix is stored, and to how many bits its input is rounded; see product.h. */
typedef enum {
    FLOATS, /* float32 */
    COARSE, /* weights of 8 bits, activations of 7 */
    FINE,   /* weights of 8 bits, activations of 14 */
    LOOKUP, /* weights of 16 bits, of which single rows are read */
    TABLE,  /* COARSE and LOOKUP: the logits of the best tokens are computed again, see output.h */
} Format;

/* A matrix (n_out, n_in) in strips of 16 rows, both sizes padded with zeros to multiples of 16.
   int8: bytes [n_out / 16][n_in / 4][16][4]; float32: [n_out / 16][n_in][16]. */
typedef struct {
    int n_in, n_out;   /* padded */
    int parts;         /* of an activation, of 7 bits each: 1 or 2 */
    int8_t *bytes;     /* or NULL */
    float *floats;     /* or NULL */
    float *scale;      /* (n_out), of int8 */
    float *sum;        /* (n_out), the sum of the bytes of each row */
    float *bias;       /* (n_out) */
    int16_t *words;    /* (n_out, n_in), of a table; or NULL */
    float *word_scale, *word_sum; /* (n_out) */
} Linear;

typedef struct { float *gain, *bias; } Norm; /* (width) each */

typedef struct { Linear query, key_value, out; } Cross;
typedef struct { Linear qkv, out; } Self;
typedef struct { Linear inner, outer; } FeedForward;

typedef struct {
    Self self;
    Cross cross; /* of the decoder */
    FeedForward feed_forward;
    Norm norms[3];
} Layer;

enum { RELU, SILU, GELU };

/* The sizes come first, as Python writes them; those in parentheses are padded to 16. */
typedef struct {
    int32_t d_model, n_heads, d_k, d_v, d_ff;
    int32_t n_encoder_layers, n_decoder_layers;
    int32_t src_vocab_size, tgt_vocab_size; /* without padding ids */
    int32_t n_positions;
    int32_t pre_norm, activation;
    int32_t tied_source, tied_output; /* the table is that of the target */
    int32_t start, eos, unk;          /* ids; start -1: the zero vector */
    float score_scale, embedding_scale, epsilon;
} Config;

/* How the heads of a row lie; see attention.h. */
typedef struct {
    int n, lanes;               /* number of heads; of a group, padded */
    int key_width, value_width; /* of a group */
    float scale;                /* of the scores */
} Heads;

typedef struct {
    Config config;
    Heads heads;
    int width, key_width, value_width, inner_width; /* (d_model), all heads' keys and values, (d_ff) */
    Linear source, target, output;     /* tables; tied ones share their memory */
    float *source_positions, *target_positions; /* (n_positions, width) */
    Layer *encoder, *decoder;
    Norm encoder_norm, decoder_norm; /* of pre-norm */
} Model;

#endif
