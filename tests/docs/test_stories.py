"""The stories of docs/stories run, print their findings, and draw them."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from hpo_envs.benchmarks import Comparison
from hpo_envs.families.registry import SPECS, installed
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


def test_the_robustness_example_reports_a_study(tmp_path: Path, capsys: Any) -> None:
    ids = [s.id for s in SPECS.values() if s.family == "CharMini" and installed(s)]
    Comparison({"environments": ids, "agents": ["random", "learned-policy"], "seeds": 6, "budget": 8}, tmp_path).run()
    robustness = runpy.run_path(str(STORIES.parent / "examples" / "robustness.py"))
    assert robustness["main"]([str(tmp_path), "--without", "hun"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"2 agents, {len(ids) - 2} environments, {len(ids) // 2 - 1} groups, 6 seeds")
    assert "| mean regret | `learned-policy` | none | 1 of 1 | 0 |" in said
    assert said.count("| `learned-policy` |") == 8  # by every score
    assert said.count("| `learned-policy`, `random` | ") == 3  # components of each model, and of both
    assert robustness["needed"](1.0, 1.0) == 7  # t of 0.975 with six degrees of freedom is 2.45, with five 2.57
    assert robustness["needed"](0.0, 1.0) is None
