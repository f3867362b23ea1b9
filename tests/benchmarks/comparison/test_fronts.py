"""Attainment of runs with two objectives, by hand and in native units."""

from __future__ import annotations

from typing import Any

import numpy as np

from hpo_envs.benchmarks.comparison import fronts, scored
from hpo_envs.benchmarks.runs import Run


def test_fronts_in_native_units(summarised: dict[str, Any]) -> None:
    entry = summarised["fronts"]["NMTHPO-zhen-mo-v0"]
    assert (entry["objectives"], entry["signs"]) == (["bleu", "decoding_seconds"], [1.0, -1.0])
    final = entry["stages"]["100%"]["random"]
    median, low, high = (np.array([np.inf if v is None else v for v in band]) for band in final)
    # Seconds that more runs attain are more seconds, and more budget never costs any.
    assert (high <= median).all()
    assert (median <= low).all()
    early = np.array([np.inf if v is None else v for v in entry["stages"]["25%"]["random"][0]])
    assert (median <= early).all()
    assert np.isfinite(median).any()


def made(rewards: list[list[float]], costs: list[float], **header: Any) -> Run:
    head = {"table": "no/such", "objectives": ["a", "b"], "budget": 10.0, **header}
    return Run(0, np.zeros(len(costs), int), np.array(rewards), np.array(costs), 0, head)


def test_what_is_finished_within_a_share_of_the_budget_counts() -> None:
    r = made([[1.0, 5.0], [2.0, 3.0], [3.0, 1.0]], [4.0, 1.0, 9.0])
    assert [len(fronts.until(r.rewards, r.costs, 10.0, share)) for share in (0.1, 0.4, 0.49, 0.5, 0.99, 1.0)] == [
        1,
        1,
        1,
        2,
        2,
        3,
    ]


def test_surfaces_by_hand() -> None:
    pairs = ([1.0, 6.0], [1.0, 5.0], [2.0, 4.0], [1.0, 1.0])
    runs = [made([pair], [1.0]) for pair in pairs]
    none = -np.inf
    # Second rewards of the runs that have the first one: (6, 5, 4, 1) up to 1, and 4 up to 2.
    assert [s.tolist() for s in fronts.surfaces([(r.rewards, r.costs) for r in runs], 10.0, [1.0, 2.0])] == [
        [5.0, none],
        [4.0, none],
        [6.0, 4.0],
    ]


def test_only_two_objectives_have_fronts(runs: list[Run]) -> None:
    found = fronts.of_cells(scored.Scores.of(runs).cells)
    assert list(found) == ["NMTHPO-zhen-mo-v0"]
    entry = found["NMTHPO-zhen-mo-v0"]
    assert list(entry["stages"]) == ["25%", "50%", "100%"]
    assert set(entry["stages"]["50%"]) == {"random", "bo-ehvi-rbf"}
    assert (np.diff(entry["x"]) > 0).all()
