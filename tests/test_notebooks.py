"""The notebooks of docs run from their first cell to their last, and show what they made."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = [
    pytest.param(path, marks=[pytest.mark.spark] if "spark" in path.stem else [])
    for path in sorted(FOLDER.glob("*.ipynb"))
]


@pytest.mark.filterwarnings("default")  # of Jupyter's own packages
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_its_results(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output]
    assert any("text/html" in output["data"] for output in shown)


def test_there_is_a_notebook_for_each_kind_of_user() -> None:
    assert len(NOTEBOOKS) == 3
