async (url, { precision, lines, models, wasm }) => {
  // transformers.js translates lines, one by one, on one thread; times are in milliseconds. `models`
  // is the folder or address that has the folder "model", `wasm` the runtime's name for a browser.
  const start = performance.now();
  const { pipeline, env } = await import(url);
  Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: models });
  Object.assign(env, { useBrowserCache: false, useFSCache: false, useWasmCache: false });
  if (wasm) {
    const at = (suffix) => new URL(`${wasm}.${suffix}`, location).href;
    const wasmPaths = { mjs: at("mjs"), wasm: at("wasm") };
    Object.assign(env.backends.onnx.wasm, { numThreads: 1, wasmPaths });
  }
  const threads = { intraOpNumThreads: 1, interOpNumThreads: 1 };
  const options = { dtype: precision, session_options: threads };
  const translate = await pipeline("translation", "model", options);
  const times = [performance.now() - start], made = [];
  for (const line of lines) {
    const begin = performance.now();
    const [best] = await translate(line);
    times.push(performance.now() - begin);
    made.push(best.translation_text);
  }
  return { times, made };
}
