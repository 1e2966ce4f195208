/** The two texts as words that can be pointed at: the source behind its field, the translation. */

import {element, rove, settle, tint} from "./dom.js";
import {t} from "./strings.js";

// As the engine counts words: runs of characters that are not white space.
const WORD = /(?:[^\s\x1c-\x1f\x85]|\ufeff)+/gu;
// Scripts without spaces between words.
const UNSPACED = new RegExp("[" + ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar",
  "Tibetan", "Yi", "Bopomofo"].map((script) => `\\p{Script=${script}}`).join("") + "]", "u");
const MOST = 20_000;  // characters of a line with units: browsers are slow with many elements
const MIN_WEIGHT = 0.05;  // weaker links are not shown

/**
 * The units of a line that a user can point at: its words, and in scripts without spaces the words
 * that the browser finds. A very long line has none.
 *
 * @returns {start, end, word}: positions, and the number of the word as the engine counts.
 */
export function units(text, language) {
  if (text.length > MOST) return [];
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

/** A line as sentences of words; `attributes` are those of each word. */
function lineOf(n, sentences, language, attributes) {
  const line = element("div", {class: "line", dir: "auto", "data-line": n, lang: language});
  const text = textOf(sentences), words = units(text, language);
  let end = 0, stop = 0, i = 0;
  sentences.forEach((sentence, k) => {
    const {badge, label, doubt} = sentence;
    const own = element("span", {class: badge ? "sentence known" : "sentence", "data-sentence": k,
      ...(doubt ? {role: "group", "aria-label": t("part"), title: doubt} : {})});
    stop += sentence.text.length;
    for (; i < words.length && words[i].start < stop; i++) {
      const {start, end: next} = words[i];
      own.append(text.slice(end, start), element("span", {class: "word", "data-unit": i,
                                                          ...attributes}, text.slice(start, next)));
      end = next;
    }
    own.append(text.slice(end, stop));
    end = Math.max(end, stop);
    if (text) line.append(own);
    if (badge) line.append(element("span", {class: "badge", role: "img", "data-badge": badge,
                                            "aria-label": label, title: label}));
  });
  return line;
}

const textOf = (sentences) => sentences.map((sentence) => sentence.text).join("");

/** Lines of words in an element; a line is a list of sentences, {text, badge, label, doubt}. */
class Lines {
  constructor(container, attributes = {}) {
    this.container = container;
    this.attributes = attributes;
    this.shown = [];
    this.texts = [];
    this.language = "";
  }

  /** Show a line; it stays as it is if it is the same. */
  set(n, sentences) {
    const keys = ["text", "badge", "label", "doubt"], old = this.shown[n];
    if (old?.length === sentences.length && old.every((sentence, k) =>
      keys.every((key) => sentence[key] === sentences[k][key]))) return;
    while (this.shown.length < n) this.set(this.shown.length, [{text: ""}]);
    const line = lineOf(n, sentences, this.language, this.attributes);
    if (n < this.shown.length) this.container.children[n].replaceWith(line);
    else this.container.append(line);
    this.shown[n] = sentences;
    this.texts[n] = textOf(sentences);
  }

  /** Remove all lines after the first n. */
  cut(n) {
    this.shown.length = this.texts.length = Math.min(n, this.shown.length);
    while (this.container.children.length > n) this.container.lastChild.remove();
  }

  setLanguage(language) {
    if (language === this.language) return;
    this.language = language;
    const shown = [...this.shown];
    this.cut(0);
    shown.forEach((sentences, n) => this.set(n, sentences));
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
  word && {n: Number(word.closest(".line").dataset.line), unit: Number(word.dataset.unit)};

const sentenceOf = (word) =>
  ({n: placeOf(word).n, k: Number(word.closest(".sentence").dataset.sentence)});

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
    lines.forEach((text, n) => this.set(n, [{text}]));
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
  /** @param on {pointed(place or null), opened(n, byKey), edited(sentence)} */
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
    container.addEventListener("dblclick", (event) => {
      if (word(event)) on.edited(sentenceOf(word(event)));
    });
    container.addEventListener("keydown", (event) => {
      if (!word(event) || ![" ", "Enter", "F2"].includes(event.key)) return;
      event.preventDefault();
      if (event.key === "F2") on.edited(sentenceOf(word(event)));
      else on.opened(placeOf(word(event)).n, true);
    });
    rove(container, ".word");
  }

  /** The sentence, {n, k}, of the word that was focused last; null: there are no words. */
  get current() {
    const word = this.container.querySelector(".word[tabindex='0']");
    return word && sentenceOf(word);
  }

  /** The element of a sentence. */
  sentence({n, k}) { return this.container.children[n]?.querySelector(`[data-sentence='${k}']`); }

  set(n, sentences) {
    const focused = this.words(n).indexOf(document.activeElement);
    super.set(n, sentences);
    const words = this.words(n);
    if (focused >= 0) words[Math.min(focused, words.length - 1)]?.focus();
    if (!this.container.querySelector(".word[tabindex='0']")) settle(this.container, ".word");
  }
}
