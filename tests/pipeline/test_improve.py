"""`improve`: what a model is trained on, what it is compared on, and what is replaced."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import yakusu
from yakusu.data.segments import MemorySegment
from yakusu.errors import DataError, ModelError, RecipeError, RunError
from yakusu.folder import save_folder, sha256
from yakusu.memory.memory import TranslationMemory
from yakusu.memory.pairs import is_held_out
from yakusu.pipeline.improving import comparison
from yakusu.pipeline.improving.comparison import Comparison, ComparisonRecord
from yakusu.pipeline.improving.confirmed import PairFacts
from yakusu.pipeline.improving.improve import Improved
from yakusu.pipeline.receipts.receipt import read_receipt
from yakusu.pipeline.training.trained import Trained
from yakusu.progress import Silent
from yakusu.recipe import Recipe
from yakusu.translator.folder.folder import weights_hash

FILES = Path(__file__).parents[1] / "fixtures" / "format-1"
LINES = ((FILES / f"train.{code}").read_text("utf-8").splitlines() for code in ("en", "de"))
PAIRS = [*zip(*LINES, strict=True)]
SHORT = [
    "training.max_steps=2",
    "training.validate_steps=2",
    "training.device=cpu",
    "filters.max_tokens=60",
    "search.max_extra=2",
    "search.beam=1",
]


class Sayings(Silent):
    """Keeps what is said."""

    def __init__(self) -> None:
        self.said = list[str]()

    def say(self, text: str) -> None:
        self.said.append(text)


def remembered(path: Path, pairs: Sequence[tuple[str, str]], languages: str = "en de") -> Path:
    source, target = languages.split()
    with TranslationMemory.open(path, (source, target), writable=True) as memory:
        memory.add(MemorySegment(*pair) for pair in pairs)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return shutil.copytree(FILES / "transformer", tmp_path / "models" / "en-de")


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return remembered(tmp_path / "team.db", PAIRS[:260])


def improved(model: Path, memory: Path, run: Path, *overrides: str, **options: Any) -> Improved:
    return yakusu.improve(model, memory, run=run, overrides=[*SHORT, *overrides], **options)


@dataclass
class Finished:
    """A run that has been trained."""

    model: Path
    team: Path
    run: Path
    made: Improved
    said: list[str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder, progress = tmp_path_factory.mktemp("finished"), Sayings()
    model = shutil.copytree(FILES / "transformer", folder / "model")
    team, run = remembered(folder / "team.db", PAIRS[:260]), folder / "run"
    made = improved(model, team, run, progress=progress)
    return Finished(model, team, run, made, progress.said)


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> list[Recipe]:
    """Replaces the training: the new model is another one; the recipes of the runs."""
    recipes = list[Recipe]()

    def train(recipe: Recipe, *, allow_misaligned: bool, progress: object) -> Trained:
        assert allow_misaligned  # the pairs are as they were confirmed
        recipes.append(recipe)
        model = Path(recipe.run) / "model"
        shutil.copytree(FILES / "variant", model, dirs_exist_ok=True)
        return Trained(model, 1, 1.0, "", "", "", 0)

    def compared(*_: object) -> Comparison:
        return difference("confirmed pairs", 0)

    monkeypatch.setattr("yakusu.pipeline.improving.improve.train", train)
    monkeypatch.setattr(comparison, "_compared", compared)
    return recipes


def difference(name: str, value: float) -> Comparison:
    """A difference with an interval of ± 1."""
    return Comparison(
        name=name,
        sentences=9,
        before=10,
        after=10 + value,
        low=value - 1,
        high=value + 1,
        signature="",
    )


def lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()


def test_a_tenth_is_held_out_and_the_rest_is_trained_on(finished: Finished) -> None:
    pairs, made = finished.run / "pairs", finished.made
    held_out = [source for source, _ in PAIRS[:260] if is_held_out(source)]
    assert lines_of(pairs / "held-out.src") == held_out
    trained = [pair for pair in PAIRS[:260] if pair[0] not in held_out]
    assert lines_of(pairs / "train.src") == [source for source, _ in trained]
    assert lines_of(pairs / "train.tgt") == [target for _, target in trained]
    assert (made.model, made.n_train) == (finished.run / "model", len(trained))
    sets = [(each.name, each.sentences) for each in made.compared]
    assert sets == [("confirmed pairs", len(held_out))]
    parent = read_receipt(finished.run / "model").recipe.parent
    assert parent.sha256 == weights_hash(finished.model) != weights_hash(finished.run / "model")
    assert finished.said[0].startswith("training without old data: the corpus of the parent, train")
    assert "there is no older test set" in "".join(finished.said)


def test_the_same_command_repeats_neither_training_nor_comparison(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, run, team = finished.model, finished.run, finished.team
    before = weights_hash(run / "model")
    remembered(team, PAIRS[300:320])
    monkeypatch.setattr(comparison, "translate_to_score", None)
    progress = Sayings()
    assert improved(model, team, run, progress=progress) == finished.made
    assert weights_hash(run / "model") == before
    assert "the memory has changed since the run started" in progress.said[0]
    other = remembered(tmp_path / "other.db", PAIRS)
    with pytest.raises(RunError, match=r"learns from .*team\.db: give the same memories"):
        improved(model, other, run)


def test_old_data_is_mixed_in_and_its_dev_set_is_the_older_test_set(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, untrained: list[Recipe]
) -> None:
    monkeypatch.chdir(FILES)
    confirmed = [(f"{source} again", f"{target} noch einmal") for source, target in PAIRS[:230]]
    known = [pair for pair in PAIRS if is_held_out(pair[0])][:3]
    team, run = remembered(tmp_path / "team.db", [*confirmed, *known]), tmp_path / "run"
    progress, corpus = Sayings(), (FILES / "train.en", FILES / "train.de")
    improved(model, team, run, test_src=corpus[0], test_tgt=corpus[1], progress=progress)
    assert "(3 others are part of the old data)" in progress.said[0]
    assert "with old data as 50% of the training pairs" in progress.said[0]
    assert (untrained[0].data.extra.src, untrained[0].data.extra.share) == ("train.en", 0.5)


def test_old_data_and_test_set_of_an_improved_model_are_those_of_the_first_one(
    model: Path, tmp_path: Path, untrained: list[Recipe]
) -> None:
    general = [tmp_path / f"general.{code}" for code in ("en", "de")]
    for path, side in zip(general, zip(*PAIRS[400:], strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in side), "utf-8")
    first, again = tmp_path / "run", tmp_path / "again"
    mixed = [
        f"data.extra.{side}={path}" for side, path in zip(("src", "tgt"), general, strict=True)
    ]
    team = remembered(tmp_path / "team.db", PAIRS[:260])
    improved(model, team, first, *mixed, mix=0.4)
    # The model as training would have written it.
    made = shutil.copytree(model, tmp_path / "made")
    receipt = json.loads((made / "receipt.json").read_text())
    receipt["recipe"] = untrained[0].model_dump(mode="json")
    receipt["inputs"] = {f"extra.{path.suffix}": sha256(path) for path in general}
    save_folder(made, lambda folder: copy_with(made, folder, receipt))
    facts = first / "pairs" / "pairs.json"
    older = {"src": str(general[0]), "tgt": str(general[1])}
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"older": older}))
    improved(made, team, again)
    assert untrained[1].data.extra == untrained[0].data.extra.model_copy(update={"share": 0.5})
    assert PairFacts.model_validate_json(
        (again / "pairs" / "pairs.json").read_text()
    ).older.src == (str(general[0]))


def copy_with(model: Path, folder: Path, receipt: object) -> None:
    """Copy a model, with another receipt."""
    for path in model.iterdir():
        if path.name not in ("manifest.json", "receipt.json"):
            shutil.copyfile(path, folder / path.name)
    (folder / "receipt.json").write_text(json.dumps(receipt))


@pytest.mark.parametrize(
    ("n", "conclusion"),
    [
        (1, "1 pair is too few to train on, which takes at least 200"),
        (4, "4 pairs are too few to train on, which takes at least 200"),
    ],
)
def test_few_pairs_are_not_trained_on(n: int, conclusion: str, model: Path, tmp_path: Path) -> None:
    few = remembered(tmp_path / "few.db", PAIRS[:n])
    made = improved(model, few, tmp_path / "run")
    assert (made.model, made.compared) == (None, ())
    assert made.conclusion.startswith(conclusion)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("pairs_per_rate", "rate"), [(72_000, 0.05), (1_000, 0.23), (72, 0.4)])
def test_more_pairs_are_learned_faster(
    pairs_per_rate: int,
    rate: float,
    model: Path,
    team: Path,
    tmp_path: Path,
    untrained: list[Recipe],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("yakusu.pipeline.improving.improve._PAIRS_PER_RATE", pairs_per_rate)
    assert improved(model, team, tmp_path / "run").n_train == 230
    assert untrained[0].training.lr_scale == rate
    improved(model, team, tmp_path / "other", "training.lr_scale=0.3")
    assert untrained[1].training.lr_scale == 0.3


@pytest.mark.parametrize(("value", "replaced"), [(2, True), (0, True), (-2, False)])
def test_a_model_is_replaced_unless_the_new_one_is_worse(
    value: float,
    replaced: bool,
    model: Path,
    team: Path,
    tmp_path: Path,
    untrained: list[Recipe],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "_compared", lambda *_: difference("confirmed pairs", value))
    old, run = weights_hash(model), tmp_path / "run"
    made = improved(model, team, run, replace=True)
    kept = model.with_name("en-de-before")
    assert (made.kept, kept.exists()) == ((kept, True) if replaced else (None, False))
    assert weights_hash(model) == (weights_hash(run / "model") if replaced else old)
    if replaced:
        assert weights_hash(kept) == old
        yakusu.verify(model)
        assert improved(model, team, run, replace=True) == made
    assert len(untrained) == 1


def test_a_run_that_was_interrupted_before_its_pairs_were_written_is_resumed(
    model: Path, team: Path, tmp_path: Path, untrained: list[Recipe]
) -> None:
    run = tmp_path / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.pipeline.improving.confirmed.write_json", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            improved(model, team, run)
    assert not (run / "pairs").exists()
    remembered(team, PAIRS[300:400])
    assert improved(model, team, run).n_train == len(lines_of(run / "pairs" / "train.src")) > 300
    assert len(untrained) == 1


def test_an_interrupted_replacement_is_completed(
    model: Path, team: Path, tmp_path: Path, untrained: list[Recipe]
) -> None:
    (model.parent / "en-de-before").mkdir()  # of somebody else
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("yakusu.pipeline.improving.improve.exchange_folders", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            improved(model, team, tmp_path / "run", replace=True)
    assert improved(model, team, tmp_path / "run", replace=True).kept == Path(f"{model}-before2")
    assert sorted(path.name for path in model.parent.iterdir()) == [
        *("en-de", "en-de-before", "en-de-before2")
    ]
    assert len(untrained) == 2


def test_the_conclusion_names_what_is_better_and_what_is_worse() -> None:
    results = [difference("confirmed pairs", 3), difference("older test set", -0.5)]
    record = ComparisonRecord(compared=[], results=results)
    assert record.conclusion == (
        "the new model is better on the confirmed pairs by +3.00 [+2.00, +4.00], and not "
        "significantly different on the older test set: -0.50 [-1.50, +0.50] BLEU"
    )
    worse = ComparisonRecord(compared=[], results=[difference("older test set", -2)])
    assert worse.conclusion == (
        "the new model is worse on the older test set by -2.00 [-3.00, -1.00] BLEU"
    )


def test_what_cannot_be_improved_is_refused_and_nothing_is_written(
    model: Path, team: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    french = remembered(tmp_path / "fr.db", PAIRS, "en fr")
    with pytest.raises(DataError, match=r"fr\.db is a memory of en-fr, not of en-de"):
        improved(model, french, run)
    empty = remembered(tmp_path / "empty.db", [])
    with pytest.raises(DataError, match=r"there are no pairs in .*empty\.db: add some"):
        improved(model, empty, run)
    with pytest.raises(DataError, match=r"no\.db does not exist"):
        improved(model, tmp_path / "no.db", run)
    with pytest.raises(ModelError, match="is not a model folder"):
        improved(tmp_path / "no-model", team, run)
    with pytest.raises(ModelError, match="is a parser: give a translator"):
        improved(FILES / "parser", team, run)
    with pytest.raises(ModelError, match="start from a Transformer"):
        improved(FILES / "recurrent", team, run)
    with pytest.raises(RecipeError, match=r"train\.en, does not exist"):
        improved(model, team, run, mix=0.3)
    with pytest.raises(DataError, match="give both --test-src and --test-tgt"):
        improved(model, team, run, test_src=["a"])
    with pytest.raises(RecipeError, match="add --memory"):
        yakusu.improve(model, [], run=run)
    assert not run.exists()
    with pytest.raises(RunError, match="is not empty and not a run folder"):
        improved(model, team, tmp_path)
