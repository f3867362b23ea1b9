"""The candidate evaluated for a suggestion."""

import numpy as np

from hpo_envs.agents.external.lookup import look_up
from hpo_envs.agents.problem import Axis, Space

SPACE = Space([Axis(), Axis((0.25, 0.75), categorical=True)])


def test_uniform_points_meet_isolated_candidates_as_often_as_others() -> None:
    rng = np.random.default_rng(0)
    points = np.array([[0.0, 0.25], [0.02, 0.25], [0.04, 0.25], [0.9, 0.25], [0.5, 0.75]])
    free = np.array([True, True, True, True, False])
    drawn = rng.random((2000, 2))
    counts = np.bincount([look_up(SPACE, x, points, free, rng) for x in drawn], minlength=5)
    assert counts[4] == 0
    assert np.abs(counts[:4] - 500).max() < 4 * np.sqrt(2000 * 0.25 * 0.75)
    nearest = np.bincount([int(SPACE.distances(x[None], points[:4]).argmin()) for x in drawn], minlength=4)
    assert nearest[3] > 900  # what it mends


def test_equal_candidate_is_chosen_and_near_ones_are_preferred() -> None:
    rng = np.random.default_rng(1)
    points = np.column_stack([np.linspace(0.01, 0.99, 40), np.tile([0.25, 0.75], 20)])
    free = np.ones(40, bool)
    assert all(look_up(SPACE, points[k], points, free, rng) == k for k in range(40))
    near = [abs(points[look_up(SPACE, np.array([0.5, 0.25]), points, free, rng), 0] - 0.5) for _ in range(200)]
    assert np.mean(near) < 0.1
