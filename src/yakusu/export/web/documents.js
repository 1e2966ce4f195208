// What the readers of documents use by these names; a file is its text, without a byte order mark.

const NO_MARK = new Uint8Array(0);
const DEEPEST = 100; // levels of JSON
const primary = (code) => code.toLowerCase().split(/[-_]/)[0];
const sameLanguage = (one, other) => primary(one) === primary(other);
const blake2b = (bytes) => ({ digest: () => new TextDecoder().decode(bytes) }); // digests are only compared

// ---- HTML in subtitles ------------------------------------------------------------------------------

const escapedHtml = (text) => text.replace(/[&<>]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
const unescapedHtml = (text) => text.replace(/&(?:#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?|([a-zA-Z0-9]+);)/g, (whole, hex, decimal, name) => {
  if (name) return ENTITIES.get(name) ?? whole;
  const n = hex ? parseInt(hex, 16) : Number(decimal);
  return n === 0 || n > 0x10ffff || (n >= 0xd800 && n < 0xe000) ? "\ufffd" : String.fromCodePoint(n);
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
