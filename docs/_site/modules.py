"""The index of modules in docs/architecture.md, from first lines of docstrings: `python docs/_site/modules.py`."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "architecture.md"
FOLDERS = ("tables", "agents", "hpo_envs/core", "hpo_envs/families", "hpo_envs/wrappers", "benchmarks", "hpo_envs")
START = "<!-- modules -->\n"


def first(path: Path) -> str:
    """First line of a module's docstring."""
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def folders() -> Iterator[Path]:
    """Folders with modules, each once, in the order of the page's layers; links are left out."""
    found = (p.parent for top in FOLDERS for p in sorted((ROOT / top).rglob("__init__.py")))
    yield from dict.fromkeys(f for f in found if not any(p.is_symlink() for p in (f, *f.parents)))


def index() -> str:
    """A paragraph for each folder, and a line for each of its modules."""
    lines = []
    for folder in folders():
        lines += ["", f"`{folder.relative_to(ROOT).as_posix()}`: {first(folder / '__init__.py')}", ""]
        lines += [f"- `{p.stem}`: {first(p)}" for p in sorted(folder.glob("*.py")) if not p.stem.startswith("__")]
    return "\n".join(lines).strip() + "\n"


def written(page: str) -> str:
    """The page with its index replaced."""
    return page.partition(START)[0] + START + "\n" + index()


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
