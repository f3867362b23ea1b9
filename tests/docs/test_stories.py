"""The stories of docs/stories run, say what they found, and draw it."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

STORIES = ROOT / "docs" / "stories"
NAMES = {"nmt": 4, "char": 3, "nas": 2, "fiesta": 4, "cushlepor": 3}
"""Number of claims of each."""

pytest.importorskip("matplotlib", reason="extra plots is not installed")


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"story_of_{name}", STORIES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_story(name: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STORIES))
    verdicts = load(name).main(["--seeds", "2", "--out", str(tmp_path)])
    sys.modules.pop("story", None)
    said = capsys.readouterr().out
    assert len(verdicts) == NAMES[name]
    assert said.count("HERE: it holds") == sum(verdicts.values())
    assert said.count("HERE: IT DOES NOT HOLD") == len(verdicts) - sum(verdicts.values())
    assert "nan" not in said.split()
    assert "What differs." in " ".join(said.split())
    if name == "char":  # computed from whole tables, whatever the seeds
        assert verdicts["transformers are more sensitive, by both definitions (section 6)"]
    assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_page_lists_every_story() -> None:
    page = (STORIES.parent / "stories.md").read_text(encoding="utf-8")
    assert all(f"docs/stories/{name}.py" in page for name in NAMES)
    assert {p.stem for p in STORIES.glob("*.py")} == {"story", *NAMES}
