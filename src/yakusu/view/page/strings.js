/** The texts of the page in the language of its user. */

import de from "./strings-de.js";
import en from "./strings-en.js";
import ja from "./strings-ja.js";
import ko from "./strings-ko.js";
import {recall, remember} from "./store.js";

const TABLES = {en, de, ja, ko};
export const INTERFACES = Object.keys(TABLES);

const wanted = [recall("interface", ""), ...navigator.languages].map((code) => code.split("-")[0]);
let language = wanted.find((code) => code in TABLES) ?? "en";
let names = new Intl.DisplayNames(language, {type: "language"});

export const current = () => language;

/** A text; {name} in it stands for a value. */
export function t(key, values = {}) {
  const text = TABLES[language][key] ?? en[key];
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** The name of a language; its code if the browser does not know it. */
export function languageName(code) {
  try {
    return names.of(code);
  } catch {
    return code;
  }
}

export const percent = (share) =>
  new Intl.NumberFormat(language, {style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0})
    .format(share);

export const number = (value, digits = 2) =>
  new Intl.NumberFormat(language, {minimumFractionDigits: digits, maximumFractionDigits: digits})
    .format(value);

export function setInterface(code) {
  language = code;
  names = new Intl.DisplayNames(language, {type: "language"});
  remember("interface", code);
  translateDocument();
}

/** Fill in the elements of the HTML that name a text: data-text, data-label, ... */
export function translateDocument() {
  document.documentElement.lang = language;
  const each = (name, set) => document.querySelectorAll(`[data-${name}]`)
    .forEach((found) => set(found, t(found.dataset[name])));
  each("text", (found, text) => { found.textContent = text; });
  each("label", (found, text) => found.setAttribute("aria-label", text));
  each("title", (found, text) => { found.title = text; });
  each("placeholder", (found, text) => { found.placeholder = text; });
}
