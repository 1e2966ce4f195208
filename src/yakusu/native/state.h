/* The state of a session, and the functions of sentence.c, rows.c and extend.c that session.c calls. */

#ifndef YK_STATE_H
#define YK_STATE_H

#include "session.h"

enum {
    WANTED = 2 * MAX_BEAM, /* maximum number of best tokens of a row */
};

typedef struct Sentence {
    struct Sentence *next;
    int64_t key;
    Search search;
    int n_source, n_given, guided, is_scored;
    int n_rows;        /* of the current step: of its hypotheses, one for equal samples */
    int is_plain;      /* whether only the rules of the session apply to its search */
    Spelling spelling; /* its own, or that of the session; all NULL: none */
    int32_t *source, *given; /* `given`: the prefix or the target (n_given) */
    Record record;
    Sources *memory; /* (layers of all members) */
    float **blocks;  /* all keys and values of its hypotheses */
    int n_blocks;
    Blocks states;   /* of similar segments */
    int32_t *shortlist; /* (n_shortlist), or NULL */
    int n_shortlist;
    Linear *output;  /* the rows of the output layer of `shortlist`, once it is open */
    Sampling sampling; /* of sessions that sample */
    void *arrays[6]; /* what the pointers above point into */
} Sentence;

typedef struct { Sentence *first, **end; } Queue;

/* Working memory of a row. */
typedef struct {
    float values[WANTED], probed[PROPOSALS + NEAREST];
    int32_t ids[WANTED], probes[PROPOSALS], *banned;
    int32_t all_probes[PROPOSALS + NEAREST]; /* and those of `near` */
    Nearest near;
    uint8_t *allowed;
    int capacity; /* of `banned` */
    int n_probes; /* without those of `near` */
} Buffer;

struct Session {
    Member members[MAX_MEMBERS];
    int n_members, n_layers, n_tokens, n_positions; /* `n_positions`: that all members have */
    size_t block_size;
    const Kernels *kernels;
    const uint8_t *allowed;
    const Spelling *spelling;
    Guide guide;
    const Codebook *codebook; /* NULL: nothing is predicted from states */
    const Scans *scans;
    Distances distances;
    int samples; /* whether all sentences are sampled */
    int max_rows, n_rows; /* `n_rows`: of the open sentences, at most */
    Queue waiting, open, finished;
    Sentence *last;  /* returned by yk_next */
    float **unused;  /* blocks for the keys and values of a position */
    int n_unused, n_blocks, capacity;
    Scratch scratch;
    int scratch_rows, scratch_length;
    float *log_probs; /* (rows, tokens), if they are stored: of an ensemble, or to be sampled */
    float *logits;    /* (FEW, tokens) of a member of an ensemble */
    Row *rows;     /* (max_rows) */
    Best *best;
    Buffer *buffers;
    Candidate *candidates; /* (MAX_BEAM, WANTED + PROPOSALS) of a sentence that requires tokens */
    Ranked *ranked;        /* the same number */
    uint8_t *flags;        /* (MAX_BEAM, tokens) of a guided sentence */
    int32_t *proposals;    /* (MAX_BEAM, PROPOSALS) */
    uint64_t *weights;     /* (tokens) of a sampled row */
    int32_t *ids;          /* (tokens) */
};

#ifdef WEB /* a page stores no states, and its engine has no code for them */
static inline const Codebook *codebook_of(const Session *session) { return (void)session, NULL; }
#else
static inline const Codebook *codebook_of(const Session *session) { return session->codebook; }
#endif

/* ---- sentence.c ---------------------------------------------------------------------------- */

void push(Queue *queue, Sentence *s);
Sentence *take_at(Queue *queue, Sentence **at);

/* A waiting sentence; NULL: out of memory, or a size is not valid. `given`: its prefix or target. */
Sentence *new_sentence(Session *session, int64_t key, const Settings *settings, const int32_t *source, int n_source,
                       const int32_t *given, int n_given, const Requirements *own);
void free_sentence(Session *session, Sentence *s);

/* A block for the keys and values of a position, or NULL. */
float *take_block(Session *session);

/* Return the blocks that no open hypothesis of a sentence has. */
void sweep(Session *session, Sentence *s);

/* ---- rows.c -------------------------------------------------------------------------------- */

/* Flags of a row that differ from the session's. */
uint8_t *own_flags(const Session *session, Buffer *buffer);

/* Request the next position of a sentence's hypotheses, from `row` on. 0: out of memory. */
int write_rows(Session *session, Sentence *s, int row);

/* ---- extend.c ------------------------------------------------------------------------------ */

/* Extend the hypotheses of a sentence, whose results are at `row`. 0: out of memory. */
int extend(Session *session, Sentence *s, int row);

#endif
