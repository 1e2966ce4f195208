"""Beam search compared with a naive loop, with all possible translations, and with itself."""

import math
import random
from collections.abc import Callable
from itertools import cycle, product
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.cases import THOROUGH, some
from yakusu.data.batches import pad
from yakusu.data.vocabulary import EOS, UNK
from yakusu.model.base import Seq2Seq
from yakusu.model.linear import SOURCE_MULTIPLE
from yakusu.search import beam as search_module
from yakusu.search.beam import beam_search
from yakusu.search.candidates import top_k
from yakusu.search.config import SearchConfig
from yakusu.search.hypothesis import Hypothesis, length_penalty

Tiny = Callable[..., Seq2Seq]
Sequences = Callable[..., list[list[int]]]


def never_stop(self: object, row: int, best_open: float) -> bool:
    return best_open > -math.inf


def sharpened(model: Any, factor: float) -> Seq2Seq:
    """Scale the output weights of a model, so that its hypotheses differ clearly."""
    with torch.no_grad():
        model.output_weight.mul_(factor)
    assert isinstance(model, Seq2Seq)
    return model


def padded(model: Seq2Seq, ids: list[list[int]]) -> Tensor:
    """Pad sentences to a batch as the translator does."""
    return pad(ids, model.src_pad, multiple=SOURCE_MULTIPLE)


def naive_greedy(model: Seq2Seq, ids: list[int], limit: int) -> tuple[list[int], float]:
    memory, tokens, log_prob = model.encode(torch.tensor([ids])), [model.tgt_pad], 0.0
    while len(tokens) <= limit:
        log_p = model.decode(torch.tensor([tokens]), memory)[0, -1].log_softmax(dim=-1)
        choice = log_p.index_fill(0, torch.tensor([UNK]), -torch.inf).argmax()
        tokens.append(EOS if len(tokens) == limit else int(choice))
        log_prob += log_p[tokens[-1]].item()
        if tokens[-1] == EOS:
            break
    return [token for token in tokens[1:] if token != EOS], log_prob


# ---- greedy search -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_a_beam_of_one_equals_a_naive_greedy_loop_over_decode(
    tiny: Tiny, sequences: Sequences, alpha: float
) -> None:
    model = sharpened(tiny(vocab_size=20, tied="none"), 4.0)
    ids = sequences(20, seed=3, vocab_size=20)
    config = SearchConfig(beam=1, alpha=alpha, max_extra=4, max_repeats=0)
    with torch.inference_mode():
        for sentence, found in zip(
            ids, beam_search(model, padded(model, ids), config), strict=True
        ):
            tokens, log_prob = naive_greedy(model, sentence, limit=len(sentence) + 4)
            assert [list(h.tokens) for h in found] == [tokens]
            assert found[0].log_prob == pytest.approx(log_prob, abs=1e-4)


def test_beam_search_copies_what_the_model_learnt_to_copy(copy_task: Any) -> None:
    src = padded(copy_task.model, copy_task.unseen)
    found = beam_search(copy_task.model, src, SearchConfig())
    exact = sum(
        [*best[0].tokens, EOS] == ids for best, ids in zip(found, copy_task.unseen, strict=True)
    )
    assert exact >= 0.98 * len(found)


# ---- beam search ---------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("seed", some(range(4)))
def test_a_beam_wide_enough_finds_every_possible_translation(
    tiny: Tiny, alpha: float, seed: int
) -> None:
    # One source token, at most two more than that: 3 outputs besides eos and unk, up to 3 tokens.
    model = sharpened(tiny(vocab_size=6, tied="none", seed=seed), 3.0)
    src = torch.tensor([[2, EOS]])
    config = SearchConfig(beam=200, n_best=200, alpha=alpha, max_extra=2, max_repeats=0)
    found = {h.tokens: h for h in beam_search(model, src, config)[0] if len(h.tokens) <= 3}
    assert len(found) == 1 + 3 + 9 + 27
    with torch.inference_mode():
        memory = model.encode(src)
        for length in range(4):
            for tokens in product((2, 3, 4), repeat=length):
                tgt = torch.tensor([[*tokens, EOS]])
                tgt_in = torch.tensor([[model.tgt_pad, *tokens]])
                log_p = model.decode(tgt_in, memory).log_softmax(dim=-1)
                log_prob = log_p.gather(2, tgt[:, :, None]).sum().item()
                penalty = ((5 + length + 1) / 6) ** alpha
                assert found[tokens].log_prob == pytest.approx(log_prob, abs=1e-4)
                assert found[tokens].score == pytest.approx(log_prob / penalty, abs=1e-4)


@pytest.mark.parametrize("beam", [2, 4, 7])
def test_the_log_probability_of_a_hypothesis_is_that_of_decode(
    tiny: Tiny, sequences: Sequences, beam: int
) -> None:
    model = sharpened(tiny(vocab_size=20, tied="none", seed=1), 3.0)
    ids = sequences(10, seed=4, vocab_size=20)
    found = beam_search(model, padded(model, ids), SearchConfig(beam=beam, n_best=beam))
    with torch.inference_mode():
        for sentence, hypotheses in zip(ids, found, strict=True):
            memory = model.encode(torch.tensor([sentence]))
            for h in hypotheses:
                if len(h.tokens) > len(sentence) - 1 + 50:
                    continue
                tgt = torch.tensor([[*h.tokens, EOS]])
                tgt_in = torch.tensor([[model.tgt_pad, *h.tokens]])
                log_p = model.decode(tgt_in, memory).log_softmax(dim=-1)
                expected = log_p.gather(2, tgt[:, :, None]).sum().item()
                assert h.log_prob == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_the_length_penalty_is_that_of_wu_et_al() -> None:
    assert length_penalty(1, 0.6) == 1
    assert length_penalty(19, 0.6) == pytest.approx(2.2973967)  # 4^0.6
    assert length_penalty(7, 1.0) == 2
    assert length_penalty(30, 0.0) == 1


def test_the_score_is_the_log_probability_divided_by_the_length_penalty(
    copy_task: Any,
) -> None:
    src = padded(copy_task.model, copy_task.unseen[:10])
    for found in beam_search(copy_task.model, src, SearchConfig(n_best=4, max_extra=20)):
        for h in found:
            if len(h.tokens) < 15:
                expected = h.log_prob / length_penalty(len(h.tokens) + 1, 0.6)
                assert h.score == pytest.approx(expected)


@pytest.mark.parametrize("n_best", [1, 3, 4])
def test_hypotheses_are_distinct_and_sorted_by_score(copy_task: Any, n_best: int) -> None:
    src = padded(copy_task.model, copy_task.unseen[:20])
    config = SearchConfig(n_best=n_best, max_extra=10)
    for found in beam_search(copy_task.model, src, config):
        assert len(found) == min(n_best, config.beam)
        scores = [h.score for h in found]
        assert scores == sorted(scores, reverse=True)
        assert len({h.tokens for h in found}) == len(found)


def test_a_longer_n_best_list_starts_with_the_shorter_one(copy_task: Any) -> None:
    src = padded(copy_task.model, copy_task.unseen[:20])
    one, four = (
        beam_search(copy_task.model, src, SearchConfig(n_best=n, max_extra=10)) for n in (1, 4)
    )
    assert [found[:1] for found in four] == one


@pytest.mark.parametrize("n_best", [1, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.5])
def test_stopping_early_changes_no_result_and_saves_steps(
    tiny: Tiny,
    sequences: Sequences,
    monkeypatch: pytest.MonkeyPatch,
    alpha: float,
    n_best: int,
) -> None:
    ids = sequences(40, seed=6, vocab_size=20)
    config = SearchConfig(alpha=alpha, n_best=n_best, max_extra=15)
    n_steps = 0
    step = search_module.BeamSearch.extend

    def counted(self: Any) -> None:
        nonlocal n_steps
        n_steps += len(self.sentences)
        step(self)

    monkeypatch.setattr(search_module.BeamSearch, "extend", counted)
    for seed in range(2):
        model = sharpened(tiny(vocab_size=20, tied="none", seed=seed), 3.0)
        # Let eos be likely, so that sentences end at all lengths.
        model.output_weight.data[EOS] += 0.3 * model.output_weight.data.mean(dim=0)
        early = beam_search(model, padded(model, ids), config)
        n_early, n_steps = n_steps, 0
        with monkeypatch.context() as patch:
            patch.setattr(search_module.BeamSearch, "_can_improve", never_stop)
            full = beam_search(model, padded(model, ids), config)
        assert early == full
        assert n_early <= n_steps
        n_steps = 0


def test_stopping_early_saves_steps_of_a_confident_model(
    copy_task: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    src, config = padded(copy_task.model, copy_task.unseen[:20]), SearchConfig()
    rows: list[int] = []
    close = search_module.BeamSearch.close_sentences

    def watched(self: Any) -> None:
        rows.append(sum(sentence >= 0 for sentence in self.sentences))
        close(self)

    monkeypatch.setattr(search_module.BeamSearch, "close_sentences", watched)
    early = beam_search(copy_task.model, src, config)
    n_early = sum(rows)
    rows.clear()
    monkeypatch.setattr(search_module.BeamSearch, "_can_improve", never_stop)
    assert beam_search(copy_task.model, src, config) == early
    assert n_early < sum(rows)


# ---- length --------------------------------------------------------------------------------------


def endless(model: Any) -> Seq2Seq:
    """Make eos very unlikely."""
    with torch.no_grad():  # post-norm states have mean zero; the bias gives them a direction
        model.decoder[-1].residuals[-1].norm.bias.copy_(-model.output_weight[EOS] * 1e3)
    assert isinstance(model, Seq2Seq)
    return model


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("max_extra", [0, 3])
def test_a_translation_is_at_most_max_extra_tokens_longer_than_its_source(
    tiny: Tiny, beam: int, max_extra: int
) -> None:
    model = endless(tiny(tied="none"))
    ids = [[3, EOS], [3, 4, 5, 6, 7, 8, EOS], [5, 6, EOS]]
    config = SearchConfig(beam=beam, max_extra=max_extra)
    found = beam_search(model, padded(model, ids), config)
    lengths = [len(best[0].tokens) for best in found]
    assert lengths == [len(sentence) - 1 + max_extra for sentence in ids]


def test_a_translation_is_never_longer_than_max_length(tiny: Tiny) -> None:
    model = endless(tiny(tied="none", positions="learned", max_positions=16))
    found = beam_search(model, padded(model, [[3, 4, EOS]]), SearchConfig())
    assert len(found[0][0].tokens) <= model.max_length
    assert len(found[0][0].tokens) >= model.max_length - 1


# ---- a sentence does not depend on its batch -----------------------------------------------------


POOL = 16 if THOROUGH else 10  # sentences to draw batches from
LONGEST = None if THOROUGH else 20  # tokens of an output: more than the 16 of a padded block
LONG = (127, 140, 205, 310, 490, 1024) if THOROUGH else (127, 140, 310, 1024)  # tokens


def mixed_sentences(sequences: Sequences, vocab_size: int) -> list[list[int]]:
    """Sentences of 1 to 40 tokens, so that batches are padded to 16, 32 and 48."""
    short = sequences(6, seed=8, vocab_size=vocab_size)
    long = [ids for ids in sequences(60, seed=9, vocab_size=vocab_size, longest=40) if len(ids) > 9]
    return [[3, EOS], [4, EOS], *short, *long][:POOL]


Searched = tuple[Seq2Seq, list[list[int]], list[list[Hypothesis]]]


@pytest.fixture(scope="module")
def searched() -> Callable[..., Searched]:
    """Remembers a model, its sentences and what a search finds for each sentence by itself."""
    known: dict[tuple[str, SearchConfig], Searched] = {}

    def find(name: str, config: SearchConfig, make: Callable[[], Searched]) -> Searched:
        if (name, config) not in known:
            known[name, config] = make()
        return known[name, config]

    return find


MODELS: dict[str, dict[str, Any]] = {
    "copy": {},
    "random": {"vocab_size": 50, "d_model": 64, "d_ff": 96, "n_heads": 4},
    "packed weights": {
        "vocab_size": 1500,
        "n_layers": 1,
        "d_model": 256,
        "d_ff": 512,
        "n_heads": 4,
    },
    "convolutional": {
        "name": "convolutional",
        "vocab_size": 50,
        "d_model": 64,
        "d_conv": 208,
        "dilations": (1, 3),
    },
    "bytenet": {"name": "bytenet", "vocab_size": 50, "d_model": 64, "n_layers": 5},
    "gnmt": {
        "name": "recurrent",
        "vocab_size": 50,
        "d_model": 64,
        "n_layers": 4,
        "residual": True,
        "decoder": "gnmt",
        "attention": "additive",
    },
    "large vocabulary": {"vocab_size": 1500, "d_model": 32, "norm": "pre"},
    "uneven heads": {
        "vocab_size": 30,
        "d_model": 40,
        "d_ff": 56,
        "n_heads": 5,
        "d_k": 16,
        "d_v": 8,
    },
    "odd widths": {
        "vocab_size": 31,
        "d_model": 38,
        "d_ff": 51,
        "n_heads": 5,
        "d_k": 7,
        "d_v": 3,
    },
    "recurrent": {"name": "recurrent", "vocab_size": 50, "d_model": 64},
    "recurrent, wide": {
        "name": "recurrent",
        "vocab_size": 1500,
        "d_model": 256,
        "attention": "additive",
    },
    "recurrent, fixed vector": {
        "name": "recurrent",
        "vocab_size": 50,
        "d_model": 48,
        "attention": "none",
    },
}
VARIANTS: dict[str, dict[str, Any]] = {
    "restricted, additive": {"mixing": "restricted", "neighbourhood": 7, "score": "additive"},
    "convolution": {"mixing": "convolution"},
    "additive": {"score": "additive"},
    "recurrence": {"mixing": "recurrent"},
    "experts": {"n_experts": 4},
}


BEAMS = (
    *((name, beam) for name in MODELS for beam in (1, 4)),
    *((name, 5) for name in ("random", "packed weights", "recurrent")),
    *((name, beam) for name in VARIANTS for beam in (1, 4)),
)
ALTERNATING = tuple(zip([*MODELS, *VARIANTS], cycle((1, 4)), strict=False))  # each model once


@pytest.mark.parametrize(("name", "beam"), BEAMS if THOROUGH else ALTERNATING[::2])
@settings(
    deadline=None,
    max_examples=1,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(chosen=st.lists(st.integers(0, POOL - 1), min_size=1, max_size=24))
@example(chosen=list(range(POOL)))
@example(chosen=[*range(POOL)][::-3])
@example(chosen=[0] * 13)
def test_output_is_bit_identical_for_any_batch_size_and_order(
    copy_task: Any,
    tiny: Tiny,
    sequences: Sequences,
    searched: Callable[..., Searched],
    name: str,
    beam: int,
    chosen: list[int],
) -> None:
    config = SearchConfig(beam=beam, n_best=beam, max_extra=6, max_length=LONGEST)

    def make() -> Searched:
        sizes = {**MODELS, **VARIANTS}[name]
        model = sharpened(tiny(tied="none", **sizes), 3.0) if sizes else copy_task.model
        ids = mixed_sentences(sequences, model.src_vocab_size)
        alone = [beam_search(model, padded(model, [sentence]), config)[0] for sentence in ids]
        return model, ids, alone

    model, ids, alone = searched(name, config, make)
    together = beam_search(model, padded(model, [ids[i] for i in chosen]), config)
    different = [i for i, found in zip(chosen, together, strict=True) if found != alone[i]]
    assert not different


@pytest.mark.parametrize("name", some([*MODELS, *VARIANTS]))
def test_long_sentences_do_not_depend_on_their_batch(copy_task: Any, tiny: Tiny, name: str) -> None:
    sizes = {**MODELS, **VARIANTS}[name]
    longest = {"max_positions": 1024} if sizes.get("name") == "convolutional" else {}
    model = tiny(tied="none", **sizes, **longest) if sizes else copy_task.model
    quadratic = "additive" in (sizes.get("score"), sizes.get("attention"))  # in memory
    lengths = [n for n in LONG if n <= (310 if quadratic else model.max_length)]
    numbers = random.Random(1)
    ids = [
        [*(numbers.randrange(2, model.src_vocab_size - 1) for _ in range(n - 1)), EOS]
        for n in lengths
    ]
    config = SearchConfig(beam=2, n_best=2, max_length=3)
    together = beam_search(model, padded(model, [*ids, *ids[:2], *ids[::-1]]), config)
    pairs = [beam_search(model, padded(model, [own, own, [3, EOS]]), config)[0] for own in ids]
    alone = [beam_search(model, padded(model, [own]), config)[0] for own in ids]
    assert together[: len(ids)] == together[: len(ids) + 1 : -1] == alone == pairs


# ---- top_k ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [50, 1023, 1024, 1025, 1500, 8191])
@pytest.mark.parametrize("k", [1, 4, 17])
def test_top_k_equals_torch_topk(n: int, k: int) -> None:
    values = torch.randn(3, 5, n, generator=torch.Generator().manual_seed(n))
    best, ids = top_k(values, k)
    expected = values.topk(k, dim=-1)
    assert torch.equal(best, expected.values)
    assert torch.equal(ids, expected.indices)


@pytest.mark.parametrize("place", [0, 127, 128, 1151, 1152, 1199])
def test_top_k_finds_the_largest_value_at_any_index(place: int) -> None:
    values = torch.zeros(1, 1200)  # 9 blocks and a rest of 48
    values[0, place] = 1.0
    best, ids = top_k(values, 4)
    assert (best[0, 0].item(), ids[0, 0].item()) == (1.0, place)


@settings(deadline=None, max_examples=60, derandomize=True)
@given(n=st.integers(1, 70), k=st.integers(1, 12), levels=st.integers(1, 4), seed=st.integers(0))
def test_top_k_of_tied_values_returns_distinct_valid_indices(
    n: int, k: int, levels: int, seed: int
) -> None:
    rng = torch.Generator().manual_seed(seed % 2**63)
    values = torch.randint(levels, (4, n), generator=rng).float()
    values[:, 0] = -torch.inf
    k = min(k, n)
    best, ids = top_k(values, k, block=4)
    assert torch.equal(best, values.topk(k, dim=-1).values)
    assert torch.equal(values.gather(1, ids), best)
    assert all(len(set(row)) == k for row in ids.tolist())


def test_an_n_best_list_longer_than_the_beam_is_refused() -> None:
    with pytest.raises(ValueError, match="n_best = 9 exceeds beam = 4"):
        SearchConfig(n_best=9)
