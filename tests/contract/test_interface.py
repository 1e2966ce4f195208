"""A refactoring leaves the interface as it is: names, options, HTTP schema, configuration keys."""

import json

import pytest

from tests.interface import LISTING, interface

LISTED = json.loads(LISTING.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def now() -> dict[str, object]:
    return interface()


@pytest.mark.parametrize("part", LISTED)
def test_the_interface_is_the_one_that_is_listed(part: str, now: dict[str, object]) -> None:
    assert now[part] == LISTED[part]
