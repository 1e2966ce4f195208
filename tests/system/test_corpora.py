"""Real corpora in $YAKUSU_DATA: preparing 2,000 lines of each keeps every valid pair."""

import os
import unicodedata
from itertools import islice
from pathlib import Path

import pytest

import yakusu
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.pairs import Pairs
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.pipeline.training.prepare import Prepared
from yakusu.recipe import load_recipe

DATA = Path(os.environ.get("YAKUSU_DATA", "/nowhere"))
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif("YAKUSU_DATA" not in os.environ, reason="YAKUSU_DATA is not set"),
]
N = 2000


def prepared(run: Path, train: str, *overrides: str) -> Prepared:
    return yakusu.prepare(
        load_recipe(
            "tiny",
            [
                f'run="{run}"',
                f"data.train={train}",
                "tokenizer.vocab_size=4000",
                "tokenizer.placeholder_share=0",
                *overrides,
            ],
        )
    )


@pytest.mark.parametrize(
    ("corpus", "source", "target"),
    [("multi30k", "en", "de"), ("enja", "ja", "en"), ("koen", "ko", "en")],
)
def test_the_ids_of_a_real_corpus_decode_to_its_sentences(
    corpus: str, source: str, target: str, tmp_path: Path
) -> None:
    whole = Corpus(
        src=str(DATA / corpus / f"train.{source}"), tgt=str(DATA / corpus / f"train.{target}")
    )
    lines = list(islice(read_pairs(whole), N))
    for i, name in enumerate(("a.src", "a.tgt")):
        (tmp_path / name).write_text("".join(pair[i] + "\n" for pair in lines), encoding="utf-8")
    made = prepared(
        tmp_path / "run",
        f'{{src = "{tmp_path / "a.src"}", tgt = "{tmp_path / "a.tgt"}"}}',
        "tokenizer.character_coverage=1",
    )

    assert (
        made.report["read"]
        == N
        == made.report["kept"]
        + sum(n for reason, n in made.report.items() if reason not in ("read", "kept"))
    )
    assert made.report["duplicate"] == sum(
        a and b and a != b and (a, b) in lines[:i] for i, (a, b) in enumerate(lines)
    )
    assert made.report["kept"] > 0.9 * N
    assert made.n_train + made.n_dev == made.report["kept"]
    assert (
        made.n_dev == (N - sum(made.report[k] for k in ("empty", "identical", "duplicate"))) // 20
    )
    assert 0.8 < made.fullness < 1

    tokenizer = Tokenizer.load(made.folder)
    pairs = Pairs.open(made.folder, "train")
    ids = [pairs.src[i].tolist() for i in range(len(pairs))]
    assert not any(UNK in sentence for sentence in ids)
    known = {" ".join(unicodedata.normalize("NFC", src).split()) for src, _ in lines}
    found = sum(text in known for text in tokenizer.decode_target(ids))
    assert found > 0.97 * len(ids)


def test_empty_cells_of_the_bible_are_dropped_as_empty(tmp_path: Path) -> None:
    """Verses that one translation lacks are empty cells; columns are found by name."""
    with (DATA / "bible" / "train.tsv").open(encoding="utf-8", newline="\n") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    header, rows = rows[0], rows[1:]
    src, tgt = header.index("ja"), header.index("ko")
    gaps = [row for row in rows if not row[src].strip() or not row[tgt].strip()]
    chosen = [*(row for row in rows[:N] if row not in gaps), *gaps[:50], [*rows[0][:-1], ""]]
    assert len(gaps) > 0
    table = tmp_path / "bible.tsv"
    table.write_text("".join("\t".join(row) + "\n" for row in [header, *chosen]), encoding="utf-8")
    made = prepared(tmp_path / "run", f'{{tsv = "{table}", src_column = "ja", tgt_column = "ko"}}')
    assert made.report["read"] == len(chosen)
    assert made.report["empty"] == len(gaps[:50]) + 1
