"""The section of the service on the page of speed and memory."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record
from benchmarks.speed.engine_sections import spread

_OURS = "yakusu serve"
_GAIN = "2.00"  # times the peer, with 16 clients
_SHARE, _OVERHEAD, _FIRST = "0.90", "5.0", "2.0"  # of translate; ms; s


def serving(records: list[Record]) -> Iterable[Table]:
    """Throughput and latency by number of clients, and what depends on no other service."""
    for record in records:
        rows = [
            [
                n,
                service,
                spread(own["throughput"]),
                *_gain(cell["gains"]["throughput"], service),
                spread(own["p50"], 1),
                spread(own["p95"], 1),
                *_gain(cell["gains"]["p95"], service),
                spread(own["p99"], 1),
            ]
            for n, cell in record["cells"].items()
            for service, own in cell["services"].items()
        ]
        head = ["Clients", "Service", "Sentences per second", "Ratio", "Worst round", "p50, ms"]
        head += ["p95, ms", "Ratio", "Worst round", "p99, ms"]
        title = f"{record['name']}; {record['sentences']:,} sentences"
        yield Table(head, rows, [record], title)
        yield Table(["Measure", "Value", "Goal"], _others(record), [record], f"{title}; the rest")


def _gain(gains: dict[str, dict[str, float]], service: str) -> list[str]:
    gain = gains.get(service, {})
    return [fixed(gain.get(key)) for key in ("value", "worst")]


def _others(record: Record) -> list[list[str]]:
    translate, most = record["translate"], max(record["cells"], key=int)
    share, alone = translate["share"][_OURS], record["clients alone"][most]
    named = f"throughput with {most} clients / {translate['share']['best']}"
    return [
        [named, f"{share['value']:.2f}, worst {share['worst']:.2f}", _SHARE],
        ["overhead with one client, ms", spread(record["overhead"], 2), _OVERHEAD],
        *(
            [f"first answer of {name}, s", spread(own, 2), _FIRST if name == _OURS else NONE]
            for name, own in record["first"].items()
        ),
        *([f"peak memory of {name}, MiB", fixed(own, 0), NONE] for name, own in _memory(record)),
        [f"requests per second that {most} clients can send", fixed(alone, 0), NONE],
    ]


def _memory(record: Record) -> Iterable[tuple[str, float]]:
    """The peak memory of ours, and the lowest of the peer's settings."""
    found: dict[str, float] = {}
    for name, own in record["peak_mib"].items():
        kind = name.partition(",")[0]
        found[kind] = min(own, found.get(kind, own))
    return found.items()


SECTIONS = (
    Section(
        "serving",
        "The translation service",
        "In int8 with 16 clients, the service translates 2.23 times as many sentences per second "
        "as CTranslate2 behind FastAPI for `base`, and 1.25 times as many for the small model "
        "`avg_ttiny`; CTranslate2's p95 latency is 2.55 and 1.22 times as long. Throughput "
        "relative to `yakusu translate` is 0.92 for `base` and 0.46 for the smaller model; the "
        "cause was not profiled. `base` misses the goal for the overhead with one client (median "
        "9.4 ms; -1.6, 9.4 and 31.9 ms in the three rounds); the smaller model meets only the "
        "goals for overhead and first answer. With the smaller model, CTranslate2 needs less "
        "memory and gives its first answer sooner. In an earlier run, CTranslate2 with 1/2 threads "
        "was slower than with 2/1 at all numbers of clients.",
        "python -m benchmarks.speed.serving --model MODEL --peer-python PYTHON",
        serving,
        "Each client sends one sentence per request and waits for the reply before sending the "
        "next; there are 24 requests of one client and 48 of 16 for `base`, too few for p99. p95 "
        "is the latency within which 95% of the replies arrive. "
        '"Ratio" compares the medians with those of CTranslate2 at its best setting; above 1, '
        'yakusu is better. "Worst round" is the lowest ratio in any round. The settings of the '
        "peer are `inter_threads`/`intra_threads` and the time for which a batch of at most 64 "
        f"sentences waits for more. With 16 clients, the goal is a ratio of {_GAIN} between the "
        "medians, for throughput and for p95. The overhead is the median latency with one client "
        "minus the median time of `Translator.translate` without the service. The peer needs "
        "an environment of its own: "
        "`pip install -r benchmarks/peers/requirements-serving.txt`.",
    ),
)
