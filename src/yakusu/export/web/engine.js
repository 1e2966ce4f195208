// The engine in WebAssembly: its memory, a model, and the sessions that search.

const { Engine, Model, Segmenter, Session } = (() => {
// Numbers in the memory of the module, which moves when it grows.
class Engine {
  constructor(instance) {
    this.own = instance.exports;
    this.session = null; // the one that decodes
    this.kernels = this.own.yk_kernels(this.text("generic"));
  }
  get bytes() { return this.own.memory.buffer; }
  view() { return new DataView(this.bytes); }
  allocate(size) {
    const address = this.own.malloc(Math.max(1, size));
    if (!address) throw new Error("there is not enough memory");
    return address;
  }
  release(address) { this.own.free(address); }
  array(kind, address, n) { return new kind(this.bytes, address, n); }
  // A copy of an array in the memory of the module; 0: none.
  copy(values) {
    if (!values || !values.length) return 0;
    const address = this.allocate(values.byteLength);
    this.array(values.constructor, address, values.length).set(values);
    return address;
  }
  text(value) { return this.copy(new TextEncoder().encode(`${value}\0`)); }
  // Integers and floats one after the other, each of its own kind: a structure.
  structure(parts) {
    const sizes = { i: 4, f: 4, d: 8, q: 8 }, places = [];
    let end = 0;
    for (const [kind] of parts) {
      end = Math.ceil(end / sizes[kind]) * sizes[kind];
      places.push(end);
      end += sizes[kind];
    }
    const address = this.allocate(Math.ceil(end / 8) * 8), view = this.view();
    parts.forEach(([kind, value], i) => {
      const place = address + places[i];
      if (kind === "i") view.setInt32(place, value, true);
      else if (kind === "f") view.setFloat32(place, value, true);
      else view.setFloat64(place, value, true);
    });
    return address;
  }
}

const UNK = 1;
const padded = (n) => Math.ceil(n / 16) * 16;

// The table of section 3.5, as in engine/packing.py: i exp(-i a) = sin a + i cos a, and the
// exponential of a sum is a product.
function sinusoids(n, width, divisor) {
  const STEPS = 64, table = new Float32Array(n * padded(width));
  for (let i = 0; i < width / 2; i++) {
    const rate = 1 / 10000 ** ((2 * i) / divisor);
    for (let position = 0; position < n; position++) {
      const start = position - (position % STEPS), step = position % STEPS;
      const [c, s] = [Math.cos(start * rate), Math.sin(-start * rate)];
      const [real, imaginary] = [-s, c]; // i exp(-i a)
      const [c2, s2] = [Math.cos(step * rate), Math.sin(-step * rate)];
      table[position * padded(width) + 2 * i] = real * c2 - imaginary * s2;
      table[position * padded(width) + 2 * i + 1] = real * s2 + imaginary * c2;
    }
  }
  return table;
}

// A model in the layout of the kernels.
class Model {
  // `data`: what weights.py writes: sizes, matrices (rows of bytes with a scale each) and vectors.
  constructor(engine, data) {
    const { own } = engine;
    this.data = data;
    const matrices = data.matrices.map((each) => this.matrix(engine, each));
    const vectors = data.vectors.map((each) => engine.copy(this.vector(each)));
    const sizes = engine.structure(data.sizes);
    const addresses = [engine.copy(Int32Array.from(matrices)), engine.copy(Int32Array.from(vectors))];
    this.handle = own.yk_model(sizes, ...addresses);
    if (!this.handle) throw new Error("there is not enough memory for the model");
    for (const address of [...vectors, ...addresses, sizes]) engine.release(address);
  }
  vector(each) { return each instanceof Float32Array ? each : sinusoids(...each.sinusoids); }
  matrix(engine, { n_out, n_in, bias, rows, scales }) {
    const address = engine.copy(bias);
    const made = engine.own.yk_matrix(n_out, n_in, address, this.data.format);
    engine.release(address);
    const BLOCK = 256, place = engine.allocate(4 * BLOCK * n_in);
    for (let first = 0; first < scales.length; first += BLOCK) {
      const n = Math.min(BLOCK, scales.length - first);
      const block = engine.array(Float32Array, place, n * n_in);
      for (let row = 0; row < n; row++) {
        for (let i = 0; i < n_in; i++) block[row * n_in + i] = rows[(first + row) * n_in + i] * scales[first + row];
      }
      if (engine.own.yk_pack(made, first, place, n) !== 1) throw new Error("there is not enough memory for the model");
    }
    engine.release(place);
    return made;
  }
}

// A SentencePiece model, with the ids of that library (native/segmenter.h).
class Segmenter {
  constructor(engine, data) {
    [this.engine, this.pieces, this.types] = [engine, data.pieces, data.types];
    const encoded = data.pieces.map((piece) => bytesOf(piece)), ends = new Int32Array(encoded.length);
    encoded.forEach((bytes, i) => { ends[i] = bytes.length + (i ? ends[i - 1] : 0); });
    const text = new Uint8Array(ends[ends.length - 1]);
    encoded.forEach((bytes, i) => text.set(bytes, ends[i] - bytes.length));
    const unknown = bytesOf(data.unknown);
    const parts = [text, ends, data.scores, data.types, data.charsmap, unknown].map((each) => engine.copy(each));
    const numbers = [ends.length, data.charsmap.length, unknown.length, ...data.flags];
    this.own = engine.own.yk_segmenter(engine.structure([...parts, ...numbers].map((each) => ["i", each])));
    if (!this.own) throw new Error("the vocabulary is not valid");
  }
  // The text that a function of the library makes, and its tokens: id, begin, end, from, to.
  made(name, values) {
    const { engine } = this, address = engine.copy(values);
    const found = engine.own[name](this.own, address, values.length);
    if (address) engine.release(address);
    if (!found) throw new Error("the text is too long");
    const [bytes, tokens, n_bytes, n] = engine.array(Int32Array, found, 4);
    const text = engine.array(Uint8Array, bytes, n_bytes).slice(), rows = engine.array(Int32Array, tokens, 5 * n);
    const made = { text, tokens: Array.from({ length: n }, (_, i) => [...rows.subarray(5 * i, 5 * i + 5)]) };
    engine.own.yk_free_segmented(found);
    return made;
  }
  encoded(text) { return this.made("yk_encode", bytesOf(text)); }
  encode(text) { return [...this.encoded(text).tokens.map(([id]) => id), 0]; }
  normalize(text) { return textOf(this.encoded(text).text); }
  surfaces(text) {
    const own = this.encoded(text);
    return own.tokens.map(([id, , , from, to]) => (this.types[id] === BYTE ? this.pieces[id] : textOf(own.text.subarray(from, to))));
  }
  offsets(text) {
    const bytes = bytesOf(text);
    return charactersAt(bytes, this.made("yk_encode", bytes).tokens.map(([, begin, end]) => [begin, end]));
  }
  decoded(ids) { return this.made("yk_decode", Int32Array.from(ids)); }
  decode(ids) { return textOf(this.decoded(ids).text); }
  texts_of(ids) {
    const own = this.decoded(ids);
    return own.tokens.map(([, , , from, to]) => textOf(own.text.subarray(from, to)));
  }
}
const BYTE = 6;
const bytesOf = (text) => new TextEncoder().encode(text);
const textOf = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
// Places in bytes as places in characters.
function charactersAt(bytes, ranges) {
  const places = new Int32Array(bytes.length + 1);
  bytes.forEach((byte, i) => { places[i + 1] = places[i] + ((byte & 0xc0) !== 0x80); });
  places.forEach((_, i) => { if ((bytes[i] & 0xc0) === 0x80) places[i]--; });
  return ranges.map((range) => range.map((place) => places[place]));
}

const PROPOSALS = 256;

// Decodes sentences together, as engine/session.py does.
class Session {
  constructor(engine, model, rules, max_rows) {
    [this.engine, this.model, this.rules] = [engine, model, rules];
    this.queries = new Map();
    const n = padded(model.data.n_target), allowed = new Uint8Array(n);
    if (rules) allowed.set(rules.allowed);
    else { allowed.fill(1, 0, model.data.n_target); allowed[UNK] = 0; }
    this.n_tokens = n;
    const models = engine.copy(Int32Array.of(model.handle));
    this.kept = [models, engine.copy(allowed)];
    this.spelling = rules?.characters ? this.spelled(rules.characters, this.kept) : 0;
    this.handle = engine.own.yk_session(
      models, 1, engine.kernels, max_rows, this.kept[1], this.spelling, engine.own.yk_host_guide(), 0, 0);
    if (!this.handle) throw new Error("there is not enough memory to decode");
  }
  close() {
    this.engine.own.yk_free_session(this.handle);
    for (const address of [...this.kept, ...[...this.queries.values()].flatMap((own) => own.kept)]) this.engine.release(address);
  }
  spelled(table, kept) {
    const parts = [table.flat(), table.tokens, table.byteOf].map((each) => this.engine.copy(each));
    const address = this.engine.structure(parts.map((each) => ["i", each]));
    kept.push(...parts, address);
    return address;
  }
  encoded(ids) { return Int32Array.from(this.model.data.source_eos || ids.length < 2 ? ids : ids.slice(0, -1)); }
  search(key, query, settings) {
    const { engine } = this, kept = [], restrictions = query.restrictions;
    const guided = restrictions && restrictions.has_constraints;
    let required = 0, n_required = 0, spelling = 0;
    if (!guided && restrictions) {
      n_required = restrictions.required.length;
      kept.push((required = engine.copy(Int32Array.from(restrictions.required))));
      const own = restrictions.characters;
      if (own && own !== this.rules.characters) spelling = this.spelled(own, kept);
    }
    const source = this.encoded(query.source), prefix = Int32Array.from(query.prefix);
    const addresses = [engine.copy(source), engine.copy(prefix)];
    const own = engine.structure([
      guided ? (restrictions.has_goal ? 2 : 1) : 0, n_required, required, spelling, 0, 0, 0, 0,
    ].map((each) => ["i", each]));
    const chosen = engine.structure(settings);
    kept.push(...addresses, own, chosen);
    const done = engine.own.yk_search(
      this.handle, BigInt(key), addresses[0], source.length, addresses[1], prefix.length, chosen, own);
    if (!done) throw new Error("there is not enough memory to decode");
    this.queries.set(key, { query, kept, restrictions: guided ? restrictions : null, begun: false });
  }
  // Decode for some seconds; yield the keys and the hypotheses of what is finished.
  *advance(seconds = 0.02) {
    const { engine } = this;
    engine.session = this;
    const status = engine.own.yk_advance(this.handle, seconds);
    if (status < 0) throw new Error("there is not enough memory to decode");
    if (this.fault) throw this.fault;
    const at = engine.allocate(8);
    for (let found; (found = engine.own.yk_next(this.handle, at)); ) {
      const key = Number(engine.view().getBigInt64(at, true)), own = this.queries.get(key);
      this.queries.delete(key);
      const made = this.hypotheses(found);
      if (own.query.trace) own.query.trace.push(...this.steps(found));
      own.kept.forEach((address) => engine.release(address));
      yield [key, made.length ? made : [NOTHING]];
    }
    engine.release(at);
  }
  hypotheses(search) {
    const view = this.engine.view(), made = [];
    const list = view.getInt32(search + 60, true), n_found = view.getInt32(search + 64, true);
    for (let i = 0; i < n_found; i++) {
      const place = list + 32 * i, n = view.getInt32(place + 4, true);
      const tokens = [...this.engine.array(Int32Array, view.getInt32(place, true), n)];
      const path = [...this.engine.array(Float64Array, view.getInt32(place + 8, true), n + 1)];
      made.push(new Hypothesis(tokens, view.getFloat64(place + 16, true), view.getFloat64(place + 24, true), path));
    }
    return made;
  }
  steps(search) {
    const view = this.engine.view(), rows = [];
    const list = view.getInt32(search + 68, true), n = view.getInt32(search + 72, true);
    for (let i = 0; i < n; i++) {
      const place = list + 32 * i;
      rows.push({
        log_prob: view.getFloat64(place, true), parent: view.getInt32(place + 8, true),
        token: view.getInt32(place + 12, true), score: view.getFloat64(place + 16, true),
        step: view.getInt32(place + 24, true), fate: view.getInt32(place + 28, true),
      });
    }
    const steps = [];
    for (const row of rows) {
      (steps[row.step] ??= [[], [], []])[row.fate].push(
        new Extension(row.parent, row.token, row.log_prob, row.fate === 1 ? row.score : null));
    }
    return steps.filter(Boolean).map(([open, finished, dropped]) => new TraceStep(open, best_first(finished), dropped));
  }
  // Log-probabilities, alternatives and attention weights of a given target.
  score(pair, n_alternatives, roles) {
    const kept = [];
    try {
      return this.scored(pair, n_alternatives, roles, kept);
    } finally {
      kept.forEach((address) => this.engine.release(address));
    }
  }
  // The same; kept: what is to be released.
  scored(pair, n_alternatives, roles, kept) {
    const { engine } = this, [given, target] = pair, { data } = this.model;
    const source = this.encoded(given);
    const room = (bytes) => { // zeros: the engine writes no weights of later positions
      const address = engine.allocate(bytes);
      kept.push(address);
      engine.array(Uint8Array, address, bytes).fill(0);
      return address;
    };
    const [n_encoder, n_decoder] = data.depths, h = data.n_heads, T = target.length, S = source.length;
    const sizes = { encoder: n_encoder * S * h * S, decoder: T * n_decoder * h * T, cross: T * n_decoder * h * S };
    const of = Object.fromEntries(Object.entries(sizes).map(([role, n]) => [role, roles.includes(role) ? room(4 * n) : 0]));
    const log_probs = room(8 * T), ids = room(4 * T * n_alternatives), values = room(8 * T * n_alternatives);
    const record = engine.structure(
      [n_alternatives, log_probs, ids, values, of.encoder, of.decoder, of.cross, 0, 0].map((each) => ["i", each]));
    kept.push(record);
    const addresses = [source, Int32Array.from(target)].map((each) => {
      const address = engine.copy(each);
      kept.push(address);
      return address;
    });
    const done = engine.own.yk_score(this.handle, 1n, addresses[0], S, addresses[1], T, record);
    if (!done) throw new Error("there is not enough memory to decode");
    let status;
    while ((status = engine.own.yk_advance(this.handle, 1)) > 0);
    if (status < 0) throw new Error("there is not enough memory to decode");
    const at = room(8);
    while (engine.own.yk_next(this.handle, at));
    return {
      log_probs: [...engine.array(Float64Array, log_probs, T)],
      ids: [...engine.array(Int32Array, ids, T * n_alternatives)],
      values: [...engine.array(Float64Array, values, T * n_alternatives)],
      attention: Object.fromEntries(roles.map((role) => [role, engine.array(Float32Array, of[role], sizes[role]).slice()])),
      n_source: S,
    };
  }
  // An exception cannot pass through the engine: the first one is thrown when it returns.
  asked(name, key, given) {
    try { if (!this.fault) this[name](key, ...given); } catch (error) { this.fault = error; }
  }
  // ---- what the engine asks of a sentence with constraints ----------------------------------------
  restrict(key, n, left, allowed, proposals) {
    const own = this.queries.get(key).restrictions, flags = this.engine.array(Uint8Array, allowed, n * this.n_tokens);
    own.allowed(left, n).forEach((row, k) => flags.set(row, k * this.n_tokens));
    const wanted = this.engine.array(Int32Array, proposals, n * PROPOSALS);
    for (let k = 0; k < n; k++) wanted[k * PROPOSALS] = -1;
    if (!own.has_goal) return;
    own.proposals().forEach((row, k) => {
      const ids = [...new Set(row.filter((id) => id >= 0))].sort((a, b) => a - b).slice(0, PROPOSALS - 1);
      wanted.set([...ids, -1], k * PROPOSALS);
    });
  }
  order(key, n, candidates) {
    const view = this.engine.view(), rows = [];
    for (let i = 0; i < n; i++) {
      const place = candidates + 16 * i;
      rows.push([view.getFloat64(place, true), view.getInt32(place + 8, true), view.getInt32(place + 12, true)]);
    }
    this.queries.get(key).restrictions.order(rows).forEach((from, i) => {
      const place = candidates + 16 * i;
      view.setFloat64(place, rows[from][0], true);
      view.setInt32(place + 8, rows[from][1], true);
      view.setInt32(place + 12, rows[from][2], true);
    });
  }
  follow(key, n, beams, ids) {
    const own = this.queries.get(key);
    const chosen = own.begun ? [...this.engine.array(Int32Array, beams, n)] : new Array(n).fill(0);
    own.restrictions.follow(chosen, [...this.engine.array(Int32Array, ids, n)]);
    own.begun = true;
  }
}

return { Engine, Model, Segmenter, Session };
})();
