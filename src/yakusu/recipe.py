"""Recipe: the one TOML file that determines a run; load, override, save."""

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack

import tomli_w

from yakusu.config import (
    Config,
    apply_override,
    did_you_mean,
    fault_keys,
    fault_message,
    fault_place,
    parsed_toml,
    requirement,
)
from yakusu.data.augmentation import AugmentationConfig
from yakusu.data.batches import BatchConfig
from yakusu.data.config import DataConfig, Direction
from yakusu.data.corpus import (
    Corpus,
    checked_encoding,
    parse_columns,
    with_encoding,
    with_languages,
)
from yakusu.data.files.text import ErrorPolicy
from yakusu.data.filters import FilterConfig
from yakusu.data.vocabulary import LANGUAGE_TOKEN, TokenizerConfig
from yakusu.errors import RecipeError
from yakusu.folder import read_utf8, write_text
from yakusu.model.config import CONFIGS, DEFAULT, DROPOUTS, AnyConfig, config_of
from yakusu.recipes import recipe_names
from yakusu.search.config import SearchConfig
from yakusu.training.config import ParentConfig, TrainingConfig
from yakusu.typed import ValidationError, setting


class Recipe(Config):
    """All settings of a run."""

    task: Literal["translation", "parsing"] = "translation"
    run: str = ""  # run folder
    seed: int = setting(1, ge=0, lt=2**32)
    parent: ParentConfig = ParentConfig()
    data: DataConfig = DataConfig()
    filters: FilterConfig = FilterConfig()
    tokenizer: TokenizerConfig = TokenizerConfig()
    augmentation: AugmentationConfig = AugmentationConfig()
    batches: BatchConfig = BatchConfig()
    model: AnyConfig = config_of({})
    training: TrainingConfig = TrainingConfig()
    search: SearchConfig = SearchConfig()

    @requirement
    def _check_positions(self) -> None:
        needed = self.filters.max_tokens + 1  # eos
        if self.model.max_length < needed:
            raise ValueError(
                f"model.max_positions = {self.model.max_length} is less than "
                f"filters.max_tokens + 1 = {needed}: increase model.max_positions or decrease "
                "filters.max_tokens"
            )

    @requirement
    def _check_tied(self) -> None:
        if self.model.tied == "three-way" and not self.tokenizer.joint:
            raise ValueError(
                "model.tied = 'three-way' requires a joint vocabulary, but tokenizer.joint is "
                "false: set model.tied = 'decoder'"
            )

    @requirement
    def _check_r_drop(self) -> None:
        if self.training.r_drop and not any(getattr(self.model, key, 0.0) for key in DROPOUTS):
            raise ValueError(
                f"training.r_drop = {self.training.r_drop:g} has no effect without dropout: set "
                "model.dropout, or remove training.r_drop"
            )

    @requirement
    def _check_bpe_dropout(self) -> None:
        if not self.training.bpe_dropout:
            return
        if self.tokenizer.kind != "bpe" or (self.parent.vocabulary == "keep" and self.parent.model):
            raise ValueError(
                f"training.bpe_dropout = {self.training.bpe_dropout:g} needs a vocabulary that is "
                "learned by BPE in this run: set tokenizer.kind = 'bpe' and, with a parent, "
                "parent.vocabulary = 'learn'; or remove training.bpe_dropout"
            )

    @requirement
    def _check_coverage(self) -> None:
        if self.search.coverage and not self.model.attends:
            raise ValueError(
                f"search.coverage = {self.search.coverage:g} needs attention to the source, which "
                f"model.name = '{self.model.name}' with these settings does not have: set "
                "search.coverage = 0"
            )

    @requirement
    def _check_task(self) -> None:
        parsing = self.task == "parsing"
        for key, corpus in self.data.corpora.items():
            if bool(corpus.trees) != parsing:
                option = {"train": " (--trees FILE)", "dev": " (--dev-trees FILE)"}.get(key, "")
                raise ValueError(
                    f"a parser is trained on trees, not on text: set data.{key}.trees{option}"
                    if parsing
                    else "only a parser is trained on trees: start from the recipe 'parse' or "
                    "'parse-small'"
                )
        if parsing and self.data.others:
            raise ValueError("a parser has one corpus of trees: remove data.others")
        if parsing != (self.tokenizer.target == "tokens"):
            raise ValueError(
                f"task = '{self.task}' does not match tokenizer.target = "
                f"'{self.tokenizer.target}': parsing requires 'tokens', translation 'text'; start "
                "from the recipe 'parse' for a parser"
            )
        if parsing and not self.augmentation.is_off:
            raise ValueError("trees are not typed in other ways: remove augmentation")

    @property
    def languages(self) -> tuple[str, str]:
        """Codes of the source and target languages, of the first direction if there are several."""
        return self.data.languages

    @property
    def directions(self) -> "tuple[Recipe, ...]":
        """A recipe for each direction, with its corpora and languages; only the first has `extra`.

        Raises:
            RecipeError: The target language of one of several directions is not known.
        """
        if not self.data.others:
            return (self,)
        first = self.data.model_copy(update={"others": (), "temperature": 1.0})
        others = (DataConfig(**dict(other), hold_out=first.hold_out) for other in self.data.others)
        found = tuple(self.model_copy(update={"data": data}) for data in (first, *others))
        unknown = [" and ".join(map(str, r.data.train.files)) for r in found if not r.languages[1]]
        if unknown:
            raise RecipeError(
                f"the target language of {unknown[0]} is unknown: set target_language"
            )
        return found

    @property
    def target_languages(self) -> tuple[str, ...]:
        """The codes of several target languages, which need a token each; () for one.

        Raises:
            RecipeError: A code is not known, or cannot be part of a token.
        """
        codes = tuple(dict.fromkeys(each.languages[1] for each in self.directions))
        if len(codes) == 1:
            return ()
        for code in codes:
            if not LANGUAGE_TOKEN.fullmatch(f">>{code}<<"):
                raise RecipeError(
                    f"target_language = '{code}' is not a language code: use letters, digits and -"
                )
        return codes


class RecipeFiles(TypedDict, total=False):
    """Files and folders of a recipe, named like the options of the command line.

    Attributes:
        run: Run folder.
        parent: Model folder to start from.
        mix: Share of the training pairs that are taken from the parent's corpus.
        src: Source sentences of the training set; a list of files, if there are several corpora.
        tgt: Their translations, line by line.
        pairs: One file with both sides of the training set: TMX, XLIFF, PO, TSV, CSV, JSON lines,
            xlsx, ods or docx; or a list of files, which are read after `src` and `tgt`.
        dev_src: Source sentences of the dev set.
        dev_tgt: Their translations, line by line.
        dev_pairs: One file with both sides of the dev set.
        columns: Source and target in files of pairs, such as "en,de" or "1,3": languages, or names
            or numbers of columns.
        errors: What to do with lines that are not UTF-8: "strict", "skip" or "replace".
        encoding: The encoding of text files that are not UTF-8, or one for `src` and one for
            `tgt`, as in "cp949,utf-8"; None: detected.
        trees: Trees to train a parser on: a file, a folder or a pattern.
        dev_trees: Trees of the dev set.
    """

    run: str | Path | None
    parent: str | Path | None
    mix: float | None
    src: str | Path | Sequence[str | Path] | None
    tgt: str | Path | Sequence[str | Path] | None
    pairs: str | Path | Sequence[str | Path] | None
    dev_src: str | Path | None
    dev_tgt: str | Path | None
    dev_pairs: str | Path | None
    columns: str | None
    errors: ErrorPolicy | None
    encoding: str | None
    trees: str | Path | None
    dev_trees: str | Path | None


def load_recipe(
    name: str | Path, overrides: Sequence[str] = (), **files: Unpack[RecipeFiles]
) -> Recipe:
    """Load a recipe and override some of its keys.

    Args:
        name: Path of a TOML file, or the name of a packaged recipe such as "tiny".
        overrides: Keys to override, such as "training.max_steps=500"; the last one wins.
        files: Files and folders, and how they are read; see `RecipeFiles`.

    Raises:
        RecipeError: The recipe does not exist, cannot be read, is not TOML, or has an unknown key
            (the message names the closest valid one) or an invalid value.

    Example:
        `load_recipe("tiny", ["model.dropout=0.1"], src="train.en", tgt="train.de", run="runs/1")`
    """
    path = _find(name)
    try:
        text = read_utf8(path)
        values = parsed_toml(text)
    except OSError as error:
        raise RecipeError(f"{name} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{name} is not valid TOML: {error}") from error
    overrides = [*as_overrides(files), *overrides]
    for override in overrides:
        apply_override(values, override)
    try:
        recipe = _with_languages(Recipe.model_validate(_in_strings(_expanded, values)))
    except ValidationError as error:
        keys = fault_keys(error, values)
        where = fault_place(keys, text, str(name), overrides)
        is_unknown = error.kind == "unknown"
        problem = _unknown_key(keys, values) if is_unknown else fault_message(error, keys)
        raise RecipeError(f"{where}: {problem}") from error
    if recipe.parent.model:
        _refuse_sizes(overrides)
    recipe = _with_reading(recipe, files.get("errors"), files.get("encoding"))
    pairs = [each.pairs for each in (*recipe.data.train.parts, recipe.data.train, recipe.data.dev)]
    if (columns := files.get("columns")) and not any(pairs):
        raise RecipeError(f"--columns {columns} has no effect without --pairs FILE: remove it")
    return recipe


_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")  # of the environment
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
    "trees": ["data.train.trees"],
    "dev_trees": ["data.dev.trees"],
}


_READING = {"columns", "errors", "encoding"}  # how files are read
_CORPUS = ("src", "tgt", "pairs")


def as_overrides(files: Mapping[str, Any]) -> list[str]:
    """Return the overrides of a recipe that set its files.

    Raises:
        RecipeError: An argument is unknown.
    """
    if unknown := set(files) - {*_KEYS, *_READING}:
        raise RecipeError(
            f"unknown argument '{min(unknown)}': pass keys of the recipe as overrides, as in "
            '["training.max_steps=500"]'
        )
    given = {name: value for name, value in files.items() if value not in (None, [], ())}
    columns = given.pop("columns", None)
    for name in _READING & given.keys():
        del given[name]
    several = {name: _listed(given.pop(name)) for name in _CORPUS if name in given}
    listed = list[str]()
    if any(len(paths) > 1 for paths in several.values()) or len(several) == len(_CORPUS):
        listed = [f"data.train={_several(**several, columns=columns)}"]
    else:
        given |= {name: paths[0] for name, paths in several.items() if paths}
    overrides = listed + [
        f"{key}={json.dumps(value if isinstance(value, float) else str(value), ensure_ascii=False)}"
        for name, value in given.items()
        for key in _KEYS[name]
    ]
    if columns is None:
        return overrides
    splits = [split for split, name in (("train", "pairs"), ("dev", "dev_pairs")) if name in given]
    return overrides + [
        f"data.{split}.{key}={value}"
        for split in splits or ([] if listed else ["train"])
        for key, value in _column_keys(columns)
    ]


def _column_keys(columns: str) -> list[tuple[str, str]]:
    """The keys of a corpus that select columns, and their values in TOML."""
    sides = zip(("src", "tgt"), parse_columns(columns), strict=True)
    return [(f"{side}_column", json.dumps(value, ensure_ascii=False)) for side, value in sides]


def _listed(paths: Any) -> list[str]:
    """One path, or several, as a list of texts."""
    return [str(paths)] if isinstance(paths, str | Path) else [*map(str, paths)]


def _several(
    src: Sequence[str] = (),
    tgt: Sequence[str] = (),
    pairs: Sequence[str] = (),
    columns: str | None = None,
) -> str:
    """Several corpora as a list in TOML: the text files in pairs, then the files with both sides.

    Raises:
        RecipeError: There are not as many sources as targets.
    """
    if len(src) != len(tgt):
        raise RecipeError(
            f"there are {len(src)} --src and {len(tgt)} --tgt files: give one --tgt for each "
            "--src, in the same order"
        )
    texts = [{"src": one, "tgt": other} for one, other in zip(src, tgt, strict=True)]
    entries = [
        [(key, json.dumps(path, ensure_ascii=False)) for key, path in each.items()]
        for each in texts
    ]
    keys = _column_keys(columns) if columns else []
    entries += [[("pairs", json.dumps(path, ensure_ascii=False)), *keys] for path in pairs]
    written = (", ".join(f"{key} = {value}" for key, value in each) for each in entries)
    return f"[{', '.join(f'{{{each}}}' for each in written)}]"


def _refuse_sizes(overrides: Sequence[str]) -> None:
    """Refuse keys of [model] that a parent determines."""
    for override in overrides:
        key = override.partition("=")[0].strip()
        section, _, name = key.partition(".")
        if section == "model" and name not in DROPOUTS:
            raise RecipeError(
                f"--set {key} has no effect with parent.model (--from), which determines all of "
                f"[model] except {', '.join(DROPOUTS)}: remove this setting"
            )


def save_recipe(recipe: Recipe, path: Path) -> None:
    """Write a recipe with the values of all keys."""
    values = recipe.model_dump(exclude_none=True)
    write_text(path, tomli_w.dumps(_in_strings(_escaped, values)))


def differences(one: Recipe, other: Recipe) -> list[str]:
    """Return the keys whose values differ, as "a.b = 1, not 2"."""
    return [
        f"{key} = {mine!r}, not {theirs!r}" for key, (mine, theirs) in changes(one, other).items()
    ]


def changes(one: Recipe, other: Recipe) -> dict[str, tuple[Any, Any]]:
    """Return the keys that both recipes have and whose values differ, with both values."""
    mine, theirs = flat(one.model_dump()), flat(other.model_dump())
    common = [key for key in mine if key in theirs]  # architectures have different keys
    return {key: (mine[key], theirs[key]) for key in common if mine[key] != theirs[key]}


def _find(name: str | Path) -> Path:
    path = Path(name)
    if path.is_file():
        return path
    package = resources.files("yakusu.recipes")
    packaged = package / f"{name}.toml"
    if packaged.is_file():
        return Path(str(packaged))
    if path.exists() and not path.is_dir():
        return path  # reading it says what it is
    folders = [entry.name for entry in package.iterdir() if entry.is_dir()]
    if path.suffix == ".toml" or str(path.parent) not in (".", *folders):
        raise RecipeError(f"{name} does not exist: check the path of the recipe")
    known = [str(path.parent / other) for other in recipe_names(str(path.parent))]
    raise RecipeError(f"there is no recipe '{name}': {did_you_mean(str(name), known)}")


def _with_languages(recipe: Recipe) -> Recipe:
    """Select the languages of the recipe in TMX and XLIFF files for which none are selected."""
    data = recipe.data
    first = _selected(data)
    updates = {
        **first,
        "extra": with_languages(data.extra, data.model_copy(update=first).languages),
        "others": tuple(each.model_copy(update=_selected(each)) for each in data.others),
    }
    return recipe.model_copy(update={"data": data.model_copy(update=updates)})


def with_encodings(recipe: Recipe) -> Recipe:
    """Return a recipe that names the encodings of its corpora, as far as they are not UTF-8.

    Raises:
        DataError: The encoding of a file is unclear.
    """
    return _with_corpora(recipe, with_encoding)


def _with_reading(recipe: Recipe, errors: ErrorPolicy | None, encoding: str | None) -> Recipe:
    """Set what is done with invalid lines in all corpora, and the encoding of those with text.

    Raises:
        RecipeError: The encoding is unknown.
    """
    encoding = checked_encoding(encoding or "")

    def changed(corpus: Corpus) -> Corpus:
        update: dict[str, Any] = {"parts": tuple(map(changed, corpus.parts))}
        update |= {"errors": errors} if errors else {}
        both = corpus.src and corpus.tgt
        if encoding and (both or ("," not in encoding and (corpus.src or corpus.pairs))):
            update["encoding"] = encoding
        return corpus.model_copy(update=update)

    return _with_corpora(recipe, changed) if errors or encoding else recipe


def _with_corpora(recipe: Recipe, change: Callable[[Corpus], Corpus]) -> Recipe:
    """Change all corpora of a recipe."""
    data = recipe.data
    others = tuple(
        each.model_copy(update={"train": change(each.train), "dev": change(each.dev)})
        for each in data.others
    )
    update = {"train": change(data.train), "dev": change(data.dev), "extra": change(data.extra)}
    return recipe.model_copy(update={"data": data.model_copy(update=update | {"others": others})})


def _selected(direction: Direction) -> dict[str, Corpus]:
    """Return the corpora of a direction with its languages."""
    train = with_languages(direction.train, (direction.source_language, direction.target_language))
    languages = direction.model_copy(update={"train": train}).languages
    return {"train": train, "dev": with_languages(direction.dev, languages)}


def _in_strings(change: Callable[[str], str], value: Any) -> Any:
    """Change all strings in a value."""
    if isinstance(value, dict):
        return {key: _in_strings(change, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_strings(change, item) for item in value]
    return change(value) if isinstance(value, str) else value


def _expanded(text: str) -> str:
    """Replace environment variables in a string; "$$" is "$"."""

    def value_of(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name and name not in os.environ:
            raise RecipeError(f"'{text}' needs the environment variable {name}: set it first")
        return os.environ[name] if name else "$"

    return _VARIABLE.sub(value_of, text)


def _escaped(text: str) -> str:
    """A string that `_expanded` changes to the given one."""
    return _VARIABLE.sub(lambda match: match[0].replace("$", "$$"), text)


def _unknown_key(keys: Sequence[str], values: Mapping[str, Any]) -> str:
    key = ".".join(keys)
    owners = [name for name in CONFIGS if keys[-1] in CONFIGS[name].model_fields()]
    if keys[0] == "model" and owners:
        named = " or ".join(f"'{name}'" for name in owners)
        return (
            f"{key} exists only with model.name = {named}: remove it, or start from a recipe "
            "of the architecture that you want, such as 'base', 'lstm' or 'conv'"
        )
    model = values.get("model", {})
    name = model.get("name", DEFAULT) if isinstance(model, Mapping) else DEFAULT
    defaults = Recipe(model=config_of({"name": name}))
    entry = f"data.others.{keys[2]}." if keys[:2] == ["data", "others"] and keys[2:] else ""
    entries = flat(Direction().model_dump(), entry) if entry else {}
    known = [*flat(defaults.model_dump()), *Recipe.model_fields(), *entries]
    same_name = [other for other in known if other.split(".")[-1] == keys[-1]]
    same_group = [other for other in known if other.split(".")[:-1] == list(keys[:-1])]
    return f"unknown key '{key}': {did_you_mean(key, same_name or same_group)}"


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested values by their keys, such as "training.max_steps"."""
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found
