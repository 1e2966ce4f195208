"""The notebook of docs/ runs from the first cell to the last, without warnings."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "notebook.ipynb"
Ran = tuple[str, list[str]]  # what was printed, and the types of what was shown


def in_jupyter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Run the cells in a kernel of their own."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
        monkeypatch.setenv(name, str(folder / name))
    import nbformat  # reads these variables
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "k"))
    NotebookClient(notebook, timeout=600, km=kernel).execute(cwd=str(folder), cleanup_kc=True)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.get("name", "stdout") for output in outputs} == {"stdout"}  # no warnings
    shown = ["SVG" for output in outputs if "image/svg+xml" in output.get("data", {})]
    return "".join(output.get("text", "") for output in outputs), shown


def in_this_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Ran:
    """Run the cells without Jupyter, whose kernel takes as long to start as the cells to run."""
    shown: list[str] = []
    monkeypatch.setattr("IPython.display.display", lambda each: shown.append(type(each).__name__))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, source in enumerate(sources(), start=1):
        exec(compile(source, f"docs/notebook.ipynb, cell {number}", "exec"), names)
    names["scratch"].cleanup()
    printed, errors = capfd.readouterr()
    assert not errors
    return printed, shown


def sources() -> list[str]:
    """The cells with code, which are saved without outputs."""
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in code)
    return ["".join(cell["source"]) for cell in code]


def test_the_notebook_runs_and_its_translator_translates(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    thorough: bool,
) -> None:
    if thorough:
        printed, shown = in_jupyter(tmp_path, monkeypatch)
    else:
        printed, shown = in_this_process(tmp_path, monkeypatch, capfd)
    assert not caplog.messages
    assert int(printed.partition(" of 100 unseen")[0].rpartition("\n")[2]) >= 90
    assert shown == ["SVG"]
