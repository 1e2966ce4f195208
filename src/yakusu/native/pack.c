/* Matrices and vectors -> a model whose weights are in the layout of the kernels. */

#include "pack.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define MOST (32767 / 127) /* largest sum of weights whose products are added in 16 bits */
#define MOST_WORDS (2147483647 / 8191) /* largest sum of the magnitudes of the words of a row */

/* ---- a row of integers ---------------------------------------------------------------------- */

/* The largest magnitude; infinity or NaN if there is one. Compares bits, which compilers vectorise. */
static float largest(const float *row, int n) {
    int32_t bits[LANES] = {0}, most = 0;
    float magnitude;
    for (int k = 0; k < n; k += LANES) {
        int32_t own[LANES];
        memcpy(own, row + k, sizeof own);
        for (int i = 0; i < LANES; i++) {
            own[i] &= 0x7fffffff; /* without the sign */
            bits[i] = own[i] > bits[i] ? own[i] : bits[i];
        }
    }
    for (int i = 0; i < LANES; i++) most = bits[i] > most ? bits[i] : most;
    memcpy(&magnitude, &most, sizeof most);
    return magnitude;
}

/* The largest sum of weights of one sign that are added in 16 bits; see product.h. */
static int largest_sum(const int8_t *w, int n) {
    int most = 0;
    for (int k = 0; k < n; k += 4 * GROUP)
        for (int pair = k; pair < k + 4; pair += 2) {
            int up = 0, down = 0;
            for (int i = pair; i < pair + 4 * GROUP; i += 4) {
                up += (w[i] > 0 ? w[i] : 0) + (w[i + 1] > 0 ? w[i + 1] : 0);
                down -= (w[i] < 0 ? w[i] : 0) + (w[i + 1] < 0 ? w[i + 1] : 0);
            }
            most = up > most ? up : most;
            most = down > most ? down : most;
        }
    return most;
}

#define SHIFT 12582912.0f /* 1.5 * 2^23: a float32 of this size has no fraction */

static float scale_of_bytes(float most) { return most / 127 < FLT_MIN ? 1 : most / 127; /* 1: zeros */ }

static void round_row(const float *row, int n, float scale, int8_t *out) {
    for (int k = 0; k < n; k++) { /* as lrintf, but vectorised */
        float shifted = row[k] / scale + SHIFT;
        out[k] = (int8_t)(int32_t)(shifted - SHIFT);
    }
}

/* Round a row to bytes times the scale that is returned; `most` is its largest magnitude. A row
   that already consists of such integers, as in an int8 model folder, keeps them, unless their sums
   are too large: then it is rounded again. */
static float quantise(const float *row, int n, float most, int8_t *out) {
    float scale = scale_of_bytes(most);
    round_row(row, n, scale, out);
    for (int sum; (sum = largest_sum(out, n)) > MOST;) round_row(row, n, scale *= (sum + 0.5f) / MOST, out);
    return scale;
}

/* Whether a row consists of bytes times a scale, up to the rounding of float32, and no sum of its products
   with words can exceed 32 bits. */
static int has_bytes(const float *row, int n, float scale, int8_t *out) {
    int others = 0, sum = 0;
    round_row(row, n, scale, out);
    for (int k = 0; k < n; k++) {
        others |= fabsf(row[k] / scale - out[k]) > 1e-3f; /* other rows differ by up to 0.5 */
        sum += abs(out[k]);
    }
    return !others && sum <= MOST_WORDS;
}

/* Round a row to words times the scale that is returned: the smallest such that their sum fits. */
static float quantise_finely(const float *row, int n, float most, int16_t *out) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += fabsf(row[k]);
    float scale = most / 32767, least = (float)(sum / (MOST_WORDS - n)); /* rounding adds at most n / 2 */
    scale = least > scale ? least : scale;
    if (scale < FLT_MIN) scale = 1; /* zeros */
    for (int k = 0; k < n; k++) out[k] = (int16_t)(row[k] / scale + SHIFT - SHIFT);
    return scale;
}

/* ---- matrices ------------------------------------------------------------------------------ */

static Linear *new_matrix(int n_out, int n_in, const float *bias, Format format) {
    Linear *m = allocate(sizeof *m);
    size_t size = (size_t)n_out * n_in, n = n_out * sizeof(float);
    if (!m) return NULL;
    *m = (Linear){.n_in = n_in, .n_out = n_out, .format = format};
    m->scale = allocate(n), m->sum = allocate(n), m->bias = allocate(n);
    if (format == FLOAT32) m->floats = allocate(size * sizeof(float));
    else m->bytes = allocate(size * weight_size(format));
    if (!m->scale || !m->sum || !m->bias || !(m->floats || m->bytes)) return yk_free_matrix(m), NULL;
    if (bias) memcpy(m->bias, bias, n);
    return m;
}

/* Where the groups of row j begin, which are 16 groups apart. */
static char *row_of(const Linear *m, int j) {
    char *strips = m->floats ? (char *)m->floats : (char *)m->bytes;
    size_t of_strip = (size_t)LANES * m->n_in * weight_size(m->format);
    return strips + j / LANES * of_strip + j % LANES * group_size(m->format);
}

/* Copy the groups of a row of m, which are `to_step` and `from_step` groups apart. */
static void copy_groups(const Linear *m, char *to, int to_step, const char *from, int from_step) {
    size_t size = group_size(m->format), n = m->n_in * (size_t)weight_size(m->format) / size;
    for (size_t k = 0; size == 4 && k < n; k++) memcpy(to + 4 * k * to_step, from + 4 * k * from_step, 4);
    for (size_t k = 0; size == 2 && k < n; k++) memcpy(to + 2 * k * to_step, from + 2 * k * from_step, 2);
}

API Linear *yk_matrix(int n_out, int n_in, const float *bias, Format format) {
    return new_matrix(n_out, n_in, bias, format == INT16 ? MIXED : format);
}

/* MIXED -> INT16; 0: out of memory. */
static int widen(Linear *m) {
    size_t n = (size_t)m->n_out * m->n_in;
    int16_t *words = allocate(n * sizeof *words);
    if (!words) return 0;
    for (size_t i = 0; i < n; i++) words[i] = m->bytes[i];
    release(m->bytes);
    m->bytes = (int8_t *)words, m->format = INT16;
    return 1;
}

/* Round row j; `integers` has space for it. 0: out of memory. */
static int pack_integers(Linear *to, int j, const float *row, float most, int8_t *integers) {
    int16_t *words = (int16_t *)integers;
    int n = to->n_in, sum = 0;
    if (to->format == MIXED && !has_bytes(row, n, scale_of_bytes(most), integers) && !widen(to)) return 0;
    if (to->format == MIXED) to->scale[j] = scale_of_bytes(most);
    else if (to->format == INT8) to->scale[j] = quantise(row, n, most, integers);
    else to->scale[j] = quantise_finely(row, n, most, words);
    copy_groups(to, row_of(to, j), LANES, (const char *)integers, 1);
    for (int k = 0; k < n; k++) sum += to->format == INT16 ? words[k] : integers[k];
    to->sum[j] = (float)sum;
    return 1;
}

API int yk_pack(Linear *to, int first, const float *rows, int n) {
    int8_t *integers = allocate(to->n_in * sizeof(int16_t));
    int done = integers ? PACKED : NO_MEMORY;
    for (int j = first; j < first + n && done == PACKED; j++, rows += to->n_in) {
        float most = largest(rows, to->n_in);
        if (!(most <= FLT_MAX)) done = NOT_FINITE;
        else if (to->floats) copy_groups(to, row_of(to, j), LANES, (const char *)rows, 1);
        else if (!pack_integers(to, j, rows, most, integers)) done = NO_MEMORY;
    }
    release(integers);
    return done;
}

static void free_linear(Linear *m) {
    release(m->bytes), release(m->floats), release(m->scale), release(m->sum), release(m->bias);
}

API void yk_free_matrix(Linear *m) {
    if (m) free_linear(m);
    release(m);
}

static int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

Linear *take_rows(const Linear *from, const int32_t *ids, int n) {
    Linear *to = new_matrix(padded(n), from->n_in, NULL, from->format);
    if (!to) return NULL;
    for (int j = 0; j < n; j++) {
        int id = ids[j];
        copy_groups(to, row_of(to, j), LANES, row_of(from, id), LANES);
        to->scale[j] = from->scale[id], to->sum[j] = from->sum[id], to->bias[j] = from->bias[id];
    }
    for (int j = n; j < to->n_out; j++) to->bias[j] = -INFINITY;
    return to;
}

/* ---- the model ----------------------------------------------------------------------------- */

static Linear next_matrix(Linear *const **from) {
    Linear *matrix = *(*from)++, m = *matrix;
    release(matrix);
    return m;
}

static void take_matrices(Model *m, Linear *const *from) {
    m->target = next_matrix(&from);
    m->source = m->config.tied_source ? m->target : next_matrix(&from);
    m->output = m->config.tied_output ? m->target : next_matrix(&from);
    int n = m->config.n_encoder_layers;
    for (int l = 0; l < n + m->config.n_decoder_layers; l++) {
        Layer *to = l < n ? &m->encoder[l] : &m->decoder[l - n];
        to->self.qkv = next_matrix(&from), to->self.out = next_matrix(&from);
        if (l >= n) {
            to->cross.query = next_matrix(&from), to->cross.key_value = next_matrix(&from);
            to->cross.out = next_matrix(&from);
        }
        to->feed_forward.inner = next_matrix(&from), to->feed_forward.outer = next_matrix(&from);
    }
}

static float *copy(const float *from, size_t n) {
    float *to = allocate(n * sizeof *to);
    if (to) memcpy(to, from, n * sizeof *to);
    return to;
}

static int copy_positions(Model *m, const float *const *from) {
    size_t size = (size_t)m->config.n_positions * m->width;
    m->source_positions = m->target_positions = copy(from[0], size);
    if (from[1] != from[0]) m->target_positions = copy(from[1], size);
    return m->source_positions && m->target_positions;
}

/* The table of numbers of words, and the tokens of both sides that begin one. */
static int copy_words(Model *m, const float *const **from) {
    m->word_positions = copy(*(*from)++, (size_t)m->config.n_positions * m->width);
    m->source_begins = copy(*(*from)++, m->config.src_vocab_size);
    m->target_begins = copy(*(*from)++, m->config.tgt_vocab_size);
    return m->word_positions && m->source_begins && m->target_begins;
}

static int copy_norms(Norm *norms, int n, int width, const float *const **from) {
    for (int i = 0; i < n; i++) {
        norms[i].gain = copy(*(*from)++, width), norms[i].bias = copy(*(*from)++, width);
        if (!norms[i].gain || !norms[i].bias) return 0;
    }
    return 1;
}

static int copy_vectors(Model *m, const float *const *from) {
    int ok = copy_positions(m, from), pre = m->config.pre_norm;
    from += 2;
    if (m->config.counts_words) ok = ok && copy_words(m, &from);
    for (int l = 0; l < m->config.n_encoder_layers; l++)
        ok = ok && copy_norms(m->encoder[l].norms, 2, m->width, &from);
    for (int l = 0; l < m->config.n_decoder_layers; l++)
        ok = ok && copy_norms(m->decoder[l].norms, 3, m->width, &from);
    return ok && copy_norms(&m->encoder_norm, pre, m->width, &from) &&
           copy_norms(&m->decoder_norm, pre, m->width, &from);
}

static Heads heads_of(const Config *config) {
    int lanes = 1;
    while (lanes < config->n_heads && lanes < LANES) lanes *= 2;
    return (Heads){config->n_heads, lanes, padded(config->d_k * lanes), padded(config->d_v * lanes),
                   config->score_scale};
}

Model *new_model(const Config *config) {
    Model *m = allocate(sizeof *m);
    if (!m) return NULL;
    m->config = *config, m->width = padded(config->d_model), m->inner_width = padded(config->d_ff);
    m->heads = heads_of(config);
    int n_groups = (config->n_heads + LANES - 1) / LANES;
    m->key_width = n_groups * m->heads.key_width, m->value_width = n_groups * m->heads.value_width;
    m->encoder = allocate(config->n_encoder_layers * sizeof(Layer));
    m->decoder = allocate(config->n_decoder_layers * sizeof(Layer));
    if (m->encoder && m->decoder) return m;
    yk_free_model(m);
    return NULL;
}

API Model *yk_model(const Config *config, Linear *const *matrices, const float *const *vectors) {
    Model *m = new_model(config);
    if (!m) return NULL;
    if (copy_vectors(m, vectors)) return take_matrices(m, matrices), m;
    yk_free_model(m);
    return NULL;
}

static void free_norm(Norm *norm) { release(norm->gain), release(norm->bias); }

static void free_layers(Layer *layers, int n) {
    for (Layer *l = layers; layers && l < layers + n; l++) {
        Linear *all[] = {&l->self.qkv,        &l->self.out,           &l->cross.query,       &l->cross.key_value,
                         &l->cross.out,       &l->feed_forward.inner, &l->feed_forward.outer};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) free_linear(all[i]);
        for (int i = 0; i < 3; i++) free_norm(&l->norms[i]);
    }
    release(layers);
}

API void yk_free_model(Model *m) {
    if (!m) return;
    free_linear(&m->target);
    if (!m->config.tied_source) free_linear(&m->source);
    if (!m->config.tied_output) free_linear(&m->output);
    if (m->target_positions != m->source_positions) release(m->target_positions);
    release(m->source_positions), release(m->word_positions);
    release(m->source_begins), release(m->target_begins);
    free_layers(m->encoder, m->config.n_encoder_layers), free_layers(m->decoder, m->config.n_decoder_layers);
    free_norm(&m->encoder_norm), free_norm(&m->decoder_norm);
    release(m);
}
