"""The probability of a given target: compared with the search, step by step, and with itself."""

import copy
import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu import scoring
from yakusu.data.batches import pad
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import EOS, UNK, TokenizerConfig
from yakusu.errors import DataError
from yakusu.model.base import SearchModel, Seq2Seq
from yakusu.model.ensemble import Ensemble
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.scoring import Scored, score_targets, token_log_probs
from yakusu.search.beam import beam_search
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import length_penalty
from yakusu.translator import Translator

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {"vocab_size": 50, "d_model": 64, "d_ff": 96, "n_heads": 4},
    "transformer, packed weights": {"vocab_size": 1500, "n_layers": 1, "d_model": 256},
    "transformer, additive": {"d_model": 32, "mixing": "restricted", "score": "additive"},
    "transformer, recurrence": {"d_model": 32, "mixing": "recurrent"},
    "transformer, experts": {"d_model": 32, "n_experts": 4},
    "convolutional": {"name": "convolutional", "vocab_size": 50, "d_model": 64, "d_conv": 64},
    "recurrent": {"name": "recurrent", "vocab_size": 50, "d_model": 64},
    "recurrent, fixed vector": {"name": "recurrent", "d_model": 48, "attention": "none"},
}


def random_model(tiny: Tiny, name: str) -> Seq2Seq:
    """A model whose output weights are scaled, so that its distributions are not uniform."""
    model: Any = tiny(tied="none", **MODELS[name])
    with torch.no_grad():
        model.output_weight.mul_(3.0)
    assert isinstance(model, Seq2Seq)
    return model


# ---- compared with the search --------------------------------------------------------------------


def equals_the_search(model: SearchModel, ids: list[list[int]], config: SearchConfig) -> None:
    """Score all hypotheses of a search.

    The search adds up single-precision numbers, whose error grows with the sum: hence the relative
    tolerance.
    """
    src = pad(ids, model.src_pad, multiple=SOURCE_MULTIPLE)
    found = beam_search(model, src, config)
    pairs = [(ids[i], [*h.tokens, EOS]) for i, best in enumerate(found) for h in best]
    scores = score_targets(model, [s for s, _ in pairs], [t for _, t in pairs])
    expected = [h.log_prob for best in found for h in best]
    assert [one.log_prob for one in scores] == pytest.approx(expected, abs=1e-5, rel=1e-6)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_log_probability_is_that_of_the_search_for_a_trained_model(
    copy_task: Any, beam: int
) -> None:
    config = SearchConfig(beam=beam, n_best=beam)
    equals_the_search(copy_task.model, copy_task.unseen[:40], config)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("name", MODELS)
def test_the_log_probability_is_that_of_the_search_for_long_outputs_of_random_models(
    tiny: Tiny, sequences: Sequences, name: str, beam: int
) -> None:
    model = random_model(tiny, name)
    ids = sequences(8, seed=9, vocab_size=model.src_vocab_size, longest=12)
    equals_the_search(model, ids, SearchConfig(beam=beam, n_best=beam, max_extra=40))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_log_probability_is_that_of_the_search_for_an_ensemble(
    tiny: Tiny, sequences: Sequences, beam: int
) -> None:
    ensemble = Ensemble([tiny(seed=1), tiny("recurrent", seed=2), tiny("convolutional", seed=3)])
    config = SearchConfig(beam=beam, n_best=beam, max_extra=20)
    equals_the_search(ensemble, sequences(12, seed=4), config)


def test_the_sum_agrees_with_double_precision_to_six_digits(
    tiny: Tiny, sequences: Sequences
) -> None:
    model = random_model(tiny, "transformer")
    (target,) = (ids for ids in sequences(80, seed=5, vocab_size=50, longest=60) if len(ids) == 61)
    source = [*target[:20], EOS]
    exact = copy.deepcopy(model).double()
    tgt_in = torch.tensor([[model.tgt_pad, *target[:-1]]])
    logits = exact.decode(tgt_in, exact.encode(torch.tensor([source])))[0]
    expected = logits.log_softmax(-1)[torch.arange(len(target)), target].sum().item()
    (found,) = score_targets(model, [source], [target])
    assert found.log_prob == pytest.approx(expected, rel=1e-6)


# ---- one batch -----------------------------------------------------------------------------------


def test_each_token_is_predicted_from_the_tokens_before_it(
    tiny: Tiny, sequences: Sequences
) -> None:
    model = random_model(tiny, "transformer")
    source, target = sequences(2, seed=6, vocab_size=50)
    state, prev, expected = model.start(model.encode(torch.tensor([source])), 1), model.tgt_pad, []
    for token in target:
        logits, state = model.step(torch.tensor([[prev]]), state)
        expected.append(logits[0, 0].log_softmax(-1)[token].item())
        prev = token
    found = token_log_probs(model, torch.tensor([source]), torch.tensor([target]))
    torch.testing.assert_close(found.log_probs, torch.tensor([expected]))


def test_padding_has_log_probability_zero(tiny: Tiny) -> None:
    model = tiny(vocab_size=12)
    src, tgt = torch.tensor([[3, EOS], [4, EOS]]), torch.tensor([[3, 4, EOS], [EOS, 11, 11]])
    found = token_log_probs(model, src, tgt)
    assert (found.log_probs[1, 1:] == 0).all() and (found.log_probs[0] < 0).all()


def test_alternatives_are_the_most_probable_tokens_of_each_position(tiny: Tiny) -> None:
    model = tiny(vocab_size=12)
    src, tgt = torch.tensor([[3, 4, EOS]]), torch.tensor([[5, 6, 7, EOS]])
    found = token_log_probs(model, src, tgt, alternatives=99)
    assert found.best_ids.shape == (1, 4, 11)  # every token but padding
    torch.testing.assert_close(found.best_log_probs.exp().sum(-1), torch.ones(1, 4))
    assert (found.best_log_probs.diff(dim=-1) <= 0).all()
    own = found.best_log_probs[found.best_ids == tgt[:, :, None]]
    assert torch.equal(own, found.log_probs.flatten())
    few = token_log_probs(model, src, tgt, alternatives=2)
    assert torch.equal(few.best_ids, found.best_ids[:, :, :2])


# ---- many pairs ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_score_is_bit_identical_for_any_batch_size_and_order(
    tiny: Tiny, sequences: Sequences, name: str
) -> None:
    model, rng = random_model(tiny, name), random.Random(1)
    sources = sequences(16, seed=9, vocab_size=model.src_vocab_size, longest=40)
    targets = sequences(16, seed=10, vocab_size=model.src_vocab_size, longest=40)
    alone = [
        score_targets(model, [source], [target], alternatives=2)[0]
        for source, target in zip(sources, targets, strict=True)
    ]
    for size, batch in ((16, 64), (3, 2), (40, 7), (90, 64)):
        chosen = [rng.randrange(16) for _ in range(size)]
        found = score_targets(
            model,
            [sources[i] for i in chosen],
            [targets[i] for i in chosen],
            alternatives=2,
            batch=batch,
        )
        assert found == [alone[i] for i in chosen]


def test_a_batch_holds_equal_padded_lengths_at_least_two_sentences_and_few_logits(
    tiny: Tiny, sequences: Sequences, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, shapes = tiny(vocab_size=12), []

    def watched(model: SearchModel, src: Tensor, tgt: Tensor, **options: int) -> Any:
        shapes.append((*src.shape, *tgt.shape))
        return token_log_probs(model, src, tgt, **options)

    monkeypatch.setattr(scoring, "token_log_probs", watched)
    monkeypatch.setattr(scoring, "_MAX_LOGITS", 12 * 16 * 5)
    sources, targets = sequences(30, seed=1, longest=20), sequences(30, seed=2, longest=40)
    score_targets(model, sources, targets)
    assert all(n == n_tgt and s % 16 == t % 16 == 0 for n, s, n_tgt, t in shapes)
    assert {(n <= 5 if t == 16 else n <= 2) and n >= 2 for n, _, _, t in shapes} == {True}


def test_a_model_with_learned_positions_scores_targets_of_its_maximum_length(tiny: Tiny) -> None:
    model = tiny(positions="learned", max_positions=20)
    (found,) = score_targets(model, [[*[3] * 19, EOS]], [[*[4] * 19, EOS]])
    assert len(found.token_log_probs) == 20


# ---- text ----------------------------------------------------------------------------------------


WORDS = ("the", "red", "boat", "sails", "home", "slowly", "under", "two", "small", "clouds")
SENTENCES = [" ".join(words) for n in (1, 2, 3) for words in itertools.permutations(WORDS[:5], n)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    corpus = [" ".join(words) for words in itertools.permutations(WORDS, 3)]
    return Tokenizer.train(
        corpus,
        corpus,
        TokenizerConfig(byte_fallback=False, placeholder_share=0, vocab_size=48),
        seed=1,
    )


@pytest.fixture
def ours(tokenizer: Tokenizer, tiny: Tiny) -> Translator:
    model = tiny(vocab_size=tokenizer.src_vocab_size, d_model=32, n_heads=4)
    search = SearchConfig(max_extra=5)
    return Translator(model, tokenizer, languages=("en", "xx"), search=search)


def score_one(translator: Translator, source: str, target: str, **options: Any) -> Scored:
    (found,) = translator.score([source], [target], **options)
    return found


def test_scores_come_in_order_and_do_not_depend_on_batch_and_window(ours: Translator) -> None:
    targets = SENTENCES[::-1]
    whole = list(ours.score(SENTENCES, targets))
    assert whole == list(ours.score(SENTENCES, targets, batch=3, window=10))
    assert whole[7] == score_one(ours, SENTENCES[7], targets[7])


def test_the_fields_of_a_score_agree_with_each_other(ours: Translator) -> None:
    found = score_one(ours, "the red boat", "two small clouds", alternatives=3)
    assert found.log_prob == math.fsum(found.token_log_probs)
    assert found.score == found.log_prob / length_penalty(found.n_tokens, ours.search.alpha)
    assert found.n_tokens == len(found.tokens) == len(found.token_log_probs)
    assert "".join(found.tokens) == "▁two▁small▁clouds</s>"
    assert [len(best) for best in found.alternatives] == [3] * found.n_tokens


def test_the_stream_reads_only_one_window_ahead(ours: Translator) -> None:
    n_read = 0

    def endless() -> Iterator[str]:
        nonlocal n_read
        for sentence in itertools.cycle(SENTENCES):
            n_read += 1
            yield sentence

    found = ours.score(endless(), itertools.cycle(["home"]), batch=2, window=6)
    assert n_read == 0
    for _ in range(7):
        next(found)
    assert n_read == 12


def test_an_empty_side_is_only_the_end_of_the_sentence(ours: Translator) -> None:
    for source, target in (("the boat", ""), ("", " "), ("", "home")):
        found = score_one(ours, source, target)
        ids = ours.tokenizer.encode_source([source])[0], ours.tokenizer.encode_target([target])[0]
        (expected,) = score_targets(ours.model, [ids[0]], [ids[1]])
        assert found.log_prob == expected.log_prob
    assert score_one(ours, "", "").tokens == ("</s>",)


def test_a_character_outside_the_vocabulary_is_scored_as_the_unknown_token(
    ours: Translator,
) -> None:
    (ids,) = ours.tokenizer.encode_target(["home 訳"])
    assert UNK in ids
    found = score_one(ours, "the boat", "home 訳")
    (source,) = ours.tokenizer.encode_source(["the boat"])
    assert found.log_prob == score_targets(ours.model, [source], [ids])[0].log_prob
    assert "訳" in found.tokens


def test_text_that_is_too_long_is_refused_with_its_line_and_the_limit(ours: Translator) -> None:
    ours.max_source_tokens = 6
    long = " ".join(SENTENCES[60:64])
    n_tokens = len(ours.tokenizer.encode_source([long])[0])
    for source, target, side, most in ((long, "home", "source", 6), ("home", long, "target", 11)):
        message = (
            f"line 3: the {side} has {n_tokens} tokens, more than the maximum of {most}: split"
        )
        with pytest.raises(DataError, match=message):
            list(ours.score(["the", "red", source], ["the", "red", target], window=2))


def test_the_longest_target_is_that_of_the_search(ours: Translator) -> None:
    target = " ".join(SENTENCES[60:64])
    n_tokens = len(ours.tokenizer.encode_target([target])[0])
    ours.max_source_tokens = n_tokens - ours.search.max_extra
    assert score_one(ours, "the", target).n_tokens == n_tokens
    ours.max_source_tokens -= 1
    with pytest.raises(DataError, match=f"the target has {n_tokens} tokens"):
        score_one(ours, "the", target)


def test_different_numbers_of_sources_and_targets_are_refused_with_both(ours: Translator) -> None:
    for n_src, n_tgt in ((2, 3), (3, 2)):
        with pytest.raises(DataError) as error:
            list(ours.score(["the"] * n_src, ["red"] * n_tgt))
        assert str(error.value) == (
            f"the sources and the targets differ in length ({n_src} and {n_tgt} lines): align them "
            "line by line"
        )


def test_a_string_in_place_of_sentences_is_a_type_error(ours: Translator) -> None:
    with pytest.raises(TypeError, match=r"pass \[sentence\]"):
        list(ours.score("the boat", ["home"]))
