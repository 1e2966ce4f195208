/* The normalisation of text before it is divided into pieces; see segmenter.h. */

#include <stdlib.h>
#include <string.h>

#include "segmenter.h"

static const uint8_t SPACE[] = {0xe2, 0x96, 0x81}, REPLACEMENT[] = {0xef, 0xbf, 0xbd};

int grow(Text *text, size_t more) {
    if (more > (size_t)(LONGEST - text->n)) return 0;
    if (text->n + (int)more < text->capacity) return 1;
    int capacity = 2 * (text->n + (int)more) + 64;
    void *bytes = realloc(text->bytes, capacity);
    if (bytes) text->bytes = bytes;
    void *origins = realloc(text->origins, capacity * sizeof *text->origins);
    if (origins) text->origins = origins;
    if (!bytes || !origins) return 0;
    text->capacity = capacity;
    return 1;
}

void release_text(Text *text) { free(text->bytes), free(text->origins); }

static int expected_length(uint8_t first) { return first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4; }

int character(const uint8_t *text, int n) {
    int length = expected_length(*text);
    return length < n ? length : n;
}

int whole_character(const uint8_t *text, int n) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = expected_length(*text);
    if (length == 1) return *text < 0x80;
    if (length > n || *text >= 0xf8) return 0;
    uint32_t code = *text & (0x7f >> length);
    for (int i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    int is_code = code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_code ? length : 0;
}

int reserved(const Segmenter *s, const uint8_t *text, int n) {
    int longest = 0, node = ROOT;
    for (int i = 0; i < n && (node = walk(&s->reserved, node, text + i, 1)) != NOWHERE; i++)
        if (s->reserved.ids[node] >= 0) longest = i + 1;
    return longest;
}

/* ---- rules --------------------------------------------------------------------------------- */

/* The size of a double array (Yata et al., 2007), the array, and the replacements, each of which ends in 0. A unit
   has the byte that leads to it, the distance to its children, and whether the first one is a value. */
static uint32_t unit(const Vocabulary *v, uint32_t i) {
    const uint8_t *at = v->charsmap + 4 * (size_t)i;
    return at[0] | at[1] << 8 | at[2] << 16 | (uint32_t)at[3] << 24;
}

int is_valid_charsmap(const Vocabulary *v) {
    return !v->n_charsmap || (v->n_charsmap > 8 && unit(v, 0) <= (uint32_t)v->n_charsmap - 5 && unit(v, 0) % 4 == 0 &&
                              !v->charsmap[v->n_charsmap - 1]);
}

/* The length of the longest text with a rule, and its replacement; 0: none. */
static int rule(const Vocabulary *v, const uint8_t *text, int n, const uint8_t **to) {
    if (!v->n_charsmap) return 0;
    const uint32_t n_units = unit(v, 0) / 4, n_texts = v->n_charsmap - 4 - 4 * n_units;
    int longest = 0;
    uint32_t node = 0, u = n_units ? unit(v, 1) : 0;
    for (int i = 0; i < n; i++) {
        node ^= (u >> 10) << ((u & 1 << 9) >> 6);
        uint32_t child = node ^ text[i];
        if (child >= n_units || ((u = unit(v, 1 + child)) & 0x800000ff) != text[i]) break;
        node = child;
        uint32_t leaf = node ^ ((u >> 10) << ((u & 1 << 9) >> 6));
        if (!(u & 1 << 8) || leaf >= n_units) continue;
        uint32_t value = unit(v, 1 + leaf) & 0x7fffffff;
        if (value < n_texts) longest = i + 1, *to = v->charsmap + 4 + 4 * n_units + value;
    }
    return longest;
}

/* What the first `used` bytes of a text become. */
typedef struct { const uint8_t *bytes; int n, used; } Form;

static Form next_form(const Segmenter *s, const uint8_t *text, int n) {
    const uint8_t *to = NULL;
    int length = reserved(s, text, n);
    if (length) return (Form){text, length, length};
    if ((length = rule(&s->vocabulary, text, n, &to))) return (Form){to, (int)strlen((const char *)to), length};
    if ((length = whole_character(text, n))) return (Form){text, length, length};
    return (Form){REPLACEMENT, 3, 1};
}

/* ---- text ---------------------------------------------------------------------------------- */

static void put(const Segmenter *s, Text *out, uint8_t byte, int origin) {
    int is_space = s->vocabulary.escape_spaces && byte == ' ';
    for (int i = 0; i < (is_space ? 3 : 1); i++) {
        out->origins[out->n] = origin;
        out->bytes[out->n++] = is_space ? SPACE[i] : byte;
    }
}

static int ends_in_space(const Segmenter *s, const Text *text) {
    if (!s->vocabulary.escape_spaces) return text->n && text->bytes[text->n - 1] == ' ';
    return text->n >= 3 && !memcmp(text->bytes + text->n - 3, SPACE, 3);
}

/* 0: out of memory. */
int normalise(const Segmenter *s, const uint8_t *text, int n, Text *out) {
    const int removes = s->vocabulary.remove_extra_spaces;
    int at = 0, after_space = removes;
    Form form;
    if (!grow(out, 3)) return 0;
    for (; removes && at < n; at += form.used) {
        form = next_form(s, text + at, n - at);
        if (form.n != 1 || *form.bytes != ' ') break;
    }
    if (at < n && s->vocabulary.dummy_prefix) put(s, out, ' ', at);
    for (; at < n; at += form.used) {
        form = next_form(s, text + at, n - at);
        for (; after_space && form.n && *form.bytes == ' '; form.n--) form.bytes++;
        if (!grow(out, (size_t)form.n * 3)) return 0;
        for (int i = 0; i < form.n; i++) put(s, out, form.bytes[i], at);
        if (form.n) after_space = removes && form.bytes[form.n - 1] == ' ';
    }
    for (; removes && ends_in_space(s, out); at = out->origins[out->n]) out->n -= s->vocabulary.escape_spaces ? 3 : 1;
    out->origins[out->n] = at;
    return 1;
}
