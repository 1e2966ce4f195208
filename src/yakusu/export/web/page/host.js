/** What the page translates with: models, the engine, and the script of the worker. */

import {byId} from "./dom.js";
import {t} from "./strings.js";

// A module of a function with an instruction of SIMD128.
const SIMD = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8,
                           0, 65, 0, 253, 15, 253, 98, 11);
const hasSimd = WebAssembly.validate(SIMD);
const {models, read} = window.yakusu;

/** {key, name, source, target, bytes, card, receipt}: the key is of the model's data. */
export const MODELS = models;

/** A worker that has the rules of text and has been sent the engine. */
export async function startWorker() {
  const parts = ["worker.js", hasSimd ? "engine.wasm" : "engine-scalar.wasm"].map(read);
  const [script, engine] = await Promise.all(parts);
  if (!hasSimd) byId("start").textContent = t("noSimd");
  const url = URL.createObjectURL(new Blob([script], {type: "text/javascript"}));
  const worker = new Worker(url);
  worker.postMessage({id: 0, call: "start", args: {engine}}, [engine]);
  return worker;
}

/** The data of a model, compressed. */
export const modelData = (key) =>
  read(`${MODELS.find((model) => model.key === key).name}.bin`);
