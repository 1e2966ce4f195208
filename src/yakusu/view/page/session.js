/** The text that is translated now, line by line, and what the service can say about each line. */

import {events, post, twice} from "./api.js";
import {corrected, sentencesOf} from "./corrections.js";
import {t} from "./strings.js";
import {units} from "./text.js";

const STEP = 8;  // lines after which the page says how many are translated
const NOTHING = {kept: new Map(), sent: new Map()};

/** Whether two lines show the same. */
const isAlike = (a, b) => JSON.stringify(a.sentences) === JSON.stringify(b.sentences);

export class Session {
  /**
   * @param request returns what every request says: languages, model, terms, key.
   * @param corrections those of the user.
   * @param on {routed(route), line(n, line), finished(n), status(text, alert, isBusy)}
   */
  constructor(request, corrections, on) {
    Object.assign(this, {request, corrections, on});
    this.lines = [];  // {source, text, sentences, tokens, alignment, prefix, pivot, units, made}
    this.route = null;  // of the last text: {source, target, pivot, detected, memory}
    this.known = null;  // the corrections of its languages
  }

  get text() { return this.lines.map((line) => line.text).join("\n"); }

  stop() { this.abort?.abort(); }

  clear() {
    this.stop();
    this.lines = [];
    this.on.finished(0);
    this.on.status("");
  }

  /** Translate a text; an earlier translation is abandoned. Return whether it is complete. */
  async translate(text) {
    this.stop();
    this.abort = new AbortController();
    const {signal} = this.abort;
    this.on.status(t("translating"), "", true);
    try {
      await this.twice(() => this.stream(text, signal), signal);
      if (!signal.aborted) this.on.status("");
      return !signal.aborted;
    } catch (error) {
      if (!signal.aborted) this.on.status("", error.message);
      return false;
    }
  }

  /** Run a request; if the service is busy, say so and run it once more. */
  twice(request, signal) {
    const waits = (seconds) => this.on.status(t("retrying", {seconds}), "", true);
    return twice(request, {signal, waits});
  }

  async stream(text, signal) {
    const sources = text.split("\n"), request = this.request();
    const body = {...request, text, details: true};
    for await (const [name, data] of events("v1/stream", body, signal)) {
      if (signal.aborted) return;
      if (name === "error") throw new Error(data.error);
      if (name === "languages") {
        this.route = data;
        this.known = this.corrections.of(data);
        this.on.routed(data);
      }
      if (name === "line") {
        this.set(data.line, sources[data.line], data, request);
        if ((data.line + 1) % STEP === 0) this.progress(data.line + 1, sources.length);
      }
      if (name === "end") {
        this.lines.length = sources.length;
        this.on.finished(sources.length);
      }
    }
  }

  progress(done, count) { this.on.status(t("translatingLines", {done, count}), "", true); }

  /** Keep a line that the user has changed, or that is the same as before. */
  set(n, source, answer, request) {
    const old = this.lines[n], made = JSON.stringify(request);
    const same = old?.source === source && old.made === made;
    if (!same || !old.prefix) {
      const line = this.lineOf(source, this.matchesIn(source, answer), "", made);
      if (!same || !isAlike(line, old)) this.lines[n] = line;
    }
    this.on.line(n, this.lines[n]);
  }

  /** The best translation of an answer, with the corrections that the browser keeps. */
  matchesIn(source, {translations: [best], sentences}, known = this.known) {
    const found = sentencesOf(known, source, {...best, sentences});
    const isKept = found.some((sentence) => sentence.isKept);
    return isKept ? {sentences: found} : {...best, sentences: found};
  }

  lineOf(source, {sentences, tokens, alignment}, prefix, made) {
    const {source: from, target: to, pivot} = this.route;
    const text = sentences.map((sentence) => sentence.text).join("");
    return {source, text, sentences, tokens, alignment, prefix, made, pivot,
            units: {source: units(source, from), target: units(text, to)}};
  }

  /** Show a correction of a sentence, {n, k}, until the text is translated again with it. */
  correct({n, k}, {source}, text, isKept) {
    const line = this.lines[n];
    if (line?.sentences[k]?.source !== source) return;
    const sentences = line.sentences.map((each, i) => i === k ? corrected(each, text, isKept) : each);
    this.lines[n] = this.lineOf(line.source, {sentences}, "", line.made);
    this.on.line(n, this.lines[n]);
  }

  // ---- one line

  /** What a request about a line says: its language is known. */
  about(line) {
    const {source, target} = this.route;
    return {...this.request(), source, target, text: line.source};
  }

  /** Translate a line again, beginning with a prefix; "": as the model wants. */
  async replace(n, prefix) {
    const line = this.lines[n], {signal} = this.abort;
    const body = {...this.about(line), details: true, ...(prefix ? {prefix} : {})};
    const answer = await this.twice(() => post("v1/translate", body, signal), signal);
    const known = prefix ? NOTHING : this.known;  // the user has just chosen something else
    const found = this.matchesIn(line.source, answer, known);
    this.lines[n] = this.lineOf(line.source, found, prefix, line.made);
    this.on.line(n, this.lines[n]);
    return this.lines[n];
  }

  /** The attention of the model that predicts the displayed translation of a line. */
  attention(line) {
    const {glossary, protect, ...body} = this.about(line);  // it reads the line as it is
    return this.once(line, "attention", "v1/attention", {...body, translation: line.text});
  }

  /** The traces of the search for a line; undefined: nothing was translated. */
  async traces(line) {
    const prefix = line.prefix ? {prefix: line.prefix} : {};
    const body = {...this.about(line), trace: true, ...prefix};
    return (await this.once(line, "searched", "v1/translate", body)).traces;
  }

  /** Ask about a line, and keep the answer with it. */
  once(line, name, path, body) {
    line[name] ??= this.twice(() => post(path, body)).catch((error) => {
      line[name] = null;
      throw error;
    });
    return line[name];
  }
}
