/** The two texts as words that can be pointed at: the source behind its field, the translation. */

import {element, rove, settle, tint} from "./dom.js";

// As the engine counts words: runs of characters that are not white space.
const WORD = /(?:[^\s\x1c-\x1f\x85]|\ufeff)+/gu;
// Scripts without spaces between words.
const UNSPACED = new RegExp("[" + ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar",
  "Tibetan", "Yi", "Bopomofo"].map((script) => `\\p{Script=${script}}`).join("") + "]", "u");
const MIN_WEIGHT = 0.05;  // weaker links are not shown

/**
 * The units of a line that a user can point at: its words, and in scripts without spaces the words
 * that the browser finds.
 *
 * @returns {start, end, word}: positions, and the number of the word as the engine counts.
 */
export function units(text, language) {
  return [...text.matchAll(WORD)].flatMap((found, word) => {
    const whole = {start: found.index, end: found.index + found[0].length, word};
    if (!UNSPACED.test(found[0])) return [whole];
    return [...segmenter(language).segment(found[0])].map(({segment, index}) =>
      ({start: whole.start + index, end: whole.start + index + segment.length, word}));
  });
}

function segmenter(language) {
  try {
    return new Intl.Segmenter(language, {granularity: "word"});
  } catch {  // not a language code
    return new Intl.Segmenter(undefined, {granularity: "word"});
  }
}

/** A line as text and words; `attributes` are those of each word. */
function lineOf(n, text, language, attributes) {
  const line = element("div", {class: "line", dir: "auto", "data-line": n, lang: language});
  let end = 0;
  units(text, language).forEach((unit, i) => {
    const word = text.slice(unit.start, unit.end);
    line.append(text.slice(end, unit.start),
                element("span", {class: "word", "data-unit": i, ...attributes}, word));
    end = unit.end;
  });
  line.append(text.slice(end));
  return line;
}

/** Lines of words in an element. */
class Lines {
  constructor(container, attributes = {}) {
    this.container = container;
    this.attributes = attributes;
    this.texts = [];
    this.language = "";
  }

  /** Show a line; it stays as it is if its text is the same. */
  set(n, text) {
    if (this.texts[n] === text) return;
    while (this.texts.length < n) this.set(this.texts.length, "");
    const line = lineOf(n, text, this.language, this.attributes);
    if (n < this.texts.length) this.container.children[n].replaceWith(line);
    else this.container.append(line);
    this.texts[n] = text;
  }

  /** Remove all lines after the first n. */
  cut(n) {
    this.texts.length = Math.min(n, this.texts.length);
    while (this.container.children.length > n) this.container.lastChild.remove();
  }

  setLanguage(language) {
    if (language === this.language) return;
    this.language = language;
    const texts = [...this.texts];
    this.cut(0);
    texts.forEach((text, n) => this.set(n, text));
  }

  /** Tint the words of a line by their weights. */
  mark(n, weights) {
    this.words(n).forEach((word, i) => tint(word, weights[i] >= MIN_WEIGHT ? weights[i] : 0));
  }

  unmark() {
    for (const word of this.container.querySelectorAll(".word[style], .pointed")) {
      word.removeAttribute("style");
      word.classList.remove("pointed");
    }
  }

  words(n) {
    return [...(this.container.children[n]?.querySelectorAll(".word") ?? [])];
  }

  /** Show which line the panel is about; null: none. */
  select(n) {
    [...this.container.children].forEach((line, i) => line.classList.toggle("selected", i === n));
  }
}

const placeOf = (word) =>
  word && {n: Number(word.parentElement.dataset.line), unit: Number(word.dataset.unit)};

/** The field for the source, with the words behind it, which also give it its height. */
export class SourcePane extends Lines {
  /** @param on {typed(), pointed(place or null), opened(n, byKey)} */
  constructor(field, mirror, on) {
    super(mirror);
    this.field = field;
    this.on = on;
    field.addEventListener("input", () => this.typed());
    field.addEventListener("mousemove", (event) => on.pointed(this.under(event)));
    field.addEventListener("mouseleave", () => on.pointed(null));
    field.addEventListener("blur", () => on.pointed(null));
    field.addEventListener("click", (event) => {
      const place = this.under(event);
      if (place && field.selectionStart === field.selectionEnd) on.opened(place.n, false);
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      on.opened(this.caretLine(), true);
    });
    document.addEventListener("selectionchange", () => {
      if (document.activeElement === field) on.pointed(this.atCaret());
    });
  }

  setLanguage(language) {
    super.setLanguage(language);
    this.field.lang = language;
  }

  get text() { return this.field.value; }

  set text(text) {
    this.field.value = text;
    this.typed();
  }

  typed() {
    const lines = this.text.split("\n");
    lines.forEach((line, n) => this.set(n, line));
    this.cut(lines.length);
    this.on.typed();
  }

  under({clientX, clientY}) {
    const found = document.elementsFromPoint(clientX, clientY);
    return placeOf(found.find((each) => each.matches("#mirror .word"))) ?? null;
  }

  caretLine() {
    return this.text.slice(0, this.field.selectionStart).split("\n").length - 1;
  }

  atCaret() {
    const n = this.caretLine();
    const before = this.text.slice(0, this.field.selectionStart);
    const offset = before.length - before.lastIndexOf("\n") - 1;
    const unit = units(this.texts[n] ?? "", this.language)
      .findIndex(({start, end}) => start <= offset && offset <= end);
    return unit < 0 ? null : {n, unit};
  }
}

/** The translation; its words are one tab stop, and the arrow keys lead from one to the next. */
export class TargetPane extends Lines {
  /** @param on {pointed(place or null), opened(n, byKey)} */
  constructor(container, on) {
    super(container, {role: "button", tabindex: "-1"});
    const word = (event) => event.target.closest(".word");
    const point = (event) => on.pointed(placeOf(word(event)) ?? null);
    container.addEventListener("mouseover", point);
    container.addEventListener("focusin", point);
    container.addEventListener("mouseleave", () => on.pointed(null));
    container.addEventListener("focusout", () => on.pointed(null));
    container.addEventListener("click", (event) => {
      if (word(event) && getSelection().isCollapsed) on.opened(placeOf(word(event)).n, false);
    });
    container.addEventListener("keydown", (event) => {
      if (!word(event) || ![" ", "Enter"].includes(event.key)) return;
      event.preventDefault();
      on.opened(placeOf(word(event)).n, true);
    });
    rove(container, ".word");
  }

  set(n, text) {
    super.set(n, text);
    if (!this.container.querySelector(".word[tabindex='0']")) settle(this.container, ".word");
  }
}
