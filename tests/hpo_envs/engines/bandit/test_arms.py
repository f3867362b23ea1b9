"""Arms: synthetic ones, and draws one by one and many at once."""

from __future__ import annotations

import numpy as np
import pytest

from hpo_envs.engines.bandit.arms import GaussianArms, MeasuredArms
from hpo_envs.engines.bandit.params import BanditParams
from hpo_envs.tables.row_order import natural
from hpo_envs.tables.store import TableNotInstalled
from tests.hpo_envs.engines.bandit.model import ARMS, DRAWN, PLANTED


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
            assert many[i].tolist() == source.pull(int(keys[i]), int(arms[i]), int(k[i]))
        if isinstance(source, MeasuredArms):
            assert many.tolist() == DRAWN.values[arms, source.repeats(keys, arms, k), 0].tolist()
    assert (source.replacement, source.shared, source.arms, source.evaluations) == (False, True, 4, 4)
    once = MeasuredArms(DRAWN, columns, replacement=False)
    for sweep in range(3):
        seen = sorted(once.pull(7, 1, 4 * sweep + i)[0] for i in range(4))
        assert seen == sorted(DRAWN.values[1, columns, 0, 0].tolist())
    for key in range(200):  # the orders kept are few
        once.pull(key, 0, 0)
    assert len(once._orders) <= 4 * ARMS + 1
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
    assert BanditParams.of("gaussian", means=(0.2, 0.3)).table.values[:, 0, 0].tolist() == [[0.2, 0.01], [0.3, 0.01]]
    assert (BanditParams.of("gaussian", means=(0.2, 0.3)).low, BanditParams.of("gaussian", means=(0.2, 0.3)).high) == (
        0.0,
        1.0,
    )
    with pytest.raises(TableNotInstalled, match="is synthetic: nothing was measured"):
        BanditParams.of("gaussian", table="measured", means=(0.2, 0.3))
    assert BanditParams.of("gaussian", deviations=0.02).table.values[:, 0, 0, 0].tolist() == [
        0.65,
        0.69,
        0.69,
        0.70,
        0.71,
    ]
    assert BanditParams.of("gaussian", bounds=(0, 2)).high == 2.0
    assert BanditParams.of("gaussian", table="surrogate", means=(0.2, 0.3)).table.values[0, 0, 0, 0] == 0.2
    assert BanditParams.of("gaussian", table=PLANTED, means=(0.2, 0.3)).table is PLANTED
