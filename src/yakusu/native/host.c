/* The guide of a host: in WebAssembly, the functions of a guide are imported. */

#ifdef __wasm__

#include "session.h"

#define IMPORT(name) __attribute__((import_module("guide"), import_name(#name)))

IMPORT(restrict) void host_restrict(int64_t key, int n, int left, uint8_t *allowed, int32_t *proposals);
IMPORT(order) void host_order(int64_t key, int n, Candidate *candidates);
IMPORT(follow) void host_follow(int64_t key, int n, const int32_t *beams, const int32_t *ids);

API const Guide *yk_host_guide(void) {
    static const Guide guide = {host_restrict, host_order, host_follow};
    return &guide;
}

#endif
