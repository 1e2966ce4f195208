/* Beam search, the search of search/beam.py: each step finds the 2K best extensions of a
   sentence's K open hypotheses; those that end with eos are finished, and the K best of the others
   stay open. A sentence never depends on the others of its session.

       score(Y) = log P(Y | X) / lp(Y),    lp(Y) = ((5 + |Y|) / 6)^alpha                         */

#include "session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pack.h"

enum { WANTED = 512, /* most best tokens of a row */
       ENCODED = 512 /* positions of the sentences that are encoded together, unless one is longer */ };

struct Session {
    const Model *model;
    const Kernels *kernels;
    int max_rows;
    Scratch scratch;
    int longest, n_rows;
    Sentence *waiting, **last_waiting, *open, *finished, **last_finished;
    float **unused; /* blocks for the keys and values of a position */
    int n_unused, n_blocks, capacity;
    Row *rows;   /* (max_rows) */
    Best *best;  /* (max_rows) */
    float *values;
    int32_t *tokens, *banned;
};

typedef struct {
    double log_prob;
    int beam;
    int32_t id;
} Candidate;

static double length_penalty(int length, double alpha) { return pow((5.0 + length) / 6.0, alpha); }

/* ---- repetition: search/repetition.py ------------------------------------------------------ */

/* Add a token to the history of a hypothesis of `length` tokens. */
static void extend_runs(Hypothesis *h, int length, int32_t token) {
    for (int p = 1; p <= MAX_PERIOD && p <= length; p++)
        h->runs[p - 1] = h->tokens[length - p] == token ? h->runs[p - 1] + 1 : 0;
}

static int compare_ids(const void *a, const void *b) {
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* The tokens that may not follow, in increasing order; returns their number. */
static int banned_ids(const Sentence *s, const Hypothesis *h, int32_t unk, int32_t *ids) {
    int n = 0, length = s->length, size = s->settings.no_repeat_ngram;
    ids[n++] = unk;
    for (int p = 1; s->settings.repeats && p <= MAX_PERIOD && p <= length; p++)
        if (h->runs[p - 1] + 1 >= s->settings.repeats * p) ids[n++] = h->tokens[length - p];
    for (int at = 0; size && at + size <= length; at++)
        if (!memcmp(h->tokens + at, h->tokens + length - size + 1, (size - 1) * sizeof *ids))
            ids[n++] = h->tokens[at + size - 1];
    qsort(ids, n, sizeof *ids, compare_ids);
    return n;
}

/* ---- candidates ---------------------------------------------------------------------------- */

/* The best extensions of all hypotheses of a sentence, best first; returns their number. */
static int merge(const Sentence *s, const Best *best, int wanted, Candidate *out) {
    int at[256] = {0}, n = 0;
    for (; n < wanted; n++) {
        Candidate top = {-INFINITY, -1, 0};
        for (int k = 0; k < s->n_open; k++) {
            if (at[k] == best[k].n) continue;
            double norm = (double)best[k].largest + log((double)best[k].sum);
            double log_prob = s->open[k].log_prob + ((double)best[k].logits[at[k]] - norm);
            if (log_prob > top.log_prob) top = (Candidate){log_prob, k, best[k].ids[at[k]]};
        }
        if (top.beam < 0) break;
        at[top.beam]++;
        out[n] = top;
    }
    return n;
}

/* Keep a finished hypothesis if it is among the n best of its sentence. */
static void finish(Sentence *s, const Candidate *c) {
    double score = c->log_prob / length_penalty(s->length, s->settings.alpha);
    int n = s->n_found, most = s->settings.n_best;
    if (n == most && !(score > s->found[n - 1].score)) return;
    int32_t *tokens = s->found[n < most ? n : n - 1].tokens;
    int place = n < most ? s->n_found++ : n - 1;
    for (; place && s->found[place - 1].score < score; place--) s->found[place] = s->found[place - 1];
    memcpy(tokens, s->open[c->beam].tokens, (s->length - 1) * sizeof *tokens);
    s->found[place] = (Finished){tokens, s->length - 1, c->log_prob, score};
}

/* Let hypothesis `to` be hypothesis `from`, extended by a token. */
static void follow(const Sentence *s, const Hypothesis *from, const Candidate *c, Hypothesis *to) {
    int n = s->length - 1;
    memcpy(to->tokens, from->tokens, n * sizeof *to->tokens);
    memcpy(to->cache, from->cache, (n + 1) * sizeof *to->cache);
    memcpy(to->runs, from->runs, MAX_PERIOD * sizeof *to->runs);
    extend_runs(to, n, c->id);
    to->tokens[n] = c->id;
    to->log_prob = c->log_prob;
}

/* Whether an open hypothesis can still enter the n best: its log-probability can only decrease,
   and the penalty increases at most to that of the maximum length. */
static int can_improve(const Sentence *s) {
    if (!s->n_open || s->length >= s->settings.limit) return 0;
    if (s->n_found < s->settings.n_best) return 1;
    double bound = s->open[0].log_prob / length_penalty(s->settings.limit, s->settings.alpha);
    return bound > s->found[s->n_found - 1].score;
}

/* Extend the hypotheses of a sentence by their best tokens. */
static void extend(Sentence *s, const Best *best, int32_t eos) {
    Candidate candidates[2 * 256];
    int beam = s->settings.beam, wanted = beam > 1 ? 2 * beam : 1, n_kept = 0;
    int n = merge(s, best, wanted, candidates);
    s->length++;
    for (int i = 0; i < n; i++) {
        const Candidate *c = &candidates[i];
        if (c->id == eos) finish(s, c);
        else if (n_kept < beam) {
            Hypothesis *to = &s->spare[n_kept];
            if (n_kept && c->log_prob < s->spare[0].log_prob - s->settings.margin) continue;
            follow(s, &s->open[c->beam], c, to);
            n_kept++;
        }
    }
    Hypothesis *old = s->open;
    s->open = s->spare, s->spare = old, s->n_open = n_kept;
}


/* ---- sentences ----------------------------------------------------------------------------- */

static void free_sentence(Sentence *s) {
    for (size_t i = 0; s && i < sizeof s->arrays / sizeof *s->arrays; i++) free(s->arrays[i]);
    free(s);
}

/* The arrays of a sentence whose sizes are set; 0 if there is no memory. */
static int allocate(Sentence *s, const Model *m) {
    int n_layers = m->config.n_decoder_layers, h = m->config.n_heads, limit = s->settings.limit;
    int d_k = m->key_width / h, d_v = m->value_width / h, n = 2 * s->settings.beam;
    size_t keys = sources_size(s->n_source, h, d_k, 0), all = sources_size(s->n_source, h, d_k, d_v);
    int n_rows = n + s->settings.n_best;
    Hypothesis *hypotheses = s->arrays[0] = aligned(n * sizeof *hypotheses);
    int32_t *tokens = s->arrays[1] = aligned((size_t)n_rows * limit * sizeof *tokens);
    float **cache = s->arrays[2] = aligned((size_t)(n + s->settings.beam) * limit * sizeof *cache);
    int32_t *runs = s->arrays[3] = aligned((size_t)n * MAX_PERIOD * sizeof *runs);
    float *memory = s->arrays[4] = aligned(n_layers * all * sizeof *memory);
    char *rest = s->arrays[5] = aligned(n_layers * sizeof(Sources) + s->settings.n_best * sizeof(Finished) +
                                        (s->n_source + s->n_prefix) * sizeof *tokens);
    if (!hypotheses || !tokens || !cache || !runs || !memory || !rest) return 0;
    for (int k = 0; k < n; k++)
        hypotheses[k] = (Hypothesis){tokens + (size_t)k * limit, cache + (size_t)k * limit,
                                     runs + k * MAX_PERIOD, 0};
    s->open = hypotheses, s->spare = hypotheses + s->settings.beam, s->n_open = 1;
    s->blocks = cache + (size_t)n * limit;
    s->memory = (Sources *)rest, s->found = (Finished *)(rest + n_layers * sizeof(Sources));
    s->source = (int32_t *)(s->found + s->settings.n_best);
    for (int l = 0; l < n_layers; l++)
        s->memory[l] = (Sources){s->n_source, h, d_k, d_v, memory + l * all, memory + l * all + keys};
    for (int i = 0; i < s->settings.n_best; i++)
        s->found[i].tokens = tokens + (size_t)(n + i) * limit;
    return 1;
}

/* ---- the session --------------------------------------------------------------------------- */

static int allocate_scratch(Scratch *to, const Model *m, int n_rows, int longest) {
    int wide = m->config.n_decoder_layers ? m->decoder[0].feed_forward.inner.n_out : 0;
    int qkv = 2 * m->key_width + m->value_width, heads = m->value_width;
    wide = wide > qkv ? wide : qkv;
    int most = wide > m->width ? wide : m->width;
    size_t n = n_rows, logits = n * 256, own = sources_size(longest, m->config.n_heads, qkv, 0);
    to->n = n_rows;
    to->x = aligned(n * m->width * 4), to->y = aligned(n * m->width * 4);
    to->wide = aligned(n * wide * 4), to->heads = aligned(n * heads * 4);
    to->scores = aligned((size_t)(longest + 16) * 4 * 4);
    to->logits = aligned((logits > own ? logits : own) * 4);
    to->q = (Quantised){aligned(n * most), aligned(n * 4), aligned(n * 4)};
    return to->x && to->y && to->wide && to->heads && to->scores && to->logits && to->q.bytes &&
           to->q.low && to->q.step;
}

Session *yk_session(const Model *m, const Kernels *kernels, int max_rows, int longest) {
    Session *s = aligned(sizeof *s);
    if (!s) return NULL;
    int n = ENCODED > longest ? ENCODED : longest;
    s->model = m, s->kernels = kernels, s->max_rows = max_rows, s->last_waiting = &s->waiting;
    s->last_finished = &s->finished;
    s->rows = aligned(max_rows * sizeof *s->rows), s->best = aligned(max_rows * sizeof *s->best);
    s->values = aligned((size_t)max_rows * WANTED * sizeof *s->values);
    s->tokens = aligned((size_t)max_rows * WANTED * sizeof *s->tokens);
    s->banned = aligned((size_t)max_rows * (longest + MAX_PERIOD + 1) * sizeof *s->banned);
    s->longest = longest;
    if (!s->rows || !s->best || !s->values || !s->tokens || !s->banned) return NULL;
    return allocate_scratch(&s->scratch, m, n > max_rows ? n : max_rows, longest) ? s : NULL;
}

/* Queue a sentence; 0 if there is no memory. */
int yk_add(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *prefix,
           int n_prefix, const Settings *settings) {
    Sentence *s = aligned(sizeof *s);
    if (!s) return 0;
    s->key = key, s->settings = *settings, s->n_source = n_source, s->n_prefix = n_prefix;
    if (!allocate(s, session->model)) return free_sentence(s), 0;
    memcpy(s->source, source, n_source * sizeof *source);
    memcpy(s->source + n_source, prefix, n_prefix * sizeof *prefix);
    *session->last_waiting = s, session->last_waiting = &s->next;
    return 1;
}

/* Encode the next sentences while there are rows for their hypotheses. */
static void admit(Session *session) {
    int32_t ids[ENCODED];
    int lengths[ENCODED], n = 0, n_positions = 0;
    Sources *memories[ENCODED];
    Sentence *s;
    while ((s = session->waiting) && session->n_rows + s->settings.beam <= session->max_rows) {
        if (n && n_positions + s->n_source > ENCODED) break;
        session->waiting = s->next;
        if (!session->waiting) session->last_waiting = &session->waiting;
        session->n_rows += s->settings.beam;
        s->next = session->open, session->open = s;
        lengths[n] = s->n_source, memories[n++] = s->memory;
        if (n_positions + s->n_source <= ENCODED)
            memcpy(ids + n_positions, s->source, s->n_source * sizeof *ids);
        n_positions += s->n_source;
    }
    const int32_t *first = n_positions > ENCODED ? session->open->source : ids;
    if (n) session->kernels->encode(session->model, first, lengths, n, memories, &session->scratch);
}

static float *take_block(Session *session) {
    if (session->n_unused) return session->unused[--session->n_unused];
    const Model *m = session->model;
    size_t width = m->key_width + m->value_width;
    if (session->n_blocks == session->capacity) {
        int capacity = 2 * session->capacity + 64;
        float **unused = realloc(session->unused, capacity * sizeof *unused);
        if (!unused) return NULL;
        session->unused = unused, session->capacity = capacity;
    }
    session->n_blocks++;
    return aligned((m->config.n_decoder_layers * width + 16) * sizeof(float));
}

/* The rows of a sentence's hypotheses; returns their number. */
static int write_rows(Session *session, Sentence *s, int row) {
    const Config *config = &session->model->config;
    for (int k = 0; k < s->n_open; k++, row++) {
        Hypothesis *h = &s->open[k];
        int32_t *banned = session->banned + (size_t)row * (session->longest + MAX_PERIOD + 1);
        h->cache[s->length] = s->blocks[s->n_blocks++] = take_block(session);
        int32_t last = s->length ? h->tokens[s->length - 1] : config->start;
        session->rows[row] = (Row){last, s->length, h->cache, s->memory};
        int32_t forced = s->length < s->n_prefix ? s->source[s->n_source + s->length] : -1;
        if (s->length + 1 == s->settings.limit) forced = config->eos;
        int beam = s->settings.beam;
        session->best[row] = (Best){0, beam > 1 ? 2 * beam : 1, session->values + (size_t)row * WANTED,
                                    session->tokens + (size_t)row * WANTED, -INFINITY, 0, forced,
                                    banned, banned_ids(s, h, config->unk, banned), NULL};
    }
    return s->n_open;
}

/* Search one position further in every sentence; returns the number of sentences not yet done. */
static int step_all(Session *session) {
    int n = 0;
    admit(session);
    for (Sentence *s = session->open; s; s = s->next) n += write_rows(session, s, n);
    if (n) session->kernels->step(session->model, session->rows, n, session->best, &session->scratch);
    n = 0;
    for (Sentence **at = &session->open, *s; (s = *at);) {
        int n_rows = s->n_open;
        extend(s, session->best + n, session->model->config.eos);
        n += n_rows;
        if (can_improve(s)) { at = &s->next; continue; }
        *at = s->next, s->next = NULL;
        session->n_rows -= s->settings.beam;
        for (int i = 0; i < s->n_blocks; i++) session->unused[session->n_unused++] = s->blocks[i];
        *session->last_finished = s, session->last_finished = &s->next;
    }
    return session->open || session->waiting;
}

/* Search at most `steps` positions; returns whether there is more to do. */
int yk_advance(Session *session, int steps) {
    int more = 1;
    while (steps-- && more) more = step_all(session);
    return more;
}

/* The next finished sentence: its key, and hypothesis `i` of at most n_best. */
int yk_next(Session *session, int64_t *key) {
    Sentence *s = session->finished;
    if (!s) return -1;
    *key = s->key;
    return s->n_found;
}

int yk_hypothesis(Session *session, int i, int32_t *tokens, double *log_prob, double *score) {
    const Finished *f = &session->finished->found[i];
    memcpy(tokens, f->tokens, f->n * sizeof *tokens);
    *log_prob = f->log_prob, *score = f->score;
    return f->n;
}

void yk_done(Session *session) {
    Sentence *s = session->finished;
    session->finished = s->next;
    if (!session->finished) session->last_finished = &session->finished;
    free_sentence(s);
}
