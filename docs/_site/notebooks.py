"""The notebooks, executed by a kernel when the site is built, as pages in Markdown."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _site import markdown

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"

ORDER = ("first-comparison", "tune-your-function", "read-a-table")

SECONDS = 120
"""Time limit of a cell."""


def executed(path: Path, folder: Path) -> Any:
    """A notebook with what its cells put out, as of `together`."""
    return together([path], folder)[0]


def together(paths: Sequence[Path], folder: Path) -> list[Any]:
    """Notebooks with what their cells put out, by one kernel: its start and imports are most of their time.

    Each begins without the names of previous ones, in a folder of its own below `folder`. If a cell raises an error, so
    does this.
    """
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    books = [nbformat.read(path, as_version=4) for path in paths]
    whole = nbformat.v4.new_notebook()
    for i, book in enumerate(books):
        place = folder / str(i)
        place.mkdir()
        fresh = f"%reset -sf\nimport os\nos.chdir({str(place)!r})\ndel os"
        whole.cells += [nbformat.v4.new_code_cell(fresh), *book.cells]
    private = Config(KernelManager={"transport": "ipc", "ip": str(folder / "kernel")})  # no port that others can reach
    started = {"metadata": {"path": str(folder)}}
    NotebookClient(whole, kernel_name="python3", timeout=SECONDS, resources=started, config=private).execute()
    return books


def page(book: Any, pictures: Path, name: str) -> str:
    """A notebook as Markdown; its pictures are written into a folder."""
    parts = []
    for i, cell in enumerate(book.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(markdown.code(cell.source))
            parts += [
                shown for k, o in enumerate(cell.outputs) if (shown := _output(o, pictures, f"{name}-{i}-{k}.png"))
            ]
    return "\n\n".join(parts) + "\n"


def _output(output: Any, pictures: Path, name: str) -> str:
    """Output of a cell in its richest form, without standard error."""
    if output.output_type == "stream":
        return markdown.code(output.text, "text") if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / name).write_bytes(base64.b64decode(data["image/png"]))
        return f"![]({name})"
    if "text/html" in data:
        return "```{raw} html\n" + data["text/html"] + "\n```"
    return markdown.code(data["text/plain"], "text") if "text/plain" in data else ""


def ordered() -> list[Path]:
    """The notebooks: those of `ORDER` first, then others by name."""
    return sorted(FOLDER.glob("*.ipynb"), key=lambda p: ([*ORDER, p.stem].index(p.stem), p.stem))


def write(folder: Path) -> None:
    """Execute all notebooks and write their pages."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        for path, book in zip(ordered(), together(ordered(), Path(work)), strict=True):
            (folder / f"{path.stem}.md").write_text(page(book, folder, path.stem), encoding="utf-8")
