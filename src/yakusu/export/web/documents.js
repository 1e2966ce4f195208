// What the readers of documents use by these names; a file is its text, without a byte order mark.

const NO_MARK = new Uint8Array(0);
const DEEPEST = 100; // levels of JSON
const primary = (code) => code.toLowerCase().split(/[-_]/)[0];
const sameLanguage = (one, other) => primary(one) === primary(other);
const blake2b = (bytes) => ({ digest: () => new TextDecoder().decode(bytes) }); // digests are only compared

// ---- PO ---------------------------------------------------------------------------------------------

// The lines of a file as text (documents/messages/po_file.py); long lines are not wrapped.
class PoFile {
  constructor(text, language) {
    const charset = /Content-Type:[^\\]{0,200}?charset=([\w.:-]{1,100})/.exec(text.slice(0, 65536))?.[1] ?? "UTF-8";
    if (!/^(?:utf-?8|ascii|us-ascii|charset)$/i.test(charset)) throw new DataError(`the header names the charset ${charset}: save the file as UTF-8`);
    [this.bom, this.encoding, this.new_plurals] = ["", "UTF-8", null];
    this.lines = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
    this.entries = [...new PoReader(this.encoding).entries(this.lines)];
    const own = this.entries.find((entry) => entry.is_header), header = own && own.forms.get(0), about = header ? header.value : "";
    [this.n_forms, this.singular] = plural_forms(about);
    const stated = stated_plurals(language);
    if (header && this.n_forms == null && about.includes(TEMPLATE) && stated) this.state(header, stated);
    this.language = language_of_header(about);
    this.header_line = header ? header.start + 1 : 1;
  }
  state({ start, end }, stated) {
    for (let i = start; i < end; i++) if (this.lines[i].includes(TEMPLATE)) {
      [this.n_forms, this.singular] = plural_forms(`Plural-Forms: ${stated}`);
      this.new_plurals = [i, this.lines[i].replace(TEMPLATE, stated)];
    }
  }
  encoded(line) { return line; }
  write(keyword, value) {
    const parts = (value.match(/[^\n]*\n|[^\n]+/g) ?? []).map(escaped_string);
    return parts.length < 2 ? [`${keyword} "${escaped_string(value)}"`] : [`${keyword} ""`, ...parts.map((part) => `"${part}"`)];
  }
}
const KNOWN = new Intl.DisplayNames(["en"], { type: "language", fallback: "none" });
// Whether a key is the code of a language; names of languages do not count here.
const isLanguageCode = (key) => /^[A-Za-z]{2}(?:[-_][A-Za-z0-9]{2,8}){0,3}$/.test(key) && KNOWN.of(key.slice(0, 2)) !== undefined;
function checkSingleLanguage(keys, source) {
  if (!source || !keys.every(isLanguageCode)) return;
  const own = keys.filter((key) => sameLanguage(source, key)).length;
  if (own === 0 || own === keys.length) return;
  const shown = keys.slice(0, 5).join(", ") + (keys.length > 5 ? ", ..." : "");
  throw new DataError(`the file has texts in several languages (${shown}): move those to translate into a file of their own`);
}
function checkLanguage(side, stated, wanted, line) {
  if (!/^[A-Za-z]{2,3}(?:[-_@].*)?$/.test(stated) || !wanted || sameLanguage(wanted, stated.split("@")[0])) return;
  throw new DataError(`line ${line}: the ${side} language of the file is '${stated}', but the model has '${wanted}': use another model`);
}
// The form that an expression of C gives for the number 1; 0: it is not valid.
function formOfOne(expression, n_forms) {
  const tokens = expression.match(/\|\||&&|[=!<>]=|\d+|\S/g) ?? [];
  const LEVELS = [["||"], ["&&"], ["==", "!="], ["<", ">", "<=", ">="], ["+", "-"], ["*", "/", "%"]];
  const DO = { "||": (a, b) => +(a || b ? 1 : 0), "&&": (a, b) => (a && b ? 1 : 0), "==": (a, b) => +(a === b), "!=": (a, b) => +(a !== b),
    "<": (a, b) => +(a < b), ">": (a, b) => +(a > b), "<=": (a, b) => +(a <= b), ">=": (a, b) => +(a >= b),
    "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => Math.trunc(a / b), "%": (a, b) => a % b };
  const expect = (token) => { if (tokens.shift() !== token) throw new SyntaxError(token); };
  const binary = (level) => {
    if (level === LEVELS.length) return unary();
    let left = binary(level + 1);
    while (LEVELS[level].includes(tokens[0])) left = DO[tokens.shift()](left, binary(level + 1));
    return left;
  };
  const unary = () => {
    const token = tokens.shift();
    if (token === "!") return +!unary();
    if (token === "n") return 1;
    if (/^\d+$/.test(token ?? "")) return Number(token);
    if (token !== "(") throw new SyntaxError(token);
    const inner = choice();
    expect(")");
    return inner;
  };
  const choice = () => {
    const test = binary(0);
    if (tokens[0] !== "?") return test;
    tokens.shift();
    const yes = choice();
    expect(":");
    const no = choice();
    return test ? yes : no;
  };
  try {
    const form = choice();
    return !tokens.length && Number.isInteger(form) && form >= 0 && form < n_forms ? form : 0;
  } catch { return 0; }
}

// ---- HTML in subtitles ------------------------------------------------------------------------------

const escapedHtml = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
// As html.unescape: some names need no semicolon, and some numbers mean other characters.
const unescapedHtml = (text) => text.replace(/&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([^\t\n\f <&#;]{1,32})(;?))/g, (whole, hex, decimal, name, end) => {
  if (name) {
    if (end && ENTITIES.has(name)) return ENTITIES.get(name);
    for (let n = name.length; n > 1; n--) {
      const own = name.slice(0, n);
      if (OPEN_ENTITIES.has(own)) return ENTITIES.get(own) + name.slice(n) + end;
    }
    return whole;
  }
  const n = hex ? parseInt(hex, 16) : Number(decimal);
  return OTHER_CODES.get(n) ?? (n >= 0x110000 || n >> 11 === 0b11011 ? "\ufffd" : String.fromCodePoint(n));
});

// ---- JSON -------------------------------------------------------------------------------------------

const decodedJson = (text) => [NO_MARK, "utf-8", text];
const parsedJson = (text) => JSON.parse(text);
const writtenJson = (value, isAscii = true) => {
  const made = JSON.stringify(value);
  return isAscii ? made.replace(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`) : made;
};
// A value of JSON as one of Python.
function valueOfJson(x, level = 0) {
  if (x === null || typeof x !== "object") return x;
  if (level >= DEEPEST) throw new DataError(`the JSON has more than ${DEEPEST} levels: flatten it`);
  const inner = (each) => valueOfJson(each, level + 1);
  return Array.isArray(x) ? x.map(inner) : $.dict(Object.entries(x).map(([name, each]) => [name, inner(each)]));
}
function rootOfJson(text) {
  try { return valueOfJson(JSON.parse(text)); }
  catch (error) {
    if (error instanceof DataError) throw error;
    throw new DataError(`the file is not valid JSON (${error.message}): correct it`);
  }
}
