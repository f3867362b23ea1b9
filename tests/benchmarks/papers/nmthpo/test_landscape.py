"""Statistics of a table that decide how hard it is to search."""

from __future__ import annotations

import pytest

from hpo_envs.benchmarks.papers.nmthpo import landscape
from hpo_envs.tables import store


def test_statistics_by_hand() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    assert landscape.evaluations_to_reach(values, 5.0) == 3.0
    assert landscape.evaluations_to_reach(values, 1.0) == 1.0
    with pytest.raises(ValueError, match="target must be at most the best value, 5.0, got 6"):
        landscape.evaluations_to_reach(values, 6.0)
    assert landscape.top_percent(range(200)) == 198.0
    assert landscape.top_percent(values) == 5.0
    assert landscape.pareto_size([1, 2, 3], [1, 2, 1]) == 1
    assert landscape.pareto_size([1, 2, 3], [1, 2, 3]) == 3


def test_landscape_of_an_embedded_table() -> None:
    table = store.load("nmthpo/jaen", "surrogate")
    found = landscape.landscape(table)
    assert found["rows"] == len(table)
    assert found["best"] == table.final("bleu").max()
    quantiles = [found[f"quantile {q}"] for q in (0.1, 0.5, 0.9, 0.99)]
    assert quantiles == sorted(quantiles)
