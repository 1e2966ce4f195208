"""The texts in a model folder: receipt.json, and the model card README.md generated from it."""

from pathlib import Path

from yakusu.folder import json_text
from yakusu.pipeline.receipts.receipt import (
    CompressionFacts,
    ImportReceipt,
    ModelFacts,
    Receipt,
    named_average,
)
from yakusu.recipe import Recipe
from yakusu.tasks.task import tasks
from yakusu.training.config import ParentConfig

USAGE = "## How to use it\n"


def documents(receipt: Receipt | ImportReceipt) -> dict[str, str]:
    """Return the texts that describe a model, by file name: receipt.json and README.md."""
    values = receipt.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = trained_card(receipt) if isinstance(receipt, Receipt) else imported_card(receipt)
    return {"receipt.json": json_text(values), "README.md": text}


def imported_card(receipt: ImportReceipt) -> str:
    """Return the model card of an imported model."""
    origin, codes = receipt.origin, [code for code in receipt.languages if code]
    source, target = codes if len(codes) == 2 else ("source", "target")
    held = "its files and their hashes"
    front = {"language": f"[{', '.join(codes)}]" if codes else "", "license": origin.licence}
    lines = "".join(f"{key}: {value}\n" for key, value in front.items() if value)
    return f"""---
{lines}tags: [translation]
---

# {source} to {target}, imported from {origin.format}

| | |
|---|---|
| from, to | {source}, {target} |
| original | {origin.name or "unknown"} |
| licence | {origin.licence or "unknown: ask its authors"} |
| model | {receipt.parameters:,} parameters, {4e-6 * receipt.parameters:.1f} MB as float32 |

{_compressed_section(receipt.compressed)}{_usage(receipt, "A sentence.", held)}"""


def trained_card(receipt: Receipt) -> str:
    """Return the model card of a model that yakusu trained."""
    recipe, codes = receipt.recipe, [code for code in receipt.languages if code]
    task = tasks[recipe.task]
    targets = recipe.target_languages
    source, target = _sides(recipe) if len(codes) == 2 else task.sides
    rows = _parent_row(recipe.parent) + _directions_row(recipe)
    attribution = f"{recipe.data.attribution}; " if recipe.data.attribution else ""
    named = dict.fromkeys(code for each in recipe.directions for code in each.languages if code)
    front = f"---\nlanguage: [{', '.join(named)}]\ntags: [translation]\n---\n\n" if codes else ""
    scores = "\n".join(f"- {score}" for score in receipt.scores)
    megabytes = 4e-6 * receipt.parameters  # float32
    engine = "; translated by the native engine" if receipt.used_native_engine else ""
    held = "the recipe, the versions, the inputs and the cost"
    length = f"{receipt.steps:,} steps, {receipt.target_tokens:,} target tokens"
    return f"""{front}# {source} to {target}, a {task.model_noun} made with yakusu

| | |
|---|---|
| from, to | {source}, {target} |
| training data | {attribution}{receipt.pairs.train:,} sentence pairs |
| model | {recipe.model.name}, {receipt.parameters:,} parameters, {megabytes:.1f} MB as float32 |
| vocabulary | {recipe.tokenizer.vocab_size:,} tokens, {recipe.tokenizer.kind} |
{rows}| weights | {named_average(receipt.averaged_steps)} |
| training run | {length}, seed {receipt.seed} |

Scores on the dev set ({receipt.pairs.dev:,} sentence pairs, not trained on, used to choose the
checkpoints{engine}):

{scores}

{_compressed_section(receipt.compressed)}{_usage(receipt, task.example, held, _choice(targets))}"""


def _usage(receipt: ModelFacts, example: str, held: str, choice: str = "") -> str:
    if receipt.exported:
        lines = "\n".join(f"- {line}" for line in receipt.exported.lines())
        return f"## Exported\n\nThe facts above describe the original model.\n\n{lines}\n"
    return f"""{USAGE}
Install yakusu in a clone of its source repository with `pip install .`, then:

    echo '{example}' | yakusu translate THIS_FOLDER{choice}

`yakusu verify THIS_FOLDER` checks every file against its recorded hash and prints how the model was
made; `receipt.json` holds {held}.
"""


def _sides(recipe: Recipe) -> list[str]:
    """Return the source languages and the target languages of all language pairs."""
    pairs = [each.languages for each in recipe.directions]
    return [" and ".join(dict.fromkeys(filter(None, side))) for side in zip(*pairs, strict=True)]


def _directions_row(recipe: Recipe) -> str:
    if len(recipe.directions) == 1:
        return ""
    pairs = ", ".join("-".join(each.languages) for each in recipe.directions)
    default = f"; without `--to`, to {recipe.languages[1]}" if recipe.target_languages else ""
    return f"| language pairs | {pairs}{default} |\n"


def _choice(targets: tuple[str, ...]) -> str:
    return f" --to {targets[-1]}" if targets else ""


def _parent_row(parent: ParentConfig) -> str:
    if not parent.model:
        return ""
    return f"| started from | {Path(parent.model).name}, weights {parent.sha256[:12]} |\n"


def _compressed_section(facts: CompressionFacts | None) -> str:
    if not facts:
        return ""
    lines = "\n".join(f"- {line}" for line in facts.lines())
    return f"## Compressed\n\nThe facts above describe the original model.\n\n{lines}\n\n"
