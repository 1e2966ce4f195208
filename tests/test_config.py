"""Registries, and messages about settings in TOML: names, keys, places and fixes."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from yakusu.config import Registry, apply_override, did_you_mean, parsed_toml
from yakusu.errors import RecipeError
from yakusu.recipe import load_recipe

TRAIN = 'train = { src = "a.en", tgt = "a.de" }\n'


def test_a_registered_class_is_found_by_its_name_and_unchanged() -> None:
    kinds: Registry[type] = Registry("kind")

    @kinds.register("circle")
    class Circle:
        pass

    assert kinds["circle"] is Circle
    assert list(kinds) == ["circle"]


def test_an_unknown_name_suggests_the_most_similar_one() -> None:
    kinds: Registry[str] = Registry("shape")
    kinds.register("circle")("c")
    kinds.register("square")("s")
    with pytest.raises(RecipeError) as error:
        kinds["squares"]
    assert str(error.value) == "there is no shape 'squares': did you mean 'square'?"
    with pytest.raises(RecipeError) as error:
        kinds["zzz"]
    assert str(error.value) == "there is no shape 'zzz': choose from circle, square"


def test_a_name_cannot_be_registered_twice() -> None:
    kinds: Registry[str] = Registry("shape")
    kinds.register("circle")("c")
    with pytest.raises(AssertionError, match="shape 'circle' is registered twice"):
        kinds.register("circle")("d")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("beem", "did you mean 'beam'?"),
        ("beam", "did you mean 'beam'?"),
        ("x", "choose from alpha, beam"),
        ("", "choose from alpha, beam"),
    ],
)
def test_nearest_suggests_one_name_or_lists_all_names(name: str, hint: str) -> None:
    assert did_you_mean(name, ["beam", "alpha"]) == hint


# ---- messages about keys -------------------------------------------------------------------------


def error_of(folder: Path, text: str, *overrides: str) -> str:
    path = folder / "r.toml"
    path.write_text(text)
    with pytest.raises(RecipeError) as error:
        load_recipe(path, overrides)
    return str(error.value).removeprefix(f"{path}, ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"[data]\n[[data.others]]\n{TRAIN}target_lang = 'fr'\n",
            "line 4: unknown key 'data.others.1.target_lang': did you mean "
            "'data.others.1.target_language'?",
        ),
        (
            f"[data]\n[[data.others]]\n{TRAIN}[[data.others]]\ntarget_language = 5\n{TRAIN}",
            "line 5: data.others.2.target_language = 5: input should be a valid string",
        ),
        (
            "[data]\n[[data.others]]\n[data.others.train]\nsrc = 5\n",
            "line 4: data.others.1.train.src = 5: input should be a valid string",
        ),
        (
            "[data]\n[[data.others]]\ntarget_language = 'fr'\n",
            "line 2: an entry of data.others has no training corpus: set its train",
        ),
        (
            f"[data.others]\n{TRAIN}",
            "line 1: data.others is a list of groups of keys: write [[data.others]]",
        ),
        (
            "[data]\nothers = [5]\n",
            "line 2: data.others is a list of groups of keys: write [[data.others]]",
        ),
        (
            "[data]\ntrain = 5\n",
            "line 2: data.train = 5 is a group of keys: write data.train.KEY = VALUE",
        ),
    ],
)
def test_a_fault_has_its_line_its_key_and_a_fix(text: str, message: str, tmp_path: Path) -> None:
    assert error_of(tmp_path, text) == message


def test_a_fault_within_an_overridden_list_was_set_by_the_option(tmp_path: Path) -> None:
    entry = '{train={src="a", tgt="b"}, target_language=5}'
    found = error_of(tmp_path, f"[data]\n[[data.others]]\n{TRAIN}", f"data.others=[{entry}]")
    assert found == "--set: data.others.1.target_language = 5: input should be a valid string"


# ---- TOML of users -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n" + ".".join(["a"] * 502) + " = 1", "line 2 has more than 500 dots"),
        ("#" * 250_001, "more than 250,000 characters"),
        ("a = " + "[" * 100_000, "recursion"),
        ("a = " + "9" * 5_000, "4300 digits"),
    ],
)
def test_toml_that_takes_too_much_time_or_memory_is_refused(text: str, message: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match=message):
        parsed_toml(text)


def test_toml_may_have_many_dots_in_all() -> None:
    text = "\n".join(f"{'a.' * 200}b{n} = 07:32:00.5" for n in range(5))
    assert parsed_toml(text) == tomllib.loads(text)


def test_an_override_nested_too_deeply_is_a_string() -> None:
    values: dict[str, Any] = {}
    apply_override(values, "a=" + "[" * 100_000)
    assert values == {"a": "[" * 100_000}


@pytest.mark.parametrize(("text", "value"), [(".1", 0.1), ("-.5", -0.5), ("2.", 2.0), (".", ".")])
def test_an_override_may_leave_out_a_zero(text: str, value: float | str) -> None:
    values: dict[str, Any] = {}
    apply_override(values, f"a={text}")
    assert values == {"a": value}
