"""Gives a model other language codes, or a memory: its files without weights and tokenizer.

This module does not import torch.
"""

import shutil
from pathlib import Path

from yakusu.data.languages import require_language
from yakusu.errors import ModelError
from yakusu.folder import json_text, read_json, save_folder, write_json
from yakusu.memory.memory import TranslationMemory
from yakusu.pipeline.receipts.card import documents
from yakusu.pipeline.receipts.receipt import ImportReceipt, Receipt, read_facts
from yakusu.shipped import own_folder
from yakusu.translator.folder.folder import CONFIG, ModelFolder, TranslatorConfig
from yakusu.translator.folder.named_memory import write_named_memory


def card(
    model: str | Path, *, source: str = "", target: str = "", memory: str | Path | None = None
) -> TranslatorConfig:
    """Write the languages or the memory of a model into its folder, and renew its hashes.

    The weights and the tokenizer stay as they are. A reader of the folder finds the old or the new
    one, never a part.

    Args:
        model: Model folder.
        source: Code of the source language, in any spelling; "": unchanged.
        target: Code of the target language; "": unchanged. If the model has several, this
            is its default, and one of them.
        memory: A translation memory, which is used where none is given; None: unchanged.

    Returns:
        The new config.json.

    Raises:
        DataError: A code is unknown, or the memory does not exist or has other languages.
        ModelError: The folder is incomplete or corrupt, or the model does not translate to the
            language.
    """
    folder = ModelFolder.open(own_folder(model))
    given = {"source": source, "target": target}
    codes = {
        f"{side}_language": require_language(code, what=side)
        for side, code in given.items()
        if code
    }
    if folder.config.task != "translation":
        raise ModelError(f"{model} is a parser: only translators have language codes")
    if code := codes.get("target_language"):
        folder.tokenizer.translating_to(code)  # an error if it cannot
    config = folder.config.model_copy(update=codes)
    if memory is not None:
        languages = config.source_language, config.target_language
        TranslationMemory.open(Path(memory), languages if all(languages) else None).close()
    files = read_json(folder.path / "manifest.json")["files"]
    texts: dict[str, str] = {}
    if "receipt.json" in files:
        facts = _renamed(read_facts(folder.path), config)
        # Keys that the receipt does not have stay unknown, and do not get today's defaults.
        values = facts.model_dump(mode="json", by_alias=True, exclude_unset=True)
        texts = {**documents(facts), "receipt.json": json_text(values)}

    def fill(temporary: Path) -> None:
        for name in files.keys() - texts.keys() - {CONFIG}:
            shutil.copyfile(folder.path / name, temporary / name)
        write_json(temporary / CONFIG, config.model_dump())
        if memory is not None:
            write_named_memory(temporary, Path(memory), of=folder.path)
        for name, text in texts.items():
            (temporary / name).write_text(text, encoding="utf-8")

    save_folder(folder.path, fill)
    return config


def _renamed(facts: Receipt | ImportReceipt, config: TranslatorConfig) -> Receipt | ImportReceipt:
    """A receipt with the languages of a model."""
    languages = config.source_language, config.target_language
    if not isinstance(facts, Receipt):
        return facts.model_copy(update={"languages": languages})
    update = {"source_language": languages[0], "target_language": languages[1]}
    data = facts.recipe.data.model_copy(update=update)
    recipe = facts.recipe.model_copy(update={"data": data})
    return facts.model_copy(update={"languages": languages, "recipe": recipe})
