/* Figure 1: the encoder, and one position of the decoder. Compiled once per instruction set. */

#include "model.h"

#ifdef WEB /* where they are a module of their own, see host.c */
#define KERNEL API
#else
#define KERNEL static
#endif

/* Element (j, k) of a matrix. */
INLINE float weight_of(const Linear *m, int j, int k) {
    size_t strip = (size_t)(j / LANES) * LANES * m->n_in;
    int lane = j % LANES;
    if (m->floats) return m->floats[strip + (size_t)k * LANES + lane];
    return m->scale[j] * integer_of(m, j, k);
}

/* The vector of a position, and of the number of words there. */
static void place(const Model *m, const float *positions, int position, int words, float *x) {
    memcpy(x, positions + (size_t)position * m->width, m->width * sizeof *x);
    if (m->word_positions) add(x, m->word_positions + (size_t)words * m->width, m->width);
}

/* How many of n tokens begin a word. */
static int count_words(const float *begins, const int32_t *ids, int n) {
    int words = 0;
    for (int i = 0; begins && i < n; i++) words += begins[ids[i]] > 0.5f;
    return words;
}

/* Table row -> embedding, sections 3.4 and 3.5: row sqrt(d_model) + the position, which is in x. */
static void embed(const Model *m, const Linear *table, int32_t id, float *x) {
    vec scale = v_set(m->config.embedding_scale);
    for (int k = 0; k < m->width; k += LANES) {
        float row[LANES];
        for (int i = 0; i < LANES; i++) row[i] = weight_of(table, id, k + i);
        v_store(x + k, v_fma(v_load(row), scale, v_load(x + k)));
    }
}

/* y = x W^T + b for n rows; x is quantised first. */
static void linear(const Linear *w, const float *x, int n, float *y, Scratch *s) {
    quantise_rows(w, x, n, &s->q);
    product(w, x, n, &s->q, y, w->n_out, 0, w->n_out);
}

/* The input of a sublayer: x, or LayerNorm(x). */
static const float *input(const Model *m, const float *x, int n, const Norm *norm, float *y) {
    if (!m->config.pre_norm) return x;
    for (int i = 0; i < n; i++)
        normalise(x + (size_t)i * m->width, m->config.d_model, norm, m->config.epsilon, y + (size_t)i * m->width);
    return y;
}

/* x + Sublayer(...), or LayerNorm of it. */
static void residual(const Model *m, float *x, const float *y, int n, const Norm *norm) {
    for (int i = 0; i < n; i++, x += m->width, y += m->width) {
        add(x, y, m->width);
        if (!m->config.pre_norm) normalise(x, m->config.d_model, norm, m->config.epsilon, x);
    }
}

#define SOME 128 /* rows of the feed-forward network at a time */

/* Section 3.3, Eq. 2. */
static void feed_forward(const Model *m, const FeedForward *f, const Norm *norm, float *x, int n, Scratch *s) {
    for (int i = 0; i < n; i += SOME, x += (size_t)SOME * m->width) {
        int some = n - i < SOME ? n - i : SOME;
        linear(&f->inner, input(m, x, some, norm, s->y), some, s->wide, s);
        activate(s->wide, (size_t)some * f->inner.n_out, m->config.activation);
        linear(&f->outer, s->wide, some, s->y, s);
        residual(m, x, s->y, some, norm);
    }
}

/* The n rows from `first` on, as positions whose keys and values are `key` numbers further on. */
static Positions positions_at(const Model *m, float *first, size_t stride, int n, size_t key, Scratch *s) {
    for (int t = 0; t < n; t++) s->rows[t] = first + t * stride;
    return (Positions){s->rows, n, key, key + m->key_width};
}

/* Self-attention of the sentences of n rows. */
static void encoder_attention(const Model *m, int l, const int *lengths, int n_sentences,
                              float *const *weights, float *x, int n, Scratch *s) {
    const Layer *layer = &m->encoder[l];
    size_t stride = layer->self.qkv.n_out;
    linear(&layer->self.qkv, input(m, x, n, layer->norms, s->y), n, s->wide, s);
    float *q = s->wide, *out = s->heads;
    for (int i = 0; i < n_sentences; i++) {
        int length = lengths[i];
        size_t per_query = (size_t)m->config.n_heads * length;
        float *to = weights[i] ? weights[i] + (size_t)l * length * per_query : NULL;
        Positions own = positions_at(m, q, stride, length, m->key_width, s);
        int step = to ? 1 : length; /* the weights of one query at a time */
        for (int t = 0; t < length; t += step, q += step * stride, out += (size_t)step * m->value_width)
            attend(&m->heads, q, stride, step, &own, s->scores, out, m->value_width,
                   to ? to + t * per_query : NULL, length);
    }
    linear(&layer->self.out, s->heads, n, s->y, s);
    residual(m, x, s->y, n, layer->norms);
}

/* The encoder stack; stores the keys and values that the decoder's layers attend to. */
KERNEL void encode(const Member *member, const int32_t *ids, const int *lengths, int n_sentences,
                   Sources *const *memories, float *const *weights, Scratch *s) {
    const Model *m = member->model;
    int n = 0;
    for (int i = 0; i < n_sentences; i++)
        for (int t = 0, words = 0; t < lengths[i]; t++, n++) {
            float *x = s->x + (size_t)n * m->width;
            words += count_words(m->source_begins, ids + n, 1);
            place(m, m->source_positions, t, words ? words - 1 : 0, x); /* the words before this one */
            embed(m, &m->source, ids[n], x);
        }
    for (int l = 0; l < m->config.n_encoder_layers; l++) {
        const Layer *layer = &m->encoder[l];
        encoder_attention(m, l, lengths, n_sentences, weights, s->x, n, s);
        feed_forward(m, &layer->feed_forward, &layer->norms[1], s->x, n, s);
    }
    const float *x = input(m, s->x, n, &m->encoder_norm, s->y);
    for (int l = 0; l < m->config.n_decoder_layers; l++) {
        const float *kv = s->wide;
        linear(&m->decoder[l].cross.key_value, x, n, s->wide, s);
        for (int i = 0; i < n_sentences; i++) {
            size_t size = (size_t)lengths[i] * m->decoder[l].cross.key_value.n_out;
            memcpy(memories[i][member->memory_at + l].rows, kv, size * sizeof *kv);
            kv += size;
        }
    }
}

/* Masked self-attention: position t attends to the positions up to t of its own hypothesis. */
static void decoder_attention(const Member *member, int l, const Row *rows, int n, float *x, Scratch *s) {
    const Model *m = member->model;
    const Layer *layer = &m->decoder[l];
    int width = m->key_width + m->value_width, h = m->config.n_heads;
    size_t stride = layer->self.qkv.n_out, at = member->cache_at + (size_t)l * width;
    linear(&layer->self.qkv, input(m, x, n, layer->norms, s->y), n, s->wide, s);
    for (int i = 0; i < n; i++) {
        const float *q = s->wide + i * stride;
        memcpy(rows[i].cache[rows[i].position] + at, q + m->key_width, width * sizeof *q);
        const Weights *w = &rows[i].weights;
        Positions own = {rows[i].cache, rows[i].position + 1, at, at + m->key_width};
        attend(&m->heads, q, stride, 1, &own, s->scores, s->heads + (size_t)i * m->value_width, m->value_width,
               w->to_target ? w->to_target + (size_t)l * h * w->n_target : NULL, w->n_target);
    }
    linear(&layer->self.out, s->heads, n, s->y, s);
    residual(m, x, s->y, n, layer->norms);
}

/* Attention to the source; the hypotheses of a sentence follow each other in `rows`. */
static void cross_attention(const Member *member, int l, const Row *rows, int n, float *x, Scratch *s) {
    const Model *m = member->model;
    const Layer *layer = &m->decoder[l];
    linear(&layer->cross.query, input(m, x, n, &layer->norms[1], s->y), n, s->wide, s);
    for (int i = 0, end; i < n; i = end) {
        float *weights = rows[i].weights.to_source;
        for (end = i + 1; end < n && rows[end].memory == rows[i].memory && !weights;) end++;
        const Sources *of = &rows[i].memory[member->memory_at + l];
        Positions own = positions_at(m, of->rows, layer->cross.key_value.n_out, of->n, 0, s);
        attend(&m->heads, s->wide + (size_t)i * m->key_width, m->key_width, end - i, &own, s->scores,
               s->heads + (size_t)i * m->value_width, m->value_width,
               weights ? weights + (size_t)l * m->config.n_heads * of->n : NULL, of->n);
    }
    linear(&layer->cross.out, s->heads, n, s->y, s);
    residual(m, x, s->y, n, &layer->norms[1]);
}

/* One position of the decoder stack for n hypotheses. */
KERNEL void decode(const Member *member, const Row *rows, int n, Scratch *s) {
    const Model *m = member->model;
    for (int i = 0; i < n; i++) {
        const int32_t *tokens = rows[i].tokens;
        int t = rows[i].position;
        float *x = s->x + (size_t)i * m->width;
        int32_t id = t ? tokens[t - 1] : m->config.start; /* members may start differently */
        place(m, m->target_positions, t, count_words(m->target_begins, tokens, t), x);
        if (id >= 0) embed(m, &m->target, id, x);
    }
    for (int l = 0; l < m->config.n_decoder_layers; l++) {
        const Layer *layer = &m->decoder[l];
        decoder_attention(member, l, rows, n, s->x, s);
        cross_attention(member, l, rows, n, s->x, s);
        feed_forward(m, &layer->feed_forward, &layer->norms[2], s->x, n, s);
    }
    if (m->config.pre_norm) input(m, s->x, n, &m->decoder_norm, s->x);
    quantise_rows(&m->output, s->x, n, &s->q);
}

/* ---- the output layer ---------------------------------------------------------------------- */

/* The integers of rows of `size` bytes from `first` on. */
static Quantised rows_from(const Quantised *q, int first, size_t size) {
    return (Quantised){q->bytes + first * size, q->planes + first * size, q->offset + first, q->step + first};
}

KERNEL void predict(const Linear *output, int first, int n, Best *best, Scratch *s) {
    const float *x = s->x + (size_t)first * output->n_in;
    Quantised q = rows_from(&s->q, first, (size_t)output->n_in * activation_size(output->format));
    for (int at = 0; at < output->n_out; at += BLOCK) {
        int size = output->n_out - at < BLOCK ? output->n_out - at : BLOCK;
        product(output, x, n, &q, s->logits, BLOCK, at, at + size);
        for (int i = 0; i < n; i++) scan(&best[first + i], s->logits + (size_t)i * BLOCK, at, size);
    }
}

/* log sum_y exp of a row of logits */
static float normaliser(const float *logits, int n_tokens) {
    Best all = {.largest = -INFINITY};
    for (int at = 0; at < n_tokens; at += BLOCK)
        add_to_sum(&all, logits + at, n_tokens - at < BLOCK ? n_tokens - at : BLOCK);
    return (float)log_norm(&all);
}

/* log(e^a + e^b) = max(a, b) + log(1 + x), where x = e^-|a - b| and log(1 + x) = 2 atanh(x / (2 + x)) */
INLINE vec log_of_sum(vec a, vec b) {
    vec most = v_max(a, b), finite = v_max(v_set(-1e30f), most); /* padding has -infinity; keeps NaN */
    vec x = v_exp(v_sub(v_min(b, a), finite)), y = v_set(1.0f / 13);
    vec ratio = v_div(x, v_add(x, v_set(2.0f))), square = v_mul(ratio, ratio); /* at most 1 / 9 */
    for (int k = 11; k > 0; k -= 2) y = v_fma(y, square, v_set(1.0f / k));
    return v_fma(v_mul(ratio, v_set(2.0f)), y, most);
}

/* log(1 / M sum_i P_i(y)) of M members, section 6.1 (Table 2): add member i to the sum of those before it. */
KERNEL void mean(const Model *m, int i, int n_members, int n, Best *best, float *sum, float *logits, Scratch *s) {
    int n_out = m->output.n_out;
    float *own_logits = logits;
    for (int row = 0; row < n; row++, own_logits += n_out, sum += n_out) {
        if (row % FEW == 0) {
            const float *x = s->x + (size_t)row * m->width;
            Quantised q = rows_from(&s->q, row, (size_t)m->width * activation_size(m->output.format));
            own_logits = i ? logits : sum;
            product(&m->output, x, n - row < FEW ? n - row : FEW, &q, own_logits, n_out, 0, n_out);
        }
        vec shift = v_set(normaliser(own_logits, n_out) + (float)log_of(n_members));
        for (int at = 0; at < n_out; at += LANES) {
            vec own = v_sub(v_load(own_logits + at), shift);
            v_store(sum + at, i ? log_of_sum(v_load(sum + at), own) : own);
        }
        if (i < n_members - 1) continue;
        best[row].largest = 0.0f, best[row].sum = 1.0f; /* their sum */
        for (int at = 0; at < n_out; at += BLOCK)
            choose(&best[row], sum + at, at, n_out - at < BLOCK ? n_out - at : BLOCK);
    }
}

/* exp(x) for x <= 0 in units of 2^-44, rounded; 0 for NaN. */
INLINE uint64_t fixed_exp(double x) {
    static const double whole = 0x1.8p52; /* adding it rounds to an integer */
    int64_t bits, exponent, most = 0x4040000000000000; /* the bits of 32.0 */
    memcpy(&bits, &x, 8), bits &= INT64_MAX; /* |x| */
    bits = bits < most ? bits : most, memcpy(&x, &bits, 8);
    double n = whole - x * 0x1.71547652b82fep0, k = n - whole; /* x / ln 2 */
    double r = (-x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33; /* x - k ln 2 */
    double y = 1.0 / 39916800; /* Taylor: 1 + r + r^2 / 2 + ... */
    y = y * r + 1.0 / 3628800, y = y * r + 1.0 / 362880, y = y * r + 1.0 / 40320, y = y * r + 1.0 / 5040;
    y = y * r + 1.0 / 720, y = y * r + 1.0 / 120, y = y * r + 1.0 / 24, y = y * r + 1.0 / 6;
    y = y * r + 0.5, y = y * r + 1.0, y = y * r + 1.0;
    memcpy(&bits, &y, 8), memcpy(&exponent, &n, 8);
    bits = (int64_t)((uint64_t)bits + ((uint64_t)exponent << 52)); /* y 2^k */
    memcpy(&y, &bits, 8);
    y = y * 0x1p44 + 0x1p52, memcpy(&bits, &y, 8);
    return (uint64_t)bits & 0xfffffffffffff;
}

KERNEL uint64_t weigh(const float *logits, int n, double temperature, uint64_t *weights) {
    uint64_t total = 0;
    vec most = v_set(-INFINITY);
    for (int at = 0; at < n; at += LANES) most = v_max(v_load(logits + at), most); /* without NaN */
    double largest = v_largest(most);
    for (int i = 0; i < n; i++) total += weights[i] = fixed_exp(((double)logits[i] - largest) / temperature);
    return total;
}

#define JOIN(a, b) a##b
#define NAME(isa) JOIN(kernels_, isa)
#define TEXT(isa) #isa
#define STRING(isa) TEXT(isa)
const Kernels NAME(ISA) = {
    STRING(ISA), encode, decode,   predict,   mean,   weigh,
    linear,      attend, activate, normalise,
};
