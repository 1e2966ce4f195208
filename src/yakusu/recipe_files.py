"""The files that a recipe names, as arguments of functions and options of the command line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

from yakusu.data.corpus import parse_columns
from yakusu.data.files.text import ErrorPolicy
from yakusu.errors import RecipeError


class RecipeFiles(TypedDict, total=False):
    """Files and folders of a recipe, named like the options of the command line.

    Attributes:
        run: Run folder.
        parent: Model folder to start from.
        mix: Share of the training pairs that are taken from the parent's corpus.
        src: Source sentences of the training set.
        tgt: Their translations, line by line.
        pairs: One file with both sides of the training set: TMX, XLIFF, PO, TSV or CSV.
        dev_src: Source sentences of the dev set.
        dev_tgt: Their translations, line by line.
        dev_pairs: One file with both sides of the dev set.
        columns: Source and target in files of pairs, such as "en,de" or "1,3": languages, or names
            or numbers of columns.
        errors: What to do with lines that are not UTF-8: "strict", "skip" or "replace".
        trees: Trees to train a parser on: a file, a folder or a pattern.
        dev_trees: Trees of the dev set.
    """

    run: str | Path | None
    parent: str | Path | None
    mix: float | None
    src: str | Path | None
    tgt: str | Path | None
    pairs: str | Path | None
    dev_src: str | Path | None
    dev_tgt: str | Path | None
    dev_pairs: str | Path | None
    columns: str | None
    errors: ErrorPolicy | None
    trees: str | Path | None
    dev_trees: str | Path | None


_KEYS = {  # name in `RecipeFiles` -> keys of the recipe
    "run": ["run"],
    "parent": ["parent.model"],
    "mix": ["parent.mix"],
    "src": ["data.train.src"],
    "tgt": ["data.train.tgt"],
    "pairs": ["data.train.pairs"],
    "dev_src": ["data.dev.src"],
    "dev_tgt": ["data.dev.tgt"],
    "dev_pairs": ["data.dev.pairs"],
    "errors": ["data.train.errors", "data.extra.errors", "data.dev.errors"],
    "trees": ["data.train.trees"],
    "dev_trees": ["data.dev.trees"],
}


def as_overrides(files: Mapping[str, Any]) -> list[str]:
    """Return the overrides of a recipe that set its files.

    Raises:
        RecipeError: An argument is unknown.
    """
    if unknown := set(files) - {*_KEYS, "columns"}:
        raise RecipeError(
            f"unknown argument '{min(unknown)}': pass keys of the recipe as overrides, as in "
            '["training.max_steps=500"]'
        )
    given = {name: value for name, value in files.items() if value is not None}
    columns = given.pop("columns", None)
    overrides = [
        f"{key}={json.dumps(value if isinstance(value, float) else str(value), ensure_ascii=False)}"
        for name, value in given.items()
        for key in _KEYS[name]
    ]
    return overrides if columns is None else [*overrides, *_column_overrides(columns, given)]


def _column_overrides(columns: str, given: Mapping[str, Any]) -> list[str]:
    splits = [split for split, name in (("train", "pairs"), ("dev", "dev_pairs")) if name in given]
    return [
        f"data.{split}.{side}_column={json.dumps(value, ensure_ascii=False)}"
        for split in splits or ["train"]
        for side, value in zip(("src", "tgt"), parse_columns(columns), strict=True)
    ]
