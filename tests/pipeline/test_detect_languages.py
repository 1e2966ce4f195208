"""Languages of a corpus that nothing states: detected, asked for, or left unknown."""

import random
from pathlib import Path

import pytest

import yakusu
from tests.phrases import phrases
from tests.pipeline.synthetic import write
from yakusu.pipeline.training.detect_languages import with_detected_languages
from yakusu.recipe import Recipe, load_recipe

pytest.importorskip("py3langid")

DANISH = [
    "Jeg kan godt lide at læse bøger om aftenen.",
    "Hunden løber hurtigt gennem parken.",
    "Hvor meget koster den grønne jakke i vinduet?",
    "Vi spiser altid morgenmad klokken otte.",
]
SERBIAN = [
    "Где се налази најближа железничка станица?",
    "Увече волим да читам старе књиге.",
    "Колико кошта ова зелена јакна?",
    "Пас брзо трчи кроз парк.",
    "Недељом путујемо возом код бабе у Нови Сад.",
    "Јуче је падала киша, па смо остали код куће.",
    "Молим вас, пошаљите ми рачун што је пре могуће.",
    "Где сте купили те лепе ципеле?",
]
BOTH = (
    "the source and target languages are not known: add --set data.source_language=CODE and --set "
    "data.target_language=CODE, such as en"
)
CROATIAN = [
    "Gdje se nalazi najbliži željeznički kolodvor?",
    "Navečer volim čitati stare knjige.",
    "Koliko košta ova zelena jakna?",
    "Svaki tjedan putujemo vlakom u Zagreb.",
]


def corpus(folder: Path, target: str, n: int = 300) -> Recipe:
    """A recipe for sentences of a phrasebook in files whose names state no languages."""
    pairs = phrases(target).train[:n]
    return recipe_of(folder, [src for src, _ in pairs], [tgt for _, tgt in pairs])


def recipe_of(folder: Path, sources: list[str], targets: list[str], *settings: str) -> Recipe:
    src, tgt = write(folder / "source.txt", sources), write(folder / "target.txt", targets)
    return load_recipe("tiny", settings, src=src, tgt=tgt, run=folder / "run")


@pytest.mark.parametrize("target", ["ja", "ko", "de"])
def test_both_languages_are_detected_and_said_in_one_line(tmp_path: Path, target: str) -> None:
    recipe, said = with_detected_languages(corpus(tmp_path, target))
    assert recipe.languages == ("en", target)
    assert said == (
        f"languages: en to {target}, detected in the corpus (set data.source_language and "
        "data.target_language if they are wrong)"
    )


def test_a_language_that_is_given_stays(tmp_path: Path) -> None:
    given = corpus(tmp_path, "ja").data.model_copy(update={"source_language": "de"})
    recipe, said = with_detected_languages(load_recipe("tiny").model_copy(update={"data": given}))
    assert recipe.languages == ("de", "ja")
    assert said.startswith("target language: ja, detected in the corpus (set data.target_language")


@pytest.mark.parametrize(("sentences", "named"), [(DANISH, "da or no"), (CROATIAN, "hr, bs or sr")])
def test_close_languages_are_asked_for(tmp_path: Path, sentences: list[str], named: str) -> None:
    english = [src for src, _ in phrases("de").train[:100]]
    recipe, said = with_detected_languages(recipe_of(tmp_path, english, sentences * 25))
    assert recipe.languages == ("en", "")
    assert said.endswith(
        f"; the target language is {named}, which are too close to be told apart: set "
        "data.target_language to one of them"
    )


def test_serbian_in_cyrillic_is_not_croatian(tmp_path: Path) -> None:
    recipe, _ = with_detected_languages(recipe_of(tmp_path, SERBIAN * 15, DANISH * 30))
    assert recipe.languages == ("sr", "")


def test_what_is_not_certain_stays_unknown_and_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(1)
    letters = [" ".join(rng.choices("abcdefgh", k=8)) for _ in range(100)]
    mixed = [*DANISH, *SERBIAN] * 13
    for sources, targets in ((letters, mixed[:100]), (DANISH, SERBIAN[:4])):  # the last are few
        given = recipe_of(tmp_path, sources, targets)
        assert with_detected_languages(given) == (given, BOTH)
    module = "yakusu.pipeline.training.detect_languages"
    monkeypatch.setattr(f"{module}.can_identify", lambda: False)
    given = corpus(tmp_path, "ja")
    install = ", or install yakusu with its extra 'train' to detect languages"
    assert with_detected_languages(given) == (given, f"{BOTH}{install}")


def test_the_languages_are_stored_and_a_run_that_has_started_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = corpus(tmp_path, "de")
    yakusu.prepare(given)
    run = tmp_path / "run"
    assert load_recipe(run / "recipe.toml").languages == ("en", "de")
    assert "receipt.json" not in {path.name for path in run.iterdir()}
    module = "yakusu.pipeline.training.detect_languages"
    monkeypatch.setattr(f"{module}.can_identify", lambda: False)
    recipe, said = with_detected_languages(given)
    assert (recipe.languages, said) == (("en", "de"), "")
    assert yakusu.prepare(given).existed
