"""A generated phrasebook for travellers: parallel text for the demo, without a download.

Sentence frames are filled with values that Babel (CLDR) and num2words format in each language. A
value is a *quantity* (a date, a time, a number, a measure, a price with its currency) or a *word*
(a country, a language, a currency, a weekday).

The dev and test sets contain values that the training set does not:
- A quantity belongs to one of the three sets, in all frames: a date, time or number of a test
  sentence, in digits or in words, occurs in no training or dev sentence.
- A word occurs in all sets, because no model can translate an unknown name. If a sentence has two
  words, this combination belongs to one set, in either order and in all frames.
- Every digit, English word and name of a dev or test sentence occurs in the training set.
A hash of the value determines its set, independently of seed, size and target language. The result
depends only on the arguments and on the versions of Babel and num2words.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from babel import Locale
from babel.dates import format_date, format_skeleton, format_time
from babel.numbers import format_currency, format_decimal, get_currency_precision
from babel.units import format_unit
from num2words import num2words

from yakusu.data.files.text import Pair
from yakusu.errors import DataError

SIZES = range(1_000, 100_001)  # smaller training sets lack words of most held-out sentences
HELD_OUT = 200  # pairs in dev, and in test
MAX_DRAWS = 5000  # without a new sentence; the frame is then considered exhausted

# British English puts the day before the month and uses 24 hours, like the target languages.
LOCALES = {"en": "en_GB", "ja": "ja", "de": "de", "fr": "fr", "ko": "ko"}
CLOCKS = {"en_GB": "HH:mm", "ja": "H時m分", "de": "HH:mm 'Uhr'", "fr": "H 'h' mm", "ko": "H시 m분"}

# Names that need no article in any of the five languages; few, so that each one occurs often.
COUNTRIES = (
    "AR AT AU BE BG BR CA CH CL CN CO CR CU CY CZ DE DK DO EC EE EG ES ET FI FJ FR GB GE GH GR GT "
    "HR HU ID IE IL IN IS IT JM JO JP KE KH KR KW KZ LA LK LT LU LV MA MG MN MT MX MY NG NL NO NP "
    "NZ OM PA PE PH PK PL PT PY QA RO RS RW SA SE SG SI SK SN TH TN TR TZ UA UG US UY UZ VN ZA ZM"
)
LANGUAGES = "ar bg cs da de el en es et fa fi fr he hi hr hu id it ja ko nl pl pt ru sv th tr vi zh"
CURRENCIES = "AUD BRL CAD CHF CZK DKK EGP EUR GBP HUF INR JPY MXN NOK NZD PLN SEK SGD THB USD"


@cache
def frames() -> list[dict[str, str]]:
    """The sentence frames, each in the languages of LOCALES.

    `phrasebook.txt` has five lines per frame, in the order of LOCALES. Names occur only where they
    need no article and no inflection; "[을/를]" is a Korean particle, selected by the preceding
    syllable.
    """
    table = (
        resources.files("yakusu.pipeline.demo")
        .joinpath("phrasebook.txt")
        .read_text(encoding="utf-8")
    )
    lines = [line.strip() for line in table.splitlines()]
    return [
        dict(zip(LOCALES, group, strict=True)) for group in zip(*[iter(lines)] * 5, strict=True)
    ]


@dataclass(frozen=True)
class Phrasebook:
    """Pairs (English sentence, target sentence) in three sets that share no quantity."""

    target: str
    train: list[Pair]
    dev: list[Pair]
    test: list[Pair]


@dataclass(frozen=True)
class Slot:
    """How to draw a random value and format it in a locale; the value of a word is its code."""

    draw: Callable[[Random], Any]
    format: Callable[[Any, str], str]


def _dates(days: int, format: Callable[[date, str], str]) -> Slot:
    return Slot(lambda rng: date(2024, 1, 1) + timedelta(days=rng.randrange(days)), format)


def _numbers(low: int, high: int, format: Callable[[int, str], str]) -> Slot:
    # Numbers start at 2, so that no frame needs a singular.
    return Slot(lambda rng: rng.randint(low, high), format)


def _measures(unit: str, top: int) -> Slot:
    return Slot(
        lambda rng: Decimal(rng.randint(20, 10 * top)).scaleb(-1),
        lambda value, at: format_unit(value, unit, locale=at),
    )


def _names(codes: str, get: Callable[[str, Locale], str]) -> Slot:
    return Slot(lambda rng: rng.choice(codes.split()), lambda code, at: get(code, Locale.parse(at)))


def _draw_price(rng: Random) -> tuple[Decimal, str]:
    currency = rng.choice(CURRENCIES.split())
    return Decimal(5 * rng.randint(40, 4000)).scaleb(-get_currency_precision(currency)), currency


SLOTS: dict[str, Slot] = {
    "date": _dates(9000, lambda day, at: format_date(day, "long", at)),
    "full_date": _dates(9000, lambda day, at: format_date(day, "full", at)),
    "day": _dates(366, lambda day, at: format_skeleton("MMMMd", day, locale=at)),
    "month": Slot(
        lambda rng: date(rng.randint(2024, 2048), rng.randint(1, 12), 1),
        lambda day, at: format_skeleton("yMMMM", day, locale=at),
    ),
    "time": Slot(
        lambda rng: time(rng.randrange(24), rng.randrange(60)),
        lambda clock, at: format_time(clock, CLOCKS[at], locale=at),
    ),
    "number": _numbers(2, 999, lambda number, at: format_decimal(number, locale=at)),
    "count": _numbers(100, 9999, lambda number, at: format_decimal(number, locale=at)),
    "spelled": _numbers(2, 9999, lambda number, at: str(num2words(number, lang=at))),
    "price": Slot(
        _draw_price,
        lambda it, at: format_currency(it[0], it[1], locale=at, format_type="name"),
    ),
    "weight": _measures("mass-kilogram", 99),
    "distance": _measures("length-kilometer", 99),
    "temperature": _measures("temperature-celsius", 40),
    "weekday": _names("0 1 2 3 4 5 6", lambda code, at: at.days["format"]["wide"][int(code)]),
    "country": _names(COUNTRIES, lambda code, at: at.territories[code]),
    "language": _names(LANGUAGES, lambda code, at: at.languages[code]),
    "currency": _names(CURRENCIES, lambda code, at: at.currencies[code]),
}
SLOTS |= {f"{it}_{i}": SLOTS[it] for it in ("country", "language", "currency") for i in (1, 2)}


def _particle(match: re.Match[str]) -> str:
    """Select the form of a Korean particle: the first after a consonant, otherwise the second."""
    syllable, between, closed, opened = match.groups()
    # Unicode has 28 syllables per initial and vowel; the first of these ends in the vowel.
    return f"{syllable}{between}{closed if (ord(syllable) - ord('가')) % 28 else opened}"


def _fill(frame: dict[str, str], values: dict[str, Any], lang: str) -> str:
    """Fill a frame in one language and apply its typography, which CLDR does not cover."""
    texts = {field: SLOTS[field].format(value, LOCALES[lang]) for field, value in values.items()}
    sentence = re.sub(r"[\xa0\u202f]", " ", frame[lang].format(**texts))
    if lang == "ja":
        return sentence.replace(" ", "")
    if lang == "fr":
        return re.sub(r"\b1 (?=janv|févr|ma|avr|jui|août|sep|oct|nov|déc)", "1er ", sentence)
    return re.sub(r"([가-힣])(\W?)\[(\w+)/(\w+)\]", _particle, sentence)


def _set_of(value: object) -> str:
    """Return the set of a value: dev and test each get a tenth of all values, train the rest."""
    bucket = int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:4], "big") % 10
    return {0: "dev", 1: "test"}.get(bucket, "train")


def _sets_of(values: dict[str, Any]) -> set[str]:
    """Return the sets of the quantities of a sentence and of its pair of words."""
    words = {value for value in values.values() if isinstance(value, str)}
    held: list[object] = [value for value in values.values() if not isinstance(value, str)]
    return {_set_of(value) for value in held + ([sorted(words)] if len(words) > 1 else [])}


def _atoms(source: str, values: dict[str, Any]) -> set[str]:
    """Return the parts of a sentence that must occur in train: digits, English words, names."""
    names = {value for value in values.values() if isinstance(value, str)}
    return names.union(re.findall(r"\d|[^\W\d]+", source))


def _sentences(name: str, target: str, rng: Random) -> Iterator[tuple[Pair, set[str]]]:
    """Generate distinct pairs of one set with their atoms, from each frame in turn."""
    seen: set[str] = set()
    left = list(frames())
    while left:
        for frame in tuple(left):
            fields = re.findall(r"{(\w+)}", frame["en"])
            for _ in range(MAX_DRAWS):
                values = {field: SLOTS[field].draw(rng) for field in fields}
                source = _fill(frame, values, "en") if _sets_of(values) == {name} else ""
                if source and source not in seen:
                    seen.add(source)
                    yield (source, _fill(frame, values, target)), _atoms(source, values)
                    break
            else:
                left.remove(frame)


def phrasebook(target: str = "ja", *, n_pairs: int = 12000, seed: int = 1) -> Phrasebook:
    """Generate a phrasebook with English sources.

    Args:
        target: The target language: de, fr, ja or ko.
        n_pairs: Number of training pairs, 1,000 to 100,000; dev and test have 200 pairs each.
        seed: Seed of the sentences; the same arguments give the same book.

    Raises:
        DataError: The target language or the number of pairs is not supported.
    """
    targets = sorted(set(LOCALES) - {"en"})
    if target not in targets:
        raise DataError(f"no phrasebook exists for {target!r}: choose one of {', '.join(targets)}")
    if n_pairs not in SIZES:
        raise DataError(f"n_pairs is {n_pairs}: set it to {SIZES[0]} to {SIZES[-1]}")
    rng = Random(seed)
    drawn = list(islice(_sentences("train", target, rng), n_pairs))
    known = set().union(*(atoms for _, atoms in drawn))

    def held_out(name: str) -> list[Pair]:
        sentences = _sentences(name, target, rng)
        return list(islice((pair for pair, atoms in sentences if atoms <= known), HELD_OUT))

    return Phrasebook(target, [pair for pair, _ in drawn], held_out("dev"), held_out("test"))


def write(book: Phrasebook, folder: str | Path) -> dict[str, Path]:
    """Write train.en, train.ja, dev.en and so on, one sentence per line; return their paths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, pairs in (("train", book.train), ("dev", book.dev), ("test", book.test)):
        for lang, sentences in zip(("en", book.target), zip(*pairs, strict=True), strict=True):
            path = paths[f"{name}.{lang}"] = Path(folder) / f"{name}.{lang}"
            path.write_text("".join(f"{line}\n" for line in sentences), "utf-8", newline="\n")
    return paths
