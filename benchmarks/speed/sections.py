"""The page of speed and memory."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record
from benchmarks.speed import engine_sections, serving_sections, vector_sections

TITLE = "Speed and memory"
INTRODUCTION = """\
The systems of a comparison are measured in turns, each in its own process; run it on an otherwise
idle machine. A speed-up is the ratio of the median speeds over all rounds; the lowest and the
highest speed-up of a single round follow. Install the peers with
`pip install -r benchmarks/peers/requirements.txt`, then
`pip install --no-deps joeynmt==2.3.0`."""
INTEGER_FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni")
_STARTUP_GOALS = {  # seconds
    "yakusu --help": 0.3,
    "yakusu translate --help": 0.3,
    "yakusu translate": 0.5,
}


def throughput(records: list[Record]) -> Iterable[Table]:
    """Speed of training or translation, a table for each size of model."""
    head = ["System", "Target tokens per second", "Padding", "Speed-up of yakusu"]
    head += ["Lowest", "Highest", "Goal"]
    for record in records:
        rows = []
        for name, side in record["sides"].items():
            padding = f"{side['padding']:.0%}" if "padding" in side else NONE
            gain, target = side.get("ratio", {}), side.get("target")
            gains = [fixed(gain.get(key)) for key in ("value", "low", "high")]
            rows.append([name, fixed(side["tokens_per_second"], 0), padding, *gains, fixed(target)])
        yield Table(head, rows, [record], f"Recipe {record['size']}")


def memory(records: list[Record]) -> Iterable[Table]:
    """Peak memory of preparation."""
    rows = [
        [
            fixed(record["pairs"], 0),
            _sample(record["overrides"]),
            fixed(record["peak_mib"], 0),
            fixed(max(record["peak_mib_of_workers"], default=0), 0),
            fixed(record["seconds"], 0),
            fixed(record["pairs_per_second"], 0),
        ]
        for record in records
    ]
    head = ["Pairs", "Sentences for the vocabulary", "Peak MiB", "Peak MiB per worker"]
    yield Table([*head, "Seconds", "Pairs per second"], rows, records)


def _sample(overrides: list[str]) -> str:
    found = [each for each in overrides if "sample_sentences" in each]
    return fixed(int(found[0].partition("=")[2]), 0) if found else "200,000"  # the default


def translation_memories(records: list[Record]) -> Iterable[Table]:
    """Speed and peak memory of reading TMX."""
    rows = [
        [
            fixed(record["megabytes"], 0),
            fixed(record["pairs_read"], 0),
            fixed(record["seconds"], 1),
            fixed(record["cpu_seconds"], 1),
            fixed(record["pairs_per_second"], 0),
            fixed(record["pairs_per_cpu_second"], 0),
            fixed(record["before_mib"], 0),
            fixed(record["peak_mib"], 0),
        ]
        for record in records
    ]
    head = ["MB", "Pairs", "Seconds", "CPU seconds", "Pairs per second", "Pairs per CPU second"]
    head += ["MiB before reading", "Peak MiB"]
    yield Table(head, rows, records)


def word_vectors(records: list[Record]) -> Iterable[Table]:
    """Seconds and memory of compression."""
    for record in records:
        rows = [
            [
                name,
                fixed(cost["seconds"]),
                fixed(cost.get("peak")),
                f"{cost['share_lost']:.2%}" if "share_lost" in cost else NONE,
            ]
            for name, cost in record["medians"].items()
        ]
        head = ["System", "Seconds", "Peak memory / size of the vectors", "Variance lost"]
        yield Table(head, rows, [record], record["name"])


def clustering(records: list[Record]) -> Iterable[Table]:
    """Exact 1-D k-means."""
    rows = []
    for record in sorted(records, key=lambda record: _k(record["name"])):
        k, values = record["name"].split(", ", 1)
        seconds, gain = list(record["seconds"].values()), record.get("ratio") or {}
        theirs = fixed(seconds[1]) if len(seconds) > 1 else NONE
        rows.append(
            [
                str(_k(k)),
                values.removesuffix(" values"),
                f"{seconds[0]:.3f}",
                theirs,
                fixed(gain.get("value"), 0),
            ]
        )
    head = ["K", "Values", "yakusu, seconds", "kmeans1d, seconds", "Speed-up"]
    yield Table(head, rows, records)


def _k(name: str) -> int:
    return int(name.partition(",")[0].removeprefix("K = "))


def output_layer(records: list[Record]) -> Iterable[Table]:
    """Time of the output layer by engine and kind of table."""
    head = ["Engine and table", "Milliseconds", "Speed-up over torch, dense", "Lowest", "Highest"]
    for record in records:
        gains = record["times as fast"]
        rows = [
            [kind.replace("whole numbers", "integers"), f"{1e3 * seconds:.2f}"]
            + [fixed(gains.get(kind, {}).get(key)) for key in ("value", "low", "high")]
            for kind, seconds in record["seconds"].items()
        ]
        yield Table(head, rows, [record], _with_instructions(record))


def _with_instructions(record: Record) -> str:
    """The name of a record, and the instructions of its processor that multiply integers."""
    flags = [flag for flag in record.get("cpu flags", ()) if flag in INTEGER_FLAGS]
    return "; ".join([record["name"], *([f"processor with {', '.join(flags)}"] if flags else [])])


def startup(records: list[Record]) -> Iterable[Table]:
    """Start of the command line."""
    head = ["Command", "Seconds", "Lowest", "Highest", "CPU seconds", "Goal"]
    for record in records:
        rows = [
            [
                name,
                *(fixed(cost[key]) for key in ("seconds", "low", "high", "cpu_seconds")),
                fixed(_STARTUP_GOALS.get(name)),
            ]
            for name, cost in record["costs"].items()
        ]
        yield Table(head, rows, [record])


SECTIONS = (
    Section(
        "training_throughput",
        "Training",
        "yakusu trains 4.15 to 4.93 times as fast as the peers with their usual batches on the "
        "tiny recipe and 2.13 to 2.36 times on base; if the peers also group sentences by length, "
        "1.44 and 1.50 times on tiny and only 1.02 and 1.07 times on base.",
        "python -m benchmarks.speed.training_throughput",
        throughput,
        'Speeds count target tokens without padding, end of sentence included. "grouped": the peer '
        'gets batches of sentences of similar length, as in yakusu. "Goal" is the minimum speed-up '
        "that the project aims at.",
    ),
    Section(
        "translation_throughput",
        "Translation",
        "The beam search in torch was 1.92 times as fast as generate of Hugging Face with the tiny "
        "recipe, and 1.51 times with base. It has become slower since, and has not been measured "
        "again.",
        "python -m benchmarks.speed.translation_throughput",
        throughput,
        "torch on a CPU, beam 4, float32, random weights, translations of 30 tokens, from source "
        "ids to target ids. Decisions 27 and 28 are newer; they reduced the speed with a model of "
        "Multi30k to 0.74 times that before.",
    ),
    Section(
        "prepare_memory",
        "Preparation of a corpus",
        "With twenty times as many pairs, the peak memory grows from 385 to 559 MiB in all, and "
        "from 73 to 76 MiB per worker.",
        "python -m benchmarks.speed.prepare_memory",
        memory,
        "Generated corpora, a vocabulary of 8,000, two workers.",
    ),
    Section(
        "tmx",
        "Reading of a translation memory",
        "Memory does not grow with the file: at most 235 MiB, of which 228 before reading. A CPU "
        "second reads 59,937 pairs of the larger file.",
        "python -m benchmarks.speed.tmx",
        translation_memories,
        "Generated TMX files with two languages; one unit in ten has inline markup. Memory is the "
        "peak resident memory of the process; before reading, it holds Python and torch.",
    ),
    Section(
        "embedding_speed",
        "Compression of word vectors",
        "yakusu compresses 400,000 vectors in 6.05 seconds and 2.14 times their memory; product "
        "quantisation to the same size needs less of both, 5.14 seconds and 1.12 times.",
        "python -m benchmarks.speed.embedding_speed --vectors glove100.npz",
        word_vectors,
        "Medians of three rounds. kmeans1d and the baseline are extrapolated, from one component "
        "and from 4,000 training steps.",
    ),
    *vector_sections.SECTIONS,
    Section(
        "kmeans1d",
        "Exact k-means in one dimension",
        "The time of yakusu hardly depends on K; it is 32 (K = 16) to 1,271 times (K = 1024) as "
        "fast as kmeans1d from PyPI.",
        "python -m benchmarks.speed.exact_kmeans",
        clustering,
        "CPU seconds on one thread; both find the same error.",
    ),
    Section(
        "output_layer",
        "Output projection of a compressed translator",
        "In 8-bit integers, the CPU engine takes about the same time for compressed tables as for "
        "dense ones. For 256 hidden states and a table of 32,000 x 512, codes are 4.44 times as "
        "fast as dense floats in torch; limited to AVX2, they are 2.27 times as fast, and codes in "
        "torch 2.65 times. In torch, integers are 0.89 to 1.15 times as fast as dense floats.",
        "python -m benchmarks.speed.output_layer",
        output_layer,
    ),
    Section(
        "startup",
        "Start of the command line",
        "With a model of one layer, `yakusu translate` of one sentence ends within the goal of 0.5 "
        "seconds. Larger models take longer to load ([Latency](#latency-memory-and-installation)).",
        "python -m benchmarks.speed.startup",
        startup,
        "Medians over fresh processes, whose files are already cached. The model has one layer of "
        'width 16. "Goal" is the time that the project aims not to exceed.',
    ),
    *engine_sections.SECTIONS,
    *serving_sections.SECTIONS,
)
