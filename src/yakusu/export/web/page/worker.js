// What runs in the worker of the page, after the script of the translator.
//
// The page sends {id, call, args}. The answers are {id, event, data}, of which the last one is "done" or
// "error" (a sentence). {id, call: "stop"} ends a running call: between windows of lines, messages arrive.

(() => {
const WINDOW = 8; // lines of a text that are translated together
const MOST_WEIGHTS = 2e6; // of attention that are shown, as in the service
const opened = new Map(); // models: {translator, memory} by their keys
const running = new Map(); // calls by their ids
let engine = null; // a promise

const turn = () => new Promise((resolve) => setTimeout(resolve));
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");
// A value of Python as one of JSON.
const plain = (x) => {
  if (x instanceof $.Dict) return Object.fromEntries([...x.items()].map(([name, value]) => [name, plain(value)]));
  return Array.isArray(x) || (x && x.next) ? [...x].map(plain) : x;
};

function withMemory(translator) {
  const memory = new PageMemory(translator.languages);
  const reader = new MemoryReader(translator.text_config, [memory], [], []);
  const reading = () => ({ __enter__: () => reader, __exit__() {} });
  translator.memories = { reading, is_learning: false };
  return { translator, memory };
}

// The translator with the settings of a request.
function configured(key, { n_best = 1, glossary = [], protect = [] }) {
  const { translator } = opened.get(key), { search, text_config } = translator;
  const width = Math.max(search.beam, n_best);
  return translator.with_settings(
    search.model_copy($.dict([["n_best", n_best], ["beam", width]])),
    protect.length ? text_config.model_copy($.dict([["protect", protect.map(wellFormed)]])) : null,
    glossary.length ? glossary.map((term) => term.map(wellFormed)) : null);
}
const requestOf = (text, { prefix = "", include = [], exclude = [] }) =>
  new Request(text, ...[prefix].map(wellFormed), include.map(wellFormed), exclude.map(wellFormed));
const answer = (text, best, translator) =>
  ({ ...plain(objects(best)), sentences: sentence_pairs(text, best[0].text, translator.languages) });

// ---- documents ----------------------------------------------------------------------------------------

// A text file as a document: its lines are translated as those of one text.
const linesOf = (text) => ({ texts: text.split("\n"), reports_blank: false, layout: new Layout(),
  render: (made) => new TextEncoder().encode(made.join("\n")) });
const subtitlesOf = (text) => new Subtitles(LINES.findall(text), NO_MARK, "utf-8");
const messagesOf = (text, languages) => new PoDocument(text, new DocumentOptions(languages));
const READERS = {
  txt: linesOf, srt: subtitlesOf, vtt: subtitlesOf, po: messagesOf, pot: messagesOf,
  json: (text, languages) => new JsonDocument(text, languages),
  ...Object.fromEntries(["md", "markdown", "mdown", "mdx"].map((suffix) => [suffix, readMarkdown])),
};

// The reader of a file for its text, and its byte order mark, if it has one.
function fileOf(name, data) {
  const read = READERS[name.slice(name.lastIndexOf(".") + 1).toLowerCase()], bytes = new Uint8Array(data);
  if (!read) throw new Error(`${name} has a format that this page does not translate`);
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(isMarked ? bytes.subarray(3) : bytes);
    return { read, text, mark: isMarked ? bytes.subarray(0, 3) : NO_MARK };
  } catch {
    throw new Error(`${name} is not UTF-8: save the file as UTF-8`);
  }
}

// The texts with their neighbours and names, as pipeline/documents.py asks for them.
const requestsOf = ({ texts, keys = [] }, name) => texts.map((text, i) => new Request(text, "", [], [],
  new SegmentContext(texts[i - 1] ?? "", texts[i + 1] ?? "", name, keys[i] ?? "")));

async function translatedDocument(translator, name, data, call) {
  const { read, text, mark } = fileOf(name, data), document = read(text, translator.languages);
  const made = [], kept = [], known = $.dict(), before = new Set(document.skipped);
  await translated(translator, requestsOf(document, name), call, ([best], n) => {
    const isKept = document.reports_blank && best.differences.length > 0;
    const reason = best.differences.join("; ");
    if (!isKept && reason) kept.push(reason);
    made.push(isKept ? "" : best.text);
    known.put(n, new Known(best.match, [], best.quality, best.doubt, isKept ? reason : ""));
    call.tell("progress", (n + 1) / document.texts.length);
  }, document.layout);
  if (call.isStopped) return null;
  document.tell?.(known);
  const [texts, blank] = document.layout ? [made, []] : usable(document, made);
  const written = document.render(texts), out = typeof written === "string" ? new TextEncoder().encode(written) : written;
  const skipped = [...(document.skipped ?? [])].filter((each) => !before.has(each));
  return { data: $.add(mark, out), kept: [...blank, ...kept, ...skipped] };
}

const calls = {
  start(bytes) { engine = engineOf(bytes.engine, bytes.kernels); },
  async open({ key, model }) {
    if (!opened.has(key)) opened.set(key, withMemory(openTranslator(await engine, await unpacked(model))));
  },
  segments({ units }) { return units.map(segmentOfUnit); },
  remember({ key, segments }) { opened.get(key).memory.set(segments); },
  matches({ key, text }) { return find_matches(opened.get(key).memory, wellFormed(text)).map((each) => plain(match_object(each))); },
  async stream({ key, text, ...body }, call) {
    const translator = configured(key, body), lines = wellFormed(text).split("\n");
    await translated(translator, lines.map((line) => requestOf(line, body)), call, (best, line) =>
      call.tell("line", { line, ...answer(lines[line], best, translator) }), new Layout(), true);
  },
  translate({ key, text, trace = false, ...body }) {
    const translator = configured(key, body), request = requestOf(wellFormed(text), body);
    const [best] = translator.stream([request], 64, null, true, trace);
    return answer(request.text, best, translator);
  },
  document({ key, name, data }, call) { return translatedDocument(opened.get(key).translator.with_settings(), name, data, call); },
  attention({ key, text, translation }) {
    const maps = attention_maps(opened.get(key).translator, wellFormed(text), wellFormed(translation) || null);
    const n = $.sum($.list(maps.weights.values(), (own) => own.values.length));
    if (n > MOST_WEIGHTS) throw new Error(`the sentence has ${n} attention weights: shorten it`);
    return plain(maps.as_json());
  },
};

// Translate texts one window after the other, until the call is stopped.
async function translated(translator, requests, call, done, layout = null, details = false) {
  let n = 0;
  for (const best of translator.stream(requests, 64, WINDOW, details, false, layout)) {
    done(best, n++);
    if (n % WINDOW === 0) await turn();
    if (call.isStopped) return;
  }
}

onmessage = async ({ data: { id, call, args } }) => {
  if (call === "stop") {
    if (running.has(id)) running.get(id).isStopped = true;
    return;
  }
  const own = { isStopped: false, tell: (event, data) => postMessage({ id, event, data }) };
  running.set(id, own);
  try {
    own.tell("done", await calls[call](args, own));
  } catch (error) {
    own.tell("error", error.message);
  }
  running.delete(id);
};
})();
