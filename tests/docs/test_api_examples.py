"""The examples of docs/api.md run as they are typed, on small text and with a small model."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.recipe import Recipe, load_recipe

ROOT = Path(__file__).parents[2]
TEXT = ROOT / "tests" / "fixtures" / "format-1"
SMALL = [
    "tokenizer.vocab_size=160",
    "tokenizer.byte_fallback=false",
    "tokenizer.placeholder_share=0",
    "model.n_layers=1",
    "model.d_model=16",
    "model.d_ff=32",
    "model.n_heads=2",
    "batches.step_tokens=300",
    "batches.batch_tokens=300",
    "training.max_steps=20",
    "training.validate_steps=10",
    "training.warmup_steps=10",
    "training.device=cpu",
    "data.hold_out=5",
]


def examples() -> list[str]:
    """The Python blocks of the page, in order."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the examples leave behind: their variables, after all of them ran in one folder."""
    folder = tmp_path_factory.mktemp("api")
    for source, copy in {
        "train.en": "train.en",
        "train.de": "train.de",
        "test.en": "news.en",
    }.items():
        (folder / copy).write_bytes((TEXT / source).read_bytes())

    def load_small(name: str | Path, overrides: Sequence[str] = (), **files: Any) -> Recipe:
        return load_recipe(name, [*SMALL, *overrides], **files)

    variables: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(yakusu, "load_recipe", load_small, raising=False)
        for number, example in enumerate(examples(), start=1):
            exec(compile(example, f"docs/api.md, example {number}", "exec"), variables)
    return variables


def test_the_page_has_an_example_of_each_task() -> None:
    text = "\n".join(examples())
    for name in ("load_recipe", "train", "Translator.load", "translate", "score", "evaluate"):
        assert f"yakusu.{name}(" in text
    for name in ("vectors.compress", "vectors.open_compressed", "compress.kmeans1d"):
        assert f"yakusu.{name}(" in text


def test_training_ends_at_its_limit_with_a_model(names: dict[str, Any]) -> None:
    assert names["trained"].steps == 20
    assert names["trained"].model == Path("runs/en-de/model")


def test_each_sentence_has_one_translation_and_its_fields(names: dict[str, Any]) -> None:
    assert [type(text) for text in names["translations"]] == [str, str]
    assert names["translation"].log_prob < names["translation"].score < 0
    assert names["number"] == len((TEXT / "test.en").read_text().splitlines())


def test_a_given_translation_has_a_log_probability_per_token(names: dict[str, Any]) -> None:
    scored = names["scored"]
    assert sum(scored.token_log_probs) == pytest.approx(scored.log_prob) and scored.log_prob < 0


def test_samples_are_as_many_as_requested_and_sorted_by_score(names: dict[str, Any]) -> None:
    scores = [sample.score for sample in names["samples"]]
    assert len(scores) == 3 and scores == sorted(scores, reverse=True)


def test_scores_come_with_their_signature(names: dict[str, Any]) -> None:
    assert names["bleu"].name == "BLEU" and "tok:13a" in names["bleu"].signature


def test_attention_weights_have_one_column_per_source_token(names: dict[str, Any]) -> None:
    layers, heads, _, columns = names["maps"].weights["cross"].shape
    assert (layers, heads, columns) == (1, 2, len(names["maps"].source))
    assert names["svg"].startswith("<svg")


def test_comments_on_the_page_show_what_k_means_finds(names: dict[str, Any]) -> None:
    clusters, text = names["clusters"], "\n".join(examples())
    assert f"print(clusters.centroids)  # {clusters.centroids}" in text
    assert f"print(clusters.codes)  # {clusters.codes}" in text


def test_rebuilt_vectors_have_the_shape_of_the_matrix(names: dict[str, Any]) -> None:
    assert names["rebuilt"].shape == names["matrix"].shape
    assert names["vectors"]["king"].shape == (4,)
