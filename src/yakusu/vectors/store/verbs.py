"""The verbs `index`, `search`, `delete` and `compact`."""

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yakusu.compress.blocks import blocks
from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.folder import open_regular
from yakusu.progress import Progress, Silent
from yakusu.vectors.appending import MOST_LOST
from yakusu.vectors.sources import VectorSource, open_source
from yakusu.vectors.store.creating import learned_settings
from yakusu.vectors.store.file import KeptPrecision, StoreSimilarity, create_store_file
from yakusu.vectors.store.given import GivenItems, check_width
from yakusu.vectors.store.store import StoreAdded, StoreMatch, VectorStore, open_store

_QUERIES = 256  # at a time


@dataclass(frozen=True)
class Indexed:
    """Result of `index`.

    added: What was added.
    n_vectors, width: Number of vectors in the store, and of their dimensions.
    file_bytes: Size of the store in bytes.
    """

    added: StoreAdded
    n_vectors: int
    width: int
    file_bytes: int


def index(
    store: str | Path,
    source: VectorSource,
    *,
    ids: str | Path | None = None,
    metadata: str | Path | None = None,
    replace: bool = False,
    similarity: StoreSimilarity | None = None,
    originals: KeptPrecision | None = None,
    config: CompressConfig | None = None,
    progress: Progress | None = None,
) -> Indexed:
    """Add vectors to a store, which is created if it does not exist.

    Ids and metadata are in memory; a matrix in a file is read in blocks.

    Args:
        store: The file.
        source: Vectors, as for `compress`. Their words are the ids; without words or `ids`, the row
            numbers are.
        ids: File with one id per line, for vectors without words.
        metadata: File with one object of JSON per line, in the order of the vectors.
        replace: Whether vectors replace stored ones with the same ids, instead of being refused.
        similarity, originals, config: See `create_store`; for a new store.
        progress: Progress reporter.

    Raises:
        DataError: As for `create_store` and `VectorStore.add`, or a file cannot be read.
        RecipeError: As for `create_store`.
    """
    store, progress = Path(store), progress or Silent()
    given = open_source(source, None, progress)
    if given.words is not None and ids is not None:
        raise DataError(f"the vectors have words, which are their ids: leave out {ids}")
    rows = range(len(given.vectors))
    names = given.words or (_lines(Path(ids)) if ids is not None else [*map(str, rows)])
    described = [*_objects(Path(metadata))] if metadata is not None else None
    is_new = not store.exists() or (store.is_file() and not store.stat().st_size)
    if not is_new and config:
        raise DataError(
            f"{store} exists, and its codebook does not change: leave out compress settings, or "
            "choose another name"
        )
    if is_new:
        settings = learned_settings(given.vectors, similarity or "cosine", originals, config)
        GivenItems.checked(names, given.vectors, described, settings)  # before there is a file
        create_store_file(store, settings)
    with open_store(store, writable=True) as opened:
        _refuse_other(opened, similarity, originals)
        added = opened.add(names, given.vectors, described, replace=replace, progress=progress)
        if added.share_lost > MOST_LOST and not is_new:
            progress.say(
                "the codes of the new vectors lose more than half of their variance: if the "
                "first vectors were of another kind, index all of them in a new store"
            )
        n_vectors, width = len(opened), opened.width
    return Indexed(added, n_vectors, width, store.stat().st_size)


def _refuse_other(
    store: VectorStore, similarity: StoreSimilarity | None, originals: KeptPrecision | None
) -> None:
    """Refuse settings that a store does not have."""
    settings = {
        "similarity": (similarity, store.similarity),
        "originals": (originals, store.originals),
    }
    for name, (wanted, own) in settings.items():
        if wanted and wanted != own:
            raise DataError(
                f"{store.path} has {name} = {own or 'none'}, which does not change: leave it out, "
                "or choose another name"
            )


def search(
    store: str | Path,
    queries: VectorSource,
    n: int = 10,
    *,
    among: str | Path | None = None,
    share: float = 1,
    progress: Progress | None = None,
) -> Iterator[tuple[str, list[StoreMatch]]]:
    """Yield the name of each query, and the n best vectors for it; see `VectorStore.search`.

    Args:
        store: The file.
        queries: Vectors, as for `compress`, with words or row numbers as their names.
        n: Number of vectors.
        among: File with one id per line, among which vectors are found.
        share: Share of the vectors to visit; without cells, all are visited.
        progress: Progress reporter.

    Raises:
        DataError: As for `open_store` and `VectorStore.search`, or a file cannot be read.
    """
    progress = progress or Silent()
    given = open_source(queries, None, progress)
    chosen = _lines(Path(among)) if among is not None else None
    with open_store(store) as opened:
        check_width(given.vectors, opened.width)
        if 0 < share < 1 and not opened.n_cells:
            progress.say(
                f"{store} has no cells, so all of its vectors are searched: create cells with "
                f"'vectors compact {store} --cells'"
            )
        _say_missing(opened, chosen or [], progress)
        for rows in blocks(len(given.vectors)):
            part = given.vectors[rows]
            for few in blocks(len(part), size=_QUERIES):
                found = opened.search(part[few], n, among=chosen, share=share)
                for number, matches in enumerate(found, rows.start + few.start):
                    yield given.words[number] if given.words else str(number), matches


def delete(store: str | Path, ids: str | Path, *, progress: Progress | None = None) -> int:
    """Remove vectors from a store; see `VectorStore.delete`.

    Args:
        store: The file.
        ids: File with one id per line.
        progress: Progress reporter.

    Raises:
        DataError: As for `open_store` and `VectorStore.delete`, or the file cannot be read.
    """
    gone = _lines(Path(ids))
    with open_store(store, writable=True) as opened:
        _say_missing(opened, gone, progress or Silent())
        return opened.delete(gone)


def _say_missing(store: VectorStore, ids: list[str], progress: Progress) -> None:
    """Report ids that are not in a store."""
    if missing := store.missing(ids):
        progress.say(
            f"{len(missing):,} of {len(set(ids)):,} ids are not in {store.path}, such as "
            f"{missing[0]!r}"
        )


def compact(
    store: str | Path, *, cells: bool = False, progress: Progress | None = None
) -> tuple[int, int]:
    """Give the space of deleted vectors back to the disk; see `VectorStore.compact`.

    Args:
        store: The file.
        cells: Group similar vectors into cells, so that `search` need not visit all of them.
        progress: Progress reporter.

    Returns:
        Bytes of the store, before and after.

    Raises:
        DataError: As for `open_store` and `VectorStore.compact`.
    """
    with open_store(store, writable=True) as opened:
        before = opened.file_bytes
        opened.compact(cells=cells)
        if cells:
            (progress or Silent()).say(f"cells: {opened.n_cells:,}")
        return before, opened.file_bytes


def _lines(path: Path) -> list[str]:
    """Read the lines of a file.

    Raises:
        DataError: It is not UTF-8.
    """
    with open_regular(path) as file:
        content = file.read().removeprefix(codecs.BOM_UTF8).removesuffix(b"\n")
    lines = content.split(b"\n") if content else []
    try:
        return [line.removesuffix(b"\r").decode() for line in lines]
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text ({error}): save it as UTF-8, or check the order of the files"
        ) from error


def _objects(path: Path) -> Iterator[dict[str, Any] | None]:
    """Parse a file with one object of JSON per line."""
    for number, line in enumerate(_lines(path), 1):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number} is not JSON ({error}): correct it") from error
        if found is not None and not isinstance(found, dict):
            raise DataError(f"{path}, line {number} is not an object of JSON: correct it")
        yield found
