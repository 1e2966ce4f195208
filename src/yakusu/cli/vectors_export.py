"""The verb `vectors export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.show import counted
from yakusu.errors import DataError

_NAMES = {
    "word2vec": "word2vec text",
    "word2vec-binary": "word2vec binary",
    "glove": "GloVe text",
    "npy": "a matrix of float32",
    "gensim": "gensim's KeyedVectors",
}


def vectors_export_verb(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Compressed vectors, a file or folder.")
    ],
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="The file or folder to write; it must not exist.")
    ],
    form: Annotated[
        Literal["word2vec", "word2vec-binary", "glove", "npy", "gensim"] | None,
        typer.Option(
            "--format",
            help="Format (default: word2vec for .txt and .vec, word2vec-binary for .bin, npy for "
            ".npy, gensim for .kv).",
        ),
    ] = None,
) -> None:
    """Write the rebuilt vectors for another library, as float32.

    word2vec, word2vec-binary and glove cannot represent words with spaces. npy also writes
    OUT.words.txt, with one word per line. Vectors without words are exported to npy only.

    A folder of compressed static embeddings is written as a folder that model2vec reads.

    Example: `yakusu vectors export glove.ykv glove.bin`
    """
    if Path(file).is_dir():
        if form is not None:
            raise DataError(f"{file} is a folder, which has no other formats: leave out --format")
        yakusu.vectors.export_static(file, out)
        print(f"folder: {out}")
        return
    made = yakusu.vectors.export(file, out, form=form, progress=ConsoleProgress())
    size = decimal(sum(path.stat().st_size for path in made.files))
    name = _NAMES[made.form] + (" and a list of words" if len(made.files) > 1 else "")
    print(
        f"{counted(made.n_vectors, 'vector')} x {counted(made.width, 'dimension')} as {name}, "
        f"{size}\n"
        f"file: {', '.join(map(str, made.files))}"
    )
