"""Compares the model before and after further training, without memories; RUN/improved.json.

A comparison that was made is kept, and not repeated for the same models and sentences.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from yakusu.data.files.text import Pair
from yakusu.folder import read_json, write_text
from yakusu.metrics import paired_bootstrap
from yakusu.pipeline.evaluate import translate_to_score
from yakusu.progress import Progress
from yakusu.translator.folder.folder import weights_hash


class Comparison(BaseModel):
    """The BLEU of two models on the same sentences.

    Attributes:
        name: What the sentences are.
        sentences: Their number.
        before: Score of the model that was improved.
        after: Score of the new model.
        low: Lower end of the 95% confidence interval of the difference.
        high: Upper end.
        signature: How the scores were computed.
    """

    name: str
    sentences: int
    before: float
    after: float
    low: float
    high: float
    signature: str

    @property
    def verdict(self) -> int:
        """1: the new model is significantly better; -1: significantly worse; otherwise 0."""
        return (self.low > 0) - (self.high < 0)

    @property
    def difference(self) -> str:
        """The difference with its interval."""
        return f"{self.after - self.before:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"


class ComparisonRecord(BaseModel):
    """improved.json: a comparison, and the models and sentences that were compared.

    Attributes:
        compared: Hashes of the models and of the sentences.
        results: The comparison.
        kept: The folder to which the old model was moved, or will be; "": it was not replaced.
    """

    compared: list[str]
    results: list[Comparison]
    kept: str = ""

    @classmethod
    def read(cls, path: Path) -> "ComparisonRecord | None":
        """Read a record; None: there is none."""
        try:
            return cls.model_validate(read_json(path))
        except (OSError, ValueError):
            return None

    def write(self, path: Path) -> None:
        """Write the record."""
        write_text(path, self.model_dump_json(indent=2) + "\n")

    @property
    def conclusion(self) -> str:
        """What follows from the comparison, in one sentence."""
        if not self.results:
            return "too few sentences were held out to compare both models"
        verdicts = {
            1: "better on the {} by",
            0: "not significantly different on the {}:",
            -1: "worse on the {} by",
        }
        parts = [
            f"{verdicts[each.verdict].format(each.name)} {each.difference}" for each in self.results
        ]
        return f"the new model is {', and '.join(parts)} BLEU"


def compare(
    models: tuple[Path, Path],
    sets: Mapping[str, Sequence[Pair]],
    language: str,
    *,
    path: Path,
    progress: Progress,
) -> ComparisonRecord:
    """Compare two models, unless that has been done.

    Args:
        models: The model before and after.
        sets: Pairs by the name of their set; those with less than two are left out.
        language: Code of the target language.
        path: Where the record is kept.
        progress: Progress reporter.
    """
    compared = [*map(weights_hash, models), *map(_hash, sets.values())]
    if (record := ComparisonRecord.read(path)) and record.compared == compared:
        return record
    results = [
        _compared(models, name, pairs, language, progress)
        for name, pairs in sets.items()
        if len(pairs) > 1
    ]
    record = ComparisonRecord(compared=compared, results=results)
    record.write(path)
    return record


def _hash(pairs: Sequence[Pair]) -> str:
    return hashlib.sha256("".join(f"{src}\n{tgt}\n" for src, tgt in pairs).encode()).hexdigest()


def _compared(
    models: tuple[Path, Path],
    name: str,
    pairs: Sequence[Pair],
    language: str,
    progress: Progress,
) -> Comparison:
    sources, references = ([*side] for side in zip(*pairs, strict=True))
    before, after = (
        translate_to_score(model, sources, to=language, progress=progress) for model in models
    )
    found = paired_bootstrap(before, after, references, target_language=language)
    return Comparison(
        name=name,
        sentences=len(pairs),
        before=found.baseline.score.value,
        after=found.system.score.value,
        low=found.interval[0],
        high=found.interval[1],
        signature=found.system.score.signature,
    )
