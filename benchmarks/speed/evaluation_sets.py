"""Trained models and the test sets that they translate: --sources and --references."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sacrebleu.metrics import CHRF

from benchmarks.common import Benchmark
from benchmarks.speed.systems import System
from yakusu.data.files.text import read_lines
from yakusu.errors import DataError
from yakusu.metrics import score_translations
from yakusu.translator.folder.folder import ModelFolder


@dataclass(frozen=True)
class EvaluationSet:
    """Sentences, their references, and the model that translates them."""

    model: Path
    sources: list[str]
    references: list[str]
    target_language: str | None
    alpha: float

    def first(self, n: int) -> "EvaluationSet":
        """The first sentences."""
        return replace(self, sources=self.sources[:n], references=self.references[:n])

    def search(self, beam: int, system: System) -> dict[str, Any]:
        """Settings of the search."""
        search: dict[str, Any] = {"beam": beam, "alpha": self.alpha}
        return search | ({"margin": system.margin} if system.is_ours else {})

    def score(self, texts: list[str]) -> dict[str, str]:
        """BLEU and chrF of translations, with their signatures."""
        bleu, chrf = score_translations(
            texts,
            self.references,
            metrics=("bleu", "chrf"),
            target_language=self.target_language,
        )
        return {"bleu": str(bleu), "chrf": str(chrf)}

    def changes(self, texts: list[str], others: list[str]) -> tuple[int, int]:
        """How many of the texts that differ from others have a higher chrF, and a lower one."""
        chrf, differences = CHRF(), []
        for text, other, reference in zip(texts, others, self.references, strict=True):
            if text != other:
                one, two = (chrf.sentence_score(each, [reference]).score for each in (text, other))
                differences.append(one - two)
        return sum(each > 0 for each in differences), sum(each < 0 for each in differences)


class _NamedPaths(argparse.Action):
    """NAME=PATH ... -> a dictionary."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        named = [value.partition("=") for value in values]
        if any(not (name and path) for name, _, path in named):
            parser.error(f"{option_string} takes NAME=PATH")
        setattr(namespace, self.dest, {name: Path(path) for name, _, path in named})


def add_named_paths(benchmark: Benchmark, name: str, help_text: str) -> None:
    """Add an option that takes NAME=PATH, several times."""
    benchmark.option(
        f"--{name}", nargs="+", action=_NamedPaths, default={}, metavar="NAME=PATH", help=help_text
    )


def add_set_options(benchmark: Benchmark) -> None:
    """Add --sources and --references."""
    add_named_paths(benchmark, "sources", "source sentences of test sets")
    add_named_paths(benchmark, "references", "their reference translations, with the same names")


def read_sets(args: argparse.Namespace, models: Mapping[str, Path]) -> dict[str, EvaluationSet]:
    """The test sets by name, each with its model.

    Raises:
        DataError: A model has no sentences or no references, or their numbers differ.
        ModelError: A model folder is incomplete or corrupted.
    """
    found = {}
    for name, path in models.items():
        for option in ("sources", "references"):
            if name not in getattr(args, option):
                raise DataError(f"--{option} has no {name}: add {name}=PATH")
        sources, references = args.sources[name], args.references[name]
        texts = [list(read_lines(each)) for each in (sources, references)]
        if len(texts[0]) != len(texts[1]):
            raise DataError(
                f"{sources} has {len(texts[0]):,} lines and {references} {len(texts[1]):,}: align "
                "them line by line"
            )
        config = ModelFolder.open(path).config
        language = config.target_language or None
        found[name] = EvaluationSet(path, texts[0], texts[1], language, config.search.alpha)
    return found
