"""The languages that the names of message files state.

res/values-pt-rBR/strings.xml    pt-BR.lproj/Main.strings     config/locales/devise.pt-BR.yml
_locales/pt_BR/messages.json     messages_pt_BR.properties    Resources.pt-BR.resx, app_pt.arb
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from yakusu.data.languages import language_code, same_language
from yakusu.documents.suffixes import SNIFFED, SUFFIXES

_CODE = r"(?P<code>(?:fil|[a-z]{2})(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Za-z]{2}|\d{3}))?)"
_ANDROID = re.compile(
    r"values(?:-mcc\d+)?(?:-mnc\d+)?-(?!car\b)"
    r"(?P<code>b\+[A-Za-z0-9+]+|[a-z]{2,3}(?:-r[A-Z]{2})?)(?:-.+)?"
)
_APPLE = re.compile(r"(?P<code>[A-Za-z]+(?:[-_][A-Za-z0-9]+)*)\.lproj")
_FOLDER = re.compile(_CODE)
_AROUND = frozenset(
    ["_locales", "i18n", "l10n", "lang", "langs", "languages", "locale", "locales", "translations"]
)
# The end of the name of a file, without its suffix
_STEM = re.compile(rf"(?:.*\.)?{_CODE}")
_STEM_WITH_SEPARATORS = re.compile(rf"(?:.*[._-](?!in\b))?{_CODE}")  # not check_in
_SEPARATED = frozenset((".arb", ".po", ".properties", ".ts"))  # app_pt.arb
# The name of a file with both languages states either
_BILINGUAL = frozenset([".mqxliff", ".mxliff", ".po", ".sdlxliff", ".tmx", ".ts", ".xlf", ".xliff"])


def other_language(path: PurePath, languages: tuple[str, str]) -> str:
    """The language that the name of a message file states, if it is not to be translated.

    Args:
        path: The file, from the folder that the user names.
        languages: Codes of the source and the target language, "" if unknown.

    Returns:
        A code that is not the source language in any region, nor the target language of a file with
        translations; "": there is none.
    """
    suffix = path.suffix.lower()
    expected = languages if suffix in _BILINGUAL else languages[:1]
    is_message = suffix in SNIFFED or SUFFIXES.get(suffix, "").startswith("messages.")
    if not (is_message and all(expected)):
        return ""
    stated = [*filter(None, map(language_code, _stated(path.parts[:-1], path)))]
    if any(same_language(one, each) for one in expected for each in stated):
        return ""
    return stated[0] if stated else ""


def _stated(folders: Sequence[str], path: PurePath) -> Iterator[str]:
    """What may be codes of languages in a path, the innermost one first."""
    suffix = path.suffix.lower()
    if suffix != ".xml":
        stem = _STEM_WITH_SEPARATORS if suffix in _SEPARATED else _STEM
        yield from (found["code"] for found in [stem.fullmatch(path.stem)] if found)
    for number, folder in reversed([*enumerate(folders)]):
        around = (folders[number - 1].lower() if number else "", *folders[number + 1 :][:1])
        is_locale = around[0] in _AROUND or around[-1] == "LC_MESSAGES" or suffix == ".resw"
        patterns = (_ANDROID, _APPLE, *([_FOLDER] if is_locale else []))
        for found in filter(None, (pattern.fullmatch(folder) for pattern in patterns)):
            yield found["code"].removeprefix("b+").replace("+", "-")
