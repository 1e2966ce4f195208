"""The script of translators: the same reading, checks and writing as in Python.

`Translator.stream` and what it reads are translated; by hand are the tokenizer's library, the
engine, the constraints of searches, and the sentences of sentencex.
"""

import hashlib
import html
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from html.entities import html5
from importlib import resources
from itertools import chain, product

from markdown_it.common.entities import entities

from yakusu import lazy
from yakusu.config import Config
from yakusu.data.coverage import Coverage
from yakusu.data.files.inline_codes import CodeKind, InlineCode
from yakusu.data.files.po import PoReader, language_of_header
from yakusu.data.files.xmlstream import is_line_break
from yakusu.data.inline_marks import marked_texts, text_parts
from yakusu.data.lines.layout import Layout
from yakusu.data.lines.private_use import MARKS, RESERVED, SLOTS
from yakusu.data.lines.sentence_pairs import sentence_pairs
from yakusu.data.lines.words import is_joined
from yakusu.data.numbers.cldr import number_signs
from yakusu.data.pieces import MEANING, Pieces
from yakusu.data.segments import MemorySegment, SegmentContext
from yakusu.data.tokenizer import Tokenizer
from yakusu.documents import subtitles
from yakusu.documents.document import DocumentOptions, Known, usable
from yakusu.documents.messages import icu, layouts
from yakusu.documents.messages.json_strings import JsonDocument
from yakusu.documents.messages.po import PoDocument
from yakusu.documents.messages.po_file import (
    TEMPLATE,
    PoFile,
    escaped_string,
    plural_forms,
    stated_plurals,
)
from yakusu.documents.subtitles import Subtitles
from yakusu.errors import DataError
from yakusu.export.web import markdown
from yakusu.export.web.bundle import Bundle
from yakusu.export.web.modules import shortened
from yakusu.export.web.sentences import sentence_rules
from yakusu.memory.matches import find_matches
from yakusu.memory.memory import SimilarSegment, StoredSegment, TranslationMemory
from yakusu.memory.segments import normalised, renumbered, with_variables
from yakusu.memory.words import words
from yakusu.native.compile import WEB_MODULES, WEB_PROBE
from yakusu.search.decoder import Decoder, Searches
from yakusu.search.hypothesis import NOTHING, Hypothesis, limit
from yakusu.search.trace import Extension, TraceStep, best_first
from yakusu.tasks.task import TranslationTask
from yakusu.translator.reading.constraints import Constraints
from yakusu.translator.recall.reader import MemoryReader
from yakusu.translator.request import Request
from yakusu.translator.translator import Translator
from yakusu.translator.writing.objects import match_object, objects
from yakusu.view.maps import AttentionMaps, attention_maps

_TRANSLATOR = "yakusu.translator.translator"
_BY_HAND = {
    "_blake2.blake2b": "blake2b",
    "html.escape": "escapedHtml",
    "html.unescape": "unescapedHtml",
    f"{_TRANSLATOR}.tasks": "TASKS",
    f"{_TRANSLATOR}._glossary": "noGlossary",
    "yakusu.alignment.token_weights": "tokenWeights",
    "yakusu.alignment.word_links": "wordLinks",
    "yakusu.data.files.text.windows": "windows",
    "yakusu.data.pieces.Pieces": "Pieces",
    "yakusu.translator.reading.constraints.Constraints": "Constraints",
    "json.dumps": "writtenJson",
    "json.loads": "parsedJson",
    "sentencex.segment": "segmentSentences",
    "yakusu.data.languages.same_language": "sameLanguage",
    "yakusu.documents.languages.check_language": "checkLanguage",
    "yakusu.documents.languages.check_single_language": "checkSingleLanguage",
    "yakusu.documents.messages.json_strings.decoded_json": "decodedJson",
    "yakusu.documents.messages.po_file.PoFile": "PoFile",
    "yakusu.documents.messages.po_file._form_of_one": "formOfOne",
    "yakusu.documents.messages.json_strings.parsed_json": "rootOfJson",
    "yakusu.data.lines.spans._compiled": "literalPattern",
    "yakusu.data.lines.spans._quick_length": "anyLength",
    "yakusu.memory.filling.filled": "notFilled",
    "yakusu.memory.matches._name": "fileName",
    "yakusu.view.maps._rounded": "roundedWeights",
    # What a module has no use for: consensus, patterns of users, messages about languages
    **dict.fromkeys(
        (
            "fnmatch.fnmatchcase",
            "yakusu.config.did_you_mean",
            "yakusu.data.languages.closest",
            "yakusu.data.languages.listed_codes",
            "yakusu.search.neighbours.SegmentStates",
            "yakusu.translator.consensus.agreed",
        ),
        "null",
    ),
    "yakusu.translator.recall.analysis.MatchAnalysis": "NoAnalysis",
    "yakusu.translator.stages.StageCounts": "NoCounts",
}
_OMITTED = frozenset(
    {
        f"{_TRANSLATOR}.Translator.{name}"
        for name in (*("load", "score", "translating_to", "with_memories", "_open_memories"),)
    }
    | {
        "yakusu.data.tokenizer.Tokenizer.train",
        "yakusu.data.tokenizer.Tokenizer.load",
        "yakusu.tasks.task.TranslationTask.score",
        "yakusu.data.lines.terms.Glossary.read",
        "yakusu.data.lines.terms.Glossary.closest",
        "yakusu.data.numbers.atoms.NumberAtoms.__init__",  # their values are written instead
        "yakusu.data.numbers.words.NumberWords.__init__",
    }
)
# What the parts by hand read
_READ_BY_HAND = (
    *(Translator, Tokenizer, Coverage, TranslationTask, Hypothesis, Extension, TraceStep),
    *(DataError, best_first, limit, is_joined),
)
# What the page reads
_READ_BY_PAGE = (
    *(Request, Layout, sentence_pairs, objects, AttentionMaps, attention_maps),
    *(MemoryReader, MemorySegment, StoredSegment, find_matches, match_object),
    *(normalised, renumbered, with_variables, words, SimilarSegment),
    *(InlineCode, is_line_break, marked_texts, text_parts),
    *(Subtitles, JsonDocument, SegmentContext, Known, usable, DocumentOptions),
    *(PoDocument, PoReader, language_of_header, plural_forms, stated_plurals, escaped_string),
)
_OPEN_ENTITIES = {name for name in html5 if not name.endswith(";")}
_OTHER_CODES = dict.fromkeys(html._invalid_codepoints, "") | html._invalid_charrefs  # type: ignore[attr-defined]
_CONSTANTS = {"NOTHING": NOTHING, "SLOTS": SLOTS, "MEANING": MEANING}
_CONSTANTS_OF_PAGE = {
    **{"LINES": subtitles._LINE, "TEMPLATE": TEMPLATE, "CODE_KINDS": tuple(CodeKind)},
    **{"ENTITIES": entities, "OPEN_ENTITIES": _OPEN_ENTITIES, "OTHER_CODES": _OTHER_CODES},
}
_ATTRIBUTES = (
    *("stream", "with_settings", "target_bytes", "tgt_vocab_size", "target_slots", "coverage"),
    *("encode_target", "decode_target", "forms", "span_finder", "of"),
)
_ATTRIBUTES_OF_PAGE = (
    *("as_json", "recalled", "texts", "keys", "lines", "skipped", "render", "tell"),
    *("reports_blank", "entries", "is_header"),
)
_SETTINGS = ("languages", "search", "text_config", "calibration")  # as translator.js reads them
_LAYOUTS = [*dict.fromkeys([*(own.code for own in layouts.LAYOUTS), layouts._CODE])]
_CASED = ("en", "nl", "el", "tr", "az")  # languages with rules of capitals of their own
_STATIC = (  # in this order
    *(
        "runtime",
        "engine",
        "search",
        "sentences",
        "documents",
        "markdown",
        "memory",
        "translator",
        "library",
    ),
)
ENGINES = tuple(name for name in WEB_MODULES if name != WEB_PROBE)
_STATIC_OF_PAGE = frozenset(("documents", "markdown", "memory"))


def script_of(translators: Sequence[Translator], *, for_page: bool) -> str:
    """What translators read and write text with, as a script; `openTranslator` opens one.

    Args:
        translators: The translators.
        for_page: With what only the page reads: attention, memories and documents.

    Raises:
        ModelError: Something that it needs has no translation.
    """
    own = resources.files("yakusu.export.web")
    names = [name for name in _STATIC if for_page or name not in _STATIC_OF_PAGE]
    parts = {name: shortened((own / f"{name}.js").read_text(encoding="utf-8")) for name in names}
    sources = {translator.languages[0] or "en" for translator in translators}
    rules = json.dumps(sentence_rules(sources | {"en"}), ensure_ascii=False)
    parts["sentences"] = f"const SENTENCE_RULES = {rules};\n{parts['sentences']}"
    sums = [zlib.adler32((own / name).read_bytes()) for name in ENGINES]
    parts["library"] = f"const ENGINE_SUMS = {json.dumps(sums)};\n{parts['library']}"
    parts["runtime"] += f"\n{_translated(translators, for_page=for_page)}"
    return "\n".join(parts.values())


def settings_key(translator: Translator) -> str:
    """The name of the settings of a translator, which its model file says and the script has."""
    values = (getattr(translator, name) for name in _SETTINGS)
    plain = [
        value.model_dump(mode="json") if isinstance(value, Config) else value for value in values
    ]
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def _translated(translators: Sequence[Translator], *, for_page: bool) -> str:
    """The functions and settings of translators."""
    codes = list(dict.fromkeys([*chain(*(own.languages for own in translators)), ""]))
    without = {own.text_config.span_finder().without: None for own in translators}
    one = [(code,) for code in codes]
    numbers = "yakusu.data.numbers"
    bundle = Bundle(
        replaced={**_BY_HAND, **markdown.BY_HAND},
        omitted=_OMITTED | markdown.OMITTED,
        tabulated={
            "yakusu.data.languages.canonical": one,
            "yakusu.data.lines.casing._is": [(wanted, code) for wanted in _CASED for code in codes],
            "yakusu.data.lines.casing.has_case": one,
            "yakusu.data.lines.code.code_pattern": [(own,) for own in without],
            "yakusu.documents.messages.icu_plurals._ordinal_categories": one,
            "yakusu.documents.messages.plurals.plural_categories": one,
            "yakusu.documents.messages.po_file.stated_plurals": one,
            f"{numbers}.cldr.number_signs": one,
            f"{numbers}.cldr.decimal_sign": one,
            f"{numbers}.cldr.is_known": one,
            f"{numbers}.cldr._grouped": [number_signs(code) for code in codes],
            f"{numbers}.marks._names": one,
            f"{numbers}.marks._stems": one,
            f"{numbers}.words.number_words": one,
        },
        compiled=(
            *(lazy.compile(MARKS), RESERVED),
            *(chain(_expressions_of_messages(), markdown.expressions()) if for_page else ()),
        ),
        by_hand=(Decoder, Searches, Pieces, Constraints, TranslationMemory, PoFile),
    )
    for thing in (*_READ_BY_HAND, *(_READ_BY_PAGE if for_page else ())):
        bundle.reference(thing)
    constants = _CONSTANTS | (_CONSTANTS_OF_PAGE if for_page else {})
    for name, value in constants.items():
        bundle.reference(value, name, __name__)
    bundle.read(*_ATTRIBUTES, *(_ATTRIBUTES_OF_PAGE if for_page else ()))
    rules = [*markdown.add_markdown(bundle)] if for_page else []
    rows = (
        f"[{json.dumps(settings_key(own))}, "
        f"[{', '.join(bundle.value(getattr(own, name)) for name in _SETTINGS)}]]"
        for own in translators
    )
    settings = f"const SETTINGS = new Map([{', '.join(rows)}]);"
    return "\n".join([bundle.source(), *rules, settings])


def _expressions_of_messages() -> Iterator[re.Pattern[str]]:
    """What strings of programs are divided and quoted with, for each layout of their files."""
    for code in _LAYOUTS:
        kept = f"{code}|{icu._FRAGILE}" if code else icu._FRAGILE
        yield re.compile(kept)
        yield re.compile(f"{kept}|[{{}}#']")
    for flags in product((False, True), repeat=3):
        yield re.compile(icu._Quoting(*flags).pattern)
