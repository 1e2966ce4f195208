/* The kernels with timers around their parts, and two probes of the processor; see ../profiled.py.

   The engine's own source is compiled with its functions renamed to versions that add up their time.
   For one thread. */

#include "model.h"

#include <time.h>

enum { ENCODER, DECODER, OUTPUT, N_STAGES };
enum { PRODUCTS, ROUNDING, ATTENTION, OTHER, N_KINDS };

typedef struct {
    int64_t ticks[N_STAGES][N_KINDS], whole[N_STAGES]; /* `whole` includes what no kind has */
    int64_t calls[N_STAGES], rows[N_STAGES];
} Profile;

static Profile profile;
static int stage;

API int64_t profile_now(void) {
#if defined(__x86_64__)
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    int64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
#endif
}

API void profile_take(Profile *to) {
    *to = profile;
    profile = (Profile){0};
}

/* ---- timers -------------------------------------------------------------------------------- */

#define TIMED(kind, call)                                   \
    do {                                                    \
        int64_t start = profile_now();                      \
        call;                                               \
        profile.ticks[stage][kind] += profile_now() - start; \
    } while (0)

static void timed_product(const Linear *m, const float *x, int n, Quantised *q, float *y, size_t stride,
                          int first, int end) {
    TIMED(PRODUCTS, product(m, x, n, q, y, stride, first, end));
}
static void timed_quantise_row(const float *x, int n, int size, Quantised *q, int row) {
    TIMED(ROUNDING, quantise_row(x, n, size, q, row));
}
static void timed_attend(const Heads *h, const float *q, size_t stride, int n, const Positions *of, float *scores,
                         float *out, size_t out_stride, float *weights, int ld) {
    TIMED(ATTENTION, attend(h, q, stride, n, of, scores, out, out_stride, weights, ld));
}
static void timed_normalise(const float *x, int n, const Norm *norm, float epsilon, float *y) {
    TIMED(OTHER, normalise(x, n, norm, epsilon, y));
}
static void timed_activate(float *x, size_t n, int activation) { TIMED(OTHER, activate(x, n, activation)); }
static void timed_scan(Best *best, float *logits, int first, int n) {
    TIMED(OTHER, scan(best, logits, first, n));
}

#define product timed_product
#define quantise_row timed_quantise_row
#define attend timed_attend
#define normalise timed_normalise
#define activate timed_activate
#define scan timed_scan
#include "model.c"

static int64_t enter(int entered, int n) {
    stage = entered;
    profile.calls[stage]++, profile.rows[stage] += n;
    return profile_now();
}

static void timed_encode(const Member *m, const int32_t *ids, const int *lengths, int n, Sources *const *memories,
                         float *const *weights, Scratch *s) {
    int n_positions = 0;
    for (int i = 0; i < n; i++) n_positions += lengths[i];
    int64_t start = enter(ENCODER, n_positions);
    encode(m, ids, lengths, n, memories, weights, s);
    profile.whole[ENCODER] += profile_now() - start;
}
static void timed_decode(const Member *m, const Row *rows, int n, Scratch *s) {
    int64_t start = enter(DECODER, n);
    decode(m, rows, n, s);
    profile.whole[DECODER] += profile_now() - start;
}
static void timed_predict(const Linear *output, int first, int n, Best *best, Scratch *s) {
    int64_t start = enter(OUTPUT, n);
    predict(output, first, n, best, s);
    profile.whole[OUTPUT] += profile_now() - start;
}

API const Kernels *profile_kernels(void) {
    static Kernels timed;
    timed = NAME(ISA);
    timed.encode = timed_encode, timed.decode = timed_decode, timed.predict = timed_predict;
    return &timed;
}

/* ---- probes -------------------------------------------------------------------------------- */

/* Read n numbers several times. */
API uint64_t profile_read(const uint64_t *x, size_t n, size_t times) {
    uint64_t sum = 0;
    for (size_t t = 0; t < times; t++) {
        __asm__ volatile("" : "+r"(x) : : "memory"); /* they must be read again */
        for (size_t i = 0; i < n; i++) sum += x[i];
    }
    return sum;
}

/* Independent products of 8-bit integers, in the instruction that the kernels use; the number of
   multiplications and additions, or 0 if there is no such instruction. */
#if defined(__AVX512VNNI__)
#define UNIT __m512i
#define STEP(sum, a, b) sum = _mm512_dpbusd_epi32(sum, a, b)
#elif defined(__AVXVNNI__)
#define UNIT __m256i
#define STEP(sum, a, b) sum = _mm256_dpbusd_avx_epi32(sum, a, b)
#elif defined(__AVX2__)
#define UNIT __m256i
#define STEP(sum, a, b) sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, b))
#elif defined(__ARM_FEATURE_DOTPROD)
#define UNIT int8x16_t
#define STEP(sum, a, b) sum = vreinterpretq_s8_s32(vdotq_s32(vreinterpretq_s32_s8(sum), a, b))
#endif

#if defined(__aarch64__)
#define HELD "w"
#elif defined(__AVX512VNNI__)
#define HELD "v"
#else
#define HELD "x"
#endif

/* Ten sums in registers, which is more than the latency of an instruction. */
#define EACH(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9)
#define DECLARE(k) UNIT sum##k = a;
#define ADD(k) __asm__ volatile("" : "+" HELD(a)); STEP(sum##k, a, b); /* no product is used twice */
#define KEEP(k) __asm__ volatile("" : : HELD(sum##k));

API int64_t profile_integers(int64_t n) {
#ifdef UNIT
    UNIT a, b;
    memset(&a, 1, sizeof a), memset(&b, 1, sizeof b);
    EACH(DECLARE)
    for (int64_t i = 0; i < n; i++) { EACH(ADD) }
    EACH(KEEP)
    return 2 * n * 10 * (int64_t)sizeof(UNIT);
#else
    return 0 * n;
#endif
}
