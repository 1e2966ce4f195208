"""Work under umask 0 in a child process, whose temporary files are looked at all the time.

This module must not import pytest or a test module: see runs.py.
"""

import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import yakusu
from tests.system.runs import recipe_for, without_benchmark
from yakusu.export.formats import FORMATS, ExportedModel
from yakusu.folder import save_folder
from yakusu.translator.folder.folder import ModelFolder

EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree")


class Watch:
    """Records temporary files and folders that others than their owner can open.

    Args:
        folder: Where the work writes, including the system's temporary files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.temporary = folder, folder / "tmp"
        self.seen, self.open = set[str](), set[str]()
        self._looking = False

    def hear(self, event: str, _: tuple[Any, ...]) -> None:
        """Look at all temporary files before a change of a file."""
        if event in EVENTS and not self._looking:
            self._looking = True  # looking raises events, too
            try:
                for path in (*self.temporary.iterdir(), *self.folder.rglob(".saving-*")):
                    self._look(path)
            finally:
                self._looking = False

    def _look(self, path: Path) -> None:
        try:
            mode = path.stat().st_mode & 0o777
        except FileNotFoundError:
            return
        is_inside = any(parent.name.startswith(".saving-") for parent in path.parents)
        kind = "system" if path.parent == self.temporary else "saving"
        if not is_inside:
            self.seen.add(kind)
            # A complete folder gets its final mode just before it is renamed.
            if mode & 0o077 and not (path / "manifest.json").exists():
                self.open.add(f"{path} {mode:o}")


def work(corpus: Path, folder: Path) -> None:
    """Train, translate a document, check a corpus and export under umask 0; write what is seen."""
    os.umask(0)
    without_benchmark()
    watch = Watch(folder)
    watch.temporary.mkdir()
    tempfile.tempdir = str(watch.temporary)
    sys.addaudithook(watch.hear)
    run = folder / "run"
    yakusu.train(recipe_for(corpus, run, "training.max_steps=4"))
    page = folder / "page.md"
    page.write_text("# the old ferry\n\nthe baker sees the river\n")
    yakusu.translate_document(run / "model", page, folder / "translated.md", strict=True)
    yakusu.check(recipe_for(corpus, run))
    exported = ExportedModel.of(ModelFolder.open(run / "model"), "float32")
    save_folder(folder / "hf", partial(FORMATS["hf"].write, model=exported))
    found = "\n".join([*sorted(watch.open), f"seen: {' '.join(sorted(watch.seen))}"])
    (folder / "found").write_text(found)
