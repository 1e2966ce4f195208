"""The LSTM compared with torch's, attention with its formulas, sizes counted by hand."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.cases import some
from yakusu.data.vocabulary import EOS
from yakusu.model.config import RecurrentConfig
from yakusu.model.recurrent import LuongAttention, Recurrent
from yakusu.training.step import ModelLoss

V, D = 12, 16
SCALE = 4.0  # sqrt(D)
SCORES = ("dot", "general", "additive")
LENGTHS = [2, 7, 5]


def made(*, vocab_size: int = V, **sizes: Any) -> Recurrent:
    torch.manual_seed(0)
    config = RecurrentConfig(**{"d_model": D, **sizes})
    return Recurrent(config, src_vocab_size=vocab_size, tgt_vocab_size=vocab_size).eval()


def n_parameters(vocab_size: int, **sizes: Any) -> int:
    with torch.device("meta"):
        return sum(p.numel() for p in made(vocab_size=vocab_size, **sizes).parameters())


@pytest.fixture
def src() -> Tensor:
    """Three sentences (B, S), padded."""
    ids = torch.randint(2, V - 1, (3, max(LENGTHS)), generator=torch.Generator().manual_seed(1))
    for row, length in zip(ids, LENGTHS, strict=True):
        row[length - 1], row[length:] = EOS, V - 1
    return ids


@pytest.fixture
def tgt() -> Tensor:
    return torch.randint(0, V - 1, (3, 6), generator=torch.Generator().manual_seed(2))


def torchs(*cells: nn.LSTMCell) -> nn.LSTM:
    """torch's LSTM of one layer with the weights of one cell, or of one cell per direction."""
    sizes = cells[0].input_size, cells[0].hidden_size
    lstm = nn.LSTM(*sizes, batch_first=True, bidirectional=len(cells) == 2)
    for suffix, cell in zip(("_l0", "_l0_reverse"), cells, strict=False):
        lstm.load_state_dict(
            {name + suffix: value for name, value in cell.state_dict().items()}, strict=False
        )
    return lstm


# ---- the encoder ----------------------------------------------------------------------------


def test_the_encoder_equals_torch_lstms_over_packed_sentences(src: Tensor) -> None:
    model = made(n_layers=3)
    encoder, memory = model.encoder, model.encode(src)
    x = pack_padded_sequence(SCALE * model.src_table(src), torch.tensor(LENGTHS), True, False)
    cells: list[Any] = [(encoder.forwards, encoder.backwards), *((cell,) for cell in encoder.above)]
    for cell, (h, c) in zip(cells, memory.last, strict=True):
        x, (last_h, last_c) = torchs(*cell)(x)
        torch.testing.assert_close(h, torch.cat([*last_h], dim=-1))
        torch.testing.assert_close(c, torch.cat([*last_c], dim=-1))
    states, _ = pad_packed_sequence(x, batch_first=True)
    real = src != model.src_pad
    torch.testing.assert_close(memory.states[real], states[real])


def test_reversed_source_is_equivalent_to_reversing_the_sentences(src: Tensor) -> None:
    """The directions of the first layer are swapped, because it reads in both."""
    plain, turned = made(n_layers=3), made(n_layers=3, reversed_source=True)
    above = turned.encoder.above[0].weight_ih
    with torch.no_grad():
        above.copy_(above.roll(D // 2, dims=1))  # it reads the halves in the other order
    turned.encoder.forwards, turned.encoder.backwards = (
        turned.encoder.backwards,
        turned.encoder.forwards,
    )
    reversed_src = src.clone()
    for row, length in zip(reversed_src, LENGTHS, strict=True):
        row[:length] = row[:length].flip(0)
    expected, found = plain.encode(reversed_src), turned.encode(src)
    for b, length in enumerate(LENGTHS):
        torch.testing.assert_close(found.states[b, :length].flip(0), expected.states[b, :length])
    torch.testing.assert_close(found.last[1:], expected.last[1:])
    torch.testing.assert_close(
        torch.stack(found.last[0]).roll(D // 2, dims=-1), torch.stack(expected.last[0])
    )


def test_a_single_layer_cannot_reverse_the_source() -> None:
    with pytest.raises(ValueError, match=r"no effect with model\.n_layers = 1"):
        RecurrentConfig(n_layers=1, reversed_source=True)


# ---- the decoder ----------------------------------------------------------------------------


def test_without_attention_the_decoder_is_a_torch_lstm_started_by_the_encoder(
    src: Tensor, tgt: Tensor
) -> None:
    model = made(n_layers=2, attention="none")
    memory, x = model.encode(src), SCALE * model.tgt_table(tgt)
    for cell, (h, c) in zip(model.decoder.layers, memory.last, strict=True):
        assert isinstance(cell, nn.LSTMCell)
        x, _ = torchs(cell)(x, (h[None], c[None]))
    torch.testing.assert_close(model.hidden(tgt, memory), x)


def test_without_attention_only_the_last_encoder_states_are_read(src: Tensor, tgt: Tensor) -> None:
    model = made(attention="none")
    memory = model.encode(src)
    before = model.hidden(tgt, memory)
    memory.states.normal_()
    assert torch.equal(model.hidden(tgt, memory), before)
    assert not model.attention_layers()


@pytest.mark.parametrize("score", SCORES)
def test_hidden_follows_the_equations_of_the_paper_at_each_position(
    src: Tensor, tgt: Tensor, score: str
) -> None:
    model = made(n_layers=1, attention=score)
    memory, attention = model.encode(src), model.decoder.attention
    (cell,) = model.decoder.layers
    assert attention is not None
    for b, length in enumerate(LENGTHS):
        h_s = memory.states[b, :length]  # (S, D)
        (h, c), fed = (state[b] for state in memory.last[0]), torch.zeros(D)
        for t in range(tgt.shape[1]):
            x = torch.cat([SCALE * model.tgt_table(tgt[b, t]), fed])
            gates = cell.weight_ih @ x + cell.bias_ih + cell.weight_hh @ h + cell.bias_hh
            i, f, g, o = gates.chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            a = torch.stack([scored(attention, score, h, s) for s in h_s]).softmax(dim=0)
            fed = (attention.w_c.weight @ torch.cat([a @ h_s, h])).tanh()
            hidden = model.hidden(tgt, memory)[b, t] if t in (0, 5) else fed
            torch.testing.assert_close(hidden, fed)


def scored(attention: LuongAttention, score: str, h_t: Tensor, h_s: Tensor) -> Tensor:
    """Eq. 8 for two vectors."""
    s: Any = attention.score
    if score == "dot":
        return h_t @ h_s
    if score == "general":
        return h_t @ (s.w_a.weight @ h_s)
    return s.v.weight[0] @ (s.w_q.weight @ h_t + s.w_k.weight @ h_s).tanh()


def test_the_dot_score_attends_as_torchs_attention_without_its_scale(
    src: Tensor, tgt: Tensor
) -> None:
    model = made(attention="dot")
    memory, query = model.encode(src), torch.randn(3, 6, D)
    attention = model.decoder.attention
    assert attention is not None
    weights = attention.weights(query, attention.keys_and_values(memory.states), memory.mask)
    expected = F.scaled_dot_product_attention(
        query, memory.states, memory.states, memory.mask[:, 0], scale=1.0
    )
    torch.testing.assert_close(weights[:, 0] @ memory.states, expected)


# ---- sizes ----------------------------------------------------------------------------------


def lstm(n_in: int, n_out: int) -> int:
    return 4 * n_out * (n_in + n_out + 2)


@pytest.mark.parametrize(
    ("score", "n_score"), [("dot", 0), ("general", 512**2), ("additive", 2 * 512**2 + 512)]
)
def test_parameters_by_hand(score: str, n_score: int) -> None:
    encoder = 2 * lstm(512, 256) + lstm(512, 512)
    decoder = lstm(1024, 512) + lstm(512, 512) + 2 * 512 * 512 + n_score
    assert n_parameters(1000, d_model=512, attention=score) == 1000 * 512 + encoder + decoder


def test_without_attention_the_decoder_has_no_matrices_or_inputs_for_it() -> None:
    encoder, decoder = 2 * lstm(512, 256) + lstm(512, 512), 2 * lstm(512, 512)
    assert n_parameters(1000, d_model=512, attention="none") == 1000 * 512 + encoder + decoder


def test_a_deep_residual_stack_can_be_configured() -> None:
    sizes = {"d_model": 1024, "n_layers": 8, "attention": "additive", "tied": "none"}
    encoder = 2 * lstm(1024, 512) + 7 * lstm(1024, 1024)
    decoder = lstm(2048, 1024) + 7 * lstm(1024, 1024)
    attention = 2 * 1024**2 + 2 * 1024**2 + 1024
    expected = 3 * 32_000 * 1024 + encoder + decoder + attention
    assert n_parameters(32_000, residual=True, **sizes) == expected
    assert n_parameters(32_000, residual=False, **sizes) == expected  # residuals have no weights


def test_residuals_pass_a_layer_of_zero_weights(src: Tensor, tgt: Tensor) -> None:
    two = made(n_layers=2)
    deep = {residual: made(n_layers=3, residual=residual) for residual in (False, True)}
    for model in deep.values():
        model.load_state_dict(two.state_dict(), strict=False)
        with torch.no_grad():
            for cell in (model.encoder.above[1], model.decoder.layers[2]):
                for weight in cell.parameters():
                    weight.zero_()  # its h is zero for any input
    assert torch.equal(deep[True](src, tgt), two(src, tgt))
    assert not deep[False].encode(src).states.any()


def test_weights_are_initialised_as_in_the_literature() -> None:
    model = made(n_layers=2)
    for cell in (m for m in model.modules() if isinstance(m, nn.LSTMCell)):
        n = cell.hidden_size
        for gate in cell.weight_hh.chunk(4):
            torch.testing.assert_close(gate @ gate.T, torch.eye(n))
        for gate in cell.weight_ih.chunk(4):
            assert gate.abs().max() <= math.sqrt(6 / (n + cell.input_size))
        total = cell.bias_ih + cell.bias_hh
        assert total.tolist() == [0.0] * n + [1.0] * n + [0.0] * 2 * n


# ---- training -------------------------------------------------------------------------------


def test_a_loss_is_the_same_compiled_or_not(src: Tensor, tgt: Tensor) -> None:
    model = made(dropout=0.0)
    losses = [
        ModelLoss(model, epsilon=0.1, bf16=False, compiled=compiled)(src, tgt).smoothed
        for compiled in (False, True)
    ]
    assert torch.equal(*losses)


def test_bf16_gives_nearly_the_same_loss(src: Tensor, tgt: Tensor) -> None:
    model = made(attention="additive")
    full, half = (
        ModelLoss(model, epsilon=0.1, bf16=bf16, compiled=False)(src, tgt).smoothed
        for bf16 in (False, True)
    )
    torch.testing.assert_close(half, full, rtol=5e-3, atol=0)


@pytest.mark.parametrize(
    ("score", "least", "most"), some([("general", 0.9, 1), ("none", 0.4, 0.75)])
)
def test_attention_learns_to_copy_ten_tokens_before_a_fixed_vector_can(
    score: str, least: float, most: float
) -> None:
    model = made(d_model=32, n_layers=1, attention=score, dropout=0.0).train()
    loss = ModelLoss(model, epsilon=0.0, bf16=False, compiled=False)
    optimizer, rng = torch.optim.Adam(model.parameters(), lr=0.01), torch.Generator().manual_seed(1)
    for _ in range(180):
        ids = torch.randint(2, V - 1, (64, 10), generator=rng)
        optimizer.zero_grad()
        (loss(ids, ids).smoothed / ids.numel()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    unseen = torch.randint(2, V - 1, (200, 10), generator=rng)
    right = model.eval().logits(model(unseen, unseen)).argmax(dim=-1) == unseen
    assert least <= right.float().mean().item() <= most
