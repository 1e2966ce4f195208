"""The sections of the CPU engine on the page of speed and memory."""

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.pages import Section, Table, fixed, scores
from benchmarks.records import Record


def spread(value: Mapping[str, Any], digits: int = 0) -> str:
    """The median of several rounds, with the lowest and the highest value."""
    middle, low, high = (fixed(value[key], digits) for key in ("median", "low", "high"))
    return f"{middle} ({low} to {high})"


def _title(record: Record) -> str:
    """The name of a record, the number of sentences, the peer and the engine's instruction set."""
    versions = record.get("versions", {}).values()
    peers = {f"CTranslate2 {each['ctranslate2']}" for each in versions if "ctranslate2" in each}
    sets = {each["instruction set"] for each in versions if "instruction set" in each}
    n_sentences = record.get("sentences")
    size = [f"{n_sentences:,} sentences"] if n_sentences else []
    return "; ".join([str(record["name"]), *size, *sorted(peers), *sorted(sets)])


def speeds(records: list[Record]) -> Iterable[Table]:
    """Speed of each system by batch and beam."""
    for record in records:
        scored = any("bleu" in cell for cell in record["cells"].values())
        rows = []
        for name, cell in record["cells"].items():
            for system, speed in cell["speeds"].items():
                ratio = cell["ratios"].get(system, {}) if cell["ratios"] else {}
                row = [name, system, spread(speed)]
                row += [fixed(ratio.get(key)) for key in ("value", "worst")]
                rows.append([*row, *([_score(cell["bleu"][system])] if scored else [])])
        unit = f"{record['unit'].capitalize()} per second"
        head = ["Batch x beam", "System", unit, "Ratio", "Worst round"]
        yield Table([*head, *(["BLEU"] if scored else [])], rows, [record], _title(record))


def _score(text: str) -> str:
    return fixed(next(iter(scores(text.partition(" (")[0]).values())))


def precision(records: list[Record]) -> Iterable[Table]:
    """BLEU, chrF, and how many translations changed."""
    head = ["System", "BLEU", "chrF", "Identical", "Better", "Worse"]
    for record in records:
        rows = [
            [system, _score(own["bleu"]), _score(own["chrf"]), f"{own['identical']:.1%}"]
            + [str(own[key]) for key in ("better", "worse")]
            for system, own in record["systems"].items()
        ]
        yield Table(head, rows, [record], _title(record))


def latency(records: list[Record]) -> Iterable[Table]:
    """Latency, memory, and size of the installation."""
    for record in records:
        if sizes := record.get("sizes"):
            rows = [
                [name, fixed(own["mib"], 0), str(len(own["packages"]))]
                for name, own in sizes.items()
            ]
            yield Table(["Installed", "MiB on disk", "Packages"], rows, [record], record["name"])
            continue
        rows = [
            [system, *(spread(own[key], 1) for key in ("first", "p50", "p99", "peak_mib"))]
            for system, own in record["systems"].items()
        ]
        head = ["System", "First, ms", "Later, p50, ms", "Later, p99, ms", "Peak MiB"]
        yield Table(head, rows, [record], record["name"])


def scaling(records: list[Record]) -> Iterable[Table]:
    """Speed by threads, and time by length."""
    for record in records:
        if lengths := record.get("lengths"):
            systems = next(iter(lengths.values()))["milliseconds"]
            rows = [
                [length, *(spread(own["milliseconds"][system], 1) for system in systems)]
                for length, own in lengths.items()
            ]
            head = ["Tokens", *(f"{system}, ms per sentence" for system in systems)]
        else:
            rows = [
                [system, spread(speed), fixed(record["speed-up"][system])]
                for system, speed in record["speeds"].items()
            ]
            head = ["System", "Tokens per second", "Speed-up over one thread"]
        yield Table(head, rows, [record], _title(record))


def breakdown(records: list[Record]) -> Iterable[Table]:
    """Microseconds per token of each part, and the bounds."""
    for record in records:
        cells = record["cells"]
        parts = dict.fromkeys(part for cell in cells.values() for part in cell["microseconds"])
        rows = [
            [part, *(fixed(cell["microseconds"].get(part), 1) for cell in cells.values())]
            for part in parts
        ]
        for key, name in (("whole", "without timers"), ("timers", "with timers / without")):
            digits = 1 if key == "whole" else 2
            rows.append([name, *(fixed(cell[key], digits) for cell in cells.values())])
        title = f"{record['name']}; {record['instruction set']}"
        yield Table(["Microseconds per token", *cells], rows, [record], title)
        bounds = [
            [cell, stage, *(fixed(value, 2 if "bound" in key else 1) for key, value in own.items())]
            for cell, found in cells.items()
            for stage, own in found["bounds"].items()
        ]
        names = next(iter(next(iter(cells.values()))["bounds"].values()))
        head = ["Batch x beam", "Products of the", *names]
        yield Table(head, bounds, [record], f"{title}, bounds")


_THREADS = "A system's settings of threads follow its name: inter_threads / intra_threads."
SECTIONS = (
    Section(
        "engine",
        "The CPU engine",
        "Without a margin, the engine is 1.63 to 3.37 times as fast as CTranslate2 int8 with "
        "`base` (1.62 to 2.13 times with AVX2 only), 2.31 to 5.07 times with `tiny`, 2.37 to 3.72 "
        "times from text to text with models of Multi30k and Tatoeba, and 1.54 to 2.83 times with "
        "models of the demo, which have two layers. A model in the form of Opus-MT's is as fast as "
        "`base`. One sentence at a time, Hugging Face's `generate` has 0.02 times the speed of "
        "CTranslate2 int8 with `tiny`; batches were not compared. Marian in float32 has 0.23 to "
        "0.33 times the speed of CTranslate2 in int8 with a model of the demo.",
        "python -m benchmarks.speed.engine --peer-python PYTHON",
        speeds,
        "Models with random weights translate token ids to token ids, with a fixed number of "
        "tokens; `base` has 32,000 of them in its vocabulary. Trained models translate text to "
        "text; CTranslate2 has no limit on repetition, so it generated 30% more tokens with the "
        "model of Tatoeba, which was trained for 1,000 steps only. In a run before the one shown, "
        "the ratios with a model of the demo were lower (1.03 in batches of 64, 1.92 one sentence "
        "at a time). Speeds are medians of all rounds, with the "
        'lowest and the highest. "Ratio" divides the median by that of CTranslate2 int8 with its '
        'best setting of threads; "worst round" is the lowest such ratio within a round. '
        f"{_THREADS} CTranslate2 4.8.5 needs an environment of its own: "
        "`pip install -r benchmarks/peers/requirements-ctranslate2.txt`.",
    ),
    Section(
        "precision",
        "Precision of the CPU engine",
        "In 8-bit integers, BLEU is 41.14, 30.49 and 35.48 on the development sets, compared with "
        "41.13, 30.77 and 35.48 in float32; on the test sets, it is 39.99, 31.56, 31.55 and 34.51, "
        "compared with 40.07, 31.57, 31.90 and 34.64. Of the changed translations, about as many "
        "have a higher chrF as a lower one. In float32, every translation equals that of torch.",
        "python -m benchmarks.speed.precision --model MODEL --peer-python PYTHON",
        precision,
        "m30k17 is a model of Multi30k English-German, enja-en-ja one of small_parallel_enja "
        "English-Japanese, and tatoeba one of Tatoeba English-German after 1,750 of 3,000 training "
        'steps. "Identical" is the share of sentences with the same translation as by torch in '
        'float32; of the others, those with a higher chrF are "better". CTranslate2 4.8.5 has '
        "another beam search, for example another length penalty, so its translations in float32 "
        "differ, too.",
    ),
    Section(
        "latency",
        "Latency, memory and installation",
        "Compared with a short program that uses CTranslate2 4.8.5, the first translation takes "
        "longer and the process needs more memory; later sentences take less time.",
        "python -m benchmarks.speed.latency --model MODEL --peer-python PYTHON",
        latency,
        "Single sentences are written to a pipe, each after the translation of the previous one. "
        '"First" is the time from the start of the process to the first translation. Medians over '
        "fresh processes, with the lowest and the highest. Memory is the peak resident memory. "
        f"{_THREADS} `--install` measures the size of installations, such as "
        "`ctranslate2==4.8.5 sentencepiece`.",
    ),
    Section(
        "scaling",
        "Threads and lengths",
        "Two threads are about twice as fast as one. Sentences of 10 to 1,000 tokens take less "
        "than half as long as with CTranslate2 int8.",
        "python -m benchmarks.speed.scaling --peer-python PYTHON",
        scaling,
        "Random weights. Sources have 10 to 1,000 tokens, and translations are as long as their "
        f"sources. {_THREADS}",
    ),
    Section(
        "breakdown",
        "Where the engine's time goes",
        "With `base`, the matrix products of the decoder and of the output layer reach 0.90 to "
        "1.04 of their bound: at batch 1, the bandwidth of memory; in batches, the speed of the "
        "integer units. With `tiny` in batches, attention and the rest of the output layer take "
        "more time than the products.",
        "python -m benchmarks.speed.breakdown",
        breakdown,
        'Random weights. GOP/s and GB/s are the speeds of the products; "at most" are the speeds '
        "of two short loops, one of integer instructions and one that reads memory. "
        '"Bound / time" is the minimum time at these speeds, divided by the measured time: near '
        "1.00, the products cannot become much faster.",
    ),
)
