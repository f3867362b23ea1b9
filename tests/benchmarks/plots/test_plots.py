"""What the package of pictures hands on."""

from __future__ import annotations

from hpo_envs.benchmarks import plots
from hpo_envs.benchmarks.plots import configurations, runs
from tests.helpers import raises


def test_pictures_are_imported_where_they_are_asked_for() -> None:
    assert plots.ranking is runs.ranking
    assert plots.importance is configurations.importance
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    with raises("module 'hpo_envs.benchmarks.plots' has no attribute 'pie'", AttributeError):
        _ = plots.pie
