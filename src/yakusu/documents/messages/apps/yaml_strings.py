"""YAML files of messages (Rails, Symfony and others): values in natural language are texts.

    en:
      files: {one: "%{count} file", other: "%{count} files"}

The only key at the top, if it is the source language, becomes the target language. A mapping of
plural categories gets those of the target language that it lacks, from `other` and with a comment.

libyaml tells where the values are; no object is made of them, and aliases are not followed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from yakusu.data.languages import same_language
from yakusu.data.lines.words import has_letter
from yakusu.documents.document import DocumentOptions
from yakusu.documents.languages import check_single_language
from yakusu.documents.messages.apps.yaml_scalars import is_typed, scalar_with, without_properties
from yakusu.documents.messages.icu_plurals import with_plural_forms
from yakusu.documents.messages.identifiers import is_language
from yakusu.documents.messages.plurals import CATEGORIES, NOTE, missing_categories
from yakusu.documents.messages.units import (
    Edit,
    MarkedString,
    MessageUnit,
    UnitDocument,
    UnitString,
    spliced,
    text_item,
)
from yakusu.documents.splice import decode_source
from yakusu.errors import DataError

_DEEPEST = 100  # levels of mappings and sequences
_MOST_NODES = 10_000_000  # if all aliases were followed
_STRINGS = (None, "!", "tag:yaml.org,2002:str")
_SYMBOL = re.compile(r":[A-Za-z_]\w*", re.ASCII)
_SWITCH = re.compile("yes|no|on|off", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*", re.ASCII)


@dataclass
class _Level:
    """An open mapping or sequence.

    Attributes:
        anchor: Its anchor, or "".
        in_flow: Whether it is in brackets or braces.
        is_mapping: Whether it is a mapping.
        column: Where its first key begins in a line.
        key: The key of the value that follows; None: a key follows.
        n_items: Number of its values.
        size: Number of nodes in it, if aliases are followed.
        forms: Its values, as long as they may be plural forms.
        may_be_plural: Whether they may.
    """

    anchor: str
    in_flow: bool
    is_mapping: bool
    column: int = 0
    key: str | None = None
    n_items: int = 0
    size: int = 1
    forms: list[UnitString] = field(default_factory=list)
    may_be_plural: bool = True


class YamlFile:
    """A YAML file.

    Args:
        data: The file.
        language: Code of the target language, "" if unknown.
        source_language: Code of the source language, "" if unknown.

    Attributes:
        checks: A sentence for each message with ICU plural forms that were added.

    Raises:
        DataError: The file is not UTF-8, or UTF-16 with a byte order mark.
    """

    def __init__(self, data: bytes, source_language: str, language: str) -> None:
        self._source = decode_source(data)
        self._languages = source_language, language
        self._text = self._source.text
        self._base = len(self._text) - len(self._text.removeprefix("\ufeff"))
        self._newline = "\r\n" if "\r\n" in self._text else "\n"
        self._root: list[tuple[int, int, str]] = []  # the keys at the top
        self._n_nested = 0  # values at the top that are mappings
        self._levels: list[_Level] = []
        self.checks: list[str] = []
        self._anchors: dict[str, int] = {}  # nodes in each, if aliases are followed

    def parse(self, use: Callable[[MessageUnit], None]) -> None:
        """Call a function with each value; see `UnitFile`.

        Raises:
            DataError: The file is not valid, or has texts in several languages.
        """
        import yaml

        self._root, self._levels, self._anchors, self.checks = [], [], {}, []
        self._n_nested = 0
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # with libyaml, or without
        try:
            for event in yaml.parse(self._text[self._base :], Loader=loader):
                for unit in self._read(event):
                    use(unit)
        except yaml.MarkedYAMLError as error:
            mark, problem = (
                error.problem_mark or error.context_mark,
                error.problem or "syntax error",
            )
            raise self._invalid(mark.line, mark.column, problem) from error
        except yaml.reader.ReaderError as error:
            raise self._unreadable(error) from error
        if self._n_nested == len(self._root):
            check_single_language([key for _, _, key in self._root], self._languages[0])

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """The file with parts replaced."""
        every = sorted([*edits, *self._renamed()], key=lambda edit: edit[:2])
        return spliced(self._text, every).encode(self._source.encoding)

    def _renamed(self) -> Iterator[Edit]:
        """The change that makes the target language the only key at the top."""
        source, target = self._languages
        if len(self._root) != 1 or not (source and target and self._n_nested):
            return
        start, end, key = self._root[0]
        code = key.replace("_", "-")
        if not _LANGUAGE.fullmatch(key) or not same_language(source, code):
            return
        if not same_language(target, code):
            old = self._text[start:end]
            new = scalar_with(
                old, key, target.replace("-", "_" if "_" in key else "-"), in_flow=False
            )
            if new is not None:
                yield start, end, new

    # ---- events ------------------------------------------------------------------------------

    def _read(self, event: Any) -> Iterator[MessageUnit]:
        """Yield the units that are complete with an event."""
        from yaml import events

        if isinstance(event, events.AliasEvent):
            self._alias(event)
            yield from self._flushed()
        elif isinstance(event, events.ScalarEvent):
            yield from self._scalar(event)
        elif isinstance(event, events.CollectionStartEvent):
            yield from self._flushed()
            self._value()
            is_mapping = isinstance(event, events.MappingStartEvent)
            self._n_nested += is_mapping and len(self._levels) == 1
            level = _Level(event.anchor or "", bool(event.flow_style), is_mapping)
            self._levels.append(level)
            if len(self._levels) > _DEEPEST:
                line = event.start_mark.line + 1
                raise DataError(
                    f"line {line}: the YAML has more than {_DEEPEST} levels: flatten it"
                )
        elif isinstance(event, events.CollectionEndEvent):
            yield from self._flushed(is_end=True)
            self._close()
        elif isinstance(event, events.DocumentStartEvent):
            self._anchors.clear()

    def _close(self) -> None:
        """Leave a mapping or sequence."""
        level = self._levels.pop()
        if level.anchor:
            self._anchors[level.anchor] = level.size
        self._count(level.size)
        self._leave()

    def _count(self, n_nodes: int) -> None:
        if self._levels:
            self._levels[-1].size += n_nodes
        if n_nodes > _MOST_NODES:
            raise DataError(
                f"its aliases stand for more than {_MOST_NODES:,} values, which could be harmful: "
                "write the values instead"
            )

    def _alias(self, event: Any) -> None:
        """An alias, which is not followed."""
        mark = event.start_mark
        if any(level.anchor == event.anchor for level in self._levels):
            raise self._invalid(mark.line, mark.column, f"*{event.anchor} contains itself")
        if event.anchor not in self._anchors:
            raise self._invalid(mark.line, mark.column, f"*{event.anchor} has no anchor")
        if self._levels and self._levels[-1].is_mapping and self._levels[-1].key is None:
            self._levels[-1].key = f"*{event.anchor}"
        else:
            self._value()
            self._leave()
        self._count(self._anchors[event.anchor])

    def _value(self) -> None:
        """A value begins."""
        if self._levels:
            level = self._levels[-1]
            level.n_items += 1
            if level.is_mapping and level.key is None:
                level.key = "?"  # a key that is not a scalar

    def _leave(self) -> None:
        """A value ends."""
        if self._levels and self._levels[-1].is_mapping:
            self._levels[-1].key = None

    def _scalar(self, event: Any) -> Iterator[MessageUnit]:
        self._count(1)
        if event.anchor:
            self._anchors[event.anchor] = 1
        level = self._levels[-1] if self._levels else None
        if level and level.is_mapping and level.key is None:
            level.key = str(event.value)
            level.column = level.column if level.n_items else event.start_mark.column
            if len(self._levels) == 1:
                start, end = self._place(event)
                self._root.append((start, end, str(event.value)))
            return
        self._value()
        string = self._string(event)
        if level and level.may_be_plural and level.is_mapping and level.key in CATEGORIES:
            if string:
                level.forms.append(string)
            self._leave()
            return
        yield from self._flushed()
        if string:
            yield MessageUnit(self._key(self._levels), [string])
        self._leave()

    def _flushed(self, *, is_end: bool = False) -> Iterator[MessageUnit]:
        """Yield the forms of a mapping that is complete, or that has other values, too."""
        if not self._levels:
            return
        level = self._levels[-1]
        is_plural = is_end and level.may_be_plural and level.n_items == len(level.forms) > 1
        if is_plural:
            yield MessageUnit(self._key(self._levels), level.forms, self._added(level))
        else:
            key = self._key(self._levels[:-1])
            yield from (MessageUnit(f"{key}.{form.category}", [form]) for form in level.forms)
        level.may_be_plural, level.forms = False, []

    # ---- values ------------------------------------------------------------------------------

    def _key(self, levels: Sequence[_Level]) -> str:
        """The keys of a value."""
        return ".".join(level.key for level in levels if level.key is not None)

    def _place(self, event: Any) -> tuple[int, int]:
        """Where a scalar begins, without its anchor and tag, and where it ends."""
        start, end = (self._base + mark.index for mark in (event.start_mark, event.end_mark))
        source = self._text[start:end]
        return end - len(without_properties(source)), end

    def _string(self, event: Any) -> UnitString | None:
        """A value as a string; None: it is not one."""
        value = str(event.value)
        is_plain = event.style in (None, "")
        if event.tag not in _STRINGS or not has_letter(value):
            return None
        start, end = self._place(event)
        in_flow = bool(self._levels) and any(level.in_flow for level in self._levels)
        line = event.start_mark.line + 1

        def write(new: str) -> str | None:
            new, check = with_plural_forms(new, self._languages[1])
            self.checks += [f"line {line}: {check}"] if check else []
            return scalar_with(self._text[start:end], value, new, in_flow=in_flow)

        category = self._levels[-1].key or "" if self._levels else ""
        string = UnitString(start, end, line, MarkedString([text_item(value)]), write, category)
        problem = ""
        if is_plain and not event.tag and (is_typed(value) or _SYMBOL.fullmatch(value)):
            if not _SWITCH.fullmatch(value):
                return None
            problem = "is a boolean for many readers, not text: quote it to have it translated"
        elif not is_language(value, [level.key or "" for level in self._levels]):
            problem = "looks like an identifier, not like text"
        if not problem:
            return string.checked()
        return UnitString(
            *(start, end, line, string.marked, write, category), problem=string.reason(problem)
        )

    def _added(self, level: _Level) -> Callable[[str | None], Edit] | None:
        """What adds the missing categories to plural forms."""
        forms = {form.category: form for form in level.forms}
        missing = missing_categories(forms, self._languages[1])
        last = level.forms[-1]
        sources = [self._text[form.start : form.end] for form in (forms.get("other", last), last)]
        if not missing or any(source[:1] in ("|", ">") or "\n" in source for source in sources):
            return None
        if level.in_flow:
            at = last.end
            return lambda new: (
                *(at, at),
                "".join(f", {each}: {sources[0] if new is None else new}" for each in missing),
            )
        found = re.compile(r"\r?\n|\Z").search(self._text, last.end)
        assert found is not None
        space = self._newline + " " * level.column
        note = f"{space}# {NOTE.format(', '.join(missing))}"

        def added(new: str | None) -> Edit:
            value = sources[0] if new is None else new
            copies = (f"{space}{each}: {value}" for each in missing)
            return found.start(), found.start(), note + "".join(copies)

        return added

    # ---- errors ------------------------------------------------------------------------------

    def _invalid(self, line: int, column: int, problem: str) -> DataError:
        """The error of a place, counted from 0."""
        return DataError(
            f"line {line + 1}, column {column + 1} is not valid YAML ({problem}): correct the file"
        )

    def _unreadable(self, error: Any) -> DataError:
        """The error of a character that YAML does not allow."""
        import yaml

        found = yaml.reader.Reader.NON_PRINTABLE.search(self._text, self._base)
        at = found.start() if found else self._base
        before = self._text[:at]
        column = at - (before.rfind("\n") + 1)
        return self._invalid(before.count("\n"), column, str(error.reason))


class YamlDocument(UnitDocument):
    """A YAML file whose values can be translated."""

    def __init__(self, file: YamlFile) -> None:
        self._yaml = file
        super().__init__(file)

    @property
    def checks(self) -> Sequence[str]:
        """A sentence for each message with plural forms that were added."""
        return self._yaml.checks


def read(data: bytes, options: DocumentOptions) -> YamlDocument:
    """Read a YAML file.

    Args:
        data: The file.
        options: `languages`: the only key at the top, if it is the source language, becomes the
            target language, and plurals get the categories of the target language.

    Raises:
        DataError: The data is not valid YAML, is nested too deeply, its aliases stand for too many
            values, or it has texts in several languages.
    """
    return YamlDocument(YamlFile(data, *options.languages))
