/** The language pairs of the service, and the fields that choose one. */

import {host} from "./api.js";
import {byId, element} from "./dom.js";
import {recall, remember} from "./store.js";
import {current, languageName, t} from "./strings.js";

const AUTO = "auto";

export class Languages {
  /** @param rows the answer of /v1/models; `changed` is called when the user chooses others. */
  constructor(rows, changed) {
    this.rows = rows;
    this.detected = null;
    this.fields = ["from", "to", "model"].map(byId);
    const [first] = rows;
    const stored = recall("languages", [AUTO, first?.target, ""]);
    this.fill(...stored);
    for (const field of this.fields) {
      field.addEventListener("change", () => {
        this.fill(...this.chosen());
        changed();
      });
    }
  }

  chosen() { return this.fields.map((field) => field.value); }

  /** Offer what the service has, with a choice that is as near as possible to the given one. */
  fill(from, to, model) {
    const unique = (codes) => [...new Set(codes)]
      .sort((a, b) => languageName(a).localeCompare(languageName(b), current()));
    const sources = unique(this.rows.map((row) => row.source));
    const detected = host.detects ? [[AUTO, t("detect")]] : [];
    offer(this.fields[0], [...detected, ...sources.map((c) => [c, languageName(c)])], from);
    const source = this.fields[0].value;
    const usable = this.rows.filter((row) => [AUTO, row.source].includes(source));
    offer(this.fields[1], unique(usable.map((row) => row.target)).map((c) =>
      [c, this.named(c)]), to);
    const models = this.direct().map((row) => [row.models[0], row.models[0]]);
    offer(this.fields[2], models, model);
    byId("model-label").hidden = models.length < 2 || source === AUTO;
    remember("languages", this.chosen());
    this.updateSwap();
  }

  /** The models of the chosen pair that need no pivot. */
  direct() {
    const [source, target] = [this.source, this.fields[1].value];
    return this.rows.filter((row) => row.source === source && row.target === target && !row.pivot);
  }

  named(target) {
    const pivot = this.pivotTo(target), language = languageName(target);
    return pivot ? t("via", {language, pivot: languageName(pivot)}) : language;
  }

  /** The source language: the chosen one, or the detected one; null: not known yet. */
  get source() {
    const chosen = this.fields[0].value;
    return chosen === AUTO ? this.detected : chosen;
  }

  /** The pivot language of the chosen pair; null: it has a model of its own, or is not known. */
  get pivot() { return this.pivotTo(this.target); }

  pivotTo(target) {
    const rows = this.rows.filter((row) => row.source === this.source && row.target === target);
    return rows.every((row) => row.pivot) && rows[0]?.pivot || null;
  }

  get target() { return this.fields[1].value; }

  /** What every request says. */
  get request() {
    const [source, target, model] = this.chosen();
    const named = this.direct().length > 1 && source !== AUTO;
    return {source, target, ...(named ? {model} : {})};
  }

  /** Remember which language the service found in the text. */
  detect(code) {
    if (this.fields[0].value !== AUTO || code === this.detected) return;
    this.detected = code;
    this.fill(...this.chosen());
  }

  canSwap() {
    return this.rows.some((row) => row.source === this.target && row.target === this.source);
  }

  updateSwap() { byId("swap").disabled = !this.canSwap(); }

  swap() { this.fill(this.target, this.source, ""); }
}

/** Fill a select; keep the given value if it is offered. */
function offer(field, options, value) {
  field.replaceChildren(...options.map(([code, name]) => element("option", {value: code}, name)));
  field.value = options.some(([code]) => code === value) ? value : options[0]?.[0] ?? "";
}
