"""Values of declared types: what configurations accept, and their errors."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel

from yakusu.config import Config, requirement
from yakusu.serve.config import ServeConfig
from yakusu.typed import ValidationError, setting


class Inner(Config):
    n: int = setting(1, ge=1, lt=10)


class Outer(Config):
    flag: bool = False
    share: float = 0.5
    even: int | None = setting(None, multiple_of=2)
    text: str = setting("", then=str.strip)
    choice: Literal["a", "b", 1] = "a"
    either: Annotated[int, setting(ge=1)] | str = 1
    several: tuple[Inner, ...] = ()
    pair: tuple[int, str] = (0, "")
    table: Mapping[str, int] = {}
    names: tuple[str, ...] = setting(("x",), min_length=1)

    @requirement
    def _check_flag(self) -> None:
        if self.flag and self.even:
            raise ValueError("flag and even are given together: give one")


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"flag": 1}, "flag: Input should be a valid boolean"),
        ({"share": "1"}, "share: Input should be a valid number"),
        ({"share": float("nan")}, "share: Input should be a finite number"),
        ({"even": True}, "even: Input should be a valid integer"),
        ({"even": 3}, "even: Input should be a multiple of 2"),
        ({"text": "\ud800"}, "text: Input should be valid Unicode"),
        ({"choice": True}, "choice: Input should be 'a', 'b' or 1"),
        ({"either": 0}, "either: Input should be greater than or equal to 1"),
        ({"several": [{}, {"n": 10}]}, "several.1.n: Input should be less than 10"),
        ({"several": [{"m": 1}]}, "several.0.m: Extra inputs are not permitted"),
        ({"several": {}}, "several: Input should be a valid list"),
        ({"pair": [1]}, "pair: Input should have 2 items"),
        ({"table": {"a": "b"}}, "table.a: Input should be a valid integer"),
        ({"names": []}, "names: Input should have at least 1 item"),
        ({"flag": True, "even": 2}, "flag and even are given together: give one"),
    ],
)
def test_an_invalid_value_is_named_with_its_keys(values: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate(values)
    assert str(error.value) == why


def test_only_integers_lists_and_mappings_are_converted() -> None:
    given = {"share": 1, "several": [{"n": 2}, Inner(n=3)], "pair": [1, "a"], "text": " a "}
    found = Outer.model_validate(given)
    assert found == Outer(share=1.0, several=(Inner(n=2), Inner(n=3)), pair=(1, "a"), text="a")
    assert type(found.share) is float and found.model_fields_set == given.keys()
    assert Outer.model_validate(found) is found
    assert Outer.model_validate(found.model_dump(mode="json")) == found


def test_a_copy_has_other_values_and_the_original_is_frozen() -> None:
    first = Inner()
    assert first.model_copy(update={"n": 5}) == Inner(n=5) and hash(first) == hash(Inner(n=1))
    with pytest.raises(AttributeError, match="Inner is frozen"):
        first.n = 2  # type: ignore[misc]


def test_a_model_of_pydantic_may_have_a_configuration() -> None:
    class Model(BaseModel):
        inner: Inner

    assert Model.model_validate({"inner": {"n": 4}}).model_dump_json() == '{"inner":{"n":4}}'
    with pytest.raises(ValueError, match="n: Input should be less than 10"):
        Model.model_validate({"inner": {"n": 10}})


def test_a_configuration_with_a_field_named_keys_is_compared_and_copied() -> None:
    config = ServeConfig(keys="keys.toml")
    assert config == ServeConfig(keys="keys.toml") != ServeConfig()
    assert config.model_copy(update={"port": 1}).keys == "keys.toml"
    with pytest.raises(ValueError, match=r"limits.seconds: Input should be a finite number"):
        ServeConfig.model_validate({"limits": {"seconds": 10**400}})
