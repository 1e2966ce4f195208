/* Text <-> pieces, as SentencePiece's BPE and unigram models (Kudo and Richardson, 2018), to the same ids.

       text --normalise--> bytes --merge or find_best--> tokens          tokens --yk_decode--> text

   A normalised text has U+2581 for spaces. Characters without a piece become the unknown token, or the tokens
   of their bytes if the vocabulary has all 256. */

#ifndef YK_SEGMENTER_H
#define YK_SEGMENTER_H

#include "api.h"
#include "trie.h"

/* The types of pieces, as in SentencePiece's files; a FOREIGN piece is only decoded, to itself. */
enum { FOREIGN, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE };

enum { LONGEST = 1 << 26 }; /* bytes of a normalised or decoded text */

/* A vocabulary. Its arrays are not copied. */
typedef struct {
    const uint8_t *text;     /* all pieces, UTF-8 */
    const int32_t *ends;     /* (n): where each ends in `text` */
    const float *scores;     /* (n) */
    const uint8_t *types;    /* (n) */
    const uint8_t *charsmap; /* SentencePiece's precompiled rules; NULL: none */
    const uint8_t *unknown;  /* what the unknown token is decoded to */
    int32_t n, n_charsmap, n_unknown;
    int32_t unigram;         /* else BPE */
    int32_t dummy_prefix, remove_extra_spaces, escape_spaces; /* of the normalisation */
} Vocabulary;

/* A piece of a text: bytes begin .. end - 1 of the text that was encoded (of several tokens of one character, the
   last one has them), and bytes from .. to - 1 of the normalised or decoded text. */
typedef struct { int32_t id, begin, end, from, to; } Token;

/* A normalised text and its tokens, or a decoded text and what each token added to it. */
typedef struct {
    uint8_t *bytes;
    Token *tokens;
    int32_t n_bytes, n;
} Segmented;

typedef struct {
    Vocabulary vocabulary;
    Trie pieces, reserved; /* all that may be found in text, and those that are never divided or normalised */
    int32_t byte_ids[256];
    int32_t unknown, spells; /* the unknown token; whether there are tokens for bytes */
    float least, most;       /* of the scores of NORMAL pieces */
} Segmenter;

/* NULL: not such a vocabulary (no unknown token, invalid rules or names of bytes, UNUSED pieces with BPE), or out of
   memory. */
API Segmenter *yk_segmenter(const Vocabulary *vocabulary);
API void yk_free_segmenter(Segmenter *segmenter);

/* Encode n bytes; those that are not UTF-8 become U+FFFD. NULL: out of memory, or a text above LONGEST. */
API Segmented *yk_encode(const Segmenter *segmenter, const uint8_t *text, int n);

/* Decode n ids; those that the vocabulary lacks add nothing. NULL: as yk_encode. */
API Segmented *yk_decode(const Segmenter *segmenter, const int32_t *ids, int n);
API void yk_free_segmented(Segmented *segmented);

/* ---- inside -------------------------------------------------------------------------------- */

/* A text that grows. */
typedef struct {
    uint8_t *bytes;
    int32_t *origins; /* (n + 1): the byte of the text that each comes from */
    int32_t n, capacity;
} Text;

/* Make room for some bytes more. 0: out of memory, or too many. */
int grow(Text *text, size_t more);
void release_text(Text *text);

/* The length of the character that begins a text; `whole_character`: 0 if it is not UTF-8. */
int character(const uint8_t *text, int n);
int whole_character(const uint8_t *text, int n);

/* The length of the longest reserved piece that begins a text; 0: none. */
int reserved(const Segmenter *segmenter, const uint8_t *text, int n);

int is_valid_charsmap(const Vocabulary *vocabulary);
int normalise(const Segmenter *segmenter, const uint8_t *text, int n, Text *out);

/* Divide a normalised text, and write where each piece ends, and its id, or the unknown token, to `ends` and `ids`
   (n each). The result is their number; -1: out of memory. */
int merge(const Segmenter *segmenter, const uint8_t *text, int n, int32_t *ends, int32_t *ids);
int find_best(const Segmenter *segmenter, const uint8_t *text, int n, int32_t *ends, int32_t *ids);

#endif
