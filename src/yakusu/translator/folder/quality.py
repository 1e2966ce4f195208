"""The calibration of a model's quality, quality.json in its folder; see `translator/quality.py`."""

from pathlib import Path

from pydantic import ValidationError

from yakusu.errors import ModelError
from yakusu.folder import read_utf8, write_json
from yakusu.translator.folder.folder import QUALITY
from yakusu.translator.quality import Calibration


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Write a calibration into a model folder, before its manifest."""
    write_json(folder / QUALITY, calibration.model_dump())


def read_calibration(folder: Path) -> Calibration | None:
    """Read the calibration in a model folder, which was verified; None if it has none.

    Raises:
        ModelError: The file is not valid.
    """
    path = folder / QUALITY
    if not path.exists():
        return None
    try:
        return Calibration.model_validate_json(read_utf8(path))
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"]))
        raise ModelError(
            f"{path} is not valid ({key}): calibrate the model again (yakusu check --model)"
        ) from error
