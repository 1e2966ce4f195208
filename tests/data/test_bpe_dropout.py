"""BPE-dropout: different pieces of the same text in each epoch, as a function of seed and epoch."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import yakusu
from tests.system.runs import recipe_for, result, write_corpus
from yakusu.data.bpe_dropout import BpeDropout, Merges
from yakusu.data.lines.private_use import SLOTS
from yakusu.data.pairs import CorpusPart, Pairs, Sentences
from yakusu.data.pieces import Pieces
from yakusu.data.tokenizer import Tokenizer
from yakusu.data.vocabulary import TokenizerConfig
from yakusu.errors import RecipeError

WORDS = "a banana cabana band bandana an Ähre 漢字 2034 ends".split()  # noqa: SIM905
SYMBOL = "<ab>"


def lines() -> list[str]:
    rng = random.Random(1)
    drawn = [" ".join(rng.choices(WORDS, k=rng.randint(1, 7))) for _ in range(400)]
    return [*drawn, f"a {SYMBOL} band", f"{SLOTS[0]} bandana", "never ☃ seen", "x"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    config = TokenizerConfig(vocab_size=330, symbols=(SYMBOL,))
    return Tokenizer.train(lines(), lines(), config, seed=1)


def packed(ids: Sequence[Sequence[int]]) -> Sentences:
    offsets = np.cumsum([0, *map(len, ids)]).astype(np.uint64)
    return Sentences(np.concatenate(ids).astype(np.uint16), offsets)


def pairs(tokenizer: Tokenizer) -> Pairs:
    src, tgt = tokenizer.encode_source(lines()), tokenizer.encode_target(lines()[::-1])
    numbers = np.arange(1, len(src) + 1, dtype=np.uint64)
    return Pairs(packed(src), packed(tgt), numbers, (CorpusPart(n_pairs=len(src), weight=1.0),))


def ids(side: Sentences) -> list[list[int]]:
    return [side[i].tolist() for i in range(len(side))]


def dropout(tokenizer: Tokenizer, p: float, **options: object) -> BpeDropout:
    options = {"seed": 1, "symbols": (SYMBOL,), **options}
    return BpeDropout(pairs(tokenizer), tokenizer, p, **options)  # type: ignore[arg-type]


def test_without_dropout_the_pieces_are_the_usual_ones(tokenizer: Tokenizer) -> None:
    divided, usual = dropout(tokenizer, 0.0).epoch(0), pairs(tokenizer)
    assert ids(divided.src) == ids(usual.src)
    assert ids(divided.tgt) == ids(usual.tgt)
    assert divided.src.tokens.dtype == usual.src.tokens.dtype


def test_the_text_stays_the_same_in_other_pieces(tokenizer: Tokenizer) -> None:
    divided, usual = dropout(tokenizer, 0.3).epoch(0), pairs(tokenizer)
    for new, old in ((divided.src, usual.src), (divided.tgt, usual.tgt)):
        assert tokenizer.decode_target(ids(new)) == tokenizer.decode_target(ids(old))
        assert len(new.tokens) > 1.1 * len(old.tokens)
        symbol = tokenizer.src.id_of(SYMBOL)
        assert [symbol in i for i in ids(new)] == [symbol in i for i in ids(old)]


def test_seed_and_epoch_determine_the_pieces(tokenizer: Tokenizer) -> None:
    def found(seed: int, epoch: int) -> list[list[int]]:
        return ids(dropout(tokenizer, 0.3, seed=seed).epoch(epoch).tgt)

    assert found(1, 2) == found(1, 2)
    assert found(1, 2) != found(1, 3)
    assert found(1, 2) != found(2, 2)


def test_a_sentence_that_would_be_too_long_keeps_its_pieces(tokenizer: Tokenizer) -> None:
    usual = pairs(tokenizer)
    longest = int(usual.src.lengths.max()) - 1  # without eos
    divided = dropout(tokenizer, 0.9, max_tokens=longest).epoch(0)
    assert divided.src.lengths.max() <= longest + 1
    assert len(divided.src.tokens) > len(usual.src.tokens)


def test_only_the_given_sides_are_divided(tokenizer: Tokenizer) -> None:
    divided, usual = dropout(tokenizer, 0.5, sides=("src",)).epoch(0), pairs(tokenizer)
    assert ids(divided.src) != ids(usual.src)
    assert ids(divided.tgt) == ids(usual.tgt)


class Alphabet(Pieces):
    """A vocabulary of given pieces."""

    def __init__(self, *pieces: str) -> None:
        self.table = list(pieces)

    def is_text(self, id_: int) -> bool:
        return True


def test_each_segmentation_has_the_probability_of_the_paper() -> None:
    # Merges in this order: a b -> ab, then ab c -> abc; the pair b c is not a piece.
    merges = Merges(Alphabet("ab", "abc", "▁", "a", "b", "c"))
    n, p = 20_000, 0.25
    words = [np.array([1], dtype=np.uint16)] * n
    divided = merges.divide(words, p, np.random.default_rng(1))
    shares = {word: count / n for word, count in Counter(map(tuple, divided)).items()}
    expected = {(3, 4, 5): p, (0, 5): (1 - p) * p, (1,): (1 - p) ** 2}
    assert shares == pytest.approx(expected, abs=0.01)


def test_a_pair_that_was_left_out_may_be_merged_later() -> None:
    # "ab ab" in one word: the left pair is first, and each merge draws again for the others.
    merges = Merges(Alphabet("ab", "abab", "▁", "a", "b"))
    n, p = 20_000, 0.5
    divided = merges.divide([np.array([1], dtype=np.uint16)] * n, p, np.random.default_rng(1))
    shares = {word: count / n for word, count in Counter(map(tuple, divided)).items()}
    # Neither is merged: p^2. One is merged and the other dropped: p (1 - p), p (1 - p) p.
    # Both are merged, and then "abab" or not.
    one = (1 - p) * p, p * (1 - p) * p
    both = (1 - p**2) * (1 - p)
    expected = {
        (3, 4, 3, 4): p**2,
        (0, 3, 4): one[0],
        (3, 4, 0): one[1],
        (0, 0): both * p,
        (1,): both * (1 - p),
    }
    assert shares == pytest.approx(expected, abs=0.012)


def test_an_interrupted_run_gives_the_same_bytes_which_depend_on_the_dropout(
    tmp_path: Path,
) -> None:
    corpus = write_corpus(tmp_path)

    def trained(name: str, p: float, *steps: int) -> dict[str, str]:
        for each in steps:
            changes = [f"training.bpe_dropout={p}", f"training.max_steps={each}"]
            size = "batches.step_tokens=2000"  # several epochs
            yakusu.train(recipe_for(corpus, tmp_path / name, size, *changes))
        return result(tmp_path / name)

    straight = trained("straight", 0.3, 8)
    assert trained("parts", 0.3, 4, 8) == straight
    assert trained("without", 0.0, 8) != straight


@pytest.mark.parametrize(
    "changes", [["tokenizer.kind=unigram"], ["parent.model=model", "parent.vocabulary=keep"]]
)
def test_a_vocabulary_that_bpe_does_not_learn_in_this_run_is_refused(changes: list[str]) -> None:
    with pytest.raises(RecipeError, match="learned by BPE in this run"):
        yakusu.load_recipe("tiny", ["training.bpe_dropout=0.1", *changes])


def test_a_parent_with_a_new_vocabulary_is_allowed() -> None:
    parent = ["parent.model=model", "parent.vocabulary=learn"]
    recipe = yakusu.load_recipe("tiny", ["training.bpe_dropout=0.1", *parent])
    assert recipe.training.bpe_dropout == 0.1
