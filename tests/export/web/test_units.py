"""Bytes as units of UTF-16, and sets of characters as differences, can be read again."""

import random

import numpy as np

from yakusu.export.web.patterns import Ranges
from yakusu.export.web.sets import compact_sets
from yakusu.export.web.units import ESCAPE, in_units


def read(units: bytes) -> bytes:
    """What file.js does."""
    given, made = iter(np.frombuffer(units, "<u2").tolist()), []
    for unit in given:
        if unit == ESCAPE:
            unit = next(given)
            unit += -0x100 if unit < 0x200 else 0x8000
        made.append(unit)
    return np.array(made, "<u2").tobytes()


def test_every_unit_survives_as_text_that_html_does_not_change() -> None:
    data = np.arange(0x10000, dtype="<u2").tobytes()
    made = in_units(data)
    text = made.decode("utf-16-le")  # without surrogates
    assert not {"\0", "\r", "<"} & set(text)
    assert read(made) == data


def test_an_odd_number_of_bytes_is_filled_up() -> None:
    assert read(in_units(b"abc")) == b"abc\0"
    assert in_units(b"") == b""


def test_random_bytes_grow_by_three_percent() -> None:
    data = random.Random(1).randbytes(100_000)
    assert len(in_units(data)) < 1.035 * len(data)


def decoded(text: str) -> list[Ranges]:
    """What runtime.js does."""
    made: list[set[int]] = []
    for each in text.split(";"):
        base, colon, own = each.rpartition(":")
        places, place = set(made[int(base or "0", 36)]) if colon else set(), 0
        for distance in own.split(",") if own else []:
            place += int(distance or "0", 36)
            places ^= {place}
        made.append(places)
    ordered = map(sorted, made)
    return [tuple((a, b - 1) for a, b in zip(p[::2], p[1::2], strict=True)) for p in ordered]


def test_sets_are_read_as_they_were() -> None:
    rng = random.Random(2)
    sets: list[Ranges] = [((0, 5), (9, 9)), ((0, 0x10FFFF),)]
    for _ in range(60):
        places = sorted(rng.sample(range(0, 2000, 3), 40))
        ranges = dict(zip(places[::2], places[1::2], strict=True))
        sets.append(tuple(ranges.items()))
        changed = dict(ranges)
        changed.pop(rng.choice(list(ranges)))
        sets.append(tuple(changed.items()))
    assert decoded(compact_sets(sets)) == sets
    assert len(compact_sets(sets)) < 0.7 * len(compact_sets(sets[::2])) * 2
    assert decoded(compact_sets([((1, 2), (3, 4))])) == [((1, 4),)]
