/* A step of a search: from the results of the kernels to the next open hypotheses. */

#include <math.h>

#include "memory.h"
#include "state.h"

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

/* An extension of each hypothesis, drawn from the log-probabilities that are stored, from `row` on. */
static int draw(Session *session, Sentence *s, int row, Candidate *out) {
    const Search *search = &s->search;
    int size = session->n_tokens;
    for (int r = 0; r < s->n_rows; r++) {
        const Best *best = &session->best[row + r];
        float *log_probs = session->log_probs + (size_t)(row + r) * size;
        for (int id = 0; id < size; id++)
            if (!best->allowed[id]) log_probs[id] = -INFINITY;
        for (int i = 0; i < best->n_banned; i++) log_probs[best->banned[i]] = -INFINITY;
        uint64_t total = session->kernels->weigh(log_probs, size, s->sampling.temperature, session->weights);
        Choices choices = choices_of(&s->sampling, log_probs, session->weights, total, size, session->ids);
        for (int k = 0; k < search->n_open; k++) {
            const Hypothesis *h = &search->open[k];
            if (h->row != r) continue;
            int32_t id = drawn(&choices, s->sampling.uniform[h->sample * search->settings.limit + search->length]);
            out[k] = (Candidate){h->log_prob - log_norm(best) + (double)log_probs[id], k, id};
        }
    }
    return search->n_open;
}

/* Memory for the extensions of a sentence that requires tokens. */
static int reserve_candidates(Session *session) {
    size_t most = (size_t)MAX_BEAM * (WANTED + PROPOSALS);
    if (!session->candidates) session->candidates = allocate(most * sizeof *session->candidates);
    if (!session->ranked) session->ranked = allocate(most * sizeof *session->ranked);
    return session->candidates && session->ranked;
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
    const Spelling *spelling = &s->spelling;
    int32_t ids[MAX_BEAM];
    for (int k = 0; k < search->n_open; k++) {
        Hypothesis *h = &search->open[k];
        ids[k] = h->tokens[search->length - 1];
        int byte = spelling->next ? spelling->byte_of[ids[k]] : -1;
        int node = byte < 0 ? 0 : spelling->next[h->node * 256 + byte];
        h->node = node > 0 ? node : 0; /* -1: a prefix spells what the search may not */
    }
    if (s->guided) session->guide.follow(s->key, search->n_open, beams, ids);
}

/* Number the rows of the next step; equal samples share one. */
static void number_rows(Search *search, int shared) {
    int32_t before[MAX_BEAM];
    int n = 0, last = search->length - 1;
    for (int k = 0; k < search->n_open; k++) {
        Hypothesis *h = &search->open[k];
        before[k] = h->row, h->row = -1;
        for (int i = 0; shared && i < k && h->row < 0; i++)
            if (before[i] == before[k] && search->open[i].tokens[last] == h->tokens[last]) h->row = search->open[i].row;
        if (h->row < 0) h->row = n++;
    }
}

int extend(Session *session, Sentence *s, int row) {
    Search *search = &s->search;
    const Best *best = &session->best[row];
    Candidate chosen[WANTED], *candidates = chosen;
    int32_t beams[MAX_BEAM];
    int n = 0;
    if (s->is_scored || (best->n_probes && !best->wanted)) { /* the token is given */
        for (int k = 0; k < search->n_open; k++) n += add_probed(search, &best[search->open[k].row], k, candidates + n);
        if (s->is_scored) record(s, best);
    } else if (session->samples) {
        n = draw(session, s, row, candidates);
    } else if (s->guided == WITH_GOAL || search->n_required) {
        if (!reserve_candidates(session)) return 0;
        candidates = session->candidates;
        n = all_extensions(session, search, best);
        if (s->guided) session->guide.order(s->key, n, candidates);
        else alternate(search, candidates, n, session->ranked);
        n = n < n_wanted(search) ? n : n_wanted(search);
    } else n = best_extensions(search, best, candidates);
    if (!reserve_trace(search, n)) return 0;
    follow(search, candidates, n, session->members[0].model->config.eos, beams);
    number_rows(search, session->samples && !s->guided);
    tell(session, s, beams);
    return 1;
}
