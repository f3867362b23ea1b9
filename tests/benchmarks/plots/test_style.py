"""Pictures: the same data give the same bytes, and nothing of pyplot's state is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpo_envs.agents import AGENTS
from hpo_envs.benchmarks.plots import style


def test_panels_are_saved_twice_and_alike(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = []
    for name in ("a", "b"):
        figure, axes = style.panels(1, 2, (4.0, 2.0), sharey=True)
        assert axes.shape == (1, 2)
        axes[0, 0].plot([1, 2], [3, 4])
        written.append(style.save(figure, tmp_path / name / "x.y"))
    assert [f.name for f in written[0]] == ["x.y.png", "x.y.svg"]
    assert [f.read_bytes()[:8] for f in written[0]] == [b"\x89PNG\r\n\x1a\n", b"<?xml ve"]
    assert written[0][0].read_bytes() == written[1][0].read_bytes()


def test_an_agent_looks_the_same_in_every_picture() -> None:
    alone, among = style.looks(["bo"]), style.looks(["random", "learned (seen)", "bo", "somebody:Else"])
    assert among["bo"] == alone["bo"] == style.looks(["bo (refit=1)"])["bo (refit=1)"]
    assert among["learned (seen)"] == style.looks(["learned"])["learned"]
    assert len(set(among.values())) == 4
    both = style.looks(["bo (1)", "bo (2)"])
    assert both["bo (1)"] != both["bo (2)"]
    assert len(style.looks(map(str, range(40)))) == 40, "more agents than looks share some"


def test_every_agent_of_a_leaderboard_has_a_look() -> None:
    assert {n for n, e in AGENTS.items() if e.entrant and e.extra is None} <= style.PLACES.keys()
