"""`check` finds what is planted in a corpus, counts what `prepare` drops, and names the fix."""

import gzip
import random
from pathlib import Path

import pytest

import yakusu
from tests.phrases import phrases
from yakusu.data.corpus import Corpus
from yakusu.data.files.shortened import shorten
from yakusu.errors import DataError, RecipeError
from yakusu.pipeline.check.check import check
from yakusu.pipeline.check.report import CheckReport, Finding
from yakusu.recipe import load_recipe

WORDS = {
    "the": "die",
    "old": "alte",
    "ferry": "Fähre",
    "baker": "Bäckerin",
    "sees": "sieht",
    "paints": "malt",
    "small": "kleine",
    "bridge": "Brücke",
    "window": "Scheibe",
    "through": "durch",
    "and": "und",
    "behind": "hinter",
}
Pair = tuple[str, str]


def invented(n: int, seed: int = 5) -> list[Pair]:
    """n different pairs, word by word translations of each other."""
    rng = random.Random(seed)
    pairs: dict[str, str] = {}
    while len(pairs) < n:
        words = rng.choices(list(WORDS), k=rng.randint(4, 9))
        pairs[" ".join(words)] = " ".join(WORDS[word] for word in words)
    return list(pairs.items())


PLAIN = invented(300)


def write(folder: Path, pairs: list[Pair], name: str = "a") -> Corpus:
    files = [folder / f"{name}.en", folder / f"{name}.de"]
    for side, path in enumerate(files):
        path.write_text("".join(pair[side] + "\n" for pair in pairs), encoding="utf-8")
    return Corpus(src=str(files[0]), tgt=str(files[1]))


def checked(folder: Path, pairs: list[Pair], *overrides: str) -> CheckReport:
    corpus = write(folder, pairs)
    return check(load_recipe("tiny", overrides, src=corpus.src, tgt=corpus.tgt))


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.name: finding for finding in findings}


def counts(findings: tuple[Finding, ...]) -> dict[str, int]:
    return {finding.name: finding.n for finding in findings if finding.n}


# ---- filters


def test_the_filters_drop_what_prepare_drops(tmp_path: Path) -> None:
    faults = [
        ("the old ferry", ""),
        ("the bridge", "the bridge"),
        PLAIN[7],
        ("window", " ".join(["Scheibe"] * 30)),
        ("ferry " * 60, "Fähre " * 60),
        ("the {name} ferry", "die Fähre"),
    ]
    corpus = write(tmp_path, [*PLAIN, *faults])
    recipe = load_recipe(
        "tiny",
        ["tokenizer.vocab_size=100", "tokenizer.byte_fallback=false", "filters.max_tokens=50"],
        src=corpus.src,
        tgt=corpus.tgt,
        run=tmp_path / "run",
    )
    report, prepared = check(recipe), yakusu.prepare(recipe)
    dropped = {name: n for name, n in prepared.report.items() if name not in ("read", "kept")}
    assert {finding.name: finding.n for finding in report.filters} == dropped
    assert set(dropped.values()) == {1}
    assert (report.n_pairs, report.n_kept) == (306, 300)
    lines = {finding.name: [each.line for each in finding.examples] for finding in report.filters}
    assert lines == {
        "empty": [301],
        "identical": [302],
        "placeholders": [306],
        "duplicate": [303],
        "too long": [305],
        "ratio": [304],
    }
    assert by_name(report.filters)["duplicate"].examples[0].note == "as line 8"


def test_filters_that_are_off_show_which_kept_pairs_they_would_drop(tmp_path: Path) -> None:
    faults = [("Old ferry!", "old ferry"), ("see 5", "sieh"), ("+++ a 1 2", "--- b 1 2")]
    report = checked(tmp_path, [*PLAIN, *faults])
    assert counts(report.filters) == {}
    assert counts(report.optional_filters) == {
        "nearly identical": 1,
        "few letters": 1,
        "numbers": 1,
    }
    on = checked(tmp_path, [*PLAIN, *faults], "filters.drop_different_numbers=true")
    assert counts(on.filters) == {"numbers": 1}
    assert "numbers" not in by_name(on.optional_filters)
    assert on.n_kept == report.n_kept - 1


def test_examples_are_the_first_three_and_are_shortened(tmp_path: Path) -> None:
    long = "ferry " * 30
    report = checked(tmp_path, [*PLAIN, *[(f"{long}{i}", "") for i in range(5)]])
    empty = by_name(report.filters)["empty"]
    assert empty.n == 5
    assert [example.line for example in empty.examples] == [301, 302, 303]
    assert empty.examples[0].src == long[:60] + "…"


def test_a_corpus_too_small_for_any_vocabulary_is_checked_by_words(tmp_path: Path) -> None:
    report = checked(tmp_path, [("a", "b"), ("a", "b b b b b")])
    assert counts(report.filters) == {"ratio": 1}
    assert "count words, not tokens" in "".join(report.notes)


# ---- suspicious lines


def test_suspicious_lines_are_counted_with_the_place_in_the_example(tmp_path: Path) -> None:
    faults = [
        ("the\told ferry", "die alte Fähre"),
        ("the soft\u00adhyphen", "die Fähre"),
        ("the \ufffd ferry", "die Fähre"),
        ("the ferry", "die FÃ¤hre"),
        ("ferry &amp; bridge", "Fähre &amp; Brücke"),
        ("x " * 50 + "<b>ferry</b>", "Fähre " * 30),
        ("word " * 300, "Wort " * 300),
        ("The ferry leaves. The bridge stays.", "Die Fähre fährt und die Brücke bleibt."),
    ]
    report = checked(tmp_path, [*PLAIN, *faults])
    assert counts(report.suspicious) == {
        "control characters": 1,
        "invisible characters": 1,
        "replacement characters (U+FFFD)": 1,
        "mojibake": 1,
        "HTML entities": 1,
        "tags": 1,
        "lines of more than 1,000 characters": 1,
        "several sentences": 1,
        "different numbers of sentences": 1,
    }
    found = by_name(report.suspicious)
    assert found["control characters"].examples[0].src == "the\\told ferry"
    assert found["invisible characters"].examples[0].src == "the soft\\xadhyphen"
    assert "<b>ferry</b>" in found["tags"].examples[0].src
    assert any("mojibake" in warning for warning in report.warnings)


def test_long_lines_cause_a_warning_and_several_sentences_do_not(tmp_path: Path) -> None:
    long = [("word " * 300, "Wort " * 300)]
    sentences = [("The ferry leaves. The bridge stays.", "Die Fähre fährt, die Brücke bleibt.")]
    assert checked(tmp_path, [*PLAIN, *long]).warnings == (
        "1 pair with lines of more than 1,000 characters: divide them into sentences, or remove "
        "them",
    )
    assert checked(tmp_path, [*PLAIN, *sentences * 9]).warnings == ()


def test_sentences_are_those_into_which_a_translator_divides_lines(tmp_path: Path) -> None:
    pairs = [
        ("She knows M. Assange and Sig. Rossi.", "Sie kennt M. Assange und Sig. Rossi."),
        ("The ferry leaves. (It is late.) The bridge stays.", "Die Fähre fährt. Sie ist spät."),
        ("", "Die Fähre fährt."),
    ]
    found = counts(checked(tmp_path, [*PLAIN, *pairs]).suspicious)
    assert found == {"several sentences": 1, "different numbers of sentences": 1}


def test_an_ordinal_number_does_not_end_a_sentence(tmp_path: Path) -> None:
    pairs = [("They live on the 2nd floor here.", "Sie wohnen im 2. Stock hier.")]
    assert counts(checked(tmp_path, [*PLAIN, *pairs]).suspicious) == {}


# ---- repetitions and overlap


def test_repetitions_are_counted_and_the_most_frequent_is_shown(tmp_path: Path) -> None:
    several = [("good day", translation) for translation in ("Guten Tag", "Tag auch", "Grüß Gott")]
    also = [("hello there", "Guten Tag")]
    near = [(PLAIN[0][0].upper(), PLAIN[0][1] + " !")]
    report = checked(tmp_path, [*PLAIN, *several, several[0], *also, *near])
    found = by_name(report.repeated)
    assert counts(report.filters) == {"duplicate": 1}
    assert counts(report.repeated) == {
        "pairs equal except for case and punctuation": 1,
        "one source with several targets": 3,
        "one target with several sources": 2,
    }
    (example,) = found["one source with several targets"].examples
    assert (example.line, example.note) == (301, "one of 3 targets")


def test_overlap_ignores_case_and_punctuation_and_counts_held_out_pairs(tmp_path: Path) -> None:
    train = write(tmp_path, PLAIN)
    (src, tgt), (other_src, other_tgt) = PLAIN[4], PLAIN[9]
    dev = write(
        tmp_path,
        [
            (src.upper() + "!", tgt),
            (src, tgt),
            ("new words", other_tgt),
            ("fresh", "neu"),
            ("?", "!"),
        ],
        "dev",
    )
    test = write(tmp_path, [(other_src, "etwas anderes"), ("Fresh.", "Neu!")], "test")
    recipe = load_recipe("tiny", src=train.src, tgt=train.tgt, dev_src=dev.src, dev_tgt=dev.tgt)
    overlaps = check(recipe, test=test).overlaps
    found = {
        (each.held_out, each.within): (each.sources.n, each.targets.n, each.pairs.n)
        for each in overlaps
    }
    assert found == {("dev", "train"): (2, 3, 2), ("test", "train"): (1, 0, 0)} | {
        ("test", "dev"): (1, 1, 1)
    }
    (example,) = overlaps[0].sources.examples
    assert (example.line, example.note) == (5, "line 1 of dev")


def test_whole_pairs_in_common_cause_a_warning(tmp_path: Path) -> None:
    train = write(tmp_path, PLAIN)
    test = write(tmp_path, PLAIN[:2], "test")
    report = check(load_recipe("tiny", src=train.src, tgt=train.tgt), test=test)
    assert report.warnings == (
        "2 of 2 sources of test and 2 whole pairs occur in train: remove them from one of the two, "
        "or scores are too high",
    )


def test_a_test_set_with_exchanged_sides_overlaps_even_if_no_language_is_known(
    tmp_path: Path,
) -> None:
    train = write(tmp_path, PLAIN)
    exchanged = [(tgt.upper(), f"{src}.") for src, tgt in PLAIN[:2]]
    test = write(tmp_path, [*exchanged, ("Tom", "Tom."), ("neu", "new")], "test")
    report = check(load_recipe("tiny", src=train.src, tgt=train.tgt), test=test)
    (overlap,) = report.overlaps
    assert (overlap.sources.n, overlap.targets.n, overlap.pairs.n) == (0, 0, 0)
    assert overlap.exchanged.n == 2
    assert overlap.exchanged.examples[0].note == "line 1 of test"
    assert report.warnings == (
        "2 pairs of test occur in train with source and target exchanged: exchange the two sides "
        "of test or train, or remove them from one of the two",
    )
    assert "none: sources, targets, pairs\n" in str(report)


def test_equal_sides_are_a_pair_in_common_but_not_an_exchanged_one(tmp_path: Path) -> None:
    train = write(tmp_path, [*PLAIN, ("Tom", "Tom")])
    test = write(tmp_path, [("Tom", "Tom.")], "test")
    report = check(load_recipe("tiny", src=train.src, tgt=train.tgt), test=test)
    assert (report.overlaps[0].pairs.n, report.overlaps[0].exchanged.n) == (1, 0)


# ---- languages


def test_a_file_in_another_language_than_stated_is_not_to_be_filtered(tmp_path: Path) -> None:
    report = checked(tmp_path, PLAIN, "data.source_language=ja")
    (warning,) = (each for each in report.warnings if "'ja'" in each)
    assert warning.endswith(": correct data.source_language, or choose another file or column")


def test_a_name_of_a_language_is_refused_with_its_code(tmp_path: Path) -> None:
    for text, advice in {
        "German": "did you mean 'de'?",
        "deutsch": "did you mean 'de'?",
        "jp": "did you mean 'ja'?",
        "??": "use a code such as en, ja or pt-BR",
    }.items():
        with pytest.raises(RecipeError) as error:
            checked(tmp_path, PLAIN, f"data.target_language={text}")
        stated = f"target_language = '{text}' is not a language code"
        assert str(error.value) == f"{stated}: {advice}"


def test_a_language_that_cannot_be_identified_is_named(tmp_path: Path) -> None:
    report = checked(tmp_path, PLAIN, "data.target_language=ain")
    assert report.warnings == (
        "the language 'ain' of the target cannot be identified, so lines in other languages "
        "and swapped files are not found: correct data.target_language if the code is wrong",
    )
    assert report.sides[1].foreign is None


@pytest.mark.parametrize(
    ("spelling", "code"), [("EN", "en"), ("eng_Latn", "en"), ("en_US", "en-US"), ("en-US", "en-US")]
)
def test_any_spelling_of_a_code_is_accepted(spelling: str, code: str, tmp_path: Path) -> None:
    report = checked(tmp_path, PLAIN, f"data.source_language={spelling}")
    assert (report.warnings, report.sides[0].language) == ((), code)


def test_unknown_languages_cause_a_warning_that_says_how_to_state_them(tmp_path: Path) -> None:
    few = PLAIN[:30]  # too few to detect a language
    corpus = write(tmp_path, few)
    src, target, table = tmp_path / "source", tmp_path / "target", tmp_path / "a.tsv"
    messages = tmp_path / "a.po"
    src.write_bytes(Path(corpus.src).read_bytes())
    target.write_bytes(Path(corpus.tgt).read_bytes())
    table.write_text("".join(f"{one}\t{other}\n" for one, other in few), encoding="utf-8")
    so = "so lines in other languages and swapped files are not found"
    src_option, tgt_option = (f"--set data.{side}_language=CODE" for side in ("source", "target"))
    assert check(load_recipe("tiny", src=src, tgt=target)).warnings == (
        f"the language of the source and the target is not known, {so}: add {src_option} "
        f"{tgt_option}, or name the files like train.en",
    )
    assert check(load_recipe("tiny", src=corpus.src, tgt=target)).warnings == (
        f"the language of the target is not known, {so}: add {tgt_option}, or name the files like "
        "train.en",
    )
    assert check(load_recipe("tiny", pairs=table)).warnings == (
        f"the language of the source and the target is not known, {so}: add {src_option} "
        f"{tgt_option}",
    )
    messages.write_text("".join(f'msgid "{one}"\nmsgstr "{other}"\n\n' for one, other in few))
    assert check(load_recipe("tiny", pairs=messages)).warnings == (
        f"the language of the source and the target is not known, {so}: add {src_option} "
        f"{tgt_option}, or use --columns en,de",
    )
    assert check(load_recipe("tiny", pairs=messages, columns="en,de")).warnings == ()


def test_languages_that_nothing_states_are_detected(tmp_path: Path) -> None:
    pairs = list(phrases("ja").train[:200])
    pairs[50] = (pairs[50][1], pairs[50][1] + "。")
    for side, name in enumerate(("source.txt", "target.txt")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (tmp_path / name).write_text(text, encoding="utf-8")
    report = check(load_recipe("tiny", src=tmp_path / "source.txt", tgt=tmp_path / "target.txt"))
    assert [side.language for side in report.sides] == ["en", "ja"]
    assert report.warnings == ()
    assert (
        "languages: en to ja, detected in the corpus (set data.source_language and "
        "data.target_language if they are wrong)"
    ) in report.notes
    assert report.sides[0].foreign == {"ja": 1 / 200}


# ---- statistics


def test_lengths_ratios_and_characters_have_known_values(tmp_path: Path) -> None:
    pairs = [
        (" ".join("ab" for _ in range(n)), " ".join("z" for _ in range(2 * n)))
        for n in range(1, 102)
    ]
    report = checked(tmp_path, pairs)
    src, tgt = report.sides
    assert src.quantiles == {
        "min": 1, "1%": 2, "25%": 26, "50%": 51, "75%": 76, "99%": 100, "max": 101,
    }  # fmt: skip
    assert set(report.ratios.values()) == {2.0}
    assert report.correlation == 1.0
    assert src.histogram == {
        "0": 0, "1-5": 5, "6-10": 5, "11-20": 10, "21-40": 20, "41-80": 40, "81-160": 21, ">160": 0,
    }  # fmt: skip
    assert [(each.character, each.n, each.line) for each in src.frequent] == [
        ("a", 5151, 1),
        ("b", 5151, 1),
    ]
    assert (tgt.n_units, tgt.n_characters, tgt.unit) == (10302, 1, "words")


def test_text_without_spaces_is_counted_in_characters(tmp_path: Path) -> None:
    lines = ["私は昨日その古い橋を渡りました。", "パン屋は朝早く店を開けます。"] * 30
    pairs = [(PLAIN[i][0], f"{line}{i}") for i, line in enumerate(lines)]
    assert [side.unit for side in checked(tmp_path, pairs).sides] == ["words", "characters"]


def test_files_that_are_shifted_are_reported(tmp_path: Path) -> None:
    shifted = [(src, PLAIN[i - 1][1]) for i, (src, _) in enumerate(PLAIN)]
    report = checked(tmp_path, shifted)
    assert report.correlation is not None and abs(report.correlation) < 0.2
    assert (
        "from line 1 on, line N of" in report.warnings[0]
        and "matches line N + 1" in report.warnings[0]
    )
    assert checked(tmp_path, PLAIN).warnings == ()


def test_foreign_lines_are_counted_in_a_sample(tmp_path: Path) -> None:
    french = ("Le boulanger ouvre sa boutique avant le lever du soleil.", "die alte Fähre sieht")
    report = checked(tmp_path, [*PLAIN, *[french] * 50], "filters.drop_duplicates=false")
    assert report.sides[0].foreign == {"fr": 50 / 350}
    assert report.sides[1].foreign == {}
    assert "14.3% of the lines are not 'en' but 'fr'" in "".join(report.warnings)


def test_rare_foreign_languages_count_together_and_five_are_shown(tmp_path: Path) -> None:
    foreign = (
        "Le boulanger ouvre sa boutique avant le lever du soleil.",
        "Пекарь открывает свою лавку до восхода солнца.",
        "Ο φούρναρης ανοίγει το μαγαζί του πριν από την ανατολή.",
        "האופה פותח את החנות שלו לפני הזריחה.",
        "يفتح الخباز متجره قبل شروق الشمس.",
        "パン屋は日の出前に店を開けます。",
        "빵집 주인은 해가 뜨기 전에 가게를 엽니다.",
        "คนทำขนมปังเปิดร้านก่อนพระอาทิตย์ขึ้น",
        "बेकर सूर्योदय से पहले अपनी दुकान खोलता है।",
        "சூரியன் உதிக்கும் முன் அவர் தனது கடையைத் திறக்கிறார்.",
    )
    lines = [(text, "die alte Fähre sieht") for text in foreign]
    report = checked(tmp_path, [*PLAIN[:290], *lines])
    assert report.sides[0].foreign is not None and len(report.sides[0].foreign) == 10
    (warning,) = report.warnings
    assert "3.3% of the lines are not 'en' but 'fr', 'ru', 'el', 'he', 'ar', ...: " in warning
    shown = ", ".join(f"'{code}' 0.33%" for code in ("fr", "ru", "el", "he", "ar"))
    assert f"lines in other languages: {shown}, ...\n" in str(report)


# ---- the report


def test_the_report_reads_back_from_json_and_its_text_names_every_section(tmp_path: Path) -> None:
    report = checked(tmp_path, [*PLAIN, ("a", "")])
    assert CheckReport.model_validate(report.model_dump(mode="json")) == report
    assert report.model_dump()["n_kept"] == 300
    text = str(report)
    for heading in ("Filters", "Suspicious", "Repetitions", "Lengths", "Source", "Notes", "Warn"):
        assert f"\n{heading}" in text
    assert "line 301: a | (empty)" in text


def test_lines_of_a_tsv_file_count_its_header(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    rows = ["en\tde", *(f"{src}\t{tgt}" for src, tgt in PLAIN), "empty\t"]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    for columns in ("en,de", "1,2"):
        report = check(load_recipe("tiny", pairs=file, columns=columns))
        assert [each.line for each in by_name(report.filters)["empty"].examples] == [302]


def test_lines_of_held_out_tsv_files_count_their_header(tmp_path: Path) -> None:
    train = write(tmp_path, PLAIN)
    dev, test = (Corpus(pairs=str(tmp_path / name)) for name in ("dev.tsv", "test.tsv"))
    for each in (dev, test):
        rows = ["source\ttarget", "fresh\tneu", "\t".join(PLAIN[4])]
        Path(each.pairs).write_text("\n".join(rows) + "\n", encoding="utf-8")
    recipe = load_recipe("tiny", src=train.src, tgt=train.tgt, dev_pairs=dev.pairs)
    found = {
        (each.held_out, each.within): [(e.line, e.note) for e in each.pairs.examples]
        for each in check(recipe, test=test).overlaps
    }
    assert found == {
        ("dev", "train"): [(5, "line 3 of dev")],
        ("test", "train"): [(5, "line 3 of test")],
        ("test", "dev"): [(2, "line 2 of test"), (3, "line 3 of test")],
    }


def test_compressed_files_are_read(tmp_path: Path) -> None:
    corpus = write(tmp_path, PLAIN)
    for name in (corpus.src, corpus.tgt):
        Path(f"{name}.gz").write_bytes(gzip.compress(Path(name).read_bytes()))
    report = check(load_recipe("tiny", src=f"{corpus.src}.gz", tgt=f"{corpus.tgt}.gz"))
    assert (report.n_pairs, report.sides[0].language) == (300, "en")


def test_the_part_of_a_line_around_a_position_is_shown() -> None:
    line = "a" * 100 + "\x07" + "b" * 100
    assert shorten("short\u200b") == "short\\u200b"
    assert shorten(line, 100) == "…" + "a" * 20 + "\\x07" + "b" * 39 + "…"
    assert shorten(line[:-90], 105).endswith("b" * 10)


# ---- unusable input


def test_swapped_files_are_refused(tmp_path: Path) -> None:
    english = "The baker opens her shop before the sun rises, as every day."
    german = "Die Bäckerin öffnet ihren Laden am frühen Morgen, wie jeden Tag."
    pairs = [(f"{german} {i}", f"{english} {i}") for i in range(20)]
    corpus = write(tmp_path, pairs)
    with pytest.raises(DataError) as error:
        check(load_recipe("tiny", src=corpus.src, tgt=corpus.tgt))
    assert str(error.value) == (
        f"{corpus.src} seems to be in language 'de' and {corpus.tgt} in 'en': exchange the two "
        "files, or correct data.source_language and data.target_language"
    )
    train = write(tmp_path, PLAIN, "train")
    recipe = load_recipe("tiny", src=train.src, tgt=train.tgt)
    dev = recipe.data.model_copy(update={"dev": corpus})
    for recipe_, test in ((recipe.model_copy(update={"data": dev}), None), (recipe, corpus)):
        with pytest.raises(DataError) as in_held_out:
            check(recipe_, test=test)
        assert str(in_held_out.value) == str(error.value)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "there are no sentence pairs in {src} and {tgt}: check the files"),
        (
            [("", ""), ("a", "b b b b b b b b b")],
            "{src} and {tgt}: none of 2 sentence pairs is left for training: provide more text or "
            "relax the filters, which drop 1 empty, 1 ratio",
        ),
    ],
)
def test_a_corpus_without_usable_pairs_is_refused(
    pairs: list[Pair], message: str, tmp_path: Path
) -> None:
    corpus = write(tmp_path, pairs)
    with pytest.raises(DataError) as error:
        check(load_recipe("tiny", src=corpus.src, tgt=corpus.tgt))
    assert str(error.value) == message.format(src=corpus.src, tgt=corpus.tgt)


def test_a_recipe_without_a_corpus_is_refused() -> None:
    with pytest.raises(RecipeError) as error:
        check(load_recipe("tiny"))
    assert str(error.value) == (
        "there is no corpus to check: specify SRC and TGT, or a recipe with data.train"
    )
