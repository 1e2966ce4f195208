"""Back-translation: text in the target language becomes pairs with a synthetic source.

A model of the reverse direction translates the text (Sennrich et al. 2016, arXiv:1511.06709). Each
synthetic source begins with a tag, so that the model that is trained on it can tell it from a real
one (Caswell et al. 2019, arXiv:1906.06442).
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

from yakusu.config import requirement
from yakusu.data.corpus import refuse_both_sides
from yakusu.data.files.long_lines import LongLines
from yakusu.data.files.text import Pair, language_of, read_lines
from yakusu.data.filters import FilterConfig, NumberedPair, text_filter
from yakusu.engine.config import Engine, EngineConfig
from yakusu.errors import RecipeError
from yakusu.folder import locked
from yakusu.metrics import sentence_scorer
from yakusu.pipeline.receipts.corpus import CorpusFacts, Making
from yakusu.pipeline.synthetic.corpus import (
    SyntheticConfig,
    Texts,
    existing_corpus,
    hashes_of,
    read_texts,
    select_texts,
    write_corpus,
)
from yakusu.pipeline.synthetic.held_out import HeldOutLines, Overlaps, dev_set_of
from yakusu.pipeline.synthetic.models import ShardModels
from yakusu.progress import Progress, Silent
from yakusu.search.config import SearchConfig
from yakusu.shipped import model_path
from yakusu.translator.folder.folder import ModelFolder
from yakusu.typed import setting

_log = logging.getLogger(__name__)
TAG = "<BT>"


class BacktranslateConfig(SyntheticConfig):
    """How synthetic pairs are marked and filtered.

    Attributes:
        tag: First token of each synthetic source; "": none.
        forward: Model folder that translates each synthetic source back; "": no round trip.
        min_chrf: Smallest chrF of the round trip with the original text.
    """

    tag: str = TAG
    forward: str = ""
    min_chrf: float = setting(40.0, ge=0, le=100)

    @requirement
    def _check_tag(self) -> None:
        if self.tag and self.tag.split() != [self.tag]:
            raise RecipeError(f"the tag '{self.tag}' contains white space: choose one without")


@dataclass(frozen=True)
class Backtranslated:
    """Result of `backtranslate`.

    Attributes:
        corpus: Folder of the synthetic pairs: train.src and train.tgt.
        facts: How they were made, with the numbers of lines.
    """

    corpus: Path
    facts: CorpusFacts


def backtranslate(
    model: str | Path,
    tgt: str | Path,
    *,
    out: str | Path,
    options: SearchConfig | None = None,
    config: BacktranslateConfig | None = None,
    engine: EngineConfig | Engine | None = None,
    progress: Progress | None = None,
) -> Backtranslated:
    """Make synthetic pairs from text in the target language.

    Call it again to resume.

    Args:
        model: Model folder of the reverse direction, from the target to the source language.
        tgt: Text in the target language, one sentence per line.
        out: Folder to write.
        options: Settings of the reverse model's search.
        config: How the pairs are marked and filtered.
        engine: What runs the models.
        progress: Progress reporter.

    Raises:
        YakusuError: A file or a model is not valid, a line is held out, or `out` was made with
            other settings.

    Example:
        `yakusu.backtranslate("runs/de-en/model", "mono.de", out="bt")`
    """
    work = _Backtranslation(Path(tgt), Path(out), config or BacktranslateConfig())
    return work.run(str(model), options or SearchConfig(), engine, progress or Silent())


def _numbered(name: str) -> Iterator[NumberedPair]:
    """The lines of a text without references."""
    long = LongLines()
    for number, line in enumerate(read_lines(name, long=long), start=1):
        yield number, (line, "")
    if warning := long.warning(name):
        _log.warning(warning)


class _Backtranslation:
    """Writes a folder of synthetic pairs; `run` calls the other methods in order."""

    def __init__(self, tgt: Path, out: Path, config: BacktranslateConfig) -> None:
        refuse_both_sides(tgt, "copy the sentences of the target language to a text file")
        self.tgt, self.out, self.config = tgt, out, config
        self.texts, self.reverse, self.forward = (
            out / "parts" / name for name in ("texts", "reverse", "forward")
        )

    def run(
        self,
        model: str,
        options: SearchConfig,
        engine: EngineConfig | Engine | None,
        progress: Progress,
    ) -> Backtranslated:
        best = options.model_copy(update={"n_best": 1})
        models = {"reverse": ShardModels([model], best, to=self.config.to, engine=engine)}
        models["reverse"].require_languages(str(self.tgt), (language_of(self.tgt), ""))
        language = models["reverse"].translator.languages[0]
        if self.config.forward:
            source = models["reverse"].translator.languages[1]
            models["forward"] = _forward(self.config.forward, (source, language), engine)
        dev_sets = [
            dev_set_of(model_path(each)) for each in filter(None, (model, self.config.forward))
        ]
        making = self._making(models, [path for dev in dev_sets for path in dev.files])
        corpus = self.out / "corpus"
        with locked(self.out, option="--out"):
            if (facts := existing_corpus(corpus, making)) is None:
                held_out = HeldOutLines(map(Path, self.config.held_out), dev_sets)
                counts = self._translate(models, held_out, making, progress)
                facts = write_corpus(corpus, making, counts, self._pairs(models, language, counts))
        return Backtranslated(corpus, facts)

    def _making(self, models: Mapping[str, ShardModels], dev_files: list[Path]) -> Making:
        held_out = [*map(Path, self.config.held_out), *dev_files]
        files = {f"held out {n}": path for n, path in enumerate(held_out, start=1)}
        return Making(
            command="backtranslate",
            models={role: each.hashes[0] for role, each in models.items()},
            inputs=hashes_of({"tgt": self.tgt, **files}),
            translations={role: each.settings for role, each in models.items()},
            options=self.config.model_dump(exclude={"to", "held_out", "forward"}),
        )

    def _translate(
        self,
        models: Mapping[str, ShardModels],
        held_out: HeldOutLines,
        making: Making,
        progress: Progress,
    ) -> Counter[str]:
        """Translate the text, and the translations back; return the numbers of lines."""
        name = str(self.tgt)
        texts = Texts(
            lambda: _numbered(name),
            {"tgt": self.tgt},
            (name, ""),
        )
        counts = select_texts(
            self.texts,
            texts,
            Overlaps(held_out, texts.names),
            models["reverse"],
            inputs=making.inputs,
            drop_held_out=self.config.drop_held_out,
        )
        models["reverse"].translate(self.texts, self.reverse, progress)
        if "forward" in models:
            models["forward"].translate(self.reverse, self.forward, progress)
        return counts

    def _pairs(
        self, models: Mapping[str, ShardModels], language: str, counts: Counter[str]
    ) -> Iterator[Pair]:
        """The pairs that pass the filters, in order."""
        similarity, forward = sentence_scorer("chrf", language), models.get("forward")
        sources = models["reverse"].read(self.texts, self.reverse)
        back = (
            forward.read(self.reverse, self.forward)
            if forward
            else repeat([""], sum(1 for _ in read_texts(self.texts)))
        )
        for (target, _), (source,), (again,) in zip(
            read_texts(self.texts), sources, back, strict=True
        ):
            rejected_by = text_filter((source, target), FilterConfig())
            if not rejected_by and forward and similarity(again, target) < self.config.min_chrf:
                rejected_by = "round trip"
            counts[rejected_by or "kept"] += 1
            if not rejected_by:
                yield f"{self.config.tag} {source}".lstrip(), target


def _forward(
    folder: str, languages: tuple[str, str], engine: EngineConfig | Engine | None
) -> ShardModels:
    """The model that translates synthetic sources back, from the first language to the second."""
    has_several = ModelFolder.open(model_path(folder)).tokenizer.src.language_tokens
    models = ShardModels([folder], to=languages[1] if has_several else "", engine=engine)
    models.require_languages("the synthetic text", languages)
    return models
