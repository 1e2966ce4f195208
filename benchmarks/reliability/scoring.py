"""Score the output of the search and compare with the log-probabilities that the search computed.

The search computes log P(Y | X) one position after the other for all hypotheses of a beam; scoring
computes all positions of one translation at once. Both must agree up to rounding. The tokens that
the search chose are scored. Translations whose text the tokenizer splits into other tokens are
counted.
"""

import argparse
import statistics
import time
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.common import Benchmark
from benchmarks.tables import Table
from yakusu.data.files.text import read_lines
from yakusu.data.vocabulary import EOS
from yakusu.engine.config import EngineConfig
from yakusu.search.decoder import Query
from yakusu.search.hypothesis import Hypothesis, length_penalty
from yakusu.search.tokens import TokenRules
from yakusu.translator import Translator

benchmark = Benchmark(
    "scoring",
    __doc__,
    example="python -m benchmarks.reliability.scoring --model runs/multi30k/model --src val.en",
    needs=["data", "model"],
    quick={"sentences": 8, "batch": 4},
)
benchmark.option("--src", type=Path, help="source sentences (default: multi30k/val.en of --data)")
benchmark.option("--sentences", type=int, default=2000, help="at most this many (%(default)s)")
benchmark.option("--beam", type=int, default=4, help="beam size (%(default)s)")
benchmark.option("--batch", type=int, default=64, help="sentences per batch (%(default)s)")


tables = Table(
    (
        ("Model and sentences", "{model}, {name}"),
        ("Translations", "{sentences:,.0f}"),
        ("log P(Y given X), largest difference", "{log_prob.largest:.1e}"),
        ("Median", "{log_prob.median:.1e}"),
        ("Score, largest difference", "{score.largest:.1e}"),
        ("Median", "{score.median:.1e}"),
        ("Split into other tokens", "{split_otherwise:,.0f}"),
        ("Search, us per token", "{search_us_per_token:,.0f}"),
        ("Scoring, us per token", "{scoring_us_per_token:,.0f}"),
    )
)


def search(
    translator: Translator, sources: list[list[int]], args: argparse.Namespace
) -> list[Hypothesis]:
    """Return the best translation of each sentence."""
    config = translator.search.model_copy(update={"beam": args.beam, "n_best": 1})
    rules = TokenRules.of(translator.tokenizer)
    queries = list(map(Query, sources))
    return [best[0] for best in translator.decoder.search(queries, config, rules, batch=args.batch)]


def differences(one: list[float], other: list[float]) -> dict[str, float]:
    """Return the largest and the median absolute difference."""
    found = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return {"largest": max(found), "median": statistics.median(found)}


def compare(translator: Translator, args: argparse.Namespace) -> dict[str, Any]:
    """Translate, score the translations, and compare both."""
    lines = islice((line for line in read_lines(args.src) if line), args.sentences)
    sources = sorted(translator.tokenizer.encode_source(list(lines)), key=len)
    start = time.perf_counter()
    found = search(translator, sources, args)
    searched = time.perf_counter()
    targets = [[*each.tokens, EOS] for each in found]
    pairs = list(zip(sources, targets, strict=True))
    scores = translator.decoder.score(pairs, alternatives=0, batch=args.batch)
    scored = time.perf_counter()
    lengths, alpha = list(map(len, targets)), translator.search.alpha
    penalties = [length_penalty(length, alpha) for length in lengths]
    log_probs = [one.log_prob for one in scores]
    normalised = [value / by for value, by in zip(log_probs, penalties, strict=True)]
    texts = translator.tokenizer.decode_target([each.tokens for each in found])
    again = translator.tokenizer.encode_target(texts)
    return {
        "sentences": len(sources),
        "tokens": sum(lengths),
        "largest_log_prob": max(map(abs, log_probs)),
        "log_prob": differences([each.log_prob for each in found], log_probs),
        "score": differences([each.score for each in found], normalised),
        "split_otherwise": sum(a != b for a, b in zip(again, targets, strict=True)),
        "search_us_per_token": 1e6 * (searched - start) / sum(lengths),
        "scoring_us_per_token": 1e6 * (scored - searched) / sum(lengths),
    }


def main(args: argparse.Namespace) -> None:
    """Compare, and print the result."""
    args.src = args.src or args.data / "multi30k" / "val.en"
    engine = EngineConfig(threads=args.threads)
    measured = compare(Translator.load(args.model, engine=engine), args)
    print(f"{measured['sentences']:,} sentences, {measured['tokens']:,} target tokens")
    print(f"log-probabilities: at most {measured['largest_log_prob']:.1f} in absolute value")
    for key, name in (("log_prob", "log-probabilities"), ("score", "normalised scores")):
        largest, median = measured[key]["largest"], measured[key]["median"]
        print(f"difference of {name}: largest {largest:.1e}, median {median:.1e}")
    print(f"split into other tokens as text: {measured['split_otherwise']} translations")
    by_search, by_score = measured["search_us_per_token"], measured["scoring_us_per_token"]
    print(
        f"search {by_search:.0f} us per token, scoring {by_score:.0f}: {by_search / by_score:.1f} "
        "times as fast"
    )
    name = f"{args.src.name}, beam {args.beam}"
    benchmark.record({"name": name, "model": args.model.parent.name, **measured})


if __name__ == "__main__":
    benchmark.run(main)
