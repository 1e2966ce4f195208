"""Table 3 and Figure 2 of the compression paper: BLEU of a translator against the ratio.

The source embedding (encoder) or the target embedding with the output matrix (decoder) becomes
codes, or Shu & Nakayama's with --shu; the rest of the translator stays as it is.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

import yakusu
from common import RESULTS, record, start
from peers.gumbel import learn
from peers.gumbel import ratio as shu_ratio
from runs import slug
from yakusu.compress import Budget, ByCodes, NumbersWithin
from yakusu.compress.method import Method
from yakusu.data.text import read_lines
from yakusu.model.table import DenseTable, Table
from yakusu.pipeline.compress import ratio_of, share_lost, table_of
from yakusu.progress import Silent

# M as a share of the width, and K: ratios from about 2 to 200 for 6,000 x 128.
SIZES = (
    (1, 1024), (1, 256), (1, 64), (1, 16), (1, 8), (1, 4), (1, 2),
    (1 / 2, 16), (1 / 2, 4), (1 / 2, 2), (1 / 4, 4), (1 / 4, 2), (1 / 8, 2), (1 / 12, 2),
)  # fmt: skip
BITS = (512, 384, 320, 256, 192, 128, 64, 32)  # of a vector of whole numbers
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


def with_table(translator: yakusu.Translator, side: str, table: Table) -> dict[str, Table]:
    """Put a table into a translator; returns what was there."""
    before = {name: getattr(translator.model, name) for name in TABLES[side]}
    for name in before:
        setattr(translator.model, name, table)
    return before


def made_by(method: Method, weight: torch.Tensor, n_exact: int) -> tuple[float, float, Table]:
    """Ratio, share of the variance lost, and table; so many vectors stay as they are."""
    made = method([str(i) for i in range(len(weight))], weight.numpy(), Silent())
    table = table_of(weight[:n_exact], made)
    return ratio_of(table, made), share_lost(weight, made, n_exact), table


def proposed(weight: torch.Tensor, n_exact: int) -> Iterator[tuple[str, float, float, Table]]:
    """Name, ratio, share of the variance lost, and table of each size."""
    for share, n_codes in SIZES:
        m = max(1, round(share * weight.shape[1]))
        yield f"M = {m}, K = {n_codes}", *made_by(ByCodes(m, n_codes), weight, n_exact)


def numbers(weight: torch.Tensor, n_exact: int) -> Iterator[tuple[str, float, float, Table]]:
    """The same by whole numbers."""
    for bits in BITS:
        yield f"{bits} bits", *made_by(NumbersWithin(Budget(bits=bits)), weight, n_exact)


def shu(
    weight: torch.Tensor, steps: int, seed: int, of: Sequence[tuple[int, int]] = SHU
) -> Iterator[tuple[str, float, float, Table]]:
    """The same by Shu & Nakayama."""
    vectors = weight.numpy()
    for m, n_codes in of:
        learnt = learn(vectors, n_codebooks=m, n_codes=n_codes, seed=seed, steps=steps)
        table = DenseTable(len(vectors) + 1, vectors.shape[1])
        with torch.no_grad():
            table.weight[:-1] = torch.from_numpy(learnt.rebuild(learnt.codes))
        lost = learnt.lost(vectors, learnt.codes).share
        yield f"M = {m}, K = {n_codes}", shu_ratio(*vectors.shape, m, n_codes), lost, table


def measured(
    translator: yakusu.Translator, src: list[str], ref: list[str], args: argparse.Namespace
) -> Iterator[Point]:
    """BLEU of each method, side and size."""
    for side in TABLES:
        weight = getattr(translator.model, TABLES[side][-1]).weight.detach()[:-1].clone()
        methods = {"proposed": proposed(weight, 0), "whole numbers": numbers(weight, 0)}
        if side == "decoder":
            methods["proposed, 128 exact"] = proposed(weight, FREQUENT)
            methods["whole numbers, 128 exact"] = numbers(weight, FREQUENT)
        if args.shu:
            methods["Shu"] = shu(weight, args.shu, args.seed)
        for method, tables in methods.items():
            for name, times, lost, table in tables:
                score = bleu_with(translator, side, table, src, ref, args)
                point = {"side": side, "method": method, "size": name, "ratio": round(times, 2)}
                shrunk = [round(part, 3) for part in shrinkage(weight, table)]
                yield point | {
                    "lost": round(lost, 4),
                    "shrunk": shrunk,
                    "bleu": round(score.value, 2),
                }


def shrinkage(weight: torch.Tensor, table: Table) -> tuple[float, float]:
    """How much shorter vectors became, as a share of themselves: frequent pieces, and the rest.

    What shrinks the logits of some pieces and not of others changes which of them is likeliest.
    """
    with torch.no_grad():
        rebuilt = table(torch.arange(len(weight)))
    own = weight - weight.mean(dim=0)
    shares = ((weight - rebuilt) * own).sum(dim=1) / own.square().sum(dim=1)
    return float(shares[:FREQUENT].mean()), float(shares[FREQUENT:].mean())


def bleu_with(
    translator: yakusu.Translator,
    side: str,
    table: Table,
    src: list[str],
    ref: list[str],
    args: argparse.Namespace,
) -> Any:
    """BLEU with this table on one side."""
    before = with_table(translator, side, table)
    score = bleu(translator, src, ref, args)
    for key, dense in before.items():
        setattr(translator.model, key, dense)
    return score


def bleu(
    translator: yakusu.Translator, src: list[str], ref: list[str], args: argparse.Namespace
) -> Any:
    """BLEU of the translator as it is."""
    language = translator.languages[1]
    return yakusu.evaluate(
        translator.translate(src), ref, lowercase=args.lowercase, target_language=language
    )[0]


def without_loss(points: list[Point], base: float, most: float) -> Point | None:
    """The greatest ratio whose BLEU is at most so much less."""
    good = [point for point in points if point["bleu"] >= base - most]
    return max(good, key=lambda point: point["ratio"], default=None)


def draw(path: Path, points: list[Point], base: float) -> None:
    """Figure 2."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    for axes, side in zip(figure.subplots(1, 2, sharey=True), TABLES, strict=True):
        for method in dict.fromkeys(point["method"] for point in points if point["side"] == side):
            own = [p for p in points if (p["side"], p["method"]) == (side, method)]
            own.sort(key=lambda point: point["ratio"])
            axes.plot([p["ratio"] for p in own], [p["bleu"] for p in own], "o-", label=method)
        axes.axhline(base, color="grey", linestyle=":", label="uncompressed")
        axes.set(xscale="log", title=side, xlabel="ratio of the table(s)", ylabel="BLEU")
        axes.legend(fontsize="small")
    figure.savefig(path, dpi=110, metadata={"Software": None})


def table_3(points: list[Point], base: float, most: float) -> dict[str, Any]:
    """Print the paper's rows beside the greatest ratios without a loss; return them."""
    rows = {}
    for side, method in dict.fromkeys((p["side"], p["method"]) for p in points):
        own = [p for p in points if (p["side"], p["method"]) == (side, method)]
        best, paper = without_loss(own, base, most), PAPER.get((side, method))
        rows[f"{side}, {method}"] = {"ours": best, "paper": paper}
        ours = f"{best['bleu']} at x{best['ratio']} ({best['size']})" if best else "none"
        print(f"{side}, {method}: {base:.2f} -> {ours}; the paper: {paper or 'not there'}")
    return rows


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/embedding_translation.py runs/multi30k/model "
        "--src test2016.en --ref test2016.de --lowercase --name 'Multi30k en-de, test2016'",
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--src", type=Path, required=True)
    parser.add_argument("--ref", type=Path, required=True)
    parser.add_argument("--name", required=True, help="of the test set, for record and figure")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--shu", type=int, default=0, help="training steps of Shu's; 0: without")
    parser.add_argument("--seed", type=int, default=1, help="of Shu's; ours has none")
    parser.add_argument("--loss", type=float, default=0.5, help="BLEU that counts as no loss")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    return parser.parse_args()


def main() -> None:
    """Measure, print, draw, record."""
    args = arguments()
    translator = yakusu.Translator.load(args.model)
    src, ref = (list(read_lines(path)) for path in (args.src, args.ref))
    base = bleu(translator, src, ref, args)
    print(f"uncompressed: {base}")
    points = []
    for point in measured(translator, src, ref, args):
        points.append(point)
        print("  ".join(f"{key} {value}" for key, value in point.items()), flush=True)
    rows = table_3(points, base.value, args.loss)
    if args.no_record:
        return
    picture = RESULTS / f"embedding_translation-{slug(args.name)}.png"
    draw(picture, points, base.value)
    result = {"name": args.name, "score": str(base), "points": points, "table 3": rows}
    record(
        "embedding_translation",
        result | {"figure": picture.name},
        seed=args.seed,
        threads=torch.get_num_threads(),
    )


if __name__ == "__main__":
    start(main)
