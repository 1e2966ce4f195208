"""The files that a data folder is made from, and whether they have changed since then."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from yakusu.data.corpus import Corpus
from yakusu.data.pairs import DataFacts
from yakusu.errors import DataError, RunError
from yakusu.folder import sha256
from yakusu.pipeline.receipts.corpus import CORPUS_RECEIPT, CorpusFacts
from yakusu.recipe import Recipe


def check_unchanged(folder: Path, facts: DataFacts, recipe: Recipe) -> None:
    """Compare the input files that still exist with those that a data folder was made from.

    `facts` is the content of its data.json.

    Tree files are looked up at their recorded paths, because a folder or pattern may no longer
    match them.

    Raises:
        RunError: A file has changed, or a tree file was added.
    """
    recorded = {key: Path(path) for key, path in facts.trees.items()}
    files = {key: path for key, path in (recorded or inputs_of(recipe)).items() if path.exists()}
    if changed := first_changed(files, facts.inputs):
        raise RunError(
            f"{changed} has changed since {folder} was made from it: restore the file, or choose "
            "another folder with --run"
        )
    if not recorded:
        return
    with suppress(DataError):  # the tree files were removed
        current = {path for path in inputs_of(recipe).values() if path.exists()}
        if added := current - set(recorded.values()):
            raise RunError(
                f"{min(added)} was added after {folder} was made: remove it, or choose another "
                "folder with --run"
            )


def inputs_of(recipe: Recipe) -> dict[str, Path]:
    """Return the files of all corpora by their recipe keys, such as "train.src"."""
    return {
        f"{name}.{key}": path
        for name, corpus in recipe.data.corpora.items()
        for key, path in corpus.named_files.items()
    }


def models_of(recipe: Recipe) -> dict[str, str]:
    """Return the hashes of the models that wrote training pairs, by keys such as "train.teacher 1".

    Raises:
        ModelError: The receipt of a synthetic corpus is corrupt.
    """
    corpora = dict[str, Corpus]()
    for name, corpus in recipe.data.corpora.items():
        for number, part in enumerate(corpus.parts, start=1):
            corpora[f"{name}.{number}"] = part
        if not corpus.parts:
            corpora[name] = corpus
    return {
        f"{name}.{role}": digest
        for name, corpus in corpora.items()
        if not name.endswith("dev")
        and corpus.src
        and (Path(corpus.src).parent / CORPUS_RECEIPT).exists()
        for role, digest in CorpusFacts.read(Path(corpus.src).parent).making.models.items()
    }


def first_changed(files: Mapping[str, Path], digests: Mapping[str, str]) -> Path | None:
    """Return the first file whose hash is not the recorded one."""
    # Version 0.1.0 named the key "tsv".
    known = {key: digests.get(key) or digests[key.replace("pairs", "tsv")] for key in files}
    return next((path for key, path in files.items() if sha256(path) != known[key]), None)
