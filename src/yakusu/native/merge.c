/* Byte-pair encoding (Sennrich et al., 2016): of all pairs of neighbours that are pieces, the one with the highest
   score is merged, or the first of these, until none is left. */

#include <stdlib.h>

#include "segmenter.h"

typedef struct {
    int32_t previous, next; /* -1: none */
    int32_t begin, n;       /* bytes; n 0: a part of another symbol */
    int32_t node;           /* in the tree of pieces */
    int32_t is_reserved;    /* never merged */
} Symbol;

typedef struct {
    float score;
    int32_t left, right, n, node; /* n: bytes of both */
} Pair;

typedef struct {
    const Segmenter *segmenter;
    const uint8_t *text;
    Symbol *symbols;
    Pair *heap; /* the next one is first */
    int n;
} Merges;

/* ---- the heap ------------------------------------------------------------------------------ */

static int is_before(const Pair *a, const Pair *b) {
    return a->score > b->score || (a->score == b->score && a->left < b->left);
}

static void push(Merges *m, Pair pair) {
    int at = m->n++;
    for (; at && is_before(&pair, &m->heap[(at - 1) / 2]); at = (at - 1) / 2) m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = pair;
}

static Pair pop(Merges *m) {
    Pair first = m->heap[0], last = m->heap[--m->n];
    int at = 0;
    for (int child; (child = 2 * at + 1) < m->n; at = child) {
        if (child + 1 < m->n && is_before(&m->heap[child + 1], &m->heap[child])) child++;
        if (!is_before(&m->heap[child], &last)) break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = last;
    return first;
}

/* ---- pairs --------------------------------------------------------------------------------- */

static void consider(Merges *m, int left, int right) {
    if (left < 0 || right < 0) return;
    const Symbol *a = &m->symbols[left], *b = &m->symbols[right];
    if (a->is_reserved || b->is_reserved) return;
    const Trie *pieces = &m->segmenter->pieces;
    int node = walk(pieces, a->node, m->text + b->begin, b->n), id = node == NOWHERE ? -1 : pieces->ids[node];
    if (id >= 0) push(m, (Pair){m->segmenter->vocabulary.scores[id], left, right, a->n + b->n, node});
}

static void join(Merges *m, const Pair *pair) {
    Symbol *a = &m->symbols[pair->left], *b = &m->symbols[pair->right];
    if (!a->n || !b->n || a->n + b->n != pair->n) return; /* one of them has been merged */
    a->n = pair->n, a->node = pair->node, a->next = b->next, b->n = 0;
    if (a->next >= 0) m->symbols[a->next].previous = pair->left;
    consider(m, a->previous, pair->left), consider(m, pair->left, a->next);
}

static int divide(Merges *m, int n) {
    int count = 0;
    for (int at = 0, length; at < n; at += length, count++) {
        int kept = reserved(m->segmenter, m->text + at, n - at);
        length = kept ? kept : character(m->text + at, n - at);
        int node = walk(&m->segmenter->pieces, ROOT, m->text + at, length);
        m->symbols[count] = (Symbol){count - 1, at + length < n ? count + 1 : -1, at, length, node, kept > 0};
    }
    return count;
}

int merge(const Segmenter *s, const uint8_t *text, int n, int32_t *ends, int32_t *ids) {
    Merges m = {s, text, malloc((n + 1) * sizeof(Symbol)), malloc((n + 1) * 3 * sizeof(Pair)), 0};
    int count = -1;
    if (m.symbols && m.heap) {
        int n_symbols = divide(&m, n);
        for (int i = 1; i < n_symbols; i++) consider(&m, i - 1, i);
        while (m.n) {
            Pair pair = pop(&m);
            join(&m, &pair);
        }
        count = 0;
        for (int i = n_symbols ? 0 : -1; i >= 0; i = m.symbols[i].next, count++) {
            const Symbol *a = &m.symbols[i];
            int id = a->node == NOWHERE ? -1 : s->pieces.ids[a->node];
            ends[count] = a->begin + a->n, ids[count] = id < 0 ? s->unknown : id;
        }
    }
    free(m.symbols), free(m.heap);
    return count;
}
