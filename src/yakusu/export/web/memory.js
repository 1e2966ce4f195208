// The memory of a page: what memory/memory.py finds in a file, found in an array.

// The similarity of two texts by their words (memory/words.py); 0: it is less than the threshold.
function similarity(one, other, threshold) {
  const most = Math.max(one.length, other.length), allowed = most * (1 - threshold) + 1e-9;
  if (!most) return 1;
  const left = new Map();
  for (const word of other) left.set(word, (left.get(word) ?? 0) + 1);
  let missing = most; // words that are not shared: at least so many edits
  for (const word of one) if (left.get(word)) { left.set(word, left.get(word) - 1); missing--; }
  if (missing > allowed) return 0;
  let row = [...Array(other.length + 1).keys()];
  one.forEach((word, i) => {
    const next = [i + 1];
    other.forEach((each, j) => next.push(Math.min(row[j] + (word !== each), row[j + 1] + 1, next[j] + 1)));
    row = next;
  });
  const distance = row[other.length];
  return distance > allowed ? 0 : 1 - distance / most;
}

// The texts of a unit of TMX with marks for its inline codes, as data/segment_files.py makes them; null: one of
// them is empty, or there are too many codes. `source` and `target`: texts, and elements as
// {name, attributes, content, nodes}.
function segmentOfUnit({ source, target }) {
  const [START, END, EMPTY, BREAK] = CODE_KINDS;
  let n = 0; // elements with text
  function* parts(nodes) {
    for (const node of nodes) {
      if (typeof node === "string") { yield* text_parts(node); continue; }
      const { name, attributes, content } = node, { i = "", x = null, type = "" } = attributes;
      if (name === "bpt") yield new InlineCode(START, `i ${i}`, x);
      else if (name === "ept") yield new InlineCode(END, `i ${i}`);
      else if (["it", "ph", "ut"].includes(name)) {
        yield new InlineCode(is_line_break($.dict(Object.entries(attributes)), content) ? BREAK : EMPTY, content, x);
      } else {
        const own = `${name} ${n++}`;
        yield new InlineCode(START, own, x || type);
        yield* parts(node.nodes);
        yield new InlineCode(END, own);
      }
    }
  }
  const made = marked_texts(parts(source), parts(target));
  const texts = (made ?? []).map((text) => $.call(text, "strip"));
  return made && texts.every(Boolean) ? { source: texts[0], target: texts[1] } : null;
}

// The segments of a memory, as memory/memory.py finds them.
class PageMemory {
  constructor(languages) { [this.languages, this.found, this.words] = [languages, new Map(), new Map()]; }
  // `segments`: {id, source, target, origin, time}; the latest one comes first.
  set(segments) {
    this.found = new Map();
    const latest = [...segments].sort((a, b) => $.compare(b.time, a.time) || b.id - a.id);
    for (const { id, source, target, origin, time } of latest) {
      const [from, to] = renumbered(source, target), name = normalised(from);
      const stored = new StoredSegment(id, new MemorySegment(from, to, "", "", "", "", origin, time));
      if (!this.found.has(name)) this.found.set(name, []);
      this.found.get(name).push(stored);
    }
  }
  exact(text) { return [...(this.found.get(normalised(renumbered(text, "")[0])) ?? [])]; }
  with_other_numbers() { return []; } // nothing fills them: the plurals of languages are not in the script
  similar(text, threshold, most, otherWords) {
    const own = [...words(text)], variable = with_variables(renumbered(text, "")[0]), best = new Map();
    const ranked = [...this.found.values()].flat().map((each) => [each, similarity(own, this.wordsOf(each.segment.source), threshold)])
      .filter(([each, alike]) => alike && !(otherWords && with_variables(each.segment.source) === variable))
      .sort(([a, one], [b, two]) => two - one || $.compare(b.segment.time, a.segment.time) || b.number - a.number);
    for (const [{ number, segment }, alike] of ranked) {
      if (best.size === most) break;
      const pair = JSON.stringify([segment.source, segment.target]);
      if (!best.has(pair)) best.set(pair, new SimilarSegment(number, segment, alike));
    }
    return [...best.values()];
  }
  wordsOf(source) {
    if (!this.words.has(source)) this.words.set(source, [...words(source)]);
    return this.words.get(source);
  }
}
