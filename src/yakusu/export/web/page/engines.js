/** Which engine this host runs. */

// A module of a function with an instruction of SIMD128.
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8,
                           0, 65, 0, 253, 15, 253, 98, 11);
// A module that computes known results with relaxed instructions (native/relaxed.c).
const RELAXED = Uint8Array.of({{relaxed}});

/** "relaxed", "simd" or "scalar": the fastest engine that the host runs as it should. */
export function engineHere() {
  const isRelaxed = WebAssembly.validate(RELAXED)
    && new WebAssembly.Instance(new WebAssembly.Module(RELAXED)).exports.is_exact(1);
  if (isRelaxed) return "relaxed";
  return WebAssembly.validate(SIMD) ? "simd" : "scalar";
}
