"""The search of the paper's implementation compared with the previous one, and its settings.

The previous search takes the K best extensions per step, and a hypothesis that ends keeps its place
in the beam, so the beam shrinks. The current search takes the 2K best extensions and keeps K
hypotheses open. Both stop as soon as no open hypothesis can still enter the n best.

The dev set is translated with every setting, one after the other, in several rounds. "Better" and
"worse" count the translations whose score is higher or lower than that of the base search, by more
than rounding errors: the previous search, or the current one for margins and limits on repetition.
"Rows" is the number of open hypotheses per generated token.
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch
from torch import Tensor

from benchmarks.bleu import ParallelLines
from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.tables import FilledTable, Table
from yakusu.data.batches import pad
from yakusu.data.files.text import windows
from yakusu.data.vocabulary import EOS
from yakusu.engine.config import EngineConfig
from yakusu.errors import DataError
from yakusu.metrics import Score, score_translations
from yakusu.model.architectures import build
from yakusu.model.config import TransformerConfig
from yakusu.model.linear import padded_length
from yakusu.search.beam import BeamSearch
from yakusu.search.candidates import Candidates, top_k
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.translator import Translator

ROUNDING = 1e-4  # nats

benchmark = Benchmark(
    "search",
    __doc__,
    example="python -m benchmarks.paper.search --model runs/enja-en-ja/model --src dev.en "
    "--ref dev.ja --tokenize none",
    needs=["model"],
    quick={"rounds": 1, "limit": 4},
)
benchmark.option("--src", type=Path, help="source sentences of a dev set")
benchmark.option("--ref", type=Path, help="their reference translations")
benchmark.option("--tokenize", help="sacreBLEU's tokenizer")
benchmark.option("--lowercase", action="store_true", help="ignore case")
benchmark.option("--rounds", type=int, default=3, help="%(default)s")
benchmark.option("--limit", type=int, help="number of sentences")
benchmark.option("--beam", type=int, default=4, help="%(default)s")


_SETTINGS = Table(
    (
        ("Search", "{name}"),
        ("BLEU", "{bleu:,.2f}"),
        ("Mean score", "{score:,.4f}"),
        ("Better", "{better}"),
        ("Worse", "{worse}"),
        ("Identical", "{identical:.1%}"),
        ("Rows per token", "{rows_per_token:,.2f}"),
        ("Speed", "{speed:,.2f}"),
    ),
    rows=lambda record: record["settings"],
    title="{name}, {sentences:,} sentences, beam {beam}",
)
_RANDOM = Table(
    (
        ("Sentences", "{sentences}"),
        ("2K candidates better", "{better}"),
        ("Worse", "{worse}"),
    ),
    rows=lambda record: [record["random_models"]],
    title="Untrained models",
)


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The search and its settings, one table per dev set, and the newest untrained models."""
    yield from _SETTINGS(records)
    yield from _RANDOM(records[-1:])


class ShrinkingBeam(BeamSearch):
    """The previous search."""

    def best(self, logits: Tensor, log_norm: Tensor) -> Candidates:
        k = self.config.beam
        values, ids = top_k(logits, min(k, logits.shape[-1]))
        log_probs = self.log_probs[:, :, None] + (values.double() - log_norm[:, :, None])
        best, places = log_probs.flatten(1).topk(k, dim=1)
        n_open = (self.log_probs > -torch.inf).sum(dim=1, keepdim=True)
        n_open = n_open if self.length > 1 else torch.full_like(n_open, k)
        best = best.masked_fill(torch.arange(k, device=best.device) >= n_open, -torch.inf)
        beams = places.div(ids.shape[-1], rounding_mode="floor")
        return Candidates(best, beams, ids.flatten(1).gather(1, places))


@dataclass(frozen=True)
class Setting:
    """A search: its name, class and settings, and the index of the setting it is compared with."""

    name: str
    search: type[BeamSearch]
    changes: dict[str, Any]
    base: int


SETTINGS = [
    Setting("K candidates, shrinking beam", ShrinkingBeam, {"max_repeats": 0}, 0),
    Setting("2K candidates", BeamSearch, {"max_repeats": 0}, 0),
    Setting("K candidates, 4 best", ShrinkingBeam, {"max_repeats": 0, "n_best": 4}, 0),
    Setting("2K candidates, 4 best", BeamSearch, {"max_repeats": 0, "n_best": 4}, 0),
    *(
        Setting(f"margin {margin}", BeamSearch, {"max_repeats": 0, "margin": float(margin)}, 1)
        for margin in (4, 3, 2, 1)
    ),
    *(
        Setting(f"max_repeats {repeats}", BeamSearch, {"max_repeats": repeats}, 1)
        for repeats in (4, 3, 2)
    ),
]


@dataclass
class Outcome:
    """The hypotheses of a setting, and the time and rows that the search needed."""

    hypotheses: list[Hypothesis]  # the best of each sentence
    scores: list[float]  # of all n best
    seconds: float
    n_rows: int  # open hypotheses, summed over steps

    @property
    def n_tokens(self) -> int:
        """Generated tokens, including eos."""
        return sum(len(h.tokens) + 1 for h in self.hypotheses)


def translate(translator: Translator, encoded: list[list[int]], setting: Setting) -> Outcome:
    """Search for the best translations of each sentence."""
    found: list[Hypothesis] = [Hypothesis((), 0.0, 0.0)] * len(encoded)
    scores: list[float] = []
    n_rows = 0
    config = translator.search.model_copy(update=setting.changes)
    assert isinstance(translator.decoder, TorchDecoder)
    model, start = translator.decoder.model, time.perf_counter()
    with torch.inference_mode():
        for rows in _batches(encoded, 64):
            src = pad([encoded[row] for row in rows], model.src_pad, multiple=16)
            search = setting.search(model, src, config, [], [[]] * len(rows))
            while any(sentence >= 0 for sentence in search.sentences):
                n_rows += _open_rows(search)
                search.extend()
                search.close_sentences()
                search.drop_closed_rows()
            for row, best in zip(rows, search.found, strict=True):
                found[row] = best[0]
                scores += [h.score for h in best]
    return Outcome(found, scores, time.perf_counter() - start, n_rows)


def _batches(encoded: list[list[int]], batch: int) -> Iterator[list[int]]:
    """The rows of each batch: sentences of the same padded length, shortest first."""
    rows = sorted(range(len(encoded)), key=lambda row: len(encoded[row]))
    for _, same in groupby(rows, key=lambda row: padded_length(len(encoded[row]))):
        yield from windows(same, batch)


def _open_rows(search: BeamSearch) -> int:
    real = torch.tensor([sentence >= 0 for sentence in search.sentences])
    return int(((search.log_probs > -torch.inf).sum(dim=1) * real).sum())


def main(args: argparse.Namespace) -> None:
    """Translate the dev set with every setting, and compare."""
    translator = Translator.load(args.model, engine=EngineConfig(engine="torch"))
    search = translator.search.model_copy(update={"beam": args.beam})
    translator = translator.with_settings(search=search)
    sources, references = _sentences(args)
    encoded = translator.tokenizer.encode_source(sources)
    rounds: list[list[Outcome]] = [[] for _ in SETTINGS]
    for _ in range(args.rounds):
        for setting, outcomes in zip(SETTINGS, rounds, strict=True):
            outcomes.append(translate(translator, encoded, setting))
    rows = [
        {
            "name": setting.name,
            **_compared(outcomes[0], rounds[setting.base][0]),
            "bleu": _bleu(translator, outcomes[0], references, args).value,
            "speed": median(
                base.seconds / own.seconds for base, own in zip(rounds[0], outcomes, strict=True)
            ),
        }
        for setting, outcomes in zip(SETTINGS, rounds, strict=True)
    ]
    _print(rows)
    by_chance = random_models(1 if args.quick else 4)
    print(f"random models, 2K candidates: {by_chance}")
    benchmark.record(
        {
            "name": "-".join(translator.languages),
            "sentences": len(encoded),
            "beam": args.beam,
            "signature": _bleu(translator, rounds[0][0], references, args).signature,
            "settings": rows,
            "random_models": by_chance,
        }
    )


def random_models(n_models: int, *, n_sentences: int = 50, beam: int = 4) -> dict[str, int]:
    """Count the translations of untrained models whose score is higher or lower than before."""
    numbers, gains = random.Random(1), list[float]()
    config = SearchConfig(beam=beam, max_extra=6, max_repeats=0)
    sizes = TransformerConfig(n_layers=2, d_model=64, d_ff=128, n_heads=4, tied="none")
    for seed in range(n_models):
        torch.manual_seed(seed)
        model = build(sizes, src_vocab_size=50, tgt_vocab_size=50).eval()
        model.output_weight.data.mul_(3.0)  # so that hypotheses differ clearly
        ids = [
            [*(numbers.randrange(2, 49) for _ in range(numbers.randrange(3, 12))), EOS]
            for _ in range(n_sentences)
        ]
        src = pad(ids, model.src_pad, multiple=16)
        with torch.inference_mode():
            old, new = (
                search(model, src, config, [], [[]] * len(ids)).run()
                for search in (ShrinkingBeam, BeamSearch)
            )
        gains += [mine[0].score - other[0].score for mine, other in zip(new, old, strict=True)]
    return {
        "sentences": len(gains),
        "better": sum(gain > ROUNDING for gain in gains),
        "worse": sum(gain < -ROUNDING for gain in gains),
    }


def _compared(own: Outcome, base: Outcome) -> dict[str, float]:
    pairs = list(zip(own.hypotheses, base.hypotheses, strict=True))
    gains = [mine.score - other.score for mine, other in pairs]
    return {
        "score": mean(own.scores),
        "better": sum(gain > ROUNDING for gain in gains),
        "worse": sum(gain < -ROUNDING for gain in gains),
        "identical": mean(mine.tokens == other.tokens for mine, other in pairs),
        "rows_per_token": own.n_rows / own.n_tokens,
    }


def _bleu(
    translator: Translator, own: Outcome, references: list[str], args: argparse.Namespace
) -> Score:
    texts = translator.tokenizer.decode_target([h.tokens for h in own.hypotheses])
    (bleu,) = score_translations(
        texts,
        references,
        metrics=("bleu",),
        tokenize=args.tokenize,
        lowercase=args.lowercase,
        target_language=translator.languages[1],
    )
    return bleu


def _sentences(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    if args.quick:
        lines = [f"{i} {i}" for i in range(args.limit)]
        return lines, lines
    if not (args.src and args.ref):
        raise DataError("--src and --ref are missing: give the two files of a development set")
    lines = ParallelLines.read(args.src, args.ref, args.limit)
    return lines.src, lines.ref


def _print(rows: list[dict[str, Any]]) -> None:
    head = ("setting", "BLEU", "score", "better", "worse", "identical", "rows/token", "speed")
    print("{:32}{:>8}{:>10}{:>8}{:>8}{:>11}{:>12}{:>8}".format(*head))
    for row in rows:
        print(
            f"{row['name']:32}{row['bleu']:8.2f}{row['score']:10.5f}{row['better']:8}"
            f"{row['worse']:8}{row['identical']:11.4f}{row['rows_per_token']:12.2f}"
            f"{row['speed']:8.2f}"
        )


if __name__ == "__main__":
    benchmark.run(main)
