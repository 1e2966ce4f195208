"""Phrases that must or must not occur, compared with all possible outputs and with `re`."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import pytest
import torch

from yakusu.data.batches import pad
from yakusu.data.phrasebook import phrasebook
from yakusu.data.tokenizer import EOS, UNK, Tokenizer, TokenizerConfig
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.beam import Hypothesis, beam_search
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.constraint import Goal
from yakusu.search.phrases import PhraseVocabulary, phrase_constraint

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
CPU = torch.device("cpu")


class ToyTokenizer(Tokenizer):
    """Spells text with the longest piece that fits, in a vocabulary given as a list."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self.pieces = ["</s>", "<unk>", *pieces]

    @property
    def tgt_vocab_size(self) -> int:
        return len(self.pieces) + 1

    def target_pieces(self, ids: Sequence[int]) -> list[str]:
        return [self.pieces[i] for i in ids]

    def target_surfaces(self, sentence: str) -> list[str]:
        text, surfaces = "▁" + sentence.replace(" ", "▁"), []
        while text:
            longest = max(filter(text.startswith, self.pieces[2:]), key=len, default=text[0])
            surfaces.append(longest)
            text = text.removeprefix(longest)
        return [*surfaces, "</s>"]

    def encode_target(self, sentences: Sequence[str]) -> list[list[int]]:
        known = {piece: i for i, piece in enumerate(self.pieces)}
        return [[known.get(s, UNK) for s in self.target_surfaces(text)] for text in sentences]

    def decode_target(self, ids: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(self.pieces[i] for i in row).replace("▁", " ") for row in ids]


def text_of(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of ids; several spaces count as one."""
    return " ".join(tokenizer.decode_target([ids])[0].split())


def has(phrase: str, text: str) -> bool:
    """Whether a phrase of a script with spaces occurs in a text, according to `re`."""
    left = r"(?<!\w)" if re.match(r"\w", phrase[0]) else ""
    right = r"(?!\w)" if re.match(r"\w", phrase[-1]) else ""
    return bool(re.search(left + re.escape(phrase) + right, text))


def sharpened(model: Any, factor: float) -> Seq2Seq:
    """Scale the output weights of a model, so that its hypotheses differ clearly."""
    with torch.no_grad():
        model.output_weight.mul_(factor)
    assert isinstance(model, Seq2Seq)
    return model


def padded(model: Seq2Seq, ids: list[list[int]]) -> torch.Tensor:
    """Pad sentences to a batch as the translator does."""
    return pad(ids, model.src_pad, multiple=SOURCE_MULTIPLE)


@dataclass(frozen=True)
class Asked:
    """The phrases of each sentence."""

    include: list[list[str]]
    exclude: list[list[str]] = field(default_factory=list)


def search(
    model: Seq2Seq,
    ids: list[list[int]],
    config: SearchConfig,
    *,
    vocabulary: PhraseVocabulary,
    asked: Asked,
    prefixes: Sequence[Sequence[int]] = (),
) -> list[list[Hypothesis]]:
    """Translate sentences with phrases."""
    exclude = asked.exclude or [[] for _ in asked.include]
    constraint = phrase_constraint(
        vocabulary, asked.include, exclude, n_beams=config.n_slots, device=CPU
    )
    return beam_search(model, padded(model, ids), config, constraint=constraint, prefixes=prefixes)


# ---- all possible outputs ------------------------------------------------------------------------

TOYS = {
    3: ["▁", "a", "b", "▁a", "▁ab", "."],
    4: ["▁a", "b", "▁", "a"],
    5: ["▁a", "▁b", "a"],
}
PHRASES: list[tuple[list[str], list[str]]] = [
    (["ab"], []),
    (["a"], []),
    (["a b"], []),
    (["a a"], []),
    (["aa a"], []),
    (["b", "a"], []),
    (["a b", "b a"], []),
    (["a", "b", "ab"], []),
    (["."], []),
    (["a."], ["a"]),
    ([], ["a"]),
    ([], ["a", "b"]),
    ([], ["ab", "a b"]),
    ([], ["a a"]),
    ([], [".", "aa"]),
    ([], ["b.", "a"]),
    (["a"], ["b"]),
    (["b"], ["a b"]),
    (["b"], ["a b", "b a", "ab"]),
    (["a", "b"], ["b a"]),
    (["ab", "b"], ["ab b", "a"]),
]


def all_outputs(model: Seq2Seq, src: torch.Tensor, longest: int) -> dict[tuple[int, ...], float]:
    """The log-probability of each output of at most `longest` tokens and eos."""
    found = {}
    memory = model.encode(src)
    for length in range(longest + 1):
        tokens = range(UNK + 1, model.tgt_pad)
        for output in product(tokens, repeat=length):
            tgt = torch.tensor([[*output, EOS]])
            tgt_in = torch.tensor([[model.tgt_pad, *output]])
            log_p = model.decode(tgt_in, memory).log_softmax(dim=-1)
            found[output] = log_p.gather(2, tgt[:, :, None]).sum().item()
    return found


@pytest.mark.parametrize("longest", TOYS)
def test_a_beam_wide_enough_finds_every_output_with_the_phrases_and_no_other(
    tiny: Tiny, longest: int
) -> None:
    tokenizer = ToyTokenizer(TOYS[longest])
    model = tiny(vocab_size=6, tgt_vocab_size=tokenizer.tgt_vocab_size, tied="none", seed=longest)
    model, vocabulary = sharpened(model, 3.0), PhraseVocabulary(tokenizer)
    config = SearchConfig(beam=256, n_best=256, alpha=0, max_extra=longest - 1, max_repeats=None)
    ids, n_checked = [2, EOS], 0
    with torch.inference_mode():
        outputs = all_outputs(model, torch.tensor([ids]), longest)
    for include, exclude in PHRASES:
        if not set("".join(include + exclude)) - {" "} <= set("".join(tokenizer.pieces[2:])):
            continue
        expected = {
            output: log_prob
            for output, log_prob in outputs.items()
            if all(has(phrase, text_of(tokenizer, output)) for phrase in include)
            and not any(has(phrase, text_of(tokenizer, output)) for phrase in exclude)
        }
        asked = Asked([include], [exclude])
        try:
            needed = vocabulary.tokens_needed(include, exclude)
        except DataError:
            assert not expected
            continue
        assert needed == min(map(len, expected), default=needed)
        assert (needed <= longest) == bool(expected)
        found = search(model, [ids], config, vocabulary=vocabulary, asked=asked)[0]
        if not expected:
            assert found == [Hypothesis((), -math.inf, -math.inf)]
            continue
        assert {h.tokens for h in found} == set(sorted(expected, key=lambda o: -expected[o])[:256])
        for h in found:
            assert h.log_prob == pytest.approx(expected[h.tokens], abs=1e-4)
        n_checked += 1
    assert n_checked >= 8


# ---- real pieces, random models ------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """German sentences."""
    return [german for _, german in phrasebook("de", n_pairs=1000).train]


@pytest.fixture(scope="module")
def tokenizer(lines: list[str]) -> Tokenizer:
    """A SentencePiece vocabulary of 300 pieces."""
    return Tokenizer.train(lines, [], TokenizerConfig(vocab_size=300), seed=1)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Tokenizer) -> PhraseVocabulary:
    return PhraseVocabulary(tokenizer)


def random_model(tiny: Tiny, tokenizer: Tokenizer, seed: int) -> Seq2Seq:
    size = tokenizer.tgt_vocab_size
    return sharpened(tiny(vocab_size=20, tgt_vocab_size=size, tied="none", seed=seed), 4.0)


def words_of(lines: Sequence[str]) -> list[str]:
    """The words of sentences, without punctuation."""
    return sorted({word for line in lines for word in re.findall(r"\w+", line)})


def random_phrases(lines: Sequence[str], texts: Sequence[str], seed: int) -> Asked:
    """Phrases to include and to exclude for each sentence, without contradiction.

    Args:
        lines: Where words are drawn from.
        texts: A translation of each sentence; some of its words are excluded.
        seed: Seed.
    """
    random, words = Random(seed), words_of(lines[:50])
    include, exclude = [], []
    for text in texts:
        chosen = random.sample([*words, ".", ",", "25", "7"], random.randint(0, 3))
        pairs = [" ".join(random.sample(words, 2))] * random.randint(0, 1)
        include.append([*chosen, *pairs])
        own = re.findall(r"\w+", text)
        candidates = [*random.sample(own, min(len(own), 3)), *random.sample(words, 9), "e", "Uhr ."]
        exclude.append([w for w in candidates if not any(has(w, p) for p in include[-1])])
    return Asked(include, exclude)


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(beam=1, max_extra=25),
        SearchConfig(beam=2, max_extra=26),
        SearchConfig(beam=4, max_extra=24, no_repeat_ngram=2),
        SearchConfig(beam=4, max_extra=30, no_repeat_ngram=1, n_best=4),
        SearchConfig(beam=2, max_extra=26, max_repeats=1),
        SearchConfig(n_best=3, max_extra=24, sampling=SamplingConfig(temperature=1.5)),
        SearchConfig(n_best=2, max_extra=30, sampling=SamplingConfig(top_k=1)),
    ],
    ids=["greedy", "beam 2", "bigrams", "unigrams", "repeats", "sampling", "top 1"],
)
def test_phrases_to_include_occur_and_phrases_to_exclude_do_not(
    tiny: Tiny,
    sequences: Sequences,
    lines: list[str],
    tokenizer: Tokenizer,
    vocabulary: PhraseVocabulary,
    config: SearchConfig,
) -> None:
    n_missing = n_unwanted = 0
    for seed in range(3):
        model = random_model(tiny, tokenizer, seed)
        ids = sequences(6, seed=seed, vocab_size=20)
        free = beam_search(model, padded(model, ids), config)
        texts = [text_of(tokenizer, best[0].tokens) for best in free]
        asked = random_phrases(lines, texts, seed)
        found = search(model, ids, config, vocabulary=vocabulary, asked=asked)
        for row, hypotheses in enumerate(found):
            limit = len(ids[row]) - 1 + config.max_extra
            needed = vocabulary.tokens_needed(asked.include[row], asked.exclude[row])
            assert needed <= limit
            for h in hypotheses:
                text = text_of(tokenizer, h.tokens)
                assert h.log_prob > -math.inf
                assert len(h.tokens) <= limit
                assert all(has(phrase, text) for phrase in asked.include[row]), text
                assert not any(has(phrase, text) for phrase in asked.exclude[row]), text
            n_missing += not all(has(phrase, texts[row]) for phrase in asked.include[row])
            n_unwanted += any(has(phrase, texts[row]) for phrase in asked.exclude[row])
    assert min(n_missing, n_unwanted) >= 10  # of 18 sentences, without the constraint


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_phrases_occur_within_the_smallest_length_that_is_possible(
    tiny: Tiny, lines: list[str], tokenizer: Tokenizer, vocabulary: PhraseVocabulary, beam: int
) -> None:
    for seed in range(12):
        asked = random_phrases(lines, [""], seed)
        model = random_model(tiny, tokenizer, seed)
        needed = vocabulary.tokens_needed(asked.include[0], asked.exclude[0])
        if not needed:
            continue
        config = SearchConfig(beam=beam, max_length=needed)
        found = search(model, [[3, 4, EOS]], config, vocabulary=vocabulary, asked=asked)[0]
        text = text_of(tokenizer, found[0].tokens)
        assert all(has(phrase, text) for phrase in asked.include[0])
        assert len(found[0].tokens) == needed
