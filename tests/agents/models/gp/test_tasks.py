"""Earlier searches as tasks of the model on a box."""

import numpy as np

from hpo_envs.agents.models.gp.box import BoxGP
from hpo_envs.agents.models.gp.tasks import Tasks
from hpo_envs.agents.models.source import Source
from hpo_envs.agents.problem import Axis
from hpo_envs.agents.search.bo_box import BoxSpace

SPACE = BoxSpace((Axis(), Axis(values=(0.25, 0.75), categorical=True)))
RNG = np.random.default_rng(5)


def height(x: np.ndarray) -> np.ndarray:
    return -10.0 * (x[:, 0] - 0.7) ** 2 + (x[:, 1] > 0.5)


def source(rows: int, sign: float = 1.0) -> Source:
    x = SPACE.snap(RNG.random((rows, 2)))
    return Source("earlier", 2.0 * x - 1.0, 7.0 + 100.0 * sign * height(x)[:, None], np.ones(rows))


def model(tasks: Tasks, x: np.ndarray) -> BoxGP:
    y = height(x)
    data = tasks.joined(x, (y - y.mean()) / y.std())
    return BoxGP(tasks, *data, BoxGP.estimate(tasks, *data, None))


def test_sources_tell_what_few_observations_cannot_and_are_outvoted_by_many() -> None:
    few = SPACE.snap(np.array([[0.68, 0.75], [0.75, 0.75], [0.6, 0.25]]))
    grid = SPACE.snap(np.column_stack([np.linspace(0.0, 1.0, 50), np.tile([0.25, 0.75], 25)]))

    def agreement(tasks: Tasks, x: np.ndarray) -> float:
        return float(np.corrcoef(model(tasks, x).mean(grid), height(grid))[0, 1])

    good, misleading = Tasks(SPACE, [source(25), source(12)], 0), Tasks(SPACE, [source(30, -1.0)], 0)
    assert agreement(good, few) > 0.9
    assert agreement(misleading, few) < 0.0
    assert agreement(misleading, SPACE.snap(RNG.random((40, 2)))) > 0.8


def test_large_sources_count_with_their_best_and_a_spread_of_the_others() -> None:
    tasks = Tasks(SPACE, [source(500)], 0)
    assert (tasks.x.shape, len(tasks.inputs(tasks.x))) == ((60, 3), 60)
    np.testing.assert_array_equal(tasks.inputs(tasks.x[:, :2])[:, -2:], tasks.inputs(np.zeros((60, 2)))[:, -2:])
    assert np.ptp(height(tasks.x)) > 5.0
