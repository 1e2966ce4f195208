"""RUN/prepared.json: what the data folder of a run contains, to prove that a rebuilt one is equal.

The record is outside the folder, so it survives whatever happens to the folder, and outside the
model and its checkpoints, whose bytes do not depend on it.
"""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from yakusu.config import Config
from yakusu.data.pairs import DataFacts, rebuild_command
from yakusu.errors import DataError, RunError
from yakusu.folder import Manifest, json_text, read_regular, verify_folder, write_text
from yakusu.pipeline.receipts.inputs import check_unchanged, inputs_of
from yakusu.recipe import Recipe
from yakusu.typed import ValidationError

_NAME = "prepared.json"
_LIBRARIES = ("yakusu", "numpy", "regex", "sentencepiece")  # they decide what `prepare` writes


class PreparedRecord(Config):
    """Content of prepared.json.

    Attributes:
        manifest: Sizes and hashes of the files of the data folder.
        facts: Its data.json, with the hashes of the corpora; None: unknown.
        versions: Versions of the libraries that wrote it; none: unknown.
    """

    ignores_unknown = True

    manifest: Manifest
    facts: DataFacts | None = None
    versions: Mapping[str, str] = {}

    @classmethod
    def of(cls, run: Path) -> "PreparedRecord | None":
        """Read the record of a run, or what the data folder says if there is no valid record.

        Returns:
            The record; None: the data folder has no valid manifest either.
        """
        try:
            return cls.read(run / _NAME)
        except (OSError, ValidationError):
            return cls.of_folder(run / "data")

    @classmethod
    def read(cls, path: Path) -> "PreparedRecord":
        """Read prepared.json.

        Raises:
            OSError: It cannot be read.
            ValidationError: It is not valid.
        """
        return cls.model_validate_json(read_regular(path))

    @classmethod
    def of_folder(cls, folder: Path) -> "PreparedRecord | None":
        """Return the record of a data folder; None: it has no valid manifest."""
        try:
            manifest = Manifest.model_validate_json(read_regular(folder / "manifest.json"))
        except (OSError, ValidationError):
            return None
        try:
            facts = DataFacts.read(folder)
        except RunError:
            facts = None
        return cls(manifest=manifest, facts=facts)

    def require_inputs(self, folder: Path, recipe: Recipe) -> None:
        """Check that the corpora are those that the data folder was made from.

        Raises:
            DataError: A file does not exist.
            RunError: A file has changed, or a tree file was added.
        """
        if missing := [path for path in inputs_of(recipe).values() if not path.exists()]:
            raise DataError(
                f"{missing[0]} does not exist, but {folder} is made from it: restore the file"
            )
        if self.facts:
            check_unchanged(folder, self.facts, recipe)

    def require_equal(self, folder: Path, rebuilt: Manifest) -> None:
        """Check that a rebuilt data folder has the recorded hashes.

        Raises:
            RunError: A file differs.
        """
        old, new = self.manifest.files, rebuilt.files
        if old == new:
            return
        differing = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
        now = _versions()
        changed = [
            f"{name} {earlier}, now {now.get(name)}"
            for name, earlier in self.versions.items()
            if earlier != now.get(name)
        ]
        why = f"; it was made with {', '.join(changed)}" if changed else ""
        raise RunError(
            f"{folder} cannot be rebuilt with the same bytes, so it is left as it is "
            f"({', '.join(differing)} would differ{why}): restore the folder from a copy, or start "
            "a new run"
        )


def forget_record(run: Path) -> None:
    """Delete the record of a run, which is about to get another data folder."""
    (run / _NAME).unlink(missing_ok=True)


def write_record(run: Path, *, is_new: bool) -> None:
    """Write the record of an intact data folder, if there is none.

    Args:
        run: The run folder.
        is_new: Whether the data folder was written with the libraries of this process.
    """
    try:
        PreparedRecord.read(run / _NAME)
    except (OSError, ValidationError):
        record = PreparedRecord.of_folder(run / "data")
        assert record, "the data folder is intact"
        value = record.model_copy(update={"versions": _versions() if is_new else {}})
        write_text(run / _NAME, json_text(value.model_dump(mode="json", exclude_none=True)))


def check_data(run: Path) -> None:
    """Check that the data folder of a run is intact and the one that the run was prepared with.

    Raises:
        ModelError: A file is missing or corrupt.
        RunError: It is another folder.
    """
    folder = run / "data"
    manifest = verify_folder(folder, repair=rebuild_command(folder))
    record = PreparedRecord.of(run)
    if record and record.manifest.files != manifest.files:
        raise RunError(
            f"{folder} is not the folder that the run was prepared with, as {run / _NAME} records "
            f"it: {rebuild_command(folder)}"
        )


def _versions() -> dict[str, str]:
    return {name: version(name) for name in _LIBRARIES}
