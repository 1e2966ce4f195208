"""Which strings of a program are for readers, and which are identifiers, addresses or code."""

import re
from collections.abc import Sequence

from yakusu.data.lines.words import has_letter

_NOT_LANGUAGE = re.compile(
    r"""
      [a-zA-Z][a-zA-Z0-9+.-]*://\S*                           # URL
    | (?:mailto|tel|data|urn|javascript|file|blob):\S+
    | www\.\S+
    | [^\s@]+@[^\s@]+\.[^\s@]+                                # e-mail address
    | (?:~|\.{1,2})?/\S+ | [A-Za-z]:\\.* | [!-~]+/ | [\w.@-]+(?:/[\w.@-]+)+\.\w{1,5}   # path
    | (?:application|audio|font|image|message|model|multipart|text|video)/[\w.+*-]+  # media type
    | [\w$-]+(?:\.[\w$-]+)+                                   # file name, key, version
    | (?=[\w.-]*_)[\w.-]+                               # snake_case
    | [a-z]{2,3}(?:-[A-Z][a-z]{3})?-(?:[A-Z]{2}|[0-9]{3})     # locale
    | [a-z0-9]+(?:-[a-z0-9]+)+                                # kebab-case
    | [a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+                      # camelCase
    | \#[0-9a-fA-F]{3,8}                                      # colour
    | (?:rgb|hsl)a?\([^()]*\)
    | [+-]?[\d.,]+(?:[a-zA-Z]{1,3}|%)                         # number with a unit
    | \d{4}-\d\d-\d\d[T\ ]\d\d:\d\d\S*                        # date
    | (?=.*(?:yy|MM|dd|HH|hh|mm|ss|DD|YY))(?:([yMdDYHhmsSaAEzZ])\1*(?:[^\w]+|$)){2,}
    | (?=.*\d)[0-9a-fA-F-]{8,}                                # UUID, hash
    | (?=.*\d)[A-Za-z0-9+/=_-]{24,}                           # base64
    """,
    re.VERBOSE | re.ASCII,
)
_CODE = re.compile(
    r"\[%key:[^\[\]\s]*%\]|\{\{[^{}]*\}\}|\$?\{[\w.:, %#-]*\}|\$t\([^()]*\)"
    r"|%(?:\([\w.]*\))?[-+ #0-9.*$]*(?:@\w+@|(?:hh?|ll?|[Lqjzt])?[a-zA-Z@])"
    r"|</?[a-zA-Z][^<>]*>|&#?\w+;|\$\w+\$|:\w+:"
)
# Keys whose values, if they are a lower-case word, are code: {"icon": "home", "lang": "en"}.
_CODE_KEYS = re.compile(
    "class|classname|colou?r|format|href|icon|id|key|lang|language|locale|method|mime|path|rel|slug"
    "|src|target|type|ur[il]",
    re.IGNORECASE,
)
# Keys of PO and XLIFF, where a message is rather a word than a key: longer than A_ or e.g.
_KEY = re.compile(
    r"""(?=.{6}) (?:
      [\w$-]{2,}(?:\.[\w$-]+)*\.[\w$-]{2,}                    # action.save
    | [A-Za-z0-9]{2,}(?:_[A-Za-z0-9]+)*_[A-Za-z0-9]{2,}       # btn_ok
    | [a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+                   # openFile
    )""",
    re.VERBOSE | re.ASCII,
)
_LONGEST_IDENTIFIER = 1000


def has_words(value: str) -> bool:
    """Whether a string has letters outside of placeholders and tags."""
    return has_letter(_CODE.sub("", value))


def is_language(value: str, path: Sequence[str | int] = ()) -> bool:
    """Whether a string is for readers: not a URL, path, identifier, number, colour or date."""
    text = value.strip()
    if not has_words(text):
        return False
    if len(text) > _LONGEST_IDENTIFIER:
        return not (text.isascii() and len(text.split()) == 1)
    if _NOT_LANGUAGE.fullmatch(text):
        return False
    key = next((key for key in reversed(path) if isinstance(key, str)), "")
    is_code_key = key != text and _CODE_KEYS.fullmatch(key)
    return not (is_code_key and re.fullmatch("[a-z0-9]+", text))


def is_key(value: str) -> bool:
    """Whether a string is the key of a message, such as action.save, btn_ok or openFile."""
    return len(value) <= _LONGEST_IDENTIFIER and _KEY.fullmatch(value.strip()) is not None
