"""The stories of docs/stories run, print their findings, and draw them."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

STORIES = ROOT / "docs" / "stories"
NAMES = {"nmt": 4, "char": 3, "nas": 2, "fiesta": 4, "cushlepor": 3}
"""Number of claims of each story."""

pytest.importorskip("matplotlib", reason="extra plots is not installed")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_stories_run(name: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(STORIES))
    verdicts = runpy.run_path(str(STORIES / f"{name}.py"))["main"](["--seeds", "2", "--out", str(tmp_path)])
    sys.modules.pop("story", None)
    said = capsys.readouterr().out
    assert (len(verdicts), said.count("HERE: it holds")) == (NAMES[name], sum(verdicts.values()))
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
