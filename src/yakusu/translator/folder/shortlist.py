"""The lexicon of a model, shortlist.safetensors in its folder.

frequent   (F,)   the most frequent target tokens
counts     (V,)   the number of translations of each source token
targets    (n,)   the translations of all source tokens
"""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from yakusu.arrays import ArraysOnDisk
from yakusu.errors import ModelError

if TYPE_CHECKING:
    from yakusu.search.shortlist import TokenLexicon

SHORTLIST = "shortlist.safetensors"
_ARRAYS = ("counts", "frequent", "targets")


def write_lexicon(folder: Path, lexicon: "TokenLexicon") -> None:
    """Write a lexicon into a model folder, before its manifest."""
    from safetensors.numpy import save

    tokens = (lexicon.frequent, lexicon.targets)
    kind = np.uint16 if max(each.max(initial=0) for each in tokens) < 2**16 else np.int32
    frequent, targets = (each.astype(kind) for each in tokens)
    arrays = {
        "counts": np.diff(lexicon.starts).astype(np.uint8),
        "frequent": frequent,
        "targets": targets,
    }
    (folder / SHORTLIST).write_bytes(save(arrays))


def read_lexicon(
    folder: Path, *, src_vocab_size: int, tgt_vocab_size: int
) -> "TokenLexicon | None":
    """Read the lexicon in a model folder; None if it has none.

    Args:
        folder: The folder, which was verified.
        src_vocab_size: V.
        tgt_vocab_size: Size of the target vocabulary, whose last token is padding.

    Raises:
        ModelError: The file is not valid.
    """
    path = folder / SHORTLIST
    if not path.exists():
        return None
    from yakusu.search.shortlist import TokenLexicon

    stored = ArraysOnDisk(path)
    if sorted(stored) != [*_ARRAYS] or any(
        stored[name].ndim != 1 or stored[name].dtype.kind not in "iu" for name in stored
    ):
        raise _invalid(path)
    counts, frequent, targets = (stored[name].astype(np.int32) for name in _ARRAYS)
    tokens = np.concatenate([frequent, targets, [0]])
    fits = len(counts) == src_vocab_size and counts.sum() == len(targets)
    if not fits or counts.min() < 0 or tokens.min() < 0 or tokens.max() >= tgt_vocab_size - 1:
        raise _invalid(path)
    return TokenLexicon(
        frequent, np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), targets
    )


def _invalid(path: Path) -> ModelError:
    return ModelError(
        f"{path} does not match the model: write it again (yakusu card MODEL --src FILE --tgt FILE)"
    )
