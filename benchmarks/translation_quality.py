"""Score the translator of a finished run on a test set, beside its curve of dev BLEU over time."""

import argparse
import json
from pathlib import Path

import torch

import yakusu
from common import record, start


def curve_of(run: Path) -> list[dict[str, float]]:
    """The validations of a run in order; of a step that was done twice, the last one."""
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    points = {
        event["step"]: {
            "step": event["step"],
            "minutes": round(event["seconds"] / 60, 1),
            "dev_perplexity": round(event["dev_perplexity"], 2),
            "dev_bleu": round(event["dev_bleu"], 2),
        }
        for event in events
        if event["event"] == "validate"
    }
    return [points[step] for step in sorted(points)]


def show(curve: list[dict[str, float]]) -> None:
    """Print a curve."""
    print(f"{'step':>7}{'minutes':>9}{'dev perplexity':>16}{'dev BLEU':>10}")
    for point in curve:
        print(
            f"{point['step']:7,}{point['minutes']:9.1f}{point['dev_perplexity']:16.2f}"
            f"{point['dev_bleu']:10.2f}"
        )


def main() -> None:
    """Print the curve and the scores, and record them."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/translation_quality.py runs/multi30k "
        "--src test2016.en --ref test2016.de --lowercase --name 'Multi30k en-de, test2016'",
    )
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--src", required=True, help="source sentences of the test set")
    parser.add_argument("--ref", required=True, help="their translations")
    parser.add_argument("--name", required=True, help="of the test set, for the record")
    parser.add_argument("--lowercase", action="store_true", help="ignore case")
    parser.add_argument("--tokenize", help="sacreBLEU's tokenizer; none for tokenised text")
    parser.add_argument("--paper", default="", help="the published score to set beside it")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    curve = curve_of(args.run)
    show(curve)
    scores = yakusu.evaluate_model(
        args.run / "model",
        Path(args.src),
        Path(args.ref),
        lowercase=args.lowercase,
        tokenize=args.tokenize,
    )
    for score in scores:
        print(score)
    if not args.no_record:
        recipe = yakusu.load_recipe(args.run / "recipe.toml").model_dump()
        del recipe["run"], recipe["data"]
        result = {
            "name": args.name,
            "score": str(scores[0]),
            "paper": args.paper or "no published score",
            "scores": [str(score) for score in scores],
            "curve": curve,
            "recipe": recipe,
        }
        record("translation_quality", result, seed=recipe["seed"], threads=torch.get_num_threads())


if __name__ == "__main__":
    start(main)
