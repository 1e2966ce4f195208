/** Translations that the user has corrected: in the memory of the service, or in this browser. */

import {post} from "./api.js";
import {byId, CROSS, element, icon} from "./dom.js";
import {recall, remember} from "./store.js";
import {percent, t} from "./strings.js";

const MOST = 500;  // corrections that the browser keeps
const NAME = "corrections";  // a list of {source, target, text, translation}, the latest first
// Why the service doubts a translation, and the texts of the page for it.
const DOUBTS = {
  "the model is unsure of its words": "unsure",
  "it is shorter than usual: parts of the source may be missing": "tooShort",
  "it is longer than usual: parts may be repeated or added": "tooWordy",
};

/** A text as it is compared, like in the memory of the service. */
const keyOf = (text) => text.normalize("NFC").trim().split(/\s+/).join(" ");

export class Corrections {
  /** @param changed is called when the user removes a correction from the list. */
  constructor(changed) {
    this.changed = changed;
    this.sent = [];  // what this page has added to the memory of the service, like those kept
  }

  // ---- the browser ------------------------------------------------------------------------------

  get kept() { return recall(NAME, []); }

  /** Keep other corrections in the browser. */
  keep(kept) {
    remember(NAME, kept.slice(0, MOST));
    this.draw();
  }

  /** Those of a language pair, kept and sent: translations by text. */
  of({source, target}) {
    const [kept, sent] = [this.kept, this.sent].map((some) =>
      new Map(some.filter((each) => each.source === source && each.target === target)
        .map((each) => [keyOf(each.text), each.translation])));
    return {kept, sent};
  }

  /** The list of the side panel. */
  draw() {
    const rows = this.kept.map((each, i) => element("li", {class: "row"},
      element("span", {class: "entry"}, element("span", {dir: "auto", lang: each.source}, each.text),
              element("span", {dir: "auto", lang: each.target}, each.translation)),
      icon(t("remove"), CROSS, () => {
        this.keep(this.kept.filter((_, k) => k !== i));
        byId("side-close").focus();
        this.changed();
      })));
    byId("corrections").replaceChildren(...(rows.length ? [element("h3", {}, t("corrections")),
      element("p", {class: "note"}, t("storesBrowser")), element("ul", {class: "entries"}, ...rows)]
      : []));
  }

  // ---- both -------------------------------------------------------------------------------------

  /**
   * Store a correction: in the memory of the service if the user may, otherwise in the browser.
   *
   * @param route {source, target, memory}: the languages, and what the user may do.
   * @param about what a request says about them: languages and key.
   */
  async add(route, about, text, translation) {
    const made = {source: route.source, target: route.target, text, translation};
    if (route.memory === "write") {
      await post("v1/memory", {...about, action: "add", text, translation});
      this.sent = [made, ...without(this.sent, route, text)];
      this.keep(without(this.kept, route, text));  // an older one would hide it
    } else {
      this.keep([made, ...without(this.kept, route, text)]);
    }
  }

  /** Remove a correction; return whether there was one. */
  async remove(route, about, text, translation, isKept) {
    if (isKept) {
      this.keep(without(this.kept, route, text));
      return true;
    }
    this.sent = without(this.sent, route, text);
    const {matches} = await post("v1/memory", {...about, action: "search", text});
    const found = matches.find((each) => isCorrection(each) && each.translation === translation);
    if (!found) return false;
    return (await post("v1/memory", {...about, action: "delete", id: found.id})).deleted;
  }
}

const without = (some, {source, target}, text) => some.filter((each) =>
  each.source !== source || each.target !== target || keyOf(each.text) !== keyOf(text));

const isCorrection = ({match, origin}) => match === 100 && origin === "correction";

/** A sentence with another translation, between the same spaces. */
export function corrected(sentence, translation, isKept) {
  const [, before, after] = /^(\s*)[^]*?(\s*)$/.exec(sentence.text);
  const text = before + translation + after;
  return {...sentence, text, match: 100, doubt: "", isKept, isOwn: true};
}

/**
 * The sentences of a translated line, {source, text, match, doubt, isKept, isOwn}: corrections of
 * the browser replace what the service found. What the memory knows as a line stays one sentence.
 * The doubt about a line is one about each sentence that nobody has corrected.
 *
 * @param known {kept, sent}: the corrections of the language pair.
 * @param found {text, match, matches, doubt, sentences}: the translation of the service.
 */
export function sentencesOf({kept, sent}, source, found) {
  const {text, match, matches = [], doubt = "", sentences} = found;
  const isWhole = match || !sentences || kept.has(keyOf(source));
  return (isWhole ? [[source, text]] : sentences).map(([from, to]) => {
    const own = kept.get(keyOf(from)), isSent = sent.get(keyOf(from)) === to.trim();
    const isOwn = isSent ||
      matches.some((each) => isCorrection(each) && each.translation === to.trim());
    const sentence = {source: from, text: to, match: isSent ? 100 : match,
                      doubt: isOwn || !hasWords(from) ? "" : doubt, isKept: false, isOwn};
    return own === undefined ? sentence : corrected(sentence, own, true);
  });
}

/** Whether a sentence can be corrected: bullets and the like cannot. */
export const hasWords = (text) => /[\p{L}\p{N}]/u.test(text);

/** What the page shows for a sentence: its text, and where it comes from, or why it is doubted. */
export function shown({text, match, doubt, isKept}) {
  if (doubt) return {text, doubt: t("doubtful", {reason: t(DOUBTS[doubt])})};
  if (!match) return {text};
  if (isKept) return {text, badge: "✓", label: t("keptHere")};
  const badge = percent(match / 100);
  return {text, badge, label: t("fromMemory", {match: badge})};
}
