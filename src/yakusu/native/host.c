/* WebAssembly: the functions of a guide, which the host has, and the kernels, a module of their own with the memory
   of both. A host loads the fastest kernels that it runs; all else is compiled once. */

#ifdef __wasm__

#include "session.h"

#define IMPORT(module, name) __attribute__((import_module(module), import_name(#name)))

IMPORT("guide", restrict) void host_restrict(int64_t key, int n, int left, uint8_t *allowed, int32_t *proposals);
IMPORT("guide", order) void host_order(int64_t key, int n, Candidate *candidates);
IMPORT("guide", follow) void host_follow(int64_t key, int n, const int32_t *beams, const int32_t *ids);

API const Guide *yk_host_guide(void) {
    static const Guide guide = {host_restrict, host_order, host_follow};
    return &guide;
}

#ifdef WEB

#define KERNEL(name) IMPORT("kernels", name) __typeof__(*((Kernels *)0)->name) kernel_##name

KERNEL(encode);
KERNEL(decode);
KERNEL(predict);
KERNEL(mean);
KERNEL(weigh);

const Kernels kernels_generic = {"web", kernel_encode, kernel_decode, kernel_predict, kernel_mean, kernel_weigh,
                                 NULL,  NULL,          NULL,          NULL};
const Scans scans_generic = {NULL, NULL, NULL}; /* without a codebook, see state.h */

#endif
#endif
