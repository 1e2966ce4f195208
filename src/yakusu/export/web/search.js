// What a translation must and must not contain: the constraints of search/ on arrays.
//
// K hypotheses of a sentence, V vocabulary without padding. Flags are arrays of V bytes.

const { Constraints, roundedWeights, tokenWeights, wordLinks } = (() => {
const EOS = 0, UNK = 1;

// ---- characters that byte tokens may spell (search/characters.py) --------------------------------

const LONGEST = 4;
const bytesOf = (text) => new TextEncoder().encode(text);
const lengthOfByte = (byte) => 1 + (byte >= 0x80) + (byte >= 0xe0) + (byte >= 0xf0);
const mayBeGenerated = (c) => $.text.isprintable(c) && !$.text.isspace(c) && c !== "\ufffd";

class CharacterTable {
  constructor(next, tokens, byteOf) { [this.next, this.tokens, this.byteOf] = [next, tokens, byteOf]; }
  static of(tokenizer) {
    const tokens = Int32Array.from(tokenizer.target_bytes);
    if (!tokens.length) return null;
    const byteOf = new Int16Array(tokenizer.tgt_vocab_size).fill(-1);
    tokens.forEach((token, byte) => { byteOf[token] = byte; });
    const empty = new CharacterTable([new Int16Array(256).fill(-1)], tokens, byteOf);
    return empty.extended([...(tokenizer.coverage?.target_characters ?? "")].filter(mayBeGenerated));
  }
  flat() {
    const all = new Int16Array(256 * this.next.length);
    this.next.forEach((node, i) => all.set(node, 256 * i));
    return all;
  }
  get default() {
    if (this.known) return this.known;
    this.known = new Uint8Array(this.byteOf.length - 1).fill(1);
    this.tokens.forEach((token, byte) => { this.known[token] = this.next[0][byte] >= 0; });
    return this.known;
  }
  spells(character) {
    let node = 0;
    for (const byte of bytesOf(character)) if ((node = this.next[node][byte]) < 0) return false;
    return true;
  }
  extended(characters) {
    const added = [...new Set(characters)].filter((c) => !this.spells(c)).sort($.compare);
    if (!added.length) return this;
    const nodes = this.next.map((node) => node.slice());
    for (const character of added) {
      const bytes = bytesOf(character), last = bytes[bytes.length - 1];
      let node = nodes[0];
      for (const byte of bytes.subarray(0, -1)) {
        if (node[byte] < 0) { node[byte] = nodes.length; nodes.push(new Int16Array(256).fill(-1)); }
        node = nodes[node[byte]];
      }
      node[last] = 0;
    }
    return new CharacterTable(nodes, this.tokens, this.byteOf);
  }
}

class CharacterConstraint {
  constructor(table) { [this.table, this.nodes] = [table, [0]]; }
  allowed(lefts) {
    return this.nodes.map((node, k) => {
      const left = lefts[k] ?? lefts[0];
      if (!node && left > LONGEST) return this.table.default;
      const flags = new Uint8Array(this.table.byteOf.length - 1).fill(node ? 0 : 1);
      this.table.tokens.forEach((token, byte) => {
        flags[token] = (node > 0 || left > lengthOfByte(byte)) && this.table.next[node][byte] >= 0;
      });
      return flags;
    });
  }
  follow(beams, ids) {
    this.nodes = ids.map((id, k) => {
      const byte = this.table.byteOf[id];
      return byte < 0 ? 0 : Math.max(0, this.table.next[this.nodes[beams[k]]][byte]);
    });
  }
}

class TokenRules {
  constructor(tokenizer) {
    this.slot_kinds = [UNK, ...tokenizer.target_slots.values()];
    this.characters = CharacterTable.of(tokenizer);
    this.no_slots = new Uint8Array(tokenizer.tgt_vocab_size - 1).fill(1);
    for (const kind of this.slot_kinds) this.no_slots[kind] = 0;
    const known = this.characters?.default;
    this.allowed = known ? this.no_slots.map((flag, i) => flag & known[i]) : this.no_slots;
  }
}

// ---- placeholder tokens (search/slots.py) -----------------------------------------------------------

class SlotGoal {
  constructor(required, kinds, n_tokens) {
    [this.kinds, this.n_tokens] = [kinds, n_tokens];
    const counts = kinds.map((kind) => required.filter((each) => each === kind).length);
    this.required = kinds.flatMap((kind, i) => new Array(counts[i]).fill(kind));
    this.missing = [counts];
  }
  get n_missing() { return this.missing.map((own) => own.reduce((a, b) => a + b, 0)); }
  allowed(left) {
    return this.n_missing.map((n, k) => {
      const flags = new Uint8Array(this.n_tokens).fill(n > 0 && n >= left - 1 ? 0 : 1);
      if (n) flags[EOS] = 0;
      this.kinds.forEach((kind, i) => { flags[kind] = this.missing[k][i] > 0; });
      return flags;
    });
  }
  follow(beams, ids) {
    this.missing = ids.map((id, k) => this.missing[beams[k]].map((n, i) => Math.max(0, n - (this.kinds[i] === id))));
  }
  proposals() { return this.missing.map((own) => [this.kinds[own.findIndex((n) => n > 0)] ?? -1]); }
  progress(beams, ids) {
    return ids.map((id, n) => {
      const own = this.missing[beams[n]], i = this.kinds.indexOf(id);
      return this.required.length - own.reduce((a, b) => a + b, 0) + (i >= 0 && own[i] > 0);
    });
  }
}

class Without {
  constructor(flags) { this.flags = flags; }
  allowed() { return [this.flags]; }
  follow() {}
}

// ---- phrases (search/trie.py, automaton.py, spelling.py, phrases.py) ---------------------------------

const [MARK, DOUBT, LETTER, OTHER, BYTE, FIRST] = [0, 1, 2, 3, 4, 5];
const EXCLUDED = 1, MAX_INCLUDE = 30, N_DETOURS = 32, N_EXACT = 6;
const isByte = (c) => c >= "\udc80" && c <= "\udcff";
const kindOf = (c) => (isByte(c) ? BYTE : is_joined(c) ? LETTER : OTHER);
// A normalised phrase with the characters that its bytes stand for.
const readable = (text) => {
  const bytes = [...text].flatMap((c) => (isByte(c) ? [c.charCodeAt(0) - 0xdc00] : [...bytesOf(c)]));
  return new TextDecoder().decode(Uint8Array.from(bytes));
};
const occurs = (phrase, text) => {
  const all = [...text], n = [...phrase].length;
  const bounded = (i) => !(i > 0 && i < all.length && is_joined(all[i - 1]) && is_joined(all[i]));
  return all.some((_, i) => all.slice(i, i + n).join("") === phrase && bounded(i) && bounded(i + n));
};

class Trie {
  constructor(include, exclude) {
    const forms = include.flatMap((phrase, event) => phrase.map((form) => [event, form]));
    const characters = new Set([" ", ...forms.map(([, form]) => form).join(""), ...exclude.join("")]);
    this.alphabet = new Map([...characters].sort($.compare).map((c, i) => [c, i + FIRST]));
    [this.children, this.symbols, this.parents] = [[new Map()], [LETTER], [0]];
    [this.places, this.events] = [[[]], [0]];
    this.start = this.child(0, MARK);
    this.child(0, DOUBT);
    forms.forEach(([event, form], number) => this.add(form, 2 << event, number));
    for (const phrase of exclude) this.add(phrase, EXCLUDED, null);
    this.link();
  }
  child(node, symbol) {
    if (!this.children[node].has(symbol)) {
      this.children[node].set(symbol, this.children.length);
      this.children.push(new Map());
      this.symbols.push(symbol);
      this.parents.push(node);
      this.places.push([]);
      this.events.push(0);
    }
    return this.children[node].get(symbol);
  }
  add(phrase, event, number) {
    const all = [...phrase], shown = [...readable(phrase)];
    const [firsts, lasts] = [0, -1].map((end) =>
      kindOf(all.at(end)) !== OTHER && (event === EXCLUDED || !is_joined(shown.at(end))) ? [MARK, DOUBT] : [MARK]);
    for (const first of firsts) {
      let node = this.child(0, first);
      all.forEach((c, i) => {
        node = this.after(node, this.alphabet.get(c), kindOf(c));
        if (number != null) this.places[node].push([number, i + 1]);
      });
      for (const last of lasts) this.events[this.symbols[node] === last ? node : this.child(node, last)] |= event;
    }
  }
  after(node, symbol, kind) {
    const mark = kind === OTHER ? MARK : kind === BYTE ? DOUBT : null;
    if (mark == null) return this.child(node, symbol);
    if (this.symbols[node] !== MARK && this.symbols[node] !== mark) node = this.child(node, mark);
    return this.child(this.child(node, symbol), mark);
  }
  link() {
    const n_symbols = FIRST + this.alphabet.size;
    this.next = this.symbols.map(() => new Int32Array(n_symbols));
    this.suffix = new Array(this.symbols.length).fill(0);
    this.order = [0];
    for (const node of this.order) {
      if (node) this.next[node].set(this.next[this.suffix[node]]);
      for (const [symbol, child] of this.children[node]) {
        this.suffix[child] = this.next[node][symbol];
        this.next[node][symbol] = child;
        this.order.push(child);
      }
    }
  }
  all_places() {
    const places = this.places.map((own) => [...own]);
    for (const node of this.order.slice(1)) places[node].push(...places[this.suffix[node]]);
    return places;
  }
  marked(events, node, mark) {
    const own = this.symbols[node];
    if (own === MARK || own === mark) return [node, 0];
    const after = this.next[node][mark];
    return [after, events[after]];
  }
  // The next node and the events for each class of characters, and the events at the end.
  transitions() {
    const events = [...this.events];
    for (const node of this.order.slice(1)) events[node] |= events[this.suffix[node]];
    const kinds = new Array(FIRST + this.alphabet.size).fill(OTHER);
    [kinds[LETTER], kinds[BYTE]] = [LETTER, BYTE];
    for (const [c, i] of this.alphabet) kinds[i] = kindOf(c);
    const space = this.alphabet.get(" "), table = [], found = [];
    this.symbols.forEach((symbol, node) => {
      const nodes = [], own = [];
      kinds.forEach((kind, c) => {
        const mark = kind === OTHER ? MARK : kind === BYTE ? DOUBT : null;
        if (mark == null) { nodes.push(this.next[node][c]); own.push(events[this.next[node][c]]); return; }
        const [before, seen] = this.marked(events, node, mark);
        const [middle] = [this.next[before][c]], after = this.next[middle][mark];
        nodes.push(after);
        own.push(seen | events[after]);
      });
      if (symbol === MARK && this.symbols[this.parents[node]] === space) { nodes[space] = node; own[space] = 0; }
      table.push(nodes);
      found.push(own);
    });
    return [table, found, this.symbols.map((_, node) => this.marked(events, node, MARK)[1])];
  }
}

class PieceTexts {
  constructor(texts, special) {
    this.texts = texts;
    this.all = texts.map((text) => [...text]);
    const order = texts.map((_, i) => i).sort((a, b) => special.has(b) - special.has(a) || b - a);
    const last = order.filter((i) => special.has(i)), others = order.filter((i) => !special.has(i));
    this.ids = new Map([...last, ...others].filter((i) => i !== UNK).map((i) => [texts[i], i]));
    const usable = texts.map((_, i) => i).filter((i) => texts[i] && i !== UNK && !special.has(i));
    const begins = (i) => !is_joined(this.all[i][0]);
    this.first = [...usable.filter((i) => !begins(i)).slice(0, N_DETOURS), ...usable.filter(begins).slice(0, N_DETOURS)];
  }
  inside(phrase) {
    const text = [" ", ...phrase, " "], found = new Set();
    for (let i = 0; i < text.length; i++) {
      for (let j = i + 1; j <= text.length; j++) {
        const id = this.ids.get(text.slice(i, j).join(""));
        if (id != null) found.add(id);
      }
    }
    return found;
  }
}

class Automaton {
  constructor(pieces, include, exclude) {
    [this.pieces, this.include] = [pieces, include];
    this.all_met = include.reduce((sum, _, i) => sum + (2 << i), 0);
    const trie = new Trie(include, exclude);
    [this.start, this.end] = [trie.start, trie.symbols.length];
    this.at_boundary = [...trie.symbols.map((s) => s === MARK), false];
    this.places = [...trie.all_places(), []];
    [this.next, this.events, this.end_events] = trie.transitions();
    const classes = new Map(trie.alphabet);
    this.classOf = (c) => {
      if (!classes.has(c)) classes.set(c, kindOf(c));
      return classes.get(c);
    };
    this.needs = new Map();
    this.lengths = new Map();
    const useful = new Set([EOS, ...pieces.first, ...include.flat().flatMap((form) => [...pieces.inside(form)])]);
    this.moves = [...Array(this.end).keys()].map((node) => [...useful].map((id) => this.step(node, id)));
  }
  step(node, token) {
    if (node === this.end) return [node, 0];
    if (token === EOS) return [this.end, this.end_events[node]];
    let events = 0;
    for (const c of this.pieces.all[token]) {
      const symbol = this.classOf(c);
      events |= this.events[node][symbol];
      node = this.next[node][symbol];
    }
    return [node, events];
  }
  // Whether each token may follow, if `left` tokens may.
  allowed(node, met, left) {
    const flags = new Uint8Array(this.pieces.texts.length).fill(1), unmet = this.all_met & ~met;
    if (node === this.end) return flags;
    return flags.map((_, id) => {
      const [to, events] = this.step(node, id);
      return !(events & EXCLUDED) && this.need(unmet & ~events)[to] <= left - 1;
    });
  }
  most_needed(met) { return 1 + largest(this.need(this.all_met & ~met)); }
  need(unmet) {
    if (!this.needs.has(unmet)) {
      const bits = this.include.map((_, i) => 2 << i).filter((bit) => unmet & bit);
      this.needs.set(unmet, bits.length <= N_EXACT ? this.shortest(unmet, true) : this.one_by_one(bits));
    }
    return this.needs.get(unmet);
  }
  shortest(unmet, until_end) {
    let need = new Array(this.end + 1).fill(Infinity);
    need[this.end] = until_end && !unmet ? 0 : Infinity;
    while (true) {
      const shorter = this.moves.map((own) => 1 + own.reduce((best, [to, events]) => {
        if (events & EXCLUDED) return best;
        const after = unmet & ~events;
        return Math.min(best, after === unmet ? need[to] : until_end ? this.need(after)[to] : 0);
      }, Infinity));
      shorter.push(need[this.end]);
      if (shorter.every((n, i) => n === need[i])) return need;
      need = shorter;
    }
  }
  one_by_one(bits) {
    const each = bits.map((bit) => {
      if (!this.lengths.has(bit)) this.lengths.set(bit, this.shortest(bit, false));
      return this.lengths.get(bit);
    });
    const most = each.map(largest), total = most.reduce((a, b) => a + b, 0) + largest(this.need(0));
    return each[0].map((_, node) => Math.min(...each.map((need, i) => need[node] + total - most[i])));
  }
}
const largest = (need) => Math.max(0, ...need.filter(Number.isFinite));

class PhraseVocabulary {
  constructor(tokenizer) {
    this.tokenizer = tokenizer;
    const pieces = [...Array(tokenizer.tgt_vocab_size - 1).keys()].map((id) => tokenizer.tgt.piece(id));
    const ofBytes = tokenizer.target_bytes, slots = new Set(SLOTS);
    ofBytes.forEach((id, byte) => { pieces[id] = byte < 128 ? String.fromCharCode(byte) : String.fromCharCode(0xdc00 + byte); });
    const texts = pieces.map((piece) => [...piece].map((c) => (c === "▁" || $.text.isspace(c) ? " " : c)).join(""));
    [texts[EOS], texts[UNK]] = ["", "⁇"];
    const special = new Set([...ofBytes, ...pieces.map((piece, i) => (slots.has(piece) ? i : -1)).filter((i) => i >= 0)]);
    this.pieces = new PieceTexts(texts, special);
    this.known = new Map();
  }
  encode(phrase) { return this.tokenizer.encode_target([words(phrase).join(" ")])[0].slice(0, -1); }
  text(ids) { return words(ids.map((id) => this.pieces.texts[id]).join("")).join(" "); }
  spell(phrase) {
    const ids = this.encode(phrase);
    if (!this.text(ids)) throw new DataError(`the phrase '${phrase}' is empty: remove it`);
    if (ids.includes(UNK)) throw new DataError(`the phrase '${phrase}' cannot be spelled with this vocabulary`);
    return ids;
  }
  forms(phrase) {
    if (typeof phrase === "string") return [this.text(this.spell(phrase))];
    const others = phrase.forms.slice(1).map((form) => this.encode(form)).filter((ids) => !ids.includes(UNK));
    return [...new Set([this.spell(phrase.text), ...others].map((ids) => this.text(ids)))];
  }
  automaton(include, exclude) {
    const key = JSON.stringify([include, exclude]);
    if (!this.known.has(key)) {
      if (this.known.size > 100) this.known.clear();
      this.known.set(key, this.new_automaton(include, exclude));
    }
    return this.known.get(key);
  }
  new_automaton(include, exclude) {
    const required = [...new Map(include.map((p) => this.forms(p)).map((own) => [own.join("\0"), own])).values()];
    const spelled = exclude.filter((p) => !this.encode(p).includes(UNK)).map((p) => this.text(this.spell(p)));
    const forbidden = [...new Set(spelled)];
    for (const [text] of required) {
      for (const phrase of forbidden) {
        if (occurs(phrase, text)) {
          throw new DataError(`the phrase '${readable(text)}' must occur and the phrase '${readable(phrase)}' must not: remove one of them`);
        }
      }
    }
    if (required.length > MAX_INCLUDE) {
      throw new DataError(`${required.length} phrases must occur in a sentence, more than ${MAX_INCLUDE}: remove some`);
    }
    const possible = required.map((own) => own.filter((form) => !forbidden.some((phrase) => occurs(phrase, form))));
    return new Automaton(this.pieces, possible, forbidden);
  }
  tokens_needed(include, exclude, prefix) {
    const own = this.automaton(include, exclude);
    let [node, unmet] = [own.start, own.all_met];
    for (const token of prefix) {
      const [to, events] = own.step(node, token);
      [node, unmet] = [to, unmet & ~events];
    }
    const need = own.need(unmet)[node];
    if (need === Infinity) throw new DataError("no translation has the phrases without those to exclude: exclude fewer");
    return need - 1;
  }
  spelling(text) { return new Spelling(text, this.encode(readable(text)), this.pieces); }
}
const words = (text) => $.text.split(text);

class Spelling {
  constructor(phrase, ids, pieces) {
    const text = [" ", ...phrase], lengths = ids.map((id) => pieces.all[id].length), preferred = new Map();
    this.n_tokens = ids.length;
    this.begins_anywhere = !is_joined([...readable(phrase)][0]);
    let place = text.length - lengths.reduce((a, b) => a + b, 0);
    ids.forEach((id, i) => { preferred.set(place, id); place += lengths[i]; });
    this.left = new Array(text.length + 1).fill(Infinity);
    this.left[text.length] = 0;
    this.tokens = new Array(text.length).fill(-1);
    for (let i = text.length - 1; i >= 0; i--) {
      let found = [];
      for (let end = text.length; end > i; end--) {
        const id = pieces.ids.get(text.slice(i, end).join(""));
        if (id != null) found.push(id);
      }
      if (preferred.has(i)) found = [preferred.get(i)];
      const left = (id) => this.left[i + pieces.all[id].length];
      if (!found.length) continue;
      const best = found.reduce((a, b) => (left(b) < left(a) ? b : a));
      [this.tokens[i], this.left[i]] = [best, 1 + left(best)];
    }
  }
}

class PhraseConstraint {
  constructor(vocabulary, include, exclude) {
    [this.vocabulary, this.is_goal] = [vocabulary, include.length > 0];
    this.automaton = vocabulary.automaton(include, exclude);
    this.forms = this.automaton.include.flatMap((forms, number) => forms.map((form) => [number, vocabulary.spelling(form)]));
    this.n_tokens = this.automaton.include.map((_, number) => this.forms.find(([i]) => i === number)[1].n_tokens);
    [this.nodes, this.met, this.after_space, this.known] = [[this.automaton.start], [0], [false], new Map()];
  }
  allowed(lefts) {
    return this.nodes.map((node, k) => {
      const left = Math.min(lefts[k] ?? lefts[0], this.automaton.most_needed(this.met[k]));
      const key = `${node},${this.met[k]},${left}`;
      if (!this.known.has(key)) {
        if (this.known.size > 64) this.known.clear();
        this.known.set(key, this.automaton.allowed(node, this.met[k], left));
      }
      return this.known.get(key);
    });
  }
  follow(beams, ids) {
    const steps = ids.map((id, k) => this.automaton.step(this.nodes[beams[k]], id));
    this.met = steps.map(([, events], k) => this.met[beams[k]] | events);
    this.nodes = steps.map(([node]) => node);
    this.after_space = ids.map((id) => this.vocabulary.pieces.texts[id].endsWith(" "));
  }
  proposals() {
    return this.nodes.map((node, k) => {
      const tokens = [];
      this.forms.forEach(([number, spelling], form) => {
        if ((this.met[k] >> (number + 1)) & 1) return;
        const begun = this.automaton.places[node].filter(([i]) => i === form).map(([, read]) => read + 1);
        tokens.push(...begun.filter((i) => i < spelling.tokens.length).map((i) => spelling.tokens[i]));
        if (!this.after_space[k]) tokens.push(spelling.tokens[0]);
        if (this.after_space[k] || spelling.begins_anywhere || this.automaton.at_boundary[node]) tokens.push(spelling.tokens[1]);
      });
      return [...new Set(tokens)].filter((id) => id >= 0);
    });
  }
  progress(beams, ids) {
    return ids.map((id, n) => {
      const [node, events] = this.automaton.step(this.nodes[beams[n]], id), met = this.met[beams[n]] | events;
      let in_progress = 0, done = 0;
      this.forms.forEach(([number, spelling], form) => {
        if ((met >> (number + 1)) & 1) return;
        const reads = this.automaton.places[node].filter(([i]) => i === form).map(([, read]) => spelling.left[read + 1]);
        in_progress = Math.max(in_progress, this.n_tokens[number] - Math.min(Infinity, ...reads));
      });
      this.n_tokens.forEach((count, number) => { if ((met >> (number + 1)) & 1) done += count; });
      return done + Math.trunc(in_progress);
    });
  }
}

// ---- everything that restricts the search for a sentence (search/restrictions.py, ranking.py) ---------

const BONUS = 6;

class Restrictions {
  constructor(rules, constraints, required, moreCharacters) {
    this.rules = rules;
    this.characters = rules.characters ? rules.characters.extended(moreCharacters) : null;
    this.slots = new SlotGoal(required, rules.slot_kinds, rules.no_slots.length);
    this.required = this.slots.required;
    this.constraints = [...(this.characters ? [new CharacterConstraint(this.characters)] : []), ...constraints];
    this.goals = constraints.filter((each) => each.is_goal);
    if (this.required.length) this.goals.push(this.slots);
    [this.has_goal, this.has_constraints] = [this.goals.length > 0, constraints.length > 0];
  }
  allowed(left, n) {
    if (!this.required.length) return this.narrowed(new Array(n).fill(this.rules.no_slots), [left]);
    const of_slots = this.slots.allowed(left), n_missing = this.slots.n_missing;
    const flags = this.narrowed(of_slots, n_missing.map((each) => left - each));
    return flags.map((row, k) => {
      if (!row.some(Boolean)) for (const kind of this.slots.kinds) row[kind] |= of_slots[k][kind];
      return row;
    });
  }
  narrowed(flags, lefts) {
    const found = flags.map((row) => row.slice());
    for (const constraint of this.constraints) {
      const own = constraint.allowed(lefts);
      found.forEach((row, k) => {
        const mask = own[k] ?? own[0];
        for (let i = 0; i < row.length; i++) row[i] &= mask[i];
      });
    }
    return found;
  }
  proposals() {
    const each = this.goals.map((goal) => goal.proposals());
    return each[0].map((_, k) => each.flatMap((own) => own[k]));
  }
  // The order of candidates that gives each stage of progress the same number of places.
  order(rows) {
    const beams = rows.map(([, beam]) => beam), ids = rows.map(([, , id]) => id), progress = new Array(rows.length).fill(0);
    for (const goal of this.goals) goal.progress(beams, ids).forEach((n, i) => { progress[i] += n; });
    const value = rows.map(([log_prob], i) => log_prob + BONUS * progress[i]);
    const order = rows.map((_, i) => i).sort((a, b) => value[b] - value[a] || a - b), n_before = new Map();
    const round = new Map(order.map((i) => {
      const n = n_before.get(progress[i]) ?? 0;
      n_before.set(progress[i], n + 1);
      return [i, rows[i][0] === -Infinity ? rows.length : n];
    }));
    const place = new Map(order.map((i, at) => [i, at]));
    return order.sort((a, b) => round.get(a) - round.get(b) || place.get(a) - place.get(b));
  }
  follow(beams, ids) {
    for (const constraint of this.constraints) constraint.follow(beams, ids);
    if (this.required.length) this.slots.follow(beams, ids);
  }
}

class Constraints { // reading/constraints.py
  constructor(tokenizer) { this.tokenizer = tokenizer; }
  get rules() { return (this.rules_ ??= new TokenRules(this.tokenizer)); }
  get phrases() { return (this.phrases_ ??= new PhraseVocabulary(this.tokenizer)); }
  get no_digits() {
    return (this.no_digits_ ??= Uint8Array.from(this.phrases.pieces.texts, (text) => !hasDigit(text)));
  }
  check_terms(terms, path) {
    for (const term of terms) {
      try { this.phrases.spell(term.target); } catch (error) {
        throw new DataError(`${path}: ${error.message}: remove the term '${term.source}'`);
      }
    }
  }
  of(include, exclude, slots, prefix, room, digits = true) {
    if (digits && !(include.length || exclude.length || slots.length || prefix.length)) return null;
    const found = [];
    if (include.length || exclude.length) {
      const needed = this.phrases.tokens_needed(include, exclude, prefix);
      if (include.length && needed > room) {
        throw new DataError(`the phrases to include need at least ${needed} more tokens, but the maximum length leaves room for ${room}: remove phrases`);
      }
      found.push(new PhraseConstraint(this.phrases, include, exclude));
    }
    if (!digits && !include.some((phrase) => hasDigit(phrase))) found.push(new Without(this.no_digits));
    return new Restrictions(this.rules, found, slots, this.given(include, prefix));
  }
  given(include, prefix) {
    if (!this.rules.characters || !(prefix.length || include.length)) return [];
    const begin = prefix.length ? this.tokenizer.decode_target([prefix])[0] : "";
    const forms = include.flatMap((phrase) => (typeof phrase === "string" ? [phrase] : phrase.forms));
    const normalised = this.tokenizer.decode_target(this.tokenizer.encode_target(forms));
    return [...[begin, ...forms, ...normalised].join("").replaceAll(" ", "")];
  }
}
const hasDigit = (phrase) => [...(typeof phrase === "string" ? phrase : phrase.text)].some((c) => $.text.isdecimal(c));

// ---- links between words (alignment.py) ---------------------------------------------------------------

// A: (T, S) from the cross-attention (N, H, T, S) of each member.
function tokenWeights([weights]) {
  const { depths: n, heads: h, T, S, values } = weights;
  const squares = (layer, t, s) => {
    let sum = 0;
    for (let head = 0; head < h; head++) {
      const own = values[((t * n + layer) * h + head) * S + s];
      sum = Math.fround(sum + Math.fround(own * own));
    }
    return Math.fround(sum / h);
  };
  return [...Array(T).keys()].map((t) => Float32Array.from({ length: S }, (_, s) => {
    if (n === 1) return squares(0, t, s);
    let others = 0;
    for (let layer = 1; layer < n; layer++) others = Math.fround(others + squares(layer, t, s));
    return Math.fround(Math.fround(others / (n - 1)) + squares(0, Math.min(t + 1, T - 1), s));
  }));
}

// Attention weights as lists, (N, H, rows, columns), with 4 decimals; zeros for an eos that the encoder leaves out.
function roundedWeights({ role, values, depths, heads, T, S, n_source }) {
  const isEncoder = role === "encoder", n_columns = role === "decoder" ? T : S, n_read = isEncoder ? S : T;
  const at = isEncoder
    ? (layer, head, row) => ((layer * S + row) * heads + head) * S
    : (layer, head, row) => ((row * depths + layer) * heads + head) * n_columns;
  const listed = (n, make) => Array.from({ length: n }, (_, i) => make(i));
  const width = role === "decoder" ? T : n_source;
  return listed(depths, (layer) => listed(heads, (head) => listed(isEncoder ? n_source : T, (row) => listed(width,
    (column) => (row < n_read && column < n_columns ? $.round(values[at(layer, head, row) + column] * 1e4) / 1e4 : 0)))));
}

function wordLinks(weights, src, tgt) {
  if (!src.length || !tgt.length) return [];
  const n_source = Math.max(-1, ...src) + 1, n_target = Math.max(-1, ...tgt) + 1;
  const received = new Float64Array(n_source), rows = [];
  for (let j = 0; j < n_target; j++) {
    const own = new Float64Array(n_source), tokens = tgt.flatMap((word, t) => (word === j ? [t] : []));
    for (const t of tokens) src.forEach((word, s) => { if (word >= 0) own[word] += weights[t][s]; });
    rows.push(own.map((sum) => sum / Math.max(1, tokens.length)));
    rows[j].forEach((weight, i) => { received[i] += weight; });
  }
  const best = rows.map((own) => own.reduce((at, weight, i) =>
    weight / Math.max(received[i], 1.1754943508222875e-38) > own[at] / Math.max(received[at], 1.1754943508222875e-38) ? i : at, 0));
  const linked = [...new Set(tgt)].filter((word) => word >= 0).map((word) => [best[word], word]);
  return linked.sort($.compare);
}

return { Constraints, roundedWeights, tokenWeights, wordLinks };
})();
