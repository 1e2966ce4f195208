"""Vectors of sentences in two languages, alike for translations, learned from known ones.

    v(x) = sum_i e(x_i) / |sum_i e(x_i)|
    loss = -(log softmax_j(v(x_i) v(y_j) / tau)_i + log softmax_j(v(y_i) v(x_j) / tau)_i) / 2

Each language has a table e of the vectors of its tokens. For each of B sentences, the loss ranks
its translation above those of the others: translation ranking (Guo et al. 2018, section 3.1), in
both directions. From the third pass on, the sentences of a batch are similar, so that the ranking
is hard. B: sentences of a batch; H: width; V: vocabulary.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from yakusu.arrays import Floats
from yakusu.data.files.text import Pair
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.errors import DataError
from yakusu.progress import Progress

_SMALLEST, _LARGEST, _PAIRS_PER_TOKEN = 300, 8_000, 2  # of the vocabulary
_SCALE = 0.05  # of the first vectors
_RANDOM = 2  # passes before batches are of similar sentences
_ROWS = 8_192  # whose vectors are computed together
_BATCH, _FEWEST_BATCHES = (32, 1024), 100  # sentences among which a translation is ranked
_Ids = Sequence[Sequence[int]]


@dataclass(frozen=True)
class RankingConfig:
    """How vectors are learned: their width, passes over the pairs, tau, and the first rate."""

    width: int = 384
    epochs: int = 10
    temperature: float = 0.04
    rate: float = 3e-3
    seed: int = 1


@dataclass(frozen=True)
class SentenceVectors:
    """Tables of the vectors of tokens, (V, H), of both languages."""

    tokenizer: Tokenizer
    tables: tuple[Floats, Floats]

    def of_sources(self, texts: Sequence[str]) -> Floats:
        """The vectors of sentences in the first language, (n, H), of length 1."""
        return _encoded(self.tables[0], self.tokenizer.encode_source(texts))

    def of_targets(self, texts: Sequence[str]) -> Floats:
        """The same in the second language."""
        return _encoded(self.tables[1], self.tokenizer.encode_target(texts))


def learn_vectors(
    pairs: Sequence[Pair], progress: Progress, config: RankingConfig | None = None
) -> SentenceVectors:
    """Learn vectors from translations; the same pairs give the same vectors on the same machine.

    Raises:
        DataError: There are too few pairs for a vocabulary.
    """
    config = config or RankingConfig()
    src, tgt = zip(*pairs, strict=True)
    with progress.track("learning a vocabulary", "tokens", None):
        tokenizer = _vocabulary(src, tgt, config.seed)
    ids = tokenizer.encode_source(src), tokenizer.encode_target(tgt)
    one, other = _trained(ids, tokenizer.src_vocab_size, config, progress)
    return SentenceVectors(tokenizer, (one.weight.detach().numpy(), other.weight.detach().numpy()))


def _vocabulary(src: Sequence[str], tgt: Sequence[str], seed: int) -> Tokenizer:
    """A vocabulary for sentences; a smaller one if they have few different words."""
    largest = min(_LARGEST, _SMALLEST + len(src) // _PAIRS_PER_TOKEN)
    for halvings in range(8):
        config = TokenizerConfig(
            vocab_size=max(largest >> halvings, 16),
            normalization="nfc_cf",
            byte_fallback=False,
            placeholder_share=0.0,
        )
        with suppress(DataError):
            return Tokenizer.train(src, tgt, config, seed=seed)
    raise DataError(
        "no vocabulary can be learned from the known translations: give more of them, and more "
        "varied ones, with --src and --tgt"
    )


def _trained(
    ids: tuple[_Ids, _Ids], n_tokens: int, config: RankingConfig, progress: Progress
) -> list[nn.EmbeddingBag]:
    """The tables of both languages, trained by Adam with a rate that falls to zero."""
    generator = torch.Generator().manual_seed(config.seed)
    tables = [nn.EmbeddingBag(n_tokens, config.width, mode="sum") for _ in ids]
    for table in tables:
        nn.init.normal_(table.weight, std=_SCALE, generator=generator)
    optimizer = torch.optim.Adam([table.weight for table in tables], lr=config.rate)
    n_batches = len(ids[0]) // _batch_size(len(ids[0]))
    with progress.track("learning vectors", "batches", config.epochs * n_batches) as tracker:
        for epoch in range(config.epochs):
            optimizer.param_groups[0]["lr"] = config.rate * (1 - epoch / config.epochs)
            side = epoch % 2
            near = _groups(tables[side], ids[side], generator) if epoch >= _RANDOM else None
            for rows in _batches(len(ids[0]), near, generator):
                one, other = (
                    _vectors(table, [each[i] for i in rows])
                    for table, each in zip(tables, ids, strict=True)
                )
                optimizer.zero_grad()
                _ranking_loss(one, other, config.temperature).backward()
                optimizer.step()
                tracker.advance()
    return tables


def _batch_size(n: int) -> int:
    return min(n, int(np.clip(n // _FEWEST_BATCHES, *_BATCH)))


def _groups(table: nn.EmbeddingBag, ids: _Ids, generator: torch.Generator) -> Tensor:
    """The group of each sentence: which of as many random sentences as batches is nearest."""
    with torch.inference_mode():
        parts = (_vectors(table, ids[i : i + _ROWS]) for i in range(0, len(ids), _ROWS))
        vectors = torch.cat(list(parts))  # (n, H)
        n_groups = len(ids) // _batch_size(len(ids))
        centres = vectors[torch.randperm(len(ids), generator=generator)[:n_groups]]
        return torch.cat([(part @ centres.T).argmax(1) for part in vectors.split(_ROWS)])  # (n,)


def _batches(n: int, groups: Tensor | None, generator: torch.Generator) -> Iterator[list[int]]:
    """Rows of the pairs of each batch, in random order; those of a group stay together."""
    size = _batch_size(n)
    order = torch.randperm(n, generator=generator)[: n // size * size]
    if groups is not None:
        order = order[groups[order].argsort(stable=True)]
    batches = order.split(size)
    for number in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[number].tolist()


def _vectors(table: nn.EmbeddingBag, ids: _Ids) -> Tensor:
    starts = np.cumsum([0, *map(len, ids[:-1])])
    tokens = torch.tensor(list(chain.from_iterable(ids)))
    return functional.normalize(table(tokens, torch.from_numpy(starts)), dim=-1)  # (B, H)


def _ranking_loss(one: Tensor, other: Tensor, temperature: float) -> Tensor:
    cosines = one @ other.T / temperature  # (B, B)
    right = torch.arange(len(one))
    losses = (functional.cross_entropy(each, right) for each in (cosines, cosines.T))
    return sum(losses, torch.tensor(0.0)) / 2


def _encoded(table: Floats, ids: _Ids) -> Floats:
    """Sums of the vectors of tokens, of length 1; each sentence has at least its end, a token."""
    vectors = np.empty((len(ids), table.shape[1]), np.float32)
    for row, tokens in enumerate(ids):
        vectors[row] = table[list(tokens)].sum(axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors
