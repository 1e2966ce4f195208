/* Sentences of a session, and their memory. */

#include <string.h>

#include "memory.h"
#include "pack.h"
#include "state.h"

void push(Queue *queue, Sentence *s) {
    s->next = NULL;
    *queue->end = s, queue->end = &s->next;
}

Sentence *take_at(Queue *queue, Sentence **at) {
    Sentence *s = *at;
    *at = s->next;
    if (queue->end == &s->next) queue->end = at;
    return s;
}

/* ---- blocks of keys and values -------------------------------------------------------------- */

float *take_block(Session *session) {
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

/* The end of a block holds a mark. */
void sweep(Session *session, Sentence *s) {
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

/* ---- a sentence ---------------------------------------------------------------------------- */

void free_sentence(Session *session, Sentence *s) {
    if (!s) return;
    for (int i = 0; i < s->n_blocks; i++) session->unused[session->n_unused++] = s->blocks[i];
    for (size_t i = 0; i < sizeof s->arrays / sizeof *s->arrays; i++) release(s->arrays[i]);
    yk_free_matrix(s->output), release(s->shortlist), release_blocks(&s->states);
    release(s->search.trace), release(s);
}

/* Memory for the hypotheses of a sentence whose settings are known. */
static int allocate_search(Sentence *s) {
    Search *search = &s->search;
    int beam = search->settings.beam, n = 2 * beam, limit = search->settings.limit, n_best = search->settings.n_best;
    size_t of_each = MAX_PERIOD + (size_t)search->n_required;
    size_t n_tokens = (size_t)(n + n_best) * limit + s->n_source + s->n_given + n * of_each;
    int32_t *tokens = s->arrays[0] = allocate(n_tokens * sizeof *tokens);
    float **cache = s->arrays[1] = allocate((size_t)(n + beam) * limit * sizeof *cache);
    Hypothesis *hypotheses = s->arrays[2] = allocate(n * sizeof *hypotheses + n_best * sizeof *search->found);
    double *path = s->arrays[4] = allocate((size_t)(n + n_best) * limit * sizeof *path);
    if (!tokens || !cache || !hypotheses || !path) return 0;
    search->open = hypotheses, search->spare = hypotheses + beam;
    search->found = (Finished *)(hypotheses + n);
    for (int i = 0; i < n_best; i++, tokens += limit, path += limit)
        search->found[i].tokens = tokens, search->found[i].path = path;
    for (int k = 0; k < n; k++, tokens += limit, cache += limit, path += limit)
        hypotheses[k].tokens = tokens, hypotheses[k].cache = cache, hypotheses[k].path = path;
    for (int k = 0; k < n; k++, tokens += of_each)
        hypotheses[k].runs = tokens, hypotheses[k].missing = tokens + MAX_PERIOD;
    s->source = tokens, s->given = tokens + s->n_source, s->blocks = cache;
    return 1;
}

static int copy_shortlist(Sentence *s, const Requirements *own) {
    size_t size = own->n_shortlist * sizeof *own->shortlist;
    if (!own->shortlist) return 1;
    if (!(s->shortlist = allocate(size))) return 0;
    memcpy(s->shortlist, own->shortlist, size), s->n_shortlist = own->n_shortlist;
    return 1;
}

static int copy_sampling(Sentence *s, const Sampling *sampling) {
    size_t size = (size_t)s->search.settings.beam * s->search.settings.limit * sizeof *sampling->uniform;
    double *uniform = s->arrays[5] = allocate(size);
    if (!uniform) return 0;
    s->sampling = *sampling, s->sampling.uniform = memcpy(uniform, sampling->uniform, size);
    return 1;
}

/* Memory for the keys and values of the source. */
static int allocate_memory(const Session *session, Sentence *s) {
    size_t size = session->block_size * s->n_source, of_layers = (session->n_layers * sizeof(Sources) + 63) / 64 * 64;
    char *memory = s->arrays[3] = allocate(of_layers + size * sizeof(float));
    if (!memory) return 0;
    s->memory = (Sources *)memory;
    float *at = (float *)(memory + of_layers);
    for (int i = 0, l = 0; i < session->n_members; i++) {
        const Model *m = session->members[i].model;
        for (int own = 0; own < m->config.n_decoder_layers; own++, l++) {
            s->memory[l] = (Sources){s->n_source, at};
            at += (size_t)s->n_source * (m->key_width + m->value_width);
        }
    }
    return 1;
}

Sentence *new_sentence(Session *session, int64_t key, const Settings *settings, const int32_t *source,
                       int n_source, const int32_t *given, int n_given, const Requirements *own) {
    int most = session->n_positions;
    if (settings->beam > session->max_rows || settings->beam > MAX_BEAM) return NULL;
    if (n_source < 1 || n_source > most || settings->limit < 1 || settings->limit > most) return NULL;
    Sentence *s = allocate(sizeof *s);
    if (!s) return NULL;
    s->key = key, s->n_source = n_source, s->n_given = n_given, s->search.settings = *settings;
    s->guided = own->guided, s->search.n_required = own->n_required;
    s->is_plain = !own->guided && !own->n_required && !own->spelling;
    const Spelling *spelling = own->spelling ? own->spelling : session->spelling;
    if (spelling && !own->guided) s->spelling = *spelling; /* a guide knows which bytes may follow */
    if (!allocate_search(s) || !allocate_memory(session, s) || !copy_shortlist(s, own)) return free_sentence(session, s), NULL;
    if (codebook_of(session) && own->states && !arrange(session->codebook, own->states, &s->states))
        return free_sentence(session, s), NULL;
    if (own->sampling && !copy_sampling(s, own->sampling)) return free_sentence(session, s), NULL;
    s->search.n_open = session->samples ? settings->beam : 1;
    memcpy(s->source, source, n_source * sizeof *source);
    if (n_given) memcpy(s->given, given, n_given * sizeof *given);
    for (int k = 0; k < s->search.n_open; k++) {
        Hypothesis *empty = &s->search.open[k];
        empty->sample = k, empty->row = own->guided ? k : 0, empty->n_missing = own->n_required;
        if (own->n_required) memcpy(empty->missing, own->required, own->n_required * sizeof *own->required);
    }
    push(&session->waiting, s);
    return s;
}
