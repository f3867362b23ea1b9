"""Colours of charts."""

from __future__ import annotations

import numpy as np

from hpo_envs.benchmarks.report import charts


def test_colours_run_from_light_to_dark() -> None:
    assert charts.colour(0.0) == charts.CIVIDIS[0]
    assert charts.colour(1.0) == charts.CIVIDIS[-1]
    light = [sum(int(charts.colour(i / 20)[k : k + 2], 16) for k in (1, 3, 5)) for i in range(21)]
    assert light == sorted(light, reverse=True)


def test_figures_on_colours_can_be_read() -> None:
    def luminance(colour: str) -> float:
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    for share in np.linspace(0, 1, 101):
        ink = {"#000": 0.0, "#fff": 1.0}[charts.ink(share)]
        low, high = sorted([luminance(charts.colour(share)), ink])
        assert (high + 0.05) / (low + 0.05) >= 4.5, "level AA of WCAG 2.2"
