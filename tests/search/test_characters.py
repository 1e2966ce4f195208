"""Byte tokens spell complete characters of the training targets, and nothing else."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import some
from yakusu.data.batches import pad
from yakusu.data.coverage import Coverage
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.beam import beam_search
from yakusu.search.characters import CharacterConstraint, CharacterTable, may_be_generated
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.constraint import Constraint
from yakusu.search.hypothesis import Hypothesis
from yakusu.search.phrases import phrase_constraint
from yakusu.search.restrictions import Restrictions
from yakusu.search.spelling import PhraseVocabulary
from yakusu.search.tokens import TokenRules

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
SEEN = "abcdeé猫犬😀\u0301ß \u200b\ufffd"
SPELLED = set("abcdeé猫犬😀\u0301ß")  # neither spaces, control characters nor U+FFFD


@cache
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(vocab_size=294)
    one = Tokenizer.train(["abc de bad cab ace"] * 20, [], config, seed=1)
    one.coverage = Coverage(source_characters="", target_characters=SEEN, longest_source=9)
    return one


@cache
def rules() -> TokenRules:
    return TokenRules.of(tokenizer())


def table() -> CharacterTable:
    characters = rules().characters
    assert characters
    return characters


def model_of_bytes(tiny: Tiny, seed: int, more: float = 3.0) -> Seq2Seq:
    """A random model that generates bytes with a high probability."""
    size = tokenizer().tgt_vocab_size
    model: Any = tiny(vocab_size=20, tgt_vocab_size=size, tied="none", seed=seed)
    with torch.no_grad():
        model.output_weight.mul_(more)
    assert isinstance(model, Seq2Seq)
    return model


def search(
    model: Seq2Seq,
    ids: Sequence[list[int]],
    config: SearchConfig,
    more: Sequence[str] = (),
    prefixes: Sequence[Sequence[int]] = (),
) -> list[list[Hypothesis]]:
    of_each = [Restrictions(rules(), more_characters=own) for own in more or [""] * len(ids)]
    src = pad(list(ids), model.src_pad, multiple=SOURCE_MULTIPLE)
    return beam_search(model, src, config, restrictions=of_each, prefixes=prefixes)


def check(tokens: Sequence[int], allowed: set[str]) -> int:
    """All bytes of a hypothesis spell allowed characters; return their number."""
    byte_of = {token: byte for byte, token in enumerate(tokenizer().target_bytes)}
    data = b"".join(
        bytes([byte_of[token]]) if token in byte_of else b"\n" for token in tokens
    ).decode("utf-8")  # raises an error for incomplete characters
    assert set(data) - {"\n"} <= allowed
    assert "\ufffd" not in tokenizer().decode_target([tokens])[0]
    return len(data.replace("\n", ""))


CONFIGS = {
    "greedy": SearchConfig(beam=1, max_extra=9),
    "beam 4": SearchConfig(beam=4, max_extra=9, n_best=4),
    "beam 8": SearchConfig(beam=8, max_extra=9, n_best=8, no_repeat_ngram=2),
    "sampling": SearchConfig(n_best=4, max_extra=9, sampling=SamplingConfig(temperature=3.0)),
    "top 1": SearchConfig(n_best=1, max_extra=9, sampling=SamplingConfig(top_k=1)),
}


# By default each length and each configuration twice.
@pytest.mark.parametrize(
    ("length", "config"), some([*product((None, 1, 2, 3, 4, 5), CONFIGS.values())])
)
def test_bytes_spell_complete_characters_of_the_targets(
    tiny: Tiny, sequences: Sequences, config: SearchConfig, length: int | None
) -> None:
    config, n_spelled = config.model_copy(update={"max_length": length}), 0
    for seed in range(3):
        for best in search(model_of_bytes(tiny, seed), sequences(5, seed=seed), config):
            for hypothesis in best:
                assert hypothesis.log_prob > -math.inf
                n_spelled += check(hypothesis.tokens, SPELLED)
    assert n_spelled


@pytest.mark.parametrize("config", [CONFIGS["beam 4"], CONFIGS["sampling"]])
def test_a_result_does_not_depend_on_the_other_sentences(
    tiny: Tiny, sequences: Sequences, config: SearchConfig
) -> None:
    model, ids = model_of_bytes(tiny, 1), sequences(6, seed=2)
    more = ["", "鳥", "", "x", "", ""]
    together = search(model, ids, config, more)
    assert together == [search(model, [i], config, [m])[0] for i, m in zip(ids, more, strict=True)]
    for best, own in zip(together, more, strict=True):
        for hypothesis in best:
            check(hypothesis.tokens, SPELLED | set(own))


def test_further_characters_may_be_spelled_for_one_sentence(tiny: Tiny) -> None:
    model, ids = model_of_bytes(tiny, 1), [[5, 6, EOS]] * 2
    prefix = [tokenizer().target_bytes[byte] for byte in "鳥".encode()]
    (with_prefix, without) = search(
        model, ids, CONFIGS["greedy"], ["鳥", ""], prefixes=[prefix, []]
    )
    assert list(with_prefix[0].tokens[:3]) == prefix
    assert "鳥" not in tokenizer().decode_target([without[0].tokens])[0]


@pytest.mark.parametrize("config", [CONFIGS["greedy"], CONFIGS["beam 4"], CONFIGS["sampling"]])
@pytest.mark.parametrize("extra", [0, 1, 2, 3, 9])
def test_characters_are_complete_together_with_slots(
    tiny: Tiny, config: SearchConfig, extra: int
) -> None:
    config = config.model_copy(update={"max_length": 2 + extra})
    for seed in some(range(3)):
        check_with_slots(model_of_bytes(tiny, seed), config, phrases=())


@pytest.mark.parametrize("config", [CONFIGS["greedy"], CONFIGS["beam 4"]])
@pytest.mark.parametrize("extra", [2, 3, 9])
def test_characters_are_complete_together_with_slots_and_phrases(
    tiny: Tiny, config: SearchConfig, extra: int
) -> None:
    needed = PhraseVocabulary(tokenizer()).tokens_needed(["bad"], [])
    config = config.model_copy(update={"max_length": needed + 2 + extra})
    for seed in some(range(3)):
        check_with_slots(model_of_bytes(tiny, seed), config, phrases=("bad",))


def check_with_slots(model: Seq2Seq, config: SearchConfig, *, phrases: Sequence[str]) -> None:
    """Search for two slots in the first sentence and one in the second."""
    kinds = [UNK, *tokenizer().target_slots.values()]
    slot = tokenizer().target_slots[SLOTS[2]]

    def restrictions(required: Sequence[int]) -> Restrictions:
        constraints: list[Constraint] = []
        if phrases:
            constraints.append(phrase_constraint(PhraseVocabulary(tokenizer()), phrases, []))
        return Restrictions(rules(), constraints, required)

    src = pad([[5, 6, 7, EOS], [8, 9, EOS]], model.src_pad, multiple=SOURCE_MULTIPLE)
    of_each = [restrictions([slot, slot]), restrictions([slot])]
    found = beam_search(model, src, config, restrictions=of_each)
    for best, n in zip(found, (2, 1), strict=True):
        for hypothesis in best:
            assert hypothesis.log_prob > -math.inf
            check(hypothesis.tokens, SPELLED)
            assert [token for token in hypothesis.tokens if token in kinds] == [slot] * n
            text = tokenizer().decode_target([hypothesis.tokens])[0]
            assert all(phrase in text for phrase in phrases)


def test_only_bytes_that_continue_a_character_may_follow_its_beginning() -> None:
    constraint = CharacterConstraint(table())
    first, second, third = (tokenizer().target_bytes[byte] for byte in "犬".encode())
    n = tokenizer().tgt_vocab_size - 1
    begin = {character.encode()[0] for character in SPELLED}
    others = set(range(n)) - set(tokenizer().target_bytes)
    allowed = {tokenizer().target_bytes[byte] for byte in begin} | others
    assert constraint.allowed(np.array([9])).shape == (1, n)
    assert set(np.flatnonzero(constraint.allowed(np.array([9]))).tolist()) == allowed
    constraint.follow(np.array([0, 0]), np.array([first, 2]))
    constraint.follow(np.array([1, 0]), np.array([2, second]))
    following = constraint.allowed(np.array([8, 8]))
    assert set(np.flatnonzero(following[0]).tolist()) == allowed
    assert np.flatnonzero(following[1]).tolist() == [third]
    constraint.follow(np.array([1, 1, 1]), np.array([third] * 3))
    assert constraint.nodes.tolist() == [0, 0, 0]


def test_a_character_begins_only_if_there_is_room_for_it_and_eos() -> None:
    constraint, of = CharacterConstraint(table()), tokenizer().target_bytes
    for left in range(1, 7):
        flags = constraint.allowed(np.array([left]))[0]
        for character in SPELLED:
            data = character.encode()
            assert flags[of[data[0]]] == (len(data) < left)


def test_a_text_token_ends_an_incomplete_character() -> None:
    """As in a forced prefix, whose tokens are not restricted."""
    constraint, of = CharacterConstraint(table()), tokenizer().target_bytes
    for token in ("犬".encode()[0], 0xFF, 0x80):
        constraint.follow(np.array([0]), np.array([of[token]]))
    assert constraint.nodes.tolist() == [0]
    constraint.follow(np.array([0]), np.array([of["犬".encode()[0]]]))
    constraint.follow(np.array([0]), np.array([2]))
    assert constraint.nodes.tolist() == [0]


def test_characters_that_cannot_be_printed_are_not_spelled() -> None:
    assert not any(map(may_be_generated, " \n\u200b\ufffd\ue000\x00"))
    assert all(map(table().spells, SPELLED))
    assert not any(map(table().spells, "fè鳥\u200b\ufffd \u0300"))


def test_a_table_is_extended_by_further_characters_only() -> None:
    longer = table().extended("鳥狗f")
    assert all(map(longer.spells, SPELLED | set("鳥狗f")))
    assert not any(map(table().spells, "鳥狗f"))
    assert not longer.spells("g")
    assert table().extended("".join(SPELLED)) is table()
    spelled = list(map(str.encode, SPELLED))
    assert len(table().next) == len({data[:i] for data in spelled for i in range(len(data))})


# ---- what a vocabulary may generate --------------------------------------------------------------


def test_unknown_and_placeholder_tokens_and_other_bytes_are_not_generated_by_default() -> None:
    begin = {character.encode()[0] for character in SPELLED}
    expected = {UNK, *tokenizer().target_slots.values()}
    expected |= {i for byte, i in enumerate(tokenizer().target_bytes) if byte not in begin}
    assert set(np.flatnonzero(~rules().allowed).tolist()) == expected
    assert len(expected) > 100


def test_a_sentence_without_requirements_shares_the_default_tokens() -> None:
    plain, first = Restrictions(rules()), tokenizer().target_bytes["犬".encode()[0]]
    assert plain.is_plain and not plain.has_goal
    assert plain.allowed(5) is rules().allowed
    assert plain.allowed(4) is not rules().allowed
    plain.follow(np.array([0, 0]), np.array([2, first]))
    assert plain.allowed(9)[1].sum() == 2  # 猫 and 犬
    assert (plain.allowed(9)[0] == rules().allowed).all()
    plain.follow(np.array([0]), np.array([2]))
    assert plain.allowed(9) is rules().allowed
    assert Restrictions(rules(), more_characters="猫ß").is_plain
    for other in (
        Restrictions(rules(), more_characters="鳥"),
        Restrictions(rules(), required=[UNK]),
        Restrictions(rules(), [phrase_constraint(PhraseVocabulary(tokenizer()), [], ["bad"])]),
    ):
        assert not other.is_plain and other.allowed(9) is not rules().allowed
