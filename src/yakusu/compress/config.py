"""Compression settings: section `[compress]` of a TOML file, or the same keys in Python."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from yakusu.config import (
    Config,
    apply_override,
    did_you_mean,
    fault_message,
    parsed_toml,
    requirement,
)
from yakusu.errors import RecipeError
from yakusu.folder import read_utf8
from yakusu.typed import ValidationError, setting

Stack = Literal["encoder", "decoder"]
_KEYS = {"codes": ("m", "k", "fit", "mean"), "integers": ("step", "whitening", "tiers")}
_CHOSEN = {"codes": ("m", "k"), "integers": ("step",)}  # by a budget
_BUDGET = ("ratio", "bits", "max_loss")
_N_EXACT = 128


class CompressConfig(Config):
    """How matrices are compressed; the same keys for word vectors and for translators.

    A budget (`ratio`, `bits` or `max_loss`, at most one) chooses m and k, or the step.
    """

    method: Literal["codes", "integers"] = "codes"  # the paper's, or entropy-coded integers
    ratio: float | None = setting(None, gt=0)  # minimum compression ratio
    bits: float | None = setting(None, gt=0)  # maximum bits of codes per vector
    max_loss: float | None = setting(None, gt=0, lt=1)  # maximum share of the variance lost
    sample: int | None = setting(None, ge=2)  # rows that the fit uses; None: up to 2^27 numbers

    # codes
    m: int | None = setting(None, ge=1)  # components M; None: the width of the vectors
    k: int | None = setting(None, ge=2, le=2**16)  # codes per component K; None: 16
    fit: Literal["least-squares", "closed", "adam"] = "least-squares"  # adam: the paper's, slow
    mean: Literal["stored", "folded"] = "stored"  # folded into the weights: the paper's form

    # integers
    step: float | None = setting(None, gt=0)  # None: by the budget, else by max_loss = 0.05
    whitening: float = setting(0.5, ge=0, le=1)
    tiers: tuple[int, ...] = ()  # ranks where the step doubles

    # translators
    # encoder: source embedding; decoder: target embedding and output projection
    stacks: Annotated[tuple[Stack, ...], setting(min_length=1)] = ("encoder", "decoder")
    exact: int | None = setting(None, ge=0)  # number of exact vectors; None: 128, or 0 for integers
    int8: bool = False  # all other matrices with 8 bits per weight, as in trained models

    # word vectors
    half: bool = False  # mean, basis and weights in float16

    @requirement
    def _keys_fit_the_method(self) -> None:
        other = "integers" if self.method == "codes" else "codes"
        if given := self._given(_KEYS[other]):
            raise ValueError(
                f"{_have(given)} no effect unless compress.method = '{other}': set compress.method "
                f"or leave out {_named(given)}"
            )

    @requirement
    def _one_budget(self) -> None:
        budget, chosen = self._given(_BUDGET), self._given(_CHOSEN[self.method])
        if len(budget) > 1:
            raise ValueError(f"{_named(budget)} are given together: give only one of them")
        if budget and chosen:
            names = " and ".join(f"compress.{name}" for name in _CHOSEN[self.method])
            raise ValueError(f"{_named(budget)} chooses {names}: leave out {_named(chosen)}")
        if budget and self.mean == "folded":
            raise ValueError(
                f"{_named(budget)} is measured with a stored mean: give compress.m and compress.k "
                "with compress.mean = 'folded'"
            )

    @property
    def n_exact(self) -> int:
        """Number of exact vectors, those of the first rows."""
        if self.exact is None:
            return _N_EXACT if self.method == "codes" else 0
        return self.exact

    def refuse(self, names: Sequence[str], what: str) -> None:
        """Raise RecipeError if one of these keys is set.

        Args:
            names: Keys that have no effect.
            what: What is compressed, for the message.
        """
        if given := self._given(names):
            raise RecipeError(f"{_have(given)} no effect on {what}: leave out {_named(given)}")

    def _given(self, names: Sequence[str]) -> list[str]:
        defaults = self.model_fields()
        return [name for name in names if getattr(self, name) != defaults[name].default]


def load_compress_config(
    path: str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    options: Mapping[str, str | float | bool] | None = None,
) -> CompressConfig:
    """Read section `[compress]` of a TOML file and apply `compress.key=value` overrides.

    Args:
        path: The file; None for the defaults.
        overrides: Such as "compress.k=16"; they take precedence over the file.
        options: Values of command-line options by key, such as {"ratio": 8}; they take precedence
            over the overrides.

    Raises:
        RecipeError: The file cannot be read or is not TOML, a key is unknown, a value is out of
            range, or two settings contradict each other.
    """
    values, options = _read(Path(path)) if path is not None else {}, options or {}
    if unknown := [name for name in values if name != "compress"]:
        raise RecipeError(f"{path}: unknown key '{unknown[0]}': settings are in section [compress]")
    set_keys = [each.partition("=")[0].strip() for each in overrides]
    for each, key in zip(overrides, set_keys, strict=True):
        apply_override(values, each, example="compress.k=16")
        if key.split(".")[0] != "compress":
            raise RecipeError(f"--set: {_unknown(key)}")
    section = values.get("compress", {})
    if not isinstance(section, dict):
        raise RecipeError(
            f"{'--set' if 'compress' in set_keys else path}: compress = {section!r} is a group of "
            "keys: write compress.KEY = VALUE"
        )
    section |= options
    try:
        return CompressConfig.model_validate(section)
    except ValidationError as error:
        names, message = _fault(error)
        given = [name for name in names if name in section]
        places = dict.fromkeys(_place(name, path, set_keys, options) for name in given)
        raise RecipeError(f"{' and '.join(places)}: {message}") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return parsed_toml(read_utf8(path))
    except OSError as error:
        raise RecipeError(f"{path} cannot be read: {error.strerror}") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RecipeError(f"{path} is not TOML: {error}") from error


def _fault(error: ValidationError) -> tuple[list[str], str]:
    """Return the names of the keys that a validation error is about, and the error message."""
    if error.kind == "refused":
        return re.findall(r"compress\.(\w+)", error.why), error.why
    key = ".".join(["compress", *map(str, error.path)])
    names = [str(part) for part in error.path[:1]]
    if error.kind == "unknown":
        return names, _unknown(key)
    return names, fault_message(error, key.split("."))


def _unknown(key: str) -> str:
    hint = did_you_mean(key.split(".")[-1], [*CompressConfig.model_fields()], section="compress.")
    return f"unknown key '{key}': {hint}"


def _place(
    name: str, path: str | Path | None, set_keys: Sequence[str], options: Mapping[str, Any]
) -> str:
    """Return where a key was set: the option of this name, --set, or the file."""
    if name in options:
        return f"--{name.replace('_', '-')}"
    key = f"compress.{name}"
    if any(other in ("compress", key) or other.startswith(f"{key}.") for other in set_keys):
        return "--set"
    return str(path)


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"compress.{name}" for name in names)


def _have(names: Sequence[str]) -> str:
    return f"{_named(names)} {'has' if len(names) == 1 else 'have'}"
