"""The notebook of docs/ runs from the first cell to the last, without warnings."""

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"


def test_the_notebook_runs_and_its_translator_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    import nbformat  # reads these variables
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(tmp_path / "k"))
    client = NotebookClient(notebook, timeout=600, km=kernel)
    client.execute(cwd=str(tmp_path), cleanup_kc=True)
    outputs = [output for cell in code for output in cell.outputs]
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}  # no warnings
    printed = "".join(output.get("text", "") for output in outputs)
    assert int(printed.partition(" of 100 unseen")[0].rpartition("\n")[2]) >= 90
    assert sum("image/svg+xml" in output.get("data", {}) for output in outputs) == 1
