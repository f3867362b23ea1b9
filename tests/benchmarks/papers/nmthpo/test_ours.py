"""The comparison with our settings."""

from __future__ import annotations

from hpo_envs.benchmarks.papers.nmthpo import ours
from hpo_envs.tables.datasets.nmthpo.names import PAIRS


def test_settings_are_chosen_without_the_pair_reported() -> None:
    """A setting that is splendid on one pair and poor elsewhere is chosen for no other; nor for its own."""
    values = {}
    for pair in PAIRS:
        values["steady", pair] = {"ftc": [5.0] * 9, "fb": [0.0] * 9}
        lucky = pair == "zhen"
        values["lucky", pair] = {"ftc": [3.0 if lucky else 90.0] * 9, "fb": [0.0 if lucky else 9.0] * 9}
    assert set(ours.choose(values).values()) == {"steady"}


def test_outcomes() -> None:
    published = ours.best_published("jaen", "ftc")
    assert published[:2] == (6.0, 2.0)
    assert ours.outcome([3.0] * 50, published) == "better"
    assert ours.outcome([6.2] * 50, published) == "tie"
    assert ours.outcome([9.0] * 50, published) == "worse"
