"""String catalogues of Xcode (.xcstrings): keys with a localization for each language.

    "%lld files": {"localizations": {"en": {"variations": {"plural": {
        "one": {"stringUnit": {"state": "translated", "value": "%lld file"}}, ...}}}}}

The localization of the target language is added, in the state needs_review, and those of other
languages stay. Translations that exist are kept, except those in the state new. A plural has the
categories of the target language; those that the source lacks are made from `other`. What comes
from a memory that has exactly this text has the state translated, unless a plural form was added.

https://developer.apple.com/documentation/xcode/localizing-and-varying-text-with-a-string-catalog
"""

import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yakusu.data.languages import closest
from yakusu.documents.document import DocumentOptions, Known
from yakusu.documents.languages import check_language
from yakusu.documents.messages.icu import Message
from yakusu.documents.messages.identifiers import has_words, is_key, is_language
from yakusu.documents.messages.json_strings import (
    JsonNumber,
    JsonStyle,
    JsonValue,
    decoded_json,
    json_values,
    parsed_json,
)
from yakusu.documents.messages.layouts import JsonPath
from yakusu.documents.messages.plurals import CATEGORIES, plural_categories
from yakusu.documents.messages.positional import reordered
from yakusu.documents.messages.units import spliced
from yakusu.errors import DataError

_UNKNOWN = Known()
_INDENTATION = re.compile(r"\{(\r?\n)([ \t]++)")
_COLON = re.compile(r'"([ \t]*+:[ \t]*+)')
_SETTING = re.compile(r"(?:CF|LS|NS|UI)[A-Z]\w+")  # a key of Info.plist
_UNTRANSLATED = ("new", "")  # states of values that are not translations


@dataclass
class _Value:
    """A value to translate.

    Attributes:
        source: The value in the source language.
        message: Its texts.
        is_added: Whether its plural category is one that the source lacks.
    """

    source: str
    message: Message
    is_added: bool = False

    @classmethod
    def of(cls, source: str) -> "_Value":
        """A value, which has no texts if it is not in natural language."""
        return cls(source, Message(source if is_language(source) else ""))


@dataclass
class _Entry:
    """An entry that lacks a translation.

    Attributes:
        key: Its key.
        line: Its line.
        localization: That of the target language, with a `_Value` for what is to be translated.
        values: Those values.
    """

    key: str
    line: int
    localization: dict[str, Any]
    values: list[_Value]

    @property
    def n_texts(self) -> int:
        """The number of its texts."""
        return sum(len(value.message.texts) for value in self.values)

    def reason(self, why: str) -> str:
        """A sentence about the entry."""
        return f"line {self.line}: {json.dumps(self.key, ensure_ascii=False)} {why}"


class XcstringsDocument:
    """A string catalogue that lacks translations.

    Attributes:
        texts: The texts of all entries to translate.
        keys: The key of each text.
        skipped: Entries that stay untranslated, each with the reason; complete after `render`.
    """

    lines: Sequence[int] = ()
    reports_blank = True

    def __init__(self, data: bytes, options: DocumentOptions) -> None:
        self._bom, self._encoding, self._content = decoded_json(data)
        root = parsed_json(self._content)
        if not isinstance(root, dict) or not isinstance(root.get("strings"), dict):
            raise DataError(
                'line 1: the file has no "strings", as string catalogues of Xcode have: check its '
                "format"
            )
        self._places = _places(self._content)
        self._line_ends = [found.start() for found in re.finditer("\n", self._content)]
        self._source = str(root.get("sourceLanguage") or options.languages[0])
        self._target = self._language(root["strings"], options.languages[1])
        self._retranslate = options.retranslate
        self._known: Mapping[int, Known] = {}
        self._left: list[str] = []
        self._entries = [
            entry
            for key, value in root["strings"].items()
            if (entry := self._entry(key, value)) is not None
        ]
        if self._entries:
            line = self._line(max(0, self._content.find('"sourceLanguage"')))
            check_language("source", self._source, options.languages[0], line)
        self.skipped: Sequence[str] = self._left
        messages = [(e.key, value.message) for e in self._entries for value in e.values]
        self.texts: Sequence[str] = [text for _, each in messages for text in each.texts]
        self.keys: Sequence[str] = [key for key, each in messages for _ in each.texts]

    def tell(self, known: Mapping[int, Known]) -> None:
        """See `StatesOrigin.tell`."""
        self._known = known

    def render(self, translations: Sequence[str]) -> bytes:
        """Return the file with these translations, one for each text.

        Raises:
            DataError: The target language is unknown.
        """
        writer = _Writer(self._content, self._places)
        edits, skipped, at = list[tuple[int, int, str]](), [*self._left], 0
        for entry in self._entries:
            texts = range(at, at := at + entry.n_texts)
            known = [self._known.get(number, _UNKNOWN) for number in texts]
            given = iter([translations[number] for number in texts])
            strings, reason = _rendered(entry, given)
            if reason:
                kept = "; ".join(dict.fromkeys(each.kept for each in known if each.kept))
                skipped.append(entry.reason(kept or reason))
                continue
            if not self._target:
                raise DataError(
                    "the target language is unknown, for which translations are added: use a model "
                    "that states its languages"
                )
            is_added = any(value.is_added for value in entry.values)
            is_sure = not is_added and all(each.match == 100 for each in known)
            state = "translated" if is_sure else "needs_review"
            new = _filled(entry.localization, state, iter(strings))
            edits.append(writer.with_localization(entry.key, self._target, new))
        self.skipped = skipped
        return self._bom + spliced(self._content, sorted(edits)).encode(self._encoding)

    def _language(self, strings: Mapping[str, Any], wanted: str) -> str:
        """The code of the target language in the file, or else the wanted one."""
        codes = {
            code: None
            for value in strings.values()
            for code in _object(_object(value).get("localizations"))
            if code != self._source
        }
        found = closest(wanted, codes) if wanted else []
        return found[0] if found else wanted

    def _line(self, position: int) -> int:
        return bisect(self._line_ends, position - 1) + 1

    def _entry(self, key: str, value: Any) -> _Entry | None:
        """An entry that lacks a translation; None: it is complete or has no text."""
        line = self._line(self._places["strings", key].start)
        localizations = value.get("localizations", {}) if isinstance(value, dict) else None
        if not isinstance(localizations, dict) or {*map(type, localizations.values())} - {dict}:
            raise DataError(
                f"line {line}: {json.dumps(key, ensure_ascii=False)} is not an entry of a string "
                "catalogue, which is an object: correct the file"
            )
        if value.get("shouldTranslate") is False:
            return None
        source = _object(localizations.get(self._source))
        if not source and (is_key(key) or _SETTING.fullmatch(key)):
            self._left.append(f"line {line}: {json.dumps(key)} has no text in the source language")
            return None
        source = source or {"stringUnit": {"state": "new", "value": key}}
        target = _object(localizations.get(self._target))
        done = {} if self._retranslate else dict(_translations(target, ()))
        values = list[_Value]()
        categories = plural_categories(self._target)
        localization = _planned(source, (), categories, done, values)
        if len(dict(_translations(localization, ()))) < len(done):
            return None  # the translation has other variations than the source, which are kept
        found = _Entry(key, line, localization, values)
        if problem := next((v.message.problem for v in values if v.message.problem), ""):
            self._left.append(found.reason(f"cannot be translated: {problem}"))
            return None
        if found.n_texts == 0:
            if any(has_words(each.source) and not is_language(each.source) for each in values):
                self._left.append(found.reason("looks like an identifier, not like text"))
            elif not values and not done:
                self._left.append(found.reason("has no string unit, but something else"))
            return None
        if value.get("extractionState") == "stale":
            self._left.append(found.reason("is stale: the program does not use it"))
            return None
        return found


def read(data: bytes, options: DocumentOptions) -> XcstringsDocument:
    """Read a string catalogue.

    Args:
        data: The file: UTF-8, UTF-16 or UTF-32, with or without a byte order mark.
        options: `languages`: the localization of the target language is added, and a file with
            another source language is refused. `retranslate`: translations that exist are replaced.

    Raises:
        DataError: The data is not a string catalogue, or has another source language.
    """
    return XcstringsDocument(data, options)


# ---- localizations -------------------------------------------------------------------------------


def _object(value: Any) -> dict[str, Any]:
    """An object of the file; an empty one if it is not an object."""
    return value if isinstance(value, dict) else {}


def _translations(
    node: Mapping[str, Any], path: JsonPath
) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """The values of a localization that are translations, with their paths."""
    for name, value in node.items():
        if name == "stringUnit" and isinstance(value, dict):
            is_done = value.get("state", "") not in _UNTRANSLATED and bool(value.get("value"))
            if is_done:
                yield path, value
        elif isinstance(value, dict):
            yield from _translations(value, (*path, name))


def _planned(
    node: Mapping[str, Any],
    path: JsonPath,
    categories: Sequence[str],
    done: Mapping[JsonPath, dict[str, Any]],
    values: list[_Value],
) -> dict[str, Any]:
    """A localization like that of the source, whose values are those that exist or a `_Value`.

    Args:
        node: A part of the localization of the source language.
        path: The keys from its root to this part.
        categories: The plural categories of the target language; (): unknown.
        done: The translations that exist, by their paths.
        values: Gets the values to translate.
    """
    planned: dict[str, Any] = {}
    for name, value in node.items():
        place = (*path, name)
        if name == "stringUnit" and path in done:
            planned[name] = done[path]
        elif name == "stringUnit":
            text = str(_object(value).get("value", ""))
            planned[name] = _Value.of(text)
            values.append(planned[name])
        elif name == "plural" and path[-1:] == ("variations",):
            planned[name] = {}
            for category, form in _forms(_object(value), place, categories, done):
                n_before = len(values)
                planned[name][category] = _planned(
                    form, (*place, category), categories, done, values
                )
                for each in values[n_before:]:
                    each.is_added |= category not in value
        elif isinstance(value, dict):
            planned[name] = _planned(value, place, categories, done, values)
        else:
            planned[name] = value
    return planned


def _forms(
    forms: Mapping[str, Any],
    path: JsonPath,
    categories: Sequence[str],
    done: Mapping[JsonPath, object],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The plural categories that a translation has, and the form of the source for each."""
    known = {category: form for category, form in forms.items() if isinstance(form, dict)}
    if not categories or "other" not in known:
        yield from known.items()
        return
    for category in sorted(CATEGORIES):  # as Xcode writes them
        is_kept = (category == "zero" and category in known) or (*path, category) in done
        if is_kept or category in categories:
            yield category, known.get(category, known["other"])


def _rendered(entry: _Entry, translations: Iterator[str]) -> tuple[list[str], str]:
    """The values of an entry with these translations, or why it has none."""
    strings = list[str]()
    for value in entry.values:
        given = [next(translations) for _ in value.message.texts]
        string = value.message.render(given) if given else value.source
        if string is None:
            return [], "has a translation that is blank, or whose numbers or markup differ"
        if others := reordered(value.source, string):
            order = ", ".join(others)
            return [], f"has a translation with placeholders in another order: {order}"
        strings.append(string)
    return strings, ""


def _filled(node: Mapping[str, Any], state: str, strings: Iterator[str]) -> dict[str, Any]:
    """A planned localization with its values."""
    filled: dict[str, Any] = {}
    for name, value in node.items():
        if isinstance(value, _Value):
            filled[name] = {"state": state, "value": next(strings)}
        else:
            filled[name] = _filled(value, state, strings) if isinstance(value, dict) else value
    return filled


# ---- places in the file --------------------------------------------------------------------------


def _places(content: str) -> dict[JsonPath, JsonValue]:
    """The places of entries, of the values in them, and of localizations, by their paths."""
    return {each.path: each for each in json_values(content) if _is_kept(each.path)}


def _is_kept(path: JsonPath) -> bool:
    n = len(path)
    return n in (2, 3, 4) and path[0] == "strings" and (n < 4 or path[2] == "localizations")


class _Writer:
    """Writes localizations in the style of the file.

    Args:
        content: The file.
        places: Where its entries are.
    """

    def __init__(self, content: str, places: Mapping[JsonPath, JsonValue]) -> None:
        self._content, self._style = content, JsonStyle(content)
        indented, colon = _INDENTATION.search(content), _COLON.search(content)
        self._end, self._unit = indented.groups() if indented else ("", "")
        self._colon = colon[1] if colon else ": "
        self._comma = "," if indented or '", "' not in content else ", "
        self._places = places
        self._members: dict[JsonPath, dict[str, JsonValue]] = {}
        for path, place in places.items():
            self._members.setdefault(path[:-1], {})[str(path[-1])] = place

    def with_localization(self, key: str, language: str, new: object) -> tuple[int, int, str]:
        """The change that gives an entry a localization."""
        entry: JsonPath = ("strings", key)
        localizations: JsonPath = (*entry, "localizations")
        if place := self._places.get((*localizations, language)):
            return place.start, place.end, self._written(new, 4)
        if localizations in self._places:
            return self._with_member(localizations, language, self._written(new, 4))
        return self._with_member(entry, "localizations", self._written({language: new}, 3))

    def _with_member(self, path: JsonPath, name: str, value: str) -> tuple[int, int, str]:
        """The change that adds a member to an object, in alphabetical order."""
        member = self._style.write(name) + self._colon + value
        members = self._members.get(path, {})
        later = [place for each, place in members.items() if each > name]
        line = self._end + self._unit * (len(path) + 1)
        if not members:
            place, last = self._places[path], self._end + self._unit * len(path)
            return place.start, place.end, "{" + line + member + last + "}"
        if later:
            at = min(place.key_start for place in later)
            return at, at, member + self._comma + line
        at = max(place.end for place in members.values())
        return at, at, self._comma + line + member

    def _written(self, value: object, depth: int) -> str:
        """A value at a level of the file."""
        if isinstance(value, JsonNumber):
            return value
        if isinstance(value, str):
            return self._style.write(value)
        if not (isinstance(value, dict) and value):
            written: str = json.dumps(value, ensure_ascii=False)
            return written
        line = self._end + self._unit * (depth + 1)
        members = (
            line + self._style.write(name) + self._colon + self._written(each, depth + 1)
            for name, each in value.items()
        )
        return "{" + self._comma.join(members) + self._end + self._unit * depth + "}"
