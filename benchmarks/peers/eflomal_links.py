"""Word alignments by eflomal (Östling & Tiedemann 2016), in both directions."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory


def links(src: Sequence[str], tgt: Sequence[str]) -> tuple[list[str], list[str]]:
    """Align sentences with the default settings; the result differs slightly between runs.

    Returns:
        The links of each sentence in the Pharaoh format: one source word for each target word, and
        one target word for each source word.
    """
    from eflomal import Aligner  # type: ignore[import-not-found]

    with TemporaryDirectory() as folder:
        forward, backward = Path(folder) / "forward", Path(folder) / "backward"
        Aligner().align(src, tgt, links_filename_fwd=str(forward), links_filename_rev=str(backward))
        return forward.read_text().splitlines(), backward.read_text().splitlines()
