"""PO, XLIFF and JSON files keep their messages and placeholders."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from tests.system.documents.files import XLIFF
from yakusu.data.files.po import Entry, Field, PoReader


def test_messages_are_marked_fuzzy_unless_they_had_a_translation(source: Path, out: Path) -> None:
    before, after = (entries(folder / "shop.po") for folder in (source, out))
    assert comments(out / "shop.po") == comments(source / "shop.po")
    for old, new in zip(before, after, strict=True):
        assert values(new.strings) == values(old.strings)
        if all(values(old.forms).values()):
            assert (values(new.forms), new.flags) == (values(old.forms), old.flags)
            continue
        assert "fuzzy" in new.flags and new.flags == {*old.flags, "fuzzy"}
        if "msgid_plural" in new.strings:
            assert all(made.value.count("%d") == 1 for made in new.forms.values())
            continue
        found = (
            sorted(re.findall(r"%[sd]|</?b>|\n$", each.value))
            for each in (new.strings["msgid"], new.forms[0])
        )
        assert next(found) == next(found)
    assert all(all(values(entry.forms).values()) for entry in after)


def entries(path: Path) -> list[Entry]:
    return list(PoReader("UTF-8").entries(path.read_text(encoding="utf-8").split("\n")))


def values(strings: Mapping[Any, Field]) -> dict[Any, str]:
    return {key: item.value for key, item in strings.items()}


def comments(path: Path) -> list[str]:
    """Lines with comments that are not flags, and obsolete messages."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line.startswith("#") and not line.startswith("#,")]


@pytest.mark.parametrize("name", XLIFF)
def test_units_keep_their_sources_and_older_targets(name: str, source: Path, out: Path) -> None:
    q = XLIFF[name]
    before, after = (etree.parse(str(folder / name)).getroot() for folder in (source, out))
    for tag in ("source", "note"):
        old, new = (
            [etree.tostring(e, with_tail=False) for e in root.iter(q + tag)]
            for root in (before, after)
        )
        assert old == new and old
    unit, new_states = ("trans-unit", 3) if q.endswith("1.2}") else ("segment", 2)
    marked = 0
    for old, new in zip(before.iter(q + unit), after.iter(q + unit), strict=True):
        target, older = new.find(q + "target"), old.find(q + "target")
        if old.get("translate") == "no" or old.getparent().get("translate") == "no":
            assert target is None
        elif older is not None and older.text != old.find(q + "source").text:
            assert etree.tostring(target) == etree.tostring(older)
            assert dict(new.attrib) == dict(old.attrib)
        else:
            assert _inline(target) == _inline(old.find(q + "source"))
            state = new.get("subState") or target.get("state-qualifier")
            marked += state in ("yakusu:mt", "leveraged-mt")
    assert marked == new_states


def _inline(element: Any) -> list[Any]:
    return sorted((child.tag, *sorted(child.attrib.items())) for child in element.iterdescendants())


def test_a_placeholder_of_a_unit_is_copied(out: Path) -> None:
    root = etree.parse(str(out / "app-1.xlf")).getroot()
    target = root.find(f".//{XLIFF['app-1.xlf']}trans-unit[@id='water']")[-1]
    assert "".join(target.itertext()).count("%d") == 1


@pytest.mark.parametrize("name", ["strings.json", "app.arb"])
def test_strings_keep_keys_values_and_placeholders(name: str, source: Path, out: Path) -> None:
    before, after = (
        dict(_leaves(json.loads((folder / name).read_text(encoding="utf-8"))))
        for folder in (source, out)
    )
    assert list(before) == list(after)
    changed = {key for key in before if before[key] != after[key]}
    assert after.pop("@@locale", "de") == "de" and before.pop("@@locale", "en") == "en"
    changed -= {"@@locale"}
    kept = ("menu.icon", "link", "empty", "@")
    assert [key for key in changed if key.startswith(kept)] == []
    assert all(isinstance(before[key], str) for key in changed) and len(changed) >= 3
    pattern = r"\{\{?(?:name|count|n|place|minutes)\b|, plural,|</?b>|=0|\bone\b|\bother\b|#"
    for key in changed:
        assert Counter(re.findall(pattern, before[key])) == Counter(re.findall(pattern, after[key]))


def _leaves(value: Any, key: str = "") -> Any:
    """The values of a JSON file that are not objects or lists, with their paths."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, own in items:
            yield from _leaves(own, f"{key}.{name}" if key else str(name))
    else:
        yield key, value
