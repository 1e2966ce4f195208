"""Table 3 and Figure 2 of the compression paper: BLEU of a translator against the ratio.

The source embedding (encoder), or the target embedding with the output projection (decoder),
becomes codes, integers, or with --shu the baseline's codes; the rest of the translator is
unchanged.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure

import yakusu
from benchmarks.common import Benchmark
from benchmarks.compression.api import CompressedTable, codes_table, integers_table
from benchmarks.peers.gumbel import learn
from benchmarks.peers.gumbel import ratio as gumbel_ratio
from benchmarks.records import RESULTS
from benchmarks.runs import slug
from yakusu.data.text import read_lines
from yakusu.metrics import Score
from yakusu.model.base import SearchModel
from yakusu.model.table import DenseTable, Table
from yakusu.search.torch_decoder import TorchDecoder

# M as a share of the width, and K: ratios from about 2 to 200 for 6,000 x 128.
SIZES = (
    (1, 1024), (1, 256), (1, 64), (1, 16), (1, 8), (1, 4), (1, 2),
    (1 / 2, 16), (1 / 2, 4), (1 / 2, 2), (1 / 4, 4), (1 / 4, 2), (1 / 8, 2), (1 / 12, 2),
)  # fmt: skip
BITS = (512, 384, 320, 256, 192, 128, 64, 32)  # per row of integers
FREQUENT = 128  # pieces
SHU = ((32, 16), (16, 16), (8, 16))  # M, K
PAPER = {  # WMT16 en-de, Transformer: BLEU before, after, ratio
    ("encoder", "proposed"): (27.3, 26.9, 13),
    ("decoder", "proposed"): (27.3, 27.0, 13),
    ("encoder", "Shu"): (27.3, 27.0, 3),
    ("decoder", "Shu"): (27.3, 27.3, 3),
}
TABLES = {"encoder": ("src_table",), "decoder": ("tgt_table", "output_table")}
Point = dict[str, Any]

benchmark = Benchmark(
    "embedding_translation",
    __doc__,
    example="python -m benchmarks.compression.embedding_translation --model runs/multi30k/model "
    "--name 'Multi30k en-de, test2016' --shu 20000",
    needs=["data", "model"],
    quick={"name": "generated text", "shu": 20},
)
benchmark.option("--name", default="", help="name of the test set, for record and figure")
benchmark.option("--shu", type=int, metavar="STEPS", help="training steps of the baseline")
benchmark.option("--seed", type=int, default=1, help="seed of the baseline (%(default)s)")
benchmark.option("--loss", type=float, default=0.5, help="BLEU that counts as no loss (0.5)")


class Test(NamedTuple):
    """A translator and the test set that it is scored on, lower-cased."""

    translator: yakusu.Translator
    src: list[str]
    ref: list[str]

    @classmethod
    def load(cls, args: argparse.Namespace) -> "Test":
        """Load the model and Multi30k's test2016."""
        files = [args.data / "multi30k" / f"test2016.{language}" for language in ("en", "de")]
        src, ref = (list(read_lines(path)) for path in files)
        engine = yakusu.EngineConfig(engine="torch")
        return cls(yakusu.Translator.load(args.model, engine=engine), src, ref)

    @property
    def model(self) -> SearchModel:
        """The model, whose tables are replaced."""
        assert isinstance(self.translator.decoder, TorchDecoder)
        return self.translator.decoder.model

    def weight(self, side: str) -> torch.Tensor:
        """Return a copy of the table of a side, without padding: (V - 1, H)."""
        table = getattr(self.model, TABLES[side][-1])
        return table.weight.detach()[:-1].clone()  # type: ignore[no-any-return]

    def bleu(self) -> Score:
        """Return the BLEU of the translator."""
        made, language = self.translator.translate(self.src), self.translator.languages[1]
        return yakusu.evaluate(made, self.ref, lowercase=True, target_language=language)[0]

    def bleu_with(self, side: str, table: Table) -> Score:
        """Return the BLEU with another table on one side."""
        model = self.model
        before = {name: getattr(model, name) for name in TABLES[side]}
        for name in before:
            setattr(model, name, table)
        score = self.bleu()
        for name, dense in before.items():
            setattr(model, name, dense)
        return score


def proposed(weight: torch.Tensor, n_exact: int) -> Iterator[tuple[str, CompressedTable]]:
    """Yield the name and the table of each size in `SIZES` that suits the table."""
    for share, n_codes in SIZES:
        m = max(1, round(share * weight.shape[1]))
        if n_codes < len(weight):
            yield f"M = {m}, K = {n_codes}", codes_table(weight, m, n_codes, n_exact)


def integers(weight: torch.Tensor, n_exact: int) -> Iterator[tuple[str, CompressedTable]]:
    """Yield the name and the table of each size in `BITS`."""
    for bits in BITS:
        yield f"{bits} bits", integers_table(weight, bits=bits, n_exact=n_exact)


def shu(
    weight: torch.Tensor, steps: int, seed: int, sizes: Sequence[tuple[int, int]] = SHU
) -> Iterator[tuple[str, CompressedTable]]:
    """Yield the name and the table of each size of the baseline."""
    vectors = weight.numpy()
    for m, n_codes in sizes:
        learnt = learn(vectors, n_codebooks=m, n_codes=n_codes, seed=seed, steps=steps)
        table = DenseTable(len(vectors) + 1, vectors.shape[1])
        with torch.no_grad():
            table.weight[:-1] = torch.from_numpy(learnt.rebuild(learnt.codes))
        lost = learnt.loss(vectors, learnt.codes).share
        ratio = gumbel_ratio(*vectors.shape, m, n_codes)
        yield f"M = {m}, K = {n_codes}", CompressedTable(table, ratio, lost)


def measure(test: Test, args: argparse.Namespace) -> Iterator[Point]:
    """Yield the BLEU of each side, method and size; with --quick of the first size only."""
    for side in TABLES:
        weight = test.weight(side)
        methods = {"proposed": proposed(weight, 0), "integers": integers(weight, 0)}
        if side == "decoder" and len(weight) > 2 * FREQUENT:
            methods["proposed, 128 exact"] = proposed(weight, FREQUENT)
            methods["integers, 128 exact"] = integers(weight, FREQUENT)
        if args.shu:
            methods["Shu"] = shu(weight, args.shu, args.seed)
        for method, tables in methods.items():
            for size, made in tables:
                yield {
                    **{"side": side, "method": method, "size": size},
                    "ratio": round(made.ratio, 2),
                    "lost": round(made.lost, 4),
                    "shrunk": [round(share, 3) for share in shrinkage(weight, made.table)],
                    "bleu": round(test.bleu_with(side, made.table).value, 2),
                }
                if args.quick:
                    break


def shrinkage(weight: torch.Tensor, table: Table) -> tuple[float, float]:
    """Return by what share the vectors of frequent and of other tokens became shorter.

    If the logits of some tokens shrink and those of others do not, their ranking changes.
    """
    with torch.no_grad():
        rebuilt = table(torch.arange(len(weight)))
    own = weight - weight.mean(dim=0)
    shares = ((weight - rebuilt) * own).sum(dim=1) / own.square().sum(dim=1)
    return float(shares[:FREQUENT].mean()), float(shares[FREQUENT:].mean())


def table_3(points: Sequence[Point], base: float, most: float) -> dict[str, Any]:
    """Print and return the largest ratio that loses at most `most` BLEU, next to the paper's."""
    rows = {}
    for side, method in dict.fromkeys((p["side"], p["method"]) for p in points):
        own = [p for p in points if (p["side"], p["method"]) == (side, method)]
        good = [point for point in own if point["bleu"] >= base - most]
        best = max(good, key=lambda point: float(point["ratio"]), default=None)
        paper = PAPER.get((side, method))
        rows[f"{side}, {method}"] = {"ours": best, "paper": paper}
        ours = f"{best['bleu']} at x{best['ratio']} ({best['size']})" if best else "none"
        print(f"{side}, {method}: {base:.2f} -> {ours}; paper: {paper or 'not given'}")
    return rows


def draw(path: Path, points: Sequence[Point], base: float) -> None:
    """Draw Figure 2."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, side in zip(figure.subplots(1, 2, sharey=True), TABLES, strict=True):
        for method in dict.fromkeys(point["method"] for point in points if point["side"] == side):
            own = [p for p in points if (p["side"], p["method"]) == (side, method)]
            own.sort(key=lambda point: float(point["ratio"]))
            axes.plot([p["ratio"] for p in own], [p["bleu"] for p in own], "o-", label=method)
        axes.axhline(base, color="grey", linestyle=":", label="uncompressed")
        axes.set(xscale="log", title=side, xlabel="ratio of the table(s)", ylabel="BLEU")
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main(args: argparse.Namespace) -> None:
    """Measure all points, print the table, draw the figure."""
    test = Test.load(args)
    base = test.bleu()
    print(f"uncompressed: {base}")
    points = []
    for point in measure(test, args):
        points.append(point)
        print("  ".join(f"{key} {value}" for key, value in point.items()), flush=True)
    rows = table_3(points, base.value, args.loss)
    picture = RESULTS / f"embedding_translation-{slug(args.name)}.png"
    result = {"name": args.name, "score": str(base), "points": points, "table 3": rows}
    if benchmark.record(result | {"figure": picture.name}, seed=args.seed):
        draw(picture, points, base.value)


if __name__ == "__main__":
    benchmark.run(main)
