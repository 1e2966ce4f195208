"""Many recipes trained on one corpus, which is prepared once; what is done is not done again."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import yakusu
from common import RESULTS
from table import newest
from yakusu.folder import read_json
from yakusu.progress import Silent
from yakusu.recipe import Recipe, save_recipe


class Remarks(Silent):
    """Prints what training has to say, after the name of the run."""

    def __init__(self, name: str) -> None:
        self._name = name

    def say(self, text: str) -> None:
        """Print a remark."""
        print(f"  {self._name}: {text}", flush=True)


def prepared(recipe: Recipe, folder: Path) -> Path:
    """The data folder that recipes of these corpora and this tokenizer have in common."""
    recipe = recipe.model_copy(update={"run": str(folder)})
    return yakusu.prepare(recipe, progress=Remarks(folder.name)).folder


def trained(recipe: Recipe, folder: Path, *, data: Path) -> dict[str, Any]:
    """Train in a run folder, from prepared data; a second call goes on, or finds it done.

    Returns:
        The receipt of its model; under "validations", what the log says of each.
    """
    recipe = recipe.model_copy(update={"run": str(folder)})
    if not (folder / "data").exists():
        folder.mkdir(parents=True, exist_ok=True)
        save_recipe(recipe, folder / "recipe.toml")
        # Under a name of its own until it is whole, should this process be killed meanwhile.
        shutil.copytree(data, folder / ".data", dirs_exist_ok=True)
        (folder / ".data").rename(folder / "data")
    model = yakusu.train(recipe, progress=Remarks(folder.name)).model
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    validations = [event for event in events if event["event"] == "validate"]
    return {**read_json(model / "receipt.json"), "validations": validations}


def slug(name: str) -> str:
    """A name as a folder is called: "A, h = 1" is a-h-1."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("e+", "e")).strip("-")


def records(name: str) -> list[dict[str, Any]]:
    """The newest record of each thing, and of each budget, that results/NAME.json has."""
    path = RESULTS / f"{name}.json"
    return newest(json.loads(path.read_text())) if path.exists() else []
