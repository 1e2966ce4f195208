// markdown-it for the readers of Markdown: its rules are translated (markdown.py), what calls them is here.

const rulerOf = (chains) => ({ getRules: (name) => chains[name] ?? [] });
function markdownParser(isMdx = false) {
  const rules = MARKDOWN_RULES[+isMdx], core = new ParserCore();
  core.ruler = rulerOf(rules.core);
  const block = Object.assign(new ParserBlock(), { ruler: rulerOf(rules.block) });
  block.ruler.get_active_rules = () => (isMdx ? [] : ["code"]); // the only one that is asked for
  const inline = Object.assign(new ParserInline(), { ruler: rulerOf(rules.inline), ruler2: rulerOf(rules.inline2), terminator_re: TERMINATORS });
  const parsed = (text, env, inlineMode) => {
    const state = Object.assign(new StateCore(text, md, env), { inlineMode });
    core.process(state);
    return state.tokens;
  };
  const md = {
    core, block, inline, options: Object.assign($.dict(MARKDOWN_OPTIONS), Object.fromEntries(MARKDOWN_OPTIONS)),
    helpers: { parseLinkDestination, parseLinkLabel, parseLinkTitle }, validateLink,
    // Destinations are only compared.
    normalizeLink: (link) => link, normalizeLinkText: (link) => link,
    __getitem__: () => block,
    parse: (text, env) => parsed(text, env, false),
    parseInline: (text, env = $.dict()) => parsed(text, env, true),
  };
  return md;
}

const isPunctuation = (character) => $.text.ispunctuation(character);
const isAtLeast = (one, other) => other >= one;
const decodedSource = (data) => new DecodedFile(typeof data === "string" ? data : new TextDecoder().decode(data), "utf-8");

// ---- YAML in front matter ------------------------------------------------------------------------

class AliasEvent {}
class ScalarEvent { constructor(own) { Object.assign(this, { anchor: null, tag: null }, own); } }
class CollectionStartEvent { constructor() { [this.anchor, this.flow_style] = [null, false]; } }
class MappingStartEvent extends CollectionStartEvent {}
class CollectionEndEvent {}
class DocumentStartEvent {}

const NAMED_IN_YAML = { n: "\n", t: "\t", r: "\r", 0: "\0", "/": "/", '"': '"', "\\": "\\", " ": " " };
const folded = (lines, join = " ") => lines.map((line) => line.trim()).join("\n")
  .replace(/\n+/g, (all) => (all.length > 1 ? all.slice(1) : join));
function unquoted(source) {
  const text = folded(source.slice(1, -1).split("\n"));
  if (source[0] === "'") return text.replaceAll("''", "'");
  return text.replace(/\\(?:x(..)|u(.{4})|U(.{8})|(.))/g, (all, x, u, U, c) => {
    if (c !== undefined && !(c in NAMED_IN_YAML)) throw new DataError(`unknown escape ${all}`);
    return c === undefined ? String.fromCodePoint(parseInt(x ?? u ?? U, 16)) : NAMED_IN_YAML[c];
  });
}
// The style, source and value of what follows a key; null: not a text. What is not valid is an error.
function scalarOf(all) {
  const block = /^([|>])[-+]?[ \t]*\r?\n/.exec(all);
  if (block) {
    const lines = all.slice(block[0].length).split(/\r?\n/), [first] = /^ */.exec(lines.find((line) => line.trim()) ?? "");
    const own = lines.map((line) => line.slice(first.length)), isFolded = block[1] === ">";
    if (isFolded && own.some((line) => /^[ \t]/.test(line))) return null;
    return [block[1], all, `${isFolded ? folded(own) : own.join("\n").trimEnd()}\n`];
  }
  const source = all.trim(), quoted = /^(?:'(?:[^']|'')*'|"(?:[^"\\]|\\[^])*")/.exec(source)?.[0];
  const comment = (rest) => /^(?:\s*|\s+#.*)$/.test(rest);
  if (quoted) {
    if (!comment(source.slice(quoted.length))) throw new DataError("text after quotes");
    return [quoted[0], quoted, unquoted(quoted)];
  }
  if (/^['"%@`,*|>\]}]|^[?:](?:\s|$)/.test(source) || /^-\s/.test(all)) throw new DataError("not a value");
  if (/^(?:[[{&!|>#]|-\s|$)/.test(source) || (/^\s*\n/.test(all) && /:(?:\s|$)/.test(source))) return null;
  const plain = source.replace(/\s#.*$/, "").trimEnd();
  if (/:(?:\s|$)/.test(plain)) throw new DataError("a mapping in a text");
  return ["", plain, folded(plain.split("\n"))];
}
// The events of a mapping whose keys stand at the beginnings of lines; what is in other values is not read.
function* yamlEvents(text) {
  const marks = (start, end) => {
    const at = (unit) => ({ index: $.len(text.slice(0, unit)), line: text.slice(0, unit).split("\n").length - 1, column: 0 });
    return { start_mark: at(start), end_mark: at(end) };
  };
  const KEY = /^([\p{L}_][^\n:#'"{}[\],&*!|>%@`]*?)[ \t]*:(?=[ \t\r\n]|$)/gmu, keys = [...text.matchAll(KEY)];
  const before = text.slice(0, keys[0]?.index ?? text.length);
  if (/^(?!\s*(?:#.*)?$)/m.test(before.replace(/^\s+/, ""))) throw new DataError("not a mapping");
  yield new MappingStartEvent();
  for (const [i, found] of keys.entries()) {
    const start = found.index, from = start + found[0].length, to = keys[i + 1]?.index ?? text.length;
    yield new ScalarEvent({ value: found[1], style: "", ...marks(start, start + found[1].length) });
    const all = text.slice(from, to), own = scalarOf(all.replace(/^[ \t]+/, ""));
    if (own) {
      const place = text.indexOf(own[1], from);
      yield new ScalarEvent({ style: own[0], value: own[2], ...marks(place, place + own[1].length) });
    } else yield* [new CollectionStartEvent(), new CollectionEndEvent()];
  }
  yield new CollectionEndEvent();
}
YamlFile.prototype.parse = function (use) {
  for (const event of yamlEvents(this._text)) for (const unit of this._read(event)) use(unit);
};
