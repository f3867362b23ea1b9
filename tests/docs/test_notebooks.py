"""Notebooks are stored without outputs, executed by a kernel, and shown as pages."""

import json
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

sys.path.insert(0, str(ROOT / "docs"))

from _site import notebooks

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

CELLS = """
import sys
from matplotlib import pyplot
axes = pyplot.figure().subplots()
print("out")
print("err", file=sys.stderr)
---
import pandas
pandas.DataFrame({"x": [17]})
---
pyplot.figure().subplots()
(1, 2)
"""


@pytest.mark.parametrize("path", notebooks.ordered(), ids=lambda p: p.stem)
def test_notebooks_are_stored_without_outputs(path: Path) -> None:
    book = json.loads(path.read_text(encoding="utf-8"))
    nbformat.validate(book)
    assert not any(c.get("outputs") or c.get("execution_count") for c in book["cells"])
    assert book["cells"][0]["source"][0].startswith("# ")


def written(folder: Path, *cells: str) -> Path:
    v4 = nbformat.v4
    book = v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), *(v4.new_code_cell(c.strip()) for c in cells)])
    nbformat.write(book, folder / "book.ipynb")
    return folder / "book.ipynb"


def test_what_cells_put_out_is_on_page(tmp_path: Path) -> None:
    book = notebooks.executed(written(tmp_path, *CELLS.split("---")), tmp_path)
    text = notebooks.page(book, tmp_path / "pictures", "book")
    assert text.startswith("# Title\n\n```python\nimport sys")
    assert "```text\nout\n```" in text
    assert "err\n" not in text.replace('"err"', "")
    assert "<td>17</td>" in text
    pictures = sorted(p.name for p in (tmp_path / "pictures").iterdir())
    assert len(pictures) == 2
    assert all(f"![]({name})" in text for name in pictures)


def test_cell_that_fails_ends_build(tmp_path: Path) -> None:
    from nbclient.exceptions import CellExecutionError

    with pytest.raises(CellExecutionError, match="wrong"):
        notebooks.executed(written(tmp_path, "raise ValueError('wrong')"), tmp_path)
