"""The page as a folder of its sources, beside a module: what an export bundles."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

_HOST = """
export const MODELS = {models};
export async function startWorker() {{
  const engine = await (await fetch("engine.wasm")).arrayBuffer();
  const worker = new Worker("worker.js", {{type: "module"}});
  worker.postMessage({{id: 0, call: "start", args: {{engine}}}}, [engine]);
  return worker;
}}
export const modelData = async () => (await fetch("de-en.bin")).arrayBuffer();
"""


def write_hosted(module: Path, out: Path, **about: Any) -> None:
    """Write the page of a module.

    Args:
        module: The folder of the module.
        out: The new folder.
        about: What is known of the model, such as its languages.
    """
    assets = out / "assets"
    assets.mkdir(parents=True)
    service, own = files("yakusu.view") / "page", files("yakusu.export.web") / "page"
    sources = {each.name: each for folder in (service, own) for each in folder.iterdir()}
    for name, source in sources.items():
        if name.endswith((".js", ".css")):
            (assets / name).write_bytes(source.read_bytes())
    for name in ("engine.wasm", "de-en.bin"):
        (out / name).write_bytes((module / name).read_bytes())
    script = (module / "yakusu.js").read_text(encoding="utf-8")
    worker = sources["worker.js"].read_text(encoding="utf-8")
    (out / "worker.js").write_text(f"{script}\n{worker}", encoding="utf-8")
    model = {"key": "1a2b3c", "bytes": 1_234_567, "card": None, "receipt": None, **about}
    (assets / "host.js").write_text(_HOST.format(models=json.dumps([model])), encoding="utf-8")
    (out / "index.html").write_bytes(sources["service.html"].read_bytes())
