"""The score of a model on the dev set, during training."""

from pathlib import Path

from yakusu.data.text import read_lines
from yakusu.data.tokenizer import Tokenizer
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.pipeline.evaluate import translated
from yakusu.progress import Progress
from yakusu.recipe import Recipe
from yakusu.search.torch_decoder import TorchDecoder
from yakusu.training.distributed import Group
from yakusu.translator import Translator
from yakusu.translator.passage import TextConfig


class DevScore:
    """Scores the beam search output of a model on the dev set, which the processes share."""

    def __init__(
        self, recipe: Recipe, tokenizer: Tokenizer, data: Path, group: Group, progress: Progress
    ) -> None:
        self.recipe, self.tokenizer = recipe, tokenizer
        self.group, self.progress = group, progress
        self.src, self.tgt = (list(read_lines(data / f"dev.{side}.txt")) for side in ("src", "tgt"))

    def __call__(self, model: Seq2Seq) -> Score:
        """Return the score of the recipe's task: BLEU, or labelled F1."""
        recipe = self.recipe
        translator = Translator(
            TorchDecoder(model, device=model.output_weight.device),
            self.tokenizer,
            languages=recipe.languages,
            search=recipe.search.model_copy(update={"n_best": 1}),
            task=recipe.task,
            text=TextConfig(one_sentence_per_line=True),
        )
        sources = self.group.shard(self.src)
        with self.progress.track("validating", "sentences", len(sources)) as tracker:
            hypotheses = self.group.gather(translated(translator, sources, tracker))
        return translator.task.score(
            hypotheses,
            self.tgt,
            lowercase=recipe.tokenizer.lowercases,
            language=recipe.languages[1],
        )
