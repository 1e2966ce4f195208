/* See segmenter.h. */

#include "segmenter.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t SPACE[] = {0xe2, 0x96, 0x81}, REPLACEMENT[] = {0xef, 0xbf, 0xbd};

/* ---- vocabularies -------------------------------------------------------------------------- */

static const uint8_t *piece(const Vocabulary *v, int id, int *n) {
    int begin = id ? v->ends[id - 1] : 0;
    *n = v->ends[id] - begin;
    return v->text + begin;
}

/* The byte that a piece such as <0x0A> is; -1: none. */
static int byte_of(const Vocabulary *v, int id) {
    static const char digits[] = "0123456789ABCDEF";
    int n;
    const uint8_t *name = piece(v, id, &n);
    if (n != 6) return -1;
    const char *high = memchr(digits, name[3], 16), *low = memchr(digits, name[4], 16);
    return high && low ? (int)(high - digits) << 4 | (int)(low - digits) : -1;
}

static void add(Segmenter *s, int id) {
    const Vocabulary *v = &s->vocabulary;
    int n, type = v->types[id];
    const uint8_t *bytes = piece(v, id, &n);
    if (type == UNKNOWN) s->unknown = id;
    if (type == NORMAL) {
        if (v->scores[id] < s->least) s->least = v->scores[id];
        if (v->scores[id] > s->most) s->most = v->scores[id];
    }
    if (type == NORMAL || type == USER_DEFINED) add_to_trie(&s->pieces, bytes, n, id);
    if (type == USER_DEFINED) add_to_trie(&s->reserved, bytes, n, id);
    if (type == BYTE) s->byte_ids[byte_of(v, id)] = id;
}

API Segmenter *yk_segmenter(const Vocabulary *v) {
    size_t all = v->n ? v->ends[v->n - 1] : 0, own = 0;
    Segmenter *s = calloc(1, sizeof *s);
    int n, is_usable = is_valid_charsmap(v);
    if (!s) return NULL;
    *s = (Segmenter){.vocabulary = *v, .unknown = -1, .spells = 1, .least = FLT_MAX, .most = FLT_MIN};
    memset(s->byte_ids, -1, sizeof s->byte_ids);
    for (int id = 0; id < v->n; id++) {
        if (v->types[id] == USER_DEFINED) piece(v, id, &n), own += n;
        if (v->types[id] == BYTE ? byte_of(v, id) < 0 : v->types[id] == UNUSED && !v->unigram) is_usable = 0;
    }
    if (is_usable && reserve_trie(&s->pieces, all) && reserve_trie(&s->reserved, own)) {
        for (int id = 0; id < v->n; id++) add(s, id);
        for (int byte = 0; byte < 256; byte++) s->spells &= s->byte_ids[byte] >= 0;
        if (s->unknown >= 0) return s;
    }
    return yk_free_segmenter(s), NULL;
}

API void yk_free_segmenter(Segmenter *s) {
    release_trie(&s->pieces), release_trie(&s->reserved), free(s);
}

API void yk_free_segmented(Segmented *segmented) { free(segmented->bytes), free(segmented->tokens), free(segmented); }

/* ---- text to tokens ------------------------------------------------------------------------ */

/* Add bytes from .. to - 1 of the normalised text; of the characters of an unknown text, all are one token. */
static void add_token(const Segmenter *s, const Text *text, int id, int from, int to, Segmented *out) {
    const int32_t *origins = text->origins;
    if (id != s->unknown || !s->spells) {
        int goes_on = id == s->unknown && out->n && out->tokens[out->n - 1].id == id;
        if (goes_on) out->tokens[out->n - 1].to = to, out->tokens[out->n - 1].end = origins[to];
        else out->tokens[out->n++] = (Token){id, origins[from], origins[to], from, to};
        return;
    }
    for (int i = from; i < to; i++) {
        int end = i + 1 == to ? origins[to] : origins[from];
        out->tokens[out->n++] = (Token){s->byte_ids[text->bytes[i]], origins[from], end, i, i + 1};
    }
}

API Segmented *yk_encode(const Segmenter *s, const uint8_t *bytes, int n) {
    Segmented *out = calloc(1, sizeof *out);
    Text text = {0};
    int32_t *ends = NULL;
    int count = -1;
    if (out && n <= LONGEST && normalise(s, bytes, n, &text)) {
        out->tokens = malloc((text.n + 1) * sizeof *out->tokens), ends = malloc((text.n + 1) * 2 * sizeof *ends);
        if (out->tokens && ends)
            count = (s->vocabulary.unigram ? find_best : merge)(s, text.bytes, text.n, ends, ends + text.n);
    }
    for (int i = 0, from = 0; i < count; from = ends[i++]) add_token(s, &text, ends[text.n + i], from, ends[i], out);
    free(ends);
    if (count < 0) {
        if (out) yk_free_segmented(out);
        return release_text(&text), NULL;
    }
    out->bytes = text.bytes, out->n_bytes = text.n, free(text.origins);
    return out;
}

/* ---- tokens to text ------------------------------------------------------------------------ */

/* Add the characters of a run of n bytes, each with its last token; those that are not UTF-8 become U+FFFD. */
static void add_characters(const uint8_t *bytes, int n, Token *tokens, Text *out) {
    for (int at = 0, length; at < n; at += length) {
        length = whole_character(bytes + at, n - at);
        const uint8_t *character = length ? bytes + at : REPLACEMENT;
        const int size = length ? length : 3;
        length = length ? length : 1;
        for (int i = 0; i < length; i++) tokens[at + i].from = tokens[at + i].to = out->n;
        memcpy(out->bytes + out->n, character, size), out->n += size, tokens[at + length - 1].to = out->n;
    }
}

/* Add a piece with spaces for U+2581. */
static void add_spaced(const uint8_t *bytes, int n, Text *out) {
    for (int i = 0; i < n; i++) {
        int is_space = n - i >= 3 && !memcmp(bytes + i, SPACE, 3);
        out->bytes[out->n++] = is_space ? ' ' : bytes[i];
        if (is_space) i += 2;
    }
}

/* Add what a token that is not a byte adds; the result is whether it began with a space that was left out. */
static int add_text(const Segmenter *s, int id, int is_first, Text *out) {
    const Vocabulary *v = &s->vocabulary;
    int n, type = id < 0 || id >= v->n ? CONTROL : v->types[id], leaves_out = 0;
    if (type == CONTROL) return 0;
    const uint8_t *bytes = piece(v, id, &n);
    if (type == UNKNOWN) bytes = v->unknown, n = v->n_unknown;
    if (!grow(out, n)) return -1;
    if (type == UNKNOWN || type == FOREIGN) return memcpy(out->bytes + out->n, bytes, n), out->n += n, 0;
    if (is_first && (v->dummy_prefix || v->remove_extra_spaces) && n >= 3 && !memcmp(bytes, SPACE, 3))
        bytes += 3, n -= 3, leaves_out = !v->remove_extra_spaces; /* which leaves out all leading spaces */
    return add_spaced(bytes, n, out), leaves_out;
}

static int decode(const Segmenter *s, const int32_t *ids, int n, Token *tokens, uint8_t *run, Text *out) {
    int is_first = 1, left_out = 0;
    if (!grow(out, 0)) return 0;
    for (int i = 0; i < n; i++) {
        int length = 0;
        for (; i < n && ids[i] >= 0 && ids[i] < s->vocabulary.n && s->vocabulary.types[ids[i]] == BYTE; i++)
            run[length++] = (uint8_t)byte_of(&s->vocabulary, ids[i]);
        if (!grow(out, (size_t)length * 3)) return 0;
        add_characters(run, length, tokens + i - length, out);
        if (i == n) break;
        if (left_out || out->n) is_first = 0;
        tokens[i].from = out->n;
        if ((left_out = add_text(s, ids[i], is_first, out)) < 0) return 0;
        tokens[i].to = out->n;
    }
    return 1;
}

API Segmented *yk_decode(const Segmenter *s, const int32_t *ids, int n) {
    if (n > LONGEST) return NULL;
    Segmented *out = calloc(1, sizeof *out);
    uint8_t *run = malloc(n + 1); /* of bytes */
    Text text = {0};
    int done = 0;
    if (out && run && (out->tokens = calloc(n + 1, sizeof *out->tokens))) done = decode(s, ids, n, out->tokens, run, &text);
    free(run);
    if (!done) {
        if (out) yk_free_segmented(out);
        return release_text(&text), NULL;
    }
    for (int i = 0; i < n; i++) out->tokens[i].id = ids[i];
    out->bytes = text.bytes, out->n_bytes = text.n, out->n = n, free(text.origins);
    return out;
}
