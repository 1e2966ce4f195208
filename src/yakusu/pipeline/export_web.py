"""Exports translators as a page that translates without a server, and as an ES module."""

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from yakusu.data.corpus import read_pairs
from yakusu.data.files.text import Pair, Text
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.model import NativeModel
from yakusu.engine.support import unsupported
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import read_json, save_folder, write_file
from yakusu.metrics import Score, score_translations
from yakusu.pipeline.evaluate import NamedLines, given_test_set, translated_lines
from yakusu.pipeline.receipts.card import USAGE
from yakusu.pipeline.receipts.receipt import Receipt, read_facts
from yakusu.pipeline.synthetic.held_out import find_dev_set
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe
from yakusu.shipped import model_path
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.translator import Translator

if TYPE_CHECKING:
    from yakusu.export.web.model_file import WebModel
    from yakusu.export.web.weights import RecordedPacking

_CARD, _RECEIPT = "README.md", "receipt.json"
_USAGE = re.compile(rf"^{USAGE}.*?(?=^## |\Z)", re.M | re.S)  # how to use the model folder


class WebScores(NamedTuple):
    """BLEU of a translator.

    Attributes:
        before: With the numbers of the model folder, computed in float32.
        after: With the numbers of the page, and the engine's usual precision.
        name: The test set.
    """

    before: Score
    after: Score
    name: str

    def __str__(self) -> str:
        values = f"{self.before.value:.2f} before, {self.after.value:.2f} here"
        return f"BLEU = {values}, {self.name} ({self.before.signature})"


class WebModelExport(NamedTuple):
    """A model that was written.

    Attributes:
        name: Its name, as of its file.
        folder: Its model folder.
        weights: The size of its weights in the model folder, in bytes.
        size: The size of weights and vocabularies as written, in bytes.
        rounded: Number of rows of matrices that were rounded to 8 bits; 0: all are as in the
            folder.
        scores: BLEU before and after; None: not measured.
    """

    name: str
    folder: Path
    weights: int
    size: int
    rounded: int
    scores: WebScores | None


class WebExport(NamedTuple):
    """What was written.

    Attributes:
        sizes: The size of each file, in bytes.
        models: The models.
    """

    sizes: dict[str, int]
    models: tuple[WebModelExport, ...]


def export_web(
    models: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    test_src: Text | None = None,
    test_tgt: Text | None = None,
    progress: Progress | None = None,
) -> WebExport:
    """Write translators as a page that translates without a server.

    It reads, checks and writes text by the same rules as `Translator`, translated to JavaScript,
    and runs the same engine in WebAssembly.

    Args:
        models: A model folder, or several.
        out: A new file (.html or .htm), which has everything; or a new folder, whose page
            installs and works offline, and which is an ES module, too.
        test_src: Sentences to measure BLEU with; None: the dev set of the training run, if it is
            unchanged and the run had one direction. For several models, only their dev sets are
            used. BLEU ignores case if the receipt says that the vocabulary does.
        test_tgt: Their translations.
        progress: Progress reporter.

    Raises:
        ModelError: The engine does not support a model, it is a parser, its vocabulary is that of
            another toolkit, a weight is NaN or infinite, or the folder is inconsistent.
        RunError: `out` exists, a model is named twice, or a test set is given for several models.
        DataError: A file of the test set cannot be read, one is missing, or they differ in length.
        ModuleNotFoundError: protobuf, which reads vocabularies, is not installed.
    """
    from yakusu.export.web.file import file_of
    from yakusu.export.web.folder import write_folder
    from yakusu.export.web.web_page import WebPage

    is_file = str(out).lower().endswith((".html", ".htm"))
    out, progress = Path(out), progress or Silent()
    given = [models] if isinstance(models, str | Path) else models
    folders = [model_path(each) for each in given]
    has_test = test_src is not None or test_tgt is not None
    _check(folders, out, is_file=is_file, has_test=has_test)
    test = given_test_set(test_src, test_tgt)
    if test == []:
        raise DataError("the test set is empty: give sentences and their translations")
    opened = [_Opened.of(folder) for folder in folders]
    made = [
        each.exported(name, test, progress)
        for each, name in zip(opened, _names(opened), strict=True)
    ]
    page = WebPage([model for model, _ in made])
    if is_file:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, lambda file: file.write(file_of(page)))
        sizes = {out.name: out.stat().st_size}
    else:

        def fill(temporary: Path) -> None:
            write_folder(temporary, page)
            if len(folders) == 1:
                (temporary / _CARD).write_bytes(made[0][0].card.encode())
                if (receipt := folders[0] / _RECEIPT).exists():
                    (temporary / _RECEIPT).write_bytes(receipt.read_bytes())

        save_folder(out, fill)
        sizes = {path.name: path.stat().st_size for path in sorted(out.iterdir())}
    return WebExport(sizes, tuple(facts for _, facts in made))


def _check(folders: Sequence[Path], out: Path, *, is_file: bool, has_test: bool) -> None:
    """Raise RunError if the arguments do not fit together."""
    if out.exists():
        raise RunError(f"{out} exists: choose another {'file' if is_file else 'folder'}")
    if not folders:
        raise RunError("there is no model to export: name a model folder")
    for folder in folders:
        if [each.resolve() for each in folders].count(folder.resolve()) > 1:
            raise RunError(f"{folder} is named twice: name each model once")
    if has_test and len(folders) > 1:
        raise RunError("a test set belongs to one model: export several without --test-src")


def _names(opened: Sequence["_Opened"]) -> list[str]:
    """The names of models: languages, or folders, with a number if another one has the name."""
    names: list[str] = []
    for each in opened:
        codes = each.translator.languages
        wanted = "-".join(codes) if all(codes) else each.folder.resolve().name
        name = wanted = re.sub(r"[^A-Za-z0-9]+", "-", wanted).strip("-") or "model"
        number = 1
        while name.lower() in map(str.lower, names):
            number += 1
            name = f"{wanted}-{number}"
        names.append(name)
    return names


@dataclass
class _Opened:
    """A model to export."""

    folder: Path
    opened: ModelFolder
    translator: Translator

    @classmethod
    def of(cls, folder: Path) -> "_Opened":
        opened = ModelFolder.open(folder)
        _refuse(opened)
        own = EngineConfig(engine="native", threads=1)
        return cls(folder, opened, Translator.load(folder, engine=own))

    def exported(
        self, name: str, test: Sequence[Pair] | None, progress: Progress
    ) -> tuple["WebModel", WebModelExport]:
        """The model as it is written, and what there is to say about it."""
        from yakusu.export.web.model_file import ModelFile, WebModel
        from yakusu.export.web.weights import RecordedPacking

        folder, config = self.folder, self.opened.config.model
        packing = RecordedPacking.of(self.opened, EngineConfig().matrices(config.d_model))
        data, rounded = ModelFile(packing, self.translator).packed(), packing.rounded
        scores = self._scores(packing, test, progress)
        weights = (folder / "model.safetensors").stat().st_size
        facts = WebModelExport(name, folder, weights, len(data), rounded, scores)
        card, receipt = folder / _CARD, folder / _RECEIPT
        text = card.read_text(encoding="utf-8", errors="replace") if card.exists() else ""
        text = _USAGE.sub("", text, count=1)
        about = f"{text.rstrip()}\n\n{_section(facts)}".lstrip()
        facts_of_run = read_json(receipt) if receipt.exists() else None
        return WebModel(name, self.translator, data, about, facts_of_run), facts

    def _scores(
        self, packing: "RecordedPacking", test: Sequence[Pair] | None, progress: Progress
    ) -> WebScores | None:
        """BLEU before and after; None: there is no test set, or the dev set cannot be used."""
        if test is not None:
            return self._compared(packing, test, f"test set of {len(test):,} pairs", progress)
        try:
            pairs = self._dev_set()
            name = f"dev set of {len(pairs):,} pairs"
            return self._compared(packing, pairs, name, progress) if pairs else None
        except (DataError, RunError, ModuleNotFoundError) as error:
            progress.say(f"BLEU is not measured on the dev set: {error}")
            return None

    def _compared(
        self, packing: "RecordedPacking", pairs: Sequence[Pair], name: str, progress: Progress
    ) -> WebScores:
        exact = EngineConfig(engine="native", precision="float32")
        before, after = Translator.load(self.folder, engine=exact), copy(self.translator)
        after.decoder = NativeDecoder([NativeModel.of(packing)])
        sources, references = (list(side) for side in zip(*pairs, strict=True))
        language, recipe = self.translator.languages[1], self._recipe()
        lowercase = recipe is not None and recipe.tokenizer.lowercases

        def bleu(own: Translator) -> Score:
            lines = NamedLines(name, sources, "")
            made = translated_lines(own, lines, language, name=str(self.folder), progress=progress)
            (score,) = score_translations(
                made.lines,
                references,
                metrics=("bleu",),
                lowercase=lowercase,
                target_language=language,
            )
            return score

        return WebScores(bleu(before), bleu(after), name)

    def _recipe(self) -> Recipe | None:
        """The recipe of the training run; None: the folder has none."""
        try:
            facts = read_facts(self.folder)
        except ModelError:
            return None
        return facts.recipe if isinstance(facts, Receipt) else None

    def _dev_set(self) -> list[Pair]:
        """The dev set of the training run, if it is available and the run had one direction."""
        recipe = self._recipe()
        if recipe is None or recipe.data.others:
            return []
        dev = find_dev_set(self.folder)
        return [pair for pair in read_pairs(dev) if all(pair)] if dev else []


def _section(facts: WebModelExport) -> str:
    """What the card on the page says about the export."""
    rows = f"{facts.rounded:,} rows rounded" if facts.rounded else "as in the model folder"
    return (
        f"## In this page\n\n- weights and vocabularies: {facts.size / 1e6:.1f} MB; "
        f"{facts.weights / 1e6:.1f} MB in the model folder\n- weights of 8 bits: {rows}\n"
        f"- {facts.scores or 'BLEU: not measured'}\n"
    )


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
