// The engine's module and a model file, opened.

async function unpacked(bytes) {
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return readModel(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("the model is damaged or incomplete: copy it again");
  }
}

// The checksum of bytes, as zlib computes it.
function adler32(bytes) {
  let a = 1, b = 0;
  for (const byte of new Uint8Array(bytes)) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
}

// The engine with what it imports: its kernels, the time, and the restrictions of a sentence.
async function engineOf(bytes, kernelBytes) {
  if (![bytes, kernelBytes].every((each) => ENGINE_SUMS.includes(adler32(each)))) {
    throw new Error("the engine is damaged or incomplete: copy it again");
  }
  let engine = null;
  const ask = (name) => (key, ...given) => engine.session.asked(name, Number(key), given);
  const clock = (id, precision, at) => {
    new DataView(engine.bytes).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  };
  const kernels = (await WebAssembly.instantiate(kernelBytes)).instance.exports;
  const { instance } = await WebAssembly.instantiate(bytes, {
    env: kernels, kernels,
    guide: { restrict: ask("restrict"), order: ask("order"), follow: ask("follow") },
    wasi_snapshot_preview1: new Proxy({}, { get: (_, name) => (name === "clock_time_get" ? clock : () => 0) }),
  });
  engine = new Engine(instance);
  instance.exports._initialize?.();
  return engine;
}

// The arrays of a model file: a header in JSON, then their bytes.
function readModel(buffer) {
  const size = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, size)));
  const start = Math.ceil((4 + size) / 8) * 8;
  const kinds = { f: Float32Array, b: Int8Array, B: Uint8Array };
  const arrays = ([kind, place, n]) => new kinds[kind](buffer, start + place, n);
  for (const each of header.model.matrices) for (const name of ["bias", "rows", "scales"]) each[name] = arrays(each[name]);
  header.model.vectors = header.model.vectors.map((each) => (each.sinusoids ? each : arrays(each)));
  for (const { segmenter } of header.pieces) for (const name of ["scores", "types", "charsmap"]) segmenter[name] = arrays(segmenter[name]);
  return header;
}
