"""Compression of a translator: its tables as codes, the rest in 8 bits if that is wanted."""

import multiprocessing
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from yakusu.compress.blocks import Lost
from yakusu.compress.budget import Budget, BudgetError, Storage
from yakusu.compress.codebook import Codebook
from yakusu.compress.compressed import CompressedMatrix
from yakusu.compress.lattice import Numbers, Tier
from yakusu.compress.method import ByCodes, CodesWithin, Method, NumbersWithin
from yakusu.compress.storage import EntropyCodes, PackedCodes
from yakusu.data.text import language_of, read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, ModelError, RunError
from yakusu.folder import json_text, read_json, sha256
from yakusu.metrics import Score, score
from yakusu.model.base import Seq2Seq
from yakusu.model.coded_tables import GREATEST, CodedTable, NumberTable, TableName, TablePlan
from yakusu.model.config import ModelConfig
from yakusu.model.table import DenseTable, Table
from yakusu.pipeline.evaluate import Text, remark_on_case, translated
from yakusu.pipeline.receipt import CompressionFacts, TableFacts
from yakusu.progress import Progress, Silent
from yakusu.translator import Translator, save_translator
from yakusu.weights import (
    Tensors,
    from_int8,
    from_streams,
    has_int8,
    stored_bits,
    to_int8,
    to_streams,
)

Side = Literal["encoder", "decoder"]
_TABLES: dict[Side, tuple[TableName, ...]] = {
    "encoder": ("src_table",),
    "decoder": ("tgt_table", "output_table"),
}


@dataclass(frozen=True)
class CompressedTable:
    """What became of a table, or of several that were one.

    plan: Which, and how.
    n_words, width: V, without pad, and D.
    bits: Of a vector that is not exact.
    loss: Squared error over the variance of its vectors.
    ratio: Of its bits before and after, exact vectors and codebook counted.
    """

    plan: TablePlan
    n_words: int
    width: int
    bits: float
    loss: float
    ratio: float

    @property
    def facts(self) -> dict[str, Any]:
        """For the receipt."""
        sizes = {"n_words": self.n_words, "width": self.width, "bits": self.bits}
        return self.plan.model_dump() | sizes | {"loss": self.loss, "ratio": self.ratio}

    def __str__(self) -> str:
        return str(TableFacts(**self.facts))


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
    method: Method | None = None,
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
        method: The paper's codes, or whole numbers, of given sizes or within a budget; `ByCodes()`
            where it is not given.
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
        DataError: M or K does not suit the tables, or the texts do not belong together or to a
            parser.
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
    if test and translator.task_name != "translation":
        raise DataError(f"{folder} is a parser, which BLEU does not suit: use 'yakusu evaluate'")
    if read_json(folder / "config.json").get("compressed"):
        raise ModelError(f"{folder} is compressed already: compress the model that it came from")
    if test:
        test.remark(translator.tokenizer, progress)
    before = test.bleu(translator, progress) if test else None
    tables = [
        _compress(learnt, names, method or ByCodes(), n_exact, progress)
        for names in _groups(learnt, sides)
    ]
    weights = to_streams(learnt.weights())
    if int8:
        weights = to_int8(weights, keep=_of_compressed_tables(learnt))
        learnt.load_weights(from_streams(from_int8(weights)))
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


def _of_compressed_tables(model: Seq2Seq) -> set[str]:
    """Names of weights that are as small as they can be."""
    small = [
        name
        for name, module in model.named_modules()
        if isinstance(module, Table) and not isinstance(module, DenseTable)
    ]
    return {name for name in model.weights() if name.startswith(tuple(f"{t}." for t in small))}


def _compress(
    model: Seq2Seq, names: tuple[TableName, ...], method: Method, n_exact: int, progress: Progress
) -> CompressedTable:
    dense = getattr(model, names[0])
    assert isinstance(dense, DenseTable)
    weight = dense.weight.detach()[:-1]  # (V - 1, D): without pad
    if n_exact > len(weight) - 2:
        raise DataError(f"{n_exact} exact ids leave none of the {len(weight)}: leave 2 or more")
    try:
        made = _made(method, weight, n_exact, progress)
    except DataError as error:
        raise DataError(
            f"{' = '.join(names)}, {len(weight):,} x {len(weight[0])}: {error}"
        ) from error
    table = table_of(weight[:n_exact], made)
    plan = table.plan(names)
    plan.put(model, table)
    return CompressedTable(
        plan,
        n_words=len(weight),
        width=weight.shape[1],
        bits=bits_in(table),
        loss=share_lost(weight, made, n_exact),
        ratio=ratio_of(table, made),
    )


def _made(method: Method, weight: Tensor, n_exact: int, progress: Progress) -> CompressedMatrix:
    """All vectors compressed: by numbers that a model holds, for a ratio that counts exact ones."""
    n_words = len(weight)
    vectors = weight.numpy()
    if not isinstance(method, CodesWithin | NumbersWithin):
        return method(vectors, progress)
    wish = method.budget
    if isinstance(method, NumbersWithin):
        method = replace(method, storage=_storage(n_exact))
    if wish.ratio:
        left = n_words / wish.ratio - n_exact  # vectors of float32, for the others
        method = replace(method, budget=Budget(ratio=n_words / max(left, 1e-9)))
    try:
        return method(vectors, progress)
    except BudgetError as error:
        best = n_words / (n_words / error.best + n_exact) if wish.ratio else error.best
        raise BudgetError(wish, best) from error


def _storage(n_exact: int) -> Storage:
    """Of whole numbers in a model, of which the first N have none."""

    def bits(numbers: Numbers, tiers: Sequence[Tier]) -> float:
        return stored_bits(torch.from_numpy(numbers[n_exact:].astype(np.int8)))

    return Storage(GREATEST, bits)


def bits_in(table: CodedTable | NumberTable) -> float:
    """Bits on disk of a vector that is not exact."""
    if isinstance(table, CodedTable):
        return 8 * table.packed.shape[1]
    return stored_bits(table.numbers)


def ratio_of(table: CodedTable | NumberTable, made: CompressedMatrix) -> float:
    """Bits of float32 vectors over those of a table: as the paper counts, and exact vectors."""
    n_exact, in_file = len(table.exact), 8 * made.codes.n_bytes / len(made)
    dense = 32 * len(made) * made.width
    book = dense / made.ratio - len(made) * in_file
    return dense / (book + (len(made) - n_exact) * bits_in(table) + 32 * n_exact * made.width)


def share_lost(vectors: Tensor, made: CompressedMatrix, n_exact: int) -> float:
    """Squared error over variance of vectors (V, D) of which the first N stay as they are."""
    rebuilt = made.dense()
    rebuilt[:n_exact] = vectors[:n_exact].numpy()
    return Lost.of(vectors.numpy(), rebuilt.__getitem__).share


def table_of(exact: Tensor, made: CompressedMatrix) -> CodedTable | NumberTable:
    """The table of compressed vectors, of which the first N are exact instead (N, D).

    Raises:
        DataError: Whole numbers of more than 8 bits.
    """
    rest = np.arange(len(exact), len(made))
    if isinstance(made.book, Codebook):
        assert isinstance(made.codes, PackedCodes)
        packed = replace(made.codes, packed=made.codes.packed[rest])
        return CodedTable.of(exact, packed, made.book)
    assert isinstance(made.codes, EntropyCodes)
    return NumberTable.of(exact, made.codes.rows(rest), made.book)


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

    def remark(self, tokenizer: Tokenizer, progress: Progress) -> None:
        if not self.lowercase:
            written = tokenizer.decode_target(tokenizer.encode_target(self.references))
            remark_on_case(written, self.references, progress)

    def bleu(self, translator: Translator, progress: Progress) -> Score:
        with progress.track("translating", "sentences", len(self.src)) as tracker:
            lines = translated(translator, self.src, tracker)
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
    lines = "\n".join(f"- {line}" for line in CompressionFacts(**facts["compressed"]).lines())
    card = f"{head}## Compressed\n\nWhat is said above is of the translator before.\n\n{lines}\n\n"
    save_translator(
        out,
        weights,
        translator.tokenizer,
        model=config,
        languages=translator.languages,
        search=translator.search,
        task=translator.task_name,
        compressed=[table.plan for table in tables],
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
