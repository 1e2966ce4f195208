"""A registry finds factories by name and suggests the most similar name for an unknown one."""

import pytest

from yakusu.config import Registry, nearest
from yakusu.errors import RecipeError


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
    assert nearest(name, ["beam", "alpha"]) == hint
