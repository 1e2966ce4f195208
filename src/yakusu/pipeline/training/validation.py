"""The score of a model on the dev set, during training."""

import time
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import torch

from yakusu.data.files.text import decode_lines
from yakusu.data.lines.config import TextConfig
from yakusu.data.pairs import CorpusPart, DataFacts
from yakusu.data.tokenizer import Tokenizer
from yakusu.engine.decoder import NativeDecoder
from yakusu.engine.library import MatrixFormat, why_unavailable
from yakusu.engine.model import NativeModel
from yakusu.engine.support import unsupported
from yakusu.engine.workers import Threads
from yakusu.errors import RecipeError
from yakusu.folder import open_regular
from yakusu.metrics import Score, score_translations, sentence_scorer
from yakusu.model.base import Seq2Seq
from yakusu.native.library import REPAIR
from yakusu.pipeline.evaluate import translated
from yakusu.progress import Progress
from yakusu.recipe import Recipe
from yakusu.search.config import SearchConfig
from yakusu.search.decoder import Decoder
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.training.config import TrainingEngine
from yakusu.training.distributed import Group
from yakusu.translator import Translator

_LARGE = 30_000_000  # parameters
_TIMED, _TIMED_IF_LARGE = 32, 4  # sentences from which the duration of a validation is estimated


def require_engine(recipe: Recipe) -> None:
    """Check that `training.engine` can translate the dev set with the model of a recipe.

    Raises:
        RecipeError: The native engine cannot be used, or does not support the model.
    """
    if recipe.training.engine == "torch":
        return
    if missing := unsupported(recipe.model, recipe.search):
        raise RecipeError(
            f"training.engine = 'native', but the native engine does not support {missing}: set "
            "training.engine=torch"
        )
    if reason := why_unavailable():
        raise RecipeError(
            f"training.engine = 'native', but the native engine {reason}: {REPAIR}, or set "
            "training.engine=torch in a new run"
        )


class DevScore:
    """Scores the beam search output of a model on the dev set, divided among the processes.

    `training.engine` of the recipe is the engine: torch on the device of the model, or the native
    engine on the CPU. The native engine computes in float32 here, although integers are its
    default, so that rounding does not influence the choice of a checkpoint.
    """

    def __init__(
        self, recipe: Recipe, tokenizer: Tokenizer, data: Path, group: Group, progress: Progress
    ) -> None:
        self.recipe, self.tokenizer = recipe, tokenizer
        self.group, self.progress = group, progress
        if recipe.task == "translation":
            for each in recipe.directions:  # a library is missing now, not after hours
                sentence_scorer("bleu", each.languages[1])
        src, tgt = (_lines(data / f"dev.{side}.txt") for side in ("src", "tgt"))
        parts = (DataFacts.read(data).parts or {}).get("dev") or (
            CorpusPart(n_pairs=len(src), weight=1.0),
        )
        ends = list(accumulate((part.n_pairs for part in parts), initial=0))
        self.sets = [(src[a:b], tgt[a:b]) for a, b in pairwise(ends)]  # of each direction
        self.pairs = list(zip(src, tgt, strict=True))
        self.translations: list[str] = []  # of the last call, in the order of `pairs`

    def __call__(self, model: Seq2Seq) -> Score:
        """Return the score of the recipe's task: BLEU, or labelled F1.

        That of several directions is the mean of their scores.

        Raises:
            ModelError: The native engine cannot hold the weights.
        """
        decoder = _decoder(model, self.recipe.training.engine)
        self.translations = []
        return mean_score(
            [
                ("-".join(direction.languages), self._score(decoder, direction, *own))
                for direction, own in zip(self.recipe.directions, self.sets, strict=True)
            ]
        )

    def chrf(self) -> float | None:
        """chrF of the last call; None: the model is a parser."""
        if self.recipe.task != "translation":
            return None
        lowercase, references = self.recipe.tokenizer.lowercases, [tgt for _, tgt in self.pairs]
        (score,) = score_translations(
            self.translations, references, metrics=("chrf",), lowercase=lowercase
        )
        return score.value

    def estimate(self, model: Seq2Seq) -> float:
        """Estimate the seconds of a call from those of a few sentences.

        A model that has learnt nothing translates into texts of any length, so translations are as
        long as the source here.
        """
        src = [each for each, _ in self.pairs]
        small = sum(each.numel() for each in model.parameters()) < _LARGE
        n = _TIMED if small else _TIMED_IF_LARGE
        chosen = src[:: max(1, len(src) // n)][:n]
        decoder = _decoder(model.eval(), self.recipe.training.engine)
        search = self.recipe.search.model_copy(update={"n_best": 1, "max_extra": 0})
        translator = self._translator(decoder, self.recipe.directions[0], search)
        start = time.monotonic()
        for _ in translator.stream(chosen):
            pass
        return (time.monotonic() - start) * len(src) / len(chosen) / self.group.size

    def _translator(self, decoder: Decoder, recipe: Recipe, search: SearchConfig) -> Translator:
        return Translator(
            decoder,
            self.tokenizer,
            languages=recipe.languages,
            search=search,
            task=recipe.task,
            text=TextConfig(one_sentence_per_line=True),
        )

    def _score(self, decoder: Decoder, recipe: Recipe, src: list[str], tgt: list[str]) -> Score:
        """Score the dev set of a direction."""
        search = recipe.search.model_copy(update={"n_best": 1})
        translator = self._translator(decoder, recipe, search)
        sources = self.group.shard(src)
        with self.progress.track("validating", "sentences", len(sources)) as tracker:
            hypotheses = self.group.gather(translated(translator, sources, tracker))
        self.translations += hypotheses
        return translator.task.score(
            hypotheses,
            tgt,
            lowercase=recipe.tokenizer.lowercases,
            language=recipe.languages[1],
        )


def mean_score(scores: Sequence[tuple[str, Score]]) -> Score:
    """Return the mean of the scores of directions, whose signature names them all."""
    (_, first), *others = scores
    if not others:
        return first
    values = [score.value for _, score in scores]
    signatures = dict.fromkeys(score.signature for _, score in scores)
    named = [f"{direction} {score.value:.2f}" for direction, score in scores]
    signature = f"mean of {', '.join(named)}; {'; '.join(signatures)}"
    return Score(first.name, sum(values) / len(values), signature)


def _lines(path: Path) -> list[str]:
    with open_regular(path) as file:
        return [line.strip() for line in decode_lines(file, str(path))]


def _decoder(model: Seq2Seq, engine: TrainingEngine) -> Decoder:
    if engine == "torch":
        return TorchDecoder(model, device=model.output_weight.device)
    return native_decoder(model)


def native_decoder(model: Seq2Seq) -> NativeDecoder:
    """A model in the native engine, in float32.

    Raises:
        ModelError: The native engine cannot hold the weights.
    """
    weights = {name: weight.detach().cpu().numpy() for name, weight in model.weights().items()}
    packed = NativeModel.load(
        model.config,
        weights,
        plans=(),
        src_vocab_size=model.src_vocab_size,
        tgt_vocab_size=model.tgt_vocab_size,
        matrices=MatrixFormat.FLOAT32,
    )
    return NativeDecoder([packed], Threads(torch.get_num_threads()))
