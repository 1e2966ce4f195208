/* Which instruction sets the processor and the operating system support. */

#include <string.h>

#include "model.h"

extern const Kernels kernels_generic;
#if defined(__x86_64__) || defined(_M_X64)

#include <cpuid.h>

extern const Kernels kernels_avx2, kernels_avxvnni, kernels_avx512vnni;

static uint32_t enabled_registers(void) { /* those that the operating system saves */
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* Not __builtin_cpu_supports, which always returns 0 in libraries that zig links. */
static int has(const char *name) {
    uint32_t a, b, c, d, b7, c7, a71 = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    const uint32_t fma = 1u << 12, osxsave = 1u << 27, ymm = 0x6, zmm = 0xe6;
    if (!(c & fma) || !(c & osxsave) || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d)) return 0;
    uint32_t saved = enabled_registers();
    if ((saved & ymm) != ymm || !(b7 & 1u << 5)) return 0; /* AVX2 */
    if (!strcmp(name, "avx2")) return 1;
    if (!strcmp(name, "avxvnni"))
        return a >= 1 && __get_cpuid_count(7, 1, &a71, &b, &c, &d) && a71 & 1u << 4;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    return (saved & zmm) == zmm && (b7 & avx512) == avx512 && c7 & 1u << 11;
}

static const Kernels *const all[] = {&kernels_avx512vnni, &kernels_avxvnni, &kernels_avx2, &kernels_generic};

#elif defined(__aarch64__)

extern const Kernels kernels_dotprod;

#if defined(__linux__)
#include <sys/auxv.h>
static int has(const char *name) { return !strcmp(name, "dotprod") && getauxval(AT_HWCAP) & 1 << 20; }
#else
static int has(const char *name) { return !strcmp(name, "dotprod"); } /* every Apple processor */
#endif

static const Kernels *const all[] = {&kernels_dotprod, &kernels_generic};

#else

static int has(const char *name) { return !name; }

static const Kernels *const all[] = {&kernels_generic};

#endif

API const Kernels *yk_kernels(const char *name) {
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int runs = all[i] == &kernels_generic || has(all[i]->name);
        if (runs && (!*name || !strcmp(name, all[i]->name))) return all[i];
    }
    return NULL;
}

API const char *yk_name(const Kernels *kernels) { return kernels->name; }
