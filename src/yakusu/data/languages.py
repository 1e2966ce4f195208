"""Language codes as files use them: en, en-US, zh_Hant, eng, and names in a header row."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from yakusu.errors import DataError

_CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*", re.IGNORECASE)
_SHOWN = 20  # languages in a message
_SAME = {"nb": "no"}  # Norwegian, if it does not say Nynorsk, is Bokmål

# Names of languages in English, as they occur in header rows.
_NAMES = {
    "arabic": "ar", "basque": "eu", "bengali": "bn", "bulgarian": "bg", "catalan": "ca",
    "chinese": "zh", "croatian": "hr", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "estonian": "et", "finnish": "fi", "french": "fr", "galician": "gl",
    "german": "de", "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu",
    "icelandic": "is", "indonesian": "id", "irish": "ga", "italian": "it", "japanese": "ja",
    "korean": "ko", "latin": "la", "latvian": "lv", "lithuanian": "lt", "malay": "ms",
    "maltese": "mt", "norwegian": "no", "persian": "fa", "polish": "pl", "portuguese": "pt",
    "romanian": "ro", "russian": "ru", "serbian": "sr", "slovak": "sk", "slovenian": "sl",
    "spanish": "es", "swahili": "sw", "swedish": "sv", "tamil": "ta", "thai": "th",
    "turkish": "tr", "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi", "welsh": "cy",
}  # fmt: skip


def language_code(text: str) -> str:
    """Return the language that a column name states, or "".

    A code of three letters counts only if there is one of two letters for the same language, such
    as deu: other ones, such as src and the, are more often words.
    """
    name = text.strip()
    if code := _NAMES.get(re.sub(r"\W*\(.*\)$", "", name).lower()):
        return code
    if not _CODE.fullmatch(name):
        return ""
    import langcodes  # 0.04 s

    if not langcodes.tag_is_valid(name):
        return ""
    base = re.split("[-_]", langcodes.standardize_tag(name))[0]
    return name if len(base) == 2 else ""


def language_pair(
    path: str, columns: Sequence[int | str], known: Callable[[], Iterable[str]]
) -> tuple[str, str] | None:
    """Return the two languages that select the sides of a file; None if none are given.

    Args:
        path: Name of the file in messages.
        columns: What --columns names.
        known: Returns the languages of the file.

    Raises:
        DataError: The columns are numbers other than 1 and 2, or only one is a language.
    """
    match columns:
        case (str(src), str(tgt)):
            return src, tgt
        case (1, 2):
            return None
    raise DataError(
        f"{path} has languages, not columns {columns[0]} and {columns[1]}: {_choices([*known()])}"
    )


def _choices(codes: Sequence[str]) -> str:
    example = ",".join(codes[:2]) if len(codes) > 1 else "en,de"
    return f"choose two of {listed_codes(codes)}, as in --columns {example}"


def closeness(wanted: str, code: str) -> int | None:
    """Return how well a code matches a wanted one; lower is better, None: not at all.

    0: they are equal, apart from case, or state the same language, such as deu for de, iw for he
    and cmn for zh; 1: the code says more, such as en-US for en and zh-CN for zh-Hans; 2: the code
    says less.
    """
    one, other = _subtags(wanted), _subtags(code)
    if one == other:
        return 0
    if other[: len(one)] == one:
        return 1
    return 2 if one[: len(other)] == other else None


def closest(wanted: str, codes: Iterable[str]) -> list[str]:
    """Return the codes that match a wanted one best; less specific codes do not match.

    Of codes that match equally well, one that states the language itself, such as zho for zh, is
    preferred to one of its members, such as cmn.
    """
    ranks = {code: closeness(wanted, code) for code in codes}
    best = min((rank for rank in ranks.values() if rank in (0, 1)), default=None)
    found = [code for code, rank in ranks.items() if rank is not None and rank == best]
    return [code for code in found if _tag(code) == _tag(wanted)] or found


@lru_cache(maxsize=1024)
def _tag(code: str) -> str:
    import langcodes  # 0.04 s

    return langcodes.standardize_tag(code) if langcodes.tag_is_valid(code) else code


@lru_cache(maxsize=1024)
def _subtags(code: str) -> tuple[str, ...]:
    """Return the language, its script if this or the region is given, and the other subtags."""
    import langcodes  # 0.04 s

    try:
        language = langcodes.Language.get(code).prefer_macrolanguage()
    except ValueError:
        return tuple(code.lower().replace("_", "-").split("-"))
    first, *rest = language.to_tag().lower().split("-")
    if language.territory and not language.script and (script := language.maximize().script):
        rest = [script.lower(), *rest]
    return _SAME.get(first, first), *rest


def distinct(codes: Iterable[str]) -> list[str]:
    """Return each language once, in its first spelling: EN-us is en-US."""
    found: dict[tuple[str, ...], str] = {}
    for code in codes:
        found.setdefault(_subtags(code), code)
    return list(found.values())


@lru_cache(maxsize=1024)
def find_pair(wanted: tuple[str, str], codes: tuple[str, ...]) -> tuple[int | None, int | None]:
    """Return the positions of two languages in a list of codes; None if one is not in it.

    The closest code wins, then the first. No position is used for both sides.
    """
    src, tgt = (
        sorted(
            (rank, i) for i, code in enumerate(codes) if (rank := closeness(one, code)) is not None
        )
        for one in wanted
    )
    if src and tgt and src[0][1] == tgt[0][1]:  # the closer match keeps the position
        (src if src[0][0] > tgt[0][0] else tgt).pop(0)
    return (src[0][1] if src else None), (tgt[0][1] if tgt else None)


class UnitLanguages:
    """Picks the source and the target of each unit of a multilingual file.

    Args:
        path: Name of the file in messages.
        wanted: Codes of the two languages; None: the only two of the file.

    Attributes:
        chosen: The two languages; None until they are known.
    """

    def __init__(self, path: str, wanted: tuple[str, str] | None) -> None:
        self._path, self.chosen, self._given = path, wanted, wanted is not None
        self._spellings = set[str]()
        self._seen = list[str]()  # each language once, in the order of the file
        self._found = False
        self._left_out = Counter[str]()  # units, by the language that they lack
        self._repeated = 0  # units

    def pick(self, codes: tuple[str, ...], source: str) -> tuple[int, int] | None:
        """Return the positions of source and target in a unit; None if it lacks one.

        Args:
            codes: The language of each segment.
            source: The source language that the file states, or "".

        Raises:
            DataError: No languages are given, and the file has more than two or does not state
                which of them is the source.
        """
        for code in codes:
            if code not in self._spellings and len(self._spellings) <= _SHOWN:
                self._spellings.add(code)
                self._seen = distinct([*self._seen, code])
                self._choose(source)
        if self.chosen is None:
            self._left_out["a second language"] += 1
            return None
        src, tgt = find_pair(self.chosen, codes)
        if src is None or tgt is None:
            self._left_out[self.chosen[0] if src is None else self.chosen[1]] += 1
            return None
        self._found = True
        self._repeated += codes.count(codes[src]) + codes.count(codes[tgt]) > 2
        return src, tgt

    def _choose(self, source: str) -> None:
        """Take the only two languages of the file."""
        if self._given or len(self._seen) < 2:
            return
        if len(self._seen) > 2:
            raise DataError(f"{self._path} has more than two languages: {_choices(self._seen)}")
        first, second = self._seen
        if not source or find_pair((source, ""), (first, second))[0] is None:
            raise DataError(
                f"{self._path} does not state its source language: {_choices(self._seen)} "
                "(languages, not numbers)"
            )
        reverse = find_pair((source, ""), (first, second))[0] == 1
        self.chosen = (second, first) if reverse else (first, second)

    def check(self) -> None:
        """Check at the end of the file that it has the languages.

        Raises:
            DataError: No unit has both.
        """
        if self._found or not self._seen:
            return
        if self.chosen is None:
            raise DataError(
                f"{self._path} has only one language, {listed_codes(self._seen)}: specify a file "
                "with two"
            )
        missing = [
            language
            for language in self.chosen
            if all(closeness(language, code) is None for code in self._seen)
        ]
        if not missing:
            raise DataError(
                f"{self._path} has no unit with both {' and '.join(self.chosen)}: "
                f"{_choices(self._seen)}"
            )
        raise DataError(f"{self._path} has no language {missing[0]}: {_choices(self._seen)}")

    def remarks(self) -> Iterator[str]:
        """Yield sentences about what was left out."""
        for language, n in self._left_out.items():
            were = "was" if n == 1 else "were"
            yield f"{self._path}: {_units(n)} without {language} {were} left out"
        if n := self._repeated:
            yield (
                f"{self._path}: {_units(n)} {'has' if n == 1 else 'have'} several segments in one "
                "language, of which only the first was read"
            )


def _units(n: int) -> str:
    return f"{n:,} unit{'s' * (n != 1)}"


def listed_codes(codes: Iterable[str], most: int = _SHOWN) -> str:
    """Return a list of codes for a message; of more than `most`, only the first are listed."""
    listed = [code or "(none)" for code in codes]
    return ", ".join(listed[:most]) + (", ..." if len(listed) > most else "")
