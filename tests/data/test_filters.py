"""Each filter drops what its threshold says; duplicates are those a set would find."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from yakusu.data import identification
from yakusu.data.corpus import Corpus
from yakusu.data.duplicates import DuplicateFinder
from yakusu.data.files.text import Pair
from yakusu.data.filters import (
    FilterConfig,
    FilterReport,
    Selection,
    filter_corpus,
    length_filter,
    text_filter,
)
from yakusu.data.identification import CorpusLanguages, EvenSample
from yakusu.data.noise import patterns_in
from yakusu.errors import DataError, RecipeError
from yakusu.progress import Silent

PAIRS = [(f"source {i}", f"target {i}") for i in range(7)]


def corpus(folder: Path, pairs: list[Pair]) -> Corpus:
    files = {"src": folder / "a.en", "tgt": folder / "a.de"}
    for i, path in enumerate(files.values()):
        path.write_text("".join(pair[i] + "\n" for pair in pairs), encoding="utf-8")
    return Corpus(src=str(files["src"]), tgt=str(files["tgt"]))


@pytest.mark.parametrize(
    ("pair", "rejected_by"),
    [
        (("a", "b"), None),
        (("", "b"), "empty"),
        (("a", ""), "empty"),
        (("", ""), "empty"),
        (("a", "a"), "identical"),
        (("a", "A"), None),
    ],
)
def test_text_filters_reject_empty_and_identical_pairs(pair: Pair, rejected_by: str | None) -> None:
    assert text_filter(pair, FilterConfig()) == rejected_by


def test_identical_pairs_can_be_kept() -> None:
    assert text_filter(("a", "a"), FilterConfig(drop_identical=False)) is None


@pytest.mark.parametrize(
    ("n_src", "n_tgt", "rejected_by"),
    [
        (10, 10, None),
        (11, 5, "too long"),
        (5, 11, "too long"),
        (11, 1, "too long"),  # the first filter that rejects counts
        (9, 3, None),  # exactly at the ratio
        (10, 3, "ratio"),
        (3, 10, "ratio"),
        (0, 3, "empty"),
        (3, 0, "empty"),
    ],
)
def test_length_filters_reject_long_and_unbalanced_pairs(
    n_src: int, n_tgt: int, rejected_by: str | None
) -> None:
    config = FilterConfig(max_tokens=10, max_ratio=3)
    assert length_filter(n_src, n_tgt, config) == rejected_by


def test_report_counts_read_dropped_and_kept_pairs() -> None:
    report = FilterReport()
    report.read = 10
    report.dropped.update(["ratio", "empty", "ratio"])
    assert report.kept == 7
    assert report.as_dict() == {
        "read": 10,
        "empty": 1,
        "identical": 0,
        "placeholders": 0,
        "duplicate": 0,
        "too long": 0,
        "ratio": 2,
        "kept": 7,
    }


STREAMS = st.lists(st.tuples(st.text("ab ", max_size=3), st.text("ab ", max_size=3)), max_size=200)


@settings(max_examples=40, deadline=None)
@given(STREAMS)
def test_duplicates_equal_those_found_with_a_set(pairs: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        seen: set[tuple[str, str]] = set()
        expected = []
        for pair in pairs:
            duplicates.add(pair)
            expected.append(pair in seen)
            seen.add(pair)
        assert duplicates.find().tolist() == expected


def test_distant_duplicates_are_found_and_the_first_is_kept(tmp_path: Path) -> None:
    with DuplicateFinder(tmp_path) as duplicates:
        for i in [*range(20_000), 7, 19_999, 7]:
            duplicates.add((str(i), "x"))
        assert duplicates.find().nonzero()[0].tolist() == [20_000, 20_001, 20_002]


def test_pairs_split_at_another_place_are_not_duplicates(tmp_path: Path) -> None:
    with DuplicateFinder(tmp_path) as duplicates:
        for pair in [("ab", "c"), ("a", "bc"), ("abc", ""), ("c", "ab")]:
            duplicates.add(pair)
        assert not duplicates.find().any()


def test_disabled_filters_keep_duplicate_and_identical_pairs(tmp_path: Path) -> None:
    text = corpus(tmp_path, [("a", "a"), ("a", "a"), ("b", "c"), ("b", "c"), ("b", "")])
    filters, report = FilterConfig(drop_duplicates=False, drop_identical=False), FilterReport()
    assert filter_corpus(text, filters, report, Silent()).mask.tolist() == [True] * 4 + [False]
    assert (report.read, report.kept) == (5, 4)


def test_selection_reads_selected_pairs_in_order(tmp_path: Path) -> None:
    text = corpus(tmp_path, PAIRS[:5])
    selection = Selection(text, np.array([True, False, False, True, True]))
    assert len(selection) == 3
    assert list(selection.pairs()) == [(1, PAIRS[0]), (4, PAIRS[3]), (5, PAIRS[4])]


@pytest.mark.parametrize("n", [3, 7])
def test_corpus_changed_between_two_readings_is_reported(n: int, tmp_path: Path) -> None:
    text = corpus(tmp_path, PAIRS[:5])
    selection = filter_corpus(text, FilterConfig(), FilterReport(), Silent())
    corpus(tmp_path, PAIRS[:n])
    with pytest.raises(DataError) as error:
        list(selection.pairs())
    assert str(error.value) == (
        f"{text.src} and {text.tgt} changed while being read: run 'yakusu prepare' again"
    )


# ---- filters that are off by default


@pytest.mark.parametrize(
    ("pair", "rejected"),
    [
        (("Stop!", "STOP"), True),
        (("Windows 10", "Windows 11"), True),  # digits are ignored
        (("don't", "don 't"), True),
        (("ＡＢＣ", "abc"), True),  # full width
        (("Stop!", "Halt!"), False),
        (("2010", "2011"), False),  # without letters, digits count
        (("2010", "2010."), True),
        (("?", "!"), True),
        (("5 %", "five per cent"), False),
    ],
)
def test_nearly_identical_sides_differ_in_case_punctuation_and_digits_only(
    pair: Pair, rejected: bool
) -> None:
    filters = FilterConfig(drop_nearly_identical=True)
    assert text_filter(pair, filters) == ("nearly identical" if rejected else None)
    assert text_filter(pair, FilterConfig()) is None


@pytest.mark.parametrize(
    ("pair", "rejected"),
    [
        (("abc...", "abc"), False),  # half of the characters are letters
        (("abc....", "abc"), True),
        (("abc", "....abc"), True),
        (("a b c . .", "abc"), False),  # white space is not counted
        (("हिन्दी", "が"), False),  # marks belong to letters
        (("***", "abc"), True),
    ],
)
def test_a_side_with_few_letters_is_dropped(pair: Pair, rejected: bool) -> None:
    assert text_filter(pair, FilterConfig(min_letters=0.5)) == ("few letters" if rejected else None)


@pytest.mark.parametrize(
    ("pair", "rejected"),
    [
        (("12 cups", "12 Tassen"), False),
        (("12 cups", "Tassen"), True),
        (("12 cups", "21 Tassen"), True),
        (("ten cups", "10 Tassen"), True),  # of unknown languages, whose words are not read
        (("1,000.50 euros", "1.000,50 Euro"), False),
        (("1,000 euros", "1 000 euros"), False),
        (("at 10:30", "à 10h30"), False),
        (("from 3 to 12", "12 から 3"), False),  # in any order
        (("５ cups", "5 Tassen"), False),
        (("٢٠١٠", "2010"), False),
        (("on 05.03.", "on 5.3."), False),
        (("7 of 7", "7"), True),
    ],
)
def test_numbers_on_one_side_only_are_dropped(pair: Pair, rejected: bool) -> None:
    filters = FilterConfig(drop_different_numbers=True)
    assert text_filter(pair, filters) == ("numbers" if rejected else None)


@pytest.mark.parametrize(
    ("pair", "rejected"),
    [
        (("ten cups", "10 Tassen"), False),
        (("on 5 March", "am 05.03."), False),
        (("2 million", "2.000.000"), False),
        (("2 million", "2 Milliarden"), True),
    ],
)
def test_numbers_are_compared_in_the_forms_of_the_languages(
    tmp_path: Path, pair: Pair, rejected: bool
) -> None:
    filters, report = FilterConfig(drop_different_numbers=True), FilterReport()
    filter_corpus(corpus(tmp_path, [pair]), filters, report, Silent(), languages=("en", "de"))
    assert report.as_dict()["numbers"] == rejected


@pytest.mark.parametrize(
    ("pair", "rejected"),
    [
        (("Delete {name}?", "Löschen?"), True),
        (("Delete it?", "{name} löschen?"), True),
        (("Delete {name}?", "{name} löschen?"), False),
        (("{0} of {1}", "{1}, {0} davon"), False),  # in any order
        (("%s of %s", "%2$s, davon %1$s"), False),
        (("%d files", "%s Dateien"), True),
        (("%s of %d", "%d von %s"), True),  # printf would read other arguments
        (("%s of %d", "%2$d von %1$s"), False),
        (("%1$s of %2$d", "%2$d von %1$s"), False),
        (("%(n)d of %(of)d", "von %(of)d %(n)d"), False),
        (("%1 of %2", "von %2 %1"), False),
        (("<b>Open</b> it", "Öffnen"), True),
        (("<b><i>Open</i></b> it", "<i><b>Öffnen</b></i>"), False),  # nested otherwise
        (('<a href="/en">Open</a>', '<a href="/de">Öffnen</a>'), False),
        (("one<br>two", "eins<br/>zwei"), False),
        (("[b]Open[/b] it", "Öffnen"), True),
        (("{ n }", "{n}"), False),
        (("{n, plural, one {# day} other {# days}}", "{n, plural, other {# 日}}"), False),
        (("{n, plural, one {# {x}} other {# {x}}}", "{n, plural, other {# {x}}}"), False),
        (("{n, plural, one {one {x}} other {# {x}}}", "{n, plural, other {# 日}}"), True),
        (("{n, plural, one {} other {{d, time} b}}", "{n, plural, other {{d,time} c}}"), False),
        (("Read [[Home]] first", "Zuerst lesen"), True),
        (("The :attribute is required.", "Das Feld ist nötig."), True),
        (("Note: it is open", "Hinweis: offen"), False),
        (("<BT> Open {file}", "{file} öffnen"), False),  # a symbol, as of back-translations
        (("50 % off", "um 50 % billiger"), False),
        (("$5 at example.org", "5 $ auf example.de"), False),
        (("AT&amp;T", "AT&T"), False),
    ],
)
def test_pairs_whose_placeholders_or_tags_differ_are_dropped(pair: Pair, rejected: bool) -> None:
    assert text_filter(pair, FilterConfig()) == ("placeholders" if rejected else None)
    assert text_filter(pair, FilterConfig(drop_different_placeholders=False)) is None


def test_every_filter_that_is_on_is_counted(tmp_path: Path) -> None:
    text = corpus(tmp_path, [("Stop!", "Stop."), ("?!", "ja"), ("See 5.", "Schau."), ("a", "b")])
    filters = FilterConfig(drop_nearly_identical=True, min_letters=0.3, drop_different_numbers=True)
    report = FilterReport()
    filter_corpus(text, filters, report, Silent())
    found = {name: n for name, n in report.as_dict().items() if n}
    assert found == {"read": 4, "nearly identical": 1, "few letters": 1, "numbers": 1, "kept": 1}


def test_the_report_names_filters_that_are_on_even_if_they_drop_nothing(tmp_path: Path) -> None:
    text, report = corpus(tmp_path, [("one", "eins")]), FilterReport()
    filter_corpus(text, FilterConfig(min_letters=0.3), report, Silent())
    assert report.as_dict()["few letters"] == 0
    assert "numbers" not in report.as_dict()


# ---- languages

ENGLISH = [
    "The baker opens her shop before the sun rises.",
    "Our ferry leaves the harbour at seven o'clock.",
    "She has never seen such a quiet winter.",
    "Please close the window when you leave the room.",
    "My brother repairs old clocks in the evening.",
    "There is nothing left to say about this matter.",
    "We walked along the river until it got dark.",
    "The children are playing behind the old school.",
    "He wrote a long letter to his grandmother.",
    "This bridge was built more than a hundred years ago.",
    "Nobody knows where the key to the cellar is.",
    "The train was late again because of the snow.",
]
GERMAN = [
    "Die Bäckerin öffnet ihren Laden am frühen Morgen.",
    "Unsere Fähre verlässt den Hafen um sieben Uhr.",
    "Sie hat noch nie einen so stillen Winter erlebt.",
    "Bitte schließen Sie das Fenster, wenn Sie gehen.",
    "Mein Bruder repariert abends alte Uhren.",
    "Zu dieser Angelegenheit gibt es nichts mehr zu sagen.",
    "Wir gingen am Fluss entlang, bis es dunkel wurde.",
    "Die Kinder spielen hinter der alten Schule.",
    "Er schrieb seiner Großmutter einen langen Brief.",
    "Diese Brücke wurde im letzten Jahrhundert gebaut.",
    "Niemand weiß, wo der Schlüssel zum Keller ist.",
    "Der Zug hatte wegen des Schnees wieder Verspätung.",
]
BOTH = list(zip(ENGLISH, GERMAN, strict=True))
CHECKED = FilterConfig(check_language=True)


def select(text: Corpus, config: FilterConfig, languages: tuple[str, str]) -> list[bool]:
    selection = filter_corpus(text, config, FilterReport(), Silent(), languages=languages)
    return [bool(selected) for selected in selection.mask]


def test_sentences_in_another_language_are_dropped_and_short_ones_are_kept(tmp_path: Path) -> None:
    french = "Le boulanger ouvre sa boutique avant le lever du soleil."
    pairs = [
        *BOTH,
        (french, GERMAN[0]),
        (ENGLISH[0], ENGLISH[0] + "!"),
        ("OK!", "Tom."),
        ("?", "!"),
    ]
    report = FilterReport()
    selection = filter_corpus(
        corpus(tmp_path, pairs), CHECKED, report, Silent(), languages=("en", "de")
    )
    assert selection.mask.tolist() == [True] * len(BOTH) + [False, False, True, True]
    assert report.dropped["language"] == 2


def test_close_languages_are_not_told_apart(tmp_path: Path) -> None:
    danish = [(line, "Bageren åbner sin butik, før solen står op.") for line in ENGLISH[:2]]
    assert select(corpus(tmp_path, danish), CHECKED, ("en", "nb")) == [True, True]


def test_region_and_three_letters_name_the_same_language(tmp_path: Path) -> None:
    text = corpus(tmp_path, BOTH)
    assert all(select(text, CHECKED, ("en-GB", "deu")))


def test_a_side_whose_language_is_unknown_is_not_checked(tmp_path: Path) -> None:
    text = corpus(tmp_path, [*BOTH, (GERMAN[0], GERMAN[1])])
    assert select(text, CHECKED, ("en", "ain")) == [True] * len(BOTH) + [False]


@pytest.mark.parametrize("languages", [("", ""), ("ain", "xx-"), ("12", "")])
def test_languages_that_cannot_be_identified_are_reported(
    languages: tuple[str, str], tmp_path: Path
) -> None:
    with pytest.raises(RecipeError) as error:
        select(corpus(tmp_path, BOTH), CHECKED, languages)
    assert str(error.value) == (
        f"filters.check_language = true cannot identify '{languages[0]}' and '{languages[1]}': set "
        "data.source_language and data.target_language to codes such as 'en', or "
        "filters.check_language = false"
    )


def test_a_missing_library_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identification, "find_spec", lambda name: None)
    with pytest.raises(RecipeError) as error:
        select(corpus(tmp_path, BOTH), CHECKED, ("en", "de"))
    assert str(error.value) == (
        "identifying languages needs py3langid: install yakusu with its extra 'corpora', as in pip "
        "install '.[corpora]', or set filters.check_language = false"
    )


def test_files_that_are_swapped_cause_a_warning_that_names_both(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = corpus(tmp_path, BOTH)
    assert all(select(text, FilterConfig(), ("de", "en")))  # nothing is dropped
    assert caplog.messages == [
        f"{text.src} seems to be in language 'en' and {text.tgt} in 'de': exchange the two files, "
        "or correct data.source_language and data.target_language"
    ]


@pytest.mark.parametrize(
    ("pairs", "languages"),
    [
        (BOTH, ("en", "de")),
        (BOTH, ("", "")),
        (BOTH, ("de", "")),
        (BOTH[:5], ("de", "en")),  # too few to be certain
        ([*BOTH, *((tgt, src) for src, tgt in BOTH)], ("en", "de")),  # half of them
        ([(src, src) for src, _ in BOTH], ("de", "en")),  # copies
    ],
)
def test_other_files_cause_no_warning(
    pairs: list[Pair],
    languages: tuple[str, str],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    select(corpus(tmp_path, pairs), FilterConfig(), languages)
    assert not caplog.messages


@pytest.mark.data
@pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set")
@pytest.mark.parametrize(
    ("folder", "src", "tgt"),
    [("tatoeba/en-de", "en", "de"), ("tatoeba/en-fr", "en", "fr"), ("enja", "en", "ja")],
)
def test_hardly_any_correct_short_sentence_counts_as_foreign(
    folder: str, src: str, tgt: str
) -> None:
    sides = [
        (Path(os.environ["YAKUSU_DATA"]) / folder / f"train.{code}")
        .read_text(encoding="utf-8")
        .split("\n")[:2000]
        for code in (src, tgt)
    ]
    languages = CorpusLanguages(src, tgt)
    dropped = [pair for pair in zip(*sides, strict=True) if any(languages.foreign(pair))]
    assert len(dropped) <= 4
    assert not languages.swapped(zip(*sides, strict=True))
    assert languages.swapped(zip(*reversed(sides), strict=True))


# ---- samples and groups


@pytest.mark.parametrize(("length", "held"), [(0, 0), (3, 3), (9, 9), (10, 5), (1000, 8)])
def test_a_sample_is_evenly_spaced_and_starts_with_the_first(length: int, held: int) -> None:
    sample: EvenSample[int] = EvenSample(5)
    for i in range(length):
        sample.add(i)
    items = list(sample)
    assert len(items) == len(sample) == held
    assert items[:1] == [0][:held]
    assert len(set(np.diff(items).tolist())) <= 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abcdefgh"), max_size=60))
def test_groups_hold_the_positions_of_each_repeated_item(items: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as finder:
        for item in items:
            finder.add([item])
        groups = sorted(group.tolist() for group in finder.groups())
    expected = [[i for i, item in enumerate(items) if item == each] for each in set(items)]
    assert groups == sorted(group for group in expected if len(group) > 1)


# ---- patterns of noise


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Grüße aus Köln", set()),
        ("GrÃ¼ÃŸe aus KÃ¶ln", {"mojibake"}),
        ("donâ€™t", {"mojibake"}),
        ("ÐŸÑ€Ð¸Ð²ÐµÑ‚", {"mojibake"}),
        ("„Spaß“, « l'été », NÃO, CRIANÇÃO”", set()),
        ("3 × 4 = 12 und 20 °C", set()),
        ("fish &amp; chips &#39;", {"HTML entities"}),
        ("AT&T; R&D &nosuchname;", set()),
        ("<b>bold</b>", {"tags"}),
        ("a < b and b > c", set()),
        ("one\ttwo", {"control characters"}),
        ("one\u2028two", {"control characters"}),
        ("Wort\u00adteil", {"invisible characters"}),
        ("Schluss \ufffd", {"replacement characters (U+FFFD)"}),
        ("x" * 1000, set()),
        ("x" * 1001, {"lines of more than 1,000 characters"}),
        ("می‌خواهم", set()),  # the zero-width non-joiner is part of Persian
    ],
)
def test_patterns_are_found_where_they_occur_and_nowhere_else(line: str, names: set[str]) -> None:
    assert set(patterns_in(line)) == names


def test_a_pattern_is_reported_with_its_first_position() -> None:
    assert patterns_in("fish &amp; chips") == {"HTML entities": 5}
