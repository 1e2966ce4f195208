/* Which instruction sets the processor and the operating system support. */

#define _DEFAULT_SOURCE /* syscall */

#include <string.h>

#include "codes.h"
#include "model.h"

/* What is compiled for an instruction set. */
typedef struct {
    const char *name;
    const Kernels *kernels;
    const Scans *scans;
} Set;

#define DECLARE(isa) \
    extern const Kernels kernels_##isa; \
    extern const Scans scans_##isa
#define SET(isa) {#isa, &kernels_##isa, &scans_##isa}

DECLARE(generic);
#if defined(__x86_64__) || defined(_M_X64)

#include <cpuid.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* Linux saves the tiles of AMX for processes that ask for it (ARCH_REQ_XCOMP_PERM). */
static int may_use_tiles(void) { return !syscall(SYS_arch_prctl, 0x1023, 18); }
#else
static int may_use_tiles(void) { return 0; }
#endif

DECLARE(avx2);
DECLARE(avxvnni);
DECLARE(avx512vnni);
DECLARE(amx);

static uint32_t enabled_registers(void) { /* those that the operating system saves */
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Not __builtin_cpu_supports, which always returns 0 in libraries that zig links. */
static int has(const char *name) {
    uint32_t a, b, c, d, b7, c7, d7, a71 = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, ymm = 0x6, zmm = 0xe6;
    if (!(c & fma) || !(c & osxsave) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return 0;
    uint32_t saved = enabled_registers();
    if ((saved & ymm) != ymm || !(b7 & 1u << 5)) return 0; /* AVX2 */
    if (!strcmp(name, "avx2")) return 1;
    if (!strcmp(name, "avxvnni"))
        return a >= 1 && __get_cpuid_count(7, 1, &a71, &b, &c, &d) && a71 & 1u << 4;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    if ((saved & zmm) != zmm || (b7 & avx512) != avx512 || !(c7 & 1u << 11)) return 0; /* VNNI */
    if (!strcmp(name, "avx512vnni")) return 1;
    const uint32_t amx = 3u << 24, tiles = 3u << 17; /* TILE, INT8 */
    if (!(c7 & 1u << 1)) return 0; /* VBMI */
    return (d7 & amx) == amx && (saved & tiles) == tiles && may_use_tiles();
}

static const Set all[] = {SET(amx), SET(avx512vnni), SET(avxvnni), SET(avx2), SET(generic)};

#elif defined(__aarch64__)

DECLARE(dotprod);

#if defined(__linux__)
#include <sys/auxv.h>
static int has(const char *name) { return !strcmp(name, "dotprod") && getauxval(AT_HWCAP) & 1 << 20; }
#else
static int has(const char *name) { return !strcmp(name, "dotprod"); } /* every Apple processor */
#endif

static const Set all[] = {SET(dotprod), SET(generic)};

#else

static int has(const char *name) { return !name; }

static const Set all[] = {SET(generic)};

#endif

static const Set *find(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (*name && strcmp(name, all[i].name)) continue;
        if (all[i].kernels == &kernels_generic || has(all[i].name)) return &all[i];
    }
    return NULL;
}

API const Kernels *yk_kernels(const char *name) {
    const Set *found = find(name);
    return found ? found->kernels : NULL;
}

API const Scans *yk_scans(const char *name) {
    const Set *found = find(name);
    return found ? found->scans : NULL;
}

API const char *yk_name(const Kernels *kernels) { return kernels->name; }
