/* See session.h. */

#include "session.h"

#include <math.h>
#include <string.h>

#include "memory.h"

enum {
    ENCODED = 512, /* positions that are encoded together, unless one sentence has more */
    WANTED = 2 * MAX_BEAM, /* maximum number of best tokens of a row */
    LONGEST = 4, /* bytes of a character */
    SWEEP = 16,  /* steps between two searches for blocks that no hypothesis has */
};

typedef struct Sentence {
    struct Sentence *next;
    int64_t key;
    Search search;
    int n_source, n_given, guided, is_scored;
    int32_t *source, *given; /* `given`: the prefix or the target (n_given) */
    Record record;
    Sources *memory; /* (layers of all members) */
    float **blocks;  /* all keys and values of its hypotheses */
    int n_blocks;
    void *arrays[4]; /* what the pointers above point into */
} Sentence;

typedef struct { Sentence *first, **end; } Queue;

/* Working memory of a row. */
typedef struct {
    float values[WANTED], probed[PROPOSALS];
    int32_t ids[WANTED], probes[PROPOSALS], *banned;
    uint8_t *allowed;
    int capacity; /* of `banned` */
} Buffer;

struct Session {
    Member members[MAX_MEMBERS];
    int n_members, n_layers, n_tokens;
    size_t block_size;
    const Kernels *kernels;
    const uint8_t *allowed;
    const Spelling *spelling;
    Guide guide;
    int max_rows, n_rows; /* `n_rows`: of the open sentences, at most */
    Queue waiting, open, finished;
    Sentence *last;  /* returned by yk_next */
    float **unused;  /* blocks for the keys and values of a position */
    int n_unused, n_blocks, capacity;
    Scratch scratch;
    int scratch_rows, scratch_length;
    float *logits; /* (members, rows, tokens), if they are stored: of an ensemble, or to be sampled */
    Row *rows;     /* (max_rows) */
    Best *best;
    Buffer *buffers;
    Candidate *candidates; /* (MAX_BEAM, WANTED + PROPOSALS) of a guided sentence */
    uint8_t *flags;        /* (MAX_BEAM, tokens) of a guided sentence */
    int32_t *proposals;    /* (MAX_BEAM, PROPOSALS) */
};

/* ---- queues and memory --------------------------------------------------------------------- */

static void push(Queue *queue, Sentence *s) {
    s->next = NULL;
    *queue->end = s, queue->end = &s->next;
}

static Sentence *take_at(Queue *queue, Sentence **at) {
    Sentence *s = *at;
    *at = s->next;
    if (queue->end == &s->next) queue->end = at;
    return s;
}

static float *take_block(Session *session) {
    if (session->n_unused) return session->unused[--session->n_unused];
    if (session->n_blocks == session->capacity) {
        int capacity = 2 * session->capacity + 64;
        float **unused = allocate(capacity * sizeof *unused); /* room for all blocks; none is unused */
        if (!unused) return NULL;
        release(session->unused);
        session->unused = unused, session->capacity = capacity;
    }
    float *block = allocate(session->block_size * sizeof *block);
    session->n_blocks += block != NULL;
    return block;
}

/* Return the blocks that no open hypothesis of a sentence has. The end of a block holds a mark. */
static void sweep(Session *session, Sentence *s) {
    const Search *search = &s->search;
    size_t mark = session->block_size - 1;
    int n_kept = 0;
    for (int i = 0; i < s->n_blocks; i++) s->blocks[i][mark] = 0.0f;
    for (int k = 0; k < search->n_open; k++)
        for (int t = 0; t < search->length; t++) search->open[k].cache[t][mark] = 1.0f;
    for (int i = 0; i < s->n_blocks; i++)
        if (s->blocks[i][mark] > 0.0f) s->blocks[n_kept++] = s->blocks[i];
        else session->unused[session->n_unused++] = s->blocks[i];
    s->n_blocks = n_kept;
}

static void free_sentence(Session *session, Sentence *s) {
    if (!s) return;
    for (int i = 0; i < s->n_blocks; i++) session->unused[session->n_unused++] = s->blocks[i];
    for (size_t i = 0; i < sizeof s->arrays / sizeof *s->arrays; i++) release(s->arrays[i]);
    release(s);
}

/* Memory for the hypotheses of a sentence whose settings are known. */
static int allocate_search(Sentence *s) {
    Search *search = &s->search;
    int beam = search->settings.beam, n = 2 * beam, limit = search->settings.limit, n_best = search->settings.n_best;
    size_t n_tokens = (size_t)(n + n_best) * limit + s->n_source + s->n_given + (size_t)n * MAX_PERIOD;
    int32_t *tokens = s->arrays[0] = allocate(n_tokens * sizeof *tokens);
    float **cache = s->arrays[1] = allocate((size_t)(n + beam) * limit * sizeof *cache);
    Hypothesis *hypotheses = s->arrays[2] = allocate(n * sizeof *hypotheses + n_best * sizeof *search->found);
    if (!tokens || !cache || !hypotheses) return 0;
    search->open = hypotheses, search->spare = hypotheses + beam;
    search->found = (Finished *)(hypotheses + n);
    for (int i = 0; i < n_best; i++, tokens += limit) search->found[i].tokens = tokens;
    for (int k = 0; k < n; k++, tokens += limit, cache += limit)
        hypotheses[k].tokens = tokens, hypotheses[k].cache = cache;
    for (int k = 0; k < n; k++, tokens += MAX_PERIOD) hypotheses[k].runs = tokens;
    s->source = tokens, s->given = tokens + s->n_source, s->blocks = cache;
    return 1;
}

/* Memory for the keys and values of the source. */
static int allocate_memory(const Session *session, Sentence *s) {
    size_t size = 0;
    for (int i = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        int h = m->config.n_heads;
        size += m->config.n_decoder_layers * sources_size(s->n_source, h, m->key_width / h, m->value_width / h);
    }
    size_t of_sources = (session->n_layers * sizeof(Sources) + 63) / 64 * 64;
    char *memory = s->arrays[3] = allocate(of_sources + size * sizeof(float));
    if (!memory) return 0;
    s->memory = (Sources *)memory;
    float *at = (float *)(memory + of_sources);
    for (int i = 0, l = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        int h = m->config.n_heads, d_k = m->key_width / h, d_v = m->value_width / h;
        for (int own = 0; own < m->config.n_decoder_layers; own++, l++) {
            float *values = at + sources_size(s->n_source, h, d_k, 0);
            s->memory[l] = (Sources){s->n_source, h, d_k, d_v, at, values};
            at += sources_size(s->n_source, h, d_k, d_v);
        }
    }
    return 1;
}

/* ---- a session ----------------------------------------------------------------------------- */

static void free_scratch(Scratch *s) {
    float *all[] = {s->x, s->y, s->wide, s->heads, s->scores, s->keys, s->logits, s->q.low, s->q.step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) release(all[i]);
    release(s->q.bytes);
    *s = (Scratch){0};
}

/* Working memory for n rows and sentences of `length` positions. */
static int reserve(Session *session, int n, int length) {
    Scratch *s = &session->scratch;
    if (n <= session->scratch_rows && length <= session->scratch_length) return 1;
    n = n > session->scratch_rows ? n : session->scratch_rows;
    length = length > session->scratch_length ? length : session->scratch_length;
    size_t width = 0, wide = 0, heads = 0, keys = 0, rows = n, positions = (length + 15) / 16 * 16;
    size_t scores = QUERIES * positions; /* of source positions, or of all target positions if these are more */
    for (int i = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        size_t qkv = 2 * m->key_width + m->value_width, inner = m->inner_width;
        width = (size_t)m->width > width ? (size_t)m->width : width;
        wide = qkv > wide ? qkv : wide, wide = inner > wide ? inner : wide;
        heads = (size_t)m->value_width > heads ? (size_t)m->value_width : heads;
        keys = qkv > keys ? qkv : keys;
        size_t targets = (m->config.n_positions + 15) / 16 * 16;
        scores = targets > scores ? targets : scores;
    }
    size_t most = width > wide ? width : wide;
    most = heads > most ? heads : most;
    free_scratch(s);
    s->x = allocate(rows * width * 4), s->y = allocate(rows * width * 4);
    s->wide = allocate(rows * wide * 4), s->heads = allocate(rows * heads * 4);
    s->scores = allocate(scores * 4), s->keys = allocate(positions * keys * 4);
    s->logits = allocate(rows * BLOCK * 4);
    s->q = (Quantised){allocate(rows * most), allocate(rows * 4), allocate(rows * 4)};
    int ok = s->x && s->y && s->wide && s->heads && s->scores && s->keys && s->logits && s->q.bytes && s->q.low &&
             s->q.step;
    session->scratch_rows = ok ? n : 0, session->scratch_length = ok ? length : 0;
    return ok;
}

API Session *yk_session(const Model *const *models, int n_models, const Kernels *kernels, int max_rows,
                    const uint8_t *allowed, const Spelling *spelling, const Guide *guide) {
    Session *s = allocate(sizeof *s);
    if (!s) return NULL;
    for (int i = 0; i < n_models; i++) {
        const Model *m = models[i];
        s->members[i] = (Member){m, s->block_size, s->n_layers};
        s->block_size += (size_t)m->config.n_decoder_layers * (m->key_width + m->value_width) + 16;
        s->n_layers += m->config.n_decoder_layers;
    }
    s->n_members = n_models, s->n_tokens = models[0]->output.n_out, s->kernels = kernels;
    s->max_rows = max_rows, s->allowed = allowed, s->spelling = spelling;
    if (guide) s->guide = *guide;
    int stored = n_models > 1 || s->guide.draw;
    s->waiting.end = &s->waiting.first, s->open.end = &s->open.first, s->finished.end = &s->finished.first;
    s->rows = allocate(max_rows * sizeof *s->rows), s->best = allocate(max_rows * sizeof *s->best);
    s->buffers = allocate(max_rows * sizeof *s->buffers);
    if (stored) s->logits = allocate((size_t)n_models * max_rows * s->n_tokens * sizeof *s->logits);
    int ok = s->rows && s->best && s->buffers && (!stored || s->logits);
    if (ok && reserve(s, max_rows > ENCODED ? max_rows : ENCODED, ENCODED)) return s;
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
    release(s->candidates), release(s->flags), release(s->proposals);
    free_scratch(&s->scratch);
    release(s);
}

/* ---- admission of sentences ----------------------------------------------------------------- */

static Sentence *new_sentence(Session *session, int64_t key, const Settings *settings, const int32_t *source,
                              int n_source, const int32_t *given, int n_given) {
    int most = session->members[0].model->config.n_positions;
    if (settings->beam > session->max_rows || settings->beam > MAX_BEAM) return NULL;
    if (n_source < 1 || n_source > most || settings->limit < 1 || settings->limit > most) return NULL;
    Sentence *s = allocate(sizeof *s);
    if (!s) return NULL;
    s->key = key, s->n_source = n_source, s->n_given = n_given, s->search.settings = *settings;
    if (!allocate_search(s) || !allocate_memory(session, s)) return free_sentence(session, s), NULL;
    s->search.n_open = session->guide.draw ? settings->beam : 1;
    memcpy(s->source, source, n_source * sizeof *source);
    if (n_given) memcpy(s->given, given, n_given * sizeof *given);
    push(&session->waiting, s);
    return s;
}

API int yk_search(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *prefix,
              int n_prefix, const Settings *settings, int guided) {
    Sentence *s = new_sentence(session, key, settings, source, n_source, prefix, n_prefix);
    if (!s) return 0;
    int in_source = repetitions(source, n_source), *repeats = &s->search.settings.repeats;
    if (*repeats && *repeats < in_source) *repeats = in_source;
    s->guided = guided;
    return 1;
}

API int yk_score(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *target,
             int n_target, const Record *record) {
    Settings settings = {.beam = 1, .n_best = 1, .limit = n_target, .margin = INFINITY};
    Sentence *s = new_sentence(session, key, &settings, source, n_source, target, n_target);
    if (s) s->is_scored = 1, s->record = *record;
    return s != NULL;
}

/* Encode the next sentences, as far as there are rows for their hypotheses. */
static int admit(Session *session) {
    int32_t ids[ENCODED];
    int lengths[ENCODED], n = 0, n_positions = 0;
    Sources *memories[ENCODED];
    float *weights[ENCODED];
    const int32_t *first = ids;
    for (Sentence *s; (s = session->waiting.first);) {
        int beam = s->search.settings.beam, fits = n_positions + s->n_source <= ENCODED;
        if (session->n_rows && session->n_rows + beam > session->max_rows) break;
        if (n && !fits) break;
        push(&session->open, take_at(&session->waiting, &session->waiting.first));
        session->n_rows += beam;
        lengths[n] = s->n_source, weights[n] = s->record.encoder, memories[n++] = s->memory;
        if (fits) memcpy(ids + n_positions, s->source, s->n_source * sizeof *ids);
        else first = s->source; /* longer than ENCODED, and alone */
        n_positions += s->n_source;
        if (!fits) break;
    }
    if (!n) return 1;
    if (!reserve(session, n_positions, n_positions)) return 0;
    for (int i = 0; i < session->n_members; i++)
        session->kernels->encode(&session->members[i], first, lengths, n, memories, weights,
                                 &session->scratch);
    return 1;
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

/* ---- what may follow ----------------------------------------------------------------------- */

/* Flags of a row that differ from the session's. */
static uint8_t *own_flags(const Session *session, Buffer *buffer) {
    if (!buffer->allowed) buffer->allowed = allocate(session->n_tokens);
    if (buffer->allowed) memcpy(buffer->allowed, session->allowed, session->n_tokens);
    return buffer->allowed;
}

static int n_bytes(int first) { return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

/* Let bytes spell whole characters only; see search/characters.py. */
static const uint8_t *spelled(const Session *session, const Hypothesis *h, int left, Buffer *buffer) {
    const Spelling *spelling = session->spelling;
    if (!spelling || (!h->node && left > LONGEST)) return session->allowed;
    uint8_t *flags = own_flags(session, buffer);
    if (!flags) return NULL;
    if (h->node) memset(flags, 0, session->n_tokens);
    for (int byte = 0; byte < 256; byte++) {
        int fits = h->node || n_bytes(byte) < left;
        flags[spelling->tokens[byte]] = fits && spelling->next[h->node * 256 + byte] >= 0;
    }
    return flags;
}

/* Collect the tokens that the limits on repetition ban; the unknown token is exempt. */
static int banned_tokens(const Session *session, const Search *search, const Hypothesis *h, int32_t *ids) {
    int n = 0, n_all = repeated(search, h, ids), unk = session->members[0].model->config.unk;
    for (int i = 0; i < n_all; i++)
        if (ids[i] != unk) ids[n++] = ids[i];
    return n;
}

/* Complete the request for the best tokens of hypothesis k. */
static int restrict_row(Session *session, Sentence *s, const Hypothesis *h, Best *best, Buffer *buffer) {
    Search *search = &s->search;
    int capacity = MAX_PERIOD + search->length, left = search->settings.limit - search->length;
    int limited = search->settings.repeats || search->settings.no_repeat_ngram;
    if (limited && buffer->capacity < capacity) {
        release(buffer->banned);
        buffer->capacity = 2 * capacity, buffer->banned = allocate(2 * capacity * sizeof *buffer->banned);
        if (!buffer->banned) {
            buffer->capacity = 0;
            return 0;
        }
    }
    best->banned = buffer->banned, best->n_banned = limited ? banned_tokens(session, search, h, buffer->banned) : 0;
    best->allowed = s->guided ? session->allowed : spelled(session, h, left, buffer);
    return best->allowed != NULL;
}

/* Whether a token may follow that is not banned. */
static int has_choice(const Session *session, const Best *best) {
    int n = 0;
    for (int id = 0; id < session->n_tokens; id++) n += best->allowed[id];
    for (int i = 0; i < best->n_banned; i++) {
        int is_counted = 0;
        for (int j = 0; j < i; j++) is_counted |= best->banned[j] == best->banned[i];
        if (!is_counted) n -= best->allowed[best->banned[i]];
    }
    return n > 0;
}

/* Let the guide restrict the hypotheses of a sentence, and probe the tokens that it proposes. The
   limits on repetition do not apply where they leave no token to a sentence with a goal. */
static int ask_guide(Session *session, Sentence *s, int row) {
    const Search *search = &s->search;
    size_t n = search->n_open, size = session->n_tokens;
    int left = search->settings.limit - search->length, eos = session->members[0].model->config.eos;
    if (!session->flags) session->flags = allocate(MAX_BEAM * size);
    if (!session->proposals) session->proposals = allocate(MAX_BEAM * PROPOSALS * sizeof *session->proposals);
    if (!session->flags || !session->proposals) return 0;
    for (size_t k = 0; k < n; k++) {
        memcpy(session->flags + k * size, session->best[row + k].allowed, size);
        session->proposals[k * PROPOSALS] = -1; /* none, if the guide fails */
    }
    session->guide.restrict_(s->key, n, left, session->flags, session->proposals);
    for (size_t k = 0; k < n; k++) {
        Best *best = &session->best[row + k];
        Buffer *buffer = &session->buffers[row + k];
        uint8_t *flags = own_flags(session, buffer);
        if (!flags) return 0;
        best->allowed = memcpy(flags, session->flags + k * size, size);
        for (size_t id = 0; left == 1 && id < size; id++) flags[id] &= id == (size_t)eos;
        /* Samples have no proposals: `extend` regards a probed token as a given one. */
        const int32_t *p = session->guide.draw ? NULL : session->proposals + k * PROPOSALS;
        for (; p && best->n_probes < PROPOSALS && *p >= 0; p++) buffer->probes[best->n_probes++] = *p;
        if (s->guided == WITH_GOAL && !has_choice(session, best)) best->n_banned = 0;
    }
    return 1;
}

/* Where the attention weights of position t are recorded. */
static Weights weights_at(const Session *session, const Sentence *s, int t) {
    const Config *config = &session->members[0].model->config;
    size_t n = (size_t)t * config->n_decoder_layers * config->n_heads;
    float *decoder = s->record.decoder, *cross = s->record.cross;
    return (Weights){decoder ? decoder + n * s->n_given : NULL, cross ? cross + n * s->n_source : NULL, s->n_given};
}

/* The rows of a sentence's hypotheses. */
static int write_rows(Session *session, Sentence *s, int row) {
    Search *search = &s->search;
    int t = search->length;
    int eos = session->members[0].model->config.eos;
    int is_last = t + 1 == search->settings.limit;
    int forced = t < s->n_given ? s->given[t] : is_last && !s->guided ? eos : -1;
    for (int k = 0; k < search->n_open; k++, row++) {
        Hypothesis *h = &search->open[k];
        Buffer *buffer = &session->buffers[row];
        float *block = take_block(session);
        if (!block) return 0;
        h->cache[t] = s->blocks[s->n_blocks++] = block;
        session->rows[row] = (Row){t ? h->tokens[t - 1] : -1, t, h->cache, s->memory, weights_at(session, s, t)};
        Best *best = &session->best[row];
        *best = (Best){.logits = buffer->values, .ids = buffer->ids, .largest = -INFINITY, .allowed = session->allowed,
                       .probes = buffer->probes, .probed = buffer->probed};
        if (s->is_scored) best->allowed = NULL, best->wanted = s->record.n_alternatives;
        if (forced >= 0) best->n_probes = 1, buffer->probes[0] = forced;
        else if (!session->guide.draw) best->wanted = n_wanted(search);
        if (forced < 0 && !restrict_row(session, s, h, best, buffer)) return 0;
    }
    return forced >= 0 || !s->guided || ask_guide(session, s, row - search->n_open);
}


/* ---- a step -------------------------------------------------------------------------------- */

/* Record the given token and its alternatives. */
static void record(const Sentence *s, const Best *best) {
    const Record *to = &s->record;
    int t = s->search.length, n = to->n_alternatives;
    double norm = log_norm(best);
    to->log_probs[t] = (double)best->probed[0] - norm;
    for (int i = 0; i < best->n; i++) {
        to->alternatives[t * n + i] = best->ids[i];
        to->of_alternatives[t * n + i] = (double)best->logits[i] - norm;
    }
}

/* Log-probabilities of hypothesis k extended by its probed tokens. */
static int add_probed(const Search *search, const Best *best, int k, Candidate *out) {
    double before = search->open[k].log_prob - log_norm(best);
    for (int i = 0; i < best->n_probes; i++)
        out[i] = (Candidate){before + (double)best->probed[i], k, best->probes[i]};
    return best->n_probes;
}

/* An extension of each hypothesis, drawn from the stored logits of `row`. */
static int draw(Session *session, Sentence *s, int row, Candidate *out) {
    const Search *search = &s->search;
    int n = search->n_open, size = session->n_tokens;
    float *logits = session->logits + (size_t)row * size;
    int32_t ids[MAX_BEAM] = {0}; /* if the guide fails */
    for (int k = 0; k < n; k++) {
        const Best *best = &session->best[row + k];
        float *own = logits + (size_t)k * size;
        for (int id = 0; id < size; id++)
            if (!best->allowed[id]) own[id] = -INFINITY;
        for (int i = 0; i < best->n_banned; i++) own[best->banned[i]] = -INFINITY;
    }
    session->guide.draw(s->key, n, search->length, logits, ids);
    for (int k = 0; k < n; k++) {
        double before = search->open[k].log_prob - log_norm(&session->best[row + k]);
        out[k] = (Candidate){before + (double)logits[(size_t)k * size + ids[k]], k, ids[k]};
    }
    return n;
}

/* All best and all proposed extensions of a sentence; returns their number. */
static int all_extensions(Session *session, const Search *search, const Best *best) {
    Candidate *out = session->candidates;
    for (int k = 0; k < search->n_open; k++) {
        double before = search->open[k].log_prob - log_norm(&best[k]);
        for (int i = 0; i < best[k].n; i++)
            *out++ = (Candidate){before + (double)best[k].logits[i], k, best[k].ids[i]};
        Candidate probed[PROPOSALS];
        int n = add_probed(search, &best[k], k, probed);
        for (int i = 0; i < n; i++) {
            int known = !may_follow(&best[k], probed[i].id);
            for (int j = 0; j < best[k].n; j++) known = known || best[k].ids[j] == probed[i].id;
            if (!known) *out++ = probed[i];
        }
    }
    return out - session->candidates;
}

/* Tell the guide, or else the spelling, which hypotheses are open now. */
static void tell(Session *session, Sentence *s, const int32_t *beams) {
    Search *search = &s->search;
    int32_t ids[MAX_BEAM];
    for (int k = 0; k < search->n_open; k++) {
        Hypothesis *h = &search->open[k];
        ids[k] = h->tokens[search->length - 1];
        int byte = session->spelling && !s->guided ? session->spelling->byte_of[ids[k]] : -1;
        int node = byte < 0 ? 0 : session->spelling->next[h->node * 256 + byte];
        h->node = node > 0 ? node : 0; /* -1: a prefix spells what the search may not */
    }
    if (s->guided) session->guide.follow(s->key, search->n_open, beams, ids);
}

/* Extend the hypotheses of a sentence, whose results are at `row`. */
static int extend(Session *session, Sentence *s, int row) {
    Search *search = &s->search;
    const Best *best = &session->best[row];
    Candidate chosen[WANTED], *candidates = chosen;
    int32_t beams[MAX_BEAM];
    int n = 0;
    if (s->is_scored || (best->n_probes && !best->wanted)) { /* the token is given */
        for (int k = 0; k < search->n_open; k++) n += add_probed(search, &best[k], k, candidates + n);
        if (s->is_scored) record(s, best);
    } else if (session->guide.draw) {
        n = draw(session, s, row, candidates);
    } else if (s->guided == WITH_GOAL) {
        size_t size = (size_t)MAX_BEAM * (WANTED + PROPOSALS) * sizeof *candidates;
        if (!session->candidates) session->candidates = allocate(size);
        if (!(candidates = session->candidates)) return 0;
        n = all_extensions(session, search, best);
        session->guide.order(s->key, n, candidates);
        n = n < n_wanted(search) ? n : n_wanted(search);
    } else n = best_extensions(search, best, candidates);
    follow(search, candidates, n, session->members[0].model->config.eos, beams);
    tell(session, s, beams);
    return 1;
}

/* What the search asks for in n rows. */
static void predict(Session *session, int n) {
    size_t size = (size_t)n * session->n_tokens;
    for (int i = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        session->kernels->decode(&session->members[i], session->rows, n, &session->scratch);
        if (session->logits) session->kernels->logits(m, n, session->logits + i * size, &session->scratch);
        else session->kernels->predict(m, n, session->best, &session->scratch);
    }
    if (session->n_members > 1)
        session->kernels->average(session->logits, session->n_members, n, session->n_tokens);
    if (session->logits) session->kernels->predict_stored(session->logits, n, session->n_tokens, session->best);
}

/* Decode a position of every open sentence; the result is that of `yk_advance`. */
static int step(Session *session) {
    int n = 0, row = 0;
    if (!admit(session)) return -1;
    for (Sentence *s = session->open.first; s; s = s->next) {
        if (!write_rows(session, s, n)) return -1;
        n += s->search.n_open;
    }
    if (n) predict(session, n);
    for (Sentence **at = &session->open.first, *s; (s = *at);) {
        int n_rows = s->search.n_open;
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

API int yk_advance(Session *session, int steps) {
    int more = 1;
    while (steps-- && more > 0) more = step(session);
    return more;
}

API const Search *yk_next(Session *session, int64_t *key) {
    free_sentence(session, session->last);
    session->last = NULL;
    if (!session->finished.first) return NULL;
    session->last = take_at(&session->finished, &session->finished.first);
    *key = session->last->key;
    return &session->last->search;
}
