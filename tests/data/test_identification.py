"""Languages of texts, compared with py3langid."""

import math
from typing import Any

import pytest

from yakusu.data.identification import Identifier, identifier

langid = pytest.importorskip("py3langid.langid")

TEXTS = ("Where is the station?", "Wo ist der Bahnhof?", "Tom est multilingue.", "駅はどこですか")


@pytest.fixture(scope="module")
def model() -> Any:
    """The model of langid."""
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


@pytest.mark.parametrize("codes", [("en", "de"), ("pt-BR", "no"), ()])
def test_probabilities_are_those_of_all_languages_of_the_model(
    model: Any, codes: tuple[str, ...]
) -> None:
    for text in TEXTS:
        label, share = model.rank(text)[0]
        first = identifier().detect(text, codes)[0]
        assert first == (label, math.floor(1000 * share) / 10)


def test_labels_become_the_codes_that_are_expected() -> None:
    assert identifier().detect("Onde fica a estação?", ("pt-BR",))[0].language == "pt-BR"
    assert identifier().detect("Hvor er stasjonen?", ("nb",))[0].language == "nb"


def test_short_texts_may_be_in_more_languages() -> None:
    assert "en" in identifier().plausible("Hello", ("en",))
    assert identifier().plausible("Where is the station?", ("de",)) == ["en"]
    assert identifier().plausible("ok", ("de", "en")) == ["de", "en"]  # it has no features


def test_the_model_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load, loaded = langid.LanguageIdentifier.from_model_file, []

    def counted(file: str, **settings: Any) -> Any:
        loaded.append(file)
        return load(file, **settings)

    monkeypatch.setattr(langid.LanguageIdentifier, "from_model_file", counted)
    own = Identifier()
    assert own.detect(TEXTS[0], ("de", "en"))[0].language == "en"
    assert own.detect(TEXTS[1], ("de", "fr"))[0].language == "de"
    assert own.foreign(TEXTS[1], frozenset({"en"})) == "de"
    assert own.foreign(TEXTS[0], frozenset({"en"})) == ""
    assert own.prefers(TEXTS[0], frozenset({"en"}), frozenset({"de"}))
    assert len(loaded) == 1


def test_a_text_without_letters_has_no_language() -> None:
    assert identifier().detect("123", ("xx", "en")) == [("xx", 0.0), ("en", 0.0)]
