"""What a user of `check` should look at first."""

from collections.abc import Iterator

from yakusu.data.languages import listed_codes
from yakusu.pipeline.check.report import LISTED, CheckReport, Finding, Overlap

_MANY_DROPPED = 0.1  # of all pairs
_MANY_SUSPICIOUS = 0.001
_MANY_FOREIGN = 0.02
_MOST_FOREIGN = 0.5  # of the lines: another language than the recipe states
_UNRELATED = 0.2  # correlation; corpora of short sentences have 0.6, of long ones 0.9
_THRESHOLDS = {  # share of all pairs, if it is not _MANY_SUSPICIOUS
    "replacement characters (U+FFFD)": 0.0,  # text is lost
    "mojibake": 0.0,
    "different numbers of sentences": 1.0,  # common in good translations
}
_MANY_SHARED = 0.01  # sources of a held-out set


def warnings_of(report: CheckReport) -> tuple[str, ...]:
    """Return one sentence for each serious finding, with its fix."""
    found = (_alignment(report), _dropped(report), _suspicious(report), _foreign(report))
    overlaps = (_overlap(overlap) for overlap in report.overlaps)
    return tuple(sentence for each in (*found, *overlaps) for sentence in each)


def _alignment(report: CheckReport) -> Iterator[str]:
    if report.faults:
        first, *others = report.faults
        yield f"{first}{f' (and {len(others):,} more: see Alignment)' if others else ''}"
    elif report.correlation is not None and report.correlation < _UNRELATED:
        yield (
            f"the lengths of the two sides are hardly related (correlation {report.correlation}): "
            "check that line N of one file translates line N of the other"
        )


def _dropped(report: CheckReport) -> Iterator[str]:
    n_dropped = report.n_pairs - report.n_kept
    if n_dropped > _MANY_DROPPED * report.n_pairs:
        most = max(report.filters, key=lambda filter_: filter_.n)
        yield (
            f"the filters drop {n_dropped / report.n_pairs:.1%} of the pairs, most of them as "
            f"'{most.name}': check the examples, and correct the files or relax the filters"
        )


def _suspicious(report: CheckReport) -> Iterator[str]:
    for finding in report.suspicious:
        if _is_serious(finding, report.n_pairs):
            yield f"{finding.n:,} pair{'s' * (finding.n != 1)} with {finding.name}: {finding.fix}"


def _is_serious(finding: Finding, n_pairs: int) -> bool:
    share = _THRESHOLDS.get(finding.name, _MANY_SUSPICIOUS)
    return bool(finding.fix) and finding.n > share * n_pairs


def _foreign(report: CheckReport) -> Iterator[str]:
    for side in report.sides:
        foreign = side.foreign or {}
        share = sum(foreign.values())
        if share > _MANY_FOREIGN:
            languages = listed_codes((f"'{code}'" for code in foreign), LISTED)
            fix = (
                f"correct data.{side.label.lower()}_language, or choose another file or column"
                if share > _MOST_FOREIGN
                else "remove them, as filters.check_language = true does"
            )
            yield (
                f"{side.file}: {share:.1%} of the lines are not '{side.language}' but {languages}: "
                f"{fix}"
            )


def _overlap(overlap: Overlap) -> Iterator[str]:
    n_pairs = overlap.pairs.n
    if n_pairs or overlap.sources.n > _MANY_SHARED * overlap.n_pairs:
        yield (
            f"{overlap.sources.n:,} of {overlap.n_pairs:,} sources of {overlap.held_out} and "
            f"{n_pairs:,} whole pair{'s' * (n_pairs != 1)} occur in {overlap.within}: remove them "
            "from one of the two, or scores are too high"
        )
    if n := overlap.exchanged.n:
        yield (
            f"{n:,} pair{'s' * (n != 1)} of {overlap.held_out} occur{'s' * (n == 1)} in "
            f"{overlap.within} with source and target exchanged: exchange the two sides of "
            f"{overlap.held_out} or {overlap.within}, or remove them from one of the two"
        )
