"""Phrases that must or must not occur, compared with all possible outputs and with `re`."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import some
from tests.phrases import phrases
from yakusu.data.batches import pad
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig
from yakusu.errors import DataError
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.automaton import Automaton
from yakusu.search.beam import beam_search
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.constraint import Goal
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.phrases import PhraseConstraint, phrase_constraint
from yakusu.search.restrictions import Restrictions
from yakusu.search.spelling import Phrase, PhraseVocabulary
from yakusu.search.tokens import TokenRules

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]


class ToyTokenizer(Tokenizer):
    """Spells text with the longest piece that fits, in a vocabulary given as a list."""

    target_bytes: list[int] = []  # noqa: RUF012

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


def has_form(phrase: str | Phrase, text: str) -> bool:
    """Whether a phrase occurs in one of its forms."""
    if isinstance(phrase, str) or not phrase.capitals:
        return has(getattr(phrase, "text", phrase), text)
    words = phrase.text.split(" ")
    first, titled = [words[0][0].upper() + words[0][1:]], [w[0].upper() + w[1:] for w in words]
    forms = [words, first + words[1:], titled, [w.upper() for w in words]]
    return any(has(" ".join(form), text) for form in forms)


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

    include: Sequence[Sequence[str | Phrase]]
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
    rules = TokenRules(model.tgt_pad)
    restrictions = [
        Restrictions(rules, [phrase_constraint(vocabulary, *phrases)])
        for phrases in zip(asked.include, exclude, strict=True)
    ]
    return beam_search(
        model, padded(model, ids), config, restrictions=restrictions, prefixes=prefixes
    )


# ---- all possible outputs ------------------------------------------------------------------------

TOYS = {
    3: ["▁", "a", "b", "▁a", "▁ab", "."],
    4: ["▁a", "b", "▁", "a"],
    5: ["▁a", "▁b", "a"],
    2: ["▁a", "▁A", "b", "B", "▁b", "▁B", "▁ab", "▁Ab", "AB", "▁AB"],
}
PHRASES: list[tuple[list[str | Phrase], list[str]]] = [
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
    ([Phrase("a", capitals=True)], []),
    ([Phrase("ab", capitals=True)], ["a"]),
    ([Phrase("ab", capitals=True), "a"], ["AB"]),
    ([Phrase("a b", capitals=True)], ["B"]),
    ([Phrase("a b", capitals=True), Phrase("b", capitals=True)], []),
    ([Phrase("B", capitals=True)], ["A"]),
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


@pytest.mark.parametrize("longest", some(list(TOYS)))
def test_a_beam_wide_enough_finds_every_output_with_the_phrases_and_no_other(
    tiny: Tiny, longest: int, thorough: bool
) -> None:
    tokenizer = ToyTokenizer(TOYS[longest])
    model = tiny(vocab_size=6, tgt_vocab_size=tokenizer.tgt_vocab_size, tied="none", seed=longest)
    model, vocabulary = sharpened(model, 3.0), PhraseVocabulary(tokenizer)
    config = SearchConfig(beam=256, n_best=256, alpha=0, max_extra=longest - 1, max_repeats=0)
    ids, n_checked = [2, EOS], 0
    with torch.inference_mode():
        outputs = all_outputs(model, torch.tensor([ids]), longest)
    for include, exclude in PHRASES if thorough else PHRASES[longest % 2 :: 2]:
        texts = [p if isinstance(p, str) else p.text for p in [*include, *exclude]]
        if not set("".join(texts)) - {" "} <= set("".join(tokenizer.pieces[2:])):
            continue
        expected = {
            output: log_prob
            for output, log_prob in outputs.items()
            if all(has_form(phrase, text_of(tokenizer, output)) for phrase in include)
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
    assert n_checked >= 5


# ---- real pieces, random models ------------------------------------------------------------------


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """German sentences."""
    return [german for _, german in phrases("de").train]


@pytest.fixture(scope="module")
def tokenizer(lines: list[str]) -> Tokenizer:
    """A SentencePiece vocabulary of 300 pieces."""
    return Tokenizer.train(
        lines, [], TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=300), seed=1
    )


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
    seeds = some(range(3))
    for seed in seeds:
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
    # Of six sentences for each seed, without the constraint.
    assert min(n_missing, n_unwanted) >= 3 * len(seeds)


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


@pytest.mark.parametrize("beam", [1, 4])
def test_phrases_are_respected_after_a_prefix(
    tiny: Tiny, sequences: Sequences, lines: list[str], tokenizer: Tokenizer, beam: int
) -> None:
    vocabulary, config = PhraseVocabulary(tokenizer), SearchConfig(beam=beam, max_extra=24)
    ids = sequences(8, seed=1, vocab_size=20)
    prefixes = [tokenizer.encode_target([line])[0][: 2 + i] for i, line in enumerate(lines[:8])]
    asked = random_phrases(lines, [""] * 8, 3)
    asked = Asked(asked.include, [[p for p in row if p != "e"] for row in asked.exclude])
    model = random_model(tiny, tokenizer, 2)
    found = search(model, ids, config, vocabulary=vocabulary, asked=asked, prefixes=prefixes)
    for row, prefix in enumerate(prefixes):
        tokens = found[row][0].tokens
        assert list(tokens[: len(prefix)]) == prefix
        text, begun = text_of(tokenizer, tokens), text_of(tokenizer, prefix)
        assert all(has(phrase, text) for phrase in asked.include[row])
        new = [phrase for phrase in asked.exclude[row] if not has(phrase, begun)]
        assert not any(has(phrase, text) for phrase in new)


def test_a_prefix_may_contain_a_phrase_or_its_beginning(
    tokenizer: Tokenizer, vocabulary: PhraseVocabulary
) -> None:
    ids = vocabulary.spell("Der Zug fährt")
    assert vocabulary.tokens_needed(["Der Zug fährt"], []) == len(ids)
    assert vocabulary.tokens_needed(["Der Zug fährt"], [], prefix=ids) == 0
    for n in range(1, len(ids)):
        assert vocabulary.tokens_needed(["Der Zug fährt"], [], prefix=ids[:n]) == len(ids) - n


@pytest.mark.parametrize(
    "config",
    [
        SearchConfig(beam=4, max_extra=25, n_best=2),
        SearchConfig(beam=1, max_extra=25),
        SearchConfig(n_best=2, max_extra=25, sampling=SamplingConfig()),
    ],
    ids=["beam 4", "greedy", "sampling"],
)
def test_the_result_for_a_sentence_does_not_depend_on_its_batch(
    tiny: Tiny,
    sequences: Sequences,
    lines: list[str],
    tokenizer: Tokenizer,
    config: SearchConfig,
    thorough: bool,
) -> None:
    vocabulary = PhraseVocabulary(tokenizer)
    ids = sequences(7 if thorough else 4, seed=5, vocab_size=20, longest=20)
    model = random_model(tiny, tokenizer, 1)
    asked = random_phrases(lines, [""] * len(ids), 1)
    asked = Asked([row or ["Uhr"] for row in asked.include], asked.exclude)
    together = search(model, ids, config, vocabulary=vocabulary, asked=asked)
    for row in range(len(ids)):
        alone = Asked([asked.include[row]], [asked.exclude[row]])
        assert search(model, [ids[row]], config, vocabulary=vocabulary, asked=alone) == [
            together[row]
        ]


def test_the_log_probability_is_that_of_the_model_without_phrases(
    tiny: Tiny, lines: list[str], tokenizer: Tokenizer, vocabulary: PhraseVocabulary
) -> None:
    model, ids = random_model(tiny, tokenizer, 0), [3, 4, 5, EOS]
    asked = random_phrases(lines, [""], 1)
    config = SearchConfig(n_best=4, max_extra=30)
    with torch.inference_mode():
        for h in search(model, [ids], config, vocabulary=vocabulary, asked=asked)[0]:
            tgt_in = torch.tensor([[model.tgt_pad, *h.tokens]])
            log_p = model.decode(tgt_in, model.encode(torch.tensor([ids]))).log_softmax(dim=-1)
            expected = log_p.gather(2, torch.tensor([[*h.tokens, EOS]])[:, :, None]).sum().item()
            assert h.log_prob == pytest.approx(expected, rel=1e-4)


def test_a_phrase_that_the_translation_has_anyway_changes_nothing(
    tiny: Tiny, sequences: Sequences, tokenizer: Tokenizer, vocabulary: PhraseVocabulary
) -> None:
    model, ids = random_model(tiny, tokenizer, 0), sequences(8, seed=1, vocab_size=20)
    config = SearchConfig(beam=1, max_extra=10)
    free = beam_search(model, padded(model, ids), config)
    texts = [text_of(tokenizer, best[0].tokens) for best in free]
    include = [re.findall(r"(?<!\S)\w+(?!\S)", text)[:2] for text in texts]
    exclude = [["zzz", "Uhr Uhr Uhr"] for _ in texts]
    asked = Asked(include, exclude)
    assert search(model, ids, config, vocabulary=vocabulary, asked=asked) == free


# ---- what a phrase is ----------------------------------------------------------------------------

PIECES = ["▁", *"abcABC123.,-()東京都タワー行く", "▁a", "▁ab", "ab", "▁(", "東京", "▁東京", "ー行"]


def completes(
    phrase: str, pieces: Sequence[str], *, vocabulary: PhraseVocabulary, toy: ToyTokenizer
) -> bool:
    """Whether an output that ends after these pieces has the phrase."""
    ids = [toy.pieces.index(piece) for piece in pieces]
    return vocabulary.tokens_needed([phrase], [], prefix=ids) == 0


@pytest.mark.parametrize(
    ("phrase", "pieces", "found"),
    [
        ("ab", ["▁ab"], True),
        ("ab", ["▁a", "b"], True),
        ("ab", ["▁", "a", "b"], True),
        ("ab", ["a", "b"], True),
        ("ab", ["▁ab", "c"], False),
        ("ab", ["▁ab", "1"], False),
        ("ab", ["▁ab", "."], True),
        ("ab", ["▁ab", "▁"], True),
        ("ab", ["c", "ab"], False),
        ("ab", ["c", "-", "ab"], True),
        ("ab", ["▁(", "ab", ")"], True),
        ("ab", ["▁ab", "東"], True),
        ("ab", ["東", "ab"], True),
        ("AB", ["▁ab"], False),
        ("ab c", ["▁ab", "▁", "c"], True),
        ("ab c", ["▁ab", "▁", "▁", "c"], True),
        ("ab c", ["▁ab", "c"], False),
        (" ab \t c ", ["▁ab", "▁", "c"], True),
        ("a", ["▁ab"], False),
        ("a", ["a"], True),
        ("12", ["▁", "1", "2"], True),
        ("12", ["▁", "1", "2", "3"], False),
        ("12", ["▁", "3", "1", "2"], False),
        (".", ["▁a", "."], True),
        (".", ["▁a", ".", "b"], True),
        ("...", ["▁a", ".", ".", "."], True),
        ("...", ["▁a", ".", "."], False),
        ("(a)", ["b", "▁(", "a", ")", "c"], True),
        ("-a", ["b", "-", "a"], True),
        ("-a", ["b", "-", "ab"], False),
        ("東京", ["▁東京"], True),
        ("東京", ["▁", "東", "京"], True),
        ("東京", ["a", "東京", "都"], True),
        ("東京", ["東", "▁", "京"], False),
        ("京都", ["▁東京", "都"], True),
        ("タワー", ["タ", "ワ", "ー行", "く"], True),
    ],
)
def test_a_phrase_matches_whole_words_in_any_pieces(
    phrase: str, pieces: list[str], found: bool
) -> None:
    toy = ToyTokenizer(PIECES)
    vocabulary = PhraseVocabulary(toy)
    assert completes(phrase, pieces, vocabulary=vocabulary, toy=toy) == found


@pytest.mark.parametrize(
    ("include", "needed"),
    [
        (["ab", "ab"], 1),
        (["ab c", "c ab"], 4),  # ab c ab
        (["ab", "ab c"], 3),
        (["a", "東", "."], 3),
        (["東京", "京都"], 2),
        (["a", "b", "c", "A", "B", "C"], 10),  # A B C b c a
    ],
)
def test_overlapping_phrases_share_their_text(include: list[str], needed: int) -> None:
    vocabulary = PhraseVocabulary(ToyTokenizer(PIECES))
    assert vocabulary.tokens_needed(include, []) == needed


@pytest.mark.parametrize(
    ("include", "exclude", "message"),
    [
        (["ab"], ["ab"], "the phrase 'ab' must occur and the phrase 'ab' must not"),
        (["ab c"], ["c"], "the phrase 'ab c' must occur and the phrase 'c' must not"),
        (["東京都"], ["京"], "the phrase '東京都' must occur and the phrase '京' must not"),
        (["ab", ""], [], "the phrase '' is empty"),
        ([], [" \t"], "the phrase ' \t' is empty"),
        (["axb"], [], "the phrase 'axb' cannot be spelled .* the character 'x' is unknown"),
        (["x yx"], [], "'x yx' cannot be spelled .* the characters 'x', 'y' are unknown"),
    ],
)
def test_impossible_phrases_are_refused(
    include: list[str], exclude: list[str], message: str
) -> None:
    vocabulary = PhraseVocabulary(ToyTokenizer(PIECES))
    with pytest.raises(DataError, match=message):
        phrase_constraint(vocabulary, include, exclude)
    with pytest.raises(DataError, match=message):
        vocabulary.tokens_needed(include, exclude)


def test_phrases_that_exclude_every_way_to_spell_another_are_refused() -> None:
    vocabulary = PhraseVocabulary(ToyTokenizer(["▁a", "▁b"]))
    with pytest.raises(DataError, match="no translation has the phrases 'a', 'b' without"):
        vocabulary.tokens_needed(["a", "b"], ["a b", "b a", "a a", "b b"])


def test_a_phrase_with_unknown_characters_need_not_be_excluded(tiny: Tiny) -> None:
    toy = ToyTokenizer(PIECES)
    vocabulary = PhraseVocabulary(toy)
    assert vocabulary.excluded(["x", "ab"]) == ("ab",)
    assert vocabulary.tokens_needed(["a"], ["x"]) == 1


def test_words_that_contain_an_excluded_phrase_remain_possible() -> None:
    toy = ToyTokenizer(PIECES)
    vocabulary = PhraseVocabulary(toy)
    constraint = phrase_constraint(vocabulary, [], ["ab", "東"])
    constraint.follow(np.array([0]), np.array([toy.pieces.index("▁ab")]))
    (flags,) = constraint.allowed(np.array([10])).tolist()
    allowed = [piece for piece, may_follow in zip(toy.pieces, flags, strict=True) if may_follow]
    assert allowed == [*"abcABC123", "ab"]


def test_only_phrases_to_include_make_a_goal(vocabulary: PhraseVocabulary) -> None:
    assert isinstance(phrase_constraint(vocabulary, ["Uhr"], ["Zug"]), Goal)
    assert not isinstance(phrase_constraint(vocabulary, [], ["Uhr"]), Goal)


def test_every_hypothesis_has_a_state_of_its_own(vocabulary: PhraseVocabulary) -> None:
    ids, other = vocabulary.spell("Der Zug"), vocabulary.spell("Uhr")[0]
    goal = phrase_constraint(vocabulary, ["Der Zug"], [])
    assert isinstance(goal, Goal) and isinstance(goal, PhraseConstraint)
    zero, one = np.array([0]), np.array([0, 1])
    assert goal.progress(zero, np.array(ids[:1])).tolist() == [1]
    goal.follow(np.array([0, 0]), np.array([ids[0], other]))
    for token in [*ids[1:], other]:
        goal.follow(one, np.array([token, other]))
    assert goal.met.tolist() == [2, 0]
    assert goal.progress(one, np.array([ids[0]] * 2)).tolist() == [len(ids), 1]
    proposals = goal.proposals()
    assert (proposals[0] == -1).all() and ids[0] in proposals[1]
    goal.follow(np.array([1, 0, 1]), np.array([other] * 3))
    assert goal.met.tolist() == [0, 2, 0]
    assert goal.allowed(np.array([30])).shape == (3, len(vocabulary.pieces.texts))


def test_proposals_continue_and_begin_phrases() -> None:
    toy = ToyTokenizer(PIECES)
    constraint = phrase_constraint(PhraseVocabulary(toy), ["ab c", "東京", "-"], [])
    assert isinstance(constraint, Goal)

    def proposed() -> list[str]:
        return [toy.pieces[i] for i in constraint.proposals().flatten().tolist() if i >= 0]

    def follow(piece: str) -> None:
        constraint.follow(np.array([0]), np.array([toy.pieces.index(piece)]))

    follow("c")
    assert proposed() == ["▁ab", "▁東京", "東京", "▁", "-"]
    follow("▁ab")
    assert proposed() == ["▁", "▁ab", "▁東京", "東京", "-"]
    follow("▁")
    assert proposed() == ["c", "ab", "東京", "-"]


@pytest.mark.parametrize(
    "limits", [{"max_repeats": 1}, {"no_repeat_ngram": 1}], ids=["repeats", "unigrams"]
)
@pytest.mark.parametrize("beam", [1, 4])
def test_phrases_to_include_take_precedence_over_limits_on_repetition(
    tiny: Tiny, limits: dict[str, int], beam: int
) -> None:
    toy = ToyTokenizer(["▁", *"abc", "▁a", "ab", "."])
    model = tiny(vocab_size=6, tgt_vocab_size=toy.tgt_vocab_size, tied="none")
    config = SearchConfig(beam=beam, max_extra=10, **limits)
    asked = Asked([["a a a a a a"]])
    found = search(model, [[2, EOS]], config, vocabulary=PhraseVocabulary(toy), asked=asked)[0]
    assert has("a a a a a a", text_of(toy, found[0].tokens))


def test_a_phrase_can_be_included_where_no_piece_begins_with_a_space(tiny: Tiny) -> None:
    toy = ToyTokenizer(["a", "b", "."])
    toy.target_surfaces = lambda sentence: [*sentence, "</s>"]  # type: ignore[method-assign]
    model = tiny(vocab_size=6, tgt_vocab_size=toy.tgt_vocab_size, tied="none")
    config, vocabulary = SearchConfig(beam=2, max_extra=8), PhraseVocabulary(toy)
    asked = Asked([["ab", "b.b"]])
    found = search(model, [[2, EOS]], config, vocabulary=vocabulary, asked=asked)[0]
    assert all(has(phrase, text_of(toy, found[0].tokens)) for phrase in asked.include[0])


def test_phrases_longer_than_the_limit_leave_no_hypothesis(tiny: Tiny) -> None:
    toy = ToyTokenizer(PIECES)
    model = tiny(vocab_size=6, tgt_vocab_size=toy.tgt_vocab_size, tied="none")
    vocabulary = PhraseVocabulary(toy)
    config = SearchConfig(max_length=5)
    for phrase, possible in (("c b a", True), ("c b c b", False), ("東京都タワー", True)):
        assert (vocabulary.tokens_needed([phrase], []) <= 5) == possible
        found = search(model, [[2, EOS]], config, vocabulary=vocabulary, asked=Asked([[phrase]]))[0]
        assert (found[0].log_prob > -math.inf) == possible
        assert (phrase in text_of(toy, found[0].tokens)) == possible


@pytest.mark.parametrize("beam", [1, 2, 4])
def test_japanese_phrases_occur_anywhere_in_the_text(tiny: Tiny, beam: int) -> None:
    toy = ToyTokenizer(PIECES)
    vocabulary = PhraseVocabulary(toy)
    include, exclude = ["東京", "タワー", "行く", "."], ["京都", "都", "a"]
    for seed in range(8):
        model = tiny(vocab_size=6, tgt_vocab_size=toy.tgt_vocab_size, tied="none", seed=seed)
        model = sharpened(model, 4.0)
        config = SearchConfig(beam=beam, max_extra=12)
        asked = Asked([include], [exclude])
        found = search(model, [[2, 3, EOS]], config, vocabulary=vocabulary, asked=asked)[0]
        text = text_of(toy, found[0].tokens)
        assert all(phrase in text for phrase in include)
        assert "都" not in text
        assert not re.search(r"(?<![a-zA-Z0-9])a(?![a-zA-Z0-9])", text)


def test_lower_casing_vocabularies_match_lower_case(lines: list[str]) -> None:
    config = TokenizerConfig(
        byte_fallback=False, placeholder_share=0, vocab_size=300, normalization="nmt_nfkc_cf"
    )
    vocabulary = PhraseVocabulary(Tokenizer.train(lines, [], config, seed=1))
    assert vocabulary.included(["Der  ZUG", "der Zug", "Uhr"]) == (("der zug",), ("uhr",))
    with pytest.raises(DataError, match="the phrase 'zug' must occur and the phrase 'zug' must"):
        vocabulary.tokens_needed(["Zug"], ["ZUG"])


@pytest.mark.parametrize("n_include", [0, 1, 3, 8])
def test_every_walk_along_allowed_tokens_ends_with_the_phrases(n_include: int) -> None:
    random, n_walks, n_tight = Random(n_include), 0, 0
    for _ in range(150):
        made = {"".join(random.choices("▁ab.", k=random.randint(2, 3))) for _ in range(5)}
        toy = ToyTokenizer(["▁", "a", "b", ".", *sorted(made)])
        vocabulary = PhraseVocabulary(toy)

        def phrase() -> str:
            return " ".join("".join(random.choices("aab ab.", k=random.randint(1, 5))).split())

        include = list(filter(None, (phrase() for _ in range(n_include))))
        exclude = list(filter(None, (phrase() for _ in range(random.randint(0, 3)))))
        exclude = [e for e in exclude if not any(has(e, i) for i in include)]
        try:
            left = vocabulary.tokens_needed(include, exclude) + 1 + random.choice([0, 1, 2, 20])
        except DataError:
            continue
        automaton, tokens = vocabulary.automaton(include, exclude), [UNK]
        node, met = automaton.start, 0
        while tokens[-1] != EOS:
            excluded = automaton.excluded(node, met, left)
            excluded[UNK] = True
            n_tight += excluded.mean() > 0.8
            tokens.append(random.choice([i for i, no in enumerate(excluded) if not no]))
            node, events = automaton.step(node, tokens[-1])
            met, left = met | events, left - 1
        text = text_of(toy, tokens[1:-1])
        assert left >= 0
        assert all(has(p, text) for p in include)
        assert not any(has(p, text) for p in exclude)
        n_walks += 1
    assert n_walks > 80
    assert n_tight > 80 or not n_include


def test_the_paths_to_each_of_many_phrases_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["".join(letters) for letters in product("ab", repeat=4)]
    vocabulary = PhraseVocabulary(ToyTokenizer(["▁", "a", "b"]))
    searched: list[int] = []
    shortest = Automaton._shortest

    def counted(self: Automaton, unmet: int, *, until_end: bool = True) -> Any:
        searched.append(unmet)
        return shortest(self, unmet, until_end=until_end)

    monkeypatch.setattr(Automaton, "_shortest", counted)
    automaton = vocabulary.automaton(words, [])
    for missing in range(len(words)):
        automaton.need(automaton.all_met & ~(2 << missing))
    assert sorted(searched) == [0, *(2 << i for i in range(len(words)))]


# ---- phrases that may have capital letters -------------------------------------------------------

CAPITALS = ["▁", *"abcABC.", "▁ab", "▁Ab", "▁AB", "▁c", "▁C"]


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["▁ab", "▁c"], True),
        (["▁Ab", "▁c"], True),
        (["▁Ab", "▁C"], True),
        (["▁AB", "▁C"], True),
        (["▁", "A", "b", "▁", "c", "."], True),
        (["▁ab", "▁C"], False),
        (["▁AB", "▁c"], False),
        (["▁a", "B", "▁c"][1:], False),
        (["▁Ab", "▁c", "a"], False),
    ],
)
def test_a_phrase_may_begin_with_a_capital_letter_or_be_in_capitals(
    pieces: list[str], found: bool
) -> None:
    toy = ToyTokenizer(CAPITALS)
    ids = [toy.pieces.index(piece) for piece in pieces]
    vocabulary = PhraseVocabulary(toy)
    phrase = Phrase("ab c", capitals=True)
    assert (vocabulary.tokens_needed([phrase], [], prefix=ids) == 0) == found
    same = vocabulary.tokens_needed([Phrase("ab c")], [], prefix=ids) == 0
    assert same == (vocabulary.tokens_needed(["ab c"], [], prefix=ids) == 0)


def test_forms_that_cannot_be_spelled_or_are_excluded_are_left_out() -> None:
    vocabulary = PhraseVocabulary(ToyTokenizer(["▁", *"abcA", "▁a"]))
    phrase = Phrase("ab c", capitals=True)
    assert vocabulary.included([phrase, "a", phrase]) == (("ab c", "Ab c"), ("a",))
    assert vocabulary.automaton([phrase], ["Ab"]).include == [["ab c"]]
    with pytest.raises(DataError, match="the phrase 'ab c' must occur and the phrase 'c' must not"):
        vocabulary.automaton([phrase], ["c"])
    with pytest.raises(DataError, match=r"the phrase 'bx' cannot be spelled .* 'x' is unknown"):
        vocabulary.automaton([Phrase("bx", capitals=True)], [])


def test_the_search_finds_phrases_in_one_of_their_forms(
    tiny: Tiny, lines: list[str], tokenizer: Tokenizer, vocabulary: PhraseVocabulary
) -> None:
    seen = set()
    for seed, beam in product(range(5), (1, 2, 4)):
        drawn = random_phrases(lines, [""], seed)
        include = [Phrase(str(p).lower(), capitals=True) for p in drawn.include[0]]
        wanted = " ".join(phrase.text for phrase in include)
        exclude = [p for p in drawn.exclude[0] if len(p) > 2 and p.lower() not in wanted]
        model = random_model(tiny, tokenizer, seed)
        config, asked = SearchConfig(beam=beam, max_extra=30), Asked([include], [exclude])
        found = search(model, [[3, 4, EOS]], config, vocabulary=vocabulary, asked=asked)[0]
        text = text_of(tokenizer, found[0].tokens)
        assert all(has_form(phrase, text) for phrase in include)
        assert not any(has(phrase, text) for phrase in exclude)
        seen |= {has(phrase.text, text) for phrase in include}
    assert seen == {True, False}  # as given, and with capital letters


# ---- characters that are spelled with bytes ------------------------------------------------------


@pytest.fixture(scope="module")
def byte_tokenizer(lines: list[str]) -> Tokenizer:
    """A SentencePiece vocabulary with pieces for bytes and placeholders."""
    return Tokenizer.train(lines, [], TokenizerConfig(vocab_size=560), seed=1)


@pytest.mark.parametrize("phrase", some(["der Český", "ő", "é", "→ 😀", "東京", "Erdős"]))
def test_phrases_with_rare_characters_are_spelled_with_bytes(
    tiny: Tiny, byte_tokenizer: Tokenizer, phrase: str
) -> None:
    vocabulary = PhraseVocabulary(byte_tokenizer)
    ids = vocabulary.spell(phrase)
    assert set(ids) & set(byte_tokenizer.target_bytes)
    assert text_of(byte_tokenizer, ids) == phrase
    for n in range(len(ids)):
        assert 0 < vocabulary.tokens_needed([phrase], [], prefix=ids[:n]) <= len(ids) - n
    assert vocabulary.tokens_needed([phrase], [], prefix=ids) == 0
    for beam in (1, 4):
        for seed in range(3):
            model = random_model(tiny, byte_tokenizer, seed)
            config, asked = SearchConfig(beam=beam, max_extra=20), Asked([[phrase]], [["Uhr", "…"]])
            found = search(model, [[3, EOS]], config, vocabulary=vocabulary, asked=asked)[0]
            assert phrase in text_of(byte_tokenizer, found[0].tokens)


def test_phrases_with_rare_characters_can_be_excluded(byte_tokenizer: Tokenizer) -> None:
    vocabulary = PhraseVocabulary(byte_tokenizer)
    ids = vocabulary.spell("Erdős")
    automaton = vocabulary.automaton([], ["Erdős", "東"])
    node = automaton.start
    for token in ids:
        node, events = automaton.step(node, token)
        assert not events
    allowed = ~automaton.excluded(node, 0, 99)
    pieces = byte_tokenizer.target_pieces(range(len(allowed)))
    assert not allowed[[EOS, pieces.index("▁"), pieces.index(".")]].any()
    assert allowed[pieces.index("e")]  # Erdőse
    *begin, last = [byte_tokenizer.target_bytes[byte] for byte in "東".encode()]
    for token in begin:
        node, _ = automaton.step(node, token)
    assert automaton.excluded(node, 0, 99)[last]
    assert not automaton.excluded(node, 0, 99)[begin].any()


def test_a_byte_that_is_a_character_is_that_character(byte_tokenizer: Tokenizer) -> None:
    vocabulary, of = PhraseVocabulary(byte_tokenizer), byte_tokenizer.target_bytes
    ids = [of[byte] for byte in b"a b\n"]
    assert vocabulary.tokens_needed(["a b"], [], prefix=ids) == 0
    assert not set(vocabulary.spell("Der Zug .")) & set(of)
    automaton = vocabulary.automaton([], ["b"])
    assert automaton.step(automaton.start, of[ord("b")])[0] != automaton.start


def test_messages_show_the_characters_of_bytes(byte_tokenizer: Tokenizer) -> None:
    vocabulary = PhraseVocabulary(byte_tokenizer)
    with pytest.raises(DataError, match="phrase 'in 東京' must occur and the phrase '東' must"):
        vocabulary.automaton(["in 東京"], ["東"])


def test_bytes_and_placeholders_are_used_only_where_a_phrase_needs_them(
    byte_tokenizer: Tokenizer,
) -> None:
    pieces = PhraseVocabulary(byte_tokenizer).pieces
    slots = set(byte_tokenizer.target_slots.values())
    assert len(slots) == 10
    assert not set(pieces.first) & {*byte_tokenizer.target_bytes, *slots}


@pytest.mark.parametrize("n_include", [0, 1, 3])
def test_every_walk_with_bytes_ends_with_the_phrases(
    byte_tokenizer: Tokenizer, lines: list[str], n_include: int
) -> None:
    random, vocabulary = Random(n_include), PhraseVocabulary(byte_tokenizer)
    words = [*words_of(lines[:20]), "Erdős", "東京", "ő", "→", "😀 é", "è 京"]
    n_rare = 0
    for _ in range(60):
        include, exclude = random.sample(words, n_include), random.sample(words, 4)
        exclude = [e for e in exclude if not any(e in phrase for phrase in include)]
        left = vocabulary.tokens_needed(include, exclude) + 1 + random.choice([0, 1, 5])
        automaton, tokens = vocabulary.automaton(include, exclude), [UNK]
        node, met = automaton.start, 0
        while tokens[-1] != EOS:
            excluded = automaton.excluded(node, met, left)
            excluded[UNK] = True
            tokens.append(random.choice([i for i, no in enumerate(excluded) if not no]))
            node, events = automaton.step(node, tokens[-1])
            met, left = met | events, left - 1
        text = text_of(byte_tokenizer, tokens[1:-1])
        assert left >= 0
        assert all(phrase in text for phrase in include)
        assert all(has(phrase, text) for phrase in include if not {*"東京"} & {*phrase})
        assert not any(has(phrase, text) for phrase in exclude)
        n_rare += any(phrase in words[-6:] for phrase in include)
    assert n_rare >= 2 or not n_include


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("Zug", "Zug", True),
        ("Zug", "Zug ő", True),
        ("Zug", "Zugő", False),  # ő is a letter
        ("Zug", "őZug", False),
        ("Zug", "→ Zug", True),
        ("Erdős", "der Erdős .", True),
        ("Erdős", "Erdőse", False),
        ("Erdős", "őErdős", False),
        ("ő", "ő", True),
        ("ő", "aő", False),
        ("ő", "őa", False),
        ("ő", "őő", False),
        ("ő .", "ő.", False),
        ("東京", "a東京", True),
        ("東京", "ő東京ő", True),
        ("→", "a→a", True),
        ("→ Zug", "→ Zug", True),
        ("→ Zug", "→ Zugő", False),
    ],
)
def test_letters_that_are_spelled_with_bytes_continue_words(
    byte_tokenizer: Tokenizer, phrase: str, text: str, found: bool
) -> None:
    vocabulary, of = PhraseVocabulary(byte_tokenizer), byte_tokenizer.target_bytes
    pieces = byte_tokenizer.target_pieces(range(byte_tokenizer.tgt_vocab_size - 1))
    ids = [pieces.index("▁")]
    for character in text:
        shown = character.replace(" ", "▁")
        ids += [pieces.index(shown)] if shown in pieces else [of[b] for b in character.encode()]
    assert (vocabulary.tokens_needed([phrase], [], prefix=ids) == 0) == found
    excluding = vocabulary.automaton([], [phrase])
    node, events = excluding.start, 0
    for token in (*ids, EOS):
        node, event = excluding.step(node, token)
        events |= event
    assert events or not has(phrase, text)  # doubtful cases are excluded
