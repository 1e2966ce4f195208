/* A session: sentences come in with their settings, are searched together, and go out. */

#ifndef YK_SESSION_H
#define YK_SESSION_H

#include "model.h"

enum { MAX_PERIOD = 64 }; /* longest n-gram whose repetitions are counted, in tokens */

/* Settings of the search for a sentence; see search/config.py. */
typedef struct {
    int32_t beam, n_best;
    int32_t limit;           /* maximum number of tokens, including eos */
    int32_t repeats;         /* how often an n-gram may occur in a row; 0: no limit */
    int32_t no_repeat_ngram; /* 0: no limit */
    double margin;           /* in nats; infinity: no margin */
    double alpha;            /* of the length penalty */
} Settings;

typedef struct {
    int32_t *tokens; /* (limit) */
    float **cache;   /* (limit): keys and values at each position */
    int32_t *runs;   /* (MAX_PERIOD): the last tokens that equal those p positions before, for p = 1 ... */
    double log_prob;
} Hypothesis;

typedef struct {
    int32_t *tokens;
    int n;
    double log_prob, score;
} Finished;

typedef struct Sentence {
    struct Sentence *next; /* in a queue */
    int64_t key;           /* of the caller */
    Settings settings;
    int n_source, n_prefix, length; /* length: tokens so far */
    int32_t *source;                /* (n_source + n_prefix): the source, then the prefix */
    Sources *memory;                /* (layers) */
    Hypothesis *open, *spare;       /* (beam) */
    int n_open;
    Finished *found; /* (n_best), the best first */
    int n_found;
    float **blocks; /* all keys and values of its hypotheses */
    int n_blocks;
    void *arrays[6]; /* what the pointers above point into */
} Sentence;

typedef struct Session Session;

#endif
