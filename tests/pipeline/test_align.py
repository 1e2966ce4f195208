"""`align` pairs the sentences of texts; faults of a corpus are named with their lines."""

import re
from pathlib import Path

import pytest

import yakusu
from tests.bitexts import bitext
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.errors import DataError, RunError
from yakusu.pipeline.aligning import misaligned
from yakusu.pipeline.aligning.misaligned import find_faults, require_aligned
from yakusu.pipeline.training.run import check_run
from yakusu.recipe import load_recipe, save_recipe

SRC, TGT = bitext(450)


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
        "200 and 198 sentences; 198 pairs"
    )
    assert out.read_bytes() == before
    fewer = yakusu.align(corpus.src, corpus.tgt, out, min_score=made.median_score)
    assert 90 <= fewer.n_pairs <= 110
    assert fewer.n_left[0] == 200 - sum(int(kind[0]) * n for kind, n in fewer.kinds.items())


def test_paragraphs_of_documents_are_divided_and_chapters_are_anchors(tmp_path: Path) -> None:
    for name, lines in (("a.en.html", SRC), ("a.de.html", TGT[:20] + TGT[21:200])):
        chapters = [lines[:100], lines[100:200]] if lines is SRC else [lines[:99], lines[99:]]
        (tmp_path / name).write_text(
            "<html><body>"
            + "".join(
                f"<h2>{'Teil' if 'de' in name else 'Part'} {number}</h2><p>{' '.join(own[:40])}</p>"
                f"<p>{' '.join(own[40:])}</p>"
                for number, own in enumerate(chapters, start=1)
            )
            + "</body></html>"
        )
    out = tmp_path / "pairs.tsv"
    yakusu.align(tmp_path / "a.en.html", tmp_path / "a.de.html", out)
    pairs = set(read_pairs(Corpus(pairs=str(out))))
    assert {("Part 2", "Teil 2"), (SRC[100], TGT[100]), (SRC[199], TGT[199])} <= pairs


def test_unusable_texts_are_refused(tmp_path: Path) -> None:
    corpus = written(tmp_path, SRC[:3], [""])
    with pytest.raises(DataError, match="has no sentences"):
        yakusu.align(corpus.src, corpus.tgt, tmp_path / "pairs.tsv")
    with pytest.raises(RunError, match=r"does not end in \.tsv"):
        yakusu.align(corpus.src, corpus.tgt, tmp_path)
    with pytest.raises(RunError, match="would replace one of the texts"):
        yakusu.align(tmp_path / "pairs.left.tsv", corpus.tgt, tmp_path / "pairs.tsv")
    with pytest.raises(DataError, match="are the same text"):
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
            "from line 30[0-3] on, line N of {src} belongs to line N - 1",
        ),
        (SRC[:225] + TGT[225:], TGT[:225] + SRC[225:], "from line 226 on, source and target are"),
        (SRC[:225] * 2, TGT[:225] * 2, "both sides repeat those from line 1 on"),
    ],
)
def test_a_fault_is_described_with_its_line(
    src: list[str], tgt: list[str], expected: str, tmp_path: Path
) -> None:
    corpus = written(tmp_path, src, tgt)
    (fault,) = find_faults(corpus)
    assert re.search(expected.format(src=corpus.src), str(fault))


def test_the_first_line_is_searched_between_the_blocks_of_a_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(misaligned, "_SMALL_BLOCK", 90)
    corpus = written(tmp_path, SRC[:-1], TGT[:120] + TGT[121:])
    with pytest.raises(DataError, match=r"from line 12[0-4] on, .* --allow-misaligned trains"):
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
