"""Compression of a translator: its tables as codes, the rest in 8 bits if that is wanted."""

import multiprocessing
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from yakusu.compress.codebook import Codebook, compress, ratio
from yakusu.compress.codes import Codes, Floats
from yakusu.compress.rows import from_int8, has_int8, to_int8
from yakusu.compress.table import CodedTable, TableCodes, TableName
from yakusu.errors import DataError, ModelError, RunError
from yakusu.evaluation import Text, translated
from yakusu.folder import json_text, read_json, sha256
from yakusu.metrics import Score, score
from yakusu.model.base import ModelConfig, Seq2Seq
from yakusu.model.table import DenseTable
from yakusu.progress import Progress, Silent
from yakusu.receipt import compression_story, table_story
from yakusu.text import language_of, read_lines
from yakusu.training.checkpoint import Tensors
from yakusu.translator import Translator, save_translator

Side = Literal["encoder", "decoder"]
_TABLES: dict[Side, tuple[TableName, ...]] = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
}


@dataclass(frozen=True)
class CompressedTable:
    """What became of a table, or of several that were one.

    codes: Which, and how.
    n_words, width: V, without pad, and D.
    loss: Squared error over the variance of its vectors.
    ratio: By the paper's formula, and exact vectors.
    """

    codes: TableCodes
    n_words: int
    width: int
    loss: float
    ratio: float

    @property
    def facts(self) -> dict[str, Any]:
        """For the receipt."""
        own = {"n_words": self.n_words, "width": self.width, "loss": self.loss, "ratio": self.ratio}
        return self.codes.model_dump() | own

    def __str__(self) -> str:
        return table_story(self.facts)


@dataclass(frozen=True)
class CompressedTranslator:
    """What `compress_translator` made; each pair is before and after.

    file_bytes: Of the weights on disk.
    scores: BLEU, where there was something to translate.
    """

    folder: Path
    tables: tuple[CompressedTable, ...]
    file_bytes: tuple[int, int]
    scores: tuple[Score, Score] | None


def compress_translator(
    model: str | Path,
    out: str | Path,
    *,
    sides: tuple[Side, ...] = ("encoder", "decoder"),
    n_components: int = 0,
    n_codes: int = 16,
    n_exact: int = 0,
    int8: bool = False,
    src: Text | None = None,
    references: Text | None = None,
    lowercase: bool = False,
    progress: Progress | None = None,
) -> CompressedTranslator:
    """Compress the tables of a translator as the paper's translation task does, without training.

    Args:
        model: A model folder.
        out: The new model folder.
        sides: Whose tables: the source embedding; the target embedding and the output matrix. Tied
            ones stay one where both are compressed, and become two where one is.
        n_components: M; 0 for the width of the model.
        n_codes: K.
        n_exact: The vectors of so many ids stay as they are: the first, which are the most frequent
            pieces, eos among them. The paper has none.
        int8: All other matrices in 8 bits a number.
        src: Sentences to translate before and after; with `references`.
        references: What they should be.
        lowercase: Ignore case in BLEU.
        progress: Watches.

    Raises:
        ModelError: The folder is incomplete or corrupt, or compressed already.
        RunError: `out` is there already.
        DataError: M or K does not suit the tables, or the texts do not belong together.
    """
    folder, out, progress = Path(model), Path(out), progress or Silent()
    if out.exists():
        raise RunError(f"{out} is there already: choose another folder")
    if not sides or n_exact < 0:
        raise DataError(f"sides {sides} and {n_exact} exact vectors: name a side, and 0 or more")
    test = _Test.of(src, references, lowercase)
    translator = Translator.load(folder)
    learnt = translator.model
    assert isinstance(learnt, Seq2Seq)  # one folder, one model
    if read_json(folder / "config.json").get("compressed"):
        raise ModelError(f"{folder} is compressed already: compress the model that it came from")
    before = test.bleu(translator, progress) if test else None
    sizes = {"n_components": n_components, "n_codes": n_codes, "n_exact": n_exact}
    tables = [
        _compress(learnt, TableCodes(tables=names, **sizes), progress)
        for names in _groups(learnt, sides)
    ]
    weights = learnt.weights()
    if int8:
        weights = to_int8(weights, keep=_of_coded_tables(learnt))
        learnt.load_weights(from_int8(weights))
    after = test.bleu(translator, progress) if test else None
    scores = (before, after) if before and after else None
    _write(out, folder, translator, learnt.config, weights, tables, scores)
    return CompressedTranslator(out, tuple(tables), (_size(folder), _size(out)), scores)


def memory_of(model: str | Path) -> int:
    """Bytes by which a new process grows when it loads a translator and translates with it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (model,))


def _groups(model: Seq2Seq, sides: tuple[Side, ...]) -> list[tuple[TableName, ...]]:
    """Names of the tables to be compressed; those that are one object together."""
    groups: dict[int, tuple[TableName, ...]] = {}
    for name in (name for side in dict.fromkeys(sides) for name in _TABLES[side]):
        key = id(getattr(model, name))
        groups[key] = (*groups.get(key, ()), name)
    return list(groups.values())


def _of_coded_tables(model: Seq2Seq) -> set[str]:
    """Names of weights that are as small as they can be."""
    coded = [name for name, module in model.named_modules() if isinstance(module, CodedTable)]
    return {name for name in model.weights() if name.startswith(tuple(f"{t}." for t in coded))}


def _compress(model: Seq2Seq, codes: TableCodes, progress: Progress) -> CompressedTable:
    dense = getattr(model, codes.tables[0])
    assert isinstance(dense, DenseTable)
    weight = dense.weight.detach()[:-1]  # (V - 1, D): without pad
    if codes.n_exact > len(weight):
        raise DataError(f"{codes.n_exact} exact ids are more than the {len(weight)} that there are")
    vectors = weight.double().numpy()
    codes = codes.model_copy(update={"n_components": codes.n_components or vectors.shape[1]})
    found, book = compress(
        vectors, n_components=codes.n_components, n_codes=codes.n_codes, progress=progress
    )
    codes = codes.model_copy(update={"n_codes": book.weights.shape[1]})
    codes.put(model, CodedTable.of(weight, found.codes, book, codes.n_exact))
    return CompressedTable(
        codes,
        vectors.shape[0],
        vectors.shape[1],
        loss=_share_lost(vectors, book, found.codes, codes.n_exact),
        ratio=ratio(vectors.shape, codes.n_components, codes.n_codes, codes.n_exact),
    )


def _share_lost(vectors: Floats, book: Codebook, codes: Codes, n_exact: int) -> float:
    error = np.square(vectors - book.rebuild(codes))[n_exact:].sum()
    return float(error / np.square(vectors - book.mean).sum())


@dataclass(frozen=True)
class _Test:
    """Sentences to translate before and after, read before anything is made."""

    src: list[str]
    references: list[str]
    language: str  # as the references' file is named
    lowercase: bool

    @classmethod
    def of(cls, src: Text | None, references: Text | None, lowercase: bool) -> "_Test | None":
        if src is None and references is None:
            return None
        if src is None or references is None:
            raise DataError("sentences and references go together: give both, or neither")
        lines, truth = (
            list(read_lines(text) if isinstance(text, str | Path) else text)
            for text in (src, references)
        )
        if len(lines) != len(truth):
            raise DataError(
                f"{len(lines)} sentences and {len(truth)} references: align them line by line"
            )
        named = language_of(references) if isinstance(references, str | Path) else ""
        return cls(lines, truth, named, lowercase)

    def bleu(self, translator: Translator, progress: Progress) -> Score:
        with progress.task("translating", "sentences", len(self.src)) as task:
            lines = translated(translator, self.src, task)
        language = self.language or translator.languages[1] or None
        options: dict[str, Any] = {"lowercase": self.lowercase, "target_language": language}
        return score(lines, self.references, **options)[0]


def _write(
    out: Path,
    folder: Path,
    translator: Translator,
    config: ModelConfig,
    weights: Tensors,
    tables: list[CompressedTable],
    scores: tuple[Score, Score] | None,
) -> None:
    facts = read_json(folder / "receipt.json")
    facts["compressed"] = {
        "from": sha256(folder / "model.safetensors"),
        "tables": [table.facts for table in tables],
        "int8": has_int8(weights),
        "scores": [str(each) for each in scores or ()],
    }
    head, how = (folder / "README.md").read_text(encoding="utf-8").split("## How to use it")
    lines = "\n".join(f"- {line}" for line in compression_story(facts["compressed"]))
    card = f"{head}## Compressed\n\nWhat is said above is of the translator before.\n\n{lines}\n\n"
    save_translator(
        out,
        weights,
        translator.tokenizer,
        model=config,
        languages=translator.languages,
        search=translator.search,
        task=translator.task_name,
        compressed=[table.codes for table in tables],
        documents={
            "receipt.json": json_text(facts),
            "README.md": f"{card}## How to use it{how}",
        },
    )


def _size(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def _grown(folder: str | Path) -> int:
    before = _resident()
    Translator.load(folder).translate(["a"])
    return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
