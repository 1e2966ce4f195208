// The ES module: opens a model of its folder, in a browser, node or deno.

async function bytesAt(url) {
  if (url.protocol === "file:") return (await import("node:fs/promises")).readFile(url);
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be read: ${response.status}`);
  return response.arrayBuffer();
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

export async function load(folder = import.meta.url, { model = MODELS[0], engine = engineHere() } = {}) {
  check(MODELS.includes(model), `there is no model ${model}: choose one of ${MODELS.join(", ")}`);
  const at = (name) => new URL(name, new URL(folder, import.meta.url));
  check(["relaxed", "simd", "scalar"].includes(engine), `there is no engine ${engine}: choose relaxed, simd or scalar`);
  const parts = [bytesAt(at(`engine-${engine}.wasm`)).then(engineOf), bytesAt(at(`${model}.bin`)).then(unpacked)];
  return new PublicTranslator(openTranslator(...(await Promise.all(parts))));
}
