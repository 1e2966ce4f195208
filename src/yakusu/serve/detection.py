"""Identifies the language of a text among the source languages of the service, with py3langid."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from py3langid.langid import MODEL_FILE, LanguageIdentifier

from yakusu.data.languages import closeness

_SAMPLE = 5000  # characters


class Detected(NamedTuple):
    """A language, and the confidence in it, from 0 to 100."""

    language: str
    confidence: float


class Detector:
    """Identifies the languages of texts.

    Args:
        codes: Codes of the languages to choose from.
    """

    def __init__(self, codes: Sequence[str]) -> None:
        self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
        labels = {
            label: code
            for code in reversed(codes)
            for label in self._identifier.labels
            if closeness(label, code) is not None
        }
        self._codes = labels  # label of py3langid -> code
        self._unknown = [code for code in codes if code not in labels.values()]
        if labels:
            self._identifier.set_languages(list(labels))

    def detect(self, text: str) -> list[Detected]:
        """The languages of the beginning of a text, the most probable first; never empty."""
        text = text[:_SAMPLE]
        if not any(map(str.isalpha, text)) or not self._codes:
            codes = [*dict.fromkeys(self._codes.values()), *self._unknown]
            return [Detected(code, 0.0) for code in codes]
        found: dict[str, float] = {}
        for label, probability in self._identifier.rank(text):
            code = self._codes[label]
            found[code] = found.get(code, 0.0) + float(probability)
        ranked = sorted(found.items(), key=lambda each: -each[1])
        return [Detected(code, math.floor(1000 * share) / 10) for code, share in ranked]
