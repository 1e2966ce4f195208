/** Documents: upload with progress, and the link to the translation. */

import {Failure, failureOf, twice} from "./api.js";
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
      element("p", {class: "note"}, t("fileHelp", {formats: this.formats.join(" ")})), this.start),
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
    try {
      const waits = (seconds) => { text.textContent = t("retrying", {seconds}); };
      const url = await twice(() => upload(file, fields, signal, (share) => {
        if (share < 1) bar.value = share;
        else bar.removeAttribute("value");  // the rest takes an unknown time
        text.textContent = t(share < 1 ? "uploading" : "translating");
      }), {signal, waits});
      this.show(element("p", {}, t("fileReady")), linkTo(url));
    } catch (error) {
      this.show(...(signal.aborted ? [] : [element("p", {role: "alert"}, error.message)]));
    }
  }
}

/** A link below this page, wherever a proxy publishes it; the server names its own address. */
function linkTo(url) {
  const address = new URL(url, location.href).pathname.split("/").slice(-3).join("/");
  const name = decodeURIComponent(address.split("/").at(-1));
  return element("a", {href: address, download: name}, t("download", {name}));
}

/** Send a document with XMLHttpRequest, which reports progress; return the link of the result. */
function upload(file, fields, signal, progress) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append("file", file);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "translate_file");
    request.upload.addEventListener("progress", ({loaded, total}) => progress(loaded / total));
    request.addEventListener("load", () => {
      const {status, responseText} = request;
      if (status === 200) resolve(JSON.parse(responseText).translatedFileUrl);
      else reject(failureOf(status, responseText, request.getResponseHeader("Retry-After")));
    });
    request.addEventListener("error", () => reject(new Failure(t("unreachable"))));
    signal.addEventListener("abort", () => {
      request.abort();
      reject(signal.reason);
    });
    request.send(form);
  });
}
