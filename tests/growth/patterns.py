"""What is known about regular expressions that their source does not say.

A name is that of `expressions.Expression`. A new expression that is made while the program runs
must have a row in `MADE`; one that is not linear has a row in `LONGEST`, if its texts are short.
"""

import re
from collections.abc import Callable
from typing import Any

import regex

from tests.growth.attacks import Attack
from yakusu.data.lines.private_use import MARKS, RESERVED
from yakusu.export.web.markdown import expressions
from yakusu.vectors.formats import _NOT_READ


def _repeated(unit: str, before: str = "", after: str = "") -> Attack:
    return lambda n: before + unit * (n // len(unit)) + after


def _of_compressed() -> list[Any]:
    from yakusu.data.files.compressed import _MAGIC

    return list(map(re.compile, _MAGIC.values()))


def _of_alphabets() -> list[Any]:
    from yakusu.data.files.encodings import _ALPHABETS

    return list(_ALPHABETS)


def _of_utf16() -> list[Any]:
    from yakusu.data.files.text import _UTF16

    return [re.compile(magic) for magic, _, _ in _UTF16]


def _of_binary() -> list[Any]:
    from yakusu.data.files.text import _BINARY, _PACKED

    return [re.compile(magic) for magic, _ in (*_PACKED, *_BINARY)]


def _of_code() -> list[Any]:
    from yakusu.data.lines.code import code_pattern

    return [code_pattern()]


def _of_divisions() -> list[Any]:
    from yakusu.data.lines.sentences import _DIVISIONS

    return list(_DIVISIONS)


def _of_halves() -> list[Any]:
    from yakusu.data.numbers.atoms import NumberAtoms

    return [NumberAtoms(language)._half for language in ("de", "en")]


def _of_halves_before() -> list[Any]:
    from yakusu.data.numbers.atoms import NumberAtoms

    return [NumberAtoms(language)._half_a for language in ("de", "en")]


def _of_forms() -> list[Any]:
    from yakusu.data.numbers.atoms import NumberAtoms

    return [NumberAtoms(language)._starts for language in ("de", "ja")]


def _of_months() -> list[Any]:
    from yakusu.data.numbers.marks import _names

    return [_names("de")[1]]


def _of_stems() -> list[Any]:
    from yakusu.data.numbers.marks import _stems

    return [_stems("de")]


def _of_tokens() -> list[Any]:
    from yakusu.documents.html.tokens import _LAST_TOKEN, _TOKEN

    return [_TOKEN, _LAST_TOKEN]


def _of_strings() -> list[Any]:
    from yakusu.documents.markdown.jsx import _STRINGS

    return list(_STRINGS.values())


def _of_layouts() -> list[Any]:
    from yakusu.documents.messages.layouts import LAYOUTS

    return [re.compile(layout.code) for layout in LAYOUTS if layout.code]


def _of_quoting() -> list[Any]:
    return [re.compile(r"([{}#][{}#']*)|'(?=[{}#'<]|$)")]


def _of_po_files() -> list[Any]:
    from yakusu.documents.messages import po_file

    every = (each for each in vars(po_file).values() if isinstance(each, re.Pattern))
    return [
        re.compile(each.pattern.decode("latin-1"))
        for each in every
        if isinstance(each.pattern, bytes)
    ]


def _of_parts() -> list[Any]:
    from yakusu.documents.office.docx import _PARTS

    return [*_PARTS]


def _of_sheets() -> list[Any]:
    from yakusu.documents.office.odf.comparisons import _FORMULAE, _TAGS

    return [*_FORMULAE, *_TAGS.values()]


_CODE = (
    "data/lines/code.py: code_pattern: "
    "f\"{_SIGNS}(?:{signs or '(?!)'})|{_START}(?=[\\\\w.+-])(?:{words or '(?!)'})\""
)
# Expressions that are made while the program runs -> examples of them
MADE: dict[str, Callable[[], list[Any]]] = {
    "data/files/compressed.py: compression_of: magic": _of_compressed,
    "data/files/encodings.py: f'[{letters}]'": _of_alphabets,
    "data/files/text.py: _refuse_utf16: magic": _of_utf16,
    "data/files/text.py: refuse_binary: magic": _of_binary,
    _CODE: _of_code,
    "data/lines/sentences.py: pattern": _of_divisions,
    "export/web/markdown.py: expressions: f'</{name}(?=[ \\\\t\\\\n\\\\f\\\\r/>])'": lambda: [
        *expressions()
    ],
    "export/web/markdown.py: expressions: own": list,  # of the library, in the row above
    "vectors/formats.py: _refuse_unread: start": lambda: [*map(re.compile, _NOT_READ)],
    "data/lines/spans.py: __init__: pattern": lambda: [regex.compile(MARKS), RESERVED],
    "data/lines/spans.py: _compiled: pattern": list,  # of a user, with a limit of time
    "data/numbers/atoms.py: __init__: f'{_BEFORE_HALF}(?:{half})'": _of_halves,
    "data/numbers/atoms.py: __init__: f'(?<!\\\\p{{L}})(?:{half})\\\\s(?:of )?(?:a )?$'": (
        _of_halves_before
    ),
    "data/numbers/atoms.py: _start_of_forms: letter": _of_forms,
    "data/numbers/atoms.py: _start_of_forms: "
    "f'(?:(?<![\\\\p{{L}}\\\\p{{M}}]){before}){letter}'": _of_forms,
    "data/numbers/cldr.py: _grouped: f'({whole})(?:{re.escape(decimal)}(\\\\d+))?'": lambda: [
        re.compile(r"(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?")
    ],
    "data/numbers/marks.py: _names: f'{_DAY}{_AFTER_DAY}{name}|{name}{_AFTER_MONTH}'": _of_months,
    "data/numbers/marks.py: _stems: f\"(?<!\\\\p{{L}})(?:{'|'.join(groups) or '(?!)'})\"": (
        _of_stems
    ),
    "documents/html/tokens.py: _token_pattern: pattern": _of_tokens,
    "documents/html/tokens.py: _end_of_raw: f'</{name}(?=[ \\\\t\\\\n\\\\f\\\\r/>])'": lambda: [
        re.compile(r"</script(?=[ \t\n\f\r/>])", re.IGNORECASE)
    ],
    "documents/markdown/jsx.py: f'(?:[^{quote}\\\\\\\\\\\\n]|\\\\\\\\.)*+(?P<end>{quote}?)'": (
        _of_strings
    ),
    "documents/messages/icu.py: quote: self.pattern": _of_quoting,
    "documents/messages/icu.py: __init__: code": _of_layouts,
    'documents/messages/icu.py: __init__: f"{code}|[{{}}#\']"': _of_layouts,
    "documents/messages/icu.py: _plain: code": _of_layouts,
    "documents/messages/apps/xml_values.py: _text_items: code": lambda: [
        re.compile("blue fox|blue")
    ],
    "documents/office/docx.py: f'(wordprocessingml|ms-word)\\\\.{end}$'": _of_parts,
    "documents/office/odf/comparisons.py: "
    "b':%s\\\\s*=\\\\s*(\"[^\"<]*+\"|\\'[^\\'<]*+\\')' % name": _of_sheets,
    "documents/office/odf/comparisons.py: "
    "b':%s(\\\\s(?:[^<>\"\\']|\"[^\"<]*+\"|\\'[^\\'<]*+\\')*+)' % name.encode()": _of_sheets,
    "documents/tables/cells.py: _rows: f'[^\\\\r\\\\n{re.escape(separator)}]*+'": lambda: [
        re.compile(r"[^\r\n,]*+")
    ],
    "export/web/bundle.py: pattern: pattern.pattern.decode('latin-1')": _of_po_files,
    "export/web/script.py: _expressions_of_messages: kept": _of_layouts,
    'export/web/script.py: _expressions_of_messages: f"{kept}|[{{}}#\']"': _of_layouts,
    "export/web/script.py: _expressions_of_messages: icu._Quoting(*flags).pattern": _of_quoting,
    "training/flops.py: sustained_flops: f'\\\\b{gpu}\\\\b'": lambda: [re.compile(r"\bA100\b")],
}

# The most characters of a text that an expression reads, and why there are no more
LONGEST: dict[str, tuple[int, str]] = {
    "data/files/safexml.py: _malformed: ',? line \\\\d+, column \\\\d+( \\\\(.*\\\\))?$'": (
        2000,
        "it is a message of the parser",
    ),
    "data/vocabulary.py: _training_error: 'smaller than required_chars\\\\D*\\\\d+ vs (\\\\d+)'": (
        2000,
        "it is a message of SentencePiece",
    ),
    "data/languages.py: language_code: '\\\\W*\\\\(.*\\\\)$'": (
        100,
        "longer names are no languages",
    ),
    **{
        f"documents/file_names.py: {name}": (255, "longer names are no names of files")
        for name in ("_APPLE", "_STEM", "_STEM_WITH_SEPARATORS")
    },
    "documents/html/html.py: _META_ENCODING": (4096, "it is searched in the first bytes"),
    "documents/messages/identifiers.py: _KEY": (1000, "longer strings are no identifiers"),
}

_TEMPLATES = [_repeated("{{"), _repeated("{%<%"), _repeated("{#"), _repeated("{}%>")]
# Texts for expressions whose structure gives none, or only texts that they never read
ATTACKS: dict[str, list[Attack]] = {
    # Its rules have maxima, up to which they are quadratic.
    _CODE: [
        _repeated(unit)
        for unit in ("<code>", "<a ", "{{", "%(", "&a", "http://", "a.b/", "a@", "C:\\", "a_", "1")
    ],
    "documents/html/html.py: _TEMPLATE": _TEMPLATES,
    "documents/html/tokens.py: _TEMPLATE": _TEMPLATES,
    # It reads the attributes of a tag that ends, so that each quotation mark has a partner.
    "documents/html/tokens.py: _ATTRIBUTE": [
        _repeated(" a=1"),
        _repeated(" a = '\"' "),
        _repeated("a"),
        _repeated(" "),
        _repeated("/"),
        _repeated("{{ a=", after=">"),
    ],
    # It reads JSON that is valid.
    "documents/messages/json_strings.py: _TOKEN": [
        _repeated("a", '"', '"'),
        _repeated('\\"', '"', '"'),
        _repeated('"a",', "[", "1]"),
        _repeated("[1,", after="1"),
        _repeated("9"),
        _repeated(" "),
    ],
}
