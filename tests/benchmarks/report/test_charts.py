"""Colours of charts."""

from __future__ import annotations

from hpo_envs.benchmarks.report import charts


def test_colours_run_from_light_to_dark() -> None:
    assert charts.colour(0.0) == charts.CIVIDIS[0]
    assert charts.colour(1.0) == charts.CIVIDIS[-1]
    light = [sum(int(charts.colour(i / 20)[k : k + 2], 16) for k in (1, 3, 5)) for i in range(21)]
    assert light == sorted(light, reverse=True)
