/* A session decodes sentences together. Its caller adds them with their settings and takes the
   finished ones. None of them depends on the others: each has its own positions, keys, values and
   hypotheses. */

#ifndef YK_SESSION_H
#define YK_SESSION_H

#include "neighbours.h"
#include "sampling.h"
#include "search.h"

typedef struct Session Session;

/* The characters that byte tokens may spell, as a tree; see search/characters.py. */
typedef struct {
    const int16_t *next;    /* (nodes, 256): the node after a byte; 0: complete, -1: not allowed */
    const int32_t *tokens;  /* (256): the token of each byte */
    const int16_t *byte_of; /* (V): the byte of each token, -1: none */
} Spelling;

enum { PROPOSALS = 256 }; /* tokens that a guide may propose for a hypothesis */

/* What a guide decides of a sentence. */
typedef struct {
    /* Before each step: set the flags (n, V) of the tokens that may follow hypothesis k of n, and write
       the tokens that are candidates in any case (n, PROPOSALS), increasing, then -1. `left`: how
       many tokens may follow. */
    void (*restrict_)(int64_t key, int n, int left, uint8_t *allowed, int32_t *proposals);
    /* Put n candidates into the order in which they are followed. */
    void (*order)(int64_t key, int n, Candidate *candidates);
    /* Receive the n open hypotheses: the hypothesis that each one extends, and its last token. */
    void (*follow)(int64_t key, int n, const int32_t *beams, const int32_t *ids);
} Guide;

enum { UNGUIDED, RESTRICTED, WITH_GOAL }; /* by no function, by all but `order`, by all */

/* What applies to the search for one sentence besides the rules of its session. */
typedef struct {
    int32_t guided;           /* UNGUIDED unless the guide decides, which then ignores the following */
    int32_t n_required;
    const int32_t *required;  /* (n_required): placeholder tokens, each as often as it must occur; the
                                 first one that is missing is always a candidate */
    const Spelling *spelling; /* NULL: that of the session */
    const States *states;     /* of similar segments; NULL: none */
    int32_t n_shortlist;
    const int32_t *shortlist; /* (n_shortlist), increasing: the tokens that may follow, with eos, the prefix and
                                 `required`; NULL: all. Of sessions with one model that do not sample, and of
                                 sentences without states that are not guided. */
    const Sampling *sampling; /* of sessions that sample, or NULL */
} Requirements;

/* What is recorded while a given target is decoded; (T) tokens including eos. */
typedef struct {
    int32_t n_alternatives;
    double *log_probs;       /* (T) */
    int32_t *alternatives;   /* (T, n_alternatives): the most probable tokens */
    double *of_alternatives; /* (T, n_alternatives): their log-probabilities */
    float *encoder; /* attention weights (layers, S, h, S), or NULL; of sessions with one model */
    float *decoder; /* (T, layers, h, T) or NULL */
    float *cross;   /* (T, layers, h, S) or NULL */
    float *hidden;  /* (T, width) the states of the decoder that the logits are computed from, or NULL */
    uint8_t *codes; /* (T, M / 2) their codes, or NULL */
} Record;

/* `allowed` (V): the tokens that may follow in every sentence when no character is incomplete. `spelling`
   and `guide` may be NULL. `samples`: whether all sentences are sampled. `codebook`: of the only model of a
   session that does not sample, or NULL. */
API Session *yk_session(const Model *const *models, int n_models, const Kernels *kernels, int max_rows,
                    const uint8_t *allowed, const Spelling *spelling, const Guide *guide, int samples,
                    const Codebook *codebook);
API void yk_free_session(Session *session);

/* Queue a sentence for search; `prefix` begins its translation. The arrays of its own spelling are read
   until it is finished. 0: out of memory. */
API int yk_search(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *prefix,
              int n_prefix, const Settings *settings, const Requirements *own);

/* Queue a sentence whose target, including eos, is given. 0: out of memory. */
API int yk_score(Session *session, int64_t key, const int32_t *source, int n_source, const int32_t *target,
             int n_target, const Record *record);

/* Decode one position or more, until `seconds` have passed; 1: there is more to do, 0: all done, -1: out of
   memory, after which the session can only be freed. */
API int yk_advance(Session *session, double seconds);

/* Remove a sentence that is not finished; 0 if there is none with this key. */
API int yk_cancel(Session *session, int64_t key);

/* The next finished sentence, or NULL; it is valid until the next call. */
API const Search *yk_next(Session *session, int64_t *key);

#endif
