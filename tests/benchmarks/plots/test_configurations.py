"""Pictures of configurations: places on axes, and what is missing."""

from __future__ import annotations

import pandas as pd
import pytest

from hpo_envs.benchmarks.plots import configurations as plots

FRAME = pd.DataFrame(
    {"lr": [1e-4, 1e-3, 1e-2], "layers": [1, 2, 5], "kind": ["b", None, "a"], "same": 1, "reward": [1.0, 3.0, 2.0]}
)


def test_lines_go_through_the_values_and_the_best_is_on_top() -> None:
    axes = plots.parallel_coordinates(FRAME, ["lr", "layers", "kind", "same"])
    (lines,) = axes.collections
    heights = [path.vertices[:, 1].tolist() for path in lines.get_paths()]
    assert heights[0] == pytest.approx([0.0, 0.0, 1.0])
    assert heights[1] == pytest.approx([1.0, 1.0, 0.0])
    assert heights[2] == pytest.approx([0.5, 0.25, plots.MISSING])  # the best; lr is on a logarithmic scale
    assert [t.get_text() for t in axes.get_xticklabels()] == ["lr", "layers", "kind"]
    named = FRAME.copy()
    named.attrs["configuration"] = ["lr"]
    assert len(plots.parallel_coordinates(named).get_xticklabels()) == 1
    with pytest.raises(ValueError, match="columns must be among lr, .*, got 'rl'"):
        plots.parallel_coordinates(FRAME, ["rl"])
    with pytest.raises(ValueError, match="columns must have at least one that varies, got same"):
        plots.parallel_coordinates(FRAME, ["same"])
