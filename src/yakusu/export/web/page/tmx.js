/** TMX 1.4: segments of a memory as XML, and back, like data/files/tmx.py and memory/exporting.py. */

// An inline code is a mark of data/lines/private_use.py, in plane 15: 2^14 numbers of each kind.
const MAX_MARKS = 2 ** 14, LINE_BREAK = 3;
const isMark = (sign) => sign.codePointAt(0) >> 16 === 15;
const placeOf = (mark) => mark.codePointAt(0) % 2 ** 16;
const kindOf = (mark) => Math.floor(placeOf(mark) / MAX_MARKS);
const ELEMENTS = [(n) => `<bpt i="${n}" x="${n}"/>`, (n) => `<ept i="${n}"/>`, (n) => `<ph x="${n}"/>`,
                  (n) => `<ph x="${n}" type="lb"/>`];
const NOT_XML = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\p{Surrogate}/u;
const SIGNS = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"};
const escaped = (text) => text.replace(/[&<>"]/g, (sign) => SIGNS[sign]);
const element = (mark) => ELEMENTS[kindOf(mark)](placeOf(mark) % MAX_MARKS + 1);
const content = (text) => [...text].map((sign) => isMark(sign) ? element(sign) : escaped(sign)).join("");
/** A text without its inline codes, as it is shown: a line break becomes a space. */
export const withoutCodes = (text) =>
  [...text].map((sign) => !isMark(sign) ? sign : kindOf(sign) === LINE_BREAK ? " " : "").join("");
const compact = (time) => time.replace(/[-:]/g, "");

/** A file of segments; those with characters that XML cannot hold are left out. */
export function writeTmx(segments, {source, target}) {
  const unit = (each) => {
    const date = each.time ? ` changedate="${escaped(compact(each.time))}"` : "";
    const origin = each.origin ? `<prop type="x-origin">${escaped(each.origin)}</prop>` : "";
    const sides = [[source, each.source], [target, each.target]].map(([code, text]) =>
      `<tuv xml:lang="${escaped(code)}"><seg>${content(text)}</seg></tuv>`);
    return `    <tu${date}>${origin}${sides.join("")}</tu>`;
  };
  const writable = segments.filter((each) => !NOT_XML.test(each.source + each.target + each.origin));
  const header = {creationtool: "yakusu", creationtoolversion: "1", segtype: "block", "o-tmf": "yakusu",
                  adminlang: "en", srclang: source, datatype: "plaintext"};
  const stated = Object.entries(header).map(([name, value]) => ` ${name}="${escaped(value)}"`).join("");
  return ["<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "<tmx version=\"1.4\">", `  <header${stated}/>`,
          "  <body>", ...writable.map(unit), "  </body>", "</tmx>", ""].join("\n");
}

/**
 * The units of a file that have both languages: {source, target, origin, time}, with the texts and elements
 * of each side, as memory.js of the worker takes them; null: the file is not TMX.
 */
export function readTmx(text, {source, target}, origin) {
  const root = new DOMParser().parseFromString(text, "application/xml").documentElement;
  if (root.localName !== "tmx" || root.getElementsByTagName("parsererror").length) return null;
  return [...root.getElementsByTagNameNS("*", "tu")].flatMap((unit) => {
    const [from, to] = [source, target].map((code) => segmentOf(unit, code));
    if (!from || !to) return [];
    return [{source: from, target: to, origin: property(unit, "x-origin") || origin, time: timeOf(unit)}];
  });
}

const children = (element, name) => [...element.children].filter((each) => each.localName === name);
const primary = (code) => code.toLowerCase().split(/[-_]/)[0];

/** The texts and elements of a unit in a language, null if it has none; one of the same dialect comes first. */
function segmentOf(unit, code) {
  const variants = children(unit, "tuv").map((each) =>
    [each.getAttribute("xml:lang") || each.getAttribute("lang") || "", each]);
  const [, found] = variants.find(([own]) => own.toLowerCase() === code.toLowerCase()) ??
    variants.find(([own]) => primary(own) === primary(code)) ?? [];
  const segment = found && children(found, "seg")[0];
  return segment ? nodesOf(segment) : null;
}

const TEXTS = [Node.TEXT_NODE, Node.CDATA_SECTION_NODE];
const nodesOf = (element) => [...element.childNodes].flatMap((each) => {
  if (each.nodeType !== Node.ELEMENT_NODE) return TEXTS.includes(each.nodeType) ? [each.nodeValue] : [];
  const attributes = Object.fromEntries([...each.attributes].map(({name, value}) => [name, value]));
  return [{name: each.localName, attributes, content: each.textContent, nodes: nodesOf(each)}];
});

const property = (unit, type) =>
  children(unit, "prop").find((each) => each.getAttribute("type") === type)?.textContent.trim();

/** When a unit was changed, such as 20261128T101500Z, as 2026-11-28T10:15:00Z; "": unknown. */
function timeOf(unit) {
  const stated = unit.getAttribute("changedate") || unit.getAttribute("creationdate") || "";
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(stated);
  return parts ? `${parts.slice(1, 4).join("-")}T${parts.slice(4).join(":")}Z` : "";
}
