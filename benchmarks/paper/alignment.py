"""Alignment error rate of cross-attention on hand-aligned sentences, compared with eflomal.

The weights of each layer and head are evaluated, both at the position that predicts a target token
and at the next position, which reads it ("shifted": Chen et al. 2020, arXiv:2004.14837). eflomal
learns from the training pairs and the test pairs; its input is in lower case, without the
punctuation around words.
"""

import argparse
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, Table, fixed, scores
from yakusu.alignment import (
    Link,
    alignment_error_rate,
    content_words,
    read_pharaoh,
    token_weights,
    word_links,
    word_weights,
)
from yakusu.arrays import Floats
from yakusu.data.files.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.translator import Translator

GOLD = Path(__file__).parents[2] / "tests" / "fixtures" / "alignment"
Links = list[Link]

benchmark = Benchmark(
    "alignment",
    __doc__,
    example="python -m benchmarks.paper.alignment --model runs/multi30k/model",
    needs=["data", "model"],
    quick={"rounds": 1},
)
benchmark.option("--rounds", type=int, default=3, help="runs of eflomal (%(default)s)")


_WEIGHTS = Table(
    (
        ("Weights", "{weights}"),
        ("AER, %", "{aer:,.1f}"),
        ("AER, %, next position", "{shifted:,.1f}"),
    ),
    rows=lambda record: record["rows"],
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """Alignment error rates of methods, of other aligners, and of each layer and head."""
    for record in records:
        bleu = fixed(scores(record["score"])["BLEU"])
        trained = f"{record['name']}, {record['steps']:,} steps, dev BLEU {bleu}"
        rows = [[f"attention: {name}", fixed(aer, 1)] for name, aer in record["methods"].items()]
        rows += [
            [name, fixed(statistics.mean(rounds), 1)] for name, rounds in record["others"].items()
        ]
        yield FilledTable(["Links", "AER, %"], rows, [record], trained)
        yield from _WEIGHTS([record])


@dataclass(frozen=True)
class Gold:
    """The hand-aligned sentences, their sure links, and their possible links."""

    src: list[str]
    tgt: list[str]
    sure: list[set[Link]]
    possible: list[set[Link]]

    @classmethod
    def read(cls, folder: Path) -> "Gold":
        """Read en.txt, de.txt and gold.txt."""
        src, tgt, lines = (
            list(read_lines(folder / f"{name}.txt")) for name in ("en", "de", "gold")
        )
        sure, possible = zip(*map(read_pharaoh, lines), strict=True)
        return cls(src, tgt, list(sure), list(possible))

    def aer(self, links: Iterable[Iterable[Link]]) -> float:
        """Return the alignment error rate in percent."""
        error = alignment_error_rate(list(map(set, links)), self.sure, self.possible)
        return round(100 * error, 1)


class Aligned:
    """A translator applied to the hand-aligned sentences.

    Args:
        translator: The translator.
        gold: The sentences.
    """

    def __init__(self, translator: Translator, gold: Gold) -> None:
        self.gold, tokenizer = gold, translator.tokenizer
        encoded = tokenizer.encode_source(gold.src), tokenizer.encode_target(gold.tgt)
        found = translator.decoder.attentions(list(zip(*encoded, strict=True)), ["cross"])
        self.cross = [maps["cross"] for (maps,) in found]  # (N, H, T, S) of each sentence
        self.words = [
            (
                content_words(tokenizer.source_words(src), tokenizer.source_surfaces(src)),
                content_words(target_words(tokenizer, tgt), tokenizer.target_surfaces(tgt)),
            )
            for src, tgt in zip(gold.src, gold.tgt, strict=True)
        ]

    def aer(self, weights: Iterable[Floats], method: Callable[..., Links] = word_links) -> float:
        """Return the alignment error rate of the weights (T, S) of each sentence."""
        rows = zip(weights, self.words, strict=True)
        return self.gold.aer(method(each, *words) for each, words in rows)

    def default(self) -> list[Floats]:
        """Return the weights (T, S) of each sentence that the package uses."""
        return [token_weights([own]) for own in self.cross]

    def rows(self) -> list[dict[str, Any]]:
        """Return the error rates of each layer and head, and of means, by position."""
        shifted = [np.roll(own, -1, axis=2) for own in self.cross]  # the last row is not used
        rows = []
        for name, layers, heads in parts(*self.cross[0].shape[:2]):
            here, there = (
                [own[layers, heads].mean(axis=(0, 1)) for own in each]
                for each in (self.cross, shifted)
            )
            rows.append({"weights": name, "aer": self.aer(here), "shifted": self.aer(there)})
        return rows


def target_words(tokenizer: Tokenizer, sentence: str) -> list[int]:
    """Return the word of each piece; a piece without text belongs to the next word."""
    last = len(sentence.split()) - 1
    return [
        min(len(sentence[:end].split()) - bool(sentence[begin:end].strip()), last)
        for begin, end in tokenizer.tgt.offsets(sentence)
    ]


def parts(n_layers: int, n_heads: int) -> Iterable[tuple[str, slice, slice]]:
    """Yield the name, the layers and the heads of each mean over weights that is evaluated."""
    for n in range(n_layers):
        layer = slice(n, n + 1)
        yield f"layer {n + 1}, all heads", layer, slice(None)
        for h in range(n_heads if n_heads > 1 else 0):
            yield f"layer {n + 1}, head {h + 1}", layer, slice(h, h + 1)
    for n in range(n_layers - 1):
        yield f"layers {n + 1} to {n_layers}, all heads", slice(n, None), slice(None)


# ---- other methods that derive links from weights ------------------------------------------------


def by_piece(weights: Floats, src_words: Sequence[int], tgt_words: Sequence[int]) -> Links:
    """Link each target piece to the source piece with the largest weight."""
    kept = [s for s, word in enumerate(src_words) if word >= 0]
    best = weights[: len(tgt_words), kept].argmax(axis=1).tolist()
    return [
        (src_words[kept[k]], word) for k, word in zip(best, tgt_words, strict=True) if word >= 0
    ]


def by_word(weights: Floats, src_words: Sequence[int], tgt_words: Sequence[int]) -> Links:
    """Link each target word to the source word with the largest weight."""
    best = word_weights(weights, src_words, tgt_words).argmax(axis=1).tolist()
    return [(source, word) for word, source in enumerate(best)]


METHODS = {
    "each target piece, largest weight": by_piece,
    "each target word, largest weight": by_word,
    "each target word, largest share (default)": word_links,
}


# ---- other aligners ------------------------------------------------------------------------------


def diagonal(src: str, tgt: str) -> Links:
    """Link each target word to the source word at the same relative position."""
    n_src, n_tgt = len(src.split()), len(tgt.split())
    return [(word * n_src // n_tgt, word) for word in range(n_tgt)]


def plain(line: str) -> str:
    """Return a line in lower case, without the punctuation around its words."""
    return " ".join(re.sub(r"^\W+|\W+$", "", word) or word for word in line.lower().split())


def statistical(data: Path, gold: Gold, rounds: int) -> dict[str, list[float]]:
    """Return the error rates of eflomal in each round: both directions, and symmetrised."""
    from nltk.translate.gdfa import grow_diag_final_and

    from benchmarks.peers.eflomal_links import links

    sides = (("en", gold.src), ("de", gold.tgt))
    text = [
        list(map(plain, [*read_lines(data / "multi30k" / f"train.{side}"), *own]))
        for side, own in sides
    ]
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        forward, backward = (each[-len(gold.src) :] for each in links(*text))
        both = [
            grow_diag_final_and(len(src.split()), len(tgt.split()), *directions)
            for src, tgt, *directions in zip(gold.src, gold.tgt, forward, backward, strict=True)
        ]
        for name, own in (
            ("eflomal, a source word for each target word", [read_pharaoh(x)[0] for x in forward]),
            ("eflomal, a target word for each source word", [read_pharaoh(x)[0] for x in backward]),
            ("eflomal, grow-diag-final-and", both),
        ):
            found.setdefault(name, []).append(gold.aer(own))
    return found


def main(args: argparse.Namespace) -> None:
    """Measure all weights, all methods and the other aligners."""
    gold = Gold.read(GOLD)
    aligned = Aligned(Translator.load(args.model), gold)
    receipt = read_receipt(args.model)
    rows, default = aligned.rows(), aligned.default()
    methods = {name: aligned.aer(default, method) for name, method in METHODS.items()}
    others = {"diagonal": [gold.aer(starmap(diagonal, zip(gold.src, gold.tgt, strict=True)))]}
    if benchmark.installed({"eflomal": "eflomal"}):
        others |= statistical(args.data, gold, args.rounds)
    for row in rows:
        print(f"{row['weights']:45}{row['aer']:7.1f}{row['shifted']:7.1f} shifted")
    for name, value in [*methods.items(), *((n, statistics.mean(v)) for n, v in others.items())]:
        print(f"{name:45}{value:7.1f}")
    name = f"Multi30k en-de, {receipt.recipe.model.name}"
    result = {"name": name, "score": receipt.scores[0], "steps": max(receipt.averaged_steps)}
    benchmark.record(result | {"rows": rows, "methods": methods, "others": others})


if __name__ == "__main__":
    benchmark.run(main)
