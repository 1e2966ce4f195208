"""Language codes: every spelling becomes canonical BCP 47 where text, files and requests enter.

    jpn, ja_JP, jpn_Jpan -> ja       zho_Hans, zh_CN -> zh-Hans     zt, zh-TW -> zh-Hant
    pb, pt_BR, pt-rBR    -> pt-BR    sr@latin, sh    -> sr-Latn     iw, he_IL -> he

A script or a region that CLDR takes for granted is dropped. It is kept where it changes the
language: always the script of Chinese and Serbian, and the region of English, Spanish and
Portuguese.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Annotated

from yakusu.errors import DataError
from yakusu.typed import setting

_CODE = re.compile(r"[a-z]{2,3}([-_][a-z0-9]{2,8})*(@[a-z]{4,})?", re.IGNORECASE)
_HAS_SCRIPT = re.compile(r"[-_][a-z]{4}\b", re.IGNORECASE)
_SHOWN = 20  # languages in a message
_LONGEST = 100  # characters of a code or a name
_SAME = {"nb": "no"}  # Norwegian, if it does not say Nynorsk, is Bokmål

# What is not BCP 47 in the codes of other tools and systems.
_ALIASES = {
    **{"zt": "zh-Hant", "pb": "pt-BR"},  # LibreTranslate and Argos Translate
    **{"zh-chs": "zh-Hans", "zh-cht": "zh-Hant"},  # older Windows
}
# Codes of countries that nearly always mean the language of the country, but in ISO 639 belong
# to another language: its code of three letters, and the language that is meant.
_COUNTRIES = {"kr": ("kau", "ko"), "ch": ("cha", "zh")}  # Kanuri; Chamorro
_POSIX = re.compile(r"(?P<code>[^.@#]*)(\.[\w-]*)?(@(?P<modifier>\w+))?")  # sr_RS.UTF-8@latin
_MODIFIERS = {
    **{"latin": "Latn", "cyrillic": "Cyrl", "devanagari": "Deva", "arabic": "Arab"},
    **{"valencia": "valencia", "tarask": "tarask"},  # variants; others, such as euro, are dropped
}
_ANDROID = re.compile(r"(?<=-)r(?=[A-Z]{2}$)")  # pt-rBR, b+sr+Latn
_PLAIN = {"zh": "zh-Hans"}  # if both are there
_NEAR = ({"da", "nb", "no"}, {"bs", "hr", "sr"}, {"id", "ms"})  # not told apart by their words
_NO_REGIONS = {"XX", "ZZ"}  # ja_XX: mBART
_NO_LANGUAGES = {"mis", "mul", "und", "zxx"}
_PARTS_OF_SCRIPTS = {"Hang": "Kore", "Hrkt": "Jpan"}
_SEVERAL_SCRIPTS = {"sr", "zh"}  # both scripts are standard, so that the plain code does not say
_SEVERAL_STANDARDS = {"en", "es", "pt"}  # CLDR's paradigm locales
_SIMILAR = 0.4  # similarity of a word to the name or code that is suggested

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


_COMMON = frozenset(_NAMES.values())  # canonical as they are


@lru_cache(maxsize=4096)
def canonical(code: str) -> str:
    """Return the canonical form of a language code, or "" if the code is unknown.

    "ja_JP" and "jpn" are "ja"; "zho_Hant", "zh-TW" and "zt" are "zh-Hant"; "cmn" is "zh".
    """
    if code in _COMMON:
        return code
    found = _POSIX.fullmatch(code.strip()) if len(code) <= _LONGEST else None
    if not found or not (name := found["code"].removeprefix("b+")):
        return ""
    name = _ANDROID.sub("", re.sub("[_+]", "-", name))
    name = _ALIASES.get(name.lower(), name)
    if name.lower().split("-")[0] in _COUNTRIES:
        return ""
    if modifier := _MODIFIERS.get((found["modifier"] or "").lower(), ""):
        first, *others = name.split("-")
        name = "-".join([first, modifier, *others] if modifier.istitle() else [name, modifier])
    return _simplified(name)


# A code in a file: canonical if there is such a language, and otherwise as it is.
LanguageCode = Annotated[str, setting(then=lambda code: canonical(code) or code)]


def _simplified(name: str) -> str:
    """The shortest tag of the same language; "": it is not valid."""
    from langcodes import Language, tag_is_valid  # 0.04 s

    if not tag_is_valid(name):
        return ""
    tag = Language.get(name).prefer_macrolanguage()
    if tag.language is None or tag.language in _NO_LANGUAGES or tag.extlangs:
        return ""
    region = None if tag.territory in _NO_REGIONS else tag.territory
    plain = Language.make(language=tag.language).maximize()
    script = tag.script
    if not script and region:
        script = Language.make(language=tag.language, territory=region).maximize().script
        if script == plain.script and tag.language not in _SEVERAL_SCRIPTS:
            script = None
    elif script and _PARTS_OF_SCRIPTS.get(script, script) == plain.script:
        script = script if tag.language in _SEVERAL_SCRIPTS else None
    likely = Language.make(language=tag.language, script=script).maximize().territory
    if region == likely and tag.language not in _SEVERAL_STANDARDS:
        region = None
    short = Language.make(
        language=tag.language,
        script=script,
        territory=region,
        variants=tag.variants,
        private=tag.private,
    ).to_tag()
    first, *others = short.split("-")
    return "-".join([_COUNTRIES[first][0], *others]) if first in _COUNTRIES else short


def require_language(code: str, *, what: str = "") -> str:
    """Return the canonical code of a language.

    Args:
        code: A code in any spelling.
        what: What states the language, such as "source_language"; "": nothing more is said.

    Raises:
        DataError: The code is unknown. The message suggests the closest known one.
    """
    if found := canonical(code):
        return found
    stated = (
        f"{what} = '{code}' is not a language code" if what else f"there is no language '{code}'"
    )
    advice = (
        f"did you mean '{near}'?"
        if (near := nearest_language(code))
        else "use a code such as en, ja or pt-BR"
    )
    own, _ = _COUNTRIES.get(re.split(r"[\W_]", code.strip().lower())[0], ("", ""))
    if own:
        advice += f" (use '{own}' for the language that has this code in ISO 639)"
    raise DataError(f"{stated}: {advice}")


def nearest_language(text: str) -> str:
    """Return the language that a text which is not a code probably means, or "": ja for jp."""
    from langcodes import Language, find, tag_is_valid  # 0.04 s

    name = text.strip().lower()
    first = re.split(r"[\W_]", name)[0]
    if first in _COUNTRIES:
        return _COUNTRIES[first][1]
    if first != name and (found := canonical(first)):
        return found  # its other subtags are wrong
    if names := [
        code for known, code in _NAMES.items() if len(first) > 2 and known.startswith(first)
    ]:
        return names[0]
    if len(first) == 2 and first.upper() not in _NO_REGIONS and tag_is_valid(f"und-{first}"):
        return canonical(Language.make(territory=first.upper()).maximize().language or "")
    if name.isprintable() and find_spec("language_data"):  # names in all languages: 0.3 s
        try:
            return canonical(find(name).to_tag())
        except LookupError:
            pass
    close = difflib.get_close_matches(first, [*_NAMES, *_NAMES.values()], n=1, cutoff=_SIMILAR)
    return _NAMES.get(close[0], close[0]) if close else ""


def _without_brackets(name: str) -> str:
    """A name without brackets at its end: "English (US)" is "English"."""
    before, bracket, _ = name.partition("(")
    if not (bracket and name.endswith(")")):
        return name
    words = [*re.finditer(r"\w+", before)]
    return before[: words[-1].end()] if words else ""


def language_code(text: str) -> str:
    """Return the canonical code of the language that a column name states, or "".

    A code of three letters counts only if it has a script, such as ace_Arab, or if there is one of
    two letters for the same language, such as deu: others, such as src and the, are mostly words.
    """
    name = text.strip()
    if len(name) > _LONGEST:
        return ""
    if code := _NAMES.get(_without_brackets(name).lower()):
        return code
    if not (_CODE.fullmatch(name) and (code := canonical(name))):
        return ""
    import langcodes  # 0.04 s

    base = langcodes.standardize_tag(re.split("[-_@]", name)[0])
    return code if len(base) == 2 or _HAS_SCRIPT.search(name) else ""


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


def are_near(one: str, other: str) -> bool:
    """Whether two languages are so close that detection would be a guess: nb and da, hr and sr."""
    first, second = (canonical(code).split("-")[0] for code in (one, other))
    return any(first in group and second in group for group in _NEAR)


def same_language(one: str, other: str) -> bool:
    """Whether two codes state one language in one script, such as en-GB and en-US."""
    return closeness(one, other) is not None or _written(one) == _written(other)


def closest(wanted: str, codes: Iterable[str]) -> list[str]:
    """Return the codes that match a wanted one best; [] if none is the same language and script.

    Codes that say as much or more come first, then the one whose region is closest: de for de-AT,
    and pt-BR for pt-PT if there is no other. Of codes that match equally well, one that states the
    language itself, such as zho for zh, is preferred to one of its members, such as cmn.
    """
    ranks = {code: closeness(wanted, code) for code in codes}
    best = min((rank for rank in ranks.values() if rank in (0, 1)), default=None)
    if best is None:
        return _in_other_regions(wanted, [*ranks])
    found = [code for code, rank in ranks.items() if rank == best]
    found = [code for code in found if _tag(code) == _tag(wanted)] or found
    if len(found) > 1 and (more := _PLAIN.get(canonical(wanted))):
        return closest(more, found) or found
    return found


def _in_other_regions(wanted: str, codes: Sequence[str]) -> list[str]:
    """Return the code of the same language and script whose region is closest, if there is one."""
    if not (tag := canonical(wanted)):
        return []
    from langcodes import tag_distance  # 0.04 s

    found = [code for code in codes if _written(code) == _written(wanted)]
    return sorted(found, key=lambda code: tag_distance(tag, canonical(code)))[:1]


@lru_cache(maxsize=1024)
def _written(code: str) -> tuple[str, str]:
    """Return a language and its script, by default the usual one: (zh, Hant) for zh-TW."""
    from langcodes import Language  # 0.04 s

    if not (tag := canonical(code)):
        return code.lower(), ""
    language = Language.get(tag)
    first = language.language or ""
    return _SAME.get(first, first), language.maximize().script or ""


@lru_cache(maxsize=1024)
def _tag(code: str) -> str:
    import langcodes  # 0.04 s

    return langcodes.standardize_tag(code) if langcodes.tag_is_valid(code) else code


@lru_cache(maxsize=1024)
def _subtags(code: str) -> tuple[str, ...]:
    """Return the language, its script if this or the region is given, and the other subtags."""
    from langcodes import Language  # 0.04 s

    if not (tag := canonical(code)):
        return tuple(code.lower().replace("_", "-").split("-"))
    language = Language.get(tag)
    first, *rest = tag.lower().split("-")
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
        choose: Returns what to do if the file has other languages; None: choose two of them.

    Attributes:
        chosen: The two languages; None until they are known.
    """

    def __init__(
        self,
        path: str,
        wanted: tuple[str, str] | None,
        choose: Callable[[Sequence[str]], str] | None = None,
    ) -> None:
        self._path, self.chosen, self._given = path, wanted, wanted is not None
        self._fix = choose or _choices
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
            raise DataError(f"{self._path} has more than two languages: {self._fix(self._seen)}")
        first, second = self._seen
        if not source or find_pair((source, ""), (first, second))[0] is None:
            raise DataError(
                f"{self._path} does not state its source language: {self._fix(self._seen)} "
                "(languages, not numbers)"
            )
        reverse = find_pair((source, ""), (first, second))[0] == 1
        self.chosen = (second, first) if reverse else (first, second)

    def check(self) -> None:
        """Check at the end of the file that it has the languages.

        Raises:
            DataError: No unit has both.
        """
        if self._found or not (self._seen or self._left_out):
            return
        if not self._seen:
            raise DataError(f"{self._path} has no text with a language: add xml:lang to its units")
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
                f"{self._fix(self._seen)}"
            )
        raise DataError(f"{self._path} has no language {missing[0]}: {self._fix(self._seen)}")

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
