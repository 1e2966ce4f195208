/* The unigram language model (Kudo, 2018): of all ways to divide a text into pieces, the one with the highest sum of
   scores, found by Viterbi's algorithm. */

#include <stdlib.h>

#include "segmenter.h"

#define PENALTY 10 /* of an unknown character, to the least score */

/* The best way to divide the text before a byte. */
typedef struct {
    float score;
    int32_t begin, id; /* of its last piece; begin -1: none */
    int32_t next;      /* where the piece ends that follows in the best way of all */
} Way;

static void offer(Way *to, float score, int begin, int id) {
    if (to->begin < 0 || score > to->score) to->score = score, to->begin = begin, to->id = id;
}

/* That of a reserved piece of n bytes makes it the best. */
static float score_of(const Segmenter *s, int id, int n) {
    return s->vocabulary.types[id] == USER_DEFINED ? (float)n * s->most - 0.1f : s->vocabulary.scores[id];
}

/* Offer the pieces that begin at a byte. */
static void extend(const Segmenter *s, const uint8_t *text, int at, int length, int n, Way *ways) {
    int node = ROOT, is_known = 0;
    for (int end = at; end < n && (node = walk(&s->pieces, node, text + end++, 1)) != NOWHERE;) {
        int id = s->pieces.ids[node];
        if (id < 0) continue;
        offer(&ways[end], score_of(s, id, end - at) + ways[at].score, at, id);
        if (end - at == length) is_known = 1;
    }
    if (!is_known) offer(&ways[at + length], (s->least - PENALTY) + ways[at].score, at, s->unknown);
}

int find_best(const Segmenter *s, const uint8_t *text, int n, int32_t *ends, int32_t *ids) {
    Way *ways = malloc((n + 1) * sizeof *ways);
    int count = 0;
    if (!ways) return -1;
    ways[0].score = 0;
    for (int i = 1; i <= n; i++) ways[i].begin = -1;
    for (int at = 0, length; at < n; at += length) {
        length = character(text + at, n - at);
        extend(s, text, at, length, n, ways);
    }
    for (int at = n; at > 0; at = ways[at].begin) ways[ways[at].begin].next = at;
    for (int at = 0; at < n; count++) at = ways[at].next, ends[count] = at, ids[count] = ways[at].id;
    free(ways);
    return count;
}
