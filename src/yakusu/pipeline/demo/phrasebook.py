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

# Five lines per frame, in the order of LOCALES. Names occur only where they need no article and no
# inflection; "[을/를]" is a Korean particle, selected by the preceding syllable.
_TABLE = """
The train leaves on {date} at {time}.
  電車は{date}の{time}に出発します。
  Der Zug fährt am {date} um {time} ab.
  Le train part le {date} à {time}.
  기차는 {date} {time}에 출발합니다.
My birthday is on {day}.
  私の誕生日は{day}です。
  Mein Geburtstag ist am {day}.
  Mon anniversaire est le {day}.
  제 생일은 {day}입니다.
This passport is valid until {date}.
  このパスポートは{date}まで有効です。
  Dieser Reisepass ist bis zum {date} gültig.
  Ce passeport est valable jusqu'au {date}.
  이 여권은 {date}까지 유효합니다.
Today's date: {full_date}.
  今日の日付は{full_date}です。
  Heutiges Datum: {full_date}.
  Date du jour : {full_date}.
  오늘 날짜는 {full_date}입니다.
The concert begins on {full_date} at {time}.
  コンサートは{full_date}の{time}に始まります。
  Das Konzert beginnt am {full_date}, um {time}.
  Le concert commence le {full_date} à {time}.
  콘서트는 {full_date} {time}에 시작합니다.
The festival takes place in {month}.
  お祭りは{month}に行われます。
  Das Fest findet im {month} statt.
  La fête a lieu en {month}.
  축제는 {month}에 열립니다.
See you on {weekday} at {time}.
  {weekday}の{time}に会いましょう。
  Wir sehen uns am {weekday} um {time}.
  On se voit {weekday} à {time}.
  {weekday} {time}에 만납시다.
Please wake me at {time}.
  {time}に起こしてください。
  Bitte wecken Sie mich um {time}.
  Réveillez-moi à {time}, s'il vous plaît.
  {time}에 깨워 주세요.
The ticket costs {price}.
  切符は{price}です。
  Die Fahrkarte kostet {price}.
  Le billet coûte {price}.
  표는 {price}입니다.
On {date} I paid {price}.
  {date}に{price}を払いました。
  Am {date} habe ich {price} bezahlt.
  Le {date}, j'ai payé {price}.
  {date}에 {price}[을/를] 지불했습니다.
Currency sold: {currency_1}; currency bought: {currency_2}.
  売る通貨は{currency_1}、買う通貨は{currency_2}です。
  Verkaufte Währung: {currency_1}; gekaufte Währung: {currency_2}.
  Devise vendue : {currency_1} ; devise achetée : {currency_2}.
  파는 통화는 {currency_1}, 사는 통화는 {currency_2}입니다.
The parcel weighs {weight}.
  小包の重さは{weight}です。
  Das Paket wiegt {weight}.
  Le colis pèse {weight}.
  소포의 무게는 {weight}입니다.
Destination: {country}; weight: {weight}.
  宛先は{country}、重さは{weight}です。
  Zielland: {country}; Gewicht: {weight}.
  Destination : {country} ; poids : {weight}.
  목적지는 {country}, 무게는 {weight}입니다.
The station is {distance} from here.
  駅はここから{distance}です。
  Der Bahnhof ist {distance} von hier entfernt.
  La gare est à {distance} d'ici.
  역은 여기에서 {distance} 떨어져 있습니다.
It is {temperature} outside.
  外の気温は{temperature}です。
  Draußen sind es {temperature}.
  Dehors, il fait {temperature}.
  바깥 기온은 {temperature}입니다.
My room number is {number}.
  私の部屋番号は{number}です。
  Meine Zimmernummer ist {number}.
  Mon numéro de chambre est le {number}.
  제 방은 {number}호입니다.
Bus {number} goes to the airport.
  {number}番のバスは空港へ行きます。
  Der Bus {number} fährt zum Flughafen.
  Le bus {number} va à l'aéroport.
  {number}번 버스는 공항으로 갑니다.
{count} people live in this village.
  この村には{count}人が住んでいます。
  In diesem Dorf leben {count} Menschen.
  Ce village compte {count} habitants.
  이 마을에는 {count}명이 살고 있습니다.
The answer is {spelled}.
  答えは{spelled}です。
  Die Antwort ist {spelled}.
  La réponse est {spelled}.
  정답은 {spelled}입니다.
How do you say "{spelled}" in {language}?
  「{spelled}」は{language}で何と言いますか。
  Wie sagt man „{spelled}“ auf {language}?
  Comment dit-on « {spelled} » en {language} ?
  "{spelled}"[은/는] {language}로 뭐라고 합니까?
How do you say "{country}" in {language}?
  「{country}」は{language}で何と言いますか。
  Wie sagt man „{country}“ auf {language}?
  Comment dit-on « {country} » en {language} ?
  "{country}"[은/는] {language}로 뭐라고 합니까?
Do you speak {language_1} or {language_2}?
  {language_1}か{language_2}を話せますか。
  Sprechen Sie {language_1} oder {language_2}?
  Parlez-vous {language_1} ou {language_2} ?
  {language_1}나 {language_2}를 할 수 있습니까?
The tour in {language} starts at {time}.
  {language}のツアーは{time}に始まります。
  Die Führung auf {language} beginnt um {time}.
  La visite en {language} commence à {time}.
  {language} 투어는 {time}에 시작합니다.
Tonight's match: {country_1} against {country_2}.
  今夜の試合は{country_1}対{country_2}です。
  Das Spiel heute Abend: {country_1} gegen {country_2}.
  Le match de ce soir : {country_1} contre {country_2}.
  오늘 저녁 경기는 {country_1} 대 {country_2}입니다.
Country of birth: {country_1}; country of residence: {country_2}.
  出生国は{country_1}、居住国は{country_2}です。
  Geburtsland: {country_1}; Wohnsitzland: {country_2}.
  Pays de naissance : {country_1} ; pays de résidence : {country_2}.
  출생국은 {country_1}, 거주국은 {country_2}입니다.
"""
_LINES = [line.strip() for line in _TABLE.strip().splitlines()]
FRAMES = [dict(zip(LOCALES, _LINES[i : i + 5], strict=True)) for i in range(0, len(_LINES), 5)]


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
    frames = list(FRAMES)
    while frames:
        for frame in tuple(frames):
            fields = re.findall(r"{(\w+)}", frame["en"])
            for _ in range(MAX_DRAWS):
                values = {field: SLOTS[field].draw(rng) for field in fields}
                source = _fill(frame, values, "en") if _sets_of(values) == {name} else ""
                if source and source not in seen:
                    seen.add(source)
                    yield (source, _fill(frame, values, target)), _atoms(source, values)
                    break
            else:
                frames.remove(frame)


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
