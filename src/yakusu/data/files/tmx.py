"""TMX 1.4: translation memories with several languages per unit.

    <tu><tuv xml:lang="en"><seg>Press <hi>Start</hi>.</seg></tuv> <tuv xml:lang="de">...

The content of bpt, ept, it, ph and ut is native code, and so is a sub within them.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from yakusu.data.files.safexml import local_name, read_elements, text_of
from yakusu.data.files.text import Pair, PairFile, one_line
from yakusu.data.languages import UnitLanguages, distinct, language_pair

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_CODE = frozenset(("bpt", "ept", "it", "ph", "ut"))
_INSPECTED_UNITS = 1000  # that tell which languages a file has
_ALL = "*all*"  # srclang of a file in which any language may be the source


def read_tmx(file: PairFile) -> Iterator[Pair]:
    """Read a pair from each unit that has both languages.

    Raises:
        DataError: The file is malformed or lacks a language.
    """
    wanted = language_pair(file.path, file.columns, lambda: tmx_languages(file.path)[0])
    languages = UnitLanguages(file.path, wanted)
    srclang = ""
    for element in read_elements(file.path, "tmx", ("header", "tu")):
        if local_name(element) == "header":
            srclang = element.get("srclang", "")
            continue
        codes, segments = _segments(element)
        source = srclang if srclang and srclang != _ALL else element.get("srclang", "")
        if found := languages.pick(codes, source):
            src = text_of(segments[found[0]], _CODE, file.path)
            tgt = text_of(segments[found[1]], _CODE, file.path)
            yield one_line(src), one_line(tgt)
    languages.check()
    for remark in languages.remarks():
        file.remark(remark)


def tmx_languages(path: str) -> tuple[list[str], str]:
    """Return the languages of the first units of a file, and its source language or "".

    Raises:
        DataError: The file is malformed.
    """
    seen, srclang = dict[str, None](), ""
    for number, element in enumerate(read_elements(path, "tmx", ("header", "tu"))):
        if local_name(element) == "header":
            srclang = element.get("srclang", "")
        else:
            seen.update(dict.fromkeys(_segments(element)[0]))
        if number >= _INSPECTED_UNITS:
            break
    return distinct(seen), "" if srclang == _ALL else srclang


def _segments(unit: "Element") -> tuple[tuple[str, ...], list["Element"]]:
    """Return the language of each segment of a unit, and the segments."""
    prefix = str(unit.tag)[:-2]  # the namespace
    tuv, seg = f"{prefix}tuv", f"{prefix}seg"
    codes, segments = [], []
    for variant in unit:
        if variant.tag == tuv and (code := variant.get(_LANG) or variant.get("lang")):
            for segment in variant:
                if segment.tag == seg:
                    codes.append(code)
                    segments.append(segment)
    return tuple(codes), segments
