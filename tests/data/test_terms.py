"""Terms of a glossary: how files are read, and which terms occur in a sentence."""

from pathlib import Path
from random import Random

import pytest

from tests.work import calls_of
from yakusu.data.lines.private_use import closing, empty, opening
from yakusu.data.lines.spans import SpanFinder
from yakusu.data.lines.terms import Glossary, Term
from yakusu.errors import DataError


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "terms.tsv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def message(folder: Path, content: str | bytes) -> str:
    with pytest.raises(DataError) as error:
        Glossary.read(written(folder, content))
    return str(error.value).removeprefix(str(folder / "terms.tsv"))


def found(sentence: str, *terms: str) -> list[str]:
    """The terms that are found in a sentence."""
    return [term.source for term in Glossary(Term(t, "x") for t in terms).find(sentence)]


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_has_a_term_and_its_translation_per_line(tmp_path: Path) -> None:
    content = "\ufeff# valves\r\n\r\nheart  valve\tdie Herzklappe \r\n  # more\nvalve\tVentil"
    glossary = Glossary.read(written(tmp_path, content))
    assert glossary.terms == (Term("heart valve", "die Herzklappe"), Term("valve", "Ventil"))
    assert glossary.conflicts == ()


def test_column_names_are_skipped_in_the_first_line_only(tmp_path: Path) -> None:
    for header in ("source\ttarget", "Source term\tTranslation", "# terms\n\nsrc\ttgt"):
        path = written(tmp_path, f"{header}\nterm\ttarget\n")
        assert Glossary.read(path).terms == (Term("term", "target"),)


def test_the_codes_of_the_languages_are_column_names(tmp_path: Path) -> None:
    path = written(tmp_path, "es\tEN\nes\ten\n")
    assert Glossary.read(path, languages=("es", "en")).terms == (Term("es", "en"),)
    assert Glossary.read(path).terms == (Term("es", "EN"),)


def test_names_of_two_languages_are_column_names(tmp_path: Path) -> None:
    for header in ("English\tGerman", "english\tde", "en-GB\tde-AT"):
        path = written(tmp_path, f"{header}\nheart valve\tHerzklappe\n")
        assert Glossary.read(path).terms == (Term("heart valve", "Herzklappe"),)
    path = written(tmp_path, "eng\tde-AT\nheart valve\tHerzklappe\n")
    german = Glossary.read(path, languages=("en", "de"))
    assert german.terms == (Term("heart valve", "Herzklappe"),)


def test_words_that_are_also_languages_are_terms(tmp_path: Path) -> None:
    for term in (Term("to", "zu"), Term("English", "Englisch"), Term("Polish", "Polnisch")):
        path = written(tmp_path, f"{term.source}\t{term.target}\nheart valve\tHerzklappe\n")
        read = Glossary.read(path, languages=("en", "de"))
        assert read.terms == (term, Term("heart valve", "Herzklappe"))


def test_an_empty_file_has_no_terms(tmp_path: Path) -> None:
    glossary = Glossary.read(written(tmp_path, "# nothing yet\n"))
    assert glossary.terms == glossary.find("nothing yet") == ()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "a\tb\nvalve Ventil\n",
            ", line 2 has 1 column: write the source term, one tab and its translation",
        ),
        (
            "#\nvalve\tVentil\tKlappe\n",
            ", line 2 has 3 columns: write the source term, one tab and its translation",
        ),
        ("valve\t \n", ", line 1 has no translation: add it or remove the line"),
        ("\tVentil\n", ", line 1 has no source term: add it or remove the line"),
        (
            "a\tb\nthe {name} file\tdie Datei\n",
            ", line 2: the term 'the {name} file' contains '{name}', which is copied as a "
            "protected span: remove the line, or the pattern that protects it (see --no-protect)",
        ),
        ("a\ue000\tb\n", ", line 1 has U+E000, a reserved character: remove it"),
        ("a\tb\U000f0000\n", ", line 1 has U+F0000, a reserved character: remove it"),
        (
            b"a\tb\nv\xe4\tw\n",
            ", line 2, byte 2: 0xe4 is not UTF-8: save the file as UTF-8 or correct the line",
        ),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(
    tmp_path: Path, content: str | bytes, expected: str
) -> None:
    assert message(tmp_path, content) == expected


def test_the_patterns_that_protect_spans_decide_which_terms_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "the {name} file\tdie Datei\nACME\tAkme {name}\n")
    plain = SpanFinder(builtin=False)
    assert [term.source for term in Glossary.read(path, protected=plain).terms] == [
        "the {name} file",
        "ACME",
    ]
    with pytest.raises(DataError, match=r"line 2: the term 'ACME' contains 'ACME'"):
        Glossary.read(path, protected=SpanFinder(["AC.E"], builtin=False))


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        Glossary.read(tmp_path / "none.tsv")


def test_the_first_of_several_translations_wins(tmp_path: Path) -> None:
    content = "bank\tBank\nbank\tUfer\nBank\tDie Bank\nbank\tBank\nbank \tUfer\n"
    glossary = Glossary.read(written(tmp_path, content))
    assert glossary.terms == (Term("bank", "Bank"), Term("Bank", "Die Bank"))
    assert glossary.conflicts == (
        "the term 'bank' is translated as 'Bank' and as 'Ufer': the first translation is used",
    )


# ---- sentences -----------------------------------------------------------------------------------


def test_terms_match_whole_words() -> None:
    assert found("The valve is open.", "valve") == ["valve"]
    assert found("The valves are open.", "valve") == []
    assert found("A bivalve opens.", "valve") == []
    assert found("A heart-valve (open).", "valve", "open") == ["valve", "open"]
    assert found("L'eau est froide.", "eau") == ["eau"]
    assert found("Use C++ or C#.", "C++", "C#", "C") == ["C++", "C#"]
    assert found("snake_case", "snake") == []


def test_the_longest_term_wins() -> None:
    assert found("A heart valve opens.", "valve", "heart valve", "heart") == ["heart valve"]
    assert found("heart valve and valve", "valve", "heart valve") == ["heart valve", "valve"]
    assert found("New York City Hall", "New York", "York City Hall") == ["York City Hall"]
    assert found("a b c d", "a b", "b c d", "a") == ["a", "b c d"]


def test_terms_are_found_in_the_order_of_the_sentence_and_once() -> None:
    assert found("one two three two one", "three", "two", "one") == ["one", "two", "three"]


def test_a_term_in_lower_case_matches_any_case() -> None:
    for sentence in ("the valve", "The Valve", "THE VALVE"):
        assert found(sentence, "valve") == ["valve"]
    assert found("STRASSE", "straße") == ["straße"]


def test_a_term_with_capitals_matches_exactly_or_in_capitals_or_at_the_beginning() -> None:
    assert found("the May sun", "May") == ["May"]
    assert found("THE MAY SUN", "May") == ["May"]
    assert found("the sun may shine", "May") == []
    assert found("IPhone and iPhone", "iPhone") == ["iPhone"]
    assert found("“IPhone” is", "iPhone") == ["iPhone"]
    assert found("an IPhone is", "iPhone") == []
    assert found("iphone", "iPhone") == []
    assert found("us", "US") == []


def test_an_exact_match_is_preferred() -> None:
    assert found("a Turkey", "turkey", "Turkey") == ["Turkey"]
    assert found("Turkey and turkey", "turkey", "Turkey") == ["Turkey", "turkey"]
    assert found("TURKEY", "turkey", "Turkey") == ["turkey"]


def test_text_is_normalised() -> None:
    assert found("the cafe\u0301 ﬁlter", "café filter") == ["café filter"]
    assert found("heart \u00a0 valve", "heart valve") == ["heart valve"]
    assert found("ＡＢＣ", "ABC") == ["ABC"]


def test_scripts_without_spaces_need_no_word_boundaries() -> None:
    assert found("東京都に住んでいます。", "東京都", "東京", "住") == ["東京都", "住"]
    assert found("我在北京大学学习", "北京", "北京大学") == ["北京大学"]
    assert found("新しいiPhoneを買う", "iPhone", "買う") == ["iPhone", "買う"]
    assert found("ภาษาไทยยาก", "ไทย") == ["ไทย"]
    assert found("한국어를 배워요", "한국어") == []


def test_pairs_of_markup_are_ignored_and_a_line_break_is_a_space() -> None:
    text = f"a {opening(0)}heart{closing(0)} val{opening(1)}ve{closing(1)}"
    assert found(text, "heart valve") == ["heart valve"]
    assert found(f"heart{empty(2)}valve", "heart valve") == ["heart valve"]  # a line break


def test_occurrences_are_positions_in_the_text_as_it_is_written() -> None:
    text = "  A heart \u3000 valve, ﬁlter, ｶﾞ, cafe\u0301's ＡＢＣ heart."
    sources = ["heart valve", "filter", "ガ", "café", "ABC", "heart"]
    occurrences = Glossary(Term(source, "x") for source in sources).occurrences(text)
    assert [(text[start:end], term.source) for start, end, term in occurrences] == list(
        zip(
            ["heart \u3000 valve", "ﬁlter", "ｶﾞ", "cafe\u0301", "ＡＢＣ", "heart"],
            sources,
            strict=True,
        )
    )


def test_a_sentence_without_terms_has_none() -> None:
    assert found("", "a") == found("b", "a") == found("b") == []


def test_the_work_to_find_terms_hardly_depends_on_their_number() -> None:
    random = Random(1)
    words = ["".join(random.choices("abcdefghij", k=random.randint(2, 7))) for _ in range(5000)]
    terms = [" ".join(random.choices(words, k=random.randint(1, 4))) for _ in range(10_000)]
    few, many = (Glossary(Term(term, "x") for term in terms[:n]) for n in (1000, 10_000))
    sentences = [" ".join([*random.choices(words, k=10), term]) for term in terms[:1000]]
    assert all(map(many.find, sentences))
    assert calls_of(lambda: [*map(many.find, sentences)]) < 2 * calls_of(
        lambda: [*map(few.find, sentences)]
    )
