/* The CPU engine: a Transformer, and the caches of the sentences that it translates. */

#ifndef YK_ENGINE_H
#define YK_ENGINE_H

#include "api.h"

#define LANES 16 /* numbers in a vector; widths are multiples of it */
#define MAX_MEMBERS 16 /* of an ensemble */
#define GROUP 2 /* pairs of products that may be added in 16 bits, see product.h */

/* Numbers of a matrix; see product.h. */
typedef enum {
    FLOAT32,
    INT8,  /* and activations of 7 bits */
    INT16, /* and activations of 14 bits */
    MIXED, /* INT16 whose weights are integers of 8 bits, and stored as such */
} Format;

/* The bytes of a weight and of an activation, and of the weights of a row that meet 4 bytes of activations. */
static inline int weight_size(Format format) { return format == FLOAT32 ? 4 : format == INT16 ? 2 : 1; }
static inline int activation_size(Format format) { return format == FLOAT32 ? 4 : format == INT8 ? 1 : 2; }
static inline int group_size(Format format) { return 4 * weight_size(format) / activation_size(format); }

/* A matrix (n_out, n_in) in strips of 16 rows, both sizes padded with zeros to multiples of 16.
   [n_out / 16][groups of a row][16][weights of a group]. */
typedef struct {
    int n_in, n_out;   /* padded */
    Format format;
    int8_t *bytes;     /* the integers; NULL: float32 */
    float *floats;     /* NULL: integers */
    float *scale;      /* (n_out), of integers */
    float *sum;        /* (n_out), the sum of the integers of each row */
    float *bias;       /* (n_out) */
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
    int32_t counts_words;
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
    float *word_positions; /* (n_positions, width), of numbers of words; NULL: they do not count */
    float *source_begins, *target_begins; /* (V): 1 if a token begins a word */
    Layer *encoder, *decoder;
    Norm encoder_norm, decoder_norm; /* of pre-norm */
} Model;

#endif
