"""The verbs for stores of vectors: `vectors index`, `search`, `delete` and `compact`."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.filesize import decimal

import yakusu
from yakusu.cli.compress import CompressOverrides, ConfigFile, compress_config
from yakusu.cli.console import ConsoleProgress
from yakusu.cli.show import counted
from yakusu.cli.vectors_words import WordEncoding, WordErrors, read_as_told

if TYPE_CHECKING:
    from yakusu.vectors.store.store import StoreMatch

_Store = Annotated[str, typer.Argument(metavar="STORE", help="The file of a store.")]
_NewStore = Annotated[
    str, typer.Argument(metavar="STORE", help="The file, created if it does not exist.")
]
_Vectors = Annotated[
    str, typer.Argument(metavar="IN", help="Vectors, in any format of 'compress'.")
]
_Ids = Annotated[
    str | None, typer.Option(help="File with one id per line, for vectors without words.")
]
_Metadata = Annotated[
    str | None,
    typer.Option(help="File with one JSON object or null per line, in the order of the vectors."),
]
_Replace = Annotated[
    bool, typer.Option("--replace", help="Replace stored vectors with the same ids.")
]
_Similarity = Annotated[
    Literal["cosine", "inner-product", "euclidean"] | None,
    typer.Option(help="New stores: similarity measure (default: cosine)."),
]
_Originals = Annotated[
    Literal["float16", "float32"] | None,
    typer.Option(help="New stores: also keep the vectors, to rank the best candidates again."),
]


def vectors_index_verb(
    store: _NewStore,
    source: _Vectors,
    ids: _Ids = None,
    metadata: _Metadata = None,
    replace: _Replace = False,
    similarity: _Similarity = None,
    originals: _Originals = None,
    encoding: WordEncoding = None,
    errors: WordErrors = None,
    config: ConfigFile = None,
    settings: CompressOverrides = None,
) -> None:
    """Add vectors to a store, which is created if it does not exist.

    Words are the ids; a matrix without --ids has its row numbers. The codebook is learned from the
    first vectors (--config, --set) and does not change.

    Example: `yakusu vectors index news.db embeddings.npy --ids ids.txt --originals float16`
    """
    made = yakusu.vectors.index(
        store,
        read_as_told(source, None, encoding, errors),
        ids=ids,
        metadata=metadata,
        replace=replace,
        similarity=similarity,
        originals=originals,
        config=compress_config(config, settings, {}) if config or settings else None,
        progress=ConsoleProgress(),
    )
    replaced = f" ({made.added.n_replaced:,} replaced)" if made.added.n_replaced else ""
    print(
        f"{counted(made.added.n_added, 'vector')} added{replaced}, {made.added.share_lost:.2%} of "
        "the variance lost by the codes\n"
        f"{store}: {counted(made.n_vectors, 'vector')} x {counted(made.width, 'dimension')}, "
        f"{decimal(made.file_bytes)}"
    )


def vectors_search_verb(
    store: _Store,
    queries: Annotated[
        str, typer.Argument(metavar="QUERIES", help="Vectors, in any format of 'compress'.")
    ],
    n: Annotated[int, typer.Option("-n", min=1, help="Number of results per query.")] = 10,
    among: Annotated[
        str | None, typer.Option(help="File with one id per line: find only these.")
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Share of the vectors to search, such as 0.1, after 'compact --cells'.",
        ),
    ] = 1,
) -> None:
    """Print the best vectors for each query, best first, one JSON object per line.

    Example: `yakusu vectors search news.db queries.npy -n 3`
    """
    found = yakusu.vectors.search(
        store, queries, n, among=among, share=share, progress=ConsoleProgress()
    )
    for query, matches in found:
        for match in matches:
            print(_line(query, match))


def _line(query: str, match: "StoreMatch") -> str:
    line: dict[str, Any] = {"query": query, "id": match.id, "score": round(match.score, 6)}
    if match.metadata is not None:
        line["metadata"] = match.metadata
    return json.dumps(line, ensure_ascii=False)


def vectors_delete_verb(
    store: _Store,
    ids: Annotated[str, typer.Argument(metavar="IDS", help="File with one id per line.")],
) -> None:
    """Remove vectors from a store; 'vectors compact' gives their space back.

    Example: `yakusu vectors delete news.db old-ids.txt`
    """
    n = yakusu.vectors.delete(store, ids, progress=ConsoleProgress())
    print(f"{store}: {counted(n, 'vector')} removed")


def vectors_compact_verb(
    store: _Store,
    cells: Annotated[
        bool,
        typer.Option("--cells", help="Also group similar vectors, for 'search --share'."),
    ] = False,
) -> None:
    """Free the disk space of deleted vectors.

    Example: `yakusu vectors compact news.db`
    """
    before, after = yakusu.vectors.compact(store, cells=cells, progress=ConsoleProgress())
    print(f"{store}: {decimal(before)} -> {decimal(after)}")
