"""Word alignments from cross-attention, in the Pharaoh format.

A (T, S) is the weight that each target token gives to each source token. It is computed from the
attention weights w of each head, which are squared so that heads with sharp attention count more:

    A[t] = mean of w^2 over the heads of layers 2 to N, at the position that predicts token t
         + mean of w^2 over the heads of layer 1, at the next position, which reads token t

In the decoder of a Transformer, the first layer still represents the token that it reads, and the
other layers represent the token that they predict. Chen et al. (2020, "Accurate Word Alignment
Induction from Neural Machine Translation", arXiv:2004.14837) take the weights of one layer from the
position that reads; benchmarks/paper/alignment.py measures both positions for each layer. If a
model has only one layer, A[t] is the first term, computed from that layer.

The weight that target word j gives to source word i, and the source word that j is linked to:

    W[j, i] = mean over tokens t of j, sum over tokens s of i, of A[t, s]
    link(j) = argmax over i of W[j, i] / sum over j' of W[j', i]

Words are separated by white space. Punctuation is ignored, except in words that consist of nothing
else. Without the division, many target words would be linked to the few source words that receive
weight from every position.

Alignment error rate of links L, sure links U and possible links P, where P includes U (Och & Ney
2003, "A Systematic Comparison of Various Statistical Alignment Models"):

    AER = 1 - (|L & U| + |L & P|) / (|L| + |U|)

S source, T target, N layers, H heads, I source words, J target words.
"""

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from yakusu.arrays import Floats
from yakusu.errors import DataError

Link = tuple[int, int]  # source word, target word; counted from 0


def token_weights(members: Sequence[Floats]) -> Floats:
    """A: the weights from which links are derived; the rows do not sum to one.

    Args:
        members: The cross-attention weights (N, H, T, S) of a model, or of each member of an
            ensemble, whose A is the mean of those of its members. The last row belongs to eos.

    Returns:
        (T, S); row t belongs to target token t.
    """
    found = []
    for weights in members:
        layers = np.square(weights).mean(axis=1)  # (N, T, S)
        first, others = layers[0], layers[1:]
        if len(others):
            reading = np.concatenate([first[1:], first[-1:]])  # no position reads eos
            found.append(others.mean(axis=0) + reading)
        else:
            found.append(first)
    mean: Floats = np.mean(found, axis=0)
    return mean


def content_words(words: Sequence[int], pieces: Sequence[str]) -> list[int]:
    """The word of each token, or -1 for punctuation in a word that also has letters or digits.

    If punctuation counted, the full stops of two sentences would link their last words.

    Args:
        words: The word of each token, without eos: as from `Tokenizer.source_words`.
        pieces: The tokens as text: `Tokenizer.source_surfaces` or `target_pieces`; a final eos is
            ignored.
    """
    wordy = [any(map(str.isalnum, piece)) for piece, _ in zip(pieces, words, strict=False)]
    with_text = {word for word, is_text in zip(words, wordy, strict=True) if is_text}
    return [
        word if is_text or word not in with_text else -1
        for word, is_text in zip(words, wordy, strict=True)
    ]


def word_weights(
    weights: Floats, src_words: Sequence[int], tgt_words: Sequence[int]
) -> NDArray[np.float64]:
    """W: the weight that each target word gives to each source word.

    Args:
        weights: A (T, S); the rows and columns of eos and padding, which follow those of the other
            tokens, are ignored.
        src_words: The word of each source token, without eos; -1: ignored.
        tgt_words: The word of each target token, without eos; -1: ignored.

    Returns:
        (J, I).
    """
    pieces = weights[: len(tgt_words), : len(src_words)].astype(np.float64)
    of_source, of_target = (
        np.asarray(words)[:, None] == np.arange(max(words, default=-1) + 1)
        for words in (src_words, tgt_words)
    )  # (S, I), (T, J)
    n_pieces = of_target.sum(axis=0)[:, None].clip(min=1)  # (J, 1)
    received: NDArray[np.float64] = of_target.T @ pieces @ of_source / n_pieces  # (J, I)
    return received


def word_links(weights: Floats, src_words: Sequence[int], tgt_words: Sequence[int]) -> list[Link]:
    """The links of a sentence, one for each target word in `tgt_words`; eos is never linked.

    Args:
        weights: A (T, S); the rows and columns of eos and padding, which follow those of the other
            tokens, are ignored.
        src_words: `content_words` of the source.
        tgt_words: `content_words` of the target.

    Returns:
        Pairs (source word, target word), sorted.
    """
    if not (src_words and tgt_words):
        return []
    of_words = word_weights(weights, src_words, tgt_words)  # (J, I)
    received = of_words.sum(axis=0).clip(min=np.finfo(np.float32).tiny)  # (I,)
    best = (of_words / received).argmax(axis=1).tolist()  # (J,)
    return sorted((best[word], word) for word in {*tgt_words} - {-1})


def pharaoh(links: Iterable[Link]) -> str:
    """The links of a sentence in the Pharaoh format: "0-0 1-2"."""
    return " ".join(f"{source}-{target}" for source, target in links)


def read_pharaoh(line: str) -> tuple[set[Link], set[Link]]:
    """The sure and the possible links of a line such as "0-0 1?2", where 0-0 is sure.

    Returns:
        The sure links, and the possible links, which include the sure ones.

    Raises:
        DataError: A link does not have this form.
    """
    sure, possible = set(), set()
    for word in line.split():
        found = re.fullmatch(r"(\d+)([-?])(\d+)", word, flags=re.ASCII)
        if not found:
            raise DataError(f"'{word}' is not a link: write 3-4 (sure) or 3?4 (possible)")
        link = int(found[1]), int(found[3])
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return sure, possible


def alignment_error_rate(
    links: Sequence[Collection[Link]],
    sure: Sequence[Collection[Link]],
    possible: Sequence[Collection[Link]],
) -> float:
    """AER of the links of several sentences, from 0 (best) to 1.

    Args:
        links: The links of each sentence.
        sure: The sure links of each sentence in the reference.
        possible: The possible links of each sentence; sure links also count as possible.

    Raises:
        DataError: The numbers of sentences differ, or no sentence has a link.
    """
    if not len(links) == len(sure) == len(possible):
        raise DataError(
            f"there are links of {len(links)} sentences, but references with sure links of "
            f"{len(sure)} and possible links of {len(possible)}: pass links of the same sentences"
        )
    n_right = n_links = 0
    for own, certain, other in zip(map(set, links), map(set, sure), possible, strict=True):
        n_right += len(own & certain) + len(own & certain.union(other))
        n_links += len(own) + len(certain)
    if not n_links:
        raise DataError("no sentence has a link: an alignment error rate needs sure links")
    return 1 - n_right / n_links
