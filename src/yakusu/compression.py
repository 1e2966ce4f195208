"""Compression of a translator: its tables as codes, the rest in 8 bits if that is wanted."""

import multiprocessing
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from yakusu.compress.codebook import compress, ratio
from yakusu.compress.rows import from_int8, has_int8, to_int8
from yakusu.compress.table import CodedTable, TableCodes, TableName
from yakusu.errors import DataError, ModelError, RunError
from yakusu.evaluation import Text
from yakusu.folder import json_text, read_json, sha256
from yakusu.metrics import Score, score
from yakusu.model.base import Seq2Seq
from yakusu.model.table import DenseTable
from yakusu.progress import Progress, Silent
from yakusu.receipt import compression_story
from yakusu.text import read_lines
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
    loss: Squared error over the variance of its vectors, exact ones not counted apart.
    ratio: By the paper's formula, and exact vectors.
    """

    codes: TableCodes
    n_words: int
    width: int
    loss: float
    ratio: float

    def __str__(self) -> str:
        codes = self.codes
        return (
            f"{' = '.join(codes.tables)}: {self.n_words:,} x {self.width} numbers as "
            f"{codes.n_components} codes of {codes.n_codes}, {codes.n_exact:,} vectors as they "
            f"were: {self.ratio:.1f} times smaller, {self.loss:.2%} of the variance lost"
        )


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
    texts = _both(src, references)
    translator = Translator.load(folder)
    if read_json(folder / "config.json").get("compressed"):
        raise ModelError(f"{folder} is compressed already: compress the model that it came from")
    before = _bleu(translator, texts, lowercase, progress)
    tables = []
    for names in _groups(translator.model, sides):
        width = getattr(translator.model, names[0]).weight.shape[1]
        codes = TableCodes(
            tables=names, n_components=n_components or width, n_codes=n_codes, n_exact=n_exact
        )
        tables.append(_compress(translator.model, codes, progress))
    weights = to_int8(translator.model.weights()) if int8 else translator.model.weights()
    translator.model.load_weights(from_int8(weights))
    after = _bleu(translator, texts, lowercase, progress)
    scores = (before, after) if before and after else None
    _write(out, folder, translator, weights, tables, scores)
    return CompressedTranslator(out, tuple(tables), (_size(folder), _size(out)), scores)


def memory_of(model: str | Path) -> int:
    """Bytes by which a new process grows when it loads a translator and translates with it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_grown, (model,))


def _groups(model: Seq2Seq, sides: tuple[Side, ...]) -> list[tuple[TableName, ...]]:
    """Names of the tables to be compressed; those that are one object together."""
    groups: dict[int, tuple[TableName, ...]] = {}
    for name in (name for side in sides for name in _TABLES[side]):
        key = id(getattr(model, name))
        groups[key] = (*groups.get(key, ()), name)
    return list(groups.values())


def _compress(model: Seq2Seq, codes: TableCodes, progress: Progress) -> CompressedTable:
    dense = getattr(model, codes.tables[0])
    assert isinstance(dense, DenseTable)
    weight = dense.weight.detach()[:-1]  # (V - 1, D): without pad
    if codes.n_exact > len(weight):
        raise DataError(f"{codes.n_exact} exact ids are more than the {len(weight)} that there are")
    vectors = weight.double().numpy()
    found, book = compress(
        vectors, n_components=codes.n_components, n_codes=codes.n_codes, progress=progress
    )
    codes.put(model, CodedTable.of(weight, found.codes, book, codes.n_exact))
    return CompressedTable(
        codes,
        vectors.shape[0],
        vectors.shape[1],
        loss=book.share_lost(vectors, found.codes),
        ratio=ratio(vectors.shape, codes.n_components, codes.n_codes, codes.n_exact),
    )


def _both(src: Text | None, references: Text | None) -> tuple[list[str], list[str]] | None:
    """Sentences and references, read before anything is made."""
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
    return lines, truth


def _bleu(
    translator: Translator,
    texts: tuple[list[str], list[str]] | None,
    lowercase: bool,
    progress: Progress,
) -> Score | None:
    if texts is None:
        return None
    src, truth = texts
    with progress.task("translating", "sentences", len(src)) as task:
        made = []
        for best in translator.stream(src):
            made.append(best[0].text)
            task.advance()
    language = translator.languages[1] or None
    return score(made, truth, lowercase=lowercase, target_language=language)[0]


def _write(
    out: Path,
    folder: Path,
    translator: Translator,
    weights: Tensors,
    tables: list[CompressedTable],
    scores: tuple[Score, Score] | None,
) -> None:
    facts = read_json(folder / "receipt.json")
    facts["compressed"] = {
        "from": sha256(folder / "model.safetensors"),
        "tables": [str(table) for table in tables],
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
        model=translator.model.config,
        languages=translator.languages,
        search=translator.search,
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
