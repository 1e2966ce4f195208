/** The user's glossary and protected texts, kept in this browser and sent with each request. */

import {byId, CROSS, element, icon} from "./dom.js";
import {recall, remember} from "./store.js";
import {t} from "./strings.js";

export class Terms {
  /** @param changed is called after each change. */
  constructor(changed) {
    this.glossary = recall("glossary", []);
    this.protect = recall("protect", []);
    this.changed = changed;
  }

  /** What a request says, without unfinished rows. */
  get request() {
    const glossary = this.glossary.filter((row) => row.every((text) => text.trim()));
    const protect = this.protect.filter((text) => text.trim());
    return {...(glossary.length ? {glossary} : {}), ...(protect.length ? {protect} : {})};
  }

  /** Draw the rows; `pivot`: whether the service would refuse terms. */
  draw(pivot) {
    byId("terms").replaceChildren(
      ...(pivot ? [element("p", {class: "note group"}, t("glossaryPivot"))] : []),
      this.group("glossary", "addTerm", () => ["", ""], (row, i) => [
        this.field(t("term"), t("term"), row[0], (text) => { this.glossary[i][0] = text; }),
        this.field(t("termTranslation"), t("translation"), row[1],
                   (text) => { this.glossary[i][1] = text; })]),
      this.group("protect", "addProtected", () => "", (text, i) => [
        this.field(t("protectedText"), "", text, (changed) => { this.protect[i] = changed; })]));
    this.pivot = pivot;
  }

  /** A list of rows with a button that adds one. */
  group(name, add, empty, fields) {
    const rows = this[name].map((row, i) => element("div", {class: "row"}, ...fields(row, i),
      icon(t("remove"), CROSS, () => {
        this[name].splice(i, 1);
        this.redraw(name);
      })));
    const button = element("button", {type: "button", "data-add": name, onclick: () => {
      this[name].push(empty());
      this.redraw(name, true);
    }}, t(add));
    return element("div", {class: "group", "data-group": name}, element("h3", {}, t(name)),
                   element("p", {class: "note"}, t(`${name}Help`)), ...rows, button);
  }

  field(label, placeholder, value, set) {
    const field = element("input", {"aria-label": label, placeholder, dir: "auto",
                                    spellcheck: "false"});
    field.value = value;
    field.addEventListener("input", () => {
      set(field.value);
      this.save();
    });
    return field;
  }

  /** Draw again; the focus moves to the new row, or to the button that adds one. */
  redraw(name, added = false) {
    this.draw(this.pivot);
    const group = document.querySelector(`[data-group=${name}]`);
    const row = [...group.querySelectorAll(".row")].at(-1);
    (added ? row.querySelector("input") : group.querySelector("[data-add]")).focus();
    this.save();
  }

  save() {
    remember("glossary", this.glossary);
    remember("protect", this.protect);
    this.changed();
  }
}
