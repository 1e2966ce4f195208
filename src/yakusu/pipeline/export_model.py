"""Exports a translator to the format of another library, and proves that it is the same model."""

from dataclasses import asdict
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from yakusu.data.files.text import Text, read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.errors import DataError, RunError
from yakusu.export.formats import FORMATS, ExportedModel, ExportPrecision, refuse
from yakusu.export.samples import random_sentences
from yakusu.export.verify import N_POSITIONS, Verification, verify_export
from yakusu.folder import save_folder, sha256
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import ExportFacts, read_facts
from yakusu.progress import Progress, Silent
from yakusu.shipped import model_path
from yakusu.translator.folder.folder import ModelFolder
from yakusu.translator.folder.network import open_model


def export_model(
    model: str | Path,
    out: str | Path,
    *,
    to: str,
    precision: ExportPrecision = "float32",
    src: Text | None = None,
    sentences: int = 100,
    progress: Progress | None = None,
) -> Verification:
    """Write a translator in the format of another library, and verify it there.

    Args:
        model: A model folder. Compressed tables and int8 matrices are exported as the numbers that
            they stand for.
        out: The new folder; nothing is left there if the verification fails.
        to: "hf" (Hugging Face), "ctranslate2", "argos" (a package of Argos Translate) or "onnx"
            (graphs for onnxruntime).
        precision: "int8" rounds weights to 8 bits, for "ctranslate2" and "argos". The model is
            verified as float32 before that; what rounding changes is reported only.
        src: Sentences to translate with both; None: random pieces of the vocabulary.
        sentences: How many of them are used, each up to the maximum length of the model.
        progress: Progress reporter.

    Raises:
        ModelError: The format cannot hold the model, the folder is inconsistent, or the exported
            model computes something else.
        RunError: The format is unknown, it does not support the precision, or `out` exists.
        ModuleNotFoundError: The library of the format is not installed.
        DataError: `src` has no line.
    """
    folder, out, progress = model_path(model), Path(out), progress or Silent()
    if to not in FORMATS:
        raise RunError(f"there is no format '{to}': choose one of {', '.join(FORMATS)}")
    form = FORMATS[to]
    _check_precision(to, precision)
    if out.exists():
        raise RunError(f"{out} exists: choose another folder")
    opened, receipt = ModelFolder.open(folder), read_facts(folder)
    refuse(opened.config.model, to)
    _, network, tokenizer = open_model(folder)
    tokenizer = _with_language_token(tokenizer, opened.config.target_language)
    longest = min(network.max_length, N_POSITIONS)
    sources = _sources(_sentences(src, sentences, tokenizer), tokenizer, longest)
    found: list[Verification] = []

    def fill(temporary: Path) -> None:
        for each in _precisions(precision):
            form.write(temporary, ExportedModel.of(opened, each))
            peer = form.peer(temporary, tokenizer.tgt_vocab_size - 1)
            found.append(verify_export(network, opened.config.search, sources, peer))
        facts = ExportFacts(
            source=sha256(folder / "model.safetensors"),
            format=to,
            precision=precision,
            library=f"{form.library} {version(form.library)}",
            verified=asdict(found[-1]),
        )
        made = documents(receipt.model_copy(update={"exported": facts}))
        for name, text in made.items():
            (temporary / name).write_text(text, encoding="utf-8")

    with progress.track(f"writing and verifying {out}", "models", 1):
        save_folder(out, fill)
    return found[-1]


def _check_precision(to: str, precision: ExportPrecision) -> None:
    """Raise RunError unless a format supports a precision."""
    own = FORMATS[to].precisions
    if precision in own:
        return
    others = [name for name, each in FORMATS.items() if precision in each.precisions]
    choice = f"--to {' or '.join(others)}" if others else f"from {', '.join(sorted(own))}"
    raise RunError(f"{to} has no precision {precision}: choose {choice}")


def _precisions(precision: ExportPrecision) -> list[ExportPrecision]:
    """Return what is written and verified, one after the other: rounded weights are the last."""
    return ["float32"] if precision == "float32" else ["float32", precision]


def _with_language_token(tokenizer: Tokenizer, target: str) -> Tokenizer:
    """Begin sources with the token of the target language, or of the first, if there are any."""
    if not (languages := list(tokenizer.src.language_tokens)):
        return tokenizer
    return tokenizer.translating_to((tokenizer.languages_like(target) or languages)[0])


def _sources(sentences: list[str], tokenizer: Tokenizer, longest: int) -> list[tuple[int, ...]]:
    """Return the ids of the sentences that are not empty, at most `longest` each, eos included."""
    encoded = tokenizer.encode_source(sentences)
    found = [(*ids[:-1][: longest - 1], ids[-1]) for ids in encoded if len(ids) > 1]
    if not found:
        raise DataError("the sentences to verify the export with are empty")
    return found


def _sentences(src: Text | None, n: int, tokenizer: Tokenizer) -> list[str]:
    """Return the first lines that have text, or random sentences."""
    if src is None:
        return random_sentences(tokenizer, n)
    lines = read_lines(src) if isinstance(src, str | Path) else src
    if not (found := list(islice((line for line in lines if line.strip()), n))):
        raise DataError("the sentences to verify the export with are empty")
    return found
