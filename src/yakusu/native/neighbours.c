/* See neighbours.h. */

#include "neighbours.h"

#include <math.h>
#include <string.h>

#include "memory.h"

#define UNIT 256.0f /* of distances: integers for each 1 */
#define FARTHEST 65535 /* of a component */

/* ---- codes --------------------------------------------------------------------------------- */

void encode_state(const Codebook *codebook, const float *scores, uint8_t *codes) {
    for (int m = 0; m < codebook->n_components; m++) {
        int best = 0;
        float least = INFINITY;
        for (int c = 0; c < CODES; c++) {
            float x = scores[m] - codebook->centroids[m * CODES + c];
            if (x * x < least) least = x * x, best = c;
        }
        codes[m / 2] = m % 2 ? codes[m / 2] | (uint8_t)(best << 4) : (uint8_t)best;
    }
}

int arrange(const Codebook *codebook, const States *states, Blocks *out) {
    int n = states->n, n_components = codebook->n_components;
    int n_blocks = (n + STATES_PER_BLOCK - 1) / STATES_PER_BLOCK;
    size_t size = (size_t)n_components * CODES;
    *out = (Blocks){n, n_blocks, allocate(n_blocks * size + 1), allocate((size_t)n * sizeof *out->tokens + 1)};
    if (!out->codes || !out->tokens) return release_blocks(out), 0;
    if (n) memcpy(out->tokens, states->tokens, n * sizeof *out->tokens);
    for (int i = 0; i < n; i++) {
        const uint8_t *row = states->codes + (size_t)i * (n_components / 2);
        uint8_t *block = out->codes + i / STATES_PER_BLOCK * size;
        int at = i % CODES, is_high = i % STATES_PER_BLOCK >= CODES;
        for (int m = 0; m < n_components; m++) {
            int code = m % 2 ? row[m / 2] >> 4 : row[m / 2] & 15;
            block[m * CODES + at] |= (uint8_t)(is_high ? code << 4 : code);
        }
    }
    return 1;
}

void release_blocks(Blocks *blocks) {
    release(blocks->codes), release(blocks->tokens);
    *blocks = (Blocks){0};
}

/* ---- distances ----------------------------------------------------------------------------- */

int reserve_distances(const Codebook *codebook, int n, int n_states, Distances *d) {
    size_t n_components = codebook->n_components, n_rows = n > d->rows ? n : d->rows;
    size_t blocks = (n_states + STATES_PER_BLOCK - 1) / STATES_PER_BLOCK;
    size_t capacity = blocks * STATES_PER_BLOCK;
    if (n <= d->rows && capacity <= (size_t)d->capacity) return 1;
    if (capacity < (size_t)d->capacity) capacity = d->capacity;
    release_distances(d);
    d->scores = allocate(n_rows * n_components * sizeof *d->scores);
    d->tables = allocate(n_components * CODES * sizeof *d->tables);
    d->distances = allocate(capacity * sizeof *d->distances);
    if (!d->scores || !d->tables || !d->distances) return release_distances(d), 0;
    d->rows = (int)n_rows, d->capacity = (int)capacity;
    return 1;
}

void release_distances(Distances *d) {
    release(d->scores), release(d->tables), release(d->distances);
    *d = (Distances){0};
}

/* (s_m - c[m][code])^2 for all codes, as integers */
static void fill(const Codebook *codebook, const float *scores, uint16_t *tables) {
    for (int m = 0; m < codebook->n_components; m++)
        for (int c = 0; c < CODES; c++) {
            float x = scores[m] - codebook->centroids[m * CODES + c], d = x * x * UNIT + 0.5f;
            tables[m * CODES + c] = d < FARTHEST ? (uint16_t)d : FARTHEST; /* also NaN */
        }
}

/* ---- predictions --------------------------------------------------------------------------- */

typedef struct {
    uint32_t distance;
    int32_t token;
} Neighbour;

/* Keep the nearest states in order; of equally near ones, those with lower tokens. */
static int add_neighbour(Neighbour *of, int n, Neighbour next) {
    int at = n < NEAREST ? n : NEAREST - 1;
    const Neighbour *last = &of[NEAREST - 1];
    if (n == NEAREST && (next.distance > last->distance ||
                         (next.distance == last->distance && next.token >= last->token)))
        return n;
    for (; at && (of[at - 1].distance > next.distance ||
                  (of[at - 1].distance == next.distance && of[at - 1].token > next.token)); at--)
        of[at] = of[at - 1];
    of[at] = next;
    return n < NEAREST ? n + 1 : n;
}

/* Add the probability of a token; tokens are kept in increasing order. */
static void add_prob(Nearest *near, int32_t id, double prob) {
    int at = 0;
    while (at < near->n && near->ids[at] < id) at++;
    if (at < near->n && near->ids[at] == id) {
        near->probs[at] += prob;
        return;
    }
    for (int i = near->n++; i > at; i--) near->ids[i] = near->ids[i - 1], near->probs[i] = near->probs[i - 1];
    near->ids[at] = id, near->probs[at] = prob;
}

Nearest nearest(const Codebook *codebook, const Scans *scans, const Blocks *blocks, const float *scores,
                Distances *d) {
    Nearest near = {0};
    Neighbour found[NEAREST];
    int n = 0;
    fill(codebook, scores, d->tables);
    scans->scan4(blocks->codes, blocks->n_blocks, codebook->n_components, d->tables, d->distances);
    for (int i = 0; i < blocks->n; i++)
        n = add_neighbour(found, n, (Neighbour){d->distances[i], blocks->tokens[i]});
    if (!n) return near;
    double first = found[0].distance / (double)UNIT;
    near.weight = codebook->weight * (1.0 - first / codebook->reach);
    if (!(near.weight > 0.0)) return near.weight = 0.0, near;
    float powers[LANES], sum = 0.0f;
    for (int i = 0; i < LANES; i++) {
        float beyond = i < n ? (float)(found[i].distance - found[0].distance) / UNIT : 0.0f;
        powers[i] = -beyond / codebook->temperature;
    }
    v_store(powers, v_exp(v_load(powers)));
    for (int i = 0; i < n; i++) sum += powers[i];
    for (int i = 0; i < n; i++) add_prob(&near, found[i].token, powers[i] / (double)sum);
    return near;
}

/* ---- mixing -------------------------------------------------------------------------------- */

void probe_nearest(const Nearest *near, Best *best, int32_t *probes) {
    int n = 0, i = 0, j = 0;
    while (i < near->n || j < best->n_probes) {
        int take = j == best->n_probes || (i < near->n && near->ids[i] <= best->probes[j]);
        int32_t id = take ? near->ids[i++] : best->probes[j++];
        if (!n || probes[n - 1] != id) probes[n++] = id;
    }
    best->probes = probes, best->n_probes = n;
}

static double prob_of(const Nearest *near, int32_t id) {
    for (int i = 0; i < near->n; i++)
        if (near->ids[i] == id) return near->probs[i];
    return 0.0;
}

/* The logit of P' whose normaliser is that of P. */
static float mixed(const Nearest *near, float logit, int32_t id, double norm) {
    float x[LANES] = {(float)((double)logit - norm)};
    double own = prob_of(near, id);
    if (!(own > 0.0)) return (float)((double)logit + log_of(1.0 - near->weight));
    v_store(x, v_exp(v_load(x)));
    return (float)(norm + log_of((1.0 - near->weight) * x[0] + near->weight * own));
}

/* Insert a token; of equal logits, the lower id is first. */
static void insert_mixed(Best *best, float logit, int32_t id) {
    int at = best->n;
    while (at && (best->logits[at - 1] < logit || (best->logits[at - 1] <= logit && best->ids[at - 1] > id))) at--;
    if (at == best->wanted) return;
    if (best->n < best->wanted) best->n++;
    for (int i = best->n - 1; i > at; i--) best->logits[i] = best->logits[i - 1], best->ids[i] = best->ids[i - 1];
    best->logits[at] = logit, best->ids[at] = id;
}

/* 1 - P(y_1) */
static double doubt(const Best *best, double norm) {
    float x[LANES] = {(float)((double)best->logits[0] - norm)};
    v_store(x, v_exp(v_load(x)));
    return x[0] < 1.0f ? 1.0 - x[0] : 0.0;
}

void mix_in(const Nearest *found, Best *best, const int32_t *probes, int n_probes) {
    double norm = log_norm(best);
    Nearest own = *found;
    const Nearest *near = &own;
    int n = 0;
    if (best->n) own.weight *= doubt(best, norm);
    for (int i = 0; i < best->n; i++) { /* the others keep their order */
        if (prob_of(near, best->ids[i]) > 0.0) continue;
        best->ids[n] = best->ids[i], best->logits[n++] = mixed(near, best->logits[i], best->ids[i], norm);
    }
    best->n = n;
    for (int i = 0, kept = 0; i < best->n_probes; i++) {
        int32_t id = best->probes[i];
        float logit = mixed(near, best->probed[i], id, norm);
        if (prob_of(near, id) > 0.0 && may_follow(best, id)) insert_mixed(best, logit, id);
        if (kept < n_probes && probes[kept] == id) best->probed[kept++] = logit;
    }
    best->probes = probes, best->n_probes = n_probes;
}
