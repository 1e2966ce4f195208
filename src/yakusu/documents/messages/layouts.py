"""The layouts of JSON files: which values hold messages, and which describe them.

A record is an object that holds a message next to notes for translators and programs:

    {"message": "Room $NUM$", "description": "Title", "placeholders": {"num": {"content": "$1"}}}

Each layout is a row of `LAYOUTS`. In a file without a layout, every value is a message, except
metadata of ARB ("@title", "@@locale") and the notes of records with plural forms (go-i18n).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from yakusu.documents.messages.icu import TextString
from yakusu.documents.messages.plural_forms import text_string

JsonPath = tuple[str | int, ...]  # keys and indices from the root to a value
StringRole = Literal["text", "note", "unknown"]
_MOST_UNKNOWN = 1  # keys that are neither text nor notes, where little shows that it is a layout


@dataclass(frozen=True)
class JsonLayout:
    """A layout whose records are the values of the root; values that are strings are messages.

    Attributes:
        name: Its name, for messages.
        texts: Keys whose values are messages.
        notes: Keys whose values describe the message; a record has at least one.
        code: Regular expression of what is kept in messages.
    """

    name: str
    texts: frozenset[str]
    notes: frozenset[str]
    code: str | None = None

    def role(self, path: JsonPath) -> StringRole:
        """What the string at a path is."""
        keys = path[1:]
        if any(key in self.notes for key in keys) or _is_metadata(path):
            return "note"
        is_text = not keys or keys[0] in self.texts or keys[-1] in self.texts
        return "text" if is_text else "unknown"

    def message(self, string: str) -> TextString:
        """The message that a string holds."""
        return text_string(string, self.code)

    def holds(self, values: Sequence[Any]) -> bool:
        """Whether more than half of the objects in a root are records, with few unknown keys."""
        objects = [value for value in values if isinstance(value, dict)]
        records = [each for each in objects if any(key in each for key in self.texts)]
        records = [each for each in records if not isinstance(_first(each, self.texts), list)]
        if 2 * len(records) <= len(objects):
            return False
        keys = set().union(*(each.keys() for each in records))
        unknown = keys - self.texts - self.notes
        # In nested keys, a section may have a title, a message and a description.
        notes = [each[key] for each in records for key in each.keys() & self.notes]
        is_sure = len(records) > 2 or not all(isinstance(note, str) for note in notes)
        return keys <= self.texts or (bool(notes) and (is_sure or len(unknown) <= _MOST_UNKNOWN))


LAYOUTS = (
    JsonLayout(
        "messages.json of browser extensions",
        texts=frozenset({"message"}),
        notes=frozenset({"description", "placeholders"}),
        code=r"\$(?:[A-Za-z0-9_@]+\$|[1-9]|\$)",  # $NAME$, $1, $$
    ),
    JsonLayout(
        "package.nls.json",
        texts=frozenset({"message"}),
        notes=frozenset({"comment"}),
        code=r"\$\([\w~-]+\)",  # $(icon)
    ),
    JsonLayout(
        "messages of FormatJS",
        texts=frozenset({"defaultMessage"}),
        notes=frozenset({"id", "description", "file", "start", "end", "line", "col"}),
    ),
    JsonLayout(
        "records with translations",  # go-i18n 1, Lokalise
        texts=frozenset({"translation"}),
        notes=frozenset({"id", "notes", "context", "limit"}),
    ),
    JsonLayout(
        "structured JSON of Transifex",
        texts=frozenset({"string"}),
        notes=frozenset({"context", "developer_comment", "character_limit"}),
    ),
)
_PLURALS = JsonLayout(  # of go-i18n 2; its records may be anywhere in a file
    "records with plural forms",
    texts=frozenset({"zero", "one", "two", "few", "many", "other"}),
    notes=frozenset({"description", "hash", "id", "leftDelim", "rightDelim"}),
)
_CODE = r"\$t\([^()]*\)|\[%key:[^\[\]\s]*%\]"  # i18next and Home Assistant: other messages


@dataclass(frozen=True)
class _AnyKeys:
    """Nested or flat keys.

    Attributes:
        records: Paths of the records with plural forms.
    """

    records: frozenset[JsonPath]
    name: str = "records with plural forms"

    def role(self, path: JsonPath) -> StringRole:
        """What the string at a path is."""
        if _is_metadata(path):
            return "note"
        for length in range(1, len(path)) if self.records else ():
            if path[:length] in self.records:
                return _PLURALS.role(path[length - 1 :])
        return "text"

    def message(self, string: str) -> TextString:
        """The message that a string holds."""
        return text_string(string, _CODE)


def layout_of(root: Any) -> JsonLayout | _AnyKeys:
    """Return the layout of a file.

    Args:
        root: The parsed file.
    """
    values = list(root.values()) if isinstance(root, dict) else root
    if isinstance(values, list):
        for layout in LAYOUTS:
            if layout.holds(values):
                return layout
    return _AnyKeys(frozenset(_plural_records(root)))


def _plural_records(root: Any) -> Iterator[JsonPath]:
    """The paths of records with plural forms."""
    waiting: list[tuple[JsonPath, Any]] = [((), root)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            unknown = value.keys() - _PLURALS.texts - _PLURALS.notes
            has_forms_and_notes = "other" in value and value.keys() & _PLURALS.notes
            if path and has_forms_and_notes and len(unknown) <= _MOST_UNKNOWN:
                yield path
            else:
                waiting += [((*path, key), each) for key, each in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, i), each) for i, each in enumerate(value)]


def _first(record: dict[str, Any], keys: frozenset[str]) -> Any:
    return next(record[key] for key in keys if key in record)


def _is_metadata(path: JsonPath) -> bool:
    """Whether a value is metadata of ARB."""
    return any(isinstance(key, str) and key.startswith("@") for key in path)
