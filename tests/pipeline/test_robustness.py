"""Rows of sentences that are typed in several ways, made by translators with known answers."""

from collections.abc import Iterable

import regex

from yakusu.metrics import MetricOptions
from yakusu.pipeline.digits import Digits
from yakusu.pipeline.robustness import EMOJI, Row, robustness, with_emoji
from yakusu.pipeline.typos import WORDS_PER_TYPO, with_typos
from yakusu.translator import Translation

SOURCES = [
    "The 2 old ferries sail to the island every day.",
    "Our street ends near the great harbour of the town!",
    "Where does the baker buy 15 kilograms of flour?",
]
REFERENCES = [
    "Die 2 alten Fähren fahren jeden Tag zur Insel.",
    "Unsere Straße endet nahe dem großen Hafen der Stadt!",
    "Wo kauft der Bäcker 15 Kilogramm Mehl?",
]
CASES = ["capitals", "title case", "lower case"]
OTHERS = ["no final punctuation", "typos", "emoji"]


def key(source: str) -> str:
    return str(regex.sub(r"[^\p{L}\d]", "", source)).lower()


ANSWERS = {key(source): answer for source, answer in zip(SOURCES, REFERENCES, strict=True)}


def translations(texts: Iterable[str], *, copied: bool = False) -> list[Translation]:
    return [Translation(text, score=-1, log_prob=-1, n_tokens=1, copied=copied) for text in texts]


def attentive(lines: list[str]) -> list[Translation]:
    """Translate everything that differs in case, punctuation and emoji only."""
    texts = []
    for line in lines:
        answer = ANSWERS.get(key(line), "")
        answer = answer.upper() if line.isupper() else answer
        if answer and line[-1].isalpha():
            answer = answer[:-1]
        texts.append(" ".join([answer, *regex.findall("|".join(EMOJI), line)]))
    return translations(texts)


def literal(lines: list[str]) -> list[Translation]:
    """Translate the sentences as they are, and nothing else."""
    known = dict(zip(SOURCES, REFERENCES, strict=True))
    return translations(known.get(line, "Wie bitte?") for line in lines)


def rows(translate: object, source_language: str = "en") -> dict[str, Row]:
    options = MetricOptions(target_language="de")
    found = robustness(translate, SOURCES, REFERENCES, source_language, options)  # type: ignore[arg-type]
    return {row.name: row for row in found.rows}


def test_a_translator_that_reads_every_way_keeps_its_bleu() -> None:
    found = rows(attentive)
    assert list(found) == ["plain", *CASES, *OTHERS]
    for name in ("plain", *CASES, "no final punctuation", "emoji"):
        assert found[name].of_plain == 1, name
        assert found[name].digits == Digits(2, 2)
    assert found["emoji"].emoji_kept == 1
    assert found["plain"].emoji_kept is None
    assert found["typos"].of_plain == found["typos"].bleu.value / 100 < 1


def test_a_translator_of_plain_sentences_keeps_nothing_else() -> None:
    found = rows(literal)
    assert found["plain"].of_plain == 1
    for name in (*CASES, "no final punctuation", "emoji"):
        assert found[name].bleu.value < 5, name
        assert found[name].digits.n_right == 0
    assert found["emoji"].emoji_kept == 0


def test_capitals_are_compared_by_the_rules_of_the_target_language() -> None:
    assert rows(attentive)["capitals"].of_plain == 1  # STRASSE is Straße
    assert "case:lc" in rows(attentive)["capitals"].bleu.signature
    assert "case:mixed" in rows(attentive)["title case"].bleu.signature


def test_a_full_stop_that_the_source_lacks_lowers_bleu() -> None:
    def closing(lines: list[str]) -> list[Translation]:
        return translations(ANSWERS.get(key(line), "") for line in lines)

    share = rows(closing)["no final punctuation"].of_plain
    assert share and share < 1


def test_a_source_language_without_case_has_no_rows_for_it() -> None:
    assert list(rows(attentive, "ja")) == ["plain", *OTHERS]


def test_a_model_without_a_right_word_has_no_ratio() -> None:
    found = rows(lambda lines: translations(("x" for _ in lines), copied=True))
    assert {row.of_plain for row in found.values()} == {None}
    assert {row.unchanged for row in found.values()} == {1}
    assert rows(attentive)["plain"].unchanged == 0


def test_the_table_names_the_rows_and_the_signatures() -> None:
    table = str(robustness(attentive, SOURCES, REFERENCES, "en", MetricOptions()))
    lines = table.splitlines()
    assert lines[0].split("  ")[-4:] == ["of plain", "digits right", "unchanged", "emoji kept"]
    assert lines[1].split() == ["plain", "100.00", "100.0%", "2", "of", "2", "0.0%", "-"]
    assert lines[7].startswith("emoji ") and lines[7].endswith(" 100.0%")
    assert [line.split("case:")[1][:2] for line in lines[8:]] == ["mi", "lc"]


def test_code_keeps_its_case_and_its_letters() -> None:
    seen: list[str] = []

    def spy(lines: list[str]) -> list[Translation]:
        seen.extend(lines)
        return translations(lines)

    line = "Please open {fileName} in <b>the old window</b> at https://example.org/Page now."
    robustness(spy, [line] * 3, ["x"] * 3, "en", MetricOptions())
    assert len(seen) == 7 * 3
    for text in seen:
        for code in ("{fileName}", "<b>", "</b>", "https://example.org/Page"):
            assert code in text


# ---- emoji and typos -----------------------------------------------------------------------------


def test_each_text_gets_one_emoji_which_depends_on_the_text() -> None:
    texts = [f"The ferry number {n} sails" for n in range(80)]
    made = list(map(with_emoji, texts))
    assert made == list(map(with_emoji, texts))
    for text, own in zip(texts, made, strict=True):
        [emoji] = regex.findall("|".join(EMOJI), own)
        assert own.replace(f"{emoji} ", "").replace(f" {emoji}", "") == text
    at_end = sum(not own[-1].isalpha() for own in made)
    assert 25 < at_end < 55
    assert with_emoji("") in {f" {emoji}" for emoji in EMOJI} | {f"{emoji} " for emoji in EMOJI}


def test_there_is_one_typo_per_ten_words() -> None:
    texts = [f"{n} small boats cross the wide river before seven o'clock" for n in range(300)]
    changed = [
        sum(one != other for one, other in zip(text.split(), with_typos(text).split(), strict=True))
        for text in texts
    ]
    n_words = sum(len(text.split()) for text in texts)
    assert abs(sum(changed) - n_words / WORDS_PER_TYPO) < 20
    assert max(changed) <= 2


def test_typos_depend_on_the_text_only_and_leave_digits_alone() -> None:
    text = "Wir fahren am 16. Mai 2031 um 20:15 Uhr mit dem Zug nach Straßburg zurück " * 4
    assert with_typos(text) == with_typos(text) != text
    assert regex.findall(r"\d", with_typos(text)) == regex.findall(r"\d", text)
    assert with_typos("") == ""


def test_scripts_without_spaces_and_other_keyboards_have_typos_too() -> None:
    assert with_typos("この船は毎日七時に島へ向かって出発します。" * 3).count("船") <= 3
    for text in (
        "この船は毎日七時に島へ向かって出発します。" * 3,
        "Этот паром ходит каждый день " * 5,
    ):
        assert with_typos(text) != text
