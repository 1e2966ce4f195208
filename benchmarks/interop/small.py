"""Small corpora: the first sentence pairs of larger ones."""

from itertools import islice
from pathlib import Path

from yakusu.data.files.text import read_lines


def first_pairs(corpus: Path, languages: tuple[str, str], n: int, folder: Path) -> dict[str, Path]:
    """Write the first `n` pairs of CORPUS.LANGUAGE to a folder.

    Returns:
        The files of the training set, as `yakusu.train` takes them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for side, language in zip(("src", "tgt"), languages, strict=True):
        found[side] = folder / f"{corpus.parent.name}-{n}.{language}"
        lines = islice(read_lines(corpus.with_name(f"{corpus.name}.{language}")), n)
        found[side].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return found
