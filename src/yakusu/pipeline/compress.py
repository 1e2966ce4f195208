"""Compresses a translator: tables to codes or integers, optionally other matrices to 8 bits."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from yakusu.compress.config import CompressConfig
from yakusu.data.files.text import Text
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import sha256
from yakusu.metrics import Score, score_translations
from yakusu.model.base import Seq2Seq
from yakusu.model.table import DenseTable, Table
from yakusu.pipeline.evaluate import NamedLines, refuse_unequal, remark_on_case, translated_lines
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import CompressionFacts, read_facts
from yakusu.pipeline.tables import CompressedTable, compress_tables
from yakusu.progress import Progress, Silent
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.shipped import model_path
from yakusu.translator import Translator
from yakusu.translator.folder.folder import WEIGHTS, TranslatorConfig
from yakusu.translator.folder.network import open_model, save_translator
from yakusu.translator.folder.shortlist import read_lexicon
from yakusu.weights import (
    Tensors,
    TensorsOnDisk,
    from_int8,
    from_streams,
    has_int8,
    to_int8,
    to_streams,
)


@dataclass(frozen=True)
class CompressedTranslator:
    """Result of `compress_translator`; each pair is (before, after).

    folder: The new model folder.
    tables: The compressed tables.
    file_bytes: Size of the weights on disk.
    scores: BLEU, if there was a test set.
    """

    folder: Path
    tables: tuple[CompressedTable, ...]
    file_bytes: tuple[int, int]
    scores: tuple[Score, Score] | None


def compress_translator(
    model: str | Path,
    out: str | Path,
    *,
    config: CompressConfig | None = None,
    src: Text | None = None,
    references: Text | None = None,
    lowercase: bool = False,
    progress: Progress | None = None,
) -> CompressedTranslator:
    """Compress the tables of a translator without training, as in the paper's translation task.

    Args:
        model: A model folder.
        out: The new model folder.
        config: Settings. Tied tables stay one table if both stacks are compressed, and become two
            if only one is. The default keeps the first 128 vectors exact (the most frequent tokens,
            including eos); the paper's method is `CompressConfig(exact=0)`.
        src: Sentences to translate before and after; requires `references`.
        references: Their reference translations.
        lowercase: Ignore case in BLEU.
        progress: Progress reporter.

    Raises:
        ModelError: The folder is incomplete, corrupt or already compressed, or has no target
            language for `references`.
        RunError: `out` exists.
        RecipeError: A setting has no effect on translators.
        DataError: The settings do not fit the tables, `src` and `references` do not match, or the
            model is a parser, which BLEU cannot score.
    """
    folder, out, progress = model_path(model), Path(out), progress or Silent()
    config = config or CompressConfig()
    config.refuse(("tiers", "half"), "a translator")
    if out.exists():
        raise RunError(f"{out} exists: choose another folder")
    test = _Test.of(src, references, lowercase)
    stored, network, translator = _load(folder, test)
    if test:
        test.remark(translator.tokenizer, progress)
    receipt = read_facts(folder)
    before = test.bleu(translator, str(folder), progress) if test else None
    tables = compress_tables(network, config, progress)
    weights = _stored(network, int8=config.int8 or has_int8(TensorsOnDisk(folder / WEIGHTS)))
    after = test.bleu(translator, str(folder), progress) if test else None
    scores = (before, after) if before and after else None
    facts = CompressionFacts(
        source=sha256(folder / "model.safetensors"),
        tables=tuple(table.facts for table in tables),
        int8=has_int8(weights),
        scores=tuple(map(str, scores or ())),
        settings=config,
    )
    receipt = receipt.model_copy(update={"compressed": facts})
    saved = stored.model_copy(update={"compressed": [table.plan for table in tables]})
    save_translator(
        out,
        weights,
        translator.tokenizer,
        saved,
        lexicon=read_lexicon(folder, **stored.vocab_sizes),
        documents=documents(receipt),
    )
    return CompressedTranslator(out, tuple(tables), (_size(folder), _size(out)), scores)


def _load(folder: Path, test: "_Test | None") -> tuple[TranslatorConfig, Seq2Seq, Translator]:
    """Open a model; check that it can be compressed and scored on the test set."""
    config, model, tokenizer = open_model(folder)
    if test and config.task != "translation":
        raise DataError(f"{folder} is a parser, which BLEU cannot score: use 'yakusu evaluate'")
    if config.compressed:
        raise ModelError(f"{folder} is already compressed: compress the original model")
    translator = Translator(
        TorchDecoder(model),
        tokenizer,
        languages=(config.source_language, config.target_language),
        search=config.search,
        task=config.task,
    )
    return config, model, translator


def _stored(model: Seq2Seq, *, int8: bool) -> Tensors:
    """Return the weights as they are stored; round those of `model` in the same way."""
    weights = to_streams(model.weights())
    if int8:
        weights = to_int8(weights, keep=_of_compressed_tables(model))
        model.load_weights(from_streams(from_int8(weights)))
    return weights


def _size(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def _of_compressed_tables(model: Seq2Seq) -> set[str]:
    """Return the names of the weights of compressed tables, which int8 must not change."""
    small = [
        name
        for name, module in model.named_modules()
        if isinstance(module, Table) and not isinstance(module, DenseTable)
    ]
    return {name for name in model.weights() if name.startswith(tuple(f"{t}." for t in small))}


@dataclass(frozen=True)
class _Test:
    """Test set to score before and after compression; read before anything is written."""

    src: NamedLines
    references: NamedLines
    lowercase: bool

    @classmethod
    def of(cls, src: Text | None, references: Text | None, lowercase: bool) -> "_Test | None":
        if src is None and references is None:
            return None
        if src is None or references is None:
            raise DataError("src and references belong together: provide both or neither")
        sources, truth = NamedLines.of(src, "sentences"), NamedLines.of(references, "references")
        refuse_unequal(sources, truth)
        return cls(sources, truth, lowercase)

    def remark(self, tokenizer: Tokenizer, progress: Progress) -> None:
        """Say that the tokenizer has no capitals and the references do."""
        if not self.lowercase:
            truth = self.references.lines
            written = tokenizer.decode_target(tokenizer.encode_target(truth))
            remark_on_case(written, truth, progress)

    def bleu(self, translator: Translator, name: str, progress: Progress) -> Score:
        """Translate and score the test set; `name` is that of the model in messages."""
        truth = self.references
        made = translated_lines(translator, self.src, truth.language, name=name, progress=progress)
        language = truth.language or made.language or None
        return score_translations(
            made.lines,
            truth.lines,
            metrics=("bleu",),
            lowercase=self.lowercase,
            target_language=language,
        )[0]


class MemoryUse(NamedTuple):
    """Bytes of memory, and the precision of the matrix products: float32, int16 or int8."""

    n_bytes: int
    precision: str


def memory_of(model: str | Path, *, engine: EngineConfig | None = None) -> MemoryUse:
    """Return how much memory a new process needs to load a translator and translate.

    Args:
        model: A model folder.
        engine: What runs the model; None: the default.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_grown, model, engine).result()


def _grown(folder: str | Path, engine: EngineConfig | None) -> MemoryUse:
    before = _resident()
    translator = Translator.load(folder, engine=engine)
    translator.translate(["a"])
    n_bytes, decoder = _resident() - before, translator.decoder
    return MemoryUse(
        n_bytes, decoder.precision if isinstance(decoder, NativeDecoder) else "float32"
    )


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
