// A translator from a model file: the model's decoder, the tokenizer, and the settings.

// The pieces of one side's vocabulary (data/pieces.py).
class Pieces {
  constructor(segmenter, data) { [this.own, this.data] = [segmenter, data]; this.ids = new Map(data.pieces.map((p, i) => [p, i])); }
  get language_tokens() { return $.dict(Object.entries(this.data.languages)); }
  __len__() { return this.data.pieces.length; }
  piece(id) { return this.data.pieces[id]; }
  begins_word(id) { return id === 0 || this.data.pieces[id].startsWith("▁"); }
  id_of(piece) { return this.ids.get(piece) ?? 1; }
  byte_ids(bytes) {
    const ids = [...bytes].map((byte) => this.id_of(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
    return ids.includes(1) ? [] : ids;
  }
  encode(text) { return this.own.encode(text); }
  spelled(text) { return this.own.normalize(text).replaceAll("▁", ""); }
  loses(character) {
    const spelled = this.spelled(character);
    if (!spelled) return true;
    if (this.data.widths.includes(character) || !MEANING.match(character)) return false;
    return $.text.casefold(spelled) !== $.text.casefold(character.normalize("NFC"));
  }
  surfaces(text) { return [...this.own.surfaces(text), this.piece(0)]; }
  offsets(text) { return this.own.offsets(text); }
  decode(ids) { return this.own.decode(ids); }
  texts_of(ids) { return this.own.texts_of(ids); }
}

// The engine as a decoder (engine/decoder.py).
class WebDecoder {
  constructor(engine, model) {
    [this.engine, this.model] = [engine, model];
    [this.max_length, this.n_members, this.roles] = [model.data.n_positions, 1, ["encoder", "decoder", "cross"]];
  }
  searches(config, rules, batch) { return new WebSearches(this, config, rules, batch); }
  score(pairs, n_alternatives) {
    return this.recorded(pairs, n_alternatives, []).map((own, row) => {
      const alternatives = pairs[row][1].map((_, t) => own.ids.slice(t * n_alternatives, (t + 1) * n_alternatives)
        .map((id, i) => [id, own.values[t * n_alternatives + i]]));
      return { token_log_probs: own.log_probs, alternatives, log_prob: own.log_probs.reduce((a, b) => a + b, 0) };
    });
  }
  recorded(pairs, n_alternatives, roles) {
    const session = new Session(this.engine, this.model, null, 256);
    try { return pairs.map((pair) => session.score(pair, n_alternatives, roles)); } finally { session.close(); }
  }
  attentions(pairs, roles) {
    const names = [...roles], { data } = this.model;
    return this.recorded(pairs, 0, names).map((own, row) => [$.dict(names.map((role) => [role, {
      role, values: own.attention[role], depths: data.depths[role === "encoder" ? 0 : 1], heads: data.n_heads,
      T: pairs[row][1].length, S: own.n_source, n_source: pairs[row][0].length,
    }]))]);
  }
}

class WebSearches {
  constructor(decoder, config, rules, batch) { Object.assign(this, { decoder, config, rules, batch, waiting: [] }); }
  __enter__() { return this; }
  __exit__() {}
  submit(query) { this.waiting.push(query); }
  settings(query) {
    const { config, decoder } = this;
    const longest = limit(config, query.source.length - 1, query.prefix.length, decoder.max_length);
    const required = query.restrictions?.has_goal;
    return [
      ["i", config.beam], ["i", config.n_best], ["i", longest + 1],
      ["i", Math.min(config.max_repeats, longest + 1)], ["i", Math.min(config.no_repeat_ngram, longest + 2)],
      ["i", query.trace != null ? 1 : 0],
      ["d", required || config.margin == null ? Infinity : config.margin], ["d", config.alpha],
    ];
  }
  results() {
    const { decoder, waiting } = this, found = waiting.map(() => null);
    const session = new Session(
      decoder.engine, decoder.model, this.rules, Math.min(this.batch, waiting.length) * this.config.beam);
    try {
      waiting.forEach((query, key) => session.search(key, query, this.settings(query)));
      while (session.queries.size) for (const [key, own] of session.advance()) found[key] = own;
    } finally { session.close(); }
    return found;
  }
}

// ---- what the translated functions read by these names -----------------------------------------

const TASKS = $.dict([["translation", () => new TranslationTask()]]);
class NoCounts { // of seconds and tokens, which nobody asks for
  count_tokens() {}
  end() {}
  timed(stage, items) { return items; }
}
class NoAnalysis { // of matches by class
  add() {}
}
const notFilled = () => null; // with other numbers: the plurals of languages are not in the script
const fileName = (path) => path.slice(path.lastIndexOf("/") + 1);
// What a user protects is a text, not an expression.
const literalPattern = (text) => $.re([text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")]);
const anyLength = () => Infinity;
const noGlossary = (text) => Glossary.of([], text.span_finder());
function* windows(texts, size) {
  let own = [];
  for (const text of texts) {
    own.push(text);
    if (own.length === size) { yield own; own = []; }
  }
  if (own.length) yield own;
}

// A translator with the model and the tokenizer of a model file.
function openTranslator(engine, data) {
  const model = new Model(engine, data.model), sides = data.pieces.map((own) => new Pieces(new Segmenter(engine, own.segmenter), own));
  const own = data.coverage;
  const coverage = own && new Coverage(own.source_characters, own.target_characters, own.longest_source);
  const tokenizer = new Tokenizer(sides[0], sides[sides.length - 1], coverage, data.language);
  if (!SETTINGS.has(data.settings)) throw new Error("the model is of another export: copy its folder again");
  const [languages, search, text, calibration] = SETTINGS.get(data.settings);
  return new Translator(
    new WebDecoder(engine, model), tokenizer, languages, search, "translation", data.longest, text, calibration);
}
