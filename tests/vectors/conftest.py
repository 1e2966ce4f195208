"""Fixtures for tests of vectors."""

import pytest

from yakusu.compress import compressor
from yakusu.vectors.matrixfile import MatrixFile


@pytest.fixture(autouse=True)
def fit_reads_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `fit` accept a `MatrixFile`; delete this file once it does so itself."""
    vectors_of = compressor._Compressor._vectors

    def read(self: object, X: object, *, fitting: bool = True) -> object:
        whole = X[:] if isinstance(X, MatrixFile) else X
        return vectors_of(self, whole, fitting=fitting)  # type: ignore[arg-type]

    monkeypatch.setattr(compressor._Compressor, "_vectors", read)
