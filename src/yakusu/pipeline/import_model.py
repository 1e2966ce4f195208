"""Imports a translator of another toolkit."""

import re
from dataclasses import dataclass
from pathlib import Path

import torch

from yakusu.data.languages import require_language
from yakusu.device import versions
from yakusu.errors import RunError
from yakusu.export.foreign import own_model
from yakusu.export.importing import read_foreign
from yakusu.export.origin import Origin
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import ImportReceipt
from yakusu.search.config import SearchConfig
from yakusu.translator.folder.folder import TranslatorConfig, consistent
from yakusu.translator.folder.network import save_translator

_CODE = re.compile(r"[\w+-]{1,40}")


@dataclass(frozen=True)
class ImportedTranslator:
    """Result of `import_model`.

    Attributes:
        folder: The new model folder.
        config: Its sizes and languages; a language is "" if unknown.
        parameters: Number of parameters.
        origin: Where it is from, with its licence.
    """

    folder: Path
    config: TranslatorConfig
    parameters: int
    origin: Origin


def import_model(
    source: str | Path,
    out: str | Path,
    *,
    source_language: str = "",
    target_language: str = "",
) -> ImportedTranslator:
    """Make a model folder from a model of Marian, CTranslate2 or Argos Translate.

    Args:
        source: The folder of a model of Marian, in the form of Hugging Face or its own, or of
            CTranslate2; a file .npz of Marian, in the folder of its vocabularies; or a package
            .argosmodel.
        out: The new model folder.
        source_language: Code of the source language; "": as the model says.
        target_language: Code of the target language; "": as the model says.

    Raises:
        DataError: A language does not exist.
        ModelError: The format is unknown, or the model is inconsistent.
        RunError: `out` exists.
    """
    source, out = Path(source), Path(out)
    if out.exists():
        raise RunError(f"{out} exists: choose another folder")
    with consistent(source):
        foreign = read_foreign(source)
        model, weights, tokenizer = own_model(foreign)
    given = (("source_language", source_language), ("target_language", target_language))
    src, tgt = (
        require_language(code, what=side) if code else own if _CODE.fullmatch(own) else ""
        for (side, code), own in zip(given, foreign.languages, strict=True)
    )
    config = TranslatorConfig(
        source_language=src,
        target_language=tgt,
        model=model,
        search=SearchConfig(),
        src_vocab_size=tokenizer.src_vocab_size,
        tgt_vocab_size=tokenizer.tgt_vocab_size,
    )
    receipt = ImportReceipt(
        versions=versions(),
        languages=(config.source_language, config.target_language),
        parameters=sum(array.size for array in weights.values()),
        origin=foreign.origin,
    )
    tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
    save_translator(out, tensors, tokenizer, config, documents=documents(receipt))
    return ImportedTranslator(out, config, receipt.parameters, foreign.origin)
