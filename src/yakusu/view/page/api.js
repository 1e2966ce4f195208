/** Requests to the service. Addresses are relative, so that a path prefix changes nothing. */

import {sleep} from "./dom.js";
import {t} from "./strings.js";

/** A request failed; the message is a sentence for the user. */
export class Failure extends Error {
  constructor(message, retryAfter = null) {
    super(message);
    this.retryAfter = retryAfter;  // seconds; null: a repetition would fail, too
  }
}

/** The failure that a response stands for. */
function failureOf(status, text, retryAfter) {
  const wait = Number(retryAfter) || 1;
  const own = {403: "keyRefused", 413: "tooLarge", 429: "slowDown"}[status];
  if (own) return new Failure(t(own, {seconds: wait}));
  if (status === 503) return new Failure(messageIn(text) || t("busy"), wait);
  return new Failure(messageIn(text) || t("failed", {status}));
}

function messageIn(text) {
  try {
    const {error} = JSON.parse(text);
    return typeof error === "string" ? error.replace(/^Invalid request: /, "") : "";
  } catch {
    return "";
  }
}

/**
 * Run a request; if the service is busy, run it once more when it asks for that.
 *
 * @param waits is called with the number of seconds.
 */
export async function twice(request, {signal, waits}) {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof Failure) || error.retryAfter === null) throw error;
    waits(error.retryAfter);
    await sleep(error.retryAfter, signal);
    return request();
  }
}

/** Wait for the network; its errors become a sentence. */
async function reached(answer) {
  try {
    return await answer;
  } catch (error) {
    throw error.name === "AbortError" ? error : new Failure(t("unreachable"));
  }
}

async function open(path, options) {
  const response = await reached(fetch(path, options));
  if (response.ok) return response;
  throw failureOf(response.status, await response.text(), response.headers.get("Retry-After"));
}

/** What the page shows because there is a service; without one, it is another object. */
export const host = {
  detects: true,  // the language of a text
  stores: "storesService",  // the text about corrections
  fileReady: "fileReady",  // the text about a translated document
  filesHelp: "",  // the text about formats
  prepare() {},  // the elements, before they get texts
  begin() {},  // the page is ready
  draw() {},  // all texts are drawn again
};

const posted = (body, signal) => ({
  method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), signal,
});

export const get = async (path) => (await open(path)).json();

export const post = async (path, body, signal) => (await open(path, posted(body, signal))).json();

/** The server-sent events of a response, as [name, data]. */
export async function* events(path, body, signal) {
  const response = await open(path, posted(body, signal));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const {done, value} = await reached(reader.read());
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: ([^]*)$/.exec(block);
      yield [name, JSON.parse(data)];
    }
  }
}

/**
 * Translate a document; return the link to the translation, its name, and sentences about texts
 * that are kept.
 *
 * @param progress is called with the name of a text of the page and a share; null: unknown.
 */
export async function translateFile(file, fields, {signal, progress}) {
  const url = await upload(file, fields, signal, (share) =>
    progress(share < 1 ? "uploading" : "translating", share < 1 ? share : null));
  // A link below this page, wherever a proxy publishes it; the server names its own address.
  const href = new URL(url, location.href).pathname.split("/").slice(-3).join("/");
  return {href, name: decodeURIComponent(href.split("/").at(-1)), kept: []};
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
