"""transformers.js with the weights of a model: its files, and what hosts run.

A folder, the argument of --peer, is the environment of `benchmarks.peers.transformers_js_convert`
and has the library in node_modules. In node the library uses the native onnxruntime, in a browser
that of WebAssembly; both run on one thread. It has no beam search.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.web_hosts import gzip_kb
from yakusu.errors import RunError
from yakusu.export.formats import FORMATS, ExportedModel, refuse
from yakusu.translator.folder.folder import ModelFolder

PRECISIONS = {"fp32": "", "q8": "_quantized"}  # names of the library -> suffixes of files
_ROOT = Path(__file__).parents[2]
_LIBRARY = "@huggingface/transformers"
_WASM = "ort-wasm-simd-threaded.asyncify"  # what it loads by default
_GRAPHS = ("encoder_model", "decoder_model_merged")
SCRIPT = (_ROOT / "benchmarks/peers/transformers_js_side.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class TransformersJs:
    """The library and a model.

    peer: The environment.
    site: A folder to serve, with the library for browsers and the folder "model".
    """

    peer: Path
    site: Path

    @classmethod
    def of(cls, model: Path, peer: Path, site: Path) -> "TransformersJs":
        """Convert a model.

        Args:
            model: The model folder of a Transformer with one vocabulary.
            peer: The environment.
            site: A folder that does not exist yet.

        Raises:
            ModelError: The format of Hugging Face cannot hold the model.
            RunError: It cannot be converted.
        """
        written, folder = site / "hf", ModelFolder.open(model)
        refuse(folder.config.model, "hf")
        written.mkdir(parents=True)
        FORMATS["hf"].write(written, ExportedModel.of(folder))
        module = "benchmarks.peers.transformers_js_convert"
        command = [str(peer.resolve() / "bin/python"), "-m", module, str(written)]
        done = subprocess.run(
            [*command, str(site / "model")], cwd=_ROOT, capture_output=True, text=True
        )
        if done.returncode:
            raise RunError(f"{module} failed: {done.stderr[-500:].strip()}")
        made = cls(peer.resolve(), site)
        for path in made._runtime:
            shutil.copy(path, site)
        (site / "index.html").write_text("<!doctype html>", encoding="utf-8")
        return made

    def module(self, host: str) -> Path:
        """The library for a host."""
        if host == "node":
            return self._modules / _LIBRARY / "dist/transformers.node.min.mjs"
        return self.site / "transformers.min.js"

    def given(self, host: str, precision: str) -> dict[str, Any]:
        """The settings of the script."""
        if host == "node":
            return {"precision": precision, "models": f"{self.site}/"}
        return {"precision": precision, "models": "/", "wasm": _WASM}

    def sizes(self) -> dict[str, Any]:
        """The version of the library, and what a browser loads, in MB."""
        package = json.loads((self._modules / _LIBRARY / "package.json").read_bytes())
        own = self.site / "model"
        settings = list(own.glob("*.json"))
        return {
            "version": package["version"],
            "runtime_mb": _mb(self._runtime),
            "runtime_gzip_mb": gzip_kb(self._runtime) / 1e3,
            **{
                f"{precision}_mb": _mb(
                    [*settings, *(own / f"onnx/{name}{suffix}.onnx" for name in _GRAPHS)]
                )
                for precision, suffix in PRECISIONS.items()
            },
        }

    @property
    def _modules(self) -> Path:
        return self.peer / "node_modules"

    @property
    def _runtime(self) -> list[Path]:
        runtime = self._modules / "onnxruntime-web/dist"
        library = self._modules / _LIBRARY / "dist/transformers.min.js"
        return [library, *(runtime / f"{_WASM}.{suffix}" for suffix in ("mjs", "wasm"))]


def _mb(paths: list[Path]) -> float:
    return sum(path.stat().st_size for path in paths) / 1e6
