/* See trie.h. */

#include "trie.h"

#include "memory.h"

#define MOST (1 << 23) /* bytes: a node and a byte fit in a key */

int reserve_trie(Trie *trie, size_t n_bytes) {
    uint32_t size = 16;
    *trie = (Trie){0};
    if (n_bytes >= MOST) return 0;
    while (size < 2 * n_bytes) size *= 2;
    trie->edges = allocate(size * sizeof *trie->edges);
    trie->ids = allocate((n_bytes + 1) * sizeof *trie->ids);
    if (!trie->edges || !trie->ids) return release_trie(trie), 0;
    trie->mask = size - 1, trie->n_nodes = 1, trie->ids[ROOT] = -1;
    return 1;
}

void release_trie(Trie *trie) {
    release(trie->edges), release(trie->ids);
    *trie = (Trie){0};
}

/* The edge, or the free place for it. */
static Edge *edge(const Trie *trie, int node, uint8_t byte) {
    uint32_t key = ((uint32_t)node << 8 | byte) + 1, at = key * 0x9e3779b1u;
    for (at ^= at >> 15;; at++) {
        Edge *found = &trie->edges[at & trie->mask];
        if (!found->key || found->key == key) return found;
    }
}

void add_to_trie(Trie *trie, const uint8_t *bytes, int n, int id) {
    int node = ROOT;
    for (int i = 0; i < n; i++) {
        Edge *to = edge(trie, node, bytes[i]);
        if (!to->key) {
            trie->ids[trie->n_nodes] = -1;
            *to = (Edge){((uint32_t)node << 8 | bytes[i]) + 1, trie->n_nodes++};
        }
        node = to->child;
    }
    if (trie->ids[node] < 0) trie->ids[node] = id;
}

int walk(const Trie *trie, int node, const uint8_t *bytes, int n) {
    for (int i = 0; i < n && node != NOWHERE; i++) {
        const Edge *to = edge(trie, node, bytes[i]);
        node = to->key ? to->child : NOWHERE;
    }
    return node;
}
