// What the operations of Python mean, for the functions that bundle.py translates.
//
// str              a string; places in it are those of characters (code points), as in Python
// list, tuple      an array
// dict, set        Dict and Bag, in which equal keys are one key
// dataclass        an object of a class with $fields
// generator        a generator
"use strict";
const $ = (() => {
// ---- characters ---------------------------------------------------------------------------------

const BEYOND = /[\ud800-\udfff]/;
const recent = new Map();
let last = "", ofLast = null;

// The places of characters in a string with characters beyond 16 bits; null: they are its own.
function places(text) {
  if (text !== last) [last, ofLast] = [text, BEYOND.test(text) ? placesBeyond(text) : null];
  return ofLast;
}
function placesBeyond(text) {
  let found = recent.get(text);
  if (found) return found;
  const units = [], points = new Int32Array(text.length + 1);
  let unit = 0;
  for (const character of text) {
    points.fill(units.length, unit, unit + character.length);
    units.push(unit);
    unit += character.length;
  }
  points[unit] = units.length;
  units.push(unit);
  found = { units, points };
  if (recent.size > 200) recent.clear();
  recent.set(text, found);
  return found;
}
const lengthOf = (text) => { const own = places(text); return own ? own.units.length - 1 : text.length; };
const unitOf = (text, point) => {
  const own = places(text);
  return own ? own.units[Math.min(point, own.units.length - 1)] : point;
};
const pointOf = (text, unit) => {
  const own = places(text);
  return own && unit >= 0 ? own.points[unit] : unit;
};

// ---- values ---------------------------------------------------------------------------------------

const isText = (x) => typeof x === "string";
const bool = (x) => {
  if (x == null || x === false || x === 0 || x === "") return false;
  if (typeof x !== "object") return true;
  if (Array.isArray(x)) return x.length > 0;
  if (x.__bool__) return x.__bool__();
  return x.__len__ ? x.__len__() > 0 : true;
};
const same = (a, b) => {
  if (a === b) return true;
  if (a == null || b == null || typeof a !== "object" || typeof b !== "object") return a == null && b == null;
  if (a.$same) return a.$same(b);
  const one = a.$fields ? [...fields(a)] : a, two = b.$fields ? [...fields(b)] : b;
  if (!Array.isArray(one) || !Array.isArray(two) || one.length !== two.length) return false;
  return one.every((x, i) => same(x, two[i]));
};
function* fields(x) { for (const name of x.$fields) yield x[name]; }
const key = (x) => {
  if (x == null || typeof x !== "object") return x;
  if (Array.isArray(x)) return "\0" + x.map(key).map((k) => (isText(k) ? `s${k.length}:${k}` : `n${k}`)).join();
  if (x.$key) return x.$key();
  return x.$fields ? key([...fields(x)]) : x;
};
const compare = (a, b) => {
  if (isText(a)) {
    if (a === b) return 0;
    if (!BEYOND.test(a) && !BEYOND.test(b)) return a < b ? -1 : 1;
    return compare([...a].map((c) => c.codePointAt(0)), [...b].map((c) => c.codePointAt(0)));
  }
  if (typeof a !== "object" || a == null) return a < b ? -1 : a > b ? 1 : 0;
  if (a.$compare) return a.$compare(b);
  if (a.$fields) [a, b] = [[...fields(a)], [...fields(b)]];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (!same(a[i], b[i])) return compare(a[i], b[i]);
  }
  return a.length - b.length;
};
const ordered = (a, b) => typeof a !== "object" && !isText(a);
const lt = (a, b) => (ordered(a) ? a < b : a instanceof Bag ? a.issubset(b) && a.size < b.size : compare(a, b) < 0);
const le = (a, b) => (ordered(a) ? a <= b : a instanceof Bag ? a.issubset(b) : compare(a, b) <= 0);
const gt = (a, b) => lt(b, a);
const ge = (a, b) => le(b, a);

class Dict {
  constructor(pairs = []) {
    this.own = new Map();
    for (const [k, v] of pairs) this.put(k, v);
  }
  put(k, v) {
    const id = key(k), old = this.own.get(id);
    if (old) old[1] = v; else this.own.set(id, [k, v]);
    return this;
  }
  __getitem__(k) { return this.at(k); }
  at(k) {
    const found = this.own.get(key(k));
    if (found) return found[1];
    if (this.__missing__) return this.__missing__(k);
    throw new KeyError(k);
  }
  get(k, other = null) { const found = this.own.get(key(k)); return found ? found[1] : other; }
  has(k) { return this.own.has(key(k)); }
  remove(k) { this.own.delete(key(k)); }
  pop(k, other) {
    const found = this.own.get(key(k));
    if (!found) { if (other === undefined) throw new KeyError(k); return other; }
    this.own.delete(key(k));
    return found[1];
  }
  setdefault(k, other = null) { if (!this.has(k)) this.put(k, other); return this.at(k); }
  keys() { const made = new Bag(); for (const [id, [k]] of this.own) made.own.set(id, k); return made; }
  *values() { for (const [, v] of this.own.values()) yield v; }
  *items() { for (const [k, v] of this.own.values()) yield [k, v]; }
  *[Symbol.iterator]() { for (const [k] of this.own.values()) yield k; }
  update(other) { for (const [k, v] of pairsOf(other)) this.put(k, v); }
  copy() { return new Dict(this.items()); }
  clear() { this.own.clear(); }
  __len__() { return this.own.size; }
  $same(other) {
    return other instanceof Dict && other.own.size === this.own.size &&
      [...this.items()].every(([k, v]) => other.has(k) && same(other.at(k), v));
  }
}
const pairsOf = (x) => (x instanceof Dict ? x.items() : x);
class DefaultDict extends Dict {
  constructor(make) { super(); this.make = make; }
  __missing__(k) { const made = this.make(); this.put(k, made); return made; }
}
// A dict that adds to another one without changing it.
class ChainMap extends Dict {
  constructor(own, other) { super(own.items()); this.other = other; }
  at(k) { return super.has(k) ? super.at(k) : this.other.at(k); }
  get(k, none = null) { return super.has(k) ? super.at(k) : this.other.get(k, none); }
  has(k) { return super.has(k) || this.other.has(k); }
  __len__() { return super.__len__() + this.other.__len__(); }
}
class Counter extends Dict {
  constructor(items = []) { super(); this.update(items); }
  __missing__() { return 0; }
  update(items) {
    if (items instanceof Dict) for (const [k, v] of items.items()) this.put(k, this.at(k) + v);
    else for (const k of items) this.put(k, this.at(k) + 1);
  }
  *elements() { for (const [k, n] of this.items()) for (let i = 0; i < n; i++) yield k; }
  total() { return sum(this.values()); }
  most_common(n = null) {
    const found = [...this.items()].sort((a, b) => b[1] - a[1]);
    return n == null ? found : found.slice(0, n);
  }
  $minus(other) {
    const made = new Counter();
    for (const [k, v] of this.items()) if (v - other.at(k) > 0) made.put(k, v - other.at(k));
    return made;
  }
}
class Bag {
  constructor(items = []) { this.own = new Map(); for (const x of items) this.own.set(key(x), x); }
  get size() { return this.own.size; }
  has(x) { return this.own.has(key(x)); }
  add(x) { const id = key(x); if (!this.own.has(id)) this.own.set(id, x); }
  pop() { const [x] = this; this.discard(x); return x; }
  discard(x) { this.own.delete(key(x)); }
  remove(x) { this.own.delete(key(x)); }
  update(...others) { for (const other of others) for (const x of other) this.add(x); }
  [Symbol.iterator]() { return this.own.values(); }
  union(...others) { const made = new Bag(this); made.update(...others); return made; }
  difference(...others) {
    const without = new Bag().union(...others);
    return new Bag([...this].filter((x) => !without.has(x)));
  }
  intersection(other) { const both = new Bag(other); return new Bag([...this].filter((x) => both.has(x))); }
  issuperset(other) { for (const x of other) if (!this.has(x)) return false; return true; }
  issubset(other) { return (other instanceof Bag ? other : new Bag(other)).issuperset(this); }
  isdisjoint(other) { for (const x of other) if (this.has(x)) return false; return true; }
  __len__() { return this.own.size; }
  $same(other) { return other instanceof Bag && other.size === this.size && this.issuperset(other); }
  $key() { return "\0set" + key([...this].sort(compare)); }
}
class Deque extends Array {
  static get [Symbol.species]() { return Array; }
}
class Fraction {
  constructor(top, bottom = 1) {
    if (isText(top)) [top, bottom] = fromDecimal(top);
    if (top instanceof Fraction) [top, bottom] = [top.top, top.bottom];
    [top, bottom] = [BigInt(top), BigInt(bottom)];
    let [a, b] = [top < 0n ? -top : top, bottom];
    while (b) [a, b] = [b, a % b];
    [this.top, this.bottom] = a ? [top / a, bottom / a] : [0n, 1n];
  }
  get numerator() { return Number(this.top); }
  get denominator() { return Number(this.bottom); }
  valueOf() { return Number(this.top) / Number(this.bottom); } // compared with a number
  $key() { return this.bottom === 1n ? Number(this.top) : `\0f${this.top}/${this.bottom}`; }
  $same(other) { return key(this) === key(other); }
  $compare(other) {
    const two = fraction(other), d = this.top * two.bottom - two.top * this.bottom;
    return d < 0n ? -1 : d > 0n ? 1 : 0;
  }
  $add(other) {
    const two = fraction(other);
    return new Fraction(this.top * two.bottom + two.top * this.bottom, this.bottom * two.bottom);
  }
  $mul(other) { const two = fraction(other); return new Fraction(this.top * two.top, this.bottom * two.bottom); }
  __bool__() { return this.top !== 0n; }
}
const fraction = (x) => (x instanceof Fraction ? x : new Fraction(x));
const fromDecimal = (text) => {
  const [whole, part = ""] = text.split(".");
  return [BigInt(whole + part), 10n ** BigInt(part.length)];
};

class Config {
  model_copy(update) { return replace(this, Object.fromEntries(update.items())); }
}
class AttributeError extends Error {}
class IndexError extends Error {}
class RuntimeError extends Error {}
class ValueError extends Error {}
class KeyError extends Error {}
class TypeError_ extends Error {}
class StopIteration extends Error {}
class UnicodeEncodeError extends Error {}

// ---- operators ------------------------------------------------------------------------------------

const add = (a, b) => {
  if (Array.isArray(a)) return [...a, ...b];
  if (ArrayBuffer.isView(a)) return Uint8Array.from([...a, ...b]);
  return a != null && a.$add ? a.$add(b) : b != null && b.$add ? b.$add(a) : a + b;
};
const sub = (a, b) => {
  if (a instanceof Bag) return a.difference(b);
  return a != null && a.$minus ? a.$minus(b) : a - b;
};
const repeat = (a, n) => {
  if (isText(a)) return a.repeat(Math.max(0, n));
  const made = [];
  for (let i = 0; i < n; i++) made.push(...a);
  return made;
};
const mul = (a, b) => {
  if (a != null && a.$mul) return a.$mul(b);
  if (b != null && b.$mul) return b.$mul(a);
  if (isText(a) || Array.isArray(a)) return repeat(a, b);
  return isText(b) || Array.isArray(b) ? repeat(b, a) : a * b;
};
const floordiv = (a, b) => Math.floor(a / b);
const mod = (a, b) => ((a % b) + b) % b;
const or = (a, b) => {
  if (a instanceof Bag) return a.union(b);
  if (a instanceof Dict) { const made = a.copy(); made.update(b); return made; }
  return typeof a === "boolean" && typeof b === "boolean" ? a || b : a | b;
};
const and = (a, b) => {
  if (a instanceof Bag) return a.intersection(b);
  return typeof a === "boolean" && typeof b === "boolean" ? a && b : a & b;
};
const extend = (a, b) => {
  if (!Array.isArray(a)) return add(a, b);
  for (const x of b) a.push(x);
  return a;
};
const merge = (a, b) => {
  if (a instanceof Dict || a instanceof Bag) { a.update(b); return a; }
  return or(a, b);
};
const both = (a, other) => (bool(a) ? other() : a);
const either = (a, other) => (bool(a) ? a : other());

const has = (all, x) => {
  if (isText(all)) return all.includes(x);
  if (Array.isArray(all)) return all.some((each) => same(each, x));
  if (all.has) return all.has(x);
  if (all.__contains__) return all.__contains__(x);
  for (const each of all) if (same(each, x)) return true;
  return false;
};
const len = (x) => {
  if (isText(x)) return lengthOf(x);
  return x.length ?? x.__len__();
};
class Slice { constructor(start, stop) { [this.start, this.stop] = [start, stop]; } }
const at = (x, i) => {
  if (i instanceof Slice) return cut(x, i.start, i.stop);
  if (isText(x)) {
    const own = places(x), n = own ? own.units.length - 1 : x.length, place = i < 0 ? n + i : i;
    if (place < 0 || place >= n) throw new IndexError();
    return own ? x.slice(own.units[place], own.units[place + 1]) : x[place];
  }
  if (Array.isArray(x) || ArrayBuffer.isView(x)) return x[i < 0 ? x.length + i : +i];
  if (x.at) return x.at(i);
  if (x.__getitem__) return x.__getitem__(i);
  return x[x.$fields[i < 0 ? x.$fields.length + i : i]];
};
const bounds = (n, start, stop) => {
  const place = (i, other) => (i == null ? other : i < 0 ? Math.max(0, n + i) : Math.min(i, n));
  return [place(start, 0), place(stop, n)];
};
const cut = (x, start = null, stop = null, step = null) => {
  if (step != null && step !== 1) return stepped(x, start, stop, step);
  if (isText(x)) {
    const own = places(x), [a, b] = bounds(own ? own.units.length - 1 : x.length, start, stop);
    if (a >= b) return "";
    return own ? x.slice(own.units[a], own.units[b]) : x.slice(a, b);
  }
  if (x.$fields) x = [...fields(x)];
  const [a, b] = bounds(x.length, start, stop);
  return a < b ? Array.prototype.slice.call(x, a, b) : [];
};
const stepped = (x, start, stop, step) => {
  const all = [...x], made = [];
  if (step > 0) {
    const [a, b] = bounds(all.length, start, stop);
    for (let i = a; i < b; i += step) made.push(all[i]);
  } else {
    const first = start == null ? all.length - 1 : start < 0 ? all.length + start : Math.min(start, all.length - 1);
    const last = stop == null ? -1 : stop < 0 ? all.length + stop : stop;
    for (let i = first; i > last; i += step) made.push(all[i]);
  }
  return isText(x) ? made.join("") : made;
};
// `x[i] = value` and `del x[i]`; a slice is a pair.
const put = (x, i, value) => {
  if (Array.isArray(i) && Array.isArray(x)) { const [a, b] = bounds(x.length, ...i); x.splice(a, Math.max(0, b - a), ...value); }
  else if (Array.isArray(x) || ArrayBuffer.isView(x)) x[i < 0 ? x.length + i : i] = value;
  else x.put(i, value);
};
const remove = (x, i) => {
  if (Array.isArray(i) && Array.isArray(x)) { const [a, b] = bounds(x.length, ...i); x.splice(a, Math.max(0, b - a)); }
  else if (Array.isArray(x)) x.splice(i < 0 ? x.length + i : i, 1);
  else x.remove(i);
};

// ---- methods --------------------------------------------------------------------------------------

let classes = {}; // sets of characters, by the names of the methods that test for them
const every = (name) => (text) => {
  if (!text) return false;
  const own = classes[name]();
  for (const character of text) if (!own.test(character)) return false;
  return true;
};
const WHITE = () => classes.isspace();
const trimmed = (text, given, left, right) => {
  const all = [...text], own = given == null ? null : new Set(given);
  const white = own ? (c) => own.has(c) : (c) => WHITE().test(c);
  let a = 0, b = all.length;
  while (left && a < b && white(all[a])) a++;
  while (right && b > a && white(all[b - 1])) b--;
  return all.slice(a, b).join("");
};
const LINE_END = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;
const cased = (text, upper) => {
  const is = upper ? classes.uppercase() : classes.lowercase(), no = upper ? classes.lowercase() : classes.uppercase();
  let found = false;
  for (const c of text) {
    if (no.test(c) || classes.titlecase().test(c)) return false;
    found ||= is.test(c);
  }
  return found;
};
const range2 = (text, start, stop) => {
  const [a, b] = bounds(lengthOf(text), start, stop);
  return [unitOf(text, a), unitOf(text, b), a <= b];
};
const fixed = (text, part, start, stop, ends) => {
  if (Array.isArray(part)) return part.some((each) => fixed(text, each, start, stop, ends));
  const [a, b, valid] = range2(text, start, stop), own = text.slice(a, b);
  return valid && (ends ? own.endsWith(part) : own.startsWith(part));
};
const words = (text, most) => {
  const found = [];
  let word = "", rest = [...text];
  for (let i = 0; i < rest.length; i++) {
    if (!WHITE().test(rest[i])) { word += rest[i]; continue; }
    if (word) found.push(word);
    word = "";
    if (most >= 0 && found.length >= most) {
      const tail = trimmed(rest.slice(i).join(""), null, true, false);
      return tail ? [...found, tail] : found;
    }
  }
  return word ? [...found, word] : found;
};
const limited = (text, separator, most) => {
  const parts = text.split(separator);
  if (most < 0 || parts.length <= most + 1) return parts;
  return [...parts.slice(0, most), parts.slice(most).join(separator)];
};
const str = (x) => (x == null ? "None" : x === true ? "True" : x === false ? "False" :
  isText(x) ? x : x.__str__ ? x.__str__() : x instanceof Error ? x.message : Array.isArray(x) ? `[${x.map(repr).join(", ")}]` : String(x));
const NAMED = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
const repr = (x) => {
  if (!isText(x)) return str(x);
  const quote = x.includes("'") && !x.includes('"') ? '"' : "'";
  let made = "";
  for (const c of x) {
    const n = c.codePointAt(0), code = (sign, width) => `\\${sign}${n.toString(16).padStart(width, "0")}`;
    if (c === quote) made += `\\${c}`;
    else if (c in NAMED) made += NAMED[c];
    else if (c === " " || text.isprintable(c)) made += c;
    else made += n < 256 ? code("x", 2) : n < 65536 ? code("u", 4) : code("U", 8);
  }
  return quote + made + quote;
};
const text = {
  strip: (x, given) => trimmed(x, given, true, true),
  lstrip: (x, given) => trimmed(x, given, true, false),
  rstrip: (x, given) => trimmed(x, given, false, true),
  lower: (x) => x.toLowerCase(),
  upper: (x) => x.toUpperCase(),
  casefold: (x) => {
    let made = "";
    for (const c of x) made += classes.folds().get(c) ?? c.toLowerCase();
    return made;
  },
  title: (x) => {
    let made = "", before = "", inside = false; // the end of a word changes only a sigma
    for (const c of x) {
      const letter = classes.uppercase().test(c) || classes.lowercase().test(c) || classes.titlecase().test(c);
      const lower = c === "Σ" ? x.toLowerCase()[before.toLowerCase().length] : c.toLowerCase();
      made += letter ? (inside ? lower : titled(c)) : c;
      before += c;
      inside = letter;
    }
    return made;
  },
  capitalize: (x) => { const [c = ""] = x; return titled(c) + x.toLowerCase().slice(c.toLowerCase().length); },
  isupper: (x) => cased(x, true),
  islower: (x) => cased(x, false),
  isascii: (x) => !/[^\x00-\x7f]/.test(x),
  ispunctuation: every("punctuation"),
  ...Object.fromEntries("isalnum isalpha isdecimal isdigit isnumeric isspace isprintable".split(" ").map((n) => [n, every(n)])),
  startswith: (x, part, start, stop) => fixed(x, part, start, stop, false),
  endswith: (x, part, start, stop) => fixed(x, part, start, stop, true),
  find: (x, part, start, stop) => {
    const [a, b] = range2(x, start, stop), found = x.slice(0, b).indexOf(part, a);
    return pointOf(x, found);
  },
  rfind: (x, part, start, stop) => {
    const [a, b] = range2(x, start, stop), found = x.slice(a, b).lastIndexOf(part);
    return found < 0 ? -1 : pointOf(x, found + a);
  },
  index: (x, part, start, stop) => {
    const found = text.find(x, part, start, stop);
    if (found < 0) throw new ValueError("substring not found");
    return found;
  },
  count: (x, part, start, stop) => {
    const [a, b] = range2(x, start, stop);
    return part ? x.slice(a, b).split(part).length - 1 : lengthOf(x.slice(a, b)) + 1;
  },
  replace: (x, old, made, most = -1) => {
    if (most < 0) return old === "" ? made + [...x].map((c) => c + made).join("") : x.split(old).join(made);
    return limited(x, old, most).join(made);
  },
  split: (x, separator = null, most = -1) => (separator == null ? words(x, most) : limited(x, separator, most)),
  splitlines: (x, keep = false) => {
    const lines = [];
    let start = 0;
    for (const found of x.matchAll(LINE_END)) {
      const end = found.index + found[0].length;
      lines.push(x.slice(start, keep ? end : found.index));
      start = end;
    }
    if (start < x.length) lines.push(x.slice(start));
    return lines;
  },
  partition: (x, separator) => {
    const i = x.indexOf(separator);
    return i < 0 ? [x, "", ""] : [x.slice(0, i), separator, x.slice(i + separator.length)];
  },
  join: (x, parts) => [...parts].join(x),
  removeprefix: (x, part) => (x.startsWith(part) ? x.slice(part.length) : x),
  removesuffix: (x, part) => (part && x.endsWith(part) ? x.slice(0, -part.length) : x),
  translate: (x, table) => { let made = ""; for (const c of x) made += table.get(c) ?? c; return made; },
  encode: (x) => new TextEncoder().encode(x),
  __getitem__: (x, i) => at(x, i),
};
const titled = (c) => classes.titles().get(c) ?? c.toUpperCase();
const list_ = {
  __getitem__: (x, i) => at(x, i),
  append: (x, y) => { x.push(y); },
  extend: (x, y) => { for (const each of y) x.push(each); },
  insert: (x, i, y) => { x.splice(i, 0, y); },
  popleft: (x) => x.shift(),
  pop: (x, i = -1) => x.splice(i < 0 ? x.length + i : i, 1)[0],
  index: (x, y) => {
    const found = x.findIndex((each) => same(each, y));
    if (found < 0) throw new ValueError("not in list");
    return found;
  },
  count: (x, y) => x.filter((each) => same(each, y)).length,
  remove: (x, y) => { x.splice(list_.index(x, y), 1); },
  clear: (x) => { x.length = 0; },
  copy: (x) => [...x],
  sort: (x, by, reverse) => { x.splice(0, x.length, ...sorted(x, by, reverse)); },
  decode: (x) => new TextDecoder().decode(x),
};
const call = (x, name, ...given) => {
  if (isText(x)) return text[name](x, ...given);
  if ((Array.isArray(x) || ArrayBuffer.isView(x)) && list_[name]) return list_[name](x, ...given);
  return x[name](...given);
};
const bound = (x, name) => {
  if (isText(x)) return (...given) => text[name](x, ...given);
  if (Array.isArray(x) && list_[name]) return (...given) => list_[name](x, ...given);
  return typeof x[name] === "function" ? x[name].bind(x) : x[name];
};

// ---- classes --------------------------------------------------------------------------------------

// A class whose values are compared by their fields; those of a tuple can be unpacked.
const record = (kind, names, isTuple) => {
  kind.prototype.$fields = names ? names.split(",") : [];
  if (isTuple) {
    kind.prototype[Symbol.iterator] = function () { return fields(this); };
    kind.prototype.__len__ = function () { return this.$fields.length; };
    kind.prototype._replace = function (changes) { return replace(this, changes); };
  }
};
const replace = (x, changes) => {
  const made = Object.create(Object.getPrototypeOf(x));
  for (const name of x.$fields) made[name] = name in changes ? changes[name] : x[name];
  return made;
};
const copy = (x) => (Array.isArray(x) ? [...x] : Object.assign(Object.create(Object.getPrototypeOf(x)), x));
// A function whose values are known.
const table = (rows) => {
  const found = new Dict(rows);
  return (...given) => {
    if (!found.has(given)) throw new ValueError(`an unknown argument: ${given}`);
    return found.at(given);
  };
};
const object = (kind, values) => Object.assign(Object.create(kind.prototype), values);
// A property that is computed once.
const cached = (kind, name, make) => Object.defineProperty(kind.prototype, name, {
  get() {
    const value = make.call(this);
    Object.defineProperty(this, name, { value, writable: true, configurable: true });
    return value;
  },
  configurable: true,
});
const vars = (x) => new Dict(x.$fields.map((name) => [name, x[name]]));
const isinstance = (x, kind) => {
  if (kind === str_ || kind === str) return isText(x);
  if (kind === int || kind === float) return typeof x === "number";
  if (kind === bool) return typeof x === "boolean";
  if (kind === tuple || kind === list) return Array.isArray(x);
  if (kind === dict) return x instanceof Dict;
  return x instanceof kind;
};
const cache = (f) => {
  const known = new Map();
  return (...given) => {
    const id = given.length === 1 ? key(given[0]) : key(given);
    if (known.has(id)) return known.get(id);
    if (known.size > 5000) known.clear();
    const value = f(...given);
    known.set(id, value);
    return value;
  };
};
const lru_cache = () => cache;
// The first and last values of a sequence, and a list of those between.
const around = (x, n, n_after) => {
  const all = [...x];
  return [...all.slice(0, n), ...all.slice(all.length - n_after), all.slice(n, all.length - n_after)];
};
const partial = (f, ...first) => (...more) => f(...first, ...more);
const filled = (f, first, named) => (...more) => f(...Object.assign([...first, ...more], named));

// ---- functions ------------------------------------------------------------------------------------

const int = (x, base = 10) => (isText(x) ? parseInt([...x].map((c) => decimal(c, c)).join(""), base) : Math.trunc(Number(x)));
const float = (x) => (x === "inf" ? Infinity : Number(x));
const list = (x = [], f = null, test = null) => {
  if (!f) return [...x];
  const made = [];
  for (const each of x) if (!test || test(each)) made.push(f(each));
  return made;
};
function* lazy(x, f, test = null) { for (const each of x) if (!test || test(each)) yield f(each); }
const flat_list = (x, f, test = null) => {
  const made = [];
  for (const each of x) if (!test || test(each)) for (const inner of f(each)) made.push(inner);
  return made;
};
function* flat_lazy(x, f, test = null) { for (const each of x) if (!test || test(each)) yield* f(each); }
const tuple = (x = []) => [...x];
const set = (x = []) => new Bag(x);
const dict = (x = []) => new Dict(pairsOf(x));
dict.fromkeys = (keys, value = null) => new Dict([...keys].map((k) => [k, value]));
const callable = (f) => (f == null ? Boolean : typeof f === "function" && f.prototype && /^class\b/.test(Function.prototype.toString.call(f)) ? (...given) => new f(...given) : f.__call__ ? f.__call__.bind(f) : f);
function* map(f, first, ...others) {
  f = callable(f);
  if (!others.length) { for (const x of first) yield f(x); return; }
  for (const each of zip(first, ...others)) yield f(...each);
}
function* filter(f, all) { const test = f === null ? bool : f; for (const x of all) if (bool(test(x))) yield x; }
function* zip(...all) {
  const sources = all.map(iter);
  if (!sources.length) return;
  while (true) {
    const found = [];
    for (const source of sources) {
      const { value, done } = source.next();
      if (done) return;
      found.push(value);
    }
    yield found;
  }
}
function* zip_longest(...given) {
  const sources = given.map(iter);
  while (true) {
    const found = sources.map((s) => s.next());
    if (found.every((each) => each.done)) return;
    yield found.map((each) => (each.done ? null : each.value));
  }
}
const iter = (x) => (x.next ? x : (x.__iter__ ? x.__iter__() : x)[Symbol.iterator]());
const next = (source, other) => {
  const { value, done } = source.next();
  if (!done) return value;
  if (other === undefined) throw new StopIteration();
  return other;
};
function* enumerate(all, start = 0) { for (const x of all) yield [start++, x]; }
function* range(start, stop = null, step = 1) {
  if (stop == null) [start, stop] = [0, start];
  for (let i = start; step > 0 ? i < stop : i > stop; i += step) yield i;
}
const range_ = (...given) => {
  const [start, stop] = given.length === 1 ? [0, given[0]] : given;
  return Object.assign([...range(...given)], { start, stop });
};
const reversed = (x) => (isText(x) ? [...x] : [...x]).reverse();
const sum = (all, start = 0) => { let total = start; for (const x of all) total = add(total, x === true ? 1 : x === false ? 0 : x); return total; };
const any = (all) => { for (const x of all) if (bool(x)) return true; return false; };
const all = (items) => { for (const x of items) if (!bool(x)) return false; return true; };
const extreme = (sign) => (items, by = null, other) => {
  let best, rank, found = false;
  for (const x of items) {
    const own = by ? by(x) : x;
    if (!found || sign * compare(own, rank) < 0) [best, rank, found] = [x, own, true];
  }
  if (!found && other === undefined) throw new ValueError("empty");
  return found ? best : other;
};
const sorted = (items, by = null, reverse = false) => {
  const made = [...items].map((x) => [by ? by(x) : x, x]);
  made.sort((a, b) => (reverse ? compare(b[0], a[0]) : compare(a[0], b[0])));
  return made.map(([, x]) => x);
};
const nlargest = (n, items, by = null) => sorted(items, by, true).slice(0, n);
function* islice(all, start, stop) {
  if (stop === undefined) [start, stop] = [0, start];
  const source = iter(all);
  for (let i = 0; stop == null || i < stop; i++) {
    const { value, done } = source.next();
    if (done) return;
    if (i >= start) yield value;
  }
}
function* chain(...all) { for (const each of all) yield* each.__iter__ ? each.__iter__() : each; }
chain.from_iterable = function* (all) { for (const each of all) yield* each; };
function* pairwise(all) { let last, begun = false; for (const x of all) { if (begun) yield [last, x]; [last, begun] = [x, true]; } }
function* accumulate(items, f = null, initial) {
  let total = initial, begun = initial !== undefined;
  if (begun) yield total;
  for (let x of items) {
    if (typeof x === "boolean") x = +x;
    total = begun ? (f ? f(total, x) : add(total, x)) : x;
    begun = true;
    yield total;
  }
}
function* count(start = 0) { while (true) yield start++; }
function* cycle(all) { const own = [...all]; while (own.length) yield* own; }
function* groupby(all, by = (x) => x) {
  let last, own = null;
  for (const x of all) {
    const k = by(x);
    if (own && same(k, last)) { own.push(x); continue; }
    if (own) yield [last, own];
    [last, own] = [k, [x]];
  }
  if (own) yield [last, own];
}
function* product(...all) {
  if (!all.length) { yield []; return; }
  const [first, ...others] = all.map((x) => [...x]);
  for (const x of first) for (const rest of product(...others)) yield [x, ...rest];
}
const itemgetter = (...keys) => (x) => (keys.length === 1 ? at(x, keys[0]) : keys.map((k) => at(x, k)));
const attrgetter = (...names) => {
  const of = (x, name) => name.split(".").reduce((own, part) => own[part], x);
  return (x) => (names.length === 1 ? of(x, names[0]) : names.map((n) => of(x, n)));
};
// The sum rounded once (Shewchuk).
const fsum = (all) => {
  let partial = [];
  for (let x of all) {
    const kept = [];
    for (let y of partial) {
      if (Math.abs(x) < Math.abs(y)) [x, y] = [y, x];
      const high = x + y, low = y - (high - x);
      if (low) kept.push(low);
      x = high;
    }
    partial = [...kept, x];
  }
  return partial.reduceRight((a, b) => a + b, 0);
};
const bisect = (right) => (items, x, lo = 0, hi = null, by = null) => {
  let a = lo, b = hi ?? len(items);
  while (a < b) {
    const middle = (a + b) >> 1, own = by ? by(at(items, middle)) : at(items, middle);
    if (right ? compare(x, own) < 0 : compare(own, x) >= 0) b = middle; else a = middle + 1;
  }
  return a;
};
const bisect_left = bisect(false), bisect_right = bisect(true);
const insort_right = (items, x) => { items.splice(bisect_right(items, x), 0, x); };
const ord = (c) => c.codePointAt(0);
const chr = (n) => String.fromCodePoint(n);
const normalize = (form, x) => x.normalize(form);
let decimal = (c, other) => (/^[0-9]$/.test(c) ? +c : other);
// As toFixed, but halves are rounded to even digits.
const toFixed = (x, digits) => {
  const exact = x.toFixed(100), point = exact.indexOf("."), end = point + (digits ? digits + 1 : 0);
  const down = exact.slice(0, end), rest = exact.slice(end).replace(".", "");
  return /^50*$/.test(rest) && /[02468]$/.test(down) ? down : x.toFixed(digits);
};
const round = (x, digits = 0) => {
  if (digits) return Number(toFixed(x, digits));
  const floor = Math.floor(x), part = x - floor;
  return part < 0.5 || (part === 0.5 && floor % 2 === 0) ? floor : floor + 1;
};
const format = (x, spec) => {
  const [, fill, width, comma, digits, kind] = /^(0)?(\d+)?(,)?(?:\.(\d+))?([a-zA-Z%]?)$/.exec(spec);
  let made = kind === "X" ? x.toString(16).toUpperCase() : kind === "x" ? x.toString(16) : digits != null ? toFixed(x, +digits) : str(x);
  if (comma) made = made.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  return width ? made.padStart(+width, fill ? "0" : " ") : made;
};
str.maketrans = (x) => dict(x);
const str_ = Object.assign((x = "") => str(x), { maketrans: str.maketrans }, Object.fromEntries(Object.entries(text)));

// ---- regular expressions --------------------------------------------------------------------------

let sets = [];
const known = [];
const hex = (n) => `\\u{${n.toString(16)}}`;
// The places where a set begins and ends, from the text of sets.py.
const placesOf = (number) => {
  const [, base, own] = /^(?:(.*):)?(.*)$/.exec(sets[number]);
  const places = new Set(base == null ? [] : placesOf(parseInt(base || "0", 36)));
  let place = 0;
  for (const distance of own ? own.split(",") : []) {
    place += parseInt(distance || "0", 36);
    if (!places.delete(place)) places.add(place);
  }
  return [...places].sort((a, b) => a - b);
};
// The inside of a set of characters.
const inside = (number) => {
  if (known[number] != null) return known[number];
  const places = placesOf(number);
  let made = "";
  for (let i = 0; i < places.length; i += 2) {
    const [first, last] = [places[i], places[i + 1] - 1];
    made += first === last ? hex(first) : `${hex(first)}-${hex(last)}`;
  }
  return (known[number] = made);
};
const expression = (parts, flags) =>
  new RegExp(parts.map((x) => (isText(x) ? x : `[${inside(x)}]`)).join(""), flags);

// The first match from a place on. V8 tries places inside of characters, where only nothing can match.
const searched = (compiled, text, from) => {
  for (let found; ; from = found.index + 1) {
    compiled.lastIndex = from;
    found = compiled.exec(text);
    if (!found || !(text.codePointAt(found.index - 1) > 0xffff)) return found;
  }
};

class Match {
  constructor(pattern, text, found, end, whole = false) {
    [this.re, this.string, this.found, this.limit, this.whole] = [pattern, text, found, end, whole];
  }
  number(group) {
    const n = isText(group) ? this.re.names[group] : group;
    if (!n || !this.re.groups) return n;
    const own = this.re.groups[n - 1]; // of several groups with one name, the one that has matched
    return Array.isArray(own) ? own.find((each) => this.found[each] != null) ?? own[0] : own;
  }
  at(group) { return this.found[this.number(group)] ?? null; }
  group(...groups) {
    return groups.length > 1 ? groups.map((g) => this.at(g)) : this.at(groups[0] ?? 0);
  }
  groups() { return list(range(1, this.re.n + 1), (i) => this.at(i)); }
  groupdict() { return new Dict(Object.keys(this.re.names).map((name) => [name, this.at(name)])); }
  units(group) {
    if (!group) return [this.found.index, this.found.index + this.found[0].length];
    this.exact ??= this.re.exact(this);
    return this.exact.indices[this.number(group)] ?? [-1, -1];
  }
  span(group = 0) { return this.units(group).map((unit) => pointOf(this.string, unit)); }
  start(group = 0) { return this.span(group)[0]; }
  end(group = 0) { return this.span(group)[1]; }
  get lastgroup() {
    const named = Object.keys(this.re.names).filter((name) => this.at(name) != null);
    return named.length ? named[named.length - 1] : null;
  }
}
class Pattern {
  constructor(parts, groups, names) {
    this.parts = parts;
    this.n = typeof groups === "number" ? groups : groups.length;
    this.groups_ = null;
    this.groups = typeof groups === "number" ? null : groups;
    this.names = names;
  }
  get near() { return (this.near_ ??= expression(this.parts, "suy")); }
  get far() { return (this.far_ ??= expression(this.parts, "sug")); }
  get whole() { return (this.whole_ ??= expression(["(?:", ...this.parts, ")$"], "suy")); }
  exact(match) {
    const compiled = match.whole ? this.wholePlaces : this.places;
    compiled.lastIndex = match.found.index;
    return compiled.exec(match.string.slice(0, match.limit));
  }
  get places() { return (this.places_ ??= expression(this.parts, "suyd")); }
  get wholePlaces() { return (this.wholePlaces_ ??= expression(["(?:", ...this.parts, ")$"], "suyd")); }
  run(compiled, text, start, stop) {
    const [a, b] = bounds(lengthOf(text), start, stop), end = unitOf(text, b);
    const own = end < text.length ? text.slice(0, end) : text;
    const found = searched(compiled, own, unitOf(text, a));
    return found && new Match(this, text, found, end);
  }
  match(text, start, stop) { return this.run(this.near, text, start, stop); }
  search(text, start, stop) { return this.run(this.far, text, start, stop); }
  fullmatch(text, start, stop) {
    const found = this.run(this.whole, text, start, stop);
    return found && new Match(this, text, found.found, found.limit, true);
  }
  *finditer(text, start, stop) {
    const [a, b] = bounds(lengthOf(text), start, stop), end = unitOf(text, b);
    const own = end < text.length ? text.slice(0, end) : text;
    let place = unitOf(text, a);
    while (place <= own.length) {
      const found = searched(this.far, own, place);
      if (!found) return;
      const last = found.index + found[0].length;
      place = last === found.index ? last + (own.codePointAt(last) > 0xffff ? 2 : 1) : last;
      yield new Match(this, text, found, end);
    }
  }
  findall(text, start, stop) {
    return list(this.finditer(text, start, stop), (m) =>
      this.n > 1 ? m.groups().map((g) => g ?? "") : this.n ? m.at(1) ?? "" : m.at(0));
  }
  sub(made, text, most = 0, flags = 0, start = null) {
    let out = "", end = 0, n = 0;
    for (const found of this.finditer(text, start)) {
      const [a, b] = found.units(0);
      out += text.slice(end, a) + (isText(made) ? expanded(made, found) : made(found));
      end = b;
      if (most && ++n === most) break;
    }
    return out + text.slice(end);
  }
  split(text, most = 0) {
    const parts = [];
    let end = 0, n = 0;
    for (const found of this.finditer(text)) {
      const [a, b] = found.units(0);
      parts.push(text.slice(end, a), ...found.groups());
      end = b;
      if (most && ++n === most) break;
    }
    return [...parts, text.slice(end)];
  }
}
const expanded = (made, found) => made.replace(/\\(?:g<(\w+)>|(\d)|(.))/g, (_, name, number, other) =>
  other ?? found.at(name ? (/^\d/.test(name) ? +name : name) : +number) ?? "");
let expressions = new Map();
const regex_compile = (pattern) => {
  if (!expressions.has(pattern)) throw new ValueError(`an unknown expression: ${pattern}`);
  return expressions.get(pattern);
};
const re_compile = regex_compile;
const re = (parts, groups = 0, names = {}) => new Pattern(parts, groups, names);

// ---- what is known of characters ------------------------------------------------------------------

const lazily = (make) => { let value; return () => (value ??= make()); };
const pairs = (text) => new Map(text.split(" ").map((each) => { const [c, ...more] = each; return [c, more.join("")]; }));
const install = (tables) => {
  classes = {};
  for (const [name, number] of Object.entries(tables.classes)) {
    classes[name] = lazily(() => new RegExp(`^[${inside(number)}]$`, "u"));
  }
  classes.folds = lazily(() => pairs(tables.folds));
  classes.titles = lazily(() => pairs(tables.titles));
  const zeros = tables.zeros;
  decimal = (c, other) => {
    const n = c.codePointAt(0);
    for (const zero of zeros) if (n >= zero && n < zero + 10) return n - zero;
    if (other === undefined) throw new ValueError("not a decimal");
    return other;
  };
};

return {
  known: (pairs) => { expressions = new Map(pairs); }, object, re_compile, regex_compile, table,
  logger: { warning() {}, debug() {}, info() {} },
  Bag, ChainMap: (own, other) => new ChainMap(own, other), Config, Counter: (x) => new Counter(x), Dict, Fraction: (...given) => new Fraction(...given),
  TypeError: TypeError_, AttributeError, IndexError, RuntimeError, UnicodeEncodeError, ValueError, accumulate, add, all, and, any, around, at, attrgetter, bisect_left,
  bisect_right, bool, both, bound, cache, cached, call, ceil: Math.ceil, chain, chr, compare,
  copy, count, cut, cycle, deque: (x = []) => Deque.from(x), defaultdict: (make) => new DefaultDict(make),
  dict, either, enumerate, extend, filled, filter, flat_lazy, flat_list, float, floor: Math.floor, insort_right,
  floordiv, format, frozenset: set, ge, groupby, gt, has, install, int, isinf: (x) => !Number.isFinite(x) && !Number.isNaN(x),
  isinstance, islice, itemgetter, iter, lazy, le, len, list, lru_cache, lt, map,
  max: extreme(-1), merge, min: extreme(1), mod, mul, next, nlargest, normalize, or, ord, pairwise,
  partial, product, put, range: range_, re, record, remove, replace,
  repr, reversed, round, same, set, sets: (all) => { sets = all.split(";"); }, slice: (start, stop) => new Slice(start, stop), sorted, str: str_, sub, sum,
  tuple, zip, zip_longest, abs: Math.abs, exp: Math.exp, log: Math.log, fsum, getattr: (x, name) => x[name], decimal: (c, other) => decimal(c, other), text,
  bytes: (x) => Uint8Array.from(x), Exception: Error,
  vars, asdict: vars, isfinite: Number.isFinite, process_time: () => 0,
  nullcontext: () => ({ __enter__: () => null, __exit__: () => null }),
};
})();
