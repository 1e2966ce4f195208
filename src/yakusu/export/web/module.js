// The ES module: opens a model of its folder, in a browser, node or deno.

async function bytesAt(url) {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url).catch((error) => { throw new Error(`${url} cannot be read (${error.code}): check the folder`); });
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url} cannot be read: ${response.status}`);
  return response.arrayBuffer();
}

function check(valid, message) { if (!valid) throw new TypeError(message); }
const areTexts = (all) => Array.isArray(all) && [...all].every((each) => typeof each === "string");
const arePairs = (all) => Array.isArray(all) && all.every((each) => areTexts(each) && each.length === 2);
function known(options, names) {
  check(options instanceof Object, "options must be an object");
  for (const name of Object.keys(options)) check(names.includes(name), `there is no option ${name}: choose from ${names.join(", ")}`);
  return options;
}
const OPTIONS = ["nBest", "beam", "prefix", "include", "exclude", "terms", "check"];

class PublicTranslator {
  constructor(own) { this.own = own; }
  get source() { return this.own.languages[0]; }
  get target() { return this.own.languages[1]; }
  async translate(text, options = {}) {
    const { nBest = 1, beam, prefix = "", include = [], exclude = [], terms, check: isChecked = true } = known(options, OPTIONS);
    check(areTexts([text, prefix]), "the text and the prefix must be strings");
    check(areTexts(include) && areTexts(exclude), "include and exclude must be arrays of strings");
    check(arePairs(terms ?? []), "terms must be an array of pairs of strings");
    check(typeof isChecked === "boolean", "check must be true or false");
    check([nBest, beam ?? 1].every((n) => Number.isInteger(n) && n >= 1 && n <= 256), "nBest and beam must be whole numbers from 1 to 256");
    const search = this.own.search, width = Math.max(beam ?? search.beam, nBest);
    const changed = search.model_copy($.dict([["n_best", nBest], ["beam", width]]));
    const read = isChecked ? null : this.own._planner.text_config.model_copy($.dict([["check", false]]));
    const own = this.own.with_settings(changed, read, terms ?? null);
    const [found] = own.stream([new Request(text.replace(/\p{Surrogate}/gu, "\ufffd"), prefix, include, exclude)]);
    return found.map((each) => ({ text: each.text, score: each.score, logProb: each.log_prob, quality: each.quality }));
  }
}

export async function load(folder = ".", options = {}) {
  const { model = MODELS[0], engine = engineHere() } = known(options, ["model", "engine"]);
  check(MODELS.includes(model), `there is no model ${model}: choose one of ${MODELS.join(", ")}`);
  const base = new URL(folder, import.meta.url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  const at = (name) => new URL(name, base);
  check(["relaxed", "simd", "scalar"].includes(engine), `there is no engine ${engine}: choose relaxed, simd or scalar`);
  check(engine !== "relaxed" || engineHere() === engine, "this host does not compute relaxed SIMD: leave out engine");
  const names = ["engine.wasm", `kernels-${engine}.wasm`, `${model}.bin`];
  const [own, kernels, data] = await Promise.all(names.map((name) => bytesAt(at(name))));
  return new PublicTranslator(openTranslator(await engineOf(own, kernels), await unpacked(data)));
}
