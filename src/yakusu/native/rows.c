/* What a session requests of the kernels: a row for each hypothesis, with the tokens that may follow. */

#include <math.h>
#include <string.h>

#include "memory.h"
#include "state.h"

enum { LONGEST = 4 }; /* bytes of a character */

uint8_t *own_flags(const Session *session, Buffer *buffer) {
    if (!buffer->allowed) buffer->allowed = allocate(session->n_tokens);
    if (buffer->allowed) memcpy(buffer->allowed, session->allowed, session->n_tokens);
    return buffer->allowed;
}

static int n_bytes(int first) { return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

/* Allow only bytes that spell complete, known characters; see search/characters.py. */
static void spell(const Spelling *spelling, const Hypothesis *h, int left, uint8_t *flags, size_t n_tokens) {
    if (h->node) memset(flags, 0, n_tokens);
    for (int byte = 0; byte < 256; byte++) {
        int fits = h->node || n_bytes(byte) < left;
        flags[spelling->tokens[byte]] = fits && spelling->next[h->node * 256 + byte] >= 0;
    }
}

/* Allow the required tokens that are missing, only them once there is no room for others, and no eos
   before them; see search/slots.py. They may interrupt a character that cannot be completed. */
static void allow_missing(const Hypothesis *h, int left, int eos, uint8_t *flags, size_t n_tokens) {
    if (!h->n_missing) return;
    flags[eos] = 0;
    if (h->n_missing >= left - 1) memset(flags, 0, n_tokens);
    if (h->node && memchr(flags, 1, n_tokens)) return;
    for (int i = 0; i < h->n_missing; i++) flags[h->missing[i]] = 1;
}

/* At the maximum length, only eos may follow. */
static void end(int eos, uint8_t *flags, size_t n_tokens) {
    uint8_t may_end = flags[eos];
    memset(flags, 0, n_tokens), flags[eos] = may_end;
}

/* The tokens that may follow a hypothesis that no guide restricts; NULL: out of memory. */
static const uint8_t *allowed_tokens(const Session *session, const Sentence *s, const Hypothesis *h, Buffer *buffer) {
    int left = s->search.settings.limit - s->search.length, eos = session->members[0].model->config.eos;
    int spells = s->spelling.next != NULL, room = left - h->n_missing; /* for other tokens than the missing ones */
    if (s->is_plain && (!spells || (!h->node && left > LONGEST))) return session->allowed;
    uint8_t *flags = own_flags(session, buffer);
    if (!flags) return NULL;
    if (spells) spell(&s->spelling, h, room, flags, session->n_tokens);
    allow_missing(h, left, eos, flags, session->n_tokens);
    if (left == 1) end(eos, flags, session->n_tokens);
    return flags;
}

/* Collect the tokens that the limits on repetition ban; the unknown token is exempt. */
static int banned_tokens(const Session *session, const Search *search, const Hypothesis *h, int32_t *ids) {
    int n = 0, n_all = repeated(search, h, ids), unk = session->members[0].model->config.unk;
    for (int i = 0; i < n_all; i++)
        if (ids[i] != unk) ids[n++] = ids[i];
    return n;
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

/* Complete the request for the best tokens of a hypothesis. The limits on repetition do not apply where
   they leave no token to a sentence that requires tokens. */
static int restrict_row(Session *session, Sentence *s, const Hypothesis *h, Best *best, Buffer *buffer) {
    Search *search = &s->search;
    int capacity = MAX_PERIOD + search->length;
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
    best->allowed = s->guided ? session->allowed : allowed_tokens(session, s, h, buffer);
    if (!best->allowed) return 0;
    if (h->n_missing && !session->samples) best->n_probes = 1, buffer->probes[0] = h->missing[0];
    if (search->n_required && best->n_banned && !has_choice(session, best)) best->n_banned = 0;
    return 1;
}

/* Let the guide restrict the hypotheses of a sentence, and probe the tokens that it proposes. */
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
        if (left == 1) end(eos, flags, size);
        /* Samples have no proposals: `extend` regards a probed token as a given one. */
        const int32_t *p = session->samples ? NULL : session->proposals + k * PROPOSALS;
        for (; p && best->n_probes < PROPOSALS && *p >= 0; p++) buffer->probes[best->n_probes++] = *p;
        if (s->guided == WITH_GOAL && best->n_banned && !has_choice(session, best)) best->n_banned = 0;
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

int write_rows(Session *session, Sentence *s, int row) {
    Search *search = &s->search;
    int t = search->length;
    int eos = session->members[0].model->config.eos;
    int is_last = t + 1 == search->settings.limit;
    int forced = t < s->n_given ? s->given[t] : is_last && s->is_plain ? eos : -1;
    s->n_rows = 0;
    for (int k = 0; k < search->n_open; k++) {
        Hypothesis *h = &search->open[k];
        int own = row + h->row;
        if (h->row < s->n_rows) { /* that of an equal sample */
            h->cache[t] = session->rows[own].cache[t];
            continue;
        }
        s->n_rows++;
        Buffer *buffer = &session->buffers[own];
        float *block = take_block(session);
        if (!block) return 0;
        h->cache[t] = s->blocks[s->n_blocks++] = block;
        session->rows[own] = (Row){h->tokens, t, h->cache, s->memory, weights_at(session, s, t)};
        Best *best = &session->best[own];
        *best = (Best){.logits = buffer->values, .ids = buffer->ids, .largest = -INFINITY, .allowed = session->allowed,
                       .probes = buffer->probes, .probed = buffer->probed, .tokens = s->shortlist,
                       .n_tokens = s->n_shortlist};
        if (s->is_scored) best->allowed = NULL, best->wanted = s->record.n_alternatives;
        if (forced >= 0) best->n_probes = 1, buffer->probes[0] = forced;
        else if (!session->samples) best->wanted = n_wanted(search);
        if (forced < 0 && !restrict_row(session, s, h, best, buffer)) return 0;
    }
    return forced >= 0 || !s->guided || ask_guide(session, s, row);
}
