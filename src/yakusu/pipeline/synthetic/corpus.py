"""Synthetic corpora: texts that models translate in shards, so that commands can be resumed.

FOLDER/parts/texts/           the texts, SHARD_LINES in each 000001.src; their references in *.ref;
                              and texts.json: what their choice depends on, and numbers of lines
FOLDER/parts/teacher/ etc.    the translations of each shard, by the role of the models
FOLDER/corpus/                train.src, train.tgt, and corpus.json, the receipt

Each file and folder has its name only once it is complete. A shard is translated once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from yakusu.config import Config
from yakusu.data.corpus import Corpus, read_pairs
from yakusu.data.duplicates import DuplicateFinder
from yakusu.data.files.compressed import open_binary, refuse_pipe
from yakusu.data.files.text import Pair, raw_lines, windows
from yakusu.data.filters import NumberedPair
from yakusu.errors import DataError, RunError
from yakusu.folder import read_json, save_folder, sha256, verify_folder, write_json
from yakusu.pipeline.receipts.corpus import CORPUS_RECEIPT, CorpusFacts, Making
from yakusu.pipeline.receipts.inputs import first_changed
from yakusu.pipeline.shards.receipt import difference
from yakusu.pipeline.synthetic.held_out import Overlaps
from yakusu.pipeline.synthetic.models import ShardModels, shards_of

SHARD_LINES = 5_000  # of a shard, which is translated again if the command is killed
_TEXTS = "texts.json"


class SyntheticConfig(Config):
    """What the commands that write synthetic corpora have in common.

    Attributes:
        to: Target language, for models with several.
        held_out: Text files of dev and test sets, of either language.
        drop_held_out: Leave out lines that are held out, instead of refusing the text.
    """

    to: str = ""
    held_out: tuple[str, ...] = ()
    drop_held_out: bool = False


@dataclass(frozen=True)
class Texts:
    """Texts to translate.

    Attributes:
        read: Reads each text and its reference, "" if it has none, with the number of its line;
            more than once.
        files: The files that are read, by role.
        names: Names of the texts and of the references in error messages.
    """

    read: Callable[[], Iterator[NumberedPair]]
    files: Mapping[str, Path]
    names: tuple[str, str]


def select_texts(
    folder: Path,
    texts: Texts,
    overlaps: Overlaps,
    models: ShardModels,
    *,
    inputs: Mapping[str, str],
    drop_held_out: bool,
    reading: Mapping[str, Any] | None = None,
) -> Counter[str]:
    """Write the texts to translate as shards, unless that has been done.

    Args:
        folder: Folder of the shards.
        texts: The texts.
        overlaps: Finds held-out lines.
        models: The models to translate them; texts that are too long for these are left out.
        inputs: SHA-256 of the files of the texts and of the held-out lines, by role.
        drop_held_out: Leave held-out lines out, instead of refusing the texts.
        reading: How the files are read, such as their columns, where this is not the default.

    Returns:
        Number of lines that were read and that were dropped for each reason.

    Raises:
        DataError: A line is held out, no line is left, or a file cannot be read or has changed.
        RunError: The shards were written with other files, models or settings.
    """
    # Each has a name, because `difference` shows no values of "models" itself.
    numbered = {str(n): each for n, each in enumerate(models.settings.models, start=1)}
    settings = {
        "drop_held_out": drop_held_out,
        "inputs": dict(inputs),
        "models": numbered,
        **(reading or {}),
    }
    if folder.exists():
        return _earlier_counts(folder, settings)
    counts: Counter[str] = Counter(read=0)
    mask = _mask(texts, overlaps, models.fits, counts)
    if not drop_held_out:
        overlaps.refuse()
    if not mask.any():
        reasons = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        raise DataError(f"{texts.names[0]} has no text to translate ({reasons}): check the file")

    def fill(temporary: Path) -> None:
        _write_shards(temporary, texts, mask)
        if changed := first_changed(texts.files, inputs):
            raise DataError(f"{changed} changed while being read: rerun the command")
        write_json(temporary / _TEXTS, {**settings, "counts": counts})

    save_folder(folder, fill)
    return counts


def _earlier_counts(folder: Path, settings: Mapping[str, Any]) -> Counter[str]:
    verify_folder(folder)
    earlier = read_json(folder / _TEXTS)
    counts = earlier.pop("counts")
    if found := difference(earlier, settings):
        raise RunError(
            f"{folder} was made with other settings ({found}): use the same settings, or choose "
            "another folder"
        )
    return Counter(counts)


def _mask(
    texts: Texts, overlaps: Overlaps, fits: Callable[[str], bool], counts: Counter[str]
) -> npt.NDArray[np.bool_]:
    """Which texts are translated: (number of texts)."""
    accepted = bytearray()
    with TemporaryDirectory() as folder, DuplicateFinder(Path(folder)) as duplicates:
        for number, pair in texts.read():
            if reason := _reason(number, pair, overlaps, fits):
                counts[reason] += 1
            else:
                duplicates.add(pair)
            accepted.append(not reason)
        mask = np.frombuffer(accepted, dtype=np.bool_).copy()
        is_duplicate = duplicates.find()
        mask[mask] = ~is_duplicate
    counts.update({"read": len(mask), "duplicate": int(is_duplicate.sum())})
    return mask


def _reason(number: int, pair: Pair, overlaps: Overlaps, fits: Callable[[str], bool]) -> str:
    """Why a text is not translated; "": it is."""
    if not pair[0]:
        return "empty"
    if overlaps.add(number, pair):
        return "held out"
    return "" if fits(pair[0]) else "too long"


def _write_shards(folder: Path, texts: Texts, mask: npt.NDArray[np.bool_]) -> None:
    chosen = (pair for (_, pair), is_kept in zip(texts.read(), mask, strict=True) if is_kept)
    for number, pairs in enumerate(windows(chosen, SHARD_LINES), start=1):
        for side, suffix in enumerate(("src", "ref")):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{number:06}.{suffix}").write_text(lines, encoding="utf-8", newline="\n")


def read_texts(folder: Path) -> Iterator[Pair]:
    """The texts that `select_texts` wrote, with their references."""
    for shard in shards_of(folder):
        yield from zip(raw_lines(shard), raw_lines(shard.with_suffix(".ref")), strict=True)


def hashes_of(files: Mapping[str, Path]) -> dict[str, str]:
    """The SHA-256 of files that are read more than once, by role.

    Raises:
        DataError: A file does not exist, cannot be opened, or is a pipe.
    """
    for path in files.values():
        refuse_pipe(path)
        open_binary(path).close()
    return {role: sha256(path) for role, path in files.items()}


def existing_corpus(folder: Path, making: Making) -> CorpusFacts | None:
    """The receipt of a corpus that is complete; None: it does not exist.

    Raises:
        RunError: The corpus was made in another way.
        ModelError: A file of the corpus was changed.
    """
    if not folder.exists():
        return None
    verify_folder(folder)
    facts = CorpusFacts.read(folder)
    earlier, now = (each.model_dump(mode="json") for each in (facts.making, making))
    if found := difference(earlier, now):
        # Other differences concern the translations as well.
        again = f", or delete {folder} to make it again" if found.startswith("options.") else ""
        raise RunError(
            f"{folder} was made with other settings ({found}): choose another folder{again}"
        )
    return facts


def write_corpus(
    folder: Path,
    making: Making,
    counts: Counter[str],
    pairs: Iterator[Pair],
    dev: Corpus | None = None,
) -> CorpusFacts:
    """Write a corpus with its receipt.

    Args:
        folder: The folder to write.
        making: What the corpus depends on.
        counts: Numbers of lines; complete once all pairs have been read.
        pairs: Its pairs.
        dev: A dev set to include, if it has files.

    Raises:
        DataError: There are no pairs.
    """

    def fill(temporary: Path) -> None:
        if not _write_pairs(temporary, "train", pairs):
            reasons = ", ".join(f"{n:,} {name}" for name, n in counts.items())
            fix = "lower --min-chrf, or " if counts["round trip"] else ""
            raise DataError(f"no pair is left ({reasons}): {fix}check the text and the models")
        if dev:
            _write_pairs(temporary, "dev", read_pairs(dev))
        facts = CorpusFacts(making=making, counts=counts)
        write_json(temporary / CORPUS_RECEIPT, facts.model_dump(mode="json"))

    save_folder(folder, fill)
    return CorpusFacts.read(folder)


def _write_pairs(folder: Path, stem: str, pairs: Iterable[Pair]) -> int:
    """Write the two files of a corpus; return the number of pairs."""
    n_pairs = 0
    names = [folder / f"{stem}.{side}" for side in ("src", "tgt")]
    with (
        names[0].open("w", encoding="utf-8", newline="\n") as src,
        names[1].open("w", encoding="utf-8", newline="\n") as tgt,
    ):
        for source, target in pairs:
            src.write(f"{source}\n")
            tgt.write(f"{target}\n")
            n_pairs += 1
    return n_pairs
