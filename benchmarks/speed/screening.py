"""How much of the output layer must be computed: exact screening, and lexical shortlists.

Screening. The output layer W (V, d) is coded with 4 bits a number, by Algorithm 1 of the second
paper; R = W - (W rebuilt from codes). For a hidden state h, whose mean over a corpus is m, the
logits are bounded with the codes and with norms that are stored per column, in 16 blocks of the
principal axes of the states:

    |w h - (w' h + r m)| <= sum over blocks g of |r_g| |h_g - m_g|

Columns whose upper bound is below the n-th largest lower bound cannot be among the n best tokens: a
greedy search needs 1, a search with beam 4 needs 8. "Error" is the mean error of the coded logits,
and "bound" the mean of the right-hand side, in nats. A step falls back if more than half of the
columns remain. The sum of all probabilities, which a beam search needs, would need more columns.

Shortlists (`translate --shortlist`), of models that have a lexicon: BLEU, the share of unchanged
translations, and CPU time of one thread, in turns.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from benchmarks.common import Benchmark
from benchmarks.records import Record
from benchmarks.speed.systems import cpu_flags
from benchmarks.tables import FilledTable, fixed
from yakusu.arrays import Floats
from yakusu.compress.codes import code
from yakusu.data.files.text import read_lines
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.native.library import instruction_set
from yakusu.search.decoder import Query
from yakusu.translator import Translator
from yakusu.translator.folder.folder import ModelFolder

BLOCKS, N_CODES = 16, 16
WANTED = {"greedy": 1, "beam 4": 8}

benchmark = Benchmark(
    "screening",
    __doc__,
    example="python -m benchmarks.speed.screening --model runs/en-de/model --src dev.en --tgt "
    "dev.de --record",
    needs=["data", "model"],
    quick={"sentences": 8, "rounds": 1, "states": 20},
)
benchmark.option("--src", help="dev set (default: val.en of Multi30k)")
benchmark.option("--tgt", help="its translations")
benchmark.option("--sentences", type=int, default=500, help="at most (%(default)s)")
benchmark.option("--states", type=int, default=500, help="hidden states (%(default)s)")
benchmark.option("--rounds", type=int, default=3, help="measured rounds (%(default)s)")


def tables(records: list[Record]) -> Iterator[FilledTable]:
    """The share of columns that remain, and what a shortlist changes."""
    head = ["Model", "V", "d", "Error", "Bound"]
    head += [f"{name}: {what}" for name in WANTED for what in ("columns", "fall back")]
    rows = [
        [
            *(each["name"], f"{each['V']:,}", str(each["d"])),
            *(fixed(each[key]) for key in ("error", "bound")),
            *(f"{each[name][what]:.1%}" for name in WANTED for what in ("columns", "fallback")),
        ]
        for each in records
    ]
    yield FilledTable(head, rows, records, "Exact screening")
    with_lists = [each for each in records if each.get("shortlist")]
    head = ["Model", "Tokens", "BLEU", "with shortlists", "Unchanged", "1x4", "16x4", "64x4"]
    rows = [
        [
            *(each["name"], f"{own['tokens']:.0f} of {each['V']:,}"),
            *(fixed(own[key]) for key in ("BLEU", "BLEU with")),
            *(
                f"{own['same']:.1%}",
                *(f"{own['speed'][cell]:.2f}" for cell in ("1x4", "16x4", "64x4")),
            ),
        ]
        for each in with_lists
        for own in [each["shortlist"]]
    ]
    yield FilledTable(head, rows, with_lists, "Shortlists; speed relative to that without")


def screened(states: Floats, weights: Floats, bias: Floats) -> dict[str, Any]:
    """The share of columns that remain."""
    coded = code(weights, n_components=weights.shape[1], n_codes=N_CODES)
    scores = np.take_along_axis(coded.centroids.T, coded.codes.astype(np.int64), axis=0)
    axes = coded.axes
    rebuilt = axes.mean + (scores * axes.scale) @ axes.loadings.T
    rest, mean = weights - rebuilt, states.mean(axis=0)
    _, turned = np.linalg.eigh(np.cov(states, rowvar=False))
    norms = _block_norms(rest @ turned)  # (V, G)
    around = _block_norms((states - mean) @ turned)  # (T, G)
    estimate = states @ rebuilt.T + rest @ mean + bias  # (T, V)
    bound = around @ norms.T
    found: dict[str, Any] = {
        "error": float(np.abs(states @ weights.T + bias - estimate).mean()),
        "bound": float(bound.mean()),
    }
    for name, wanted in WANTED.items():
        low = np.partition(estimate - bound, -wanted, axis=1)[:, [-wanted]]
        share = (estimate + bound >= low).mean(axis=1)
        found[name] = {
            "columns": float(share.mean()),
            "fallback": float((share > 0.5).mean()),
        }
    return found


def _block_norms(rows: Floats) -> Floats:
    """Norms of each block of columns.  # (n, G)"""
    parts = np.array_split(rows, BLOCKS, axis=1)
    return np.stack([np.linalg.norm(part, axis=1) for part in parts], axis=1)


def layer(folder: ModelFolder) -> tuple[Floats, Floats]:
    """The output layer and its bias, without padding."""
    n, weights = folder.config.tgt_vocab_size - 1, folder.weights
    names = ("output_table.weight", "tgt_table.weight")
    table = next(weights[name] for name in names if name in weights)
    bias = weights["output_bias"][:n] if "output_bias" in weights else np.zeros(n)
    return np.asarray(table[:n], np.float64), np.asarray(bias, np.float64)


def shortlists(
    translator: Translator, lines: Sequence[str], refs: Sequence[str], rounds: int
) -> dict[str, Any]:
    """What shortlists change."""
    decoder = translator.decoder
    assert isinstance(decoder, NativeDecoder)
    assert decoder.shortlists
    sides = {
        name: translator.with_settings(
            search=translator.search.model_copy(update={"shortlist": name == "with"})
        )
        for name in ("without", "with")
    }
    texts: dict[str, list[str]] = {}
    speed = {}
    for cell in ("1x4", "16x4", "64x4"):
        batch = int(cell.split("x")[0])
        some = lines[: max(64, len(lines) // 4)] if batch == 1 else lines
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for number in range(-1, rounds):
            for name, side in sides.items():
                start = time.process_time()
                texts[name] = [best[0].text for best in side.stream(some, batch=batch)]
                if number >= 0:
                    seconds[name].append(time.process_time() - start)
        speed[cell] = statistics.median(seconds["without"]) / statistics.median(seconds["with"])
    sources = translator.tokenizer.encode_source(lines)
    sizes = [
        len(found) for ids in sources if (found := decoder.shortlists.of(Query(ids))) is not None
    ]
    scores = {name: BLEU().corpus_score(texts[name], [[*refs]]).score for name in sides}
    same = [one == other for one, other in zip(*texts.values(), strict=True)]
    return {
        **{
            "tokens": statistics.mean(sizes),
            "BLEU": scores["without"],
            "BLEU with": scores["with"],
        },
        **{"same": statistics.mean(same), "speed": speed},
    }


def main(args: argparse.Namespace) -> None:
    """Measure a model."""
    src, tgt = (
        str(path or args.data / "multi30k" / name)
        for path, name in ((args.src, "val.en"), (args.tgt, "val.de"))
    )
    lines, refs = (list(read_lines(path))[: args.sentences] for path in (src, tgt))
    folder = ModelFolder.open(args.model)
    translator = Translator.load(args.model, engine=EngineConfig(threads=1))
    assert isinstance(translator.decoder, NativeDecoder)
    pairs = [pair for pair in map(translator.pair_ids, lines, refs) if pair]
    states = np.concatenate(translator.decoder.states(pairs, batch=64)).astype(np.float64)
    chosen = states[:: max(1, len(states) // args.states)]
    weights, bias = layer(folder)
    found = screened(chosen, weights, bias)
    print(found, flush=True)
    if translator.decoder.shortlists:
        found["shortlist"] = shortlists(translator, lines, refs, args.rounds)
        print(found["shortlist"], flush=True)
    sizes = {"V": len(weights), "d": weights.shape[1], "sentences": len(lines)}
    stated = {"instruction set": instruction_set(), "cpu flags": cpu_flags()}
    benchmark.record(
        {
            "name": args.model.parent.name if args.model.name == "model" else args.model.name,
            **sizes,
            **found,
            **stated,
        }
    )


if __name__ == "__main__":
    benchmark.run(main)
