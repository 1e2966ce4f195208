"""Phrasebook sentences word for word, and which values its dev and test sets hold out."""

import functools
import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from datetime import date, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("babel")
pytest.importorskip("num2words")

from yakusu.errors import DataError
from yakusu.pipeline.demo import phrasebook as pb

TARGETS = ("de", "fr", "ja", "ko")

# Found in the English sentences, so that the tests share no code with the generator.
DATE = r"\d{1,2} [A-Z][a-z]+ 20\d\d"
QUANTITIES = {
    "date": DATE,
    "month": r"in ([A-Z][a-z]+ 20\d\d)\.",
    "day": r"birthday is on (\d{1,2} [A-Z][a-z]+)",
    "time": r"\d\d:\d\d",
    "price": r"(?:costs|paid) (.+)\.$",
    "measure": r"[\d.]+(?= kilo| degrees)",
    "number": r"(?:number is|Bus) (\d+)|^([\d,]+) people",
    "spelled": r"answer is (.+)\.$|say \"([a-z ,-]+)\" in",
}


def frame(start: str) -> dict[str, str]:
    (found,) = [frame for frame in pb.frames() if frame["en"].startswith(start)]
    return found


def filled(start: str, **values: object) -> dict[str, str]:
    return {lang: pb._fill(frame(start), values, lang) for lang in pb.LOCALES}


@functools.cache
def generated(target: str = "ja", n_pairs: int = 1000, seed: int = 1) -> pb.Phrasebook:
    """A phrasebook, generated once for all tests."""
    return pb.phrasebook(target, n_pairs=n_pairs, seed=seed)


@pytest.fixture
def book() -> pb.Phrasebook:
    """The phrasebook of the demo."""
    return generated(n_pairs=12000)


@pytest.fixture(scope="module")
def names() -> list[str]:
    """English names of all words, longest first, because a name may contain another one."""
    codes = {"country": pb.COUNTRIES, "language": pb.LANGUAGES, "currency": pb.CURRENCIES}
    found = [pb.SLOTS[kind].format(code, "en_GB") for kind in codes for code in codes[kind].split()]
    return sorted(found, key=len, reverse=True)


def quantities(pairs: list[pb.Pair]) -> set[tuple[str, str]]:
    return {
        (kind, match if isinstance(match, str) else "".join(match))
        for source, _ in pairs
        for kind, pattern in QUANTITIES.items()
        for match in re.findall(pattern, source)
    }


def word_pairs(pairs: list[pb.Pair], names: list[str]) -> set[frozenset[str]]:
    pattern = re.compile(rf"\b(?:{'|'.join(names)})\b")
    found = (frozenset(pattern.findall(source)) for source, _ in pairs)
    return {words for words in found if len(words) == 2}


def test_dates_and_times_follow_each_language() -> None:
    assert filled("The train leaves", date=date(2027, 3, 3), time=time(14, 5)) == {
        "en": "The train leaves on 3 March 2027 at 14:05.",
        "ja": "電車は2027年3月3日の14時5分に出発します。",
        "de": "Der Zug fährt am 3. März 2027 um 14:05 Uhr ab.",
        "fr": "Le train part le 3 mars 2027 à 14 h 05.",
        "ko": "기차는 2027년 3월 3일 14시 5분에 출발합니다.",
    }


def test_prices_use_the_decimal_sign_of_the_language() -> None:
    assert filled("The ticket", price=(Decimal("45.50"), "CHF")) == {
        "en": "The ticket costs 45.50 Swiss francs.",
        "ja": "切符は45.50スイスフランです。",
        "de": "Die Fahrkarte kostet 45,50 Schweizer Franken.",
        "fr": "Le billet coûte 45,50 francs suisses.",
        "ko": "표는 45.50 스위스 프랑입니다.",
    }


def test_numbers_are_spelled_out_in_each_language() -> None:
    assert filled("The answer", spelled=2380) == {
        "en": "The answer is two thousand, three hundred and eighty.",
        "ja": "答えは二千三百八十です。",
        "de": "Die Antwort ist zweitausenddreihundertachtzig.",
        "fr": "La réponse est deux mille trois cent quatre-vingts.",
        "ko": "정답은 이천삼백팔십입니다.",
    }


def test_large_numbers_use_the_separator_of_the_language() -> None:
    sentences = {lang: pb._fill(frame("{count}"), {"count": 4321}, lang) for lang in pb.LOCALES}
    assert sentences["en"] == "4,321 people live in this village."
    assert sentences["de"] == "In diesem Dorf leben 4.321 Menschen."
    assert sentences["fr"] == "Ce village compte 4 321 habitants."


def test_measures_have_their_unit_in_words() -> None:
    sentences = filled("It is", temperature=Decimal("12.1"))
    assert sentences["en"] == "It is 12.1 degrees Celsius outside."
    assert sentences["ja"] == "外の気温は摂氏12.1度です。"
    assert sentences["fr"] == "Dehors, il fait 12,1 degrés Celsius."


@pytest.mark.parametrize("month", range(1, 13))
def test_french_uses_an_ordinal_only_for_the_first_of_a_month(month: int) -> None:
    def birthday(day: int) -> str:
        return filled("My birthday", day=date(2024, month, day))["fr"]

    assert birthday(1).startswith("Mon anniversaire est le 1er ")
    assert birthday(1).replace("1er", "2") == birthday(2)
    assert "er " not in birthday(21)


@pytest.mark.parametrize(
    ("currency", "particle"),
    [("CHF", "프랑을"), ("EUR", "유로를"), ("USD", "달러를"), ("BRL", "레알을")],
)
def test_korean_object_particle_depends_on_the_final_consonant(
    currency: str, particle: str
) -> None:
    sentences = filled("On {date}", date=date(2027, 3, 3), price=(Decimal("45.50"), currency))
    assert sentences["ko"].endswith(f"{particle} 지불했습니다.")


@pytest.mark.parametrize(("country", "particle"), [("JP", '"일본"은 '), ("FR", '"프랑스"는 ')])
def test_korean_topic_particle_ignores_a_quotation_mark(country: str, particle: str) -> None:
    sentence = filled('How do you say "{country}"', country=country, language="en")["ko"]
    assert sentence == f"{particle}영어로 뭐라고 합니까?"


def test_all_korean_language_names_end_in_a_vowel() -> None:
    names = [pb.SLOTS["language"].format(code, "ko") for code in pb.LANGUAGES.split()]
    assert {name[-1] for name in names} == {"어"}


@pytest.mark.parametrize("target", TARGETS)
def test_sentences_contain_no_markup_of_frames(target: str) -> None:
    book = generated(target)
    sentences = [side for pair in book.train + book.dev + book.test for side in pair]
    assert len(pb.frames()) == 25
    for sentence in sentences:
        assert re.search(r"[.?。]$", sentence), sentence
        assert not re.search(r"[{}\[\]\n\xa0\u202f]|  |duration|mass-|length-", sentence), sentence
        assert unicodedata.is_normalized("NFC", sentence), sentence


def test_every_frame_has_the_same_slots_in_all_languages() -> None:
    for frame in pb.frames():
        slots = {tuple(sorted(re.findall(r"{(\w+)}", text))) for text in frame.values()}
        assert len(slots) == 1, frame["en"]


@pytest.mark.parametrize("kind", ["country", "language", "currency"])
@pytest.mark.parametrize("lang", pb.LOCALES)
def test_names_of_a_kind_are_distinct(kind: str, lang: str) -> None:
    codes = {"country": pb.COUNTRIES, "language": pb.LANGUAGES, "currency": pb.CURRENCIES}[kind]
    names = [pb.SLOTS[kind].format(code, pb.LOCALES[lang]) for code in codes.split()]
    assert len(set(names)) == len(names) > 15
    assert not [name for name in names if re.search(r"[()\d]| - ", name)]


@pytest.mark.parametrize("target", TARGETS)
def test_sets_have_the_requested_sizes_and_no_duplicates(target: str) -> None:
    book = generated(target)
    pairs = book.train + book.dev + book.test
    assert (len(book.train), len(book.dev), len(book.test)) == (1000, 200, 200)
    assert len({source for source, _ in pairs}) == len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_no_held_out_quantity_is_in_train(book: pb.Phrasebook, part: str) -> None:
    held_out = quantities(getattr(book, part))
    assert {kind for kind, _ in held_out} == set(QUANTITIES)
    assert not held_out & quantities(book.train)


def test_dev_and_test_share_no_quantity_and_no_pair_of_words(
    book: pb.Phrasebook, names: list[str]
) -> None:
    assert not quantities(book.dev) & quantities(book.test)
    assert not word_pairs(book.dev, names) & word_pairs(book.test, names)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_no_held_out_pair_of_words_is_in_train(
    book: pb.Phrasebook, names: list[str], part: str
) -> None:
    held_out = word_pairs(getattr(book, part), names)
    assert len(held_out) > 30
    assert not held_out & word_pairs(book.train, names)


def test_a_number_in_digits_and_in_words_is_in_one_set() -> None:
    for number in range(2, 1000):
        sets = [pb._sets_of({slot: number}) for slot in ("number", "count", "spelled")]
        assert sets[0] == sets[1] == sets[2]


@pytest.mark.parametrize("part", ["dev", "test"])
@pytest.mark.parametrize("n_pairs", [1000, 12000])
def test_train_has_all_digits_words_and_names_of_held_out_sentences(
    names: list[str], part: str, n_pairs: int
) -> None:
    book = generated(n_pairs=n_pairs)
    train = " ".join(source for source, _ in book.train)
    words = set(re.findall(r"[A-Za-zé]+|\d", train))
    for source, _ in getattr(book, part):
        assert set(re.findall(r"[A-Za-zé]+|\d", source)) <= words, source
        for name in names:
            assert name not in source or name in train, name


def test_the_set_of_a_value_is_independent_of_seed_and_target() -> None:
    first, second = generated("de"), generated("ko", seed=7)
    assert first.train != second.train
    assert not quantities(first.train) & quantities(second.test)
    assert not quantities(second.train) & quantities(first.test)


def test_another_process_generates_the_same_bytes() -> None:
    program = (
        "import hashlib; from yakusu.pipeline.demo.phrasebook import phrasebook; "
        "print(hashlib.sha256(repr(phrasebook('ko', n_pairs=1000, seed=7)).encode()).hexdigest())"
    )
    here = hashlib.sha256(repr(generated("ko", seed=7)).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": hash_seed,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONIOENCODING": "utf-8",
        }
        run = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == here


def test_another_seed_generates_other_sentences() -> None:
    first, second = (generated(seed=seed) for seed in (1, 2))
    assert len(set(first.train) & set(second.train)) < 200


def test_frames_are_used_in_turn() -> None:
    pairs = islice(pb._sentences("train", "ja", Random(1)), 10 * len(pb.frames()))
    trains = [source for (source, _), _ in pairs if source.startswith("The train leaves")]
    assert len(trains) == 10


def test_an_exhausted_frame_is_skipped(book: pb.Phrasebook) -> None:
    birthdays = [source for source, _ in book.train if source.startswith("My birthday")]
    assert 200 < len(birthdays) < 12000 / len(pb.frames())
    assert len(book.train) == 12000


def test_written_files_contain_the_pairs_line_by_line(tmp_path: Path) -> None:
    book = generated("de")
    paths = pb.write(book, tmp_path / "new" / "book")
    assert sorted(paths) == ["dev.de", "dev.en", "test.de", "test.en", "train.de", "train.en"]
    for part in ("train", "dev", "test"):
        read = [paths[f"{part}.{lang}"].read_bytes() for lang in ("en", "de")]
        assert all(side.endswith(b"\n") and b"\r" not in side for side in read)
        lines = [side.decode("utf-8")[:-1].split("\n") for side in read]
        assert list(zip(*lines, strict=True)) == getattr(book, part)
    assert {path.name for path in (tmp_path / "new" / "book").iterdir()} == set(paths)


@pytest.mark.parametrize("target", ["xx", "en", ""])
def test_an_unknown_language_is_rejected_with_the_known_ones(target: str) -> None:
    with pytest.raises(DataError, match=rf"{target!r}: choose one of de, fr, ja, ko"):
        pb.phrasebook(target)


@pytest.mark.parametrize("n_pairs", [0, 999, 100_001])
def test_a_size_out_of_range_is_rejected_with_the_range(n_pairs: int) -> None:
    with pytest.raises(DataError, match=f"n_pairs is {n_pairs}: set it to 1000 to 100000"):
        pb.phrasebook(n_pairs=n_pairs)
