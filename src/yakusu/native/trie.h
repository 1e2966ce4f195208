/* The pieces that begin with some bytes: a tree whose nodes are prefixes of pieces. */

#ifndef YK_TRIE_H
#define YK_TRIE_H

#include <stddef.h>
#include <stdint.h>

enum { ROOT = 0, NOWHERE = -1 };

typedef struct { uint32_t key; int32_t child; } Edge; /* key: node and byte, plus 1; 0: none */
typedef struct {
    Edge *edges;   /* a hash table of `mask` + 1 */
    int32_t *ids;  /* (n_nodes): the piece that a node is; -1: none */
    uint32_t mask;
    int32_t n_nodes;
} Trie;

/* Make an empty tree for pieces of `n_bytes` in total, which `release_trie` frees. 0: too many, or out of memory. */
int reserve_trie(Trie *trie, size_t n_bytes);
void release_trie(Trie *trie);

/* Add a piece; the first one of several equal pieces counts. */
void add_to_trie(Trie *trie, const uint8_t *bytes, int n, int id);

/* The node after some bytes more; NOWHERE: no piece begins so. */
int walk(const Trie *trie, int node, const uint8_t *bytes, int n);

#endif
