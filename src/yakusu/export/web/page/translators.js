/** The worker that translates: its calls, and the models that it has opened. */

import {modelData, startWorker} from "./host.js";
import {segmentsOf} from "./memory.js";
import {t} from "./strings.js";

const PATIENCE = 2000;  // milliseconds in which a stopped call ends; then the worker is started again
const RESTARTED = new Error("the worker was started again");

let worker = null, last = 0;  // the worker: a promise
const calls = new Map();  // by their numbers: {resolve, reject, tell}
const models = new Map();  // promises of models that are open, by their keys

/**
 * Ask a model for something; return a promise of the answer.
 *
 * @param tell is called with the name and the data of each event before the last one.
 */
export async function ask(key, call, args, {signal, tell} = {}) {
  for (;;) {
    try {
      await opened(key);
      return await send(call, {key, ...args}, {signal, tell});
    } catch (error) {
      if (error !== RESTARTED) throw error;
    }
  }
}

/** Tell the worker, if it has the model, what the memory of the model contains now. */
export async function remember(key) {
  if (models.has(key)) await ask(key, "remember", {segments: await segmentsOf(key)});
}

/** Open a model, unless it is open. */
export function opened(key) {
  if (!models.has(key)) {
    models.set(key, open(key).catch((error) => {
      models.delete(key);
      throw error;
    }));
  }
  return models.get(key);
}

async function open(key) {
  const [model, segments] = await Promise.all([modelData(key), segmentsOf(key)]);
  await send("open", {key, model}, {moved: [model]});
  await send("remember", {key, segments});
}

async function send(call, args, {signal, tell = () => {}, moved = []} = {}) {
  const own = await started(), id = ++last;
  if (signal?.aborted) throw signal.reason;
  return new Promise((resolve, reject) => {
    calls.set(id, {resolve, reject, tell});
    own.postMessage({id, call, args}, moved);
    signal?.addEventListener("abort", () => {
      if (!calls.has(id)) return;
      own.postMessage({id, call: "stop"});
      setTimeout(() => calls.has(id) && fail(RESTARTED), PATIENCE);
      reject(signal.reason);
    });
  });
}

function started() {
  worker ??= startWorker().then((made) => {
    made.addEventListener("message", ({data}) => receive(data));
    made.addEventListener("error", () => fail(new Error(t("workerFailed"))));
    return made;
  }).catch((error) => {
    worker = null;
    throw error;
  });
  return worker;
}

function receive({id, event, data}) {
  const call = calls.get(id);
  if (event === "done" || event === "error") calls.delete(id);
  if (event === "done") call?.resolve(data);
  else if (event === "error") call?.reject(new Error(data));
  else call?.tell(event, data);
}

/** End the worker and its calls; after RESTARTED, those that are not stopped are made again. */
function fail(error) {
  const waiting = [...calls.values()];
  worker?.then((made) => made.terminate(), () => {});
  calls.clear();
  models.clear();
  worker = null;
  for (const {reject} of waiting) reject(error);
}
