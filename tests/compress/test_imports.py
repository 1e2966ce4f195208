"""What reads compressed vectors and stores imports no library that only compressing needs."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import yakusu

SCRIPT = """
import sys
import yakusu
made, store, queries = sys.argv[1:]
yakusu.vectors.inspect(made)
assert yakusu.vectors.neighbours(made, "3", 2)
assert [*yakusu.vectors.search(store, queries, 1)]
heavy = {"matplotlib", "pandas", "sklearn", "torch"} & {*sys.modules}
assert not heavy, heavy
"""


def test_reading_imports_no_library_for_compressing(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((300, 6)).astype(np.float32)
    np.save(tmp_path / "v.npy", vectors)
    yakusu.vectors.compress(vectors, tmp_path / "v.ykv")
    yakusu.vectors.index(tmp_path / "v.db", vectors)
    files = (str(tmp_path / name) for name in ("v.ykv", "v.db", "v.npy"))
    subprocess.run([sys.executable, "-c", SCRIPT, *files], check=True)
