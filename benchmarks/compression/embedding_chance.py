"""Table 5 of the compression paper: what is left to chance when a translator is compressed again.

The method has no seed: ten runs must give the same bytes, and so one BLEU. Shu and Nakayama's
depends on its seed; the source embedding (encoder) is learnt anew from each.
"""

import argparse
import hashlib
from pathlib import Path

import torch

import yakusu
from common import record, start
from embedding_translation import bleu, bleu_with, made_by, shu
from yakusu.compress import ByCodes
from yakusu.data.text import read_lines
from yakusu.model.coded_tables import CodedTable, NumberTable

RUNS = 10
SIZE = (32, 16)  # M, K of Shu's codes
PAPER = "one BLEU of ten runs; Shu's 24.9 to 25.6 (WMT16 en-de)"


def digest(table: CodedTable | NumberTable) -> str:
    """Of all that a table keeps."""
    parts = (part.numpy().tobytes() for part in table.state_dict().values())
    return hashlib.sha256(b"".join(parts)).hexdigest()


def main() -> None:
    """Measure, print, record."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example: python benchmarks/embedding_chance.py runs/multi30k/model "
        "--src test2016.en --ref test2016.de --lowercase --name 'Multi30k en-de, test2016'",
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--src", type=Path, required=True)
    parser.add_argument("--ref", type=Path, required=True)
    parser.add_argument("--name", required=True, help="of the test set, for the record")
    parser.add_argument("--lowercase", action="store_true")
    parser.add_argument("--steps", type=int, default=20_000, help="of training Shu's")
    parser.add_argument("--no-record", action="store_true", help="only print the result")
    args = parser.parse_args()
    translator = yakusu.Translator.load(args.model)
    src, ref = (list(read_lines(path)) for path in (args.src, args.ref))
    weight = translator.model.src_table.weight.detach()[:-1].clone()
    tables = [made_by(ByCodes(n_codes=8), weight, 0)[2] for _ in range(RUNS)]
    equal = len({digest(table) for table in tables}) == 1
    ours = bleu_with(translator, "encoder", tables[0], src, ref, args).value
    scores = []
    for seed in range(1, RUNS + 1):
        for *_, table in shu(weight, args.steps, seed, [SIZE]):
            scores.append(bleu_with(translator, "encoder", table, src, ref, args).value)
        print(f"Shu's, seed {seed}: {scores[-1]:.2f}", flush=True)
    alike = f"{RUNS} runs equal to the byte" if equal else "runs that differ"
    score = (
        f"uncompressed {bleu(translator, src, ref, args).value:.2f}; ours, K = 8: {ours:.2f}, "
        f"{alike}; Shu's, {RUNS} seeds: {min(scores):.2f} to {max(scores):.2f}"
    )
    print(f"{score}\nthe paper: {PAPER}")
    if not args.no_record:
        result = {"name": args.name, "score": score, "paper": PAPER, "equal": equal}
        result |= {"shu": [round(each, 2) for each in scores], "steps": args.steps}
        record("embedding_chance", result, seed=1, threads=torch.get_num_threads())


if __name__ == "__main__":
    start(main)
