/* See sampling.h. */

#include "sampling.h"

#include <math.h>

static const uint64_t LARGE = (uint64_t)1 << 37; /* of weights up to 2^44: few tokens have more */

static int is_ahead(const Choices *c, int32_t a, int32_t b) {
    return c->logits[a] > c->logits[b] || (c->logits[a] == c->logits[b] && a < b);
}

static void swap(int32_t *a, int32_t *b) {
    int32_t value = *a;
    *a = *b, *b = value;
}

/* Move the most likely tokens to the front: the fewest whose weights, or numbers, sum to at least `sum`, which
   is positive, or else all. Returns their number; the least likely of them is the last. */
static int select_likely(const Choices *c, uint64_t sum, int counted) {
    uint64_t first = counted ? (uint64_t)c->n_first : c->first;
    int begin = sum > first ? c->n_first : 0, end = sum > first ? c->n : c->n_first;
    if (begin) sum -= first;
    while (begin < end) { /* quickselect */
        int middle = begin;
        uint64_t ahead = 0;
        swap(&c->ids[begin + (end - begin) / 2], &c->ids[end - 1]);
        int32_t pivot = c->ids[end - 1];
        for (int i = begin; i < end - 1; i++) {
            int32_t id = c->ids[i];
            if (!is_ahead(c, id, pivot)) continue;
            ahead += counted ? 1 : c->weights[id];
            swap(&c->ids[i], &c->ids[middle++]);
        }
        swap(&c->ids[middle], &c->ids[end - 1]);
        uint64_t own = ahead + (counted ? 1 : c->weights[pivot]);
        if (sum <= ahead) end = middle;
        else if (sum <= own) return middle + 1;
        else sum -= own, begin = middle + 1;
    }
    return end;
}

/* Leave the n most likely tokens. */
static void keep_first(Choices *c, int n) {
    c->n = n, c->total = 0;
    for (int i = 0; i < n; i++) c->total += c->weights[c->ids[i]];
    if (n < c->n_first) c->n_first = n, c->first = c->total;
}

Choices choices_of(const Sampling *sampling, const float *logits, const uint64_t *weights, uint64_t total, int n,
                   int32_t *ids) {
    Choices c = {logits, weights, ids, 0, 0, total, 0};
    for (int id = 0; id < n; id++) {
        if (!weights[id]) continue;
        ids[c.n++] = id;
        if (weights[id] < LARGE) continue;
        swap(&ids[c.n_first++], &ids[c.n - 1]);
        c.first += weights[id];
    }
    if (sampling->top_k && sampling->top_k < c.n) keep_first(&c, select_likely(&c, sampling->top_k, 1));
    if (sampling->top_p < 1.0 && c.n) {
        uint64_t least = (uint64_t)ceil(sampling->top_p * (double)c.total);
        keep_first(&c, select_likely(&c, least ? least : 1, 0));
    }
    return c;
}

int32_t drawn(Choices *c, double uniform) {
    if (!c->n) return 0;
    return c->ids[select_likely(c, (uint64_t)(uniform * (double)c->total) + 1, 0) - 1];
}
