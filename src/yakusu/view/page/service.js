/** The page of the service: it translates while the user types. */

import {get} from "./api.js";
import {byId, element} from "./dom.js";
import {Files} from "./files.js";
import {History} from "./history.js";
import {Languages} from "./languages.js";
import {Panel} from "./panel.js";
import {Pointer} from "./pointer.js";
import {Session} from "./session.js";
import {Side} from "./side.js";
import {current, INTERFACES, languageName, percent, setInterface, t, translateDocument}
  from "./strings.js";
import {Terms} from "./terms.js";
import {SourcePane, TargetPane} from "./text.js";

const PAUSE = 250, SETTLED = 1500;  // milliseconds: after typing; until it goes into the history

class Page {
  constructor(models, settings) {
    this.limit = settings.charLimit;
    this.languages = new Languages(models, () => this.translate());
    this.session = new Session(() => this.request(), {
      routed: (route) => this.routed(route), line: (n, line) => this.target.set(n, line.text),
      finished: (n) => this.finished(n), status: (...texts) => this.say(...texts),
    });
    this.panel = new Panel(byId("panel"), this.session, {
      replaced: (n, prefix, position) => this.replace(n, prefix, position),
      changed: () => this.pointer.again(), closed: (focused) => this.closed(focused),
    });
    const on = (side) => ({
      typed: () => this.typed(), opened: (n, byKey) => this.open(n, byKey),
      pointed: (place) => this.pointer.point(place && {side, ...place}),
    });
    this.source = new SourcePane(byId("text"), byId("mirror"), on("source"));
    this.target = new TargetPane(byId("translation"), on("target"));
    const panes = {source: this.source, target: this.target};
    this.pointer = new Pointer(panes, this.session, this.panel);
    this.terms = new Terms(() => this.typed());
    this.history = new History((entry) => this.restore(entry));
    this.files = new Files(settings.supportedFilesFormat, () => this.fileRequest());
    this.side = new Side();
    byId("key-label").hidden = !(settings.keyRequired || settings.apiKeys);
    this.listen();
    this.draw();
    if (this.source.text) this.source.typed();  // before the page was ready, or before a reload
  }

  listen() {
    byId("swap").addEventListener("click", () => this.swap());
    byId("copy").addEventListener("click", () => this.copy());
    byId("key").addEventListener("change", () => this.translate());
    byId("interface").replaceChildren(...INTERFACES.map((code) => element("option",
      {value: code, lang: code}, new Intl.DisplayNames(code, {type: "language"}).of(code))));
    byId("interface").value = current();
    byId("interface").addEventListener("change", (event) => {
      setInterface(event.target.value);
      this.languages.fill(...this.languages.chosen());
      this.draw();
    });
  }

  /** Draw everything that contains texts of the page. */
  draw() {
    this.terms.draw(Boolean(this.languages.pivot));
    this.history.draw();
    this.files.draw();
    this.side.draw();
    this.describeSource();
    this.count();
    if (this.panel.n !== null) this.panel.open(this.panel.n, this.panel.line);
  }

  say(text, alert = "", isBusy = false) {
    byId("status").textContent = text;
    byId("alert").textContent = alert;
    byId("translation").setAttribute("aria-busy", String(isBusy));
  }

  // ---- the text

  typed() {
    this.count();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.translate(), PAUSE);
  }

  /** Show the number of characters; return whether there are too many. */
  count() {
    const count = [...this.source.text].length, format = new Intl.NumberFormat(current());
    const limit = format.format(this.limit), isOver = count > this.limit;
    byId("count").textContent = t("characters", {count: format.format(count), limit});
    byId("count").classList.toggle("over", isOver);
    if (isOver) this.say("", t("tooLong", {limit}));
    return isOver;
  }

  request() {
    const key = byId("key").value, terms = this.languages.pivot ? {} : this.terms.request;
    return {...this.languages.request, ...terms, ...(key ? {api_key: key} : {})};
  }

  translate() {
    clearTimeout(this.timer);
    clearTimeout(this.settled);
    if (!this.source.text.trim()) return this.session.clear();
    if (this.count()) return this.session.stop();
    return this.session.translate(this.source.text);
  }

  routed({source, target, detected, pivot}) {
    this.detected = detected;
    this.languages.detect(source);
    this.describeSource();
    this.source.setLanguage(source);
    this.target.setLanguage(target);
    if (this.terms.pivot !== Boolean(pivot)) this.terms.draw(Boolean(pivot));
  }

  /** Show the language that was detected. */
  describeSource() {
    const {detected} = this;
    byId("detected").textContent = !detected ? "" : t("detected", {
      language: languageName(detected.language), confidence: percent(detected.confidence / 100),
    });
  }

  finished(n) {
    this.target.cut(n);
    this.pointer.again();
    const line = this.session.lines[this.panel.n];
    if (this.panel.n !== null && !line) this.panel.close();
    else if (line !== this.panel.line && line) this.panel.open(this.panel.n, line);
    this.select();
    if (n) this.settled = setTimeout(() => this.keep(), SETTLED);
    else this.detected = null;
    this.describeSource();
  }

  // ---- one line

  open(n, byKey) {
    const line = this.session.lines[n];
    if (!line?.source.trim()) return;
    this.opener = document.activeElement;
    this.panel.open(n, line);
    this.select();
    if (byKey) this.panel.focus();
    if (this.opener !== byId("text")) byId("panel").scrollIntoView({block: "nearest"});
  }

  select() { this.target.select(this.panel.n); }

  closed(focused) {
    this.select();
    this.pointer.again();
    if (focused) (this.opener.isConnected ? this.opener : byId("text")).focus();
  }

  async replace(n, prefix, position) {
    try {
      await this.panel.update(await this.session.replace(n, prefix), position);
      this.select();
      this.say("");
    } catch (error) {
      if (error.name !== "AbortError") this.say("", error.message);
    }
  }

  // ---- the buttons

  swap() {
    const {text} = this.session;
    this.languages.swap();
    this.source.text = text;
    this.translate();
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(this.session.text);
      this.say(t("copied"));
    } catch {  // no permission, or the page is not encrypted
      getSelection().selectAllChildren(byId("translation"));
      this.say("", t("notCopied"));
    }
  }

  keep() {
    const {lines, route, text} = this.session;
    if (!lines.length) return;
    const {source, target} = route;
    this.history.add({source, target, text: this.source.text, translation: text});
  }

  restore({source, target, text}) {
    this.languages.fill(source, target, "");
    this.source.text = text;
    this.translate();
    byId("text").focus();
  }

  fileRequest() {
    const {glossary, protect, ...request} = this.request();
    return request;
  }
}

async function start() {
  translateDocument();
  try {
    const [{models}, settings] = await Promise.all([get("v1/models"), get("frontend/settings")]);
    new Page(models, settings);
  } catch (error) {
    byId("alert").textContent = error.message;
  }
}

start();
