"""Several recipes trained on one corpus, which is prepared once. Rerun to resume."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import yakusu
from benchmarks.tables import Table, fixed
from yakusu.data.lines.config import TextConfig
from yakusu.engine.support import unsupported
from yakusu.folder import read_json
from yakusu.progress import Progress, Silent
from yakusu.recipe import Recipe, save_recipe

RECIPES = Path(__file__).parent / "recipes"


class Remarks(Silent):
    """Progress reporter that prints the remarks of a run, each after the run's name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def say(self, text: str) -> None:
        """Print a remark."""
        print(f"  {self._name}: {text}", flush=True)


def with_supported_engine(recipe: Recipe) -> Recipe:
    """Return the recipe, with the engine torch if the native engine does not support it."""
    if unsupported(recipe.model, recipe.search):
        training = recipe.training.model_copy(update={"engine": "torch"})
        return recipe.model_copy(update={"training": training})
    return recipe


def prepare(recipe: Recipe, folder: Path) -> Path:
    """Prepare the data shared by all recipes with this corpus and tokenizer; return its folder."""
    recipe = recipe.model_copy(update={"run": str(folder)})
    return yakusu.prepare(recipe, progress=Remarks(folder.name)).folder


def train(
    recipe: Recipe, folder: Path, *, data: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Train in a run folder from prepared data; a finished run is not trained again.

    Args:
        recipe: The recipe; its run is `folder`.
        folder: The run folder.
        data: Folder of prepared data.
        progress: Progress reporter; None: `Remarks`.

    Returns:
        The receipt of the model, with the run's validation events as "validations" and the limit
        that ended it as "limit".
    """
    recipe = recipe.model_copy(update={"run": str(folder)})
    if not (folder / "data").exists():
        folder.mkdir(parents=True, exist_ok=True)
        save_recipe(recipe, folder / "recipe.toml")
        # Copied under another name first, in case this process is killed meanwhile.
        shutil.copytree(data, folder / ".data", dirs_exist_ok=True)
        (folder / ".data").rename(folder / "data")
    trained = yakusu.train(recipe, progress=progress or Remarks(folder.name))
    receipt = read_json(trained.model / "receipt.json")
    return {**receipt, "validations": validations(folder), "limit": trained.reason}


def validations(run: Path) -> list[dict[str, Any]]:
    """Return the validation events of a run in order; the last one of a repeated step."""
    events = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    by_step = {event["step"]: event for event in events if event["event"] == "validate"}
    return [by_step[step] for step in sorted(by_step)]


def curve(run: Path, score: str = "dev_bleu") -> list[dict[str, Any]]:
    """Return the step, the minutes, a dev score and the dev perplexity of each validation."""
    return [
        {
            "step": event["step"],
            "minutes": round(event["seconds"] / 60, 1),
            score: round(event[score], 2),
            "dev_perplexity": round(event["dev_perplexity"], 3),
        }
        for event in validations(run)
    ]


CURVES = Table(
    (
        ("Model", "{name}"),
        (
            "BLEU on the dev set, by step",
            lambda record: ", ".join(
                f"{point['step']}: {fixed(point['dev_bleu'], 1)}" for point in record["curve"]
            ),
        ),
    ),
    title="Curves",
)


def slug(name: str) -> str:
    """Turn a name into a folder name: "A, h = 1" becomes a-h-1."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("e+", "e")).strip("-")


def open_translator(model: Path, *others: Path, threads: int) -> yakusu.Translator:
    """Open a model, or an ensemble, to translate lines in float32, each as one sentence."""
    return yakusu.Translator.load(
        model,
        ensemble=others,
        engine=yakusu.EngineConfig(precision="float32", threads=threads),
        text=TextConfig(one_sentence_per_line=True),
    )


def bleu(model: Path, corpus: Path, languages: tuple[str, str]) -> str:
    """Return BLEU on the test set CORPUS.LANGUAGE, with its signature."""
    src, ref = (corpus.with_name(f"{corpus.name}.{language}") for language in languages)
    return str(yakusu.evaluate_model(model, src, ref)[0])
