/** Documents: upload with progress, and the link to the translation. */

import {host, translateFile, twice} from "./api.js";
import {byId, element} from "./dom.js";
import {t} from "./strings.js";

export class Files {
  /** @param request returns {source, target, model, api_key}; source is null if not known. */
  constructor(formats, request) {
    Object.assign(this, {formats, request});
  }

  draw() {
    this.field = element("input", {type: "file", accept: this.formats.join(","),
                                   "aria-label": t("chooseFile"), onchange: () => this.show()});
    this.start = element("button", {type: "button", disabled: true, onclick: () => this.send()},
                         t("translateFile"));
    this.result = element("div", {class: "group", "aria-live": "polite"});
    byId("side-document").replaceChildren(element("div", {class: "group"}, this.field,
      element("p", {class: "note"}, t("fileHelp", {formats: this.formats.join(" ")})),
      ...(host.filesHelp ? [element("p", {class: "note"}, t(host.filesHelp))] : []), this.start),
    this.result);
  }

  show(...parts) {
    this.start.disabled = !this.field.files.length;
    this.result.replaceChildren(...parts);
  }

  async send() {
    const fields = this.request(), [file] = this.field.files;
    this.abort = new AbortController();
    const bar = element("progress", {max: 1, value: 0, "aria-label": t("progress")});
    const text = element("p", {class: "note"}, t("uploading"));
    this.show(text, bar, element("button", {type: "button", onclick: () => this.abort.abort()},
                                 t("cancel")));
    this.start.disabled = true;
    const {signal} = this.abort;
    const progress = (key, share) => {
      if (share === null) bar.removeAttribute("value");
      else bar.value = share;
      text.textContent = t(key);
    };
    try {
      const waits = (seconds) => { text.textContent = t("retrying", {seconds}); };
      const made = await twice(() => translateFile(file, fields, {signal, progress}),
                               {signal, waits});
      this.show(element("p", {}, t(host.fileReady)), ...remarks(made.kept),
                element("a", {href: made.href, download: made.name},
                        t("download", {name: made.name})));
    } catch (error) {
      this.show(...(signal.aborted ? [] : [element("p", {role: "alert"}, error.message)]));
    }
  }
}

const SHOWN = 5;  // sentences about texts that are kept

const remarks = (kept) => kept.slice(0, SHOWN).map((each) => element("p", {class: "note"}, each));
