"""receipt.json: how a model was made, in a format for programs.

training_facts.py collects what it says about the training run, and card.py renders it for people.
This module does not import torch.
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from yakusu.compress.config import CompressConfig
from yakusu.errors import ModelError
from yakusu.export.origin import Origin
from yakusu.folder import read_json, read_regular, verify_folder
from yakusu.pipeline.receipts.corpus import CORPUS_RECEIPT, CorpusFacts
from yakusu.recipe import Recipe
from yakusu.shipped import model_path

VERSION = 1  # of receipt.json


class ReceiptFacts(BaseModel):
    """A part of a receipt. Keys added by later versions are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class HardwareFacts(ReceiptFacts):
    """The machine that trained the model."""

    system: str
    device: str
    threads: int
    cores: int | None = None
    processes: int


class Flops(ReceiptFacts):
    """Floating-point operations of the training run.

    Attributes:
        paper: Training time x devices x sustained rate (the paper's formula).
        sustained: Sustained rate of one device assumed by `paper`, in FLOPS.
        counted: Operations counted on sample batches, scaled to all target tokens.
    """

    paper: float
    sustained: float
    counted: float


class PairCounts(ReceiptFacts):
    """Number of sentence pairs, after filtering."""

    train: int
    dev: int


class RejectedAverage(ReceiptFacts):
    """An average that was not used because the best checkpoint scored higher."""

    steps: tuple[int, ...]
    score: str


class TableFacts(ReceiptFacts):
    """One compressed table, or several tables that share one matrix.

    Attributes:
        tables: Names of the tables.
        n_components: Number of components M.
        n_codes: Number of codes per component K; None for integers.
        n_exact: Number of vectors that were left unchanged.
        n_words: Vocabulary size V, without padding.
        width: Width of the vectors D.
        bits: Bits per compressed vector.
        loss: Squared error divided by the variance of the vectors.
        ratio: Size before divided by size after, including unchanged vectors and codebook.
    """

    tables: tuple[str, ...]
    n_components: int
    n_codes: int | None = None
    n_exact: int
    n_words: int
    width: int
    bits: float
    loss: float
    ratio: float

    def __str__(self) -> str:
        kind = f"codes with K = {self.n_codes}" if self.n_codes else "integers"
        return (
            f"{' = '.join(self.tables)}: {self.n_words:,} vectors x {self.width} dimensions "
            f"as {self.n_components} {kind} ({self.bits:.0f} bits per vector), {self.n_exact:,} "
            f"vectors unchanged: {self.ratio:.1f} times smaller, {self.loss:.2%} of the variance "
            "lost"
        )


class CompressionFacts(ReceiptFacts):
    """How a translator was compressed.

    Attributes:
        source: SHA-256 of the original model.safetensors.
        tables: The compressed tables.
        int8: Whether all other matrices are stored with 8 bits per weight.
        scores: Scores before and after, if there was a test set.
        settings: Resolved settings of the compression; None in files of version 0.1.
    """

    source: str = Field(alias="from")
    tables: tuple[TableFacts, ...]
    int8: bool
    scores: tuple[str, ...] = ()
    settings: CompressConfig | None = None

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        rest = ["all other matrices: 8 bits per weight"] if self.int8 else []
        labels = ("before compression", "after compression")
        scores = [f"{label}: {score}" for label, score in zip(labels, self.scores, strict=False)]
        return [f"compressed from {self.source}", *map(str, self.tables), *rest, *scores]


class ExportFacts(ReceiptFacts):
    """How a model was exported, and what the verification found.

    Attributes:
        source: SHA-256 of the original model.safetensors.
        format: Name of the format.
        precision: How it stores weights.
        library: The library that read it, with its version.
        verified: The fields of `Verification`.
    """

    source: str = Field(alias="from")
    format: str
    precision: str = "float32"
    library: str
    verified: dict[str, Any]

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        found = self.verified
        greedy, beam = found["greedy"]["identical"], found["beam"]["identical"]
        return [
            f"exported from {self.source} to the format {self.format}, as {self.precision}",
            f"verified with {self.library}: {found['compared']} differ by at most "
            f"{found['difference']:.1g}; of {found['sentences']:,} translations, {greedy:,} are "
            f"identical with greedy search and {beam:,} with beam 4",
        ]


class ModelFacts(ReceiptFacts):
    """What every receipt says.

    Attributes:
        version: Version of the file format.
        versions: Versions of Python, yakusu and the libraries.
        languages: Codes of source and target, "" if unknown.
        parameters: Number of parameters.
        compressed: How the model was compressed; None if it was not.
        exported: How it was exported; None if it was not.
    """

    version: int = VERSION
    versions: dict[str, str]
    languages: tuple[str, str]
    parameters: int
    compressed: CompressionFacts | None = None
    exported: ExportFacts | None = None

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        return [
            line for facts in (self.compressed, self.exported) if facts for line in facts.lines()
        ]


class ImportReceipt(ModelFacts):
    """How a model was imported from another toolkit.

    Attributes:
        origin: Where it is from.
    """

    origin: Origin

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        origin = self.origin
        named = f" '{origin.name}'" if origin.name else ""
        return [
            *(f"input {name}: {digest}" for name, digest in origin.files.items()),
            f"imported from {origin.format}{named} by yakusu {self.versions['yakusu']}",
            f"licence: {origin.licence or 'unknown'}",
            *super().lines(),
        ]


class Receipt(ModelFacts):
    """Everything needed to train a model again, and what the training cost.

    Attributes:
        inputs: SHA-256 of each training file by its key in the recipe.
        tokenizer: SHA-256 of each tokenizer file.
        steps, skipped_steps, target_tokens, wall_seconds: Totals of the training run.
        averaged_steps: Steps of the checkpoints that were averaged.
        rejected: The average that scored lower than the best checkpoint, if any.
        scores: Scores on the dev set, with signatures.
    """

    recipe: Recipe
    seed: int
    inputs: dict[str, str]
    tokenizer: dict[str, str]
    pairs: PairCounts
    hardware: HardwareFacts
    steps: int
    skipped_steps: int
    averaged_steps: tuple[int, ...]
    rejected: RejectedAverage | None = None
    target_tokens: int
    wall_seconds: float
    flops: Flops
    scores: tuple[str, ...]

    @property
    def used_native_engine(self) -> bool:
        """Whether the native engine, not torch, translated the dev set."""
        return self.recipe.training.engine == "native"

    def lines(self) -> list[str]:
        """Return the facts as lines of text."""
        rejected = [_rejection(self.rejected)] if self.rejected else []
        engine = ["dev set translated by the native engine"] if self.used_native_engine else []
        parent, attribution = self.recipe.parent, self.recipe.data.attribution
        return [
            *(f"input {key}: {digest}" for key, digest in self.inputs.items()),
            *([f"training data: {attribution}"] if attribution else ()),
            *([f"started from {parent.model}: {parent.sha256}"] if parent.model else ()),
            f"trained with yakusu {self.versions['yakusu']}, torch {self.versions['torch']}, on "
            f"{self.hardware.device} (threads: {self.hardware.threads}, processes: "
            f"{self.hardware.processes}), seed {self.seed}",
            f"{self.steps:,} steps, {self.target_tokens:,} target tokens, "
            f"{self.wall_seconds / 60:.1f} minutes; {self.flops.counted:.2e} FLOPs counted, "
            f"{self.flops.paper:.2e} by the paper's formula",
            f"weights: {named_average(self.averaged_steps)}",
            *rejected,
            *engine,
            *self.scores,
            *super().lines(),
        ]


def named_average(steps: tuple[int, ...]) -> str:
    """Describe averaged checkpoints, as in "mean of the checkpoints of steps 3, 6"."""
    listed = ", ".join(f"{step:,}" for step in steps)
    return (
        f"mean of the checkpoints of steps {listed}"
        if steps[1:]
        else f"checkpoint of step {listed}"
    )


def _rejection(rejected: RejectedAverage) -> str:
    return f"not used, lower score: {named_average(rejected.steps)}, dev {rejected.score}"


def read_receipt(folder: str | Path) -> Receipt:
    """Read the receipt of a model that yakusu trained.

    Raises:
        ModelError: There is no receipt, it is incomplete or of a newer version, or the model was
            imported.
    """
    facts = read_facts(folder)
    if not isinstance(facts, Receipt):
        raise ModelError(f"{folder} was imported: there is no record of how it was trained")
    return facts


def read_facts(folder: str | Path) -> Receipt | ImportReceipt:
    """Read the receipt of a model.

    Raises:
        ModelError: There is no receipt, or it is incomplete or of a newer version.
    """
    path = Path(folder) / "receipt.json"
    try:
        text = read_regular(path)
        imported = "origin" in ReceiptFacts.model_validate_json(text).model_fields_set
        kind = ImportReceipt if imported else Receipt
        facts = kind.model_validate_json(text)
    except FileNotFoundError as error:
        raise ModelError(
            f"{path} does not exist: there is no record of how the model was made"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        key, message = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        raise ModelError(f"{path} is not a complete receipt: {key}: {message}") from error
    if facts.version > VERSION:
        raise ModelError(
            f"{path} has version {facts.version}, but this version of yakusu reads {VERSION}: "
            "update yakusu"
        )
    return facts


def verify(folder: str | Path) -> list[str]:
    """Check every file of a model, checkpoint or data folder against its recorded hash.

    Returns:
        Lines of text: the hash of each file, then how the model was made.

    Raises:
        ModelError: A file is missing or was changed.
    """
    folder = model_path(folder)
    if (folder / "model" / "manifest.json").exists():
        raise ModelError(f"{folder} is a run folder: use its model, {folder / 'model'}")
    verify_folder(folder)
    files = read_json(folder / "manifest.json")["files"]
    lines = [f"{file['sha256']}  {name}" for name, file in files.items()]
    if CORPUS_RECEIPT in files:
        lines += CorpusFacts.read(folder).lines()
    if "receipt.json" in files:
        try:
            lines += read_facts(folder).lines()
        except ModelError as error:
            lines.append(str(error))
    return [*lines, f"intact: all {len(files)} files of {folder} match their recorded hashes"]
