"""The calibration of a model's quality, quality.json in its folder; see `translator/quality.py`."""

import logging
from pathlib import Path

from yakusu.folder import read_utf8, write_json
from yakusu.translator.folder.folder import QUALITY
from yakusu.translator.quality import Calibration
from yakusu.typed import ValidationError

_log = logging.getLogger(__name__)


def write_calibration(folder: Path, calibration: Calibration) -> None:
    """Write a calibration into a model folder, before its manifest."""
    write_json(folder / QUALITY, calibration.model_dump())


def read_calibration(folder: Path) -> Calibration | None:
    """Read the calibration in a model folder, which was verified; None if it has none.

    One of another version is not used, with a warning: translations do not depend on it.
    """
    path = folder / QUALITY
    if not path.exists():
        return None
    try:
        return Calibration.model_validate_json(read_utf8(path))
    except ValidationError as error:
        key = ".".join(map(str, error.path))
        _log.warning(
            "%s is not valid (%s), so the quality is not estimated: calibrate the model again "
            "(yakusu check --model)",
            *(path, key),
        )
        return None
