"""The table of recipes by the size of the corpus, in docs/training.md, states what they contain."""

import re
from pathlib import Path

import pytest
import torch

from yakusu.model.architectures import build
from yakusu.pipeline.training.choose_recipe import recipe_for
from yakusu.recipe import load_recipe

PAGE = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### By the size of the corpus")[2].partition("\n#")[0]
ROWS = [
    [cell.strip(" `") for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("| `")
]


def numbers(text: str) -> list[float]:
    millions = re.sub(r"(\d+) million", r"\g<1>,000,000", text)
    return [float(found.replace(",", "")) for found in re.findall(r"[\d.,]*\d", millions)]


def test_the_table_lists_the_sizes_in_order() -> None:
    assert [row[0] for row in ROWS] == ["tiny", "small", "medium", "large", "base"]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_states_the_values_of_its_recipe(row: list[str]) -> None:
    name, _, _, parameters, sizes, vocabulary, dropout, steps = row
    recipe = load_recipe(name)
    model, size = recipe.model, recipe.tokenizer.vocab_size
    with torch.device("meta"):
        built = build(model, src_vocab_size=size, tgt_vocab_size=size)
    assert numbers(parameters) == [sum(each.numel() for each in built.parameters())]
    assert [int(each) for each in sizes.split(", ")] == [model.n_layers, model.d_model, model.d_ff]
    assert numbers(vocabulary) == [size]
    assert (numbers(dropout), numbers(steps)) == ([model.dropout], [recipe.training.max_steps])


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_states_for_how_many_pairs_its_recipe_is_chosen(row: list[str]) -> None:
    limits = tuple(int(number) for number in numbers(row[2]))
    first, end = {"tiny": (0, *limits), "base": (*limits, 10**9)}.get(row[0], limits)
    assert (recipe_for(first), recipe_for(end - 1)) == (row[0], row[0])
