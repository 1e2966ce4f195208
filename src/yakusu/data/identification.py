"""Languages of texts, identified by py3langid (extras 'corpora' and 'serve').

Short sentences say little about their language: "Tom est multilingue." is almost Latin. Therefore,
a sentence of a corpus counts as foreign only if another language is far more probable than its own,
and a file only if most of its sentences are foreign.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.util import find_spec
from typing import Generic, NamedTuple, TypeVar

from yakusu.data.files.text import Pair
from yakusu.data.languages import are_near, closeness, require_language
from yakusu.errors import DataError, RecipeError

T = TypeVar("T")
SAMPLE = 400  # pairs from which the languages of files are identified
# In nats per square root of a byte. With this scale, differences of py3langid's log-probabilities
# are comparable for short and long sentences. docs/data.md states what this value drops.
_MARGIN = 3.0
# CLDR's distance of Indonesian and Malay; languages this close or closer are not distinguished.
_NEAR = 14
_VARIETIES = {"yue": "zh", "nn": "no"}  # close languages that CLDR calls distant
_NO_LANGUAGE = "zxx"
# Likewise, for a text whose language is requested: less probable languages are ruled out. Single
# words, such as Hello, need at most 1.7. Of 5,440 test sentences in five languages, 1 is ruled out
# from its own language; of their first two words, 1.5%.
_CLEAR = 2.0
_PASSAGE, _CERTAIN = 20, 0.97  # lines; probability of a language, of all that are known
_BEGINNING = 5000  # characters of a text whose language is detected
_MIN_SENTENCES = 10  # with fewer, swapped files are not detected
_MOST = 0.8


def can_identify() -> bool:
    """Whether py3langid is installed."""
    return find_spec("py3langid") is not None


def require_codes(languages: tuple[str, str]) -> None:
    """Check that the languages of a recipe exist, and are not names such as "english".

    Args:
        languages: Codes of the source and target languages; "" if unknown.

    Raises:
        RecipeError: One of them is not a language code.
    """
    for side, code in zip(("source", "target"), languages, strict=True):
        if code:
            try:
                require_language(code, what=f"{side}_language")
            except DataError as error:
                raise RecipeError(str(error)) from error


class Detected(NamedTuple):
    """A language, and the confidence in it, from 0 to 100."""

    language: str
    confidence: float


class Identifier:
    """Identifies languages with the model of py3langid; `identifier` returns the only one.

    Attributes:
        labels: py3langid's names of the languages.
    """

    def __init__(self) -> None:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier  # loads in a second

        full = self._model = LanguageIdentifier.from_model_file(MODEL_FILE)
        self._normed = type(full)(
            full.nb_ptc,
            full.nb_pc,
            full.nb_classes,
            full.tk_nextmove,
            full.tk_output,
            norm_probs=True,
            tk_row=full.tk_row,
        )
        self.labels: list[str] = self._model.labels
        self._names = lru_cache(maxsize=4)(self._name)

    def foreign(self, line: str, own: frozenset[str]) -> str:
        """Return the other language that a line is in, or "" if there is none.

        Args:
            line: A sentence of a corpus.
            own: The labels of its own language, and of those close to it.
        """
        scores = self._scores(line)
        if not scores:
            return ""
        mine = max(scores[label] for label in own)
        other = next(label for label in scores if label not in own and label != _NO_LANGUAGE)
        return other if scores[other] - mine > _MARGIN * len(line.encode()) ** 0.5 else ""

    def prefers(self, line: str, these: frozenset[str], those: frozenset[str]) -> bool:
        """Whether a line is more probable in one language than in another."""
        scores = self._scores(line)
        return bool(scores) and max(scores[label] for label in these) > max(
            scores[label] for label in those
        )

    def _scores(self, line: str) -> dict[str, float]:
        """Log-probabilities, the highest first; empty if all are equal."""
        ranked = self._model.rank(line)
        return {} if ranked[0][1] == ranked[-1][1] else dict(ranked)

    def detect(self, text: str, codes: Sequence[str]) -> list[Detected]:
        """The languages of the beginning of a text, the most probable first.

        Args:
            text: The text. Without letters, it is in any of `codes`, with confidence 0.
            codes: Codes of the languages that are expected; others have py3langid's codes.
        """
        text, names = text[:_BEGINNING], self._names(tuple(codes))
        if not any(map(str.isalpha, text)):
            return [Detected(code, 0.0) for code in codes]
        found: dict[str, float] = {}
        for label, probability in self._normed.rank(text):
            if code := names.get(label):
                found[code] = found.get(code, 0.0) + float(probability)
        ranked = sorted(found.items(), key=lambda each: -each[1])
        return [Detected(code, math.floor(1000 * share) / 10) for code, share in ranked]

    def plausible(self, text: str, codes: Sequence[str]) -> list[str]:
        """The languages that a text may be in, as far as its length tells, the best first.

        Args:
            text: The text. Without letters, it may be in any of `codes`.
            codes: Codes of the languages that are expected; others have py3langid's codes.
        """
        text, names = text[:_BEGINNING], self._names(tuple(codes))
        scores = self._scores(text) if any(map(str.isalpha, text)) else {}
        if not scores:
            return [*codes]
        scores = {label: score for label, score in scores.items() if label in names}
        least = max(scores.values()) - _CLEAR * len(text.encode()) ** 0.5
        return [*dict.fromkeys(names[label] for label in scores if scores[label] >= least)]

    def languages_of(self, lines: Sequence[str]) -> list[str]:
        """The language of the lines of a file, or several that are too close to be told apart.

        [] if it is not certain: nearly all passages and most lines must be in one language, and
        most passages beyond doubt.

        Args:
            lines: A sample.
        """
        if len(lines) < 2 * _PASSAGE:
            return []
        passages = ["\n".join(lines[i : i + _PASSAGE]) for i in range(0, len(lines), _PASSAGE)]
        ranked = [self._normed.rank(passage) for passage in passages]
        first, _ = Counter(str(each[0][0]) for each in ranked).most_common(1)[0]
        close = {first}
        if not any("\u0400" <= letter <= "\u04ff" for letter in passages[0]):  # Serbian in Cyrillic
            close |= {label for label in self._names(()) if are_near(label, first)}
        passages_agree = sum(each[0][0] in close for each in ranked) / len(ranked)
        lines_agree = sum(self._model.rank(line)[0][0] in close for line in lines) / len(lines)
        shares = [sum(float(p) for label, p in each if label in close) for each in ranked]
        certain = sum(share >= _CERTAIN for share in shares) / len(ranked)
        if first == _NO_LANGUAGE or passages_agree < 0.9 or lines_agree < 0.6 or certain < 0.8:
            return []
        return [first, *sorted(close - {first})]

    def _name(self, codes: tuple[str, ...]) -> dict[str, str]:
        """The code that each label stands for."""
        return {
            label: next((code for code in codes if closeness(label, code) is not None), label)
            for label in self.labels
            if label != _NO_LANGUAGE
        }


@cache
def identifier() -> Identifier:
    """The identifier of this process."""
    return Identifier()


class CorpusLanguages:
    """The languages of both sides of a corpus.

    Args:
        source: Code of the source language, such as "en" or "pt-BR"; "" if it is unknown.
        target: Code of the target language.

    Raises:
        RecipeError: py3langid is not installed.
    """

    def __init__(self, source: str, target: str) -> None:
        if not can_identify():
            raise RecipeError(
                "identifying languages needs py3langid: install yakusu with its extra 'corpora', "
                "as in pip install '.[corpora]', or set filters.check_language = false"
            )
        self.codes = (source, target)

    @cached_property
    def labels(self) -> tuple[frozenset[str], frozenset[str]]:
        """py3langid's names of each language and of those close to it; empty: it knows none."""
        known = identifier().labels
        source, target = (
            frozenset(label for label in known if _is_near(code, label)) for code in self.codes
        )
        return source, target

    def known(self) -> bool:
        """Whether the language of at least one side can be identified."""
        return any(self.labels)

    def unknown(self) -> Iterator[str]:
        """Yield a sentence for each language that is given, but cannot be identified."""
        for side, code, labels in zip(("source", "target"), self.codes, self.labels, strict=True):
            if code and not labels:
                yield (
                    f"the language '{code}' of the {side} cannot be identified, so lines in other "
                    f"languages and swapped files are not found: correct data.{side}_language if "
                    "the code is wrong"
                )

    def foreign(self, pair: Pair) -> tuple[str, str]:
        """Return, for each side, the other language that it is in, or "" if there is none."""
        src, tgt = (
            identifier().foreign(line, own) if own else ""
            for line, own in zip(pair, self.labels, strict=True)
        )
        return src, tgt

    def swapped(self, pairs: Iterable[Pair]) -> bool:
        """Whether the sources are in the target language and the targets in the source language.

        Args:
            pairs: A sample of a corpus.
        """
        source, target = self.labels
        if not source or not target or source & target:
            return False
        prefers = identifier().prefers
        votes = [
            (prefers(src, target, source), prefers(tgt, source, target))
            for src, tgt in pairs
            if src != tgt
        ]
        needed = max(_MIN_SENTENCES, _MOST * len(votes))
        return all(sum(side) >= needed for side in zip(*votes, strict=True)) and bool(votes)


def _is_near(code: str, label: str) -> bool:
    import langcodes
    from langcodes.tag_parser import LanguageTagError

    try:
        one, other = (langcodes.Language.get(each) for each in (code, label))
    except LanguageTagError:
        return False
    names = {one.language, other.language}
    if len(names) == 1 or any(names == {*pair} for pair in _VARIETIES.items()):
        return True
    if one.prefer_macrolanguage().language == other.prefer_macrolanguage().language:
        return True
    forth = langcodes.tag_distance(one, other)
    return min(forth, langcodes.tag_distance(other, one)) <= _NEAR


class EvenSample(Generic[T]):
    """Items evenly spaced over a stream whose length is not known.

    Args:
        n: Minimum number of items, if the stream has as many; at most twice as many are held.
    """

    def __init__(self, n: int) -> None:
        self._n, self._step, self._seen = n, 1, 0
        self._items: list[T] = []

    def add(self, item: T) -> None:
        """Take the next item of the stream, or leave it out."""
        if self._seen % self._step == 0:
            self._items.append(item)
            if len(self._items) == 2 * self._n:
                self._items = self._items[::2]
                self._step *= 2
        self._seen += 1

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items)
