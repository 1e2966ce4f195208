/* Beam search for one sentence, the search of search/beam.py: each step finds the 2K best
   extensions of the K open hypotheses; those that end with eos are finished, and the K best of the
   others stay open.

       score(Y) = log P(Y | X) / lp(Y),    lp(Y) = ((5 + |Y|) / 6)^alpha                         */

#ifndef YK_SEARCH_H
#define YK_SEARCH_H

#include "model.h"

enum { MAX_BEAM = 256, MAX_PERIOD = 64 /* longest n-gram whose repetitions are counted */ };

/* Settings of a search; see search/config.py. */
typedef struct {
    int32_t beam, n_best;
    int32_t limit;           /* maximum number of tokens, including eos */
    int32_t repeats;         /* how often an n-gram may occur in a row, or as often as in the source; 0: no limit */
    int32_t no_repeat_ngram; /* 0: no limit */
    int32_t traced;          /* whether every step is recorded */
    double margin;           /* in nats; infinity: none */
    double alpha;
} Settings;

typedef struct {
    int32_t *tokens; /* (limit) */
    float **cache;   /* (limit): keys and values at each position */
    int32_t *runs;   /* (MAX_PERIOD): how many last tokens equal those p positions before, p = 1 ... */
    int node;        /* of the incomplete character that it ends with; 0: none */
    int32_t *missing; /* (n_missing): the required tokens that it lacks */
    int n_missing;
    double *path; /* (limit): log-probability after each token */
    double log_prob;
    int sample;   /* its number, if it is drawn */
    int row;      /* of its sentence: samples that are equal so far share one */
} Hypothesis;

typedef struct {
    int32_t *tokens; /* without eos */
    int n;
    double *path; /* (n + 1): log-probability after each token and eos */
    double log_prob, score;
} Finished;

/* An extension of an open hypothesis. */
typedef struct {
    double log_prob;
    int32_t beam, id;
} Candidate;

enum { OPEN, FINISHED, DROPPED /* by the margin */ };

/* What became of an extension, in the trace of a search. */
typedef struct {
    Candidate extension;
    double score; /* of a finished one */
    int32_t step, fate;
} Traced;

typedef struct {
    Settings settings;
    int length;               /* tokens so far */
    Hypothesis *open, *spare; /* (beam), the best first */
    int n_open, n_required;   /* `n_required`: tokens that a hypothesis must contain */
    Finished *found; /* (n_best), the best first */
    int n_found;
    Traced *trace; /* what became of the candidates of each step */
    int n_traced, trace_capacity;
} Search;

/* The largest number of times that an n-gram of a sentence occurs in a row. */
int repetitions(const int32_t *ids, int n);

/* The tokens that the limits on repetition ban after a hypothesis; returns their number. */
int repeated(const Search *s, const Hypothesis *h, int32_t *ids);

/* How many candidates a step considers. */
static inline int n_wanted(const Search *s) { return s->settings.beam > 1 ? 2 * s->settings.beam : 1; }

/* The best extensions of all open hypotheses, best first; returns their number, at most 2K. */
int best_extensions(const Search *s, const Best *best, Candidate *out);

/* An extension, and what it is sorted by. */
typedef struct {
    Candidate extension;
    double value;
    int stage, round, place;
} Ranked;

/* Sort n candidates so that those with each number of required tokens get the same number of places.
   `ranked` (n) is working memory. */
void alternate(const Search *s, Candidate *candidates, int n, Ranked *ranked);

/* Make room for the candidates of a step in the trace, if there is one. 0: out of memory. */
int reserve_trace(Search *s, int n);

/* Follow the candidates, best first: finish those that end, keep the K best of the others.
   `beams` receives the hypotheses that they extend. */
void follow(Search *s, const Candidate *candidates, int n, int32_t eos, int32_t *beams);

/* Whether an open hypothesis can still enter the n best. */
int can_improve(const Search *s);

#endif
