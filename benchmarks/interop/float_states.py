"""Codes of decoder states beside the states themselves, with the formulas of search/neighbours.py.

Systems:
- none: no memory;
- codes: 4 bits for each of the M components, as stored;
- components: the M components in float32;
- states: the whole states in float32, whose distances have the mean of those of the components.

All of them decode greedily, in torch, with the same related segments.
"""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.bleu import Scorer
from benchmarks.common import Benchmark
from benchmarks.interop.memory_learning import filled, lines
from benchmarks.tables import Table, score_of
from yakusu.arrays import Floats
from yakusu.data.vocabulary import EOS
from yakusu.engine.config import EngineConfig
from yakusu.engine.decoder import NativeDecoder
from yakusu.memory.memory import TranslationMemory
from yakusu.model.base import Seq2Seq, shift_right
from yakusu.search.neighbours import NEAREST, SegmentStates, StateCodebook, predicted
from yakusu.translator import Translator
from yakusu.translator.folder.network import open_model
from yakusu.translator.recall.related import MOST

_BATCH, _LONGEST = 64, 60  # sentences; tokens of a translation

benchmark = Benchmark(
    "float_states",
    __doc__,
    example="python -m benchmarks.interop.float_states --model runs/multi30k/model "
    "--memory multi30k/train --tests multi30k/val",
    needs=["data", "model"],
    quick={"memory": "multi30k/val", "tests": ["multi30k/test2016"], "pairs": 50, "sentences": 20},
)
benchmark.option("--memory", default="multi30k/train", help="corpus (%(default)s)")
benchmark.option("--pairs", type=int, default=None, help="pairs of the memory (all)")
benchmark.option("--tests", nargs="+", default=["multi30k/val"], help="test sets (%(default)s)")
benchmark.option("--languages", nargs=2, default=["en", "de"], help="source and target")
benchmark.option("--sentences", type=int, default=None, help="of each test set (all)")

tables = Table(
    (
        ("Model", "{model}"),
        ("Test set", "{test}"),
        ("States", "{system}"),
        ("Bytes", "{bytes}"),
        ("BLEU", score_of("score")),
        ("Gain", lambda record: f"{record['gain'][0]:+.2f}"),
        ("95% interval", lambda record: "{:+.2f} to {:+.2f}".format(*record["gain"][1:])),
    )
)


@dataclass(frozen=True)
class Related:
    """The states of the segments that are related to a sentence.

    Attributes:
        stored: Their codes, and the tokens that followed.
        hidden: The states themselves, (N, H).
    """

    stored: SegmentStates
    hidden: Floats


Mixed = Callable[[StateCodebook, Related, Floats], tuple[float, dict[int, float]]]


def by_codes(
    codebook: StateCodebook, related: Related, h: Floats
) -> tuple[float, dict[int, float]]:
    """w without its last factor, and N(y) of each token, as the engine computes them."""
    (nearest,) = predicted(codebook, related.stored, h[None])
    return nearest.weight, nearest.probs


def by_components(
    codebook: StateCodebook, related: Related, h: Floats
) -> tuple[float, dict[int, float]]:
    """The same from components in float32."""
    away = codebook.scores(related.hidden) - codebook.scores(h[None])
    return weighed(codebook, (away * away).sum(axis=1), related.stored.tokens)


def by_states(
    codebook: StateCodebook, related: Related, h: Floats
) -> tuple[float, dict[int, float]]:
    """The same from whole states."""
    away = related.hidden - h
    scale = spread(codebook.scores(related.hidden)) / spread(related.hidden)
    return weighed(codebook, (away * away).sum(axis=1) * scale, related.stored.tokens)


def spread(rows: Floats) -> float:
    """The mean squared distance of two rows, (N, D)."""
    return 2 * float(rows.var(axis=0).sum())


def weighed(
    codebook: StateCodebook, distances: Floats, tokens: np.ndarray
) -> tuple[float, dict[int, float]]:
    """w and N(y) of states at these distances."""
    order = np.lexsort((tokens, distances))[:NEAREST]
    first = float(distances[order[0]])
    powers = np.exp(-(distances[order] - first) / codebook.temperature)
    probs = dict[int, float]()
    for token, prob in zip(tokens[order].tolist(), powers / powers.sum(), strict=True):
        probs[token] = probs.get(token, 0.0) + float(prob)
    return max(0.0, codebook.weight * (1 - first / codebook.reach)), probs


SYSTEMS: dict[str, tuple[Mixed | None, Callable[[int, int], int]]] = {
    "none": (None, lambda m, h: 0),
    "codes": (by_codes, lambda m, h: m // 2),
    "components": (by_components, lambda m, h: 4 * m),
    "states": (by_states, lambda m, h: 4 * h),
}


def related_to(
    sentences: Sequence[str], memory: TranslationMemory, translator: Translator
) -> Iterator[Related]:
    """The related segments of each sentence."""
    decoder = translator.decoder
    assert isinstance(decoder, NativeDecoder)
    for sentence in sentences:
        ranked = sorted(memory.related(sentence, most=MOST).items(), key=lambda each: -each[1])
        segments = [memory[number].segment for number, _ in ranked[:MOST]]
        pairs = [translator.pair_ids(each.source, each.target) for each in segments]
        known = [pair for pair in pairs if pair]
        codes = decoder.codes(known, batch=_BATCH)
        stored = [
            SegmentStates(own, np.array(target, np.int32))
            for own, (_, target) in zip(codes, known, strict=True)
        ]
        hidden = np.concatenate(decoder.states(known, batch=_BATCH))
        yield Related(SegmentStates.of(stored), hidden)


@torch.inference_mode()
def greedy(
    network: Seq2Seq, sources: Sequence[Sequence[int]], mix: Callable[[int, Floats, Floats], int]
) -> list[list[int]]:
    """Decode sentences; `mix` chooses a token from the row, its state and its probabilities."""
    longest = max(map(len, sources))
    padded = [[*ids, *[network.src_pad] * (longest - len(ids))] for ids in sources]
    memory = network.encode(torch.tensor(padded))
    found: list[list[int]] = [[] for _ in sources]
    for n in range(_LONGEST):
        # Padding stands for the token that is sought, and for those after eos.
        rows = [[*own, *[EOS] * (n + 1 - len(own))] for own in found]
        hidden = network.hidden(shift_right(torch.tensor(rows), network.tgt_pad), memory)[:, -1]
        probs = network.logits(hidden).softmax(-1).numpy()
        for row, own in enumerate(found):
            if own[-1:] != [EOS]:
                own.append(mix(row, hidden[row].numpy(), probs[row]))
        if all(own[-1:] == [EOS] for own in found):
            break
    return [[token for token in own if token != EOS] for own in found]


def translated(
    translator: Translator,
    network: Seq2Seq,
    sentences: Sequence[str],
    related: Sequence[Related],
    system: Mixed | None,
) -> list[str]:
    """Translate sentences with one of the systems."""
    decoder = translator.decoder
    assert isinstance(decoder, NativeDecoder)
    codebook, tokenizer, texts = decoder.codebook, translator.tokenizer, list[str]()
    assert codebook
    for start in range(0, len(sentences), _BATCH):

        def mix(row: int, hidden: Floats, probs: Floats, start: int = start) -> int:
            if system:
                weight, near = system(codebook, related[start + row], hidden)
                weight *= 1 - probs.max()
                probs = probs * (1 - weight)
                for token, prob in near.items():
                    probs[token] += weight * prob
            return int(probs.argmax())

        sources = tokenizer.encode_source(sentences[start : start + _BATCH])
        texts += tokenizer.decode_target(greedy(network, sources, mix))
    return texts


def main(args: argparse.Namespace) -> None:
    """Translate each test set with all systems."""
    with tempfile.TemporaryDirectory() as scratch:
        model, path = Path(scratch, "model"), Path(scratch, "memory.db")
        shutil.copytree(args.model, model)  # which may get a codebook
        filled(path, args, model)
        translator = Translator.load(model, engine=EngineConfig(engine="native", threads=1))
        _, network, _ = open_model(model)
        codebook = getattr(translator.decoder, "codebook")  # noqa: B009
        sizes = codebook.n_components, len(codebook.mean)
        for test in args.tests:
            both = lines(test, args)
            src, ref = both.src[: args.sentences], both.ref[: args.sentences]
            with TranslationMemory.open(path) as memory:
                related = [*related_to(src, memory, translator)]
            scorer, texts = Scorer(ref, lowercase=False, language=args.languages[1]), list[str]()
            for name, (system, n_bytes) in SYSTEMS.items():
                found = translated(translator, network.eval(), src, related, system)
                texts = texts or found
                record: dict[str, Any] = {
                    "name": f"{args.model.parent.name}, {test}, {name}",
                    "model": args.model.parent.name,
                    "test": test,
                    "system": name,
                    "bytes": n_bytes(*sizes),
                    "score": str(scorer.score(found)),
                    "gain": [round(value, 2) for value in scorer.difference(texts, found)],
                }
                print(record, flush=True)
                benchmark.record(record)


if __name__ == "__main__":
    benchmark.run(main)
