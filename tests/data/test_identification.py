"""Languages of texts, compared with py3langid."""

import math
from typing import Any

import pytest

from yakusu.data.identification import Identifier

langid = pytest.importorskip("py3langid.langid")

TEXTS = ("Where is the station?", "Wo ist der Bahnhof?", "Tom est multilingue.", "駅はどこですか")


@pytest.mark.parametrize("codes", [("en", "de"), ("fr", "ja", "en"), ("pt-BR", "no")])
def test_probabilities_are_those_of_a_model_of_these_languages(codes: tuple[str, ...]) -> None:
    model = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    model.set_languages([code.split("-")[0] for code in codes])
    identifier = Identifier()
    for text in TEXTS:
        expected = [math.floor(1000 * share) / 10 for _, share in model.rank(text)]
        assert [each.confidence for each in identifier.detect(text, codes)] == expected


def test_the_model_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    load, loaded = langid.LanguageIdentifier.from_model_file, []

    def counted(file: str, **settings: Any) -> Any:
        loaded.append(file)
        return load(file, **settings)

    monkeypatch.setattr(langid.LanguageIdentifier, "from_model_file", counted)
    identifier = Identifier()
    assert identifier.detect(TEXTS[0], ("de", "en"))[0].language == "en"
    assert identifier.detect(TEXTS[1], ("de", "fr"))[0].language == "de"
    assert identifier.foreign(TEXTS[1], frozenset({"en"})) == "de"
    assert identifier.foreign(TEXTS[0], frozenset({"en"})) == ""
    assert identifier.prefers(TEXTS[0], frozenset({"en"}), frozenset({"de"}))
    assert len(loaded) == 1


def test_a_text_without_letters_has_no_language() -> None:
    assert Identifier().detect("123", ("xx", "en")) == [("en", 0.0), ("xx", 0.0)]
