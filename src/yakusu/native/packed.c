/* The arrays of a model, one after the other: those that a file stores, or those of a file that is mapped. */

#include "memory.h"
#include "pack.h"

/* A walk through a model either lists its arrays or finds them in a file. */
typedef struct {
    Array *listed; /* NULL: they are counted */
    int n;
    char *file; /* the rest of it; NULL: none */
    size_t left;
} Walk;

/* The next array. A file that is too short has none: the walk goes on without it. */
static void *next_array(Walk *w, void *own, size_t size) {
    size_t stored = (size + 2 * ALIGNED - 1) / ALIGNED * ALIGNED;
    if (w->listed) w->listed[w->n] = (Array){own, size, stored - size};
    w->n++;
    if (!w->file) return own;
    if (stored > w->left) return w->file = NULL, own;
    char *found = w->file;
    w->file += stored, w->left -= stored;
    return found;
}

static void walk_matrix(Walk *w, Linear *m) {
    const int32_t *sizes = next_array(w, m, 3 * sizeof *sizes); /* as Linear begins */
    m->n_in = sizes[0], m->n_out = sizes[1], m->format = (Format)sizes[2];
    int is_possible = m->n_in > 0 && m->n_out > 0 && sizes[2] >= FLOAT32 && sizes[2] <= MIXED;
    if (w->file && !(is_possible && (size_t)m->n_in * m->n_out <= w->left)) w->file = NULL, m->n_in = m->n_out = 0;
    size_t n = m->n_out * sizeof(float), size = (size_t)m->n_out * m->n_in * weight_size(m->format);
    if (m->format == FLOAT32) m->floats = next_array(w, m->floats, size);
    else m->bytes = next_array(w, m->bytes, size);
    m->scale = next_array(w, m->scale, n), m->sum = next_array(w, m->sum, n), m->bias = next_array(w, m->bias, n);
}

static void walk_tables(Walk *w, Model *m) {
    const Config *c = &m->config;
    size_t size = (size_t)c->n_positions * m->width * sizeof(float);
    walk_matrix(w, &m->target);
    if (c->tied_source) m->source = m->target;
    else walk_matrix(w, &m->source);
    if (c->tied_output) m->output = m->target;
    else walk_matrix(w, &m->output);
    m->source_positions = next_array(w, m->source_positions, size);
    if (c->tied_source) m->target_positions = m->source_positions; /* see engine/packing.py */
    else m->target_positions = next_array(w, m->target_positions, size);
    if (!c->counts_words) return;
    m->word_positions = next_array(w, m->word_positions, size);
    m->source_begins = next_array(w, m->source_begins, c->src_vocab_size * sizeof(float));
    m->target_begins = next_array(w, m->target_begins, c->tgt_vocab_size * sizeof(float));
}

static void walk_norm(Walk *w, Norm *norm, int width) {
    norm->gain = next_array(w, norm->gain, width * sizeof(float));
    norm->bias = next_array(w, norm->bias, width * sizeof(float));
}

static void walk_layer(Walk *w, Layer *l, int width, int in_decoder) {
    walk_matrix(w, &l->self.qkv), walk_matrix(w, &l->self.out);
    if (in_decoder) walk_matrix(w, &l->cross.query), walk_matrix(w, &l->cross.key_value), walk_matrix(w, &l->cross.out);
    walk_matrix(w, &l->feed_forward.inner), walk_matrix(w, &l->feed_forward.outer);
    for (int i = 0; i < 2 + in_decoder; i++) walk_norm(w, &l->norms[i], width);
}

static void walk_model(Walk *w, Model *m) {
    walk_tables(w, m);
    for (int l = 0; l < m->config.n_encoder_layers; l++) walk_layer(w, &m->encoder[l], m->width, 0);
    for (int l = 0; l < m->config.n_decoder_layers; l++) walk_layer(w, &m->decoder[l], m->width, 1);
    if (m->config.pre_norm) walk_norm(w, &m->encoder_norm, m->width), walk_norm(w, &m->decoder_norm, m->width);
}

API int yk_arrays(Model *m, Array *arrays) {
    Walk w = {.listed = arrays};
    walk_model(&w, m);
    return w.n;
}

API void yk_free_mapped(Model *m) {
    if (m) release(m->encoder), release(m->decoder);
    release(m);
}

API Model *yk_mapped(const Config *config, char *file, size_t size) {
    Model *m = new_model(config);
    if (!m) return NULL;
    Walk w = {.file = file, .left = size};
    walk_model(&w, m);
    if (w.file == file + size) return m;
    yk_free_mapped(m);
    return NULL;
}
