/* See session.h. */

#include <math.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "pack.h"
#include "state.h"

enum {
    ENCODED = 512, /* positions that are encoded together, unless one sentence has more */
    SWEEP = 16,    /* steps between two searches for blocks that no hypothesis has */
};

/* ---- memory -------------------------------------------------------------------------------- */

static void free_scratch(Scratch *s) {
    float *all[] = {s->x, s->y, s->wide, s->heads, s->scores, s->logits, s->q.offset, s->q.step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) release(all[i]);
    release(s->q.bytes), release(s->q.planes), release(s->rows);
    *s = (Scratch){0};
}

/* Working memory for n rows and sentences of `length` positions. */
static int reserve(Session *session, int n, int length) {
    Scratch *s = &session->scratch;
    if (n <= session->scratch_rows && length <= session->scratch_length) return 1;
    n = n > session->scratch_rows ? n : session->scratch_rows;
    length = length > session->scratch_length ? length : session->scratch_length;
    size_t width = 0, wide = 0, heads = 0, rows = n, positions = length + POSITIONS;
    for (int i = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        size_t qkv = 2 * m->key_width + m->value_width, inner = m->inner_width;
        width = (size_t)m->width > width ? (size_t)m->width : width;
        wide = qkv > wide ? qkv : wide, wide = inner > wide ? inner : wide;
        heads = (size_t)m->value_width > heads ? (size_t)m->value_width : heads;
    }
    size_t most = width > wide ? width : wide;
    most = heads > most ? heads : most;
    free_scratch(s);
    s->x = allocate(rows * width * 4), s->y = allocate(rows * width * 4);
    s->wide = allocate(rows * wide * 4), s->heads = allocate(rows * heads * 4);
    s->scores = allocate(MAX_QUERIES * positions * LANES * 4), s->rows = allocate(positions * sizeof *s->rows);
    s->logits = allocate(rows * BLOCK * 4);
    s->q = (Quantised){allocate(2 * rows * most), allocate(2 * rows * most), allocate(rows * 4), allocate(rows * 4)};
    int ok = s->x && s->y && s->wide && s->heads && s->scores && s->rows && s->logits && s->q.bytes && s->q.planes &&
             s->q.offset && s->q.step;
    session->scratch_rows = ok ? n : 0, session->scratch_length = ok ? length : 0;
    return ok;
}

API Session *yk_session(const Model *const *models, int n_models, const Kernels *kernels, int max_rows,
                    const uint8_t *allowed, const Spelling *spelling, const Guide *guide, int samples,
                    const Codebook *codebook) {
    Session *s = allocate(sizeof *s);
    if (!s) return NULL;
    s->n_positions = models[0]->config.n_positions;
    for (int i = 0; i < n_models; i++) {
        const Model *m = models[i];
        if (m->config.n_positions < s->n_positions) s->n_positions = m->config.n_positions;
        s->members[i] = (Member){m, s->block_size, s->n_layers};
        s->block_size += (size_t)m->config.n_decoder_layers * (m->key_width + m->value_width) + 16;
        s->n_layers += m->config.n_decoder_layers;
    }
    s->n_members = n_models, s->n_tokens = models[0]->output.n_out, s->kernels = kernels;
    s->max_rows = max_rows, s->allowed = allowed, s->spelling = spelling;
    s->codebook = codebook, s->scans = yk_scans(yk_name(kernels));
    if (guide) s->guide = *guide;
    s->samples = samples;
    int stored = n_models > 1 || samples;
    s->waiting.end = &s->waiting.first, s->open.end = &s->open.first, s->finished.end = &s->finished.first;
    s->rows = allocate(max_rows * sizeof *s->rows), s->best = allocate(max_rows * sizeof *s->best);
    s->buffers = allocate(max_rows * sizeof *s->buffers);
    size_t size = (size_t)max_rows * s->n_tokens;
    if (stored) s->log_probs = allocate(size * sizeof *s->log_probs);
    if (n_models > 1) s->logits = allocate((size_t)FEW * s->n_tokens * sizeof *s->logits);
    if (samples) s->weights = allocate(s->n_tokens * sizeof *s->weights);
    if (samples) s->ids = allocate(s->n_tokens * sizeof *s->ids);
    int ok = s->rows && s->best && s->buffers && (!stored || s->log_probs) && (n_models < 2 || s->logits);
    if (ok && (!samples || (s->weights && s->ids))) return s;
    yk_free_session(s);
    return NULL;
}

API void yk_free_session(Session *s) {
    Queue *queues[] = {&s->waiting, &s->open, &s->finished};
    for (int i = 0; i < 3; i++)
        while (queues[i]->first) free_sentence(s, take_at(queues[i], &queues[i]->first));
    free_sentence(s, s->last);
    for (int i = 0; i < s->n_unused; i++) release(s->unused[i]);
    for (int i = 0; s->buffers && i < s->max_rows; i++) release(s->buffers[i].banned), release(s->buffers[i].allowed);
    release(s->unused), release(s->rows), release(s->best), release(s->buffers), release(s->logits);
    release(s->log_probs), release(s->candidates), release(s->ranked), release(s->flags), release(s->proposals);
    release(s->weights), release(s->ids);
    free_scratch(&s->scratch), release_distances(&s->distances);
    release(s);
}

/* ---- sentences ----------------------------------------------------------------------------- */

API int yk_search(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *prefix,
              int n_prefix, const Settings *settings, const Requirements *own) {
    Sentence *s = new_sentence(session, key, settings, source, n_source, prefix, n_prefix, own);
    if (!s) return 0;
    int in_source = repetitions(source, n_source), *repeats = &s->search.settings.repeats;
    if (*repeats && *repeats < in_source) *repeats = in_source;
    return 1;
}

API int yk_score(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *target,
             int n_target, const Record *record) {
    Settings settings = {.beam = 1, .n_best = 1, .limit = n_target, .margin = INFINITY};
    Requirements none = {0};
    Sentence *s = new_sentence(session, key, &settings, source, n_source, target, n_target, &none);
    if (s) s->is_scored = 1, s->record = *record;
    return s != NULL;
}

API int yk_cancel(Session *session, int64_t key) {
    Queue *queues[] = {&session->waiting, &session->open};
    for (int i = 0; i < 2; i++)
        for (Sentence **at = &queues[i]->first; *at; at = &(*at)->next) {
            if ((*at)->key != key) continue;
            if (i) session->n_rows -= (*at)->search.settings.beam;
            free_sentence(session, take_at(queues[i], at));
            return 1;
        }
    return 0;
}

API const Search *yk_next(Session *session, int64_t *key) {
    free_sentence(session, session->last);
    session->last = NULL;
    if (!session->finished.first) return NULL;
    session->last = take_at(&session->finished, &session->finished.first);
    *key = session->last->key;
    return &session->last->search;
}

/* ---- a step -------------------------------------------------------------------------------- */

/* Encode as many waiting sentences as there are rows for their hypotheses. */
static int admit(Session *session) {
    int32_t ids[ENCODED];
    int lengths[ENCODED], n = 0, n_positions = 0, longest = 0; /* source or translation */
    Sources *memories[ENCODED];
    float *weights[ENCODED];
    const int32_t *first = ids;
    for (Sentence *s; (s = session->waiting.first);) {
        int beam = s->search.settings.beam, fits = n_positions + s->n_source <= ENCODED;
        if (session->n_rows && session->n_rows + beam > session->max_rows) break;
        if (n && !fits) break;
        if (s->shortlist && !s->output) s->output = take_rows(&session->members->model->output, s->shortlist, s->n_shortlist);
        if (s->shortlist && !s->output) return 0;
        push(&session->open, take_at(&session->waiting, &session->waiting.first));
        session->n_rows += beam;
        longest = s->search.settings.limit > longest ? s->search.settings.limit : longest;
        lengths[n] = s->n_source, weights[n] = s->record.encoder, memories[n++] = s->memory;
        if (fits) memcpy(ids + n_positions, s->source, s->n_source * sizeof *ids);
        else first = s->source; /* longer than ENCODED, and alone */
        n_positions += s->n_source;
        if (!fits) break;
    }
    if (!n) return 1;
    longest = n_positions > longest ? n_positions : longest;
    if (!reserve(session, n_positions > session->n_rows ? n_positions : session->n_rows, longest)) return 0;
    for (int i = 0; i < session->n_members; i++)
        session->kernels->encode(&session->members[i], first, lengths, n, memories, weights,
                                 &session->scratch);
    return 1;
}

/* Record the hidden states of the sentences that request them. */
static void record_hidden(Session *session) {
    const float *x = session->scratch.x;
    size_t width = session->members[0].model->width;
    for (Sentence *s = session->open.first; s; x += s->n_rows * width, s = s->next)
        if (s->record.hidden) memcpy(s->record.hidden + s->search.length * width, x, width * sizeof *x);
}

/* Find what the states of similar segments predict for n rows whose hidden states are known. 0: out of memory. */
static int find_nearest(Session *session, int n) {
    const Codebook *codebook = session->codebook;
    Distances *d = &session->distances;
    int row = 0, most = 0;
    for (Sentence *s = session->open.first; s; s = s->next)
        if (s->states.n > most) most = s->states.n;
    if (!reserve_distances(codebook, n, most, d)) return 0;
    session->kernels->linear(codebook->axes, session->scratch.x, n, d->scores, &session->scratch);
    for (Sentence *s = session->open.first; s; s = s->next)
        for (int k = 0; k < s->n_rows; k++, row++) {
            const float *scores = d->scores + (size_t)row * codebook->n_components;
            Buffer *buffer = &session->buffers[row];
            Best *best = &session->best[row];
            uint8_t *codes = s->record.codes;
            if (codes) encode_state(codebook, scores, codes + (size_t)s->search.length * (codebook->n_components / 2));
            buffer->near.weight = 0.0;
            if (!s->states.n || !best->wanted || s->is_scored) continue;
            buffer->near = nearest(codebook, session->scans, &s->states, scores, d);
            buffer->n_probes = best->n_probes;
            if (buffer->near.weight > 0.0) probe_nearest(&buffer->near, best, buffer->all_probes);
        }
    return 1;
}

/* Mix the predictions of n rows with those of similar segments. */
static void mix_nearest(Session *session, int n) {
    for (int row = 0; row < n; row++) {
        Buffer *buffer = &session->buffers[row];
        Best *best = &session->best[row];
        if (buffer->near.weight > 0.0) mix_in(&buffer->near, best, buffer->probes, buffer->n_probes);
    }
}

/* The output layer of a model. Sentences without shortlists are computed together. */
static void predict_rows(Session *session, const Model *m) {
    int first = 0;
    for (Sentence *s = session->open.first, *next; s; s = next) {
        int n = s->n_rows;
        for (next = s->next; next && !s->output && !next->output; next = next->next) n += next->n_rows;
        session->kernels->predict(s->output ? s->output : &m->output, first, n, session->best, &session->scratch);
        first += n;
    }
}

/* Compute what the searches request of n rows. 0: out of memory. */
static int predict(Session *session, int n) {
    for (int i = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        session->kernels->decode(&session->members[i], session->rows, n, &session->scratch);
        record_hidden(session);
        if (codebook_of(session) && !find_nearest(session, n)) return 0;
        if (session->log_probs)
            session->kernels->mean(m, i, session->n_members, n, session->best, session->log_probs, session->logits,
                                   &session->scratch);
        else predict_rows(session, m);
    }
    if (codebook_of(session)) mix_nearest(session, n);
    return 1;
}

/* Decode a position of every open sentence; the result is that of `yk_advance`. */
static int step(Session *session) {
    int n = 0, row = 0;
    if (!admit(session)) return -1;
    for (Sentence *s = session->open.first; s; s = s->next) {
        if (!write_rows(session, s, n)) return -1;
        n += s->n_rows;
    }
    if (n && !predict(session, n)) return -1;
    for (Sentence **at = &session->open.first, *s; (s = *at);) {
        int n_rows = s->n_rows;
        if (!extend(session, s, row)) return -1;
        row += n_rows;
        if (can_improve(&s->search)) {
            if (s->search.length % SWEEP == 0) sweep(session, s);
            at = &s->next;
            continue;
        }
        session->n_rows -= s->search.settings.beam;
        push(&session->finished, take_at(&session->open, at));
    }
    return session->open.first || session->waiting.first;
}

static double now(void) {
    struct timespec t = {0};
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

API int yk_advance(Session *session, double seconds) {
    double start = now(), passed; /* negative if the clock is set back */
    int more;
    do more = step(session), passed = now() - start;
    while (more > 0 && 0 <= passed && passed < seconds);
    return more;
}
