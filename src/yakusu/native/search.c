/* See search.h. */

#include "search.h"

#include <math.h>
#include <string.h>

#include "memory.h"

static double length_penalty(int length, double alpha) { return pow((5.0 + length) / 6.0, alpha); }

/* ---- repetition: search/repetition.py ------------------------------------------------------ */

/* A sequence ends in a loop of period p if its last m tokens equal the tokens p positions before
   them. Its last p tokens then occur 1 + m / p times in a row. */
static void extend_runs(Hypothesis *h, int length, int32_t token) {
    for (int p = 1; p <= MAX_PERIOD && p <= length; p++)
        h->runs[p - 1] = h->tokens[length - p] == token ? h->runs[p - 1] + 1 : 0;
}

int repetitions(const int32_t *ids, int n) {
    int most = 1;
    for (int p = 1; p <= MAX_PERIOD && 2 * p <= n; p++)
        for (int at = p, run = 0; at < n; at++) {
            run = ids[at] == ids[at - p] ? run + 1 : 0;
            if (1 + run / p > most) most = 1 + run / p;
        }
    return most;
}

int repeated(const Search *s, const Hypothesis *h, int32_t *ids) {
    int n = 0, size = s->settings.no_repeat_ngram;
    for (int p = 1; s->settings.repeats && p <= MAX_PERIOD && p <= s->length; p++)
        if (h->runs[p - 1] + 1 >= s->settings.repeats * p) ids[n++] = h->tokens[s->length - p];
    if (!size || size > s->length) return n;
    const int32_t *last = h->tokens + s->length - size + 1; /* the beginning of an n-gram */
    for (int at = 0; at + size <= s->length; at++)
        if (!memcmp(h->tokens + at, last, (size - 1) * sizeof *last))
            ids[n++] = h->tokens[at + size - 1];
    return n;
}

/* ---- candidates ---------------------------------------------------------------------------- */

int best_extensions(const Search *s, const Best *best, Candidate *out) {
    int at[MAX_BEAM] = {0}, n = 0, wanted = n_wanted(s);
    double before[MAX_BEAM];
    for (int k = 0; k < s->n_open; k++) before[k] = s->open[k].log_prob - log_norm(&best[k]);
    for (; n < wanted; n++) {
        Candidate top = {-INFINITY, -1, 0};
        for (int k = 0; k < s->n_open; k++) {
            if (at[k] == best[k].n) continue;
            double log_prob = before[k] + (double)best[k].logits[at[k]];
            if (log_prob > top.log_prob) top = (Candidate){log_prob, k, best[k].ids[at[k]]};
        }
        if (top.beam < 0) break;
        at[top.beam]++;
        out[n] = top;
    }
    return n;
}

/* ---- required tokens: search/slots.py, search/ranking.py ------------------------------------- */

static const double BONUS = 6.0; /* in nats, for each required token */

/* The place of a token among those that a hypothesis lacks; -1: it does not lack it. */
static int place_of(const Hypothesis *h, int32_t token) {
    for (int i = 0; i < h->n_missing; i++)
        if (h->missing[i] == token) return i;
    return -1;
}

/* The higher value first, NaN last; of equal values, the earlier candidate first. */
static int by_value(const Ranked *a, const Ranked *b) {
    int a_is_nan = isnan(a->value), b_is_nan = isnan(b->value);
    if (a_is_nan != b_is_nan) return a_is_nan - b_is_nan;
    if (a->value > b->value || a->value < b->value) return a->value > b->value ? -1 : 1;
    return a->place - b->place;
}

static int by_stage(const Ranked *a, const Ranked *b) {
    return a->stage != b->stage ? a->stage - b->stage : by_value(a, b);
}

static int by_round(const Ranked *a, const Ranked *b) {
    return a->round != b->round ? a->round - b->round : by_value(a, b);
}

/* Heapsort; `qsort` of WebAssembly's C library is larger than the rest of this file. */
static void sort(Ranked *all, int n, int (*order)(const Ranked *, const Ranked *)) {
    for (int first = n / 2, end = n; end > 1;) {
        Ranked moved;
        if (first) moved = all[--first];
        else moved = all[--end], all[end] = all[0];
        int at = first;
        for (int child; (child = 2 * at + 1) < end; at = child) {
            child += child + 1 < end && order(&all[child], &all[child + 1]) < 0;
            if (order(&moved, &all[child]) >= 0) break;
            all[at] = all[child];
        }
        all[at] = moved;
    }
}

void alternate(const Search *s, Candidate *candidates, int n, Ranked *ranked) {
    for (int i = 0; i < n; i++) {
        const Candidate *c = &candidates[i];
        const Hypothesis *h = &s->open[c->beam];
        int stage = s->n_required - h->n_missing + (place_of(h, c->id) >= 0);
        ranked[i] = (Ranked){*c, c->log_prob + BONUS * stage, stage, 0, i};
    }
    sort(ranked, n, by_stage);
    for (int i = 0; i < n; i++) ranked[i].round = i && ranked[i - 1].stage == ranked[i].stage ? ranked[i - 1].round + 1 : 0;
    for (int i = 0; i < n; i++)
        if (ranked[i].extension.log_prob == -INFINITY) ranked[i].round = n; /* impossible ones are last */
    sort(ranked, n, by_round);
    for (int i = 0; i < n; i++) candidates[i] = ranked[i].extension;
}

/* Let `to` lack what `from` lacks, except for a token. */
static void place(const Hypothesis *from, int32_t token, Hypothesis *to) {
    int placed = place_of(from, token);
    to->n_missing = 0;
    for (int i = 0; i < from->n_missing; i++)
        if (i != placed) to->missing[to->n_missing++] = from->missing[i];
}

/* ---- open and finished hypotheses ------------------------------------------------------------ */

int reserve_trace(Search *s, int n) {
    int needed = s->n_traced + n;
    if (!s->settings.traced || needed <= s->trace_capacity) return 1;
    Traced *trace = allocate(2 * (size_t)needed * sizeof *trace);
    if (!trace) return 0;
    if (s->trace) memcpy(trace, s->trace, s->n_traced * sizeof *trace);
    release(s->trace);
    s->trace = trace, s->trace_capacity = 2 * needed;
    return 1;
}

static void add_to_trace(Search *s, const Candidate *c, int fate, double score) {
    if (s->settings.traced) s->trace[s->n_traced++] = (Traced){*c, score, s->length - 1, fate};
}

/* Keep a finished hypothesis if it is among the n best. */
static void finish(Search *s, const Candidate *c) {
    double score = c->log_prob / length_penalty(s->length, s->settings.alpha);
    add_to_trace(s, c, FINISHED, score);
    int most = s->settings.n_best, n = s->length - 1;
    if (s->n_found == most && score <= s->found[most - 1].score) return;
    int place = s->n_found < most ? s->n_found++ : most - 1;
    int32_t *tokens = s->found[place].tokens;
    double *path = s->found[place].path;
    for (; place && s->found[place - 1].score < score; place--) s->found[place] = s->found[place - 1];
    memcpy(tokens, s->open[c->beam].tokens, n * sizeof *tokens);
    memcpy(path, s->open[c->beam].path, n * sizeof *path);
    path[n] = c->log_prob;
    s->found[place] = (Finished){tokens, n, path, c->log_prob, score};
}

/* Let `to` be the hypothesis of a candidate. */
static void continue_with(const Search *s, const Candidate *c, Hypothesis *to) {
    const Hypothesis *from = &s->open[c->beam];
    int n = s->length - 1;
    memcpy(to->tokens, from->tokens, n * sizeof *to->tokens);
    memcpy(to->path, from->path, n * sizeof *to->path);
    memcpy(to->cache, from->cache, s->length * sizeof *to->cache);
    memcpy(to->runs, from->runs, MAX_PERIOD * sizeof *to->runs);
    extend_runs(to, n, c->id);
    place(from, c->id, to);
    to->tokens[n] = c->id, to->path[n] = to->log_prob = c->log_prob, to->node = from->node;
    to->sample = from->sample, to->row = from->row;
}

void follow(Search *s, const Candidate *candidates, int n, int32_t eos, int32_t *beams) {
    double least = -INFINITY;
    int n_kept = 0, n_dropped = 0;
    s->length++;
    for (const Candidate *c = candidates; c < candidates + n; c++) {
        if (!(c->log_prob > -INFINITY)) continue; /* or NaN */
        if (c->id == eos) finish(s, c);
        else if (n_kept < s->settings.beam && c->log_prob >= least) {
            if (!n_kept) least = c->log_prob - s->settings.margin;
            beams[n_kept] = c->beam;
            continue_with(s, c, &s->spare[n_kept++]);
            add_to_trace(s, c, OPEN, 0);
        } else if (n_kept + n_dropped < s->settings.beam) {
            add_to_trace(s, c, DROPPED, 0);
            n_dropped++;
        }
    }
    Hypothesis *extended = s->spare;
    s->spare = s->open, s->open = extended, s->n_open = n_kept;
}

int can_improve(const Search *s) {
    if (s->length >= s->settings.limit) return 0; /* also if a given target does not end with eos */
    if (!s->n_open || s->n_found < s->settings.n_best) return s->n_open;
    /* A log-probability can only decrease, and the penalty increases at most to that of the limit. */
    double best = s->open[0].log_prob; /* a guide may have put others first */
    for (int k = 1; k < s->n_open; k++) best = s->open[k].log_prob > best ? s->open[k].log_prob : best;
    double bound = best / length_penalty(s->settings.limit, s->settings.alpha);
    return bound > s->found[s->n_found - 1].score;
}
