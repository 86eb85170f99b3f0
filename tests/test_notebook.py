"""Figures in a notebook: each stands alone, fetches nothing, and does not mind its neighbours."""

import html
import re
import sys
from pathlib import Path

import nbformat
import pytest
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient

from app.paths import CONTENT, ROOT
from figures import FIGURES, Append
from model.toy.record import record

TRACE = record("The black cat sees a white bird.")
NOTEBOOK = CONTENT / "example.ipynb"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_one_frame_that_fetches_nothing(name: str):
    made = FIGURES[name](TRACE)._repr_html_()
    assert made.startswith("<iframe srcdoc=")
    page = html.unescape(made.partition('srcdoc="')[2].rpartition('" title=')[0])
    assert f'kv.figure("{name}"' in page
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page.partition("<script>")[0]) == []
    assert "@font-face" not in page.partition("<script>")[0]
    assert page.count("</script>") == page.count("<script")


def test_a_figure_keeps_the_state_it_was_given():
    figure = Append(TRACE, t=3, layer=1)
    assert figure.state() == {"t": 3, "layer": 1, "head": 0}
    assert "&quot;t&quot;: 3, &quot;layer&quot;: 1" in figure._repr_html_()


def test_a_figure_without_a_recording_says_what_to_write():
    with pytest.raises(ValueError, match=r"Append\(record\("):
        Append()._repr_html_()


def test_what_was_typed_cannot_leave_its_place():
    typed = record('</script><script>alert(1)</script> " onload=alert(1) the cat')
    made = Append(typed)._repr_html_()
    assert "<script>alert" not in made
    page = html.unescape(made)
    assert "<script>alert" not in page


@pytest.mark.filterwarnings("ignore")  # the notebook machinery warns about itself
def test_the_example_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert sys.executable
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert "python3" in KernelSpecManager().find_kernel_specs()
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    frames = [
        output["data"]["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    assert len(frames) == 3
    assert all(frame.startswith("<iframe") for frame in frames)


def test_the_example_is_kept_without_outputs():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert [cell for cell in notebook.cells if cell.get("outputs")] == []
