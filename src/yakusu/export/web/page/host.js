/** What the page translates with: models, the engine, and the script of the worker. */

import {byId} from "./dom.js";
import {engineHere} from "./engines.js";
import {t} from "./strings.js";

const {models, read} = window.yakusu;

/** {key, name, source, target, bytes, card, receipt}: the key is of the model's data. */
export const MODELS = models;

let script = "";  // the address of the worker's script, which is the same for each worker

/** A worker that has the rules of text and has been sent the engine. */
export async function startWorker() {
  const name = engineHere(), files = ["engine.wasm", `kernels-${name}.wasm`];
  const [engine, kernels] = await Promise.all(files.map(read));
  script ||= URL.createObjectURL(new Blob([await read("worker.js")], {type: "text/javascript"}));
  if (name === "scalar") byId("start").textContent = t("noSimd");
  const worker = new Worker(script);
  worker.postMessage({id: 0, call: "start", args: {engine, kernels}}, [engine, kernels]);
  return worker;
}

/** The data of a model, compressed. */
export const modelData = (key) =>
  read(`${MODELS.find((model) => model.key === key).name}.bin`);
