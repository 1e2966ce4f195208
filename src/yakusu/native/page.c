/* The guide of a page: in WebAssembly, the functions of a guide are imported. */

#ifdef __wasm__

#include "session.h"

#define IMPORT(name) __attribute__((import_module("guide"), import_name(#name)))

IMPORT(restrict) void page_restrict(int64_t key, int n, int left, uint8_t *allowed, int32_t *proposals);
IMPORT(order) void page_order(int64_t key, int n, Candidate *candidates);
IMPORT(follow) void page_follow(int64_t key, int n, const int32_t *beams, const int32_t *ids);

API const Guide *yk_page_guide(void) {
    static const Guide guide = {page_restrict, page_order, page_follow};
    return &guide;
}

#endif
