"""Pictures of an episode: in a window, in a video, without matplotlib."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.hpo_envs.core.helpers import made, played


def test_human_draws_in_a_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a backend that counts instead of showing."""
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    import matplotlib.backends.backend_agg as agg
    from matplotlib import figure, pyplot

    shown: list[Any] = []
    monkeypatch.setattr("matplotlib.get_backend", lambda: "counting")
    monkeypatch.setattr(pyplot, "figure", lambda **kwargs: agg.FigureCanvasAgg(figure.Figure(**kwargs)).figure)
    monkeypatch.setattr(figure.Figure, "show", lambda self: shown.append("new"))
    monkeypatch.setattr(agg.FigureCanvasAgg, "draw_idle", lambda self: shown.append("drawn"))
    monkeypatch.setattr(agg.FigureCanvasAgg, "flush_events", lambda self: None)
    monkeypatch.setattr(pyplot, "close", lambda f: shown.append("closed"))
    played(made("NMTHPO-zhen-v0", "human"), 3).close()
    assert shown == ["new", "drawn", "drawn", "drawn", "drawn", "closed"]


def test_pictures_without_matplotlib_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    env = played(made("NMTHPO-zhen-v0", "rgb_array"), 1)
    with pytest.raises(ModuleNotFoundError, match=r"pip install .hpo_envs\[plots\]"):
        env.render()


def test_record_video(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="extra plots is not installed")
    pytest.importorskip("moviepy", reason="moviepy is not installed")
    from gymnasium.wrappers import RecordVideo

    env = RecordVideo(made("NMTHPO-zhen-v0", "rgb_array", budget=3), str(tmp_path), disable_logger=True)
    played(env, 3)
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 1000
