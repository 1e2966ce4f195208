"""Names lead to factories; an unknown name is answered with the nearest one."""

import pytest

from yakusu.config import Registry, nearest
from yakusu.errors import RecipeError


def test_what_is_registered_is_found_under_its_name_and_stays_what_it_was() -> None:
    kinds: Registry[type] = Registry("kind")

    @kinds.register("circle")
    class Circle:
        pass

    assert kinds["circle"] is Circle
    assert list(kinds) == ["circle"]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    kinds: Registry[str] = Registry("shape")
    kinds.register("circle")("c")
    kinds.register("square")("s")
    with pytest.raises(RecipeError) as error:
        kinds["squares"]
    assert str(error.value) == "there is no shape 'squares': did you mean 'square'?"
    with pytest.raises(RecipeError) as error:
        kinds["zzz"]
    assert str(error.value) == "there is no shape 'zzz': known: circle, square"


def test_a_name_is_given_once() -> None:
    kinds: Registry[str] = Registry("shape")
    kinds.register("circle")("c")
    with pytest.raises(AssertionError, match="shape 'circle' is registered twice"):
        kinds.register("circle")("d")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("beem", "did you mean 'beam'?"),
        ("beam", "did you mean 'beam'?"),
        ("x", "known: alpha, beam"),
        ("", "known: alpha, beam"),
    ],
)
def test_nearest_proposes_one_name_or_lists_all(name: str, remedy: str) -> None:
    assert nearest(name, ["beam", "alpha"]) == remedy
