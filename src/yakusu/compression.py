"""Compression of a translator: its tables as codes, the rest in 8 bits if that is wanted."""

import multiprocessing
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from yakusu.compress.codebook import compress, ratio
from yakusu.compress.rows import to_int8
from yakusu.compress.table import CodedTable, TableCodes, TableName
from yakusu.errors import DataError, ModelError, RunError
from yakusu.evaluation import Text, evaluate
from yakusu.folder import json_text, read_json, sha256
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.model.table import DenseTable
from yakusu.progress import Progress, Silent
from yakusu.translator import Translator, save_translator

Side = Literal["encoder", "decoder"]
_TABLES: dict[Side, tuple[TableName, ...]] = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
}


@dataclass(frozen=True)
class CompressedTable:
    """What became of a table, or of several that were one.

    loss: Squared error over the variance of its vectors.
    ratio: By the paper's formula.
    """

    tables: tuple[str, ...]
    n_words: int
    width: int
    n_components: int
    n_codes: int
    n_exact: int
    loss: float
    ratio: float


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
        DataError: M or K does not suit the tables.
    """
    folder, out, progress = Path(model), Path(out), progress or Silent()
    if out.exists():
        raise RunError(f"{out} is there already: choose another folder")
    translator = Translator.load(folder)
    config = read_json(folder / "config.json")
    if config["compressed"]:
        raise ModelError(f"{folder} is compressed already: compress the model that it came from")
    n_components = n_components or translator.model.output_weight.shape[1]
    coded, tables = [], []
    for names in _groups(translator.model, sides):
        codes = TableCodes(
            tables=names, n_components=n_components, n_codes=n_codes, n_exact=n_exact
        )
        tables.append(_compress(translator.model, codes, progress))
        coded.append(codes)
    weights = translator.model.weights()
    facts = read_json(folder / "receipt.json")
    facts["compressed"] = {
        "from": sha256(folder / "model.safetensors"),
        "tables": [asdict(table) for table in tables],
        "int8": int8,
    }
    save_translator(
        out,
        to_int8(weights) if int8 else weights,
        translator.tokenizer,
        model=translator.model.config,
        languages=translator.languages,
        search=translator.search,
        compressed=coded,
        documents={"receipt.json": json_text(facts), "README.md": _card(folder, tables, int8=int8)},
    )
    return CompressedTranslator(
        out,
        tuple(tables),
        (_size(folder), _size(out)),
        _scores(folder, out, src, references, lowercase, progress),
    )


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
        codes.tables,
        vectors.shape[0],
        vectors.shape[1],
        codes.n_components,
        codes.n_codes,
        codes.n_exact,
        loss=book.share_lost(vectors, found.codes),
        ratio=ratio(vectors.shape, codes.n_components, codes.n_codes, codes.n_exact),
    )


def _scores(
    before: Path,
    after: Path,
    src: Text | None,
    references: Text | None,
    lowercase: bool,
    progress: Progress,
) -> tuple[Score, Score] | None:
    if src is None or references is None:
        return None
    first, second = (
        evaluate(folder, references, src=src, lowercase=lowercase, progress=progress)[0]
        for folder in (before, after)
    )
    assert isinstance(first, Score) and isinstance(second, Score)
    return first, second


def _card(folder: Path, tables: list[CompressedTable], *, int8: bool) -> str:
    lines = [
        f"- {', '.join(table.tables)}: {table.n_words:,} x {table.width} numbers as "
        f"{table.n_components} codes of {table.n_codes}, {table.ratio:.1f} times smaller; "
        f"{table.loss:.2%} of the variance is lost; {table.n_exact:,} vectors kept as they were"
        for table in tables
    ]
    if int8:
        lines.append("- all other matrices: 8 bits a number")
    card = (folder / "README.md").read_text(encoding="utf-8")
    head, how = card.split("## How to use it")
    return head + "## Compressed\n\n" + "\n".join(lines) + "\n\n## How to use it" + how


def _size(folder: Path) -> int:
    return (folder / "model.safetensors").stat().st_size


def _grown(folder: str | Path) -> int:
    before = _resident()
    Translator.load(folder).translate(["a"])
    return _resident() - before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
