/* Runs the engine without Python: kernels, searches and scores of models with pseudo-random weights.
   Usage: driver INSTRUCTIONS. Prints results as bits, which are the same on every processor; exits with
   status 3 if this one lacks the instructions. Tests run it under qemu and with sanitizers. */

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"
#include "session.h"

int yk_probe_linear(const Kernels *, const float *, const float *, int, int, Format, const float *, int, float *,
                    float *, int16_t *);
int yk_probe_attention(const Kernels *, const Heads *, int, const float *, int, const float *, const float *, int,
                       float *);
void yk_probe_activation(const Kernels *, float *, size_t, int);
void yk_probe_norm(const Kernels *, const float *, int, float *, float *, float, float *);

enum { D_MODEL = 48, HEADS = 4, D_HEAD = 12, D_FF = 80, LAYERS = 2, TOKENS = 61, PADDED = 64, LENGTH = 64 };
enum { MAX_MATRICES = 64, MAX_VECTORS = 64 };

static uint64_t state;

static float uniform(void) { /* in [-1, 1) */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)(int32_t)(state >> 32) / 2147483648.0f;
}

static float *numbers(size_t n, float factor, float shift) {
    float *x = malloc(n * sizeof *x);
    if (!x) exit(1);
    for (size_t i = 0; i < n; i++) x[i] = uniform() * factor + shift;
    return x;
}

/* The rows of a matrix; of MIXED, multiples of most / 127. */
static float *weights(int n_out, int n_in, float most, Format format) {
    float *w = numbers((size_t)n_out * n_in, most, 0);
    for (float *row = w; format == MIXED && row < w + (size_t)n_out * n_in; row += n_in) {
        for (int k = 0; k < n_in; k++) row[k] = roundf(row[k] * (127 / most)) * (most / 127);
        row[0] = most;
    }
    return w;
}

static uint64_t hash(const void *data, size_t size) { /* FNV-1a */
    uint64_t h = 14695981039346656037u;
    for (const uint8_t *at = data, *end = at + size; at < end; at++) h = (h ^ *at) * 1099511628211u;
    return h;
}

static void print(const char *what, const void *data, size_t size) {
    printf("%s %016" PRIx64 "\n", what, hash(data, size));
}

/* ---- kernels ------------------------------------------------------------------------------- */

static void probe_products(const Kernels *kernels) {
    static const int widths[] = {16, 48, 128, 512}, counts[] = {1, 2, 3, 4, 5, 9, 17};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 7; j++)
            for (Format format = FLOAT32; format <= MIXED; format++) {
                int n_in = widths[i], n_out = widths[3 - i], n = counts[j];
                float *x = numbers((size_t)n * n_in, 3, 0), *w = weights(n_out, n_in, 0.1f, format);
                float *y = numbers((size_t)n * n_out, 0, 0), *bias = numbers(n_out, 1, 0);
                float *scale = numbers(n_out, 0, 0);
                int16_t *integers = malloc((size_t)n_out * n_in * sizeof *integers);
                if (!integers) exit(1);
                if (yk_probe_linear(kernels, w, bias, n_out, n_in, format, x, n, y, scale, integers) != PACKED) exit(1);
                print(format == FLOAT32 ? "floats" : "integers", y, (size_t)n * n_out * sizeof *y);
                free(x), free(w), free(y), free(bias), free(scale), free(integers);
            }
}

static void probe_attention(const Kernels *kernels) {
    static const int counts[] = {1, 2, 15, 16, 17, 33, 100};
    for (int i = 0; i < 7; i++)
        for (int lanes = 1; lanes <= 16; lanes *= 2) {
            int n = 5, n_keys = counts[i], n_groups = lanes == 16 ? 2 : 1;
            Heads heads = {n_groups * lanes, lanes, 32 * lanes, 48 * lanes, 0.2f};
            size_t of_keys = n_groups * heads.key_width, of_values = n_groups * heads.value_width;
            float *q = numbers(n * of_keys, 2, 0), *k = numbers(n_keys * of_keys, 1, 0);
            float *v = numbers(n_keys * of_values, 1, 0), *y = numbers(n * of_values, 0, 0);
            if (!yk_probe_attention(kernels, &heads, n_groups, q, n, k, v, n_keys, y)) exit(1);
            print("attention", y, n * of_values * sizeof *y);
            free(q), free(k), free(v), free(y);
        }
}

static void probe_rows(const Kernels *kernels) {
    enum { N = 1024 };
    for (int activation = RELU; activation <= GELU; activation++) {
        float *x = numbers(N, 20, 0);
        yk_probe_activation(kernels, x, N, activation);
        print("activation", x, N * sizeof *x);
        free(x);
    }
    for (int n = 1; n <= N; n = n * 3 + 1) {
        int width = (n + 15) / 16 * 16;
        float *x = numbers(width, 4, 1), *gain = numbers(width, 1, 0), *bias = numbers(width, 1, 0);
        float *y = numbers(width, 0, 0);
        for (int k = n; k < width; k++) x[k] = gain[k] = bias[k] = 0;
        yk_probe_norm(kernels, x, n, gain, bias, 1e-5f, y);
        print("norm", y, width * sizeof *y);
        free(x), free(gain), free(bias), free(y);
    }
}

/* ---- models -------------------------------------------------------------------------------- */

typedef struct {
    Linear *matrices[MAX_MATRICES];
    float *vectors[MAX_VECTORS];
    int n_matrices, n_vectors;
    Format format;
} Arrays;

/* Packed in two blocks; in some matrices of MIXED, the second one begins with another row. */
static void add_packed(Arrays *to, float *rows, float *bias, int n_out, int n_in) {
    Linear *matrix = yk_matrix(n_out, n_in, bias, to->format);
    int some = n_out / 3;
    if (to->format == MIXED && to->n_matrices % 4 == 1) rows[(size_t)some * n_in] *= 1.001f;
    if (!matrix || yk_pack(matrix, 0, rows, some) != PACKED) exit(1);
    if (yk_pack(matrix, some, rows + (size_t)some * n_in, n_out - some) != PACKED) exit(1);
    to->matrices[to->n_matrices++] = matrix;
    free(rows), free(bias);
}

static void add_matrix(Arrays *to, int n_out, int n_in, int has_bias) {
    float *bias = has_bias ? numbers(n_out, 0.2f, 0) : NULL;
    add_packed(to, weights(n_out, n_in, 0.4f, to->format), bias, n_out, n_in);
}

static void add_table(Arrays *to) {
    float *rows = weights(PADDED, D_MODEL, 0.4f, to->format), *bias = numbers(PADDED, 0.2f, 0);
    for (int id = TOKENS; id < PADDED; id++) bias[id] = -INFINITY; /* never generated */
    add_packed(to, rows, bias, PADDED, D_MODEL);
}

static void add_norms(Arrays *to, int n) {
    for (int i = 0; i < n; i++) {
        to->vectors[to->n_vectors++] = numbers(D_MODEL, 0.2f, 1);
        to->vectors[to->n_vectors++] = numbers(D_MODEL, 0.2f, 0);
    }
}

static void add_layer(Arrays *to, int decoder) {
    int width = HEADS * D_HEAD;
    add_matrix(to, 3 * width, D_MODEL, 0), add_matrix(to, D_MODEL, width, 0);
    if (decoder) {
        add_matrix(to, width, D_MODEL, 0), add_matrix(to, 2 * width, D_MODEL, 0);
        add_matrix(to, D_MODEL, width, 0);
    }
    add_matrix(to, D_FF, D_MODEL, 1), add_matrix(to, D_MODEL, D_FF, 1);
    add_norms(to, 2 + decoder);
}

static Model *random_model(int seed, int tied, int pre_norm, int activation, Format format) {
    Config config = {
        .d_model = D_MODEL, .n_heads = HEADS, .d_k = D_HEAD, .d_v = D_HEAD, .d_ff = D_FF,
        .n_encoder_layers = LAYERS, .n_decoder_layers = LAYERS, .src_vocab_size = TOKENS,
        .tgt_vocab_size = TOKENS, .n_positions = LENGTH, .pre_norm = pre_norm, .activation = activation,
        .tied_source = tied, .tied_output = tied, .start = -1, .eos = 0, .unk = 1,
        .score_scale = 0.25f, .embedding_scale = 7, .epsilon = 1e-5f,
    };
    Arrays w = {.format = format};
    state = seed;
    for (int i = 0; i < (tied ? 1 : 3); i++) add_table(&w);
    for (int i = 0; i < 2; i++) w.vectors[w.n_vectors++] = numbers(LENGTH * D_MODEL, 1, 0);
    for (int l = 0; l < 2 * LAYERS; l++) add_layer(&w, l >= LAYERS);
    if (pre_norm) add_norms(&w, 2);
    Model *model = yk_model(&config, w.matrices, (const float *const *)w.vectors);
    for (int i = 0; i < w.n_vectors; i++) free(w.vectors[i]);
    if (!model) exit(1);
    return model;
}

/* ---- sessions ------------------------------------------------------------------------------ */

static int sentence(int key, int32_t *ids) { /* from 1 to 40 tokens, then eos */
    int n = key * 7 % 40 + 1;
    for (int i = 0; i < n; i++) ids[i] = 2 + (key * 31 + i * i * 17) % (TOKENS - 2);
    ids[n] = 0;
    return n + 1;
}

static void print_log_prob(const char *name, int number, double log_prob) {
    uint64_t bits;
    memcpy(&bits, &log_prob, sizeof bits);
    printf("%s %d: %016" PRIx64, name, number, bits);
}

static void print_search(int key, const Search *s) {
    for (int i = 0; i < s->n_found; i++) {
        const Finished *h = &s->found[i];
        print_log_prob("sentence", key, h->log_prob);
        for (int t = 0; t < h->n; t++) printf(" %d", (int)h->tokens[t]);
        printf("\n");
    }
    for (const Traced *t = s->trace; t < s->trace + s->n_traced; t++) {
        print_log_prob("step", (int)t->step, t->extension.log_prob);
        printf(" %d %d %d\n", (int)t->extension.beam, (int)t->extension.id, (int)t->fate);
    }
}

static void print_found(Session *session) {
    int64_t key;
    for (const Search *s; (s = yk_next(session, &key));) print_search((int)key, s);
}

/* Characters spelled with the last 16 tokens, each of which is the last of 16 bytes: one character of a
   session, and two of two bytes that only some sentences have. */
typedef struct {
    int16_t next[2 * 256], byte_of[TOKENS];
    int32_t tokens[256];
} Characters;

static Spelling spelling(Characters *c, int has_more) {
    for (int i = 0; i < 2 * 256; i++) c->next[i] = -1;
    for (int id = 0; id < TOKENS; id++) c->byte_of[id] = id < TOKENS - 16 ? -1 : (id - TOKENS + 16) * 16 + 15;
    for (int byte = 0; byte < 256; byte++) c->tokens[byte] = TOKENS - 16 + byte / 16;
    c->next[0x4f] = 0;
    if (has_more) c->next[0xcf] = 1, c->next[256 + 0x8f] = c->next[256 + 0x9f] = 0;
    return (Spelling){c->next, c->tokens, c->byte_of};
}

static void search(const Kernels *kernels, const Model *const *models, int n_models, int max_rows, int samples) {
    static const Settings all[] = {
        {.beam = 1, .n_best = 1, .limit = 40, .margin = INFINITY, .alpha = 0.6},
        {.beam = 4, .n_best = 3, .limit = 50, .repeats = 3, .margin = 2.5, .alpha = 0.6, .traced = 1},
        {.beam = 5, .n_best = 5, .limit = 30, .no_repeat_ngram = 3, .margin = INFINITY, .alpha = 0},
    };
    static const int32_t required[] = {1, 7, 7, 9}, prefix[] = {10, TOKENS - 16 + 0xc}; /* begins a character */
    Characters of_all, of_some;
    Spelling common = spelling(&of_all, 0), wider = spelling(&of_some, 1);
    double uniform[5 * 50];
    for (int i = 0; i < 5 * 50; i++) uniform[i] = i * 37 % 250 / 250.0;
    const Sampling samplings[] = {{uniform, 1.0, 1.0, 0}, {uniform, 0.5, 0.8, 0}, {uniform, 2.0, 1.0, 5}};
    Requirements own[] = {
        {0},
        {.required = required, .n_required = 4},
        {.required = required + 1, .n_required = 2, .spelling = &wider},
        {.spelling = &wider},
    };
    uint8_t allowed[PADDED];
    int32_t ids[64];
    memset(allowed, 1, sizeof allowed), memset(allowed + TOKENS - 16, 0, 16);
    allowed[1] = allowed[7] = allowed[9] = 0, allowed[of_all.tokens[0x4f]] = 1;
    Session *session = yk_session(models, n_models, kernels, max_rows, allowed, &common, NULL, samples, NULL);
    if (!session) exit(1);
    for (int key = 0; key < 12; key++) { /* all settings with all requirements */
        int n = sentence(key, ids), n_prefix = key % 4 == 3 ? 2 : 0;
        own[key % 4].sampling = samples ? &samplings[key % 3] : NULL;
        if (!yk_search(session, key, ids, n, prefix, n_prefix, &all[key % 3], &own[key % 4])) exit(1);
    }
    int more = yk_advance(session, 0);
    printf("cancelled %d %d\n", yk_cancel(session, 8), yk_cancel(session, 99));
    for (; more > 0; more = yk_advance(session, 0)) print_found(session);
    if (more < 0) exit(1);
    print_found(session);
    if (!yk_search(session, 50, ids, sentence(5, ids), NULL, 0, &all[1], &own[2])) exit(1);
    yk_advance(session, 0);
    yk_free_session(session); /* with a sentence that is not finished */
}

static void score(const Kernels *kernels, const Model *model) {
    uint8_t allowed[PADDED];
    int32_t src[64], tgt[64], best[64 * 3];
    double log_probs[64], of_best[64 * 3];
    memset(allowed, 1, sizeof allowed);
    Session *session = yk_session(&model, 1, kernels, 8, allowed, NULL, NULL, 0, NULL);
    int n = sentence(9, src), n_tgt = sentence(4, tgt);
    Record record = {.n_alternatives = 3, .log_probs = log_probs, .alternatives = best, .of_alternatives = of_best};
    if (!session || !yk_score(session, 1, src, n, tgt, n_tgt, &record)) exit(1);
    while (yk_advance(session, 0) > 0) {}
    print("log_probs", log_probs, n_tgt * sizeof *log_probs);
    print("alternatives", best, n_tgt * 3 * sizeof *best);
    print("of_alternatives", of_best, n_tgt * 3 * sizeof *of_best);
    yk_free_session(session);
}

int main(int argc, char **argv) {
    const Kernels *kernels = yk_kernels(argc > 1 ? argv[1] : "");
    if (!kernels) return 3;
    probe_products(kernels), probe_attention(kernels), probe_rows(kernels);
    for (Format format = FLOAT32; format <= MIXED; format++) {
        Model *first = random_model(1, 1, 0, RELU, format), *second = random_model(2, 0, 1, GELU, format);
        const Model *both[] = {first, second};
        search(kernels, both, 1, 64, 0), search(kernels, both, 1, 20, 1);
        search(kernels, both + 1, 1, 7, 0); /* few rows: sentences wait */
        search(kernels, both, 2, 32, 0), search(kernels, both, 2, 32, 1);
        score(kernels, first), score(kernels, second);
        yk_free_model(first), yk_free_model(second);
    }
    return 0;
}
