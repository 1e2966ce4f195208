"""What a model came from: `receipt.json` for machines, `README.md` for people.

The cost is given as in Table 2, by the paper's formula and by counting.
"""

from pathlib import Path
from typing import Any

from yakusu.data.batches import collate, cut_by_length, n_positions, seen_in_epoch
from yakusu.data.pairs import Pairs
from yakusu.errors import ModelError
from yakusu.folder import read_json, sha256, verify_folder
from yakusu.metrics import Score
from yakusu.model.base import Seq2Seq
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks
from yakusu.training.flops import by_formula, count_flops, sustained_flops

_COUNTED = 6  # batches
_AT_ONCE = 2048  # positions of a side: what could be trained on shall not be too much to count


def receipt(
    recipe: Recipe,
    model: Seq2Seq,
    *,
    data: Path,
    state: dict[str, Any],
    averaged: list[int],
    scores: list[Score],
) -> dict[str, Any]:
    """All that is needed to make a model again, and what it cost.

    Args:
        recipe: The resolved recipe.
        model: The trained model.
        data: The data folder of the run.
        state: `state.json` of the last checkpoint.
        averaged: Steps of the checkpoints that were averaged.
        scores: On the dev set.
    """
    facts = read_json(data / "data.json")
    return {
        "versions": state["made_by"]["versions"],
        "languages": list(recipe.languages),
        "recipe": recipe.model_dump(mode="json"),
        "seed": recipe.seed,
        "inputs": facts["inputs"],
        "tokenizer": {path.name: sha256(path) for path in sorted(data.glob("*.model"))},
        "pairs": {"train": facts["n_train"], "dev": facts["n_dev"]},
        "hardware": state["made_by"]["hardware"] | {"processes": state["n_processes"]},
        "steps": state["step"],
        "skipped_steps": state["skipped"],
        "averaged_steps": averaged,
        "target_tokens": state["target_tokens"],
        "wall_seconds": round(state["seconds"], 1),
        "flops": cost(model, Pairs.open(data, "train"), recipe, state),
        "scores": [str(score) for score in scores],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
    }


def cost(model: Seq2Seq, pairs: Pairs, recipe: Recipe, state: dict[str, Any]) -> dict[str, float]:
    """Floating-point operations of a training run.

    `paper`: by the paper's formula; `sustained` is the rate of one device that it took. `counted`:
    those of a target token, times all that were seen.
    """
    sustained = sustained_flops(state["made_by"]["hardware"]["device"], model.output_weight.device)
    return {
        "paper": by_formula(state["seconds"], n_devices=state["n_processes"], sustained=sustained),
        "sustained": sustained,
        "counted": flops_per_token(model, pairs, recipe) * state["target_tokens"],
    }


def flops_per_token(model: Seq2Seq, pairs: Pairs, recipe: Recipe) -> float:
    """Operations of training on one target token, padding included.

    Those of some batches of the first epoch, from the shortest sentences to the longest, times the
    positions of the whole epoch over theirs.
    """
    seen = seen_in_epoch(pairs.parts, seed=recipe.seed, epoch=0)
    tokens_of_batch = recipe.batches.batch_tokens_on(model.output_weight.device.type)
    batches = cut_by_length(seen, pairs, tokens_of_batch)
    n = min(len(batches), _COUNTED)
    chosen = [batches[(2 * i + 1) * len(batches) // (2 * n)] for i in range(n)]
    pads = {"src_pad": model.src_pad, "tgt_pad": model.tgt_pad}
    parts = (part for batch in chosen for part in collate(pairs, batch, **pads).split(_AT_ONCE))
    counted = count_flops(model, parts)
    share = n_positions(pairs, chosen) / n_positions(pairs, batches)
    return counted / share / int(pairs.tgt.lengths_of(seen).sum())


def story(facts: dict[str, Any]) -> list[str]:
    """A receipt in a few lines."""
    minutes, flops = facts["wall_seconds"] / 60, facts["flops"]
    inputs = [f"input {key}: {digest}" for key, digest in facts["inputs"].items()]
    return [
        *inputs,
        f"made by yakusu {facts['versions']['yakusu']}, torch {facts['versions']['torch']}, on "
        f"{facts['hardware']['device']} ({facts['hardware']['threads']} threads, "
        f"{facts['hardware']['processes']} processes), seed {facts['seed']}",
        f"{facts['steps']:,} steps, {facts['target_tokens']:,} target tokens, {minutes:.1f} "
        f"minutes; {flops['counted']:.2e} FLOPs counted, {flops['paper']:.2e} by the paper's "
        "formula",
        *facts["scores"],
        *compression_story(facts.get("compressed")),
    ]


def compression_story(facts: dict[str, Any] | None) -> list[str]:
    """What was done to a compressed translator, in a few lines."""
    if not facts:
        return []
    rest = ["all other matrices: 8 bits a number"] if facts["int8"] else []
    labels = ("before it was compressed", "compressed")
    scores = [f"{label}: {score}" for label, score in zip(labels, facts["scores"], strict=False)]
    tables = [table_story(table) for table in facts["tables"]]
    return [f"compressed from {facts['from']}", *tables, *rest, *scores]


def table_story(facts: dict[str, Any]) -> str:
    """What became of a table, in a line."""
    kind = f"codes of {facts['n_codes']}" if "n_codes" in facts else "whole numbers"
    return (
        f"{' = '.join(facts['tables'])}: {facts['n_words']:,} x {facts['width']} numbers as "
        f"{facts['n_components']} {kind} ({facts['bits']:.0f} bits a vector), "
        f"{facts['n_exact']:,} vectors as they were: {facts['ratio']:.1f} times smaller, "
        f"{facts['loss']:.2%} of the variance lost"
    )


def card(facts: dict[str, Any]) -> str:
    """The model card that belongs to a receipt."""
    model, codes = facts["recipe"]["model"], [code for code in facts["languages"] if code]
    task = tasks[facts["recipe"].get("task", "translation")]
    source, target = codes if len(codes) == 2 else task.sides
    scores = "\n".join(f"- {score}" for score in facts["scores"])
    tokenizer, seen = facts["recipe"]["tokenizer"], facts["target_tokens"]
    megabytes = 4e-6 * facts["parameters"]  # float32
    front = f"---\nlanguage: [{', '.join(codes)}]\ntags: [translation]\n---\n\n" if codes else ""
    return f"""{front}# {source} to {target}, a {task.model_noun} made with yakusu

| | |
|---|---|
| from, to | {source}, {target} |
| trained on | {facts["pairs"]["train"]:,} sentence pairs |
| model | {model["name"]}, {facts["parameters"]:,} parameters, {megabytes:.1f} MB |
| vocabulary | {tokenizer["vocab_size"]:,} tokens, {tokenizer["kind"]} |
| training | {facts["steps"]:,} steps, {seen:,} target tokens, seed {facts["seed"]} |

Scores on {facts["pairs"]["dev"]:,} sentence pairs that were not trained on, by which the training
was steered:

{scores}

## How to use it

    pip install yakusu
    echo '{task.example}' | yakusu translate THIS_FOLDER

`yakusu verify THIS_FOLDER` checks every file against its hash and says what made them;
`receipt.json` holds the recipe, versions, inputs and cost.
"""


def verify(folder: str | Path) -> list[str]:
    """Check every file of a model, checkpoint or data folder against its hash.

    Returns:
        What is known of it, a line each.

    Raises:
        ModelError: A file is missing or altered.
    """
    folder = Path(folder)
    if (folder / "model" / "manifest.json").exists():
        raise ModelError(f"{folder} is a run folder: its translator is {folder / 'model'}")
    verify_folder(folder)
    files = read_json(folder / "manifest.json")["files"]
    lines = [f"{file['sha256']}  {name}" for name, file in files.items()]
    if "receipt.json" in files:
        try:
            lines += story(read_json(folder / "receipt.json"))
        except KeyError as error:
            lines.append(f"receipt.json does not say what made it: it has no {error}")
    return [*lines, f"whole: {len(files)} files of {folder} are as they were written"]
