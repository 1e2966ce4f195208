#include "model.h"
#include <stdlib.h>
#include <string.h>
extern const Kernels kernels_generic;
#ifdef X86
extern const Kernels kernels_avx2, kernels_avx512vnni;
#endif
const Kernels *yk_kernels(const char *name) {
#ifdef X86
    if (!strcmp(name, "avx512vnni")) return &kernels_avx512vnni;
    if (!strcmp(name, "avx2")) return &kernels_avx2;
#endif
    return &kernels_generic;
}
