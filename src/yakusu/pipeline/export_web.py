"""Exports a translator as an ES module, for browsers, node and deno."""

from pathlib import Path
from typing import NamedTuple

from yakusu.engine.config import EngineConfig
from yakusu.engine.support import unsupported
from yakusu.errors import ModelError, RunError
from yakusu.folder import save_folder
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.translator import Translator

_CARD = ("README.md", "receipt.json")


class WebExport(NamedTuple):
    """What was written.

    Attributes:
        sizes: The size of each file, in bytes.
        weights: The size of the weights in the model folder, in bytes.
        rounded: Number of rows of matrices that were rounded to 8 bits; 0: all are as in
            the folder.
    """

    sizes: dict[str, int]
    weights: int
    rounded: int


def export_web(model: str | Path, out: str | Path) -> WebExport:
    """Write a translator as an ES module that translates without a server.

    The module reads, checks and writes text by the same rules as `Translator`, translated to
    JavaScript, and runs the same engine in WebAssembly.

    Args:
        model: A model folder.
        out: The new folder: yakusu.js, its types, the engine and model.bin.

    Raises:
        ModelError: The engine does not support the model, it is a parser, its vocabulary is that of
            another toolkit, or the folder is inconsistent.
        RunError: `out` exists.
        ModuleNotFoundError: protobuf, which reads vocabularies, is not installed.
    """
    from yakusu.export.web.writer import write_web

    folder, out = Path(model), Path(out)
    if out.exists():
        raise RunError(f"{out} exists: choose another folder")
    opened = ModelFolder.open(folder)
    _refuse(opened)
    translator = Translator.load(folder, engine=EngineConfig(engine="native", threads=1))
    rounded = 0

    def fill(temporary: Path) -> None:
        nonlocal rounded
        rounded = write_web(temporary, opened, translator)
        for name in _CARD:
            if (folder / name).exists():
                (temporary / name).write_bytes((folder / name).read_bytes())

    save_folder(out, fill)
    sizes = {path.name: path.stat().st_size for path in sorted(out.iterdir())}
    return WebExport(sizes, (folder / "model.safetensors").stat().st_size, rounded)


def _refuse(opened: ModelFolder) -> None:
    """Refuse a model that has no form in a browser.

    Raises:
        ModelError: It has none.
    """
    config, tokenizer = opened.config, opened.tokenizer
    if missing := unsupported(config.model, config.search):
        raise ModelError(f"--to web needs the native engine, which does not support {missing}")
    if config.task != "translation":
        raise ModelError("--to web is for translators, and this model is a parser")
    if tokenizer.src.table is not None or tokenizer.tgt.table is not None:
        raise ModelError(
            "--to web needs a vocabulary of SentencePiece, and this model has a table of its own, "
            "as models of other toolkits have"
        )
