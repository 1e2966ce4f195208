/* Matrices and vectors -> a model whose weights are in the layout of the kernels. */

#include "pack.h"

#include <math.h>
#include <string.h>

#include "memory.h"

#define LANES 16
#define MOST (32767 / 127) /* of the sum of weights that are multiplied by 127 and added in 16 bits */

/* ---- a row of int8 weights ----------------------------------------------------------------- */

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

/* Round a row to integers times the scale that is returned. */
static float quantise(const float *row, int n, int8_t *out) {
    float most = 0;
    for (int k = 0; k < n; k++) most = fabsf(row[k]) > most ? fabsf(row[k]) : most;
    float scale = most > 0 ? most / 127 : 1;
    for (int sum = MOST + 1; sum > MOST;) {
        for (int k = 0; k < n; k++) out[k] = (int8_t)lrintf(row[k] / scale);
        sum = largest_sum(out, n);
        if (sum > MOST) scale *= (sum + 0.5f) / MOST;
    }
    return scale;
}

/* ---- matrices ------------------------------------------------------------------------------ */

static int pack_bytes(Linear *to, const Matrix *from) {
    int8_t *row = allocate(to->n_in);
    for (int j = 0; row && j < to->n_out; j++) {
        int8_t *at = to->bytes + (size_t)(j / LANES) * LANES * to->n_in + j % LANES * 4;
        int sum = 0;
        to->scale[j] = quantise(from->rows + (size_t)j * to->n_in, to->n_in, row);
        for (int k = 0; k < to->n_in; k += 4) memcpy(at + (size_t)k * LANES, row + k, 4);
        for (int k = 0; k < to->n_in; k++) sum += row[k];
        to->sum[j] = (float)sum;
    }
    release(row);
    return row != NULL;
}

static void pack_floats(Linear *to, const Matrix *from) {
    for (int j = 0; j < to->n_out; j++) {
        float *at = to->floats + (size_t)(j / LANES) * LANES * to->n_in + j % LANES;
        for (int k = 0; k < to->n_in; k++)
            at[(size_t)k * LANES] = from->rows[(size_t)j * to->n_in + k];
    }
}

Linear pack(const Matrix *from, int int8) {
    Linear to = {.n_in = from->n_in, .n_out = from->n_out};
    size_t size = (size_t)from->n_out * from->n_in, n = from->n_out * sizeof(float);
    to.scale = allocate(n), to.sum = allocate(n), to.bias = allocate(n);
    if (int8) to.bytes = allocate(size);
    else to.floats = allocate(size * sizeof(float));
    if (!to.scale || !to.sum || !to.bias || !(to.bytes || to.floats)) {
        to.n_in = 0; /* no memory */
        return to;
    }
    if (from->bias) memcpy(to.bias, from->bias, n);
    if (!int8) pack_floats(&to, from);
    else if (!pack_bytes(&to, from)) to.n_in = 0;
    return to;
}

static float *copy(const float *from, size_t n) {
    float *to = allocate(n * sizeof(float));
    if (to && from) memcpy(to, from, n * sizeof(float));
    return to;
}

/* ---- the model ----------------------------------------------------------------------------- */

/* What Python passes, in the order of Figure 1. */
typedef struct {
    const Matrix *matrix;
    const float *const *vector;
    int int8, width, ok;
} Tensors;

static Linear next_matrix(Tensors *from) {
    Linear m = pack(from->matrix++, from->int8);
    from->ok = from->ok && m.n_in;
    return m;
}

static float *next_vector(Tensors *from, size_t n) {
    float *vector = copy(*from->vector++, n);
    from->ok = from->ok && vector;
    return vector;
}

static Norm next_norm(Tensors *from) {
    float *gain = next_vector(from, from->width);
    return (Norm){gain, next_vector(from, from->width)};
}

static void read_layer(Tensors *from, Layer *to, int decoder) {
    to->self.qkv = next_matrix(from), to->self.out = next_matrix(from);
    to->norms[0] = next_norm(from);
    if (decoder) {
        to->cross.query = next_matrix(from), to->cross.key_value = next_matrix(from);
        to->cross.out = next_matrix(from);
        to->norms[1] = next_norm(from);
    }
    to->feed_forward.inner = next_matrix(from), to->feed_forward.outer = next_matrix(from);
    to->norms[1 + decoder] = next_norm(from);
}

API Model *yk_model(const Config *config, const Matrix *matrices, const float *const *vectors) {
    Model *m = allocate(sizeof *m);
    if (!m) return NULL;
    int width = (config->d_model + LANES - 1) / LANES * LANES;
    int heads = config->n_heads;
    Tensors from = {matrices, vectors, config->int8, width, 1};
    m->config = *config, m->width = width;
    m->key_width = heads * ((config->d_k + LANES - 1) / LANES * LANES);
    m->value_width = heads * ((config->d_v + LANES - 1) / LANES * LANES);
    m->inner_width = (config->d_ff + LANES - 1) / LANES * LANES;
    m->encoder = allocate(config->n_encoder_layers * sizeof(Layer));
    m->decoder = allocate(config->n_decoder_layers * sizeof(Layer));
    if (!m->encoder || !m->decoder) return yk_free_model(m), NULL;
    m->target = next_matrix(&from);
    m->source = config->tied_source ? m->target : next_matrix(&from);
    m->output = config->tied_output ? m->target : next_matrix(&from);
    m->source_positions = next_vector(&from, (size_t)config->n_positions * width);
    m->target_positions = next_vector(&from, (size_t)config->n_positions * width);
    for (int l = 0; l < config->n_encoder_layers; l++) read_layer(&from, &m->encoder[l], 0);
    for (int l = 0; l < config->n_decoder_layers; l++) read_layer(&from, &m->decoder[l], 1);
    if (config->pre_norm) m->encoder_norm = next_norm(&from), m->decoder_norm = next_norm(&from);
    if (from.ok) return m;
    yk_free_model(m);
    return NULL;
}

void free_linear(Linear *m) {
    release(m->bytes), release(m->floats), release(m->scale), release(m->sum), release(m->bias);
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
    release(m->source_positions), release(m->target_positions);
    free_layers(m->encoder, m->config.n_encoder_layers), free_layers(m->decoder, m->config.n_decoder_layers);
    free_norm(&m->encoder_norm), free_norm(&m->decoder_norm);
    release(m);
}
