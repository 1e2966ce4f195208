"""GNMT's decoder compared with its formulas; sizes counted by hand."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from yakusu.data.vocabulary import EOS
from yakusu.model.config import RecurrentConfig
from yakusu.model.gnmt import GnmtDecoder
from yakusu.model.lstm import GlobalAttention
from yakusu.model.recurrent import Recurrent
from yakusu.typed import ValidationError

V, D = 12, 16
SIZES: dict[str, Any] = {"decoder": "gnmt", "attention": "additive", "residual": True}


def made(**sizes: Any) -> Recurrent:
    torch.manual_seed(0)
    config = RecurrentConfig(**{"d_model": D, "n_layers": 4, **SIZES, **sizes})
    return Recurrent(config, src_vocab_size=V, tgt_vocab_size=V).eval()


def lstm(n_in: int, n_out: int) -> int:
    return 4 * n_out * (n_in + n_out + 2)


def test_additive_attention_by_hand() -> None:
    attention = GlobalAttention(RecurrentConfig(d_model=2, attention="additive"))
    score: Any = attention.score
    with torch.no_grad():
        score.w_q.weight.copy_(torch.eye(2))
        score.w_k.weight.copy_(torch.eye(2))
        score.v.weight.copy_(torch.tensor([[math.log(3) / math.tanh(1.0), 0.0]]))
    states = torch.tensor([[[0.0, 4.0], [1.0, 8.0]]])
    memory, query = attention.keys_and_values(states), torch.zeros(1, 1, 2)
    # Scores 0 and log 3, so the weights are 1/4 and 3/4.
    expected = torch.tensor([[[[0.25, 0.75]]]])
    torch.testing.assert_close(attention.weights(query, memory, None), expected)
    torch.testing.assert_close(attention(query, memory, None), torch.tensor([[[0.75, 7.0]]]))


def test_hidden_follows_the_equations_of_the_paper_at_each_position() -> None:
    model = made()
    src = torch.tensor([[3, 4, 5, 6, EOS]])
    tgt_in = torch.tensor([[V - 1, 3, 7, 7, 2]])
    memory, decoder = model.encode(src), model.decoder
    assert isinstance(decoder, GnmtDecoder)
    score: Any = decoder.attention.score
    h_s = memory.states[0]  # (S, D)
    states = [(h[0], c[0]) for h, c in memory.last]
    for t in range(tgt_in.shape[1]):
        x, before = 4.0 * model.tgt_table(tgt_in[0, t]), states[0][0]  # sqrt(D) = 4
        hidden = (score.w_q.weight @ before + h_s @ score.w_k.weight.T).tanh()  # (S, D)
        context = (hidden @ score.v.weight[0]).softmax(dim=0) @ h_s
        for i, cell in enumerate(decoder.layers):
            h, c = stepped(cell, torch.cat([x, context]), *states[i])
            states[i] = h, c
            x = h if i < 2 else x + h  # residual connections from the third layer on
        torch.testing.assert_close(model.hidden(tgt_in, memory)[0, t], x)


def stepped(cell: Any, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next h and c of a layer."""
    gates = cell.weight_ih @ x + cell.bias_ih + cell.weight_hh @ h + cell.bias_hh
    i, f, g, o = gates.chunk(4)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def test_parameters_counted_by_hand() -> None:
    encoder = 2 * lstm(D, D // 2) + 3 * lstm(D, D)
    decoder = 4 * lstm(2 * D, D) + 2 * D * D + D
    assert sum(p.numel() for p in made().parameters()) == V * D + encoder + decoder


def test_it_needs_attention() -> None:
    with pytest.raises(ValidationError, match=r"'gnmt' needs attention, but model.attention = 'no"):
        made(attention="none")
