/** The last translations, kept in this browser unless the user does not want that. */

import {byId, element} from "./dom.js";
import {forget, isStored, recall, remember} from "./store.js";
import {languageName, t} from "./strings.js";

const MOST = 50, LONGEST = 2000;  // entries; characters of a text that is kept

export class History {
  /** @param restored is called with the entry that the user chooses. */
  constructor(restored) {
    this.restored = restored;
  }

  get enabled() { return recall("keep", true); }

  get entries() { return this.enabled ? recall("history", []) : []; }

  /** Add {source, target, text, translation}; it replaces an entry that it continues. */
  add(entry) {
    if (!this.enabled || entry.text.length > LONGEST) return;
    const [last, ...others] = this.entries;
    const same = last && last.target === entry.target && entry.text.startsWith(last.text);
    remember("history", [entry, ...(same ? others : this.entries)].slice(0, MOST));
    this.draw();
  }

  draw() {
    const {entries} = this;
    const box = element("input", {type: "checkbox", onchange: () => {
      remember("keep", box.checked);
      if (!box.checked) forget("history");
      this.draw();
    }});
    const clear = element("button", {type: "button", disabled: !entries.length, onclick: () => {
      forget("history");
      this.draw();
    }}, t("clearHistory"));
    const list = element("ul", {class: "entries"}, ...entries.map((entry) =>
      element("li", {}, this.button(entry))));
    const focused = byId("side-history").contains(document.activeElement);
    box.checked = this.enabled;
    byId("side-history").replaceChildren(element("div", {class: "group"},
      element("label", {class: "check"}, box, t("keepHistory")),
      ...(isStored() ? [] : [element("p", {class: "note"}, t("notKept"))]),
      entries.length ? list : element("p", {class: "note"}, t("emptyHistory")), clear));
    if (focused) box.focus();
  }

  button(entry) {
    const pair = `${languageName(entry.source)} → ${languageName(entry.target)}`;
    return element("button", {type: "button", class: "entry", title: pair,
                              onclick: () => this.restored(entry)},
      ...[entry.text, entry.translation].map((text) => element("span", {dir: "auto"}, text)));
  }
}
