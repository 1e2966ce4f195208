"""Byte tokens spell complete characters of the training targets, and nothing else."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest
import torch

from yakusu.data.batches import pad
from yakusu.data.coverage import Coverage
from yakusu.data.placeholders import SLOTS
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search.beam import Hypothesis, beam_search
from yakusu.search.characters import (
    CharacterConstraint,
    Spellings,
    may_be_generated,
    with_characters,
)
from yakusu.search.config import SamplingConfig, SearchConfig
from yakusu.search.phrases import phrase_constraint
from yakusu.search.slots import SlotGoal
from yakusu.search.spelling import PhraseVocabulary

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
CPU = torch.device("cpu")
SEEN = "abcdeé猫犬😀\u0301ß \u200b\ufffd"
SPELLED = set("abcdeé猫犬😀\u0301ß")  # neither spaces, control characters nor U+FFFD


@cache
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(vocab_size=294)
    one = Tokenizer.train(["abc de bad cab ace"] * 20, [], config, seed=1)
    one.coverage = Coverage(source_characters="", target_characters=SEEN, longest_source=9)
    return one


@cache
def spellings() -> Spellings:
    return Spellings(tokenizer())


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
    **own: Any,
) -> list[list[Hypothesis]]:
    constraint = CharacterConstraint(
        spellings(), more or [""] * len(ids), n_beams=config.n_slots, device=CPU
    )
    src = pad(list(ids), model.src_pad, multiple=SOURCE_MULTIPLE)
    constraints = [constraint, *own.pop("constraints", [])]
    return beam_search(model, src, config, constraints=constraints, **own)


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


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("length", [None, 1, 2, 3, 4, 5])
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
    for seed in range(3):
        check_with_slots(model_of_bytes(tiny, seed), config, phrases=())


@pytest.mark.parametrize("config", [CONFIGS["greedy"], CONFIGS["beam 4"]])
@pytest.mark.parametrize("extra", [2, 3, 9])
def test_characters_are_complete_together_with_slots_and_phrases(
    tiny: Tiny, config: SearchConfig, extra: int
) -> None:
    needed = PhraseVocabulary(tokenizer()).tokens_needed(["bad"], [])
    config = config.model_copy(update={"max_length": needed + 2 + extra})
    for seed in range(3):
        check_with_slots(model_of_bytes(tiny, seed), config, phrases=("bad",))


def check_with_slots(model: Seq2Seq, config: SearchConfig, *, phrases: Sequence[str]) -> None:
    """Search for two slots in the first sentence and one in the second."""
    kinds = [UNK, *tokenizer().target_slots.values()]
    slot, k = tokenizer().target_slots[SLOTS[2]], config.n_slots
    constraint = phrase_constraint(
        PhraseVocabulary(tokenizer()), [phrases] * 2, [[]] * 2, n_beams=k, device=CPU
    )
    found = search(
        model,
        [[5, 6, 7, EOS], [8, 9, EOS]],
        config,
        constraints=[constraint] if phrases else [],
        slots=SlotGoal([[slot, slot], [slot]], kinds, n_beams=k, device=CPU),
    )
    for best, n in zip(found, (2, 1), strict=True):
        for hypothesis in best:
            assert hypothesis.log_prob > -math.inf
            check(hypothesis.tokens, SPELLED)
            assert [token for token in hypothesis.tokens if token in kinds] == [slot] * n
            text = tokenizer().decode_target([hypothesis.tokens])[0]
            assert all(phrase in text for phrase in phrases)


def test_allowed_tokens_keep_their_logits() -> None:
    constraint = CharacterConstraint(spellings(), [""], n_beams=2, device=CPU)
    first, second, third = (tokenizer().target_bytes[byte] for byte in "犬".encode())
    n = tokenizer().tgt_vocab_size - 1
    before = torch.randn(1, 2, n)
    constraint.restrict(logits := before.clone(), torch.tensor([[9, 9]]))
    begin = {character.encode()[0] for character in SPELLED}
    others = set(range(n)) - set(tokenizer().target_bytes)
    allowed = {tokenizer().target_bytes[byte] for byte in begin} | others
    assert set((logits[0, 0] > -torch.inf).nonzero()[:, 0].tolist()) == allowed
    assert torch.equal(logits[0, 0, list(allowed)], before[0, 0, list(allowed)])
    constraint.follow(torch.tensor([[0, 0]]), torch.tensor([[first, 2]]))
    constraint.follow(torch.tensor([[1, 0]]), torch.tensor([[2, second]]))
    constraint.restrict(logits := before.clone(), torch.tensor([[8, 8]]))
    assert (logits[0, 1] > -torch.inf).nonzero().tolist() == [[third]]
    assert logits[0, 1, third] == before[0, 1, third]
    constraint.follow(torch.tensor([[1, 1]]), torch.tensor([[third, third]]))
    assert constraint.begun == [[b"", b""]]


def test_characters_that_cannot_be_printed_are_not_spelled() -> None:
    assert not any(map(may_be_generated, " \n\u200b\ufffd\ue000\x00"))
    assert with_characters({}, "é") == {b"": {0xC3}, b"\xc3": {0xA9}}
    base = with_characters({}, "a")
    assert with_characters(base, "é")[b""] == {0x61, 0xC3}
    assert base == {b"": {0x61}}
