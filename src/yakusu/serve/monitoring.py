"""Counts for Prometheus."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from yakusu.translator.stages import StageCounts

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts of a service.

    Args:
        n_waiting: Returns the number of requests that are being translated or waiting.
        n_killed: Returns the numbers of documents whose processes were ended, by the reason.
    """

    def __init__(
        self, n_waiting: Callable[[], int], n_killed: Callable[[], Mapping[Any, int]]
    ) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Killed(n_killed))
        counter = partial(Counter, registry=self._registry)
        seconds = partial(Histogram, registry=self._registry, buckets=_SECONDS)
        self._requests = counter(
            "yakusu_requests", "Requests by path and status code", ["path", "status"]
        )
        self._seconds = seconds(
            "yakusu_request_seconds", "Time from the request to the end of the response", ["path"]
        )
        self._characters = counter(
            "yakusu_characters",
            "Characters of the source texts of complete translations by language pair",
            ["source", "target"],
        )
        self._stages = seconds(
            "yakusu_stage_seconds",
            "Time of a stage of the translation of some texts: plan, search or write",
            ["stage"],
        )
        self._tokens = counter(
            "yakusu_tokens",
            "Tokens that models have read (source) and of the translations (target)",
            ["side"],
        )
        self._matches = counter(
            "yakusu_memory_hits", "Texts and sentences whose translation is that of a memory"
        )
        self._refusals = counter(
            "yakusu_refusals",
            "Requests and connections that were refused, by the limit or the status code",
            ["reason"],
        )
        waiting = Gauge(
            "yakusu_waiting_requests",
            "Requests that are being translated or waiting",
            registry=self._registry,
        )
        waiting.set_function(n_waiting)

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: The path of its route, so that clients cannot add series.
            status: The status code of the response.
            seconds: The time that the request took.
        """
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def count_texts(self, pair: tuple[str, str], texts: Iterable[str]) -> None:
        """Count the characters of texts that were translated.

        Args:
            pair: Codes of the source and the target language.
            texts: The source texts.
        """
        self._characters.labels(*pair).inc(sum(map(len, texts)))

    def count_stages(self, done: StageCounts) -> None:
        """Count what a translator has done for some texts."""
        for stage, seconds in done.seconds.items():
            self._stages.labels(stage).observe(seconds)
        self._tokens.labels("source").inc(done.source_tokens)
        self._tokens.labels("target").inc(done.target_tokens)
        self._matches.inc(done.matched)

    def count_refusal(self, reason: str) -> None:
        """Count a request or a connection that was refused.

        Args:
            reason: The setting of the limit, such as "limits.characters", or the status code.
        """
        self._refusals.labels(reason).inc()

    def text(self) -> bytes:
        """The counts in Prometheus' text format."""
        return generate_latest(self._registry)


class _Killed(Collector):
    """Counts that are kept elsewhere."""

    def __init__(self, n_killed: Callable[[], Mapping[Any, int]]) -> None:
        self._n_killed = n_killed

    def collect(self) -> Iterator[CounterMetricFamily]:
        """See `Collector`."""
        found = CounterMetricFamily(
            "yakusu_killed_workers",
            "Processes of documents that were ended before they had finished, by the reason",
            labels=["reason"],
        )
        for reason, n in self._n_killed().items():
            found.add_metric([reason], n)
        yield found
