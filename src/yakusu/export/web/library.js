// The ES module: opens the folder of a model, in a browser, node or deno.

// A module of a function with an instruction of SIMD128.
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11);

async function bytesAt(url) {
  if (url.protocol === "file:") return (await import("node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be read: ${response.status}`);
  return response.arrayBuffer();
}

async function unpacked(bytes) {
  try {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return readModel(await new Response(stream).arrayBuffer());
  } catch {
    throw new Error("model.bin is damaged or incomplete: copy it again");
  }
}

// The engine's module with what it imports: the time, and the restrictions of a sentence.
async function engineOf(bytes) {
  let engine = null;
  const ask = (name) => (key, ...given) => engine.session.asked(name, Number(key), given);
  const clock = (id, precision, at) => {
    new DataView(engine.bytes).setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  };
  const { instance } = await WebAssembly.instantiate(bytes, {
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

function check(valid, message) { if (!valid) throw new TypeError(message); }

class PublicTranslator {
  constructor(own) { this.own = own; }
  get source() { return this.own.languages[0]; }
  get target() { return this.own.languages[1]; }
  async translate(text, options = {}) {
    const { nBest = 1, beam, prefix = "", include = [], exclude = [], terms } = options;
    check([text, prefix, ...include, ...exclude, ...(terms ?? []).flat()].every((each) => typeof each === "string"),
      "the text, prefix, phrases and terms must be strings");
    check([nBest, beam ?? 1].every((n) => Number.isInteger(n) && n >= 1 && n <= 256), "nBest and beam must be from 1 to 256");
    const search = this.own.search, width = Math.max(beam ?? search.beam, nBest);
    const changed = search.model_copy($.dict([["n_best", nBest], ["beam", width]]));
    const own = this.own.with_settings(changed, null, terms ?? null);
    const [found] = own.stream([new Request(text.replace(/\p{Surrogate}/gu, "\ufffd"), prefix, include, exclude)]);
    return found.map((each) => ({ text: each.text, score: each.score, logProb: each.log_prob, quality: each.quality }));
  }
}

export async function load(folder = import.meta.url, { simd = WebAssembly.validate(SIMD) } = {}) {
  const at = (name) => new URL(name, new URL(folder, import.meta.url));
  const module = simd ? "engine.wasm" : "engine-scalar.wasm";
  const [engine, model] = await Promise.all([bytesAt(at(module)).then(engineOf), bytesAt(at("model.bin")).then(unpacked)]);
  return new PublicTranslator(openTranslator(engine, model));
}
