"""Augmentation: in each epoch, some training pairs are typed in another way.

                   source                       target
    (usual)        The door is open today.      Die Tür ist heute offen.
    capitals       THE DOOR IS OPEN TODAY.      DIE TÜR IST HEUTE OFFEN.
    title          The Door Is Open Today.      Die Tür ist heute offen.
    lower          the door is open today.      Die Tür ist heute offen.
    unpunctuated   The door is open today       Die Tür ist heute offen
    typos          The dor is open tooday.      Die Tür ist heute offen.
    emoji          The door P is open today.    Die Tür P ist heute offen.

    (u, v, w, x) = H(seed, epoch, pair), each uniform in [0, 1)

    capitals if u < p_capitals, otherwise title if u < p_capitals + p_title, and so on for lower
    unpunctuated if v < p_unpunctuated
    typos if w < p_typos
    emoji if x < p_emoji

P is a placeholder token, which a model reads instead of an emoji that training has not seen; its
place between the words of the source is drawn, and that in the target is at the same share of the
words.

The section [augmentation] of a recipe has the shares p. If all are 0, the pairs are those of the
data folder.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain, repeat
from random import Random

import numpy as np
import regex

from yakusu.config import Config, requirement
from yakusu.data.files.text import Pair, windows
from yakusu.data.lines.casing import capitals, has_case, lower_case, title_case
from yakusu.data.lines.private_use import IS_SLOT, SLOTS
from yakusu.data.lines.sentences import without_final_punctuation
from yakusu.data.pairs import Ids, Pairs, Sentences
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import UNK
from yakusu.typed import setting

_WINDOW = 8192  # pairs that are joined at a time
_WORDS_PER_TYPO = 8
_WORD = regex.compile(r"[\p{L}\p{M}]{3,}")


class AugmentationConfig(Config):
    """Section [augmentation] of a recipe: the share of the training pairs typed in each way."""

    capitals: float = setting(0.0, ge=0, le=1)
    title: float = setting(0.0, ge=0, le=1)  # title case
    lower: float = setting(0.0, ge=0, le=1)  # lower case
    unpunctuated: float = setting(0.0, ge=0, le=1)  # without final punctuation
    typos: float = setting(0.0, ge=0, le=1)
    emoji: float = setting(0.0, ge=0, le=1)  # no effect without placeholder tokens

    @property
    def is_off(self) -> bool:
        """Whether no pair is changed."""
        return not any(self.model_dump().values())

    @requirement
    def _check_sum(self) -> None:
        if (total := self.capitals + self.title + self.lower) > 1:
            raise ValueError(
                f"augmentation.capitals + title + lower = {total:g}: decrease them to 1 or less"
            )


@dataclass(frozen=True)
class Augmentation:
    """Types binarised pairs in other ways, which differ between epochs.

    Attributes:
        pairs: The pairs of the data folder.
        tokenizer: Their vocabularies.
        config: The shares.
        seed: Seed of the random numbers.
        languages: The source and target language of each part of the pairs, "" if unknown; further
            parts have those of the first.
        symbols: Symbols such as "<BT>", which are not part of the text at the start of a source.
        max_tokens: A pair of which a side would have more tokens is not changed.
    """

    pairs: Pairs
    tokenizer: Tokenizer
    config: AugmentationConfig
    seed: int
    languages: Sequence[tuple[str, str]]
    symbols: Collection[str] = ()
    max_tokens: int = 512

    def epoch(self, epoch: int) -> Pairs:
        """The pairs of an epoch."""
        if self._possible.is_off:
            return self.pairs
        parts = [
            tuple(map(Sentences.joined, zip(*some, strict=True)))
            for some in windows(self._retyped(epoch), _WINDOW)
        ]
        src, tgt = map(Sentences.concatenated, zip(*parts, strict=True))
        return replace(self.pairs, src=src, tgt=tgt)

    def longest_source(self, epoch: int) -> int:
        """Number of tokens of the longest source of an epoch, including eos."""
        longest = int(self.pairs.src.lengths.max(initial=1))
        if self._possible.is_off:
            return longest
        return max(longest, max(len(src) for src, _ in self._retyped(epoch)))

    @cached_property
    def _possible(self) -> AugmentationConfig:
        """The shares of what the vocabularies can write."""
        if self.tokenizer.target_slots:
            return self.config
        return self.config.model_copy(update={"emoji": 0.0})

    def characters(self, seen: str) -> str:
        """The source characters that training sees, sorted, given those of the pairs."""
        found = set(seen)
        for language in {source for source, _ in self.languages if has_case(source)}:
            found |= set(lower_case(seen, language)) if self.config.lower else set()
            is_upper = self.config.title or self.config.capitals
            found |= set(capitals(seen, language)) if is_upper else set()
        unknown = {c for c in found.difference(seen) if UNK in self.tokenizer.src.encode(c)}
        return "".join(sorted(found - unknown))

    def _retyped(self, epoch: int) -> Iterator[tuple[Ids, Ids]]:
        parts = zip(
            self.pairs.parts, chain(self.languages, repeat(self.languages[0])), strict=False
        )
        codes = chain.from_iterable(repeat(own, part.n_pairs) for part, own in parts)
        for i, own in zip(range(len(self.pairs)), codes, strict=True):
            usual = self.pairs.src[i], self.pairs.tgt[i]
            key = f"{self.seed} {epoch} {len(usual[0])} ".encode()
            digest = hashlib.blake2b(key + usual[0].tobytes() + usual[1].tobytes(), digest_size=24)
            way = Way.drawn(digest.digest(), self._possible)
            yield self._pair(usual, way, own) if way else usual

    def _pair(
        self, usual: tuple[Ids, Ids], way: "Way", languages: tuple[str, str]
    ) -> tuple[Ids, Ids]:
        """The ids of a pair that is typed in another way; without it, if they would be too many."""
        src, tgt, ids = self.tokenizer.src, self.tokenizer.tgt, [side.tolist() for side in usual]
        source, target = src.decode(ids[0]), tgt.decode(ids[1])
        tag = next((f"{each} " for each in self.symbols if source.startswith(f"{each} ")), "")
        source, target = way((source.removeprefix(tag), target), languages)
        of_language = src.piece(ids[0][0]) in src.language_tokens.values()
        language = ids[0][:1] if of_language else []
        new = [*language, *src.encode(tag + source)], tgt.encode(target)
        if any(UNK in side for side in (*ids, *new)) or max(map(len, new)) - 1 > self.max_tokens:
            return usual
        source_ids, target_ids = map(partial(np.array, dtype=usual[0].dtype), new)
        return source_ids, target_ids


@dataclass(frozen=True)
class Way:
    """How a pair is typed.

    Attributes:
        case: "capitals", "title", "lower", or "" for that of the pair.
        unpunctuated: Without final punctuation.
        typos: With typos.
        emoji: With a placeholder token in place of an emoji.
        seed: Of the typos and of the place of the emoji.
    """

    case: str
    unpunctuated: bool
    typos: bool
    emoji: bool
    seed: int

    @classmethod
    def drawn(cls, digest: bytes, config: AugmentationConfig) -> "Way | None":
        """The way of a pair with a hash of 24 bytes; None: it is not changed."""
        u, v, w, x = (int.from_bytes(digest[i : i + 4], "big") / 2**32 for i in (0, 4, 8, 12))
        case, end = "", 0.0
        for name in ("capitals", "title", "lower"):
            end += getattr(config, name)
            case = case or (name if u < end else "")
        others = v < config.unpunctuated, w < config.typos, x < config.emoji
        return cls(case, *others, int.from_bytes(digest[16:])) if case or any(others) else None

    def __call__(self, pair: Pair, languages: tuple[str, str]) -> Pair:
        """Type a pair in this way; languages without case have no other."""
        (source, target), (from_, to) = pair, languages
        match self.case if has_case(from_) else "":
            case "capitals":
                source, target = capitals(source, from_), capitals(target, to)
            case "title":
                source = title_case(source, from_)
            case "lower":
                source = lower_case(source, from_)
        if self.unpunctuated:
            bare = without_final_punctuation(source), without_final_punctuation(target)
            if bare[0] != source and bare[1] != target:
                source, target = bare
        random = Random(self.seed)
        if self.typos:
            source = _with_errors(source, random)
        if self.emoji and not IS_SLOT.search(source + target):
            slot, share = random.choice(SLOTS), random.random()
            source, target = (_inserted(slot, side, share) for side in (source, target))
        return source, target


def _inserted(slot: str, text: str, share: float) -> str:
    """Insert a placeholder token after a share of the words of a text."""
    words = text.split(" ")
    at = round(share * len(words))
    return " ".join([*words[:at], slot, *words[at:]])


def _with_errors(text: str, random: Random) -> str:
    """A text with one error for each eight words that have three letters or more, and one more."""
    words = list(_WORD.finditer(text))
    chosen = random.sample(words, min(len(words), 1 + len(words) // _WORDS_PER_TYPO))
    letters = "".join(word[0] for word in words).lower()
    for word in sorted(chosen, key=regex.Match.start, reverse=True):
        wrong = _misspelled(word[0], random, letters)
        text = text[: word.start()] + wrong + text[word.end() :]
    return text


def _misspelled(word: str, random: Random, letters: str) -> str:
    """A word without a letter, with one twice or exchanged, or with another of the sentence."""
    wrong = word
    while wrong == word:
        at = random.randrange(len(word))
        before, letter, after = word[:at], word[at], word[at + 1 :]
        other = random.choice(letters)
        wrong = random.choice(
            (
                before + after,
                before + letter + letter + after,
                before + after[:1] + letter + after[1:],
                before + other + after,
            )
        )
    return wrong
