"""The notebook in docs runs from top to bottom as it stands, and contacts nobody."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

HERE = Path(__file__).parent
NOTEBOOK = HERE.parent / "docs" / "quickstart.ipynb"
DOOR = ("open_library", "add", "search", "ask", "stream", "export", "backup")


@pytest.fixture(scope="module")
def cells():
    return nbformat.read(NOTEBOOK, as_version=4).cells


def text_of(cell):
    """Return what a cell printed."""
    return "".join(output.get("text", "") for output in cell.outputs)


@pytest.mark.parametrize("name", DOOR)
def test_it_shows_the_whole_door(cells, name):
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert f".{name}(" in code


def test_it_is_kept_without_output(cells):
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in code] == [([], None)] * len(code)
    assert "\\u00" not in json.dumps([cell.source for cell in cells], ensure_ascii=False)


@pytest.mark.model
def test_it_runs_and_says_what_it_promises(monkeypatch, tmp_path):
    log = tmp_path / "attempts"
    log.touch()
    monkeypatch.setenv("PYTHONPATH", f"{HERE / 'data' / 'offline'}:{HERE.parent}")
    monkeypatch.setenv("OFFLINE_LOG", str(log))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=240, kernel_name="python3").execute(cwd=str(tmp_path))
    said = "\n".join(text_of(cell) for cell in notebook.cells if cell.cell_type == "code")
    assert log.read_text() == ""
    for promise in (
        "3 read: 2 added, 1 failed",
        "papers.jsonl line 3",
        "2 unchanged; 0 passages embedded",
        "1 Cold brewing",
        "['Roasting']",
        "30% less acid",
        "True ()",
        "cited: ['Roasting']",
        "@misc{author2024cold,",
        "2 papers restored",
    ):
        assert promise in said
