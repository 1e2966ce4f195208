/** What the page asks a service for, answered without one: by the worker, and by what the browser stores. */

import {About} from "./about.js";
import {MODELS} from "./host.js";
import {addSegment, removeSegment} from "./memory.js";
import {MemoryView} from "./memory-view.js";
import {Share} from "./share.js";
import {keepApart} from "./store.js";
import {t} from "./strings.js";
import {ask, opened, remember} from "./translators.js";

keepApart(MODELS.map(({key}) => key).join("-"));  // files share the storage of a browser
const LONGEST = 200_000;  // characters of a text
const SUFFIXES = [".txt", ".srt", ".vtt", ".json", ".po", ".pot",
                  ".md", ".markdown", ".mdown", ".mdx"];

/** Something failed; the message is a sentence for the user. */
export class Failure extends Error {}

/** Nothing here is ever too busy. */
export const twice = (request) => request();

// ---- models -----------------------------------------------------------------------------------

const UNKNOWN = "und";  // a language
const nameOf = ({key, name}) =>
  MODELS.filter((each) => each.name === name).length > 1 ? `${name} ${key}` : name;
const rowOf = (model) => ({source: model.source || UNKNOWN, target: model.target || UNKNOWN,
                           models: [nameOf(model)], pivot: null, memory: "write"});

/** The model that a request means. */
export function modelOf({source, target, model}) {
  const isMeant = (each) => {
    const row = rowOf(each);
    return row.source === source && row.target === target && (!model || row.models[0] === model);
  };
  const found = MODELS.find(isMeant);
  if (!found) throw new Failure(t("failed", {status: 404}));
  return found;
}

const SETTINGS = {charLimit: LONGEST, supportedFilesFormat: SUFFIXES, keyRequired: false, apiKeys: false};
const ANSWERS = {"v1/models": () => ({models: MODELS.map(rowOf)}), "frontend/settings": () => SETTINGS};

export const get = async (path) => ANSWERS[path]();

// ---- requests ---------------------------------------------------------------------------------

export async function post(path, body, signal) {
  const {source, target, model, ...args} = body, {key} = modelOf(body);
  if (path === "v1/memory") return changed(key, args);
  return ask(key, path.slice("v1/".length), args, {signal});
}

/** Change the memory of a model, or search it. */
async function changed(key, {action, text, translation, id}) {
  if (action === "search") return {matches: await ask(key, "matches", {text})};
  const done = action === "add"
    ? {id: await addSegment(key, text, translation)} : {deleted: await removeSegment(key, id)};
  await remember(key);
  view.memory?.draw();
  return done;
}

/** The languages of a text, its lines as they are translated, and the end or an error. */
export async function* events(path, body, signal) {
  const {source, target, model, ...args} = body, found = modelOf(body), queue = [];
  if (view.memory.shown !== found.key) view.memory.draw();
  yield ["languages", {...rowOf(found), detected: null}];
  let wake = () => {};
  const add = (name, data) => {
    queue.push([name, data]);
    wake();
  };
  ask(found.key, "stream", args, {signal, tell: add})
    .then(() => add("end", {}), (error) => add("error", {error: error.message}));
  for (;;) {
    while (queue.length) {
      const event = queue.shift(), [name, {line, translations}] = event;
      if (name === "line") view.memory.offer(line, found, translations[0].matches ?? []);
      yield event;
      if (event[0] !== "line") return;
    }
    await new Promise((resolve) => { wake = resolve; });
  }
}

/** Translate a document; return a link to the translation, its name, and what is kept. */
export async function translateFile(file, fields, {signal, progress}) {
  progress("translating", 0);
  const args = {name: file.name, data: await file.arrayBuffer()};
  const {data, kept} = await ask(modelOf(fields).key, "document", args, {
    signal, tell: (_, share) => progress("translating", share),
  });
  URL.revokeObjectURL(view.href);  // of the document before
  const href = view.href = URL.createObjectURL(new Blob([data]));
  return {href, name: file.name, kept: kept.map((reason) => t("notTranslated", {reason}))};
}

// ---- what the page shows -------------------------------------------------------------------------

const view = {about: null, memory: null, share: null, href: ""};

export const host = {
  detects: false,
  stores: "storesPage",
  fileReady: "fileDone",
  filesHelp: "notInPage",
  prepare() {
    document.querySelector(".top nav a").hidden = true;  // the reference of the API
    view.about = new About();
    view.share = new Share();
  },
  begin(page) {
    const current = () => modelOf(page.languages.request);
    view.memory = new MemoryView(current, () =>
      remember(current().key).catch(() => {}).then(() => page.translate()));  // which says what fails
    view.share.begin(() => page.session.text);
    if (MODELS.length === 1) opened(MODELS[0].key).catch(() => {});  // before the first text
    host.draw();
  },
  draw() {
    view.about.draw();
    view.memory?.draw();
  },
};
