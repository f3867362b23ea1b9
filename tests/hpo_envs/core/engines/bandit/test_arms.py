"""Arms: synthetic ones, and draws one by one and many at once."""

import numpy as np

from hpo_envs.core.engines.bandit.arms import AHEAD, TOGETHER, Arms, DrawBuffer, GaussianArms, MeasuredArms
from hpo_envs.core.engines.bandit.params import BanditParams
from hpo_envs.tables.frames import natural
from hpo_envs.tables.table import Table
from tests.hpo_envs.core.engines.bandit.model import DRAWN, PLANTED, SOURCE


def pulled(source: Arms, key: int, arms: list[int]) -> list[list[float]]:
    """The metrics of pulls in an episode, one after the other."""
    ahead = DrawBuffer(source, key)
    return [(ahead.get(arm) or ahead.draw(arm)).pop() for arm in arms]


def test_what_is_drawn_ahead_does_not_depend_on_order_of_pulls() -> None:
    values = np.random.default_rng(1).uniform(1.0, 4.0, (TOGETHER + 3, 10, 1, 2))
    keys, ones = tuple(map(str, range(len(values)))), np.ones(values.shape[:3])
    source = MeasuredArms(Table("toy/more", keys, DRAWN.metrics, values, ones, SOURCE), np.arange(10))
    order = np.random.default_rng(0).integers(len(values), size=3 * AHEAD).tolist() + [TOGETHER + 2] * (2 * AHEAD)
    k = [order[:i].count(arm) for i, arm in enumerate(order)]
    many = source.pull_many(np.full(len(order), 5, np.uint64), np.array(order), np.array(k))
    assert pulled(source, 5, order) == many.tolist()


def test_draws_one_by_one_and_many_at_once() -> None:
    keys, arms, k = np.arange(9, dtype=np.uint64), np.arange(9) % 3, np.array([0, 5, 9, 10, 11, 19, 20, 3, 30])
    columns = np.array([0, 3, 4, 8])
    for source in (
        GaussianArms(PLANTED, 500),
        MeasuredArms(DRAWN, columns),
        MeasuredArms(DRAWN, columns, shared=True),
        MeasuredArms(DRAWN, columns, replacement=False),
        MeasuredArms(DRAWN, columns, False, True),
    ):
        many = source.pull_many(keys, arms, k)
        assert many.shape == (9, len(source.names))
        for i in range(9):
            assert many[i].tolist() == pulled(source, int(keys[i]), [int(arms[i])] * (int(k[i]) + 1))[-1]
        if isinstance(source, MeasuredArms):
            assert many.tolist() == DRAWN.values[arms, source.repeats(keys, arms, k), 0].tolist()
    assert (source.replacement, source.shared, source.arms, source.evaluations) == (False, True, 4, 4)
    assert MeasuredArms(DRAWN, columns).replacement
    once = MeasuredArms(DRAWN, columns, replacement=False)
    drawn = pulled(once, 7, [1] * 12)
    for sweep in range(3):
        seen = sorted(score for score, _ in drawn[4 * sweep : 4 * sweep + 4])
        assert seen == sorted(DRAWN.values[1, columns, 0, 0].tolist())
    gaussian = GaussianArms(PLANTED, 500)
    assert (gaussian.names, gaussian.arms, gaussian.evaluations) == (("score",), 3, 500)
    assert gaussian.means.tolist() == PLANTED.values[:, 0, 0, :1].tolist()
    assert gaussian.repeats(keys, arms, k).tolist() == [0] * 9


def test_synthetic_arms() -> None:
    s = BanditParams.of("gaussian")
    assert natural(s.table).values[:, 0, 0, 0].tolist() == [0.65, 0.69, 0.69, 0.70, 0.71]
    assert s.table.values[:, 0, 0, 1].tolist() == [0.01] * 5
    assert isinstance(s.arms, GaussianArms)
    assert (s.arms.evaluations, s.names, s.low, s.high) == (500, ("score",), 0.0, 1.0)
    own = BanditParams.of("gaussian", means=(2.0, 3.0), deviations=(0.05, 0.025), bounds=(1, 9))
    assert own.table.values[:, 0, 0].tolist() == [[2.0, 0.05], [3.0, 0.025]]
    assert (own.low, own.high) == (1.0, 9.0)
    two = BanditParams.of("gaussian", means=(0.2, 0.3))
    assert two.table.values[:, 0, 0].tolist() == [[0.2, 0.01], [0.3, 0.01]]
    assert (two.low, two.high, BanditParams.of("gaussian", bounds=(0, 2)).high) == (0.0, 1.0, 2.0)
    assert BanditParams.of("gaussian", table=PLANTED, means=(0.2, 0.3)).table is PLANTED
