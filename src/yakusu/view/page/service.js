/** The page of the service: it translates while the user types. */

import {get, host} from "./api.js";
import {Corrections, hasWords, shown} from "./corrections.js";
import {byId, element} from "./dom.js";
import {Editor} from "./editor.js";
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

// Milliseconds: after typing; until a text goes into the history; in which a second click may follow.
const PAUSE = 250, SETTLED = 1500, DOUBLE = 400;
const LONG = 1000;  // characters of a text whose translation can be stopped

class Page {
  constructor(models, settings) {
    this.limit = settings.charLimit;
    this.languages = new Languages(models, () => this.translate());
    this.corrections = new Corrections(() => this.translate());
    this.session = new Session(() => this.request(), this.corrections, {
      routed: (route) => this.routed(route), line: (n, line) => this.showLine(n, line),
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
    this.target = new TargetPane(byId("translation"),
                                 {...on("target"), edited: (place) => this.edit(place)});
    this.editor = new Editor({
      used: (editor, text) => this.use(editor, text), undone: (editor) => this.undo(editor),
      closed: (...closed) => this.edited(...closed),
    });
    const panes = {source: this.source, target: this.target};
    this.pointer = new Pointer(panes, this.session, this.panel);
    this.terms = new Terms(() => this.typed());
    this.history = new History((entry) => this.restore(entry));
    this.files = new Files(settings.supportedFilesFormat, () => this.fileRequest());
    this.side = new Side();
    byId("key-label").hidden = !(settings.keyRequired || settings.apiKeys);
    this.listen();
    this.draw();
    host.begin(this);
    if (this.source.text) this.source.typed();  // before the page was ready, or before a reload
  }

  listen() {
    byId("swap").addEventListener("click", () => this.swap());
    byId("copy").addEventListener("click", () => this.copy());
    byId("edit").addEventListener("click", () => this.edit(this.target.current));
    byId("key").addEventListener("change", () => this.translate());
    byId("stop").addEventListener("click", () => this.stop());
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
    this.editor.close();
    this.terms.draw(Boolean(this.languages.pivot));
    this.corrections.draw();
    this.session.lines.forEach((line, n) => this.showLine(n, line));
    byId("correction").replaceChildren();
    this.history.draw();
    this.files.draw();
    this.side.draw();
    this.describeSource();
    this.count();
    if (this.panel.n !== null) this.panel.open(this.panel.n, this.panel.line);
    host.draw();
  }

  say(text, alert = "", isBusy = false) {
    byId("status").textContent = text;
    byId("alert").textContent = alert;
    byId("translation").setAttribute("aria-busy", String(isBusy));
    byId("stop").hidden = !isBusy || this.source.text.length < LONG;
  }

  // ---- the text

  typed() {
    this.count();
    byId("correction").replaceChildren();
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

  stop() {
    this.session.stop();
    this.say(t("stopped"));
    byId("text").focus();
  }

  routed({source, target, detected, pivot}) {
    this.detected = detected;
    this.languages.detect(source);
    this.describeSource();
    this.source.setLanguage(source);
    if (target !== this.target.language) this.editor.close();
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
    if (this.editor.form && this.editor.place.n >= n) this.editor.close();
    this.target.cut(n);
    byId("edit").disabled = !this.target.current;
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
    if (this.opener === byId("text")) return;
    const scroll = () => byId("panel").scrollIntoView({block: "nearest"});
    this.scrolling = setTimeout(scroll, byKey ? 0 : DOUBLE);  // not between the two clicks of one
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

  // ---- corrections

  /** Show a line, unless a sentence of it that is still there is being edited. */
  showLine(n, line) {
    const {form, place, sentence} = this.editor;
    if (form && place.n === n) {
      if (line.sentences[place.k]?.source === sentence.source) return;
      this.editor.close();
    }
    this.target.set(n, line.sentences.map(shown));
  }

  /** Edit the sentence of a place, {n, k}, or the next one of its line that has letters. */
  edit(place) {
    clearTimeout(this.scrolling);
    const {lines, route} = this.session, sentences = lines[place?.n]?.sentences ?? [];
    const k = sentences.findIndex(({source}, i) => i >= place.k && hasWords(source));
    if (k < 0) return;
    const where = t(route.memory === "write" ? host.stores : "storesBrowser");
    const chosen = {n: place.n, k};
    this.editor.open(chosen, sentences[k], this.target.sentence(chosen), route, where);
  }

  edited({n, k}, hadFocus) {
    const line = this.session.lines[n];
    if (line) this.showLine(n, line);
    const word = this.target.sentence({n, k})?.querySelector(".word");
    if (hadFocus) (word ?? byId("text")).focus();
  }

  /** What requests to the memory say. */
  about({source, target}) {
    const {api_key: key} = this.request();
    return {source, target, ...(key ? {api_key: key} : {})};
  }

  async use({place, sentence}, translation) {
    const {route} = this.session, text = sentence.source.trim(), isKept = route.memory !== "write";
    await this.corrections.add(route, this.about(route), text, translation);
    this.session.correct(place, sentence, translation, isKept);
    const undo = element("button", {type: "button", onclick: () =>
      this.undo({sentence: {...sentence, text: translation, isKept}}, route)
        .catch((error) => this.say("", error.message))}, t("undo"));
    byId("correction").replaceChildren(t(isKept ? "keptNow" : "storedNow"), undo);
    this.again(place, translation);
  }

  /** Translate the text again; say so if a correction is not used. */
  async again({n}, translation) {
    if (!await this.translate() || this.session.lines[n]?.text.includes(translation)) return;
    byId("correction").firstChild.textContent = t("notUsed");
  }

  async undo({sentence: {source, text, isKept}}, route = this.session.route) {
    const wasThere = await this.corrections.remove(
      route, this.about(route), source.trim(), text.trim(), isKept);
    const message = byId("correction"), hadFocus = message.contains(document.activeElement);
    message.replaceChildren(t(wasThere ? "undone" : "notUndone"));
    if (hadFocus) byId("edit").focus();
    this.translate();
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
  host.prepare();
  translateDocument();
  try {
    const [{models}, settings] = await Promise.all([get("v1/models"), get("frontend/settings")]);
    new Page(models, settings);
  } catch (error) {
    byId("alert").textContent = error.message;
  }
}

start();
