"""`align` pairs the sentences of texts; faults of a corpus are named with their lines."""

import re
from dataclasses import replace
from pathlib import Path

import docx
import pytest

import yakusu
from tests.bitexts import bitext
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError, ModelError, RunError
from yakusu.pipeline.aligning import misaligned
from yakusu.pipeline.aligning.misaligned import find_faults, require_aligned
from yakusu.pipeline.training.run import check_run
from yakusu.recipe import load_recipe, save_recipe

SRC, TGT = bitext(450)
FIXTURES = Path(__file__).parents[1] / "fixtures" / "format-1"


def written(folder: Path, src: list[str], tgt: list[str]) -> Corpus:
    paths = folder / "a.en", folder / "a.de"
    for path, lines in zip(paths, (src, tgt), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return Corpus(src=str(paths[0]), tgt=str(paths[1]))


def test_pairs_and_what_is_left_out_are_written(tmp_path: Path) -> None:
    corpus = written(
        tmp_path, SRC[:200], [*TGT[:80], f"{TGT[80]} {TGT[81]}", *TGT[82:150], *TGT[151:200]]
    )
    out = tmp_path / "pairs.tsv"
    made = yakusu.align(corpus.src, corpus.tgt, out)
    assert (made.n_sentences, made.n_pairs, made.n_left) == ((200, 198), 198, (1, 0))
    assert made.kinds == {"1-1": 197, "2-1": 1}
    assert made.left.read_text() == f"{corpus.src}\t151\t{SRC[150]}\n"
    assert (SRC[151], TGT[151]) in set(read_pairs(Corpus(pairs=str(out))))
    before = out.read_bytes()
    assert str(yakusu.align(corpus.src, corpus.tgt, out)).startswith(
        f"{out}: 198 pairs (1-1: 197; 2-1: 1) of 200 source and 198 target sentences, median score "
    )
    assert out.read_bytes() == before
    unrelated = replace(made, n_pairs=500, median_score=-0.1)
    assert "warning: most pairs score no better than unrelated sentences" in str(unrelated)
    joined = replace(made, kinds={"1-1": 40, "3-1": 158})
    assert "most pairs join three sentences with one" in str(joined)
    few = "with fewer than 200 sentences, word matches are unreliable: check the pairs"
    assert few in str(made) and few not in str(replace(made, translated=True))
    regular = replace(made, kinds={"1-1": 198})
    assert few in str(regular) and few not in str(replace(regular, n_left=(0, 0)))
    fewer = yakusu.align(corpus.src, corpus.tgt, out, min_score=made.median_score)
    assert 90 <= fewer.n_pairs <= 110
    assert fewer.n_left[0] == 200 - sum(int(kind[0]) * n for kind, n in fewer.kinds.items())


def test_documents_become_a_corpus_that_can_be_prepared(tmp_path: Path) -> None:
    """The paragraphs differ, a sentence is missing; two chapters are joined on one side."""
    out = tmp_path / "pairs.tsv"
    for joined in (True, False):
        book, buch = (
            document(tmp_path / name, word, lines, size, joined=joined and word == "Teil")
            for name, word, lines, size in (
                ("book.en.docx", "Part", SRC[:160], 7),
                ("buch.de.docx", "Teil", [*TGT[:20], "", *TGT[21:160]], 5),
            )
        )
        made = yakusu.align(book, buch, out)
        pairs = list(read_pairs(Corpus(pairs=str(out))))
        headings = [(f"{number}. Part", f"{number}. Teil") for number in (1, 2, 3)]
        assert [pair for pair in pairs if pair in headings] == headings[: 2 if joined else 3]
        assert len({*zip(SRC, TGT, strict=True)} & {*pairs}) >= 135  # short ones are not divided
    recipe = load_recipe(
        "tiny",
        ["data.source_language=en", "data.target_language=de", "tokenizer.vocab_size=300"],
        pairs=str(out),
        run=str(tmp_path / "run"),
    )
    assert yakusu.check(recipe).faults == ()
    assert yakusu.prepare(recipe, workers=1).report["read"] == made.n_pairs


def document(path: Path, word: str, lines: list[str], size: int, *, joined: bool) -> Path:
    """Write three chapters of paragraphs of `size` sentences; `joined`: the last two are one."""
    made = docx.Document()
    for number, first in enumerate((0, 60, 120), start=1):
        if number < 3 or not joined:
            made.add_heading(f"{number}. {word}")
        own = lines[first : first + 60]
        for start in range(0, len(own), size):
            made.add_paragraph(" ".join(own[start : start + size]))
    made.save(str(path))
    return path


def test_paragraphs_are_anchors_if_both_texts_have_as_many(tmp_path: Path) -> None:
    chapters = [(SRC[i : i + 9], TGT[i : i + 9]) for i in range(0, 108, 9)]
    chapters[5] = SRC[200:209], TGT[300:309]  # unrelated
    paths = tmp_path / "a.en", tmp_path / "a.de"
    for path, side in zip(paths, zip(*chapters, strict=True), strict=True):
        path.write_text("".join(" ".join(lines) + "\n" for lines in side))
    yakusu.align(*paths, tmp_path / "pairs.tsv")
    rows = [row.split("\t") for row in (tmp_path / "pairs.tsv").read_text().splitlines()]
    starts = [(src[0], tgt[0]) for src, tgt in chapters[:5] + chapters[6:]]
    assert all(any(x.startswith(s) and y.startswith(t) for x, y, _ in rows) for s, t in starts)


def test_a_model_aligns_texts_that_are_too_short_to_learn_from(tmp_path: Path) -> None:
    en, de = ((FIXTURES / f"train.{code}").read_text().splitlines()[:9] for code in ("en", "de"))
    corpus = written(tmp_path, en, [*de[:3], *de[4:]])
    out = tmp_path / "pairs.tsv"
    yakusu.align(corpus.src, corpus.tgt, out, model=FIXTURES / "transformer")
    assert len({*read_pairs(Corpus(pairs=str(out)))} & {*zip(en, de, strict=True)}) >= 5
    with pytest.raises(ModelError, match=r"a\.de is in de, but .* translates from en to de"):
        yakusu.align(corpus.tgt, corpus.src, out, model=FIXTURES / "transformer")
    with pytest.raises(ModelError, match="is a parser: use a translator"):
        yakusu.align(corpus.src, corpus.tgt, out, model=FIXTURES / "parser")


def test_unusable_texts_are_refused(tmp_path: Path) -> None:
    corpus = written(tmp_path, SRC[:3], [""])
    with pytest.raises(DataError, match="has no sentences"):
        yakusu.align(corpus.src, corpus.tgt, tmp_path / "pairs.tsv")
    with pytest.raises(RunError, match=r"does not end in \.tsv"):
        yakusu.align(corpus.src, corpus.tgt, tmp_path)
    with pytest.raises(RunError, match="would replace one of the texts"):
        yakusu.align(tmp_path / "pairs.left.tsv", corpus.tgt, tmp_path / "pairs.tsv")
    with pytest.raises(DataError, match="contain the same text"):
        yakusu.align(corpus.src, corpus.src, tmp_path / "pairs.tsv")
    written(tmp_path, SRC[:3], TGT[:3])
    with pytest.raises(DataError, match=r"no sentence of .* or lower --min-score"):
        yakusu.align(corpus.src, corpus.tgt, tmp_path / "pairs.tsv", min_score=1e9)


@pytest.mark.parametrize(
    ("src", "tgt", "expected"),
    [
        (
            SRC[:-1],
            TGT[:300] + TGT[301:],
            "from line 30[0-3] on, line N of {src} matches line N - 1 of .* lacks 1 line near line "
            "30[0-3], or {src} has 1 too many: correct the files, or pair the sentences again with",
        ),
        (SRC[:225] + TGT[225:], TGT[:225] + SRC[225:], "from line 226 on, source and target are"),
        (SRC[:225] * 2, TGT[:225] * 2, "{src} and .* repeat their lines from line 1 on: remove"),
        (SRC[:225] * 2, TGT, "from line 226 on, {src} repeats its lines from line 1 on, but"),
    ],
)
def test_a_fault_is_described_with_its_line(
    src: list[str], tgt: list[str], expected: str, tmp_path: Path
) -> None:
    corpus = written(tmp_path, src, tgt)
    (fault,) = find_faults(corpus)
    assert re.search(expected.format(src=corpus.src), str(fault))


def test_a_corpus_in_other_encodings_and_several_files_is_compared(tmp_path: Path) -> None:
    corpus = written(tmp_path, SRC[:-1], TGT[:300] + TGT[301:])
    tgt = Path(corpus.tgt)
    tgt.write_bytes(tgt.read_text("utf-8").encode("utf-16"))
    ((fault,),) = {find_faults(corpus), find_faults(Corpus(parts=(dict(corpus),)))}
    assert fault.offset == -1
    assert yakusu.align(corpus.src, tgt, tmp_path / "pairs.tsv").n_pairs == len(SRC) - 2


def test_the_first_line_is_searched_between_the_blocks_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(misaligned, "_SMALL_BLOCK", 90)
    corpus = written(tmp_path, SRC[:-1], TGT[:120] + TGT[121:])
    with pytest.raises(DataError, match=r"from line 12[0-4] on, .* --allow-misaligned to learn"):
        require_aligned(corpus)


def test_training_refuses_a_misaligned_corpus_and_writes_nothing(tmp_path: Path) -> None:
    corpus = written(tmp_path, SRC[:-1], TGT[:200] + TGT[201:])
    run = tmp_path / "run"
    recipe = load_recipe("tiny", src=corpus.src, tgt=corpus.tgt, run=str(run))
    with pytest.raises(DataError, match="yakusu align"):
        check_run(recipe, misaligned=False)
    assert not run.exists()
    check_run(recipe)
    (run / "data").mkdir(parents=True)
    save_recipe(recipe, run / "recipe.toml")
    check_run(recipe, misaligned=False)  # it has started


def test_unrelated_texts_may_be_trained_on(tmp_path: Path) -> None:
    require_aligned(written(tmp_path, SRC, TGT[::-1]))
