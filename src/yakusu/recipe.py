"""One TOML file that drives prepare, train and translate: load, override, save."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import tomli_w
from pydantic import Field, ValidationError, model_validator

from yakusu.config import Config, apply_override, nearest
from yakusu.data.batches import BatchConfig
from yakusu.data.corpus import Corpus, ExtraCorpus
from yakusu.data.filters import FilterConfig
from yakusu.data.text import language_of
from yakusu.data.tokenizer import TokenizerConfig
from yakusu.errors import RecipeError
from yakusu.folder import write_text
from yakusu.model.config import CONFIGS, DEFAULT, AnyConfig, config_of
from yakusu.recipes import recipe_names
from yakusu.search import SearchConfig
from yakusu.training.config import TrainingConfig


class DataConfig(Config):
    """Where the corpora lie. `$NAME` in a path is an environment variable."""

    source_language: str = ""  # codes such as "en"; train.en says so by itself
    target_language: str = ""  # it chooses BLEU's tokenizer
    train: Corpus = Corpus()
    extra: ExtraCorpus = ExtraCorpus()  # more to train on, at a weight of its own
    dev: Corpus = Corpus()  # where it is not given, pairs of train are held out
    hold_out: int = Field(1000, ge=1)  # how many at most; never more than a twentieth


class Recipe(Config):
    """All that decides what a run gives."""

    task: Literal["translation", "parsing"] = "translation"
    run: str = ""  # the folder of the run
    seed: int = Field(1, ge=0, lt=2**32)
    data: DataConfig = DataConfig()
    filters: FilterConfig = FilterConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    batches: BatchConfig = BatchConfig()
    model: AnyConfig = config_of({})
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()

    @model_validator(mode="after")
    def _positions_suffice(self) -> "Recipe":
        needed = self.filters.max_tokens + 1  # eos
        if self.model.max_length < needed:
            raise ValueError(
                f"model.max_positions = {self.model.max_length} is less than "
                f"filters.max_tokens + 1 = {needed}: raise the one or lower the other"
            )
        return self

    @model_validator(mode="after")
    def _one_vocabulary_or_two_matrices(self) -> "Recipe":
        if self.model.tied == "three-way" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied = 'three-way' needs one vocabulary and tokenizer.joint = false makes "
                "two: set model.tied = 'decoder'"
            )
        return self

    @model_validator(mode="after")
    def _trees_are_parsed(self) -> "Recipe":
        parsing, data = self.task == "parsing", self.data
        for key, corpus in (("train", data.train), ("extra", data.extra), ("dev", data.dev)):
            if corpus and bool(corpus.trees) != parsing:
                raise ValueError(
                    f"a parser is trained on trees, not on text: name them as data.{key}.trees"
                    if parsing
                    else "only a parser is trained on trees: begin with the recipe 'parse' or "
                    "'parse-small'"
                )
        if parsing != (self.tokenizer.target == "tokens"):
            raise ValueError(
                f"task = '{self.task}' with tokenizer.target = '{self.tokenizer.target}': brackets "
                "are tokens, sentences are text; begin with the recipe 'parse' for a parser"
            )
        return self

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of source and target; where not given, what the files' names end in."""
        data = self.data
        return (
            data.source_language or language_of(data.train.src),
            data.target_language or language_of(data.train.tgt),
        )


def load_recipe(name: str | Path, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe by path, or by name if it comes with yakusu, and apply `a.b=c` overrides.

    Raises:
        RecipeError: No such recipe, not TOML, an unknown key (the nearest valid one is named), or
            a value out of range.
    """
    path = _find(name)
    try:
        text = path.read_text(encoding="utf-8")
        values = tomllib.loads(text)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{name} is not TOML: {error}") from error
    for override in overrides:
        apply_override(values, override)
    try:
        return Recipe.model_validate(_expand(values))
    except ValidationError as error:
        raise RecipeError(_fault(error, values, text, str(name), overrides)) from error


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe with every value spelled out."""
    write_text(path, tomli_w.dumps(recipe.model_dump()))


def differences(one: Recipe, other: Recipe) -> list[str]:
    """The keys whose values differ, as "a.b = 1, not 2"."""
    mine, theirs = _flat(one.model_dump()), _flat(other.model_dump())
    return [
        f"{key} = {mine[key]!r}, not {theirs[key]!r}" for key in mine if mine[key] != theirs[key]
    ]


def _find(name: str | Path) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    package = resources.files("yakusu.recipes")
    packaged = package / f"{name}.toml"
    if packaged.is_file():
        return Path(str(packaged))
    folders = [entry.name for entry in package.iterdir() if entry.is_dir()]
    if path.suffix == ".toml" or str(path.parent) not in (".", *folders):
        raise RecipeError(f"{name} does not exist: check the path of the recipe")
    known = [str(path.parent / other) for other in recipe_names(str(path.parent))]
    raise RecipeError(f"there is no recipe '{name}': {nearest(str(name), known)}")


def _expand(value: Any) -> Any:
    """Put environment variables into strings."""
    if isinstance(value, dict):
        return {key: _expand(item) for key, item in value.items()}
    if not isinstance(value, str) or "$" not in value:
        return value
    expanded = os.path.expandvars(value)
    if missing := re.search(r"\$\{?(\w+)", expanded):
        raise RecipeError(f"'{value}' needs the environment variable {missing[1]}: set it first")
    return expanded


def _fault(
    error: ValidationError,
    values: Mapping[str, Any],
    text: str,
    name: str,
    overrides: Sequence[str],
) -> str:
    """The first thing that pydantic found wrong, as one sentence."""
    first = error.errors()[0]
    keys = [str(part) for part in first["loc"] if part in _names_within(values)]
    key = ".".join(keys)
    where = name
    given = [override.partition("=")[0].strip() for override in overrides]
    if any(name == key or name.startswith(f"{key}.") for name in given):
        where = "--set"
    elif line := _line_of(text, keys):
        where = f"{name}, line {line}"
    if first["type"] == "union_tag_invalid":
        name = first["ctx"]["tag"]
        return f"{where}: there is no model '{name}': {nearest(name, list(CONFIGS))}"
    if first["type"] == "extra_forbidden":
        owners = [name for name in CONFIGS if keys[-1] in CONFIGS[name].model_fields]
        if keys[0] == "model" and owners:
            named = " or ".join(f"'{name}'" for name in owners)
            return (
                f"{where}: {key} belongs to model.name = {named}: leave it out, or begin with a "
                "recipe of the other, as 'base', 'lstm' or 'conv'"
            )
        known = [*_flat(_defaults(values).model_dump()), *Recipe.model_fields]
        namesakes = [name for name in known if name.split(".")[-1] == keys[-1]]
        group = [name for name in known if name.split(".")[:-1] == keys[:-1]]
        return f"{where}: unknown key '{key}': {nearest(key, namesakes or group)}"
    if first["type"] == "value_error":
        return f"{where}: {first['ctx']['error']}"
    if first["type"] == "model_type":
        return (
            f"{where}: {key} = {first['input']!r}: it is a group of keys, as in {key}.KEY = VALUE"
        )
    advice = first["msg"][0].lower() + first["msg"][1:].replace("tuple", "list")
    return f"{where}: {key} = {first['input']!r}: {advice}"


def _defaults(values: Mapping[str, Any]) -> Recipe:
    """A recipe with every key that one of this architecture can have."""
    model = values.get("model", {})
    name = model.get("name", DEFAULT) if isinstance(model, Mapping) else DEFAULT
    return Recipe(model=config_of({"name": name}))


def _names_within(values: Mapping[str, Any]) -> set[str]:
    names = set(values)
    for value in values.values():
        if isinstance(value, Mapping):
            names |= _names_within(value)
    return names


def _line_of(text: str, keys: Sequence[str]) -> int:
    """The line of a recipe where a key is set; 0 where it cannot be told."""
    group: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*\[([\w.]+)\]", line):
            group = header[1].split(".")
        elif (key := re.match(r"\s*([\w.]+)\s*=", line)) and [*group, *key[1].split(".")] == [
            *keys[: len(group) + len(key[1].split("."))]
        ]:
            return number
        if header and group == list(keys):
            return number
    return 0


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
