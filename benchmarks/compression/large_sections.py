"""The section of the page about a matrix that is larger than the memory allowed."""

from collections.abc import Iterable

from benchmarks.pages import NONE, Section, Table, fixed
from benchmarks.records import Record


def tables(records: list[Record]) -> Iterable[Table]:
    """Cost of the command, and the share of variance lost by size of the sample."""
    for record in records:
        rows = []
        for method, cost in record["commands"].items():
            report = cost["report"]
            rows.append(
                [
                    method,
                    fixed(cost["seconds"], 0),
                    fixed(cost["peak_gib"]),
                    fixed(cost["file_bytes"] / 2**20, 0),
                    fixed(report["facts"]["ratio"], 1),
                    f"{report['share_lost']:.2%}",
                    fixed(report["n_fitted"], 0),
                    fixed(report["n_measured"], 0),
                ]
            )
        head = ["Method", "Seconds", "Peak GiB", "File, MiB", "Ratio", "Variance lost"]
        yield Table([*head, "Rows fitted", "Rows measured"], rows, [record], record["name"])
        lost = {(p["method"], p["sample"]): p["lost"] for p in record["sampling"]}
        methods = list(dict.fromkeys(method for method, _ in lost))
        samples = list(dict.fromkeys(sample for _, sample in lost))
        rows = []
        for sample in samples:
            cells = [f"{lost[method, sample]:.4%}" for method in methods]
            more = [
                f"{lost[method, sample] / lost[method, samples[-1]] - 1:+.2%}" for method in methods
            ]
            rows.append(
                [fixed(sample, 0), *cells, *(NONE if sample == samples[-1] else m for m in more)]
            )
        head = ["Rows fitted", *(f"Lost, {m}" for m in methods), *(f"More, {m}" for m in methods)]
        yield Table(head, rows, [record], f"The first {record['rows']:,} rows")


LARGE_MATRIX = Section(
    "large_matrix",
    "A large matrix",
    "Codes take 160 seconds and 3.51 GiB of memory, integers 336 seconds and 2.09 GiB. If they are "
    "learned from half of the rows instead of all, codes lose 1.83% more of the variance and "
    "integers 1.45% more.",
    "python -m benchmarks.compression.large_matrix --matrix big.npy",
    tables,
    "`python -m benchmarks.compression.spectrum big.npy` writes the matrix: independent normal "
    "rows whose variances follow a power law, in float16; real rows that are clustered or ordered "
    "may lose more. Ratios are those to float32. Seconds and peak memory are those of the whole "
    "command, with its report. In the second table, the variance lost is that of all rows, the "
    "integers have the same step for every sample, and the last two columns compare with a fit of "
    "all rows.",
)
