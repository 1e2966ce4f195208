"""Compression of a folder of static embeddings, and its export to model2vec.

V rows, H dimensions.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from yakusu.compress.config import CompressConfig
from yakusu.errors import DataError
from yakusu.folder import replace_folder, usual_permissions
from yakusu.progress import Progress
from yakusu.vectors.file import open_compressed
from yakusu.vectors.static.folder import CONFIG, DENSE, TABLE, TOKENIZER, TOKENS, StaticFolder
from yakusu.vectors.verbs import Report, compress


@dataclass(frozen=True)
class StaticReport:
    """Result of `compress_static`.

    vectors: Report of the vectors, without weights and tokenizer.
    before, after: Bytes of the files that encode texts, in the old folder and in the new one.
    tokenizer: Bytes of the tokenizer, which does not change.
    """

    vectors: Report
    before: int
    after: int
    tokenizer: int


def compress_static(
    folder: str | Path,
    out: str | Path,
    *,
    config: CompressConfig | None = None,
    progress: Progress | None = None,
) -> StaticReport:
    """Compress a folder of static embeddings, which `open_static` opens.

    Args:
        folder: A folder of model2vec, or of sentence-transformers with static embeddings.
        out: Folder to write; an existing compressed folder is replaced.
        config: Settings, as for `compress`.
        progress: Progress reporter.

    Raises:
        ModelError: A file of the folder is missing or not valid.
        RecipeError, DataError: As for `compress`; or `folder` is already compressed, or `out`
            exists and is another kind of file or folder.
    """
    files, out = StaticFolder.of(Path(folder)), Path(out)
    if files.is_compressed:
        raise DataError(f"{folder} is already compressed: give the original folder")
    if out.exists() and not (out / TABLE).is_file():
        raise DataError(
            f"{out} exists and was not written by 'vectors compress': choose another name"
        )
    files.settings()
    vectors = files.dense()
    of_tokens = files.of_tokens(len(vectors))
    if vectors.dtype == np.int8:
        vectors = vectors.astype(np.float32)
    made: list[Report] = []

    def fill(temporary: Path) -> None:
        made.append(compress(vectors, temporary / TABLE, config=config, progress=progress))
        shutil.copyfile(files.config, temporary / CONFIG)
        shutil.copyfile(files.tokenizer, temporary / TOKENIZER)
        if arrays := of_tokens.arrays:
            with usual_permissions(temporary / TOKENS) as path:
                save_file(arrays, path)

    replace_folder(out, fill)
    return StaticReport(
        made[0], files.size, StaticFolder.of(out).size, files.tokenizer.stat().st_size
    )


def export_static(folder: str | Path, out: str | Path) -> None:
    """Write a compressed folder as one that model2vec reads, with the rebuilt vectors in float32.

    Args:
        folder: A folder of `compress_static`.
        out: Folder to write; it must not exist.

    Raises:
        ModelError: A file of the folder is missing or not valid.
        DataError: `folder` is not compressed, or `out` exists.
    """
    files, out = StaticFolder.of(Path(folder)), Path(out)
    if not files.is_compressed:
        raise DataError(f"{folder} is not compressed: give a folder of 'yakusu vectors compress'")
    if out.exists():
        raise DataError(f"{out} exists: choose another name")
    matrix = open_compressed(files.vectors)
    of_tokens = files.of_tokens(len(matrix))

    def fill(temporary: Path) -> None:
        arrays = {"embeddings": matrix.dense(), **of_tokens.arrays}
        with usual_permissions(temporary / DENSE) as path:
            save_file(arrays, path)
        shutil.copyfile(files.config, temporary / CONFIG)
        shutil.copyfile(files.tokenizer, temporary / TOKENIZER)

    replace_folder(out, fill)
