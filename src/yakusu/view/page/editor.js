/** The field in which a sentence of the translation is corrected, in its place. */

import {element} from "./dom.js";
import {t} from "./strings.js";

const IN_SAFARI = 229;  // of Enter that ends the input of Japanese or Korean

export class Editor {
  /** @param on {used(editor, text), undone(editor)}: return promises; closed(place, hadFocus)} */
  constructor(on) {
    Object.assign(this, {on, form: null});
  }

  /**
   * Show the field instead of a sentence.
   *
   * @param place {n, k}: line and sentence.
   * @param sentence {source, text, isOwn}.
   * @param shown the element of the sentence.
   * @param languages {source, target}.
   * @param where says where the correction is stored.
   */
  open(place, sentence, shown, languages, where) {
    this.close();
    Object.assign(this, {place, sentence, shown});
    const source = sentence.source.trim();
    this.field = element("textarea", {dir: "auto", rows: 1, lang: languages.target,
      "aria-label": t("editLabel", {source: `\u2068${source}\u2069`}),
      oninput: () => this.fit(), onkeydown: (event) => this.key(event)});
    this.field.value = sentence.text.trim();
    this.alert = element("p", {role: "alert"});
    const button = (key, onclick) => element("button", {type: "button", onclick}, t(key));
    const buttons = [element("button", {class: "main"}, t("useThis")),
      button("cancel", () => this.close()),
      ...(sentence.isOwn ? [button("undo", () => this.run(() => this.on.undone(this)))] : [])];
    this.form = element("form", {class: "editor", onsubmit: (event) => this.submit(event)},
      element("p", {class: "note", dir: "auto", lang: languages.source}, source), this.field,
      element("div", {class: "row"}, ...buttons),
      element("p", {class: "note"}, where), this.alert);
    shown.hidden = true;
    shown.after(this.form);
    this.fit();
    this.field.focus();
  }

  /** Make the field as high as its text. */
  fit() {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight + 2}px`;
  }

  key(event) {
    if (event.key === "Escape") this.close();
    if (event.key === "Enter" && !event.isComposing && event.keyCode !== IN_SAFARI) {
      this.submit(event);
    }
  }

  submit(event) {
    event.preventDefault();
    const text = this.field.value.trim().replace(/\s*\n\s*/g, " ");
    if (text) this.run(() => this.on.used(this, text));
  }

  /** Do something once, and close the field; if it fails, say why. */
  async run(work) {
    const {form, alert} = this;
    if (form.ariaBusy === "true") return;
    form.ariaBusy = "true";
    try {
      await work();
      if (this.form === form) this.close();
    } catch (error) {
      form.ariaBusy = "false";
      alert.textContent = error.message;
    }
  }

  close() {
    if (!this.form) return;
    const hadFocus = this.form.contains(document.activeElement);
    this.form.remove();
    this.shown.hidden = false;
    this.form = null;
    this.on.closed(this.place, hadFocus);
  }
}
